"""Writing what was trained as a transformers folder and a PEFT adapter, through the layout table, tensor by tensor."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from finetune.checkpoint.layout import PEFT_PREFIX, Place, adapters, find_prefix, places, tensors
from finetune.checkpoint.tensorfile import DTYPES, INDEX, SINGLE, Stored, numpy_dtype, open_folder
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.run.jsonl import dump_json, write_atomically

if TYPE_CHECKING:
    from finetune.jax_backend.backend import JaxBackend

Part = np.ndarray[Any, Any]
# A file of a checkpoint becomes no larger, unless one tensor is.
FILE_BYTES = 5 * 10**9
_CLASSES = {"gemma4": "Gemma4ForConditionalGeneration", "gemma4_text": "Gemma4ForCausalLM"}


@dataclass(frozen=True, eq=False)
class Planned:
    """A tensor that is to be written.

    Attributes:
        name: in the file.
        dtype: NumPy's name, or ``bfloat16``.
        shape: of it.
        make: its values; in any dtype, cast when they are written.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    make: Callable[[], Part]

    @property
    def size(self) -> int:
        """In bytes."""
        return (2 if self.dtype == "bfloat16" else np.dtype(self.dtype).itemsize) * math.prod(self.shape)


def export(backend: JaxBackend, folder: Path) -> dict[str, Any]:
    """Write ``folder/model`` and, with LoRA, ``folder/adapter``; every process takes part, the first one writes.

    The merged weights have the dtype of the base; weights that were trained whole have ``compute_dtype``, the one in
    which every product of the training saw them.

    Returns:
        dtype and, with LoRA, the number of merged modules.

    Raises:
        VerievalError: merging an adapter changes nothing.
    """
    recipe, lora = backend.recipe, backend.recipe.lora
    dtype = recipe.model.dtype if lora else recipe.model.compute_dtype
    writes = backend.rank == 0
    said: dict[str, Any] = {"dtype": dtype}
    if lora:
        write_tensors(folder / "adapter", "adapter_model.safetensors", _adapter(backend, lora), writes=writes)
        if writes:
            write_atomically(folder / "adapter" / "adapter_config.json", dump_json(_peft_config(backend, lora)))
        said["merged"] = sum(len(tensor.layers) for tensor in adapters(backend.config, lora)) // 2
    write_tensors(folder / "model", SINGLE, _model(backend, dtype), writes=writes)
    if writes:
        _write_config(backend, dtype, folder / "model")
    return said if writes else {}


# ---- tensors ---------------------------------------------------------------------------------------------------------


def _model(backend: JaxBackend, dtype: str) -> list[Planned]:
    """The text model's tensors under transformers' names, and what else the source holds, as it is there."""
    config, weights = backend.config, {**backend.frozen, **backend.state.weights}
    stored = None if backend.source.weights is None else open_folder(backend.source.weights)
    prefix = config.prefix if stored is None else find_prefix(stored.entries, config)
    expected = places(tensors(config), "transformers", prefix)
    result = [Planned(place.name, dtype, place.shape, _merged(backend, weights, place)) for place in expected]
    return result + ([] if stored is None else list(_beside(stored, {place.name for place in expected}, prefix)))


def _beside(stored: Stored, own: set[str], prefix: str) -> Iterator[Planned]:
    """Tensors that the text model does not have; a copy of the tied embedding would no longer be one."""
    head = f"{prefix.partition('model.')[0]}lm_head.weight"
    for name, entry in sorted(stored.entries.items()):
        if name not in own and name != head:
            yield Planned(name, entry.dtype, entry.shape, partial(stored.read, name))


def _merged(backend: JaxBackend, weights: Mapping[str, Array], place: Place) -> Callable[[], Part]:
    """A weight of one layer, its adapter added in float32 where it has one."""
    path = place.tensor.path
    low = [path.removesuffix("kernel") + part for part in ("lora_a", "lora_b")]
    lora = backend.recipe.lora

    def make() -> Part:
        base = _part(weights[path], place)
        if lora and path.endswith("kernel") and low[0] in weights:
            down, up = (_part(weights[name], place).astype(np.float32) for name in low)
            delta = np.tensordot(down, up, axes=1) * np.float32(lora.alpha / lora.rank)
            merged = (base.astype(np.float32) + delta).astype(base.dtype)
            if delta.any() and np.array_equal(merged, base):
                raise VerievalError(
                    f"merging the adapter of {place.name} changes nothing: it is smaller than {base.dtype} holds; "
                    "train for longer, or with a higher optim.learning_rate"
                )
            base = merged
        converted: Part = place.tensor.write(base, "transformers")
        return converted

    return make


def _adapter(backend: JaxBackend, lora: LoraSpec) -> list[Planned]:
    """The adapters' tensors under peft's names."""
    weights = backend.state.weights

    def one(place: Place) -> Planned:
        def make() -> Part:
            converted: Part = place.tensor.write(_part(weights[place.tensor.path], place), "transformers")
            return converted

        return Planned(place.name, "float32", place.shape, make)

    prefix = PEFT_PREFIX + backend.config.prefix
    return [one(place) for place in places(adapters(backend.config, lora), "transformers", prefix)]


def _part(array: Array, place: Place) -> Part:
    """One layer's part of an array, in host memory."""
    part = array[place.tensor.index(place.place)] if place.tensor.layers else array
    if not part.is_fully_addressable:
        from jax.experimental.multihost_utils import process_allgather

        return np.asarray(process_allgather(part, tiled=True))
    return np.asarray(part)


def write_tensors(folder: Path, file: str, planned: Sequence[Planned], *, writes: bool = True) -> None:
    """Write safetensors, one tensor in memory at a time; in several files with an index where it is much.

    Args:
        folder: made where it is not there.
        file: name of the file where one is enough.
        planned: what is written, in order.
        writes: False makes the values and writes nothing (a process that only takes part).
    """
    groups = _cut(planned)
    stem, suffix = file.rsplit(".", 1)
    weight_map: dict[str, str] = {}
    for number, group in enumerate(groups, start=1):
        name = file if len(groups) == 1 else f"{stem}-{number:05}-of-{len(groups):05}.{suffix}"
        weight_map |= {one.name: name for one in group}
        if writes:
            folder.mkdir(parents=True, exist_ok=True)
            _write_file(folder / name, group)
        else:
            for one in group:
                one.make()
    if writes and len(groups) > 1:
        total = sum(one.size for one in planned)
        write_atomically(folder / INDEX, dump_json({"metadata": {"total_size": total}, "weight_map": weight_map}))


def _cut(planned: Sequence[Planned]) -> list[list[Planned]]:
    groups: list[list[Planned]] = [[]]
    for one in planned:
        if groups[-1] and sum(part.size for part in groups[-1]) + one.size > FILE_BYTES:
            groups.append([])
        groups[-1].append(one)
    return groups


def _write_file(path: Path, group: Sequence[Planned]) -> None:
    names = {theirs: ours for ours, theirs in DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for one in group:
        header[one.name] = {
            "dtype": names[one.dtype], "shape": list(one.shape), "data_offsets": [start, start + one.size],
        }  # fmt: skip
        start += one.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for one in group:
            array = np.ascontiguousarray(one.make(), dtype=numpy_dtype(one.dtype))
            if array.shape != one.shape:
                raise RuntimeError(f"{one.name} has the shape {array.shape} in the place of {one.shape}")
            file.write(array.reshape(-1).view(np.uint8).data)


# ---- configurations --------------------------------------------------------------------------------------------------


def _peft_config(backend: JaxBackend, lora: LoraSpec) -> dict[str, Any]:
    """What peft reads; the fields that are not here have its defaults."""
    targets = "|".join(map(re.escape, lora.targets))
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": backend.source.name,
        "revision": backend.recipe.model.revision or None,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "target_modules": rf"{re.escape(backend.config.prefix)}layers\.\d+\.(?:.+\.)?(?:{targets})",
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }


def _write_config(backend: JaxBackend, dtype: str, folder: Path) -> None:
    """The source's configuration with the dtype that the weights have now, and its generation config."""
    content = json.loads(read_file(backend.source.config))
    content.setdefault("architectures", [_CLASSES[content["model_type"]]])
    for part in (content, content.get("text_config")):
        if isinstance(part, dict):
            part.pop("torch_dtype", None)
            part["dtype"] = dtype
    write_atomically(folder / "config.json", dump_json(content))
    generation = backend.source.config.parent / "generation_config.json"
    if backend.source.weights is not None and generation.is_file():
        shutil.copyfile(generation, folder / generation.name)
