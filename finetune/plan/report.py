"""A recipe on a machine: what fits, what a step costs, and what padding wastes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.adapters import match
from finetune.checkpoint.layout import tensors
from finetune.gemma4 import Gemma4Config, load_config
from finetune.jax_backend import ATTENTION_BLOCK
from finetune.mesh import check_mesh
from finetune.plan.chips import Topology
from finetune.plan.flops import adapter_size, count
from finetune.plan.lengths import MOST, Filling, draw_lengths, fill
from finetune.plan.lower import Compiled, NoCompiler, compile_step
from finetune.plan.memory import Memory, estimate
from finetune.recipe import ModelSpec, ParallelSpec, Recipe
from verieval.errors import VerievalError

UTILISATIONS = (0.2, 0.3, 0.4, 0.5, 0.6)
# Tokens a second on a v5p-8 that arXiv 2605.25645 measured, its mesh, and the length to which it pads every row.
PAPER_RATE, PAPER_TOPOLOGY, PAPER_LENGTH = 763.0, "v5p:2x2x1", 3072
# Shapes of models whose configuration is not at hand offline, from their published config.json.
SHIPPED = {"google/gemma-4-31B-it": "gemma-4-31b.json", "google/gemma-4-31B": "gemma-4-31b.json"}
Progress = Callable[[str], None]
Mesh = tuple[int, int]


@dataclass(frozen=True)
class OnMesh:
    """One mesh.

    Attributes:
        fsdp, tp: its sides.
        refused: why nothing can be compiled for it; empty where it can.
        memory: of a device, by arithmetic.
        compiled: of a device, by the compiler; None where it was not asked, or refused the program.
        error: what the compiler said then.
        fits: in the chip's memory; by the compiler where it was asked, else by arithmetic.
    """

    fsdp: int
    tp: int
    refused: str = ""
    memory: Memory | None = None
    compiled: Compiled | None = None
    error: str = ""
    fits: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        memory, compiled = self.memory, self.compiled
        return {
            "fsdp": self.fsdp,
            "tp": self.tp,
            "refused": self.refused or None,
            "arithmetic": None if memory is None else memory.to_json(),
            "compiled": None if compiled is None else compiled.to_json(),
            "error": self.error or None,
            "fits": self.fits,
        }


@dataclass(frozen=True)
class Pace:
    """A step at a share of the peak; seconds, tokens of rows a second, and dollars of an epoch of the drawn rows."""

    utilisation: float
    seconds: float
    tokens_per_second: float
    dollars: float | None


@dataclass(frozen=True)
class Planned:
    """All that ``verieval plan`` says.

    Attributes:
        recipe: its name.
        topology: the machine.
        parameters: of the model, and those that are trained.
        model_flops: of a step, see :mod:`finetune.plan.flops`; ``executed_flops`` the same.
        packed, padded: the recipe's sequences filled with rows, or with one row each.
        paces: of the recipe as it is.
        paper: utilisation that the paper's rate is, counted with padding and without; None for another machine.
        meshes: those that were looked at.
    """

    recipe: str
    topology: Topology
    parameters: tuple[int, int]
    model_flops: float
    executed_flops: float
    packed: Filling
    padded: Filling
    paces: tuple[Pace, ...]
    paper: dict[str, float] | None
    meshes: tuple[OnMesh, ...] = field(default=())

    @property
    def padding_packed(self) -> float:
        """Share of the operations that is spent on positions without a token."""
        return 1 - self.packed.used

    @property
    def padding_padded(self) -> float:
        """The same with a row a sequence."""
        return 1 - self.padded.used

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "schema": 1,
            "recipe": self.recipe,
            "topology": {"name": self.topology.name, "count": self.topology.count, "chip": asdict(self.topology.chip)},
            "parameters": {"model": self.parameters[0], "trained": self.parameters[1]},
            "flops_per_step": {"model": self.model_flops, "executed": self.executed_flops},
            "positions_used": {"packed": self.packed.used, "padded": self.padded.used},
            "steps_per_epoch": {"packed": self.packed.steps, "padded": self.padded.steps},
            "flops_on_padding": {"packed": self.padding_packed, "padded": self.padding_padded},
            "paces": [asdict(pace) for pace in self.paces],
            "paper": self.paper,
            "meshes": [mesh.to_json() for mesh in self.meshes],
        }


def find_config(spec: ModelSpec) -> Gemma4Config:
    """The shape of the recipe's model, without its weights and without a network.

    Raises:
        VerievalError: it is not at hand.
    """
    if spec.config:
        return load_config(spec.config_path)
    folder = Path(spec.source).expanduser()
    if folder.is_dir():
        return load_config(folder)
    if spec.source in SHIPPED:
        return load_config(Path(__file__).parent / SHIPPED[spec.source])
    raise VerievalError(
        f"model.source: the shape of {spec.source} is not at hand; give its folder or config with "
        f"--set model.source=FOLDER (known without one: {', '.join(SHIPPED)})"
    )


def make_plan(
    name: str,
    recipe: Recipe,
    topology: Topology,
    meshes: tuple[Mesh, ...],
    *,
    compiles: bool,
    progress: Progress = lambda text: None,
) -> Planned:
    """Plan a recipe for a machine.

    Args:
        name: of the recipe.
        recipe: what is trained; its ``[parallel]`` is not looked at.
        topology: the machine.
        meshes: sides (fsdp, tp) to look at.
        compiles: ask the TPU's compiler; otherwise, and for GPUs, memory is arithmetic alone.
        progress: told what is being done.

    Raises:
        VerievalError: the model's shape is not known, or the compiler is not installed.
    """
    config = find_config(recipe.model)
    check(config, recipe, topology)
    length, batch = recipe.train.sequence_length, recipe.train.batch
    model = count(config, recipe.lora, length, executed=False)
    executed = count(config, recipe.lora, length, executed=True, remat=recipe.train.remat, block=ATTENTION_BLOCK)
    lengths = draw_lengths(most=min(length, recipe.data.max_tokens))
    packed, padded = (fill(lengths, recipe, packing=packing) for packing in (True, False))
    now = packed if recipe.data.packing else padded
    peak = topology.chip.flops * topology.count
    flops = batch * model.total
    tokens = batch * length * now.used
    paces = tuple(
        Pace(
            share, flops / (peak * share), tokens * peak * share / flops,
            None if topology.chip.dollars is None
            else topology.chip.dollars * topology.count * now.steps * flops / (peak * share) / 3600,
        )
        for share in UTILISATIONS
    )  # fmt: skip
    found = tuple(_on_mesh(config, recipe, topology, mesh, compiles, progress) for mesh in meshes)
    return Planned(
        recipe=name,
        topology=topology,
        parameters=_parameters(config, recipe),
        model_flops=flops,
        executed_flops=batch * executed.total,
        packed=packed,
        padded=padded,
        paces=paces,
        paper=_paper(config, recipe, topology),
        meshes=found,
    )


def check(config: Gemma4Config, recipe: Recipe, topology: Topology) -> None:
    """See that the backend which the machine needs would train the recipe.

    Raises:
        VerievalError: it would not, with the reason.
    """
    if recipe.lora:
        match(config, recipe.lora)
    if topology.compiles and recipe.optim.name != "adamw":
        raise VerievalError(
            f"optim.name: the JAX backend, which TPUs need, knows adamw alone, and not {recipe.optim.name}"
        )
    recipe.model.check_dtypes()


def _parameters(config: Gemma4Config, recipe: Recipe) -> tuple[int, int]:
    base = sum(tensor.count for tensor in tensors(config) if tensor.row.role != "buffer")
    return base, adapter_size(config, recipe.lora) if recipe.lora else base


def _paper(config: Gemma4Config, recipe: Recipe, topology: Topology) -> dict[str, float] | None:
    """The paper's tokens a second as a share of the peak: as positions, padding among them, and as tokens of rows."""
    if topology.name != PAPER_TOPOLOGY:
        return None
    each = count(config, recipe.lora, PAPER_LENGTH, executed=False).total / PAPER_LENGTH
    share = PAPER_RATE * each / (topology.chip.flops * topology.count)
    used = fill(draw_lengths(most=MOST), _padded(recipe), packing=False).used
    return {"tokens_per_second": PAPER_RATE, "as_positions": share, "as_tokens_of_rows": share / used}


def _padded(recipe: Recipe) -> Recipe:
    return replace(recipe, train=replace(recipe.train, sequence_length=PAPER_LENGTH))


def _on_mesh(
    config: Gemma4Config, recipe: Recipe, topology: Topology, mesh: Mesh, compiles: bool, progress: Progress
) -> OnMesh:
    fsdp, tp = mesh
    refused = refuse(config, recipe, topology, mesh)
    if refused:
        return OnMesh(fsdp, tp, refused=refused)
    memory = estimate(config, recipe, fsdp=fsdp, tp=tp)
    if not (compiles and topology.compiles):
        return OnMesh(fsdp, tp, memory=memory, fits=memory.total <= topology.chip.memory)
    progress(f"compiling for {topology.name}, mesh {fsdp},{tp}")
    spec = replace(recipe, backend="jax", parallel=ParallelSpec(fsdp=fsdp, tp=tp))
    try:
        compiled = compile_step(config, spec, topology.name)
    except NoCompiler:
        raise
    except VerievalError as error:
        return OnMesh(fsdp, tp, memory=memory, error=str(error))
    return OnMesh(fsdp, tp, memory=memory, compiled=compiled, fits=compiled.peak <= topology.chip.memory)


def refuse(config: Gemma4Config, recipe: Recipe, topology: Topology, mesh: Mesh) -> str:
    """Why a mesh cannot work; empty where it can. Nothing is compiled for it."""
    fsdp, tp = mesh
    if fsdp * tp > topology.count:
        return f"{fsdp} x {tp} needs {fsdp * tp} devices, and {topology.name} has {topology.count}"
    if not topology.compiles and tp > 1:
        return "the torch backend shards by fsdp alone"
    whole = recipe.train.micro_batch * fsdp
    if recipe.train.batch % whole:
        micro = recipe.train.micro_batch
        return f"train.batch {recipe.train.batch} is no multiple of train.micro_batch {micro} x fsdp {fsdp}"
    if not topology.compiles:
        return ""
    try:
        check_mesh(config, fsdp=fsdp, tp=tp, lora=recipe.lora)
    except VerievalError as error:
        return str(error)
    return ""


def all_meshes(count: int) -> tuple[Mesh, ...]:
    """Every way to lay so many devices out."""
    return tuple((count // tp, tp) for tp in range(1, count + 1) if count % tp == 0)
