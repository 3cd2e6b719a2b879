"""``bench check``: every reference against its own bench, and what the errata already know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from verieval.judge.pool import JudgePool
from verieval.judge.reference import ReferenceRun
from verieval.task import Benchmark, Erratum, Task


@dataclass(frozen=True)
class CheckedTask:
    """One reference: how it fared, and the errata that speak of it on this toolchain."""

    id: str
    run: ReferenceRun | None
    errata: tuple[Erratum, ...]

    @property
    def broken(self) -> bool:
        """The reference does not pass by the benchmark's own rule."""
        return self.run is not None and not self.run.official

    @property
    def explained(self) -> bool:
        """The errata agree with what was seen: a failure that they list, or neither."""
        listed = any(erratum.effect == "reference_fails" for erratum in self.errata)
        return self.run is None or listed == self.broken


@dataclass(frozen=True)
class Check:
    """The state of a benchmark on one toolchain."""

    benchmark: str
    sha256: str
    commit: str | None
    icarus: str
    tasks: tuple[CheckedTask, ...]

    @property
    def passed(self) -> int:
        """References that pass by the official rule."""
        return sum(task.run is not None and task.run.official for task in self.tasks)

    @property
    def passed_strict(self) -> int:
        """References that pass by the strict criterion."""
        return sum(task.run is not None and task.run.outcome == "passed" for task in self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        return {
            "benchmark": self.benchmark,
            "sha256": self.sha256,
            "commit": self.commit,
            "icarus": self.icarus,
            "tasks": len(self.tasks),
            "passed": {"official": self.passed, "strict": self.passed_strict},
            "without_reference": [task.id for task in self.tasks if task.run is None],
            "broken": [_row(task) for task in self.tasks if task.broken],
            "strict_fails": [
                _row(task) for task in self.tasks if task.run is not None and task.run.outcome != "passed"
            ],
            "unexplained": [task.id for task in self.tasks if not task.explained],
        }


def check(benchmark: Benchmark, pool: JudgePool, progress: Callable[[], None] = lambda: None) -> Check:
    """Run (or recall) every reference of ``benchmark`` in ``pool``.

    Args:
        benchmark: what to check; the pool was made for it.
        pool: judges the references.
        progress: called once a finished task.
    """
    futures = [(task, pool.reference(task) if task.reference is not None else None) for task in benchmark.tasks]
    major = pool.toolchain.major
    checked = []
    for task, future in futures:
        run = future.result() if future is not None else None
        checked.append(CheckedTask(task.id, run, errata_of(benchmark, task, major)))
        progress()
    return Check(benchmark.full_name, benchmark.sha256, benchmark.commit, pool.toolchain.version, tuple(checked))


def errata_of(benchmark: Benchmark, task: Task, major: int) -> tuple[Erratum, ...]:
    """The errata of one task that hold on a major version of Icarus."""
    return tuple(
        erratum
        for erratum in benchmark.errata
        if erratum.task == task.id and (not erratum.icarus or major in erratum.icarus)
    )


def _row(task: CheckedTask) -> dict[str, Any]:
    assert task.run is not None
    return {"id": task.id, **asdict(task.run), "errata": [erratum.reason for erratum in task.errata]}
