"""Readers of completions that were made elsewhere, recognised by their content.

=================  ============================================================================================
format             what it is
=================  ============================================================================================
``run``            a run folder of this project (its ``completions.jsonl``)
``verieval``       JSONL ``task_id, sample, text``, the rows of ``completions.jsonl``
``samples``        JSONL ``task_id, sample, completion``
``verilog-eval-v1``  JSONL ``task_id, completion``; the sample is the order of appearance within the task
``turtle``         TuRTLe's result JSON: a list of lists of ``{test_path, generation, …}``, one inner list a task
``folder``         ``.v`` and ``.sv`` files named by task and sample, see :mod:`verieval.run.folders`
=================  ============================================================================================

JSON and JSONL may be gzipped. What is read is what was meant, or an error that names file and line: nothing is guessed
and nothing left out, unless the caller asks for unknown tasks to be skipped.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from verieval.completion import MAX_N, Completion
from verieval.errors import VerievalError
from verieval.files import is_folder, is_missing, read_file
from verieval.run.folders import read_folder
from verieval.run.jsonl import load_json, parse_rows
from verieval.run.manifest import Manifest, read_manifest
from verieval.run.store import COMPLETIONS, check_length, parse_completion, read_completions
from verieval.task import Benchmark

MAX_SAMPLE = MAX_N - 1
MAX_UNPACKED = 2**30  # bytes in a gzip file: a small one can hold more than any memory

# Manifest sections on how completions were made, where nothing tells.
UNKNOWN: Mapping[str, Mapping[str, Any]] = {
    "model": {"source": None},
    "prompt": {"template": None, "sha256": None},
    "sampling": {},
    "engine": {"name": None},
}


@dataclass(frozen=True)
class Raw:
    """A completion as a file has it: ``names`` are what its task may be called, the likeliest first."""

    names: tuple[str, ...]
    sample: int
    text: str
    where: str
    completion: Completion | None = None


@dataclass(frozen=True)
class Reading:
    """Completions of a file or folder, with the benchmark's own task ids, in its order of tasks and samples.

    Attributes:
        format: a row of the table above.
        sha256: of the content.
        extraction: the mode that fits the format: ``verbatim`` where the code was taken out already.
        skipped: names of tasks that the benchmark does not have, where the caller let them be skipped.
        notes: what was noticed, for the manifest.
        manifest: of the run folder that was read, if it was one.
    """

    path: Path
    format: str
    sha256: str
    extraction: str
    completions: tuple[Completion, ...]
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    manifest: Manifest | None = field(default=None, compare=False)

    def describe(self) -> dict[str, Any]:
        """Manifest section ``source``."""
        described: dict[str, Any] = {"path": str(self.path), "format": self.format, "sha256": self.sha256}
        if self.skipped:
            described["skipped_tasks"] = list(self.skipped)
        if self.notes:
            described["notes"] = list(self.notes)
        return described

    @property
    def origin(self) -> dict[str, dict[str, Any]]:
        """Manifest sections on how the completions were made: what their own manifest says, else :data:`UNKNOWN`."""
        known = self.manifest or {}
        return {section: dict(known.get(section, unknown)) for section, unknown in UNKNOWN.items()}

    def rows_of(self, benchmark: Benchmark) -> tuple[Completion, ...]:
        """The completions of the benchmark's tasks.

        Raises:
            VerievalError: there is none.
        """
        ids = {task.id for task in benchmark.tasks}
        rows = tuple(row for row in self.completions if row.task_id in ids)
        if not rows:
            raise VerievalError(f"{self.path} holds no completion of the chosen tasks; check --tasks and --limit")
        return rows

    def default_n(self, rows: Sequence[Completion]) -> int:
        """Samples a task: what their own manifest says, or the most that a task of ``rows`` has, if that is more."""
        known: int = self.origin["sampling"].get("n", 0)
        return max(known, *sample_counts(rows).values())


def sample_counts(rows: Sequence[Completion]) -> dict[str, int]:
    """Number of samples by task, counted up to the last one that is there."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.task_id] = max(counts.get(row.task_id, 0), row.sample + 1)
    return counts


def read_any(path: Path, benchmark: Benchmark, *, skip_unknown: bool = False) -> Reading:
    """Read completions in whatever format of the table they are.

    Raises:
        VerievalError: nothing there, no known format, a damaged line, a sample twice, a task the benchmark lacks.
    """
    if is_missing(path):
        raise VerievalError(f"{path} does not exist; give a file or folder of completions")
    if is_folder(path):
        reading, rows = _read_directory(path, benchmark)
    else:
        reading, rows = _read_file(path)
    return _resolve(reading, rows, benchmark, skip_unknown)


def _read_directory(path: Path, benchmark: Benchmark) -> tuple[Reading, list[Raw]]:
    if not is_missing(path / COMPLETIONS):
        manifest = read_manifest(path)
        rows = [_from_completion(c, f"{path / COMPLETIONS}") for c in read_completions(path)]
        sha256 = hashlib.sha256(read_file(path / COMPLETIONS)).hexdigest()
        return Reading(path, "run", sha256, manifest["extraction"].get("mode", "auto"), (), manifest=manifest), rows
    files = read_folder(path, benchmark.by_id)
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0{len(file.data)}\0".encode("utf-8", "surrogateescape") + file.data)
    rows = [Raw((file.task,), file.sample, file.text, str(path / file.name)) for file in files]
    odd = sum("�" in file.text for file in files)
    notes = (f"{odd} files are not UTF-8; their odd bytes were replaced",) if odd else ()
    return Reading(path, "folder", digest.hexdigest(), "verbatim", (), notes=notes), rows


def _read_file(path: Path) -> tuple[Reading, list[Raw]]:
    data = read_file(path)
    sha256 = hashlib.sha256(data).hexdigest()
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data, path)
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"[":
        return Reading(path, "turtle", sha256, "verbatim", ()), list(_turtle(data, path))
    if start == b"{":
        name, rows = _jsonl(data, path)
        return Reading(path, name, sha256, "auto", ()), rows
    if not start:
        raise VerievalError(f"{path} is empty; give a file with completions")
    raise VerievalError(
        f"{path} is neither JSONL nor JSON; give completions as JSONL (task_id, sample, text), as TuRTLe's "
        "result JSON, or a folder of .v or .sv files"
    )


def _gunzip(data: bytes, path: Path) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(MAX_UNPACKED + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise VerievalError(f"{path} is a damaged gzip file ({error}); fetch or compress it again") from None
    if len(unpacked) > MAX_UNPACKED:
        raise VerievalError(f"{path} unpacks to more than {MAX_UNPACKED} bytes; give it in smaller parts")
    return unpacked


# ---- JSONL --------------------------------------------------------------------------------------------------------


def _jsonl(data: bytes, path: Path) -> tuple[str, list[Raw]]:
    """The first row says which of the JSONL formats it is; the others must be of the same."""
    rows = list(parse_rows(data, str(path)))
    name = next((name for name, (keys, _) in _JSONL.items() if keys <= rows[0][1].keys()), None)
    if name is None:
        raise VerievalError(
            f"{path}:{rows[0][0]}: a row needs `task_id` and `text` or `completion`, this one has "
            f"{', '.join(f'`{key}`' for key in list(rows[0][1])[:6]) or 'nothing'}; rename its fields"
        )
    seen: Counter[str] = Counter()
    return name, [_JSONL[name][1](row, f"{path}:{number}", seen) for number, row in rows]


def _own_row(row: Mapping[str, Any], where: str, seen: Counter[str]) -> Raw:
    return _from_completion(parse_completion(row, where), where)


def _from_completion(completion: Completion, where: str) -> Raw:
    return Raw((completion.task_id,), completion.sample, completion.text, where, completion)


def _numbered_row(row: Mapping[str, Any], where: str, seen: Counter[str]) -> Raw:
    if "sample" not in row:
        raise VerievalError(f"{where}: no `sample`, though the rows before have one; add it to all rows or to none")
    return _own_row({"task_id": row.get("task_id"), "sample": row["sample"], "text": _code(row, where)}, where, seen)


def _counted_row(row: Mapping[str, Any], where: str, seen: Counter[str]) -> Raw:
    if "sample" in row:
        raise VerievalError(f"{where}: has a `sample`, though the rows before have none; add it to all rows or to none")
    name = row.get("task_id")
    sample = seen[name] if isinstance(name, str) else 0
    raw = _own_row({"task_id": name, "sample": sample, "text": _code(row, where)}, where, seen)
    seen[raw.names[0]] += 1
    return raw


def _code(row: Mapping[str, Any], where: str) -> str:
    code = row.get("completion")
    if not isinstance(code, str):
        raise VerievalError(f"{where}: a row needs a string `completion`; repair or remove the line")
    return code


# Format -> the fields of its first row, and how a row is read. The first that fits is taken.
_JSONL: dict[str, tuple[set[str], Callable[[Mapping[str, Any], str, Counter[str]], Raw]]] = {
    "verieval": ({"task_id", "text"}, _own_row),
    "samples": ({"task_id", "sample", "completion"}, _numbered_row),
    "verilog-eval-v1": ({"task_id", "completion"}, _counted_row),
}


# ---- TuRTLe -------------------------------------------------------------------------------------------------------


def _turtle(data: bytes, path: Path) -> Iterator[Raw]:
    """TuRTLe's results: the task is known by the path of its test bench, the sample by its place in the inner list."""
    try:
        tasks = load_json(data)
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not JSON ({error}); fetch it again") from None
    for i, samples in enumerate(tasks):
        if not isinstance(samples, list):
            raise VerievalError(f"{path}: entry {i} is no list; TuRTLe's result JSON is a list of lists of samples")
        for j, row in enumerate(samples):
            where = f"{path}: entry {i}, sample {j}"
            if not isinstance(row, dict) or not isinstance(row.get("test_path"), str) or not turtle_names(row):
                raise VerievalError(
                    f"{where} has no `test_path`; TuRTLe's result JSON names the test bench of each sample"
                )
            code = row.get("generation")
            if code is not None and not isinstance(code, str):
                raise VerievalError(f"{where}: `generation` is a {type(code).__name__}, not a string; repair the entry")
            yield Raw(turtle_names(row), j, code or "", where)


def turtle_names(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Names a TuRTLe row gives its task: VerilogEval's by the bench's file, RTLLM's and VeriGen's by its folder."""
    path = PurePosixPath(row["test_path"].replace("\\", "/"))
    names = [path.stem.removesuffix("_test"), path.parent.name]
    if path.stem.startswith("tb_"):
        names += [f"{path.parent.name}_{path.stem[3:]}", path.stem[3:]]
    if isinstance(row.get("task_id"), str):
        names.insert(0, row["task_id"])
    return tuple(name for name in names if name)


# ---- names to tasks -----------------------------------------------------------------------------------------------


def _resolve(reading: Reading, rows: Sequence[Raw], benchmark: Benchmark, skip_unknown: bool) -> Reading:
    """Give every row the benchmark's own task id, and check that no sample is there twice."""
    unknown: dict[str, None] = {}
    found: dict[tuple[str, int], tuple[str, Completion]] = {}
    for row in rows:
        task = next((benchmark.by_id[name] for name in row.names if name in benchmark.by_id), None)
        if task is None:
            unknown[row.names[0]] = None
            continue
        if row.sample > MAX_SAMPLE:
            raise VerievalError(f"{row.where}: sample {row.sample} is beyond {MAX_SAMPLE}; number samples from 0")
        key = (task.id, row.sample)
        if key in found:
            raise VerievalError(
                f"{row.where}: sample {row.sample} of {task.id} is there already ({found[key][0]}); keep one of the two"
            )
        made = row.completion or Completion(task.id, row.sample, row.text)
        check_length(made.text, row.where)
        found[key] = (row.where, replace(made, task_id=task.id))
    if unknown and not skip_unknown:
        raise VerievalError(_unknown_tasks(reading, list(unknown), benchmark, none_known=not found))
    if not found:
        raise VerievalError(f"{reading.path} holds no completion for {benchmark.full_name}; check --benchmark")
    order = {task.id: i for i, task in enumerate(benchmark.tasks)}
    keys = sorted(found, key=lambda key: (order[key[0]], key[1]))
    return replace(reading, completions=tuple(found[key][1] for key in keys), skipped=tuple(unknown))


def _unknown_tasks(reading: Reading, unknown: list[str], benchmark: Benchmark, *, none_known: bool) -> str:
    names = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
    count = "no task" if none_known else f"{len(unknown)} task{'s' if len(unknown) > 1 else ''}"
    relation = (
        f"of {reading.path} is" if none_known else f"of {reading.path} {'is' if len(unknown) == 1 else 'are'} not"
    )
    way_out = "check --benchmark" + ("" if none_known else ", or leave them out with --skip-unknown")
    return f"{count} {relation} in {benchmark.full_name} ({names}); {way_out}"
