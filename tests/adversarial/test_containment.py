"""A pool whose candidates hang and flood leaves no process and no file, whether it is left in peace or in haste."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adversarial import corpus
from tests.adversarial.corpus import Attempt
from tests.adversarial.judging import LIMITS, Judges
from verieval.judge import Toolchain

_PR_SET_CHILD_SUBREAPER = 36
HANGS = {
    "hangs/zero-delay",
    "hangs/constant-function",
    "hangs/fork-storm",
    "floods/print",
    "floods/memory",
    "hangs/read-endless",
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test's own for all work folders."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def subreaper() -> Iterator[None]:
    """What loses its parent becomes this process's child, so that it cannot hide."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        pytest.skip("this system knows no subreaper")
    yield
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def hangs() -> list[Attempt]:
    return [
        attempt for attempt in corpus.quick_attempts() if attempt.trick.name in HANGS and attempt.target.family == "own"
    ]


@pytest.mark.usefixtures("subreaper")
def test_nothing_is_left_running(toolchain: Toolchain, work: Path, tmp_path: Path) -> None:
    before = _descendants()
    started = time.monotonic()
    with Judges(toolchain, None, tmp_path / "cache", jobs=2) as judges:
        futures = [judges.submit(attempt) for attempt in hangs()]
        outcomes = [future.result().outcome for future in futures]
    assert len(outcomes) == len(HANGS)
    assert "passed" not in outcomes
    # Each may use its limits twice, for both criteria, and the compiler's once more alone; busy machines are slower.
    assert time.monotonic() - started < 20 * len(HANGS) * (LIMITS.compile_cpu + LIMITS.simulate_cpu)
    _nothing_left(work, before)


@pytest.mark.usefixtures("subreaper")
def test_nothing_is_left_running_after_an_interrupt(toolchain: Toolchain, work: Path, tmp_path: Path) -> None:
    before = _descendants()
    with Judges(toolchain, None, tmp_path / "cache", jobs=2) as judges:
        for attempt in hangs():
            judges.submit(attempt)
        time.sleep(1.5)
    _nothing_left(work, before)


def _nothing_left(work: Path, before: set[int]) -> None:
    deadline = time.monotonic() + 5  # a killed process needs a moment
    while (_descendants() - before or _inside(work)) and time.monotonic() < deadline:
        time.sleep(0.05)
        _reap()
    assert {pid: _command(pid) for pid in _descendants() - before} == {}
    assert _inside(work) == []
    assert list(work.iterdir()) == []


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _descendants() -> set[int]:
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found: set[int] = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def _inside(folder: Path) -> list[str]:
    """Processes that run in a folder or name it in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        if int(path.name) == os.getpid():
            continue
        try:
            place = str((path / "cwd").readlink())
        except OSError:
            continue
        command = _command(int(path.name))
        if place.startswith(str(folder)) or str(folder) in command:
            found.append(command)
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
