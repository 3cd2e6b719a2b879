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
from verieval.judge.process import Done, Launcher, Lost, Step


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    launcher = Launcher(Limits(wall_factor=1, memory_mib=256, output_mib=1))
    yield launcher
    launcher.close()


def sh(launcher: Launcher, *scripts: str, cpu: float = 1.0, **files: bytes) -> Done:
    return launcher.run(files, [Step(("/bin/sh", "-c", script), cpu, f"stdout{i}") for i, script in enumerate(scripts)])


def test_output_and_status(launcher: Launcher) -> None:
    done = sh(launcher, "echo out; echo err >&2; exit 3")
    assert (done.steps[0].returncode, done.steps[0].signal, done.steps[0].killed) == (3, 0, "")
    assert sorted(done.printed["stdout0"].split()) == ["err", "out"]


def test_streams_apart_when_asked(launcher: Launcher) -> None:
    done = launcher.run({}, [Step(("/bin/sh", "-c", "echo out; echo err >&2"), 1, "out", "err")])
    assert done.printed == {"out": "out\n", "err": "err\n"}


def test_a_job_has_its_files_and_an_empty_folder(launcher: Launcher) -> None:
    data = bytes(range(256)) * 500
    assert sh(launcher, "wc -c < a; touch left", a=data).printed["stdout0"].strip() == str(len(data))
    assert sh(launcher, "ls .. | wc -l; ls").printed["stdout0"].split()[0] == "1"
    assert len(sh(launcher, "ls").printed["stdout0"].split()) == 1  # its own log


def test_steps_end_with_the_first_that_fails(launcher: Launcher) -> None:
    assert len(sh(launcher, "true", "exit 1", "true").steps) == 2
    first = Step(("/bin/sh", "-c", "true"), 1, makes="product")
    assert len(launcher.run({}, [first, first]).steps) == 1
    first = Step(("/bin/sh", "-c", "touch product"), 1, makes="product")
    assert len(launcher.run({}, [first, first]).steps) == 2


def test_the_name_of_a_log_is_no_file(launcher: Launcher) -> None:
    """A candidate that writes a file of that name does not write the log."""
    assert sh(launcher, "echo forged > stdout0; echo true").printed["stdout0"] == "true\n"


def test_bytes_that_are_no_text_come_back_as_text(launcher: Launcher) -> None:
    assert sh(launcher, "printf '\\377\\303\\244'").printed["stdout0"] == "\ufffd\u00e4"


def test_a_log_that_was_replaced_is_not_followed(launcher: Launcher, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    assert sh(launcher, f"log=$(ls); rm $log; ln -s {secret} $log").printed["stdout0"] == ""
    assert sh(launcher, "log=$(ls); rm $log; mkfifo $log").printed["stdout0"] == ""
    assert sh(launcher, "log=$(ls); rm $log; mkdir $log").printed["stdout0"] == ""
    assert sh(launcher, "echo fine").printed["stdout0"] == "fine\n"


def test_cpu_time_is_limited_not_wall_time() -> None:
    launcher = Launcher(Limits(wall_factor=60))
    result = sh(launcher, "while :; do :; done").steps[0]
    launcher.close()
    assert result.timed_out
    assert result.killed == ""
    assert 0.5 < result.cpu < 1.5


def test_wall_backstop_kills_the_whole_group(launcher: Launcher) -> None:
    done = sh(launcher, "sleep 60 & echo $!; sleep 60")
    assert done.steps[0].killed == "wall"
    _until(lambda: not _alive(int(done.printed["stdout0"])))


def test_what_a_command_leaves_running_is_killed(launcher: Launcher) -> None:
    done = sh(launcher, "sleep 60 & echo $!")
    assert done.steps[0].returncode == 0
    _until(lambda: not _alive(int(done.printed["stdout0"])))


def test_output_is_bounded(launcher: Launcher) -> None:
    done = sh(launcher, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa || exit 1; done", cpu=20)
    assert len(done.printed["stdout0"]) <= 1 << 20
    assert done.steps[0].too_much_output or done.steps[0].returncode


def test_memory_is_bounded(launcher: Launcher) -> None:
    script = "import sys\ntry:\n  bytearray(1 << 30)\nexcept MemoryError:\n  sys.exit(7)"
    done = launcher.run({}, [Step((sys.executable, "-I", "-S", "-c", script), 5)])
    assert done.steps[0].returncode == 7


def test_environment_is_the_launchers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    fresh = Launcher(Limits())
    try:
        assert "hunter2" not in sh(fresh, "env").printed["stdout0"]
    finally:
        fresh.close()


def test_standard_input_is_empty(launcher: Launcher) -> None:
    done = sh(launcher, "cat; echo done")
    assert done.printed["stdout0"] == "done\n"
    assert done.steps[0].returncode == 0


def test_a_missing_tool_is_a_sentence(launcher: Launcher) -> None:
    with pytest.raises(VerievalError, match="cannot run /nowhere/iverilog: No such file"):
        launcher.run({}, [Step(("/nowhere/iverilog",), 1)])


def test_a_killed_launcher_is_told_from_a_failed_command(launcher: Launcher) -> None:
    os.kill(launcher._process.pid, signal.SIGKILL)
    with pytest.raises(Lost):
        sh(launcher, "true")


def test_a_vanished_work_folder_is_told_from_a_failed_command(launcher: Launcher) -> None:
    launcher.root.rmdir()
    with pytest.raises(Lost):
        sh(launcher, "true")


def test_close_removes_the_folder() -> None:
    launcher = Launcher(Limits())
    sh(launcher, "true", a=b"text")
    launcher.close()
    assert not launcher.root.exists()


def test_nothing_outlives_a_killed_pool() -> None:
    """SIGKILL of the program: the running tool dies and the work folder goes."""
    script = (
        "from verieval.judge.process import Launcher, Step; from verieval.judge.limits import Limits\n"
        "l = Launcher(Limits()); print(l.root, flush=True)\n"
        "l.run({}, [Step(('/bin/sh', '-c', 'echo $$ > pid; sleep 60'), 60)])"
    )
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    root = Path(program.stdout.readline().strip())
    pid_file = root / "0" / "pid"
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
