"""What a folder is: a model or an adapter, in which form, under which naming; and its weights, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from finetune.checkpoint import peft
from finetune.checkpoint.layout import (
    LAYER_ROWS,
    PEFT_PREFIX,
    Place,
    Tensor,
    account,
    adapters,
    find_prefix,
    may_pass,
    places,
    tensors,
)
from finetune.checkpoint.orbax import find_item, open_orbax
from finetune.checkpoint.peft import Lora
from finetune.checkpoint.tensorfile import INDEX, SINGLE, Stored, open_folder
from finetune.gemma4 import Gemma4Config, load_config
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError
from verieval.run.jsonl import load_json

Array = NDArray[Any]
Key = tuple[str, int]
BESIDE_FILE = "beside.safetensors"
# In an Orbax checkpoint the weights may be a branch of a larger tree, of which nothing else is a weight.
_BRANCHES = ("", "weights.", "params.", "model.", "model_params.")
_STATE = ("first", "second", "count", "step", "steps", "opt_state", "optimizer", "optimizer_state", "rngs", "rng")


class Store(Protocol):
    """Named tensors that can be read one by one."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every tensor."""

    def dtype(self, name: str) -> str:
        """Of a tensor."""

    def read(self, name: str, index: tuple[Any, ...] = ()) -> Array:
        """A tensor, or a part of one."""


@dataclass(frozen=True, eq=False)
class Source:
    """A model or an adapter.

    Attributes:
        folder: where it is.
        form: ``safetensors`` (transformers), ``orbax`` or ``peft``.
        naming: of its tensors.
        kind: what it is.
        store: its tensors.
        config: of the model, or of the adapter's base.
        config_file: from which it was read.
        arrays: which it holds.
        prefix: of its names.
        lora: an adapter's settings.
        passed: names of tensors that are not the text model's weights.
        beside: where such tensors can be had from, to go along.
    """

    folder: Path
    form: Literal["safetensors", "orbax", "peft"]
    naming: str
    kind: Literal["model", "adapter"]
    store: Store
    config: Gemma4Config
    config_file: Path
    arrays: tuple[Tensor, ...]
    prefix: str
    lora: Lora | None = None
    passed: tuple[str, ...] = ()
    beside: tuple[Stored, tuple[str, ...]] | None = None

    @cached_property
    def places(self) -> Mapping[Key, Place]:
        """Where each weight is."""
        return {place.key: place for place in places(self.arrays, self.naming, self.prefix)}

    def dtype(self, key: Key) -> str:
        """Of a weight."""
        return self.store.dtype(self.places[key].name)

    def read(self, key: Key, naming: str) -> Array:
        """A weight, with the axes of a naming."""
        place = self.places[key]
        array: Array = place.tensor.carry(self.store.read(place.name, place.index), self.naming, naming)
        return array


def open_source(folder: Path, *, base: Path | None = None, alpha: float | None = None) -> Source:
    """See what a folder holds, and that it holds all of it.

    Args:
        folder: of a transformers, PEFT or Orbax checkpoint.
        base: folder of the base model, or its ``config.json``; None takes what the checkpoint names.
        alpha: of an adapter whose folder does not say it.

    Raises:
        VerievalError: it is none, or tensors are missing, left over or of another shape.
    """
    item = find_item(folder)
    if item is not None:
        return _open_orbax(folder, item, base, alpha)
    if (folder / peft.CONFIG).is_file():
        return _open_peft(folder, base, alpha)
    if (folder / SINGLE).is_file() or (folder / INDEX).is_file():
        return _open_safetensors(folder, base)
    raise VerievalError(f"{folder} {_what(folder)}")


def _what(folder: Path) -> str:
    """Why a folder is no checkpoint."""
    if not folder.is_dir():
        return "is no folder; check the path"
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    inner = [name for name in names if name in ("model", "adapter", "checkpoints") or name.isdecimal()]
    inner += [name for name in names if name.startswith("step-")]
    if inner:
        return f"is no checkpoint, but holds {', '.join(inner[:4])}; name the one that you mean"
    return (
        f"holds no checkpoint (neither {SINGLE} or its index, nor {peft.CONFIG}, nor Orbax's _METADATA); give the "
        "folder of a model or an adapter"
    )


def _open_safetensors(folder: Path, base: Path | None) -> Source:
    config_file = (base or folder) / "config.json" if base is None or base.is_dir() else base
    config, stored = load_config(config_file), open_folder(folder)
    prefix, arrays = find_prefix(stored.entries, config), tensors(config)
    expected = places(arrays, "transformers", prefix)
    passed = account(stored.shapes, expected, str(folder), passed=may_pass(config, prefix))
    return Source(
        folder, "safetensors", "transformers", "model", stored, config, config_file, arrays, prefix,
        passed=passed, beside=(stored, passed) if passed else None,
    )  # fmt: skip


def _open_peft(folder: Path, base: Path | None, alpha: float | None) -> Source:
    content = peft.read_config(folder)
    config_file = _find_config(folder, base, content)
    config, stored = load_config(config_file), open_folder(peft.find_weights(folder))
    inner = _peft_prefix(stored.entries, config)
    arrays, rank = _find_adapters(config, "transformers", inner, stored.shapes, folder)
    expected = places(arrays, "transformers", inner)
    passed = account(stored.shapes, expected, str(folder), passed=lambda name: False)
    lora = peft.read_lora(content, rank, folder, alpha)
    return Source(
        folder, "peft", "transformers", "adapter", stored, config, config_file, arrays, inner, lora, passed
    )  # fmt: skip


def _peft_prefix(names: Iterable[str], config: Gemma4Config) -> str:
    """As :func:`find_prefix`, of an adapter's names; it may have been trained on the text model alone."""
    known = list(names)
    for inner in (config.prefix, "model.language_model.", "model."):
        if any(name.startswith(f"{PEFT_PREFIX}{inner}layers.") for name in known):
            return PEFT_PREFIX + inner
    return PEFT_PREFIX + config.prefix


def _open_orbax(folder: Path, item: Path, base: Path | None, alpha: float | None) -> Source:
    store = open_orbax(item)
    trained = _training(folder)
    content = peft.read_config(folder) if (folder / peft.CONFIG).is_file() else None
    config_file = _find_config(folder, base, content, trained)
    config = load_config(config_file)
    naming, branch, kind = _find_naming(config, store.shapes, folder)
    own = may_pass(config, branch, naming)
    rules: list[Callable[[str], bool]] = [own, lambda name: name.split(".")[0] in _STATE]
    arrays, lora = tensors(config), None
    if kind == "adapter":
        known = {place.name for place in places(arrays, naming, branch)}  # a trainer may have kept the base as well
        rules.append(known.__contains__)
        arrays, rank = _find_adapters(config, naming, branch, store.shapes, folder)
        lora = peft.find_lora(content, trained, alpha, rank, folder)
    passed = account(
        store.shapes, places(arrays, naming, branch), str(folder), passed=lambda name: any(rule(name) for rule in rules)
    )
    extra = open_folder(folder / BESIDE_FILE) if (folder / BESIDE_FILE).is_file() else None
    beside = None if extra is None else (extra, tuple(extra.entries))
    return Source(folder, "orbax", naming, kind, store, config, config_file, arrays, branch, lora, passed, beside)


def _find_naming(
    config: Gemma4Config, found: Mapping[str, Any], folder: Path
) -> tuple[str, str, Literal["model", "adapter"]]:
    """Whose names an Orbax checkpoint has, in which branch of its tree, and of what."""
    every = LoraSpec(rank=1, alpha=1.0, dropout=0.0, targets=_linears())
    kinds: tuple[tuple[Literal["model", "adapter"], tuple[Tensor, ...]], ...] = (
        ("adapter", adapters(config, every)), ("model", tensors(config)),
    )  # fmt: skip
    for kind, arrays in kinds:
        for naming in ("ours", "tunix"):
            having = [tensor for tensor in arrays if naming == "ours" or naming in tensor.row.forms]
            names = {place.name for place in places(having, naming, "")}
            for branch in _BRANCHES:
                if any(f"{branch}{name}" in found for name in names):
                    return naming, branch, kind
    some = ", ".join(sorted(found)[:3])
    raise VerievalError(
        f"{folder} holds arrays ({some}, ...) that are named neither as here nor as in Tunix's Gemma 4, or are another "
        "model's than the configuration says; give --base the right one"
    )


def _linears() -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.linear for row in LAYER_ROWS if row.linear))


def _find_adapters(
    config: Gemma4Config, naming: str, prefix: str, found: Mapping[str, tuple[int, ...]], folder: Path
) -> tuple[tuple[Tensor, ...], int]:
    """Which linear modules have adapters, by the names that are there, and their rank."""
    targets, ranks = [], set()
    for linear in _linears():
        trial = LoraSpec(rank=1, alpha=1.0, dropout=0.0, targets=(linear,))
        for place in places(adapters(config, trial), naming, prefix):
            if place.name in found and len(found[place.name]) == len(place.shape):
                targets.append(linear)
                # Of the whole tensor's axes, the rank is the first of B, the last of A; transformers has it reversed.
                first = place.tensor.path.endswith("lora_b") != (naming == "transformers")
                shape = found[place.name][2:] if naming == "ours" else found[place.name]
                ranks.add(shape[0 if first else -1])
    if not targets:
        raise VerievalError(f"{folder} holds no adapter of a layer of this model; give --base the model that it is for")
    if len(ranks) > 1:
        raise VerievalError(f"the adapters of {folder} have several ranks ({sorted(ranks)}), which is not read here")
    rank = ranks.pop()
    if rank < 1:
        raise VerievalError(f"the adapters of {folder} have the rank {rank}, and hold nothing; get them again")
    spec = LoraSpec(rank=rank, alpha=1.0, dropout=0.0, targets=tuple(dict.fromkeys(targets)))
    return adapters(config, spec), rank


# ---- what is said elsewhere ------------------------------------------------------------------------------------------


def _training(folder: Path) -> dict[str, Any]:
    """``training.json`` of a folder, or of the run that a checkpoint belongs to; empty where there is none."""
    for place in (folder, folder.resolve().parent.parent):
        try:
            content = load_json((place / "training.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            return content
    return {}


def _find_config(
    folder: Path, base: Path | None, content: Mapping[str, Any] | None, trained: Mapping[str, Any] | None = None
) -> Path:
    """The configuration of the model that a checkpoint is of, or that an adapter is for."""
    model = peft.inner(trained, "recipe", "model")
    named = (content or {}).get("base_model_name_or_path"), model.get("source")
    candidates: Iterable[Path] = (
        [base] if base is not None else [folder, *(Path(name) for name in named if isinstance(name, str) and name)]
    )
    for path in candidates:
        if path.is_file():
            return path
        if (path / "config.json").is_file():
            return path / "config.json"
    if base is not None:
        raise VerievalError(f"{base} has no config.json; give --base the folder of the base model")
    said = next((name for name in named if name), None)
    raise VerievalError(
        f"{folder} does not say of what shape its model is"
        + (f" (it names {said}, which is no folder here)" if said else "")
        + "; give --base the folder of the base model, or its config.json"
    )


__all__ = ["BESIDE_FILE", "Key", "Source", "Store", "open_source"]
