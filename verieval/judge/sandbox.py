"""Where the tools run: a bubblewrap sandbox around each worker's launcher, where this machine allows one.

Inside it there is no network, no environment, no ``/proc``, no process of anybody else, and of the file system only the
tools themselves, read-only, and a private work folder in memory with a size limit. One sandbox holds a launcher, not a
command, so that its 4 ms are paid once a worker; the launcher empties the work folder between jobs.

Where bubblewrap is missing or forbidden, the tools run under their resource limits alone. That is said, stands in the
manifest, and candidates that the policy refuses are then not simulated at all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from verieval.errors import VerievalError
from verieval.judge.limits import MIB
from verieval.judge.toolchain import Toolchain

WORK = "/verieval-work"  # the work folder inside, where no tool can lie
PYTHON = os.path.realpath(sys.executable)  # of no virtual environment: the launcher needs the standard library alone
PROCESSES = 32  # a compiler is a driver, a shell and two parts
_CHECK = 'export TMPDIR=. && "$1" -V >/dev/null && "$2" -V >/dev/null && exec "$0" -I -S -c "print(6 * 7)"'
_LIBRARY = re.compile(r"(?:=>\s+|^\s+)(/\S+) \(0x", re.MULTILINE)
_INTERPRETER = re.compile(r"^\s+(/\S+) => /\S+ \(0x", re.MULTILINE)


@dataclass(frozen=True)
class Sandbox:
    """What surrounds the tools.

    Attributes:
        level: ``bubblewrap``, or ``none``: resource limits alone.
        version: bubblewrap's version.
        reason: why there is none.
        prefix: command line in front of the launcher's.
    """

    level: str
    version: str = ""
    reason: str = ""
    prefix: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Nothing that runs inside can reach what is outside."""
        return self.level != "none"

    def describe(self) -> dict[str, str]:
        """Manifest section ``sandbox``. Its version changes no number, so only the level is recorded."""
        return {"level": self.level}


NO_SANDBOX = Sandbox("none", reason="it was switched off")


@dataclass(frozen=True)
class Visible:
    """Further files that the tools need inside, read-only.

    Attributes:
        paths: files and folders.
        binaries: executables and libraries whose own shared libraries have to be visible too.
        links: symbolic links to make, ``(link, target)``, for what a tool reads of itself where there is no ``/proc``.
    """

    paths: tuple[Path, ...] = ()
    binaries: tuple[Path, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    def __add__(self, other: Visible) -> Visible:
        """Both."""
        return Visible(self.paths + other.paths, self.binaries + other.binaries, self.links + other.links)


def find_sandbox(
    toolchain: Toolchain, work_mib: int, *, wanted: bool | None = None, also: Visible = Visible()
) -> Sandbox:
    """The strongest sandbox that works here.

    Args:
        toolchain: what has to be visible inside.
        work_mib: size of the work folder.
        also: what else has to be.
        wanted: True refuses less than bubblewrap, False switches it off, None takes what there is.

    Raises:
        VerievalError: a sandbox is required and there is none.
    """
    if wanted is False:
        return NO_SANDBOX
    found = _bubblewrap(toolchain, work_mib, also)
    if wanted and not found.holds:
        raise VerievalError(
            f"no sandbox: {found.reason}; install bubblewrap (apt-get install bubblewrap) where user namespaces are "
            "allowed, or leave out --require-sandbox"
        )
    return found


def _bubblewrap(toolchain: Toolchain, work_mib: int, also: Visible) -> Sandbox:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return Sandbox("none", reason="bubblewrap (bwrap) is not installed")
    if toolchain.library is None:
        return Sandbox("none", reason=f"the folder of the compiler proper of {toolchain.iverilog[0]} was not found")
    prefix = (bwrap, *_options(toolchain, work_mib, also))
    tools = (PYTHON, toolchain.iverilog[0], toolchain.vvp[0])
    tried = _try((*prefix, "/bin/sh", "-c", _CHECK, *tools))
    if tried is not None:
        return Sandbox("none", reason=f"bubblewrap does not work here: {tried}")
    return Sandbox("bubblewrap", version=_version(bwrap), prefix=prefix)


def _options(toolchain: Toolchain, work_mib: int, also: Visible) -> list[str]:
    options = ["--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
    options += ["--die-with-parent", "--clearenv", "--dev-bind", "/dev/null", "/dev/null"]
    for path in _visible(toolchain, also):
        options += ["--ro-bind", path, path]
    for link, target in also.links:
        options += ["--symlink", target, link]
    for path in _hidden():
        options += ["--tmpfs", path]
    for path in map(str, also.paths):  # after what is hidden, which may hold them
        options += ["--ro-bind", path, path]
    return [*options, "--size", str(work_mib * MIB), "--tmpfs", WORK, "--chdir", WORK, "--remount-ro", "/"]


@cache
def _visible(toolchain: Toolchain, also: Visible) -> tuple[str, ...]:
    """Files and folders of the tools: executables, their libraries, Icarus's own folder, Python's standard library."""
    assert toolchain.library is not None
    binaries = [Path(toolchain.iverilog[0]), Path(toolchain.vvp[0]), Path(PYTHON), Path("/bin/sh")]
    folders = [toolchain.library, Path(sysconfig.get_path("stdlib"))]
    parts = [path for path in toolchain.library.iterdir() if path.is_file() and path.suffix in ("", ".vpi", ".tgt")]
    libraries = _libraries([*binaries, *parts, *also.binaries])
    seen = dict.fromkeys([*map(str, binaries), *map(str, folders), str(launcher_path()), *libraries])
    return tuple(path for path in seen if Path(path).exists())


def launcher_path() -> Path:
    """The launcher's script."""
    return Path(__file__).with_name("launcher.py")


def _hidden() -> list[str]:
    """Installed packages lie inside the standard library's folder, and are no tool."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    return [str(path) for name in ("site-packages", "dist-packages") if (path := stdlib / name).is_dir()]


def _libraries(binaries: Iterable[Path]) -> list[str]:
    """What the dynamic loader will open for these, its own path included."""
    done = subprocess.run(["ldd", *map(str, binaries)], check=False, capture_output=True, text=True, errors="replace")
    return [os.path.normpath(path) for path in _LIBRARY.findall(done.stdout) + _INTERPRETER.findall(done.stdout)]


def _try(command: tuple[str, ...]) -> str | None:
    """None where the command answers, else what it said."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace", timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0 and done.stdout.strip() == "42":
        return None
    return next(iter(done.stderr.strip().splitlines()), f"it ended with status {done.returncode}")


def _version(bwrap: str) -> str:
    done = subprocess.run([bwrap, "--version"], check=False, capture_output=True, text=True, errors="replace")
    return done.stdout.strip().removeprefix("bubblewrap ")
