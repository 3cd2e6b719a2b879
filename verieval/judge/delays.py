"""Does a text need its delays? Yosys leaves every ``#`` out, so that it calls an oscillator synthesizable.

A delay that only moves an assignment (``q <= #1 d``, ``assign #1 y = a``, ``always @(posedge c) #1 q <= d``) is left
out by every synthesis (IEEE 1364.1 wants it so), and the logic stays what it is. Three kinds of text are nothing
without:

- an ``always`` that waits for no event, a ``task`` or an ``initial`` block with a delay between its statements;
- a variable that a block assigns before a delay, and again after it, which is a pulse; or that it assigns with ``<=``
  and uses after the delay, which then is the new value;
- a loop of logic with a delay in it, which :func:`has_delays` and the netlist show together.

What is looked at are tokens of the text as the preprocessor leaves it; whether it is Verilog is for others to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from verieval.verilog import words

_OPENS = frozenset({"begin", "fork", "case", "casex", "casez", "randcase"})
_CLOSES = frozenset({"end", "join", "join_any", "join_none", "endcase"})
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_ASSIGNS = frozenset({"=", "<="})
_ALWAYS = frozenset({"always", "always_comb", "always_ff", "always_latch"})
_BEGINS_A_STATEMENT = frozenset({";", ")", "else", ":"}) | _OPENS | _CLOSES
# The text is hostile: of so many delays between the statements of a block, and so many tokens of a left side, the
# further ones are not looked at.
_DELAYS, _TOKENS = 64, 200
_NO_DELAYS_IN = {"initial": "an initial block", "task": "a task"}
_UNNAMED = frozenset({"assign", "]", ")", "=", "<="})
_NETS = frozenset(
    {"wire", "tri", "tri0", "tri1", "wand", "wor", "triand", "trior", "trireg", "uwire", "logic", "signed"}
)
_GATES = frozenset({"and", "nand", "or", "nor", "xor", "xnor", "not", "buf", "bufif0", "bufif1", "notif0", "notif1"})


def has_delays(text: str) -> bool:
    """There is a delay in it; ``#`` in front of parameters is none."""
    found = [token for _, token, _ in words(text)]
    return any(_is_delay(found, index) for index, token in enumerate(found) if token == "#") or any(
        token == "#" for block in _blocks(found) for token in block
    )


def needs_delays(text: str) -> str:
    """Why a text is nothing without its delays, by its blocks alone; empty where they show no reason."""
    for block in _blocks([token for _, token, _ in words(text)]):
        waits = list(islice(_waits(block), _DELAYS))
        if block[0] == "always" and block[1:2] != ["@"]:
            return "an always block waits for no event"
        if waits and block[0] in _NO_DELAYS_IN:
            return f"there is a delay between the statements of {_NO_DELAYS_IN[block[0]]}"
        for index in waits:
            again = _pulse(block, index)
            if again:
                return f"{again} is assigned before a delay, and assigned or used after it"
    return ""


def _is_delay(tokens: Sequence[str], index: int) -> bool:
    before = tokens[index - 1] if index else ""
    return before in _UNNAMED or before in _NETS or before in _GATES


def _blocks(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """``always``, ``initial`` and the like with their statement, and tasks."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token == "task":
            end = next((at for at in range(index, len(tokens)) if tokens[at] == "endtask"), len(tokens))
        elif token == "initial" or token in _ALWAYS:
            end = _statement_end(tokens, index + 1)
        else:
            index += 1
            continue
        yield tokens[index:end]
        index = max(end, index + 1)


def _statement_end(tokens: Sequence[str], start: int) -> int:
    """The index after the statement that begins at ``start``."""
    depth = brackets = 0
    for index in range(start, len(tokens)):
        token = tokens[index]
        brackets += _BRACKETS.get(token, 0)
        depth += (token in _OPENS) - (token in _CLOSES)
        if token in ("endmodule", "endtask"):
            return index
        ends = (token == ";" and brackets <= 0) or token in _CLOSES
        if ends and depth <= 0 and tokens[index + 1 : index + 2] != ["else"]:
            return index + 1
    return len(tokens)


def _waits(block: Sequence[str]) -> Iterator[int]:
    """Where it waits between statements: not behind ``=`` or ``<=``, where a delay only moves the assignment."""
    for index in range(1, len(block)):
        if block[index] == "#" and block[index - 1] not in _ASSIGNS:
            yield index


def _pulse(block: Sequence[str], wait: int) -> str:
    """A variable of which it matters that there is a delay between statements; empty where there is none."""
    if _is_alternative(block, wait):
        return ""
    first, depth = wait, 0
    while first > 0 and depth >= 0:
        first -= 1
        depth += (block[first] in _CLOSES) - (block[first] in _OPENS)
    last, depth = wait, 0
    while last < len(block) and depth >= 0:
        depth += (block[last] in _OPENS) - (block[last] in _CLOSES)
        last += 1
    before, after, used = _assigned(block[first:wait]), _assigned(block[wait:last]), set(block[wait:last])
    return min((name for name, how in before.items() if name in after or (how == "<=" and name in used)), default="")


def _is_alternative(block: Sequence[str], wait: int) -> bool:
    """The delay stands in a further branch of an ``if`` or ``case``: what stands before it was not done before it."""
    before = block[wait - 1]
    if before in ("else", ":"):
        return True
    if before != ")":
        return False
    depth, index = 1, wait - 1
    while index > 0 and depth:
        index -= 1
        depth += (block[index] == ")") - (block[index] == "(")
    return list(block[max(index - 2, 0) : index]) == ["else", "if"]


def _assigned(tokens: Sequence[str]) -> dict[str, str]:
    """Names at the head of assignments, with ``=`` or ``<=``."""
    found: dict[str, str] = {}
    for index, token in enumerate(tokens):
        before = list(tokens[max(index - 2, 0) : index])
        starts = not before or before[-1] in _BEGINS_A_STATEMENT or before[0] == "#" or before == ["@", "*"]
        if starts and (token[:1].isalpha() or token[:1] in "_\\{"):
            left, how = _left_side(tokens, index)
            found |= {name: how for name in left if name[:1].isalpha() or name[:1] in "_\\"}
    return found


def _left_side(tokens: Sequence[str], start: int) -> tuple[Sequence[str], str]:
    """The names that an assignment at ``start`` sets, and how; none where it is no assignment."""
    depth = 0
    for index in range(start, min(start + _TOKENS, len(tokens))):
        token = tokens[index]
        if depth == 0 and token in _ASSIGNS:
            return (tokens[start:index] if tokens[start] == "{" else tokens[start : start + 1]), token
        depth += _BRACKETS.get(token, 0)
        if token == ";" or (depth == 0 and index > start and token not in _BRACKETS and token != "."):
            return (), ""
    return (), ""
