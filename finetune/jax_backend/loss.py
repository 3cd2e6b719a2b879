"""Cross-entropy a chunk of positions at a time, forward and backward at once, as the torch backend's.

With Gemma's 262,144 tokens the float32 logits of one sequence of 3,072 take 3.2 GB, and their gradient as much again.
Here a chunk's logits are made, give their NLL and their gradient, and are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from finetune.jax_backend.attention import exact
from finetune.jax_backend.sharding import constrain


@dataclass(frozen=True)
class Head:
    """How logits are made and cut up.

    Attributes:
        softcap: ``tanh(logits / softcap) * softcap``; None where there is none.
        chunk: positions whose logits exist at one time, over all devices.
        dtype: of the matrix product, ``float32`` or ``bfloat16``; logits and all that follows are float32.
        train: the head's weights have a gradient.
        mesh: that positions and vocabulary are split over.
    """

    softcap: float | None
    chunk: int
    dtype: str
    train: bool
    mesh: Mesh | None = None


def make_logits(hidden: Array, weight: Array, softcap: float | None, dtype: str) -> Array:
    """Logits in float32.

    Args:
        hidden: what the decoder gives after its last norm, shape (sequences, length, width).
        weight: shape (vocabulary, width).
        softcap: see :class:`Head`.
        dtype: the same.
    """
    logits = jnp.einsum(
        "btd,vd->btv",
        hidden.astype(dtype),
        weight.astype(dtype),
        precision=exact(jnp.dtype(dtype)),
        preferred_element_type=jnp.float32,
    )
    return logits if softcap is None else jnp.tanh(logits / softcap) * softcap


def chunked_nll(head: Head, hidden: Array, weight: Array, targets: Array, coefficients: Array) -> tuple[Array, Array]:
    """The objective of a batch, and the NLL of each position.

    Args:
        head: the settings.
        hidden: shape (sequences, length, width).
        weight: shape (vocabulary, width).
        targets: token to come at each position; any where there is none. Shape (sequences, length).
        coefficients: what each NLL is multiplied with, 0 where there is no target; float32, the same shape.

    Returns:
        Sum of coefficient times NLL, float32, with its gradient towards ``hidden`` and (``head.train``) ``weight``; and
        the NLL in nats, float32, shape (sequences, length), without a gradient.
    """
    objective, nll = _nll(head, hidden, weight, targets, coefficients)
    return objective, jax.lax.stop_gradient(nll)


def _chunk_nll(head: Head, hidden: Array, weight: Array, targets: Array) -> Array:
    """NLL of a chunk; each target's logit is summed out, since picking it would gather a vocabulary that is split."""
    logits = make_logits(hidden, weight, head.softcap, head.dtype)
    logits = constrain(logits, head.mesh, ("batch", "length", "vocab"))
    chosen = jnp.arange(logits.shape[-1]) == targets[..., None]
    return jax.nn.logsumexp(logits, axis=-1) - jnp.where(chosen, logits, 0.0).sum(axis=-1)


def _cut(head: Head, array: Array) -> Array:
    """Shape (sequences, length, …) to (chunks, sequences, chunk length, …), the last chunk filled up with zeros."""
    sequences, length = array.shape[:2]
    size = min(length, max(1, head.chunk // sequences))
    padded = jnp.pad(array, ((0, 0), (0, -length % size), *((0, 0),) * (array.ndim - 2)))
    return jnp.moveaxis(padded.reshape(sequences, -1, size, *array.shape[2:]), 1, 0)


def _join(chunks: Array, length: int) -> Array:
    """The reverse of :func:`_cut`."""
    whole = jnp.moveaxis(chunks, 0, 1)
    return whole.reshape(whole.shape[0], -1, *whole.shape[3:])[:, :length]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _nll(head: Head, hidden: Array, weight: Array, targets: Array, coefficients: Array) -> tuple[Array, Array]:
    def step(_: None, chunk: tuple[Array, Array]) -> tuple[None, Array]:
        return None, _chunk_nll(head, chunk[0], weight, chunk[1])

    nll = jax.lax.scan(step, None, (_cut(head, hidden), _cut(head, targets)))[1]
    nll = _join(nll, hidden.shape[1])
    return (nll * coefficients).sum(), nll


def _forward(
    head: Head, hidden: Array, weight: Array, targets: Array, coefficients: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array | None]]:
    def objective(part: Array, matrix: Array, target: Array, coefficient: Array) -> tuple[Array, Array]:
        nll = _chunk_nll(head, part, matrix, target)
        return (nll * coefficient).sum(), nll

    towards = jax.value_and_grad(objective, argnums=(0, 1) if head.train else (0,), has_aux=True)

    def step(total: Array | None, chunk: tuple[Array, Array, Array]) -> tuple[Array | None, tuple[Array, Array]]:
        part, target, coefficient = chunk
        (_, nll), grads = towards(part, weight, target, coefficient)
        total = None if total is None else total + grads[1].astype(jnp.float32)
        return total, (nll, grads[0])

    start = jnp.zeros(weight.shape, jnp.float32) if head.train else None
    chunks: Any = tuple(_cut(head, array) for array in (hidden, targets, coefficients))
    weight_grad, (nll, hidden_grad) = jax.lax.scan(step, start, chunks)
    nll, hidden_grad = (_join(array, hidden.shape[1]) for array in (nll, hidden_grad))
    weight_grad = None if weight_grad is None else weight_grad.astype(weight.dtype)
    return ((nll * coefficients).sum(), nll), (hidden_grad, weight_grad)


def _backward(head: Head, kept: tuple[Array, Array | None], grads: tuple[Array, Array]) -> tuple[Any, ...]:
    hidden_grad, weight_grad = kept
    scale = grads[0]
    scaled = None if weight_grad is None else weight_grad * scale.astype(weight_grad.dtype)
    return hidden_grad * scale.astype(hidden_grad.dtype), scaled, None, None


_nll.defvjp(_forward, _backward)
