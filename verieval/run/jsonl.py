"""Append-only JSON lines that survive a kill, a full disk and a second process."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from verieval.errors import VerievalError
from verieval.files import read_file

MAX_NESTING = 100
MAX_DIGITS = 40


def encode_row(row: Mapping[str, Any]) -> bytes:
    """One row as it stands in the file: keys in the given order, ASCII only, ended by a newline.

    ASCII, because a completion may hold anything, lone surrogates included, and must still be written and read back.
    """
    return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def load_json(data: bytes) -> Any:
    """JSON as its standard has it, and of a shape that everything after it can take.

    ``NaN`` and ``Infinity``, which Python would also take, are none; neither is a number that becomes infinite, or a
    key that stands twice, of which Python would drop one in silence.

    Raises:
        ValueError: it is not such JSON.
        RecursionError: it is nested far too deeply.
    """
    value = json.loads(
        data,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_moderate,
        object_pairs_hook=_each_once,
    )
    level = [value]
    for _ in range(MAX_NESTING):
        level = [item for one in level for item in _items(one)]
        if not level:
            return value
    if any(isinstance(item, dict | list) for item in level):
        raise ValueError(f"it is nested more than {MAX_NESTING} deep")
    return value


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{_short(text)} is beyond every number")
    return number


def _moderate(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"{_short(text)} is beyond every number")
    return int(text)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {_short(json.dumps(twice))} stands twice")
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_rows(path: Path, *, torn: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a JSONL file with their line numbers; blank lines are skipped.

    Args:
        path: the file.
        torn: the last line may be the beginning of one (our own file, its writer killed) and is then left out.

    Raises:
        VerievalError: a line that is no JSON object, named by file and line.
    """
    data = read_file(path)
    end = data.rfind(b"\n") + 1
    if torn and _is_torn(data[end:]):
        data = data[:end]
    yield from parse_rows(data, str(path))


def parse_rows(data: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of JSONL text with their line numbers; ``name`` stands in the error of a bad line."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = load_json(line)
        except (ValueError, RecursionError) as error:
            raise VerievalError(f"{name}:{number}: this line is not JSON ({error}); repair or remove it") from None
        if not isinstance(row, dict):
            raise VerievalError(f"{name}:{number}: expected a JSON object, found {type(row).__name__}; repair the line")
        yield number, row


def _is_torn(tail: bytes) -> bool:
    """Whether what follows the last newline is the beginning of a row, as its killed writer leaves it.

    A whole row is none: only its newline is missing, which an editor may have dropped. Neither are lines that end in
    carriage returns, which this project does not write.
    """
    if b"\r" in tail:
        return False
    try:
        return not isinstance(load_json(tail), dict)
    except (ValueError, RecursionError):
        return True


class JsonlWriter:
    """Appends rows to one file, each visible to readers as soon as it is written, none ever half there.

    A line that a killed process left unfinished is cut off when the file is opened (one that lacks only its newline is
    given it); a row that could not be written whole (full disk, quota, signal) is cut off before the error goes on.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path`` for appending, creating it if needed.

        Raises:
            OSError: the file cannot be opened or repaired.
        """
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._size = self._repair()
        except BaseException:
            os.close(self._fd)
            raise

    def _repair(self) -> int:
        """Cut or finish an unfinished last line; return the size of the file."""
        size = os.fstat(self._fd).st_size
        end = size
        while end > 0:
            start = max(0, end - 65536)
            newline = os.pread(self._fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        tail = os.pread(self._fd, size - end, end)
        if not tail:
            return size
        if _is_torn(tail):
            os.ftruncate(self._fd, end)
            return end
        return size + os.write(self._fd, b"\n")

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows as one block: all of them or, on any error, none.

        Raises:
            OSError: the rows could not be written; the file is as it was before.
        """
        block = b"".join(encode_row(row) for row in rows)
        view = memoryview(block)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BaseException as error:
            os.ftruncate(self._fd, self._size)
            if isinstance(error, OSError):
                error.filename = str(self.path)
            raise
        self._size += len(block)

    def sync(self) -> None:
        """Have what was appended survive a power cut, where the file system can."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Sync and close."""
        if self._fd < 0:
            return
        try:
            self.sync()
        finally:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def write_atomically(path: Path, text: str) -> None:
    """Write a whole file under its final name in one step: a reader sees the old file or the new one, never a part.

    Raises:
        OSError: it could not be written; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename, error.filename2 = str(path), None
        raise


def dump_json(value: object) -> str:
    """JSON for files that people read: two spaces, ASCII, newline at the end."""
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"
