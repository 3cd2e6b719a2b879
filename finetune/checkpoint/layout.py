"""The layout table: every tensor of a dense Gemma 4, under each naming, with its axes.

One row says what a weight is called here and by transformers, how its axes lie in both, what it is (a matrix that
decays, a norm, …) and to which linear module it belongs. All else follows from the rows: shapes, transposes, the
stacks of equal layers that JAX scans over, shardings, adapters, and what a checkpoint must hold.

Names of axes: ``vocab embed heads kv_heads head_dim mlp`` as usual; ``ple`` and ``ple_vocab`` of the per-layer
embeddings, ``depth`` the layers that these have in one tensor; ``rank`` of adapters; ``scale`` of a norm, which
every device holds whole; ``groups`` and ``repeats`` in front, where layers are stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from finetune.checkpoint import axes as named
from finetune.gemma4 import Gemma4Config, LayerShape
from finetune.recipe import LoraSpec
from verieval.errors import VerievalError

Role = Literal["matrix", "norm", "embedding", "buffer", "adapter"]
STACKED = ("groups", "repeats")
PEFT_PREFIX = "base_model.model."


@dataclass(frozen=True)
class Form:
    """A weight under another naming.

    Attributes:
        name: with ``{layer}`` where the layer's number stands, without the prefix of the whole model.
        axes: see :mod:`finetune.checkpoint.axes`.
        part: ``(index, of)`` where several weights are one tensor there, stacked along a new first axis.
    """

    name: str
    axes: str
    part: tuple[int, int] | None = None


@dataclass(frozen=True)
class Row:
    """A weight of the model, or of each layer that has it.

    Attributes:
        path: its name here, within the layer.
        axes: its axes here; a product sums over those before the arrow.
        role: ``matrix`` decays; ``norm`` and ``embedding`` do not; a ``buffer`` is not trained at all.
        forms: under each other naming.
        linear: name of its linear module, which an adapter may be put on; empty where it is none.
        where: which layers have it, or whether the model has it.
    """

    path: str
    axes: str
    role: Role
    forms: Mapping[str, Form]
    linear: str = ""
    where: Callable[[Gemma4Config, LayerShape], bool] = lambda config, shape: True


def _row(
    path: str,
    ours: str,
    role: Role,
    name: str,
    theirs: str,
    where: Callable[[Gemma4Config, LayerShape], bool] = lambda config, shape: True,
) -> Row:
    linear = path.split(".")[-2] if role == "matrix" and path.endswith(".kernel") else ""
    return Row(path, ours, role, MappingProxyType({"transformers": Form(name, theirs)}), linear, where)


def _own(config: Gemma4Config, shape: LayerShape) -> bool:
    return not shape.shares


def _own_value(config: Gemma4Config, shape: LayerShape) -> bool:
    return not shape.shares and not shape.key_is_value


def _ple(config: Gemma4Config, shape: LayerShape) -> bool:
    return config.ple > 0


# Of the whole model; names within transformers' text model, but for the head.
MODEL_ROWS = (
    _row("embed_tokens.embedding", "vocab embed", "embedding", "embed_tokens.weight", "vocab embed"),
    _row(
        "embed_tokens_per_layer.embedding",
        "ple_vocab depth ple",
        "embedding",
        "embed_tokens_per_layer.weight",
        "ple_vocab (depth ple)",
        _ple,
    ),
    _row(
        "per_layer_model_projection.kernel",
        "embed -> depth ple",
        "matrix",
        "per_layer_model_projection.weight",
        "(depth ple) embed",
        _ple,
    ),
    _row(
        "per_layer_projection_norm.weight", "ple_scale", "norm", "per_layer_projection_norm.weight", "ple_scale", _ple
    ),
    _row("norm.weight", "scale", "norm", "norm.weight", "scale"),
)
# Rows of the embedding, so that the loss reads both in one way; it is there only where they are not tied.
HEAD_ROW = _row(
    "lm_head.weight", "vocab embed", "matrix", "lm_head.weight", "vocab embed", lambda config, shape: not config.tied
)

# Of each layer; transformers' names begin with ``layers.N.``.
LAYER_ROWS = (
    _row("input_layernorm.weight", "scale", "norm", "input_layernorm.weight", "scale"),
    _row(
        "self_attn.q_proj.kernel",
        "embed -> heads head_dim",
        "matrix",
        "self_attn.q_proj.weight",
        "(heads head_dim) embed",
    ),
    _row(
        "self_attn.k_proj.kernel",
        "embed -> kv_heads head_dim",
        "matrix",
        "self_attn.k_proj.weight",
        "(kv_heads head_dim) embed",
        _own,
    ),
    _row(
        "self_attn.v_proj.kernel",
        "embed -> kv_heads head_dim",
        "matrix",
        "self_attn.v_proj.weight",
        "(kv_heads head_dim) embed",
        _own_value,
    ),
    _row(
        "self_attn.o_proj.kernel",
        "heads head_dim -> embed",
        "matrix",
        "self_attn.o_proj.weight",
        "embed (heads head_dim)",
    ),
    _row("self_attn.q_norm.weight", "head_scale", "norm", "self_attn.q_norm.weight", "head_scale"),
    _row("self_attn.k_norm.weight", "head_scale", "norm", "self_attn.k_norm.weight", "head_scale", _own),
    _row("post_attention_layernorm.weight", "scale", "norm", "post_attention_layernorm.weight", "scale"),
    _row("pre_feedforward_layernorm.weight", "scale", "norm", "pre_feedforward_layernorm.weight", "scale"),
    _row("mlp.gate_proj.kernel", "embed -> mlp", "matrix", "mlp.gate_proj.weight", "mlp embed"),
    _row("mlp.up_proj.kernel", "embed -> mlp", "matrix", "mlp.up_proj.weight", "mlp embed"),
    _row("mlp.down_proj.kernel", "mlp -> embed", "matrix", "mlp.down_proj.weight", "embed mlp"),
    _row("post_feedforward_layernorm.weight", "scale", "norm", "post_feedforward_layernorm.weight", "scale"),
    _row("per_layer_input_gate.kernel", "embed -> ple", "matrix", "per_layer_input_gate.weight", "ple embed", _ple),
    _row("per_layer_projection.kernel", "ple -> embed", "matrix", "per_layer_projection.weight", "embed ple", _ple),
    _row("post_per_layer_input_norm.weight", "scale", "norm", "post_per_layer_input_norm.weight", "scale", _ple),
    # transformers' checkpoints have it, and its training does not change it.
    _row("layer_scalar", "one", "buffer", "layer_scalar", "one"),
)

# What a checkpoint of the whole model may hold beside the text model; such weights are passed over, and said.
BESIDE = ("model.vision_tower.", "model.audio_tower.", "model.embed_vision.", "model.embed_audio.")
# Weights that published checkpoints have in layers that share keys and values, and that nothing reads.
UNREAD = ("self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.k_norm.weight")


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
    def inputs(self) -> int:
        """Axes (of a part) that a product sums over."""
        return named.inputs(self.row.axes)

    def index(self, place: int) -> tuple[int, ...]:
        """Where in the array the part of a place of :attr:`layers` stands; empty where nothing is stacked."""
        return divmod(place, self.shape[1]) if self.layers else ()

    def read(self, array: Any, naming: str) -> Any:
        """A part as it is here, from one tensor of another naming (the weight's own part of a fused one)."""
        return named.convert(array, self.row.forms[naming].axes, self.row.axes, dict(self.sizes))

    def write(self, array: Any, naming: str) -> Any:
        """The reverse of :meth:`read`."""
        return named.convert(array, self.row.axes, self.row.forms[naming].axes, dict(self.sizes))


@dataclass(frozen=True)
class Place:
    """One tensor of a checkpoint, or a part of one, and where it belongs.

    Attributes:
        name: in the checkpoint.
        shape: there; a fused tensor's is that of the whole.
        tensor: the array here.
        place: of :attr:`Tensor.layers`; 0 where nothing is stacked.
        part: which of the weights that are fused into the tensor; None where it is this one alone.
    """

    name: str
    shape: tuple[int, ...]
    tensor: Tensor
    place: int
    part: int | None


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
    row = replace(
        tensor.row,
        path=tensor.row.path.removesuffix("kernel") + part,
        axes=ours,
        role="adapter",
        forms=MappingProxyType({"transformers": Form(f"{base}.{low}.weight", theirs)}),
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


def _pairs(config: Gemma4Config, shape: LayerShape) -> tuple[tuple[str, int], ...]:
    return tuple(sizes(config, shape).items())


# ---- what a checkpoint holds ----------------------------------------------------------------------------------------


def places(arrays: Iterable[Tensor], naming: str, prefix: str) -> tuple[Place, ...]:
    """Every tensor, or part of one, that a checkpoint of these arrays holds.

    Args:
        arrays: of :func:`tensors` or :func:`adapters`.
        naming: a key of :attr:`Row.forms`.
        prefix: of the text model's names; an output head of its own stands outside, after what comes before ``model.``.
    """
    result = []
    for tensor in arrays:
        form = tensor.row.forms[naming]
        shape = named.shape(form.axes, dict(tensor.sizes))
        shape = shape if form.part is None else (form.part[1], *shape)
        part = None if form.part is None else form.part[0]
        if tensor.layers:
            for place, layer in enumerate(tensor.layers):
                result.append(Place(f"{prefix}layers.{layer}.{form.name}", shape, tensor, place, part))
        else:
            before = prefix.partition("model.")[0] if tensor.row is HEAD_ROW else prefix
            result.append(Place(f"{before}{form.name}", shape, tensor, 0, part))
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


def may_pass(config: Gemma4Config, prefix: str) -> Callable[[str], bool]:
    """Which tensors of a transformers checkpoint are not the text model's, or are not read by it.

    These are the towers of a multimodal checkpoint, a copy of the tied embedding as an output head, and projections
    that published checkpoints have in layers which share keys and values.
    """
    unread = {
        f"{prefix}layers.{index}.{name}" for index, shape in enumerate(config.layers) if shape.shares for name in UNREAD
    }
    unread |= {f"{prefix.partition('model.')[0]}lm_head.weight"} if config.tied else set()
    return lambda name: name in unread or name.startswith(BESIDE)


_SHOWN = 6


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)} tensor{'s' * (len(names) > 1)} ({', '.join(names[:_SHOWN])}{more})"
