"""Chaining futures: nothing waits inside a worker, so what depends on a result is a callback on it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")


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
