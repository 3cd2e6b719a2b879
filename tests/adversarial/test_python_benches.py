"""The same tricks where the bench is a cocotb test: none passes, honest candidates do, nothing is left running."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adversarial import corpus
from tests.adversarial.conftest import Grounds
from tests.adversarial.corpus import Attempt
from tests.adversarial.judging import PYTHON_LIMITS, Judges
from tests.adversarial.mutate import MOVES, mutate
from tests.adversarial.test_containment import HANGS, _descendants, _nothing_left, subreaper, work
from verieval.judge import Toolchain
from verieval.verdict import Verdict

__all__ = ["subreaper", "work"]

ATTEMPTS = [attempt for attempt in corpus.attempts() if attempt.target.family == "cocotb"]
ENDLESS = [attempt for attempt in ATTEMPTS if attempt.trick.kind in ("hangs", "floods") or attempt.trick.slow]
TRICKS = [attempt for attempt in ATTEMPTS if attempt not in ENDLESS]


def judged(judges: Judges, grounds: Grounds, texts: list[tuple[Attempt, str]]) -> list[Verdict]:
    """All of them together, so that they are simulated in batches."""
    futures = [judges.submit(attempt, text) for attempt, text in texts]
    verdicts = [future.result() for future in futures]
    for verdict in verdicts:
        grounds.check(verdict)
    return verdicts


def test_every_trick_is_played_on_both_kinds_of_task() -> None:
    names = {attempt.trick.name for attempt in ATTEMPTS}
    # What needs a reference module, or a bench of VerilogEval's or RTLLM's shape, has nothing to aim at.
    assert len(names) > 0.9 * len(corpus.tricks())
    assert {attempt.target.name for attempt in TRICKS} == {"cocotb_comb", "cocotb_seq"}
    assert {attempt.trick.name for attempt in ENDLESS} >= HANGS


@pytest.mark.parametrize("major", [pytest.param(11, marks=pytest.mark.slow), 12])
@pytest.mark.timeout(600)
def test_no_trick_passes_and_honest_candidates_do(
    major: int, judges: Callable[[int], Judges], grounds: Grounds
) -> None:
    # In a quick run each trick is played on one of the two tasks.
    chosen = TRICKS if major == 11 else list({attempt.trick.name: attempt for attempt in _shuffled(TRICKS)}.values())
    verdicts = judged(judges(major), grounds, [(attempt, grounds.source(attempt)) for attempt in chosen])
    wrong = {
        attempt.name: (verdict.outcome, verdict.detail)
        for attempt, verdict in zip(chosen, verdicts, strict=True)
        if verdict.passed["strict"] != attempt.trick.harmless
    }
    assert wrong == {}
    assert {verdict.outcome for verdict in verdicts} >= {"passed", "forbidden", "mismatch"}
    assert "harness" not in {verdict.outcome for verdict in verdicts}


@pytest.mark.parametrize("count", [40, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.timeout(900)
def test_no_mutant_of_a_trick_passes(count: int, judges: Callable[[int], Judges], grounds: Grounds) -> None:
    draw = random.Random(count)
    chosen = [
        (
            attempt,
            mutate(grounds.source(attempt), frozenset(draw.sample(MOVES, draw.randint(1, 3))), draw.randrange(99)),
        )
        for attempt in draw.choices([attempt for attempt in TRICKS if not attempt.trick.harmless], k=count)
    ]
    verdicts = judged(judges(12), grounds, chosen)
    passed = [text for (_, text), verdict in zip(chosen, verdicts, strict=True) if verdict.passed["strict"]]
    assert passed == []


@pytest.mark.usefixtures("subreaper")
@pytest.mark.parametrize("hasty", [False, True])
def test_nothing_is_left_running(toolchain: Toolchain, work: Path, tmp_path: Path, hasty: bool) -> None:
    """Candidates that hang and flood, among honest ones of the same task, which pass all the same."""
    before = _descendants()
    started = time.monotonic()
    bad = [attempt for attempt in ENDLESS if attempt.trick.name in HANGS and attempt.target.name == "cocotb_comb"]
    good = [attempt for attempt in TRICKS if attempt.trick.harmless and attempt.target.name == "cocotb_comb"][:4]
    with Judges(toolchain, None, tmp_path / "cache", jobs=2) as judges:
        futures = [judges.submit(attempt) for attempt in [*bad, *good]]
        if hasty:
            time.sleep(1.5)
        else:
            outcomes = [future.result().outcome for future in futures]
            assert "passed" not in outcomes[: len(bad)]
            assert outcomes[len(bad) :] == ["passed"] * len(good)
    # In a batch, alone with slack, and alone again; busy machines are slower.
    most = 3 * len(bad) * (PYTHON_LIMITS.compile_cpu + PYTHON_LIMITS.simulate_cpu)
    assert time.monotonic() - started < 10 * most
    _nothing_left(work, before)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_hang_ends_within_its_limits(judges: Callable[[int], Judges], grounds: Grounds) -> None:
    verdicts = judged(judges(12), grounds, [(attempt, grounds.source(attempt)) for attempt in ENDLESS])
    for attempt, verdict in zip(ENDLESS, verdicts, strict=True):
        assert not verdict.passed["strict"], attempt.name
        assert verdict.seconds["compile"] <= 2 * PYTHON_LIMITS.compile_cpu, attempt.name
        assert verdict.seconds["simulate"] <= 2 * PYTHON_LIMITS.simulate_cpu, attempt.name


def _shuffled(attempts: list[Attempt]) -> list[Attempt]:
    return random.Random(4).sample(attempts, len(attempts))
