r"""The lexical part of admission: directives and words that may not stand in a candidate's text.

Directives are looked for before any preprocessor sees the text, in macro bodies and inactive branches too, so that a
file that an ``include`` names is never opened. Words are looked for in the text that is compiled, which has no macros
and no inactive branches any more. Comments and strings do not count.

The tables are the policy. What ``docs/policy.md`` says of them, it says in the same order.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

from verieval.verilog import mask


class Finding(NamedTuple):
    """A reason to refuse: outcome, 1-based line (0: none), and a short sentence that names the construct."""

    outcome: str
    line: int
    reason: str


@dataclass(frozen=True)
class Words:
    """What a text says about itself.

    Attributes:
        finding: the first word that is refused, or None.
        timescale: it sets a time scale.
        prints: it can print while it is simulated.
        dotted: a dot follows a name in it, other than in a list of connections.
    """

    finding: Finding | None
    timescale: bool
    prints: bool
    dotted: bool


_STREAM = "draws from or seeds the random stream that the bench shares"
_FILE = "uses a file"

# Words that are refused wherever they stand, and why.
KEYWORDS = {
    "force": "overrides a signal, whoever drives it",
    "release": "ends an override that may be the bench's",
    "bind": "puts code into another module",
    "program": "begins a root of its own",
    "config": "chooses what other modules are made of",
    "library": "chooses what other modules are made of",
    "checker": "is nothing that Icarus knows",
    "randcase": _STREAM,
    "randsequence": _STREAM,
}

_NO_SIDE = """
    $bits $clog2 $signed $unsigned $size $high $low $left $right $increment $dimensions $unpacked_dimensions $typename
    $isunbounded $countbits $countones $onehot $onehot0 $isunknown $cast
    $itor $rtoi $bitstoreal $realtobits $bitstoshortreal $shortrealtobits
    $ln $log10 $exp $sqrt $pow $floor $ceil $sin $cos $tan $asin $acos $atan $atan2 $hypot $sinh $cosh $tanh $asinh
    $acosh $atanh $abs $min $max
    $time $stime $realtime
    $sampled $rose $fell $stable $changed $past
    $sformat $sformatf $swrite $swriteb $swriteh $swriteo $sscanf
    $setup $hold $setuphold $recovery $removal $recrem $skew $timeskew $fullskew $period $width $nochange
    """
_PRINTING = """
    $display $displayb $displayh $displayo $write $writeb $writeh $writeo $strobe $strobeb $strobeh $strobeo
    $monitor $monitorb $monitorh $monitoro $error $warning $info $printtimescale
    """
HARMLESS_TASKS = frozenset(_NO_SIDE.split())
PRINTING_TASKS = frozenset(_PRINTING.split())

# Why a system task is refused, by the pattern of its name; the last one takes the rest.
_TASKS: tuple[tuple[str, str], ...] = (
    (r"finish|stop|exit|fatal|finish_and_return|reset.*|restart|save|incsave", "controls the simulation"),
    (r"f(?:open|close|display|write|monitor|strobe)[bho]?|f(?:gets|scanf|read|seek|tell|flush|eof|error)", _FILE),
    (r"fgetc|ungetc|rewind|s?readmem.*|writemem.*|sdf_annotate|table_model.*", _FILE),
    (r"test\$plusargs|value\$plusargs|getenv|scope|showscopes|showvars|showvariables", "reads the environment"),
    (r"system|psprintf|input|key|nokey|log|nolog|list|getpattern|countdrivers", "reaches outside the simulation"),
    (r"(?:dump|fsdb|lxt|vcdplus|shm|wlf|recordvars|recordfile).*", "dumps waves"),
    (r"u?random.*|dist_.*|srandom|mti_.*|rdist_.*|get_randstate|set_randstate", _STREAM),
    (r"deposit|force|release|assert.*|deassign", "changes signals or assertions that may be the bench's"),
    (r"monitoron|monitoroff|timeformat", "changes how the bench prints"),
    (r"root", "names the root of the design"),
    (r"unit", "names the compilation unit, which the bench may share"),
    (r".*", "is not on the list of harmless system tasks"),
)  # fmt: skip
_TASK_REASONS = tuple((re.compile(rf"\$(?:{pattern})\Z"), why) for pattern, why in _TASKS)
_LEAVES = frozenset({"$root", "$unit"})

# Directives that a candidate may use: they are carried out, and no trace of them reaches the bench.
_CONFINED = """
    `define `undef `ifdef `ifndef `elsif `else `endif `celldefine `endcelldefine `timescale `begin_keywords
    `end_keywords `default_nettype `__LINE__ `__FILE__
    """
CONFINED = frozenset(_CONFINED.split())
REFUSED_DIRECTIVES = {
    "`include": "opens a file",
    "`resetall": "resets the directives of what follows",
    "`undefineall": "removes the macros of what follows",
    "`unconnected_drive": "changes what follows",
    "`nounconnected_drive": "changes what follows",
    "`pragma": "means something else to each tool",
    "`line": "changes the name and line of what follows",
    "`protect": "hides text",
    "`endprotect": "hides text",
    "`protected": "hides text",
    "`endprotected": "hides text",
    "`uselib": "chooses what other modules are made of",
    "`default_decay_time": "changes what follows",
    "`default_trireg_strength": "changes what follows",
    "`delay_mode_distributed": "changes what follows",
    "`delay_mode_path": "changes what follows",
    "`delay_mode_unit": "changes what follows",
    "`delay_mode_zero": "changes what follows",
}

_SPACE = r"[ \t\n\r\f\b]"
_TOKEN = re.compile(
    rf"""
      (?P<escaped>   \\[^ \t\n\r\f\b]*+ )
    | (?P<word>      [A-Za-z_][A-Za-z0-9_$]*+ )
    | (?P<system>    \$[A-Za-z0-9_$]++ )
    | (?P<paste>     `` )
    | (?P<directive> `[A-Za-z_][A-Za-z0-9_$]*+ )
    | (?P<tick>      ` )
    | (?P<number>    [0-9][0-9_]*+(?:\.[0-9][0-9_]*+)?(?:[eE][+-]?[0-9][0-9_]*+)?(?:[munpf]?s(?![A-Za-z0-9_$]))?
                   | '[sS]?[bBoOdDhH]{_SPACE}*+[0-9a-fA-FxXzZ?_]++ | '[01xXzZ](?![A-Za-z0-9_$]) )
    | (?P<line>      ^{_SPACE}*+\#{_SPACE}*+line\b )
    """,
    re.VERBOSE | re.MULTILINE,
)
# What makes a closer look necessary; most honest texts have none of it.
_SUSPECT = re.compile(r"\$|\b(?:" + "|".join(KEYWORDS) + r")\b")
_STRING = re.compile(r'"(?:[^"\\`\n\r]|\\[^`\n\r])*+"')
_LINE = re.compile(rf"^{_SPACE}*+\#{_SPACE}*+line\b", re.MULTILINE)
_UNTAME = re.compile(r"[^\t\n\r\f\x20-\x7e]|\r(?!\n)|[\\\"]|`(?!timescale\b)|/\*")
_TIMESCALE = re.compile(r"`timescale(?![A-Za-z0-9_$])[^\n]*+")
_TIMESCALE_LINE = re.compile(r"`timescale[ \t]+10{0,2}[ \t]*[munpf]?s[ \t]*/[ \t]*10{0,2}[ \t]*[munpf]?s[ \t\r]*")
_DEFINE = re.compile(r"`define\b(?:[^\\\n]|\\(?s:.))*+")
_BRACKET = re.compile(r"`[A-Za-z_][A-Za-z0-9_$]*+\s*+\(|[()]")
_DIRECTIVE_END = re.compile(r"`[\w$]*+\s*+\Z")
_DIRECTIVE_START = re.compile(r"\s{0,256}`")
# What may stand in front of a `resetall that resets nothing of the module's.
_HEAD = re.compile(r"(?:\s|`timescale[^\n]*+|`default_nettype[ \t]++\w++|`(?:end)?celldefine\b|`resetall\b)*+")
_BRANCH = re.compile(r"`(ifdef|ifndef|elsif|else|endif)\b(?:[ \t]++([A-Za-z_][A-Za-z0-9_$]*+))?")
_BRANCH_IN_BODY = re.compile(r"`define\b[^\n]*`(?:ifn?def|elsif|else|endif|include)\b")
_DEFINED = re.compile(r"`define\s++([A-Za-z_][A-Za-z0-9_$]*+)")
_OF_TOOLS = ("__", "SV_COV")  # macros that a tool may define by itself begin so
_NET_TYPE = re.compile(rf"{_SPACE}*+([A-Za-z_][A-Za-z0-9_$]*+)")
# `unique` and `priority` cases and assertions print when they are violated.
_DOTTED = re.compile(rf"[^(,{_SPACE[1:-1]}]{_SPACE}*+\.(?![0-9*])")
_ODD = re.compile(r"[^\t\n\r -~]")
MAX_PLAIN = 1 << 16  # characters; longer texts may meet limits of size and time
_TALKS = re.compile(
    r"\$(?:display|write|strobe|monitor|error|warning|info|printtimescale)"
    r"|\b(?:assert|assume|cover|expect|restrict|unique0?|priority)\b"
)


def scan(text: str) -> Words:
    """Look through every token of a text without macros; any string will do, in linear time."""
    bare = mask(text)
    finding = _refused_word(bare) if _SUSPECT.search(bare) else None
    return Words(
        finding,
        timescale="`timescale" in bare,
        prints=_TALKS.search(bare) is not None,
        dotted=_DOTTED.search(bare) is not None,
    )


def is_tame(text: str, bare: str | None = None) -> bool:
    """Whether every lexer reads the same tokens, with no directive but whole lines of ``timescale``.

    Outside comments and strings there are only printable characters and white space, no backslash and no backtick;
    strings end on their line and hide nothing from a preprocessor that looks into them.
    """
    bare = mask(text) if bare is None else bare
    # The masked text has a gap for each comment and string; what is blanked is looked at in the original.
    for start, end in _gaps(text, bare):
        piece = text[start:end]
        if piece.startswith('"') and not _STRING.fullmatch(piece):
            return False
        if piece.startswith("/*") and (len(piece) < 4 or not piece.endswith("*/")):
            return False
        if "\0" in piece or "\r" in piece.replace("\r\n", "\n"):
            return False
    without = _TIMESCALE.sub(lambda match: "" if _TIMESCALE_LINE.fullmatch(match[0]) else match[0] + "\0", bare)
    return _UNTAME.search(without) is None and _LINE.search(bare) is None


def is_plain(text: str) -> bool:
    """Whether a ruling can only hang on the tokens: no odd character anywhere, even in a comment, and not too long."""
    return len(text) <= MAX_PLAIN and _ODD.search(text) is None and is_tame(text)


_HIDDEN = re.compile(r'"(?:[^"\\\n\r]|\\(?:\r\n|(?s:.)))*+"?|//[^\n\r]*+|/\*(?s:.*?)(?:\*/|\Z)')


def _gaps(text: str, bare: str) -> list[tuple[int, int]]:
    """Spans of comments and strings, as :func:`verieval.verilog.mask` sees them."""
    if len(text) == len(bare) and '"' not in text and "/" not in text:
        return []
    spans = []
    position = 0
    while (match := _HIDDEN.search(text, position)) is not None:
        if bare[match.start()] in '"/':  # a mask leaves what is none, such as the slashes of an escaped name
            position = match.start() + 1
            continue
        spans.append(match.span())
        position = match.end()
    return spans


def is_allowed_task(name: str) -> bool:
    """Whether a candidate may call the system task or function ``name``."""
    return name in HARMLESS_TASKS or name in PRINTING_TASKS


def refuse_task(name: str, line: int) -> Finding:
    """The finding for a system name that is not allowed."""
    why = next(reason for pattern, reason in _TASK_REASONS if pattern.match(name))
    return Finding("not_self_contained" if name in _LEAVES else "forbidden", line, f"{_short(name)} {why}")


def refuse_escaped(name: str) -> str:
    """Why an escaped name (with its backslash) is refused, or an empty string.

    Icarus calls a *system* task for an escaped name with a dollar sign in front, and its preprocessor knows no escaped
    names, so that quotes, backticks and comment marks inside one mean something to it.
    """
    if name.startswith("\\$"):
        return "Icarus takes it for a system task"
    if len(name) > 1 and name.endswith("\\"):
        return "the simulator's own language reads its end as part of what follows"
    if any(mark in name for mark in ('"', "`", "//", "/*")):
        return "a preprocessor reads it as something else"
    return ""


def _refused_word(bare: str) -> Finding | None:
    for match in _TOKEN.finditer(bare):
        kind, token = match.lastgroup, match[0]
        if kind == "word" and token in KEYWORDS:
            return Finding("forbidden", _line(bare, match.start()), f"'{token}' {KEYWORDS[token]}")
        if kind == "system" and not is_allowed_task(token):
            return refuse_task(token, _line(bare, match.start()))
    return None


def refuse_directives(text: str) -> Finding | None:
    """The first directive, escaped name or joining of tokens that is refused, in a text as a model wrote it."""
    bare = mask(text)
    net_type, net_line = "", 0
    head = _HEAD.match(bare)
    head_end = head.end() if head else 0
    bodies = _Bodies(bare) if "``" in bare else None
    for match in _TOKEN.finditer(bare):
        kind, token, start = match.lastgroup, match[0], match.start()
        why = ""
        if kind == "escaped" and refuse_escaped(token):
            why = f"the escaped name {_short(token)}: {refuse_escaped(token)}"
        elif token == "`resetall" and start < head_end:
            net_type = ""
        elif token == "`include" and _is_never_read(text, bare, start):
            pass
        elif kind == "directive" and token in REFUSED_DIRECTIVES:
            why = f"{token} {REFUSED_DIRECTIVES[token]}"
        elif kind == "directive" and bodies and token not in CONFINED and bodies.hides(start):
            why = f"{_short(token)} is used where tokens are joined (``): its text is not known"
        elif kind == "directive" and token == "`default_nettype":
            argument = _NET_TYPE.match(bare, match.end())
            net_type, net_line = argument[1] if argument else "", _line(bare, start)
        elif kind == "paste" and bodies and bodies.joins_directive(bare, start):
            why = "a directive is made by joining tokens (``)"
        elif kind == "line":
            start += len(token) - len(token.lstrip())
            why = "#line changes the name and line of what follows"
        elif kind == "tick" and not _is_macro_mark(bare, text, start):
            why = "a lone backtick"
        if why:
            return Finding("forbidden", _line(bare, start), why)
    if net_type not in ("", "wire", "none"):
        return Finding("forbidden", net_line, f"`default_nettype {net_type} is still in force at the end of the file")
    return None


def _is_never_read(text: str, bare: str, start: int) -> bool:
    """Whether what stands at ``start`` is left out by every preprocessor: below an ``ifdef`` of what nobody defines.

    Only in texts whose comments, strings and conditions are beyond doubt.
    """
    if "\\" in bare or "``" in bare or _BRANCH_IN_BODY.search(bare) or not is_tame(text, bare.replace("`", " ")):
        return False
    defined = set(_DEFINED.findall(bare))
    left_out: list[bool] = []
    for match in _BRANCH.finditer(bare, 0, start):
        word, name = match[1], match[2]
        if word in ("ifdef", "ifndef"):
            known = not name or name in defined or name.startswith(_OF_TOOLS)
            left_out.append(word == "ifdef" and not known)
        elif not left_out:
            return False
        elif word == "endif":
            left_out.pop()
        else:
            left_out[-1] = False
    return any(left_out)


class _Bodies:
    """Where a file that joins tokens with two backticks may not use macros or directives."""

    def __init__(self, bare: str) -> None:
        spans = [match.span() for match in _DEFINE.finditer(bare)]
        opened: list[int | None] = []
        for match in _BRACKET.finditer(bare):
            if match[0] == ")":
                start = opened.pop() if opened else None
                if start is not None:
                    spans.append((start, match.end()))
            else:
                opened.append(match.start() if match[0] != "(" else None)
        spans += [(start, len(bare)) for start in opened if start is not None]
        self._starts: list[int] = []
        self._ends: list[int] = []
        for low, high in sorted(spans):
            if self._ends and low < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], high)
            else:
                self._starts.append(low)
                self._ends.append(high)

    def hides(self, start: int) -> bool:
        """Whether the macro use at ``start`` lies in a macro body or among the arguments of a macro."""
        at = bisect_left(self._starts, start) - 1
        return at >= 0 and start < self._ends[at]

    def joins_directive(self, bare: str, start: int) -> bool:
        """Whether one of the two sides is a directive or a macro."""
        return bool(_DIRECTIVE_END.search(bare, max(0, start - 256), start) or _DIRECTIVE_START.match(bare, start + 2))


def _is_macro_mark(bare: str, text: str, start: int) -> bool:
    r"""`" and `\`" quote a macro's argument; the mask blanks what follows the first backtick as a string."""
    return (
        text[start + 1 : start + 2] == '"' or text[start + 1 : start + 4] == '\\`"' or bare[start - 1 : start] == "\\"
    )


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:57]}..."
