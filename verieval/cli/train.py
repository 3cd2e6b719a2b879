"""``verieval train``: fine-tune a model by a recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import json_option, note, say, slug
from verieval.errors import VerievalError
from verieval.run.signals import Stopped, stoppable

if TYPE_CHECKING:
    from finetune.material import Material
    from finetune.recipe import LossSpec


@click.command("train")
@click.argument("recipe")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change the recipe: loss.prompt_weight=1.0.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the run (default: runs/train-RECIPE).")
@click.option("--steps", type=click.IntRange(1), help="Optimizer steps, in the place of the recipe's steps or epochs.")
@click.option(
    "--show-tokens", type=click.IntRange(1), metavar="N", help="Show the tokens and weights of N rows; no training."
)
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    recipe: str,
    changes: tuple[str, ...],
    out: Path | None,
    steps: int | None,
    show_tokens: int | None,
    as_json: bool,
    quiet: bool,
) -> int | None:
    """Fine-tune a model by RECIPE, a TOML file or the name of one that ships.

    A run that was stopped goes on with the same command. Several devices: start it with `torchrun --nproc-per-node N
    -m verieval train ...` and set parallel.fsdp=N.
    """
    from finetune.processes import is_first

    options = Options(as_json, quiet, show_tokens, first=is_first())
    if steps is not None:
        changes = (*changes, f"train.steps={steps}", "train.epochs=0")
    folder = out or Path("runs") / f"train-{slug(Path(recipe).stem if recipe.endswith('.toml') else recipe)}"
    try:
        with stoppable() as check:
            _train(recipe, changes, folder, options, check)
    except Stopped as error:
        if options.first:
            say(f"{error}; what is in {folder} stays, and the same command goes on from there")
        raise click.exceptions.Exit(error.exit_code) from None
    except VerievalError:
        if options.first:
            raise
        return 2  # the first process says it
    return None


@dataclass(frozen=True)
class Options:
    """How to show things; ``first`` is False in all processes but one."""

    as_json: bool
    quiet: bool
    show_tokens: int | None
    first: bool


def _train(name: str, changes: tuple[str, ...], folder: Path, options: Options, check: Callable[[], None]) -> None:
    """From a recipe to a model that ships. What is cheap to check is checked before anything is loaded."""
    try:
        from finetune.material import prepare
        from finetune.recipe import load_recipe
        from finetune.run import train_run
    except ImportError as error:  # pydantic, for one
        raise VerievalError(
            f"fine-tuning needs the torch or the jax extra: pip install 'verieval[torch]' ({error})"
        ) from error

    recipe = load_recipe(name, changes)
    talk = note if options.first and not options.quiet else _nothing
    material = prepare(recipe, progress=_reading(talk))
    check()
    if options.show_tokens is not None:
        if options.first:
            _show(material, recipe.loss, options)
        return
    result = train_run(recipe, material, folder, say=talk, quiet=options.quiet or not options.first)
    if options.first:
        _finish(result, options)


def _reading(talk: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """Say every ten seconds how far the reading of the data has come, where it takes that long."""
    import time

    last = time.monotonic()

    def progress(source: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= 10.0:
            last = time.monotonic()
            talk(f"reading {source}: {done:,} of {total:,} rows")

    return progress


def _show(material: Material, loss: LossSpec, options: Options) -> None:
    """Rows with their weights, and no training."""
    from finetune.data.show import show_tokens, tokens_json
    from verieval.run.jsonl import dump_json

    count = options.show_tokens or 0
    if options.as_json:
        click.echo(dump_json(tokens_json(material.rows, material.tokenizer, loss, count)), nl=False)
    else:
        show_tokens(material.rows, material.tokenizer, loss, count)


def _nothing(sentence: str) -> None:
    """In the place of :func:`verieval.cli.common.note` where nobody reads."""


def _finish(result: dict[str, Any], options: Options) -> None:
    """Say what the run came to."""
    from verieval.report.text import printable
    from verieval.run.jsonl import dump_json

    if options.as_json:
        click.echo(dump_json(result), nl=False)
        return
    last = result["last"]
    names = ("loss", "response_nll", "prompt_nll", "heldout_response_nll", "heldout_prompt_nll")
    figures = ", ".join(f"{name} {last[name]:.4f}" for name in names if isinstance(last.get(name), float))
    click.echo(f"step {result['steps']}: {figures}")
    for name in ("model", "adapter"):
        if name in result:
            click.echo(f"{name}: {printable(result[name])}")
    if "model" in result:
        click.echo(f"try it: verieval run --model {printable(result['model'])}")
