"""PEFT's adapter folders: which of their settings are understood, and what is written into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from finetune.adapters import target_pattern
from finetune.checkpoint.layout import Tensor
from finetune.gemma4 import Gemma4Config
from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.run.jsonl import load_json

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(frozen=True)
class Lora:
    """Settings of an adapter.

    Attributes:
        rank: of its matrices.
        alpha: as it is written.
        scale: of the product of B and A.
        content: PEFT's configuration, where the source has one.
    """

    rank: int
    alpha: float
    scale: float
    content: Mapping[str, Any] | None = None


# Settings under which an adapter is more than B times A, or changes its base; each with what it may be here.
_PLAIN: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("peft_type", lambda value: value == "LORA"),
    ("bias", lambda value: value in (None, "none")),
    ("init_lora_weights", lambda value: value in (None, True, False) or value in ("gaussian", "orthogonal", "eva")),
    *(
        (name, lambda value: not value)
        for name in (
            "use_dora", "fan_in_fan_out", "lora_bias", "use_qalora", "modules_to_save", "rank_pattern",
            "alpha_pattern", "layer_replication", "target_parameters", "trainable_token_indices", "megatron_config",
        )
    ),
)  # fmt: skip


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of an adapter folder.

    Raises:
        VerievalError: it cannot be read, or the adapter is of a kind that is not understood here.
    """
    path = folder / CONFIG
    try:
        content = load_json(read_file(path))
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not valid JSON ({error}); get it again") from None
    if not isinstance(content, dict):
        raise VerievalError(f"{path} must hold a JSON object; get it again")
    for name, is_plain in _PLAIN:
        if not is_plain(content.get(name)):
            raise VerievalError(
                f"{path}: {name} is {content.get(name)!r}, and only plain LoRA is converted; merge it with peft itself"
            )
    return content


def find_weights(folder: Path) -> Path:
    """The safetensors file of an adapter folder.

    Raises:
        VerievalError: there is none.
    """
    if not (folder / WEIGHTS).is_file():
        raise VerievalError(f"{folder} has a {CONFIG} but no {WEIGHTS}; save the adapter as safetensors")
    return folder / WEIGHTS


def read_lora(content: Mapping[str, Any], rank: int, folder: Path, given: float | None = None) -> Lora:
    """The settings in a configuration that :func:`read_config` has accepted.

    Args:
        content: the configuration.
        rank: of the weights.
        folder: for errors.
        given: alpha as the user says it, where the configuration does not.

    Raises:
        VerievalError: it does not belong to the weights, or says another alpha than the user.
    """
    alpha = content.get("lora_alpha")
    if given is not None and alpha is not None and alpha != given:
        raise VerievalError(f"{folder / CONFIG} says lora_alpha = {alpha!r}, and --alpha says {given}; leave it out")
    if alpha is None and given is not None:
        alpha, content = given, {**content, "lora_alpha": given}
    if content.get("r") != rank:
        raise VerievalError(f"{folder / CONFIG} says r = {content.get('r')!r}, and the weights have the rank {rank}")
    if not _is_number(alpha):
        raise VerievalError(f"{folder / CONFIG}: lora_alpha must be a number, and is {alpha!r}")
    return Lora(rank, alpha, alpha / (math.sqrt(rank) if content.get("use_rslora") else rank), content)


def find_lora(
    content: Mapping[str, Any] | None, trained: Mapping[str, Any], alpha: float | None, rank: int, folder: Path
) -> Lora:
    """The settings of an adapter that is no PEFT folder.

    Args:
        content: PEFT's configuration, where one lies beside it.
        trained: ``training.json``, or empty.
        alpha: what the user says.
        rank: of the weights.
        folder: for errors.

    Raises:
        VerievalError: nobody says alpha, or two say different things.
    """
    if content is not None:
        return read_lora(content, rank, folder, alpha)
    said = inner(trained, "recipe", "lora").get("alpha")
    if alpha is not None and said is not None and alpha != said:
        raise VerievalError(f"{folder} was trained with alpha = {said}, and --alpha says {alpha}; leave it out")
    chosen = said if alpha is None else alpha
    if not _is_number(chosen):
        raise VerievalError(
            f"the adapter {folder} (rank {rank}) does not say its alpha; give --alpha, as it was trained with"
        )
    return Lora(rank, float(chosen), chosen / rank)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def inner(content: Mapping[str, Any] | None, *names: str) -> Mapping[str, Any]:
    """A table within tables; empty where there is none."""
    found: Any = content
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def make_config(lora: Lora, arrays: tuple[Tensor, ...], config: Gemma4Config, base: str) -> dict[str, Any]:
    """The configuration of an adapter folder that has been converted."""
    if lora.content is not None:
        return dict(lora.content)
    return plain_config(
        base=base or None,
        rank=lora.rank,
        alpha=int(lora.alpha) if float(lora.alpha).is_integer() else lora.alpha,
        dropout=0.0,
        targets=target_pattern(config.prefix, sorted({tensor.row.linear for tensor in arrays})),
    )


def plain_config(*, base: str | None, rank: int, alpha: float, dropout: float, targets: str) -> dict[str, Any]:
    """PEFT's configuration of an adapter as this project makes them; what is not in it has peft's defaults."""
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": dropout,
        "target_modules": targets,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
