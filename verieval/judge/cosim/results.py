"""What a batch's results file says of each slot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

INTERFACE = "interface"
TEST_US = 10_000  # simulated time that a test may take
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class SlotResult:
    """One slot.

    Attributes:
        tests: how many were listed, the look at the ports not among them.
        failed: name of the first that failed; empty where all passed.
        message: what it said, with its simulated time.
    """

    tests: int
    failed: str = ""
    message: str = ""


def read_results(text: str, slots: list[str]) -> dict[str, SlotResult] | None:
    """Results by slot, or None where the file is missing, cut off, or does not speak of exactly these slots.

    The file is cocotb's own, written inside a sandbox under a name that no candidate knows. It is still read as if it
    were not.
    """
    cases = _cases(text, slots)
    if cases is None:
        return None
    # Each slot has the same tests, or the simulation ended before it had run them all.
    lists = {tuple(tests) for tests in cases.values()}
    if len(lists) != 1 or len(next(iter(lists))) < 2 or INTERFACE not in next(iter(lists)):
        return None
    return {slot: _slot(tests) for slot, tests in cases.items()}


def read_failure(text: str, slots: list[str]) -> tuple[str, SlotResult] | None:
    """The first slot that failed, and how, in a file that may end there; None where there is none."""
    cases = _cases(text, slots)
    found = ((slot, _slot(tests)) for slot, tests in (cases or {}).items())
    return next(((slot, result) for slot, result in found if result.failed), None)


def _cases(text: str, slots: list[str]) -> dict[str, dict[str, ElementTree.Element]] | None:
    """Tests by slot and name, None where the file is cut off or speaks of other slots, or of a test twice."""
    if "<!" in text:  # no document type, no entities
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    cases: dict[str, dict[str, ElementTree.Element]] = {slot: {} for slot in slots}
    for case in root.iter("testcase"):
        slot, _, test = case.get("name", "").partition(".")
        if slot not in cases or not test or test in cases[slot]:
            return None
        cases[slot][test] = case
    return cases


def _slot(tests: dict[str, ElementTree.Element]) -> SlotResult:
    for name, case in tests.items():
        faults = [child for child in case if child.tag in ("failure", "error", "skipped")]
        if faults:
            if faults[0].get("type") == "SimTimeoutError":
                return SlotResult(len(tests) - 1, name, _in_vain(_nanoseconds(case)))
            message = _SPACE.sub(" ", faults[0].get("message") or _last_lines(faults[0])).strip()
            return SlotResult(len(tests) - 1, name, f"{message[:240]}{_when(case)}")
    return SlotResult(len(tests) - 1)


def _last_lines(fault: ElementTree.Element) -> str:
    """What failed and how, of an exception without words; where its file lay is the job's affair."""
    lines = (line.strip() for line in (fault.text or "").splitlines())
    told = [line for line in lines if line.strip("^~ ") and not line.startswith("File ")]
    return " ".join(told[-2:]) or fault.tag


def _when(case: ElementTree.Element) -> str:
    """How long the test had run; before the first nanosecond is over, only its first look has failed."""
    time = _nanoseconds(case)
    return "" if time is None else f" ({time:.15g} ns into the test)"


def _in_vain(time: float | None) -> str:
    """What an exception without words means: the harness ended the test, or the test its own wait."""
    if time is None or time >= TEST_US * 1000:
        return f"the test did not end within {TEST_US // 1000} ms of simulated time"
    return f"what the test waited for did not happen in time ({time:.15g} ns into the test)"


def _nanoseconds(case: ElementTree.Element) -> float | None:
    for item in case.iter("property"):
        if item.get("name") == "sim_time_duration":
            try:
                return float(item.get("value", ""))
            except ValueError:
                return None
    return None
