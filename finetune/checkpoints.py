"""Checkpoints of a training run: folders ``step-000100`` that are there whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finetune.backend import Backend
from verieval.run.jsonl import dump_json, load_json, write_atomically

FOLDER = "checkpoints"
_NAME = re.compile(r"step-(\d{6,})")
_STATE = "state.json"


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint.

    Attributes:
        path: its folder.
        step: optimizer steps that were done.
        state: what the loop kept in it.
    """

    path: Path
    step: int
    state: Mapping[str, Any]


def complete(run: Path) -> list[Checkpoint]:
    """The checkpoints of a run that are whole, oldest first.

    A folder counts when its ``state.json``, written last, is there and all files have the sizes that it names: what a
    kill or a power cut left half-written does not.
    """
    found = [checkpoint for path in _folders(run) if (checkpoint := _read(path)) is not None]
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def save(run: Path, backend: Backend, step: int, state: Mapping[str, Any], *, keep: int) -> None:
    """Write a checkpoint under a hidden name, give it its own, and drop the oldest beyond ``keep``.

    Every process calls it; the first one makes and names the folder.
    """
    parent = run / FOLDER
    path, temporary = parent / f"step-{step:06}", parent / f".step-{step:06}.tmp"
    if backend.rank == 0:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
    backend.agree(False)
    backend.save(temporary)
    backend.agree(False)
    if backend.rank == 0:
        sizes = {str(file.relative_to(temporary)): file.stat().st_size for file in _files(temporary)}
        for name in sizes:
            _sync(temporary / name)
        write_atomically(temporary / _STATE, dump_json({"step": step, "files": sizes, "state": dict(state)}))
        shutil.rmtree(path, ignore_errors=True)
        temporary.replace(path)
        _sync(parent)
        for old in complete(run)[:-keep]:
            shutil.rmtree(old.path)
    backend.agree(False)


def tidy(run: Path) -> list[str]:
    """Remove what was never finished; returns the names of folders that are damaged, which stay."""
    for path in (run / FOLDER).glob(".step-*.tmp"):
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in _folders(run) if _read(path) is None]


def _folders(run: Path) -> Iterator[Path]:
    parent = run / FOLDER
    if parent.is_dir():
        yield from (path for path in sorted(parent.iterdir()) if _NAME.fullmatch(path.name) and path.is_dir())


def _read(path: Path) -> Checkpoint | None:
    try:
        content = load_json((path / _STATE).read_bytes())
        step, sizes, state = content["step"], content["files"], content["state"]
        whole = all((path / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return Checkpoint(path, step, state) if whole and path.name == f"step-{step:06}" else None


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sync(path: Path) -> None:
    """Have a file or a folder's entries survive a power cut, where the file system can."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
