"""The one definition of the loss: ``sum(weight * nll) / denominator`` over the whole effective batch.

A token's weight is its role's: 1 for what the assistant says (its end of turn with it), ``prompt_weight`` for the
rest. The denominator is one of

* ``weight_sum``: the sum of the weights;
* ``response_tokens``: the number of response tokens, so that prompt tokens add to the loss without diluting it;
* ``per_example``: every row's own weighted mean, averaged over the rows.

All three are sums over tokens of ``coefficient * nll`` with coefficients that can be worked out before the model runs.
So they are, here, once for both backends and over all rows of the optimizer step: how the step is then cut into
micro-batches, packed, padded or sharded cannot change the loss. A backend only sums.

Whatever the objective, the mean NLL of response tokens and that of prompt tokens are reported as well: they
compare across objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finetune.data.batch import ROLES, Batch, Kind
from finetune.recipe import LossSpec
from verieval.errors import VerievalError

FloatArray = NDArray[np.float64]


def role_weights(spec: LossSpec) -> dict[str, float]:
    """Weight of a token by its role: every one of :data:`finetune.data.batch.ROLES` is named."""
    return {
        "template": spec.prompt_weight,
        "system": spec.prompt_weight,
        "user": spec.prompt_weight,
        "assistant": 1.0,
    }


def weights(batch: Batch, spec: LossSpec) -> FloatArray:
    """Weight of the target at each position, 0 where there is none; the shape of ``batch.targets``."""
    table = np.zeros(len(ROLES) + 1)
    table[1:] = [role_weights(spec)[role] for role in ROLES]
    return np.asarray(table[batch.target_roles], dtype=np.float64)


def coefficients(batch: Batch, spec: LossSpec) -> NDArray[np.float32]:
    """What the NLL of each position is multiplied with, so that the sum over the whole batch is the loss.

    Args:
        batch: all sequences of the optimizer step, of every device and micro-batch.
        spec: the objective.

    Returns:
        The shape of ``batch.targets``; float32, after sums in float64.

    Raises:
        VerievalError: nothing in the batch has a weight, or under ``per_example`` some row has none.
    """
    weight = weights(batch, spec)
    if spec.denominator == "per_example":
        return (weight / _example_totals(batch, weight)).astype(np.float32)
    total = weight.sum() if spec.denominator == "weight_sum" else float((batch.kinds == Kind.RESPONSE).sum())
    if total <= 0:
        raise VerievalError(
            "no token of this batch has a weight, so its loss has no meaning; check the data's responses"
        )
    return (weight / total).astype(np.float32)


def _example_totals(batch: Batch, weight: FloatArray) -> FloatArray:
    """At every position: the weight of its row times the number of rows, 1 where there is no row."""
    examples = batch.examples()
    totals = np.bincount(examples.ravel(), weights=weight.ravel())
    count = int(examples.max(initial=0))
    if count == 0 or np.any(totals[1:] <= 0):
        raise VerievalError(
            "a row has no token with a weight, so its own mean has no meaning; check the data's responses"
        )
    totals = totals * count
    totals[0] = 1.0
    return np.asarray(totals[examples], dtype=np.float64)


@dataclass(frozen=True)
class Totals:
    """Sums that add up over micro-batches and devices.

    Attributes:
        objective: sum of coefficient times NLL: the loss, when all of the batch is in it.
        response_nll, response_tokens, prompt_nll, prompt_tokens: NLL in nats, and counts.
    """

    objective: float = 0.0
    response_nll: float = 0.0
    response_tokens: int = 0
    prompt_nll: float = 0.0
    prompt_tokens: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.objective + other.objective,
            self.response_nll + other.response_nll,
            self.response_tokens + other.response_tokens,
            self.prompt_nll + other.prompt_nll,
            self.prompt_tokens + other.prompt_tokens,
        )

    @property
    def response_mean(self) -> float:
        """Mean NLL of response tokens; NaN where there is none."""
        return self.response_nll / self.response_tokens if self.response_tokens else float("nan")

    @property
    def prompt_mean(self) -> float:
        """Mean NLL of prompt tokens; NaN where there is none."""
        return self.prompt_nll / self.prompt_tokens if self.prompt_tokens else float("nan")


def reference_nll(logits: NDArray[np.floating], targets: NDArray[np.integer]) -> FloatArray:
    """NLL of ``targets`` in float64: what backends are held to.

    Args:
        logits: shape (sequences, length, vocabulary).
        targets: shape (sequences, length).

    Returns:
        Nats, shape (sequences, length).
    """
    values = np.asarray(logits, dtype=np.float64)
    values = values - values.max(axis=-1, keepdims=True)
    picked = np.take_along_axis(values, np.asarray(targets)[..., None], axis=-1)[..., 0]
    return np.asarray(np.log(np.exp(values).sum(axis=-1)) - picked, dtype=np.float64)


def totals(nll: FloatArray, coefficient: NDArray[np.floating], batch: Batch) -> Totals:
    """The sums of a batch whose NLL is known; positions without a target count nowhere."""
    response, prompt = batch.kinds == Kind.RESPONSE, batch.kinds == Kind.PROMPT
    return Totals(
        float((np.where(response | prompt, nll, 0.0) * coefficient).sum()),
        float(nll[response].sum()),
        int(response.sum()),
        float(nll[prompt].sum()),
        int(prompt.sum()),
    )


def reference_loss(logits: Sequence[NDArray[np.floating]], batches: Sequence[Batch], spec: LossSpec) -> Totals:
    """The loss of an optimizer step in NumPy and float64: the definition, without a word about speed.

    Args:
        logits: for each batch, shape (sequences, length, vocabulary).
        batches: parts of the step; coefficients are worked out over all of them together.
        spec: the objective.
    """
    whole = Batch.join(batches)
    parts = np.split(coefficients(whole, spec), np.cumsum([len(batch.ids) for batch in batches])[:-1])
    result = Totals()
    for values, batch, part in zip(logits, batches, parts, strict=True):
        result += totals(reference_nll(values, batch.targets), part, batch)
    return result
