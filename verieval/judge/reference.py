"""Reference runs: what each task's own reference does with its bench on this toolchain, cached.

``strict`` holds a candidate to the number of samples that the reference run reaches, and ``bench check`` lists the
references that fail. Both read the same record.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from verieval.judge.limits import Limits
from verieval.judge.toolchain import Toolchain
from verieval.task import Benchmark, Task, hash_json
from verieval.verdict import Outcome

# Outcomes that say something of the reference. The others may be the machine's doing that day, so they are not kept.
_LASTING: frozenset[Outcome] = frozenset(
    {"passed", "mismatch", "syntax", "elaboration", "interface", "not_self_contained", "bench_compile", "tampered"}
)

# Raised whenever judging changes in a way that could change a record.
JUDGE_VERSION = 2


@dataclass(frozen=True)
class ReferenceRun:
    """How a reference fares on its own bench. ``official`` is upstream's rule, ``outcome`` the strict one.

    ``trace`` is the hash of what the bench fed it and expected of it, over time; ``inputs_depend`` says whether that
    follows from what the design answers, None where nobody had to ask.
    """

    outcome: Outcome
    official: bool
    code: str
    mismatches: int | None
    samples: int | None
    trace: str | None
    detail: str
    cpu: float
    inputs_depend: bool | None = None


class ReferenceCache:
    """Reference runs by task content, in one file per benchmark, toolchain and limits.

    The file is a cache: unreadable ones are made anew, and what could not be written is only made again.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        toolchain: Toolchain,
        limits: Limits,
        folder: Path | None = None,
        *,
        recall: bool = True,
    ) -> None:
        key = hash_json([JUDGE_VERSION, benchmark.rule, toolchain.binaries_sha256, limits.describe()])[:16]
        name = f"{benchmark.name}-{benchmark.variant or 'all'}-icarus{toolchain.version}-{key}.json"
        self._path = (folder or cache_folder()) / "references" / name
        self._lock = threading.Lock()
        self._new: dict[str, ReferenceRun] = {}
        self._known = self._load() if recall else {}

    def get(self, task: Task) -> ReferenceRun | None:
        """The record of a task, or None."""
        with self._lock:
            return self._known.get(task.sha256)

    def put(self, task: Task, run: ReferenceRun) -> None:
        """Add a record; it is on disk after :meth:`save`, if it is one that lasts."""
        with self._lock:
            self._known[task.sha256] = run
            if run.outcome in _LASTING:
                self._new[task.sha256] = run

    def save(self) -> None:
        """Write what is new, beside what another process may have written meanwhile."""
        with self._lock:
            if not self._new:
                return
            merged = {**self._load(), **self._new}
            self._new = {}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({sha: asdict(run) for sha, run in sorted(merged.items())}, file, indent=0)
            Path(temporary).replace(self._path)
        except OSError:
            return  # a read-only or full cache folder costs time at the next run, nothing else

    def _load(self) -> dict[str, ReferenceRun]:
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return {sha: ReferenceRun(**row) for sha, row in rows.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}


def cache_folder() -> Path:
    """VERIEVAL_CACHE, else ``verieval`` in the user's cache folder."""
    chosen = os.environ.get("VERIEVAL_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verieval"
