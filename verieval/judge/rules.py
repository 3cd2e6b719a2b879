"""The official rule of each benchmark, bug for bug, and what its bench reports.

An official rule reads text, since that is what upstream does. It is repeated here so that numbers compare with the
literature; it never decides the strict verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Transcript:
    """What the tools said about one candidate. ``stderr`` is empty where the bench merges it into ``stdout``."""

    compile_log: str
    compiled: bool
    stdout: str = ""
    stderr: str = ""
    cpu: float = 0.0
    timed_out: bool = False


@dataclass(frozen=True)
class OfficialVerdict:
    """The upstream harness's answer: pass or not, and its own letter or word for it."""

    passed: bool
    code: str


@dataclass(frozen=True)
class BenchReport:
    """What the bench counted. ``verdicts`` is how many verdict lines it printed; counts are None where it has none."""

    verdicts: int
    clean: bool
    mismatches: int | None = None
    samples: int | None = None


@dataclass(frozen=True)
class Rule:
    """How a benchmark is scored.

    Attributes:
        official: upstream's decision from the transcript.
        refine: upstream's last look at the candidate's own text, for answers that depend on it.
        report: the bench's counts, for ``strict``.
        counts_samples: the bench counts samples, so that ``strict`` can hold it to the reference run's number.
        seconds: upstream's time limit for a simulation.
    """

    official: Callable[[Transcript], OfficialVerdict]
    report: Callable[[Transcript], BenchReport]
    counts_samples: bool
    seconds: float
    refine: Callable[[OfficialVerdict, str], OfficialVerdict] = lambda verdict, _source: verdict


# --- VerilogEval v2: scripts/sv-iv-analyze at c498220 -------------------------------------------------------------

# In the order in which upstream asks them of each line; the first line that answers any ends the search.
_V2_FINAL = (
    ("syntax error", "S"),
    ("error: This assignment requires an explicit cast", "e"),
    ("error: Sized numeric constant must have a size greater than zero", "0"),
    ("warning: always_comb process has no sensitivities", "n"),
    ("found no sensitivities so it will never trigger", "n"),
    ("is declared here as wire", "w"),
    ("Unknown module type", "m"),
    ("Unable to bind wire/reg/memory `clk'", "c"),
    ("TIMEOUT", "T"),
)
_V2_COUNTS = re.compile(r"^Mismatches: (\d+) in (\d+) samples$", re.MULTILINE | re.ASCII)
_V2_ASYNC_RESET = ("posedge reset", "negedge reset", "posedge r)")
_UNDECIDED = OfficialVerdict(False, "?")


def _v2_log(transcript: Transcript) -> str:
    log = transcript.compile_log + transcript.stderr + transcript.stdout
    return log + "\nTIMEOUT\n" if transcript.timed_out else log


def _v2_official(transcript: Transcript) -> OfficialVerdict:
    """First match in log order, then a failed bind (p), any error (C), no mismatch (.); the rest is for `refine`."""
    log = _v2_log(transcript)
    found = [(log.find(text), order, code) for order, (text, code) in enumerate(_V2_FINAL)]
    # Two texts on one line: upstream asks in table order, so compare by line, then by order.
    hits = [(log.count("\n", 0, place), order, code) for place, order, code in found if place >= 0]
    if hits:
        return OfficialVerdict(False, min(hits)[2])
    if "Unable to bind wire/reg" in log:
        return OfficialVerdict(False, "p")
    if "error" in log:
        return OfficialVerdict(False, "C")
    if any(int(match[1]) == 0 for match in _V2_COUNTS.finditer(log)):
        return OfficialVerdict(True, ".")
    return _UNDECIDED


def _v2_refine(verdict: OfficialVerdict, source: str) -> OfficialVerdict:
    """Upstream blames an asynchronous reset (r) where the candidate's text names one, else plain wrong logic (R)."""
    if verdict != _UNDECIDED:
        return verdict
    return replace(verdict, code="r" if any(text in source for text in _V2_ASYNC_RESET) else "R")


def _mismatch_report(transcript: Transcript) -> BenchReport:
    """The ``Mismatches: E in N samples`` line; several of them are no verdict."""
    found = _V2_COUNTS.findall(transcript.stdout)
    if len(found) != 1:
        return BenchReport(verdicts=len(found), clean=False)
    mismatches, samples = (int(number) for number in found[0])
    return BenchReport(1, mismatches == 0, mismatches, samples)


# --- VerilogEval v1: verilog_eval/execution.py at release/1.0.0 ---------------------------------------------------

_V1_COUNTS = re.compile(r"Mismatches: ([0-9]*) in ([0-9]*) samples")


def _v1_official(transcript: Transcript) -> OfficialVerdict:
    """Anything on standard error, a warning included, fails; then the first line of counts decides."""
    stderr = transcript.compile_log + transcript.stderr
    if transcript.timed_out:
        return OfficialVerdict(False, "timed out")
    if "syntax error" in stderr:
        return OfficialVerdict(False, "syntax error")
    if stderr:
        return OfficialVerdict(False, "compile error")
    match = _V1_COUNTS.search(transcript.stdout)
    if match is None or not match[1] or not match[2]:
        return OfficialVerdict(False, "no counts")
    return OfficialVerdict(True, "passed") if int(match[1]) == 0 else OfficialVerdict(False, "mismatch")


# --- RTLLM v2: auto_run.py at 41b2689, with Icarus in VCS's place -------------------------------------------------

# Upstream takes any "Pass" or "pass" in the output. Strict wants the bench's whole line, once, and no complaint beside.
_RTLLM_PASSED = re.compile(r"^=+ ?Your Design Passed ?=+\s*$", re.MULTILINE)
_RTLLM_FAILED = re.compile(r"^.*(?:fail|error).*$", re.MULTILINE | re.IGNORECASE)


def _rtllm_official(transcript: Transcript) -> OfficialVerdict:
    if not transcript.compiled:
        return OfficialVerdict(False, "syntax")
    if transcript.timed_out:
        return OfficialVerdict(False, "timeout")
    said = "Pass" in transcript.stdout or "pass" in transcript.stdout
    return OfficialVerdict(said, "passed" if said else "failed")


def _rtllm_report(transcript: Transcript) -> BenchReport:
    verdicts = len(_RTLLM_PASSED.findall(transcript.stdout))
    return BenchReport(verdicts, verdicts == 1 and not _RTLLM_FAILED.search(transcript.stdout))


# --- VGen: the bench's "all tests passed" -------------------------------------------------------------------------

_VERIGEN_PASSED = re.compile(r"^all tests passed\s*$", re.MULTILINE)
_VERIGEN_FAILED = re.compile(r"^test \S+ failed\b", re.MULTILINE)


def _verigen_official(transcript: Transcript) -> OfficialVerdict:
    if not transcript.compiled:
        return OfficialVerdict(False, "compile")
    passed = "all tests passed" in transcript.stdout and not transcript.timed_out
    return OfficialVerdict(passed, "passed" if passed else "failed")


def _verigen_report(transcript: Transcript) -> BenchReport:
    verdicts = len(_VERIGEN_PASSED.findall(transcript.stdout))
    return BenchReport(verdicts, verdicts == 1 and not _VERIGEN_FAILED.search(transcript.stdout))


# --- The project's own suite: one line of counts, no rule beside strict -------------------------------------------


def _own_official(transcript: Transcript) -> OfficialVerdict:
    report = _mismatch_report(transcript)
    passed = transcript.compiled and report.clean and bool(report.samples) and not transcript.timed_out
    return OfficialVerdict(passed, "passed" if passed else "failed")


# --- CVDP: src/repository.py at 1985689 ----------------------------------------------------------------------------

# Upstream asks for the exit status of each command of the harness, and waits 600 s for it. A transcript of a harness
# has one line a command: ``exit STATUS``.
_CVDP_COMMAND = re.compile(r"^exit 0$")


def _cvdp_official(transcript: Transcript) -> OfficialVerdict:
    if transcript.timed_out:
        return OfficialVerdict(False, "timeout")
    lines = transcript.stdout.splitlines()
    passed = bool(lines) and all(_CVDP_COMMAND.match(line) for line in lines)
    return OfficialVerdict(passed, "passed" if passed else "failed")


def _no_report(_transcript: Transcript) -> BenchReport:
    """A harness's counts come from its results files, never from what is printed."""
    return BenchReport(0, False)


RULES: dict[str, Rule] = {
    "verilog-eval": Rule(_v2_official, _mismatch_report, True, 30.0, _v2_refine),
    "verilog-eval-v1": Rule(_v1_official, _mismatch_report, True, 30.0),
    "rtllm": Rule(_rtllm_official, _rtllm_report, False, 8.0),
    "verigen": Rule(_verigen_official, _verigen_report, False, 30.0),
    "cvdp": Rule(_cvdp_official, _no_report, True, 600.0),
    "verieval": Rule(_own_official, _mismatch_report, True, 10.0),  # its longest test takes half a second
}
