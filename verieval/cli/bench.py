"""``verieval bench``: list, show and check benchmarks, and measure them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import (
    data_option,
    icarus_option,
    jobs_option,
    json_option,
    open_sandbox,
    sandbox_option,
    simulator_option,
    tasks_option,
)
from verieval.cli.longrun import progress, quiet_option, stoppable
from verieval.cli.overlap import command as overlap
from verieval.cli.strength import agreement, strength
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from verieval.judge.check import Check, CheckedTask
    from verieval.task import Benchmark, Task, Unsupported


@click.group(name="bench")
def command() -> None:
    """List, show and check benchmarks, and measure how strong their benches are."""


command.add_command(strength)
command.add_command(agreement)
command.add_command(overlap)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the benchmarks, and whether their data is here."""
    from verieval import benchmarks

    rows = []
    for name in benchmarks.names():
        row: dict[str, Any] = {"name": name, **benchmarks.describe(name)}
        try:
            loaded = benchmarks.load(name)
            row |= {"available": True, "tasks": len(loaded.tasks), "sha256": loaded.sha256, "commit": loaded.commit}
            if loaded.unsupported:
                row["unsupported"] = len(loaded.unsupported)
                row["malformed"] = sum(item.malformed for item in loaded.unsupported)
        except VerievalError as error:
            row |= {"available": False, "reason": str(error)}
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from verieval.report.text import printable

    for row in rows:
        of = f" of {row['tasks'] + row['unsupported']}" if "unsupported" in row else ""
        absent = "data cannot be used" if row["data"] else "no data here"
        state = f"{row['tasks']}{of} tasks, {row['sha256'][:12]}" if row["available"] else absent
        click.echo(f"{row['name']:<32} {state:<28} {row.get('title', '')}")
    for row in rows:
        if row.get("malformed"):
            names = f"'verieval bench show {row['name']}' names them"
            click.echo(f"{row['name']}: problems that are not as upstream publishes them: {row['malformed']}; {names}.")
        elif not row["available"] and row["data"]:
            click.echo(printable(f"{row['name']}: {row['reason']}"))
    if any(not row["available"] and not row["data"] for row in rows):
        click.echo("Data is not shipped: give a checkout with --data DIR, or a folder of checkouts in VERIEVAL_DATA.")


@command.command()
@click.argument("name")
@click.argument("task_id", metavar="[TASK]", required=False)
@data_option
@json_option
def show(name: str, task_id: str | None, data: Path | None, as_json: bool) -> None:
    """Show a benchmark, or one TASK of it."""
    from verieval import benchmarks

    benchmark = benchmarks.load(name, data)
    if task_id is None:
        _show_benchmark(benchmark, as_json)
        return
    task = benchmark.by_id.get(task_id)
    if task is None:
        from verieval.suggest import did_you_mean

        if reason := next((item.reason for item in benchmark.unsupported if item.task == task_id), ""):
            raise VerievalError(f"{task_id} of {benchmark.full_name} cannot be judged here: {reason}")
        hint = did_you_mean(task_id, benchmark.by_id) or f"; 'verieval bench show {benchmark.full_name}' lists them"
        raise VerievalError(f"{benchmark.full_name} has no task {task_id!r}{hint}")
    _show_task(benchmark, task, as_json)


def _show_benchmark(benchmark: Benchmark, as_json: bool) -> None:
    errata = [asdict(erratum) for erratum in benchmark.errata]
    if as_json:
        click.echo(
            json.dumps(
                {
                    "name": benchmark.full_name,
                    "commit": benchmark.commit,
                    "sha256": benchmark.sha256,
                    "rule": benchmark.rule,
                    "refused_icarus": benchmark.refused_icarus,
                    "errata": errata,
                    "unsupported": [asdict(item) for item in benchmark.unsupported],
                    "tasks": [
                        {"id": t.id, "module": t.module, "level": t.level, "tags": t.tags} for t in benchmark.tasks
                    ],
                },
                indent=2,
            )
        )
        return
    click.echo(f"{benchmark.full_name}: {len(benchmark.tasks)} tasks, commit {benchmark.commit or 'unknown'}")
    click.echo(f"content {benchmark.sha256}")
    _print_unsupported(benchmark.unsupported, len(benchmark.tasks))
    for major, reason in sorted(benchmark.refused_icarus.items()):
        click.echo(f"refused on Icarus {major}: {reason}")
    for task in benchmark.tasks:
        click.echo(f"  {task.id:<36} {task.module:<24} {' '.join((task.level, *task.tags)).strip()}".rstrip())
    if errata:
        click.echo("known faults:")
    for erratum in benchmark.errata:
        where = f" (Icarus {', '.join(map(str, erratum.icarus))})" if erratum.icarus else ""
        click.echo(f"  {erratum.task}{where}: {erratum.effect}: {erratum.reason} [{erratum.found}]")


def _print_unsupported(unsupported: Sequence[Unsupported], tasks: int) -> None:
    """Say what the tasks are not: problems that upstream has and that are no part of any score here."""
    from verieval.report.text import printable

    if not unsupported:
        return
    total = tasks + len(unsupported)
    click.echo(f"{len(unsupported)} of {total} problems cannot be judged here, so scores are of {tasks}:")
    for item in unsupported:
        click.echo(f"  {printable(item.task)}: {printable(item.reason)}")
    if malformed := sum(item.malformed for item in unsupported):
        click.echo(f"{malformed} of them because the data is not as upstream publishes it: restore the file")


def _show_task(benchmark: Benchmark, task: Task, as_json: bool) -> None:
    errata = [erratum for erratum in benchmark.errata if erratum.task == task.id]
    if as_json:
        row = {
            "id": task.id,
            "module": task.module,
            "sha256": task.sha256,
            "level": task.level,
            "tags": task.tags,
            "aliases": task.aliases,
            "ports": [asdict(port) for port in task.ports],
            "header": task.header,
            "prompt": task.prompt,
            "reference": task.reference,
            "bench": [source.name for source in task.oracle.sources],
            "data_files": [data.name for data in task.oracle.data_files],
            "errata": [asdict(erratum) for erratum in errata],
        }
        click.echo(json.dumps(row, indent=2))
        return
    click.echo(f"{task.id}: module {task.module}, content {task.sha256}")
    for port in task.ports:
        width = f"{port.width} bit" + ("s" if port.width != 1 else "")
        click.echo(f"  {port.direction:<6} {port.name:<20} {width}{' signed' if port.signed else ''}")
    files = [source.name for source in task.oracle.sources] + [data.name for data in task.oracle.data_files]
    click.echo(f"bench: {', '.join(files)}")
    for erratum in errata:
        click.echo(f"known fault: {erratum.effect}: {erratum.reason} [{erratum.found}]")
    click.echo(f"\n{task.prompt.rstrip()}")
    if task.header:
        click.echo(f"\n{task.header.rstrip()}")


@command.command()
@click.argument("name")
@data_option
@tasks_option
@icarus_option
@simulator_option
@jobs_option
@sandbox_option
@click.option("--fresh", is_flag=True, help="Run every reference again instead of recalling cached results.")
@click.option("--references-only", is_flag=True, help="Run no stubs: say nothing of what the benches can tell.")
@json_option
@quiet_option
def check(
    name: str,
    data: Path | None,
    tasks: str | None,
    icarus: Path | None,
    simulator: str,
    jobs: int | None,
    sandbox: bool | None,
    fresh: bool,
    references_only: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run every reference against its own bench with the present toolchain, and find out what the benches can tell.

    Each bench also meets stubs (constant 0, constant 1, X, nothing driven) and its reference without values at
    power-up. Results are cached one by one, so that a run that was stopped goes on where it was, and the reports of
    later runs carry them.

    Exit status 1 says that something broke that the errata do not list, or holds that they list as broken; that a
    task itself is at fault: its bench cannot be used, or its task.toml and its reference do not agree; or that some of
    the data is not as upstream publishes it.
    """
    from verieval import benchmarks
    from verieval.judge import JudgePool, Limits, find_toolchain
    from verieval.judge.check import check as run_check
    from verieval.judge.check import steps
    from verieval.judge.cosim.simulators import find_simulator
    from verieval.run.manifest import cores

    toolchain = find_toolchain(icarus)
    benchmark = benchmarks.load(name, data, tasks=tasks)
    engine = find_simulator(simulator, toolchain)
    walls = open_sandbox(benchmark, engine, Limits(), sandbox)
    pool = JudgePool(benchmark, toolchain, jobs=jobs or cores(), recall=not fresh, sandbox=walls, simulator=engine)
    total, title = steps(benchmark, calibrate=not references_only), f"checking {benchmark.full_name}"
    with stoppable(), progress(total, title, quiet=quiet) as advance, pool:
        result = run_check(benchmark, pool, advance, calibrate=not references_only)
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=2))
    else:
        _print_check(result)
    if any(not task.explained for task in result.tasks) or any(item.malformed for item in result.unsupported):
        click.get_current_context().exit(1)


def _print_check(result: Check) -> None:
    from verieval.report.text import printable

    total = result.with_reference
    click.echo(f"{result.benchmark} on Icarus {result.icarus}, commit {result.commit or 'unknown'}")
    click.echo(f"official rule: {result.passed} of {total} references pass; strict: {result.passed_strict} of {total}")
    _print_unsupported(result.unsupported, len(result.tasks))
    if faults := [fault for task in result.tasks for fault in task.faults]:
        click.echo("tasks that are at fault themselves:")
        for fault in faults:
            click.echo(f"  {printable(fault)}")
    broken = [task for task in result.tasks if task.broken]
    strict_only = [task for task in result.tasks if task.run and task.run.official and task.run.outcome != "passed"]
    for title, tasks in (("fail the official rule", broken), ("pass the official rule but not strict", strict_only)):
        if tasks:
            click.echo(f"references that {title}:")
        for task in tasks:
            click.echo(_line(task))
    for task in result.tasks:
        if task.run is None and not task.faults:
            click.echo(f"  {task.id}: has no reference")
        elif not task.explained and not task.broken and not task.faults:
            click.echo(f"  {task.id}: passes here, though the errata list it as broken")
    _print_calibration(result)


# What calibration found, in words; the errata may name it too.
_FLAGS = (
    ("vacuous", "a stub passes the bench of"),
    ("power_up", "a correct design without values at power-up fails the bench of"),
    ("no_trace", "there is no trace of the bench of"),
    ("inputs_depend", "inputs depend on what the design answers, so no trace is compared, in"),
)


def _print_calibration(result: Check) -> None:
    for flag, words in _FLAGS:
        found = [task for task in result.tasks if task.calibration and flag in task.calibration.flags]
        if found:
            click.echo(f"{words}:")
        for task in found:
            assert task.calibration is not None
            stubs = f" ({', '.join(task.calibration.stubs_passed)})" if flag == "vacuous" else ""
            click.echo(f"  {task.id}{stubs}{'; NOT in the errata' if flag in task.unlisted else ''}")


def _line(task: CheckedTask) -> str:
    assert task.run is not None
    known = "; ".join(erratum.reason for erratum in task.errata if erratum.effect == "reference_fails")
    label = f"known: {known}" if known else "NOT in the errata"
    detail = f" ({task.run.detail})" if task.run.detail else ""
    return f"  {task.id}: {task.run.outcome}, official {task.run.code!r}{detail}; {label}"
