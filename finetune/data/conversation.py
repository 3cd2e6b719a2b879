"""What every data set is read into: a conversation, or the reason why a row gives none."""

from __future__ import annotations

from dataclasses import dataclass

from verieval.completion import Message


@dataclass(frozen=True)
class Conversation:
    """One row of a data set.

    Attributes:
        name: where it comes from, for messages: ``FILE:LINE``.
        messages: turns in order; each one of the assistant's is trained on.
        licence: of this row.
    """

    name: str
    messages: tuple[Message, ...]
    licence: str


@dataclass(frozen=True)
class Dropped:
    """A row that is not trained on; ``reason`` is a key of :data:`REASONS`, or says why a line is no row."""

    name: str
    reason: str


# Why rows are dropped, by the words that they are counted under.
NO_COLUMN = "a column is missing"
NO_PROMPT = "no prompt"
NO_RESPONSE = "no response"
NO_HEADER = "no module header"
BAD_TURNS = "turns that are none"
BROKEN_TAGS = "broken reasoning tags"
OTHER_TAGS = "reasoning that cannot be stripped"
CHANGED = "changed by the chat template"
TOO_LONG = "too long"
OVERLAPS = "contains a benchmark task"
NOT_COMPILED = "does not compile"
ALSO_HELD_OUT = "also among the held-out rows"

REASONS = {
    NO_COLUMN: "the row lacks a column of its layout, or it is no text",
    NO_PROMPT: "the user's turn is blank",
    NO_RESPONSE: "the assistant's turn is blank, or is when its reasoning is stripped",
    NO_HEADER: "MG-Verilog: the description does not end with the head of the module that the code goes on with",
    BAD_TURNS: "chat: a turn of an unknown role, a system turn that is not the first, or a last turn of the user",
    BROKEN_TAGS: "a <think> or <answer> tag without its partner, twice, in another order, or with text beside them",
    OTHER_TAGS: "reasoning in other tags than <think>, or within the answer, where the recipe strips reasoning",
    CHANGED: "the chat template leaves out or rewrites a part of a turn, so that its tokens cannot be told apart",
    TOO_LONG: "more tokens than data.max_tokens; a row is never cut",
    OVERLAPS: "the row contains or nearly contains a reference or spec of data.overlap",
    NOT_COMPILED: "Icarus does not compile the response's code, or there is none (data.compiles)",
    ALSO_HELD_OUT: "the same tokens as a row that is held out",
}
