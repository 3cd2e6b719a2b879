"""Which lines around a module are code, and which are prose.

A model that answers without fences mixes both. Prose separates; what is not prose is judged together with the module
it stands next to, also when it is wrong: extraction must not rescue an answer by cutting out what does not compile.

Outside modules a line is, in this order,

- code: a directive, an item that may stand outside modules (typedef, package, parameter, …) with all its lines, a line
  that ends in a semicolon, the start of a process or an assignment, a lone closing keyword or bracket;
- prose: it starts like a sentence, list, heading, table, quotation or tag, or ends with sentence punctuation;
- weak: it holds a token of code (an underscored name, a bracket, ``=``); code if it touches code, else prose;
- prose: the rest.

Comments and blank lines go with what they stand next to.

Inside a module nothing is cut out. Only at its two open ends, before a body that continues a given header and after a
module that is not closed, prose is told from code, and there a line that may be either is code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from verieval.blocks import flat
from verieval.keywords import KEYWORDS
from verieval.verilog import ModuleSpan, mask, modules_in


@dataclass(frozen=True)
class Chunk:
    """A stretch of code without prose.

    Attributes:
        code: the stretch, as it stands in the text.
        names: its outermost modules; none in a stretch of declarations.
        complete: all of them are closed.
        whole: it is all there is; ``code`` is then the text itself.
    """

    code: str
    names: tuple[str, ...]
    complete: bool
    whole: bool


_DIRECTIVE = re.compile(
    r"`(?:timescale|define|undef|undefineall|include|default_nettype|ifdef|ifndef|elsif|else|endif|resetall|celldefine"
    r"|endcelldefine|line|pragma|unconnected_drive|nounconnected_drive|begin_keywords|end_keywords)\b(?!`)"
)
# Items outside modules by what ends them: a keyword, or a semicolon outside brackets.
_BRACED_ITEM = re.compile(
    r"(?:extern\s+module\s+\w|typedef\s+\w|import\s+(?:\w+::|\")|(?:localparam|parameter|const)\b[^.!?]*=|bind\s+\w+\s+\w+\s+\w+\s*\("
    r"|timeunit\s+[0-9]|timeprecision\s+[0-9]|nettype\s+\w)"
)
_KEYWORD_ITEM = re.compile(
    r"(?:virtual\s+)?(package|interface|program|primitive|class|checker|config)\s+(?:automatic\s+|static\s+)?\\?[\w$]+"
    r"(?:\s+extends\s+[\w:]+)?\s*[;#(]"
    r"|(function|task)\s+(?:automatic\s+|static\s+)?(?:[\w:]+\s+){0,2}(?:\[[^\]]*\]\s*)*\w+\s*[;(]"
)
_LIST = re.compile(r"(?:[#*>|+\u2022\u2013\u2014-]|[0-9]+[.)])\s")
_STATEMENT = re.compile(r"always(?:_comb|_ff|_latch)?\s*(?:@|begin\b|$)|initial\s+begin\b|assign\s+[^=]*=")
_ATTRIBUTE = re.compile(r"\(\*.*\*\)")
_CLOSER = re.compile(r"(?:end[a-z]*|begin|generate|join|[)\]}]+[;,]?)(?:\s*:\s*[A-Za-z_]\w*)?$")
_CODE_SHAPES = (_DIRECTIVE, _STATEMENT, _CLOSER, _ATTRIBUTE)
_PROSE = re.compile(
    r"""[A-Z][A-Za-z]*(?:[\s,.:!?'-]|$) | [#*>|+\u2022\u2013\u2014-] | [0-9]+[.)]\s
      | </?[A-Za-z|] | \[/?[A-Z]+\] | ``` | ~~~
      | [^\x00-\x7f] | "
    """,
    re.VERBOSE,
)
_SENTENCE_END = re.compile(r"[.:!?][)*_\"'`]*$")
_CODE_TOKEN = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[={}()\[\];]")
_BEFORE_MODULE = re.compile(r"(?:[;:]|\*\)|\bend[a-z]+(?:[ \t]*:[ \t]*\w+)?|`\w+)$")
_EMPTY = ("blank", "edge")
_HEAD_LINE = re.compile(r"^[ \t]*+(?:macro)?module[ \t]", re.MULTILINE)
_GLOB = re.compile(r"(?<=[\w./])/\*(?![^\n]{0,200}\*/)")
_ENDMODULE = re.compile(r"\bendmodule\b")
# What else begins an item in a module though it looks like words: a keyword, an instance on several lines, a macro.
_ITEM_IN_MODULE = re.compile(
    r"(?:input|output|inout|wire|reg|logic|integer|genvar|real|bit|byte|int|var|tri[01]?|wand|wor|supply[01]|event"
    r"|signed|unsigned|enum|struct|parameter|localparam|specify|always(?:_comb|_ff|_latch)?|assign|initial|generate"
    r"|else|default|function|task)(?:$|[\s,:])"
)
_KEYWORD_BRACKET = re.compile(r"([a-z]\w*)\s*[(\[#@]")
_INSTANCE = re.compile(r"[A-Za-z_]\w*\s+[A-Za-z_]\w*\s*(?:\[[^\]]*\]\s*)?\(|[A-Za-z_]\w*\s*#\s*\(")
_MACRO = re.compile(r"`[A-Za-z_]\w*")
_WORD = re.compile(r"(?<!\S)[(*_\"']*([A-Za-z]++(?:['\u2019][a-z]++)?)[)*_\"']*+[,.:;!?]*+[)*_]*+(?!\S)")
_MARKUP = re.compile(r"#+\s+[A-Za-z]|\*\*[A-Za-z]|</?[A-Za-z|]|\[/?[A-Z]+\]$|`{3}|~{3}|-{3}")
_OPERATOR = re.compile(r"[=?&|^~<>{}\[\];]|\w\(")
_TITLE = re.compile(r"[A-Z][a-z]+:$")
_WORDS_OF_A_SENTENCE = 3
_LOOK_BACK = 80  # characters before a module keyword that are looked at
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class _Part(NamedTuple):
    """A module, or a line outside modules, as ``text[start:end]``."""

    kind: str  # module, code, comment, blank, edge (blank rest of a module's line), weak, prose
    start: int
    end: int
    span: ModuleSpan | None = None


def chunks(text: str, target: str) -> list[Chunk]:
    """Split text without fences into its stretches of code, in order, with and without modules.

    A definition of ``target`` that is not closed before another one starts was an abandoned attempt: the stretch is
    cut before the new one.
    """
    surface = flat(text)
    masked = _mask(surface) if "module" in surface else ""
    masked = masked or mask(surface)
    spans = modules_in(masked)
    parts = _settle_weak(list(_parts(surface, masked, _outermost(spans, masked))))
    return list(_stretches(text, parts, target))


def outermost(text: str) -> list[ModuleSpan]:
    """Module definitions of ``text`` that start where code can start and lie in no other one."""
    if "module" not in text:
        return []
    masked = _mask(flat(text))
    return _outermost(modules_in(masked), masked)


def body_start(text: str) -> int | None:
    """Where the code of a text starts that continues a module: 0, or after prose; None where all of it is prose."""
    surface = flat(text)
    masked = mask(surface)
    end = _ENDMODULE.search(masked)
    parts = list(_body_lines(surface, masked, 0, end.end() if end else len(surface)))
    first = next((index for index, part in enumerate(parts) if part.kind in ("code", "comment")), None)
    if first is None:
        return None
    return parts[first].start if any(part.kind == "prose" for part in parts[:first]) else 0


def code_end(text: str, span: ModuleSpan) -> tuple[int, int]:
    """Where the code of a module ends that is not closed: before the sentences that follow, to the end of the span.

    Returns:
        The end before sentences after a blank line, and the end before any sentences.
    """
    surface = flat(text)
    masked = mask(surface)
    parts = list(_body_lines(surface, masked, span.start, span.end))
    last = max((index for index, part in enumerate(parts) if part.kind in ("code", "comment")), default=0)
    tail = [(part, masked[part.start : part.end].strip()) for part in parts[last + 1 :]]
    clear = [index for index, (part, line) in enumerate(tail) if part.kind == "prose" and _is_sentence(line)]
    if not clear:
        return span.end, span.end
    titles = [index for index, (_, line) in enumerate(tail[: clear[-1]]) if _TITLE.match(line)]
    found = sorted({*clear, *titles})
    apart = next((tail[index][0].start for index in found if index and tail[index - 1][0].kind == "blank"), span.end)
    return apart, tail[found[0]][0].start


def _is_sentence(code: str) -> bool:
    """The line, without its comments and strings, can be nothing but prose."""
    if _MARKUP.match(code):
        return True
    words = [word for word in _WORD.findall(code) if word not in KEYWORDS]
    return len(words) >= _WORDS_OF_A_SENTENCE and (code.endswith(".") or not _OPERATOR.search(code))


def _body_lines(surface: str, masked: str, start: int, end: int) -> Iterator[_Part]:
    """Classify the lines of a module's inside; what may be an item of a module is code."""
    parts = [
        _Part("code", part.start, part.end)
        if part.kind in ("weak", "prose") and _is_item(masked[part.start : part.end].strip())
        else part
        for part in _lines(surface, masked, start, end)
    ]
    yield from _settle_weak(parts)


def _is_item(code: str) -> bool:
    rest = code.removesuffix("endmodule").rstrip()
    if rest.endswith(";") and rest != code:
        return True
    if _INSTANCE.match(code) and code.count("(") > code.count(")"):
        return True
    if _MACRO.match(code) and code.count("`") % 2:
        return True
    keyword = _KEYWORD_BRACKET.match(code)
    if keyword and keyword[1] in KEYWORDS:
        return True
    return _ITEM_IN_MODULE.match(code) is not None and not code.endswith((".", "!", "?"))


def _mask(surface: str) -> str:
    """:func:`mask`, but a ``/*`` glued to a word before the first module, as in ``src/*.v``, opens no comment there."""
    head = _HEAD_LINE.search(surface)
    if head is None or surface.find("/*", 0, head.start()) < 0:
        return mask(surface)
    return mask(_GLOB.sub("  ", surface[: head.start()]) + surface[head.start() :])


def _outermost(spans: list[ModuleSpan], masked: str) -> list[ModuleSpan]:
    kept: list[ModuleSpan] = []
    for span in spans:
        nested = bool(kept) and span.start < kept[-1].end
        if not nested and _code_may_start(masked, span.start):
            kept.append(span)
    ends = [span.start for span in kept[1:]] + [len(masked)]
    return [
        span if span.complete else ModuleSpan(span.name, span.start, end, False)
        for span, end in zip(kept, ends[: len(kept)], strict=True)
    ]


def _code_may_start(masked: str, position: int) -> bool:
    """Nothing stands before on the line but what may precede a module: a sentence that says "the module x (" is out."""
    lowest = max(0, position - _LOOK_BACK)
    line = masked.rfind("\n", lowest, position) + 1 or lowest
    before = masked[line:position].rstrip()
    return not before or _BEFORE_MODULE.search(before) is not None


def _parts(surface: str, masked: str, spans: list[ModuleSpan]) -> Iterator[_Part]:
    done = 0
    for span in spans:
        yield from _lines(surface, masked, done, span.start)
        yield _Part("module", span.start, span.end, span)
        done = span.end
    yield from _lines(surface, masked, done, len(surface))


def _lines(surface: str, masked: str, start: int, end: int) -> Iterator[_Part]:
    """Classify the lines of ``surface[start:end]``, which holds no module."""
    if not surface[start:end].strip():
        if start < end:
            yield _Part("blank", start, end)
        return
    until, depth = "", 0  # the item that is open: what ends it, and its brackets
    before = ""
    continued = False  # the next line belongs to a directive
    first = start
    for match in _LINE.finditer(surface, start, end):
        line = match[0]
        code = masked[match.start() : match.end()].strip()
        if until or continued:
            kind = "code"
        else:
            kind = _classify(line.strip(), code)
            if kind == "comment" and before == "prose" and not line.lstrip().startswith(("//", "/*")):
                kind = "prose"  # the rest of a comment that was opened in prose
            before = kind
            until = _opens(code) if kind == "code" else ""
            depth = 0
        if kind == "blank" and (match.end() == end or (match.start() == first and first > 0)):
            kind = "edge"
        continued = (continued or code.startswith("`")) and code.endswith("\\")
        if until:
            depth += sum(map(code.count, "({")) - sum(map(code.count, ")}"))
            if (code.endswith(";") and depth <= 0) if until == ";" else until in code:
                until = ""
        yield _Part(kind, match.start(), match.end())


def _opens(code: str) -> str:
    """What ends the item that starts on this line; empty where no item starts."""
    if _BRACED_ITEM.match(code):
        return ";"
    found = _KEYWORD_ITEM.match(code)
    return f"end{found[1] or found[2]}" if found else ""


def _classify(line: str, code: str) -> str:
    """Kind of one line outside modules; ``code`` is the line without its comments and strings."""
    if not code:
        if not line:
            return "blank"
        return "prose" if line.startswith('"') else "comment"
    if _LIST.match(line):
        return "prose"
    if code.endswith(";") or _opens(code) or any(shape.match(code) for shape in _CODE_SHAPES):
        return "code"
    if _PROSE.match(line) or _SENTENCE_END.search(code):
        return "prose"
    return "weak" if _CODE_TOKEN.search(code) else "prose"


def _settle_weak(parts: list[_Part]) -> list[_Part]:
    """Turn weak lines that touch code, directly or through weak lines, into code and the others into prose."""
    touches = {"module", "code", "comment"}
    for order in (range(len(parts)), range(len(parts) - 1, -1, -1)):
        before = "prose"
        for index in order:
            if parts[index].kind == "weak" and before in touches:
                parts[index] = _Part("code", parts[index].start, parts[index].end)
            if parts[index].kind != "edge":
                before = parts[index].kind
    return [_Part("prose", part.start, part.end) if part.kind == "weak" else part for part in parts]


def _stretches(text: str, parts: list[_Part], target: str) -> Iterator[Chunk]:
    current: list[_Part] = []
    unclosed = False  # the current stretch holds a definition of the target that is not closed
    prose = False  # some has been passed
    for part in [*parts, _Part("prose", len(text), len(text))]:
        restart = unclosed and part.span is not None and part.span.name == target
        if part.kind == "prose" or restart:
            last = part.start == len(text)
            if any(held.kind in ("code", "module") for held in current):
                yield _chunk(text, current, whole=last and not prose)
            current, unclosed, prose = [], False, True
        if part.kind == "prose" or (part.kind in _EMPTY and not current):
            continue
        current.append(part)
        unclosed |= part.span is not None and part.span.name == target and not part.span.complete


def _chunk(text: str, parts: list[_Part], *, whole: bool) -> Chunk:
    spans = [part.span for part in parts if part.span is not None]
    names = tuple(span.name for span in spans)
    complete = all(span.complete for span in spans)
    if whole:
        return Chunk(text, names, complete, True)
    end = next(part.end for part in reversed(parts) if part.kind not in _EMPTY)
    code = text[parts[0].start : end].rstrip()
    return Chunk(code + "\n", names, complete, False)
