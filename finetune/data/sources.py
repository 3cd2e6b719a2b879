"""Data sets: one table of column maps, and from a row of any of them to a conversation.

A column is a path of keys (``description.high_level_global_summary``). On the way, a string that is a dictionary or a
list itself (JSON, or a Python literal) is read as one, and of a list the last item counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, cast

from finetune.data.conversation import (
    BAD_TURNS,
    NO_COLUMN,
    NO_HEADER,
    NO_PROMPT,
    NO_RESPONSE,
    Conversation,
    Dropped,
)
from finetune.data.reasoning import answer_of, asks_for_tags
from finetune.recipe import SourceSpec
from verieval.completion import Message, Role
from verieval.errors import VerievalError
from verieval.training import inner_value

Reasoning = Literal["keep", "strip"]
Mend = Callable[[str, str], tuple[str, str, str]]  # prompt, response -> both mended, and a reason to drop the row


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The column map of a data set.

    Attributes:
        publisher: where it is published, by whoever made it.
        licence: as the publisher states it (read in 2026); empty for a layout that is nobody's.
        prompt: columns of the user's turn; those that are not blank are joined by a line end.
        response: column of the assistant's turn.
        system: column of the system turn, which may be lacking or blank; then there is none.
        messages: column with all turns, in the place of the three.
        mend: changes prompt and response before they become turns.
    """

    publisher: str = ""
    licence: str = ""
    prompt: tuple[str, ...] = ()
    response: str = ""
    system: str = ""
    messages: str = ""
    mend: Mend | None = None


# MG-Verilog wraps descriptions in Llama 2's markers, with a system part that asks for a body without its head.
_LLAMA_2 = re.compile(r"<<SYS>>.*?<</SYS>>|</?s>|\[/?INST\]", re.DOTALL)
_HEAD = re.compile(r"^[ \t]*module\s+\\?\w", re.MULTILINE)


def _whole_module(prompt: str, response: str) -> tuple[str, str, str]:
    """MG-Verilog's code goes on after the head, which ends the description: the answer is both."""
    prompt = _LLAMA_2.sub("", prompt).strip()
    if _HEAD.match(response.lstrip()):
        return prompt, response, ""
    heads = list(_HEAD.finditer(prompt))
    if not heads or not prompt.endswith(";"):
        return "", "", NO_HEADER
    return prompt, f"{prompt[heads[-1].start() :].lstrip()}\n{response}", ""


def _mg_verilog(summary: str) -> Layout:
    return Layout(
        publisher="GaTech-EIC/MG-Verilog",
        licence="mit (its first versions: cc-by-nc-sa-4.0)",
        prompt=(f"description.{summary}",),
        response="code",
        mend=_whole_module,
    )


LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "codev-r1": Layout(
            publisher="zhuyaoyu/CodeV-R1-dataset",
            licence="cc-by-sa-4.0",
            system="system",
            prompt=("prompt",),
            response="response",
        ),
        "rtlcoder": Layout(
            publisher="hkust-zhiyao/RTL-Coder",
            licence="none stated; written by GPT-3.5",
            prompt=("Instruction",),
            response="Response",
        ),
        "verithoughts": Layout(
            publisher="wilyub/VeriThoughtsTrainSetConsistentReasoning",
            licence="mit",
            prompt=("instruction", "input"),
            response="output",
        ),
        "mg-verilog": _mg_verilog("detailed_global_summary"),
        "mg-verilog-high-level": _mg_verilog("high_level_global_summary"),
        "mg-verilog-block": _mg_verilog("block_summary"),
        "pyranet": Layout(
            publisher="bnadimi/PyraNet-Verilog",
            licence="cc-by-nc-sa-4.0",
            prompt=("description.description",),
            response="code",
        ),
        "chat": Layout(messages="messages"),
        "prompt-completion": Layout(system="system", prompt=("prompt",), response="completion"),
    }
)

_LICENCES = ("licence", "license")  # columns that state the licence of a row


def layout_of(spec: SourceSpec) -> Layout:
    """The column map of a source.

    Raises:
        VerievalError: there is none of this name.
    """
    layout = LAYOUTS.get(spec.layout)
    if layout is None:
        raise VerievalError(
            f"there is no layout {spec.layout!r} (of the source {spec.path}): choose one of {', '.join(LAYOUTS)}"
        )
    return layout


def to_conversation(
    value: object, name: str, spec: SourceSpec, layout: Layout, reasoning: Reasoning
) -> Conversation | Dropped:
    """Read a row.

    Args:
        value: the row as JSON values.
        name: what it is called.
        spec: its source, whose ``licence`` comes before the layout's and after the row's own.
        layout: the column map.
        reasoning: ``keep`` or ``strip``, see :mod:`finetune.data.reasoning`.
    """
    if not isinstance(value, dict):
        return Dropped(name, NO_COLUMN)
    turns = _turns(value, layout) if layout.messages else _pair(value, layout)
    if isinstance(turns, str):
        return Dropped(name, turns)
    messages: list[Message] = []
    for turn in turns:
        content = turn.content
        if turn.role == "assistant":
            content, reason = answer_of(content, keep=reasoning == "keep")
            if reason:
                return Dropped(name, reason)
        elif turn.role == "system" and (not content.strip() or (reasoning == "strip" and asks_for_tags(content))):
            continue  # it says nothing, or asks for the reasoning that is stripped
        elif not content.strip():
            return Dropped(name, NO_PROMPT)
        messages.append(Message(turn.role, content))
    own = next((value[key] for key in _LICENCES if isinstance(value.get(key), str) and value[key].strip()), "")
    return Conversation(name, tuple(messages), own or spec.licence or layout.licence or "not stated")


def _pair(value: dict[str, Any], layout: Layout) -> list[Message] | str:
    """The turns of prompt and response columns, or the reason why there are none."""
    prompts = [_at(value, column) for column in layout.prompt]
    response = _at(value, layout.response)
    if prompts[0] is None or response is None:
        return NO_COLUMN
    prompt = "\n".join(part for part in prompts if part and part.strip())
    if not prompt:
        return NO_PROMPT
    if not response.strip():
        return NO_RESPONSE
    if layout.mend:
        prompt, response, reason = layout.mend(prompt, response)
        if reason:
            return reason
    system = _at(value, layout.system) if layout.system else None
    head = [Message("system", system)] if system else []
    return [*head, Message("user", prompt), Message("assistant", response)]


def _turns(value: dict[str, Any], layout: Layout) -> list[Message] | str:
    """The turns of a column of messages, or the reason why there are none."""
    turns = value.get(layout.messages)
    if not isinstance(turns, list) or not turns:
        return NO_COLUMN
    messages: list[Message] = []
    for index, turn in enumerate(turns):
        role, content = (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else (None, None)
        if role not in ("system", "user", "assistant") or not isinstance(content, str) or (role == "system" and index):
            return BAD_TURNS
        messages.append(Message(cast(Role, role), content))
    answered = any(message.role == "assistant" for message in messages)
    # One without any answer is left for the renderer, whose error names it: such a file is no training data.
    return BAD_TURNS if answered and messages[-1].role != "assistant" else messages


def _at(value: object, column: str) -> str | None:
    """The text in a column, None where there is none."""
    for key in column.split("."):
        if isinstance(value, str):
            value = inner_value(value)
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, list):
        value = value[-1] if value else None
    return value if isinstance(value, str) else None
