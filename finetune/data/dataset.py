"""From a recipe to the rows that are trained on and those that are held out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from finetune.data.batch import TokenRow
from finetune.data.conversation import (
    ALSO_HELD_OUT,
    NOT_COMPILED,
    OVERLAPS,
    TOO_LONG,
    Conversation,
    Dropped,
)
from finetune.data.filters import Compiler, Overlap
from finetune.data.prompts import PromptFinder
from finetune.data.reading import Rows, open_rows
from finetune.data.sources import Layout, layout_of, to_conversation
from finetune.data.tokens import Renderer
from finetune.recipe import Recipe, SourceSpec
from finetune.tokenizer import training_template
from verieval.errors import VerievalError
from verieval.training import Bad

CHUNK = 1024  # rows that go through all steps together
_SEEDS = {"limit": 1, "heldout": 2}  # so that one choice says nothing about the other

Progress = Callable[[str, int, int], None]  # source, rows looked at, rows there


@dataclass(frozen=True)
class Dataset:
    """Rows of tokens, and all that is known of where they come from.

    Attributes:
        train: in the order of the sources and their rows.
        heldout: likewise; never trained on.
        dropped: number of rows by reason, see :data:`finetune.data.conversation.REASONS`.
        sources: of each source its path, layout, licences with the number of rows, files with hashes or hub id, and
            the rows that were looked at and kept.
        filters: what compiled and what was searched for, where the recipe asks for it.
        renderer: ``chat_template_sha256``, ``format``, ``generation_prompt_ids`` and ``end_of_turn``.
        template: Jinja text of the chat template, which an export has to carry.
        prompt_sha256: of the prompt of this project that made all users' turns, where one did.
        sha256: fingerprint of all ids and roles, in order.
    """

    train: tuple[TokenRow, ...]
    heldout: tuple[TokenRow, ...]
    dropped: Mapping[str, int]
    sources: tuple[Mapping[str, Any], ...]
    filters: Mapping[str, Any]
    renderer: Mapping[str, Any]
    template: str
    prompt_sha256: str | None
    sha256: str

    def describe(self) -> dict[str, Any]:
        """What ``training.json`` says of the data."""
        return {
            "train": _sizes(self.train),
            "heldout": _sizes(self.heldout),
            "dropped": dict(self.dropped),
            "sources": [dict(source) for source in self.sources],
            "filters": dict(self.filters),
            "renderer": dict(self.renderer),
            "sha256": self.sha256,
        }


def load_dataset(recipe: Recipe, tokenizer: Any, *, progress: Progress | None = None) -> Dataset:
    """Read, filter and tokenise all sources of a recipe.

    The same recipe, files and tokenizer give the same rows in the same order: ``data.seed`` chooses which rows a
    ``limit`` takes and which are held out, and the number of processes changes nothing.

    Args:
        recipe: whose ``[data]`` and ``model.chat_format`` count.
        tokenizer: of transformers, see :func:`finetune.tokenizer.load_tokenizer`.
        progress: called with the name of a source, the rows looked at, and the rows that there are.

    Raises:
        VerievalError: a source cannot be read, the chat template cannot be followed, a row has nothing to learn, or too
            few rows are left; with the reason.
    """
    data = recipe.data
    layouts = [layout_of(source) for source in data.sources]  # a wrong name shows before anything is read
    template, source = training_template(tokenizer, recipe.model.chat_format)
    renderer = Renderer(tokenizer, template, source)
    with ExitStack() as stack:
        filters = _Filters(
            stack.enter_context(Overlap(data.overlap)) if data.overlap else None,
            stack.enter_context(Compiler()) if data.compiles else None,
        )
        reader = _Reader(recipe, renderer, filters, progress or (lambda *_: None), PromptFinder())
        read = [reader.read(index, spec, layouts[index]) for index, spec in enumerate(data.sources)]
    rows = [row for source_rows, _ in read for row in source_rows]
    train, heldout, also = _hold_out(rows, data.heldout, data.seed, reader.dropped)
    dropped = reader.dropped + Counter({ALSO_HELD_OUT: also})
    return Dataset(
        train=train,
        heldout=heldout,
        dropped=dict(sorted(dropped.items())),
        sources=tuple(about for _, about in read),
        filters=filters.describe(),
        renderer=renderer.describe(),
        template=template,
        prompt_sha256=reader.prompts.sha256,
        sha256=fingerprint([*train, *heldout]),
    )


@dataclass(frozen=True)
class _Filters:
    overlap: Overlap | None
    compiler: Compiler | None

    def describe(self) -> dict[str, Any]:
        named = {"overlap": self.overlap, "compiles": self.compiler}
        return {name: part.describe() for name, part in named.items() if part is not None}


@dataclass
class _Reader:
    """Reads sources one after the other, and counts what is dropped."""

    recipe: Recipe
    renderer: Renderer
    filters: _Filters
    progress: Progress
    prompts: PromptFinder
    dropped: Counter[str] = field(default_factory=Counter)

    def read(self, number: int, spec: SourceSpec, layout: Layout) -> tuple[list[TokenRow], dict[str, Any]]:
        """The rows of one source that are kept, in its order, and what there is to say of it."""
        rows = open_rows(spec)
        order = _order(len(rows), spec, number, self.recipe.data.seed)
        wanted = spec.limit or len(rows)
        kept: list[tuple[int, TokenRow]] = []
        licences: Counter[str] = Counter()
        looked_at = 0
        for start in range(0, len(order), CHUNK):
            chunk = order[start : start + CHUNK]
            for index, (row, licence) in zip(chunk, self._rows(rows, chunk, spec, layout), strict=True):
                looked_at += 1
                if isinstance(row, Dropped):
                    self.dropped[row.reason] += 1
                    continue
                kept.append((index, row))
                licences[licence] += 1
                if len(kept) == wanted:
                    break
            self.progress(spec.path, looked_at, len(order))
            if len(kept) == wanted:
                break
        kept.sort(key=lambda pair: pair[0])
        about = {
            "path": spec.path,
            "layout": spec.layout,
            "publisher": layout.publisher,
            "licences": dict(sorted(licences.items())),
            "rows": len(rows),
            "looked_at": looked_at,
            "kept": len(kept),
            **rows.about,
        }
        return [row for _, row in kept], about

    def _rows(
        self, rows: Rows, chunk: Sequence[int], spec: SourceSpec, layout: Layout
    ) -> list[tuple[TokenRow | Dropped, str]]:
        """Each row with its licence, or dropped, in the order of ``chunk``. What costs most is asked last."""
        limit = self.recipe.data.max_tokens
        most = limit * self.renderer.longest_token
        read = [_bounded(self._conversation(*rows.row(index), spec, layout), most) for index in chunk]
        conversations = [item for item in read if isinstance(item, Conversation)]
        tokens = dict(zip(map(id, conversations), self.renderer.rows(conversations), strict=True))
        for conversation in conversations:
            row = tokens[id(conversation)]
            if isinstance(row, TokenRow) and len(row) > limit:
                tokens[id(conversation)] = Dropped(row.name, TOO_LONG)
        for reason, refused in self._questions():
            left = [item for item in conversations if isinstance(tokens[id(item)], TokenRow)]
            for conversation, answer in zip(left, refused(left), strict=True):
                if answer:
                    tokens[id(conversation)] = Dropped(conversation.name, reason)
        for conversation in conversations:
            if isinstance(tokens[id(conversation)], TokenRow):
                self.prompts.see(conversation.messages)
        return [(tokens[id(item)], item.licence) if isinstance(item, Conversation) else (item, "") for item in read]

    def _questions(self) -> list[tuple[str, Callable[[Sequence[Conversation]], list[bool]]]]:
        questions: list[tuple[str, Callable[[Sequence[Conversation]], list[bool]]]] = []
        if self.filters.overlap is not None:
            questions.append((OVERLAPS, self.filters.overlap.overlaps))
        compiler = self.filters.compiler
        if compiler is not None:
            questions.append((NOT_COMPILED, lambda rows: [not passed for passed in compiler.compiles(rows)]))
        return questions

    def _conversation(self, name: str, value: object, spec: SourceSpec, layout: Layout) -> Conversation | Dropped:
        if isinstance(value, Bad):
            return Dropped(name, value.reason)
        return to_conversation(value, name, spec, layout, self.recipe.data.reasoning)


def _bounded(item: Conversation | Dropped, characters: int) -> Conversation | Dropped:
    """What cannot fit is not tokenised to find that out: it may be as long as its file."""
    if isinstance(item, Dropped) or sum(len(message.content.strip()) for message in item.messages) <= characters:
        return item
    return Dropped(item.name, TOO_LONG)


def _order(count: int, spec: SourceSpec, number: int, seed: int) -> list[int]:
    """The rows of a source in the order in which they are looked at."""
    if not spec.limit:
        return list(range(count))
    order: list[int] = np.random.default_rng([seed, _SEEDS["limit"], number]).permutation(count).tolist()
    return order


def _hold_out(
    rows: Sequence[TokenRow], count: int, seed: int, dropped: Counter[str]
) -> tuple[tuple[TokenRow, ...], tuple[TokenRow, ...], int]:
    """Rows to train on, rows held out, and how many of the former were copies of the latter."""
    if not rows or len(rows) <= count:
        why = "; ".join(f"{number} {reason}" for reason, number in dropped.most_common(3))
        raise VerievalError(
            f"{len(rows)} rows are left of the data"
            + (f" (dropped: {why})" if why else "")
            + (f", and {count} are to be held out: lower data.heldout" if rows else ": check the layout and the limits")
        )
    chosen = set(np.random.default_rng([seed, _SEEDS["heldout"]]).permutation(len(rows))[:count].tolist())
    heldout = tuple(row for index, row in enumerate(rows) if index in chosen)
    copies = {row.ids.tobytes() for row in heldout}
    others = [row for index, row in enumerate(rows) if index not in chosen]
    train = tuple(row for row in others if row.ids.tobytes() not in copies)
    if not train:
        raise VerievalError("every row of the data is a copy of one that is held out: lower data.heldout")
    return train, heldout, len(others) - len(train)


def fingerprint(rows: Sequence[TokenRow]) -> str:
    """SHA-256 over the lengths, ids and roles of rows, in order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(len(row).to_bytes(8, "little"))
        digest.update(row.ids.astype("<i4").tobytes())
        digest.update(row.roles.tobytes())
    return digest.hexdigest()


def _sizes(rows: Sequence[TokenRow]) -> dict[str, int]:
    return {
        "rows": len(rows),
        "tokens": sum(len(row) for row in rows),
        "supervised": sum(row.supervised for row in rows),
    }
