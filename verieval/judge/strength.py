"""``bench strength``: how many faults of a reference its bench finds.

Of each reference mutants are made, and judged like candidates. One that passes is either the same design in other
words, which a proof can show and which then does not count, or a fault that the bench overlooks. Without a proof it
counts as overlooked: a bench can be stronger than its score says, never weaker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol

from verieval.errors import VerievalError
from verieval.judge.calibrate_sources import stubs
from verieval.judge.mutants import Answer, Asked, MutantJudge, text_sha256
from verieval.mutate import MUTATE_VERSION, Mutant, Mutants, changed_lines, mutants
from verieval.task import Benchmark, Task

Fate = Literal["killed", "survived", "equivalent", "invalid", "refused", "harness"]
FATES: tuple[Fate, ...] = Fate.__args__  # type: ignore[attr-defined]


class Prover(Protocol):
    """Shows that a mutant is the reference in other words, or not."""

    def __call__(self, task: Task, mutant: str) -> str:
        """``equivalent``, or in a word why that was not shown."""


@dataclass(frozen=True)
class MutantResult:
    """One mutant and its fate.

    Attributes:
        id, kind, line, what: of the mutant, see :class:`verieval.mutate.Mutant`.
        fate: ``killed`` and ``survived`` are live. ``equivalent`` passed and is the same design; ``invalid`` does not
            compile; ``refused`` compiles, but admission or the bench's interface keep it from being tested.
        outcome, detail: the judge's.
        proof: what the prover said of one that passed; empty where it was not asked.
        before, after: the lines that differ.
    """

    id: str
    kind: str
    line: int
    what: str
    fate: Fate
    outcome: str
    detail: str
    proof: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class TaskStrength:
    """What the mutants of one task showed.

    Attributes:
        id: the task's.
        reference: strict outcome of the reference; where it is not ``passed``, or there is none, nothing is measured.
        made: mutants before a sample was taken.
        unparsed: texts that pyslang refused, on top of those.
        stubs_passed: stubs that pass the bench, by kind; not asked of a design without inputs.
        results: of each mutant that was judged.
    """

    id: str
    reference: str
    made: int = 0
    unparsed: int = 0
    stubs_passed: tuple[str, ...] = ()
    results: tuple[MutantResult, ...] = ()

    def count(self, *fates: Fate) -> int:
        """Mutants with one of these fates."""
        return sum(result.fate in fates for result in self.results)

    @property
    def live(self) -> int:
        """Mutants that a perfect bench finds."""
        return self.count("killed", "survived")

    @property
    def score(self) -> float | None:
        """Killed over live; None where nothing is live."""
        return self.count("killed") / self.live if self.live else None

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """Live mutants that pass."""
        return tuple(result for result in self.results if result.fate == "survived")


@dataclass(frozen=True)
class Strength:
    """The strength of a benchmark's benches on one toolchain."""

    benchmark: str
    sha256: str
    toolchain: dict[str, str]
    limit: int | None
    seed: int
    tasks: tuple[TaskStrength, ...]

    @property
    def measured(self) -> tuple[TaskStrength, ...]:
        """Tasks whose reference passes."""
        return tuple(task for task in self.tasks if task.reference == "passed")

    def count(self, *fates: Fate) -> int:
        """Mutants of all tasks with one of these fates."""
        return sum(task.count(*fates) for task in self.tasks)

    @property
    def score(self) -> float | None:
        """Killed over live, over all mutants."""
        live = self.count("killed", "survived")
        return self.count("killed") / live if live else None

    @property
    def lowest(self) -> TaskStrength | None:
        """The weakest task that has live mutants."""
        scored = [task for task in self.measured if task.live]
        return min(scored, key=lambda task: task.score or 0.0, default=None)

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Killed and live mutants by kind."""
        table: dict[str, dict[str, int]] = {}
        for task in self.tasks:
            for result in task.results:
                if result.fate in ("killed", "survived"):
                    row = table.setdefault(result.kind, {"live": 0, "killed": 0})
                    row["live"] += 1
                    row["killed"] += result.fate == "killed"
        return dict(sorted(table.items()))

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``; killed mutants only as counts."""
        return {
            "benchmark": self.benchmark,
            "sha256": self.sha256,
            "toolchain": self.toolchain,
            "mutate_version": MUTATE_VERSION,
            "max_mutants": self.limit,
            "seed": self.seed,
            "score": self.score,
            "counts": {fate: self.count(fate) for fate in FATES},
            "kinds": self.by_kind(),
            "stubs_passed": {task.id: list(task.stubs_passed) for task in self.tasks if task.stubs_passed},
            "not_measured": {task.id: task.reference for task in self.tasks if task.reference != "passed"},
            "tasks": [_task_row(task) for task in self.measured],
        }


def _task_row(task: TaskStrength) -> dict[str, Any]:
    listed = [result for result in task.results if result.fate != "killed"]
    return {
        "id": task.id,
        "made": task.made,
        "unparsed": task.unparsed,
        "mutants": len(task.results),
        **{fate: task.count(fate) for fate in FATES},
        "live": task.live,
        "score": task.score,
        "stubs_passed": list(task.stubs_passed),
        "not_killed": [asdict(result) for result in listed],
    }


@dataclass(frozen=True)
class Plan:
    """What is judged of one task: its mutants and stubs, on their way."""

    task: Task
    mutants: Mutants
    stubs: dict[str, str]
    asked: Asked


def measure(
    benchmark: Benchmark,
    judge: MutantJudge,
    prove: Prover,
    *,
    limit: int | None = None,
    seed: int = 0,
    ahead: int = 2,
    progress: Callable[[], None] = lambda: None,
) -> Strength:
    """Judge the mutants and the stubs of every task that has a reference which passes.

    Args:
        benchmark: the tasks; the judge's pool was made for it.
        judge: judges.
        prove: is asked about mutants that pass.
        limit: mutants a task at most, None for all.
        seed: of the sample.
        ahead: tasks whose mutants are queued while another is waited for.
        progress: called once a finished task.

    Raises:
        VerievalError: a reference does not parse, or a tool cannot be used.
    """
    done = []
    for plan in plans(benchmark, judge, limit=limit, seed=seed, ahead=ahead, with_stubs=True):
        done.append(plan if isinstance(plan, TaskStrength) else _finish(plan, judge, prove))
        progress()
    toolchain = judge.pool.describe()["toolchain"]
    return Strength(benchmark.full_name, benchmark.sha256, toolchain, limit, seed, tuple(done))


def plans(
    benchmark: Benchmark, judge: MutantJudge, *, limit: int | None, seed: int, ahead: int, with_stubs: bool
) -> Iterator[Plan | TaskStrength]:
    """What is judged of each task, in order, with the next ones queued; or why there is nothing to judge."""
    references = {task.id: judge.ask(task, [task.reference]) for task in benchmark.tasks if task.reference is not None}
    waiting: deque[Plan | TaskStrength] = deque()
    for task in benchmark.tasks:
        if task.reference is None:
            waiting.append(TaskStrength(task.id, "none"))
        elif (outcome := reference_answer(task, judge, references[task.id]).outcome) != "passed":
            waiting.append(TaskStrength(task.id, outcome))
        else:
            waiting.append(_plan(task, judge, limit, seed, with_stubs))
        if len(waiting) > ahead:
            yield waiting.popleft()
    yield from waiting


def reference_answer(task: Task, judge: MutantJudge, asked: Asked) -> Answer:
    """What the judge says of the reference."""
    return judge.answers(asked)[text_sha256(task.reference or "")]


def _plan(task: Task, judge: MutantJudge, limit: int | None, seed: int, with_stubs: bool) -> Plan:
    assert task.reference is not None
    try:
        found = mutants(task.reference, limit=limit, seed=seed)
    except VerievalError as error:
        raise VerievalError(f"{task.id}: {error}") from error
    constant = bool(task.ports) and all(port.direction == "output" for port in task.ports)
    plain = stubs(task) if with_stubs and not constant else {}
    asked = judge.ask(task, [*(mutant.text for mutant in found.chosen), *plain.values()])
    return Plan(task, found, plain, asked)


def _finish(plan: Plan, judge: MutantJudge, prove: Prover) -> TaskStrength:
    answers = judge.answers(plan.asked)
    results = [_result(plan.task, mutant, answers[mutant.sha256]) for mutant in plan.mutants.chosen]
    texts = {mutant.id: mutant.text for mutant in plan.mutants.chosen}
    for number, result in enumerate(results):
        if result.fate == "survived":
            proof = prove(plan.task, texts[result.id])
            fate: Fate = "equivalent" if proof == "equivalent" else "survived"
            results[number] = replace(result, fate=fate, proof=proof)
    passed = tuple(kind for kind, text in plan.stubs.items() if answers[text_sha256(text)].outcome == "passed")
    return TaskStrength(plan.task.id, "passed", plan.mutants.made, plan.mutants.invalid, passed, tuple(results))


def _result(task: Task, mutant: Mutant, answer: Answer) -> MutantResult:
    before, after = changed_lines(task.reference or "", mutant.text)
    state = answer.state
    return MutantResult(
        id=mutant.id,
        kind=mutant.kind,
        line=mutant.line,
        what=mutant.what,
        fate="survived" if state == "passed" else state,
        outcome=answer.outcome,
        detail=answer.detail,
        proof="",
        before=tuple(before),
        after=tuple(after),
    )
