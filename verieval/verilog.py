r"""Lexical facts about Verilog text: comments, module spans, instances, renaming, a layout-free form.

Nothing here parses: one regular expression splits the text into tokens and short walks over the tokens answer the
questions. Every function accepts any string and takes linear time; what cannot be Verilog only makes the answer empty.
The token rules follow IEEE 1800-2017 clause 5 where Icarus does, and Icarus where it differs (``\f`` and ``\b`` are
white space, a lone carriage return ends a line).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from verieval.keywords import KEYWORDS

# Possessive repeats (*+) keep an unterminated string or comment from being scanned again and again.
_TOKEN = re.compile(
    r"""
      (?P<space>    [ \t\n\r\f\b]+ )
    | (?P<ident>    [A-Za-z_][A-Za-z0-9_$]*+ )
    | (?P<comment>  //[^\n\r]*+ | /\*(?s:.*?)\*/ )
    | (?P<cut>      /\*(?s:.*) )
    | (?P<string>   "(?:[^"\\\n\r]|\\(?:\r\n|(?s:.)))*+" )
    | (?P<open>     "(?:[^"\\\n\r]|\\(?:\r\n|(?s:.)))*+ )
    | (?P<number>   [0-9][0-9_]*+(?:\.[0-9][0-9_]*+)?(?:[eE][+-]?[0-9][0-9_]*+)?(?:[munpf]?s(?![A-Za-z0-9_$]))?
                  | '[sS]?[bBoOdDhH][ \t]*+[0-9a-fA-FxXzZ?_]++ | '[01xXzZ](?![A-Za-z0-9_$]) )
    | (?P<base>     '[sS]?[bBoOdDhH](?![A-Za-z0-9_$]) )
    | (?P<macro>    `(?:[A-Za-z_][A-Za-z0-9_$]*+|\\?`?"|`)? )
    | (?P<escaped>  \\[^ \t\n\r\f\b]++ )
    | (?P<system>   \$[A-Za-z0-9_$]++ )
    | (?P<symbol>   (?s:.) )
    """,
    re.VERBOSE,
)
# The same with operators of several characters as one token each (IEEE 1800-2017, 5.5), for `words`.
_OPERATORS = (
    r"<<<=|>>>=|===|!==|==\?|!=\?|<<<|>>>|<<=|>>=|&&&|\|->|\|=>|->>|->|&&|\|\||==|!=|<=|>=|<<|>>|\*\*|~&|~\||~\^|\^~"
    r"|\+:|-:|::|\+\+|--|[-+*/%&|^]=|\#\#|'\{|\.\*"
)
_WORD = re.compile(
    r"(?:[ \t\n\r\f\b]++|//[^\n\r]*+|/\*(?s:.*?)\*/)*+(?:"
    + _TOKEN.pattern.replace("(?P<symbol>", f"(?P<operator> {_OPERATORS} ) | (?P<symbol>")
    + r"| (?P<end> \Z ))",
    re.VERBOSE,
)
_NO_WORD = frozenset({"cut", "open", "end"})
_WORD_KINDS = {"string": "str", "system": "sys", "operator": "op", "symbol": "op"}
# The same rules for the few tokens that can hide something, so that the rest of a text is passed over quickly.
_HIDING = re.compile(
    r"""//[^\n\r]*+ | /\*(?s:.*?)(?:\*/|\Z) | "(?:[^"\\\n\r]|\\(?:\r\n|(?s:.)))*+"?
      | (?P<plain> `(?:\\?`?"|`) | \\[^ \t\n\r\f\b]++ )""",
    re.VERBOSE,
)
_MODULE_WORD = re.compile(
    r"""\\[^ \t\n\r\f\b]++ | `define\b
      | (?<![A-Za-z0-9_$`])(?:(?P<end>endmodule)|(?P<head>(?:macro)?module))(?![A-Za-z0-9_$])""",
    re.VERBOSE,
)
_HEAD = re.compile(
    r"[ \t\n\r\f\b]++(?:(?:automatic|static)[ \t\n\r\f\b]++)?(?P<name>[A-Za-z_][A-Za-z0-9_$]*+|\\[^ \t\n\r\f\b]++)"
    r"[ \t\n\r\f\b]*+(?=[(;#`]|import\b)"
)
_EXTERN = re.compile(r"\bextern[ \t\n\r\f\b]+\Z")
_LABEL = re.compile(r"[ \t\n\r\f\b]*+:[ \t\n\r\f\b]*+([A-Za-z_][A-Za-z0-9_$]*+|\\[^ \t\n\r\f\b]++)")
_LOGICAL_LINE = re.compile(r"(?:[^\\\n\r]|\\(?:\r\n|(?s:.)))*+")
_LOOK_BACK = 80  # characters before `module` in which an `extern` is looked for
_VISIBLE = re.compile(r"[^\n\r]")
_BASE = re.compile(r"'[sS]?[bBoOdDhH]")
_LONE_CR = re.compile(r"\r(?!\n)")
# Runs of white space and comments, in a text whose comments all end; then what a text may hold beside them where they
# are no mere layout or may lie inside a token: strings, escaped names, macros, and what `_gap_matters` is about.
_GAPS = re.compile(r"(?:[ \t\n\r\f\b]++|//[^\n\r]*+|/\*(?s:.*?)\*/)++")
_GAPS_ARE_NOT_ALL = re.compile(r"""["\\`]|\(\ \*|\*\ \)|'[sS]?[bBoOdDhH]\ """, re.VERBOSE)
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_GAP = frozenset({"space", "comment"})
_HIDDEN = frozenset({"space", "comment", "cut", "string", "open"})
_MODULE = frozenset({"module", "macromodule"})
_LIFETIME = frozenset({"automatic", "static"})
_NAMES_A_MACRO = frozenset({"`define", "`undef", "`ifdef", "`ifndef", "`elsif"})
_SCOPES = frozenset({"package", "interface", "program", "class", "checker", "primitive"})
_CONDITIONS = {"`ifdef": 1, "`ifndef": 1, "`endif": -1}
_IN_MODULES = re.compile(
    r"always(?:_comb|_ff|_latch)?|assign|initial|final|generate|wire|reg|logic|(?:in|out)put|inout"
)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """One token; ``kind`` is a group name of the token expression, ``start`` and ``end`` are offsets into the text."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class ModuleSpan:
    """Where a module definition lies: ``text[start:end]``.

    Attributes:
        name: without the backslash of an escaped identifier.
        start: offset of the ``module`` keyword.
        end: after ``endmodule`` and its label; where that is missing, where the next module starts or the text ends.
        complete: an ``endmodule`` closes it.
    """

    name: str
    start: int
    end: int
    complete: bool


def words(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and start of every token, operators whole.

    Kinds are ``ident`` (keywords too), ``escaped``, ``number``, ``base``, ``str``, ``sys``, ``macro`` and ``op``. White
    space, comments and strings that do not end on their line are left out. A ``/*`` that nothing closes hides nothing:
    the text may be prose.
    """
    rest, base = text, 0
    while True:
        for match in _WORD.finditer(rest):
            kind = match.lastgroup or ""
            if kind in _NO_WORD:
                if kind == "cut":
                    break
                continue
            yield _WORD_KINDS.get(kind, kind), match[kind], base + match.start(kind)
        else:
            return
        # No comment ends after here, so none is looked for again: every one would search to the end of the text.
        start = match.start("cut") + 2
        base, rest = base + start, rest[start:].replace("/*", "  ")


def mask(text: str) -> str:
    """Return the text with comments and string literals blanked; same length, line ends kept.

    An unterminated block comment reaches to the end of the text, an unterminated string to the end of its line.
    """
    return _HIDING.sub(lambda match: match[0] if match["plain"] else _VISIBLE.sub(" ", match[0]), text)


def blank_comments(text: str) -> str:
    """Return the text with comments blanked; same length, line ends kept."""
    return _HIDING.sub(lambda match: _VISIBLE.sub(" ", match[0]) if match[0][0] == "/" else match[0], text)


def modules(text: str) -> list[ModuleSpan]:
    """Return every module definition outside comments, strings and macro bodies, in order of its start.

    A definition is ``module NAME`` followed by ``(``, ``;``, ``#``, ``import`` or a directive, so a sentence such as
    "This module implements" is none. A nested module lies inside its parent's span; ``extern module`` is a declaration.
    """
    if "module" not in text:
        return []
    return modules_in(mask(text))


def modules_in(masked: str) -> list[ModuleSpan]:
    """Return the module definitions of a text that :func:`mask` has been applied to, see :func:`modules`."""
    heads: list[tuple[str, int]] = []
    ends: dict[int, int] = {}
    open_heads: list[int] = []
    skip_to = 0
    for match in _MODULE_WORD.finditer(masked):
        if match.start() < skip_to:
            continue
        if match["end"]:
            if open_heads:
                label = _LABEL.match(masked, match.end())
                is_label = label is not None and label[1] not in KEYWORDS
                ends[open_heads.pop()] = label.end() if label is not None and is_label else match.end()
        elif match["head"]:
            head = _HEAD.match(masked, match.end())
            declared = _EXTERN.search(masked, max(0, match.start() - _LOOK_BACK), match.start())
            if head is not None and head["name"] not in KEYWORDS and not declared:
                open_heads.append(len(heads))
                heads.append((_bare(head["name"]), match.start()))
        elif match[0] == "`define":  # a macro's body is no definition
            line = _LOGICAL_LINE.match(masked, match.end())
            skip_to = line.end() if line else match.end()
    starts = [start for _, start in heads[1:]] + [len(masked)]
    return [
        ModuleSpan(name, start, ends.get(number, starts[number]), number in ends)
        for number, (name, start) in enumerate(heads)
    ]


def instantiated(text: str) -> set[str]:
    """Return the names that the text uses as ``NAME [#(...)] instance [range] (``: modules, interfaces, primitives."""
    tokens = code_tokens(text)
    return {_bare(tokens[index].text) for index in _instance_heads(tokens)}


def mentioned(text: str) -> set[str]:
    """Return all names in the text; macros with their backtick, and before ``::`` also the name with it (``p::``)."""
    tokens = code_tokens(text)
    found = {_bare(token.text) for token in tokens if token.kind == "macro" or _is_name(token)}
    for index, token in enumerate(tokens):
        if token.text == ":" and _at(tokens, index + 1, ":") and index:
            found.add(_bare(tokens[index - 1].text) + "::")
    return found


def declared(text: str, *, in_modules: bool = False) -> set[str]:
    """Return what the text declares besides modules, as :func:`mentioned` spells it.

    These are packages (``p::``), interfaces and the like, classes, types, values of enumerations, constants, functions
    and macros; names inside packages and the like are left out.

    Args:
        text: any string.
        in_modules: also those inside modules. Without it the text must be one that can stand before another one:
            where something is in it that belongs in a module, or an open ``ifdef``, the answer is empty.
    """
    tokens = code_tokens(text)
    found: set[str] = set()
    depth = index = 0
    while index < len(tokens):
        word = tokens[index].text
        depth += _CONDITIONS.get(word, 0)
        if not in_modules and (_IN_MODULES.fullmatch(word) or depth < 0):
            return set()
        if word == "`define" and index + 1 < len(tokens):
            found.add("`" + tokens[index + 1].text)
            index += 2
        elif word in _SCOPES or word in ("function", "task"):
            index = _scope(tokens, index, found)
        elif word in ("typedef", "enum", "parameter", "localparam", "const"):
            index = _declaration(tokens, index, found)
        elif word in _MODULE and not in_modules:
            index = _after(tokens, index, "endmodule")
        else:
            index += 1
    return set() if depth and not in_modules else found - {"", "::"}


def rename_module(text: str, old: str, new: str) -> str:
    """Rename a module where it is defined, instantiated, labelled or the head of a hierarchical name.

    Ports, nets and macros of the same name keep theirs (they live in other name spaces); so do comments and strings.
    """
    if old == new or old not in text:
        return text
    tokens = code_tokens(text)
    instances = set(_instance_heads(tokens))
    places: list[int] = []
    paths: list[int] = []
    other = False
    for index, token in enumerate(tokens):
        if token.kind not in ("ident", "escaped") or _bare(token.text) != old or _is_macro_name(tokens, index):
            continue
        if index in instances or _names_a_module(tokens, index):
            places.append(index)
        elif _at(tokens, index + 1, ".") and not _at(tokens, index - 1, "."):
            paths.append(index)
        else:
            other = True
    # `old.x` is the module only as long as nothing else in the text is called `old`, an instance of it included.
    chosen = sorted(places if other else places + paths)
    spelled = new if _SIMPLE_NAME.fullmatch(new) and new not in KEYWORDS else f"\\{new} "
    parts: list[str] = []
    done = 0
    for index in chosen:
        parts += [text[done : tokens[index].start], spelled]
        done = tokens[index].end
    return "".join([*parts, text[done:]])


def normalise(text: str) -> str:
    """Return a form that is equal for two sources only if Icarus reads the same tokens from both.

    Comments and white space become single spaces; strings stay. In doubt the text is returned as it is: with a backtick
    outside comments (directives depend on lines), an unterminated string or comment, a string over several lines, a
    lone carriage return, a ``#line``. Equal forms may still differ in line numbers, and in what a rule reads out of
    comments (VerilogEval v2 tells its letters r and R apart by a search through the source text).
    """
    if "#line" in text or ("\r" in text and _LONE_CR.search(text)):
        return text
    if text.find("/*", max(text.rfind("*/") - 1, 0)) < 0:  # else the last comment may be unterminated
        quick = _GAPS.sub(" ", text)
        if _GAPS_ARE_NOT_ALL.search(quick) is None:
            return quick.strip(" ")
    return _normalise_by_tokens(text)


def _normalise_by_tokens(text: str) -> str:
    """:func:`normalise` of a text in which more than white space and comments counts."""
    parts: list[str] = []
    gap = ""
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match[0]
        if kind in _GAP:
            gap += token
            continue
        if kind in ("macro", "cut", "open") or (kind == "string" and ("\n" in token or "`" in token)):
            return text
        if gap and parts:
            parts.append(gap if _gap_matters(parts, token) else " ")
        parts.append(token)
        gap = ""
    return "".join(parts)


def _gap_matters(parts: list[str], token: str) -> bool:
    """Icarus has two tokens with white space inside, ``( * )`` and ``'h ff``, where a line end or comment differs."""
    last = parts[-1]
    return _BASE.fullmatch(last) is not None or (last, token) in (("(", "*"), ("*", ")"))


def code_tokens(text: str) -> list[Token]:
    """Tokens without white space, comments and strings."""
    return [
        Token(match.lastgroup or "", match[0], match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup not in _HIDDEN
    ]


def _at(tokens: list[Token], index: int, text: str) -> bool:
    return 0 <= index < len(tokens) and tokens[index].text == text


def _bare(name: str) -> str:
    return name.removeprefix("\\")


def _is_name(token: Token) -> bool:
    return token.kind == "escaped" or (token.kind == "ident" and token.text not in KEYWORDS)


def _names_a_module(tokens: list[Token], index: int) -> bool:
    """The name at ``index`` stands after ``module``, as the label of ``endmodule``, or after ``bind``."""
    before = index - 2 if index and tokens[index - 1].text in _LIFETIME else index - 1
    if before >= 0 and (tokens[before].text in _MODULE or tokens[before].text == "bind"):
        return True
    return _at(tokens, index - 1, ":") and _at(tokens, index - 2, "endmodule")


def _is_macro_name(tokens: list[Token], index: int) -> bool:
    return index > 0 and tokens[index - 1].text in _NAMES_A_MACRO


def _after(tokens: list[Token], index: int, word: str) -> int:
    return next((at + 1 for at in range(index, len(tokens)) if tokens[at].text == word), len(tokens))


def _scope(tokens: list[Token], index: int, found: set[str]) -> int:
    """Add the name of a package, function, …; return where it ends."""
    word = tokens[index].text
    end = _after(tokens, index, f"end{word}")
    name = ""
    for at in range(index + 1, end):
        if _is_name(tokens[at]):
            name = _bare(tokens[at].text)
            if word in _SCOPES:
                break
        elif tokens[at].text in ("(", ";"):  # before it stands the name, after a function's type
            break
    found.add(f"{name}::" if word == "package" else name)
    return end


def _declaration(tokens: list[Token], index: int, found: set[str]) -> int:
    """Add the names that a type or constant declaration gives; return where it ends."""
    is_type = tokens[index].text == "typedef"
    is_enum = False
    depth = 0
    last = ""
    for at in range(index, len(tokens)):
        token = tokens[at]
        is_enum |= token.text == "enum"
        if token.kind == "symbol" and token.text in _BRACKETS:
            depth += 1
        elif token.kind == "symbol" and token.text in _BRACKETS.values():
            depth -= 1
        elif _is_name(token):
            value = is_enum and depth == 1 and tokens[at - 1].text in ("{", ",")
            if value or (not is_type and depth == 0 and _at(tokens, at + 1, "=")):
                found.add(_bare(token.text))
            last = _bare(token.text) if depth == 0 else last
        if depth < 0 or (depth == 0 and token.text == ";"):
            break
    if is_type:
        found.add(last)
    return at + 1


def _closers(tokens: list[Token]) -> dict[int, int]:
    """Index of the closing bracket for each opening one that is closed properly."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "symbol":
            continue
        if token.text in _BRACKETS:
            stack.append(index)
        elif stack and token.text == _BRACKETS[tokens[stack[-1]].text]:
            pairs[stack.pop()] = index
    return pairs


def _instance_heads(tokens: list[Token]) -> Iterator[int]:
    """Indices of the names that look like the module name of an instantiation."""
    closers = _closers(tokens)
    for index, token in enumerate(tokens):
        if not _is_name(token) or not _may_start_item(tokens, index):
            continue
        after = index + 1
        if _at(tokens, after, "#"):
            after += 1
            after = closers.get(after, -1) + 1 if _at(tokens, after, "(") else after + 1
        if after == 0 or after >= len(tokens) or not _is_name(tokens[after]):
            continue
        after += 1
        while _at(tokens, after, "[") and after in closers:
            after = closers[after] + 1
        if _at(tokens, after, "("):
            yield index


def _may_start_item(tokens: list[Token], index: int) -> bool:
    """Rule out type names of functions, members, and the label of a block before a call."""
    if index == 0:
        return True
    before = tokens[index - 1].text
    if before in (".", "#", "function", "task", "automatic", "static", "virtual", "new", *_MODULE):
        return False
    if before != ":":
        return True
    label_of = tokens[index - 2].text if index > 1 else ""
    return label_of not in (":", "begin", "fork") and not label_of.startswith("end")
