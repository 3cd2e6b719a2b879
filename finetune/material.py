"""What a run learns from: the recipe's rows as tokens, with the tokenizer and the chat template that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.batch import TokenRow
from finetune.recipe import Recipe


@dataclass(frozen=True)
class Material:
    """What a run learns from.

    Attributes:
        rows, heldout: as tokens.
        data: for ``training.json``: ``sha256`` of the rows, and what else is known of them.
        tokenizer: transformers' own.
        template: text of the chat template that rendered the rows.
        end_of_turn: id of the token that ends the assistant's turn; None where it is not known.
        prompt_sha256: of the prompt template that made the users' turns, where one of this project's did.
    """

    rows: Sequence[TokenRow]
    heldout: Sequence[TokenRow]
    data: Mapping[str, Any]
    tokenizer: Any
    template: str
    end_of_turn: int | None = None
    prompt_sha256: str | None = None


def prepare(recipe: Recipe, *, progress: Any = None) -> Material:
    """Read and tokenise the recipe's data.

    Args:
        recipe: what to train.
        progress: see :func:`finetune.data.dataset.load_dataset`.

    Raises:
        VerievalError: see :func:`finetune.data.dataset.load_dataset`.
    """
    from finetune.data.dataset import load_dataset
    from finetune.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(recipe.model)
    data = load_dataset(recipe, tokenizer, progress=progress)
    return Material(
        data.train,
        data.heldout,
        data.describe(),
        tokenizer,
        data.template,
        data.renderer.get("end_of_turn"),
    )
