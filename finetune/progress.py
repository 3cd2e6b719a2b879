"""What training shows while it works: a bar on a terminal, a line now and then elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

_EVERY = 10.0  # seconds between plain lines
_RECENT = 0.1  # weight of the newest step in the mean seconds of a step


class Progress:
    """Counts of a run. This one shows nothing; subclasses show it."""

    def __init__(self, total: int, start: int = 0) -> None:
        """Begin at step ``start`` of ``total``."""
        self.total = total
        self.done = start
        self.loss = float("nan")
        self.tokens_per_second = 0.0
        self._pace: float | None = None
        self._steps = 0
        self._before = time.monotonic()

    def step(self, done: int, loss: float, tokens_per_second: float) -> None:
        """A step was done; the time since the last one, evaluations and all, is its pace."""
        now = time.monotonic()
        seconds, self._before = now - self._before, now
        # The first step is left out of the pace: it compiles and warms up.
        if self._steps == 1:
            self._pace = seconds
        elif self._pace is not None:
            self._pace += _RECENT * (seconds - self._pace)
        self._steps += 1
        self.done, self.loss, self.tokens_per_second = done, loss, tokens_per_second
        self.show()

    @property
    def seconds_left(self) -> float | None:
        """At the recent pace; None before there is one."""
        return None if self._pace is None else self._pace * (self.total - self.done)

    def figures(self) -> str:
        """Loss, speed and time left, where there are any."""
        parts = [f"loss {self.loss:.4f}", f"{self.tokens_per_second:,.0f} tokens/s"] if self.loss == self.loss else []
        left = self.seconds_left
        return ", ".join(parts if left is None else [*parts, f"{duration(left)} left"])

    def show(self) -> None:
        """Show the present state."""

    def close(self) -> None:
        """Show the last state."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class PlainProgress(Progress):
    """A line every ten seconds and one at the end, for files and pipes."""

    def __init__(self, total: int, start: int = 0, stream: TextIO | None = None, every: float = _EVERY) -> None:
        super().__init__(total, start)
        self._stream = stream or sys.stderr
        self._every = every
        self._shown = -1
        self._next = time.monotonic() + every

    def line(self) -> str:
        """The present state in one line."""
        return ", ".join(part for part in (f"step {self.done}/{self.total}", self.figures()) if part)

    def show(self) -> None:
        """A line, when it is time."""
        if time.monotonic() >= self._next:
            self._write()

    def close(self) -> None:
        """The last line."""
        if self._shown != self.done:
            self._write()

    def _write(self) -> None:
        self._shown, self._next = self.done, time.monotonic() + self._every
        print(self.line(), file=self._stream, flush=True)


class LiveProgress(Progress):
    """A bar that moves."""

    def __init__(self, total: int, start: int = 0) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        super().__init__(total, start)
        self._bars: RichProgress = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._task = self._bars.add_task("step", total=total, completed=start, note="")
        self._bars.start()

    def show(self) -> None:
        """Move the bar."""
        self._bars.update(self._task, completed=self.done, note=self.figures())

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bars.stop()


def open_progress(total: int, start: int, *, quiet: bool) -> Progress:
    """The display that fits where standard error goes."""
    if quiet:
        return Progress(total, start)
    return LiveProgress(total, start) if sys.stderr.isatty() else PlainProgress(total, start)


def duration(seconds: float) -> str:
    """``H:MM:SS`` or ``M:SS``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
