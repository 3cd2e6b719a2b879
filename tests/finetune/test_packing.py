"""No row is lost or split, sequences are full, and the order hangs on the seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finetune.data.batch import ASSISTANT, TokenRow, collate
from finetune.data.packing import pack, plan_epoch
from finetune.plan.lengths import draw_lengths
from verieval.errors import VerievalError

CAP = 3072


def test_the_synthetic_lengths_are_codev_s():
    lengths = draw_lengths(100_000)
    assert np.mean(lengths) == pytest.approx(922, rel=0.02)
    assert np.percentile(lengths, 99) == pytest.approx(2553, rel=0.05)


@pytest.mark.parametrize("rows", [500, 10_000])
def test_sequences_are_full(rows):
    lengths = draw_lengths(rows)
    plan = plan_epoch(lengths, capacity=CAP, batch=8, seed=0, epoch=0)
    assert plan.utilisation(lengths) >= 0.95
    alone = plan_epoch(lengths, capacity=CAP, batch=8, seed=0, epoch=0, packing=False)
    assert alone.utilisation(lengths) == pytest.approx(np.mean(lengths) / CAP)


@given(st.lists(st.integers(1, 50), max_size=200), st.integers(50, 120))
def test_every_row_once_and_within_the_sequence(lengths, capacity):
    sequences = pack(lengths, capacity)
    assert sorted(index for sequence in sequences for index in sequence) == list(range(len(lengths)))
    assert all(0 < sum(lengths[index] for index in sequence) <= capacity for sequence in sequences)
    # Two half-empty sequences would have been one: more than half is used (but for the last one).
    assert len(sequences) <= 2 * sum(lengths) / capacity + 1


@pytest.mark.parametrize("packing", [True, False])
def test_an_epoch_has_every_row_once(packing):
    lengths = draw_lengths(9_000)
    plan = plan_epoch(lengths, capacity=CAP, batch=7, seed=3, epoch=1, packing=packing)
    assert sorted(row for step in plan.steps for sequence in step for row in sequence) == list(range(9_000))
    assert {len(step) for step in plan.steps[:-1]} == {7}
    assert 1 <= len(plan.steps[-1]) <= 7
    if not packing:
        assert {len(sequence) for step in plan.steps for sequence in step} == {1}


def test_the_order_hangs_on_seed_and_epoch():
    lengths = draw_lengths(300)
    plans = [plan_epoch(lengths, capacity=CAP, batch=4, seed=s, epoch=e) for s, e in [(0, 0), (0, 0), (0, 1), (1, 0)]]
    assert plans[0] == plans[1]
    assert len({plan.steps for plan in plans}) == 3


def test_a_row_too_long_is_refused():
    with pytest.raises(VerievalError, match="3073 tokens does not fit into a sequence of 3072"):
        pack([5, 3073], CAP)


def test_collate_restarts_positions_and_numbers_the_rows():
    rows = [TokenRow(f"r{n}", np.arange(n, dtype=np.int32) + 10 * n, np.full(n, ASSISTANT, np.uint8)) for n in (3, 2)]
    batch = collate([rows, []], 7, pad=99)
    assert batch.ids.tolist() == [[30, 31, 32, 20, 21, 99, 99], [99] * 7]
    assert batch.positions.tolist() == [[0, 1, 2, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5, 6]]
    assert batch.segments.tolist() == [[1, 1, 1, 2, 2, 0, 0], [0] * 7]
    assert batch.targets.tolist() == [[31, 32, 0, 21, 0, 0, 0], [0] * 7]
    assert (batch.target_roles[0] > 0).tolist() == [True, True, False, True, False, False, False]
    assert batch.examples().tolist() == [[1, 1, 1, 2, 2, 0, 0], [0] * 7]
    assert batch.tokens == 5
