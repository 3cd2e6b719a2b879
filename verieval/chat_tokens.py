"""From a conversation to the token ids that a model reads: one way for evaluation and for training.

What a turn says is text, whatever it spells. A control token (``<turn|>``, ``<|im_end|>``, …) in a task's prompt or in
a training row is not the token: it is encoded letter by letter, so that data cannot end a turn or open one. Only what
the chat template itself writes becomes control tokens.

The tokenizer is one of transformers; nothing here imports transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from verieval.chat import render_chat
from verieval.completion import Message
from verieval.errors import VerievalError

_MARKS = range(0xE000, 0xF900)  # private use: no text that means something has them


@dataclass(frozen=True)
class Encoded:
    """Token ids of a text.

    Attributes:
        ids: the tokens.
        starts: where each begins in the text, in characters; only told where something was covered.
    """

    ids: list[int]
    starts: list[int]


def named_tokens(tokenizer: Any) -> dict[str, str]:
    """Special tokens by the name that templates use (``bos_token``, …)."""
    return {name: token for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)}


def control_tokens(tokenizer: Any) -> Mapping[int, str]:
    """Tokens that steer the model, by id. Other added tokens (Qwen's ``<think>``) are words like any other."""
    return _control_tokens(tokenizer, len(tokenizer))


@lru_cache(maxsize=4)  # a family has thousands, and every request asks
def _control_tokens(tokenizer: Any, _: int) -> Mapping[int, str]:
    return {index: token.content for index, token in tokenizer.added_tokens_decoder.items() if token.special}


def encode_chat(
    tokenizer: Any, messages: Sequence[Message], template: str, *, add_generation_prompt: bool = True
) -> list[int]:
    """Token ids of a conversation; the template writes the special tokens, the first one too.

    Raises:
        VerievalError: the template refuses the conversation, or a turn spells a control token and this tokenizer
            cannot write it as text.
    """
    shield = Shield.over(tokenizer, [message.content for message in messages])
    shielded = [replace(message, content=shield.cover(message.content)) for message in messages]
    text = render_chat(shielded, template, add_generation_prompt=add_generation_prompt, tokens=named_tokens(tokenizer))
    return shield.encode(tokenizer, text).ids


@dataclass(frozen=True)
class Shield:
    """Stands before a template: control tokens that contents spell are covered by marks that mean nothing to it.

    Attributes:
        covers: what each mark stands for; mostly empty.
    """

    covers: Mapping[str, str]

    @classmethod
    def over(cls, tokenizer: Any, contents: Sequence[str]) -> Shield:
        """For contents; empty where none spells a control token."""
        controls = control_tokens(tokenizer)
        found: dict[str, None] = {}
        for ids in tokenizer(list(contents), add_special_tokens=False)["input_ids"] if contents else ():
            found.update(dict.fromkeys(controls[index] for index in ids if index in controls))
        used = set().union(*contents)
        marks = (chr(code) for code in _MARKS if chr(code) not in used)
        # A longer one first: one control token may stand within another.
        return cls({mark: token for token, mark in zip(sorted(found, key=len, reverse=True), marks, strict=False)})

    def cover(self, content: str) -> str:
        """The content with marks in the place of control tokens."""
        for mark, token in self.covers.items():
            content = content.replace(token, mark)
        return content

    def encode(self, tokenizer: Any, text: str) -> Encoded:
        """Ids of a rendered text, the covered tokens as plain text; ``starts`` count in the covered text.

        Raises:
            VerievalError: with this tokenizer, parts of a text have other tokens than the whole.
        """
        if not self.covers:
            return Encoded(list(tokenizer(text, add_special_tokens=False)["input_ids"]), [])
        if tokenizer.is_fast:
            whole = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            if self._in_parts(tokenizer, text, whole, plain=False).ids == whole["input_ids"]:
                return self._in_parts(tokenizer, text, whole, plain=True)
        raise VerievalError(
            f"a turn spells the control token {next(iter(self.covers.values()))}, and this tokenizer cannot encode a "
            "text in parts, which would keep it from being one: take it out of the text"
        )

    def _in_parts(self, tokenizer: Any, text: str, whole: Any, *, plain: bool) -> Encoded:
        """Encode what stands between the template's control tokens, part by part."""
        controls = control_tokens(tokenizer)
        ids: list[int] = []
        starts: list[int] = []
        done = 0
        offsets = whole["offset_mapping"]
        stops = [(offsets[at], index) for at, index in enumerate(whole["input_ids"]) if index in controls]
        for (start, end), index in [*stops, ((len(text), len(text)), None)]:
            part = self._part(tokenizer, text[done:start], plain=plain)
            ids += part.ids
            starts += [done + place for place in part.starts]
            if index is not None:
                ids.append(index)
                starts.append(start)
            done = end
        return Encoded(ids, starts)

    def _part(self, tokenizer: Any, text: str, *, plain: bool) -> Encoded:
        if not text:
            return Encoded([], [])
        shown = [self.covers.get(char, char) for char in text] if plain else list(text)
        back = [place for place, piece in enumerate(shown) for _ in piece]
        done = tokenizer(
            "".join(shown), add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
        )
        return Encoded(done["input_ids"], [back[min(start, len(back) - 1)] for start, _ in done["offset_mapping"]])
