"""Where a model's arrays come from: a safetensors folder, a random generator, or nowhere, as shapes alone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, SingleDeviceSharding

from finetune.checkpoint.layout import Tensor, account, adapters, find_prefix, may_pass, places, tensors
from finetune.checkpoint.source import open_source
from finetune.checkpoint.tensorfile import Stored, numpy_dtype, open_folder
from finetune.gemma4 import Gemma4Config
from finetune.jax_backend.sharding import sharding
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError


def abstract(
    config: Gemma4Config, dtype: str, *, lora: LoraSpec | None = None, mesh: Mesh | None = None
) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes and shardings by path, in the place of arrays: for compiling ahead of time, and for restoring into.

    Args:
        config: of the model.
        dtype: of the base; adapters are float32.
        lora: the recipe's adapters.
        mesh: of devices that need not be there.
    """
    arrays = [(tensor, dtype) for tensor in tensors(config)]
    arrays += [(tensor, "float32") for tensor in (adapters(config, lora) if lora else ())]
    return {
        tensor.path: jax.ShapeDtypeStruct(
            tensor.shape, jnp.dtype(name), sharding=None if mesh is None else sharding(mesh, tensor)
        )
        for tensor, name in arrays
    }


def load_weights(folder: Path, config: Gemma4Config, dtype: str, *, mesh: Mesh | None = None) -> dict[str, Array]:
    """Read the base model from a transformers checkpoint: every array by path, on its devices.

    Of host memory it takes one device's part of the largest array, and one tensor.

    Args:
        folder: with ``model.safetensors``, or an index and its files.
        config: of the model; :func:`finetune.gemma4.load_config` reads it from the same folder.
        dtype: that values are cast to.
        mesh: that they are split over; :func:`finetune.jax_backend.sharding.check_mesh` has accepted it.

    Raises:
        VerievalError: tensors are missing, left over or of another shape, or a file is damaged.
    """
    stored = open_folder(folder)
    prefix = find_prefix(stored.entries, config)
    account(
        stored.shapes, places(tensors(config), "transformers", prefix), str(folder), passed=may_pass(config, prefix)
    )
    return read_arrays(stored, tensors(config), prefix, dtype, mesh=mesh)


def load_model(folder: Path, config: Gemma4Config, dtype: str) -> dict[str, Array]:
    """A whole model by path on one device, from a transformers folder or an Orbax checkpoint with its config beside it.

    Args:
        folder: of the checkpoint.
        config: of the model.
        dtype: that values are cast to.

    Raises:
        VerievalError: it is an adapter, or its arrays are not the model's.
    """
    source = open_source(folder)
    if source.kind != "model":
        raise VerievalError(f"{folder} is an adapter: merge it with `verieval convert BASE OUT --adapter {folder}`")
    kind = numpy_dtype(dtype)
    # There its arrays are stacks, whichever way the model is asked for.
    where = {
        (tensor.row.path, layer): (tensor.path, number)
        for tensor in source.arrays
        for number, layer in enumerate(tensor.layers or (-1,))
    }

    def one(tensor: Tensor) -> Array:
        whole = np.empty(tensor.shape, kind)
        for number, layer in enumerate(tensor.layers or (-1,)):
            whole[tensor.index(number)] = source.read(where[tensor.row.path, layer], "ours")
        return place(tensor, whole, None)

    return {tensor.path: one(tensor) for tensor in tensors(config)}


def read_arrays(
    stored: Stored, arrays: Iterable[Tensor], prefix: str, dtype: str, *, mesh: Mesh | None = None
) -> dict[str, Array]:
    """Arrays by path from files under transformers' naming, which :func:`finetune.checkpoint.layout.account` has seen;
    see :func:`load_weights`.
    """
    kind = numpy_dtype(dtype)

    def one(tensor: Tensor) -> Array:
        names = [place.name for place in places([tensor], "transformers", prefix)]

        def part(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
            if not tensor.layers:
                return np.ascontiguousarray(tensor.read(stored.read(names[0]), "transformers")[index]).astype(kind)
            slots = np.arange(len(names)).reshape(tensor.shape[:2])[index[:2]]
            shape = tuple(len(range(*s.indices(size))) for s, size in zip(index, tensor.shape, strict=True))
            result = np.empty(shape, kind)
            for place, slot in np.ndenumerate(slots):
                result[place] = tensor.read(stored.read(names[slot]), "transformers")[index[2:]]
            return result

        return _make(tensor, part, mesh)

    return {tensor.path: one(tensor) for tensor in arrays}


def random_weights(
    config: Gemma4Config, dtype: str, *, seed: int, qk_norm: float = 1.0, mesh: Mesh | None = None
) -> dict[str, Array]:
    """A new model: matrices and embeddings normal with the config's deviation, norms and scalars one.

    transformers draws from the same distributions, though other values; the row of the padding token is not zero.

    Args:
        config: of the model.
        dtype: of the weights.
        seed: the recipe's ``train.seed``.
        qk_norm: of the query and key norms (``model.qk_norm_init``).
        mesh: over which they are made in parts.
    """

    def one(tensor: Tensor) -> Array:
        if tensor.row.role in ("norm", "buffer"):
            value = qk_norm if tensor.row.axes == "head_scale" else 1.0
            whole = np.full(tensor.shape, value, np.float32)
        else:
            whole = draws(tensor, seed).standard_normal(tensor.shape, np.float32) * np.float32(config.initializer_range)
        return place(tensor, whole.astype(numpy_dtype(dtype)), mesh)

    return {tensor.path: one(tensor) for tensor in tensors(config)}


def draws(tensor: Tensor, seed: int) -> np.random.Generator:
    """Random numbers that belong to a seed and an array's path: the same on every host and mesh."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, zlib.crc32(tensor.path.encode())])))


def place(tensor: Tensor, whole: np.ndarray[Any, Any], mesh: Mesh | None) -> Array:
    """An array of the host on its devices."""
    return _make(tensor, lambda index: whole[index], mesh)


def _make(tensor: Tensor, part: Callable[[tuple[slice, ...]], np.ndarray[Any, Any]], mesh: Mesh | None) -> Array:
    """An array from its parts; devices that hold the same part share one reading of it."""
    where = SingleDeviceSharding(jax.local_devices()[0]) if mesh is None else sharding(mesh, tensor)
    kept: dict[tuple[tuple[Any, ...], ...], np.ndarray[Any, Any]] = {}

    def once(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        key = tuple((s.start, s.stop) for s in index)
        if key not in kept:
            kept.clear()
            kept[key] = part(index)
        return kept[key]

    read: Any = once
    return jax.make_array_from_callback(tensor.shape, where, read)
