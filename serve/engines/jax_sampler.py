"""Sampling from Gemma 4 in JAX: a prefill and a decoding loop, each one compiled program of fixed shapes.

Rows with the same prompt, the samples of a task, share one prefill. A batch is padded to its size, and its prompts on
the left to a width from :data:`WIDTHS`, so that all rows write the same column. Every layer has a ring of slots for
keys and values: as many as the window on sliding layers, as many as prompt and answer need on global ones. Column
``c`` lies in slot ``c`` modulo the ring's size. The loop ends when every row has.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from finetune.gemma4 import Gemma4Config, LayerShape
from finetune.jax_backend.attention import KeyValue, attend_rows, exact
from finetune.jax_backend.gemma4 import Compute, Gemma4
from serve.engines.decode import COLDEST, Row
from verieval.completion import Sampling
from verieval.errors import VerievalError

# Lengths of prompts and of answers that programs are compiled for; beyond the last one, its multiples.
WIDTHS = (32, 64, 128, 192, 256, 384, 512, 768, 1024)
BLOCK = 256  # queries of a prefill that attend at one time: fewer pairs beyond the diagonal, and scores stay in caches


def width(length: int) -> int:
    """The smallest width that holds so many tokens."""
    step = WIDTHS[-1]
    return next((size for size in WIDTHS if size >= length), -(-length // step) * step)


@dataclass(frozen=True)
class Shape:
    """What a program is compiled for.

    Attributes:
        rows: of the batch.
        prompts: different ones among them, filled up to a power of two.
        prompt: width of the prompts without their last tokens, which the loop begins with.
        answer: most tokens that are drawn.
        greedy: the most probable token is taken.
        filtered: top-k or top-p leave tokens out.
    """

    rows: int
    prompts: int
    prompt: int
    answer: int
    greedy: bool
    filtered: bool


class Knobs(NamedTuple):
    """Numbers of the sampling that need no program of their own: float32, float32, int32 (0: all)."""

    temperature: Any
    top_p: Any
    top_k: Any


class Batch(NamedTuple):
    """Prompts and rows; prompts are without their last tokens, which the loop begins with.

    Attributes:
        ids: of the prompts, each at the end of its line, shape (prompts, width).
        lengths: of the prompts.
        owner: the prompt of each row, shape (rows,).
        last: the token after it, shape (rows,).
        budgets: tokens that a row may draw; 0 for a row that only fills the batch.
        uniforms: shape (answer, rows).
        stop: ids that end a row, shape (stops,).
    """

    ids: Any
    lengths: Any
    owner: Any
    last: Any
    budgets: Any
    uniforms: Any
    stop: Any


class Loop(NamedTuple):
    """What the loop carries.

    Attributes:
        step: tokens drawn so far.
        last: token of each row to be fed next, shape (rows,).
        done: rows that have ended.
        bad: the model's output was not a number.
        drawn: shape (rows, answer).
        cache: see :meth:`finetune.jax_backend.gemma4.Gemma4.decode`.
    """

    step: Array
    last: Array
    done: Array
    bad: Array
    drawn: Array
    cache: Any


def _ring(config: Gemma4Config, shape: LayerShape, room: int) -> int:
    return min(config.window, room) if shape.kind == "sliding_attention" else room


def _slots(ring: int, at: Any) -> Any:
    """The column that each slot holds when ``at`` is the newest; below 0 where it holds none. Shape (ring,)."""
    return at - (at - jnp.arange(ring)) % ring


@dataclass(frozen=True, eq=False)
class _Prefill:
    """Attention of whole prompts, which leaves each layer's rings in the place of its cache.

    Attributes:
        config: of the model.
        segments: 1 where a prompt has a token, shape (prompts, width).
        owner: the prompt of each row, shape (rows,).
        room: columns that prompt and answer need.
    """

    config: Gemma4Config
    segments: Array
    owner: Array
    room: int

    def __call__(self, shape: LayerShape, query: Array, new: KeyValue, cache: Any) -> tuple[Array, KeyValue, Any]:
        """See :class:`finetune.jax_backend.attention.Attend`."""
        window = self.config.window if shape.kind == "sliding_attention" else None
        found = attend_rows(query, *new, self.segments, window, BLOCK)
        if shape.shares:
            return found, new, None
        held = jnp.maximum(_slots(_ring(self.config, shape, self.room), query.shape[1] - 1), 0)
        return found, new, _fold(*(part[self.owner[:, None], held] for part in new))


@dataclass(frozen=True, eq=False)
class _Decode:
    """Attention of one new column against the rings; ``first`` is each row's first column with a token."""

    config: Gemma4Config
    at: Array
    first: Array

    def __call__(self, shape: LayerShape, query: Array, new: KeyValue, cache: Any) -> tuple[Array, KeyValue, Any]:
        """See :class:`finetune.jax_backend.attention.Attend`."""
        if not shape.shares:
            slot = self.at % cache[0].shape[2]
            keys, values = _fold(*new)
            cache = (
                jax.lax.dynamic_update_slice_in_dim(cache[0], keys, slot, axis=2),
                jax.lax.dynamic_update_slice_in_dim(cache[1], values, slot, axis=1),
            )
            new = cache
        held = _slots(new[0].shape[2], self.at)[None]
        seen = held >= self.first[:, None]
        if shape.kind == "sliding_attention":
            seen &= held > self.at - self.config.window
        return _meet(query, *new, seen), new, cache


def _fold(keys: Array, values: Array) -> KeyValue:
    """Rings as products on a CPU read them without a copy: (rows x KV heads, size, slots) and (.., slots, size).

    Args:
        keys: shape (rows, slots, KV heads, size).
        values: the same.
    """
    rows, slots, heads, size = keys.shape
    return (
        keys.transpose(0, 2, 3, 1).reshape(rows * heads, size, slots),
        values.transpose(0, 2, 1, 3).reshape(rows * heads, slots, size),
    )


def _meet(query: Array, keys: Array, values: Array, seen: Array) -> Array:
    """:func:`finetune.jax_backend.attention.attend` for one query a row against rings.

    Args:
        query: shape (rows, 1, heads, size).
        keys: see :func:`_fold`.
        values: see :func:`_fold`.
        seen: shape (rows, slots).
    """
    rows, _, heads, size = query.shape
    grouped = query.reshape(keys.shape[0], -1, size)
    scores = jnp.matmul(grouped, keys, precision=exact(query.dtype), preferred_element_type=jnp.float32)
    scores = scores.reshape(rows, heads, -1)
    shares = jax.nn.softmax(jnp.where(seen[:, None], scores, np.finfo(np.float32).min), axis=-1)
    shares = shares.astype(values.dtype).reshape(keys.shape[0], -1, keys.shape[2])
    return jnp.matmul(shares, values, precision=exact(query.dtype)).reshape(query.shape)


def _draw(logits: Array, uniforms: Array, knobs: Knobs, shape: Shape) -> Array:
    """One token a row: temperature, then top-k, then top-p, as :func:`serve.engines.decode.draw`, in float32."""
    if shape.greedy:
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)
    weights = jax.nn.softmax((logits - logits.max(axis=-1, keepdims=True)) / knobs.temperature, axis=-1)
    order = None
    if shape.filtered:
        order = jnp.argsort(weights, axis=-1, descending=True, stable=True)
        weights = jnp.take_along_axis(weights, order, axis=-1)
        ranks = jnp.arange(weights.shape[-1])
        weights = jnp.where((knobs.top_k > 0) & (ranks >= knobs.top_k), 0.0, weights)
        cumulative = jnp.cumsum(weights, axis=-1)
        beyond = cumulative - weights >= knobs.top_p * cumulative[:, -1:]
        weights = jnp.where((knobs.top_p < 1) & beyond, 0.0, weights)
    cumulative = jnp.cumsum(weights, axis=-1)
    total = cumulative[:, -1:]
    # Rounding must not carry the point onto the end, past the last token.
    point = jnp.minimum(uniforms[:, None] * total, jnp.nextafter(total, jnp.zeros_like(total)))
    index = (cumulative <= point).sum(axis=-1, keepdims=True)
    return (index if order is None else jnp.take_along_axis(order, index, axis=-1))[:, 0].astype(jnp.int32)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _generate(model: Gemma4, config: Gemma4Config, compute: Compute, shape: Shape, batch: Batch, knobs: Knobs) -> Loop:
    """Prefill and loop."""
    room = shape.prompt + shape.answer
    first = shape.prompt - batch.lengths
    positions = jnp.arange(shape.prompt, dtype=jnp.int32)[None] - first[:, None]
    segments = (positions >= 0).astype(jnp.int32)
    positions = jnp.maximum(positions, 0)
    # A place for each layer's rings, whose shapes the prefill decides.
    none = tuple((None,) * len(segment.runs) for segment in config.segments)
    # Of the last layer only keys and values are wanted: the rest of it is not computed.
    _, rings = model.decode(batch.ids, positions, compute, _Prefill(config, segments, batch.owner, room), cache=none)
    first = first[batch.owner]

    def body(loop: Loop) -> Loop:
        at = shape.prompt + loop.step
        where, meet = (at - first)[:, None], _Decode(config, at, first)
        stacked = jax.tree.map(lambda ring, whole: ring.reshape(whole.shape), loop.cache, rings)
        state, cache = model.decode(loop.last[:, None], where, compute, meet, cache=stacked)
        logits = model.project(state, compute)[:, 0]
        token = _draw(logits, batch.uniforms[loop.step], knobs, shape)
        drawn = loop.drawn.at[:, loop.step].set(jnp.where(loop.done, -1, token))
        ended = (token[:, None] == batch.stop[None]).any(axis=-1) | (loop.step + 1 >= batch.budgets)
        bad = loop.bad | (~jnp.isfinite(logits).all(axis=-1) & ~loop.done).any()
        return Loop(loop.step + 1, token, loop.done | ended | bad, bad, drawn, _bare(cache))

    start = Loop(
        jnp.zeros((), jnp.int32), batch.last, batch.budgets <= 0, jnp.zeros((), bool),
        jnp.full((shape.rows, shape.answer), -1, jnp.int32), _bare(rings),
    )  # fmt: skip
    return jax.lax.while_loop(lambda loop: ~loop.done.all(), body, start)._replace(cache=None)


def _bare(cache: Any) -> Any:
    """Rings without the stack's axes where these are 1: with them XLA writes each ring twice, once in each shape."""
    return jax.tree.map(lambda ring: ring.reshape(ring.shape[2:]) if ring.shape[:2] == (1, 1) else ring, cache)


@dataclass(eq=False)
class Sampler:
    """A model that answers prompts in batches of one size.

    Attributes:
        model: with its weights.
        config: of it.
        dtype: of matrix products, ``float32`` or ``bfloat16``.
        rows: of a batch.
    """

    model: Gemma4
    config: Gemma4Config
    dtype: str
    rows: int

    def decode(self, rows: Sequence[Row], sampling: Sampling, stop: frozenset[int]) -> None:
        """Draw tokens for every row until all are finished, see :func:`serve.engines.decode.decode`.

        A row draws the uniform numbers of its own seed, so its text does not depend on the batch, but for rounding.

        Raises:
            VerievalError: the model's output is not a number.
        """
        if len(rows) > self.rows:
            raise ValueError(f"{len(rows)} rows for a batch of {self.rows}")
        batch = _make_batch(rows, self.rows, stop, drawn=sampling.temperature > 0)
        (prompts, prompt), answer = batch.ids.shape, len(batch.uniforms)
        filtered = bool(sampling.top_k) or sampling.top_p < 1
        shape = Shape(self.rows, prompts, prompt, answer, sampling.temperature == 0, filtered)
        top_k = min(sampling.top_k, self.config.vocabulary)
        knobs = Knobs(np.float32(max(sampling.temperature, COLDEST)), np.float32(sampling.top_p), np.int32(top_k))
        found = _generate(self.model, self.config, Compute(self.dtype), shape, batch, knobs)
        if found.bad:
            raise VerievalError("the model's output is not a number: try another dtype (float32), or check its weights")
        for row, tokens in zip(rows, np.asarray(found.drawn).tolist(), strict=False):
            for token in tokens:
                if row.finish:
                    break
                row.take(token, stop)


def _make_batch(rows: Sequence[Row], size: int, stop: frozenset[int], *, drawn: bool) -> Batch:
    """The arrays of a batch of ``size`` rows; with ``drawn``, each row's uniform numbers."""
    places: dict[tuple[int, ...], int] = {}
    owner, last, budgets = (np.zeros(size, np.int32) for _ in range(3))
    uniforms = np.zeros((width(max(row.budget for row in rows)), size), np.float32)
    for index, row in enumerate(rows):
        owner[index] = places.setdefault(tuple(row.prompt[:-1]), len(places))
        last[index], budgets[index] = row.prompt[-1], row.budget
        if drawn:
            stream = random.Random(row.seed)
            uniforms[: row.budget, index] = [stream.random() for _ in range(row.budget)]
    count, columns = min(1 << (len(places) - 1).bit_length(), size), width(max(map(len, places)))
    ids, lengths = np.zeros((count, columns), np.int32), np.zeros(count, np.int32)
    for prompt, index in places.items():
        ids[index, columns - len(prompt) :], lengths[index] = prompt, len(prompt)
    return Batch(ids, lengths, owner, last, budgets, uniforms, np.array(sorted(stop) or [-2], np.int32))
