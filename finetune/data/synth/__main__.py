"""``python -m finetune.data.synth``: write the synthetic corpus."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from verieval.errors import VerievalError


@click.command()
@click.option("--rows", type=click.IntRange(1, 10_000_000), required=True, help="Rows of the corpus.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Decides every row.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="JSON lines; .gz compresses."
)
@click.option(
    "--layout", type=click.Choice(["prompt-completion", "chat"]), default="prompt-completion", show_default=True
)
@click.option(
    "--overlap",
    metavar="NAME[:VARIANT]",
    multiple=True,
    default=("verieval",),
    show_default=True,
    help="Benchmarks that no row may overlap; may be repeated. Their data is found through VERIEVAL_DATA.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option(
    "--icarus", type=click.Path(path_type=Path), help="Icarus Verilog installation (default: the one on PATH)."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    rows: int,
    seed: int,
    out: Path,
    layout: str,
    overlap: tuple[str, ...],
    jobs: int,
    icarus: Path | None,
    as_json: bool,
) -> None:
    """Write pairs of a description and Verilog that was compiled, and simulated against a model."""
    from finetune.data.synth.corpus import write_corpus
    from verieval.judge import find_toolchain

    summary = write_corpus(
        out, rows=rows, seed=seed, toolchain=find_toolchain(icarus), layout=layout,
        overlap=tuple(dict.fromkeys(overlap)), jobs=jobs, progress=_progress(rows),
    )  # fmt: skip
    if as_json:
        click.echo(json.dumps(summary.to_json(), indent=2))
        return
    click.echo(f"{out}: {summary.rows} rows of {len(summary.families)} families in {summary.seconds:.0f} s")
    click.echo(f"sha256 of the lines {summary.sha256}")
    click.echo(
        f"{summary.simulated} distinct designs simulated with Icarus Verilog {summary.icarus}, all texts compiled"
    )
    click.echo("rows by family: " + ", ".join(f"{name} {number}" for name, number in summary.families.items()))
    for reason, number in sorted(summary.dropped.items()):
        click.echo(f"{number} dropped: {reason}")


def _progress(rows: int) -> Callable[[int, Counter[str]], None]:
    """A line on standard error now and then: over itself on a terminal, below elsewhere."""
    started = last = time.monotonic()
    live = sys.stderr.isatty()

    def tell(done: int, dropped: Counter[str]) -> None:
        nonlocal last
        now = time.monotonic()
        if done < rows and now - last < (0.5 if live else 15):
            return
        last = now
        pace = done / max(now - started, 1e-9)
        left = (rows - done) / pace if pace else 0.0
        text = f"{done} of {rows} rows, {pace:.0f} a second, {left:.0f} s left, {sum(dropped.values())} dropped"
        click.echo(f"\r\033[K{text}" if live else text, err=True, nl=not live or done == rows)

    return tell


def main() -> None:
    """Errors as one sentence."""
    try:
        command(prog_name="python -m finetune.data.synth")
    except VerievalError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
