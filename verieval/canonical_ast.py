"""The syntax tree of a design through pyverilog, as a string that is the same for designs that differ in names only.

pyverilog's tree alone would not do: it drops delays, ``signed`` of a port's followers, the type of a real, and more, so
different designs would come out the same. What it would drop is therefore either written differently before it parses
(:func:`verieval.canonical_tokens.spell_ports`, ``+:`` as a call) or refused (:func:`_faithful`), and a refused design
has no tree. ``tests/test_canonical.py`` holds that to every token of every reference of the benchmarks.

pyverilog reads text made here from tokens: no directive, comment, string or escaped name of the design reaches its
lexer, so its preprocessor (which calls iverilog through temporary files) is not used and its expressions cannot be made
to backtrack. An LALR parser takes linear time, its tuples quadratic time in the items of one module; with
:data:`MAX_TOKENS` that is seconds at most, so it needs no process of its own. One parser serves all threads of a
process.
"""

from __future__ import annotations

import os
import threading
import types
from collections.abc import Iterator, Sequence
from typing import Any

from verieval.canonical_tokens import Tok, closers, external, spell_ports

MAX_TOKENS = 20_000
MAX_DEPTH = 500  # of the tree, which must be walked

# What pyverilog knows and keeps; gate primitives are instances to it.
_KNOWN = """
    module endmodule begin end generate endgenerate genvar function endfunction task endtask input inout output tri reg
    wire integer signed parameter localparam assign always always_ff always_comb always_latch or posedge negedge initial
    if else for while case casex casez endcase default disable and nand nor xor xnor not buf bufif0 bufif1 notif0 notif1
    """
_WORDS = frozenset(_KNOWN.split())
_CASES = frozenset({"case", "casex", "casez"})
_RANKS = {"input": 1, "output": 1, "inout": 1, "wire": 2, "reg": 2, "tri": 2, "signed": 3}
_ALWAYS = frozenset({"always", "always_ff", "always_latch"})
_SYMBOLS = """
    + - ** * / % ~ | ~| & ~& ^ ~^ || && ! <<< >>> << >> < > <= >= == != === !== ? = @ , : ; . +: -: ( ) [ ] { } #
    """
_OPERATORS = frozenset(_SYMBOLS.split())
_BEFORE_UNARY = _OPERATORS - {")", "]", "}"}
_LITERAL = frozenset({"value", "type", "default_nettype", "syscall", "signed"})
_IGNORED = frozenset({"lineno", "end_lineno", "default_nettype"})
_DECLARED = frozenset({"Input", "Output", "Inout", "Wire", "Reg", "Tri"})


class _Refused(Exception):
    """The design has no tree that can be relied on."""


def tree(tokens: Sequence[Tok]) -> str | None:
    """Return the canonical tree, or None where pyverilog does not parse the design or would lose something of it.

    Args:
        tokens: from :func:`verieval.canonical_tokens.tokenise`, without opaque macros.
    """
    if len(tokens) > MAX_TOKENS:
        return None
    spelled = spell_ports(tokens)
    if len(spelled) > MAX_TOKENS or not _faithful(spelled):
        return None
    text, names, strings = _write(spelled)
    ast = _parse(text)
    if ast is None:
        return None
    try:
        return _Walker(names, strings, external(tokens)).walk(ast)
    except _Refused:
        return None


# ---- what pyverilog would lose


def _faithful(tokens: Sequence[Tok]) -> bool:
    """Nothing in the tokens is of a kind that pyverilog drops or takes for something else."""
    before = Tok("op", ";")
    headed = _ends_of_case_heads(tokens)
    rank = 0  # within a run of words such as `output reg signed`
    for index, token in enumerate(tokens):
        kind, text = token
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if kind == "macro" or (kind == "word" and text not in _WORDS) or (kind == "op" and text not in _OPERATORS):
            return False
        if kind == "num" and not (text.isdigit() or "'" in text):
            return False  # a real, or a time with its unit
        if text in _ALWAYS and kind == "word" and after != "@":
            return False  # without an event it reads as @*
        if text == "@" and kind == "op" and before.text not in _ALWAYS:
            return False  # `@*;` reads as `;`
        if text == "#" and kind == "op" and (before.kind != "name" or after != "("):
            return False  # a delay, which an if would lose
        if text == "+" and kind == "op" and (_unary(before) or index - 1 in headed):
            return False
        if kind == "word" and text in _RANKS:
            if _RANKS[text] <= rank:
                return False  # twice, or in an order that is none: it reads a set
            rank = _RANKS[text]
        else:
            rank = 0
        if text == "integer" and before.text in ("parameter", "localparam", "function"):
            return False
        if text == "integer" and after == "signed":
            return False
        before = token
    return True


def _ends_of_case_heads(tokens: Sequence[Tok]) -> frozenset[int]:
    """Indices of the brackets that close ``case (…)``."""
    pairs = closers(tokens)
    return frozenset(pairs[at + 1] for at, token in enumerate(tokens) if token.text in _CASES and at + 1 in pairs)


def _unary(before: Tok) -> bool:
    return (before.kind == "op" and before.text in _BEFORE_UNARY) or before.kind == "word"


def _write(tokens: Sequence[Tok]) -> tuple[str, dict[str, str], list[str]]:
    """Text for pyverilog, the design's names by the names in it, and its strings in order."""
    pairs = closers(tokens)
    short: dict[str, str] = {}
    strings: list[str] = []
    closing: dict[int, str] = {}  # what to add before the token at an index
    open_brackets: list[int] = []
    parts: list[str] = []
    for index, (kind, text) in enumerate(tokens):
        if kind == "op" and text == "[":
            open_brackets.append(index)
        elif kind == "op" and text == "]" and open_brackets:
            open_brackets.pop()
        if index in closing:
            parts.append(closing[index])
        if kind == "name":
            parts.append(short.setdefault(text, f"n{len(short)}"))
        elif kind == "str":
            parts.append(f'"{len(strings)}"')
            strings.append(text)
        elif text in ("+:", "-:") and open_brackets and open_brackets[-1] in pairs:
            parts.append(f": ${'up' if text == '+:' else 'down'}(")
            closing[pairs[open_brackets[-1]]] = ")"
        elif kind == "num" and text[0] == "'":
            parts.append(f"$fill{text[1:]}" if text[1:].isalnum() else text)
        else:
            parts.append(text)
    return " ".join(parts) + "\n", {new: old for old, new in short.items()}, strings


# ---- the parser


_lock = threading.Lock()
_parser: Any = None


def _renew_lock() -> None:
    """In a child of fork: the thread that held the lock is not there."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def _parse(text: str) -> Any:
    """Parse a text that :func:`_write` made; None where it does not parse."""
    global _parser  # noqa: PLW0603
    from pyverilog.vparser.parser import ParseError

    with _lock:
        if _parser is None:
            _parser = _build()
        try:
            return _parser.parse(text)
        except (ParseError, AttributeError, TypeError, IndexError):  # its actions do not check what they are given
            return None


def _build() -> Any:
    """A parser with its tables, 1.1 s; nothing is written, and no table file of somebody's is read."""
    from ply.yacc import NullLogger, yacc
    from pyverilog.vparser.lexer import VerilogLexer
    from pyverilog.vparser.parser import VerilogParser

    parser = VerilogParser.__new__(VerilogParser)  # its own __init__ writes files
    parser.lexer = VerilogLexer(error_func=parser._lexer_error_func)
    parser.lexer.build()
    parser.tokens = parser.lexer.tokens
    outdated = types.ModuleType("no_tables")
    outdated._tabversion = ""  # type: ignore[attr-defined]
    parser.parser = yacc(
        module=parser,
        method="LALR",
        debug=False,
        write_tables=False,
        tabmodule=outdated,
        outputdir=os.devnull,
        errorlog=NullLogger(),
    )
    return parser


# ---- the tree as a string


class _Walker:
    """Writes a tree, with names numbered in order of their first occurrence in it."""

    def __init__(self, names: dict[str, str], strings: list[str], foreign: frozenset[str]) -> None:
        self._names = names
        self._strings = strings
        self._foreign = foreign
        self._numbers: dict[str, str] = {}

    def walk(self, root: Any) -> str:
        """Depth first, without recursion."""
        out: list[str] = []
        stack: list[tuple[Any, bool, int]] = [(root, False, 0)]  # a thing to write, ports of a foreign module, depth
        while stack:
            item, foreign, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise _Refused
            if isinstance(item, str):
                out.append(item)
            elif item is None or isinstance(item, bool):
                out.append(str(item))
            elif isinstance(item, list | tuple):
                stack.append((f"]{len(item)}", foreign, depth))
                stack += [(part, foreign, depth + 1) for part in reversed(item)]
            else:
                stack += [(part, inner, depth + 1) for part, inner in reversed(list(self._node(item, foreign)))]
        return " ".join(out)

    def _node(self, node: Any, foreign: bool) -> Iterator[tuple[Any, bool]]:
        kind = type(node).__name__
        fields = {name: value for name, value in vars(node).items() if name not in _IGNORED}
        if kind == "Block" and node.scope is None and len(node.statements) == 1:
            yield node.statements[0], foreign
            return
        if kind == "ModuleDef":
            fields = _module(node)
        if kind == "InstanceList":
            foreign = node.module in self._names and self._names[node.module] in self._foreign
        yield f"({kind}", foreign
        for name, value in fields.items():
            if isinstance(value, str) and name not in _LITERAL:
                of_module = name == "module" or name in ("portname", "paramname")
                yield self._name(value, verbatim=foreign and of_module), foreign
            elif kind == "StringConst":
                yield repr(self._strings[int(value)]), foreign
            else:
                yield value, foreign

    def _name(self, short: str, *, verbatim: bool) -> str:
        name = self._names.get(short)
        if name is None:  # a gate, or no name at all
            return f"={short}"
        if verbatim:
            return f"={name}"
        return self._numbers.setdefault(name, f"#{len(self._numbers)}")


class _Ports:
    """What is declared of the ports of one module, in whichever style."""

    def __init__(self, names: Sequence[str]) -> None:
        self.closed = False  # nothing may be declared of them any more
        self.of: dict[str, dict[str, Any]] = {name: {} for name in names}

    def add(self, declared: Any) -> bool:
        """Take a declaration, if it is one of a port."""
        kind = type(declared).__name__
        if kind not in _DECLARED or declared.name not in self.of:
            return False
        if self.closed or kind in self.of[declared.name]:
            raise _Refused
        self.of[declared.name][kind] = declared
        return True

    def listed(self) -> list[Any]:
        """Name and declarations of each port; a wire is what a port is anyhow."""
        return [
            [found[kind] for kind in sorted(found) if kind != "Wire" or len(found) == 1 or found[kind].signed]
            for found in self.of.values()
        ]


def _module(node: Any) -> dict[str, Any]:
    """Fields of a module with its ports in one style and one declaration an item."""
    ports = node.portlist.ports or ()
    names = [port.first.name if type(port).__name__ == "Ioport" else port.name for port in ports]
    if len(set(names)) < len(names):
        raise _Refused
    known = _Ports(names)
    if len({type(port) for port in ports}) > 1:
        raise _Refused
    for port in ports:
        if type(port).__name__ == "Ioport":
            for part in (port.first, port.second):
                if part is not None:
                    known.add(part)
    known.closed = any(known.of.values())
    items: list[Any] = []
    for item in node.items:
        parts = item.list if type(item).__name__ == "Decl" else (item,)
        items += [part for part in parts if not known.add(part)]
    return {"name": node.name, "paramlist": node.paramlist, "ports": known.listed(), "items": items}
