"""The pool's end of a launcher: run one command in a work folder, under limits, and say how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from verieval.errors import VerievalError
from verieval.judge.limits import MIB, Limits

_LAUNCHER = Path(__file__).with_name("launcher.py")
_PREFIX = "verieval-work-"
_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class ProcessResult:
    """How a command ended. ``cpu`` counts the command and every child that it waited for, in seconds."""

    returncode: int | None
    signal: int
    killed: str
    cpu: float
    wall: float
    maxrss_kib: int
    error: str

    @property
    def timed_out(self) -> bool:
        """It used up its CPU time, or the wall backstop ended it."""
        return self.killed == "wall" or self.signal == signal.SIGXCPU

    @property
    def killed_from_outside(self) -> bool:
        """A signal ended it that neither its limits nor its own faults send: another process, or a full machine."""
        return self.killed == "" and self.signal in _OUTSIDE

    @property
    def too_much_output(self) -> bool:
        """A file that it wrote reached the size limit."""
        return self.signal == signal.SIGXFSZ


class Launcher:
    """One worker's launcher process and its private root folder. Not thread-safe: one thread owns it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        try:
            self.root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        except OSError as error:
            raise VerievalError(f"cannot make a work folder in {tempfile.gettempdir()}: {error.strerror}") from error
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER), str(self.root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # an interrupt at the terminal must not reach the tools
            )
        except OSError:
            self.root.rmdir()
            raise

    def run(
        self, argv: list[str], cwd: Path, *, cpu: float, stdout: str = "stdout", stderr: str | None = None
    ) -> ProcessResult:
        """Run ``argv`` (absolute path first) in ``cwd`` with its output in files there.

        Raises:
            VerievalError: the tool cannot be started.
            Lost: the launcher or the tool was killed from outside.
        """
        request = {
            "argv": argv,
            "cwd": str(cwd),
            "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": str(cwd)},
            "stdout": stdout,
            "stderr": stderr,
            "cpu": cpu,
            "wall": cpu * self.limits.wall_factor,
            "memory": self.limits.memory_mib * MIB,
            "file": self.limits.output_mib * MIB,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (BrokenPipeError, ValueError) as error:
            raise Lost from error
        if not line:
            raise Lost
        result = ProcessResult(**json.loads(line))
        if result.error:
            raise VerievalError(f"cannot run {argv[0]}: {result.error}")
        if result.killed_from_outside:
            raise Lost
        return result

    def folder(self, name: str) -> Path:
        """A new empty folder for one sample."""
        path = self.root / name
        path.mkdir()
        return path

    def close(self) -> None:
        """End the launcher, which kills what still runs and removes the root folder."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


class Lost(Exception):
    """Something outside ended the launcher or a tool, or removed its folder: that says nothing of the candidate.

    The pool starts another launcher and judges the sample again.
    """
