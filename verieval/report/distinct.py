"""How many different designs the samples of a task are: the diversity behind pass@k.

Counting takes canonical forms (:mod:`verieval.canonical`), under which names and layout do not count. It says nothing
of verdicts: two samples of one design may well have different ones, since names matter to a bench.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verieval.errors import VerievalError
from verieval.verilog import normalise

if TYPE_CHECKING:
    from verieval.run.store import RunData
    from verieval.task import Benchmark

COUNTS = ("completions", "with_code", "texts", "designs", "passed", "passed_designs")


def count_distinct(run: RunData, data: Path | None = None) -> dict[str, Any]:
    """Section ``distinct`` of a report.

    Args:
        run: the run's files.
        data: checkout of the benchmark, where it is not under VERIEVAL_DATA.

    Returns:
        ``version`` of the canonical form; ``tasks``, a list of ``{id}`` with :data:`COUNTS`; ``total``, their sums.
        ``with_code`` completions have code in them, of which ``texts`` differ in more than layout and ``designs`` in
        more than names and layout; ``passed`` are those that pass ``strict``, of ``passed_designs`` designs.

    Raises:
        VerievalError: the benchmark is not here, or is another one than the run's.
    """
    from verieval.canonical import CANONICAL_VERSION, canonical
    from verieval.extract import extract

    benchmark = _benchmark(run, data)
    mode = str(run.manifest["extraction"].get("mode", "auto"))
    passed = {(verdict.task_id, verdict.sample) for verdict in run.verdicts if verdict.passed["strict"]}
    sources: dict[str, list[tuple[str, bool]]] = {task: [] for task in run.task_ids}
    for completion in run.completions:
        task = benchmark.by_id[completion.task_id]
        source = extract(completion.text, task.module, task.header, mode=mode).source
        sources.setdefault(completion.task_id, []).append((source, (completion.task_id, completion.sample) in passed))
    keys: dict[str, str] = {}  # of each text without its layout

    def key(text: str) -> str:
        if text not in keys:
            keys[text] = canonical(text).key
        return keys[text]

    tasks = []
    for name, found in sources.items():
        code = [(normalise(source), good) for source, good in found if source.strip()]
        texts = {text for text, _ in code}
        good_texts = {text for text, good in code if good}
        counts = (
            len(found),
            len(code),
            len(texts),
            len({key(text) for text in texts}),
            sum(good for _, good in code),
            len({key(text) for text in good_texts}),
        )
        tasks.append({"id": name, **dict(zip(COUNTS, counts, strict=True))})
    return {"version": CANONICAL_VERSION, "total": _sum(tasks), "tasks": tasks}


def _benchmark(run: RunData, data: Path | None) -> Benchmark:
    from verieval import benchmarks

    section = run.manifest["benchmark"]
    name = ":".join(part for part in (section["name"], section.get("variant")) if part)
    benchmark = benchmarks.load(name, data)
    unknown = [task for task in run.task_ids if task not in benchmark.by_id]
    if unknown:
        raise VerievalError(
            f"the run is about task {unknown[0]!r}, which this checkout of {name} does not have; use --data with the "
            "checkout that the run was made with"
        )
    return benchmark


def _sum(tasks: Iterable[dict[str, Any]]) -> dict[str, int]:
    listed = list(tasks)
    return {count: sum(task[count] for task in listed) for count in COUNTS}
