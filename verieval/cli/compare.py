"""``verieval compare RUN_A RUN_B``."""

from __future__ import annotations

from pathlib import Path

import click

from verieval.cli.common import criterion_option, json_option, ks_option


@click.command("compare")
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@ks_option("-k")
@criterion_option("that of both runs, strict where they differ")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the bootstrap.")
@json_option
def command(
    run_a: Path, run_b: Path, ks: tuple[int, ...] | None, criterion: str | None, seed: int, as_json: bool
) -> None:
    """Compare two runs: what differs, then which is better.

    Differences are B - A, paired over the tasks that both runs hold.
    """
    import json

    from verieval.report.compare import compare_runs
    from verieval.report.compare_view import sections
    from verieval.report.terminal import show
    from verieval.run.store import read_run

    comparison = compare_runs(read_run(run_a), read_run(run_b), criterion=criterion, ks=ks or (), seed=seed)
    if as_json:
        click.echo(json.dumps(comparison.to_json(), indent=2))
    else:
        show(sections(comparison))
