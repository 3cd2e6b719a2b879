"""Low-rank adapters through peft: which modules get one is decided here, exactly, and said."""

from __future__ import annotations

from typing import Any

from torch import nn

from finetune import adapters
from finetune.recipe import LoraSpec
from finetune.torch_backend.model import Language


def add_lora(language: Language, spec: LoraSpec, *, source: str, revision: str = "") -> tuple[Any, str]:
    """Freeze the model and put adapters into its language model; A is drawn from torch's generator, B is zero.

    Adapters are float32, whatever the base's dtype.

    Args:
        language: changed in place.
        spec: the recipe's ``[lora]``.
        source: what the adapter's config names as its base.
        revision: of a hub id.

    Returns:
        The ``PeftModel``, and a sentence with the number of modules that were matched.

    Raises:
        VerievalError: a target matches nothing, or a layer has only some of the targets.
    """
    from peft import LoraConfig, TaskType, get_peft_model

    counts = match_targets(language, spec)
    config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=spec.rank,
        lora_alpha=spec.alpha,  # type: ignore[arg-type]  # peft says int and divides it by the rank
        lora_dropout=spec.dropout,
        target_modules=adapters.target_pattern(language.prefix, spec.targets),
        bias="none",
        init_lora_weights=True,
        base_model_name_or_path=source,
        revision=revision or None,
    )
    for parameter in language.model.parameters():
        parameter.requires_grad_(False)
    wrapped = get_peft_model(language.model, config, autocast_adapter_dtype=True)
    # peft names the class's own path in the config; the recipe's is what a reader of the adapter needs.
    config.base_model_name_or_path = source
    adapted = sum(hasattr(module, "lora_A") for module in wrapped.modules())
    if adapted != sum(counts.values()):
        raise RuntimeError(f"peft adapted {adapted} modules where {sum(counts.values())} were matched")
    return wrapped, adapters.say_matched(counts, len(language.layers))


def match_targets(language: Language, spec: LoraSpec) -> dict[str, int]:
    """Number of modules of each target.

    Raises:
        VerievalError: see :func:`add_lora`.
    """
    layers = [(f"{language.prefix}layers.{index}", _linears(layer)) for index, layer in enumerate(language.layers)]
    return adapters.match_targets(layers, spec)


def _linears(layer: nn.Module) -> list[str]:
    return [name.rpartition(".")[2] for name, module in layer.named_modules() if isinstance(module, nn.Linear)]
