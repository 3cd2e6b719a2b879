"""The layout of a model, derived from the table: its arrays here, and its tensors under each other naming.

From :mod:`finetune.checkpoint.table` follow shapes, transposes, the stacks of equal layers that JAX scans over,
shardings, adapters, and what a checkpoint must hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from finetune.checkpoint import axes as named
from finetune.checkpoint.table import (
    BESIDE,
    HEAD_ROW,
    LAYER_ROWS,
    MODEL_ROWS,
    TUNIX_BESIDE,
    TUNIX_UNREAD,
    UNREAD,
    Form,
    Naming,
    Role,
    Row,
)
from finetune.gemma4 import Gemma4Config, LayerShape
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError

__all__ = [
    "HEAD_ROW", "LAYER_ROWS", "MODEL_ROWS", "PEFT_PREFIX", "STACKED", "Form", "Naming", "Place", "Role", "Row",
    "Tensor", "account", "adapters", "find_prefix", "may_pass", "places", "sizes", "tensors",
]  # fmt: skip

STACKED = ("groups", "repeats")
PEFT_PREFIX = "base_model.model."


def sizes(config: Gemma4Config, shape: LayerShape, rank: int = 0) -> dict[str, int]:
    """Size of every named axis in a layer of this shape."""
    return {
        "vocab": config.vocabulary,
        "embed": config.hidden,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "mlp": shape.intermediate,
        "ple": config.ple,
        "ple_vocab": config.ple_vocabulary,
        "depth": len(config.layers),
        "rank": rank,
        "scale": config.hidden,
        "head_scale": shape.head_dim,
        "ple_scale": config.ple,
        "one": 1,
    }


@dataclass(frozen=True)
class Tensor:
    """A row in a model: one array here, under other namings one tensor, or one for each layer that is stacked in it.

    Attributes:
        path: name of the array: ``embed_tokens.embedding``, ``layers.SEGMENT.RUN.self_attn.q_proj.kernel``.
        row: of the table, or derived from one of its rows for an adapter.
        shape: of the array, the two axes of the stack in front where there is one.
        axes: name of each of its axes.
        layers: number of the layer at each place of the stack, in order; empty where there is none.
        sizes: of the named axes, in pairs.
    """

    path: str
    row: Row
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    layers: tuple[int, ...]
    sizes: tuple[tuple[str, int], ...]

    @property
    def part_shape(self) -> tuple[int, ...]:
        """Shape of one layer's part, or of the whole where nothing is stacked."""
        return self.shape[2:] if self.layers else self.shape

    @property
    def count(self) -> int:
        """Numbers in the array."""
        return math.prod(self.shape)

    @property
    def inputs(self) -> int:
        """Axes (of a part) that a product sums over."""
        return named.inputs(self.row.axes)

    def index(self, place: int) -> tuple[int, ...]:
        """Where in the array the part of a place of :attr:`layers` stands; empty where nothing is stacked."""
        return divmod(place, self.shape[1]) if self.layers else ()

    def axes_in(self, naming: str) -> str:
        """Axes of a part under a naming."""
        return self.row.axes if naming == "ours" else self.row.forms[naming].axes

    def carry(self, array: Any, theirs: str, wanted: str) -> Any:
        """A part (the weight's own, of a fused tensor) from one naming's axes to another's."""
        return named.convert(array, self.axes_in(theirs), self.axes_in(wanted), dict(self.sizes))

    def read(self, array: Any, naming: str) -> Any:
        """A part as it is here, from one tensor of another naming."""
        return self.carry(array, naming, "ours")

    def write(self, array: Any, naming: str) -> Any:
        """The reverse of :meth:`read`."""
        return self.carry(array, "ours", naming)


@dataclass(frozen=True)
class Place:
    """One tensor of a checkpoint, or a part of one, and where it belongs.

    Attributes:
        name: in the checkpoint.
        shape: there; a fused tensor's is that of the whole.
        tensor: the array here.
        place: of :attr:`Tensor.layers`; 0 where nothing is stacked.
        part: which of the weights that are fused into the tensor; None where it is this one alone.
        index: what of the tensor in the checkpoint is the weight; empty where it is the whole.
    """

    name: str
    shape: tuple[int, ...]
    tensor: Tensor
    place: int
    part: int | None
    index: tuple[Any, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """What says which weight it is, whatever the naming."""
        return self.tensor.path, self.place


@lru_cache(maxsize=64)
def tensors(config: Gemma4Config) -> tuple[Tensor, ...]:
    """All arrays of the base model, in the order of the table: the model's own, then layer by layer."""
    whole = config.layers[0]
    result = [
        Tensor(
            row.path, row, named.shape(row.axes, sizes(config, whole)), named.flat(row.axes), (), _pairs(config, whole)
        )
        for row in (*MODEL_ROWS, HEAD_ROW)
        if row.where(config, whole)
    ]
    for number, segment in enumerate(config.segments):
        for index, run in enumerate(segment.runs):
            layers = tuple(layer for group in segment.layers(index) for layer in group)
            result += [
                Tensor(
                    f"layers.{number}.{index}.{row.path}",
                    row,
                    (segment.repeats, run.count, *named.shape(row.axes, sizes(config, run.shape))),
                    (*STACKED, *named.flat(row.axes)),
                    layers,
                    _pairs(config, run.shape),
                )
                for row in LAYER_ROWS
                if row.where(config, run.shape)
            ]
    return tuple(result)


def adapters(config: Gemma4Config, spec: LoraSpec) -> tuple[Tensor, ...]:
    """The arrays of the adapters, ``lora_a`` and ``lora_b`` of each linear module of the layers that is a target.

    Whether the targets fit the model is what :func:`finetune.adapters.match_targets` says.
    """
    result = []
    for tensor in tensors(config):
        if tensor.layers and tensor.row.linear in spec.targets:
            result += [_adapter(tensor, spec.rank, part) for part in ("lora_a", "lora_b")]
    return tuple(result)


def _adapter(tensor: Tensor, rank: int, part: str) -> Tensor:
    before, _, after = (side.strip() for side in tensor.row.axes.partition("->"))
    low, ours, theirs = {
        "lora_a": ("lora_A", f"{before} -> rank", f"rank ({before})"),
        "lora_b": ("lora_B", f"rank -> {after}", f"({after}) rank"),
    }[part]
    base = tensor.row.forms["transformers"].name.removesuffix(".weight")
    forms = {"transformers": Form(f"{base}.{low}.weight", theirs)}
    if "tunix" in tensor.row.forms:
        forms["tunix"] = _qwix(tensor.row.forms["tunix"], named.flat(before), part)
    row = replace(
        tensor.row,
        path=tensor.row.path.removesuffix("kernel") + part,
        axes=ours,
        role="adapter",
        forms=MappingProxyType(forms),
    )
    known = {**dict(tensor.sizes), "rank": rank}
    return replace(
        tensor,
        path=tensor.path.removesuffix("kernel") + part,
        row=row,
        shape=(*tensor.shape[:2], *named.shape(ours, known)),
        axes=(*STACKED, *named.flat(ours)),
        sizes=tuple(known.items()),
    )


def _qwix(base: Form, summed: tuple[str, ...], part: str) -> Form:
    """An adapter as Qwix 0.1.8 makes it for a weight: A has the axes that the product sums over, then the rank; B the
    rank, then all others. Weights that are fused have one A, and a part of B each.
    """
    own = named.flat(base.axes)
    if part == "lora_a":
        return Form(f"{base.name}_lora_a", " ".join((*(name for name in own if name in summed), "rank")))
    axes = " ".join(("rank", *(name for name in own if name not in summed)))
    at = 1 + sum(name not in summed for name in own[: base.at])
    return Form(f"{base.name}_lora_b", axes, base.part, at if base.part else 0)


def _pairs(config: Gemma4Config, shape: LayerShape) -> tuple[tuple[str, int], ...]:
    return tuple(sizes(config, shape).items())


# ---- what a checkpoint holds ----------------------------------------------------------------------------------------


def places(arrays: Iterable[Tensor], naming: str, prefix: str) -> tuple[Place, ...]:
    """Every tensor, or part of one, that a checkpoint of these arrays holds, in their order, layer by layer.

    Args:
        arrays: of :func:`tensors` or :func:`adapters`.
        naming: a key of :attr:`Row.forms`, or ``ours``.
        prefix: of all names; under transformers' naming, of the text model's, and an output head of its own stands
            outside, after what comes before ``model.``.

    Raises:
        VerievalError: the naming has no such weight.
    """
    result: list[Place] = []
    for tensor in arrays:
        if naming == "ours":
            result += [
                Place(f"{prefix}{tensor.path}", tensor.shape, tensor, place, None, tensor.index(place))
                for place in range(len(tensor.layers) or 1)
            ]
            continue
        if naming not in tensor.row.forms:
            raise VerievalError(f"the weight {tensor.path} has no name in a checkpoint of {naming}")
        form = tensor.row.forms[naming]
        shape, part = named.shape(form.axes, dict(tensor.sizes)), None
        index: tuple[Any, ...] = ()
        if form.part is not None:
            part, of = form.part
            shape, index = (*shape[: form.at], of, *shape[form.at :]), (*(slice(None),) * form.at, part)
        if tensor.layers:
            for place, layer in enumerate(tensor.layers):
                result.append(Place(f"{prefix}layers.{layer}.{form.name}", shape, tensor, place, part, index))
        else:
            before = prefix.partition("model.")[0] if tensor.row is HEAD_ROW else prefix
            result.append(Place(f"{before}{form.name}", shape, tensor, 0, part, index))
    return tuple(result)


def find_prefix(names: Iterable[str], config: Gemma4Config) -> str:
    """What stands before the text model's names in a checkpoint: transformers' own for the config, or another of its
    classes' (a text model may lie in a multimodal checkpoint's names, and the reverse).
    """
    known = set(names)
    for prefix in (config.prefix, "model.language_model.", "model.", "language_model.", ""):
        if f"{prefix}norm.weight" in known:
            return prefix
    return config.prefix


def account(
    found: Mapping[str, tuple[int, ...]], expected: Iterable[Place], name: str, *, passed: Callable[[str], bool]
) -> tuple[str, ...]:
    """See that a checkpoint holds what it must, in the shapes that it must have, and nothing that is not known.

    Args:
        found: the shape of each of its tensors.
        expected: from :func:`places`.
        name: of the checkpoint, for errors.
        passed: whether a tensor that is not expected may be there; see :func:`may_pass`.

    Returns:
        Names of the tensors that are passed over.

    Raises:
        VerievalError: with the names that are missing, left over or of another shape.
    """
    wanted = {place.name: place.shape for place in expected}
    others = sorted(set(found) - set(wanted))
    faults = {
        "lacks": sorted(set(wanted) - set(found)),
        "has beyond what its configuration says": [other for other in others if not passed(other)],
        "has in another shape": [
            f"{key} {list(found[key])} in the place of {list(wanted[key])}"
            for key in sorted(set(wanted) & set(found))
            if tuple(found[key]) != wanted[key]
        ],
    }
    said = [f"{what} {_list(names)}" for what, names in faults.items() if names]
    if said:
        raise VerievalError(
            f"the checkpoint {name} {'; '.join(said)}: its weights and its configuration do not belong together"
        )
    return tuple(others)


def may_pass(config: Gemma4Config, prefix: str, naming: str = "transformers") -> Callable[[str], bool]:
    """Which tensors of a checkpoint are not the text model's, or are not read by it.

    These are the towers of a multimodal checkpoint, a copy of the tied embedding as an output head, and projections
    that published checkpoints have in layers which share keys and values.
    """
    unread_names, beside = (TUNIX_UNREAD, TUNIX_BESIDE) if naming == "tunix" else (UNREAD, BESIDE)
    unread = {
        f"{prefix}layers.{index}.{name}"
        for index, shape in enumerate(config.layers)
        if shape.shares
        for name in unread_names
    }
    unread |= {f"{prefix.partition('model.')[0]}lm_head.weight"} if config.tied else set()
    return lambda name: name in unread or name.startswith(beside)


_SHOWN = 6


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} tensor{'s' * (len(names) > 1)} ({', '.join(names[:_SHOWN])}{more})"
