"""Rows of CVDP's files, in either layout, as one kind of data; a row that is odd says which of its fields is, and how.

A row has ``id``, ``categories`` and a harness, which is a table of files. In the nonagentic layout ``input`` holds
``prompt`` and ``context`` (files by path), ``output.context`` the files of the solution. In the agentic one ``prompt``
and ``context`` stand beside each other, and ``patch`` holds the solution as hunks of a patch by path. Published files
may come without solutions: these texts are empty then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from verieval.benchmarks.source import Checkout
from verieval.errors import VerievalError

T = TypeVar("T")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_SOLUTIONS = "_with_solutions"
_NAME_BYTES = 255  # of a file, on every usual file system
_WORDS = {dict: "a table", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}


class OddRow(Exception):
    """A row is not as CVDP publishes it; the text names the field, and says what is wrong with it."""


@dataclass(frozen=True)
class Row:
    """A row, whichever layout it has. ``solution`` is by target file; texts are empty where it is not published."""

    id: str
    categories: tuple[str, ...]
    prompt: str
    context: Mapping[str, str]
    solution: Mapping[str, str]
    harness: Mapping[str, str]


@dataclass(frozen=True)
class Found:
    """A line of a file: the problem's name (the line's where it has none), where it stands, its row or its fault."""

    id: str
    path: Path
    line: int
    row: Row | OddRow

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.path.name}, line {self.line}"


def read_rows(checkout: Checkout, paths: Sequence[Path], variant: str) -> list[Found]:
    """The problems of one release, each once, in the order of the files.

    A problem that stands both in a file and in the one with solutions beside it is that of the file with solutions, and
    odd where either row is.

    Args:
        checkout: notes what is read.
        paths: the release's files.
        variant: ``nonagentic`` or ``agentic``.

    Raises:
        VerievalError: a file cannot be read, is not JSON lines, or has no row; a problem stands there twice.
    """
    problems: dict[str, Found] = {}
    for path in sorted(paths, key=lambda path: _SOLUTIONS in path.name):
        rows = [_found(path, number, value, variant) for number, value in checkout.lines(path)]
        if not rows:
            raise VerievalError(f"{path} has no row; restore the file.")
        for new in rows:
            known = problems.setdefault(new.id, new)
            if known is not new:
                problems[new.id] = _better(known, new)
    return list(problems.values())


def _better(known: Found, new: Found) -> Found:
    if known.path == new.path:
        raise VerievalError(
            f"{new.path} has the problem '{new.id}' twice, in lines {known.line} and {new.line}: remove one of them."
        )
    if new.path.name.replace(_SOLUTIONS, "") != known.path.name:
        raise VerievalError(
            f"The problem '{new.id}' stands both in {known.path} (line {known.line}) and in {new.path} "
            f"(line {new.line}): remove one of them."
        )
    if isinstance(known.row, OddRow) or isinstance(new.row, OddRow):
        return known if isinstance(known.row, OddRow) else new
    return known if any(known.row.solution.values()) else new


def _found(path: Path, number: int, value: object, variant: str) -> Found:
    name = f"{path.name}:{number}"
    try:
        fields = _a_table(value, "")
        name = _field(fields, "id", _a_name)
        return Found(name, path, number, _LAYOUTS[variant](name, fields))
    except OddRow as odd:
        return Found(name, path, number, odd)


def _nonagentic(name: str, row: Mapping[str, Any]) -> Row:
    given, answer = _field(row, "input", _a_table), _field(row, "output", _a_table)
    return Row(
        id=name,
        categories=_field(row, "categories", _texts),
        prompt=_field(given, "prompt", _a_text, "input"),
        context=_field(given, "context", _files_if_any, "input"),
        solution=_field(answer, "context", _files_if_any, "output"),
        harness=_field(_field(row, "harness", _a_table), "files", _files_if_any, "harness"),
    )


def _agentic(name: str, row: Mapping[str, Any]) -> Row:
    context = _field(row, "context", _files)
    patches = _field(row, "patch", _files)
    solution = {}
    for path, hunks in patches.items():
        try:
            solution[path] = apply_patch(context.get(path, ""), hunks)
        except ValueError as error:
            raise OddRow(f"its field 'patch' does not fit '{path}' ({error})") from error
    return Row(
        id=name,
        categories=_field(row, "categories", _texts),
        prompt=_field(row, "prompt", _a_text),
        context=context,
        solution=solution,
        harness=_field(row, "harness", _files),
    )


_LAYOUTS: dict[str, Callable[[str, Mapping[str, Any]], Row]] = {"nonagentic": _nonagentic, "agentic": _agentic}


# ---- fields: each reader takes a value and the name of its field, and gives the value or says what is wrong with it


def _field(row: Mapping[str, Any], name: str, read: Callable[[object, str], T], inside: str = "") -> T:
    return read(row.get(name), f"{inside}.{name}" if inside else name)


def _a_table(value: object, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _not(value, field, "a table")
    return value


def _a_text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise _not(value, field, "a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise OddRow(f"its field '{field}' has half a character in it, which no file can hold") from error
    return value


def _a_name(value: object, field: str) -> str:
    text = _a_text(value, field)
    if not text.strip() or not text.isprintable():
        raise OddRow(f"its field '{field}' is no name ({text[:40]!r})")
    return text


def _texts(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _not(value, field, "a list of texts")
    return tuple(_a_text(item, f"{field}[{place}]") for place, item in enumerate(value))


def _files_if_any(value: object, field: str) -> dict[str, str]:
    return {} if value is None else _files(value, field)


def _files(value: object, field: str) -> dict[str, str]:
    """Texts by path. A text may be missing; a path that cannot be made inside its folder may not stand there."""
    found = {}
    for path, text in _a_table(value, field).items():
        if fault := _fault(path):
            raise OddRow(f"its field '{field}' has the path {path[:80]!r}, which {fault}")
        found[path] = "" if text is None else _a_text(text, f"{field}['{path}']")
    folders = {str(folder) for path in found for folder in PurePosixPath(path).parents}
    if both := folders & set(found):
        raise OddRow(f"its field '{field}' has '{min(both)}' both as a file and as a folder")
    return found


def _fault(path: str) -> str:
    """What is wrong with a path; empty where nothing is."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        return "leaves its folder"
    if any(part in ("", ".") or "\0" in part for part in parts):
        return "is no path of a file"
    try:
        return "is too long" if any(len(part.encode()) > _NAME_BYTES for part in parts) else ""
    except UnicodeEncodeError:
        return "has half a character in it"


def _not(value: object, field: str, wanted: str) -> OddRow:
    what = _WORDS.get(type(value), "a number")
    if not field:
        return OddRow(f"it is {what}, where {wanted} belongs")
    return OddRow(f"its field '{field}' is {'missing' if value is None else what}, where {wanted} belongs")


def apply_patch(text: str, patch: str) -> str:
    """Apply the hunks of a unified diff to a file's text; a patch without hunks makes an empty text.

    Raises:
        ValueError: the hunks do not fit the text.
    """
    if not patch.strip():
        return ""
    old = text.split("\n")
    new: list[str] = []
    place = 0
    for line in patch.split("\n"):
        if match := _HUNK.match(line):
            # A hunk without old lines names the line that it follows.
            start = int(match[1]) - (0 if match[2] == "0" else 1)
            if not place <= start <= len(old):
                raise ValueError("a hunk does not fit the file")
            new += old[place:start]
            place = start
        elif line[:1] == "+":
            new.append(line[1:])
        elif line[:1] in (" ", "-"):
            if place >= len(old) or old[place] != line[1:]:
                raise ValueError("a hunk does not fit the file")
            new += [line[1:]] * (line[0] == " ")
            place += 1
        elif line and not line.startswith("\\"):
            raise ValueError(f"unexpected line {line[:40]!r} in a patch")
    rest = old[place:]
    ends = not rest or rest == [""]
    return "\n".join(new if ends else new + rest) + ("\n" if ends else "")
