"""Worker threads, each with a launcher of its own, that take jobs from one queue in order of priority."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from verieval.errors import VerievalError
from verieval.judge.limits import Limits
from verieval.judge.process import Launcher, Lost

T = TypeVar("T")
Job = Callable[[Launcher, str], Any]
TRIES = 3


class Workers:
    """``jobs`` threads. A job is called with the worker's launcher and a folder name that is its own."""

    def __init__(self, jobs: int, limits: Limits) -> None:
        if jobs < 1:
            raise VerievalError(f"--jobs must be at least 1, not {jobs}")
        self.jobs = jobs
        self._limits = limits
        self._queue: queue.PriorityQueue[tuple[float, int, Job | None, Future[Any] | None]] = queue.PriorityQueue()
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def submit(self, job: Callable[[Launcher, str], T], priority: float = 0.0) -> Future[T]:
        """Queue a job; smaller priorities first, then in order of submission.

        Raises:
            RuntimeError: the workers are closed.
        """
        if self._stopping.is_set():
            raise RuntimeError("the workers are closed")
        future: Future[T] = Future()
        self._queue.put((priority, next(self._order), job, future))
        if len(self._threads) < self.jobs:
            thread = threading.Thread(target=self._work, name=f"judge-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def close(self) -> None:
        """Stop: running tools are killed, what still waits is cancelled."""
        self._stopping.set()
        for _ in self._threads:
            self._queue.put((float("-inf"), next(self._order), None, None))
        for thread in self._threads:
            thread.join()
        while not self._queue.empty():
            future = self._queue.get_nowait()[3]
            if future is not None:
                future.cancel()

    def _work(self) -> None:
        launcher: Launcher | None = None
        try:
            while not self._stopping.is_set():
                _, order, job, future = self._queue.get()
                if job is None or future is None or not future.set_running_or_notify_cancel():
                    continue
                launcher = self._attempt(launcher, job, future, str(order))
        finally:
            if launcher is not None:
                launcher.close()

    def _attempt(self, launcher: Launcher | None, job: Job, future: Future[Any], name: str) -> Launcher | None:
        """Do one job, with a new launcher whenever the old one was lost. Returns the launcher to go on with."""
        for attempt in itertools.count(1):
            try:
                launcher = launcher or Launcher(self._limits)
                result = job(launcher, f"{name}.{attempt}")
            except Lost as error:
                if launcher is not None:
                    launcher.close()
                launcher = None
                if attempt < TRIES:
                    continue
                future.set_exception(error)
            except Exception as error:  # noqa: BLE001  the waiting side decides; a worker must outlive any fault of a job
                future.set_exception(error)
            else:
                future.set_result(result)
            return launcher
        raise AssertionError("unreachable")
