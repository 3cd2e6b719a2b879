"""What commands that judge for long have in common: progress on standard error, and an end on a signal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from verieval.cli.common import note

quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")


@contextmanager
def stoppable() -> Iterator[None]:
    """A signal ends the command with a word; what was judged is kept."""
    from verieval.run.signals import Stopped
    from verieval.run.signals import stoppable as until_stopped

    try:
        with until_stopped():
            yield
    except Stopped as stop:
        name = signal.Signals(stop.signum).name
        note(f"stopped by {name}; the same command goes on from the verdicts that are cached")
        raise click.exceptions.Exit(stop.exit_code) from None


@contextmanager
def progress(total: int, title: str, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; elsewhere a line every ten seconds, and one at the end.

    Args:
        total: how often what is yielded will be called, by one thread at a time.
        title: what is done.
        quiet: show nothing.
    """
    if quiet:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(total, title) as advance:
            yield advance
    else:
        with _lines(total, title) as advance:
            yield advance


@contextmanager
def _bar(total: int, title: str) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def _lines(total: int, title: str) -> Iterator[Callable[[], None]]:
    from verieval.run.progress import Ticker

    done = 0

    def advance() -> None:
        nonlocal done
        done += 1

    ticker = Ticker(lambda: f"{title}: {done}/{total}")
    try:
        yield advance
    finally:
        ticker.close()
