"""What the chosen code lacks and the rest of the answer offers: helper modules, declarations, directives."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verieval.chunks import Chunk, outermost
from verieval.verdict import Candidate
from verieval.verilog import declared, instantiated, mask, mentioned, normalise


@dataclass(frozen=True)
class Piece:
    """A stretch of code and the block it came from: its place in the answer, and its kind."""

    chunk: Chunk
    part: int
    method: str
    verilog: bool


_Helper = tuple[int, int, str]  # index of its piece, offset in it, text


def complete(candidate: Candidate, have: set[str], pieces: list[Piece], own: set[int], place: int) -> Candidate:
    """Add the declarations and helper modules that the code uses and other pieces offer, in the order of the answer.

    Args:
        candidate: the code.
        have: the modules that count as given.
        pieces: of the answer.
        own: those that the code came from.
        place: where it stands among them.
    """
    code = candidate.source
    types, offers = _offers(pieces, own)
    heads: dict[int, str] = {}
    helpers: list[_Helper] = []
    known = declared(code)
    todo = [code]
    while todo and (types or offers):
        text = todo.pop()
        used = instantiated(text)
        new = [offers[name] for name in sorted(used - have) if name in offers]
        have |= used
        helpers += new
        todo += [helper[2] for helper in new]
        if not types:
            continue
        for name in sorted((mentioned(text) & types.keys()) - known - declared(text, in_modules=True)):
            index, preamble = types[name]
            if index not in heads:
                heads[index] = preamble
                todo.append(preamble)
    if not helpers and not heads:
        return candidate
    helpers = _with_preambles(sorted(helpers), pieces, code, set(heads))
    before = [text for index, _, text in helpers if index < place]
    after = [text for index, _, text in helpers if index >= place]
    first = [heads[index] for index in sorted(heads)]
    source = "\n\n".join(text.strip("\r\n") for text in [*first, *before, code, *after]) + "\n"
    return replace(candidate, source=source, notes=(*candidate.notes, "helpers_added"))


def _offers(pieces: list[Piece], own: set[int]) -> tuple[dict[str, tuple[int, str]], dict[str, _Helper]]:
    """Declarations and modules of the other pieces by name; the last definition wins.

    Returns:
        What stands before a piece's first module as (piece, text) for each name declared there, and the modules as
        (piece, offset, text).
    """
    types: dict[str, tuple[int, str]] = {}
    offers: dict[str, _Helper] = {}
    for index, piece in enumerate(pieces):
        if index in own or not piece.verilog:
            continue
        code = piece.chunk.code
        spans = outermost(code)
        preamble = code[: spans[0].start] if spans else code
        types.update((name, (index, preamble)) for name in declared(preamble))
        offers.update((span.name, (index, span.start, code[span.start : span.end])) for span in spans)
    return types, offers


def _with_preambles(helpers: list[_Helper], pieces: list[Piece], code: str, given: set[int]) -> list[_Helper]:
    """Put what stands before a piece's first module (directives, types) before its first helper; once."""
    found: list[_Helper] = []
    present = normalise(code)
    words = set(present.split())
    done = set(given)
    for index, start, text in helpers:
        if index not in done:
            source = pieces[index].chunk.code
            preamble = source[: outermost(source)[0].start]
            wanted = normalise(preamble.strip())
            given_by_code = words.issuperset(wanted.split()) and wanted in present  # the first decides in no time
            if mask(preamble).strip() and not given_by_code:
                text = preamble + text
        done.add(index)
        found.append((index, start, text))
    return found
