"""Rows of a training file, whatever their layout: JSON lines, plain or gzip, one at a time.

Nothing is lost in silence: a line that gives no row gives a :class:`Bad` with the reason.
"""

from __future__ import annotations

import ast
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from verieval.errors import VerievalError

MAX_LINE = 64 << 20  # bytes of one row
MAX_TEXT = 1 << 20  # characters of one string; what follows is not looked at
_MAX_INNER = 1 << 18  # characters of a string that is read as JSON or as a Python literal itself
_MAX_STRINGS = 100_000  # of one row
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # of byte order
_REWRITE = "rewrite it with one row a line, for example with `jq -c '.[]'`"


@dataclass(frozen=True)
class Row:
    """A row that can be read; ``number`` counts lines from 1."""

    number: int
    value: Any
    note: str = ""


@dataclass(frozen=True)
class Bad:
    """A line that gives no row, and why."""

    number: int
    reason: str


def read_training(path: Path) -> Iterator[Row | Bad]:
    """Yield the rows of a file; blank lines are passed over.

    Raises:
        VerievalError: see :func:`read_lines`.
    """
    for number, line, _ in read_lines(path):
        yield parse_line(number, line)


def read_lines(path: Path) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield number and content of every line that is not blank, and how many bytes have been read (0 of a pipe).

    A line of more than :data:`MAX_LINE` bytes has None for its content.

    Raises:
        VerievalError: the file cannot be read, is cut off or damaged as gzip, or is one JSON array instead of lines.
    """
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP  # a pipe cannot be read again from its start
            lines: Any = gzip.open(file) if packed else file  # noqa: SIM115  closed with the file
            for number, line in _lines(lines, path):
                yield number, line, file.tell() if file.seekable() else 0
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise VerievalError(f"{path} is no whole gzip file ({error}); fetch it again") from None
    except OSError as error:
        raise VerievalError(f"{path} cannot be read ({error.strerror or error}); check the path") from None


def _lines(file: IO[bytes], path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Numbers and contents of lines; None for one that is too long, which is never held as a whole."""
    number = 0
    while True:
        line = file.readline(MAX_LINE + 1)
        if not line:
            return
        number += 1
        if len(line) > MAX_LINE:
            start = line[:64].removeprefix(_MARK).lstrip()
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE)
            if number == 1 and start[:1] == b"[":
                raise VerievalError(
                    f"{path} begins with a JSON list of more than {MAX_LINE >> 20} MiB in one line, which is taken for "
                    f"all rows in one list; {_REWRITE}"
                )
            yield number, None
        elif line.strip():
            if number == 1:
                _refuse_array(line, path)
            yield number, line.removeprefix(_MARK) if number == 1 else line


def _refuse_array(line: bytes, path: Path) -> None:
    start = line.removeprefix(_MARK).strip()
    if start in (b"[", b"{") or (start[:1] == b"[" and start[1:].lstrip()[:1] == b"{"):
        raise VerievalError(f"{path} is no file of JSON lines, one row a line, but one long JSON text; {_REWRITE}")


def parse_line(number: int, line: bytes | None) -> Row | Bad:
    """The row of a line, or why it has none."""
    if line is None:
        return Bad(number, f"longer than {MAX_LINE >> 20} MiB")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return Bad(number, "not UTF-8")
    try:
        value = json.loads(text)
    except RecursionError:
        return Bad(number, "nested too deeply")
    except ValueError:
        return Bad(number, "not JSON")
    if not isinstance(value, dict | list | str):
        return Bad(number, "neither an object nor a list nor a string")
    found = list(strings(value, cut=False))
    if not any(text.strip() for text in found):
        return Bad(number, "no text in it")
    cut = any(len(text) > MAX_TEXT for text in found) or len(found) >= _MAX_STRINGS
    return Row(number, value, f"text longer than {MAX_TEXT} characters, looked at up to there" if cut else "")


def strings(value: object, *, cut: bool = True) -> Iterator[str]:
    r"""Yield every string in a JSON value, in order, keys left out.

    A string that is itself a JSON object or list, or a Python dictionary or list (as PyraNet's descriptions are),
    stands for the strings in it; one without line ends whose ``\n`` are written out is given them.

    Args:
        value: any JSON value.
        cut: give no more than :data:`MAX_TEXT` characters of each.
    """
    stack: list[tuple[object, bool]] = [(value, False)]
    count = 0
    while stack and count < _MAX_STRINGS:
        item, inner = stack.pop()
        if isinstance(item, dict):
            stack += [(part, inner) for part in reversed(list(item.values()))]
        elif isinstance(item, list | tuple):
            stack += [(part, inner) for part in reversed(item)]
        elif isinstance(item, str):
            parsed = None if inner else inner_value(item)
            if parsed is not None:
                stack.append((parsed, True))
                continue
            count += 1
            text = item[:MAX_TEXT] if cut else item
            if "\\n" in text and "\n" not in text and text.count("\\n") > 1:
                text = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t")
            yield text


def inner_value(text: str) -> dict[Any, Any] | list[Any] | None:
    """The dictionary or list that a string is, as JSON or as a Python literal; None where it is neither."""
    start = text[:64].lstrip()[:2]
    if start[:1] not in ("{", "[") or not text.rstrip().endswith(("}", "]")) or len(text) > _MAX_INNER:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        return found if isinstance(found, dict | list) else None
    return None
