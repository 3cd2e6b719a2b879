"""The corpus: pairs from a seed, each checked, none of them in a benchmark, written as JSON lines.

Row ``k`` depends on the seed and on ``k`` alone, so the corpus is the same however many processes make it. What has the
same code but for names (:attr:`~finetune.data.synth.pairs.Pair.canonical_code`) is simulated once in a process.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from finetune.data.synth import names as naming
from finetune.data.synth.check import BATCH, Checker, Trial
from finetune.data.synth.families import FAMILIES, draw_family
from finetune.data.synth.pairs import Pair, Split, make_pair, suite_modules
from finetune.data.synth.vectors import make_vectors
from verieval import benchmarks, protocol
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.overlap import OverlapIndex, build_index

CHUNK = 256
LAYOUTS = ("prompt-completion", "chat")
FENCE = "```verilog\n{code}\n```"


@dataclass(frozen=True)
class Row:
    """A pair as training sees it; ``key`` is the hash of its canonical code."""

    number: int
    family: str
    prompt: str
    completion: str
    key: str

    def to_json(self, layout: str) -> dict[str, Any]:
        """Plain data in one of :data:`LAYOUTS`."""
        about = {"id": f"{self.family}-{self.number}", "family": self.family}
        if layout == "chat":
            turns = [("user", self.prompt), ("assistant", self.completion)]
            return {"messages": [{"role": role, "content": content} for role, content in turns], **about}
        return {"prompt": self.prompt, "completion": self.completion, **about}


@dataclass
class Made:
    """Rows of a chunk and what was left out, by reason."""

    rows: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    simulated: int = 0


@dataclass(frozen=True)
class Summary:
    """What was written.

    Attributes:
        rows, sha256: of the file; the hash is of its lines, not of the compressed bytes.
        families: rows of each.
        dropped: pairs that were not used, by reason.
        simulated: designs that were simulated, distinct but for their names within a process.
        overlap: benchmarks that no row overlaps.
        icarus: version that compiled and simulated.
        seconds: it took.
    """

    rows: int
    sha256: str
    layout: str
    seed: int
    families: dict[str, int]
    dropped: dict[str, int]
    simulated: int
    overlap: tuple[str, ...]
    icarus: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


class Maker:
    """Makes and checks pairs in one process."""

    def __init__(self, toolchain: Toolchain, overlap: Sequence[str]) -> None:
        self.checker = Checker(toolchain)
        self.template = protocol.preset_prompt("default")
        loaded = [benchmarks.load(name) for name in overlap]
        self.index: OverlapIndex | None = build_index(loaded) if loaded else None
        self.taken = suite_modules() | {task.module for benchmark in loaded for task in benchmark.tasks}
        self._good: dict[str, bool] = {}
        self._found: dict[str, bool] = {}

    def make(self, seed: int, numbers: range, split: Split = "train") -> Made:
        """The pairs of some numbers, checked."""
        made = Made()
        found: list[tuple[int, Pair, str]] = []
        for number in numbers:
            rng = Random(f"{split} {seed} {number}")
            pair = make_pair(draw_family(rng), split, rng, self.taken)
            if pair is None:
                made.dropped["the family has no such pair"] += 1
                continue
            found.append((number, pair, key_of(pair)))
        made.simulated = self._simulate([(pair, key) for _, pair, key in found])
        said = self.checker.compiles([pair.code for _, pair, _ in found])
        for (number, pair, key), log in zip(found, said, strict=True):
            name = type(pair.family).name
            if log:
                made.dropped[f"{name}: does not compile"] += 1
            elif not self._good[key]:
                made.dropped[f"{name}: differs from its model"] += 1
            elif self.overlaps(pair, key):
                made.dropped["overlaps a benchmark"] += 1
            else:
                made.rows.append(Row(number, name, self.prompt(pair), FENCE.format(code=pair.code), key))
        return made

    def prompt(self, pair: Pair) -> str:
        """What the evaluation would ask for this design."""
        return protocol.render(self.template, pair.task("pair"), "verieval")[-1].content

    def overlaps(self, pair: Pair, key: str) -> bool:
        """Whether a benchmark has this design or description, or nearly."""
        if self.index is None:
            return False
        if key not in self._found:
            self._found[key] = bool(self.index.match(pair.code))
        return self._found[key] or bool(self.index.match(pair.spec))

    def _simulate(self, pairs: Sequence[tuple[Pair, str]]) -> int:
        """Simulate what was not yet; returns how many that were."""
        new = {key: pair for pair, key in pairs if key not in self._good}
        keys = list(new)
        for start in range(0, len(keys), BATCH):
            part = keys[start : start + BATCH]
            outcomes = self.checker.simulate([_trial(new[key], key) for key in part])
            self._good.update({key: outcome.good for key, outcome in zip(part, outcomes, strict=True)})
        return len(new)


def key_of(pair: Pair) -> str:
    """Hash of what decides whether the code is right: parameters and code but for names."""
    return hashlib.sha256(f"{pair.family!r}\n{pair.canonical_code}".encode()).hexdigest()


def _trial(pair: Pair, key: str) -> Trial:
    names = naming.canonical(pair.family.pins)
    return Trial(pair.canonical_code, names, make_vectors(pair.family, Random(key)))


def write_corpus(
    path: Path,
    *,
    rows: int,
    seed: int,
    toolchain: Toolchain,
    layout: str = "prompt-completion",
    overlap: Sequence[str] = ("verieval",),
    jobs: int = 1,
    progress: Callable[[int, Counter[str]], None] = lambda done, dropped: None,
) -> Summary:
    """Write a corpus.

    Args:
        path: JSON lines; compressed where the name ends in ``.gz``. It appears when it is whole.
        rows: how many; none is there twice.
        seed: of everything.
        toolchain: compiles and simulates.
        layout: one of :data:`LAYOUTS`.
        overlap: benchmarks that no row may overlap.
        jobs: processes.
        progress: told how many rows there are and what was dropped.

    Raises:
        VerievalError: the file cannot be written, or a benchmark's data is not here.
    """
    started = time.monotonic()
    dropped: Counter[str] = Counter()
    families: Counter[str] = Counter()
    digest = hashlib.sha256()
    simulated = written = 0
    seen: set[bytes] = set()
    with _writer(path) as write, _Chunks(toolchain, overlap, seed, jobs) as chunks:
        for made in chunks:
            dropped += made.dropped
            simulated += made.simulated
            for row in made.rows:
                mark = hashlib.sha256(row.prompt.encode()).digest()[:12]
                if mark in seen:
                    dropped["prompt is there already"] += 1
                    continue
                seen.add(mark)
                line = json.dumps(row.to_json(layout), ensure_ascii=True).encode() + b"\n"
                write(line)
                digest.update(line)
                families[row.family] += 1
                written += 1
                if written == rows:
                    break
            progress(written, dropped)
            if written == rows:
                break
    ordered = {kind.name: families[kind.name] for kind in FAMILIES}
    return Summary(
        written, digest.hexdigest(), layout, seed, ordered, dict(dropped), simulated, tuple(overlap), toolchain.version,
        round(time.monotonic() - started, 1),
    )  # fmt: skip


class _Chunks:
    """Chunks in order, made by one process or several; a few are made ahead."""

    def __init__(self, toolchain: Toolchain, overlap: Sequence[str], seed: int, jobs: int) -> None:
        self.seed, self.jobs = seed, jobs
        self.arguments = (toolchain, tuple(overlap))
        self.pool: ProcessPoolExecutor | None = None
        self.maker: Maker | None = None
        if jobs == 1:
            self.maker = Maker(*self.arguments)
        else:
            for name in overlap:  # missing data is said here, once
                benchmarks.load(name)
            context = multiprocessing.get_context("forkserver")
            self.pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=self.arguments)

    def __enter__(self) -> Iterator[Made]:
        return self._run()

    def _run(self) -> Iterator[Made]:
        ranges = (range(start, start + CHUNK) for start in count(0, CHUNK))
        if self.maker is not None:
            for numbers in ranges:
                yield self.maker.make(self.seed, numbers)
        assert self.pool is not None
        waiting = [self.pool.submit(_work, self.seed, next(ranges)) for _ in range(2 * self.jobs)]
        while True:
            yield waiting.pop(0).result()
            waiting.append(self.pool.submit(_work, self.seed, next(ranges)))

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)
        if self.maker is not None:
            self.maker.checker.__exit__()


_maker: Maker | None = None  # of a worker process


def _begin(toolchain: Toolchain, overlap: tuple[str, ...]) -> None:
    global _maker  # noqa: PLW0603  a process of the pool has one
    _maker = Maker(toolchain, overlap)


def _work(seed: int, numbers: range) -> Made:
    assert _maker is not None
    return _maker.make(seed, numbers)


class _writer:
    """A file that appears under its name when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Callable[[bytes], int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        except OSError as error:
            raise VerievalError(f"{self.path} cannot be written ({error.strerror}); choose another --out") from None
        self.temporary = Path(name)
        self.raw = os.fdopen(handle, "wb")
        if self.path.suffix == ".gz":
            # Neither name nor time go into the file, so the same rows make the same bytes.
            self.packed: gzip.GzipFile | None = gzip.GzipFile("", "wb", 6, self.raw, mtime=0)
            return self.packed.write
        self.packed = None
        return self.raw.write

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self.packed is not None:
                self.packed.close()
            self.raw.close()
            if kind is None:
                self.temporary.chmod(0o644)
                self.temporary.replace(self.path)
        except OSError as error:
            raise VerievalError(f"{self.path} cannot be written ({error.strerror}); choose another --out") from None
        finally:
            self.temporary.unlink(missing_ok=True)
