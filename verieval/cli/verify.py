"""``verieval verify``: is a bundle what it says?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verieval.cli.common import (
    data_option,
    icarus_option,
    jobs_option,
    json_option,
    note,
    open_sandbox,
    sandbox_option,
    say,
)

if TYPE_CHECKING:
    from verieval.leaderboard.verify import Means, Verification

EXIT_REJECTED = 1
SHOWN = 10


def _parse_share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """``10%`` as 0.1."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)%", value.strip())
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise click.BadParameter(f"{value[:40]!r} is not a share above 0% and up to 100%, like 10%", ctx, param)
    return share


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--sample", "share", callback=_parse_share, metavar="SHARE", help="Judge only a share of the samples, e.g. 10%."
)
@click.option("--seed", type=click.IntRange(min=0), help="Which samples --sample takes (default: drawn, and shown).")
@data_option
@jobs_option
@icarus_option
@sandbox_option
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(bundle: Path, share: float | None, seed: int | None, **options: Any) -> None:
    """Check a BUNDLE: hashes, schema, figures, and every sample judged again.

    Prints the tier: `re-simulated`; `spot-checked` with --sample; or `rejected`, with the reasons. Exit status 0, 0 and
    1; 2 says that this machine cannot tell (other data, another toolchain, another version).
    """
    import secrets

    from verieval.errors import VerievalError
    from verieval.leaderboard.verify import verify
    from verieval.run.signals import Stopped, stoppable

    if seed is not None and share is None:
        raise VerievalError("--seed says which samples --sample takes; give --sample too, or leave it out")
    # Drawn where it is not given: a submitter must not know which samples will be looked at.
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    try:
        with stoppable() as check:
            answer = verify(bundle, _means(options, check), share=share, seed=seed)
    except Stopped as error:
        _stopped(error.signum)
    if options["as_json"]:
        from verieval.run.jsonl import dump_json

        click.echo(dump_json(_to_json(bundle, answer)), nl=False)
    else:
        from verieval.report.text import printable

        for line in _lines(answer):
            click.echo(printable(line))
    _note_build(answer)
    if answer.tier == "rejected":
        click.get_current_context().exit(EXIT_REJECTED)


def _means(options: dict[str, Any], check: Any) -> Means:
    from verieval.judge.cosim.simulators import Icarus
    from verieval.leaderboard.verify import Means
    from verieval.run.manifest import cores
    from verieval.run.progress import open_progress

    quiet = options["quiet"] or options["as_json"]
    return Means(
        lambda total, criterion: open_progress(total, criterion, quiet=quiet, generating=False),
        data=options["data"],
        icarus=options["icarus"],
        jobs=options["jobs"] or cores(),
        sandbox=lambda benchmark, toolchain, limits: open_sandbox(
            benchmark, Icarus(toolchain), limits, options["sandbox"]
        ),
        check=check,
    )


def _stopped(signum: int) -> NoReturn:
    import signal

    say(f"stopped by {signal.Signals(signum).name}; nothing was decided and nothing was written")
    raise click.exceptions.Exit(128 + signum)


def _note_build(answer: Verification) -> None:
    """Equal versions from other binaries should judge alike, and verdicts were compared; it is worth knowing though."""
    if answer.contents is None or not answer.judge:
        return
    theirs, ours = answer.contents.submission["toolchain"], answer.judge["toolchain"]
    if theirs["icarus_sha256"] != ours["icarus_sha256"]:
        note(f"Icarus {ours['icarus']} here is another build than the submitter's")


def _to_json(bundle: Path, answer: Verification) -> dict[str, Any]:
    contents = answer.contents
    return {
        "bundle": str(bundle),
        "id": answer.id,
        "tier": answer.tier,
        "reasons": [reason.to_json() for reason in answer.reasons],
        "samples": answer.samples,
        "simulated": answer.simulated,
        "share": answer.share,
        "seed": answer.seed,
        "seconds": round(answer.seconds, 3),
        "model": contents.submission["model"] if contents else None,
        "benchmark": _benchmark(answer) if contents else None,
        "numbers": contents.submission["numbers"] if contents else None,
        "judge": answer.judge or None,
    }


def _benchmark(answer: Verification) -> str:
    assert answer.contents is not None
    section = answer.contents.submission["benchmark"]
    return ":".join(part for part in (section["name"], section["variant"]) if part)


def _lines(answer: Verification) -> Iterator[str]:
    if answer.contents is not None:
        submission = answer.contents.submission
        yield f"{submission['model']['name']} on {_benchmark(answer)}: {answer.samples} samples"
        yield f"id: {answer.id}"
    if answer.simulated:
        tools = answer.judge["toolchain"]
        yield (
            f"{answer.simulated} of {answer.samples} samples judged again with Icarus {tools['icarus']}, "
            f"sandbox {answer.judge['sandbox']['level']}, "
            f"in {answer.seconds:.1f} s" + ("" if answer.seed is None else f" (seed {answer.seed})")
        )
    if answer.reasons:
        yield f"tier: {answer.tier}"
        yield from (f"  [{reason.code}] {reason}" for reason in answer.reasons[:SHOWN])
        if len(answer.reasons) > SHOWN:
            yield f"  and {len(answer.reasons) - SHOWN} more reasons; --json lists all"
        return
    assert answer.contents is not None
    for name, figures in answer.contents.submission["numbers"].items():
        estimates = ", ".join(
            f"pass@{k} {row['value']:.4f}" for k, row in figures["pass_at_k"].items() if row["value"] is not None
        )
        yield f"reported {name}: {figures['passed']} of {figures['samples']} samples pass, {estimates}"
    yield f"tier: {answer.tier}"
