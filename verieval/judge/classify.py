"""From evidence to outcome and stage: where a candidate fell, and why, in words.

The ladder is asked from the bottom up, so the first thing that went wrong names the outcome.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace
from typing import cast

from verieval.judge.cosim.results import INTERFACE, SlotResult
from verieval.judge.evidence import Evidence
from verieval.judge.icarus import CANDIDATE, Trial
from verieval.judge.reference import ReferenceRun
from verieval.judge.rules import Rule
from verieval.verdict import Candidate, Outcome, Stage

_SYNTAX = re.compile(r"syntax error|I give up|Malformed statement|[Ee]rror: [Ii]nvalid (?:module item|statement)")
_MISSING_MODULE = re.compile(r"Unknown module type: (\S+)")
_INTERFACE = re.compile(
    r"is not a port of|Wrong number of ports|parameter .* not found|too many (?:ports|parameters)|"
    r"Cannot override localparam|Unable to find the root module|port .* (?:does not exist|is not defined)",
    re.IGNORECASE,
)
_DETAIL = re.compile(r"^.*?(?:\berror: |\bsorry: |syntax error|[Aa]ssertion|I give up).*$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """The strict answer: outcome, the last stage reached, and the first line of the cause."""

    outcome: Outcome
    stage: Stage
    detail: str = ""


OTHER_TRACE = Finding(
    "tampered", "simulated", "the bench's inputs or expected values were not those of the reference run"
)

# Stage that a candidate had reached when the policy refused it.
_REFUSED_AT: dict[str, Stage] = {"syntax": "extracted", "resource": "extracted", "timeout": "extracted"}


def classify(
    candidate: Candidate,
    evidence: Evidence,
    rule: Rule,
    reference: ReferenceRun | None,
    *,
    cut_off: bool,
    compare_trace: bool = True,
) -> Finding:
    """The strict finding on a candidate.

    Args:
        candidate: what was judged.
        evidence: what the policy said of it, and what its compilation and simulation showed.
        rule: the benchmark's rule.
        reference: what the reference does on this toolchain; None where there is none.
        cut_off: the completion ended because it reached the token limit.
        compare_trace: the trace must be the reference run's. Not so where the bench's inputs depend on what the design
            answers.
    """
    if not candidate.source.strip():
        outcome: Outcome = "truncated" if cut_off else "no_code"
        return Finding(outcome, "none", "the completion holds no code")
    trial = evidence.trial
    if evidence.ruling.outcome:
        finding = _refused(candidate, evidence)
    elif trial is not None and not trial.compiled:
        finding = _compile_failure(candidate, trial)
    else:
        assert trial is not None
        expected = reference if reference is None or compare_trace else replace(reference, trace=None)
        if trial.tests is not None:
            return _tested(trial.tests, expected)
        return _tool_failure(trial, "simulation", "compiled") or _bench_answer(trial, rule, expected)
    if cut_off and finding.outcome == "syntax":
        return Finding("truncated", finding.stage, f"cut off at the token limit: {finding.detail}")
    return finding


def _refused(candidate: Candidate, evidence: Evidence) -> Finding:
    """Icarus decides what compiles, the policy what is allowed."""
    ruling, plain = evidence.ruling, evidence.plain
    if plain is not None and not plain.compiled:
        compiler = _compile_failure(candidate, plain)
        decided = ruling.certain and ruling.outcome in ("forbidden", "not_self_contained")
        if compiler.outcome == "syntax" or not decided:
            return compiler
    outcome = cast("Outcome", ruling.outcome)
    where = f"line {ruling.line}: " if ruling.line else ""
    accepted = "Icarus accepts it, but it cannot be shown to stay inside its module: " if not ruling.certain else ""
    return Finding(outcome, _REFUSED_AT.get(outcome, "parsed"), f"{where}{accepted if plain else ''}{ruling.reason}")


def _compile_failure(candidate: Candidate, trial: Trial) -> Finding:
    tool = _tool_failure(trial, "compiler", "extracted")
    if tool:
        return tool
    assert trial.alone is not None
    alone_log, alone_ok = trial.alone_log, trial.alone.returncode == 0
    if _SYNTAX.search(alone_log):
        return Finding("syntax", "extracted", _first(alone_log))
    if not candidate.defines_target:
        return Finding("interface", "parsed", "it does not define the module that the bench instantiates")
    if not alone_ok:
        missing = _MISSING_MODULE.search(alone_log)
        if missing:
            return Finding("not_self_contained", "parsed", f"it instantiates {missing[1]}, which it does not define")
        if "Unable to find the root module" in alone_log:
            return Finding("interface", "parsed", _first(alone_log))
        return Finding("elaboration", "parsed", _first(alone_log))
    if _INTERFACE.search(trial.compile_log):
        return Finding("interface", "self_contained", _first(trial.compile_log, _INTERFACE))
    return Finding("bench_compile", "self_contained", _first(trial.compile_log))


def _tool_failure(trial: Trial, what: str, stage: Stage) -> Finding | None:
    process = trial.last
    if process.timed_out:
        return Finding("timeout", stage, f"the {what} ran into its time limit after {process.cpu:.1f} CPU seconds")
    if process.too_much_output:
        return Finding("resource", stage, f"the {what} wrote more than it may")
    if trial.full:
        return Finding("resource", stage, f"the {what} filled its work folder")
    if trial.out_of_memory:
        return Finding("resource", stage, f"the {what} ran out of memory")
    if process.signal:
        name = signal.Signals(process.signal).name
        cause = _first(trial.last_log)
        return Finding("crash", stage, f"the {what} was ended by {name}" + (f": {cause}" if cause else ""))
    return None


def _tested(tests: SlotResult, reference: ReferenceRun | None) -> Finding:
    """What a cocotb bench says. Its results are complete, or there are none."""
    expected = reference.samples if reference and reference.outcome == "passed" else None
    if not tests.failed and expected not in (None, tests.tests):
        return Finding("tampered", "simulated", f"{tests.tests} tests were run where the reference run has {expected}")
    if not tests.failed:
        return Finding("passed", "passed")
    if tests.failed == INTERFACE:
        return Finding("interface", "self_contained", tests.message)
    return Finding("mismatch", "simulated", f"{tests.failed}: {tests.message}")


def _bench_answer(trial: Trial, rule: Rule, reference: ReferenceRun | None) -> Finding:
    report = trial.report
    assert report is not None
    if report.clean and not rule.counts_samples:
        return _traced(trial, reference)
    if report.verdicts > 1:
        return Finding("tampered", "simulated", f"{report.verdicts} verdict lines where the bench prints one")
    if not rule.counts_samples:
        return Finding("mismatch", "simulated", "the bench did not report a pass")
    if report.verdicts == 0:
        said = f": {trial.said}" if trial.said else ""
        return Finding("crash", "simulated", f"the simulation ended without the bench's verdict{said}")
    if trial.counted not in (None, report.mismatches):
        detail = f"the bench reports {report.mismatches} mismatches where there were {trial.counted}"
        return Finding("tampered", "simulated", detail)
    expected = reference.samples if reference else None
    if report.mismatches:
        ended_early = expected is not None and report.samples is not None and report.samples < expected
        first = "the first " if ended_early else ""
        return Finding("mismatch", "simulated", f"{report.mismatches} of {first}{report.samples} samples differ")
    if not report.samples:
        return Finding("tampered", "simulated", "the bench compared no sample")
    if expected is not None and report.samples != expected:
        return Finding("tampered", "simulated", f"{report.samples} samples where the reference run has {expected}")
    return _traced(trial, reference)


def _traced(trial: Trial, reference: ReferenceRun | None) -> Finding:
    """A clean verdict counts only if the bench did what it does with the reference."""
    if reference is None or reference.trace is None:
        return Finding("passed", "passed")
    if trial.traces != 1:
        return Finding("tampered", "simulated", f"{trial.traces} traces of the bench where it leaves one")
    if trial.trace != reference.trace:
        return OTHER_TRACE
    return Finding("passed", "passed")


def _first(log: str, pattern: re.Pattern[str] = _DETAIL) -> str:
    """The first line of a log that says what is wrong, without white space around it."""
    for match in pattern.finditer(log):
        start = log.rfind("\n", 0, match.start()) + 1
        end = log.find("\n", match.end())
        return log[start : end if end >= 0 else len(log)].strip()[:300]
    return next((line.strip()[:300] for line in log.splitlines() if CANDIDATE in line), "")
