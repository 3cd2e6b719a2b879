"""Two runs on the same problems: what differs between them, which is better, and what may be concluded.

A is the first run and B the second; every difference is B - A, and "wins" are B's. Comparison is paired: both runs
answered the same problems, so the difference is taken on each problem and its uncertainty over problems
(:mod:`verieval.stats`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from verieval import stats
from verieval.errors import VerievalError
from verieval.report.manifest_diff import FieldDifference, causes, manifest_differences, unrecorded
from verieval.run.store import RunData
from verieval.verdict import Verdict


@dataclass(frozen=True)
class Side:
    """One of the two runs. ``samples`` (requested), ``missing`` and ``harness`` count those of the compared tasks."""

    path: str
    benchmark: str
    tasks: int
    n: int
    samples: int
    missing: int
    harness: int

    @property
    def open(self) -> int:
        """Samples that are still to be judged: without a verdict, or with none on the model."""
        return self.missing + self.harness


@dataclass(frozen=True)
class Row:
    """pass@k of both runs and their paired difference.

    ``detectable`` is the smallest true difference that these problems would show with a power of 80 %; None where there
    is no standard error.
    """

    k: int
    a: stats.Estimate
    b: stats.Estimate
    paired: stats.PairedDifference
    detectable: float | None


@dataclass(frozen=True)
class FirstSample:
    """Sample 0 of each problem, with the exact McNemar test on the problems where the runs disagree.

    Attributes:
        both, neither: problems that both runs or neither passes.
        lost: problems that only A passes, by name.
        gained: problems that only B passes, by name.
        p: two-sided exact p-value.
    """

    both: int
    neither: int
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    p: float


@dataclass(frozen=True)
class TaskChange:
    """A problem whose pass rate differs: passes and samples of A, then of B."""

    task_id: str
    a: tuple[int, int]
    b: tuple[int, int]

    @property
    def better(self) -> bool:
        """B passes a larger share."""
        return _rate(*self.b) > _rate(*self.a)


@dataclass(frozen=True)
class Comparison:
    """Everything that ``verieval compare`` says.

    Attributes:
        criterion: the one both runs are read under.
        tasks: number of problems compared.
        only_a, only_b: problems of one run alone, left out.
        differences: manifest fields that differ.
        causes: independent things among them that can change a number.
        unfinished: the runs, ``A`` and ``B``, that lack verdicts on compared tasks; with one there is no winner.
        unrecorded: the runs, ``A`` and ``B``, whose manifest does not say how their completions were made.
        rows: one a k, ascending; the first is the headline.
        wins, losses, ties: problems where B's pass rate is higher, lower, equal.
        changes: the wins and losses by name.
        notes: what a reader must know before the numbers.
        conclusion: one sentence.
    """

    a: Side
    b: Side
    criterion: str
    seed: int
    tasks: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    differences: tuple[FieldDifference, ...]
    causes: tuple[str, ...]
    unfinished: tuple[str, ...]
    unrecorded: tuple[str, ...]
    rows: tuple[Row, ...]
    first_sample: FirstSample
    wins: int
    losses: int
    ties: int
    changes: tuple[TaskChange, ...]
    notes: tuple[str, ...]
    conclusion: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = asdict(self)
        plain["rows"] = [
            {
                "k": row.k,
                "a": row.a.to_json(),
                "b": row.b.to_json(),
                "paired": {**asdict(row.paired), "shown": row.paired.shown and not self.unfinished},
                "detectable": row.detectable,
            }
            for row in self.rows
        ]
        return plain


def compare_runs(
    a: RunData, b: RunData, *, criterion: str | None = None, ks: Sequence[int] = (), seed: int = 0
) -> Comparison:
    """Compare two runs.

    Args:
        a: the first run, as read from its folder.
        b: the second run.
        criterion: ``strict`` or ``official``; None takes the headline of both runs, and ``strict`` where these differ.
        ks: default: the usual ones that both n support.
        seed: of the bootstrap.

    Raises:
        VerievalError: the runs are of different benchmarks or share no task, or a verdict does not belong to its run.
    """
    tasks = _common_tasks(a, b)
    chosen = criterion or _headline(a, b)
    counts_a, counts_b = _counts(a, tasks, chosen), _counts(b, tasks, chosen)
    side_a, side_b = _side(a, tasks), _side(b, tasks)
    differences = manifest_differences(a.manifest, b.manifest)
    unknown = unrecorded(a.manifest, b.manifest)
    rows = tuple(_row(counts_a, counts_b, k, seed) for k in sorted(set(ks)) or _default_ks((*counts_a, *counts_b)))
    changes = tuple(
        TaskChange(x.task_id, (x.c, x.n), (y.c, y.n))
        for x, y in zip(counts_a, counts_b, strict=True)
        if _rate(x.c, x.n) != _rate(y.c, y.n)
    )
    wins = sum(change.better for change in changes)
    only_a = tuple(task for task in a.task_ids if task not in tasks)
    only_b = tuple(task for task in b.task_ids if task not in tasks)
    return Comparison(
        a=side_a,
        b=side_b,
        criterion=chosen,
        seed=seed,
        tasks=len(tasks),
        only_a=only_a,
        only_b=only_b,
        differences=differences,
        causes=causes(differences),
        unfinished=tuple(name for name, side in (("A", side_a), ("B", side_b)) if side.open),
        unrecorded=unknown,
        rows=rows,
        first_sample=_first_sample(a, b, tasks, chosen),
        wins=wins,
        losses=len(changes) - wins,
        ties=len(tasks) - len(changes),
        changes=changes,
        notes=_notes(a, b, side_a, side_b, only_a, only_b, unknown),
        conclusion=conclude(rows[0], differences, side_a, side_b, unknown),
    )


def conclude(row: Row, differences: Sequence[FieldDifference], a: Side, b: Side, unknown: Sequence[str] = ()) -> str:
    """One sentence: what the headline row shows, and whether a cause can be named for it.

    ``unknown`` are the runs from :func:`verieval.report.manifest_diff.unrecorded`: with one there is no single cause.
    """
    unfinished = [_open(name, side) for name, side in (("A", a), ("B", b)) if side.open]
    if unfinished:
        return (
            f"Nothing can be concluded yet, for {' and '.join(unfinished)}; these count as failed above: "
            "finish with the command that began the run, or score what is there with --present-only, "
            "then compare again."
        )
    return f"{_finding(row)}; {_attribution(row.paired.shown, differences, unknown)}."


def _finding(row: Row) -> str:
    paired, name = row.paired, f"pass@{row.k}"
    if paired.difference is None:
        return f"Nothing can be concluded: {name} is absent, for a run has fewer than {row.k} samples a task"
    if paired.ci95 is None or paired.se is None or row.detectable is None:
        return "Nothing can be concluded from a single task"
    if not paired.differing:
        return f"No difference: A and B have the same {name} on every one of {paired.tasks} tasks"
    points = 100 * paired.difference
    interval = f"95 % interval {100 * paired.ci95[0]:+.1f} to {100 * paired.ci95[1]:+.1f}"
    if paired.shown:
        better, worse = ("B", "A") if points > 0 else ("A", "B")
        return f"{better} is better than {worse}: B - A is {points:+.1f} points of {name} ({interval})"
    if paired.differing < stats.MIN_DIFFERING:
        return (
            f"No difference is shown: B - A is {points:+.1f} points of {name}, but only {paired.differing} of "
            f"{paired.tasks} tasks differ, and fewer than {stats.MIN_DIFFERING} cannot support a claim"
        )
    return (
        f"No difference is shown: B - A is {points:+.1f} points of {name} ({interval}), and with {paired.tasks} tasks "
        f"a difference under about {100 * row.detectable:.1f} points would probably have gone unseen"
    )


def _attribution(shown: bool, differences: Sequence[FieldDifference], unknown: Sequence[str]) -> str:
    names = causes(differences)
    if len(names) > 1:
        return f"no single cause can be named, because {len(names)} things differ: {', '.join(names)}"
    if unknown:
        recorded = f" (of what is recorded, only {names[0]} differs)" if names else ""
        made = f"how the completions of {' and '.join(unknown)} were made"
        return f"no cause can be named, because it is not recorded {made}{recorded}"
    if names:
        return f"the only recorded difference is {names[0]}"
    if shown:
        return "no recorded field can explain it, so it is chance or something that the manifests do not hold"
    return "no recorded field that can change a number differs"


def _open(name: str, side: Side) -> str:
    """In words, what a run still lacks."""
    parts = [f"no verdict on {side.missing} of {side.samples} samples"] if side.missing else []
    parts += [f"{side.harness} of {side.samples} that met a fault of the harness"] if side.harness else []
    return f"{name} is unfinished (it has {' and '.join(parts)})"


def _common_tasks(a: RunData, b: RunData) -> list[str]:
    """Tasks of both runs in A's order. The same name in two different benchmarks is not the same problem."""
    names = [run.manifest["benchmark"].get("name") for run in (a, b)]
    others = set(b.task_ids)
    common = list(dict.fromkeys(task for task in a.task_ids if task in others))
    if names[0] != names[1]:
        raise VerievalError(
            f"{a.path} is a run of {names[0]} and {b.path} of {names[1]}; compare two runs of the same benchmark"
        )
    if not common:
        raise VerievalError(f"{a.path} and {b.path} have no task in common; compare runs of the same tasks")
    return common


def _headline(a: RunData, b: RunData) -> str:
    sections = [run.manifest.get("criterion") for run in (a, b)]
    headlines = {section.get("headline") if isinstance(section, Mapping) else section for section in sections}
    only = headlines.pop() if len(headlines) == 1 else None
    return only if isinstance(only, str) else "strict"


def _default_ks(counts: Sequence[stats.TaskCount]) -> tuple[int, ...]:
    return stats.default_ks(max(1, min(count.n for count in counts)))


def _counts(run: RunData, tasks: Sequence[str], criterion: str) -> list[stats.TaskCount]:
    try:
        counts = {
            count.task_id: count for count in stats.task_counts(run.verdicts, run.task_ids, run.requested, criterion)
        }
    except VerievalError as error:
        raise VerievalError(f"{run.path}: {error}") from None
    return [counts[task] for task in tasks]


def _side(run: RunData, tasks: Sequence[str]) -> Side:
    benchmark, wanted = run.manifest["benchmark"], set(tasks)
    verdicts = [verdict for verdict in stats.latest(run.verdicts).values() if verdict.task_id in wanted]
    samples = sum(run.requested[task] for task in tasks)
    return Side(
        path=str(run.path),
        benchmark=":".join(part for part in (benchmark.get("name"), benchmark.get("variant")) if part),
        tasks=len(run.task_ids),
        n=run.n,
        samples=samples,
        missing=samples - len(verdicts),
        harness=sum(verdict.outcome == "harness" for verdict in verdicts),
    )


def _row(a: Sequence[stats.TaskCount], b: Sequence[stats.TaskCount], k: int, seed: int) -> Row:
    paired = stats.paired(a, b, k, seed)
    detectable = None if paired.se is None else stats.detectable_difference(paired.se)
    return Row(k, stats.estimate(a, k, seed), stats.estimate(b, k, seed), paired, detectable)


def _first_sample(a: RunData, b: RunData, tasks: Sequence[str], criterion: str) -> FirstSample:
    left, right = _first_passes(a.verdicts, criterion), _first_passes(b.verdicts, criterion)
    lost = tuple(task for task in tasks if task in left and task not in right)
    gained = tuple(task for task in tasks if task in right and task not in left)
    both = sum(task in left and task in right for task in tasks)
    neither = len(tasks) - both - len(lost) - len(gained)
    return FirstSample(both, neither, lost, gained, stats.mcnemar_exact(len(lost), len(gained)))


def _first_passes(verdicts: Sequence[Verdict], criterion: str) -> set[str]:
    rows = stats.latest(verdicts).items()
    return {task for (task, sample), verdict in rows if sample == 0 and verdict.passed[criterion]}


def _notes(
    a: RunData,
    b: RunData,
    side_a: Side,
    side_b: Side,
    only_a: Sequence[str],
    only_b: Sequence[str],
    unknown: Sequence[str],
) -> tuple[str, ...]:
    notes = []
    if a.manifest["benchmark"].get("sha256") != b.manifest["benchmark"].get("sha256"):
        notes.append("the two runs have different benchmark data: tasks of one name need not be the same task")
    if only_a or only_b:
        notes.append(
            f"only the tasks of both runs are compared: {len(only_a)} of A's {side_a.tasks} and {len(only_b)} of B's "
            f"{side_b.tasks} are left out"
        )
    for name, side in (("A", side_a), ("B", side_b)):
        if side.missing:
            notes.append(f"{name} has no verdict on {side.missing} of {side.samples} samples; they count as failed")
        if side.harness:
            notes.append(f"{name} has {side.harness} samples that a fault of the harness failed, not the model")
        if name in unknown:
            notes.append(f"{name}'s completions were made elsewhere; its manifest cannot show all of how")
    return tuple(notes)


def _rate(c: int, n: int) -> Fraction:
    return Fraction(c, n) if n else Fraction(0)
