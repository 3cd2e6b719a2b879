"""From a completion to the candidate that is judged, as a pure function.

In mode ``auto`` an answer is read like a person reads it, from the outside in:

1. *Reasoning* goes first (:func:`verieval.blocks.remove_reasoning`).
2. What stands between *answer markers* (``[BEGIN]`` … ``[DONE]``, ``<answer>``, ``<code>``) comes before the rest.
3. *Fences* come before bare text: the last fenced block that defines the target module, with the modules it
   instantiates from other blocks. A block in another language counts only if it defines the target.
4. *Bare text* is freed of prose (:mod:`verieval.chunks`).
5. With a *header* an answer that does not define the target itself continues the header.

Two rules keep this from changing what is measured. Nothing is repaired: what is missing stays missing, and a repaired
source is handed on apart. And nothing is rescued: a line that is not prose is judged together with the module it
touches, so a broken line of code is not cut away (fences or not). Text that is nothing but code is passed on as it is.

Mode ``verbatim`` takes the text for the code. It is meant for files whose completions were extracted already (TuRTLe's
``generation``), where a second extraction could only add differences to the harness that made them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from verieval.blocks import answers, blocks, has_marks, remove_reasoning
from verieval.chunks import Chunk, chunks, outermost
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


@dataclass(frozen=True)
class _Piece:
    """A stretch of code and the kind of block it came from."""

    chunk: Chunk
    method: str
    verilog: bool


_Helper = tuple[int, int, str]  # index of its piece, offset in it, text


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
    for part, inside in [*((part, True) for part in answers(answer)), (answer, False)]:
        found = _solve(part, task_module, header)
        if found is None:
            continue
        if inside and found.method in ("bare", "whole"):
            found = replace(found, method="marker")
        found = _finish(replace(found, notes=notes + found.notes), task_module)
        if found.defines_target:
            return found
        fallback = found if not inside or fallback is None else fallback
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
    pieces = [_Piece(chunk, part.kind, part.verilog) for part in parts for chunk in chunks(part.text, target)]
    fenced = [piece for piece in pieces if piece.method != "bare"]
    bare = [piece for piece in pieces if piece.method == "bare"]
    if chosen := _last(fenced, target):
        return _assemble(chosen, pieces, target)
    if header is not None and parts and parts[0].kind == "bare" and _closes_header(parts[0].text):
        return _continue(header, parts[0].text, target)
    if chosen := _last(bare, target):
        return _assemble(chosen, pieces, target)
    if header is not None:
        bodies = [part.text for part in parts if part.kind != "bare" and part.verilog and _looks_verilog(part.text)]
        if bodies:
            return _continue(header if header.endswith("\n") else header + "\n", bodies[-1], target)
        if parts and parts[0].kind == "bare" and _looks_verilog(parts[0].text, loose=True):
            return _continue(header, parts[0].text, target)
    for group in ([piece for piece in fenced if piece.verilog], bare):
        if group:
            return _assemble(group[-1], pieces, target)
    for part in reversed(parts):
        if part.kind != "bare" and part.verilog and _looks_verilog(part.text):
            return Candidate(part.text, part.kind)
    return Candidate(text, "whole") if _looks_verilog(text) else None


def _last(pieces: list[_Piece], target: str) -> _Piece | None:
    return next((piece for piece in reversed(pieces) if target in piece.chunk.names), None)


def _looks_verilog(text: str, *, loose: bool = False) -> bool:
    """The text holds something that only Verilog has; ``loose`` also takes a line that ends in a semicolon."""
    return _VERILOG.search(text) is not None or (loose and _STATEMENT.search(text) is not None)


def _closes_header(text: str) -> bool:
    """An ``endmodule`` stands before any module head: the text starts inside a module."""
    bare = mask(text)
    end = re.search(r"\bendmodule\b", bare)
    if end is None:
        return False
    heads = outermost(text)
    return not heads or end.start() < heads[0].start


def _continue(header: str, body: str, target: str) -> Candidate:
    """Header and body, joined as upstream joins them; what follows the target's end stays only if it is needed."""
    joined = header + body
    spans = outermost(joined)
    first = next((span for span in spans if span.name == target), None)
    if first is None or not first.complete:
        return Candidate(joined, "continuation")
    rest = [span for span in spans if span.start >= first.end and span.name != target]
    needed = _needed([first, *rest], joined, target)
    kept = [span for span in rest if span.name in needed]
    found = chunks(joined, target)
    if len(found) == 1 and kept == [span for span in spans if span.start >= first.end]:
        return Candidate(found[0].code, "continuation")
    source = joined[: first.end] + "".join(f"\n\n{joined[span.start : span.end].rstrip()}" for span in kept) + "\n"
    return Candidate(source, "continuation", ("run_on_dropped",))


def _assemble(chosen: _Piece, pieces: list[_Piece], target: str) -> Candidate:
    """The chosen code with the helper modules that it lacks, in the order of the answer."""
    candidate = _drop_testbench(Candidate(chosen.chunk.code, chosen.method), target)
    if len(pieces) == 1:
        return candidate
    code = candidate.source
    place = next(index for index, piece in enumerate(pieces) if piece is chosen)
    offers = _offers(pieces, chosen)
    have = set(chosen.chunk.names)
    wanted = sorted(instantiated(code) - have)
    helpers: list[_Helper] = []
    while wanted:
        name = wanted.pop()
        if name in have or name not in offers:
            continue
        have.add(name)
        helpers.append(offers[name])
        wanted += sorted(instantiated(offers[name][2]) - have)
    if not helpers:
        return candidate
    helpers = _with_preambles(sorted(helpers), pieces, code)
    before = [text for index, _, text in helpers if index < place]
    after = [text for index, _, text in helpers if index > place]
    source = "\n\n".join(text.strip("\r\n") for text in [*before, code, *after]) + "\n"
    return replace(candidate, source=source, notes=(*candidate.notes, "helpers_added"))


def _offers(pieces: list[_Piece], chosen: _Piece) -> dict[str, _Helper]:
    """Modules of the other pieces by name, as (piece, offset, text); the last definition wins."""
    return {
        span.name: (index, span.start, piece.chunk.code[span.start : span.end])
        for index, piece in enumerate(pieces)
        if piece is not chosen and piece.verilog
        for span in outermost(piece.chunk.code)
    }


def _with_preambles(helpers: list[_Helper], pieces: list[_Piece], code: str) -> list[_Helper]:
    """Put what stands before a piece's first module (directives, types) before its first helper; once."""
    found: list[_Helper] = []
    present = normalise(code)
    done: set[int] = set()
    for index, start, text in helpers:
        if index not in done:
            source = pieces[index].chunk.code
            preamble = source[: outermost(source)[0].start]
            if mask(preamble).strip() and normalise(preamble.strip()) not in present:
                text = preamble + text
        done.add(index)
        found.append((index, start, text))
    return found


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
    """Fill in what follows from the source alone."""
    source = candidate.source
    notes = list(candidate.notes)
    masked = mask(source)
    spans = modules_in(masked)
    repaired: str | None = None
    if any(not span.complete for span in spans):
        notes.append("missing_endmodule")
        mended = source + ("" if source.endswith("\n") else "\n") + "endmodule\n"
        repaired = mended if all(span.complete for span in modules(mended)) else None
    if _NON_ASCII.search(masked):
        notes.append("non_ascii")
    defined = any(span.name == target for span in spans)
    return replace(candidate, notes=tuple(notes), repaired=repaired, defines_target=defined)
