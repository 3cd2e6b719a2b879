"""``verieval score``: judge completions that exist already."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import (
    BENCHMARK_OPTIONS,
    EXAMINE_OPTIONS,
    JUDGING_OPTIONS,
    OUTPUT_OPTIONS,
    PROOF_OPTIONS,
    command_line,
    describe_chosen,
    describe_criterion,
    finish,
    judge_and_report,
    load_benchmark,
    prepare_examining,
    prepare_judge,
    refuse_benches,
    seek_tools,
    slug,
    stopped,
    with_options,
)
from verieval.completion import MAX_N
from verieval.errors import VerievalError
from verieval.run.signals import Stopped, stoppable

if TYPE_CHECKING:
    from verieval.completion import Completion
    from verieval.run.manifest import Manifest
    from verieval.run.readers import Reading
    from verieval.task import Benchmark

SCORE_OPTIONS = (
    click.option("--benchmark", metavar="NAME[:VARIANT]", help="Needed, unless COMPLETIONS is a run folder."),
    click.option(
        "--extraction",
        type=click.Choice(["auto", "verbatim"]),
        help="How code is taken out (default: verbatim for TuRTLe's results and folders of Verilog, else auto).",
    ),
    click.option("--skip-unknown", is_flag=True, help="Leave out completions of tasks that the benchmark lacks."),
    click.option("--present-only", is_flag=True, help="Score only the tasks that have a completion."),
    click.option("-n", "n", type=click.IntRange(1, MAX_N), help="Samples a task (default: the most that a task has)."),
    click.option("--unequal-n", is_flag=True, help="Take each task's own number of samples as its n."),
    click.option("--model", "model", metavar="NAME", help="What made the completions, for the manifest."),
    click.option("--reextract", is_flag=True, help="Judge a run folder again in place; its old verdicts are kept."),
)


@click.command("score")
@click.argument("completions", type=click.Path(path_type=Path))
@with_options(SCORE_OPTIONS[:1], BENCHMARK_OPTIONS, SCORE_OPTIONS[1:], JUDGING_OPTIONS, EXAMINE_OPTIONS, PROOF_OPTIONS)
@click.option("--out", type=click.Path(path_type=Path), help="Run folder (default: runs/COMPLETIONS-BENCHMARK).")
@with_options(OUTPUT_OPTIONS)
def command(completions: Path, out: Path | None, **options: Any) -> None:
    """Judge COMPLETIONS that exist already, and report.

    COMPLETIONS is JSONL of this project (task_id, sample, text), JSONL with `completion` (VerilogEval v1's samples),
    TuRTLe's result JSON, a folder of .v or .sv files named by task and sample, or a run folder. JSON may be gzipped.
    """
    if options["reextract"] and out is not None:
        raise VerievalError("--reextract judges the run folder itself; leave out --out, or leave out --reextract")
    benchmark = options["benchmark"] or _benchmark_of(completions)
    name = Path(os.path.realpath(completions)).name.removesuffix(".gz")  # resolve() raises on a link to itself
    stem = name if completions.is_dir() else name.rpartition(".")[0] or name
    kind = "rescored" if (completions / "manifest.json").exists() else slug(benchmark)
    folder = completions if options["reextract"] else out or Path("runs") / f"{slug(stem)}-{kind}"
    try:
        with stoppable() as check:
            _score(completions, benchmark, folder, options, check)
    except Stopped as error:
        stopped(folder, error.signum)
    finish(folder, options)


def _benchmark_of(completions: Path) -> str:
    """The benchmark of a run folder; other formats do not name theirs."""
    from verieval.run.manifest import read_manifest

    if not (completions / "manifest.json").exists():
        raise VerievalError(
            "--benchmark is needed: say which benchmark the completions answer, e.g. verilog-eval:spec-to-rtl"
        )
    section = read_manifest(completions)["benchmark"]
    return ":".join(part for part in (section["name"], section.get("variant")) if part)


def _score(completions: Path, benchmark: str, folder: Path, options: dict[str, Any], check: Callable[[], None]) -> None:
    """From options to a judged run folder."""
    from verieval.run.readers import read_any
    from verieval.run.store import RunStore

    beyond = prepare_examining(options)
    tools = seek_tools(options)
    whole, chosen = load_benchmark(benchmark, options["data"], options["tasks"], options["limit"])
    reading = read_any(completions, whole, skip_unknown=options["skip_unknown"])
    if options["reextract"] and reading.manifest is None:
        raise VerievalError(f"--reextract needs a run folder, and {completions} is none; leave it out")
    chosen, rows = _select(reading, chosen, options)
    refuse_benches(chosen)
    with prepare_judge(chosen, tools, options)(options["extraction"] or reading.extraction) as judge:
        sampling = _sampling(reading, rows, chosen, options)
        manifest = _manifest(reading, whole, chosen, sampling, judge.describe(), options)
        with RunStore(folder, manifest, replace_verdicts=options["reextract"]) as store:
            new = [row for row in rows if (row.task_id, row.sample) not in store.completions]
            store.append_completions(new)
            judge_and_report(
                store, judge, lambda store: (), total=len(rows), generating=False, options=options, check=check
            )
    beyond(folder, whole, check)


def _select(reading: Reading, chosen: Benchmark, options: dict[str, Any]) -> tuple[Benchmark, Sequence[Completion]]:
    """The tasks to score and their completions."""
    from verieval import benchmarks

    if reading.manifest is not None and options["tasks"] is None and options["limit"] is None:
        chosen = benchmarks.restrict(chosen, set(reading.manifest["benchmark"]["tasks"]))
    if options["present_only"]:
        chosen = benchmarks.restrict(chosen, {completion.task_id for completion in reading.completions})
    rows = reading.rows_of(chosen)
    if options["reextract"] and len(rows) < len(reading.completions):
        raise VerievalError("--reextract judges a whole run; leave out --tasks and --limit, or give --out instead")
    return chosen, rows


def _sampling(
    reading: Reading, rows: Sequence[Completion], chosen: Benchmark, options: dict[str, Any]
) -> dict[str, Any]:
    """How many samples a task was given: what the run says, what the user says, or the most that there are."""
    from verieval.run.readers import sample_counts

    counts = sample_counts(rows)
    most = max(counts.values())
    n = options["n"] or reading.default_n(rows)
    if most > n:
        raise VerievalError(
            f"{reading.path} holds up to {most} samples a task; give -n {most} or more, or leave it out"
        )
    sampling = {**reading.origin["sampling"], "n": n}
    if options["unequal_n"]:
        lacking = [task.id for task in chosen.tasks if task.id not in counts]
        if lacking:
            raise VerievalError(
                f"--unequal-n: task {lacking[0]} has no sample, so no n; add --present-only to score the others"
            )
        sampling["n_by_task"] = counts
    return sampling


def _manifest(
    reading: Reading,
    whole: Benchmark,
    chosen: Benchmark,
    sampling: dict[str, Any],
    judge: dict[str, Any],
    options: dict[str, Any],
) -> Manifest:
    """A run that is scored again keeps what made it; of a file from elsewhere only what the user says is known."""
    from verieval.run.manifest import build_manifest

    made = reading.origin
    if options["model"]:
        made["model"]["source"] = options["model"]
    old = reading.manifest or {}
    return build_manifest(
        command=command_line(),
        benchmark=describe_chosen(whole, chosen),
        model=made["model"],
        prompt=made["prompt"],
        sampling=sampling,
        engine=made["engine"],
        judge=judge,
        criterion=describe_criterion(whole, options),
        source=old.get("source") if options["reextract"] else reading.describe(),
    )
