"""One optimizer step as a program: gradients summed over micro-batches, AdamW, and nothing changed where a number is
not finite. It is compiled for arrays, or ahead of time for their shapes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from finetune.checkpoint.layout import Tensor, adapters, tensors
from finetune.gemma4 import Gemma4Config
from finetune.jax_backend.gemma4 import Compute, Gemma4
from finetune.jax_backend.sharding import batch_sharding, sharding
from finetune.jax_backend.weights import abstract, place
from finetune.recipe import LoraSpec, OptimSpec, TrainSpec

Arrays = dict[str, Array]
# Roles that decay: matrices, and their low-rank factors; norms and embeddings do not.
DECAYED = ("matrix", "adapter")


class State(NamedTuple):
    """What a step changes, everything by path.

    Attributes:
        weights: that are trained, float32.
        first, second: AdamW's moments of them.
        steps: that were done, int32.
    """

    weights: Arrays
    first: Arrays
    second: Arrays
    steps: Array


class Inputs(NamedTuple):
    """A batch as the program takes it; every array has the shape (sequences, length), but for ``keys``.

    For a step each has an axis more in front: the micro-batches that are computed one after the other.

    Attributes:
        ids, positions, segments, targets: of a :class:`finetune.data.batch.Batch`, int32.
        coefficients: see :class:`finetune.backend.Micro`, float32.
        keys: of the dropout, one for each sequence (key data, uint32); None is evaluation.
    """

    ids: Any
    positions: Any
    segments: Any
    targets: Any
    coefficients: Any
    keys: Any = None


class Found(NamedTuple):
    """What a step tells.

    Attributes:
        nll: of every position, float32, the shape of the inputs.
        objective: the loss.
        norm: of the gradients before clipping.
        finite: both are; otherwise the state is what it was.
    """

    nll: Array
    objective: Array
    norm: Array
    finite: Array


@dataclass(frozen=True)
class Program:
    """All that decides how a step is computed.

    Attributes:
        config: of the model.
        lora: the recipe's adapters; None trains every weight.
        optim: the recipe's optimizer.
        compute: how the model is computed, and on which mesh.
    """

    config: Gemma4Config
    lora: LoraSpec | None
    optim: OptimSpec
    compute: Compute

    @cached_property
    def trained(self) -> tuple[Tensor, ...]:
        """The arrays that are trained."""
        if self.lora:
            return adapters(self.config, self.lora)
        return tuple(tensor for tensor in tensors(self.config) if tensor.row.role != "buffer")

    @cached_property
    def whole(self) -> Sharding:
        """Of what every device has as a whole."""
        mesh = self.compute.mesh
        return SingleDeviceSharding(jax.local_devices()[0]) if mesh is None else NamedSharding(mesh, PartitionSpec())

    @cached_property
    def shardings(self) -> State:
        """Where the state lies; said of every array, since another place would be another program."""
        mesh = self.compute.mesh
        each: Any = {tensor.path: self.whole if mesh is None else sharding(mesh, tensor) for tensor in self.trained}
        whole: Any = self.whole
        return State(each, each, each, whole)

    @cached_property
    def adam(self) -> optax.GradientTransformation:
        """AdamW but for the learning rate, which comes with each step."""
        decays = {tensor.path: tensor.row.role in DECAYED for tensor in self.trained}
        return optax.chain(
            optax.scale_by_adam(self.optim.beta1, self.optim.beta2, self.optim.eps),
            optax.add_decayed_weights(self.optim.weight_decay, decays),
        )

    def start(self, weights: Arrays) -> State:
        """The state before the first step."""

        def zeros() -> Arrays:
            return {
                tensor.path: place(tensor, np.zeros(tensor.shape, np.float32), self.compute.mesh)
                for tensor in self.trained
            }

        steps = jax.make_array_from_callback((), self.whole, lambda _: np.zeros((), np.int32))
        return State(weights, zeros(), zeros(), steps)

    def shapes(self, dtype: str, train: TrainSpec) -> tuple[State, Arrays, Inputs, Any]:
        """What :attr:`step` takes, as shapes with their places: for compiling it ahead of time.

        Args:
            dtype: of the weights that are not trained.
            train: batch, micro-batch and length.
        """
        mesh = self.compute.mesh
        base: Any = abstract(self.config, dtype, mesh=mesh)
        trained: Any = {
            tensor.path: jax.ShapeDtypeStruct(tensor.shape, jnp.float32, sharding=self.shardings.weights[tensor.path])
            for tensor in self.trained
        }
        frozen = {path: value for path, value in base.items() if path not in trained}
        scalar: Any = jax.ShapeDtypeStruct((), jnp.int32, sharding=self.whole)
        shares = 1 if mesh is None else mesh.shape["fsdp"]
        sequences = train.micro_batch * shares
        shape = (train.batch // sequences, sequences, train.sequence_length)
        where = self.input_sharding(stacked=True)
        ids = jax.ShapeDtypeStruct(shape, jnp.int32, sharding=where)
        coefficients = jax.ShapeDtypeStruct(shape, jnp.float32, sharding=where)
        drops = self.lora is not None and self.lora.dropout > 0
        size = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0))).shape
        keys = jax.ShapeDtypeStruct((*shape[:2], *size), jnp.uint32, sharding=where) if drops else None
        rate = jax.ShapeDtypeStruct((), jnp.float32, sharding=self.whole)
        return State(trained, trained, trained, scalar), frozen, Inputs(ids, ids, ids, ids, coefficients, keys), rate

    @cached_property
    def step(self) -> Any:
        """``step(state, frozen, inputs, rate) -> (state, found)``, jitted; the state that is given is used up.

        Args of it:
            state: see :class:`State`.
            frozen: the other weights by path.
            inputs: with an axis for the micro-batches in front.
            rate: the learning rate, a float32 scalar.
        """
        return jax.jit(self._step, donate_argnums=0, out_shardings=(self.shardings, self.whole))

    @cached_property
    def evaluate(self) -> Any:
        """``evaluate(weights, frozen, inputs) -> nll``, jitted; without dropout."""
        return jax.jit(lambda *args: self._loss(*args)[1], out_shardings=self.whole)

    def input_sharding(self, *, stacked: bool) -> Sharding:
        """Where inputs lie: sequences shared out along ``fsdp``."""
        mesh = self.compute.mesh
        if mesh is None:
            return self.whole
        spec = batch_sharding(mesh).spec
        return NamedSharding(mesh, PartitionSpec(None, *spec) if stacked else spec)

    # ---- within the program ------------------------------------------------------------------------------------------

    def _loss(self, weights: Arrays, frozen: Arrays, inputs: Inputs) -> tuple[Array, Array]:
        model = Gemma4(self.config, {**frozen, **weights}, self.lora)
        keys = None if inputs.keys is None else jax.random.wrap_key_data(inputs.keys)
        return model.loss(
            inputs.ids, inputs.positions, inputs.segments, inputs.targets, inputs.coefficients, self.compute, keys=keys
        )

    def _gradients(self, weights: Arrays, frozen: Arrays, inputs: Inputs) -> tuple[Arrays, Array, Array]:
        """Gradients, objective and NLL, the first two summed over the micro-batches."""

        def one(total: Arrays | None, part: Inputs) -> tuple[Arrays, tuple[Array, Array]]:
            towards = jax.value_and_grad(self._loss, has_aux=True)
            (objective, nll), grads = towards(weights, frozen, part)
            grads = self._placed(grads)
            return grads if total is None else jax.tree.map(jnp.add, total, grads), (objective, nll)

        if inputs.ids.shape[0] == 1:
            grads, (objective, nll) = one(None, jax.tree.map(lambda array: array[0], inputs))
            return grads, objective, nll[None]
        start = self._placed(jax.tree.map(jnp.zeros_like, weights))
        grads, (objectives, nll) = jax.lax.scan(one, start, inputs)
        return grads, objectives.sum(), nll

    def _placed(self, arrays: Arrays) -> Arrays:
        """Like the weights, so that gradients are summed straight into the parts that each device keeps."""
        if self.compute.mesh is None:
            return arrays
        where = self.shardings.weights
        return {path: jax.lax.with_sharding_constraint(array, where[path]) for path, array in arrays.items()}

    def _step(self, state: State, frozen: Arrays, inputs: Inputs, rate: Array) -> tuple[State, Found]:
        grads, objective, nll = self._gradients(state.weights, frozen, inputs)
        norm = jnp.sqrt(jnp.stack([jnp.square(array).sum() for array in grads.values()]).sum())
        finite = jnp.isfinite(objective) & jnp.isfinite(norm)
        if self.optim.clip_norm:
            scale = self.optim.clip_norm / jnp.maximum(norm, self.optim.clip_norm)
            grads = jax.tree.map(lambda array: array * scale, grads)
        before = (optax.ScaleByAdamState(state.steps, state.first, state.second), *self.adam.init(state.weights)[1:])
        updates, (adam, *_) = self.adam.update(grads, before, state.weights)
        weights = jax.tree.map(lambda weight, update: weight - rate * update, state.weights, updates)
        after = State(weights, adam.mu, adam.nu, adam.count)
        kept = jax.tree.map(lambda new, old: jnp.where(finite, new, old), after, state)
        return kept, Found(nll, objective, norm, finite)
