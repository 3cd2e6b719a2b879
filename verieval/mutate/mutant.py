"""What a mutant is, and which of many are taken."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# What mutators do, in the order in which a sample takes turns.
KINDS = {
    "operator": "an operator becomes another, or is dropped",
    "constant": "a number becomes another",
    "condition": "a condition is negated, always true or always false, or loses a term",
    "edge": "an edge becomes the other one, or an asynchronous event is dropped",
    "reset": "a value at reset or power-up becomes another, or is not assigned",
    "width": "a range is a bit narrower or wider, or signed is dropped",
    "blocking": "a blocking assignment becomes nonblocking, or the reverse",
    "branch": "an else, a branch, an arm of a case or an assignment is dropped",
    "name": "a signal becomes another of its width",
    "swap": "connected ports, arguments, the module's own ports, operands, parts or arms of a case change places",
}


@dataclass(frozen=True)
class Edit:
    """One change of a text, in bytes of its UTF-8 form.

    Attributes:
        kind: a key of :data:`KINDS`.
        cuts: (start, end, what stands there instead), in order and apart from each other.
        what: in words.
    """

    kind: str
    cuts: tuple[tuple[int, int, bytes], ...]
    what: str

    def apply(self, content: bytes) -> bytes:
        """The changed text."""
        for start, end, new in reversed(self.cuts):
            content = content[:start] + new + content[end:]
        return content


@dataclass(frozen=True)
class Mutant:
    """A reference with one fault.

    Attributes:
        id: kind, line and a hash of the text: the same whatever other mutants there are.
        kind: a key of :data:`KINDS`.
        line: of the reference, where the change begins; from 1.
        what: in words.
        text: the whole source.
    """

    id: str
    kind: str
    line: int
    what: str
    text: str

    @property
    def sha256(self) -> str:
        """Hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Mutants:
    """What came of one reference.

    Attributes:
        made: number of mutants that are Verilog, before a sample was taken.
        invalid: number of those that were made and do not parse or elaborate.
        chosen: the mutants to judge, by line.
    """

    made: int
    invalid: int
    chosen: tuple[Mutant, ...]


def make_mutant(content: bytes, edit: Edit) -> Mutant:
    """The mutant that an edit makes of a text."""
    line = content.count(b"\n", 0, edit.cuts[0][0]) + 1
    text = edit.apply(content)
    return Mutant(
        f"{edit.kind}-{line}-{hashlib.sha256(text).hexdigest()[:8]}", edit.kind, line, edit.what, text.decode()
    )


def sample(mutants: Sequence[Mutant], limit: int | None, seed: int, name: str) -> tuple[Mutant, ...]:
    """At most ``limit`` mutants, as many of each kind as can be, drawn by ``seed`` and ``name`` and kept in order.

    A larger limit only adds to what a smaller one takes.
    """
    if limit is None or len(mutants) <= limit:
        return tuple(mutants)
    piles = []
    for kind in KINDS:
        pile = [mutant for mutant in mutants if mutant.kind == kind]
        random.Random(f"{seed}:{name}:{kind}").shuffle(pile)
        piles.append(pile)
    turns = (pile[turn] for turn in range(max(map(len, piles))) for pile in piles if turn < len(pile))
    chosen = {mutant.id for mutant, _ in zip(turns, range(limit), strict=False)}
    return tuple(mutant for mutant in mutants if mutant.id in chosen)


def changed_lines(before: str, after: str) -> tuple[Iterable[str], Iterable[str]]:
    """The lines that differ, of either text, without the lines that both begin or end with."""
    old, new = before.splitlines(), after.splitlines()
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]
