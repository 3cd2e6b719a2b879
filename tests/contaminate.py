"""Disguises for a design, made with plain regular expressions: none of the code that sees through them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from verieval.keywords import KEYWORDS

_PIECE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[0-9]*'[sS]?[a-zA-Z][0-9a-fA-FxXzZ_?]*|[0-9][0-9_.]*"
    r"|[`$][A-Za-z_]\w*|[A-Za-z_][\w$]*|\s+"
    r"|<<<|>>>|===|!==|<=|>=|==|!=|&&|\|\||<<|>>|\*\*|~&|~\||~\^|\^~|\+:|-:|.",
    re.DOTALL,
)
_FLIPPED = {
    "&": "|", "|": "&", "^": "&", "+": "-", "-": "+", "==": "!=", "!=": "==", "<": ">", ">": "<", "&&": "||",
    "||": "&&",
    ">=": ">", "<<": ">>", ">>": "<<", "posedge": "negedge", "negedge": "posedge", "~": "-", "!": "~",
}  # fmt: skip


def pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


def is_name(piece: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][\w$]*", piece) is not None and piece not in KEYWORDS


def rename(text: str, rng: random.Random) -> str:
    """Every name, ports and modules among them, becomes another."""
    names = sorted({piece for piece in pieces(text) if is_name(piece)})
    fresh = rng.sample(range(10_000), len(names))
    table = {name: f"{rng.choice('abcpqxyz')}_{number}" for name, number in zip(names, fresh, strict=True)}
    return "".join(table.get(piece, piece) for piece in pieces(text))


def relay(text: str, rng: random.Random) -> str:
    """Other white space; comments go, and others come."""
    out = []
    for piece in pieces(text):
        if piece.isspace() or piece.startswith(("//", "/*")):
            ended = piece.startswith("//") or "\n" in piece
            out.append("\n" if ended else rng.choice([" ", "\n", "\t  ", " /* so */ ", "  // a note\n"]))
        else:
            out.append(piece)
            if piece in (";", ",") and rng.random() < 0.5:
                out.append(rng.choice(["\n\n", " ", " // and on\n"]))
    return "".join(out)


def flip(text: str, rng: random.Random) -> str | None:
    """One operator or edge becomes another; None where there is none."""
    parts = pieces(text)
    places = [place for place, part in enumerate(parts) if part in _FLIPPED]
    if not places:
        return None
    place = rng.choice(places)
    return "".join([*parts[:place], _FLIPPED[parts[place]], *parts[place + 1 :]])


def chat(text: str, rng: random.Random) -> str:
    """An answer of a model, with reasoning that names modules and holds an open comment mark."""
    return (
        "<think>The user wants a module that (as in src/*.v) does this. I'd use an `always` block.</think>\n"
        f"Sure! Here's the module:\n\n```{rng.choice(['verilog', 'systemverilog', 'v', ''])}\n{text}\n```\n\n"
        'The module works as follows: it isn\'t clocked unless "clk" is there.\n'
    )


def everything(text: str, rng: random.Random) -> str:
    return chat(relay(rename(text, rng), rng), rng)


DISGUISES: dict[str, Callable[[str, random.Random], str | None]] = {
    "verbatim": lambda text, _: text,
    "renamed": rename,
    "other layout and comments": relay,
    "in a chat": chat,
    "all of these": everything,
}
CHANGED: dict[str, Callable[[str, random.Random], str | None]] = {
    "one operator changed": flip,
    "one operator changed, and disguised": lambda text, rng: (
        None if (changed := flip(text, rng)) is None else everything(changed, rng)
    ),
}
