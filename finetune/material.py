"""What a run learns from: the recipe's rows as tokens, with the tokenizer and the chat template that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.data.batch import ROLES, TokenRow
from finetune.recipe import Recipe

MOST_SYSTEMS = 16
_SYSTEM = ROLES.index("system")


@dataclass(frozen=True)
class Material:
    """What a run learns from.

    Attributes:
        rows, heldout: as tokens.
        data: for ``training.json``: ``sha256`` of the rows, and what else is known of them.
        tokenizer: transformers' own.
        template: text of the chat template that rendered the rows.
        end_of_turn: id of the token that ends the assistant's turn; None where it is not known.
        system_sha256: of the rows' system turns, see :func:`system_turns`; None where there are too many.
        prompt_sha256: of the prompt template that made the users' turns, where one of this project's made them all.
    """

    rows: Sequence[TokenRow]
    heldout: Sequence[TokenRow]
    data: Mapping[str, Any]
    tokenizer: Any
    template: str
    end_of_turn: int | None = None
    system_sha256: Sequence[str] | None = None
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
        system_turns(data.train, tokenizer),
        data.prompt_sha256,
    )


def system_turns(rows: Sequence[TokenRow], tokenizer: Any) -> list[str] | None:
    """Hashes of the rows' system turns as :func:`verieval.protocol.system_sha256` makes them, sorted.

    Evaluation says when it asks with a system turn that the model has never seen. Returns None where every row may have
    one of its own (more than :data:`MOST_SYSTEMS`).
    """
    from verieval.completion import Message
    from verieval.protocol import system_sha256

    distinct = {row.ids[row.roles == _SYSTEM].tobytes() for row in rows}
    if len(distinct) > MOST_SYSTEMS:
        return None
    found = set()
    for raw in distinct:
        ids = np.frombuffer(raw, dtype=np.int32).tolist()
        text = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False) if ids else ""
        found.add(system_sha256([Message("system", text)]))
    return sorted(found)
