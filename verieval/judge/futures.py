"""Futures of the pool: nothing waits inside a worker, so what depends on a result is a callback on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, Generic, TypeVar

from verieval.judge.cache import TaskCache
from verieval.task import Task

T = TypeVar("T")


class OncePerTask(Generic[T]):
    """What is found out once a task, whoever asks first: recalled from a cache, or made."""

    def __init__(self, cache: TaskCache[T]) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._asked: dict[str, Future[T]] = {}

    def get(self, task: Task, make: Callable[[Future[T]], object]) -> Future[T]:
        """The record of a task; ``make`` is called, without the lock, with the future that it has to fill."""
        with self._lock:
            asked = self._asked.get(task.id)
            if asked is not None:
                return asked
            result: Future[T] = Future()
            self._asked[task.id] = result
        known = self._cache.get(task)
        if known is not None:
            result.set_result(known)
        else:
            make(result)
        return result


def then(
    source: Future[T],
    action: Callable[[T], object],
    target: Future[Any],
    otherwise: Callable[[Exception], object] | None = None,
) -> None:
    """Run ``action`` on the result of ``source``, or ``otherwise`` on its failure.

    What fails after that becomes the failure of ``target``, so that whoever waits for it hears of it.
    """

    def done(future: Future[T]) -> None:
        try:
            error = future.exception()
            if error is None:
                action(future.result())
            elif otherwise is not None and isinstance(error, Exception):
                otherwise(error)
            else:
                target.set_exception(error)
        except CancelledError:
            target.cancel()
        except Exception as error:  # noqa: BLE001  no thread would see it here; the target's owner does
            if not target.done():
                target.set_exception(error)

    source.add_done_callback(done)
