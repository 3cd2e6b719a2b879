"""What a trained model is written as: a PEFT adapter, and transformers' safetensors with the adapter merged in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from finetune.torch_backend.model import DTYPES, quiet

if TYPE_CHECKING:
    from finetune.torch_backend.backend import TorchBackend


def export(backend: TorchBackend, folder: Path) -> dict[str, Any]:
    """Write ``folder/model`` and, with LoRA, ``folder/adapter``; every process takes part, the first one writes.

    The merged weights have the dtype of the base; weights that were trained whole have ``compute_dtype``, the one in
    which every product of the training saw them.

    Returns:
        dtype and, with LoRA, the number of merged modules.
    """
    recipe, model = backend.recipe, backend.language.model
    name = recipe.model.dtype if recipe.lora else recipe.model.compute_dtype
    state = _gather(model, keep=backend.rank == 0)
    if backend.rank:
        return {}
    said: dict[str, Any] = {"dtype": name}
    with quiet():
        if backend.peft is not None:
            _save_adapter(backend.peft, state, folder / "adapter")
            said["merged"] = _merge(model, state)
        _save_model(model, state, DTYPES[name], folder / "model")
    return said


def _gather(model: torch.nn.Module, *, keep: bool) -> dict[str, Tensor]:
    """The whole state on the CPU, shard after shard; empty where it is not kept. Tied weights stay one tensor."""
    state: dict[str, Tensor] = {}
    seen: dict[int, Tensor] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            seen[id(tensor)] = whole.detach().cpu() if keep else torch.empty(0)
        if keep:
            state[name] = seen[id(tensor)]
    return state


def _save_adapter(peft: Any, state: Mapping[str, Tensor], folder: Path) -> None:
    named = {f"base_model.model.{name}": tensor for name, tensor in state.items()}
    peft.save_pretrained(str(folder), state_dict=named, save_embedding_layers=False)


def _merge(model: torch.nn.Module, state: dict[str, Tensor]) -> int:
    """Add each adapter to its base weight, in float32, and give every tensor the name that the bare model has.

    Returns:
        How many modules were merged.

    Raises:
        RuntimeError: a merge changes nothing, though its adapter is not zero.
    """
    count = 0
    for name, module in model.named_modules():
        if not hasattr(module, "lora_A"):
            continue
        base = state.pop(f"{name}.base_layer.weight")
        down, up = (state.pop(f"{name}.{part}.default.weight").float() for part in ("lora_A", "lora_B"))
        delta = module.scaling["default"] * (up @ down)
        merged = (base.float() + delta).to(base.dtype)
        # Rounding to the base's dtype may swallow a small change in part, hardly in the whole of a matrix.
        if delta.any() and torch.equal(merged, base):
            raise RuntimeError(f"merging the adapter of {name} changes nothing: it is smaller than {base.dtype} holds")
        state[f"{name}.weight"] = merged
        if f"{name}.base_layer.bias" in state:
            state[f"{name}.bias"] = state.pop(f"{name}.base_layer.bias")
        count += 1
    return count


def _save_model(model: Any, state: Mapping[str, Tensor], dtype: torch.dtype, folder: Path) -> None:
    """Save through an empty model of the same class, which knows the names of its checkpoints and nothing of peft."""
    with torch.device("meta"):
        model.config._attn_implementation = "sdpa"  # the name of a way to compute is nothing to ship
        bare = type(model)._from_config(model.config, dtype=dtype)
    bare.generation_config = model.generation_config
    expected = dict(bare.state_dict())
    unknown, missing = sorted(set(state) - set(expected)), sorted(set(expected) - set(state))
    if unknown or missing:
        raise RuntimeError(f"the trained model has other weights than its class: {[*unknown, *missing][:3]}")
    cast: dict[int, Tensor] = {}
    for tensor in state.values():
        if id(tensor) not in cast:
            cast[id(tensor)] = tensor.to(dtype) if tensor.is_floating_point() else tensor
    # Of tied weights the first name is written; the class knows the others.
    kept = {id(tensor): name for name, tensor in reversed(list(state.items()))}
    bare.save_pretrained(str(folder), state_dict={name: cast[key] for key, name in kept.items()})
