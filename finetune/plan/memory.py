"""Bytes that a device needs, by arithmetic: what a compiler or an allocator adds is not in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from finetune.checkpoint.layout import Tensor, adapters, tensors
from finetune.checkpoint.tensorfile import width
from finetune.gemma4 import Gemma4Config
from finetune.jax_backend import ATTENTION_BLOCK
from finetune.mesh import MESH_AXES, partition
from finetune.recipe import Recipe


@dataclass(frozen=True)
class Memory:
    """Bytes of one device.

    Attributes:
        frozen: weights that stay as they are.
        trained: weights that are trained, float32, with their gradients and both moments.
        gathered: the largest layer whole along ``fsdp``, where that shares weights out.
        kept: what the forward pass keeps for the backward pass.
        working: the largest layer's own activations, and a chunk of logits.
    """

    frozen: int
    trained: int
    gathered: int
    kept: int
    working: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.frozen + self.trained + self.gathered + self.kept + self.working

    def to_json(self) -> dict[str, int]:
        """Plain data, with the total."""
        return {**asdict(self), "total": self.total}


def estimate(config: Gemma4Config, recipe: Recipe, *, fsdp: int, tp: int) -> Memory:
    """What the recipe needs of a device of a mesh.

    Args:
        config: of the model.
        recipe: what is trained.
        fsdp: devices that share out batch and weights.
        tp: devices that split heads, MLP and vocabulary.
    """
    size = width(recipe.model.dtype)
    base = tensors(config)
    low = adapters(config, recipe.lora) if recipe.lora else ()
    frozen = 0 if not recipe.lora else sum(_share(tensor, fsdp, tp) for tensor in base) * size
    trained = sum(_share(tensor, fsdp, tp) for tensor in (low or base)) * 16
    largest = max(config.layers, key=lambda shape: shape.heads * shape.head_dim)
    layer = config.hidden * (2 * largest.heads * largest.head_dim + 3 * largest.intermediate)
    gathered = 0 if fsdp == 1 else layer * size // tp
    tokens = recipe.train.micro_batch * recipe.train.sequence_length
    stream = tokens * config.hidden * size
    # A layer's own: the stream, queries and what attention gives, the MLP's three products, scores of a block.
    compute = width(recipe.model.compute_dtype)
    block = min(ATTENTION_BLOCK, recipe.train.sequence_length)
    scores = recipe.train.micro_batch * largest.heads // tp * block * recipe.train.sequence_length * 4
    inner = tokens * (4 * largest.heads * largest.head_dim + 3 * largest.intermediate) // tp * compute + 2 * scores
    logits = 2 * 4 * min(recipe.train.loss_chunk, tokens) * config.vocabulary // tp
    kept = len(config.layers) * (stream if recipe.train.remat else stream + inner)
    return Memory(frozen, trained, gathered, kept, max(inner, logits) + 2 * stream)


def _share(tensor: Tensor, fsdp: int, tp: int) -> int:
    """Numbers of a tensor that one device has; its axes are split as on a mesh of TPUs."""
    return tensor.count // split(tensor.axes, tensor.shape, fsdp, tp)


def split(axes: Sequence[str], shape: Sequence[int], fsdp: int, tp: int) -> int:
    """Into how many parts an array is split, see :func:`finetune.mesh.partition`."""
    sides = dict(zip(MESH_AXES, (fsdp, tp), strict=True))
    return math.prod(sides[axis] for axis in partition(axes, shape) if axis)
