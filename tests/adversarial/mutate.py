"""Other ways to write the same trick: white space, comments, escapes, names, letter case, macros token by token.

A mutation changes how a text looks and not what it does, as far as a small lexer can tell; some mutants do not compile,
and a test makes sure that most of them still do what the trick did.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from verieval.keywords import KEYWORDS

MOVES = ("space", "comments", "escape", "rename", "case", "macro", "macro-call", "macro-span", "guard")

_LINES = (
    "begin_keywords|celldefine|default_nettype|define|else|elsif|end_keywords|endif|ifdef|ifndef|include|line|pragma|protect|"
    "resetall|timescale|unconnected_drive|undef|undefineall"
)
_TOKEN = re.compile(
    rf"""(?P<line>`(?:{_LINES})\b(?:\\\n|[^\n])*(?:\n|\Z))
    |(?P<comment>//[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<call>`\w+)
    |(?P<escaped>\\\S+(?:\s|\Z))
    |(?P<system>\$\w+)
    |(?P<number>\d*'s?[bodhBODH][\w?]+|'[01xzXZ](?!\w)|'bx|'bz|\d[\w.]*)
    |(?P<name>[A-Za-z_][\w$]*)
    |(?P<space>\s+)
    |(?P<other><<<|>>>|===|!==|\|\||&&|\*\*|<=|>=|==|!=|<<|>>|\+:|-:|\(\*|\*\)|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_GAPS = (" ", "\t", "\n", "  \n\t", "\r\n", "\f")
_REMARKS = ("/**/", "/* endmodule */", "// $finish;\n", '/* "*/', "//\n")
_NAMES = ("q", "x$1", "_", "Tb", "refmodule", "good2", "top_module1", "endmodule_", "finish", "a" * 300)


@dataclass
class Token:
    """A piece of text and what it is."""

    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """All of a text, in order."""
    return [Token(match.lastgroup or "other", match[0]) for match in _TOKEN.finditer(text)]


def mutate(text: str, moves: frozenset[str], seed: int) -> str:
    """Apply the moves, in the order of ``MOVES``, with choices made by ``seed``."""
    rng = random.Random(seed)
    found = tokens(text)
    if "rename" in moves:
        _rename(found, rng)
    if "case" in moves:
        _change_case(found)
    if "escape" in moves:
        _escape(found, rng)
    head: list[str] = []
    if "macro" in moves:
        _wrap(found, rng, head)
    if "macro-call" in moves:
        _wrap_as_argument(found, rng, head)
    if "macro-span" in moves:
        found = _wrap_span(found, rng, head)
    if moves & {"space", "comments"}:
        _spread(found, rng, (_GAPS if "space" in moves else ()) + (_REMARKS if "comments" in moves else ()))
    body = "".join(head) + "".join(token.text for token in found)
    return f"`ifndef NO_SUCH_{seed}\n{body}\n`endif\n" if "guard" in moves else body


def _rename(found: list[Token], rng: random.Random) -> None:
    """Names that the trick made up; those of the bench must stay."""
    old = sorted({token.text for token in found if token.kind == "name" and token.text.startswith("my_")})
    used = {token.text for token in found if token.kind == "name"}
    pool = [name for name in _NAMES if name not in used]
    rng.shuffle(pool)
    new = dict(zip(old, pool, strict=False))
    for token in found:
        if token.kind == "line":
            token.text = re.sub(r"my_\w+", lambda match: new.get(match[0], match[0]), token.text)
        token.text = new.get(token.text, token.text)


def _change_case(found: list[Token]) -> None:
    for token in found:
        if token.kind == "number" and "'" in token.text:
            token.text = token.text.swapcase()


def _escape(found: list[Token], rng: random.Random) -> None:
    for token in found:
        if token.kind == "name" and token.text not in KEYWORDS and rng.random() < 0.6:
            token.kind, token.text = "escaped", f"\\{token.text} "


def _wrap(found: list[Token], rng: random.Random, head: list[str]) -> None:
    """Each chosen token becomes a macro, some through two of them."""
    for token in _some(found, rng, ("system", "name", "string", "number", "other")):
        name = f"T{len(head)}"
        if rng.random() < 0.3:
            head.append(f"`define {name}_ {token.text}\n`define {name} `{name}_\n")
        else:
            head.append(f"`define {name} {token.text}\n")
        token.kind, token.text = "call", f"`{name} "


def _wrap_as_argument(found: list[Token], rng: random.Random, head: list[str]) -> None:
    chosen = _some(found, rng, ("system", "name", "number"))
    if chosen:
        head.append("`define ID(x) x\n")
    for token in chosen:
        token.kind, token.text = "call", f"`ID( {token.text} ) "


def _wrap_span(found: list[Token], rng: random.Random, head: list[str]) -> list[Token]:
    """Up to ten neighbouring tokens become one macro."""
    start = rng.randrange(len(found))
    end = start
    while end < min(len(found), start + 10) and found[end].kind not in ("line", "comment"):
        end += 1
    if end - start < 2:
        return found
    text = "".join(token.text for token in found[start:end]).replace("\n", " ")
    head.append(f"`define SPAN {text}\n")
    return [*found[:start], Token("call", "`SPAN "), *found[end:]]


def _spread(found: list[Token], rng: random.Random, gaps: tuple[str, ...]) -> None:
    for before, token in zip([Token("line", ""), *found], found, strict=False):
        if token.kind not in ("line", "comment") and before.kind != "comment" and rng.random() < 0.4:
            # A macro's call keeps its argument list, and a delay or a dot may stand apart.
            if before.kind == "call" and token.text == "(":
                continue
            token.text = rng.choice(gaps) + token.text


def _some(found: list[Token], rng: random.Random, kinds: tuple[str, ...]) -> list[Token]:
    """A few tokens of these kinds, from where modules begin on: names of ports and the like may be among them."""
    ready = [token for token in found if token.kind in kinds]
    return rng.sample(ready, min(len(ready), rng.randint(1, 6)))
