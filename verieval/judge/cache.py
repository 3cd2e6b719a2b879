"""What was found out about a task on this toolchain, kept between runs.

Judging needs facts that cost simulations: what a reference does on its bench, whether stubs pass it. They depend on the
task's content, the toolchain and the limits, and on nothing else, so they are kept by those.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

from verieval.judge.limits import Limits
from verieval.judge.toolchain import Toolchain
from verieval.task import Benchmark, Task, hash_json

T = TypeVar("T")

# Raised whenever judging changes in a way that could change a record.
JUDGE_VERSION = 7


class TaskCache(Generic[T]):
    """Records by task content, in one file per benchmark, toolchain and limits.

    The file is a cache: unreadable ones are made anew, and what could not be written is only made again.

    Args:
        kind: name of the folder of such records.
        parse: a record from the fields that a file holds of it; whatever of ValueError, TypeError, KeyError it raises
            means that the file is of no use.
        made_with: versions of what else decides.
        lasts: records that are worth keeping; the others may be the machine's doing that day.
        folder: the folder of caches; None for the user's.
        recall: False makes every record anew.
    """

    def __init__(
        self,
        kind: str,
        parse: Callable[[Mapping[str, Any]], T],
        benchmark: Benchmark,
        toolchain: Toolchain,
        limits: Limits,
        *,
        made_with: Mapping[str, str] | None = None,
        lasts: Callable[[T], bool] = lambda record: True,
        folder: Path | None = None,
        recall: bool = True,
    ) -> None:
        made = [toolchain.binaries_sha256, made_with or {}]
        key = hash_json([JUDGE_VERSION, benchmark.rule, made, limits.describe()])[:16]
        name = f"{benchmark.name}-{benchmark.variant or 'all'}-icarus{toolchain.version}-{key}.json"
        self._parse = parse
        self._lasts = lasts
        self._path = (folder or cache_folder()) / kind / name
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._new: dict[str, T] = {}
        self._known = self._load() if recall else {}

    def get(self, task: Task) -> T | None:
        """The record of a task, or None."""
        with self._lock:
            return self._known.get(task.sha256)

    def put(self, task: Task, record: T) -> None:
        """Add a record; it is on disk after :meth:`save`, if it is one that lasts."""
        with self._lock:
            self._known[task.sha256] = record
            if self._lasts(record):
                self._new[task.sha256] = record

    def save(self) -> None:
        """Write what is new, beside what another process may have written meanwhile."""
        with self._saving:
            self._save()

    def _save(self) -> None:
        with self._lock:
            if not self._new:
                return
            merged = {**self._load(), **self._new}
            self._new = {}
        rows = {sha: asdict(record) for sha, record in sorted(merged.items())}  # type: ignore[call-overload]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=0)
            Path(temporary).replace(self._path)
        except OSError:
            return  # a read-only or full cache folder costs time at the next run, nothing else

    def _load(self) -> dict[str, T]:
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return {sha: self._parse(row) for sha, row in rows.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}


def cache_folder() -> Path:
    """VERIEVAL_CACHE, else ``verieval`` in the user's cache folder."""
    chosen = os.environ.get("VERIEVAL_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verieval"
