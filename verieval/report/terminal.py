"""A report as tables on a terminal and as plain lines elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verieval.report.distinct import COUNTS
from verieval.report.summary import Report
from verieval.report.text import printable
from verieval.run.manifest import Manifest

WORST = 10
LISTED = 10


@dataclass(frozen=True)
class Section:
    """A titled table, or, where it has no columns, titled text with a line a row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections(report: Report, manifest: Manifest, *, differences: bool = False) -> Iterator[Section]:
    """What is shown of a run, in order.

    Args:
        report: from :func:`verieval.report.summary.build_report`.
        manifest: of the same run.
        differences: list every sample on which the criteria disagree, instead of their number.
    """
    headline = report["headline"]
    summary = report["criteria"][headline]
    yield _text(f"{report['model'] or 'completions'} on {report['benchmark']}", _about(report, manifest))
    yield Section("pass@k", ("criterion", "k", "pass@k", "s.e.", "95 % interval", "tasks"), tuple(_estimates(report)))
    yield _outcomes(summary)
    if report.get("examined"):
        yield from _examined(report["examined"])
    notes = list(_notes(report))
    if notes:
        yield _text("To know", notes)
    if report["errata"]:
        rows = tuple((e["task"], e["effect"], e["reason"]) for e in report["errata"])
        yield Section("Known faults of the benchmark among these tasks", ("task", "effect", "reason"), rows)
    if report["calibration"]["flags"]:
        flagged = tuple((task, ", ".join(flags)) for task, flags in report["calibration"]["flags"].items())
        yield Section("What calibration says of the benches", ("task", "flags"), flagged)
    worst = _worst(summary["tasks"])
    if worst:
        never = sum(task["c"] == 0 for task in summary["tasks"])
        title = f"Lowest pass rates ({headline}; {never} of {summary['tasks_total']} tasks never pass)"
        yield Section(title, ("task", "passed", "outcomes"), worst)
    if "distinct" in report:
        yield _distinct(report["distinct"])
    if differences:
        listed = tuple(
            (
                d["task_id"],
                str(d["sample"]),
                _word(d["strict"]),
                _word(d["official"]),
                d["code"],
                d["outcome"],
                d["reason"],
            )
            for d in report["differences"]
        )
        columns = ("task", "sample", "strict", "official", "code", "outcome", "reason")
        title = f"Samples on which the criteria differ: {len(listed)}"
        yield Section(title, columns, listed) if listed else _text(title, ())


def plain(parts: Iterable[Section]) -> str:
    """Aligned lines without markup."""
    return "\n\n".join("\n".join([printable(part.title), *_lines(part)]) for part in parts)


def show(parts: Iterable[Section]) -> None:
    """Print sections to standard output: tables on a terminal, plain lines elsewhere."""
    if not sys.stdout.isatty():
        print(plain(parts))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for part in parts:
        console.print(Text(printable(part.title), style="bold"))
        if part.columns:
            table = Table(*part.columns)
            for row in part.rows:
                table.add_row(*(Text(printable(cell)) for cell in row))
            console.print(table)
        for row in part.rows if not part.columns else ():
            console.print(Text(printable(row[0])))
        console.print()


def _lines(part: Section) -> Iterator[str]:
    if not part.columns:
        yield from (f"  {printable(row[0])}" for row in part.rows)
        return
    table = [part.columns, *(tuple(map(printable, row)) for row in part.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(part.columns))]
    for row in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _text(title: str, lines: Iterable[str]) -> Section:
    return Section(title, (), tuple((line,) for line in lines))


def _about(report: Report, manifest: Manifest) -> Iterator[str]:
    summary = report["criteria"][report["headline"]]
    sampling, commit = manifest["sampling"], manifest["benchmark"].get("commit")
    missing = sum(report["missing"].values())
    yield (
        f"{summary['tasks_total']} tasks, {summary['samples']} samples, "
        + (f"{missing} missing (counted as failed)" if missing else "none missing")
        + (f", {report['unjudged']} not judged yet" if report["unjudged"] else "")
    )
    if unsupported := manifest["benchmark"].get("unsupported"):
        yield f"{len(unsupported)} more problems of the benchmark cannot be judged here and count nowhere"
    how = [f"n={sampling['n']}"]
    how += [f"{label}={sampling[key]}" for key, label in _SAMPLING.items() if sampling.get(key) is not None]
    yield "sampling " + ", ".join(how)
    yield (
        f"Icarus {manifest['toolchain'].get('icarus')}, benchmark {manifest['benchmark']['sha256'][:12]}"
        + (f" (commit {_short_commit(commit)})" if commit else "")
        + f", extraction {manifest['extraction'].get('mode')}"
    )


def _short_commit(commit: str) -> str:
    """A hash in short; the name of a tag or branch as it is."""
    return commit[:12] if re.fullmatch("[0-9a-f]{40}", commit) else commit


_SAMPLING = {"temperature": "T", "top_p": "top_p", "max_tokens": "max_tokens", "seed": "seed"}


def _estimates(report: Report) -> Iterator[tuple[str, ...]]:
    """Headline first; every criterion on all tasks, then without the faulty ones."""
    names = sorted(report["criteria"], key=lambda name: name != report["headline"])
    for name in names:
        summary = report["criteria"][name]
        yield from _rows(name, summary)
        if summary["without_faulty"]:
            yield from _rows(f"{name}, without faulty tasks", summary["without_faulty"])


def _rows(name: str, figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for k, estimate in figures["pass_at_k"].items():
        value, se, ci95 = estimate["value"], estimate["se"], estimate["ci95"]
        yield (
            name,
            k,
            "absent" if value is None else f"{value:.4f}",
            "" if se is None else f"{se:.4f}",
            estimate.get("reason", "") if ci95 is None else f"{ci95[0]:.4f} to {ci95[1]:.4f}",
            str(estimate["tasks"]),
        )


def _outcomes(summary: Mapping[str, Any]) -> Section:
    total = summary["samples"]
    rows = [(outcome, str(count), f"{count / total:.1%}") for outcome, count in summary["outcomes"].items()]
    if summary["missing"]:
        rows.append(("(no verdict)", str(summary["missing"]), f"{summary['missing'] / total:.1%}"))
    # A completion that is not there has no syntax: the report's `syntax_rate`, over all that were asked, is another.
    judged, right = total - summary["missing"], summary["stages"]["parsed"]
    title = "Outcomes" + (f" (syntax right: {right / judged:.1%} of {judged} samples with a verdict)" if judged else "")
    return Section(title, ("outcome", "samples", "share"), tuple(rows))


def _examined(examined: Mapping[str, Any]) -> Iterator[Section]:
    """Synthesis and equivalence, said to be no part of the estimates."""
    if synth := examined["synth"]:
        passed = synth["passed"]
        rows = [(name, str(count), str(passed["status"].get(name, 0))) for name, count in synth["status"].items()]
        rows.append(("a latch is inferred", str(synth["latches"]), str(passed["latches"])))
        for name, ratio in passed["ratio"].items():
            mean, largest = ratio["geometric_mean"], ratio["largest"]
            shown = "absent" if mean is None else f"{mean:.2f} (largest {largest:.2f}, {ratio['samples']} samples)"
            rows.append((f"{name.replace('_', '-')} against the reference's", "", shown))
        title = f"Synthesis, beside pass@k ({synth['samples']} of {synth['of']} samples, {_with(synth['tools'])})"
        yield Section(title, ("", "samples", "of those that pass (strict)"), tuple(rows))
    if equiv := examined["equiv"]:
        kinds = equiv["kinds"]["strict"]
        counted = tuple((word, *(str(count) for count in kinds[word].values())) for word in ("passed", "failed"))
        title = f"Equivalence, beside pass@k ({equiv['samples']} of {equiv['of']} samples, {_with(equiv['tools'])})"
        yield Section(title, ("strict", *kinds["passed"]), counted)
        names = [name for name in ("passed_but_refuted", "failed_but_proven") if equiv[name]]
        if names:
            listed = tuple((name.replace("_", " "), _samples(equiv[name])) for name in names)
            yield Section("Where bench and proof disagree", ("", "samples"), listed)


def _with(tools: Sequence[Mapping[str, Any]]) -> str:
    if len(tools) > 1:
        return f"made in {len(tools)} different ways"
    return f"yosys {tools[0].get('yosys')}"


def _sample(sample: Mapping[str, Any]) -> str:
    more = f"; {sample['reason']}" if "reason" in sample else ""
    return f"{sample['task_id']}/{sample['sample']} ({sample['outcome']}{more})"


def _samples(samples: Sequence[Mapping[str, Any]]) -> str:
    shown = ", ".join(_sample(sample) for sample in samples[:LISTED])
    return shown + (f" and {len(samples) - LISTED} more" if len(samples) > LISTED else "")


def _notes(report: Report) -> Iterator[str]:
    missing, summary = report["missing"], report["criteria"][report["headline"]]
    if missing:
        yield f"samples without a completion: {_named({task: str(count) for task, count in missing.items()})}"
    faults = summary["outcomes"].get("harness", 0)
    if faults:
        yield f"{faults} samples hit a fault of the harness, not of the model; the same command judges them again"
    if report["differences"]:
        count = len(report["differences"])
        yield f"the criteria differ on {count} samples; `verieval report RUN --differences` lists them"
    calibration = report["calibration"]
    if calibration["tasks"] < calibration["of"]:
        yield (
            f"{calibration['tasks']} of {calibration['of']} benches were calibrated on this toolchain when the run "
            f"began; `verieval bench check {report['benchmark']}` calibrates them"
        )
    if report["repaired"]:
        yield f"{report['repaired']} failed samples would pass with their missing endmodule added (a diagnostic)"


def _distinct(distinct: Mapping[str, Any]) -> Section:
    """The sums, then the tasks with the fewest distinct designs for their samples."""
    tasks = sorted(distinct["tasks"], key=lambda task: task["designs"] / max(task["with_code"], 1))
    rows = [{"id": "all", **distinct["total"]}, *tasks[:WORST]]
    return Section(
        "Distinct designs, names and layout not counted (all tasks, then those with the fewest for their samples)",
        ("task", *(count.replace("_", " ") for count in COUNTS)),
        tuple((row["id"], *(str(row[count]) for count in COUNTS)) for row in rows),
    )


def _named(items: Mapping[str, str]) -> str:
    shown = ", ".join(f"{task} ({count})" for task, count in list(items.items())[:LISTED])
    return shown + (f" and {len(items) - LISTED} more tasks" if len(items) > LISTED else "")


def _worst(tasks: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """The tasks with the lowest rates; the order of the benchmark where they are equal."""
    failing = [task for task in tasks if task["c"] < task["n"]]
    failing.sort(key=lambda task: task["c"] / task["n"])
    return tuple((task["id"], f"{task['c']}/{task['n']}", _why(task)) for task in failing[:WORST])


def _why(task: Mapping[str, Any]) -> str:
    parts = [f"{outcome} {count}" for outcome, count in task["outcomes"].items() if outcome != "passed"]
    return ", ".join(parts + ([f"no verdict {task['missing']}"] if task["missing"] else []))


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"
