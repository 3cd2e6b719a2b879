"""The same tricks written in other ways: none passes, and honest candidates written so still do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adversarial import corpus
from tests.adversarial.conftest import Grounds
from tests.adversarial.corpus import Attempt
from tests.adversarial.mutate import MOVES, mutate, tokens
from verieval.verdict import Verdict

Judge = Callable[..., Verdict]

ATTEMPTS = [
    attempt
    for attempt in corpus.attempts()
    if attempt.trick.kind not in ("hangs", "floods", "harmless") and attempt.target.family in ("own", "ve")
]
HONEST = [attempt for attempt in corpus.attempts() if attempt.trick.harmless and attempt.target.family == "own"]
# Moves that leave an honest text as honest as it was, where the policy has no quarrel with macros around it.
LAYOUT = ("space", "comments", "escape", "rename", "case")
SEEDS = st.integers(0, 2**32)


def moves(names: tuple[str, ...]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(names), min_size=1)


def quick(examples: int) -> settings:
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def within_reach(attempt: Attempt, data: Path | None) -> Attempt:
    """The attempt, or the same trick on a task of the project's own where there is no benchmark data."""
    if attempt.target.family == "own" or data is not None:
        return attempt
    own = [other for other in ATTEMPTS if other.trick is attempt.trick and other.target.family == "own"]
    return own[0] if own else next(other for other in ATTEMPTS if other.target.family == "own")


def check_trick(judge: Judge, grounds: Grounds, attempt: Attempt, chosen: frozenset[str], seed: int) -> None:
    text = mutate(grounds.source(attempt), chosen, seed)
    verdict = judge(attempt, text)
    assert not verdict.passed["strict"], text


@quick(80)
@given(attempt=st.sampled_from(ATTEMPTS), chosen=moves(MOVES), seed=SEEDS)
def test_no_mutant_passes(
    judge: Judge, grounds: Grounds, optional_data: Path | None, attempt: Attempt, chosen: frozenset[str], seed: int
) -> None:
    check_trick(judge, grounds, within_reach(attempt, optional_data), chosen, seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@quick(4000)
@given(attempt=st.sampled_from(ATTEMPTS), chosen=moves(MOVES), seed=SEEDS)
def test_no_mutant_of_many_passes(
    judge: Judge, grounds: Grounds, optional_data: Path | None, attempt: Attempt, chosen: frozenset[str], seed: int
) -> None:
    check_trick(judge, grounds, within_reach(attempt, optional_data), chosen, seed)


@quick(40)
@given(attempt=st.sampled_from(HONEST), chosen=moves(LAYOUT), seed=SEEDS)
def test_an_honest_mutant_passes(judge: Judge, attempt: Attempt, chosen: frozenset[str], seed: int) -> None:
    text = mutate(attempt.source(), chosen, seed)
    verdict = judge(attempt, text)
    assert verdict.outcome == "passed", f"{verdict.detail}\n{text}"


def test_mutants_keep_their_teeth(judge: Judge, grounds: Grounds, data_dir: Path) -> None:
    """Of tricks that fool VerilogEval's rule, most mutants still do; otherwise the tests above would show little."""
    fooling = [
        attempt
        for attempt in corpus.quick_attempts()
        if attempt.target.family == "ve" and not attempt.trick.harmless and corpus.measured()[attempt.name].official[12]
    ]
    for move in MOVES:
        alive = sum(
            judge(attempt, mutate(grounds.source(attempt), frozenset({move}), seed)).passed["official"]
            for seed, attempt in enumerate(fooling[::6])
        )
        assert alive >= 0.7 * len(fooling[::6]), f"{move}: {alive} of {len(fooling[::6])}"


@given(attempt=st.sampled_from(corpus.attempts()))
@quick(100)
def test_the_lexer_loses_nothing(attempt: Attempt) -> None:
    text = attempt.source()
    assert "".join(token.text for token in tokens(text)) == text
    assert mutate(text, frozenset(), 0) == text
