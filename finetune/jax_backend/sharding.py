"""How weights and activations lie on a mesh of JAX's devices; :mod:`finetune.mesh` says how they are split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from finetune.checkpoint.layout import Tensor
from finetune.mesh import MESH_AXES, partition
from verieval.errors import VerievalError


def make_mesh(fsdp: int, tp: int, devices: Sequence[Any] | None = None) -> Mesh:
    """A mesh of the first ``fsdp * tp`` devices.

    Args:
        fsdp: its first side.
        tp: its second.
        devices: to take instead of all that there are (those of a described topology, for compiling alone).

    Raises:
        VerievalError: there are fewer.
    """
    have = list(jax.devices() if devices is None else devices)
    if fsdp * tp > len(have):
        raise VerievalError(
            f"parallel.fsdp {fsdp} x parallel.tp {tp} needs {fsdp * tp} devices, and there are {len(have)}: lower one "
            "of them"
        )
    return Mesh(np.array(have[: fsdp * tp], dtype=object).reshape(fsdp, tp), MESH_AXES)


def sharding(mesh: Mesh, tensor: Tensor) -> NamedSharding:
    """Where the parts of a weight lie."""
    return NamedSharding(mesh, PartitionSpec(*partition(tensor.axes, tensor.shape)))


def batch_sharding(mesh: Mesh) -> NamedSharding:
    """Of arrays of shape (sequences, length)."""
    return NamedSharding(mesh, PartitionSpec("fsdp"))


def constrain(array: Array, mesh: Mesh | None, axes: Sequence[str]) -> Array:
    """Say where an activation lies; without a mesh it is as it was."""
    if mesh is None:
        return array
    spec = PartitionSpec(*partition(axes, array.shape))
    return jax.lax.with_sharding_constraint(array, NamedSharding(mesh, spec))


def gather(weight: Array, mesh: Mesh | None, axes: Sequence[str]) -> Array:
    """A weight as a product uses it: whole along what ``fsdp`` shares out, split along ``tp``."""
    if mesh is None:
        return weight
    spec = PartitionSpec(*(axis if axis == "tp" else None for axis in partition(axes, weight.shape)))
    return jax.lax.with_sharding_constraint(weight, NamedSharding(mesh, spec))
