"""pass@k, its uncertainty, and paired comparison of two runs.

**The unit is the problem.** Samples of one problem share its prompt, its difficulty and its test bench, so they are not
independent draws: a problem is a cluster, and every standard error and interval here is taken *over problems*. Treating
156 problems with 5 samples as 780 independent trials would make intervals about half as wide as they are.

**Counts are integers.** A problem contributes ``c`` passes of ``n`` requested samples. A sample that was requested and
never arrived counts as failed, so ``n`` is what was asked for, not what was delivered.

**pass@k is absent when n < k.** A benchmark's pass@k is the mean over *all* its problems; when a single problem has
fewer than k samples the mean is absent too, with those problems named, because a mean over the others would be a
number about a different benchmark. Unequal n is no obstacle as long as every n reaches k: each problem is estimated
from its own n, and all problems weigh the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from verieval.errors import VerievalError
from verieval.verdict import OUTCOMES, Outcome, Stage, Verdict

RESAMPLES = 10_000
CONFIDENCE = 0.95
KS = (1, 5, 10, 20, 50, 100, 200)

# A sign-flip test on m problems that differ cannot fall below p = 2 / 2**m: with five it stays above 5 % whatever they
# show (0.0625), while the bootstrap would happily exclude zero. Fewer than six support no claim.
MIN_DIFFERING = 6

# The ladder of DESIGN.md in climbing order. "none" is a sample with no code in it. A missing sample reached nothing.
LADDER: tuple[Stage, ...] = ("none", "extracted", "parsed", "self_contained", "compiled", "simulated", "passed")

# What "the syntax is right" means: the candidate's text was parsed without an error. Later rungs are other abilities
# (having all modules, fitting the bench, working), and stand in the ``stages`` table beside it.
SYNTAX_STAGE: Stage = "parsed"


@dataclass(frozen=True)
class TaskCount:
    """``c`` passes of ``n`` requested samples of one problem."""

    task_id: str
    n: int
    c: int

    def __post_init__(self) -> None:
        if not 0 <= self.c <= self.n:
            raise ValueError(f"{self.task_id}: {self.c} passes of {self.n} samples")


@dataclass(frozen=True)
class Estimate:
    """A benchmark's pass@k.

    Attributes:
        k: the k of pass@k.
        value: mean over problems, 0 to 1; None where it is absent.
        se: standard error over problems; None with fewer than two problems.
        ci95: percentile bootstrap interval over problems; None with fewer than two problems.
        tasks: number of problems in the mean (the denominator).
        excluded: the problems with n < k that make the estimate absent; empty otherwise.
    """

    k: int
    value: float | None
    se: float | None
    ci95: tuple[float, float] | None
    tasks: int
    excluded: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain data for ``report.json``; ``reason`` is there only when the estimate is absent."""
        row: dict[str, object] = {
            "value": self.value,
            "se": self.se,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "tasks": self.tasks,
        }
        if self.value is None:
            short = f"{len(self.excluded)} of {self.tasks} tasks have fewer than {self.k} samples"
            row["reason"] = short if self.excluded else "there is no task"
        return row


@dataclass(frozen=True)
class PairedDifference:
    """pass@k of run B minus pass@k of run A on the same problems.

    Attributes:
        difference: B - A, -1 to 1; None where either side is absent.
        se: standard error of the mean difference over problems; None with fewer than two problems.
        ci95: percentile bootstrap interval over problems, each resampled with both its sides.
        tasks: number of problems.
        differing: problems whose two estimates are not equal.
    """

    k: int
    difference: float | None
    se: float | None
    ci95: tuple[float, float] | None
    tasks: int
    differing: int

    @property
    def shown(self) -> bool:
        """The interval excludes zero, and enough problems differ for any exact test to agree."""
        if self.ci95 is None or self.differing < MIN_DIFFERING:
            return False
        return self.ci95[0] > 0 or self.ci95[1] < 0


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Unbiased estimate of the chance that at least one of k samples passes, given c passes of n.

    ``1 - C(n-c, k) / C(n, k)``, worked out in integers and rounded once (Chen et al. 2021, arXiv 2107.03374, eq. 1).

    Returns:
        A number from 0 to 1, or None when n < k: there is no unbiased estimate then.

    Raises:
        ValueError: k < 1, or not 0 <= c <= n.
    """
    exact = _pass_at_k(n, c, k)
    return None if exact is None else float(exact)


def _pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    if k < 1 or not 0 <= c <= n:
        raise ValueError(f"pass@{k} of {c} passes in {n} samples is not defined")
    if n < k:
        return None
    total = math.comb(n, k)
    return Fraction(total - math.comb(n - c, k), total)


def default_ks(n: int) -> tuple[int, ...]:
    """The usual k (1, 5, 10, 20, …) that n samples support."""
    return tuple(k for k in KS if k <= n)


def estimate(counts: Sequence[TaskCount], k: int, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """pass@k of a benchmark with its uncertainty over problems.

    The same counts and seed give the same interval, whatever the order of the problems.
    """
    short = tuple(count.task_id for count in counts if count.n < k)
    if short or not counts:
        return Estimate(k, None, None, None, len(counts), short)
    values = [float(_defined(_pass_at_k(count.n, count.c, k))) for count in counts]
    return Estimate(k, math.fsum(values) / len(values), _se(values), bootstrap(values, seed, resamples), len(values))


def paired(
    a: Sequence[TaskCount], b: Sequence[TaskCount], k: int, seed: int = 0, resamples: int = RESAMPLES
) -> PairedDifference:
    """pass@k of B minus pass@k of A, problem by problem.

    Raises:
        ValueError: the two sides do not hold the same problems.
    """
    left = {count.task_id: count for count in a}
    right = {count.task_id: count for count in b}
    if left.keys() != right.keys() or len(left) != len(a) or len(right) != len(b):
        raise ValueError("a paired difference needs the same problems on both sides")
    if not left or any(count.n < k for count in (*a, *b)):
        return PairedDifference(k, None, None, None, len(left), 0)
    exact = [
        _defined(_pass_at_k(right[task].n, right[task].c, k)) - _defined(_pass_at_k(count.n, count.c, k))
        for task, count in left.items()
    ]
    values = [float(value) for value in exact]
    differing = sum(value != 0 for value in exact)
    mean = math.fsum(values) / len(values)
    return PairedDifference(k, mean, _se(values), bootstrap(values, seed, resamples), len(values), differing)


def bootstrap(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of a mean; None with fewer than two values.

    Drawing T problems with replacement only matters through how often each *distinct* value is drawn, and those
    frequencies are multinomial. Pass rates take few distinct values, so this costs a fraction of drawing indices, and
    the order of the problems cannot matter.
    """
    if len(values) < 2:
        return None
    distinct, frequency = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(values), frequency / len(values), size=resamples)
    tail = (1 - CONFIDENCE) / 2
    # Rounded so that a resample whose gains and losses cancel is zero, and not 3e-17 on one side of it.
    low, high = np.quantile(np.round(draws @ distinct / len(values), 12), [tail, 1 - tail])
    return float(low), float(high)


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact McNemar p-value for b and c discordant pairs.

    Under the null hypothesis the smaller count is Binomial(b + c, 1/2); the p-value is twice its lower tail, at most 1,
    summed in integers.
    """
    if min(b, c) < 0:
        raise ValueError(f"discordant pairs cannot be negative: {b}, {c}")
    total = b + c
    tail = sum(math.comb(total, i) for i in range(min(b, c) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**total)))


def detectable_difference(se: float, power: float = 0.8) -> float:
    """Smallest true difference that a two-sided 5 % test with this standard error finds with the given power.

    ``(z_0.975 + z_power) * se``: 2.80 standard errors at 80 % power.
    """
    normal = NormalDist()
    return (normal.inv_cdf((1 + CONFIDENCE) / 2) + normal.inv_cdf(power)) * se


def latest(verdicts: Sequence[Verdict]) -> dict[tuple[str, int], Verdict]:
    """Verdicts by (task, sample); a later row replaces an earlier one (a sample that was judged again)."""
    return {(verdict.task_id, verdict.sample): verdict for verdict in verdicts}


def task_counts(
    verdicts: Sequence[Verdict], task_ids: Sequence[str], n: int | Mapping[str, int], criterion: str
) -> list[TaskCount]:
    """Passes a problem, in the order of ``task_ids``; a sample without a verdict counts as failed.

    Raises:
        VerievalError: a verdict is for a problem or a sample that was not requested, or lacks the criterion.
    """
    requested = _requested(task_ids, n)
    return _counts(_by_task(verdicts, requested, criterion), requested, criterion)


def summarise(
    verdicts: Sequence[Verdict],
    task_ids: Sequence[str],
    n: int | Mapping[str, int],
    *,
    criterion: str,
    ks: Sequence[int] | None = None,
    seed: int = 0,
    faulty: Collection[str] = (),
) -> dict[str, object]:
    """Everything that ``report.json`` says about a run under one criterion.

    Args:
        verdicts: rows as they were written; the last one of a (task, sample) counts.
        task_ids: every problem that the run was to answer, in order. They are the denominator.
        n: requested samples, for all problems or by problem.
        criterion: ``strict`` or ``official``.
        ks: default: the usual ones that every problem's n supports.
        seed: of the bootstrap.
        faulty: problems that an errata file lists; the same figures without them stand under ``without_faulty``.

    Returns:
        Plain data: ``criterion``; ``tasks_total``, ``samples`` and ``missing`` (integers, the denominators);
        ``pass_at_k``; ``outcomes`` (judged samples by outcome); ``stages`` (samples that reached at least each stage);
        ``syntax_rate``, the share of all *requested* samples that parsed: a missing sample and a ``harness`` fault
        before parsing count against it, and their numbers stand beside it; ``tasks`` (a row a problem);
        ``without_faulty``, None where no problem is faulty, else ``excluded`` (names) and the same figures for the
        other problems.

    Raises:
        VerievalError: as :func:`task_counts`, or no task.
    """
    requested = _requested(task_ids, n)
    if not requested:
        raise VerievalError("there is no task to summarise; check the task filter and the benchmark")
    judged = _by_task(verdicts, requested, criterion)
    chosen = tuple(ks) if ks is not None else default_ks(max(1, min(requested.values())))
    excluded = [task for task in requested if task in faulty]
    kept = {task: rows for task, rows in judged.items() if task not in faulty}
    without = {"excluded": excluded, **_figures(kept, requested, criterion, chosen, seed)} if excluded else None
    return {
        "criterion": criterion,
        **_figures(judged, requested, criterion, chosen, seed),
        "tasks": [_task_row(task, rows, requested[task], criterion) for task, rows in judged.items()],
        "without_faulty": without,
    }


def outcome_counts(verdicts: Sequence[Verdict]) -> dict[Outcome, int]:
    """How often each outcome occurs, in the fixed order of the vocabulary, without those that do not occur."""
    counts = dict.fromkeys(OUTCOMES, 0)
    for verdict in verdicts:
        counts[verdict.outcome] += 1
    return {outcome: count for outcome, count in counts.items() if count}


def stage_counts(verdicts: Sequence[Verdict]) -> dict[Stage, int]:
    """How many samples reached at least each stage (so the numbers fall from left to right)."""
    heights = [LADDER.index(verdict.stage) for verdict in verdicts]
    return {stage: sum(height >= rung for height in heights) for rung, stage in enumerate(LADDER) if stage != "none"}


def _figures(
    judged: Mapping[str, Sequence[Verdict]], requested: Mapping[str, int], criterion: str, ks: Sequence[int], seed: int
) -> dict[str, object]:
    """The figures of one set of problems: its denominators first, then what is divided by them."""
    verdicts = [verdict for rows in judged.values() for verdict in rows]
    counts = _counts(judged, requested, criterion)
    samples = sum(count.n for count in counts)
    stages = stage_counts(verdicts)
    return {
        "tasks_total": len(counts),
        "samples": samples,
        "missing": samples - len(verdicts),
        "pass_at_k": {str(k): estimate(counts, k, seed).to_json() for k in ks},
        "outcomes": outcome_counts(verdicts),
        "stages": stages,
        "syntax_rate": stages[SYNTAX_STAGE] / samples if samples else None,
    }


def _task_row(task: str, rows: Sequence[Verdict], n: int, criterion: str) -> dict[str, object]:
    return {
        "id": task,
        "n": n,
        "c": _passes(rows, criterion),
        "missing": n - len(rows),
        "outcomes": outcome_counts(rows),
    }


def _by_task(verdicts: Sequence[Verdict], requested: Mapping[str, int], criterion: str) -> dict[str, list[Verdict]]:
    """The verdicts that count, by problem in the requested order and by sample; every one is checked."""
    judged: dict[str, list[Verdict]] = {task: [] for task in requested}
    for (task, _), verdict in sorted(latest(verdicts).items()):
        _check(verdict, requested, criterion)
        judged[task].append(verdict)
    return judged


def _counts(judged: Mapping[str, Sequence[Verdict]], requested: Mapping[str, int], criterion: str) -> list[TaskCount]:
    return [TaskCount(task, requested[task], _passes(rows, criterion)) for task, rows in judged.items()]


def _passes(rows: Sequence[Verdict], criterion: str) -> int:
    return sum(verdict.passed[criterion] for verdict in rows)


def _requested(task_ids: Sequence[str], n: int | Mapping[str, int]) -> dict[str, int]:
    if isinstance(n, int):
        return dict.fromkeys(task_ids, n)
    lacking = [task for task in task_ids if task not in n]
    if lacking:
        raise VerievalError(f"the number of samples of task {lacking[0]} is not known; give n for every task")
    return {task: n[task] for task in task_ids}


def _check(verdict: Verdict, requested: Mapping[str, int], criterion: str) -> None:
    name = f"the verdict on {verdict.task_id} sample {verdict.sample}"
    if verdict.task_id not in requested:
        raise VerievalError(f"{name} is for a task that the run does not hold; score it against its own benchmark")
    if not 0 <= verdict.sample < requested[verdict.task_id]:
        raise VerievalError(f"{name} is outside the {requested[verdict.task_id]} samples that were requested; check n")
    if criterion not in verdict.passed:
        known = ", ".join(verdict.passed) or "none"
        raise VerievalError(f"{name} was not judged under the criterion {criterion} (it has: {known}); judge it again")


def _se(values: Sequence[float]) -> float | None:
    """Standard error of a mean of independent values: their sample deviation over the root of their number."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def _defined(value: Fraction | None) -> Fraction:
    if value is None:
        raise ValueError("pass@k is absent")
    return value
