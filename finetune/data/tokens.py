"""Conversations to token ids and roles, in one pass.

A conversation is cut where the assistant begins and where its turn ends. What stands before an answer is exactly what
evaluation feeds (:func:`verieval.chat_tokens.encode_chat`): the conversation so far and the generation prompt. The
answer is tokenised by itself, so no token can reach over the boundary:

    template, system and user turns, generation prompt | the answer and the token that ends the turn | next turns ...

The end-of-turn token is the assistant's: a model that does not learn it never stops. What a format writes after it
(Gemma's and ChatML's line end, nothing in Llama 3) is the template's: generation stops before it. At the end of the row
nothing comes after it, because no model will ever read it.

A checkpoint's own template is a program, so where its turns begin and end is found by rendering with known contents,
and then verified on each row: the text must be the template's pieces with the turns between them. A template whose
generation prompt goes on after the opening of the turn (Gemma 4's own closes an empty thought there) is trained as it
is evaluated, from the generation prompt. A template that rewrites what was said before when the conversation goes on,
or whose turns have no end, is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.data.batch import ASSISTANT, ROLES, TokenRow
from finetune.data.conversation import CHANGED, Conversation, Dropped
from verieval.chat import render_chat
from verieval.chat_tokens import Shield, control_tokens, encode_chat, named_tokens
from verieval.completion import Message
from verieval.errors import VerievalError

_TEMPLATE = ROLES.index("template")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_SPACE = re.compile(r"\s+")
_ASK, _SAY = Message("user", "Which one?\n  // {{8{a}}}"), Message("assistant", "module m;\nendmodule")
_ODD = Message("user", "\n\n  caf\u00e9 \U0001f600 <x> {{ y }}\t\n")
_HOW = "choose another model.chat_format"

Roles = NDArray[np.uint8]


@dataclass(frozen=True)
class Segment:
    """A part of a row that is tokenised by itself.

    Attributes:
        text: its characters.
        roles: of each character.
        controls: how many control tokens the template writes in it.
    """

    text: str
    roles: Roles
    controls: int


@dataclass(frozen=True)
class _Frame:
    """What a template writes around the turns of a prompt: ``pieces`` before, between and after them."""

    pieces: tuple[str, ...]
    turns: tuple[int, ...]
    controls: int


@dataclass(frozen=True)
class _Answer:
    """What a template writes around an answer.

    Attributes:
        opening: from the end of the conversation so far to the content.
        end: after the content, the end-of-turn token with it.
        rest: after that, before the next turn.
        token: id of the end-of-turn token.
        controls: control tokens between the generation prompt and the end, the last one with it.
    """

    opening: str
    end: str
    rest: str
    token: int
    controls: int


class Renderer:
    """Turns conversations into :class:`finetune.data.batch.TokenRow`.

    Attributes:
        template: Jinja text of the chat template: what an export has to carry.
        format: ``checkpoint`` or ``format:NAME``.
        generation_prompt_ids: what stands between the conversation and the model's answer.
        end_of_turn: id of the token that ends the assistant's turn: generation must stop at it.
    """

    def __init__(self, tokenizer: Any, template: str, source: str) -> None:
        """Find out where the template's turns begin and end, and check it against evaluation.

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
        self._named = named_tokens(tokenizer)
        self._controls = control_tokens(tokenizer)
        self._control_ids = np.array(sorted(self._controls), dtype=np.int64)
        self._generation = self._render([_ASK])[len(self._render([_ASK], opening=False)) :]
        self._answer = self._find_answer()
        self._frame = lru_cache(maxsize=256)(self._find_frame)
        self._goes_on: bool | None = None  # the template keeps what was said; None until a row needs to know
        self.end_of_turn = self._answer.token
        self.generation_prompt_ids: tuple[int, ...] = tuple(self._encode([self._generation])[0])
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
            VerievalError: a conversation has nothing that could be learnt, or the template cannot be followed.
        """
        cut = [self._segments(conversation.messages, conversation.name) for conversation in conversations]
        texts = [segment.text for segments in cut for segment in segments or ()]
        encoded = iter(self._encode_with_starts(texts))
        rows: list[TokenRow | Dropped] = []
        for conversation, segments in zip(conversations, cut, strict=True):
            if segments is None:
                rows.append(Dropped(conversation.name, CHANGED))
                continue
            found = [next(encoded) for _ in segments]
            if any(self._count(ids) != part.controls for (ids, _), part in zip(found, segments, strict=True)):
                rows.append(self._shielded(conversation))
            else:
                rows.append(_join(conversation.name, segments, found))
        return rows

    # ---- text

    def _render(self, messages: Sequence[Message], *, opening: bool = True) -> str:
        return render_chat(messages, self.template, add_generation_prompt=opening, tokens=self._named)

    def _segments(self, messages: Sequence[Message], name: str) -> list[Segment] | None:
        """The parts of a conversation; None where the template changes what a turn says."""
        answers = [index for index, message in enumerate(messages) if message.role == "assistant"]
        if not answers:
            raise VerievalError(f"{name} has no turn of the assistant, so no token of it is supervised; take it out")
        if len(answers) > 1:
            self._check_goes_on()
        segments: list[Segment] = []
        said = ""  # all text that is in segments
        after = 0  # the first turn that is not
        for index in answers:
            prompt = self._render(messages[:index])
            answer = self._answer_text(messages[: index + 1], prompt)
            if answer is None or not prompt.startswith(said):
                return None
            prompt_segment = self._prompt_segment(prompt[len(said) :], messages[:index], after)
            if prompt_segment is None:
                return None
            answer_roles = np.full(len(answer), ASSISTANT, dtype=np.uint8)
            segments += [prompt_segment, Segment(answer, answer_roles, self._answer.controls)]
            said = prompt + answer
            after = index + 1
        return segments

    def _answer_text(self, messages: Sequence[Message], prompt: str) -> str | None:
        """What the model has to say after ``prompt``, the end-of-turn token with it."""
        whole, answer = self._render(messages, opening=False), self._answer
        before = len(prompt) - len(self._generation)
        tail = answer.end + answer.rest
        if whole[:before] != prompt[:before] or not whole.endswith(tail):
            return None
        text = whole[before : len(whole) - len(tail)]
        opening = self._generation if text.startswith(self._generation) else answer.opening
        if not text.startswith(opening):
            return None
        text = text[len(opening) :]
        # A template may put reasoning in its own form, but everything that was said must be there.
        if _SPACE.sub("", messages[-1].content) not in _SPACE.sub("", text):
            return None
        return text + answer.end

    def _prompt_segment(self, text: str, messages: Sequence[Message], after: int) -> Segment | None:
        """The part of a prompt from turn ``after`` on, every character with its role."""
        key = tuple((m.role, "" if m.content.strip() else m.content, bool(m.content.strip())) for m in messages)
        frame = self._frame(key, after)
        for content_of in (str, str.strip):
            contents = [content_of(messages[turn].content) for turn in frame.turns]
            pieces = [frame.pieces[0]]
            for content, piece in zip(contents, frame.pieces[1:], strict=True):
                pieces += [content, piece]
            if "".join(pieces) == text:
                speakers = [_TEMPLATE]
                for turn in frame.turns:
                    speakers += [ROLES.index(messages[turn].role), _TEMPLATE]
                roles = np.repeat(np.array(speakers, dtype=np.uint8), [len(piece) for piece in pieces])
                return Segment(text, roles, frame.controls)
        return None

    def _find_frame(self, key: tuple[tuple[Any, str, bool], ...], after: int) -> _Frame:
        """What the template writes around turns of these roles, found with marks in the place of contents."""
        messages = [
            Message(role, f"\ue000{index}\ue001" if says else blank) for index, (role, blank, says) in enumerate(key)
        ]
        text = self._render(messages)
        if after:
            mark = f"\ue000{after - 1}\ue001{self._answer.end}"
            _, found, text = text.partition(mark)
            if not found:
                raise VerievalError(f"the chat template ({self.format}) leaves out turns of the assistant: {_HOW}")
        parts = _MARK.split(text)
        turns = tuple(int(part) for part in parts[1::2])
        wanted = [index for index, (_, _, says) in enumerate(key) if says and index >= after]
        if sorted(turns) != wanted:
            lost = next((key[index][0] for index in wanted if turns.count(index) != 1), "user")
            raise VerievalError(
                f"the chat template ({self.format}) does not write the {lost}'s turn once, as it is: {_HOW}"
            )
        pieces = tuple(parts[0::2])
        # A letter in the place of each turn, so that pieces meet what they meet in a row: text.
        return _Frame(pieces, turns, self._count(self._encode(["x".join(pieces)])[0]))

    def _find_answer(self) -> _Answer:
        """Where an answer begins and ends, from two that differ."""
        asked = self._render([_ASK], opening=False)
        if not self._render([_ASK]).startswith(asked) or not self._generation:
            raise VerievalError(
                f"the chat template ({self.format}) has no generation prompt that follows the conversation: {_HOW}"
            )
        found = [self._split_answer(asked, content) for content in (_SAY.content, "assign y = 1;")]
        if found[0] is None or found[0] != found[1]:
            raise VerievalError(
                f"the chat template ({self.format}) does not write the assistant's turn as its content between "
                f"fixed words: {_HOW}"
            )
        opening, tail = found[0]
        if not opening.startswith(self._generation) and not self._generation.startswith(opening):
            raise VerievalError(
                f"the chat template ({self.format}) opens the assistant's turn otherwise than its generation prompt, "
                f"so training could not equal evaluation: {_HOW}"
            )
        done = self.tokenizer(tail, add_special_tokens=False, return_offsets_mapping=True)
        controls = [(token, at) for token, at in zip(done["input_ids"], done["offset_mapping"], strict=True)]
        token, (_, end) = next(((t, at) for t, at in controls if t in self._controls), (None, (0, 0)))
        if token is None:
            raise VerievalError(
                f"the chat template ({self.format}) ends the assistant's turn with {tail!r}, in which this tokenizer "
                f"has no special token, so a model could not learn to stop: {_HOW}"
            )
        lead = opening.removeprefix(self._generation) if opening.startswith(self._generation) else ""
        count = self._count(self._encode([f"{lead}x{tail[:end]}"])[0])
        return _Answer(opening, tail[:end], tail[end:], token, count)

    def _split_answer(self, asked: str, content: str) -> tuple[str, str] | None:
        whole = self._render([_ASK, Message("assistant", content)], opening=False)
        if not whole.startswith(asked):
            return None
        opening, found, tail = whole[len(asked) :].partition(content)
        return (opening, tail) if found else None

    # ---- tokens

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [ids for ids, _ in self._encode_with_starts(texts)]

    def _encode_with_starts(self, texts: Sequence[str]) -> Iterable[tuple[list[int], Any]]:
        if not texts:
            return []
        done = self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        return zip(done["input_ids"], done["offset_mapping"], strict=True)

    def _count(self, ids: Sequence[int]) -> int:
        """Number of control tokens."""
        return int(np.isin(np.asarray(ids, dtype=np.int64), self._control_ids).sum())

    def _shielded(self, conversation: Conversation) -> TokenRow | Dropped:
        """A conversation whose turns spell control tokens: they stay text."""
        shield = Shield.over(self.tokenizer, [message.content for message in conversation.messages])
        covered = [replace(message, content=shield.cover(message.content)) for message in conversation.messages]
        segments = self._segments(covered, conversation.name) if shield.covers else None
        if segments is None:
            return Dropped(conversation.name, CHANGED)
        done = [shield.encode(self.tokenizer, segment.text) for segment in segments]
        if any(self._count(part.ids) != seg.controls for part, seg in zip(done, segments, strict=True)):
            return Dropped(conversation.name, CHANGED)  # the template puts control tokens together from contents
        return _join(conversation.name, segments, [(part.ids, [(at, at) for at in part.starts]) for part in done])

    # ---- checks at the start

    def _check(self) -> None:
        """Training's prompts are evaluation's, an answer can be read back, and the first token stands there once."""
        for messages in ([_ASK], [_ODD], [Message("system", "Be brief."), _ASK]):
            try:
                row = self.row(Conversation("a probe", (*messages, _SAY), ""))
            except VerievalError:
                if messages[0].role == "system":
                    continue  # the template has no system turn; a row with one says so by its name
                raise
            fed = encode_chat(self.tokenizer, messages, self.template)
            if isinstance(row, Dropped) or row.ids[: len(fed)].tolist() != fed or row.roles[len(fed)] != ASSISTANT:
                raise VerievalError(
                    f"with the chat template ({self.format}) the prompt of training is not the prompt of evaluation, "
                    f"token by token: {_HOW}"
                )
            if tuple(fed[-len(self.generation_prompt_ids) :]) != self.generation_prompt_ids:
                raise VerievalError(
                    f"the tokens of the generation prompt of the chat template ({self.format}) depend on what stands "
                    f"before: {_HOW}"
                )
            self._check_text(messages, row)
            self._check_first(row)

    def _check_text(self, messages: Sequence[Message], row: TokenRow) -> None:
        if messages[0] == _ODD:
            return  # a tokenizer may normalise what is beyond ASCII, in evaluation too
        text = self._render([*messages]) + _SAY.content + self._answer.end
        lead = self._answer.opening.removeprefix(self._generation)
        if self._answer.opening.startswith(self._generation) and lead:
            text = self._render([*messages]) + lead + _SAY.content + self._answer.end
        decoded = self.tokenizer.decode(row.ids.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        if decoded != text:
            raise VerievalError(
                "this tokenizer does not give back the text of prompt and answer when they are tokenised one by one "
                f"({decoded[-40:]!r} for {text[-40:]!r}), so training would not equal generation; use one that does"
            )

    def _check_first(self, row: TokenRow) -> None:
        """The token that begins a text (``<bos>``): once, and only where the tokenizer itself wants it."""
        bos = self.tokenizer.bos_token_id
        if bos is None:
            return
        count, wanted = row.ids.tolist().count(bos), self.tokenizer("x")["input_ids"][:1] == [bos]
        if count > 1 or (count and row.ids[0] != bos) or (wanted and not count):
            how = f"{count} times" if count else "nowhere"
            raise VerievalError(
                f"the chat template ({self.format}) writes {self.tokenizer.bos_token} {how}, and it must stand once at "
                f"the beginning: {_HOW}"
            )

    def _check_goes_on(self) -> None:
        """Conversations of several answers need a template that leaves alone what was said."""
        if self._goes_on is None:
            first = self._render([_ASK]) + (self._answer_text([_ASK, _SAY], self._render([_ASK])) or "")
            self._goes_on = self._render([_ASK, _SAY, _ASK]).startswith(first)
        if not self._goes_on:
            raise VerievalError(
                f"the chat template ({self.format}) changes earlier turns of the assistant when a conversation goes "
                f"on, so rows with several answers cannot be trained on: {_HOW}, or leave such rows out"
            )


def _join(name: str, segments: Sequence[Segment], encoded: Sequence[tuple[list[int], Any]]) -> TokenRow:
    """Ids and roles of a row, segment by segment; a token has the role of its first character.

    Raises:
        VerievalError: no token is supervised.
    """
    ids: list[int] = []
    roles: list[Roles] = []
    for segment, (tokens, offsets) in zip(segments, encoded, strict=True):
        ids += tokens
        if segment.roles[0] == segment.roles[-1] == ASSISTANT:
            roles.append(np.full(len(tokens), ASSISTANT, dtype=np.uint8))
        else:
            starts = np.fromiter((start for start, _ in offsets), dtype=np.int64, count=len(tokens))
            roles.append(segment.roles[np.minimum(starts, len(segment.text) - 1)])
    row = TokenRow(name, np.array(ids, dtype=np.int32), np.concatenate(roles))
    if not row.supervised:
        raise VerievalError(f"{name}: no token of the row is supervised, so nothing could be learnt; take it out")
    return row
