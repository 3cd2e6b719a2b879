"""Low-rank adapters: which modules get one, and their first values, by the definitions of the torch backend."""

from __future__ import annotations

import math
import zlib
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from finetune.adapters import match_targets, say_matched
from finetune.checkpoint.layout import LAYER_ROWS, Tensor, adapters
from finetune.gemma4 import Gemma4Config
from finetune.jax_backend.sharding import sharding
from finetune.recipe import LoraSpec


def match(config: Gemma4Config, spec: LoraSpec, prefix: str | None = None) -> tuple[dict[str, int], str]:
    """Number of modules of each target, and a sentence that says so.

    Args:
        config: of the model.
        spec: the recipe's ``[lora]``.
        prefix: of the text model's names in its checkpoint, for errors; None takes transformers' own.

    Raises:
        VerievalError: a target matches nothing, or a layer has only some of the targets.
    """
    before = config.prefix if prefix is None else prefix
    layers = [
        (
            f"{before}layers.{index}",
            [row.linear for row in LAYER_ROWS if row.linear and row.where(config, shape)],
        )
        for index, shape in enumerate(config.layers)
    ]
    counts = match_targets(layers, spec)
    return counts, say_matched(counts, len(layers))


def new_adapters(config: Gemma4Config, spec: LoraSpec, *, seed: int, mesh: Mesh | None = None) -> dict[str, Array]:
    """First values by path: A is uniform within one over the root of its inputs (peft's default), B is zero; float32.

    Values depend on the seed and on each array's path alone, not on the mesh.

    Args:
        config: of the model.
        spec: the recipe's ``[lora]``, which :func:`match` has accepted.
        seed: the recipe's ``train.seed``.
        mesh: over which they are made in parts.
    """
    key = jax.random.key(seed)
    return {tensor.path: _new(tensor, key, mesh) for tensor in adapters(config, spec)}


def _new(tensor: Tensor, key: Array, mesh: Mesh | None) -> Array:
    where: Any = None if mesh is None else sharding(mesh, tensor)
    if tensor.path.endswith("lora_b"):
        return jnp.zeros(tensor.shape, jnp.float32, device=where)
    bound = 1.0 / math.sqrt(math.prod(tensor.part_shape[: tensor.inputs]))
    own = jax.random.fold_in(key, zlib.crc32(tensor.path.encode()))

    def draw(key: Array) -> Array:
        return jax.random.uniform(key, tensor.shape, jnp.float32, -bound, bound)

    made: Array = jax.jit(draw, out_shardings=where)(own)
    return made
