"""A run folder as a submission needs it: finished, unedited, one protocol. It is read and never changed."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.leaderboard.reasons import short
from verieval.run.jsonl import load_json, parse_rows
from verieval.run.manifest import Manifest, leaves, read_manifest, short_value
from verieval.run.store import COMPLETIONS, LOCK, VERDICTS, parse_completion, parse_verdict
from verieval.verdict import Verdict

T = TypeVar("T")

# What of a verdict is the same whenever and wherever the sample is judged, on the same harness and toolchain.
STABLE = (
    "outcome",
    "stage",
    "passed",
    "code",
    "mismatches",
    "samples",
    "source_sha256",
    "extraction",
    "repaired_passed",
)

# How completions were made. A run that was judged again (`--reextract`) keeps these and may change the others.
_GENERATION = ("model", "prompt", "sampling", "engine", "source", "benchmark")
_JUDGING = ("benchmark.errata",)


@dataclass(frozen=True)
class Entry:
    """A run to submit. Completions and verdicts in the order of their files; a completion may be there twice."""

    path: Path
    manifest: Manifest
    completions: tuple[Completion, ...]
    verdicts: tuple[Verdict, ...]


def read_entry(folder: Path) -> Entry:
    """Read a run folder strictly.

    Raises:
        VerievalError: it is no run, is being written to, was not finished, or was changed by hand.
    """
    manifest = read_manifest(folder)
    with _still(folder):
        _one_set(folder)
        _one_protocol(folder, manifest)
        completions = tuple(_rows(folder / COMPLETIONS, parse_completion))
        verdicts = _settled(folder / VERDICTS)
    return Entry(folder, manifest, completions, verdicts)


@contextmanager
def _still(folder: Path) -> Iterator[None]:
    """Hold the run's lock, where it has one, so that nobody appends while it is read."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise VerievalError(f"a verieval process is writing to {folder}; submit the run when it is done") from None
        yield
    finally:
        os.close(fd)


def _one_set(folder: Path) -> None:
    others = sorted(path.name for path in folder.glob("completions*.jsonl*") if path.name != COMPLETIONS)
    if others:
        raise VerievalError(
            f"{folder} holds {others[0]} beside {COMPLETIONS}: a submission is of one set of completions; "
            "if it does not belong to the run, move it elsewhere"
        )


def _one_protocol(folder: Path, manifest: Manifest) -> None:
    """Earlier manifests (`verieval score RUN --reextract` keeps them) may differ in how samples were judged alone."""
    for path in sorted(folder.glob("manifest.*.json")):
        if not re.fullmatch(r"manifest\.\d+\.json", path.name):
            continue
        try:
            earlier = load_json(read_file(path, "restore it"))
        except (ValueError, RecursionError) as error:
            raise VerievalError(f"{path} is not JSON ({short(str(error))}); restore it") from None
        if not isinstance(earlier, dict):
            raise VerievalError(f"{path} is no manifest; restore it")
        old, new = (dict(leaves({key: m[key] for key in _GENERATION if key in m})) for m in (earlier, manifest))
        for name in [*old, *(name for name in new if name not in old)]:
            if old.get(name) != new.get(name) and name not in _JUDGING:
                raise VerievalError(
                    f"{folder} mixes protocols: `{name}` was {short_value(old.get(name))} in {path.name} and is "
                    f"{short_value(new.get(name))} now; submit runs that were made by one protocol"
                )


def _rows(path: Path, parse: Callable[[Mapping[str, Any], str], T]) -> Iterator[T]:
    if not path.exists():
        raise VerievalError(f"{path} is not there: the run was not finished; run the same command again")
    data = read_file(path, "submit a whole run")
    if data and not data.endswith(b"\n"):
        raise VerievalError(f"{path} ends within a line: the run was not finished; run the same command again")
    for number, row in parse_rows(data, str(path)):
        yield parse(row, f"{path}:{number}")


def _settled(path: Path) -> tuple[Verdict, ...]:
    """One verdict a sample. Only a fault of the harness is judged again; a changed mind has another cause.

    Raises:
        VerievalError: two verdicts on a sample that differ.
    """
    found: dict[tuple[str, int], Verdict] = {}
    for verdict in _rows(path, parse_verdict):
        key = (verdict.task_id, verdict.sample)
        before = found.get(key)
        if before is not None and before.outcome != "harness" and stable(before) != stable(verdict):
            raise VerievalError(
                f"{path} has two verdicts on sample {verdict.sample} of {verdict.task_id} that differ "
                f"({before.outcome}, {verdict.outcome}); judge the run again with `verieval score RUN --reextract`"
            )
        found[key] = verdict
    return tuple(found.values())


def stable(verdict: Verdict) -> dict[str, Any]:
    """The fields of a verdict that judging again must give again."""
    return {name: getattr(verdict, name) for name in STABLE}
