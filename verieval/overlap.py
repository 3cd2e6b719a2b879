"""Whether a text contains a benchmark's reference or spec, or nearly does.

Use :func:`build_index` once and :meth:`OverlapIndex.match` for each training row (any JSON value, or a string): it is
empty for a row that may be kept. See ``docs/overlap.md`` for what counts and how the thresholds were chosen.

A row is the sum of its strings (:func:`verieval.training.strings`), so no layout needs to be known. Code in it is every
module, with those that it instantiates; a module that one string leaves open goes on in the next, as header and body of
a completion task do. An index does not change after it is made, so threads may share one, and it can be pickled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from verieval.blocks import blocks
from verieval.canonical import canonical_of
from verieval.canonical_tokens import MAX_TOKENS, Tok, Tokens, tokenise
from verieval.shingles import Finder, Vocabulary, split_words
from verieval.training import strings

if TYPE_CHECKING:
    from verieval.task import Benchmark

Kind = Literal["reference exact", "reference near", "spec exact", "spec near"]
KINDS: tuple[Kind, ...] = ("reference exact", "reference near", "spec exact", "spec near")

CODE_THRESHOLD = 0.7
SPEC_THRESHOLD = 0.4
MIN_RUNS = 10  # with fewer runs of its own, a reference or spec is only looked for exactly
PARSED_BELOW = 60  # tokens up to which every module is parsed; above, only one that shares runs with a reference
PARSED_FROM = 0.3  # share of its runs
BOILERPLATE = 0.05  # a run of words in more than this share of a benchmark's specs (and in 3) says nothing
_EXCERPT = 160
_SPACE = re.compile(r"\s+")
# Where code starts: before it stands prose, whose quotes and comment marks must not hide anything.
_GAP = r"(?:\s|//[^\n]{0,500}+|/\*(?s:.{0,500}?)\*/)"
_CODE_START = re.compile(
    rf"\b(?:macro)?module{_GAP}++\\?[A-Za-z_][\w$]*+{_GAP}*+(?:[(;#`]|import\b)|\bendmodule\b|`(?:define|ifn?def)\b"
)


@dataclass(frozen=True)
class Hit:
    """One benchmark task that a row contains.

    Attributes:
        benchmark, task: which.
        kind: one of :data:`KINDS`.
        score: share of the reference's or spec's runs that stand together in the row; 1 where exact.
        size: tokens of the reference, or words of the spec.
        found: excerpt of the row.
        original: excerpt of the benchmark.
    """

    benchmark: str
    task: str
    kind: Kind
    score: float
    size: int
    found: str
    original: str

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


class _Entry(NamedTuple):
    """A reference or spec; ``size`` in tokens or words, ``text`` to quote, ``exact`` what makes it exact."""

    benchmark: str
    task: str
    size: int
    text: str
    exact: str


class Unit(NamedTuple):
    """Code of a row: the name of a module, its tokens with those of the modules it needs, and the text it is from."""

    name: str
    tokens: tuple[Tok, ...]
    text: str


def build_index(
    benchmarks: Iterable[Benchmark], *, threshold: float = CODE_THRESHOLD, spec_threshold: float = SPEC_THRESHOLD
) -> OverlapIndex:
    """Make an index of the references and specs of benchmarks.

    Args:
        benchmarks: one or several.
        threshold: lowest score of ``reference near``, above 0; 1 asks for every run.
        spec_threshold: lowest score of ``spec near``.
    """
    return OverlapIndex(tuple(benchmarks), threshold, spec_threshold)


class OverlapIndex:
    """References and specs, arranged so that a row is compared with all of them at once."""

    def __init__(self, benchmarks: Sequence[Benchmark], threshold: float, spec_threshold: float) -> None:
        self._thresholds = threshold, spec_threshold
        self._references: list[_Entry] = []
        self._specs: list[_Entry] = []
        units: list[Unit] = []
        specs: list[list[str]] = []
        for benchmark in benchmarks:
            for task in benchmark.tasks:
                words = split_words(task.prompt)
                specs.append(words)
                joined = f" {' '.join(words)} "
                self._specs.append(_Entry(benchmark.full_name, task.id, len(words), task.prompt, joined))
                unit = _target(task.reference or "", task.module)
                if unit is not None:
                    units.append(unit)
                    form = canonical_of(_tokens(unit))
                    entry = _Entry(benchmark.full_name, task.id, form.tokens, unit.text, form.key)
                    self._references.append(entry)
        self._sizes = np.array([entry.size for entry in self._references], dtype=np.int64)
        self._exact: dict[str, list[int]] = {}
        for place, entry in enumerate(self._references):
            self._exact.setdefault(entry.exact, []).append(place)
        self._code = Vocabulary(token.text for unit in units for token in unit.tokens if token.kind != "name")
        self._code_finder = Finder([np.unique(self._code.code(unit.tokens)[0]) for unit in units])
        self._words = Vocabulary(word for words in specs for word in words)
        runs = [np.unique(self._words.words(words)[0]) for words in specs]
        self._word_finder = Finder(_telling(runs, [entry.benchmark for entry in self._specs]))

    def match(self, row: object) -> list[Hit]:
        """Return what a row contains: for each task at most one hit about its reference and one about its spec.

        Args:
            row: a string, or a JSON value whose strings are looked through.
        """
        texts = list(strings(row))
        found: dict[tuple[str, str, bool], Hit] = {}
        for hit in (*self._match_code(texts), *self._match_specs(texts)):
            key = (hit.benchmark, hit.task, hit.kind.startswith("spec"))
            held = found.get(key)
            if held is None or (hit.score, "exact" in hit.kind) > (held.score, "exact" in held.kind):
                found[key] = hit
        return sorted(found.values(), key=lambda hit: (KINDS.index(hit.kind), -hit.score))

    def _match_code(self, texts: Sequence[str]) -> Iterator[Hit]:
        for unit in units_of(texts):
            hashes, places = self._code.code(unit.tokens)
            keys, places, counts = self._code_finder.find(hashes, places)
            sizes = self._code_finder.sizes
            shares = counts / np.maximum(sizes, 1)
            exact: list[int] = []
            alike = np.abs(self._sizes - len(unit.tokens)) <= 0.5 * self._sizes
            if unit.name and (len(unit.tokens) <= PARSED_BELOW or bool((alike & (shares >= PARSED_FROM)).any())):
                exact = self._exact.get(canonical_of(_tokens(unit)).key, [])
            for place in exact:
                yield self._reference_hit(place, "reference exact", 1.0, unit)
            for place in np.flatnonzero((shares >= self._thresholds[0]) & (sizes >= MIN_RUNS)).tolist():
                if place not in exact:
                    width = 2 * self._references[place].size
                    count, _ = self._code_finder.local(place, keys, places, width)
                    score = count / int(sizes[place])
                    if score >= self._thresholds[0]:
                        yield self._reference_hit(place, "reference near", score, unit)

    def _reference_hit(self, place: int, kind: Kind, score: float, unit: Unit) -> Hit:
        entry = self._references[place]
        found = _quote(unit.text, unit.name) or _short(" ".join(token.text for token in unit.tokens[:60]))
        original = _short(entry.text)
        return Hit(entry.benchmark, entry.task, kind, round(score, 4), entry.size, found, original)

    def _match_specs(self, texts: Sequence[str]) -> Iterator[Hit]:
        for text in texts:
            words = split_words(text)
            hashes, places = self._words.words(words)
            if not len(hashes):
                continue
            keys, places, counts = self._word_finder.find(hashes, places)
            sizes = self._word_finder.sizes
            joined = ""
            for place in np.flatnonzero(counts).tolist():
                entry, share = self._specs[place], counts[place] / sizes[place]
                if share < self._thresholds[1]:
                    continue
                count, start = self._word_finder.local(place, keys, places, 2 * entry.size)
                score = count / int(sizes[place])
                joined = joined or f" {' '.join(words)} "
                found = _short(" ".join(words[start : start + 40]))
                if count == sizes[place] and entry.exact in joined:
                    yield Hit(entry.benchmark, entry.task, "spec exact", 1.0, entry.size, found, _short(entry.text))
                elif score >= self._thresholds[1] and sizes[place] >= MIN_RUNS:
                    yield Hit(
                        entry.benchmark, entry.task, "spec near", round(score, 4), entry.size, found, _short(entry.text)
                    )


def _telling(runs: Sequence[np.ndarray], owners: Sequence[str]) -> list[np.ndarray]:
    """Runs of words without those that many specs of the same benchmark share."""
    shared: dict[str, Counter[int]] = {}
    for own, owner in zip(runs, owners, strict=True):
        shared.setdefault(owner, Counter()).update(own.tolist())
    most = {owner: max(2.0, BOILERPLATE * owners.count(owner)) for owner in shared}
    return [
        np.array([run for run in own.tolist() if shared[owner][run] <= most[owner]], dtype=np.uint64)
        for own, owner in zip(runs, owners, strict=True)
    ]


# ---- code in text


def units_of(texts: Iterable[str]) -> Iterator[Unit]:
    """Every module in strings that follow one another, each with the modules of its string that it instantiates.

    What stands before an ``endmodule`` without a module is the end of the module that the string before left open;
    where there is none, it is a unit without a name.
    """
    left: Unit | None = None  # a module that is not closed
    for text in texts:
        if "module" not in text:
            continue
        tokens = [token for block in blocks(text) for token in _code(block.text)]
        parts, left = _modules(tokens, text, left)
        yield from _closures(parts)
    if left is not None:
        yield left


def _code(text: str) -> tuple[Tok, ...]:
    start = _CODE_START.search(text)
    if start is None:
        return ()
    return tokenise(text if start[0] == "endmodule" else text[start.start() :]).items


def _modules(tokens: Sequence[Tok], text: str, left: Unit | None) -> tuple[list[Unit], Unit | None]:
    """Modules in tokens, and the one that is left open at their end; ``left`` may go on at their start."""
    parts: list[Unit] = []
    opened, name, done = -1, "", 0
    for index, (kind, word) in enumerate(tokens):
        if kind != "word":
            continue
        if word in ("module", "macromodule") and _is_head(tokens, index):
            opened, name = index, tokens[index + 1].text
            if left is not None:
                parts.append(left)
                left = None
        elif word == "endmodule":
            if opened >= 0:
                parts.append(Unit(name, tuple(tokens[opened : index + 1]), text))
            elif left is not None:
                parts.append(Unit(left.name, (*left.tokens, *tokens[done : index + 1]), left.text))
            elif index > done:
                parts.append(Unit("", tuple(tokens[done : index + 1]), text))
            left, opened, done = None, -1, index + 1
    return parts, Unit(name, tuple(tokens[opened:]), text) if opened >= 0 else left


def _is_head(tokens: Sequence[Tok], index: int) -> bool:
    """``module NAME`` and what may follow; a sentence about a module is none."""
    if index + 2 >= len(tokens) or tokens[index + 1].kind != "name":
        return False
    return tokens[index + 2].text in ("(", ";", "#", "import") or tokens[index + 2].kind == "macro"


def _closures(parts: Sequence[Unit]) -> Iterator[Unit]:
    """Each module with those that it needs, in the order of the text."""
    if len(parts) == 1:
        yield parts[0]
        return
    last = {part.name: place for place, part in enumerate(parts) if part.name}
    uses = [
        {last[token.text] for token in part.tokens if token.kind == "name" and token.text in last} - {place}
        for place, part in enumerate(parts)
    ]
    budget = 2 * MAX_TOKENS  # without one, a chain of modules would take the square of its length
    for place, part in enumerate(parts):
        needed, frontier = {place}, [place] if budget > 0 else []
        while frontier:
            new = uses[frontier.pop()] - needed
            needed |= new
            frontier += new
        tokens = tuple(token for at in sorted(needed) for token in parts[at].tokens)
        budget -= len(tokens) + len(needed)
        yield Unit(part.name, tokens, part.text)


def _target(reference: str, module: str) -> Unit | None:
    found = [unit for unit in units_of([reference]) if unit.name == module]
    return found[-1] if found else None


def _tokens(unit: Unit) -> Tokens:
    return Tokens(unit.tokens, opaque=any(token.kind == "macro" for token in unit.tokens))


# ---- excerpts


def _quote(text: str, name: str) -> str:
    """The beginning of a module as it stands in a text; empty where it is not there in one piece."""
    found = re.search(rf"\bmodule\s+\\?{re.escape(name)}(?![\w$])", text) if name else None
    return "" if found is None else _short(text[found.start() : found.start() + 4 * _EXCERPT])


def _short(text: str) -> str:
    flat = _SPACE.sub(" ", text[: 8 * _EXCERPT]).strip()
    return flat if len(flat) <= _EXCERPT else flat[: _EXCERPT - 1].rstrip() + "\u2026"
