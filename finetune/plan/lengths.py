"""How long rows are, and what padding them costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finetune.data.packing import plan_epoch
from finetune.recipe import Recipe
from verieval.errors import VerievalError

# CodeV-R1's supervised rows: mean 922 tokens, 99th percentile 2553, none above 3072 (arXiv 2605.25645). A gamma
# distribution has that mean and percentile at this shape.
MEAN, SHAPE, LEAST, MOST = 922.0, 2.68, 32, 3072
ROWS = 10_000
_DRAWS = 100


@dataclass(frozen=True)
class Filling:
    """What a step's positions hold.

    Attributes:
        used: share of the positions that hold a token.
        steps: optimizer steps of one epoch.
    """

    used: float
    steps: int


def draw_lengths(count: int = ROWS, *, most: int = MOST, seed: int = 0) -> list[int]:
    """Lengths of so many rows like CodeV-R1's, none longer than ``most``.

    Raises:
        VerievalError: next to none are that short.
    """
    source = np.random.default_rng(seed)
    kept: list[int] = []
    for _ in range(_DRAWS):
        lengths = source.gamma(SHAPE, MEAN / SHAPE, size=4 * count)
        kept += np.rint(lengths[(lengths >= LEAST) & (lengths <= min(MOST, most))]).astype(int).tolist()
        if len(kept) >= count:
            return kept[:count]
    raise VerievalError(f"next to no row like CodeV-R1's has {most} tokens or less; raise train.sequence_length")


def fill(lengths: Sequence[int], recipe: Recipe, *, packing: bool) -> Filling:
    """The first epoch of a recipe over rows of these lengths, packed or a sequence each."""
    plan = plan_epoch(
        lengths, capacity=recipe.train.sequence_length, batch=recipe.train.batch, seed=recipe.data.seed, epoch=0,
        packing=packing,
    )  # fmt: skip
    return Filling(plan.utilisation(lengths), len(plan.steps))
