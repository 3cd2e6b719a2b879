"""The run folder: one writer, three files, nothing lost.

``manifest.json`` comes first; ``completions.jsonl`` and ``verdicts.jsonl`` only grow. A process may die at any
instant: what is there is valid, but for an unfinished last line that the next opening cuts off.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, get_args

from verieval.completion import Completion, FinishReason
from verieval.errors import VerievalError
from verieval.files import is_missing
from verieval.run.jsonl import JsonlWriter, dump_json, read_rows, write_atomically
from verieval.run.manifest import Manifest, check_same_protocol, read_manifest, write_manifest
from verieval.verdict import CRITERIA, OUTCOMES, Stage, Verdict

COMPLETIONS = "completions.jsonl"
VERDICTS = "verdicts.jsonl"
LOCK = ".lock"
MAX_TEXT = 1 << 22  # characters of a completion: a model's 100,000 tokens have an eighth of it

Key = tuple[str, int]

_Row = TypeVar("_Row", Completion, Verdict)


@dataclass(frozen=True)
class RunData:
    """What a run folder holds. Completions in the order of the file; one verdict a sample, in the order of the file."""

    path: Path
    manifest: Manifest
    completions: tuple[Completion, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def task_ids(self) -> list[str]:
        """The tasks that the run is about, whether or not anything was generated for them."""
        return list(self.manifest["benchmark"]["tasks"])

    @property
    def n(self) -> int:
        """Samples asked for a task (the most, where tasks differ)."""
        return int(self.manifest["sampling"]["n"])

    @property
    def requested(self) -> dict[str, int]:
        """Samples asked for, task by task: ``n``, unless the run was scored with unequal numbers on purpose."""
        own: dict[str, int] = self.manifest["sampling"].get("n_by_task") or {}
        return {task: own.get(task, self.n) for task in self.task_ids}


def read_run(path: Path | str) -> RunData:
    """Read a run folder, also while another process writes to it.

    Raises:
        VerievalError: the folder is no run, or a line of its files is damaged.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    verdicts = read_verdicts(folder)  # before the completions: a verdict that comes meanwhile must have its own
    run = RunData(folder, manifest, read_completions(folder), verdicts)
    _check_asked(folder / COMPLETIONS, run.completions, manifest)
    return run


def read_completions(folder: Path) -> tuple[Completion, ...]:
    """Completions of a run folder; an unfinished last line is left out.

    Raises:
        VerievalError: a damaged line, or the same sample twice.
    """
    rows = _unique(folder / COMPLETIONS, parse_completion, twice_is_error=True)
    return tuple(rows.values())


def read_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """Verdicts of a run folder; an unfinished last line is left out, and of two for one sample the later counts."""
    return tuple(_unique(folder / VERDICTS, parse_verdict, twice_is_error=False).values())


def _unique(path: Path, parse: Callable[[Mapping[str, Any], str], _Row], *, twice_is_error: bool) -> dict[Key, _Row]:
    found: dict[Key, _Row] = {}
    if is_missing(path):
        return found
    for number, row in read_rows(path, torn=True):
        item = parse(row, f"{path}:{number}")
        key = (item.task_id, item.sample)
        if twice_is_error and key in found:
            raise VerievalError(
                f"{path}:{number}: sample {item.sample} of {item.task_id} is there twice; remove one of the two lines"
            )
        found[key] = item
    return found


def completion_row(completion: Completion) -> dict[str, Any]:
    """A completion as a row of ``completions.jsonl``."""
    return asdict(completion)


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a row of ``verdicts.jsonl``. The diagnostic ``repaired_passed`` only stands where there is one."""
    row = asdict(verdict)
    row["seconds"] = {name: round(value, 4) for name, value in verdict.seconds.items()}
    if verdict.repaired_passed is None:
        del row["repaired_passed"]
    return row


def parse_completion(row: Mapping[str, Any], where: str) -> Completion:
    """A row of ``completions.jsonl``; ``where`` (file and line) stands in the error."""
    _check_key(row, where)
    if not isinstance(row.get("text"), str):
        raise VerievalError(f"{where}: a completion needs a string `text`; repair or remove the line")
    check_length(row["text"], where)
    _check_fields(row, _COMPLETION_FIELDS, where)
    return Completion(**_known(Completion, row, where))


def check_length(text: str, where: str) -> None:
    """Refuse a completion that no model writes, before it is taken apart, stored and packed.

    Raises:
        VerievalError: it has more than :data:`MAX_TEXT` characters.
    """
    if len(text) > MAX_TEXT:
        raise VerievalError(
            f"{where}: the completion has {len(text):,} characters, and {MAX_TEXT:,} are the most; cut or remove it"
        )


def parse_verdict(row: Mapping[str, Any], where: str) -> Verdict:
    """A row of ``verdicts.jsonl``; ``where`` (file and line) stands in the error."""
    _check_key(row, where)
    if row.get("outcome") not in OUTCOMES:
        raise VerievalError(f"{where}: unknown outcome {row.get('outcome')!r}; remove the line to judge it again")
    passed = row.get("passed")
    if not isinstance(passed, dict) or not all(isinstance(passed.get(name), bool) for name in CRITERIA):
        raise VerievalError(f"{where}: `passed` must say yes or no for {' and '.join(CRITERIA)}; remove the line")
    _check_fields(row, _VERDICT_FIELDS, where)
    return Verdict(**_known(Verdict, row, where))


def _check_key(row: Mapping[str, Any], where: str) -> None:
    sample = row.get("sample")
    if not isinstance(row.get("task_id"), str) or not row["task_id"]:
        raise VerievalError(f"{where}: a row needs a string `task_id`; repair or remove the line")
    if not isinstance(sample, int) or isinstance(sample, bool) or sample < 0:
        raise VerievalError(f"{where}: a row needs `sample`, a number from 0; repair or remove the line")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _is_seed(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _are_seconds(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        for number in value.values()
    )


_Fields = Mapping[str, tuple[Callable[[Any], bool], str]]

_TEXT = (_is_text, "a text")
_COUNT = (_is_count, "a whole number from 0, or null")

# What the further fields of a row may be where they are there: a test, and its words.
_COMPLETION_FIELDS: _Fields = {
    "finish_reason": (
        lambda value: value in get_args(FinishReason),
        f"one of {', '.join(filter(None, get_args(FinishReason)))}, or empty",
    ),
    "prompt_tokens": _COUNT,
    "completion_tokens": _COUNT,
    "seed": (_is_seed, "a whole number, or null"),
}
_VERDICT_FIELDS: _Fields = {
    "stage": (lambda value: value in get_args(Stage), f"one of {', '.join(get_args(Stage))}"),
    "code": _TEXT,
    "mismatches": _COUNT,
    "samples": _COUNT,
    "detail": _TEXT,
    "source_sha256": _TEXT,
    "extraction": (lambda value: isinstance(value, dict), "an object"),
    "seconds": (_are_seconds, "an object of numbers"),
    "repaired_passed": (lambda value: value is None or isinstance(value, bool), "true, false or null"),
}


def _check_fields(row: Mapping[str, Any], known: _Fields, where: str) -> None:
    for name, (fits, words) in known.items():
        if name in row and not fits(row[name]):
            raise VerievalError(
                f"{where}: `{name}` must be {words}, not {json.dumps(row[name])[:60]}; repair or remove the line"
            )


def _known(kind: type[Completion] | type[Verdict], row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields that the type has; others may come from a later version and are left out."""
    known = {field.name: row[field.name] for field in fields(kind) if field.name in row}
    required = (f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    missing = [name for name in required if name not in known]
    if missing:
        raise VerievalError(f"{where}: the row has no {', '.join(f'`{name}`' for name in missing)}; remove the line")
    return known


def _check_asked(path: Path, rows: Iterable[Completion], manifest: Manifest) -> None:
    """Completions are of samples that the manifest asks for; verdicts are checked where they are counted."""
    tasks, n = set(manifest["benchmark"]["tasks"]), manifest["sampling"]["n"]
    for row in rows:
        if row.task_id not in tasks or row.sample >= n:
            raise VerievalError(
                f"{path} holds sample {row.sample} of {row.task_id}, which its manifest does not ask for; "
                "remove that line, or restore the manifest"
            )


class RunStore:
    """The one writer of a run folder."""

    def __init__(self, folder: Path, manifest: Manifest, *, replace_verdicts: bool = False) -> None:
        """Start the run of ``manifest`` in ``folder``, or go on with it where the folder holds it already.

        Args:
            folder: made if it is not there.
            manifest: compared with the stored one, which stays.
            replace_verdicts: the judging changed on purpose: keep the old manifest and verdicts under numbered names
                and judge all stored completions again.

        Raises:
            VerievalError: another process writes to the folder; it holds something else or another protocol.
            OSError: the folder cannot be written.
        """
        self.path = folder
        self._lock = _lock(folder)
        try:
            self.manifest = self._open_manifest(manifest, replace_verdicts)
            self.completions = {(c.task_id, c.sample): c for c in read_completions(folder)}
            self.verdicts = {(v.task_id, v.sample): v for v in read_verdicts(folder)}
            _check_asked(folder / COMPLETIONS, self.completions.values(), self.manifest)
            self._completions = JsonlWriter(folder / COMPLETIONS)
            self._verdicts = JsonlWriter(folder / VERDICTS)
        except BaseException:
            os.close(self._lock)
            raise

    def _open_manifest(self, manifest: Manifest, replace_verdicts: bool) -> Manifest:
        if not (self.path / "manifest.json").exists():
            others = [p.name for p in self.path.iterdir() if p.name != LOCK and not p.name.endswith(".tmp")]
            if others:
                raise VerievalError(
                    f"{self.path} is not empty and not a run folder (it holds {others[0]}); give --out another folder"
                )
            write_manifest(self.path, manifest)
            return manifest
        stored = read_manifest(self.path)
        if replace_verdicts:
            self._set_aside(stored)
            write_manifest(self.path, manifest)
            return manifest
        check_same_protocol(self.path, stored, manifest)
        return stored

    def _set_aside(self, stored: Manifest) -> None:
        """Keep the present manifest and verdicts as ``*.N.*``, the verdicts last: they mark the step as begun."""
        number = 1
        while (self.path / f"verdicts.{number}.jsonl").exists() or (self.path / f"manifest.{number}.json").exists():
            number += 1
        write_atomically(self.path / f"manifest.{number}.json", dump_json(stored))
        if (self.path / VERDICTS).exists():
            (self.path / VERDICTS).rename(self.path / f"verdicts.{number}.jsonl")

    def append_completions(self, completions: Sequence[Completion]) -> None:
        """Append completions; only one thread may call this.

        Raises:
            OSError: nothing was appended.
        """
        self._completions.append([completion_row(completion) for completion in completions])
        self.completions.update({(c.task_id, c.sample): c for c in completions})

    def append_verdict(self, verdict: Verdict) -> None:
        """Append a verdict; only one thread may call this (not necessarily the one that appends completions).

        Raises:
            OSError: nothing was appended.
        """
        self._verdicts.append([verdict_row(verdict)])
        self.verdicts[(verdict.task_id, verdict.sample)] = verdict

    def sync(self) -> None:
        """Have the completions so far survive a power cut; verdicts can be made again."""
        self._completions.sync()

    def close(self) -> None:
        """Close the files and let another process have the folder."""
        try:
            self._completions.close()
        finally:
            try:
                self._verdicts.close()
            finally:
                os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Within this, no other process writes to a run folder.

    Raises:
        VerievalError: another one does.
    """
    lock = _lock(folder)
    try:
        yield
    finally:
        os.close(lock)


def _lock(folder: Path) -> int:
    """Make the folder and take its lock, which the kernel gives back when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise VerievalError(f"{folder} cannot be a run folder: a file is in the way; give --out another path") from None
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise VerievalError(
            f"another verieval process is writing to {folder}; wait for it or give --out another folder"
        ) from None
    except OSError:
        os.close(fd)
        raise
    return fd
