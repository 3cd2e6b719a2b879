"""What several commands share: options, and the steps from a manifest to a report."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from verieval.errors import VerievalError
from verieval.verdict import CRITERIA

if TYPE_CHECKING:
    from verieval.completion import Completion
    from verieval.judge import JudgePool, Limits, Toolchain
    from verieval.judge.cosim.simulators import Simulator
    from verieval.judge.sandbox import Sandbox
    from verieval.run.store import RunStore
    from verieval.task import Benchmark

F = TypeVar("F", bound=Callable[..., Any])
JudgeTools = tuple["Toolchain", "Limits"]

DEFAULT_CRITERION = "strict"
MAX_JOBS = 1024
MAX_K = 1_000_000
MAX_SECONDS = 86_400


def _parse_ks(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...] | None:
    """``1,5,10``, at once or one by one, as increasing positive integers; None where none was given."""
    if not values:
        return None
    text = ",".join(values)
    words = [word.strip() for word in text.split(",")]
    # The length comes first: Python reads no whole number of thousands of digits.
    if not all(word.isascii() and word.isdigit() and len(word) < 10 and 0 < int(word) <= MAX_K for word in words):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise click.BadParameter(f"{shown!r} is not a list of positive numbers up to {MAX_K} like 1,5,10", ctx, param)
    return tuple(sorted({int(word) for word in words}))


def ks_option(*aliases: str) -> Callable[[F], F]:
    """The option ``--ks``, under further names where a command has them."""
    return click.option(
        "--ks",
        *aliases,
        "ks",
        multiple=True,
        callback=_parse_ks,
        metavar="K,K,...",
        help="The k of pass@k, e.g. 1,5,10 (default: those that n supports).",
    )


def criterion_option(default: str) -> Callable[[F], F]:
    """The option ``--criterion``; ``default`` are the words of its help."""
    return click.option("--criterion", type=click.Choice(CRITERIA), help=f"Shown as the headline (default: {default}).")


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Checkout of the upstream repository (default: its folder under VERIEVAL_DATA).",
)
tasks_option = click.option(
    "--tasks", metavar="GLOB", help="Only tasks whose id matches, or level:GLOB, tag:GLOB (comma-separated)."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1, MAX_JOBS), help="Simulations at a time (default: the cores)."
)
icarus_option = click.option(
    "--icarus",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Icarus installation (default: VERIEVAL_ICARUS, PATH).",
)

sandbox_option = click.option(
    "--require-sandbox/--no-sandbox",
    "sandbox",
    default=None,
    help="Refuse to judge without a sandbox, or do without one (default: bubblewrap where it works).",
)

simulator_option = click.option(
    "--simulator",
    type=click.Choice(["icarus", "verilator"]),
    default="icarus",
    show_default=True,
    help="What runs benches in Python. Icarus decides in either case what compiles.",
)

BENCHMARK_OPTIONS = (
    data_option,
    tasks_option,
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N tasks."),
)

JUDGING_OPTIONS = (
    jobs_option,
    icarus_option,
    simulator_option,
    click.option(
        "--cpu-limit",
        type=click.IntRange(1, MAX_SECONDS),
        metavar="SECONDS",
        help="CPU time of each compilation and simulation, in whole seconds (default: 30). Where the benchmark's own "
        "rule ends a simulation sooner, that holds.",
    ),
    click.option("--memory-limit", type=click.IntRange(min=16), metavar="MIB", help="Memory of each of them."),
    click.option(
        "--mismatch-samples",
        type=click.IntRange(min=1),
        metavar="N",
        help="End a failing simulation after N samples (default: 1000). It changes no verdict, only how far mismatches "
        "are counted.",
    ),
    sandbox_option,
    criterion_option(f"{DEFAULT_CRITERION}, or what the run was started with"),
    click.option(
        "--executor", type=click.Choice(["local"]), default="local", show_default=True, help="Where judging runs."
    ),
)

EXAMINE_OPTIONS = (
    click.option("--synth", is_flag=True, help="Also synthesize every candidate (yosys): latches, cells, depth."),
    click.option("--equiv", is_flag=True, help="Also prove every candidate equivalent to the reference, or refute it."),
)
PROOF_OPTIONS = (
    click.option(
        "--yosys",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="yosys to use (default: VERIEVAL_YOSYS, PATH).",
    ),
    click.option(
        "--proof-cpu",
        type=click.IntRange(1, MAX_SECONDS),
        default=20,
        show_default=True,
        metavar="SECONDS",
        help="CPU time of each synthesis and each proof.",
    ),
)

OUTPUT_OPTIONS = (
    ks_option(),
    json_option,
    click.option("--quiet", is_flag=True, help="Show no progress."),
)


def with_options(*groups: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    """Give a command groups of options, shown in this order."""

    def decorate(function: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return decorate


def load_benchmark(name: str, data: Path | None, tasks: str | None, limit: int | None) -> tuple[Benchmark, Benchmark]:
    """The whole benchmark, and the part of it that the run is about.

    Raises:
        VerievalError: unknown name, missing data, or no such task.
    """
    from verieval import benchmarks

    whole = benchmarks.load(name, data)
    chosen = benchmarks.select(whole, tasks) if tasks is not None else whole
    if limit is not None:
        chosen = benchmarks.restrict(chosen, {task.id for task in chosen.tasks[:limit]})
    return whole, chosen


def refuse_benches(chosen: Benchmark) -> None:
    """Before anything is generated or judged: every bench that is needed can be read.

    Raises:
        BenchError: one cannot, or would leave out a test of its own.
    """
    from verieval.errors import BenchError
    from verieval.judge.cosim.bench_text import bench_faults

    if fault := next((fault for task in chosen.tasks for fault in bench_faults(task)), ""):
        raise BenchError(f"{fault}. Leave the task out with --tasks, or correct it.")


def seek_tools(options: dict[str, Any]) -> Callable[[], JudgeTools]:
    """Begin to look for the simulator; call the result for what was found.

    That is mostly waiting for it to answer, so a command does it beside reading its input.

    Raises:
        VerievalError: (from the result) no simulator, or a limit out of range.
    """
    from concurrent.futures import ThreadPoolExecutor

    def seek() -> JudgeTools:
        from verieval.judge import Limits, find_toolchain

        cpu = None if options["cpu_limit"] is None else float(options["cpu_limit"])
        limits = Limits.from_options(
            compile_cpu=cpu,
            simulate_cpu=cpu,
            memory_mib=options["memory_limit"],
            mismatch_samples=options["mismatch_samples"],
        )
        return find_toolchain(options["icarus"]), limits

    executor = ThreadPoolExecutor(1, thread_name_prefix="tools")
    found = executor.submit(seek)
    executor.shutdown(wait=False)
    return found.result


def prepare_judge(
    benchmark: Benchmark, tools: Callable[[], JudgeTools], options: dict[str, Any]
) -> Callable[[str], JudgePool]:
    """Check what the options say of judging, before anything slow begins; call the result with the extraction mode.

    Args:
        benchmark: what is judged.
        tools: from :func:`seek_tools`.
        options: of the command.

    Raises:
        VerievalError: no simulator, or one that cannot judge this benchmark, or a limit out of range.
    """
    from verieval.judge import JudgePool
    from verieval.judge.cosim.simulators import find_simulator
    from verieval.run.manifest import cores

    toolchain, limits = tools()
    toolchain.refuse(benchmark.refused_icarus, benchmark.full_name)
    simulator = find_simulator(options["simulator"], toolchain)
    sandbox = open_sandbox(benchmark, simulator, limits, options["sandbox"])
    jobs = options["jobs"] or cores()
    return lambda extraction: JudgePool(
        benchmark, toolchain, limits, jobs=jobs, extraction=extraction, sandbox=sandbox, simulator=simulator
    )


def open_sandbox(benchmark: Benchmark, simulator: Simulator, limits: Limits, wanted: bool | None) -> Sandbox:
    """The sandbox that there is for a benchmark, with a word to the user where there is none.

    Raises:
        VerievalError: one is required and there is none.
    """
    from verieval.judge.cosim.python import needs
    from verieval.judge.sandbox import find_sandbox

    also = needs(benchmark) + simulator.needs()
    sandbox = find_sandbox(simulator.toolchain, limits.work_mib, wanted=wanted, also=also)
    if not sandbox.holds:
        note(
            f"no sandbox, since {sandbox.reason}: candidates run under resource limits alone, and those that the "
            "policy refuses are not run at all, so they fail the official rule too"
        )
    return sandbox


def describe_chosen(whole: Benchmark, chosen: Benchmark) -> dict[str, Any]:
    """Manifest section of a benchmark: the hash of the whole, the tasks and faults of the part."""
    from dataclasses import asdict

    from verieval.run.manifest import describe_benchmark

    section = describe_benchmark(whole, [task.id for task in chosen.tasks])
    return section | {"errata": [asdict(erratum) for erratum in chosen.errata]}


def describe_criterion(whole: Benchmark, options: dict[str, Any]) -> dict[str, Any]:
    """Manifest section of the criterion: which one is shown first, and the rule behind ``official``."""
    return {"headline": options["criterion"] or DEFAULT_CRITERION, "official": whole.rule}


def say(sentence: str) -> None:
    """A line on standard error. It may name data, so nothing in it is obeyed by the terminal."""
    from verieval.report.text import printable

    click.echo(f"verieval: {printable(sentence)}", err=True)


def note(sentence: str) -> None:
    """What a user must know, though it ends nothing."""
    say(f"note: {sentence}")


def command_line() -> list[str]:
    """The words of the present command, for the manifest."""
    return ["verieval", *sys.argv[1:]]


def slug(text: str) -> str:
    """A text as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9._+]+", "-", text).strip("-.") or "run"


def judge_and_report(
    store: RunStore,
    judge: JudgePool,
    fresh: Callable[[RunStore], Iterable[Completion]],
    *,
    total: int,
    generating: bool,
    options: dict[str, Any],
    check: Callable[[], None],
) -> None:
    """Run the pipeline in an open run folder, with a display.

    Args:
        store: the run folder.
        judge: judges its completions.
        fresh: completions that are generated, or replayed, into the folder.
        total: number of completions that there will be.
        generating: a model makes the completions, so their number is worth showing.
        options: of the command: ``criterion`` and ``quiet``.
        check: raises where a signal has come, see :func:`verieval.run.signals.stoppable`.

    Raises:
        VerievalError: generating or judging cannot go on.
    """
    from verieval.run.pipeline import run_pipeline
    from verieval.run.progress import open_progress

    criterion = options["criterion"] or store.manifest["criterion"]["headline"]
    with open_progress(total, criterion, quiet=options["quiet"], generating=generating) as progress:
        progress.resume(store)
        run_pipeline(store, judge, progress, fresh(store), check)


def prepare_examining(options: dict[str, Any]) -> Callable[[Path, Benchmark, Callable[[], None]], None]:
    """Look for the tools of ``--synth`` and ``--equiv`` before anything slow begins; call the result to examine a run.

    Args:
        options: of the command.

    Raises:
        VerievalError: yosys or Icarus is missing, or no sandbox where one is required.
    """
    stages = [stage for stage in ("synth", "equiv") if options[stage]]
    if not stages:
        return lambda folder, benchmark, check: None
    from verieval.judge.equivalence import proof_limits
    from verieval.judge.sandbox import find_sandbox
    from verieval.judge.toolchain import find_toolchain
    from verieval.judge.yosys import find_yosys
    from verieval.run.examine import Bench, examine
    from verieval.run.manifest import cores

    yosys, toolchain = find_yosys(options["yosys"]), find_toolchain(options["icarus"])
    cpu = float(options["proof_cpu"])
    limits = proof_limits(cpu, cpu)
    sandbox = find_sandbox(toolchain, limits.work_mib, wanted=options["sandbox"], also=yosys.needs())
    bench = Bench(yosys, toolchain, limits, sandbox, options["jobs"] or cores())
    return lambda folder, benchmark, check: examine(
        folder, benchmark, bench, stages, quiet=options["quiet"], check=check
    )


def finish(folder: Path, options: dict[str, Any]) -> None:
    """Make the report of a run folder, write it and show it as ``options`` (ks, criterion, as_json) say.

    Raises:
        VerievalError: samples met a fault of the harness.
    """
    from verieval.report.examined import with_examined
    from verieval.report.summary import build_report, write_report
    from verieval.report.terminal import sections, show
    from verieval.report.text import printable
    from verieval.run.jsonl import dump_json
    from verieval.run.store import read_run

    run = read_run(folder)
    report = with_examined(build_report(run, ks=options["ks"], criterion=options["criterion"]), run)
    write_report(folder, report)
    if options["as_json"]:
        click.echo(dump_json({"run": str(folder), **report}), nl=False)
    else:
        show(sections(report, run.manifest))
        click.echo(f"\nrun folder: {printable(str(folder))}")
    missing, faults = sum(report["missing"].values()), report["criteria"]["strict"]["outcomes"].get("harness", 0)
    if missing:
        note(f"{missing} samples have no completion and count as failed")
    if faults:
        raise VerievalError(f"{faults} samples met a fault of the harness; run the same command again to judge them")


def stopped(folder: Path, signum: int) -> NoReturn:
    """End the command after a signal, with what is there and how to go on."""
    import signal

    from verieval.run.store import COMPLETIONS

    try:
        count = (folder / COMPLETIONS).read_bytes().count(b"\n")
    except OSError:
        count = 0
    name = signal.Signals(signum).name
    say(f"stopped by {name}; {folder} holds {count} completions, and the same command goes on from there")
    raise click.exceptions.Exit(128 + signum)
