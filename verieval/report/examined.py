"""What synthesis and equivalence checking found, counted for a report: beside pass@k, never part of it.

A sample counts by its source, so figures are of samples, as everything else in a report is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from verieval.report.summary import Report
from verieval.run.examine import REFERENCE, read_examined
from verieval.run.store import RunData
from verieval.verdict import CRITERIA, Verdict

KINDS = ("proven", "refuted", "unknown")
STATUSES = ("ok", "refused", "timeout", "resource", "crash", "unknown")
RATIOS = ("cells", "flip_flops", "depth")
Rows = Mapping[tuple[str, str, str], Mapping[str, Any]]


def with_examined(report: Report, run: RunData) -> Report:
    """The report with a section ``examined`` where the run was examined; see :func:`summarise_examined`.

    It is no part of the report proper, which follows from the verdicts alone and so does a bundle's.
    """
    examined = summarise_examined(run)
    return report if examined is None else {**report, "examined": examined}


def summarise_examined(run: RunData) -> dict[str, Any] | None:
    """What was found; None where nothing was examined.

    Returns:
        ``synth``: ``tools`` (the distinct sets of tools and limits), ``samples`` (with an answer), ``of`` (with a
        verdict), ``status`` (samples by status), ``latches`` (samples with an inferred latch), and ``passed``, the same
        of the samples that pass ``strict``, with ``ratio``: the geometric mean of cells, flip-flops and depth against
        the reference's, over those where both are above zero.
        ``equiv``: ``tools``, ``samples``, ``of``, ``kinds`` (by criterion and ``passed`` or ``failed``, samples by
        kind), ``passed_but_refuted`` and ``failed_but_proven`` (of ``strict``), and ``reasons`` of what is unknown.
        Each is None where its stage was not asked for.
    """
    rows: Rows = read_examined(run.path)
    if not rows:
        return None
    return {"synth": _synth(run, rows), "equiv": _equiv(run, rows)}


def _answers(run: RunData, rows: Rows, stage: str) -> list[tuple[Verdict, Mapping[str, Any]]]:
    found = ((v, rows.get((v.task_id, v.source_sha256, stage))) for v in run.verdicts)
    return [(verdict, row["answer"]) for verdict, row in found if row is not None]


def _tools(rows: Rows, stage: str) -> list[Mapping[str, Any]]:
    """More than one means that the rows were made in different ways."""
    tools = [row["tools"] for key, row in rows.items() if key[2] == stage]
    return [tool for index, tool in enumerate(tools) if tool not in tools[:index]]


def _synth(run: RunData, rows: Rows) -> dict[str, Any] | None:
    tools = _tools(rows, "synth")
    if not tools:
        return None
    answers = _answers(run, rows, "synth")
    passed = [(verdict, answer) for verdict, answer in answers if verdict.passed["strict"]]
    section: dict[str, Any] = {"tools": tools, "of": len(run.verdicts), **_count(answers)}
    section["passed"] = {**_count(passed), "ratio": {name: _ratio(rows, passed, name) for name in RATIOS}}
    return section


def _count(answers: Sequence[tuple[Verdict, Mapping[str, Any]]]) -> dict[str, Any]:
    status = Counter(answer["status"] for _, answer in answers)
    return {
        "samples": len(answers),
        "status": {name: status[name] for name in STATUSES if status[name]},
        "latches": sum(bool(answer.get("latches")) for _, answer in answers),
    }


def _ratio(rows: Rows, answers: Sequence[tuple[Verdict, Mapping[str, Any]]], name: str) -> dict[str, Any]:
    ratios = []
    for verdict, answer in answers:
        reference = rows.get((verdict.task_id, REFERENCE, "synth"))
        own, theirs = _figure(answer, name), _figure(reference["answer"], name) if reference else None
        if own and theirs:
            ratios.append(own / theirs)
    if not ratios:
        return {"samples": 0, "geometric_mean": None, "largest": None}
    return {
        "samples": len(ratios),
        "geometric_mean": round(geometric_mean(ratios), 4),
        "largest": round(max(ratios), 4),
    }


def _figure(answer: Mapping[str, Any], name: str) -> int | None:
    figures = answer.get("figures")
    value = figures.get(name) if isinstance(figures, Mapping) else None
    return value if isinstance(value, int) else None


def _equiv(run: RunData, rows: Rows) -> dict[str, Any] | None:
    tools = _tools(rows, "equiv")
    if not tools:
        return None
    answers = _answers(run, rows, "equiv")
    kinds: dict[str, Any] = {}
    for criterion in CRITERIA:
        for word, wanted in (("passed", True), ("failed", False)):
            count = Counter(answer["kind"] for verdict, answer in answers if verdict.passed[criterion] is wanted)
            kinds.setdefault(criterion, {})[word] = {kind: count[kind] for kind in KINDS}
    unknown = Counter(str(answer.get("reason", "")) for _, answer in answers if answer["kind"] == "unknown")
    return {
        "tools": tools,
        "of": len(run.verdicts),
        "samples": len(answers),
        "kinds": kinds,
        "passed_but_refuted": _named(answers, passed=True, kind="refuted"),
        "failed_but_proven": _named(answers, passed=False, kind="proven"),
        "reasons": dict(unknown.most_common()),
    }


def _named(answers: Sequence[tuple[Verdict, Mapping[str, Any]]], *, passed: bool, kind: str) -> list[dict[str, Any]]:
    return [
        {"task_id": verdict.task_id, "sample": verdict.sample, "outcome": verdict.outcome}
        | ({"reason": str(answer["reason"])} if answer.get("reason") else {})
        for verdict, answer in answers
        if verdict.passed["strict"] is passed and answer["kind"] == kind
    ]
