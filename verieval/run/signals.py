"""Stopping on SIGINT and SIGTERM: the first asks, the second kills."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
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
def stoppable(*, at_once: bool = True) -> Iterator[Callable[[], None]]:
    """Raise :class:`Stopped` in the main thread on the first signal; a second one ends the process at once.

    With ``at_once=False`` the first signal is only noted, and the function that is yielded raises: for work that has
    to come to a point from which it can go on.

    Outside the main thread, where Python allows no handlers, nothing is changed. A signal that is ignored already
    (``nohup``) stays so.

    Yields:
        A function that raises :class:`Stopped` where a signal has come. Python drops what a handler raises within a
        finaliser or a weak reference's callback, so long work calls it now and then, and it is called at the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    asked: list[int] = []
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}

    def stop(signum: int, frame: FrameType | None) -> None:
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)
        asked.append(signum)
        if at_once:
            raise Stopped(signum)

    def check() -> None:
        if asked:
            raise Stopped(asked[0])

    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, stop)
    try:
        yield check
        check()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler if handler is not None else signal.SIG_DFL)
