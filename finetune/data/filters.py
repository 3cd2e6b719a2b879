"""Filters that look at what a row says: does its code compile, and does it contain a benchmark's task."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from finetune.data.conversation import Conversation
from verieval.errors import VerievalError
from verieval.extract import extract
from verieval.judge.icarus import CANDIDATE, compiler_end, probe
from verieval.judge.limits import Limits
from verieval.judge.process import Lost, Step
from verieval.judge.sandbox import find_sandbox
from verieval.judge.toolchain import find_toolchain
from verieval.judge.workers import Once, Tools, Workers

if TYPE_CHECKING:
    from verieval.overlap import OverlapIndex

COMPILE_CPU = 10.0  # seconds: code that a compiler needs longer for is no training data
_CHUNK = 50  # rows that a process looks at before it answers


class Compiler:
    """Compiles the code of responses with Icarus, several at a time, under limits and in the sandbox."""

    def __init__(self, jobs: int | None = None) -> None:
        """Find Icarus and the sandbox.

        Args:
            jobs: compilers at a time; None for one a CPU.

        Raises:
            VerievalError: there is no Icarus, or it does not work.
        """
        self._toolchain = find_toolchain()
        limits = replace(Limits(), compile_cpu=COMPILE_CPU)
        self._sandbox = find_sandbox(self._toolchain, limits.work_mib)
        self._workers = Workers(jobs or cpus(), limits, self._sandbox)
        self._proved = Once()

    def describe(self) -> dict[str, Any]:
        """What ``training.json`` says of it."""
        return {**self._toolchain.describe(), "sandbox": self._sandbox.level}

    def compiles(self, conversations: Sequence[Conversation]) -> list[bool]:
        """Whether the code in each last answer compiles; one without code does not.

        Raises:
            VerievalError: the compiler does not work, or was killed from outside.
        """
        futures: list[Future[bool] | None] = []
        for conversation in conversations:
            code = extract(conversation.messages[-1].content, "").source
            futures.append(self._workers.submit(partial(self._try, code)) if code else None)
        try:
            return [future is not None and future.result() for future in futures]
        except Lost:
            raise VerievalError("the compiler was killed from outside, several times; free some memory") from None

    def close(self) -> None:
        """End the compilers."""
        self._workers.close()

    def _try(self, code: str, tools: Tools) -> bool:
        self._proved(lambda: probe(tools.launcher, self._toolchain))
        argv = (*self._toolchain.iverilog, "-g2012", "-t", "null", CANDIDATE)
        step = Step(argv, tools.launcher.limits.compile_cpu, "compile.log")
        done = tools.launcher.run({CANDIDATE: code.encode("utf-8", "replace")}, [step])
        return compiler_end(done.steps[0], done.printed["compile.log"]).returncode == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


class Overlap:
    """Looks for the references and specs of benchmarks in conversations, in several processes."""

    def __init__(self, names: Sequence[str], jobs: int | None = None) -> None:
        """Load benchmarks (``NAME[:VARIANT]``).

        Raises:
            VerievalError: a benchmark is unknown, or its data is missing.
        """
        from verieval import benchmarks
        from verieval.overlap import CODE_THRESHOLD, SPEC_THRESHOLD, build_index

        self._benchmarks = [benchmarks.load(name) for name in dict.fromkeys(names)]
        self._thresholds = {"reference": CODE_THRESHOLD, "spec": SPEC_THRESHOLD}
        index = build_index(self._benchmarks)
        self._jobs = jobs or cpus()
        context = multiprocessing.get_context("forkserver")
        self._pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_begin, initargs=(index,))

    def describe(self) -> dict[str, Any]:
        """What ``training.json`` says of it."""
        found = [{"name": b.full_name, "sha256": b.sha256, "tasks": len(b.tasks)} for b in self._benchmarks]
        return {"benchmarks": found, "thresholds": self._thresholds}

    def overlaps(self, conversations: Sequence[Conversation]) -> list[bool]:
        """Whether each contains, or nearly contains, one of their tasks.

        Raises:
            VerievalError: a process was killed from outside.
        """
        texts = [[message.content for message in conversation.messages] for conversation in conversations]
        try:
            return list(self._pool.map(_look, texts, chunksize=_CHUNK))
        except BrokenProcessPool:
            raise VerievalError("a process was killed from outside, perhaps for its memory; free some") from None

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


def cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_index: OverlapIndex | None = None


def _begin(index: OverlapIndex) -> None:
    """Once in each process."""
    global _index  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _index = index


def _look(texts: list[str]) -> bool:
    assert _index is not None
    return bool(_index.match(texts))
