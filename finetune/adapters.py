"""Which linear modules get an adapter: one rule, and one wording of what is wrong, for both backends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from finetune.checkpoint.layout import LAYER_ROWS
from finetune.gemma4 import Gemma4Config
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError

Layers = Sequence[tuple[str, Sequence[str]]]


def match_targets(layers: Layers, spec: LoraSpec) -> dict[str, int]:
    """Number of modules of each target.

    Args:
        layers: each layer's name, and the last parts of the names of its linear modules.
        spec: the recipe's ``[lora]``.

    Raises:
        VerievalError: a target matches nothing, or a layer has only some of the targets.
    """
    counts: Counter[str] = Counter(dict.fromkeys(spec.targets, 0))
    lacking: dict[str, list[str]] = {}
    for layer_name, linears in layers:
        found = Counter(name for name in linears if name in counts)
        counts.update(found)
        if missing := [name for name in spec.targets if name not in found and name not in spec.optional]:
            lacking[layer_name] = missing
    nothing = [name for name, count in counts.items() if not count]
    if nothing:
        has = sorted({name for _, linears in layers for name in linears})
        raise VerievalError(
            f"lora.targets: {nothing[0]!r} matches no linear module in the {len(layers)} layers of the "
            f"language model; it has {', '.join(has)}"
        )
    if lacking:
        layer_name, missing = next(iter(lacking.items()))
        more = f" ({len(lacking)} layers are so)" if len(lacking) > 1 else ""
        raise VerievalError(
            f"lora.targets: the layer {layer_name} has no {' and no '.join(missing)}{more}; name it in lora.optional "
            "if that is how the model is built"
        )
    return dict(counts)


def target_pattern(prefix: str, targets: Iterable[str]) -> str:
    """The targets as peft matches them, within the language model's layers alone: a vision tower has such names, too.

    Args:
        prefix: of the language model's names.
        targets: last parts of the names of its linear modules.
    """
    return rf"{re.escape(prefix)}layers\.\d+\.(?:.+\.)?(?:{'|'.join(map(re.escape, targets))})"


def say_matched(counts: dict[str, int], layers: int) -> str:
    """A sentence with the number of modules that were matched."""
    said = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"adapters on {sum(counts.values())} modules in {layers} layers: {said}"


def match(config: Gemma4Config, spec: LoraSpec, prefix: str | None = None) -> tuple[dict[str, int], str]:
    """Number of modules of each target, and a sentence that says so.

    Args:
        config: of the model.
        spec: the recipe's ``[lora]``.
        prefix: of the text model's names in its checkpoint, for errors; None takes transformers' own.

    Raises:
        VerievalError: a target matches nothing, or a layer has only some of the targets.
    """
    before = config.prefix if prefix is None else prefix
    layers = [
        (
            f"{before}layers.{index}",
            [row.linear for row in LAYER_ROWS if row.linear and row.where(config, shape)],
        )
        for index, shape in enumerate(config.layers)
    ]
    counts = match_targets(layers, spec)
    return counts, say_matched(counts, len(layers))
