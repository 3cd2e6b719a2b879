"""The walls: what a command inside can see, write and leave behind. Skipped where bubblewrap does not work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judge.conftest import RIGHT, make_benchmark
from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge import sandbox as sandbox_module
from verieval.judge.process import Done, Launcher, Lost, Step
from verieval.judge.sandbox import NO_SANDBOX, PYTHON, Sandbox, find_sandbox


@pytest.fixture(scope="module")
def sandbox(toolchain: Toolchain) -> Sandbox:
    found = find_sandbox(toolchain, 8)
    if not found.holds:
        pytest.skip(f"no sandbox here: {found.reason}")
    return found


@pytest.fixture
def launcher(sandbox: Sandbox) -> Iterator[Launcher]:
    launcher = Launcher(Limits(memory_mib=512, output_mib=4), sandbox)
    yield launcher
    launcher.close()


def python(launcher: Launcher, script: str, **files: bytes) -> Done:
    return launcher.run(files, [Step((PYTHON, "-I", "-S", "-c", script), 5)])


def said(launcher: Launcher, script: str, **files: bytes) -> str:
    done = python(launcher, script, **files)
    assert done.steps[0].returncode == 0, done.printed
    return done.printed["stdout"].strip()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/proc", "/proc/self/environ", "/proc/1/fd", "/sys", "/dev/shm", "/home", "/dev/tty"]
)
def test_nothing_of_the_machine_is_there(launcher: Launcher, path: str) -> None:
    assert said(launcher, f"import os; print(os.path.exists({path!r}))") == "False"


def test_only_the_tools_are_there(launcher: Launcher, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    assert said(launcher, f"import os; print(os.path.exists({str(secret)!r}))") == "False"
    own = Path(__file__)
    assert said(launcher, f"import os; print(os.path.exists({str(own)!r}))") == "False"
    packages = (
        Path(PYTHON).parent.parent / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    )
    assert said(launcher, f"import os; p = {str(packages)!r}; print(os.path.isdir(p) and os.listdir(p))") in (
        "[]",
        "False",
    )


def test_the_environment_is_empty(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    launcher = Launcher(Limits(), sandbox)
    try:
        assert set(said(launcher, "import os; print(' '.join(os.environ))").split()) <= {
            "PATH",
            "LC_ALL",
            "LC_CTYPE",
            "TMPDIR",
        }
    finally:
        launcher.close()


def test_there_is_no_network(launcher: Launcher) -> None:
    script = (
        "import socket; s = socket.socket(); s.settimeout(2)\n"
        "try: s.connect(('127.0.0.1', 22)); print('in')\n"
        "except OSError: print('refused')"
    )
    assert said(launcher, script) == "refused"
    interfaces = "import socket; print([name for _, name in socket.if_nameindex()])"
    assert said(launcher, interfaces) == "['lo']"


@pytest.mark.parametrize("path", ["/canary", "/dev/canary", "/usr/canary", "/lib64/canary", "../../canary"])
def test_nothing_can_be_written_but_the_work_folder(launcher: Launcher, path: str) -> None:
    script = f"try: open({path!r}, 'w'); print('written')\nexcept OSError: print('refused')"
    assert said(launcher, script) == "refused"


def test_tools_cannot_be_replaced(launcher: Launcher, toolchain: Toolchain) -> None:
    script = f"try: open({toolchain.vvp[0]!r}, 'ab'); print('written')\nexcept OSError: print('refused')"
    assert said(launcher, script) == "refused"


def test_the_work_folder_is_limited(launcher: Launcher) -> None:
    script = (
        "try:\n"
        "  for i in range(100): open(str(i), 'wb').write(bytes(1 << 20))\n"
        "  print('all of it')\n"
        "except OSError as error: print(error.strerror)"
    )
    done = python(launcher, script)
    assert done.printed["stdout"].strip() in ("No space left on device", "")
    assert done.free < 1 << 20
    assert said(launcher, "print('the next job has its space again')").startswith("the next")


def test_nothing_is_left_for_the_next_job(launcher: Launcher) -> None:
    said(launcher, "open('note', 'w').write('x'); open('../note', 'w').write('x')")
    assert said(launcher, "import os; print(len(os.listdir('.')), len(os.listdir('..')))") == "1 1"


def test_processes_are_limited_and_others_out_of_sight(launcher: Launcher) -> None:
    script = (
        "import os, time\n"
        "n = 0\n"
        "try:\n"
        "  while n < 100:\n"
        "    if os.fork() == 0: time.sleep(60); os._exit(0)\n"
        "    n += 1\n"
        "except OSError: pass\n"
        "print(n)"
    )
    done = python(launcher, script)
    if os.geteuid() != 0:  # the kernel exempts root from this limit
        assert 0 < int(done.printed["stdout"]) < 64
    # Whatever the number, it is no process of the machine's that is meant.
    assert (
        said(launcher, f"import os\ntry: os.kill({os.getpid()}, 0); print('there')\nexcept OSError: print('nobody')")
        == "nobody"
    )


def test_nothing_outlives_the_launcher(sandbox: Sandbox) -> None:
    launcher = Launcher(Limits(), sandbox)
    assert said(launcher, "print('there')") == "there"
    os.kill(launcher._process.pid, signal.SIGKILL)
    with pytest.raises(Lost):
        python(launcher, "print(1)")
    launcher.close()
    marker = f"{time.time_ns()}"
    launcher = Launcher(Limits(), sandbox)

    def run() -> None:
        with pytest.raises(Lost):
            python(launcher, f"import time; time.sleep(60)  # {marker}")

    thread = threading.Thread(target=run)
    thread.start()
    _until(lambda: _running(marker))
    launcher.abort()
    thread.join(timeout=20)
    launcher.close()
    _until(lambda: not _running(marker))


def test_judging_inside_gives_the_same_verdicts(toolchain: Toolchain, sandbox: Sandbox, tmp_path: Path) -> None:
    texts = [RIGHT, RIGHT.replace("+", "-"), "module inc(;", ""]

    def judge(walls: Sandbox) -> list[tuple[str, str, str]]:
        with JudgePool(make_benchmark(), toolchain, cache=tmp_path, sandbox=walls) as pool:
            futures = [pool.submit(Completion("inc", i, text)) for i, text in enumerate(texts)]
            return [(v.result().outcome, v.result().code, v.result().detail) for v in futures]

    assert judge(sandbox) == judge(NO_SANDBOX)


def test_what_there_is_not_is_said(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda name: None)
    found = find_sandbox(toolchain, 8)
    assert (found.level, found.reason) == ("none", "bubblewrap (bwrap) is not installed")
    with pytest.raises(VerievalError, match=r"no sandbox: bubblewrap \(bwrap\) is not installed; install"):
        find_sandbox(toolchain, 8, wanted=True)


def test_one_that_does_not_work_is_not_taken(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permission to make a namespace' >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sandbox_module.shutil, "which", lambda name: str(broken))
    assert "no permission to make a namespace" in find_sandbox(toolchain, 8).reason


def test_it_can_be_switched_off(toolchain: Toolchain) -> None:
    assert find_sandbox(toolchain, 8, wanted=False) == NO_SANDBOX


def _running(marker: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def _until(condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited 20 s in vain"
        time.sleep(0.02)
