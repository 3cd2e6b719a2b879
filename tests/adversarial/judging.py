"""Judging attempts: by pools under small limits, and by the published rules on a plain run of the upstream flow."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.adversarial.corpus import Attempt
from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge.rules import RULES, Rule, Transcript
from verieval.task import Benchmark, Task
from verieval.verdict import Verdict

LIMITS = Limits(compile_cpu=3, simulate_cpu=1, memory_mib=512, output_mib=4)
PYTHON_LIMITS = replace(LIMITS, simulate_cpu=3)  # Python starts first
_CHECKOUTS = {"verilog-eval:spec-to-rtl": "verilog-eval", "rtllm": "rtllm"}


@cache
def load(name: str, data: Path | None) -> Benchmark:
    """A benchmark; ``data`` is the folder of upstream checkouts, needed by all but the project's own."""
    if name == "verilog-benches":
        return benchmarks.load("verieval", VERILOG_BENCHES)
    if name not in _CHECKOUTS:
        return benchmarks.load(name)
    assert data is not None
    return benchmarks.load(name, data / _CHECKOUTS[name])


class Judges:
    """Pools of one toolchain, made when they are first needed. Use it as a context manager."""

    def __init__(self, toolchain: Toolchain, data: Path | None, cache_folder: Path, *, jobs: int = 1) -> None:
        self.toolchain = toolchain
        self.data = data
        self._cache = cache_folder
        self._jobs = jobs
        self._pools: dict[str, JudgePool] = {}
        self._sample = 0

    def pool(self, benchmark: str) -> JudgePool:
        """The pool of a benchmark."""
        if benchmark not in self._pools:
            loaded = load(benchmark, self.data)
            self._pools[benchmark] = JudgePool(
                loaded,
                self.toolchain,
                PYTHON_LIMITS if loaded.uses_cocotb else LIMITS,
                cache=self._cache,
                jobs=self._jobs,
                extraction="verbatim",
            )
        return self._pools[benchmark]

    def submit(self, attempt: Attempt, source: str | None = None) -> Future[Verdict]:
        """Judge an attempt, or another text in its place."""
        self._sample += 1
        text = attempt.source() if source is None else source
        return self.pool(attempt.target.benchmark).submit(Completion(attempt.target.task, self._sample, text))

    def close(self) -> None:
        """End all pools."""
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


# --- The published rules, on what the upstream flow says without any sandbox ---------------------------------------


@dataclass(frozen=True)
class Plain:
    """Whether the benchmark's own rule takes an attempt for a pass, and TuRTLe's, which judges no own task."""

    official: bool
    turtle: bool | None


def run_plainly(attempt: Attempt, toolchain: Toolchain, data: Path | None) -> Plain:
    """Run an attempt as upstream does, outside all that this project puts around it.

    The candidate is hostile, and nothing but its own manners and small limits hold it: its files lie deep in a
    temporary folder, at which its placeholders aim too.
    """
    benchmark = load(attempt.target.benchmark, data)
    task = benchmark.by_id[attempt.target.task]
    with _laid_out(attempt, task) as folder:
        official = _official(RULES[benchmark.rule], task, toolchain, folder)
    if attempt.target.family == "own":
        return Plain(official, None)
    with _laid_out(attempt, task) as folder:
        return Plain(official, _turtle(attempt.target.family, task, toolchain, folder))


@contextlib.contextmanager
def _laid_out(attempt: Attempt, task: Task) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="adversarial-plain-"))
    try:
        (folder / "secret").write_text("secret\n")
        deep = folder / "deep" / "deeper"
        deep.mkdir(parents=True)
        text = attempt.source(SECRET=str(folder / "secret"), OUTSIDE=str(folder / "outside"))
        (deep / "candidate.sv").write_text(text)
        for item in task.oracle.sources:
            (deep / item.name).write_text(item.text)
        yield deep
    finally:
        shutil.rmtree(folder)


def _official(rule: Rule, task: Task, toolchain: Toolchain, folder: Path) -> bool:
    root = ["-s", task.oracle.top] if task.oracle.top else []
    compiled = _compile(toolchain, [*task.oracle.compile_flags, *root], task, folder)
    log = compiled.out + compiled.err
    if compiled.status != 0:
        transcript = Transcript(log, compiled=False, timed_out=compiled.timed_out)
    else:
        ran = _run([*toolchain.vvp, "-n", "simulation"], folder)
        transcript = Transcript(log, compiled=True, stdout=ran.out, stderr=ran.err, timed_out=ran.timed_out)
    return rule.official(transcript).passed


# TuRTLe (HPAI-BSC/TuRTLe at 32e9452, turtle/metrics/eval_verilog.py), retold. VerilogEval: the compiler must end with 0
# and nothing may stand on standard error; then the first "Mismatches: E in N samples" anywhere in the output decides,
# with E = 0. RTLLM: no root module is named to the compiler; "Passed" in the output and no "ERROR". Both fail what runs
# into the time limit.
_COUNTS = re.compile(r"Mismatches: ([0-9]+) in [0-9]+ samples")
_TURTLE_FLAGS = {"ve": ["-Wall", "-Winfloop", "-Wno-timescale", "-g2012", "-s", "tb"], "rtllm": ["-g2012"]}


def _turtle(family: str, task: Task, toolchain: Toolchain, folder: Path) -> bool:
    if _compile(toolchain, _TURTLE_FLAGS[family], task, folder).status != 0:
        return False
    ran = _run([*toolchain.vvp, "-n", "simulation"], folder)
    if ran.timed_out:
        return False
    if family == "rtllm":
        return "Passed" in ran.out and "ERROR" not in ran.out
    match = _COUNTS.search(ran.out)
    return not ran.err and match is not None and int(match[1]) == 0


_MOST = 8 << 20  # bytes of output


@dataclass(frozen=True)
class _Ran:
    status: int
    out: str
    err: str
    timed_out: bool


def _compile(toolchain: Toolchain, flags: list[str], task: Task, folder: Path) -> _Ran:
    names = ["candidate.sv", *(item.name for item in task.oracle.sources)]
    return _run([*toolchain.iverilog, *flags, "-o", "simulation", *names], folder)


def _run(argv: list[str], folder: Path) -> _Ran:
    """Run a tool under limits that the shell sets, with pipes for its outputs; a flood counts as running for ever."""
    script = 'ulimit -t 3; ulimit -v 1048576; ulimit -f 8192; exec "$@"'
    process = subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", *argv],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": os.environ["PATH"]},
    )
    said = complained = ""
    try:
        with ThreadPoolExecutor(2) as threads:
            said, complained = threads.map(lambda stream: _drain(stream, process.pid), (process.stdout, process.stderr))
        status = process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        status = -signal.SIGXCPU
    finally:
        _kill(process.pid)
        process.wait()
    return _Ran(status, said, complained, timed_out=status in (-signal.SIGXCPU, -signal.SIGKILL))


def _drain(stream: IO[bytes] | None, group: int) -> str:
    assert stream is not None
    with stream:
        text = stream.read(_MOST)
        if len(text) == _MOST:
            _kill(group)
    return text.decode(errors="replace")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
