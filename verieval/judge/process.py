"""The pool's end of a launcher: run a job's commands in a work folder, under limits, and say how they ended."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.judge.limits import MIB, Limits
from verieval.judge.sandbox import NO_SANDBOX, PROCESSES, PYTHON, WORK, Sandbox, launcher_path

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


@dataclass(frozen=True)
class Step:
    """One command of a job.

    Attributes:
        argv: the command, its executable as an absolute path.
        cpu: its limit in CPU seconds.
        stdout, stderr: files that take what it prints; without ``stderr`` both go into one, in order.
        makes: a file that it must make for the next step to be run.
        env: further variables of its environment; ``{secret}`` in a value stands for the ending under which it has to
            write what it returns.
        returns: files that it writes as ``{secret}-NAME`` and that come back as NAME, like what it prints; empty where
            it did not.
    """

    argv: tuple[str, ...]
    cpu: float
    stdout: str = "stdout"
    stderr: str | None = None
    makes: str = ""
    env: tuple[tuple[str, str], ...] = ()
    returns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """How a job went.

    Attributes:
        steps: how each command ended, as many as were run.
        printed: what they printed and returned, by file.
        free: bytes left in the work folder at the end.
    """

    steps: tuple[ProcessResult, ...]
    printed: Mapping[str, str] = field(default_factory=dict)
    free: int = 0


class Launcher:
    """One worker's launcher process and its private root folder. Not thread-safe: one thread owns it."""

    def __init__(self, limits: Limits, sandbox: Sandbox = NO_SANDBOX) -> None:
        self.limits = limits
        self.sandbox = sandbox
        self.root = Path(WORK) if sandbox.holds else self._make_root()
        try:
            self._process = subprocess.Popen(
                [*sandbox.prefix, PYTHON, "-I", "-S", str(launcher_path()), str(self.root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt at the terminal must not reach the tools
            )
        except OSError:
            self._remove_root()
            raise

    def run(self, files: Mapping[str, bytes], steps: Sequence[Step]) -> Done:
        """Run ``steps`` one after the other in a folder that holds ``files``, until one fails.

        Raises:
            VerievalError: a tool cannot be started, or the work folder cannot be used.
            Lost: the launcher or a tool was killed from outside, or the work folder is gone.
        """
        answer, printed = self._ask(files, steps)
        if answer["gone"]:
            raise Lost
        if answer["error"] and answer["where"] in [step.argv[0] for step in steps] and answer["free"] >= MIB:
            raise VerievalError(f"cannot run {answer['where']}: {answer['error']}")
        if answer["error"]:
            raise VerievalError(f"cannot use the work folder {self.root.parent}: {answer['error']}")
        results = tuple(ProcessResult(**ended) for ended in answer["steps"])
        if results and results[-1].killed_from_outside:
            raise Lost
        if not self.sandbox.holds and answer["free"] < MIB:
            # A tool that could not write its output fails like a faulty design does, and no tool says so.
            raise VerievalError(f"cannot use the work folder {self.root.parent}: {os.strerror(errno.ENOSPC)}")
        return Done(results, printed, answer["free"])

    def _ask(self, files: Mapping[str, bytes], steps: Sequence[Step]) -> tuple[dict[str, Any], dict[str, str]]:
        """Send a job and wait for its end. See :mod:`verieval.judge.launcher` for the format."""
        header = json.dumps(
            {
                "files": [[name, len(data)] for name, data in files.items()],
                "steps": [self._plain(step) for step in steps],
                "memory": self.limits.memory_mib * MIB,
                "file": self.limits.output_mib * MIB,
                "processes": PROCESSES if self.sandbox.holds else 0,
            }
        ).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"".join([b"%08d" % len(header), header, *files.values()]))
            self._process.stdin.flush()
            answer = json.loads(self._exactly(int(self._exactly(8))))
            return answer, {name: self._exactly(size).decode("utf-8", "replace") for name, size in answer["files"]}
        except (BrokenPipeError, ValueError) as error:
            raise Lost from error

    def _plain(self, step: Step) -> dict[str, Any]:
        return {**asdict(step), "wall": step.cpu * self.limits.wall_factor}

    def _exactly(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise Lost
        return data

    @staticmethod
    def _make_root() -> Path:
        try:
            return Path(tempfile.mkdtemp(prefix=_PREFIX))
        except OSError as error:
            raise VerievalError(f"cannot make a work folder in {tempfile.gettempdir()}: {error.strerror}") from error

    def _remove_root(self) -> None:
        if not self.sandbox.holds:
            shutil.rmtree(self.root, ignore_errors=True)

    def abort(self) -> None:
        """Called by another thread: the launcher kills what it runs and ends, and :meth:`run` raises ``Lost``."""
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            os.close(self._process.stdin.fileno())

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
        self._remove_root()


class Lost(Exception):
    """Something outside ended the launcher or a tool, or removed its folder: that says nothing of the candidate.

    The pool starts another launcher and judges the sample again.
    """
