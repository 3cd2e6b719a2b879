"""What a harness's own results say: pytest's report, and the results files of its simulations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from verieval.judge.cosim.results import SlotResult

_SPACE = re.compile(r"\s+")
_FAULTS = ("failure", "error")


@dataclass(frozen=True)
class HarnessResult:
    """What one command left.

    Attributes:
        tests: what its simulations found, all cocotb tests together; None where a pytest test failed without results
            of its simulation, or there are no results at all.
        built: there was something to simulate in every pytest test.
        said: what pytest said of the first test that failed.
        log: log files of the first test that had nothing to simulate.
    """

    tests: SlotResult | None
    built: bool
    said: str = ""
    log: str = ""


_NOTHING = HarnessResult(None, built=False)


def read_results(report: str, found: str) -> HarnessResult:
    """Read what :mod:`verieval.judge.harness.inside` wrote.

    Args:
        report: pytest's results, in XML.
        found: what each pytest test left, in JSON.

    It is trusted code's, under names that no candidate knows. It is still read as if it were not.
    """
    cases = _cases(report)
    try:
        left = [_Left(**row) for row in json.loads(found)]
    except (ValueError, TypeError, RecursionError):
        return _NOTHING
    if not cases or len(cases) != len(left):
        return HarnessResult(None, built=False, said=next(filter(None, map(_said, cases or ())), ""))
    tests = 0
    failed: tuple[str, str] | None = None
    for case, one in zip(cases, left, strict=True):
        said = _said(case)
        simulated = [_cases(text) for text in one.results]
        if not all(simulated) or (said and not simulated):
            return HarnessResult(None, one.built, said, one.log)
        inner = [item for items in simulated for item in items or []]
        tests += len(inner)
        wrong = next((item for item in inner if _said(item)), None)
        if failed is None and wrong is not None:
            failed = wrong.get("name", "?"), _said(wrong) + _when(wrong)
        elif failed is None and said:
            failed = case.get("name", "?"), said
    if tests == 0:
        return HarnessResult(None, all(one.built for one in left), "no simulation left results")
    name, message = failed or ("", "")
    return HarnessResult(SlotResult(tests, name, message), built=True, said=message)


@dataclass(frozen=True)
class _Left:
    test: str
    results: list[str]
    built: bool
    log: str


def _cases(text: Any) -> list[ElementTree.Element] | None:
    """Test cases of a results file; None where it is cut off, or has none."""
    if not isinstance(text, str) or "<!" in text.replace("<![CDATA[", ""):  # no document type, no entities
        return None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    return list(root.iter("testcase")) or None


def _said(case: ElementTree.Element) -> str:
    """The fault of a test case; empty where it passed."""
    for child in _faults(case):
        text = child.get("message") or child.text or child.tag
        return _SPACE.sub(" ", text).strip()[:240] or child.tag
    return ""


def _faults(case: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (child for child in case if child.tag in _FAULTS)


def _when(case: ElementTree.Element) -> str:
    for item in case.iter("property"):
        if item.get("name") == "sim_time_duration":
            try:
                return f" ({float(item.get('value', '')):g} ns into the test)"
            except ValueError:
                return ""
    return ""
