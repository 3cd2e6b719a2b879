"""Lines now and then, with the speed and the time that is left."""

from __future__ import annotations

import io

import pytest

from finetune import progress
from finetune.progress import LiveProgress, PlainProgress, Progress, duration, open_progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_plain_lines(clock):
    stream = io.StringIO()
    with PlainProgress(10, 4, stream) as shown:
        for done in range(5, 9):
            clock[0] += 30.0 if done == 5 else 6.0  # the first step compiles
            shown.step(done, 1.5, 1234.5)
    assert stream.getvalue().splitlines() == [
        "step 5/10, loss 1.5000, 1,234 tokens/s",
        "step 7/10, loss 1.5000, 1,234 tokens/s, 0:18 left",
        "step 8/10, loss 1.5000, 1,234 tokens/s, 0:12 left",
    ]


def test_nothing_done_is_said_once(clock):
    stream = io.StringIO()
    with PlainProgress(10, 10, stream):
        pass
    assert stream.getvalue() == "step 10/10\n"


def test_the_display_fits(monkeypatch):
    assert type(open_progress(3, 0, quiet=True)) is Progress
    assert type(open_progress(3, 0, quiet=False)) is PlainProgress
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    live = open_progress(3, 0, quiet=False)
    live.step(1, 0.5, 10.0)
    live.close()
    assert type(live) is LiveProgress


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61, "1:01"), (3725.4, "1:02:05")])
def test_durations(seconds, text):
    assert duration(seconds) == text
