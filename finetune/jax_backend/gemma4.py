"""Gemma 4 in flax.nnx: equal layers stacked and scanned, so that compiling costs what the different ones cost.

A model is made of arrays, or of their shapes alone (:func:`finetune.jax_backend.weights.abstract`), by path. What is
called is a pure function of the model: :func:`split` takes it apart for ``jax.jit`` and ``jax.grad``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from finetune.checkpoint.layout import adapters, tensors
from finetune.gemma4 import KINDS, Gemma4Config, Segment
from finetune.jax_backend.attention import Attend, KeyValue, Rows, angles
from finetune.jax_backend.layers import Adapter, Buffer, Call, Compute, Layer, Linear, Norm, Weights
from finetune.jax_backend.loss import Head, chunked_nll, make_logits
from finetune.jax_backend.sharding import constrain
from finetune.recipe import LoraSpec

Shared = dict[str, KeyValue]
Cache = tuple[tuple[Any, ...], ...]


class Embedding(nnx.Module):
    """Rows of a table; looking up the token ``pad`` gives its row no gradient, as torch's ``padding_idx`` has it."""

    def __init__(self, weights: Weights, pad: int | None) -> None:
        self.embedding = nnx.Param(weights["embedding"])
        self.pad = pad

    def __call__(self, ids: Array, scale: float) -> Array:
        """The rows of ``ids``, times ``scale`` in the table's dtype (as transformers rounds it)."""
        table = self.embedding[...]
        rows = table[ids]
        if self.pad is not None:
            padding = (ids == self.pad).reshape(*ids.shape, *(1,) * (rows.ndim - ids.ndim))
            rows = jnp.where(padding, jax.lax.stop_gradient(rows), rows)
        return rows * jnp.asarray(scale, dtype=table.dtype)


class OutputHead(nnx.Module):
    """A head of its own, where it is not the embedding."""

    def __init__(self, weights: Weights) -> None:
        self.weight = nnx.Param(weights["weight"])


class Gemma4(nnx.Module):
    """A dense Gemma 4 text model, with adapters or without.

    Args:
        config: its shape.
        values: of every path of :func:`finetune.checkpoint.layout.tensors`, and with ``lora`` of ``adapters``: arrays,
            or anything that stands for them.
        lora: the recipe's adapters; the base is then frozen.

    Raises:
        ValueError: ``values`` has other paths.
    """

    def __init__(self, config: Gemma4Config, values: Mapping[str, Any], lora: LoraSpec | None = None) -> None:
        expected = {tensor.path for tensor in (*tensors(config), *(adapters(config, lora) if lora else ()))}
        if expected != set(values):
            raise ValueError(f"other paths than the model's: {sorted(expected ^ set(values))[:5]}")
        weights = Weights(values)
        self.config, self.adapted = config, lora is not None
        self.embed_tokens = Embedding(weights.inner("embed_tokens"), config.pad)
        if config.ple:
            self.embed_tokens_per_layer = Embedding(weights.inner("embed_tokens_per_layer"), config.pad)
            name = "per_layer_model_projection"
            self.per_layer_model_projection = Linear(weights.inner(name), f"{name}.kernel")
            self.per_layer_projection_norm = Norm(weights.inner("per_layer_projection_norm"), config.eps)
        self.layers = nnx.List(
            [
                nnx.List(
                    [
                        Layer(weights.inner(f"layers.{number}.{index}"), run.shape, config.activation, config.eps, lora)
                        for index, run in enumerate(segment.runs)
                    ]
                )
                for number, segment in enumerate(config.segments)
            ]
        )
        self.norm = Norm(weights.inner("norm"), config.eps)
        if not config.tied:
            self.lm_head = OutputHead(weights.inner("lm_head"))

    @property
    def head(self) -> Array:
        """From hidden states to logits, shape (vocabulary, width)."""
        array: Array = self.embed_tokens.embedding[...] if self.config.tied else self.lm_head.weight[...]
        return array

    def hidden(
        self, ids: Array, positions: Array, segments: Array, compute: Compute, *, keys: Array | None = None
    ) -> Array:
        """What the decoder gives after its last norm, for packed sequences.

        Args:
            ids: of a :class:`finetune.data.batch.Batch`, shape (sequences, length).
            positions: the same.
            segments: the same.
            compute: how.
            keys: of the adapters' dropout, one for each sequence; None is evaluation.

        Returns:
            Shape (sequences, length, width).
        """
        rows = Rows(segments, self.config.window, compute.attention_block)
        return self.decode(ids, positions, compute, rows, keys=keys)[0]

    def logits(self, ids: Array, positions: Array, segments: Array, compute: Compute) -> Array:
        """Of every position, float32, shape (sequences, length, vocabulary): for tests and small models."""
        return self.project(self.hidden(ids, positions, segments, compute), compute)

    def project(self, hidden: Array, compute: Compute) -> Array:
        """Logits of hidden states, float32."""
        return make_logits(hidden, self.head, self.config.softcap, compute.dtype)

    def loss(
        self,
        ids: Array,
        positions: Array,
        segments: Array,
        targets: Array,
        coefficients: Array,
        compute: Compute,
        *,
        keys: Array | None = None,
    ) -> tuple[Array, Array]:
        """Objective and NLL of each position, see :func:`finetune.jax_backend.loss.chunked_nll`."""
        hidden = self.hidden(ids, positions, segments, compute, keys=keys)
        head = Head(self.config.softcap, compute.loss_chunk, compute.dtype, train=not self.adapted, mesh=compute.mesh)
        return chunked_nll(head, hidden, self.head, targets, coefficients)

    def decode(
        self,
        ids: Array,
        positions: Array,
        compute: Compute,
        attend: Attend,
        *,
        keys: Array | None = None,
        cache: Cache | None = None,
    ) -> tuple[Array, Cache]:
        """The decoder with attention of the caller's choice: what sampling with a cache builds on.

        Args:
            ids: shape (sequences, length).
            positions: the same shape.
            compute: how.
            attend: called in every layer.
            keys: of the adapters' dropout, one for each sequence; None is evaluation.
            cache: for each segment of ``config.segments`` and each of its runs a pytree, whose arrays have the two axes
                of the stack in front (repeats of the group, layers of the run), or None; each layer's part goes
                through ``attend``.

        Returns:
            Hidden states after the last norm, shape (sequences, length, width); and the cache as ``attend`` left it.
        """
        config = self.config
        call = Call(compute, attend, self._angles(positions), keys)
        embedded = self.embed_tokens(ids, config.hidden**0.5)
        per_layer = self._per_layer(ids, embedded, call)
        values = constrain(embedded, compute.mesh, ("batch", "length", "width"))
        shared: Shared = {}
        caches = []
        for number, segment in enumerate(config.segments):
            runs = list(self.layers[number])
            part = cache[number] if cache is not None else (None,) * len(runs)
            values, shared, found = _segment(segment, runs, config, call, values, shared, per_layer, part)
            caches.append(found)
        return self.norm(values), tuple(caches)

    def _angles(self, positions: Array) -> dict[str, tuple[Array, Array]]:
        sizes = {shape.kind: shape.head_dim for shape in self.config.layers}
        return {kind: angles(positions, self.config.rope(kind), sizes[kind]) for kind in KINDS if kind in sizes}

    def _per_layer(self, ids: Array, embedded: Array, call: Call) -> Array | None:
        """Every layer's own input, shape (layers, sequences, length, ple): of the token, and of its embedding."""
        config = self.config
        if not config.ple:
            return None
        token = self.embed_tokens_per_layer(ids, config.ple**0.5)
        context = self.per_layer_model_projection(embedded, call) * config.hidden**-0.5
        whole = (self.per_layer_projection_norm(context) + token) * 2.0**-0.5
        return jnp.moveaxis(whole, 2, 0)


def split(model: Gemma4) -> tuple[Any, nnx.State[Any, Any], nnx.State[Any, Any]]:
    """A model's structure, what is trained of it (adapters where it has them), and the rest; :func:`nnx.merge` joins
    them again.
    """
    found: Any = nnx.split(model, Adapter if model.adapted else nnx.Param, ...)
    graph, trained, rest = found
    return graph, trained, rest


def by_path(state: Any) -> dict[str, Any]:
    """The arrays of a model, or of a part that :func:`split` gives, by their paths in the layout table."""
    state = nnx.state(state) if isinstance(state, nnx.Module) else state
    return {".".join(map(str, path)): variable[...] for path, variable in nnx.to_flat_state(state)}


# ---- scanning -------------------------------------------------------------------------------------------------------


def _segment(
    segment: Segment,
    runs: Sequence[Layer],
    config: Gemma4Config,
    call: Call,
    values: Array,
    shared: Shared,
    per_layer: Array | None,
    caches: Sequence[Any],
) -> tuple[Array, Shared, tuple[Any, ...]]:
    """All layers of a segment: a scan over its repetitions, and within it one over the layers of each run."""
    parts = [nnx.split(run) for run in runs]
    steps = [_step(part[0], call, segment) for part in parts]
    items = tuple(
        _items(segment, index, part[1], per_layer, cache)
        for index, (part, cache) in enumerate(zip(parts, caches, strict=True))
    )
    # Layers that share read what was left to them; what the others leave goes along from layer to layer.
    carried = config.shares and not segment.runs[0].shape.shares
    if carried:
        shared = {**_room(steps, items, segment, values), **shared}

    def layer(index: int, carry: tuple[Array, Shared], item: Any) -> tuple[tuple[Array, Shared], Any]:
        stream, left = carry
        kind = segment.runs[index].shape.kind
        stream, visible, cache = steps[index](stream, shared.get(kind) if not carried else None, item)
        return (stream, {**left, kind: visible} if carried else left), cache

    def group(carry: tuple[Array, Shared], item: tuple[Any, ...]) -> tuple[tuple[Array, Shared], tuple[Any, ...]]:
        found = []
        for index, part in enumerate(item):
            carry, cache = _scan(lambda c, i, index=index: layer(index, c, i), carry, part, segment.runs[index].count)
            found.append(cache)
        return carry, tuple(found)

    (values, left), caches = _scan(group, (values, shared if carried else {}), items, segment.repeats)
    return values, left if carried else shared, tuple(caches)


def _items(segment: Segment, index: int, state: Any, per_layer: Array | None, cache: Any) -> tuple[Any, ...]:
    """What the layers of a run get, the axes of the stack in front: weights, number, own input, cache."""
    numbers = jnp.asarray(segment.layers(index), dtype=jnp.int32)
    return state, numbers, None if per_layer is None else per_layer[numbers], cache


def _step(graph: Any, call: Call, segment: Segment) -> Any:
    """One layer as a function of its part of the stack."""

    def step(values: Array, shared: KeyValue | None, item: tuple[Any, ...]) -> tuple[Array, KeyValue, Any]:
        state, number, per_layer, cache = item
        module: Layer = nnx.merge(graph, state)
        return module(values, call.within(number), shared, per_layer, cache)

    if not call.compute.remat:
        return step
    # Within a loop nothing could be merged with its recomputation anyway.
    return jax.checkpoint(step, prevent_cse=segment.repeats == segment.size == 1)


def _room(steps: Sequence[Any], items: Sequence[Any], segment: Segment, values: Array) -> Shared:
    """Zeros in the place of keys and values that the first layers will leave."""
    result: Shared = {}
    for step, item, run in zip(steps, items, segment.runs, strict=True):
        first = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape[2:], array.dtype), item)
        visible = jax.eval_shape(lambda v, i, step=step: step(v, None, i)[1], values, first)
        result[run.shape.kind] = jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), visible)
    return result


def _scan(body: Any, carry: Any, items: Any, length: int) -> tuple[Any, Any]:
    """:func:`jax.lax.scan`; a single step is not made a loop."""
    if length > 1:
        result: tuple[Any, Any] = jax.lax.scan(body, carry, items)
        return result
    carry, found = body(carry, jax.tree.map(lambda array: array[0], items))
    return carry, jax.tree.map(lambda array: array[None], found)


__all__ = ["Buffer", "Cache", "Compute", "Gemma4", "by_path", "split"]
