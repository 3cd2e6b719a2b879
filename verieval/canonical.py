"""One form for all designs that differ in names and layout only.

The form of a design is a hash of its syntax tree (:mod:`verieval.canonical_ast`, through pyverilog) where there is one
that can be relied on, and of its tokens where there is none. Names are numbered in order of their first occurrence,
one name one number in the whole text; only keywords, system tasks, macros that cannot be expanded, and the names and
ports of modules that the text does not define stay as they are.

Equal forms mean the same design under a renaming: that makes them right for counting distinct designs and for finding a
reference in training data. It makes them wrong for verdicts, because a bench binds ports and the policy judges by name:
nothing in :mod:`verieval.judge` uses them. Different forms mean nothing: two ways to write the same logic differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from verieval.canonical_ast import tree
from verieval.canonical_tokens import Tok, Tokens, external, named_ports, tokenise

CANONICAL_VERSION = 1


@dataclass(frozen=True)
class Form:
    """The canonical form of a design.

    Attributes:
        kind: ``tree`` or ``tokens``; forms of different kinds are never equal.
        sha256: of the form.
        tokens: number of tokens of the design.
    """

    kind: Literal["tree", "tokens"]
    sha256: str
    tokens: int

    @property
    def key(self) -> str:
        """Equal exactly for equal forms."""
        return f"{self.kind}:{self.sha256}"


def canonical(text: str, *, parse: bool = True) -> Form:
    """Return the canonical form of a design.

    The first call in a process that parses takes a second, for pyverilog's tables; later ones a millisecond.

    Args:
        text: Verilog; any string.
        parse: without it the form is that of the tokens, and needs no pyverilog.
    """
    return canonical_of(tokenise(text), parse=parse)


def canonical_of(tokens: Tokens, *, parse: bool = True) -> Form:
    """:func:`canonical` of a text that :func:`verieval.canonical_tokens.tokenise` has been applied to."""
    found = tree(tokens.items) if parse and not tokens.opaque and not tokens.cut else None
    if found is not None:
        return Form("tree", _hash(found), len(tokens.items))
    return Form("tokens", token_hash(tokens.items, cut=tokens.cut), len(tokens.items))


def token_hash(tokens: Sequence[Tok], *, cut: bool = False) -> str:
    """Hash of the tokens with their names numbered."""
    foreign = external(tokens)
    kept = set(named_ports(tokens)) if foreign else set()
    numbers: dict[str, str] = {}
    out = [
        text
        if kind != "name"
        else f"={text}"
        if index in kept or text in foreign
        else numbers.setdefault(text, f"#{len(numbers)}")
        for index, (kind, text) in enumerate(tokens)
    ]
    return _hash("\n".join(out) + ("\ncut" if cut else ""))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
