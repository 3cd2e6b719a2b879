"""Cross-entropy a chunk of positions at a time, forward and backward at once: no logits of a whole sequence ever exist.

With Gemma's 262,144 tokens the float32 logits of one sequence of 3,072 take 3.2 GB, and their gradient as much again.
Here a chunk's logits are made, give their NLL and their gradient, and are dropped.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _ChunkedNll(torch.autograd.Function):
    """See :func:`chunked_nll`."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        coefficients: Tensor,
        softcap: float | None,
        chunk: int,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        matrix = weight.to(dtype)
        supervised = len(coefficients)
        # Sized for supervised positions alone: the others have no gradient.
        hidden_grad = hidden.new_zeros(supervised, hidden.shape[1]) if ctx.needs_input_grad[0] else None
        weight_grad = torch.zeros_like(weight, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        nll = torch.empty(len(hidden), dtype=torch.float32, device=hidden.device)
        for start, stop in _chunks(supervised, len(hidden), chunk):
            part = hidden[start:stop].to(dtype)
            logits = (part @ matrix.T).float()
            if softcap is not None:
                logits.div_(softcap).tanh_().mul_(softcap)
            highest = torch.logsumexp(logits, dim=-1, keepdim=True)
            target = targets[start:stop, None]
            nll[start:stop] = (highest - logits.gather(1, target))[:, 0]
            if start >= supervised or (hidden_grad is None and weight_grad is None):
                continue
            grad = _logits_grad(logits, highest, target, coefficients[start:stop, None], softcap).to(dtype)
            del logits
            if hidden_grad is not None:
                hidden_grad[start:stop] = grad @ matrix
            if weight_grad is not None:
                if dtype == torch.float32:
                    weight_grad.addmm_(grad.T, part)
                else:
                    weight_grad.add_(grad.T @ part)
        ctx.save_for_backward(hidden_grad, weight_grad)
        ctx.positions, ctx.weight_dtype = len(hidden), weight.dtype
        ctx.mark_non_differentiable(nll)
        return (nll[:supervised].double() * coefficients).sum(), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden_grad, weight_grad = ctx.saved_tensors
        if hidden_grad is not None:
            whole = hidden_grad.new_zeros(ctx.positions, hidden_grad.shape[1])
            whole[: len(hidden_grad)] = hidden_grad * grad.to(hidden_grad.dtype)
            hidden_grad = whole
        if weight_grad is not None:
            weight_grad = weight_grad.mul_(grad.to(weight_grad.dtype)).to(ctx.weight_dtype)
        return hidden_grad, weight_grad, None, None, None, None, None


def chunked_nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    coefficients: Tensor,
    *,
    softcap: float | None,
    chunk: int,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """The objective of some positions, and the NLL of each.

    Args:
        hidden: what the decoder gives at these positions, shape (positions, width); the ones with a coefficient first.
        weight: of the output head, shape (vocabulary, width).
        targets: token to come at each position, int64.
        coefficients: of the first positions; the rest has none, and is only read. float64, on the device.
        softcap: ``tanh(logits / softcap) * softcap`` (Gemma's ``final_logit_softcapping``); None where there is none.
        chunk: positions whose logits exist at one time.
        dtype: of the matrix products; logits and all that follows are float32, sums float64.

    Returns:
        Sum of coefficient times NLL, float64, with its gradient towards ``hidden`` and ``weight``; and the NLL in nats,
        float32, without a gradient.
    """
    objective, nll = _ChunkedNll.apply(hidden, weight, targets, coefficients, softcap, chunk, dtype)  # type: ignore[no-untyped-call]
    return objective, nll


def _chunks(supervised: int, positions: int, chunk: int) -> list[tuple[int, int]]:
    """Ranges of at most ``chunk`` positions, none of them across the end of the supervised ones."""
    return [
        (start, min(start + chunk, stop))
        for first, stop in ((0, supervised), (supervised, positions))
        for start in range(first, stop, chunk)
    ]


def _logits_grad(logits: Tensor, log_sum: Tensor, target: Tensor, coefficient: Tensor, softcap: float | None) -> Tensor:
    """Gradient of ``coefficient * nll`` towards the logits before the softcap; ``logits`` (capped) is used up."""
    slope = None if softcap is None else (logits / softcap).square_().neg_().add_(1.0)
    grad = logits.sub_(log_sum).exp_()
    grad.scatter_add_(1, target, torch.full_like(target, -1.0, dtype=grad.dtype))
    grad.mul_(coefficient.to(grad.dtype))
    return grad if slope is None else grad.mul_(slope)
