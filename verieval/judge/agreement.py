"""``bench agreement``: do several simulators give the same verdict on every reference and every mutant?

Where they do not, a design, a bench or a simulator leaves something open (an order of processes, a value at power-up),
and the task measures that instead of the candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Literal

from verieval.judge.mutants import Answer, MutantJudge
from verieval.judge.strength import TaskStrength, plans
from verieval.mutate import MUTATE_VERSION
from verieval.task import Benchmark


@dataclass(frozen=True)
class Difference:
    """A text on which the simulators differ.

    Attributes:
        task: its task.
        mutant: id of the mutant; empty for the reference.
        what: the fault in words.
        outcomes: strict outcome by simulator.
        kind: ``verdict``: one passes what another judges and fails. ``refused``: one passes what another does not
            compile, so that the other has no verdict (Verilator refuses a variable that is assigned in both ways, for
            example). ``outcome``: none passes it, and only the way in which it fails differs.
    """

    task: str
    mutant: str
    what: str
    outcomes: dict[str, str]
    kind: Literal["verdict", "refused", "outcome"]


@dataclass(frozen=True)
class Agreement:
    """What several simulators say of the same texts.

    Attributes:
        benchmark, sha256: what was judged.
        simulators: their names.
        tasks: number of tasks with a reference.
        mutants: number of mutants that all of them judged.
        differences: in the order of tasks; of a task whose references differ only that.
    """

    benchmark: str
    sha256: str
    simulators: tuple[str, ...]
    limit: int | None
    seed: int
    tasks: int
    mutants: int
    differences: tuple[Difference, ...]

    @property
    def disagreements(self) -> tuple[Difference, ...]:
        """Differences between passing and failing."""
        return tuple(one for one in self.differences if one.kind == "verdict")

    @property
    def refused(self) -> tuple[Difference, ...]:
        """Passed by one simulator, and not compiled by another."""
        return tuple(one for one in self.differences if one.kind == "refused")

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        return {
            "benchmark": self.benchmark,
            "sha256": self.sha256,
            "simulators": list(self.simulators),
            "mutate_version": MUTATE_VERSION,
            "max_mutants": self.limit,
            "seed": self.seed,
            "tasks": self.tasks,
            "mutants": self.mutants,
            "disagreements": len(self.disagreements),
            "refused": len(self.refused),
            "differences": [asdict(one) for one in self.differences],
        }


# Of one simulator: by task and mutant (the reference under an empty id) what the judge says and the fault in words.
_Told = dict[str, dict[str, tuple[Answer, str]]]
Opened = Callable[[], AbstractContextManager[MutantJudge]]


def compare(
    benchmark: Benchmark,
    simulators: dict[str, Opened],
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> Agreement:
    """Judge references and mutants with each simulator, one after the other, and list what differs.

    Args:
        benchmark: the tasks.
        simulators: by name, how to open a judge that uses it.
        limit: mutants a task at most, None for all.
        seed: of the sample, which is the same for all.
        progress: called once a finished task of a simulator.

    Raises:
        VerievalError: a reference does not parse, or a tool cannot be used.
    """
    told: dict[str, _Told] = {}
    for name, opened in simulators.items():
        with opened() as judge:
            told[name] = _ask(benchmark, judge, limit, seed, progress)
    differences: list[Difference] = []
    common = 0
    for task in benchmark.tasks:
        seen = {name: rows[task.id] for name, rows in told.items()}
        shared = set.intersection(*(set(rows) for rows in seen.values()))
        common += len(shared - {""})
        differences += [
            one for mutant in seen[next(iter(seen))] if mutant in shared and (one := _difference(task.id, mutant, seen))
        ]
    whole = sum(task.reference is not None for task in benchmark.tasks)
    return Agreement(
        benchmark.full_name, benchmark.sha256, tuple(simulators), limit, seed, whole, common, tuple(differences)
    )


def _ask(benchmark: Benchmark, judge: MutantJudge, limit: int | None, seed: int, progress: Callable[[], None]) -> _Told:
    told: _Told = {}
    for plan in plans(benchmark, judge, limit=limit, seed=seed, ahead=2, with_stubs=False):
        if isinstance(plan, TaskStrength):
            told[plan.id] = {} if plan.reference == "none" else {"": (Answer(plan.reference), "the reference")}
        else:
            answers = judge.answers(plan.asked)
            rows = {mutant.id: (answers[mutant.sha256], mutant.what) for mutant in plan.mutants.chosen}
            told[plan.task.id] = {"": (Answer("passed"), "the reference"), **rows}
        progress()
    return told


def _difference(task: str, mutant: str, seen: dict[str, dict[str, tuple[Answer, str]]]) -> Difference | None:
    outcomes = {name: rows[mutant][0].outcome for name, rows in seen.items()}
    if len(set(outcomes.values())) == 1:
        return None
    what = next(iter(seen.values()))[mutant][1]
    kinds = set(outcomes.values())
    if "passed" not in kinds:
        return Difference(task, mutant, what, outcomes, "outcome")
    # The reference must be judged by all: one that is refused is a fault of the task.
    refused = mutant != "" and kinds <= {"passed", *_REFUSALS}
    return Difference(task, mutant, what, outcomes, "refused" if refused else "verdict")


_REFUSALS = ("syntax", "elaboration", "bench_compile")  # what does not compile
