"""Stopping on SIGINT and SIGTERM: the first asks, the second kills."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The user or the machine wants the run to end. Not an Exception, so that no library swallows it."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """What a shell reports for a process that such a signal ended."""
        return 128 + self.signum


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise :class:`Stopped` in the main thread on the first signal; a second one ends the process at once.

    Outside the main thread, where Python allows no handlers, nothing is changed. A signal that is ignored already
    (``nohup``) stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}

    def stop(signum: int, frame: FrameType | None) -> None:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        raise Stopped(signum)

    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, stop)
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler if handler is not None else signal.SIG_DFL)
