"""Where the turns of a chat template begin and end, found by rendering, and verified on every conversation.

A template is a program, so nothing is read from its text. Rendered with known contents it shows what it writes around
them; a conversation's own text must then be just that with its contents in between, as they are or without white space
at their ends. Answers alone may be rewritten (templates put reasoning in a form of their own), as long as all that was
said is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from finetune.data.batch import ASSISTANT, ROLES
from verieval.chat import render_chat
from verieval.completion import Message, Role
from verieval.errors import VerievalError

ASK, SAY = Message("user", "Which one?\n  // {{8{a}}}"), Message("assistant", "module m;\nendmodule")
CHOOSE = "choose another model.chat_format"

Controls = Callable[[str], list[tuple[int, int]]]  # control tokens in a text: id, and where it ends

_TEMPLATE = ROLES.index("template")
_OTHER = "assign y = 1;"
_MARK = re.compile("\ue000([0-9]+)\ue001")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Segment:
    """A part of a row that is tokenised by itself.

    Attributes:
        text: its characters.
        roles: of each character, index into :data:`finetune.data.batch.ROLES`.
        controls: how many control tokens the template writes in it.
    """

    text: str
    roles: NDArray[np.uint8]
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


class Turns:
    """Cuts conversations into segments.

    Attributes:
        generation: text of the generation prompt.
        end_of_turn: id of the token that ends the assistant's turn.
    """

    def __init__(self, template: str, source: str, named: Mapping[str, str], controls: Controls) -> None:
        """Find out what the template writes around an answer.

        Args:
            template: Jinja text.
            source: what errors call it.
            named: special tokens by the name that templates use.
            controls: finds control tokens in a text.

        Raises:
            VerievalError: the template has no generation prompt, or no end of an answer that can be learnt.
        """
        self._template = template
        self._source = source
        self._named = named
        self._controls = controls
        self.generation = self.prompt([ASK])[len(self._closed([ASK])) :]
        self._answer = self._find_answer()
        self._frame = lru_cache(maxsize=256)(self._find_frame)
        self._goes_on: bool | None = None  # the template keeps what was said; None until a row needs to know
        self.end_of_turn = self._answer.token

    def prompt(self, messages: Sequence[Message]) -> str:
        """What a model is asked to go on from."""
        return render_chat(messages, self._template, add_generation_prompt=True, tokens=self._named)

    def segments(self, messages: Sequence[Message]) -> list[Segment] | None:
        """A conversation in parts, prompt and answer in turn; None where the template changes what a turn says.

        Raises:
            VerievalError: there is no answer, or the template cannot be followed.
        """
        answers = [index for index, message in enumerate(messages) if message.role == "assistant"]
        if not answers:
            raise VerievalError("there is no turn of the assistant, so no token is supervised; take the row out")
        if len(answers) > 1:
            self._check_goes_on()
        segments: list[Segment] = []
        said = ""  # all text that is in segments
        after = 0  # the first turn that is not
        for index in answers:
            prompt = self.prompt(messages[:index])
            answer = self.answer(messages[: index + 1], prompt)
            if answer is None or not prompt.startswith(said):
                return None
            before = self._prompt_segment(prompt[len(said) :], messages[:index], after)
            if before is None:
                return None
            roles = np.full(len(answer), ASSISTANT, dtype=np.uint8)
            segments += [before, Segment(answer, roles, self._answer.controls)]
            said = prompt + answer
            after = index + 1
        return segments

    def answer(self, messages: Sequence[Message], prompt: str) -> str | None:
        """What the model has to say after ``prompt``, the end-of-turn token with it."""
        whole, found = self._closed(messages), self._answer
        before = len(prompt) - len(self.generation)
        tail = found.end + found.rest
        if not prompt.endswith(self.generation) or whole[:before] != prompt[:before] or not whole.endswith(tail):
            return None
        text = whole[before : len(whole) - len(tail)]
        opening = self.generation if text.startswith(self.generation) else found.opening
        if not text.startswith(opening):
            return None
        text = text[len(opening) :]
        said = messages[-1].content.strip()
        if said not in text and _SPACE.sub("", said) not in _SPACE.sub("", text):
            return None
        return text + found.end

    def _closed(self, messages: Sequence[Message]) -> str:
        return render_chat(messages, self._template, add_generation_prompt=False, tokens=self._named)

    def _prompt_segment(self, text: str, messages: Sequence[Message], after: int) -> Segment | None:
        """The part of a prompt from turn ``after`` on, every character with its role."""
        says = [message.role == "assistant" or bool(message.content.strip()) for message in messages]
        key = tuple((m.role, "" if told else m.content, told) for m, told in zip(messages, says, strict=True))
        frame = self._frame(key, after)
        for content_of in (str, str.strip):
            pieces, speakers = [frame.pieces[0]], [_TEMPLATE]
            for turn, piece in zip(frame.turns, frame.pieces[1:], strict=True):
                pieces += [content_of(messages[turn].content), piece]
                speakers += [ROLES.index(messages[turn].role), _TEMPLATE]
            if "".join(pieces) == text:
                roles = np.repeat(np.array(speakers, dtype=np.uint8), [len(piece) for piece in pieces])
                return Segment(text, roles, frame.controls)
        return None

    def _find_frame(self, key: tuple[tuple[Role, str, bool], ...], after: int) -> _Frame:
        """What the template writes around turns of these roles; blank prompts may change it, so they stay."""
        messages = [
            Message(role, f"\ue000{index}\ue001" if says else blank) for index, (role, blank, says) in enumerate(key)
        ]
        text = self.prompt(messages)
        if after:
            _, found, text = text.partition(f"\ue000{after - 1}\ue001{self._answer.end}")
            if not found:
                raise VerievalError(f"the chat template ({self._source}) leaves out turns of the assistant: {CHOOSE}")
        parts = _MARK.split(text)
        turns = tuple(int(part) for part in parts[1::2])
        wanted = [index for index, (_, _, says) in enumerate(key) if says and index >= after]
        if sorted(turns) != wanted:
            lost = next((key[index][0] for index in wanted if turns.count(index) != 1), "user")
            raise VerievalError(
                f"the chat template ({self._source}) does not write the {lost}'s turn once, as it is: {CHOOSE}"
            )
        pieces = tuple(parts[0::2])
        # A letter in the place of each turn, so that pieces meet what they meet in a row: text.
        return _Frame(pieces, turns, len(self._controls("x".join(pieces))))

    def _find_answer(self) -> _Answer:
        """Where an answer begins and ends, from two that differ."""
        asked = self._closed([ASK])
        if not self.prompt([ASK]).startswith(asked) or not self.generation:
            raise VerievalError(
                f"the chat template ({self._source}) has no generation prompt that follows the conversation: {CHOOSE}"
            )
        found = [self._split_answer(asked, content) for content in (SAY.content, _OTHER)]
        if found[0] is None or found[0] != found[1]:
            raise VerievalError(
                f"the chat template ({self._source}) does not write the assistant's turn as its content between "
                f"fixed words: {CHOOSE}"
            )
        opening, tail = found[0]
        if not opening.startswith(self.generation) and not self.generation.startswith(opening):
            raise VerievalError(
                f"the chat template ({self._source}) opens the assistant's turn otherwise than its generation prompt, "
                f"so training could not equal evaluation: {CHOOSE}"
            )
        ends = self._controls(tail)
        if not ends:
            raise VerievalError(
                f"the chat template ({self._source}) ends the assistant's turn with {tail!r}, in which this tokenizer "
                f"has no special token, so a model could not learn to stop: {CHOOSE}"
            )
        token, end = ends[0]
        lead = opening[len(self.generation) :]
        return _Answer(opening, tail[:end], tail[end:], token, len(self._controls(f"{lead}x{tail[:end]}")))

    def _split_answer(self, asked: str, content: str) -> tuple[str, str] | None:
        whole = self._closed([ASK, Message("assistant", content)])
        if not whole.startswith(asked):
            return None
        opening, found, tail = whole[len(asked) :].partition(content)
        return (opening, tail) if found else None

    def _check_goes_on(self) -> None:
        """Conversations of several answers need a template that leaves alone what was said."""
        if self._goes_on is None:
            asked = self.prompt([ASK])
            said = asked + (self.answer([ASK, SAY], asked) or "")
            self._goes_on = self.prompt([ASK, SAY, ASK]).startswith(said)
        if not self._goes_on:
            raise VerievalError(
                f"the chat template ({self._source}) changes earlier turns of the assistant when a conversation goes "
                f"on, so rows with several answers cannot be trained on: {CHOOSE}, or leave such rows out"
            )
