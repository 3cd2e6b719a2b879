"""From evidence to outcome and stage: where a candidate fell, and why, in words.

The ladder is asked from the bottom up, so the first thing that went wrong names the outcome.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from verieval.judge.icarus import CANDIDATE, Evidence
from verieval.judge.rules import BenchReport, Rule
from verieval.verdict import Candidate, Outcome, Stage

_SYNTAX = re.compile(r"syntax error|I give up|Malformed statement|[Ee]rror: [Ii]nvalid (?:module item|statement)")
_MISSING_MODULE = re.compile(r"Unknown module type: (\S+)")
_INTERFACE = re.compile(
    r"is not a port of|Wrong number of ports|parameter .* not found|too many (?:ports|parameters)|"
    r"Unable to find the root module|port .* (?:does not exist|is not defined)",
    re.IGNORECASE,
)
_DETAIL = re.compile(r"^.*?(?:\berror: |\bsorry: |syntax error|[Aa]ssertion|I give up).*$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """The strict answer: outcome, the last stage reached, and the first line of the cause."""

    outcome: Outcome
    stage: Stage
    detail: str = ""


def classify(
    candidate: Candidate, evidence: Evidence, rule: Rule, expected_samples: int | None, *, cut_off: bool
) -> Finding:
    """The strict finding on a candidate.

    Args:
        candidate: what was judged.
        evidence: what its compilation and simulation showed.
        rule: the benchmark's rule.
        expected_samples: samples that the reference run reaches on this toolchain; None where the bench counts none
            or the reference does not run.
        cut_off: the completion ended because it reached the token limit.
    """
    if not candidate.source.strip():
        outcome: Outcome = "truncated" if cut_off else "no_code"
        return Finding(outcome, "none", "the completion holds no code")
    if not evidence.compiled:
        finding = _compile_failure(candidate, evidence)
        if cut_off and finding.outcome == "syntax":
            return Finding("truncated", finding.stage, f"cut off at the token limit: {finding.detail}")
        return finding
    return _tool_failure(evidence, "simulation", "compiled") or _bench_answer(evidence.report, rule, expected_samples)


def _compile_failure(candidate: Candidate, evidence: Evidence) -> Finding:
    tool = _tool_failure(evidence, "compiler", "extracted")
    if tool:
        return tool
    assert evidence.alone is not None
    alone_log, alone_ok = evidence.alone_log, evidence.alone.returncode == 0
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
    if _INTERFACE.search(evidence.compile_log):
        return Finding("interface", "self_contained", _first(evidence.compile_log, _INTERFACE))
    return Finding("bench_compile", "self_contained", _first(evidence.compile_log))


def _tool_failure(evidence: Evidence, what: str, stage: Stage) -> Finding | None:
    process = evidence.last
    if process.timed_out:
        return Finding("timeout", stage, f"the {what} ran into its time limit after {process.cpu:.1f} CPU seconds")
    if process.too_much_output:
        return Finding("resource", stage, f"the {what} wrote more than it may")
    if evidence.out_of_memory:
        return Finding("resource", stage, f"the {what} ran out of memory")
    if process.signal:
        name = signal.Signals(process.signal).name
        cause = _first(evidence.last_log)
        return Finding("crash", stage, f"the {what} was ended by {name}" + (f": {cause}" if cause else ""))
    return None


def _bench_answer(report: BenchReport | None, rule: Rule, expected_samples: int | None) -> Finding:
    assert report is not None
    if report.clean and not rule.counts_samples:
        return Finding("passed", "passed")
    if report.verdicts > 1:
        return Finding("tampered", "simulated", f"{report.verdicts} verdict lines where the bench prints one")
    if not rule.counts_samples:
        return Finding("mismatch", "simulated", "the bench did not report a pass")
    if report.verdicts == 0:
        return Finding("crash", "simulated", "the simulation ended without the bench's verdict")
    if report.mismatches:
        return Finding("mismatch", "simulated", f"{report.mismatches} of {report.samples} samples differ")
    if not report.samples:
        return Finding("tampered", "simulated", "the bench compared no sample")
    if expected_samples is not None and report.samples != expected_samples:
        detail = f"{report.samples} samples where the reference run has {expected_samples}"
        return Finding("tampered", "simulated", detail)
    return Finding("passed", "passed")


def _first(log: str, pattern: re.Pattern[str] = _DETAIL) -> str:
    """The first line of a log that says what is wrong, without white space around it."""
    for match in pattern.finditer(log):
        start = log.rfind("\n", 0, match.start()) + 1
        end = log.find("\n", match.end())
        return log[start : end if end >= 0 else len(log)].strip()[:300]
    return next((line.strip()[:300] for line in log.splitlines() if CANDIDATE in line), "")
