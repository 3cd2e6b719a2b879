"""Conversations to token ids and roles, in one pass.

A conversation is cut where the assistant begins and where its turn ends (:mod:`finetune.data.turns`). What stands
before an answer is exactly what evaluation feeds (:func:`verieval.chat_tokens.encode_chat`): the conversation so far
and the generation prompt. The answer is tokenised by itself, so no token can reach over the boundary:

    template, system and user turns, generation prompt | the answer and the token that ends the turn | next turns ...

The end-of-turn token is the assistant's: a model that does not learn it never stops. What a format writes after it
(Gemma's and ChatML's line end, nothing in Llama 3) is the template's: generation stops before it. At the end of the row
nothing comes after it, because no model will ever read it.

A template whose generation prompt goes on after the opening of the turn (that of the larger Gemma 4 closes an empty
thought there) is trained as it is evaluated, from the generation prompt. A template that changes what was said before
when the conversation goes on, or whose turns have no end, is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.data.batch import ASSISTANT, TokenRow
from finetune.data.conversation import CHANGED, Conversation, Dropped
from finetune.data.turns import ASK, CHOOSE, SAY, Segment, Turns
from verieval.chat_tokens import Shield, control_tokens, encode_chat, named_tokens
from verieval.completion import Message
from verieval.errors import VerievalError

_ODD = Message("user", "\n\n  caf\u00e9 \U0001f600 <x> {{ y }}\t\n")
_SYSTEM = Message("system", "Be brief.")


class Renderer:
    """Turns conversations into :class:`finetune.data.batch.TokenRow`.

    Attributes:
        template: Jinja text of the chat template: what an export has to carry.
        format: ``checkpoint`` or ``format:NAME``.
        generation_prompt_ids: what stands between the conversation and the model's answer.
        end_of_turn: id of the token that ends the assistant's turn: generation must stop at it.
        longest_token: characters that a token spells at most.
    """

    def __init__(self, tokenizer: Any, template: str, source: str) -> None:
        """Find out where the template's turns begin and end, and check that training equals evaluation.

        Args:
            tokenizer: of transformers, with a Rust core.
            template: Jinja text.
            source: where it comes from, see :func:`finetune.tokenizer.training_template`.

        Raises:
            VerievalError: training cannot follow this template, with the reason.
        """
        self.tokenizer = tokenizer
        self.template = template
        self.format = source
        self._controls = control_tokens(tokenizer)
        self._turns = Turns(template, source, named_tokens(tokenizer), self._controls_in)
        self.end_of_turn = self._turns.end_of_turn
        self.longest_token = max(map(len, tokenizer.get_vocab()))
        self.generation_prompt_ids: tuple[int, ...] = tuple(self._encode([self._turns.generation])[0][0])
        self._check()

    def describe(self) -> dict[str, Any]:
        """What ``training.json`` says of it."""
        return {
            "chat_template_sha256": hashlib.sha256(self.template.encode()).hexdigest(),
            "format": self.format,
            "generation_prompt_ids": list(self.generation_prompt_ids),
            "end_of_turn": self.end_of_turn,
        }

    def row(self, conversation: Conversation) -> TokenRow | Dropped:
        """One conversation, see :meth:`rows`."""
        return self.rows([conversation])[0]

    def rows(self, conversations: Sequence[Conversation]) -> list[TokenRow | Dropped]:
        """Tokens and roles of conversations, in order.

        Returns:
            A row each; :class:`Dropped` where the template changes what its turns say.

        Raises:
            VerievalError: a conversation has nothing that could be learnt, or the template cannot be followed; with the
                conversation's name.
        """
        cut = [self._segments(conversation.name, conversation.messages) for conversation in conversations]
        prompts = iter(self._encode([part.text for segments in cut for part in (segments or ())[0::2]]))
        answers = iter(self._encode([part.text for segments in cut for part in (segments or ())[1::2]], offsets=False))
        rows: list[TokenRow | Dropped] = []
        for conversation, segments in zip(conversations, cut, strict=True):
            found = [next(answers if index % 2 else prompts) for index in range(len(segments or ()))]
            if segments is not None and self._are_controls(segments, found):
                rows.append(_join(conversation.name, segments, found))
            else:  # a turn spells a control token, which the template may have taken for one
                rows.append(self._shielded(conversation))
        return rows

    def _segments(self, name: str, messages: Sequence[Message]) -> list[Segment] | None:
        try:
            return self._turns.segments(messages)
        except VerievalError as error:
            raise VerievalError(f"{name}: {error}") from error

    def _encode(self, texts: Sequence[str], *, offsets: bool = True) -> list[tuple[list[int], Any]]:
        """Ids and offsets of texts; offsets cost as much as ids, and nobody asks for an answer's."""
        if not texts:
            return []
        done = self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_offsets_mapping=offsets,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        ids = done["input_ids"]
        return list(zip(ids, done["offset_mapping"] if offsets else [()] * len(ids), strict=True))

    def _controls_in(self, text: str) -> list[tuple[int, int]]:
        """Control tokens in a text: id, and where it ends."""
        ((ids, offsets),) = self._encode([text])
        return [(token, end) for token, (_, end) in zip(ids, offsets, strict=True) if token in self._controls]

    def _are_controls(self, segments: Sequence[Segment], found: Sequence[tuple[list[int], Any]]) -> bool:
        """The control tokens are the template's, and no turn spells one."""
        return all(
            sum(map(self._controls.__contains__, ids)) == segment.controls
            for segment, (ids, _) in zip(segments, found, strict=True)
        )

    def _shielded(self, conversation: Conversation) -> TokenRow | Dropped:
        """A conversation whose turns spell control tokens: they stay text. One without them cannot be followed."""
        shield = Shield.over(self.tokenizer, [message.content for message in conversation.messages])
        covered = [replace(message, content=shield.cover(message.content)) for message in conversation.messages]
        segments = self._segments(conversation.name, covered) if shield.covers else None
        if segments is None:
            return Dropped(conversation.name, CHANGED)
        done = [shield.encode(self.tokenizer, segment.text) for segment in segments]
        found = [(part.ids, [(start, start) for start in part.starts]) for part in done]
        if not self._are_controls(segments, found):
            return Dropped(conversation.name, CHANGED)  # the template puts one together from parts of a turn
        return _join(conversation.name, segments, found)

    def _check(self) -> None:
        """Training's prompts are evaluation's, an answer can be read back, and the first token stands there once."""
        for messages in ([ASK], [_ODD], [_SYSTEM, ASK]):
            try:
                row = self.row(Conversation("a first conversation", (*messages, SAY), ""))
            except VerievalError:
                if messages[0] == _SYSTEM:
                    continue  # the template has no system turn; a row with one will say so by its name
                raise
            fed = encode_chat(self.tokenizer, messages, self.template)
            if isinstance(row, Dropped):
                raise VerievalError(f"the chat template ({self.format}) changes what a turn says: {CHOOSE}")
            if row.ids[: len(fed)].tolist() != fed or row.roles[len(fed)] != ASSISTANT:
                raise VerievalError(
                    f"with the chat template ({self.format}) the prompt of training is not the prompt of evaluation, "
                    f"token by token: {CHOOSE}"
                )
            if tuple(fed[-len(self.generation_prompt_ids) :]) != self.generation_prompt_ids:
                raise VerievalError(
                    f"the tokens of the generation prompt of the chat template ({self.format}) depend on what stands "
                    f"before: {CHOOSE}"
                )
            if messages[0] != _ODD:  # a tokenizer may normalise what is beyond ASCII, in evaluation too
                self._check_text(messages, row)
            self._check_first(row)

    def _check_text(self, messages: Sequence[Message], row: TokenRow) -> None:
        prompt = self._turns.prompt(messages)
        text = prompt + (self._turns.answer([*messages, SAY], prompt) or "")
        decoded = self.tokenizer.decode(row.ids.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        if decoded != text:
            raise VerievalError(
                "this tokenizer does not give back prompt and answer when they are tokenised one by one "
                f"({decoded[-40:]!r} for {text[-40:]!r}), so training would not equal generation; use one that does"
            )

    def _check_first(self, row: TokenRow) -> None:
        """The token that begins a text (``<bos>``) stands there once, where the tokenizer itself wants it."""
        bos = self.tokenizer.bos_token_id
        if bos is None:
            return
        count, wanted = row.ids.tolist().count(bos), self.tokenizer("x")["input_ids"][:1] == [bos]
        if count > 1 or (count and row.ids[0] != bos) or (wanted and not count):
            raise VerievalError(
                f"the chat template ({self.format}) writes {self.tokenizer.bos_token} {count} times, and it must stand "
                f"once, at the beginning: {CHOOSE}"
            )


def _join(name: str, segments: Sequence[Segment], encoded: Sequence[tuple[list[int], Any]]) -> TokenRow:
    """Ids and roles of a row, segment by segment; a token has the role of its first character.

    Raises:
        VerievalError: no token is supervised.
    """
    ids: list[int] = []
    roles: list[NDArray[np.uint8]] = []
    for segment, (tokens, offsets) in zip(segments, encoded, strict=True):
        ids += tokens
        if segment.roles[0] == ASSISTANT:
            roles.append(np.full(len(tokens), ASSISTANT, dtype=np.uint8))
        else:
            starts = np.fromiter((start for start, _ in offsets), dtype=np.int64, count=len(tokens))
            roles.append(segment.roles[np.minimum(starts, len(segment.text) - 1)])
    row = TokenRow(name, np.array(ids, dtype=np.int32), np.concatenate(roles))
    if not row.supervised:
        raise VerievalError(f"{name}: no token of the row is supervised, so nothing could be learnt; take it out")
    return row
