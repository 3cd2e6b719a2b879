"""The backend itself: one process, or one on each host of a mesh; every process knows every batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh

from finetune.adapters import match
from finetune.backend import Micro, StepResult
from finetune.checkpoint.layout import tensors
from finetune.cpu import bfloat16_note
from finetune.data.batch import Batch
from finetune.gemma4 import Gemma4Config, load_config
from finetune.jax_backend import ATTENTION_BLOCK
from finetune.jax_backend.gemma4 import Compute
from finetune.jax_backend.lora import new_adapters
from finetune.jax_backend.sharding import make_mesh
from finetune.jax_backend.source import Source, find_source
from finetune.jax_backend.step import Inputs, Program, State
from finetune.jax_backend.weights import load_weights, random_weights
from finetune.loss import Totals, totals
from finetune.mesh import check_mesh
from finetune.processes import COORDINATOR, NUMBER, RANK
from finetune.recipe import Recipe
from verieval.errors import VerievalError
from verieval.judge.cache import cache_folder

STATE = "state"


def build(recipe: Recipe, *, vocabulary: int) -> JaxBackend:
    """Load the recipe's model and make it ready for the first step.

    Where the environment names a coordinator (``JAX_COORDINATOR_ADDRESS``), this process joins the others first:
    ``JAX_NUM_PROCESSES`` and ``JAX_PROCESS_ID`` say how many there are and which it is (on clusters that JAX knows it
    finds out by itself).

    Args:
        recipe: what to train.
        vocabulary: the tokenizer's size; no id of the data is larger.

    Raises:
        VerievalError: the recipe cannot be executed here, with the reason.
    """
    _join()
    keep_programs()
    return JaxBackend(recipe, vocabulary)


def _join() -> None:
    """Find the other processes, where there are any."""
    if not os.environ.get(COORDINATOR) or jax.distributed.is_initialized():
        return
    try:
        count, number = (int(os.environ[name]) if os.environ.get(name) else None for name in (NUMBER, RANK))
        jax.distributed.initialize(num_processes=count, process_id=number)
    except (ValueError, RuntimeError) as error:
        raise VerievalError(
            f"cannot join the processes of {COORDINATOR}={os.environ[COORDINATOR]} ({error}): set {NUMBER} and {RANK} "
            "for every process, or unset it to train on this host alone"
        ) from error


def keep_programs() -> None:
    """Compiled programs outlive the process, so that a resumed run does not compile again; the user's own folder for
    them (``JAX_COMPILATION_CACHE_DIR``) is left.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir is None:
        config.update("jax_compilation_cache_dir", str(cache_folder() / "jax"))


class JaxBackend:
    """See :class:`finetune.backend.Backend`; made by :func:`build`."""

    def __init__(self, recipe: Recipe, vocabulary: int) -> None:
        self.recipe = recipe
        self.rank, self.world = jax.process_index(), jax.process_count()
        self.source = find_source(recipe.model)
        self.config = load_config(self.source.config)
        if vocabulary > self.config.vocabulary:
            raise VerievalError(
                f"the tokenizer has {vocabulary} tokens and the model {self.config.vocabulary}: they do not belong "
                "together"
            )
        recipe.model.check_dtypes()
        self.notes: tuple[str, ...] = (match(self.config, recipe.lora)[1],) if recipe.lora else ()
        if jax.default_backend() == "cpu" and recipe.model.compute_dtype == "bfloat16":
            self.notes += bfloat16_note()
        self.mesh = _mesh(recipe, self.config, self.world)
        if self.mesh is not None:
            self.notes += (f"a mesh of {recipe.parallel.fsdp} (fsdp) x {recipe.parallel.tp} (tp) devices",)
        self.program = Program(self.config, recipe.lora, recipe.optim, make_compute(recipe, self.mesh))
        self._make(self.source)

    def _make(self, source: Source) -> None:
        """The weights, on their devices."""
        recipe, config = self.recipe, self.config
        seed, dtype = recipe.train.seed, recipe.model.dtype
        if source.weights is None:
            base = random_weights(config, dtype, seed=seed, qk_norm=recipe.model.qk_norm_init, mesh=self.mesh)
        else:
            base = load_weights(source.weights, config, dtype, mesh=self.mesh)
        if recipe.lora:
            trained = new_adapters(config, recipe.lora, seed=seed, mesh=self.mesh)
        else:
            trained = {tensor.path: base.pop(tensor.path) for tensor in self.program.trained}
        self.frozen = base
        self.state: State = self.program.start(trained)
        buffers = {tensor.path for tensor in tensors(config) if tensor.row.role == "buffer"}
        self.trainable = sum(array.size for array in trained.values())
        self.total = self.trainable + sum(array.size for path, array in base.items() if path not in buffers)

    # ---- the work ----------------------------------------------------------------------------------------------------

    def step(self, micros: Sequence[Micro], *, learning_rate: float, seed: int) -> StepResult:
        """See :class:`finetune.backend.Backend`."""
        parts = [self._inputs(group, seed, number) for number, group in enumerate(self._groups(micros))]
        inputs = self._place(jax.tree.map(lambda *arrays: np.stack(arrays), *parts), stacked=True)
        self.state, found = self.program.step(self.state, self.frozen, inputs, np.float32(learning_rate))
        if not found.finite:
            raise FloatingPointError(f"loss {float(found.objective)}, gradient norm {float(found.norm)}")
        nll = np.asarray(found.nll).reshape(-1, found.nll.shape[-1])
        return StepResult(_totals(micros, nll), float(found.norm))

    def evaluate(self, micros: Sequence[Micro]) -> Totals:
        """See :class:`finetune.backend.Backend`."""
        result = Totals()
        for group in self._groups(micros):
            inputs = self._place(self._inputs(group), stacked=False)
            nll = self.program.evaluate(self.state.weights, self.frozen, inputs)
            result += _totals(group, np.asarray(nll))
        return result

    def _groups(self, micros: Sequence[Micro]) -> Iterator[Sequence[Micro]]:
        """Micro-batches that are computed at once: one for each part of the mesh that shares out the batch."""
        size = self.recipe.parallel.fsdp
        if len(micros) % size:
            raise ValueError(f"{len(micros)} micro-batches cannot be shared out to {size} devices")
        for start in range(0, len(micros), size):
            yield micros[start : start + size]

    def _inputs(self, group: Sequence[Micro], seed: int | None = None, number: int = 0) -> Inputs:
        """The arrays of a group; with a seed, those of its sequences' dropout, ``number`` groups having gone before."""
        batch = Batch.join([micro.batch for micro in group])
        coefficients = np.concatenate([micro.coefficient for micro in group])
        keys = None
        if seed is not None and self.recipe.lora and self.recipe.lora.dropout:
            # A key is two words: the step's seed, and the number of the sequence in the step.
            first = number * len(batch)
            words = [(seed & 0xFFFFFFFF, first + index) for index in range(len(batch))]
            keys = np.array(words, dtype=np.uint32)
        return Inputs(batch.ids, batch.positions, batch.segments, batch.targets, coefficients, keys)

    def _place(self, inputs: Inputs, *, stacked: bool) -> Any:
        """Onto the devices: each process has the whole, and puts its own devices' parts there."""
        where = self.program.input_sharding(stacked=stacked)
        return jax.tree.map(
            lambda array: jax.make_array_from_callback(array.shape, where, lambda index: array[index]), inputs
        )

    # ---- among processes ---------------------------------------------------------------------------------------------

    def agree(self, value: bool) -> bool:
        """See :class:`finetune.backend.Backend`."""
        if self.world == 1:
            return value
        from jax.experimental.multihost_utils import process_allgather

        return bool(np.any(process_allgather(np.array(value))))

    # ---- what is written ---------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """See :class:`finetune.backend.Backend`; an Orbax checkpoint, each device's parts from its own process.

        It can be converted: where every weight is trained, what no training changes is written with them.
        """
        from orbax.checkpoint import StandardCheckpointer

        with StandardCheckpointer() as checkpointer:
            checkpointer.save(folder.resolve() / STATE, self._saved())

    def restore(self, folder: Path) -> None:
        """See :class:`finetune.backend.Backend`; it may have been written on another mesh."""
        from orbax.checkpoint import StandardCheckpointer

        with StandardCheckpointer() as checkpointer:
            found = checkpointer.restore(folder.resolve() / STATE, jax.tree.map(_abstract, self._saved()))
        found["weights"] = {path: found["weights"][path] for path in self.state.weights}
        self.state = State(**found)

    def _saved(self) -> dict[str, Any]:
        whole = {} if self.recipe.lora else self.frozen
        return self.state._asdict() | {"weights": {**self.state.weights, **whole}}

    def export(self, folder: Path) -> dict[str, Any]:
        """See :class:`finetune.backend.Backend`."""
        from finetune.jax_backend.export import export

        return export(self, folder)


def make_compute(recipe: Recipe, mesh: Mesh | None) -> Compute:
    """How the recipe has the model computed."""
    train = recipe.train
    return Compute(
        dtype=recipe.model.compute_dtype,
        remat=train.remat,
        loss_chunk=train.loss_chunk * recipe.parallel.fsdp,
        attention_block=ATTENTION_BLOCK,
        mesh=mesh,
    )


def _mesh(recipe: Recipe, config: Gemma4Config, world: int) -> Mesh | None:
    """The recipe's mesh; None where it is one device."""
    fsdp, tp = recipe.parallel.fsdp, recipe.parallel.tp
    check_mesh(config, fsdp=fsdp, tp=tp, lora=recipe.lora)
    if world > 1 and fsdp * tp != jax.device_count():
        raise VerievalError(
            f"parallel.fsdp {fsdp} x parallel.tp {tp} is {fsdp * tp} devices, and the {world} processes have "
            f"{jax.device_count()}: with several processes all devices must be in the mesh"
        )
    return make_mesh(fsdp, tp) if fsdp * tp > 1 else None


def _totals(micros: Sequence[Micro], nll: np.ndarray[Any, Any]) -> Totals:
    """Sums in float64 on the host."""
    batch = Batch.join([micro.batch for micro in micros])
    return totals(nll.astype(np.float64), np.concatenate([micro.coefficient for micro in micros]), batch)


def _abstract(array: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)
