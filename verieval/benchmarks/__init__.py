"""Benchmarks by name: ``NAME`` or ``NAME:VARIANT``, each read by an adapter that is imported when it is asked for."""

from __future__ import annotations

import dataclasses
import fnmatch
import importlib
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from verieval.benchmarks.errata import load_errata
from verieval.benchmarks.source import Upstream, find_checkout
from verieval.errors import VerievalError
from verieval.suggest import did_you_mean
from verieval.task import Benchmark, Task, Unsupported

__all__ = ["Entry", "describe", "load", "load_errata", "names", "restrict", "select"]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of the table of benchmarks.

    Attributes:
        name, variant: as the command line takes them.
        title: one line for ``bench list``.
        tasks: number of tasks upstream; None where it is the project's own to change, or depends on what is published.
        adapter: module with ``load(root, variant) -> Benchmark``.
        upstream: where the data comes from; None where it ships with the project.
        published: upstream commit or tag whose data this adapter was measured on.
    """

    name: str
    variant: str
    title: str
    tasks: int | None
    adapter: str
    upstream: Upstream | None
    published: str | None

    @property
    def full_name(self) -> str:
        """``NAME`` or ``NAME:VARIANT``."""
        return f"{self.name}:{self.variant}" if self.variant else self.name


_VERILOG_EVAL = Upstream(
    url="https://github.com/NVlabs/verilog-eval",
    licence="MIT",
    folders=("verilog-eval",),
    markers=("dataset_spec-to-rtl", "dataset_code-complete-iccad2023"),
    clone="https://github.com/NVlabs/verilog-eval",
)
_VERILOG_EVAL_V1 = Upstream(
    url="https://github.com/NVlabs/verilog-eval",
    licence="MIT",
    folders=("verilog-eval-v1",),
    markers=("data/VerilogEval_Human.jsonl", "data/VerilogEval_Machine.jsonl"),
    clone="--branch release/1.0.0 https://github.com/NVlabs/verilog-eval",
)
_RTLLM = Upstream(
    url="https://github.com/hkust-zhiyao/RTLLM",
    licence="MIT",
    folders=("rtllm", "RTLLM"),
    markers=("Arithmetic", "Control", "Memory", "Miscellaneous"),
    clone="https://github.com/hkust-zhiyao/RTLLM",
)
_VERIGEN = Upstream(
    url="https://github.com/HPAI-BSC/TuRTLe",  # a corrected copy of shailja-thakur/VGen, in turtle/tasks/Vgen
    licence="GPL-3.0",  # VGen's LICENCE
    folders=("verigen", "TuRTLe", "VGen"),
    markers=("Benchmark", "prompts-and-testbenches", "turtle/tasks/Vgen/Benchmark"),
    clone="https://github.com/HPAI-BSC/TuRTLe",
)
_CVDP = Upstream(
    url="https://github.com/NVlabs/cvdp_benchmark",
    licence="Apache-2.0 (code), CC BY 4.0 and others (data)",
    folders=("cvdp", "cvdp_benchmark", "cvdp-benchmark-dataset"),
    markers=("example_dataset", "cvdp_v*.*.*_*agentic_code_generation_*.jsonl"),  # nonagentic too, of every release
    clone="https://github.com/NVlabs/cvdp_benchmark",
)

_ADAPTERS = "verieval.benchmarks"
ENTRIES = (
    Entry("verieval", "", "the project's own tasks", None, f"{_ADAPTERS}.suite", None, None),
    Entry(
        "verilog-eval",
        "spec-to-rtl",
        "VerilogEval v2, module from a specification",
        156,
        f"{_ADAPTERS}.verilog_eval",
        _VERILOG_EVAL,
        "c498220",
    ),
    Entry(
        "verilog-eval",
        "code-complete",
        "VerilogEval v2, module body from a description and header",
        156,
        f"{_ADAPTERS}.verilog_eval",
        _VERILOG_EVAL,
        "c498220",
    ),
    Entry(
        "verilog-eval-v1",
        "human",
        "VerilogEval v1, descriptions written by people",
        156,
        f"{_ADAPTERS}.verilog_eval_v1",
        _VERILOG_EVAL_V1,
        "release/1.0.0",
    ),
    Entry(
        "verilog-eval-v1",
        "machine",
        "VerilogEval v1, descriptions written by a model",
        143,
        f"{_ADAPTERS}.verilog_eval_v1",
        _VERILOG_EVAL_V1,
        "release/1.0.0",
    ),
    Entry("rtllm", "", "RTLLM v2.0, with Icarus in place of VCS", 50, f"{_ADAPTERS}.rtllm", _RTLLM, "41b2689"),
    Entry("verigen", "", "VGen, prompts of the middle level", 17, f"{_ADAPTERS}.verigen", _VERIGEN, "1bed62c"),
    Entry("cvdp", "nonagentic", "CVDP, RTL from a problem and files", None, f"{_ADAPTERS}.cvdp", _CVDP, None),
    Entry("cvdp", "agentic", "CVDP, agentic problems in one turn", None, f"{_ADAPTERS}.cvdp", _CVDP, None),
)


def names() -> tuple[str, ...]:
    """Every benchmark that can be loaded, as ``NAME`` or ``NAME:VARIANT``."""
    return tuple(entry.full_name for entry in ENTRIES)


def load(name: str, data: Path | None = None, *, tasks: str | None = None) -> Benchmark:
    """Load a benchmark.

    Args:
        name: ``NAME`` or ``NAME:VARIANT``.
        data: checkout of the upstream repository, or a folder that holds it; None for ``VERIEVAL_DATA``.
        tasks: comma-separated globs over task ids; None for all tasks.

    Raises:
        VerievalError: the name is unknown or ambiguous, the data is missing or malformed, or a glob matches nothing.
    """
    entry = _entry(name)
    root = find_checkout(entry.full_name, entry.upstream, data) if entry.upstream else data
    adapter = importlib.import_module(entry.adapter)
    benchmark: Benchmark = adapter.load(root, entry.variant)
    _refuse_twins(benchmark, root)
    errata = load_errata(entry.name, entry.variant)
    # A checkout of another state may lack a task; a fault of a task that is not there is no fact about this benchmark.
    present = tuple(erratum for erratum in errata if erratum.task in {task.id for task in benchmark.tasks})
    benchmark = dataclasses.replace(benchmark, errata=present)
    return benchmark if tasks is None else select(benchmark, tasks)


def select(benchmark: Benchmark, globs: str) -> Benchmark:
    """The tasks that one of the comma-separated globs matches, in the benchmark's order.

    A glob is about ids (an alias counts where it is spelled out), ``level:GLOB`` about levels, ``tag:GLOB`` about tags.

    The result hashes as what it holds; the whole benchmark keeps its own hash.

    Raises:
        VerievalError: a glob matches no task.
    """
    chosen: set[str] = set()
    unsupported: list[Unsupported] = []
    for glob in filter(None, (part.strip() for part in globs.split(","))):
        matched = {task.id for task in benchmark.tasks if _matches(task, glob)}
        listed = [item for item in benchmark.unsupported if fnmatch.fnmatchcase(item.task, glob)]
        unsupported += listed
        if listed and not matched:
            raise VerievalError(f"{listed[0].task} of {benchmark.full_name} cannot be judged here: {listed[0].reason}.")
        if not matched:
            raise VerievalError(_no_task(benchmark, glob))
        chosen |= matched
    if not chosen:
        raise VerievalError("--tasks is empty: give task names or globs, separated by commas, or leave it out.")
    known = tuple(item for item in benchmark.unsupported if item in unsupported)
    return dataclasses.replace(restrict(benchmark, chosen), unsupported=known)


def _matches(task: Task, glob: str) -> bool:
    kind, _, rest = glob.partition(":")
    if rest and kind == "level":
        return fnmatch.fnmatchcase(task.level, rest)
    if rest and kind == "tag":
        return any(fnmatch.fnmatchcase(tag, rest) for tag in task.tags)
    return fnmatch.fnmatchcase(task.id, glob) or glob in task.aliases


def restrict(benchmark: Benchmark, ids: Container[str]) -> Benchmark:
    """The tasks named by ``ids`` in the benchmark's order, with the errata that are about them."""
    return dataclasses.replace(
        benchmark,
        tasks=tuple(task for task in benchmark.tasks if task.id in ids),
        errata=tuple(erratum for erratum in benchmark.errata if erratum.task in ids),
    )


def describe(name: str, data: Path | None = None) -> dict[str, Any]:
    """What ``bench list`` says of a benchmark, without reading it.

    Args:
        name: ``NAME`` or ``NAME:VARIANT``.
        data: as for :func:`load`.

    Returns:
        ``name``, ``title``, ``tasks`` (number upstream, or None), ``upstream`` (address), ``licence``, ``commit`` (the
        published state that the adapter was measured on), ``folder`` (name inside ``VERIEVAL_DATA``), ``clone`` (the
        command that fetches it) and ``data`` (where it was found, or None). For the project's own tasks, which are
        shipped, upstream, commit, folder and clone are None.

    Raises:
        VerievalError: the name is unknown or ambiguous.
    """
    entry = _entry(name)
    upstream = entry.upstream
    about: dict[str, Any] = {"name": entry.full_name, "title": entry.title, "tasks": entry.tasks}
    if upstream is None:
        suite = importlib.import_module(entry.adapter)
        return about | {
            "upstream": None,
            "licence": "Apache-2.0",
            "commit": None,
            "folder": None,
            "clone": None,
            "data": _found(lambda: suite.find_tasks(data)),
        }
    return about | {
        "upstream": upstream.url,
        "licence": upstream.licence,
        "commit": entry.published,
        "folder": upstream.folders[0],
        "clone": f"git clone {upstream.clone} {upstream.folders[0]}",
        "data": _found(lambda: find_checkout(entry.full_name, upstream, data)),
    }


def _refuse_twins(benchmark: Benchmark, root: Path | None) -> None:
    seen: set[str] = set()
    for task in benchmark.tasks:
        if task.id in seen:
            place = f" in {root}" if root else ""
            raise VerievalError(f"{benchmark.full_name}{place} has two tasks called '{task.id}': remove one of them.")
        seen.add(task.id)


def _found(find: Callable[[], Path]) -> str | None:
    try:
        return str(find())
    except VerievalError:
        return None


def _entry(full_name: str) -> Entry:
    name, _, variant = full_name.partition(":")
    of_name = [entry for entry in ENTRIES if entry.name == name]
    if not of_name:
        raise VerievalError(f"There is no benchmark '{full_name}'{_closest(full_name, names())}.")
    for entry in of_name:
        if entry.variant == variant:
            return entry
    variants = ", ".join(entry.full_name for entry in of_name)
    if not variant:
        raise VerievalError(f"Benchmark '{name}' has several variants: name one of {variants}.")
    if len(of_name) == 1:
        raise VerievalError(f"Benchmark '{name}' has no variants: write '{name}' instead of '{full_name}'.")
    raise VerievalError(f"Benchmark '{name}' has no variant '{variant}': name one of {variants}.")


def _no_task(benchmark: Benchmark, glob: str) -> str:
    known = tuple(task.id for task in benchmark.tasks)
    kind, colon, rest = glob.partition(":")
    if colon and kind in ("level", "tag"):
        words = {word for task in benchmark.tasks for word in ((task.level,) if kind == "level" else task.tags) if word}
        return f"No task of {benchmark.full_name} has the {kind} '{rest}'; it has {', '.join(sorted(words)) or 'none'}."
    hint = _closest(glob, known) or f"; `verieval bench show {benchmark.full_name}` lists them"
    return f"No task of {benchmark.full_name} matches '{glob}'{hint}."


def _closest(word: str, known: tuple[str, ...]) -> str:
    """``; did you mean 'x'`` or, for a short list without a near match, the list."""
    return did_you_mean(word, known) or (f"; known are {', '.join(known)}" if len(known) < 20 else "")
