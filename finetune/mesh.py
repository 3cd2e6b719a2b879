"""How arrays are shared out over a mesh of devices, from the names of their axes; plain Python, as planning needs it.

The mesh has two axes: ``fsdp`` shares out the batch and one axis of every weight, which is gathered where it is used;
``tp`` splits heads, MLP and vocabulary, each device computing its part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from finetune.checkpoint.layout import Tensor, adapters, tensors
from finetune.gemma4 import Gemma4Config
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError

MESH_AXES = ("fsdp", "tp")
# Axes that are not here are whole on every device. Each name, and what an error calls it.
RULES: Mapping[str, str] = {
    "batch": "fsdp",
    "embed": "fsdp",
    "heads": "tp",
    "kv_heads": "tp",
    "mlp": "tp",
    "vocab": "tp",
    "ple_vocab": "tp",
}
_SAID: Mapping[str, str] = {
    "embed": "a hidden size of",
    "heads": "a number of heads of",
    "kv_heads": "a number of KV heads of",
    "mlp": "an MLP width of",
    "vocab": "a vocabulary of",
    "ple_vocab": "a vocabulary of per-layer embeddings of",
}


def partition(axes: Sequence[str], shape: Sequence[int]) -> tuple[str | None, ...]:
    """The mesh axis over which each axis of an array is split; an axis of length 1 stays whole."""
    return tuple(RULES.get(name) if size > 1 else None for name, size in zip(axes, shape, strict=True))


def check_mesh(config: Gemma4Config, *, fsdp: int, tp: int, lora: LoraSpec | None = None) -> None:
    """See that every array can be split evenly, before anything is made or compiled.

    Raises:
        VerievalError: with the first tensor that cannot, and the numbers of devices that could.
    """
    mesh = {"fsdp": fsdp, "tp": tp}
    arrays = (*tensors(config), *(adapters(config, lora) if lora else ()))
    for tensor in arrays:
        for name, size, axis in zip(tensor.axes, tensor.shape, partition(tensor.axes, tensor.shape), strict=True):
            if axis and size % mesh[axis]:
                possible = ", ".join(map(str, _divisors(arrays, axis)))
                raise VerievalError(
                    f"parallel.{axis}: {_in_words(tensor)} has {_SAID[name]} {size}, which {mesh[axis]} devices cannot "
                    f"share evenly: set parallel.{axis} to one of {possible}"
                )


def _divisors(arrays: Iterable[Tensor], axis: str) -> list[int]:
    """Numbers of devices that divide every axis which this mesh axis splits."""
    split = {
        size
        for tensor in arrays
        for size, found in zip(tensor.shape, partition(tensor.axes, tensor.shape), strict=True)
        if found == axis
    }
    common = math.gcd(*split)
    return [number for number in range(1, min(common, 4096) + 1) if common % number == 0]


def _in_words(tensor: Tensor) -> str:
    """The name that the user knows from the checkpoint."""
    name = tensor.row.forms["transformers"].name
    return f"layers.{tensor.layers[0]}.{name}" if tensor.layers else name
