"""The corpus itself, and every candidate in it: no trick passes, every honest one does, and the table is true."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adversarial import corpus
from tests.adversarial.corpus import Attempt
from tests.adversarial.judging import run_plainly
from tests.conftest import ROOT, icarus
from verieval.verdict import OUTCOMES, Verdict

QUICK = corpus.quick_attempts()
# Hangs use up their limits, so that one task of the project's own stands for all in a quick run.
BRIEF = [
    attempt
    for attempt in QUICK
    if not attempt.trick.slow and (attempt.trick.kind not in ("hangs", "floods") or attempt.target.family == "own")
]
LONG = [attempt for attempt in QUICK if attempt not in BRIEF]
OTHERS = [
    attempt
    for attempt in corpus.attempts()
    if attempt not in QUICK and attempt.trick.kind not in ("hangs", "floods") and attempt.target.family != "cocotb"
]


def name(attempt: Attempt) -> str:
    return attempt.name


def test_every_item_has_its_tricks() -> None:
    count = Counter(trick.item for trick in corpus.tricks())
    assert set(count) == set(corpus.ITEMS)
    assert sum(count.values()) - count["harmless"] >= 60
    assert count["harmless"] >= 12


def test_only_honest_candidates_may_pass() -> None:
    for trick in corpus.tricks():
        assert set(trick.expect) <= set(OUTCOMES), trick.name
        assert ("passed" in trick.expect) == trick.harmless, trick.name
        assert trick.expect == ("passed",) or not trick.harmless, trick.name


def test_every_file_has_one_entry() -> None:
    files = {
        str(path.relative_to(corpus.FOLDER / "corpus").with_suffix("")) for path in corpus.FOLDER.glob("corpus/*/*.sv")
    }
    names = [trick.name for trick in corpus.tricks()]
    assert files == set(names)
    assert len(names) == len(set(names))
    assert all(trick.targets for trick in corpus.tricks())


def test_every_attempt_is_another_text() -> None:
    texts = Counter((attempt.target.name, attempt.source()) for attempt in corpus.attempts())
    assert [key for key, count in texts.items() if count > 1] == []


def test_everything_was_measured() -> None:
    assert set(corpus.measured()) == {attempt.name for attempt in QUICK}
    for attempt in QUICK:
        row = corpus.measured()[attempt.name]
        assert set(row.official) == set(row.strict) == {11, 12}, attempt.name
        assert all((outcome == "passed") == attempt.trick.harmless for outcome in row.strict.values()), attempt.name
        assert set(row.turtle) == (set() if attempt.target.family == "own" else {11, 12}), attempt.name


def test_the_document_is_made_from_the_corpus() -> None:
    script = ROOT / "scripts" / "adversarial_table.py"
    done = subprocess.run([sys.executable, str(script), "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run python scripts/adversarial_table.py"


@pytest.mark.parametrize(
    "attempt", [*BRIEF, *(pytest.param(attempt, marks=pytest.mark.slow) for attempt in LONG)], ids=name
)
def test_attempt(attempt: Attempt, judge: Callable[..., Verdict], sandboxed: bool) -> None:
    _check(attempt, judge(attempt), 12, sandboxed)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", QUICK, ids=name)
def test_attempt_on_icarus_11(attempt: Attempt, judge: Callable[..., Verdict], sandboxed: bool) -> None:
    _check(attempt, judge(attempt, major=11), 11, sandboxed)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", OTHERS, ids=name)
def test_attempt_on_another_task(attempt: Attempt, judge: Callable[..., Verdict]) -> None:
    verdict = judge(attempt)
    assert verdict.outcome in attempt.trick.expect, verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize("major", [11, 12])
@pytest.mark.parametrize("attempt", QUICK, ids=name)
def test_the_table_knows_the_published_rules(attempt: Attempt, major: int, data_dir: Path) -> None:
    plain = run_plainly(attempt, icarus(major), data_dir)
    row = corpus.measured()[attempt.name]
    assert plain.official == row.official[major]
    assert plain.turtle == row.turtle.get(major)


def _check(attempt: Attempt, verdict: Verdict, major: int, sandboxed: bool) -> None:
    assert verdict.outcome in attempt.trick.expect, verdict.detail
    assert verdict.passed["strict"] == attempt.trick.harmless
    if not sandboxed and verdict.stage in ("extracted", "parsed"):
        return  # what the policy refuses is not run at all
    if not attempt.trick.surroundings:
        assert verdict.passed["official"] == corpus.measured()[attempt.name].official[major]
