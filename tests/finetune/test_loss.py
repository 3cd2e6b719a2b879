"""The loss is a closed form; however a step is cut, packed, padded or sharded, it is the same number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from finetune.data.batch import ASSISTANT, ROLES, Batch, TokenRow, collate
from finetune.loss import Totals, coefficients, reference_loss, reference_nll, role_weights, totals
from finetune.recipe import LossSpec
from verieval.errors import VerievalError

VOCABULARY = 13
SPECS = [
    LossSpec(prompt_weight=weight, denominator=denominator)
    for weight in (0.0, 0.1, 1.0)
    for denominator in ("weight_sum", "response_tokens", "per_example")
]


def row(prompt: int, response: int, seed: int) -> TokenRow:
    """A row of so many user and assistant tokens."""
    random = np.random.default_rng(seed)
    ids = random.integers(0, VOCABULARY, prompt + response).astype(np.int32)
    roles = np.full(prompt + response, ROLES.index("user"), dtype=np.uint8)
    roles[prompt:] = ASSISTANT
    return TokenRow(f"row {seed}", ids, roles)


ROWS = [row(3, 5, 1), row(7, 2, 2), row(1, 9, 3), row(4, 4, 4), row(2, 1, 5)]


def model(batch: Batch) -> np.ndarray:
    """Logits that depend on the token and its position within its row alone, as an isolating model's do."""
    table = np.random.default_rng(0).normal(size=(VOCABULARY, VOCABULARY))
    return table[batch.ids] + 0.1 * batch.positions[..., None]


def by_hand(spec: LossSpec) -> float:
    """The definition, row by row in plain Python."""
    table = np.random.default_rng(0).normal(size=(VOCABULARY, VOCABULARY))
    sums, weight_sums, responses = [], [], 0
    for item in ROWS:
        weighted = weight_sum = 0.0
        for position in range(len(item) - 1):
            logits = table[item.ids[position]] + 0.1 * position
            nll = math.log(sum(math.exp(value) for value in logits)) - logits[item.ids[position + 1]]
            is_response = item.roles[position + 1] == ASSISTANT
            weight = 1.0 if is_response else spec.prompt_weight
            weighted, weight_sum, responses = weighted + weight * nll, weight_sum + weight, responses + is_response
        sums.append(weighted)
        weight_sums.append(weight_sum)
    return {
        "weight_sum": sum(sums) / sum(weight_sums),
        "response_tokens": sum(sums) / responses,
        "per_example": sum(a / b for a, b in zip(sums, weight_sums, strict=True)) / len(ROWS),
    }[spec.denominator]


LAYOUTS = {
    "one row a sequence": [[[r] for r in ROWS]],
    "packed": [[[ROWS[0], ROWS[1]], [ROWS[2], ROWS[4]], [ROWS[3]]]],
    "packed otherwise": [[[ROWS[4], ROWS[3], ROWS[0]], [ROWS[1], ROWS[2]]]],
    "two ragged micro-batches": [[[ROWS[0], ROWS[1]], [ROWS[2]]], [[ROWS[3], ROWS[4]]]],
    "one micro-batch a row": [[[r]] for r in ROWS],
    "a shard of padding alone": [[[ROWS[0], ROWS[1]], [ROWS[2], ROWS[3]]], [[ROWS[4]], []]],
}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.denominator}-{spec.prompt_weight}")
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("length", [25, 40])
def test_the_layout_of_a_step_changes_nothing(spec, layout, length):
    batches = [collate(sequences, length) for sequences in layout]
    loss = reference_loss([model(batch) for batch in batches], batches, spec)
    # Coefficients are float32: their rounding is all that may differ.
    assert loss.objective == pytest.approx(by_hand(spec), rel=1e-6)
    assert (loss.response_tokens, loss.prompt_tokens) == (5 + 2 + 9 + 4 + 1, 2 + 6 + 0 + 3 + 1)


def test_response_and_prompt_nll_do_not_depend_on_the_objective():
    batch = collate(LAYOUTS["packed"][0], 25)
    found = {
        (t.response_mean, t.prompt_mean) for spec in SPECS for t in [reference_loss([model(batch)], [batch], spec)]
    }
    assert len(found) == 1


def test_prompt_weight_zero_gives_the_response_nll_and_one_the_mean_over_all():
    batch = collate(LAYOUTS["packed"][0], 25)
    masked = reference_loss([model(batch)], [batch], LossSpec(prompt_weight=0.0, denominator="weight_sum"))
    assert masked.objective == pytest.approx(masked.response_mean, rel=1e-6)
    whole = reference_loss([model(batch)], [batch], LossSpec(prompt_weight=1.0, denominator="weight_sum"))
    both = (whole.response_nll + whole.prompt_nll) / (whole.response_tokens + whole.prompt_tokens)
    assert whole.objective == pytest.approx(both, rel=1e-6)


def test_a_uniform_model_loses_the_logarithm_of_the_vocabulary():
    batch = collate([[ROWS[0]]], 8)
    nll = reference_nll(np.zeros((1, 8, VOCABULARY)), batch.targets)
    assert nll == pytest.approx(math.log(VOCABULARY))
    # Logits beyond float32's exponent change nothing.
    assert reference_nll(np.full((1, 8, VOCABULARY), 1e4), batch.targets) == pytest.approx(math.log(VOCABULARY))


def test_padding_has_no_coefficient_and_no_row_looks_into_the_next():
    batch = collate(LAYOUTS["packed"][0], 25)
    part = coefficients(batch, LossSpec(prompt_weight=1.0, denominator="weight_sum"))
    ends = [7, 16, 9, 12, 7]
    assert part[0, ends[0]] == 0  # the last token of the first row predicts nothing
    assert part[0, ends[1] :].sum() == 0
    assert part.sum() == pytest.approx(1.0, rel=1e-6)
    nll = np.full(batch.ids.shape, 1e9)
    nll[batch.kinds > 0] = 1.0
    assert totals(nll, part, batch).objective == pytest.approx(1.0, rel=1e-6)


def test_every_role_has_a_weight():
    assert set(role_weights(SPECS[0])) == set(ROLES)


@pytest.mark.parametrize("denominator", ["weight_sum", "response_tokens", "per_example"])
def test_nothing_to_learn_is_refused(denominator):
    batch = collate([[row(6, 0, 1)]], 8)
    with pytest.raises(VerievalError, match="no token"):
        coefficients(batch, LossSpec(prompt_weight=0.0, denominator=denominator))


def test_totals_add_up():
    one, two = Totals(1.0, 2.0, 3, 4.0, 5), Totals(0.5, 0.25, 1, 2.0, 7)
    assert one + two == Totals(1.5, 2.25, 4, 6.0, 12)
    assert math.isnan(Totals().response_mean)
    assert math.isnan(Totals().prompt_mean)
