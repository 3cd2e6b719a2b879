"""``verieval submit``: make a bundle of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verieval.cli.common import data_option, json_option

# What a run does not know of itself; each may stand in the file of --about under the same name, with underscores.
ABOUT_OPTIONS = {
    "licence": "Licence of the model (required).",
    "contact": "Who answers for the submission (required).",
    "model": "The model's name (required where the run does not know it).",
    "revision": "Its commit, tag or version.",
    "base": "The model that it was trained from.",
    "adapter": "Its adapter.",
    "training-data": "What it was trained on.",
    "loss": "Loss mode, e.g. prompt tokens masked.",
    "prompt-sha256": "Hash of the prompt template, for completions that were made elsewhere.",
    "chat-template-sha256": "Hash of the chat template.",
}


def about_options(function: Any) -> Any:
    """Give a command an option for each row of the table."""
    for name, words in reversed(ABOUT_OPTIONS.items()):
        function = click.option(f"--{name}", metavar="TEXT", help=words)(function)
    return function


@click.command("submit")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", "out", required=True, type=click.Path(path_type=Path), help="Folder, or file.zip, to make."
)
@click.option("--about", type=click.Path(path_type=Path), metavar="FILE", help="YAML file with any of the following.")
@about_options
@data_option
@json_option
def command(run: Path, out: Path, about: Path | None, data: Path | None, as_json: bool, **stated: str | None) -> None:
    """Make a bundle of RUN, which anyone can judge again with `verieval verify`.

    The run must be whole: every task of its benchmark, n samples each, every one judged. It is not changed.
    """
    from verieval import benchmarks
    from verieval.leaderboard.archive import check_target
    from verieval.leaderboard.bundle import build_bundle, write_bundle
    from verieval.leaderboard.describe import About, read_about
    from verieval.report.text import printable
    from verieval.run.jsonl import dump_json
    from verieval.run.manifest import read_manifest

    check_target(out)
    given = read_about(about) if about else {}
    given |= {name: value for name, value in stated.items() if value is not None}
    section = read_manifest(run)["benchmark"]
    name = ":".join(part for part in (section["name"], section.get("variant")) if part)
    bundle = build_bundle(run, benchmarks.load(name, data), About(**given))
    write_bundle(bundle, out, run)
    contents = bundle.contents
    if as_json:
        figures = {
            "bundle": str(out),
            "id": contents.id,
            "samples": len(contents.completions),
            "numbers": contents.submission["numbers"],
        }
        click.echo(dump_json(figures), nl=False)
        return
    click.echo(
        f"{printable(contents.submission['model']['name'])} on {name}: "
        f"{len(section['tasks'])} tasks, {len(contents.completions)} samples"
    )
    click.echo(f"bundle: {printable(str(out))}")
    click.echo(f"id: {contents.id}")
