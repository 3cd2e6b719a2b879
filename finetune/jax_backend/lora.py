"""Low-rank adapters: which modules get one, and their first values, by the definitions of the torch backend."""

from __future__ import annotations

import math

import numpy as np
from jax import Array
from jax.sharding import Mesh
from numpy.typing import NDArray

from finetune.checkpoint.layout import Tensor, adapters
from finetune.gemma4 import Gemma4Config
from finetune.jax_backend.weights import draws, place
from finetune.recipe import LoraSpec


def new_adapters(config: Gemma4Config, spec: LoraSpec, *, seed: int, mesh: Mesh | None = None) -> dict[str, Array]:
    """First values by path: A is uniform within one over the root of its inputs (peft's default), B is zero; float32.

    Values depend on the seed and on each array's path alone, not on the mesh.

    Args:
        config: of the model.
        spec: the recipe's ``[lora]``, which :func:`match` has accepted.
        seed: the recipe's ``train.seed``.
        mesh: over which they are made in parts.
    """
    return {tensor.path: place(tensor, _new(tensor, seed), mesh) for tensor in adapters(config, spec)}


def _new(tensor: Tensor, seed: int) -> NDArray[np.float32]:
    if tensor.path.endswith("lora_b"):
        return np.zeros(tensor.shape, np.float32)
    bound = 1.0 / math.sqrt(math.prod(tensor.part_shape[: tensor.inputs]))
    values = (2.0 * draws(tensor, seed).random(tensor.shape, np.float32) - 1.0) * bound
    return values.astype(np.float32)
