"""Attention of packed rows, row by row: on a CPU, where a masked kernel works through all that the mask throws away.

A sequence of 3,072 tokens with rows of 922 has some 70 % of its pairs of positions across rows, and half of the rest
after the query. torch's CPU kernel computes them and masks; here each row is a causal attention of its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from finetune.torch_backend.model import Learner

NAME = "verieval_rows"
# Two kernels round differently; a wrong mask changes values by their own size.
_ROUNDING = {torch.float32: 1e-3, torch.bfloat16: 5e-2}


class NotApplicable(Exception):
    """This model gives its attention what is not understood here."""


def row_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    position_ids: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Causal attention within rows, as transformers' attention interface asks for it.

    Args:
        module: the attention layer.
        query: shape (sequences, heads, length, size).
        key: the same, with as many heads or fewer.
        value: the same as ``key``.
        attention_mask: must be None.
        scaling: of the products; None divides by the root of the size.
        dropout: of attention weights.
        sliding_window: a position sees so many, itself with them; None sees all before it.
        position_ids: shape (sequences, length) or (1, length); 0 begins a row.

    Returns:
        Shape (sequences, length, heads, size), and None in the place of weights.

    Raises:
        NotApplicable: there is a mask, or there are no positions.
    """
    if attention_mask is not None or position_ids is None or position_ids.ndim != 2:
        raise NotApplicable
    length = query.shape[2]
    outputs = []
    for index in range(len(query)):
        starts = (position_ids[min(index, len(position_ids) - 1)] == 0).nonzero()[:, 0].tolist()
        rows = []
        for start, stop in zip(starts, [*starts[1:], length], strict=True):
            mask = None
            if sliding_window is not None and stop - start > sliding_window:
                mask = _window(stop - start, sliding_window, query.device)
            part = slice(start, stop)
            rows.append(
                scaled_dot_product_attention(
                    query[index : index + 1, :, part],
                    key[index : index + 1, :, part],
                    value[index : index + 1, :, part],
                    attn_mask=mask,
                    dropout_p=dropout,
                    is_causal=mask is None,
                    scale=scaling,
                    enable_gqa=query.shape[1] != key.shape[1],
                )
            )
        outputs.append(torch.cat(rows, dim=2))
    return torch.cat(outputs).transpose(1, 2).contiguous(), None


def _window(size: int, window: int, device: torch.device) -> Tensor:
    """Causal mask of a row in which a position sees ``window`` positions; shape (size, size)."""
    position = torch.arange(size, device=device)
    distance = position[:, None] - position[None]
    return (distance >= 0) & (distance < window)


def use_row_attention(learner: Learner, *, length: int, vocabulary: int) -> bool:
    """Let the decoder attend row by row, where that gives what masked attention gives; say whether it does.

    It is tried on the model itself, at the length of training: architectures differ in what they mask and scale.
    """
    from transformers import AttentionInterface

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (1, length), generator=generator)
    first = length - length // 3  # longer than any window that matters, since no row is longer than a sequence
    positions = torch.cat([torch.arange(first), torch.arange(length - first)])[None]
    AttentionInterface.register(NAME, row_attention)
    config: Any = learner.decoder.config
    learner.eval()
    with torch.no_grad():
        masked = learner(ids, positions)
        try:
            config._attn_implementation = NAME
            found = learner(ids, positions)
        except NotApplicable:
            config._attn_implementation = "sdpa"
            return False
    largest = float(masked.abs().max())
    same = float((found - masked).abs().max()) <= _ROUNDING[learner.dtype] * largest
    if not same:
        config._attn_implementation = "sdpa"
    return same
