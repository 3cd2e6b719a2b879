"""Beyond simulation: what synthesis and equivalence checking say of a run's candidates, beside its verdicts.

A pass over a run folder that is judged already. Every distinct source of a task is looked at once, and each answer is
a row of ``synthesis.jsonl``, appended as it comes, with everything that could change it: a pass that was killed goes on
where it stopped, and rows of other tools or limits are made again. No verdict and no estimate depends on any of it.
"""

from __future__ import annotations

import hashlib
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.extract import extract
from verieval.files import is_missing
from verieval.judge.equivalence import Prover, References, prove_task
from verieval.judge.limits import Limits
from verieval.judge.process import Lost
from verieval.judge.sandbox import Sandbox
from verieval.judge.synthesis import synthesise
from verieval.judge.toolchain import Toolchain
from verieval.judge.workers import Tools, Workers
from verieval.judge.yosys import Yosys
from verieval.run.jsonl import JsonlWriter, read_rows
from verieval.run.store import RunData, read_run, writing
from verieval.task import Benchmark, Task

SYNTHESIS = "synthesis.jsonl"
STAGES = ("synth", "equiv")
REFERENCE = "reference"  # stands for the source of a task's reference

Key = tuple[str, str, str]  # task, source, stage
_DANGEROUS = ("forbidden", "resource", "timeout")
_EVERY = 10.0  # seconds between lines of progress


@dataclass(frozen=True)
class Subject:
    """A distinct source of a task. ``outcome`` is that of its first verdict."""

    task: Task
    sha256: str
    source: str
    outcome: str


Done = tuple[Subject, str, Future[dict[str, Any]]]


@dataclass(frozen=True)
class Bench:
    """What answers are made with.

    Attributes:
        yosys, toolchain: the tools.
        limits: of :func:`verieval.judge.equivalence.proof_limits`.
        sandbox: it knows yosys.
        jobs: at a time.
    """

    yosys: Yosys
    toolchain: Toolchain
    limits: Limits
    sandbox: Sandbox
    jobs: int = 1

    def describe(self, stage: str) -> dict[str, Any]:
        """What can change an answer, as it stands in each row."""
        limits = self.limits
        about = {**self.yosys.describe(), "cpu": limits.compile_cpu, "memory_mib": limits.memory_mib}
        about |= {"output_mib": limits.output_mib, "sandbox": self.sandbox.level}
        if stage == "equiv":
            about |= {"prove_cpu": limits.simulate_cpu, "icarus": self.toolchain.version}
            about["icarus_sha256"] = self.toolchain.binaries_sha256
        return about


def examine(
    folder: Path,
    benchmark: Benchmark,
    bench: Bench,
    stages: Sequence[str],
    *,
    quiet: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Append to ``synthesis.jsonl`` what a run folder lacks of it.

    Args:
        folder: the run.
        benchmark: its benchmark, the very data.
        bench: the tools.
        stages: of :data:`STAGES`.
        quiet: show no progress.
        check: called again and again; what it raises ends the pass.

    Raises:
        VerievalError: the folder cannot be written, or holds a run of other data, or a tool cannot be used.
    """
    with writing(folder):
        run = read_run(folder)
        check_benchmark(run, benchmark)
        known = {key for key, row in read_examined(folder).items() if row["tools"] == bench.describe(key[2])}
        work = [
            (subject, stage)
            for subject in subjects(run, benchmark)
            for stage in stages
            if (subject.task.id, subject.sha256, stage) not in known and (stage, subject.sha256) != ("equiv", REFERENCE)
        ]
        writer = JsonlWriter(folder / SYNTHESIS)
        workers = Workers(bench.jobs, bench.limits, bench.sandbox)
        try:
            _work(workers, bench, work, writer, quiet, check)
        finally:
            workers.close()
            writer.close()


def _work(
    workers: Workers,
    bench: Bench,
    work: Sequence[tuple[Subject, str]],
    writer: JsonlWriter,
    quiet: bool,
    check: Callable[[], None],
) -> None:
    done: queue.SimpleQueue[Done] = queue.SimpleQueue()
    references = References()
    for subject, stage in work:
        future = workers.submit(_job(bench, subject, stage, references))
        future.add_done_callback(partial(_put, done, subject, stage))
    said = time.monotonic()
    for number in range(1, len(work) + 1):
        subject, stage, future = _next(done, check)
        try:
            answer = future.result()
        except Lost:
            continue  # the tools were killed from outside; the next pass asks again
        row = {"task_id": subject.task.id, "source_sha256": subject.sha256, "stage": stage}
        writer.append([{**row, "tools": bench.describe(stage), "answer": answer}])
        if not quiet and (time.monotonic() - said > _EVERY or number == len(work)):
            said = time.monotonic()
            print(f"examined {number}/{len(work)}", file=sys.stderr, flush=True)


def _put(done: queue.SimpleQueue[Done], subject: Subject, stage: str, future: Future[dict[str, Any]]) -> None:
    done.put((subject, stage, future))


def _next(done: queue.SimpleQueue[Done], check: Callable[[], None]) -> Done:
    while True:
        check()
        try:
            return done.get(timeout=0.5)
        except queue.Empty:
            continue


def _job(bench: Bench, subject: Subject, stage: str, references: References) -> Callable[[Tools], dict[str, Any]]:
    def job(tools: Tools) -> dict[str, Any]:
        task, launcher = subject.task, tools.launcher
        if not launcher.sandbox.holds and subject.outcome in _DANGEROUS:
            # Without walls around it, what was refused for what it would do is not given to a tool.
            return {"kind" if stage == "equiv" else "status": "unknown", "reason": "not run without a sandbox"}
        if stage == "synth":
            return synthesise(launcher, bench.yosys, subject.source, task.module).row()
        prover = Prover(launcher, bench.yosys, bench.toolchain, references)
        return prove_task(prover, task, subject.source).row()

    return job


def subjects(run: RunData, benchmark: Benchmark) -> Iterator[Subject]:
    """Each task's reference, then the distinct sources of its judged samples, in the order of the benchmark.

    Raises:
        VerievalError: a source is no longer what was judged, as extraction has changed since.
    """
    completions = {(completion.task_id, completion.sample): completion for completion in run.completions}
    verdicts: dict[str, list[Any]] = {}
    for verdict in run.verdicts:
        verdicts.setdefault(verdict.task_id, []).append(verdict)
    for task_id in run.task_ids:
        task = benchmark.by_id[task_id]
        if task.reference is None:
            continue
        seen = {""}
        for verdict in sorted(verdicts.get(task_id, ()), key=lambda verdict: verdict.sample):
            completion = completions.get((task_id, verdict.sample))
            if verdict.source_sha256 in seen or verdict.outcome == "no_code" or completion is None:
                continue
            if len(seen) == 1:
                yield Subject(task, REFERENCE, task.reference, "passed")
            seen.add(verdict.source_sha256)
            mode = run.manifest["extraction"].get("mode") or "auto"
            source = extract(completion.text, task.module, task.header, mode=mode).source
            if hashlib.sha256(source.encode("utf-8", "replace")).hexdigest() != verdict.source_sha256:
                raise VerievalError(
                    f"{run.path}: code is taken out of sample {verdict.sample} of {task_id} in another way than when "
                    "it was judged; judge the run again first (verieval score RUN --reextract)"
                )
            yield Subject(task, verdict.source_sha256, source, verdict.outcome)


def check_benchmark(run: RunData, benchmark: Benchmark) -> None:
    """Refuse data that the run was not judged with.

    Raises:
        VerievalError: the hashes differ.
    """
    if run.manifest["benchmark"]["sha256"] != benchmark.sha256:
        raise VerievalError(
            f"{run.path} was judged with other data of {benchmark.full_name}; give --data the checkout that it was "
            "judged with"
        )


def read_examined(folder: Path) -> dict[Key, dict[str, Any]]:
    """Rows of ``synthesis.jsonl`` by task, source and stage; of two for one, the later counts.

    Raises:
        VerievalError: a damaged line.
    """
    path = folder / SYNTHESIS
    found: dict[Key, dict[str, Any]] = {}
    if is_missing(path):
        return found
    for number, row in read_rows(path, torn=True):
        if not _is_row(row):
            raise VerievalError(f"{path}:{number}: not a row of synthesis or equivalence; remove the line")
        found[row["task_id"], row["source_sha256"], row["stage"]] = row
    return found


def _is_row(row: Mapping[str, Any]) -> bool:
    if not all(isinstance(row.get(name), str) for name in ("task_id", "source_sha256")):
        return False
    answer = row.get("answer")
    if row.get("stage") not in STAGES or not isinstance(row.get("tools"), dict) or not isinstance(answer, dict):
        return False
    return isinstance(answer.get("status" if row["stage"] == "synth" else "kind"), str)
