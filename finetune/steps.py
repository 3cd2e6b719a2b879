"""Which rows each optimizer step has, found from its number alone, so that a resumed run replays nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finetune.backend import Micro
from finetune.data.batch import Batch, TokenRow, collate
from finetune.data.packing import Plan, plan_epoch
from finetune.loss import coefficients
from finetune.recipe import LossSpec, Recipe
from verieval.errors import VerievalError


class Steps:
    """The optimizer steps of a run.

    Attributes:
        total: number of them.
    """

    def __init__(self, rows: Sequence[TokenRow], recipe: Recipe, *, pad: int) -> None:
        """Lay out the run.

        Args:
            rows: to train on.
            recipe: ``[data]``, ``[train]`` and ``[loss]`` of it.
            pad: id of the padding.

        Raises:
            VerievalError: there are no rows, or one does not fit into a sequence.
        """
        if not rows:
            raise VerievalError("no row is left to train on; check data.sources, data.max_tokens and data.heldout")
        self.rows = rows
        self.recipe = recipe
        self.pad = pad
        self._lengths = [len(row) for row in rows]
        self._starts = [0]  # first step of each epoch that is known
        self._plans: dict[int, Plan] = {}
        epochs = recipe.train.epochs
        for epoch in range(epochs):
            self._plan(epoch)
        self.total = recipe.train.steps or self._starts[epochs]

    def _plan(self, epoch: int) -> Plan:
        """The plan of an epoch; it and the one asked for before are kept."""
        if epoch not in self._plans:
            recipe = self.recipe
            self._plans[epoch] = plan_epoch(
                self._lengths,
                capacity=recipe.train.sequence_length,
                batch=recipe.train.batch,
                seed=recipe.data.seed,
                epoch=epoch,
                packing=recipe.data.packing,
            )
            if epoch == len(self._starts) - 1:
                self._starts.append(self._starts[-1] + len(self._plans[epoch].steps))
            while len(self._plans) > 2:
                del self._plans[next(iter(self._plans))]  # the oldest
        return self._plans[epoch]

    def utilisation(self) -> float:
        """Share of the first epoch's positions that hold a token."""
        return self._plan(0).utilisation(self._lengths)

    def names(self, step: int) -> list[list[str]]:
        """Names of the rows of each sequence of a step."""
        return [[self.rows[row].name for row in sequence] for sequence in self._sequences(step)]

    def batch(self, step: int) -> Batch:
        """All sequences of step ``step`` (counted from 0); a ragged last one is filled with empty sequences."""
        sequences = self._sequences(step)
        rows = [[self.rows[row] for row in sequence] for sequence in sequences]
        rows += [[] for _ in range(self.recipe.train.batch - len(rows))]
        return collate(rows, self.recipe.train.sequence_length, self.pad)

    def _sequences(self, step: int) -> tuple[tuple[int, ...], ...]:
        epoch = 0
        while True:
            if epoch == len(self._starts) - 1:
                self._plan(epoch)
            if step < self._starts[epoch + 1]:
                return self._plan(epoch).steps[step - self._starts[epoch]]
            epoch += 1


def heldout_batch(rows: Sequence[TokenRow], recipe: Recipe, *, pad: int) -> Batch | None:
    """All held-out rows, packed as training is, filled up to micro-batches for every process; None without rows."""
    if not rows:
        return None
    train = recipe.train
    plan = plan_epoch(
        [len(row) for row in rows],
        capacity=train.sequence_length,
        batch=len(rows),
        seed=recipe.data.seed,
        epoch=0,
        packing=recipe.data.packing,
    )
    sequences: list[list[TokenRow]] = [[rows[row] for row in sequence] for step in plan.steps for sequence in step]
    sequences += [[] for _ in range(-len(sequences) % (train.micro_batch * recipe.parallel.fsdp))]
    return collate(sequences, train.sequence_length, pad)


def micro_batches(batch: Batch, loss: LossSpec, size: int) -> list[Micro]:
    """Cut a batch into micro-batches, with coefficients that were worked out over all of it.

    Raises:
        VerievalError: see :func:`finetune.loss.coefficients`.
    """
    whole = coefficients(batch, loss)
    parts = np.split(whole, range(size, len(whole), size))
    return [Micro(part, share) for part, share in zip(batch.split(size), parts, strict=True)]


def step_seed(seed: int, step: int) -> int:
    """The seed of one step's dropout: from the recipe's seed and the step's number alone."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint32)[0])
