"""What a run shows while it works: live bars on a terminal, a line now and then elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from verieval.completion import Completion
from verieval.run.store import RunStore
from verieval.verdict import Verdict

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


# A pace is trusted when it was held this long and over this share of the session's work: the first verdicts stand for
# the tasks that are known to be slow, which are judged first, and for the start of the workers.
TRUSTED_SECONDS = 20.0
TRUSTED_SHARE = 0.1


class Progress:
    """Counts of a run. This one shows nothing (``--quiet``); subclasses show it.

    ``completion`` and ``verdict`` may be called from different threads, each from one only.
    """

    def __init__(self, total: int, criterion: str, *, generating: bool = True) -> None:
        """Begin to count.

        Args:
            total: completions that there will be.
            criterion: of the running pass@1.
            generating: completions are made while they are judged; else only the judging is shown.
        """
        self.total = total
        self.criterion = criterion
        self.generating = generating
        self.generated = 0
        self.judged = 0
        self.session_judged = 0
        self.started = time.monotonic()
        self._samples: Counter[str] = Counter()
        self._passes: Counter[str] = Counter()

    def resume(self, store: RunStore) -> None:
        """Take in what an earlier session did."""
        self.generated = len(store.completions)
        for verdict in store.verdicts.values():
            if verdict.outcome != "harness":
                self._count(verdict)

    def completion(self, completion: Completion) -> None:
        """A completion was stored."""
        self.generated += 1

    def verdict(self, verdict: Verdict) -> None:
        """A verdict was stored."""
        self._count(verdict)
        self.session_judged += 1

    def _count(self, verdict: Verdict) -> None:
        self.judged += 1
        self._samples[verdict.task_id] += 1
        self._passes[verdict.task_id] += verdict.passed[self.criterion]

    @property
    def running_pass_at_1(self) -> float | None:
        """Mean over the problems judged so far of their share of passes; None before the first verdict."""
        if not self._samples:
            return None
        samples = self._samples.copy()
        return sum(self._passes[task] / n for task, n in samples.items()) / len(samples)

    @property
    def seconds_left(self) -> float | None:
        """At the pace of this session; None before there is one that can be trusted, and when nothing is left."""
        passed, left = time.monotonic() - self.started, self.total - self.judged
        trusted = max(1.0, TRUSTED_SHARE * (self.session_judged + left))
        if left <= 0 or passed < TRUSTED_SECONDS or self.session_judged < trusted:
            return None
        return passed / self.session_judged * left

    def figures(self) -> list[str]:
        """The running pass@1 and the time that is left, where there is one."""
        rate, left = self.running_pass_at_1, self.seconds_left
        shown = [] if rate is None else [f"pass@1 {rate:.3f} ({self.criterion})"]
        return shown if left is None else [*shown, f"{_duration(left)} left"]

    def close(self) -> None:
        """Show the last state."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Ticker:
    """Writes a line now and then from a thread of its own, and one at the end.

    Args:
        line: the present state in one line.
        stream: where it goes; standard error by default.
        every: seconds between two lines.
    """

    def __init__(self, line: Callable[[], str], stream: TextIO | None = None, every: float = 10.0) -> None:
        self._line = line
        self._stream = stream or sys.stderr
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._tick, args=(every,), name="progress", daemon=True)
        self._thread.start()

    def _tick(self, every: float) -> None:
        while not self._end.wait(every):
            print(self._line(), file=self._stream, flush=True)

    def close(self) -> None:
        """Stop the clock and write the last line."""
        self._end.set()
        self._thread.join()
        print(self._line(), file=self._stream, flush=True)


class PlainProgress(Progress):
    """A line every ten seconds and one at the end, for files and pipes."""

    def __init__(
        self,
        total: int,
        criterion: str,
        stream: TextIO | None = None,
        every: float = 10.0,
        *,
        generating: bool = True,
    ) -> None:
        super().__init__(total, criterion, generating=generating)
        self._ticker = Ticker(self.line, stream, every)

    def line(self) -> str:
        """The present state in one line."""
        generated = [f"generated {self.generated}/{self.total}"] if self.generating else []
        return ", ".join([*generated, f"judged {self.judged}/{self.total}", *self.figures()])

    def close(self) -> None:
        """Stop the clock and write the last line."""
        self._ticker.close()


class LiveProgress(Progress):
    """Bars that move, with the running pass@1."""

    def __init__(self, total: int, criterion: str, *, generating: bool = True) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        super().__init__(total, criterion, generating=generating)
        self._bars: RichProgress = RichProgress(
            TextColumn("{task.description:>9}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._generated: TaskID = self._bars.add_task("generated", total=total, note="", visible=generating)
        self._judged: TaskID = self._bars.add_task("judged", total=total, note="")
        self._bars.start()

    def resume(self, store: RunStore) -> None:
        """Take in what an earlier session did."""
        super().resume(store)
        self._show()

    def completion(self, completion: Completion) -> None:
        """A completion was stored."""
        super().completion(completion)
        self._bars.update(self._generated, completed=self.generated)

    def verdict(self, verdict: Verdict) -> None:
        """A verdict was stored."""
        super().verdict(verdict)
        self._show()

    def _show(self) -> None:
        self._bars.update(self._generated, completed=self.generated)
        self._bars.update(self._judged, completed=self.judged, note=", ".join(self.figures()))

    def close(self) -> None:
        """Leave the bars as they are."""
        self._bars.stop()


def open_progress(total: int, criterion: str, *, quiet: bool, generating: bool = True) -> Progress:
    """The display that fits where standard error goes."""
    if quiet:
        return Progress(total, criterion, generating=generating)
    display = LiveProgress if sys.stderr.isatty() else PlainProgress
    return display(total, criterion, generating=generating)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
