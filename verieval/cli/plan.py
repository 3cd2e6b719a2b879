"""``verieval plan``: what a recipe needs of a machine that is not there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import json_option, say
from verieval.errors import VerievalError
from verieval.run.signals import Stopped, stoppable

if TYPE_CHECKING:
    from finetune.plan.chips import Topology
    from finetune.plan.report import Mesh, OnMesh, Planned

GIB = 1 << 30


@click.command("plan")
@click.argument("recipe")
@click.option(
    "--topology", default="v5p:2x2x1", show_default=True, help="v5p:AxBxC, v5e:AxB, v6e:AxB or gpu:NAME:COUNT."
)
@click.option(
    "--mesh", "meshes", multiple=True, metavar="F,T", help="Sides of a mesh, fsdp and tp; `all` looks at every one."
)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change the recipe: train.batch=8.")
@click.option("--no-compile", is_flag=True, help="Arithmetic alone; ask no compiler.")
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    recipe: str, topology: str, meshes: tuple[str, ...], changes: tuple[str, ...], no_compile: bool, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Say what RECIPE needs of a TPU or GPU, without one.

    For a TPU the real training step is compiled by the TPU's own compiler, with the shapes of the weights in their
    place; that takes minutes. Memory on GPUs, operations, padding, time and cost are arithmetic. See docs/plan.md.
    """
    try:
        from finetune.plan.chips import read_topology
        from finetune.plan.report import make_plan
        from finetune.recipe import load_recipe
    except ImportError as error:
        raise VerievalError(f"planning needs the jax extra: pip install 'verieval[jax]' ({error})") from error

    machine = read_topology(topology)
    spec = load_recipe(recipe, changes)
    wanted = _meshes(meshes, machine)
    show = (lambda text: None) if quiet or as_json else say
    try:
        with stoppable():  # what runs the compiler is ended with this command
            planned = make_plan(recipe, spec, machine, wanted, compiles=not no_compile, progress=show)
    except Stopped as error:
        say(str(error))
        raise click.exceptions.Exit(error.exit_code) from None
    if as_json:
        from verieval.run.jsonl import dump_json

        click.echo(dump_json(planned.to_json()), nl=False)
        return
    for line in _lines(planned):
        click.echo(line)


def _meshes(words: tuple[str, ...], machine: Topology) -> tuple[Mesh, ...]:
    from finetune.plan.report import all_meshes

    if not words:  # torch, which GPUs are planned for, knows fsdp alone
        return ((1, machine.count),) if machine.compiles else ((machine.count, 1),)
    result: list[Mesh] = []
    for word in words:
        found = re.fullmatch(r"\s*(\d{1,4})\s*[,x]\s*(\d{1,4})\s*", word)
        if word == "all":
            result += all_meshes(machine.count)
        elif found and int(found[1]) and int(found[2]):
            result.append((int(found[1]), int(found[2])))
        else:
            raise VerievalError(f"--mesh {word!r}: give two numbers, fsdp and tp (1,4), or all")
    return tuple(dict.fromkeys(result))


def _lines(planned: Planned) -> list[str]:
    topology, chip = planned.topology, planned.topology.chip
    model, trained = planned.parameters
    size, speed = f"{chip.memory / GIB:.0f} GiB", f"{chip.flops / 1e12:.0f} TFLOP/s (bf16)"
    packed, padded = 100 * planned.padding_packed, 100 * planned.padding_padded
    lines = [
        f"{planned.recipe} on {topology.name}: {topology.count} x {chip.name}, {size} and {speed} each",
        f"parameters        {model / 1e9:.2f} billion, {trained / 1e6:.1f} million trained",
        f"operations a step {planned.model_flops:.3e} by the model, {planned.executed_flops:.3e} as it is computed",
        f"on padding        {packed:.1f} % packed, {padded:.1f} % with a row a sequence (rows like CodeV-R1's)",
    ]
    for pace in planned.paces:
        cost = "" if pace.dollars is None else f", {pace.dollars:7.2f} dollars for 10,000 rows"
        speed = f"{pace.seconds:7.2f} s a step, {pace.tokens_per_second:8,.0f} tokens/s"
        lines.append(f"at {100 * pace.utilisation:3.0f} %          {speed}{cost}")
    if planned.paper:
        rate, positions, rows = planned.paper.values()
        lines.append(
            f"the paper's {rate:.0f} tokens/s are {100 * positions:.1f} % of the peak if padding counts, "
            f"{100 * rows:.1f} % if tokens of rows do"
        )
    for mesh in planned.meshes:
        lines += _mesh_lines(mesh, chip.memory)
    return lines


def _mesh_lines(mesh: OnMesh, room: int) -> list[str]:
    head = f"mesh {mesh.fsdp},{mesh.tp}".ljust(18)
    if mesh.refused:
        return [f"{head}cannot work: {mesh.refused}"]
    verdict = "fits" if mesh.fits else "does not fit"
    lines = []
    if mesh.compiled is not None:
        found = mesh.compiled
        lines.append(
            f"{head}{verdict} {room / GIB:.0f} GiB: arguments {found.arguments / GIB:.1f}, temporaries "
            f"{found.temporaries / GIB:.1f}, peak {found.peak / GIB:.1f} GiB a device (compiled in "
            f"{found.lower_seconds + found.compile_seconds:.0f} s with {found.host_bytes / GIB:.1f} GiB here)"
        )
        head, verdict = " " * 18, "by arithmetic"
    elif mesh.error:
        lines.append(f"{head}{mesh.error}")
        head, verdict = " " * 18, "by arithmetic"
    assert mesh.memory is not None
    parts: dict[str, Any] = mesh.memory.to_json()
    listed = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts.items() if name != "total" and size)
    return [*lines, f"{head}{verdict}: {parts['total'] / GIB:.1f} GiB a device ({listed})"]
