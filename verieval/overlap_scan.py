"""All rows of a training file against an index, in one process or several, in order and within bounded memory."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from verieval.errors import VerievalError
from verieval.overlap import Hit, OverlapIndex
from verieval.training import Bad, parse_line, read_lines

_CHUNK_ROWS = 200
_CHUNK_BYTES = 4 << 20

Lines = list[tuple[int, bytes | None]]


@dataclass(frozen=True)
class Scanned:
    """What was found in one line of the file.

    Attributes:
        number: of the line, from 1.
        hits: what it contains; empty for a row that may be kept.
        bad: why it is no row, else empty.
        note: what was not looked at, else empty.
    """

    number: int
    hits: tuple[Hit, ...] = ()
    bad: str = ""
    note: str = ""


def scan(path: Path, index: OverlapIndex, *, jobs: int = 1) -> Iterator[tuple[list[Scanned], int]]:
    """Yield what the rows of a file contain, in order, some at a time, with the bytes of the file read up to there.

    Args:
        path: JSON lines, plain or gzip.
        index: what to look for.
        jobs: processes; with 1 everything happens in this one.

    Raises:
        VerievalError: the file cannot be read, see :func:`verieval.training.read_lines`, or a process was killed.
    """
    if jobs == 1:
        for lines, read in _chunks(path):
            yield [_look(index, number, line) for number, line in lines], read
        return
    yield from _scan_in_processes(path, index, jobs)


def _scan_in_processes(path: Path, index: OverlapIndex, jobs: int) -> Iterator[tuple[list[Scanned], int]]:
    chunks = _chunks(path)
    first = next(chunks, None)  # before any process: a file that cannot be read needs none
    if first is None:
        return
    context = multiprocessing.get_context("forkserver")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(index,))
    waiting: deque[tuple[Future[list[Scanned]], int]] = deque()
    try:
        for lines, read in chain([first], chunks):
            waiting.append((pool.submit(_work, lines), read))
            if len(waiting) > 2 * jobs:
                future, done = waiting.popleft()
                yield future.result(), done
        while waiting:
            future, done = waiting.popleft()
            yield future.result(), done
    except BrokenProcessPool:
        raise VerievalError("a process was killed from outside, perhaps for its memory; use fewer --jobs") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _chunks(path: Path) -> Iterator[tuple[Lines, int]]:
    lines: Lines = []
    size = read = 0
    for number, line, read in read_lines(path):
        lines.append((number, line))
        size += len(line or b"")
        if len(lines) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield lines, read
            lines, size = [], 0
    if lines:
        yield lines, read


def _look(index: OverlapIndex, number: int, line: bytes | None) -> Scanned:
    row = parse_line(number, line)
    if isinstance(row, Bad):
        return Scanned(number, bad=row.reason)
    return Scanned(number, tuple(index.match(row.value)), note=row.note)


_index: OverlapIndex | None = None


def _begin(index: OverlapIndex) -> None:
    """Once in each process."""
    global _index  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    _index = index


def _work(lines: Lines) -> list[Scanned]:
    assert _index is not None
    return [_look(_index, number, line) for number, line in lines]
