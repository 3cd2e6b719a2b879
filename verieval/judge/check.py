"""``bench check``: every reference against its own bench, what the bench can tell, and what the errata know of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

from verieval.benchmarks.interface import interface_faults
from verieval.errors import BenchError
from verieval.judge.calibrate import Calibration
from verieval.judge.pool import JudgePool
from verieval.judge.reference import ReferenceRun
from verieval.task import Benchmark, Erratum, Task, Unsupported

OWN_RULE = "verieval"  # of suites whose tasks have a task.toml


@dataclass(frozen=True)
class CheckedTask:
    """One reference: how it fared, the errata that speak of it on this toolchain, and what its bench can tell.

    ``run`` is None where there is no reference, and where it could not be run. ``faults`` are sentences on what is
    wrong with the task itself: a bench that cannot be used, or a ``task.toml`` that is not about the reference.
    """

    id: str
    run: ReferenceRun | None
    errata: tuple[Erratum, ...]
    calibration: Calibration | None = None
    faults: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """The reference does not pass by the benchmark's own rule."""
        return self.run is not None and not self.run.official

    @property
    def explained(self) -> bool:
        """The task is not at fault, and the errata agree with what was seen: a failure that they list, or neither."""
        if self.faults:
            return False
        listed = any(erratum.effect == "reference_fails" for erratum in self.errata)
        return self.run is None or listed == self.broken

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Flags of the calibration that the errata would name and do not."""
        listed = {erratum.effect for erratum in self.errata}
        flags = self.calibration.flags if self.calibration else ()
        return tuple(flag for flag in flags if flag in ("vacuous", "power_up") and flag not in listed)


@dataclass(frozen=True)
class Check:
    """The state of a benchmark on one toolchain."""

    benchmark: str
    sha256: str
    commit: str | None
    icarus: str
    tasks: tuple[CheckedTask, ...]
    unsupported: tuple[Unsupported, ...] = ()

    @property
    def with_reference(self) -> int:
        """Tasks that have one, whether or not it could be run."""
        return sum(task.run is not None or bool(task.faults) for task in self.tasks)

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
            "unsupported": [asdict(item) for item in self.unsupported],
            "without_reference": [task.id for task in self.tasks if task.run is None and not task.faults],
            "faults": {task.id: list(task.faults) for task in self.tasks if task.faults},
            "broken": [_row(task) for task in self.tasks if task.broken],
            "strict_fails": [
                _row(task) for task in self.tasks if task.run is not None and task.run.outcome != "passed"
            ],
            "calibration": [
                {**asdict(task.calibration), "unlisted": list(task.unlisted)}
                for task in self.tasks
                if task.calibration is not None
            ],
            "unexplained": [task.id for task in self.tasks if not task.explained],
        }


def check(
    benchmark: Benchmark, pool: JudgePool, progress: Callable[[], None] = lambda: None, *, calibrate: bool = False
) -> Check:
    """Run (or recall) every reference of ``benchmark`` in ``pool``, and keep each result as soon as it is there.

    Args:
        benchmark: what to check; the pool was made for it.
        pool: judges the references.
        progress: called by one thread at a time, :func:`steps` times.
        calibrate: run stubs too, and the reference without values at power-up.
    """
    turn = threading.Lock()

    def done(_: object) -> None:
        pool.save()
        with turn:
            progress()

    whole = [task for task in benchmark.tasks if task.reference is not None]
    runs = {task.id: pool.reference(task) for task in whole}
    calibrations = {task.id: pool.calibration(task) for task in whole} if calibrate else {}
    futures: list[Future[Any]] = [*runs.values(), *calibrations.values()]
    for future in futures:
        future.add_done_callback(done)
    major = pool.toolchain.major
    checked = []
    for task in benchmark.tasks:
        told, more = _fault(runs.get(task.id)), _fault(calibrations.get(task.id))
        run = runs[task.id].result() if task.id in runs and not told else None
        calibration = calibrations[task.id].result() if task.id in calibrations and not more else None
        own = interface_faults(task) if benchmark.rule == OWN_RULE and task.reference is not None else ()
        # The judge of benches in Python refuses what the interface shows, in the same words.
        judged = (text for text in (told, more) if text and not text.startswith(own))
        faults = (*own, *dict.fromkeys(judged))
        checked.append(CheckedTask(task.id, run, errata_of(benchmark, task, major), calibration, faults))
    version, unsupported = pool.toolchain.version, benchmark.unsupported
    return Check(benchmark.full_name, benchmark.sha256, benchmark.commit, version, tuple(checked), unsupported)


def steps(benchmark: Benchmark, *, calibrate: bool) -> int:
    """How often :func:`check` calls ``progress``."""
    return sum(task.reference is not None for task in benchmark.tasks) * (2 if calibrate else 1)


def _fault(future: Future[Any] | None) -> str:
    """Wait for a result, and say of which fault of the task there is none."""
    try:
        if future is not None:
            future.result()
    except BenchError as error:
        return str(error)
    return ""


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
