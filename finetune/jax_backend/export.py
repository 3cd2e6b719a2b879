"""Writing what was trained as a transformers folder and a PEFT adapter, through the layout table, tensor by tensor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from finetune.adapters import target_pattern
from finetune.checkpoint import peft
from finetune.checkpoint.layout import PEFT_PREFIX, Place, Tensor, adapters, find_prefix, places, tensors
from finetune.checkpoint.merge import add_product
from finetune.checkpoint.tensorfile import SINGLE, Stored, numpy_dtype, open_folder
from finetune.checkpoint.writer import Planned, Writer
from finetune.gemma4 import set_dtype
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.run.jsonl import dump_json, write_atomically

if TYPE_CHECKING:
    from finetune.jax_backend.backend import JaxBackend

Part = np.ndarray[Any, Any]
# A tensor that is to be written, and what makes its values, in any dtype.
Work = tuple[Planned, Callable[[], Part]]
_CLASSES = {"gemma4": "Gemma4ForConditionalGeneration", "gemma4_text": "Gemma4ForCausalLM"}


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
        _write(folder / "adapter", peft.WEIGHTS, _adapter(backend, lora), writes=writes)
        if writes:
            write_atomically(folder / "adapter" / peft.CONFIG, dump_json(_peft_config(backend, lora)))
        said["merged"] = sum(len(tensor.layers) for tensor in adapters(backend.config, lora)) // 2
    _write(folder / "model", SINGLE, _model(backend, dtype), writes=writes)
    if writes:
        _write_config(backend, dtype, folder / "model")
    return said if writes else {}


# ---- tensors ---------------------------------------------------------------------------------------------------------


def _model(backend: JaxBackend, dtype: str) -> list[Work]:
    """The text model's tensors under transformers' names, and what else the source holds, as it is there."""
    config, weights = backend.config, {**backend.frozen, **backend.state.weights}
    stored = None if backend.source.weights is None else open_folder(backend.source.weights)
    prefix = config.prefix if stored is None else find_prefix(stored.entries, config)
    expected = places(tensors(config), "transformers", prefix)
    low = {tensor.path: tensor for tensor in adapters(config, backend.recipe.lora)} if backend.recipe.lora else {}
    result = [(Planned(place.name, dtype, place.shape), _merged(backend, weights, low, place)) for place in expected]
    return result + ([] if stored is None else list(_beside(stored, {place.name for place in expected}, prefix)))


def _beside(stored: Stored, own: set[str], prefix: str) -> Iterator[Work]:
    """Tensors that the text model does not have; a copy of the tied embedding would no longer be one."""
    head = f"{prefix.partition('model.')[0]}lm_head.weight"
    for name, entry in sorted(stored.entries.items()):
        if name not in own and name != head:
            yield Planned(name, entry.dtype, entry.shape), partial(stored.read, name)


def _merged(
    backend: JaxBackend, weights: Mapping[str, Array], low: Mapping[str, Tensor], place: Place
) -> Callable[[], Part]:
    """A weight of one layer, its adapter (one of the tensors ``low``) added where it has one."""
    path = place.tensor.path
    parts = [low.get(path.removesuffix("kernel") + part) for part in ("lora_a", "lora_b")]
    lora = backend.recipe.lora

    def make() -> Part:
        weight = _transformers(weights[path], place.tensor, place.place)
        down, up = parts
        if lora is None or down is None or up is None:
            return weight
        weight = weight.copy()  # what comes from a device is read-only
        low_a, low_b = (
            _transformers(weights[one.path], one, place.place).astype(np.float32, copy=False) for one in (down, up)
        )
        added = add_product(weight, low_a, low_b, lora.alpha / lora.rank)
        if not added.finite:
            raise VerievalError(f"merging the adapter of {place.name} gives infinities or NaN: the training diverged")
        if added.swallowed:
            raise VerievalError(
                f"merging the adapter of {place.name} changes nothing: it is smaller than {weight.dtype} holds; "
                "train for longer, or with a higher optim.learning_rate"
            )
        return weight

    return make


def _adapter(backend: JaxBackend, lora: LoraSpec) -> list[Work]:
    """The adapters' tensors under peft's names."""
    weights = backend.state.weights

    def one(place: Place) -> Work:
        tensor = place.tensor
        return Planned(place.name, "float32", place.shape), partial(
            _transformers, weights[tensor.path], tensor, place.place
        )

    prefix = PEFT_PREFIX + backend.config.prefix
    return [one(place) for place in places(adapters(backend.config, lora), "transformers", prefix)]


def _transformers(array: Array, tensor: Tensor, number: int) -> Part:
    """One layer's part of an array, in host memory, as transformers has it."""
    part = array[tensor.index(number)] if tensor.layers else array
    if part.is_fully_addressable:
        whole = np.asarray(part)
    else:
        from jax.experimental.multihost_utils import process_allgather

        whole = np.asarray(process_allgather(part, tiled=True))
    converted: Part = tensor.write(whole, "transformers")
    return converted


def _write(folder: Path, file: str, work: Sequence[Work], *, writes: bool) -> None:
    """One tensor in memory at a time. Every process makes the values; one that does not write takes part in that alone.

    Args:
        folder: made where it is not there.
        file: name of the file where one is enough.
        work: what is written, in order.
        writes: this process does.
    """
    if not writes:
        for _, make in work:
            make()
        return
    folder.mkdir(parents=True, exist_ok=True)
    with Writer(folder, [planned for planned, _ in work], file=file) as writer:
        for planned, make in work:
            writer.write(planned.name, make().astype(numpy_dtype(planned.dtype), copy=False))
        writer.finish()


# ---- configurations --------------------------------------------------------------------------------------------------


def _peft_config(backend: JaxBackend, lora: LoraSpec) -> dict[str, Any]:
    content = peft.plain_config(
        base=backend.source.name,
        rank=lora.rank,
        alpha=lora.alpha,
        dropout=lora.dropout,
        targets=target_pattern(backend.config.prefix, lora.targets),
    )
    return {**content, "revision": backend.recipe.model.revision or None}


def _write_config(backend: JaxBackend, dtype: str, folder: Path) -> None:
    """The source's configuration with the dtype that the weights have now, and its generation config."""
    content = json.loads(read_file(backend.source.config))
    content.setdefault("architectures", [_CLASSES[content["model_type"]]])
    set_dtype(content, dtype)
    write_atomically(folder / "config.json", dump_json(content))
    generation = backend.source.config.parent / "generation_config.json"
    if backend.source.weights is not None and generation.is_file():
        shutil.copyfile(generation, folder / generation.name)
