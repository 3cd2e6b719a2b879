"""Admission in a process of its own: hostile text can hang, fill or break only that.

:class:`Admission` is the client, owned by one worker. Its helper is this file run as a script: it imports pyslang and
the policy, closes every way to open a file, and answers JSON lines. The helper starts with the first question and lives
until :meth:`Admission.close`; one that a text ended is replaced by a fresh one for the next.

A limit counts only if a fresh helper runs into it too, so that a ruling never depends on what was asked before. Time is
CPU time, so that it does not depend on how busy the machine is either.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verieval.judge.policy import Ruling

_ROOT = Path(__file__).resolve().parents[2]
_READY = b"ready\n"
_START_SECONDS = 120.0  # wall time for a start that takes a fifth of a second on a quiet machine
_TRIES = 3
_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE})
_MIB = 1 << 20


@dataclass(frozen=True)
class _End:
    """How a helper ended instead of answering: ``timeout``, ``resource``, or ``outside`` (not the text's doing)."""

    kind: str
    how: str


class Admission:
    """Rules on candidates, within limits. Not thread-safe: one thread owns it.

    Args:
        cpu: CPU seconds of one question.
        memory_mib: address space of the helper.
        wall_factor: the wall backstop as a multiple of ``cpu``.
        recycle: questions after which the helper is replaced, so that it does not grow.
    """

    def __init__(
        self, *, cpu: float = 10.0, memory_mib: int = 1024, wall_factor: float = 10.0, recycle: int = 2000
    ) -> None:
        self._cpu = cpu
        self._memory_mib = memory_mib
        self._wall = cpu * wall_factor
        self._recycle = recycle
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0

    @property
    def pid(self) -> int | None:
        """Process id of the helper, None while there is none."""
        return self._process.pid if self._process else None

    def ask(
        self,
        source: str,
        module: str,
        reserved: frozenset[str],
        inputs: frozenset[str] = frozenset(),
        *,
        rooted: bool = False,
    ) -> Ruling:
        """Return :func:`verieval.judge.policy.rule_on` of the arguments, or a ruling that a limit was reached.

        Raises:
            Lost: the helper was killed from outside, three times in a row.
            VerievalError: the helper does not start.
        """
        from verieval.judge.policy import Ruling, rule_on
        from verieval.judge.policy_text import MAX_TEXT
        from verieval.judge.process import Lost

        if len(source) > MAX_TEXT:
            return rule_on(source, module, reserved, inputs, rooted=rooted)
        question = json.dumps([source, module, sorted(reserved), sorted(inputs), rooted, self._cpu]).encode() + b"\n"
        tries = 0
        while True:
            fresh = self._start()
            answer = self._exchange(question)
            if isinstance(answer, dict):
                return Ruling(**answer)
            self.close()
            if answer.kind == "outside":
                tries += 1
                if tries == _TRIES:
                    raise Lost
            elif fresh:
                return Ruling(answer.kind, reason=answer.how, certain=False)

    def close(self) -> None:
        """End the helper, if there is one. The next question starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()

    def __enter__(self) -> Admission:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the helper."""
        self.close()

    def _start(self) -> bool:
        """Make sure there is a helper; return whether it has not been asked anything yet."""
        if self._process is not None and (self._asked >= self._recycle or self._process.poll() is not None):
            self.close()
        if self._process is None:
            self._process = _spawn(self._memory_mib)
            self._asked = 0
        self._asked += 1
        return self._asked == 1

    def _exchange(self, question: bytes) -> dict[str, Any] | _End:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(question)
            self._process.stdin.flush()
            line = _read_line(self._process.stdout, self._wall)
            if line is None:
                return _End("timeout", f"admission takes longer than {self._wall:g} s")
            if line:
                answer: dict[str, Any] = json.loads(line)
                return answer or _End("resource", f"admission takes more than {self._memory_mib} MiB")
        return self._how_it_ended(self._process)

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> _End:
        try:
            status = process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return _End("outside", "the helper closed its output")
        if status == -signal.SIGXCPU:
            return _End("timeout", f"admission takes longer than {self._cpu:g} s of CPU time")
        if status < 0 and -status not in _OUTSIDE:
            return _End("resource", f"it breaks the parser ({signal.Signals(-status).name})")
        return _End("outside", f"the helper ended with status {status}")


def _spawn(memory_mib: int) -> subprocess.Popen[bytes]:
    """Start a helper and wait until it has imported what it needs.

    Raises:
        VerievalError: it does not come up.
        Lost: it was killed from outside while it started.
    """
    from verieval.errors import VerievalError
    from verieval.judge.process import Lost

    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", str(Path(__file__).resolve()), str(memory_mib)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **kept},
                start_new_session=True,  # an interrupt at the terminal must not reach it
            )
        except OSError as error:
            raise VerievalError(f"cannot start the admission check with {sys.executable}: {error.strerror}") from error
        assert process.stdout is not None
        if _read_line(process.stdout, _START_SECONDS) == _READY:
            return process
        process.kill()
        status = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        if status < 0 and -status in _OUTSIDE - {signal.SIGKILL}:
            raise Lost
        log.seek(0)
        said = log.read().decode("utf-8", "replace").strip().splitlines()
    raise VerievalError(f"the admission check does not start: {said[-1] if said else f'status {status}'}")


def _read_line(stream: IO[bytes], seconds: float) -> bytes | None:
    """The next line; empty at the end of the stream, None when the time is over."""
    until = time.monotonic() + seconds
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    while True:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        piece = os.read(stream.fileno(), 1 << 20)
        if not piece:
            return b""
        parts.append(piece)
        if piece.endswith(b"\n"):
            return b"".join(parts)


# ---- the helper


def _serve(memory_mib: int) -> None:
    """Answer questions from standard input until it closes."""
    import resource

    sys.path.insert(0, str(_ROOT))
    from verieval.judge.policy import rule_on

    # Everything is imported by the first ruling; after it nothing needs to be opened any more.
    rule_on("`define A 1\nmodule t #(int P = `A) (input a); if (P) wire b = t.a; endmodule", "t", frozenset())
    rule_on("module t(input a); if (0) wire b; endmodule", "t", frozenset())
    answers = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.write(answers, _READY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    _close_doors(resource, memory_mib)
    for line in sys.stdin.buffer:
        source, module, reserved, inputs, rooted, cpu = json.loads(line)
        _limit_cpu(resource, cpu)
        try:
            ruling = asdict(rule_on(source, module, frozenset(reserved), frozenset(inputs), rooted=rooted))
        except MemoryError:
            ruling = {}
        data = memoryview(json.dumps(ruling).encode() + b"\n")
        while data:
            data = data[os.write(answers, data) :]


def _close_doors(resource: Any, memory_mib: int) -> None:
    """No file can be opened or written from here on, whatever a text brings the parser to do."""
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, free))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib * _MIB, memory_mib * _MIB))


def _limit_cpu(resource: Any, seconds: float) -> None:
    used = time.process_time()
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
