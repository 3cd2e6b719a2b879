"""``verieval examine RUN``: synthesis and equivalence for a run that is judged already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from verieval.cli.common import (
    EXAMINE_OPTIONS,
    OUTPUT_OPTIONS,
    PROOF_OPTIONS,
    criterion_option,
    data_option,
    finish,
    icarus_option,
    jobs_option,
    load_benchmark,
    note,
    prepare_examining,
    sandbox_option,
    say,
    with_options,
)
from verieval.run.signals import Stopped, stoppable

_OPTIONS = (data_option, jobs_option, icarus_option, sandbox_option, criterion_option("the run's own"))


@click.command("examine")
@click.argument("run", type=click.Path(path_type=Path))
@with_options(EXAMINE_OPTIONS, PROOF_OPTIONS, _OPTIONS, OUTPUT_OPTIONS)
def command(run: Path, **options: Any) -> None:
    """Synthesize the candidates of a RUN folder and prove them equivalent to their references.

    What is found is appended to synthesis.jsonl and shown beside pass@k; no verdict changes. Without --synth or --equiv
    both are done. A pass that was stopped goes on where it was.
    """
    from verieval.run.manifest import read_manifest

    if not options["synth"] and not options["equiv"]:
        options["synth"] = options["equiv"] = True
    section = read_manifest(run)["benchmark"]
    name = ":".join(part for part in (section["name"], section.get("variant")) if part)
    try:
        with stoppable() as check:
            beyond = prepare_examining(options)
            whole, _ = load_benchmark(name, options["data"], None, None)
            beyond(run, whole, check)
    except Stopped as error:
        say(f"stopped; {run} keeps what was found, and the same command goes on from there")
        raise click.exceptions.Exit(128 + error.signum) from None
    lacking = [stage for stage in ("synth", "equiv") if options[stage] and not _answered(run, stage)]
    if lacking:
        note("no sample of the run has a task with a reference, so nothing was examined")
    finish(run, options)


def _answered(run: Path, stage: str) -> bool:
    from verieval.run.examine import read_examined

    return any(key[2] == stage for key in read_examined(run))
