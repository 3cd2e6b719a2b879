"""The decoding loop: a batch of prompts to tokens, each row with a random stream of its own.

``transformers.generate`` draws all rows of a batch from one global generator, so that a row's text depends on its
neighbours. Here a row draws one uniform number a step from Python's Mersenne Twister (the same on every platform and
device) and takes the token at that point of its own cumulative distribution.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verieval.completion import FinishReason, Sampling
from verieval.errors import VerievalError

if TYPE_CHECKING:
    import torch

COLDEST = 2.0**-126  # float32's least normal number: a lower temperature would be 0 in it


@dataclass
class Row:
    """One prompt and what has been drawn for it.

    Attributes:
        prompt: token ids.
        seed: of the row's own random stream.
        budget: the most tokens to draw, at least 1.
        tokens: drawn so far, without the token that stopped it.
        drawn: number of tokens drawn, with the token that stopped it (as servers count).
        finish: empty while the row is unfinished.
    """

    prompt: Sequence[int]
    seed: int
    budget: int
    tokens: list[int] = field(default_factory=list)
    drawn: int = 0
    finish: FinishReason = ""

    def take(self, token: int, stop: frozenset[int]) -> None:
        """Add a token, and finish at a stop token or at the end of the budget."""
        self.drawn += 1
        if token in stop:
            self.finish = "stop"
            return
        self.tokens.append(token)
        if self.drawn >= self.budget:
            self.finish = "length"


def draw(logits: torch.Tensor, uniforms: Sequence[float], sampling: Sampling) -> torch.Tensor:
    """Draw one token a row.

    Temperature, then top-k, then top-p, each on the distribution that the one before left (the order of transformers).
    Top-p keeps the smallest set of most probable tokens whose probability reaches it; equal probabilities are ordered
    by token id. The softmax is float32 and the cumulative sum float64, whatever the model's dtype.

    Args:
        logits: shape (rows, vocabulary).
        uniforms: one number in [0, 1) a row; unused when the temperature is 0.
        sampling: temperature, top-k and top-p.

    Returns:
        Token ids, shape (rows,).
    """
    import torch

    if sampling.temperature == 0:
        return logits.argmax(dim=-1)
    logits = logits.float()
    # The maximum goes first, so that a tiny temperature ends in a one-hot distribution and not in inf - inf.
    weights = torch.softmax((logits - logits.amax(dim=-1, keepdim=True)) / max(sampling.temperature, COLDEST), dim=-1)
    order = None
    if sampling.top_k or sampling.top_p < 1:
        weights, order = torch.sort(weights, dim=-1, descending=True, stable=True)
        if sampling.top_k:
            weights[:, sampling.top_k :] = 0
    cumulative = weights.double().cumsum(dim=-1)
    if sampling.top_p < 1:
        before = cumulative - weights.double()
        weights = weights.masked_fill(before >= sampling.top_p * cumulative[:, -1:], 0)
        cumulative = weights.double().cumsum(dim=-1)
    total = cumulative[:, -1:]
    point = torch.tensor(uniforms, dtype=torch.float64, device=logits.device)[:, None] * total
    # Rounding must not carry the point onto the end, past the last token.
    point = torch.minimum(point, torch.nextafter(total, torch.zeros_like(total)))
    index = torch.searchsorted(cumulative, point, right=True)
    return (index if order is None else order.gather(-1, index))[:, 0]


def decode(model: Any, rows: Sequence[Row], sampling: Sampling, stop: frozenset[int], pad: int) -> None:
    """Draw tokens for every row until all are finished.

    Prompts are padded on the left. When half of the rows are finished they leave the batch, so a long answer does not
    carry its short neighbours along.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        rows: completed in place.
        sampling: temperature, top-k and top-p.
        stop: ids that end a row.
        pad: any id; it is masked.

    Raises:
        VerievalError: the model's output is not a number.
    """
    import torch

    with torch.inference_mode():
        _decode(model, list(rows), sampling, stop, pad)


def _decode(model: Any, active: list[Row], sampling: Sampling, stop: frozenset[int], pad: int) -> None:
    import torch

    width = max(len(row.prompt) for row in active)
    device = model.device
    padded = [[pad] * (width - len(row.prompt)) + list(row.prompt) for row in active]
    inputs = torch.tensor(padded, device=device)
    mask = torch.ones(len(active), width + max(row.budget for row in active), dtype=torch.long, device=device)
    for index, row in enumerate(active):
        mask[index, : width - len(row.prompt)] = 0
    positions = (mask[:, :width].cumsum(dim=-1) - 1).clamp(min=0)
    streams = [random.Random(row.seed) for row in active]
    options = {"logits_to_keep": 1} if _keeps_last_logits(model) else {}
    cache = None
    while True:
        output = model(
            input_ids=inputs,
            attention_mask=mask[:, :width],
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            **options,
        )
        cache = output.past_key_values
        tokens = _next_tokens(output.logits[:, -1], streams, sampling)
        for row, token in zip(active, tokens.tolist(), strict=True):
            if not row.finish:
                row.take(token, stop)
        unfinished = [index for index, row in enumerate(active) if not row.finish]
        if not unfinished:
            return
        width += 1
        inputs, positions = tokens[:, None], positions[:, -1:] + 1
        if 2 * len(unfinished) <= len(active) and _can_select(cache):
            keep = torch.tensor(unfinished, device=device)
            cache.batch_select_indices(keep)
            inputs, positions, mask = inputs[keep], positions[keep], mask[keep]
            active, streams = [active[index] for index in unfinished], [streams[index] for index in unfinished]


def _next_tokens(logits: torch.Tensor, streams: Sequence[random.Random], sampling: Sampling) -> torch.Tensor:
    if bool(logits.isnan().any()):
        raise VerievalError("the model's output is not a number: try another dtype (float32), or check its weights")
    # MPS has no float64.
    where = "cpu" if logits.device.type == "mps" else logits.device
    return draw(logits.to(where), [stream.random() for stream in streams], sampling).to(logits.device)


def _keeps_last_logits(model: Any) -> bool:
    """The model can compute the last position's logits alone: of a long prompt, all of them would not fit."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "logits_to_keep" in inspect.signature(inner.forward).parameters


def _can_select(cache: Any) -> bool:
    layers = getattr(cache, "layers", ())
    return bool(layers) and all(hasattr(layer, "batch_select_indices") for layer in layers)
