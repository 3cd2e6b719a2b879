"""Calibration in a pool: when it is asked for, once a task, in the pool's workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from verieval.judge.cache import TaskCache
from verieval.judge.calibrate import Calibration, Observation, calibrate_task
from verieval.judge.futures import OncePerTask
from verieval.judge.icarus import Trial
from verieval.judge.workers import Tools, Workers
from verieval.task import Task


class Calibrator:
    """Finds out what benches can tell.

    Args:
        workers: where the runs are made.
        trial: makes a trial in a worker.
        cache: what is known already.
    """

    def __init__(
        self,
        workers: Workers,
        trial: Callable[..., Trial],
        cache: TaskCache[Calibration],
    ) -> None:
        self._workers = workers
        self._trial = trial
        self._cache = cache
        self._once = OncePerTask(cache)

    def known(self, task: Task) -> Calibration | None:
        """What the cache holds."""
        return self._cache.get(task)

    def calibration(self, task: Task) -> Future[Calibration]:
        """Calibration of a task that has a reference, from the cache or made now.

        Raises:
            Lost: (from the future) the tools were killed from outside, several times.
            VerievalError: (from the future) a tool or the work folder cannot be used.
        """

        def make(result: Future[Calibration]) -> None:
            # A thread of its own: it waits for the workers, and may be wanted in one of them.
            threading.Thread(target=self._work, args=(task, result), name=f"calibrate-{task.id}", daemon=True).start()

        return self._once.get(task, make)

    def save(self) -> None:
        """Keep what is new."""
        self._cache.save()

    def _work(self, task: Task, result: Future[Calibration]) -> None:
        try:
            found = calibrate_task(task, self._run)
        except BaseException as error:  # noqa: BLE001  whoever waits hears of it
            result.set_exception(error)
        else:
            self._cache.put(task, found)
            result.set_result(found)

    def _run(self, task: Task, source: str, *, steps: bool, cpu: float | None) -> Observation:
        def job(tools: Tools) -> Observation:
            return _observation(self._trial(tools, task, source, steps=steps, cpu=cpu))

        return self._workers.submit(job).result()


def calibration_row(row: Mapping[str, Any]) -> Calibration:
    """A calibration as a file of the cache holds it.

    Raises:
        TypeError, ValueError: it is none.
    """
    found = Calibration(**row)
    return replace(found, stubs_passed=tuple(found.stubs_passed), flags=tuple(found.flags))


def _observation(trial: Trial) -> Observation:
    report, simulate = trial.report, trial.simulate
    return Observation(
        compiled=trial.compiled,
        finished=simulate is not None and simulate.returncode == 0 and not simulate.killed,
        clean=report is not None and report.verdicts == 1 and report.clean,
        official=trial.official.passed,
        samples=report.samples if report else None,
        trace=trial.trace,
        steps=trial.steps,
        cpu=simulate.cpu if simulate else 0.0,
    )
