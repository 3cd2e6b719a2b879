"""verieval.stats against closed forms, enumeration and simulation."""

from __future__ import annotations

import itertools
import json
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verieval import stats
from verieval.errors import VerievalError
from verieval.stats import TaskCount, estimate, mcnemar_exact, pass_at_k, summarise
from verieval.verdict import Outcome, Stage, Verdict


def verdict(task: str, sample: int, outcome: Outcome = "passed", stage: Stage = "passed", **more: bool) -> Verdict:
    strict = outcome == "passed"
    return Verdict(task, sample, outcome, stage, {"strict": strict, "official": more.get("official", strict)})


# ---- pass@k ----


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (5, 2, 1, Fraction(2, 5)),
        (10, 3, 5, 1 - Fraction(21, 252)),
        (5, 1, 5, Fraction(1)),
        (20, 1, 10, Fraction(1, 2)),
        (200, 100, 1, Fraction(1, 2)),
        (4, 0, 2, Fraction(0)),
        (4, 4, 2, Fraction(1)),
        (4, 3, 2, Fraction(1)),  # one failure cannot fill two places
    ],
)
def test_pass_at_k_closed_forms(n: int, c: int, k: int, expected: Fraction) -> None:
    assert pass_at_k(n, c, k) == float(expected)


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_is_the_share_of_subsets_with_a_pass(n: int) -> None:
    for c in range(n + 1):
        samples = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            subsets = [any(subset) for subset in itertools.combinations(samples, k)]
            assert pass_at_k(n, c, k) == pytest.approx(sum(subsets) / len(subsets), abs=1e-15)


def test_pass_at_k_is_absent_when_n_is_below_k() -> None:
    assert pass_at_k(4, 4, 5) is None
    assert pass_at_k(0, 0, 1) is None


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 2, 0)])
def test_pass_at_k_refuses_nonsense(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(n, c, k)


@given(st.integers(2, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1), st.integers(1, n - 1))))
def test_pass_at_k_grows_with_c_and_with_k(case: tuple[int, int, int]) -> None:
    n, c, k = case
    here, more_passes, more_samples = pass_at_k(n, c, k), pass_at_k(n, c + 1, k), pass_at_k(n, c, k + 1)
    assert here is not None
    assert more_passes is not None
    assert more_samples is not None
    assert 0 <= here <= more_passes <= 1
    assert here <= more_samples


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_product_form_of_the_paper(case: tuple[int, int, int]) -> None:
    n, c, k = case
    product = 1.0 if n - c < k else 1 - math.prod(1 - k / i for i in range(n - c + 1, n + 1))
    assert pass_at_k(n, c, k) == pytest.approx(product, abs=1e-12)


@given(st.floats(0, 1), st.integers(1, 4), st.integers(4, 9))
def test_pass_at_k_is_unbiased(p: float, k: int, n: int) -> None:
    """Averaged over Binomial(n, p) it is 1 - (1 - p)^k, which the plug-in 1 - (1 - c/n)^k is not."""
    values = [(math.comb(n, c) * p**c * (1 - p) ** (n - c), pass_at_k(n, c, k)) for c in range(n + 1)]
    mean = math.fsum(weight * value for weight, value in values if value is not None)
    assert mean == pytest.approx(1 - (1 - p) ** k, abs=1e-9)


def test_default_ks() -> None:
    assert stats.default_ks(0) == ()
    assert stats.default_ks(1) == (1,)
    assert stats.default_ks(5) == (1, 5)
    assert stats.default_ks(20) == (1, 5, 10, 20)


# ---- the mean over problems and its uncertainty ----


def test_estimate_of_two_problems_by_hand() -> None:
    result = estimate([TaskCount("a", 5, 2), TaskCount("b", 5, 4)], k=1)
    # mean (0.4 + 0.8) / 2; deviation sqrt(2 * 0.2^2 / 1), over sqrt(2)
    assert result.value == pytest.approx(0.6)
    assert result.se == pytest.approx(0.2)
    assert result.tasks == 2
    # a resample holds a twice, b twice or both: 0.4, 0.8 (a quarter each), 0.6
    assert result.ci95 == pytest.approx((0.4, 0.8))


def test_standard_error_of_zeros_and_ones_is_the_binomial_one() -> None:
    counts = [TaskCount(str(i), 1, int(i < 30)) for i in range(156)]
    result = estimate(counts, k=1)
    p = 30 / 156
    assert result.value == pytest.approx(p)
    assert result.se == pytest.approx(math.sqrt(p * (1 - p) / 155))
    assert result.ci95 is not None
    # the bootstrap of a proportion is Binomial(156, p) / 156, whose 2.5 % and 97.5 % points are 21 and 40 of 156
    cdf = np.cumsum([math.comb(156, i) * p**i * (1 - p) ** (156 - i) for i in range(157)])
    expected = np.searchsorted(cdf, [0.025, 0.975]) / 156
    assert result.ci95 == pytest.approx(tuple(expected), abs=1.01 / 156)


def test_unequal_n_weighs_problems_and_not_samples() -> None:
    counts = [TaskCount("a", 2, 1), TaskCount("b", 20, 20)]
    assert estimate(counts, k=1).value == pytest.approx(0.75)
    assert estimate(counts, k=2).value == pytest.approx(1.0)


def test_one_problem_below_k_makes_the_mean_absent_and_is_named() -> None:
    result = estimate([TaskCount("a", 2, 2), TaskCount("b", 20, 20)], k=5)
    assert (result.value, result.se, result.ci95) == (None, None, None)
    assert result.excluded == ("a",)
    assert result.to_json()["reason"] == "1 of 2 tasks have fewer than 5 samples"


def test_one_problem_has_no_standard_error() -> None:
    result = estimate([TaskCount("a", 5, 2)], k=1)
    assert (result.value, result.se, result.ci95) == (0.4, None, None)


def test_no_problem_has_no_estimate() -> None:
    assert estimate([], k=1).value is None


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.integers(0, 9), st.sampled_from([1, 3, 5]))
def test_interval_is_seeded_ordered_in_range_and_ignores_the_order(passes: list[int], seed: int, k: int) -> None:
    counts = [TaskCount(str(i), 5, c) for i, c in enumerate(passes)]
    first = estimate(counts, k, seed, resamples=500)
    assert first == estimate(counts, k, seed, resamples=500)
    assert first.ci95 == estimate(counts[::-1], k, seed, resamples=500).ci95
    assert first.ci95 is not None
    assert 0 <= first.ci95[0] <= first.ci95[1] <= 1


def test_bootstrap_agrees_with_drawing_indices() -> None:
    """The multinomial form is the usual bootstrap: same percentiles as resampled indices, up to resampling noise."""
    rng = np.random.default_rng(7)
    values = rng.integers(0, 6, size=60) / 5
    plain = values[rng.integers(0, 60, size=(40_000, 60))].mean(axis=1)
    result = stats.bootstrap(values.tolist(), seed=1, resamples=40_000)
    assert result == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=0.004)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Beta-distributed difficulties, 5 samples each: 1,000 benchmarks of 156 problems, true pass@1 = 0.6."""
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(1000):
        passes = rng.binomial(5, rng.beta(0.6, 0.4, size=156))
        interval = stats.bootstrap((passes / 5).tolist(), seed=trial, resamples=400)
        assert interval is not None
        hits += interval[0] <= 0.6 <= interval[1]
    # 950 expected; four binomial deviations are 28, the percentile bootstrap itself loses about half a point
    assert 915 <= hits <= 978


def test_intervals_are_over_problems_and_not_over_samples() -> None:
    """Problems that always or never pass carry no more information with 20 samples than with one."""
    one = [TaskCount(str(i), 1, i % 2) for i in range(100)]
    twenty = [TaskCount(str(i), 20, 20 * (i % 2)) for i in range(100)]
    assert estimate(one, 1).se == estimate(twenty, 1).se
    assert estimate(one, 1).ci95 == estimate(twenty, 1).ci95


def test_ten_thousand_resamples_of_a_benchmark_are_quick() -> None:
    counts = [TaskCount(str(i), 5, i % 6) for i in range(156)]
    best = min(_seconds(counts) for _ in range(5))
    assert best < 0.1


def _seconds(counts: list[TaskCount]) -> float:
    start = time.process_time()
    estimate(counts, 1)
    return time.process_time() - start


# ---- pairs ----


@pytest.mark.parametrize(
    ("b", "c", "expected"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 5, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (1, 9, 22 / 1024), (8, 2, 112 / 1024)],
)
def test_mcnemar_by_hand(b: int, c: int, expected: float) -> None:
    assert mcnemar_exact(b, c) == expected


@pytest.mark.parametrize("b", range(7))
def test_mcnemar_counts_the_sign_patterns_at_least_as_extreme(b: int) -> None:
    c = 6
    patterns = itertools.product((0, 1), repeat=b + c)
    extreme = sum(abs(2 * sum(signs) - (b + c)) >= abs(b - c) for signs in patterns)
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, extreme / 2 ** (b + c)))


def test_paired_difference_by_hand() -> None:
    a = [TaskCount("x", 5, 1), TaskCount("y", 5, 3), TaskCount("z", 5, 5)]
    b = [TaskCount("z", 10, 10), TaskCount("x", 10, 6), TaskCount("y", 10, 6)]  # another order, another n
    result = stats.paired(a, b, k=1)
    # differences 0.4, 0, 0: mean 0.4 / 3, deviation^2 = (0.16 - 0.16 / 3) / 2
    assert result.difference == pytest.approx(0.4 / 3)
    assert result.se == pytest.approx(math.sqrt((0.16 - 0.16 / 3) / 2 / 3))
    assert (result.tasks, result.differing) == (3, 1)
    assert result.ci95 == pytest.approx((0.0, 0.4))


def test_pairing_removes_what_the_problems_share() -> None:
    """B passes one sample more on each problem: no uncertainty about the difference, plenty about either side."""
    a = [TaskCount(str(i), 5, i % 5) for i in range(50)]
    b = [TaskCount(str(i), 5, i % 5 + 1) for i in range(50)]
    result = stats.paired(a, b, k=1)
    assert result.difference == pytest.approx(0.2)
    assert result.se == pytest.approx(0.0, abs=1e-15)
    assert result.ci95 == pytest.approx((0.2, 0.2))
    side = estimate(a, 1)
    assert side.se is not None
    assert side.se > 0.03


def test_a_difference_is_shown_only_when_enough_problems_differ() -> None:
    def change(differing: int) -> stats.PairedDifference:
        a = [TaskCount(str(i), 1, 0) for i in range(20)]
        return stats.paired(a, [TaskCount(str(i), 1, int(i < differing)) for i in range(20)], k=1)

    five, six = change(5), change(6)
    assert five.ci95 is not None
    assert five.ci95[0] > 0  # the interval alone would claim it
    assert not five.shown
    assert six.shown


def test_cancelling_differences_are_zero_and_not_almost_zero() -> None:
    """Gains and losses of 1/3 cancel in floating point too, so zero is inside the interval."""
    values = [1 / 3, -1 / 3] * 2
    for seed in range(20):
        interval = stats.bootstrap(values, seed=seed, resamples=50)
        assert interval is not None
        assert interval[0] <= 0 <= interval[1]


def test_paired_is_absent_below_k_and_refuses_other_problems() -> None:
    a, b = [TaskCount("x", 5, 1)], [TaskCount("x", 3, 1)]
    assert stats.paired(a, b, k=5).difference is None
    with pytest.raises(ValueError, match="same problems"):
        stats.paired(a, [TaskCount("y", 5, 1)], k=1)


def test_detectable_difference_has_the_power_it_claims() -> None:
    assert stats.detectable_difference(1.0) == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    draws = np.random.default_rng(0).normal(stats.detectable_difference(0.02), 0.02, size=200_000)
    assert np.mean(draws > 1.959964 * 0.02) == pytest.approx(0.8, abs=0.004)


# ---- summaries ----


def test_summary_counts_missing_samples_as_failed_and_names_them() -> None:
    rows = [
        verdict("a", 0),
        verdict("a", 1, "mismatch", "simulated"),
        verdict("b", 0, "syntax", "extracted"),
        verdict("b", 1, "harness", "none"),
    ]
    result = summarise(rows, ["a", "b", "c"], 2, criterion="strict")
    assert (result["tasks_total"], result["samples"], result["missing"]) == (3, 6, 2)
    assert result["outcomes"] == {"syntax": 1, "mismatch": 1, "passed": 1, "harness": 1}
    assert result["syntax_rate"] == pytest.approx(2 / 6)
    assert result["stages"] == {
        "extracted": 3,
        "parsed": 2,
        "self_contained": 2,
        "compiled": 2,
        "simulated": 2,
        "passed": 1,
    }
    assert result["tasks"] == [
        {"id": "a", "n": 2, "c": 1, "missing": 0, "outcomes": {"mismatch": 1, "passed": 1}},
        {"id": "b", "n": 2, "c": 0, "missing": 0, "outcomes": {"syntax": 1, "harness": 1}},
        {"id": "c", "n": 2, "c": 0, "missing": 2, "outcomes": {}},
    ]
    assert result["without_faulty"] is None
    passes = result["pass_at_k"]
    assert isinstance(passes, dict)
    assert set(passes) == {"1"}
    assert passes["1"]["value"] == pytest.approx(1 / 6)
    assert passes["1"]["tasks"] == 3


def test_summary_without_faulty_tasks_names_both_denominators() -> None:
    rows = [verdict("a", 0), verdict("b", 0), verdict("c", 0, "timeout", "simulated")]
    result = summarise(rows, ["a", "b", "c"], 1, criterion="strict", faulty={"c", "not in this run"})
    without = result["without_faulty"]
    assert isinstance(without, dict)
    assert without["excluded"] == ["c"]
    assert (without["tasks_total"], without["samples"]) == (2, 2)
    assert without["pass_at_k"]["1"]["value"] == 1.0
    assert result["pass_at_k"]["1"]["value"] == pytest.approx(2 / 3)  # type: ignore[index]


def test_summary_follows_the_criterion_and_the_last_row() -> None:
    rows = [
        verdict("a", 0, "crash", "compiled"),
        verdict("a", 0, "forbidden", "parsed", official=True),  # judged again
    ]
    strict = stats.task_counts(rows, ["a"], 1, "strict")
    official = stats.task_counts(rows, ["a"], 1, "official")
    assert (strict, official) == ([TaskCount("a", 1, 0)], [TaskCount("a", 1, 1)])
    assert summarise(rows, ["a"], 1, criterion="strict")["outcomes"] == {"forbidden": 1}


def test_summary_takes_n_by_task_and_explicit_ks() -> None:
    rows = [verdict("a", i) for i in range(2)]
    result = summarise(rows, ["a", "b"], {"a": 2, "b": 5}, criterion="strict", ks=[1, 5])
    passes = result["pass_at_k"]
    assert isinstance(passes, dict)
    assert passes["1"]["value"] == 0.5
    assert passes["5"]["value"] is None
    assert passes["5"]["reason"] == "1 of 2 tasks have fewer than 5 samples"


@pytest.mark.parametrize(
    ("row", "criterion", "message"),
    [
        (verdict("stranger", 0), "strict", "does not hold"),
        (verdict("a", 2), "strict", "outside the 2 samples"),
        (verdict("a", 0), "lenient", "criterion lenient"),
    ],
)
def test_summary_refuses_rows_that_do_not_belong(row: Verdict, criterion: str, message: str) -> None:
    with pytest.raises(VerievalError, match=message):
        summarise([row], ["a"], 2, criterion=criterion)


def test_summary_needs_n_for_every_task_and_a_task() -> None:
    with pytest.raises(VerievalError, match="task b is not known"):
        summarise([], ["a", "b"], {"a": 1}, criterion="strict")
    with pytest.raises(VerievalError, match="no task"):
        summarise([], [], 1, criterion="strict")


def test_summary_is_plain_data() -> None:
    result = summarise([verdict("a", 0), verdict("b", 1)], ["a", "b"], 5, criterion="official", faulty=["b"])
    assert json.loads(json.dumps(result)) == result
