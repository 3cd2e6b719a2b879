"""A design as a list of tokens without its layout: macros expanded, numbers in one spelling.

Linear in the text, within :data:`MAX_TOKENS`; any string is accepted. Nothing is opened or run: of directives only
those are obeyed that need nothing from outside (``define`` without arguments, ``ifdef`` and its kin), those that say
nothing of the logic are dropped, and where a macro has arguments, is not defined here or comes from an ``include``,
its tokens stay as they are and :attr:`Tokens.opaque` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from verieval.keywords import KEYWORDS
from verieval.verilog import words

MAX_TOKENS = 200_000  # of one text; what follows is left out, and said so
_MAX_DEPTH = 20  # macros within macros
_MAX_WIDTH = 1024  # bits up to which a sized number is written out
_MAX_BODY = 10_000  # tokens of one macro

# Directives that say nothing of the logic of one design; their line goes.
_SILENT = """
    `timescale `default_nettype `resetall `celldefine `endcelldefine `line `pragma `unconnected_drive
    `nounconnected_drive `begin_keywords `end_keywords `undefineall
    """
_DROPPED = frozenset(_SILENT.split())
_DIRECTIVE = re.compile(r"(?<!`)`[A-Za-z_]")
_CONDITION = frozenset({"`ifdef", "`ifndef", "`elsif", "`else", "`endif"})
_NETS = frozenset({"input", "inout", "wire", "tri", "supply0", "supply1", "wand", "wor", "uwire"})
_BITS = {"b": 1, "o": 3, "h": 4}
_SIZED = re.compile(r"([0-9_]*)'([sS]?)([bBoOdDhH])([0-9a-fA-FxXzZ?_]+)")
_HAS_BASE = re.compile(r"'[sS]?[bBoOdDhH]")
_DIGITS = {"b": frozenset("01xz"), "o": frozenset("01234567xz"), "h": frozenset("0123456789abcdefxz")}
_DIRECTION = frozenset({"input", "output", "inout", "ref"})


class Tok(NamedTuple):
    """One token. ``kind`` is ``name``, ``word`` (a keyword), ``op``, ``num``, ``str``, ``sys`` or ``macro``."""

    kind: str
    text: str


class _Raw(NamedTuple):
    kind: str
    text: str
    start: int
    breaks: bool  # a line ends between it and the token before
    glued: bool  # nothing stands between them


_Plain = tuple[str, str, int] | _Raw  # kind, text, start


@dataclass(frozen=True)
class Tokens:
    """What a text consists of.

    Attributes:
        items: the tokens.
        opaque: a macro or an include is left in them, so that they are not all that a compiler would read.
        cut: the text has more than :data:`MAX_TOKENS` tokens.
    """

    items: tuple[Tok, ...]
    opaque: bool = False
    cut: bool = False


def tokenise(text: str) -> Tokens:
    """Return the tokens of a text in one spelling.

    ``logic`` becomes ``reg``, or goes where a net type or direction stands before it (IEEE 1800-2017 6.11.2: the same
    type); ``@(*)`` becomes ``@*``, ``^~`` becomes ``~^``; numbers as :func:`number` has them; an escaped identifier is
    its plain name.
    """
    if _DIRECTIVE.search(text) is None:
        raw: Sequence[_Plain] = list(islice(words(text), MAX_TOKENS + 1))
        return Tokens(tuple(_spell(raw[:MAX_TOKENS])), False, len(raw) > MAX_TOKENS)
    found = _with_gaps(text)
    reader = _Preprocessor(found[:MAX_TOKENS])
    if reader.unbalanced:  # in prose, or cut off: nothing may be hidden then
        reader = _Preprocessor(found[:MAX_TOKENS], conditions=False)
    return Tokens(tuple(_spell(reader.out)), reader.opaque, len(found) > MAX_TOKENS)


def _with_gaps(text: str) -> list[_Raw]:
    """Tokens with what preprocessing wants to know of the gaps between them."""
    found: list[_Raw] = []
    end = 0
    for kind, token, start in islice(words(text), MAX_TOKENS + 1):
        gap = text[end:start]
        found.append(_Raw(kind, token, start, not found or "\n" in gap or "\r" in gap, not gap))
        end = start + len(token)
    return found


class _Preprocessor:
    """Obeys the directives in a list of tokens."""

    def __init__(self, raw: Sequence[_Raw], *, conditions: bool = True) -> None:
        self.out: list[_Raw] = []
        self.opaque = not conditions
        self._conditions = conditions
        self._bodies: dict[str, list[_Raw] | None] = {}  # None: one that cannot be expanded here
        self._steps = 0  # tokens of macro bodies that were looked at: empty ones make no output, and many of them time
        self._states: list[tuple[bool, bool]] = []  # of each open condition: this branch holds, one has held
        at = 0
        while at < len(raw):
            at = self._step(raw, at)
        self.unbalanced = bool(self._states)

    def _step(self, raw: Sequence[_Raw], at: int) -> int:
        token = raw[at]
        live = all(holds for holds, _ in self._states)
        if token.kind != "macro":
            if live:
                self.out.append(token)
            return at + 1
        if token.text in _CONDITION:
            return self._condition(raw, at)
        if token.text in _DROPPED:
            return _line_end(raw, at + 1)
        if token.text in ("`define", "`undef"):
            end = _line_end(raw, at + 1)
            if live and at + 1 < len(raw):
                self._define(token.text, raw, at + 1, end)
            return end
        if live:
            self._use(token, 0)
        return at + 1

    def _condition(self, raw: Sequence[_Raw], at: int) -> int:
        word = raw[at].text
        named = word in ("`ifdef", "`ifndef", "`elsif") and at + 1 < len(raw)
        defined = named and raw[at + 1].text in self._bodies
        if not self._conditions:
            return at + 2 if named else at + 1
        if word in ("`ifdef", "`ifndef"):
            holds = defined == (word == "`ifdef")
            self._states.append((holds, holds))
        elif self._states:
            _, held = self._states.pop()
            if word != "`endif":
                holds = not held and (word == "`else" or defined)
                self._states.append((holds, held or holds))
        return at + 2 if named else at + 1

    def _define(self, word: str, raw: Sequence[_Raw], at: int, end: int) -> None:
        name = raw[at].text
        if word == "`undef":
            self._bodies.pop(name, None)
            return
        body = [token for token in raw[at + 1 : end] if token.text != "\\"]
        plain = not (body and body[0].text == "(" and body[0].glued) and len(body) <= _MAX_BODY
        plain = plain and not any(token.text in ("``", '`"', '`\\`"', "`") for token in body)
        self._bodies[name] = body if plain else None
        if not plain:  # two such designs are the same only if their macros are
            self.opaque = True
            self.out += raw[at - 1 : end]

    def _use(self, token: _Raw, depth: int) -> None:
        body = self._bodies.get(token.text[1:])
        if body is None or depth >= _MAX_DEPTH or self._steps > MAX_TOKENS:
            self.opaque = True
            self.out.append(token)
            return
        for inner in body:
            self._steps += 1
            if self._steps > MAX_TOKENS:
                self.opaque = True
                return
            if inner.kind == "macro":
                self._use(inner, depth + 1)
            else:
                self.out.append(inner)


def _line_end(raw: Sequence[_Raw], at: int) -> int:
    """Where the tokens of the next line start; a backslash continues a line."""
    while at < len(raw) and not (raw[at].breaks and raw[at - 1].text != "\\"):
        at += 1
    return at


def _spell(raw: Sequence[_Plain]) -> Iterator[Tok]:
    """Tokens in one spelling."""
    at, before, count = 0, "", len(raw)
    while at < count:
        kind, text = raw[at][0], raw[at][1]
        at += 1
        if kind == "op":
            if text == "@" and [token[1] for token in raw[at : at + 3]] == ["(", "*", ")"]:
                yield Tok("op", "@")
                at, text = at + 3, "*"
            elif text == "^~":
                text = "~^"
        elif kind == "ident":
            if text == "logic":
                if before in _NETS:
                    continue
                text = "reg"
            kind = "word" if text in KEYWORDS else "name"
        elif kind in ("number", "base"):
            text, at = _number_at(raw, at - 1)
            kind = "num"
        elif kind == "escaped":
            kind, text = "name", text[1:]
        yield Tok(kind, text)
        before = text


def _number_at(raw: Sequence[_Plain], at: int) -> tuple[str, int]:
    """The number that starts at ``at``, with a size before it and digits after it; and where it ends."""
    text, end = raw[at][1], at + 1
    if end < len(raw) and text[-1:].isdigit() and _HAS_BASE.match(raw[end][1]) and text.replace("_", "").isdigit():
        text, end = text + raw[end][1], end + 1
    if raw[end - 1][0] == "base" and end < len(raw) and raw[end][0] in ("number", "ident") and "'" not in raw[end][1]:
        text, end = text + raw[end][1], end + 1
    return number(text), end


@lru_cache(maxsize=4096)
def number(text: str) -> str:
    """One spelling of a number.

    A sized number is its bits (``8'h0F`` and ``8'd15`` are ``8'b00001111``, ``4'sd3`` is ``4'sb0011``), extended and
    cut to its size as IEEE 1800-2017 5.7.1 says. Without a size the value stays decimal: ``15`` and ``'sd15`` are
    ``15``, ``'hF`` is ``'d15``, since one is signed and the other is not. Above 1,024 bits, or where it is no proper
    number, only case and underscores are made one.
    """
    found = _SIZED.fullmatch(text.replace(" ", "").replace("\t", ""))
    if found is None:
        plain = text.replace("_", "")
        return (plain.lstrip("0") or "0") if plain.isdigit() and plain.isascii() else plain
    size, signed, base, digits = found[1].replace("_", ""), found[2].lower(), found[3].lower(), found[4]
    digits = digits.replace("_", "").replace("?", "z").lower()
    raw = f"{size}'{signed}{base}{digits}"
    if not digits or len(digits) > _MAX_WIDTH or len(size) > 4:
        return raw
    if base == "d":
        if digits in ("x", "z"):
            bits, value = digits, None
        elif digits.isdigit():
            value = int(digits)
            bits = f"{value:b}"
        else:
            return raw
    elif set(digits) <= _DIGITS[base]:
        each = _BITS[base]
        bits = "".join(d * each if d in "xz" else f"{int(d, 16):0{each}b}" for d in digits)
        value = int(bits, 2) if set(bits) <= {"0", "1"} else None
    else:
        return raw
    if not size:
        return raw if value is None else (str(value) if signed else f"'d{value}")
    width = int(size)
    if not 0 < width <= _MAX_WIDTH:
        return raw
    fill = bits[0] if bits[0] in "xz" else "0"
    return f"{width}'{signed}b{bits.rjust(width, fill)[-width:]}"


def closers(tokens: Sequence[Tok]) -> dict[int, int]:
    """Index of the closing bracket for each opening one that is closed properly."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for index, (kind, text) in enumerate(tokens):
        if kind == "op" and text in _OPENERS:
            stack.append(index)
        elif kind == "op" and stack and text == _OPENERS[tokens[stack[-1]].text]:
            pairs[stack.pop()] = index
    return pairs


_OPENERS = {"(": ")", "[": "]", "{": "}", "'{": "}"}


def external(tokens: Sequence[Tok]) -> frozenset[str]:
    """Names that are used as modules and defined by none of the tokens. In doubt a name counts as one."""
    defined = {
        tokens[index + 1].text
        for index, token in enumerate(tokens[:-1])
        if token.text in ("module", "macromodule") and token.kind == "word"
    }
    used = set()
    for index, token in enumerate(tokens[:-2]):
        if token.kind != "name" or token.text in defined:
            continue
        after = tokens[index + 1]
        named = after.kind == "name" and tokens[index + 2].text in ("(", "[")
        before = tokens[index - 1].text if index else ""
        if (named or after.text == "#") and before not in (".", "function", "task", "module", "macromodule", "]"):
            used.add(token.text)
    return frozenset(used)


def named_ports(tokens: Sequence[Tok]) -> Iterator[int]:
    """Indices of the names in ``.name(``."""
    for index, token in enumerate(tokens[:-1]):
        if token.kind != "name" or index < 2 or tokens[index + 1].text != "(":
            continue
        if tokens[index - 1].text == "." and tokens[index - 2].text in ("(", ","):
            yield index


def spell_ports(tokens: Sequence[Tok]) -> list[Tok]:
    """Repeat direction and type in lists such as ``input [3:0] a, b``, so that every port of a header has its own."""
    pairs = closers(tokens)
    out: list[Tok] = []
    done = 0
    for index, token in enumerate(tokens):
        if index < done or token.text != "module" or token.kind != "word":
            continue
        start = index + 2
        if start + 1 < len(tokens) and tokens[start].text == "#":
            start = pairs.get(start + 1, len(tokens)) + 1
        end = pairs.get(start)
        if end is None or start + 1 >= len(tokens) or tokens[start + 1].text not in _DIRECTION:
            continue
        out += [*tokens[done : start + 1], *_port_list(tokens[start + 1 : end])]
        done = end
    return [*out, *tokens[done:]]


def _port_list(tokens: Sequence[Tok]) -> Iterator[Tok]:
    prefix: list[Tok] = []
    part: list[Tok] = []
    depth = 0
    for place, token in enumerate([*tokens, Tok("op", ",")]):
        if depth == 0 and token == ("op", ","):
            names = [at for at, item in enumerate(part) if item.kind == "name" and _outside(part, at)]
            if part and part[0].text in _DIRECTION:
                prefix = part[: names[-1]] if names else part
                yield from part
            else:  # with a type of its own it takes only the direction (IEEE 1800-2017 23.2.2.3)
                yield from [*(prefix if part[:1] and part[0].kind == "name" else prefix[:1]), *part]
            if place < len(tokens):
                yield token
            part = []
            continue
        depth += (token.text in _OPENERS) - (token.text in _OPENERS.values()) if token.kind == "op" else 0
        part.append(token)


def _outside(part: Sequence[Tok], place: int) -> bool:
    """Whether the token stands outside all brackets of its part."""
    before = [item.text for item in part[:place] if item.kind == "op"]
    return before.count("[") == before.count("]") and before.count("(") == before.count(")")
