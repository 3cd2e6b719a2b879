"""``verieval convert``: checkpoints between transformers, PEFT, Orbax and Tunix, and adapters into their base."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from verieval.cli.common import json_option, note, say
from verieval.errors import VerievalError
from verieval.run.signals import Stopped, stoppable

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _parse_size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([KMGT]?)B?", value.strip().upper())
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{value!r} is not a size like 5GB or 500MB", ctx, param)
    return int(found[1]) * _UNITS[found[2]]


@click.command("convert")
@click.argument("src", type=click.Path(path_type=Path))
@click.argument("dst", type=click.Path(path_type=Path))
@click.option("--adapter", type=click.Path(path_type=Path), metavar="DIR", help="Adapter to merge into the model SRC.")
@click.option(
    "--to",
    type=click.Choice(["safetensors", "orbax", "peft"]),
    help="Form of DST (default: safetensors or peft from Orbax, orbax from those, safetensors when merging).",
)
@click.option(
    "--base",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the base model, or its config.json, where SRC does not name it.",
)
@click.option("--alpha", type=click.FloatRange(0, min_open=True), help="Alpha of an adapter that does not say it.")
@click.option(
    "--shard-size",
    callback=_parse_size,
    default="5GB",
    show_default=True,
    metavar="SIZE",
    help="Most that a safetensors file may have.",
)
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(src: Path, dst: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Convert the checkpoint SRC into the new folder DST.

    SRC is a transformers folder, a PEFT adapter, an Orbax checkpoint of this project, or one of Tunix (a model, or LoRA
    weights made by Qwix). With --adapter, SRC is the base, and DST the base with the adapter merged in. One weight is
    in memory at a time; DST appears when it is whole. See docs/checkpoints.md.
    """
    try:
        from finetune.checkpoint.convert import convert
    except ImportError as error:  # pydantic or NumPy, for two
        raise VerievalError(
            f"converting needs the jax or torch extra: pip install 'verieval[jax]' ({error})"
        ) from error

    options["shard"] = options.pop("shard_size")
    try:
        with stoppable() as check, _progress(dst, quiet=quiet or as_json) as show:

            def progress(done: int, total: int) -> None:
                check()
                show(done, total)

            result = convert(src, dst, progress=progress, **options)
    except Stopped as error:
        say(f"{error}; {dst} was not made")
        raise click.exceptions.Exit(error.exit_code) from None
    _show(result, as_json)


def _show(result: dict[str, Any], as_json: bool) -> None:
    from verieval.report.text import printable
    from verieval.run.jsonl import dump_json

    if as_json:
        click.echo(dump_json(result), nl=False)
        return
    source, destination, merged, passed = (result[key] for key in ("source", "destination", "merged", "passed_over"))
    what = f"{result['tensors']} tensors, {result['bytes'] / 1e9:.2f} GB"
    names = "" if source["naming"] != "tunix" else " (Tunix's names)"
    click.echo(f"{source['kind']}, {source['form']}{names} to {destination['form']}: {what}")
    if merged is not None:
        click.echo(f"merged {merged['modules']} modules of {printable(merged['adapter'])}")
    if passed:
        some = ", ".join(passed[:3]) + (", ..." if len(passed) > 3 else "")
        note(f"{len(passed)} tensors of SRC are no weights of the text model and were left out: {some}")
    click.echo(printable(destination["path"]))


@contextmanager
def _progress(dst: Path, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar over the bytes on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"writing {dst.name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
