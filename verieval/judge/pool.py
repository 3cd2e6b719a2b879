"""Judging at scale: completions in, verdicts out, every design simulated once.

Samples of one task are often the same design in another layout, so evidence is shared between sources that differ only
in comments and white space. Nothing waits inside a worker: what depends on a result is a callback on it.
"""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.extract import describe as describe_extraction
from verieval.extract import extract
from verieval.judge.cache import TaskCache
from verieval.judge.calibrate import Calibration
from verieval.judge.calibrator import Calibrator, calibration_row
from verieval.judge.classify import OTHER_TRACE, Finding, classify
from verieval.judge.cosim.gather import Cosimulation
from verieval.judge.cosim.python import needs
from verieval.judge.cosim.simulators import Icarus, Simulator
from verieval.judge.evidence import Evidence, gather, trusted
from verieval.judge.futures import OncePerTask, then
from verieval.judge.harness.gather import Harnesses
from verieval.judge.icarus import Setting, Trial, probe, run_trial
from verieval.judge.limits import Limits
from verieval.judge.policy import Ruling
from verieval.judge.policy_words import is_plain
from verieval.judge.process import Lost
from verieval.judge.reference import ReferenceRun
from verieval.judge.rules import RULES, OfficialVerdict
from verieval.judge.sandbox import Sandbox, find_sandbox
from verieval.judge.seal import SealedBench
from verieval.judge.seals import Seals
from verieval.judge.toolchain import Toolchain
from verieval.judge.trace_secret import trace_secret
from verieval.judge.workers import Once, Tools, Workers
from verieval.task import Benchmark, CocotbBench, HarnessBench, Task
from verieval.verdict import Candidate, Verdict
from verieval.verilog import normalise

T = TypeVar("T")

_FIRST = float("-inf")  # verdicts wait for reference runs, so these go first


@dataclass(frozen=True)
class _Judged:
    """``evidence`` is None where the harness failed."""

    finding: Finding
    evidence: Evidence | None = None
    code: str = ""
    official: bool = False


class JudgePool:
    """Judges completions of one benchmark with ``jobs`` workers.

    ``cache`` is the folder of cached reference runs (default: the user's); without ``recall`` they are made anew.
    ``sandbox`` is what surrounds the tools (default: the strongest that works here). ``simulator`` runs benches in
    Python (default: the toolchain).

    Use it as a context manager: leaving it normally waits for every verdict, leaving it by an exception kills what
    still runs.

    Raises:
        VerievalError: this toolchain cannot judge the benchmark.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        toolchain: Toolchain,
        limits: Limits | None = None,
        *,
        jobs: int = 1,
        extraction: str = "auto",
        cache: Path | None = None,
        recall: bool = True,
        sandbox: Sandbox | None = None,
        simulator: Simulator | None = None,
    ) -> None:
        toolchain.refuse(benchmark.refused_icarus, benchmark.full_name)
        self.benchmark = benchmark
        self.toolchain = toolchain
        self.extraction = extraction
        self.rule = RULES[benchmark.rule]
        limits = limits or Limits()
        # What runs longer than upstream allows can pass by no criterion, so nobody waits for it.
        self.limits = replace(limits, simulate_cpu=min(limits.simulate_cpu, self.rule.seconds))
        self.simulator = simulator or Icarus(toolchain)
        self._check_simulator()
        also = needs(benchmark) + self.simulator.needs()
        self.sandbox = sandbox or find_sandbox(toolchain, self.limits.work_mib, also=also)
        self._setting = Setting(toolchain, self.rule)
        self._workers = Workers(jobs, self.limits, self.sandbox)
        secret = trace_secret(cache)
        self._seals = Seals(secret.value)
        self._cosimulation = Cosimulation(self._workers, self.simulator, self._prove) if benchmark.uses_cocotb else None
        uses_harness = benchmark.uses_harness
        self._harnesses = Harnesses(self._workers, toolchain, self.rule, self._prove) if uses_harness else None
        made_with = {**self._describe_cocotb(), "trace": secret.fingerprint}
        self._references: TaskCache[ReferenceRun] = TaskCache(
            "references", lambda row: ReferenceRun(**row), benchmark, toolchain, self.limits,
            made_with=made_with, lasts=lambda run: run.lasts, folder=cache, recall=recall,
        )  # fmt: skip
        known: TaskCache[Calibration] = TaskCache(
            "calibrations", calibration_row, benchmark, toolchain, self.limits,
            made_with=made_with, folder=cache, recall=recall,
        )  # fmt: skip
        self._calibrator = Calibrator(self._workers, self._calibration_trial, known)
        self._proved = Once()
        self._lock = threading.Lock()
        self._evidence: dict[tuple[str, str], tuple[str, Future[Evidence]]] = {}
        self._reference_runs = OncePerTask(self._references)
        self._open: set[Future[Any]] = set()

    def _check_simulator(self) -> None:
        if not self.simulator.four_state and not self.benchmark.only_cocotb:
            raise VerievalError(
                f"{self.simulator.name.capitalize()} runs benches in Python only, and {self.benchmark.full_name} has "
                "others, which Icarus runs: leave out --simulator"
            )

    def describe(self) -> dict[str, Any]:
        """Manifest sections ``toolchain``, ``limits``, ``sandbox``, ``extraction`` and ``calibration``."""
        return {
            "toolchain": {**self.toolchain.describe(), "pyslang": version("pyslang"), **self._describe_cocotb()},
            "limits": self.limits.describe(),
            "sandbox": self.sandbox.describe(),
            "extraction": describe_extraction(self.extraction),
            "calibration": self._describe_calibration(),
        }

    def _describe_cocotb(self) -> dict[str, str]:
        if self._harnesses is not None:
            return self._harnesses.describe()
        return {"cocotb": version("cocotb"), **self.simulator.describe()} if self._cosimulation else {}

    def _describe_calibration(self) -> dict[str, Any]:
        """What the cache knows of the benches, so that a report can say it: tasks by flag."""
        known = [found for task in self.benchmark.tasks if (found := self._calibrator.known(task))]
        return {"tasks": len(known), "flags": {found.task: list(found.flags) for found in known if found.flags}}

    def submit(self, completion: Completion) -> Future[Verdict]:
        """Queue a completion. The future holds its verdict; it raises only for faults that end the run.

        Raises:
            VerievalError: (from the future) a tool or the work folder cannot be used.
            KeyError: the benchmark has no such task.
        """
        task = self.benchmark.by_id[completion.task_id]
        candidate = extract(completion.text, task.module, task.header, mode=self.extraction)
        cut_off = completion.finish_reason == "length"
        verdict: Future[Verdict] = self._track(Future())

        def judged(first: _Judged) -> None:
            if candidate.repaired is None or first.finding.outcome in ("passed", "harness"):
                verdict.set_result(_verdict(task.id, completion.sample, candidate, first, None))
                return
            # A diagnostic beside the headline: what if the missing endmodule had been there?
            mended = Candidate(candidate.repaired, candidate.method)
            then(
                self._judge(task, mended, cut_off=False),
                lambda second: verdict.set_result(_verdict(task.id, completion.sample, candidate, first, second)),
                verdict,
            )

        then(self._judge(task, candidate, cut_off=cut_off), judged, verdict)
        return verdict

    def reference(self, task: Task) -> Future[ReferenceRun]:
        """The reference run of a task that has one, from the cache or made now.

        Raises:
            Lost: (from the future) the tools were killed from outside, several times.
            VerievalError: (from the future) a tool or the work folder cannot be used.
        """
        candidate = Candidate(task.reference or "", "reference")

        def make(result: Future[ReferenceRun]) -> None:
            def done(evidence: Evidence) -> None:
                run = _reference_run(
                    self.rule.refine(evidence.official, candidate.source),
                    evidence,
                    classify(candidate, evidence, self.rule, None, cut_off=False),
                )
                self._references.put(task, run)
                result.set_result(run)

            self._track(result)
            then(self._gather(task, candidate.source, _FIRST, None, is_reference=True), done, result)

        return self._reference_runs.get(task, make)

    def calibration(self, task: Task) -> Future[Calibration]:
        """What the bench of a task that has a reference can tell, see :class:`verieval.judge.calibrator.Calibrator`."""
        return self._track(self._calibrator.calibration(task))

    def known_calibration(self, task: Task) -> Calibration | None:
        """What the cache holds."""
        return self._calibrator.known(task)

    def save(self) -> None:
        """Keep the reference runs and calibrations made so far."""
        self._references.save()
        self._calibrator.save()

    def close(self) -> None:
        """Kill what runs, cancel what waits, and keep what was made so far."""
        self._workers.close()
        self.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            while kind is None and (pending := self._pending()):
                wait(pending)
        finally:
            self.close()

    def _pending(self) -> set[Future[Any]]:
        with self._lock:
            return set(self._open)

    def _track(self, future: Future[T]) -> Future[T]:
        with self._lock:
            self._open.add(future)
        future.add_done_callback(self._untrack)
        return future

    def _untrack(self, future: Future[Any]) -> None:
        with self._lock:
            self._open.discard(future)

    def _judge(self, task: Task, candidate: Candidate, *, cut_off: bool) -> Future[_Judged]:
        result: Future[_Judged] = Future()

        def finish(evidence: Evidence, reference: ReferenceRun | None, calibration: Calibration | None = None) -> None:
            official = self.rule.refine(evidence.official, candidate.source)
            steady = calibration is None or not calibration.inputs_depend
            finding = classify(candidate, evidence, self.rule, reference, cut_off=cut_off, compare_trace=steady)
            if finding == OTHER_TRACE and calibration is None:
                # Somebody meddled, or the bench answers to the design: that is asked once a task, when it matters.
                then(self.calibration(task), lambda found: finish(evidence, reference, found), result, lost)
                return
            result.set_result(_Judged(finding, evidence, official.code, official.passed))

        def lost(error: Exception) -> None:
            if not isinstance(error, Lost):
                raise error
            result.set_result(_Judged(Finding("harness", "none", "the tools were killed from outside, several times")))

        def calibrated(reference: ReferenceRun | None) -> None:
            shared = self._shared(task, candidate.source, reference)
            then(shared, lambda evidence: finish(evidence, reference), result, lost)

        if task.reference is None or isinstance(task.oracle, CocotbBench):
            calibrated(None)  # a cocotb bench says by itself whether it ran to its end
        else:
            then(self.reference(task), calibrated, result, lost)
        return result

    def _shared(self, task: Task, source: str, reference: ReferenceRun | None) -> Future[Evidence]:
        """Evidence of a source, from another that differs only in layout where there is one.

        Where compiling failed, the messages name lines, so every text gets its own. A text with anything in it on which
        its ruling could hang beside its tokens shares with its equals alone.
        """
        key = (task.id, normalise(source) if is_plain(source) else source)
        with self._lock:
            leader = self._evidence.get(key)
            if leader is None:
                evidence = self._gather(task, source, -reference.cpu if reference else 0.0, reference)
                self._evidence[key] = (source, evidence)
                return evidence
        text, shared = leader
        if text == source:
            return shared
        own: Future[Evidence] = Future()

        def settle(evidence: Evidence) -> None:
            if evidence.compiled:
                own.set_result(evidence)
            else:
                then(self._gather(task, source, 0.0, reference), own.set_result, own)

        then(shared, settle, own)
        return own

    def _calibration_trial(self, tools: Tools, task: Task, source: str, *, steps: bool, cpu: float | None) -> Trial:
        """A trial at full length, of a text that is not admitted."""
        self._prove(tools)
        if self._cosimulation is not None and isinstance(task.oracle, CocotbBench):
            return self._cosimulation.alone(tools, task, source, cpu=cpu)
        if self._harnesses is not None and isinstance(task.oracle, HarnessBench):
            return self._harnesses.alone(tools, task, source, cpu=cpu)
        sealed = self._seals.sealed(task, None, steps=steps)
        return run_trial(tools.launcher, self._setting, task, source, sealed, cpu=cpu)

    def _prove(self, tools: Tools) -> None:
        """Before the first candidate: does the toolchain work at all? Otherwise no failure could be believed."""
        self._proved(lambda: probe(tools.launcher, self.toolchain))

    def _gather(
        self, task: Task, source: str, priority: float, reference: ReferenceRun | None, *, is_reference: bool = False
    ) -> Future[Evidence]:
        """Queue a candidate, or the reference itself."""
        ruling = trusted(source) if is_reference else None
        if self._cosimulation is not None and isinstance(task.oracle, CocotbBench):
            return self._cosimulation.gather(task, source, ruling)
        if self._harnesses is not None and isinstance(task.oracle, HarnessBench):
            return self._harnesses.gather(task, source, priority, ruling)

        def sealed(ruling: Ruling) -> SealedBench:
            whole = reference is None or ruling.prints  # its words may matter to the end
            return self._seals.sealed(task, None if whole else self.limits.mismatch_samples)

        def job(tools: Tools) -> Evidence:
            self._prove(tools)
            times_out = reference is not None and reference.code == "T"
            return gather(tools, self._setting, task, source, sealed, ruling, bench_times_out=times_out)

        return self._workers.submit(job, priority)


def _reference_run(official: OfficialVerdict, evidence: Evidence, finding: Finding) -> ReferenceRun:
    trial = evidence.sealed
    report = trial.report if trial else None
    return ReferenceRun(
        outcome=finding.outcome,
        official=official.passed,
        code=official.code,
        mismatches=report.mismatches if report else None,
        samples=report.samples if report else None,
        trace=trial.trace if trial else None,
        detail=finding.detail,
        cpu=sum(_seconds(evidence).values()),
    )


def _seconds(evidence: Evidence | None) -> dict[str, float]:
    """CPU seconds of the trial that the finding is read from."""
    trial = evidence.trial if evidence else None
    simulate = trial.simulate if trial else None
    return {
        "compile": round(trial.compile.cpu, 4) if trial else 0.0,
        "simulate": round(simulate.cpu, 4) if simulate else 0.0,
    }


def _verdict(task_id: str, sample: int, candidate: Candidate, judged: _Judged, repaired: _Judged | None) -> Verdict:
    trial = judged.evidence.trial if judged.evidence else None
    report = trial.report if trial else None
    return Verdict(
        task_id=task_id,
        sample=sample,
        outcome=judged.finding.outcome,
        stage=judged.finding.stage,
        passed={"strict": judged.finding.outcome == "passed", "official": judged.official},
        code=judged.code,
        mismatches=report.mismatches if report else None,
        samples=report.samples if report else None,
        detail=judged.finding.detail,
        source_sha256=hashlib.sha256(candidate.source.encode("utf-8", "replace")).hexdigest(),
        extraction={"method": candidate.method, "notes": list(candidate.notes)},
        seconds=_seconds(judged.evidence),
        repaired_passed=None if repaired is None else repaired.finding.outcome == "passed",
    )
