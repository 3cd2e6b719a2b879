"""A run with a fake engine and a fake judge, as a process that tests can kill: ``fake_run.py OUT ENGINE [KILL_AT]``.

The engine is slow and, with ``batch``, makes a text depend on its place in the batch, as a real one may. ``KILL_AT``
kills the process with SIGKILL in the middle of the write that would take the completions beyond that many bytes.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from verieval.completion import Completion, Message, Request, Sampling
from verieval.run.manifest import Manifest
from verieval.run.pipeline import generate, run_pipeline
from verieval.run.progress import Progress
from verieval.run.store import RunStore
from verieval.verdict import Verdict

TASKS = [f"task{i}" for i in range(5)]
N = 3


class FakeEngine:
    """Answers after ``delay`` seconds; the answers of one batch come out of order."""

    name = "fake"

    def __init__(self, batch_size: int | None, delay: float = 0.0) -> None:
        self.batch_size = batch_size
        self.delay = delay
        self.asked: list[list[tuple[str, int]]] = []

    def describe(self) -> dict[str, object]:
        return {"engine": {"name": "fake"}, "model": {"source": "fake"}}

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
        self.asked.append([(request.task_id, request.sample) for request in requests])
        batch = hashlib.sha256(repr(self.asked[-1]).encode()).hexdigest() if self.batch_size else ""
        shuffled = list(requests)
        if self.batch_size:
            random.Random(0).shuffle(shuffled)
        for request in shuffled:
            time.sleep(self.delay)
            text = f"{request.task_id} {request.sample} {request.seed} {batch} \N{SNOWMAN}" * 20
            yield Completion(request.task_id, request.sample, text, "stop", 10, len(text), request.seed)

    def close(self) -> None:
        pass


class FakeJudge:
    """Passes even samples, from another thread."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        self.judged: list[tuple[str, int]] = []
        self._pool = ThreadPoolExecutor(2)
        self._lock = threading.Lock()

    def submit(self, completion: Completion) -> Future[Verdict]:
        return self._pool.submit(self._verdict, completion)

    def _verdict(self, completion: Completion) -> Verdict:
        time.sleep(self.delay)
        with self._lock:
            self.judged.append((completion.task_id, completion.sample))
        return fake_verdict(completion.task_id, completion.sample, completion.sample % 2 == 0)


def fake_verdict(task: str, sample: int, passed: bool, *, official: bool | None = None) -> Verdict:
    return Verdict(
        task,
        sample,
        "passed" if passed else "mismatch",
        "passed" if passed else "simulated",
        {"strict": passed, "official": passed if official is None else official},
        seconds={"compile": 0.01, "simulate": 0.02},
    )


def fake_requests(tasks: Sequence[str] = TASKS, n: int = N) -> list[Request]:
    return [Request(t, s, (Message("user", t),), seed=i * n + s) for i, t in enumerate(tasks) for s in range(n)]


def fake_manifest(tasks: Sequence[str] = TASKS, n: int = N, **changes: object) -> Manifest:
    manifest: Manifest = {
        "schema": 1,
        "command": ["verieval", "run"],
        "benchmark": {
            "name": "fake",
            "variant": "",
            "commit": None,
            "sha256": "b" * 64,
            "tasks": list(tasks),
            "errata": [],
        },
        "model": {"source": "fake", "sha256": None},
        "prompt": {"template": "fake", "sha256": "p" * 64},
        "sampling": {"n": n, "temperature": 0.8, "top_p": 0.95, "top_k": 0, "max_tokens": 64, "seed": 0},
        "extraction": {"mode": "auto"},
        "engine": {"name": "fake"},
        "toolchain": {"icarus": "12.0"},
        "criterion": {"headline": "strict", "official": "fake"},
        "limits": {"simulate_cpu": 30.0},
        "verieval": "0.1.0",
        "machine": {"python": "3.11"},
        "started": "2026-01-01T00:00:00+00:00",
    }
    for path, value in changes.items():
        section, _, key = path.partition("__")
        if key:
            manifest[section][key] = value
        else:
            manifest[section] = value
    return manifest


def run(out: Path, engine: FakeEngine, judge: FakeJudge) -> None:
    with RunStore(out, fake_manifest()) as store:
        progress = Progress(len(TASKS) * N, "strict")
        run_pipeline(store, judge, progress, generate(store, engine, fake_requests(), Sampling(n=N)))


def _kill_in_the_middle(limit: int) -> None:
    write, written = os.write, 0

    def torn_write(fd: int, data: bytes) -> int:
        nonlocal written
        if Path(f"/proc/self/fd/{fd}").readlink().name == "completions.jsonl":
            if written + len(data) > limit:
                write(fd, bytes(data)[: limit - written])
                os.kill(os.getpid(), signal.SIGKILL)
            written += len(data)
        return write(fd, data)

    os.write = torn_write  # type: ignore[assignment]


if __name__ == "__main__":
    if len(sys.argv) > 3:
        _kill_in_the_middle(int(sys.argv[3]))
    run(Path(sys.argv[1]), FakeEngine(4 if sys.argv[2] == "batch" else None, 0.005), FakeJudge(0.01))
