"""The modules of one layer, in flax.nnx. Their names are those of the layout table, and so are their weights' paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.sharding import Mesh

from finetune.checkpoint import axes as named
from finetune.checkpoint.layout import LAYER_ROWS, MODEL_ROWS
from finetune.gemma4 import LayerShape
from finetune.jax_backend.attention import Attend, KeyValue, exact, rotate
from finetune.jax_backend.sharding import constrain, gather
from finetune.recipe import LoraSpec

_GELU = partial(jax.nn.gelu, approximate=True)
ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "gelu_pytorch_tanh": _GELU,
    "gelu": partial(jax.nn.gelu, approximate=False),
    "silu": jax.nn.silu,
}
_AXES = {row.path: row.axes for row in (*LAYER_ROWS, *MODEL_ROWS)}
# Each module's dropout has a stream of its own.
_STREAMS = {row.linear: number for number, row in enumerate(LAYER_ROWS) if row.linear}


class Buffer(nnx.Variable[Any]):
    """A number of the model that no training changes."""


class Adapter(nnx.Variable[Any]):
    """A low-rank factor: what training changes when the base is frozen."""


@dataclass(frozen=True)
class Compute:
    """How the model is computed; none of it is part of the model.

    Attributes:
        dtype: of matrix products and what they give, ``float32`` or ``bfloat16``. The residual stream has the dtype of
            the weights, norms and softmax are float32: as torch computes under autocast.
        remat: keep no activations of a layer but compute them again.
        loss_chunk: positions whose logits exist at one time.
        attention_block: queries that attend at one time, see :class:`finetune.jax_backend.attention.Rows`.
        mesh: that weights and activations are split over; None is one device.
    """

    dtype: str = "float32"
    remat: bool = False
    loss_chunk: int = 1024
    attention_block: int = 0
    mesh: Mesh | None = None


@dataclass(frozen=True, eq=False)
class Call:
    """What all modules of a call share.

    Attributes:
        compute: the settings.
        attend: how queries meet keys.
        angles: cosine and sine of the positions, by the kind of layer.
        keys: for the dropout of adapters, one for each sequence; None is evaluation, without dropout. A sequence's
            masks are then its own, whatever batch and mesh it is computed in.
    """

    compute: Compute
    attend: Attend
    angles: Mapping[str, tuple[Array, Array]]
    keys: Array | None = None

    def within(self, layer: Array) -> Call:
        """The call in one layer, by its number."""
        return self if self.keys is None else replace(self, keys=fold(self.keys, layer))


def fold(keys: Array, number: Array | int) -> Array:
    """Each of several keys with a number folded in."""
    return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)


@dataclass(frozen=True)
class Weights:
    """Values by their paths, and the place in them at which a module stands."""

    values: Mapping[str, Any]
    prefix: str = ""

    def inner(self, name: str) -> Weights:
        """Of a module within."""
        return Weights(self.values, f"{self.prefix}{name}.")

    def __getitem__(self, name: str) -> Any:
        return self.values[self.prefix + name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a weight or a module of this name."""
        whole = self.prefix + name
        return whole in self.values or any(path.startswith(f"{whole}.") for path in self.values)


class Norm(nnx.Module):
    """Root mean square norm, in float32, times its weight (and not one more than it)."""

    def __init__(self, weights: Weights, eps: float) -> None:
        self.weight = nnx.Param(weights["weight"])
        self.eps = eps

    def __call__(self, values: Array) -> Array:
        """Over the last axis; the dtype stays."""
        return normalize(values, self.eps, self.weight[...])


def normalize(values: Array, eps: float, weight: Array | None = None) -> Array:
    """See :class:`Norm`; without a weight there is none."""
    wide = values.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.square(wide).mean(axis=-1, keepdims=True) + eps)
    wide = wide if weight is None else wide * weight.astype(jnp.float32)
    return wide.astype(values.dtype)


class Linear(nnx.Module):
    """A product with a kernel, and with the two factors of its adapter where it has one.

    Args:
        weights: ``kernel``, and ``lora_a`` and ``lora_b`` where it is adapted.
        path: of the kernel in the layout table, which knows its axes.
        lora: of the adapters; None where there are none.
    """

    def __init__(self, weights: Weights, path: str, lora: LoraSpec | None = None) -> None:
        self.path = path
        self.kernel = nnx.Param(weights["kernel"])
        self.adapted = "lora_a" in weights
        if self.adapted:
            assert lora is not None
            self.scale, self.dropout = lora.alpha / lora.rank, lora.dropout
            self.lora_a, self.lora_b = Adapter(weights["lora_a"]), Adapter(weights["lora_b"])

    def __call__(self, values: Array, call: Call) -> Array:
        """Over as many of the last axes as the kernel sums over; in the compute dtype."""
        axes = _AXES[self.path]
        before, after = named.flat(axes)[: named.inputs(axes)], named.flat(axes)[named.inputs(axes) :]
        times = partial(_times, call=call)
        found = times(values, self.kernel[...], (*before, *after), len(before))
        if not self.adapted:
            return found
        # As peft: dropout of the input alone, both factors, then alpha / rank.
        low = times(self._dropped(values, call), self.lora_a[...], (*before, "rank"), len(before))
        return found + times(low, self.lora_b[...], ("rank", *after), 1) * self.scale

    def _dropped(self, values: Array, call: Call) -> Array:
        if call.keys is None or not self.dropout:
            return values
        keys = fold(call.keys, _STREAMS[self.path.split(".")[-2]])
        kept = jax.vmap(lambda key: jax.random.bernoulli(key, 1.0 - self.dropout, values.shape[1:]))(keys)
        return jnp.where(kept, values / (1.0 - self.dropout), jnp.zeros_like(values))


def _times(values: Array, weight: Array, axes: tuple[str, ...], inputs: int, *, call: Call) -> Array:
    dtype = jnp.dtype(call.compute.dtype)
    weight = gather(weight.astype(dtype), call.compute.mesh, axes)
    return jnp.tensordot(values.astype(dtype), weight, axes=inputs, precision=exact(dtype))


class Attention(nnx.Module):
    """Grouped attention with norms on queries, keys and values."""

    q_proj: Linear
    k_proj: Linear
    v_proj: Linear
    o_proj: Linear

    def __init__(self, weights: Weights, shape: LayerShape, eps: float, lora: LoraSpec | None) -> None:
        self.shape, self.eps = shape, eps
        linears = ["q_proj", "o_proj", *([] if shape.shares else ["k_proj"])]
        linears += [] if shape.shares or shape.key_is_value else ["v_proj"]
        for name in linears:
            setattr(self, name, Linear(weights.inner(name), f"self_attn.{name}.kernel", lora))
        self.q_norm = Norm(weights.inner("q_norm"), eps)
        if not shape.shares:
            self.k_norm = Norm(weights.inner("k_norm"), eps)

    def __call__(self, values: Array, call: Call, shared: KeyValue | None, cache: Any) -> tuple[Array, KeyValue, Any]:
        """Output, shape (sequences, length, width); keys and values for layers that share; the cache.

        Args:
            values: shape (sequences, length, width).
            call: of the model.
            shared: of the source layer, where this one shares.
            cache: of this layer.
        """
        cosine, sine = call.angles[self.shape.kind]
        query = rotate(self.q_norm(self._heads(self.q_proj(values, call), call, "heads")), cosine, sine)
        if self.shape.shares:
            assert shared is not None
            new = shared
        else:
            raw = self._heads(self.k_proj(values, call), call, "kv_heads")
            value = raw if self.shape.key_is_value else self._heads(self.v_proj(values, call), call, "kv_heads")
            new = rotate(self.k_norm(raw), cosine, sine), normalize(value, self.eps)
        found, visible, cache = call.attend(self.shape, query, new, cache)
        return self.o_proj(self._heads(found, call, "heads"), call), visible, cache

    def _heads(self, values: Array, call: Call, axis: str) -> Array:
        return constrain(values, call.compute.mesh, ("batch", "length", axis, "head_dim"))


class Mlp(nnx.Module):
    """Gated MLP."""

    gate_proj: Linear
    up_proj: Linear
    down_proj: Linear

    def __init__(self, weights: Weights, activation: str, lora: LoraSpec | None) -> None:
        self.activation = activation
        for name in ("gate_proj", "up_proj", "down_proj"):
            setattr(self, name, Linear(weights.inner(name), f"mlp.{name}.kernel", lora))

    def __call__(self, values: Array, call: Call) -> Array:
        """Shape (sequences, length, width)."""
        inner = ACTIVATIONS[self.activation](self.gate_proj(values, call)) * self.up_proj(values, call)
        return self.down_proj(constrain(inner, call.compute.mesh, ("batch", "length", "mlp")), call)


class Layer(nnx.Module):
    """One decoder layer; where layers are stacked, its weights have two axes more, and it is called on a slice."""

    input_layernorm: Norm
    post_attention_layernorm: Norm
    pre_feedforward_layernorm: Norm
    post_feedforward_layernorm: Norm
    per_layer_input_gate: Linear
    per_layer_projection: Linear

    def __init__(self, weights: Weights, shape: LayerShape, activation: str, eps: float, lora: LoraSpec | None) -> None:
        self.activation = activation
        self.self_attn = Attention(weights.inner("self_attn"), shape, eps, lora)
        self.mlp = Mlp(weights.inner("mlp"), activation, lora)
        norms = ("input", "post_attention", "pre_feedforward", "post_feedforward")
        for name in norms:
            setattr(self, f"{name}_layernorm", Norm(weights.inner(f"{name}_layernorm"), eps))
        self.has_ple = "per_layer_input_gate" in weights
        if self.has_ple:
            for name in ("per_layer_input_gate", "per_layer_projection"):
                setattr(self, name, Linear(weights.inner(name), f"{name}.kernel", lora))
            self.post_per_layer_input_norm = Norm(weights.inner("post_per_layer_input_norm"), eps)
        self.layer_scalar = Buffer(weights["layer_scalar"])

    def __call__(
        self, values: Array, call: Call, shared: KeyValue | None, per_layer: Array | None, cache: Any
    ) -> tuple[Array, KeyValue, Any]:
        """The residual stream after this layer; keys and values for layers that share; the cache.

        Args:
            values: the residual stream, shape (sequences, length, width).
            call: of the model, within this layer.
            shared: see :class:`Attention`.
            per_layer: this layer's own input, shape (sequences, length, ple), where the model has such.
            cache: of this layer.
        """
        found, visible, cache = self.self_attn(self.input_layernorm(values), call, shared, cache)
        values = self._add(values, self.post_attention_layernorm(found), call)
        found = self.mlp(self.pre_feedforward_layernorm(values), call)
        values = self._add(values, self.post_feedforward_layernorm(found), call)
        if self.has_ple:
            assert per_layer is not None
            gate = ACTIVATIONS[self.activation](self.per_layer_input_gate(values, call))
            found = self.per_layer_projection(gate * per_layer.astype(gate.dtype), call)
            values = self._add(values, self.post_per_layer_input_norm(found), call)
        return values * self.layer_scalar[...].astype(values.dtype), visible, cache

    def _add(self, values: Array, found: Array, call: Call) -> Array:
        return constrain(values + found.astype(values.dtype), call.compute.mesh, ("batch", "length", "width"))
