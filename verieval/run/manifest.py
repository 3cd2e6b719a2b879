"""The manifest: everything that can change a run's numbers, written before its first completion.

A manifest is plain JSON data. :func:`build_manifest` makes one, :func:`differences` says where two disagree, and
:data:`FREE_FIELDS` is the table of what may differ between the sessions of one run.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from verieval import __version__
from verieval.completion import MAX_N, Sampling
from verieval.errors import VerievalError
from verieval.files import is_missing, read_file
from verieval.run.jsonl import dump_json, load_json, write_atomically
from verieval.task import Benchmark
from verieval.verdict import CRITERIA

SCHEMA = 1

Manifest = dict[str, Any]

# Fields that neither a completion nor a verdict depends on, as patterns of dotted paths. Everything else is compared
# when a run is resumed, also what a later version adds: forgetting a field here refuses a run, and never mixes two.
FREE_FIELDS: tuple[str, ...] = (
    "command",
    "started",
    "machine.*",
    "criterion.headline",
    "source.path",
    "engine.concurrency",
    "engine.retries",
    "engine.timeout",
    "calibration.*",  # what is known of the benches; it is found out again where a verdict needs it
)


def describe_benchmark(benchmark: Benchmark, tasks: Sequence[str] | None = None) -> dict[str, Any]:
    """Manifest section of a benchmark.

    Args:
        benchmark: the whole benchmark, so that its hash names the data and not the selection.
        tasks: ids that the run is about, in order; None is all.
    """
    section = {
        "name": benchmark.name,
        "variant": benchmark.variant,
        "commit": benchmark.commit,
        "sha256": benchmark.sha256,
        "tasks": list(tasks) if tasks is not None else [task.id for task in benchmark.tasks],
        "errata": [asdict(erratum) for erratum in benchmark.errata],
    }
    if benchmark.unsupported:  # so that nobody takes the tasks for all that upstream has
        section["unsupported"] = [asdict(item) for item in benchmark.unsupported]
    return section


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_machine() -> dict[str, Any]:
    """Manifest section of the machine: what may explain a difference, nothing that names it."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": cores(),
    }


def build_manifest(
    *,
    command: Sequence[str],
    benchmark: Mapping[str, Any],
    model: Mapping[str, Any],
    prompt: Mapping[str, Any],
    sampling: Sampling | Mapping[str, Any],
    engine: Mapping[str, Any],
    judge: Mapping[str, Any],
    criterion: Mapping[str, Any],
    source: Mapping[str, Any] | None = None,
) -> Manifest:
    """Put a manifest together.

    Args:
        command: the words of the command line.
        benchmark: from :func:`describe_benchmark`.
        model: from the engine's ``describe()``, or what is known of a file that is scored.
        engine: likewise.
        prompt: ``{template, sha256, …}``.
        sampling: how the samples are drawn.
        judge: sections ``extraction``, ``toolchain``, ``limits``, ``sandbox`` and ``calibration`` of the judge.
        criterion: ``{headline, official}``: which one is shown first, and the rule behind ``official``.
        source: ``{path, format, sha256}`` of completions that were made elsewhere.
    """
    manifest: Manifest = {
        "schema": SCHEMA,
        "command": list(command),
        "benchmark": dict(benchmark),
        "model": dict(model),
        "prompt": dict(prompt),
        "sampling": asdict(sampling) if isinstance(sampling, Sampling) else dict(sampling),
        "extraction": judge["extraction"],
        "engine": dict(engine),
        "toolchain": judge["toolchain"],
        "criterion": dict(criterion),
        "limits": judge["limits"],
        "sandbox": judge["sandbox"],
        "calibration": judge["calibration"],
        "verieval": __version__,
        "machine": describe_machine(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if source is not None:
        manifest["source"] = dict(source)
    # What is compared later is what a file can hold: tuples are lists, keys are strings.
    plain: Manifest = json.loads(dump_json(manifest))
    return plain


def differences(old: Manifest, new: Manifest) -> list[tuple[str, Any, Any]]:
    """Fields that must agree within one run and do not: ``(dotted path, old value, new value)``.

    A ``source`` beside a ``sha256`` is only an address: where both sides know the hash, that decides alone.
    """
    before, after = dict(leaves(old)), dict(leaves(new))
    found = []
    for path in [*before, *(path for path in after if path not in before)]:
        if before.get(path) == after.get(path) or any(fnmatchcase(path, free) for free in FREE_FIELDS):
            continue
        section, _, name = path.rpartition(".")
        if name == "source" and before.get(f"{section}.sha256") and after.get(f"{section}.sha256"):
            continue
        found.append((path, before.get(path), after.get(path)))
    return found


def leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values of a manifest by dotted path; a list is one value, so that a task list is named as a whole."""
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from leaves(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item


def check_same_protocol(folder: Path, old: Manifest, new: Manifest) -> None:
    """Refuse to go on with a run under another protocol.

    Raises:
        VerievalError: naming the fields, both values, and the way out.
    """
    found = differences(old, new)
    if not found:
        return
    shown = "; ".join(f"{path} was {short_value(a)} and is now {short_value(b)}" for path, a, b in found[:3])
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    raise VerievalError(
        f"{folder} holds a run of another protocol: {shown}{more}; "
        "give --out another folder, or the options that the run was started with"
    )


def short_value(value: object) -> str:
    """A value as it can stand in a sentence."""
    if value is None:
        return "absent"
    if isinstance(value, list) and len(value) > 3:
        return f"{len(value)} entries"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` in one step."""
    write_atomically(folder / "manifest.json", dump_json(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run folder.

    Raises:
        VerievalError: the folder is no run, or its manifest cannot be read or is of a newer schema.
    """
    path, restore = folder / "manifest.json", "restore it or start the run in another folder"
    if is_missing(path):
        if folder.is_file():
            raise VerievalError(f"{folder} is a file, not a run folder; give the --out of a run")
        raise VerievalError(f"{folder} is not a run folder: it has no manifest.json; give the --out of a run")
    try:
        manifest = load_json(read_file(path, restore))
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not JSON ({error}); {restore}") from None
    if not isinstance(manifest, dict) or not _is_number(manifest.get("schema")):
        raise VerievalError(f"{path} is not a manifest of VeriEval: it has no schema number; give the --out of a run")
    if manifest["schema"] > SCHEMA:
        raise VerievalError(
            f"{path} has schema {manifest['schema']}, this version reads up to {SCHEMA}; update verieval to read it"
        )
    for field, (fits, words) in _READ_FIELDS.items():
        value = _get(manifest, field)
        if not fits(value):
            raise VerievalError(
                f"{path}: `{field}` must be {words}, not {short_value(value)}; "
                "restore the file or start the run in another folder"
            )
    return manifest


def _get(manifest: Manifest, field: str) -> Any:
    """A value by its dotted path; None where it is absent."""
    value: Any = manifest
    for name in field.split("."):
        value = value.get(name)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_n(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_N


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_absent(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_section(value: object) -> bool:
    return isinstance(value, dict)


def _are_tasks(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(task, str) for task in value)


def _are_errata(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_erratum, value)))


def _is_erratum(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("task", "effect", "reason"))
        and isinstance(value.get("icarus"), list)
    )


def _are_ns(value: object) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_is_n, value.values())))


_SECTIONS = ("benchmark", "model", "prompt", "sampling", "extraction", "engine", "toolchain", "criterion")

# What the readers of a run rely on: a test of each value (None where it is absent), and its words. A section stands
# before its fields.
_READ_FIELDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(_SECTIONS, (_is_section, "an object")),
    "source": (lambda value: value is None or isinstance(value, dict), "an object, where it is there"),
    "benchmark.name": (_is_text, "a text"),
    "benchmark.variant": (_is_text_or_absent, "a text or null"),
    "benchmark.sha256": (_is_text, "a text"),
    "benchmark.commit": (_is_text_or_absent, "a text or null"),
    "benchmark.tasks": (_are_tasks, "a list of names of tasks"),
    "benchmark.errata": (_are_errata, "a list of errata"),
    "model.source": (_is_text_or_absent, "a text or null"),
    "sampling.n": (_is_n, f"a whole number from 1 to {MAX_N}"),
    "sampling.n_by_task": (_are_ns, f"whole numbers from 1 to {MAX_N} by task"),
    "extraction.mode": (lambda value: value in (None, "auto", "verbatim"), "auto or verbatim"),
    "criterion.headline": (lambda value: value in CRITERIA, f"one of {', '.join(CRITERIA)}"),
}
