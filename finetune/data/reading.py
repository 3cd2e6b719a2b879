"""Rows of a data set, one by one and in any order: local files, folders of them, and data sets of a hub."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from finetune.recipe import SourceSpec
from verieval.errors import VerievalError
from verieval.files import is_folder, read_file
from verieval.judge.cache import cache_folder
from verieval.training import Bad, parse_line, read_lines

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?::[\w.-]+)?")
_SAVED = ("state.json", "dataset_dict.json")  # what `datasets` writes beside a data set that it saves
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")

Value = Callable[[int], object]  # the row, or why the line is none


@dataclass(frozen=True)
class Part:
    """Rows that come from one place.

    Attributes:
        name: what rows of it are called, before ``:`` and their number.
        count: of rows.
        value: gives a row by its index from 0.
        numbers: what rows are called by their index; empty where it is index + 1.
    """

    name: str
    count: int
    value: Value
    numbers: Sequence[int] = ()

    def row(self, index: int) -> tuple[str, object]:
        """Name and value of a row."""
        return f"{self.name}:{self.numbers[index] if self.numbers else index + 1}", self.value(index)


@dataclass(frozen=True)
class Rows:
    """All rows of a source.

    Attributes:
        parts: in order.
        about: what ``training.json`` says of the source: its files with their hashes, or the hub id.
    """

    parts: tuple[Part, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(part.count for part in self.parts)

    def row(self, index: int) -> tuple[str, object]:
        """Name and value of a row; the value is a :class:`verieval.training.Bad` where the line is no row."""
        for part in self.parts:
            if index < part.count:
                return part.row(index)
            index -= part.count
        raise IndexError(index)


def open_rows(spec: SourceSpec) -> Rows:
    """Open a source. The network is used only where ``path`` is a hub id.

    Args:
        spec: ``path`` is a file (JSON lines or one JSON array, plain or gzip, whatever its name; ``.parquet``,
            ``.csv``), a folder of such files, a folder that ``datasets`` saved, or a hub id, ``OWNER/NAME[:CONFIG]``.

    Raises:
        VerievalError: nothing is there, or it cannot be read.
    """
    path = Path(spec.path).expanduser()
    if is_folder(path):
        return _open_saved(path, spec) if any((path / name).is_file() for name in _SAVED) else _open_folder(path)
    if path.exists() or path.is_symlink():
        return Rows((_open_file(path, path.name),), {"files": [_about(path, path.name)]})
    if _HUB_ID.fullmatch(spec.path) and _reader(path) is None:
        return _open_hub(spec)
    raise VerievalError(f"there is no data set {spec.path}: give a file, a folder, or a hub id (OWNER/NAME[:CONFIG])")


def _open_folder(folder: Path) -> Rows:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _reader(path) and path.name[0] != ".")
    if not files:
        raise VerievalError(f"the folder {folder} holds no {', '.join(_READERS)}: give one that does, or a file")
    names = [path.relative_to(folder).as_posix() for path in files]
    parts = tuple(_open_file(path, name) for path, name in zip(files, names, strict=True))
    return Rows(parts, {"files": [_about(path, name) for path, name in zip(files, names, strict=True)]})


def _open_file(path: Path, name: str) -> Part:
    return (_reader(path) or _read_json)(path, name)


def _read_json(path: Path, name: str) -> Part:
    """JSON lines, or one array."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise VerievalError(f"{path} cannot be read ({error.strerror or error}); check the path") from None
    if _ARRAY.match(start):
        return _read_array(path, name)
    lines = [(number, line) for number, line, _ in read_lines(path)]
    return Part(name, len(lines), lambda index: _parsed(*lines[index]), [number for number, _ in lines])


def _parsed(number: int, line: bytes | None) -> object:
    row = parse_line(number, line)
    return row if isinstance(row, Bad) else row.value


def _read_array(path: Path, name: str) -> Part:
    try:
        values = json.loads(read_file(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise VerievalError(
            f"{path} begins like one JSON array and is none ({error}); give JSON lines, one row a line"
        ) from None
    return Part(name, len(values), values.__getitem__)


def _read_table(kind: str) -> Callable[[Path, str], Part]:
    def read(path: Path, name: str) -> Part:
        cache = str(cache_folder() / "datasets")
        table = _load(str(path), lambda load: load(kind, data_files=str(path), split="train", cache_dir=cache))
        return Part(name, len(table), table.__getitem__)

    return read


_READERS: Mapping[str, Callable[[Path, str], Part]] = {
    ".jsonl": _read_json,
    ".json": _read_json,
    ".jsonl.gz": _read_json,
    ".json.gz": _read_json,
    ".parquet": _read_table("parquet"),
    ".csv": _read_table("csv"),
}


def _reader(path: Path) -> Callable[[Path, str], Part] | None:
    return next((reader for ending, reader in _READERS.items() if path.name.lower().endswith(ending)), None)


def _open_saved(folder: Path, spec: SourceSpec) -> Rows:
    def load(_: Any) -> Any:
        from datasets import load_from_disk

        found = load_from_disk(str(folder))
        return found[spec.split] if isinstance(found, dict) else found

    table = _load(str(folder), load)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    about = [_about(path, path.relative_to(folder).as_posix()) for path in files]
    return Rows((Part(folder.name, len(table), table.__getitem__),), {"files": about})


def _open_hub(spec: SourceSpec) -> Rows:
    name, _, config = spec.path.partition(":")
    revision = spec.revision or None
    table = _load(spec.path, lambda load: load(name, config or None, split=spec.split, revision=revision))
    about = {"hub": spec.path, "split": spec.split, "revision": revision, "fingerprint": table._fingerprint}
    return Rows((Part(spec.path, len(table), table.__getitem__),), about)


def _load(what: str, action: Callable[[Any], Any]) -> Any:
    """Read through ``datasets``, whose many readers raise whatever they raise."""
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise VerievalError(f"reading {what} needs the torch extra: pip install 'verieval[torch]'") from error
    try:
        return action(load_dataset)
    except Exception as error:
        said = next(iter(str(error).strip().splitlines()), "")
        raise VerievalError(f"cannot read the data set {what}: {type(error).__name__}: {said}") from error


def _about(path: Path, name: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": name, "bytes": path.stat().st_size, "sha256": digest}
    except OSError as error:
        raise VerievalError(f"{path} cannot be read ({error.strerror or error}); check the path") from None
