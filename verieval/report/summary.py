"""``report.json``: what a run's files say, under both criteria. Derived, so it can always be made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verieval import __version__
from verieval.errors import VerievalError
from verieval.run.jsonl import dump_json, write_atomically
from verieval.run.store import RunData
from verieval.stats import summarise
from verieval.verdict import CRITERIA, Verdict

SCHEMA = 1

Report = dict[str, Any]

# What the letters of VerilogEval v2's own analysis say of a log; other benchmarks' codes are words.
LETTERS = {
    "S": "the log has a syntax error",
    "e": "the log asks for an explicit cast",
    "0": "the log has a numeric constant of size zero",
    "n": "the log has a warning that a process has no sensitivities, whatever the simulation says",
    "w": "the log has a register declared as wire",
    "m": "the log has an unknown module",
    "c": "the log has a bind error of clk",
    "T": "the log says TIMEOUT, whatever the counts say",
    "p": "the log has a bind error",
    "C": "the log has the word error",
    "r": "mismatches, and an asynchronous reset in the source",
    "R": "mismatches, or no counts",
}


def build_report(
    run: RunData, *, ks: Sequence[int] | None = None, seed: int = 0, criterion: str | None = None
) -> Report:
    """Summarise a run.

    Args:
        run: the run's files.
        ks: the k of pass@k; None takes the usual ones that n supports.
        seed: of the bootstrap intervals.
        criterion: the headline; None takes the one that the manifest names.

    Returns:
        Plain data: ``schema``, ``verieval`` (the version that made the report), ``benchmark``, ``model``, ``headline``
        (criterion); ``criteria``, by name what :func:`verieval.stats.summarise` gives; ``missing`` (samples without a
        completion, by task), ``unjudged`` (completions without a verdict), ``differences`` (samples on which the
        criteria disagree), ``errata`` (known faults of the run's tasks on its toolchain), ``repaired`` (a diagnostic:
        samples that would pass ``strict`` if their missing ``endmodule`` had been there).

    Raises:
        VerievalError: the files do not fit together.
    """
    errata = applicable_errata(run.manifest)
    faulty = {erratum["task"] for erratum in errata}
    try:
        criteria = {
            name: summarise(run.verdicts, run.task_ids, run.requested, criterion=name, ks=ks, seed=seed, faulty=faulty)
            for name in CRITERIA
        }
    except VerievalError as error:
        raise VerievalError(f"{run.path}: {error}") from None
    benchmark = run.manifest["benchmark"]
    return {
        "schema": SCHEMA,
        "verieval": __version__,
        "benchmark": ":".join(part for part in (benchmark["name"], benchmark.get("variant")) if part),
        "model": run.manifest["model"].get("source"),
        "headline": criterion or run.manifest["criterion"]["headline"],
        "criteria": criteria,
        "missing": _missing(run),
        "unjudged": _unjudged(run),
        "differences": [_difference(v) for v in run.verdicts if v.passed["strict"] != v.passed["official"]],
        "errata": errata,
        "calibration": calibration(run.manifest),
        "repaired": sum(verdict.repaired_passed is True for verdict in run.verdicts),
    }


def write_report(folder: Path, report: Report) -> None:
    """Write ``report.json`` in one step."""
    write_atomically(folder / "report.json", dump_json(report))


def applicable_errata(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Known faults of the tasks of a run that show on its Icarus."""
    tasks = set(manifest["benchmark"]["tasks"])
    version = str(manifest["toolchain"].get("icarus", ""))
    major = version.split(".")[0]
    return [
        erratum
        for erratum in manifest["benchmark"].get("errata") or []
        if erratum["task"] in tasks and (not erratum["icarus"] or major in map(str, erratum["icarus"]))
    ]


def calibration(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What was known of the benches when the run began: ``{tasks, of, flags: {task: [flag, …]}}``."""
    known = manifest.get("calibration")
    known = known if isinstance(known, dict) else {}
    tasks, flags = manifest["benchmark"]["tasks"], known.get("flags")
    return {
        "tasks": known.get("tasks", 0),
        "of": len(tasks),
        "flags": {task: flags[task] for task in tasks if task in flags} if isinstance(flags, dict) else {},
    }


def _missing(run: RunData) -> dict[str, int]:
    """Samples that were asked for and have no completion, by task."""
    present = Counter(completion.task_id for completion in run.completions)
    return {task: n - present[task] for task, n in run.requested.items() if n > present[task]}


def _unjudged(run: RunData) -> int:
    """Completions without a verdict; a verdict may be there whose completion is not."""
    judged = {(verdict.task_id, verdict.sample) for verdict in run.verdicts}
    return sum((completion.task_id, completion.sample) not in judged for completion in run.completions)


def _difference(verdict: Verdict) -> dict[str, Any]:
    """A sample on which the criteria disagree, with the reason of the one that fails it."""
    if verdict.passed["strict"]:
        reason = f"official: {LETTERS.get(verdict.code, verdict.code)}"
    else:
        reason = f"strict: {verdict.detail or verdict.outcome}"
    return {
        "task_id": verdict.task_id,
        "sample": verdict.sample,
        "strict": verdict.passed["strict"],
        "official": verdict.passed["official"],
        "outcome": verdict.outcome,
        "code": verdict.code,
        "reason": reason,
    }
