"""Any step of a run is found from its number alone, and an epoch has every row once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from finetune.data.packing import plan_epoch
from finetune.steps import Steps, heldout_batch, micro_batches, step_seed
from tests.finetune.torch_backend.cases import ROWS, recipe
from verieval.errors import VerievalError

TEN_EPOCHS = {"train": {"steps": 0, "epochs": 10, "batch": 2, "micro_batch": 1}}


def spec(changes=None):
    return recipe(Path("model"), changes)


def test_steps_in_any_order_are_the_same():
    one, two = (Steps(ROWS, spec(TEN_EPOCHS), pad=7) for _ in range(2))
    forward = [one.batch(step).ids for step in range(one.total)]
    backward = [two.batch(step).ids for step in reversed(range(two.total))][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(forward, backward, strict=True))
    assert all(ids.shape == (2, 96) for ids in forward)


def test_epochs_follow_each_other_as_they_are_planned():
    steps = Steps(ROWS, spec(TEN_EPOCHS), pad=0)
    lengths = [len(row) for row in ROWS]
    plans = [plan_epoch(lengths, capacity=96, batch=2, seed=0, epoch=epoch) for epoch in range(10)]
    expected = [[[ROWS[row].name for row in sequence] for sequence in step] for plan in plans for step in plan.steps]
    assert [steps.names(step) for step in range(steps.total)] == expected


def test_steps_go_on_through_epochs():
    steps = Steps(ROWS, spec({"train": {"steps": 50, "batch": 2, "micro_batch": 1}}), pad=0)
    assert steps.total == 50
    alone = Steps(ROWS, spec({"train": {"steps": 50, "batch": 2, "micro_batch": 1}}), pad=0)
    assert np.array_equal(alone.batch(49).ids, [steps.batch(step) for step in range(50)][49].ids)


def test_a_ragged_step_is_filled_with_empty_sequences():
    steps = Steps(ROWS[:1], spec({"train": {"steps": 0, "epochs": 1, "batch": 4}}), pad=9)
    batch = steps.batch(0)
    assert batch.ids.shape == (4, 96)
    assert (batch.segments[1:] == 0).all()
    assert (batch.ids[1:] == 9).all()
    parts = micro_batches(batch, steps.recipe.loss, 2)
    assert [part.coefficient.shape for part in parts] == [(2, 96), (2, 96)]
    assert sum(part.coefficient.sum() for part in parts) == pytest.approx(1.0, rel=1e-6)


def test_no_rows():
    with pytest.raises(VerievalError, match="no row is left"):
        Steps([], spec(), pad=0)


@pytest.mark.parametrize(("fsdp", "sequences"), [(1, 4), (2, 4)])
def test_held_out_rows_are_all_there(fsdp, sequences):
    batch = heldout_batch(ROWS[:6], spec({"parallel": {"fsdp": fsdp}}), pad=0)
    assert len(batch) == sequences
    assert batch.tokens == sum(len(row) for row in ROWS[:6])
    assert heldout_batch([], spec(), pad=0) is None


def test_seeds_of_steps_differ():
    assert step_seed(0, 1) == step_seed(0, 1)
    assert len({step_seed(seed, step) for seed in range(20) for step in range(50)}) == 1000
