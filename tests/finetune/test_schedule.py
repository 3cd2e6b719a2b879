"""The schedule against transformers' own and against its closed form."""

from __future__ import annotations

import itertools
import math

import pytest

from finetune.recipe import OptimSpec
from finetune.schedule import learning_rate

BASE = {
    "name": "adamw", "learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0,
    "clip_norm": 1.0,
}  # fmt: skip


def spec(**changes):
    return OptimSpec(**{**BASE, "schedule": "cosine", "warmup_steps": 10, "final_fraction": 0.0, **changes})


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_after_the_warm_up_it_is_transformers_schedule(schedule):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-4)
    theirs = transformers.get_scheduler(schedule, optimizer, num_warmup_steps=10, num_training_steps=100)
    for step in range(100):
        if step >= 10:
            assert learning_rate(step, 100, spec(schedule=schedule)) == pytest.approx(theirs.get_last_lr()[0], rel=1e-9)
        optimizer.step()
        theirs.step()


def test_the_warm_up_rises_in_equal_steps_and_never_starts_at_nothing():
    rates = [learning_rate(step, 100, spec()) for step in range(11)]
    assert rates[0] > 0
    assert rates[10] == 1e-4
    assert [b - a for a, b in itertools.pairwise(rates)] == pytest.approx([1e-4 / 11] * 10)


def test_final_fraction_and_constant():
    assert learning_rate(99, 100, spec(schedule="constant")) == 1e-4
    last = learning_rate(99, 100, spec(final_fraction=0.1))
    assert last == pytest.approx(1e-4 * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * 89 / 90))))
    assert learning_rate(0, 1, spec(warmup_steps=0)) == 1e-4
