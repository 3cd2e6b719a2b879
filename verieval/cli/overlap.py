"""``verieval bench overlap``: training rows that contain a benchmark's references or specs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import MAX_JOBS, data_option, json_option, say, tasks_option
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from verieval.overlap import Hit
    from verieval.overlap_scan import Scanned

SCHEMA = 1
_EXAMPLES = 10  # line numbers that are kept of each fault


@click.command("overlap")
@click.argument("train", type=click.Path(path_type=Path))
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@data_option
@tasks_option
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of a reference's runs of 8 tokens that must stand together in a row (default: 0.7).",
)
@click.option(
    "--spec-threshold",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of a spec's runs of 6 words that must (default: 0.4).",
)
@click.option("--jobs", type=click.IntRange(1, MAX_JOBS), default=1, show_default=True, help="Processes.")
@json_option
def command(
    train: Path,
    names: tuple[str, ...],
    data: Path | None,
    tasks: str | None,
    threshold: float | None,
    spec_threshold: float | None,
    jobs: int,
    as_json: bool,
) -> None:
    """List the rows of TRAIN that contain, or nearly contain, a reference or spec of the benchmarks NAME.

    TRAIN holds JSON lines of any layout, plain or gzip: every string of a row is looked through. Code is compared
    under renaming of signals and modules, whatever its layout and comments; see docs/overlap.md.

    Exit status 2 says that nothing can be said: TRAIN cannot be read, or has no row.
    """
    from verieval import benchmarks
    from verieval.overlap import CODE_THRESHOLD, SPEC_THRESHOLD, build_index
    from verieval.overlap_scan import scan

    if data is not None and len(names) > 1:
        raise VerievalError("--data is the checkout of one benchmark; name one, or set VERIEVAL_DATA for several")
    thresholds = {
        "reference": CODE_THRESHOLD if threshold is None else threshold,
        "spec": SPEC_THRESHOLD if spec_threshold is None else spec_threshold,
    }
    total = _Total(keep=as_json)
    with _stoppable(total), _progress(train, quiet=as_json) as advance:
        loaded = [benchmarks.load(name, data, tasks=tasks) for name in dict.fromkeys(names)]
        index = build_index(loaded, threshold=thresholds["reference"], spec_threshold=thresholds["spec"])
        for rows, read in scan(train, index, jobs=jobs):
            for row in rows:
                total.add(row)
                if not as_json:
                    for hit in row.hits:
                        click.echo(_line(row.number, hit))
            advance(read)
    if not total.rows:
        raise VerievalError(_no_rows(train, total))
    if as_json:
        about = {
            "schema": SCHEMA,
            "train": str(train),
            "benchmarks": [{"name": b.full_name, "sha256": b.sha256, "tasks": len(b.tasks)} for b in loaded],
            "thresholds": thresholds,
        }
        click.echo(json.dumps({**about, **total.to_json()}, indent=2))
    else:
        _print_total(total, len(loaded))


@dataclass
class _Total:
    """What has been seen so far. Hits are kept only for ``--json``, and rows never."""

    keep: bool
    rows: int = 0
    flagged: int = 0
    hits: list[tuple[int, Hit]] = field(default_factory=list)
    faults: dict[str, dict[str, list[int]]] = field(default_factory=lambda: {"bad": {}, "notes": {}})
    counts: Counter[str] = field(default_factory=Counter)
    tasks: set[tuple[str, str]] = field(default_factory=set)

    def add(self, row: Scanned) -> None:
        for group, reason in (("bad", row.bad), ("notes", row.note)):
            if reason:
                self.counts[f"{group} {reason}"] += 1
                first = self.faults[group].setdefault(reason, [])
                if len(first) < _EXAMPLES:
                    first.append(row.number)
        if not row.bad:
            self.rows += 1
        self.flagged += bool(row.hits)
        for hit in row.hits:
            self.counts[hit.kind] += 1
            self.tasks.add((hit.benchmark, hit.task))
        if self.keep:
            self.hits += [(row.number, hit) for hit in row.hits]

    @property
    def clean(self) -> int:
        """Rows that contain nothing of the benchmarks."""
        return self.rows - self.flagged

    def told(self, group: str) -> dict[str, dict[str, Any]]:
        """Faults by reason, with their number and the first lines that have them."""
        return {
            reason: {"count": self.counts[f"{group} {reason}"], "first": first}
            for reason, first in self.faults[group].items()
        }

    def kinds(self) -> dict[str, int]:
        from verieval.overlap import KINDS

        return {kind: self.counts[kind] for kind in KINDS}

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "clean_rows": self.clean,
            "flagged_rows": self.flagged,
            "flagged_tasks": len(self.tasks),
            "kinds": self.kinds(),
            "bad": self.told("bad"),
            "notes": self.told("notes"),
            "hits": [{"row": number, **hit.to_json()} for number, hit in self.hits],
        }


def _line(number: int, hit: Hit) -> str:
    from verieval.report.text import printable

    return (
        f"row {number}: {hit.kind} {hit.score:.2f}, {hit.benchmark} {hit.task} ({hit.size} "
        f"{'words' if hit.kind.startswith('spec') else 'tokens'})\n"
        f"    row:       {printable(hit.found)}\n    benchmark: {printable(hit.original)}"
    )


def _print_total(total: _Total, benchmarks: int) -> None:
    found = ", ".join(f"{kind} {count}" for kind, count in total.kinds().items() if count)
    where = f" ({_number(len(total.tasks), 'task')}; {found})" if found else ""
    name = "benchmark" if benchmarks == 1 else "benchmarks"
    click.echo(
        f"{_number(total.rows, 'row')}: {total.clean} clean, {total.flagged} with something of the {name}{where}"
    )
    for group, *words in (("bad", "line that is no row", "lines that are no rows"), ("notes", "row")):
        for reason, first in total.told(group).items():
            click.echo(f"{_number(first['count'], *words)}: {reason} ({_places(first)})")


def _no_rows(train: Path, total: _Total) -> str:
    """A file without rows is no clean file: the sentence that says why it has none."""
    faults = total.told("bad")
    if not faults:
        return f"{train} has no row: it is empty, or holds blank lines only; give JSON lines, one row a line"
    count = sum(found["count"] for found in faults.values())
    reasons = "; ".join(f"{reason}: {_places(found)}" for reason, found in faults.items())
    none = "its only line is none" if count == 1 else f"none of its {count} lines is one"
    return f"{train} has no row: {none} ({reasons}); give JSON lines, one row a line"


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _places(found: dict[str, Any]) -> str:
    more = ", ..." if found["count"] > _EXAMPLES else ""
    return f"line{'' if found['count'] == 1 else 's'} {', '.join(map(str, found['first']))}{more}"


@contextmanager
def _stoppable(total: _Total) -> Iterator[None]:
    """A signal ends the command with a word on what there is: what was printed, and nothing else."""
    import signal

    from verieval.run.signals import Stopped, stoppable

    try:
        with stoppable():
            yield
    except Stopped as stop:
        name = signal.Signals(stop.signum).name
        what = f"{_number(total.rows, 'row')} had been looked through"
        say(f"stopped by {name}: {what}; nothing is kept of it, and the same command begins again at the first row")
        raise click.exceptions.Exit(stop.exit_code) from None


@contextmanager
def _progress(path: Path, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of the file on a terminal, nothing elsewhere."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"reading {path.name}", total=size or None)
        yield lambda read: bar.update(task, completed=read)
