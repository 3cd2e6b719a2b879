"""``verieval report RUN``."""

from __future__ import annotations

from pathlib import Path

import click

from verieval.cli.common import criterion_option, data_option, json_option, ks_option, note


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@ks_option()
@criterion_option("the run's own")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the bootstrap.")
@click.option("--differences", is_flag=True, help="List every sample on which the criteria differ, with its reason.")
@click.option(
    "--distinct", is_flag=True, help="Count the distinct designs among the samples of each task (needs the benchmark)."
)
@data_option
@json_option
def command(
    run: Path,
    ks: tuple[int, ...] | None,
    criterion: str | None,
    seed: int,
    differences: bool,
    distinct: bool,
    data: Path | None,
    as_json: bool,
) -> None:
    """Recompute and show the report of a RUN folder, and write its report.json again.

    With --distinct it also says how many designs the samples of a task are if names and layout do not count.
    Where the folder cannot be written, the report is shown all the same.
    """
    from verieval.cli import describe_os_error
    from verieval.report.examined import with_examined
    from verieval.report.summary import build_report, write_report
    from verieval.report.terminal import sections, show
    from verieval.run.jsonl import dump_json
    from verieval.run.store import read_run

    found = read_run(run)
    report = with_examined(build_report(found, ks=ks, seed=seed, criterion=criterion), found)
    if distinct:
        from verieval.report.distinct import count_distinct

        report["distinct"] = count_distinct(found, data)
    unwritten: OSError | None = None
    try:
        write_report(found.path, report)
    except OSError as error:
        unwritten = error  # a report of a folder that cannot be written is still a report
    if as_json:
        click.echo(dump_json(report), nl=False)
    else:
        show(sections(report, found.manifest, differences=differences))
    if unwritten is not None:
        note(f"report.json was not written: {describe_os_error(unwritten)}")
