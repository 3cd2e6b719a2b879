"""Worker threads, each with tools of its own, that take jobs from one queue in order of priority."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from verieval.errors import VerievalError
from verieval.judge.admission import Admission
from verieval.judge.limits import Limits
from verieval.judge.process import Launcher, Lost
from verieval.judge.sandbox import NO_SANDBOX, Sandbox

T = TypeVar("T")
TRIES = 3


class Tools:
    """What one worker works with. Not thread-safe: one thread owns it."""

    def __init__(self, limits: Limits, sandbox: Sandbox, turns: Turns) -> None:
        self._limits = limits
        self._sandbox = sandbox
        self._turns = turns
        self._launcher: Launcher | None = None
        self._admission: Admission | None = None

    @property
    def launcher(self) -> Launcher:
        """The launcher, started when it is first wanted."""
        if self._launcher is None:
            self._launcher = Launcher(self._limits, self._sandbox)
        return self._launcher

    @property
    def admission(self) -> Admission:
        """The policy's process, started when it is first wanted."""
        if self._admission is None:
            self._admission = Admission()
        return self._admission

    def alone(self) -> AbstractContextManager[None]:
        """Within this, no other worker's job runs."""
        return self._turns.alone()

    def abort(self) -> None:
        """Called by another thread: kill what the launcher runs; the job ends with :class:`Lost`."""
        launcher = self._launcher
        if launcher is not None:
            launcher.abort()

    def close(self) -> None:
        """End both. They are started again if they are wanted again."""
        for part in (self._launcher, self._admission):
            if part is not None:
                part.close()
        self._launcher = self._admission = None


class Turns:
    """Many jobs at a time, or one alone. Who wants to be alone goes before jobs that have not begun."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._wanting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """One of many."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanting == 0)
            self._running += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """From within :meth:`shared`: give up the place, wait until all have, and take it back afterwards."""
        with self._changed:
            self._wanting += 1
            self._running -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._running == 0)
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._wanting -= 1
                self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()


class Once:
    """Does something once, whoever comes first; the others wait for it. What raised is tried again by the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = False

    def __call__(self, action: Callable[[], object]) -> None:
        """Do it, unless it is done."""
        with self._lock:
            if not self._done:
                action()
                self._done = True


Job = Callable[[Tools], Any]


class Workers:
    """``jobs`` threads. A job is called with the tools of the worker that has it."""

    def __init__(self, jobs: int, limits: Limits, sandbox: Sandbox = NO_SANDBOX) -> None:
        if jobs < 1:
            raise VerievalError(f"--jobs must be at least 1, not {jobs}")
        self.jobs = jobs
        self._limits = limits
        self._sandbox = sandbox
        self._turns = Turns()
        self._queue: queue.PriorityQueue[tuple[float, int, Job | None, Future[Any] | None]] = queue.PriorityQueue()
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._tools: list[Tools] = []
        self._stopping = threading.Event()

    def submit(self, job: Callable[[Tools], T], priority: float = 0.0) -> Future[T]:
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
        for tools in self._tools:
            tools.abort()
        for thread in self._threads:
            thread.join()
        while not self._queue.empty():
            future = self._queue.get_nowait()[3]
            if future is not None:
                future.cancel()

    def _work(self) -> None:
        tools = Tools(self._limits, self._sandbox, self._turns)
        self._tools.append(tools)
        try:
            while not self._stopping.is_set():
                _, _, job, future = self._queue.get()
                if job is None or future is None or not future.set_running_or_notify_cancel():
                    continue
                with self._turns.shared():
                    outcome = self._attempt(tools, job)
                if isinstance(outcome, BaseException):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome[0])
        finally:
            tools.close()

    def _attempt(self, tools: Tools, job: Job) -> tuple[Any] | BaseException:
        """Do one job, with new tools whenever the old ones were lost."""
        for attempt in itertools.count(1):
            try:
                return (job(tools),)
            except Lost as error:
                tools.close()
                if attempt == TRIES or self._stopping.is_set():
                    return error
            except Exception as error:  # noqa: BLE001  the waiting side decides; a worker outlives any fault of a job
                return error
        raise AssertionError("unreachable")
