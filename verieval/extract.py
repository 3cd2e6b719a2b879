"""From a completion to the candidate that is judged, as a pure function.

In mode ``auto`` an answer is read like a person reads it, from the outside in:

1. *Reasoning* goes first (:func:`verieval.blocks.remove_reasoning`).
2. What stands between *answer markers* (``[BEGIN]`` … ``[DONE]``, ``<answer>``, ``<code>``) comes before the rest.
3. With a *header*, a text that starts with code and comes to ``endmodule`` continues it; what follows is run-on.
4. *Fences* come before bare text: the last fenced block that defines the target module, with the modules and packages
   it uses from other blocks. A block in another language counts only if it defines the target.
5. *Bare text* is freed of prose (:mod:`verieval.chunks`).
6. With a *header*, an answer that defines no module but helpers and test benches continues it in the same way.

Two rules keep this from changing what is measured. Nothing is repaired: what is missing stays missing, and a repaired
source is handed on apart, with the one missing ``endmodule`` right after the code. And nothing is rescued: a line that
is not prose is judged together with the module it touches, so a broken line of code is not cut away (fences or not).
Text that is nothing but code is passed on as it is.

Mode ``verbatim`` takes the text for the code. It is meant for files whose completions were extracted already (TuRTLe's
``generation``), where a second extraction could only add differences to the harness that made them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from verieval.assembly import Piece, complete
from verieval.blocks import Block, answers, blocks, has_marks, remove_reasoning
from verieval.chunks import Chunk, body_start, chunks, code_end, outermost
from verieval.errors import VerievalError
from verieval.verdict import Candidate
from verieval.verilog import ModuleSpan, instantiated, mask, modules, modules_in, normalise

EXTRACTION_VERSION = 1
MODES = ("auto", "verbatim")

_BOM = "\ufeff"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_VERILOG = re.compile(
    r"\bendmodule\b|\b(?:macro)?module\s+\w+\s*(?:[(;#]|$)|\balways(?:_ff|_comb|_latch)\b|\balways\s*(?:@|begin\b|#)"
    r"|\bassign\s+[^=;\n]{1,200}=|\binitial\s+begin\b|\b(?:pos|neg)edge\s+\w|\bendcase\b"
)
_STATEMENT = re.compile(r";\s*(?://.*)?$", re.MULTILINE)
_BLANK_END = re.compile(r"[ \t]*+(?:\r\n|\n|\r)")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3}|~{3})|`{3}[ \t\r]*$", re.MULTILINE)


def describe(mode: str = "auto") -> dict[str, object]:
    """Return what a manifest says about extraction: the mode, and the version that changes when results may."""
    _check(mode)
    return {"mode": mode, "version": EXTRACTION_VERSION}


def extract(text: str, task_module: str, header: str | None = None, *, mode: str = "auto") -> Candidate:
    """Find the Verilog in a completion.

    Args:
        text: the completion as the model gave it; any string.
        task_module: the module that the bench instantiates.
        header: beginning of that module, when the model was asked to continue it.
        mode: ``auto`` or ``verbatim``, see the module's description.

    Returns:
        The candidate. ``source`` can be encoded as UTF-8, and where it is complete ``extract(source, …)`` gives it
        back. With method ``none`` it is empty.

    Raises:
        VerievalError: unknown mode.
    """
    _check(mode)
    cleaned, notes = _clean(text, keep=mode == "verbatim")
    if not cleaned.strip():
        return Candidate("", "none", notes, None, False)
    if mode == "verbatim":
        return _finish(Candidate(cleaned, "verbatim", notes), task_module)
    if _is_only_code(cleaned, task_module, header):
        return _finish(_drop_testbench(Candidate(cleaned, "bare", notes), task_module), task_module)
    answer, removed = remove_reasoning(cleaned)
    notes += removed
    fallback: Candidate | None = None
    bare = True  # no module is in it
    for part, inside in [*((part, True) for part in answers(answer)), (answer, False)]:
        found = _solve(part, task_module, header)
        if found is None:
            continue
        if inside and found.method in ("bare", "whole"):
            found = replace(found, method="marker")
        found = _finish(replace(found, notes=notes + found.notes), task_module)
        if found.defines_target:
            return found
        if fallback is None or (bare and modules(found.source)):
            fallback, bare = found, not modules(found.source)
    return fallback or Candidate("", "none", notes, None, False)


def _check(mode: str) -> None:
    if mode not in MODES:
        raise VerievalError(f"unknown extraction mode '{mode}'; use one of: {', '.join(MODES)}")


def _clean(text: str, *, keep: bool) -> tuple[str, tuple[str, ...]]:
    """Make the text one that can be written to a file; without ``keep`` also drop NUL and byte order marks."""
    notes: list[str] = []
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
        notes.append("surrogates_replaced")
    if not keep and "\0" in text:
        text = text.replace("\0", "")
        notes.append("nul_removed")
    if not keep and _BOM in text:
        text = text.replace(_BOM, "")
        notes.append("bom_removed")
    return text, tuple(notes)


def _is_only_code(text: str, target: str, header: str | None) -> bool:
    """All of the text is code and defines the target; marks and fences in its comments mean nothing then."""
    found = chunks(text, target)
    if len(found) != 1 or not (found[0].whole and found[0].complete and target in found[0].names):
        return False
    bare = mask(text)
    return not (has_marks(bare) or _FENCE_LINE.search(bare) or (header is not None and _closes_header(text)))


def _solve(text: str, target: str, header: str | None) -> Candidate | None:
    """Best candidate of an answer without reasoning and markers; None where there is no code."""
    parts = blocks(text)
    pieces = [
        Piece(chunk, number, part.kind, part.verilog)
        for number, part in enumerate(parts)
        for chunk in chunks(part.text, target)
    ]
    echo = None if header is None else normalise(header).strip()
    found = [piece for piece in pieces if piece.chunk.names and not _is_echo(piece.chunk, echo)]
    fenced = [piece for piece in found if piece.method != "bare"]
    bare = [piece for piece in found if piece.method == "bare"]
    body = _bare_body(parts) if header is not None else ""
    if header is not None and _closes_header(body) and body == parts[0].text:
        return _continue(header, body, target, pieces)
    if chosen := _last(fenced, target):
        return _assemble(chosen, pieces, target)
    if header is not None and _closes_header(body):
        return _continue(_line(header), body, target, pieces)
    if chosen := _last(bare, target):
        return _assemble(chosen, pieces, target)
    if header is not None:
        bodies = [number for number, part in enumerate(parts) if part.kind != "bare" and part.verilog]
        bodies = [number for number in bodies if _may_continue(parts[number].text)]
        if bodies:
            return _continue(_line(header), parts[bodies[-1]].text, target, pieces, bodies[-1])
        if _may_continue(body, loose=True):
            return _continue(header if body == parts[0].text else _line(header), body, target, pieces)
    for group in ([piece for piece in fenced if piece.verilog], bare):
        if group:
            return _assemble(group[-1], pieces, target)
    for part in reversed(parts):
        if part.kind != "bare" and part.verilog and _looks_verilog(part.text):
            return Candidate(part.text, part.kind)
    return Candidate(text, "whole") if _looks_verilog(text) else None


def _last(pieces: list[Piece], target: str) -> Piece | None:
    return next((piece for piece in reversed(pieces) if target in piece.chunk.names), None)


def _line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _is_echo(chunk: Chunk, header: str | None) -> bool:
    """The chunk only repeats the header that the model was given; ``header`` without its layout."""
    return header is not None and not chunk.complete and normalise(chunk.code).strip() == header


def _bare_body(parts: list[Block]) -> str:
    """What stands before any fence, from its first line of code; the text itself where that is its first line."""
    text = parts[0].text if parts and parts[0].kind == "bare" else ""
    start = body_start(text)
    heads = outermost(text) if start else []
    return "" if start is None or (heads and heads[0].start < start) else text[start:]


def _looks_verilog(text: str, *, loose: bool = False) -> bool:
    """The text holds something that only Verilog has; ``loose`` also takes a line that ends in a semicolon."""
    return _VERILOG.search(text) is not None or (loose and _STATEMENT.search(text) is not None)


def _may_continue(text: str, *, loose: bool = False) -> bool:
    """Code without a module definition, or with some only after code that belongs in a module."""
    heads = outermost(text)
    before = mask(text)[: heads[0].start] if heads else text
    return _looks_verilog(before, loose=loose and not heads) or (bool(heads) and bool(instantiated(before)))


def _closes_header(text: str) -> bool:
    """An ``endmodule`` stands before any module head: the text starts inside a module."""
    bare = mask(text)
    end = re.search(r"\bendmodule\b", bare)
    if end is None:
        return False
    heads = outermost(text)
    return not heads or end.start() < heads[0].start


def _continue(header: str, body: str, target: str, pieces: list[Piece], fence: int | None = None) -> Candidate:
    """Header and the body from the given fence or from what stands before any, with the helpers it lacks."""
    part = fence or 0
    candidate = _join(header, body, target)
    names = {span.name for span in outermost(candidate.source)}
    own = {index for index, piece in enumerate(pieces) if piece.part == part}
    candidate = complete(candidate, names, pieces, own, sum(piece.part < part for piece in pieces))
    later = {name for piece in pieces if piece.part > part for name in piece.chunk.names}
    unused = target in later or not later <= {span.name for span in outermost(candidate.source)}
    if fence is None and unused and "run_on_dropped" not in candidate.notes:
        candidate = replace(candidate, notes=(*candidate.notes, "run_on_dropped"))
    return candidate


def _join(header: str, body: str, target: str) -> Candidate:
    """Header and body, joined as upstream joins them; what follows the target's end stays only if it is needed."""
    joined = header + body
    spans = outermost(joined)
    first = next((span for span in spans if span.name == target), None)
    if first is None or not first.complete:
        return Candidate(joined, "continuation")
    rest = [span for span in spans if span.start >= first.end and span.name != target]
    needed = _needed([first, *rest], joined, target)
    kept = [span for span in rest if span.name in needed]
    found = [chunk for chunk in chunks(joined, target) if chunk.names]
    if len(found) == 1 and kept == [span for span in spans if span.start >= first.end]:
        return Candidate(found[0].code, "continuation")
    source = joined[: first.end] + "".join(f"\n\n{joined[span.start : span.end].rstrip()}" for span in kept) + "\n"
    return Candidate(source, "continuation", ("run_on_dropped",))


def _assemble(chosen: Piece, pieces: list[Piece], target: str) -> Candidate:
    """The chosen code with what it lacks from the rest of the answer."""
    candidate = _drop_testbench(Candidate(chosen.chunk.code, chosen.method), target)
    place = next(index for index, piece in enumerate(pieces) if piece is chosen)
    return complete(candidate, set(chosen.chunk.names), pieces, {place}, place)


def _needed(spans: Iterable[ModuleSpan], code: str, target: str) -> set[str]:
    """The target and the modules among ``spans`` that it instantiates, directly or not."""
    uses: dict[str, set[str]] = {}
    for span in spans:
        uses.setdefault(span.name, set()).update(instantiated(code[span.start : span.end]))
    return _closure(target, uses)


def _closure(start: str, edges: dict[str, set[str]]) -> set[str]:
    reached = {start}
    frontier = [start]
    while frontier:
        new = edges.get(frontier.pop(), set()) - reached
        reached |= new
        frontier += sorted(new)
    return reached


def _drop_testbench(candidate: Candidate, target: str) -> Candidate:
    """Take out modules that instantiate the target without being needed by it: the model's own test bench."""
    code = candidate.source
    spans = outermost(code) if code.count("module") > 2 else []
    if len(spans) < 2 or all(span.name != target for span in spans):
        return candidate
    uses: dict[str, set[str]] = {}
    used_by: dict[str, set[str]] = {}
    for span in spans:
        found = instantiated(code[span.start : span.end])
        uses.setdefault(span.name, set()).update(found)
        for name in found:
            used_by.setdefault(name, set()).add(span.name)
    dropped = _closure(target, used_by) - _closure(target, uses)
    if not dropped:
        return candidate
    parts: list[str] = []
    done = 0
    for span in spans:
        if span.name in dropped:
            parts.append(code[done : span.start])
            rest_of_line = _BLANK_END.match(code, span.end)
            done = rest_of_line.end() if rest_of_line else span.end
    source = "".join([*parts, code[done:]]).strip("\r\n") + "\n"
    # Lines that only touched what was dropped are no code any more.
    source = next((chunk.code for chunk in reversed(chunks(source, target)) if target in chunk.names), source)
    return replace(candidate, source=source, notes=(*candidate.notes, "testbench_dropped"))


def _finish(candidate: Candidate, target: str) -> Candidate:
    """Cut sentences after a module that is not closed, and fill in what follows from the source alone."""
    source = candidate.source
    notes = list(candidate.notes)
    masked = mask(source)
    spans = modules_in(masked)
    unfinished = [span for span in spans if not span.complete]
    repaired: str | None = None
    if unfinished:
        notes.append("missing_endmodule")
    if len(unfinished) == 1:
        apart, end = code_end(source, unfinished[0])
        rest = source[unfinished[0].end :]
        mended = _line(source[:end].rstrip() if rest.strip() or end < unfinished[0].end else source[:end])
        mended += "endmodule\n" + ("\n" + rest if rest.strip() else "")
        repaired = mended if all(span.complete for span in modules(mended)) else None
        if apart < unfinished[0].end and candidate.method != "verbatim":
            source = source[:apart].rstrip() + "\n" + ("\n" + rest if rest.strip() else "")
            masked = mask(source)
    if _NON_ASCII.search(masked):
        notes.append("non_ascii")
    defined = any(span.name == target for span in spans)
    return replace(candidate, source=source, notes=tuple(notes), repaired=repaired, defines_target=defined)
