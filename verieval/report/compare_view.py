"""How a comparison looks, as sections that :mod:`verieval.report.terminal` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from verieval.report.compare import Comparison, FirstSample, Row, Side
from verieval.report.terminal import Section

WIDEST = 60


def sections(comparison: Comparison) -> Iterator[Section]:
    """What is shown, in order: what differs comes before which is better."""
    yield _fields(comparison)
    yield _runs(comparison)
    if comparison.notes:
        yield _text("Before you read on", comparison.notes)
    yield Section(
        f"pass@k under the {comparison.criterion} criterion, {comparison.tasks} tasks",
        ("k", "A", "B", "B - A", "95 % interval", "standard error"),
        tuple(_row(row) for row in comparison.rows),
    )
    yield _text("First sample of each task", _first_sample(comparison.first_sample))
    yield _text("Tasks by pass rate", [f"B wins {comparison.wins}, loses {comparison.losses}, ties {comparison.ties}"])
    if comparison.changes:
        yield Section(
            "Tasks whose pass rate changed",
            ("task", "A", "B", ""),
            tuple(
                (change.task_id, "{}/{}".format(*change.a), "{}/{}".format(*change.b), "+" if change.better else "-")
                for change in comparison.changes
            ),
        )
    yield _text("Conclusion", [comparison.conclusion])


def _text(title: str, lines: Sequence[str]) -> Section:
    return Section(title, (), tuple((line,) for line in lines))


def _runs(comparison: Comparison) -> Section:
    def row(name: str, side: Side) -> tuple[str, ...]:
        return name, side.path, side.benchmark, str(side.tasks), str(side.n), str(side.missing)

    return Section(
        "Runs",
        ("", "folder", "benchmark", "tasks", "n", "no verdict"),
        (row("A", comparison.a), row("B", comparison.b)),
    )


def _fields(comparison: Comparison) -> Section:
    telling = [item for item in comparison.differences if item.cause is not None]
    rows = [(item.field, _value(item.a), _value(item.b), item.cause or "") for item in telling]
    others = [
        (item.field, _value(item.a), _value(item.b), "(cannot change these numbers)")
        for item in comparison.differences
        if item.cause is None
    ]
    if not rows and not others:
        return _text("Manifest fields that differ", ["none"])
    return Section("Manifest fields that differ", ("field", "A", "B", "cause"), (*rows, *others))


def _row(row: Row) -> tuple[str, ...]:
    if row.paired.difference is None:
        return str(row.k), _share(row.a.value), _share(row.b.value), "absent: n < k", "", ""
    interval = "" if row.paired.ci95 is None else "{:+.4f} to {:+.4f}".format(*row.paired.ci95)
    error = "" if row.paired.se is None else f"{row.paired.se:.4f}"
    return str(row.k), _share(row.a.value), _share(row.b.value), f"{row.paired.difference:+.4f}", interval, error


def _share(value: float | None) -> str:
    return "absent" if value is None else f"{value:.4f}"


def _first_sample(first: FirstSample) -> list[str]:
    lost, gained = len(first.lost), len(first.gained)
    lines = [
        f"both pass {first.both}, only A passes {lost}, only B passes {gained}, neither {first.neither}",
        f"exact McNemar test: p = {first.p:.4g}",
    ]
    named = (("lost (only A passes)", first.lost), ("gained (only B passes)", first.gained))
    return lines + [f"{title}: {', '.join(names)}" for title, names in named if names]


def _value(value: object) -> str:
    """A value of the manifest in one short cell."""
    if value is None:
        return "absent"
    if isinstance(value, list) and len(value) > 3:
        return f"{len(value)} entries"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
