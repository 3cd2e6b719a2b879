"""The launcher: limits, whole process groups, and its end when the pool is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from verieval.errors import VerievalError
from verieval.judge.limits import Limits
from verieval.judge.process import Launcher, Lost


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    launcher = Launcher(Limits(wall_factor=1, memory_mib=256, output_mib=1))
    yield launcher
    launcher.close()


def sh(launcher: Launcher, script: str, cpu: float = 1.0, name: str = "work"):  # type: ignore[no-untyped-def]
    folder = launcher.root / name
    folder.mkdir(exist_ok=True)
    return launcher.run(["/bin/sh", "-c", script], folder, cpu=cpu), folder


def test_output_and_status(launcher: Launcher) -> None:
    result, folder = sh(launcher, "echo out; echo err >&2; exit 3")
    assert (result.returncode, result.signal, result.killed) == (3, 0, "")
    assert sorted((folder / "stdout").read_text().split()) == ["err", "out"]


def test_cpu_time_is_limited_not_wall_time() -> None:
    launcher = Launcher(Limits(wall_factor=60))
    result, _ = sh(launcher, "while :; do :; done")
    launcher.close()
    assert result.timed_out
    assert result.killed == ""
    assert 0.9 < result.cpu < 1.5


def test_wall_backstop_kills_the_whole_group(launcher: Launcher) -> None:
    result, folder = sh(launcher, "sleep 60 & echo $! > child; sleep 60")
    assert result.killed == "wall"
    child = int((folder / "child").read_text())
    _until(lambda: not _alive(child))


def test_what_a_command_leaves_running_is_killed(launcher: Launcher) -> None:
    result, folder = sh(launcher, "sleep 60 & echo $! > child")
    assert result.returncode == 0
    child = int((folder / "child").read_text())
    _until(lambda: not _alive(child))


def test_output_is_bounded(launcher: Launcher) -> None:
    result, folder = sh(
        launcher, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa || exit 1; done", cpu=20
    )
    assert (folder / "stdout").stat().st_size <= 1 << 20
    assert result.too_much_output or result.returncode


def test_memory_is_bounded(launcher: Launcher) -> None:
    script = "import sys\ntry:\n  bytearray(1 << 30)\nexcept MemoryError:\n  sys.exit(7)"
    folder = launcher.folder("memory")
    result = launcher.run([sys.executable, "-I", "-S", "-c", script], folder, cpu=5)
    assert result.returncode == 7


def test_environment_is_the_launchers_own(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    fresh = Launcher(Limits())
    try:
        _, folder = sh(fresh, "env")
        assert "hunter2" not in (folder / "stdout").read_text()
    finally:
        fresh.close()


def test_standard_input_is_empty(launcher: Launcher) -> None:
    result, folder = sh(launcher, "cat; echo done")
    assert (folder / "stdout").read_text() == "done\n"
    assert result.returncode == 0


def test_a_missing_tool_is_a_sentence(launcher: Launcher) -> None:
    with pytest.raises(VerievalError, match="cannot run /nowhere/iverilog"):
        launcher.run(["/nowhere/iverilog"], launcher.folder("missing"), cpu=1)


def test_a_killed_launcher_is_told_from_a_failed_command(launcher: Launcher) -> None:
    os.kill(launcher._process.pid, signal.SIGKILL)
    with pytest.raises(Lost):
        sh(launcher, "true")


def test_close_removes_the_folder() -> None:
    launcher = Launcher(Limits())
    root = launcher.root
    launcher.folder("a")
    launcher.close()
    assert not root.exists()


def test_nothing_outlives_a_killed_pool() -> None:
    """SIGKILL of the program: the running tool dies and the work folder goes."""
    script = (
        "from verieval.judge.process import Launcher; from verieval.judge.limits import Limits\n"
        "l = Launcher(Limits()); print(l.root, flush=True)\n"
        "l.run(['/bin/sh', '-c', 'echo $$ > pid; sleep 60'], l.folder('a'), cpu=60)"
    )
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    root = Path(program.stdout.readline().strip())
    pid_file = root / "a" / "pid"
    _until(lambda: pid_file.exists() and bool(pid_file.read_text().strip()))
    pid = int(pid_file.read_text())
    program.kill()
    program.wait()
    _until(lambda: not _alive(pid) and not root.exists())


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _until(condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited 10 s in vain"
        time.sleep(0.02)
