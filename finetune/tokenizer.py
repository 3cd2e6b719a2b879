"""The tokenizer of a recipe's model, and the chat template that it is trained with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from finetune.recipe import ModelSpec
from verieval.chat import CHAT_FORMATS, chat_template
from verieval.errors import VerievalError


def load_tokenizer(spec: ModelSpec) -> Any:
    """Load the tokenizer.

    Args:
        spec: ``tokenizer`` where it is given, else ``source``, a folder or a hub id.

    Raises:
        VerievalError: the torch extra is missing, there is no tokenizer, or it has no Rust core, which alone says
            where in a text its tokens are.
    """
    name = spec.tokenizer_source
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise VerievalError("fine-tuning needs the torch extra: pip install 'verieval[torch]'") from error
    folder = Path(name).expanduser()
    options = {"revision": spec.revision} if spec.revision and not spec.tokenizer and not folder.is_dir() else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder) if folder.is_dir() else name, **options)
    except Exception as error:  # transformers raises whatever its many loaders raise
        said = next(iter(str(error).strip().splitlines()), "")
        raise VerievalError(f"cannot load the tokenizer of {name}: {type(error).__name__}: {said}") from error
    if not tokenizer.is_fast:
        raise VerievalError(f"the tokenizer of {name} has no tokenizer.json: export it as a fast tokenizer first")
    return tokenizer


def training_template(tokenizer: Any, chat_format: str) -> tuple[str, str]:
    """The chat template to train with, and where it comes from (``checkpoint`` or ``format:NAME``).

    Args:
        tokenizer: whose own template ``auto`` takes.
        chat_format: ``auto``, or one of :data:`verieval.chat.CHAT_FORMATS`.

    Raises:
        VerievalError: ``auto``, and the checkpoint has none.
    """
    if chat_format != "auto":
        return chat_template(chat_format), f"format:{chat_format}"
    own = tokenizer.chat_template
    if isinstance(own, dict):
        own = own.get("default")
    if not own:
        raise VerievalError(
            f"the checkpoint brings no chat template: set model.chat_format to one of {', '.join(CHAT_FORMATS)}"
        )
    return str(own), "checkpoint"
