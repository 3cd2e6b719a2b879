"""Rotary positions and attention, for sequences of several rows, and as a sampler replaces it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from finetune.gemma4 import LayerShape, Rope

KeyValue = tuple[Array, Array]


class Attend(Protocol):
    """How queries meet keys: the part of a layer that differs between training and sampling."""

    def __call__(self, shape: LayerShape, query: Array, new: KeyValue, cache: Any) -> tuple[Array, KeyValue, Any]:
        """Attend, and say what layers that share keys and values will see.

        Args:
            shape: of the layer; where it shares, there is no cache.
            query: shape (sequences, length, heads, size), rotated, to be scaled by nothing.
            new: keys (rotated) and values of these positions, shape (sequences, length, KV heads, size); where the
                layer shares, what its source returned.
            cache: of this layer; None where there is none.

        Returns:
            The output in the query's shape; keys and values as sharing layers get them; the cache for the next call.
        """
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Causal attention within the rows of packed sequences.

    Attributes:
        segments: number of the row of each position, shape (sequences, length); see :class:`finetune.data.batch.Batch`.
        window: positions that a sliding layer sees, its own among them.
        block: queries that attend at one time; 0 is all. A block of a sliding layer meets only the keys in reach, which
            saves most of the work where sequences are much longer than the window.
    """

    segments: Array
    window: int
    block: int = 0

    def __call__(self, shape: LayerShape, query: Array, new: KeyValue, cache: Any) -> tuple[Array, KeyValue, Any]:
        """See :class:`Attend`."""
        window = self.window if shape.kind == "sliding_attention" else None
        return attend_rows(query, *new, self.segments, window, self.block), new, cache


def attend_rows(query: Array, key: Array, value: Array, segments: Array, window: int | None, block: int = 0) -> Array:
    """Causal attention that no row's border is crossed by.

    Args:
        query: shape (sequences, length, heads, size).
        key: shape (sequences, length, KV heads, size).
        value: the same as ``key``.
        segments: shape (sequences, length).
        window: positions that a position sees, its own among them; None sees all before it.
        block: see :class:`Rows`.

    Returns:
        The query's shape and dtype.
    """
    length = query.shape[1]
    if not block or block >= length:
        return _attend(query, key, value, segments, segments, 0, 0, window)
    # Unrolled, since each block meets another number of keys; a block is recomputed when its gradient is asked for.
    part = jax.checkpoint(_attend, static_argnums=(5, 6, 7))
    outputs = []
    for start in range(0, length, block):
        stop = min(start + block, length)
        first = 0 if window is None else max(0, start - window + 1)
        keys = slice(first, stop)
        outputs.append(
            part(
                query[:, start:stop], key[:, keys], value[:, keys], segments[:, start:stop], segments[:, keys],
                start, first, window,
            )
        )  # fmt: skip
    return jnp.concatenate(outputs, axis=1)


def _attend(
    query: Array,
    key: Array,
    value: Array,
    query_segments: Array,
    key_segments: Array,
    start: int,
    first: int,
    window: int | None,
) -> Array:
    """Queries from position ``start`` against keys from position ``first``."""
    distance = (start + jnp.arange(query.shape[1]))[:, None] - (first + jnp.arange(key.shape[1]))[None]
    seen = distance >= 0 if window is None else (distance >= 0) & (distance < window)
    mask = seen[None] & (query_segments[:, :, None] == key_segments[:, None, :])
    return attend(query, key, value, mask)


def attend(query: Array, key: Array, value: Array, mask: Array) -> Array:
    """Softmax attention with grouped heads, scores in float32 and not scaled, as Gemma 4 has it.

    Args:
        query: shape (sequences, queries, heads, size).
        key: shape (sequences, keys, KV heads, size).
        value: the same as ``key``.
        mask: True where a query sees a key, shape (sequences or 1, queries, keys); each query must see one.

    Returns:
        The query's shape and dtype.
    """
    sequences, queries, heads, size = query.shape
    grouped = query.reshape(sequences, queries, key.shape[2], heads // key.shape[2], size)
    precision = exact(query.dtype)
    # Heads of a group stay beside their query, or scores and shares would be copied into another order.
    scores = jnp.einsum("btkgh,bskh->bktgs", grouped, key, precision=precision, preferred_element_type=jnp.float32)
    scores = jnp.where(mask[:, None, :, None], scores, jnp.finfo(jnp.float32).min)
    shares = jax.nn.softmax(scores, axis=-1).astype(value.dtype)
    found = jnp.einsum("bktgs,bskh->btkgh", shares, value, precision=precision)
    return found.reshape(query.shape)


def exact(dtype: Any) -> jax.lax.Precision | None:
    """Products of float32 are computed as such on every device; a TPU would otherwise round their factors."""
    return jax.lax.Precision.HIGHEST if dtype == jnp.float32 else None


def frequencies(rope: Rope, head_dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Radians a position of each pair of dimensions, shape (head_dim / 2,); 0 for those that are not rotated."""
    rotated = int(rope.share * head_dim // 2)
    values = np.zeros(head_dim // 2)
    values[:rotated] = 1.0 / rope.theta ** (np.arange(0, 2 * rotated, 2) / head_dim)
    return values.astype(np.float32)


def angles(positions: Array, rope: Rope, head_dim: int) -> tuple[Array, Array]:
    """Cosine and sine for :func:`rotate`, float32, shape (sequences, length, head_dim / 2)."""
    angle = positions[..., None].astype(jnp.float32) * frequencies(rope, head_dim)
    return jnp.cos(angle), jnp.sin(angle)


def rotate(values: Array, cosine: Array, sine: Array) -> Array:
    """Rotate the first half of each head against its second half, in float32.

    Args:
        values: shape (sequences, length, heads, size).
        cosine: from :func:`angles`.
        sine: the same.
    """
    first, second = jnp.split(values.astype(jnp.float32), 2, axis=-1)
    cosine, sine = cosine[:, :, None], sine[:, :, None]
    turned = jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return turned.astype(values.dtype)
