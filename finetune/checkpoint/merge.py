"""An adapter added to its base: in float32, rounded once to the base's dtype, some rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.checkpoint.source import Key, Source
from verieval.errors import VerievalError

Array = NDArray[Any]
FLOATS = ("float32", "bfloat16", "float16")
_BLOCK = 1 << 22  # numbers that are float32 at one time


@dataclass(frozen=True)
class Added:
    """What adding an adapter did to a weight: ``changed`` it, or was ``swallowed`` whole by its dtype.

    Where it is not ``finite``, the sum holds infinities or NaN, which are no weights.
    """

    changed: bool
    swallowed: bool
    finite: bool = True


def add_product(weight: Array, down: Array, up: Array, scale: float) -> Added:
    """Add ``scale * (up @ down)`` to a weight, in float32, rounded once to the weight's dtype.

    Args:
        weight: shape (outputs, inputs), changed in place.
        down: float32, shape (rank, inputs).
        up: float32, shape (outputs, rank).
        scale: alpha / rank.
    """
    changed, wanted, finite = False, False, True
    step = max(_BLOCK // weight.shape[1], 1)
    for start in range(0, len(weight), step):
        rows = slice(start, start + step)
        before = weight[rows]
        delta = np.float32(scale) * (up[rows] @ down)
        after = (before.astype(np.float32) + delta).astype(weight.dtype)
        wanted = wanted or bool(delta.any())
        changed = changed or not np.array_equal(after, before)
        finite = finite and bool(np.isfinite(after.astype(np.float32)).all())
        weight[rows] = after
    return Added(changed, wanted and not changed, finite)


class Merger:
    """Adds an adapter to the weights that it belongs to.

    Attributes:
        changed: how many weights it has changed.
        swallowed: names of weights of which the base's dtype holds no change, though the adapter has one.
    """

    def __init__(self, adapter: Source) -> None:
        assert adapter.lora is not None
        self._adapter, self._scale = adapter, adapter.lora.scale
        self._modules = {path.removesuffix("lora_a") for path, _ in adapter.places if path.endswith("lora_a")}
        self.changed = 0
        self.swallowed: list[str] = []

    @property
    def modules(self) -> int:
        """Weights that have an adapter."""
        return len(self._adapter.places) // 2

    def has(self, key: Key) -> bool:
        """Whether a weight has an adapter."""
        return key[0].removesuffix("kernel") in self._modules

    def add(self, key: Key, weight: Array, name: str) -> Array:
        """The merged weight.

        Args:
            key: of the weight.
            weight: with transformers' axes, shape (outputs, inputs); it is changed in place.
            name: for errors.
        """
        if not self.has(key):
            return weight
        if weight.dtype.name not in FLOATS:
            raise VerievalError(
                f"{name} is {weight.dtype.name}, and an adapter is merged into {', '.join(FLOATS)} alone"
            )
        path = key[0].removesuffix("kernel")
        down, up = (
            self._adapter.read((path + part, key[1]), "transformers").astype(np.float32)
            for part in ("lora_a", "lora_b")
        )
        added = add_product(weight, down, up, self._scale)
        if not added.finite:
            raise VerievalError(f"merging the adapter into {name} gives infinities or NaN; check both, and alpha")
        self.changed += added.changed
        if added.swallowed:
            self.swallowed.append(name)
        return weight

    def finish(self, name: str) -> None:
        """See that the merge has changed what it should.

        Args:
            name: of the adapter.

        Raises:
            VerievalError: it has changed nothing, or nothing of a weight that has a change.
        """
        if self.swallowed:
            some = ", ".join(self.swallowed[:6]) + (" and more" if len(self.swallowed) > 6 else "")
            raise VerievalError(
                f"merging {name} changes nothing in {len(self.swallowed)} weights ({some}): its change is smaller than "
                "the dtype of the base holds; use the adapter beside its base"
            )
        if not self.changed:
            raise VerievalError(f"merging {name} changes nothing: every B of it is zero; it was not trained")
