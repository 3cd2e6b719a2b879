"""The same run on torch and on JAX: from one checkpoint, with the same adapters, over the same batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from finetune.backend import Micro
from finetune.checkpoint.layout import adapters, places
from finetune.jax_backend.backend import JaxBackend
from finetune.jax_backend.weights import place as put
from finetune.loss import Totals
from finetune.recipe import ParallelSpec, Recipe
from finetune.schedule import learning_rate
from finetune.steps import Steps, micro_batches
from tests.finetune.torch_backend.cases import LORA, recipe, row

BATCH, LENGTH, VOCABULARY = 8, 64, 256
OBJECTIVES: Mapping[str, float] = {"masked": 0.0, "unmasked": 1.0, "0.1": 0.1}
MESHES = ((1, 1), (1, 4), (2, 2))
_DRAW = np.random.default_rng(7)
ROWS = tuple(row(int(_DRAW.integers(1, 24)), int(_DRAW.integers(2, 32)), 100 + seed) for seed in range(60))


@dataclass(frozen=True)
class Case:
    """What differs between the runs; ``accumulate`` is the number of micro-batches one after the other."""

    objective: str = "0.1"
    packing: bool = True
    accumulate: int = 4
    mesh: tuple[int, int] = (1, 1)

    def recipe(self, folder: Path, steps: int, **changes: Any) -> Recipe:
        """The JAX recipe."""
        fsdp, tp = self.mesh
        spec = recipe(
            folder,
            {
                "data": {"packing": self.packing},
                "loss": {"prompt_weight": OBJECTIVES[self.objective]},
                "lora": {**LORA, "dropout": 0.0},
                "train": {
                    "steps": steps, "batch": BATCH, "micro_batch": BATCH // (self.accumulate * fsdp),
                    "sequence_length": LENGTH, "loss_chunk": 64,
                },
            },
        )  # fmt: skip
        return replace(spec, backend="jax", parallel=ParallelSpec(fsdp=fsdp, tp=tp), **changes)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run came to.

    Attributes:
        totals: of every step.
        norms: of the gradients of every step.
        gradients: of the first step, clipped as the optimizer sees them, by path.
        weights: at the end, by path.
    """

    totals: list[Totals]
    norms: list[float]
    gradients: dict[str, np.ndarray[Any, Any]]
    weights: dict[str, np.ndarray[Any, Any]]

    @property
    def losses(self) -> np.ndarray[Any, Any]:
        return np.array([totals.objective for totals in self.totals])


@dataclass(frozen=True)
class Differences:
    """The largest difference of two runs: loss and gradients of the first step, and losses of all."""

    loss: float
    gradient: float
    curve: float

    @staticmethod
    def between(one: Run, two: Run) -> Differences:
        assert one.gradients.keys() == two.gradients.keys()
        losses = np.abs(one.losses - two.losses)
        gradient = max(float(np.abs(one.gradients[path] - two.gradients[path]).max()) for path in one.gradients)
        return Differences(float(losses[0]), gradient, float(losses.max()))


def batches(spec: Recipe) -> list[Sequence[Micro]]:
    """The micro-batches of every step."""
    steps = Steps(ROWS, spec, pad=0)
    return [micro_batches(steps.batch(step), spec.loss, spec.train.micro_batch) for step in range(spec.train.steps)]


def begin(config: Any, spec: Recipe) -> dict[str, np.ndarray[Any, Any]]:
    """Adapters of which both factors have a gradient."""
    draw = np.random.default_rng(3)
    return {
        tensor.path: draw.normal(size=tensor.shape).astype(np.float32) * np.float32(0.05)
        for tensor in adapters(config, spec.lora)
    }


def start_jax(backend: JaxBackend, weights: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """The backend before its first step, with other adapters."""
    tensors = {tensor.path: tensor for tensor in backend.program.trained}
    backend.state = backend.program.start(
        {path: put(tensors[path], value, backend.mesh) for path, value in weights.items()}
    )


def run_jax(backend: JaxBackend, spec: Recipe, weights: Mapping[str, np.ndarray[Any, Any]]) -> Run:
    """A run of the recipe; the backend's own may differ in what decides no program (objective, packing)."""
    start_jax(backend, weights)
    totals, norms, gradients = [], [], {}
    for step, micros in enumerate(batches(spec)):
        found = backend.step(micros, learning_rate=learning_rate(step, spec.train.steps, spec.optim), seed=step)
        totals.append(found.totals)
        norms.append(found.grad_norm)
        if step == 0:
            gradients = {path: np.asarray(value) for path, value in backend.state.first.items()}
    scale = 1.0 / (1.0 - spec.optim.beta1)
    return Run(
        totals, norms, {path: value * scale for path, value in gradients.items()}, jax.device_get(backend.state.weights)
    )


def run_torch(spec: Recipe, config: Any, weights: Mapping[str, np.ndarray[Any, Any]]) -> Run:
    """The same on the torch backend, in one process."""
    import torch

    from finetune.torch_backend.backend import build

    micro = spec.train.micro_batch * spec.parallel.fsdp
    spec = replace(spec, backend="torch", parallel=ParallelSpec(), train=replace(spec.train, micro_batch=micro))
    backend = build(spec, vocabulary=VOCABULARY)
    tensors = {tensor.path: tensor for tensor in adapters(config, spec.lora)}
    where = {}
    for place in places(tensors.values(), "transformers", ""):
        [name] = [n for n in backend._trained if n.replace(".default", "").endswith(f".{place.name}")]
        where[name] = place
    assert where.keys() == backend._trained.keys()

    def ours(values: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        found = {path: np.zeros(tensor.shape, np.float32) for path, tensor in tensors.items()}
        for name, place in where.items():
            part = place.tensor.read(values[name].detach().numpy(), "transformers")
            found[place.tensor.path][place.tensor.index(place.place)] = part
        return found

    with torch.no_grad():
        for name, place in where.items():
            part = weights[place.tensor.path][place.tensor.index(place.place)]
            value = place.tensor.write(part, "transformers")
            backend._trained[name].copy_(torch.from_numpy(np.ascontiguousarray(value)))
    totals, norms, gradients = [], [], {}
    [optimizer] = backend.optimizers
    for step, micros in enumerate(batches(spec)):
        found = backend.step(micros, learning_rate=learning_rate(step, spec.train.steps, spec.optim), seed=step)
        totals.append(found.totals)
        norms.append(found.grad_norm)
        if step == 0:
            first = {name: optimizer.state[value]["exp_avg"] for name, value in backend._trained.items()}
            gradients = {path: value / (1.0 - spec.optim.beta1) for path, value in ours(first).items()}
    return Run(totals, norms, gradients, ours(backend._trained))
