"""The outer structure of an answer: reasoning, answer markers and fenced blocks.

These functions know nothing of Verilog beyond the tags of its fences. Each is one pass over the text. Lines may end in
LF, CRLF or CR: structure is found in a copy of the same length with LF only, and cut out of the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A part of an answer.

    Attributes:
        text: its content, untouched.
        kind: ``fence``, ``open_fence`` (never closed) or ``bare`` (outside fences).
        verilog: its tag says Verilog or nothing in particular; False for a fence in another language.
    """

    text: str
    kind: str
    verilog: bool = True


# Reasoning as models mark it: name of the family, opener, closer.
_REASONING = (
    ("think", r"<think>", r"</think>"),
    ("thinking", r"<thinking>", r"</thinking>"),
    ("reasoning", r"<reasoning>", r"</reasoning>"),
    ("thought", r"<thought>", r"</thought>"),
    ("channel", r"<\|channel>[ \t]*thought\b", r"<channel\|>"),
    ("bracket", r"\[THINK\]", r"\[/THINK\]"),
)
_REASONING_MARK = re.compile(
    "|".join(f"(?P<open_{name}>{opener})|(?P<close_{name}>{closer})" for name, opener, closer in _REASONING)
    + r"|(?P<slashes>//)|(?P<line>[\n\r])",
    re.IGNORECASE,
)

# Markers around an answer: opener, closer, and whether the first or the last such answer counts. After [DONE] a base
# model goes on with a question of its own, so there the first counts; a chat model corrects itself, so the last.
_ANSWER = (
    (re.compile(r"\[BEGIN\]|(?P<close>\[DONE\])"), "first"),
    (re.compile(r"<answer>|(?P<close></answer>)", re.IGNORECASE), "last"),
    (re.compile(r"<code>|(?P<close></code>)", re.IGNORECASE), "last"),
)

_ANY_MARK = re.compile(
    r"\[/?THINK\]|\[BEGIN\]|\[DONE\]|<\|channel>|<channel\|>|</?(?:think|thinking|reasoning|thought|answer|code)>",
    re.IGNORECASE,
)

_FENCE = re.compile(r"^(?P<before>[^\n]*?)(?P<run>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
_LIST_OR_QUOTE = re.compile(r"[ \t]*+(?:(?:[-*+>]|[0-9]{1,3}[.)])[ \t]*+)*+")
_TAG = re.compile(r"[ \t]*\{?[ \t]*\.?([A-Za-z][\w+#.-]*)?")
_CODE_IN_INFO = re.compile(r"\b(?:module|macromodule|assign|always|input|output)\b|//|/\*|`")
_VERILOG_TAGS = frozenset({"sv", "svh", "v", "vh", "vlog", "hdl", "rtl", "systemverilog", "system-verilog"})
_NEUTRAL_TAGS = frozenset({"", "text", "txt", "plaintext", "plain", "code", "none", "output", "answer"})
_TRANSPARENT_TAGS = frozenset({"markdown", "md"})


def flat(text: str) -> str:
    """Return the text with every line end as one LF, at the same length and offsets."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


def remove_reasoning(text: str) -> tuple[str, tuple[str, ...]]:
    """Cut the reasoning out of an answer.

    What stands between an opener and its closer goes. A closer without an opener ends reasoning that began before the
    text did, so all before it goes; an opener without a closer begins reasoning that was cut off, so all after it goes.
    An opener after ``//`` on its line is part of a code comment and does not count; a closer always does.

    Returns:
        The remaining text and the notes ``reasoning_removed``, ``reasoning_unclosed`` that apply.
    """
    if not has_marks(text):
        return text, ()
    kept: list[str] = []
    notes: list[str] = []
    family = ""  # of the reasoning that is open
    done = 0  # the text before is either in `kept` or dropped
    commented = False
    for match in _REASONING_MARK.finditer(text):
        kind, _, name = (match.lastgroup or "").partition("_")
        if not name:
            commented = kind == "slashes"
        elif kind == "open":
            if not family and not commented:
                kept.append(text[done : match.start()])
                family, done = name, match.end()
        elif not family or name == family:
            family, done = "", match.end()
            notes = ["reasoning_removed"]
    if family:
        notes.append("reasoning_unclosed")
    elif not notes:
        return text, ()
    else:
        kept.append(text[done:])
    return "\n".join(part for part in kept if part.strip()), tuple(notes)


def has_marks(text: str) -> bool:
    """Whether any marker of reasoning or of an answer stands in the text."""
    return _ANY_MARK.search(text) is not None


def answers(text: str) -> Iterator[str]:
    """Yield the texts that stand between answer markers, the most authoritative first.

    A few words between markers on one line mention them (``<code>clk</code>``) and are no answer.
    """
    for marks, which in _ANSWER:
        found = [part for part in _between(text, marks) if _is_answer(part, marks)]
        yield from found if which == "first" else reversed(found)


def blocks(text: str) -> list[Block]:
    """Split an answer into fenced blocks and the text around them, in order of appearance.

    Follows CommonMark, and what models write beyond it: a fence that opens or closes in the middle of a line, code on
    the line of the fence, a fence opened while another is still open, fences nested in a Markdown fence.
    """
    surface = flat(text)
    found: list[Block] = []
    run, tag, start = "", "", 0  # the open fence; run is empty outside
    for match in _FENCE.finditer(surface):
        role = _inside(match, run, tag) if run else _outside(match)
        if role == "none":
            continue
        prefix_is_content = not _only_marker_before(match) if run or role == "open" else True
        end = match.start("run") if prefix_is_content else match.start()
        found.append(_block(text[start:end], run, tag, closed=True))
        if role == "close":
            run, tag, start = "", "", match.end()
        elif role == "line":
            tag, start = _tag_and_start(match)
            end = surface.index("```", start)
            found.append(_block(text[start:end], "```", tag, closed=True))
            run, tag, start = "", "", match.end()
        else:
            run = match["run"]
            tag, start = _tag_and_start(match)
    found.append(_block(text[start:], run, tag, closed=False))
    return [block for block in found if block.text.strip()]


def _is_answer(part: str, marks: re.Pattern[str]) -> bool:
    if "endmodule" in part or (("\n" in part or "\r" in part) and part.strip()):
        return True
    # A statement on the markers' own line; HTML's <code> is used in that way for a mention.
    return "<code>" not in marks.pattern and part.rstrip().endswith(";")


def _between(text: str, marks: re.Pattern[str]) -> Iterator[str]:
    """Texts between a closer and the last opener before it; to the text's start or end where the partner is missing."""
    start: int | None = 0
    opened = False
    for match in marks.finditer(text):
        if not match["close"]:
            start, opened = match.end(), True
        elif start is not None:
            yield text[start : match.start()]
            start = None
    if start is not None and opened:
        yield text[start:]


def _only_marker_before(match: re.Match[str]) -> bool:
    return _LIST_OR_QUOTE.fullmatch(match["before"]) is not None


def _outside(match: re.Match[str]) -> str:
    """What a line with fence characters does outside a fence: ``open``, ``line`` (a whole block) or ``none``."""
    info, before = match["info"], match["before"]
    alone = _only_marker_before(match)
    if match["run"][0] == "~":
        return "open" if alone and _is_tag(info) else "none"
    if "//" in before or "/*" in before:
        return "none"
    if "```" in info:
        return "line" if _CODE_IN_INFO.search(info.partition("```")[0]) else "none"
    return "open" if alone or _is_tag(info) else "none"


def _inside(match: re.Match[str], run: str, tag: str) -> str:
    """What such a line does inside a fence: ``close``, ``open`` (another fence) or ``none``."""
    info, alone = match["info"], _only_marker_before(match)
    if tag in _TRANSPARENT_TAGS and alone and info.strip():
        return "open"
    if match["run"][0] != run[0] or len(match["run"]) < len(run) or "//" in match["before"]:
        return "none"
    if not alone:
        return "close" if run[0] == "`" and not info.strip() else "none"
    return "open" if info.strip() and _is_tag(info) else "close"


def _is_tag(info: str) -> bool:
    """The rest of the line is empty or one word (perhaps in braces), as a language tag is."""
    tag = _TAG.match(info)
    return tag is None or not info[tag.end() :].strip(" \t}")


def _tag_and_start(match: re.Match[str]) -> tuple[str, int]:
    """Lower-case tag of an opening fence, and where its content starts: on the next line, or on its own."""
    info = match["info"]
    found = _TAG.match(info)
    tag = (found[1] or "").lower() if found else ""
    if _CODE_IN_INFO.fullmatch(tag):
        return "", match.start("info")
    rest = found.end() if found else 0
    if _CODE_IN_INFO.search(info, rest):
        return tag, match.start("info") + rest
    return tag, match.end()


def _block(text: str, run: str, tag: str, *, closed: bool) -> Block:
    if not run:
        return Block(text, "bare")
    verilog = tag in _VERILOG_TAGS or tag in _NEUTRAL_TAGS or tag.startswith(("verilog", "systemverilog"))
    content = text.removeprefix("\r").removeprefix("\n")
    return Block(content, "fence" if closed else "open_fence", verilog)
