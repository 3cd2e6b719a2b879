"""Operations of a training step, counted from shapes: a multiplication and an addition are two.

Two counts: ``model`` is what the mathematics asks for (causal attention meets half of the positions, nothing is
recomputed), by which utilisation is measured; ``executed`` is what this project's JAX program computes: masked scores,
and layers a second time where the recipe recomputes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from finetune.checkpoint.layout import adapters
from finetune.gemma4 import Gemma4Config, LayerShape
from finetune.recipe import LoraSpec


@dataclass(frozen=True)
class Work:
    """Operations of one sequence in a step, by what they are for.

    Attributes:
        base: products with the base's matrices, forward and towards the inputs.
        adapters: products with low-rank factors, forward, towards the inputs and the factors.
        weights: gradients of the base's matrices, where they are trained.
        attention: scores and their products with values, forward and backward.
        head: logits and their gradients.
        recomputed: the layers' forward once more.
    """

    base: float
    adapters: float
    weights: float
    attention: float
    head: float
    recomputed: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.base + self.adapters + self.weights + self.attention + self.head + self.recomputed


def matrix_size(config: Gemma4Config, shape: LayerShape) -> int:
    """Numbers in the matrices of a layer that every token meets."""
    query = config.hidden * shape.heads * shape.head_dim
    key = 0 if shape.shares else config.hidden * shape.kv_heads * shape.head_dim
    value = 0 if shape.shares or shape.key_is_value else key
    own = 2 * config.hidden * config.ple
    return 2 * query + key + value + 3 * config.hidden * shape.intermediate + own


def adapter_size(config: Gemma4Config, lora: LoraSpec | None) -> int:
    """Numbers in all adapters."""
    if lora is None:
        return 0
    return sum(tensor.count for tensor in adapters(config, lora))


def positions_met(length: int, window: int | None, *, block: int = 0, masked: bool = False) -> float:
    """Pairs of a query and a key in a sequence.

    Args:
        length: of the sequence.
        window: of a sliding layer; None sees all before it.
        block: queries that attend at one time, see :class:`finetune.jax_backend.attention.Rows`.
        masked: count what is computed and then masked too.
    """
    if not masked:
        seen = min(window or length, length)
        return seen * (seen + 1) / 2 + (length - seen) * seen
    if not block or block >= length:
        return float(length) * length
    total = 0
    for start in range(0, length, block):
        stop = min(start + block, length)
        first = 0 if window is None else max(0, start - window + 1)
        total += (stop - start) * (stop - first)
    return float(total)


def count(
    config: Gemma4Config, lora: LoraSpec | None, length: int, *, executed: bool, remat: bool = False, block: int = 0
) -> Work:
    """Operations of a training step on one sequence.

    Args:
        config: of the model.
        lora: the recipe's adapters; None trains every weight.
        length: positions of the sequence, padding among them.
        executed: see the module.
        remat: layers are computed again in the backward pass; of ``executed`` alone.
        block: see :func:`positions_met`.
    """
    matrices = sum(matrix_size(config, shape) for shape in config.layers)
    matrices += config.hidden * config.ple * len(config.layers)  # of the projection of per-layer inputs
    low = adapter_size(config, lora)
    forward = 2.0 * length * matrices
    attention = 0.0
    blocks_again = 0.0
    for shape in config.layers:
        window = config.window if shape.kind == "sliding_attention" else None
        pairs = positions_met(length, window, block=block, masked=executed)
        products = 2 * 2.0 * pairs * shape.heads * shape.head_dim
        attention += products
        # A block is recomputed when its gradient is asked for, whether or not its layer is.
        blocks_again += products if block and block < length else 0.0
    head = 2.0 * length * config.hidden * config.vocabulary
    recomputed = 0.0
    if executed:
        recomputed = (forward + 2.0 * length * low + attention if remat else 0.0) + blocks_again
    return Work(
        base=2 * forward,
        adapters=3 * 2.0 * length * low,
        weights=forward if lora is None else 0.0,
        attention=3 * attention,
        head=(2 if lora else 3) * head,
        recomputed=recomputed,
    )
