"""What a training backend does; torch and JAX implement it, and the loop in :mod:`finetune.train` knows no more.

A backend executes numbers that were worked out before: batches with their coefficients (:mod:`finetune.loss`), learning
rates (:mod:`finetune.schedule`), the seed of each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from finetune.data.batch import Batch
from finetune.loss import Totals


@dataclass(frozen=True, eq=False)
class Micro:
    """Sequences that are computed at once, each position's NLL with its coefficient.

    Attributes:
        batch: shape (sequences, length).
        coefficient: the same shape, float32; see :func:`finetune.loss.coefficients`.
    """

    batch: Batch
    coefficient: NDArray[np.float32]


@dataclass(frozen=True)
class StepResult:
    """What an optimizer step tells.

    Attributes:
        totals: the sums over the whole step, all devices: ``totals.objective`` is the loss.
        grad_norm: global norm of the gradients before clipping.
    """

    totals: Totals
    grad_norm: float


class Backend(Protocol):
    """A model in training, with its optimizer.

    Attributes:
        rank: of this process; 0 is the one that writes what all share.
        world: number of processes.
        trainable: number of weights that are trained.
        total: number of all weights.
        notes: sentences for the user, on what was found in the model.
    """

    rank: int
    world: int
    trainable: int
    total: int
    notes: tuple[str, ...]

    def step(self, micros: Sequence[Micro], *, learning_rate: float, seed: int) -> StepResult:
        """One optimizer step over all micro-batches of the step; each process is given all and computes its own.

        Their number is a multiple of ``world``.

        Raises:
            FloatingPointError: the loss or a gradient is not finite; weights are as before the step.
        """
        ...

    def evaluate(self, micros: Sequence[Micro]) -> Totals:
        """The sums over held-out batches, dropout off, nothing changed."""
        ...

    def agree(self, value: bool) -> bool:
        """Whether any process says so; all wait for each other here."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that :meth:`restore` needs into an existing, empty folder."""
        ...

    def restore(self, folder: Path) -> None:
        """Go back to what :meth:`save` wrote; the next step is bit for bit the one that followed there."""
        ...

    def export(self, folder: Path) -> dict[str, Any]:
        """Write transformers' weights to ``folder/model``, and with LoRA the PEFT adapter to ``folder/adapter``.

        Returns:
            What ``training.json`` says of it: names of the files, dtype.
        """
        ...
