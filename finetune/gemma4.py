"""The shape of a dense Gemma 4 text model, read from transformers' ``config.json``: plain numbers, checked once.

Sizes differ from layer to layer (sliding and global attention, keys and values that later layers share), so each layer
has its own :class:`LayerShape`; :attr:`Gemma4Config.segments` says how equal ones repeat, which is what JAX scans over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

from verieval.errors import VerievalError
from verieval.files import read_file

Kind = Literal["sliding_attention", "full_attention"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ACTIVATIONS = ("gelu_pytorch_tanh", "gelu", "silu")


@dataclass(frozen=True)
class Rope:
    """Rotary positions of one kind of layer.

    Attributes:
        theta: base of the frequencies.
        share: part of the head's dimensions that is rotated; the others have the frequency 0.
    """

    theta: float
    share: float


@dataclass(frozen=True)
class LayerShape:
    """What a layer is built like; layers of equal shapes are computed by the same program.

    Attributes:
        kind: ``sliding_attention`` sees a window of positions, ``full_attention`` all before it.
        heads, kv_heads, head_dim: of its attention.
        intermediate: width of its MLP.
        shares: it has no keys and values of its own but takes those of the last layer of its kind that has.
        key_is_value: its value is its key projection's output, and there is no ``v_proj``.
    """

    kind: Kind
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    shares: bool
    key_is_value: bool


@dataclass(frozen=True)
class Run:
    """``count`` layers of one shape, one after the other."""

    shape: LayerShape
    count: int


@dataclass(frozen=True)
class Segment:
    """A group of runs that is repeated: layers ``start`` to ``start + repeats * size``.

    Attributes:
        start: number of its first layer.
        repeats: how often the group occurs.
        runs: the group.
    """

    start: int
    repeats: int
    runs: tuple[Run, ...]

    @property
    def size(self) -> int:
        """Layers of one group."""
        return sum(run.count for run in self.runs)

    def layers(self, run: int) -> tuple[tuple[int, ...], ...]:
        """Numbers of the layers of a run: for each repetition, the layers of that repetition."""
        first = self.start + sum(part.count for part in self.runs[:run])
        count = self.runs[run].count
        return tuple(
            tuple(range(first + repeat * self.size, first + repeat * self.size + count))
            for repeat in range(self.repeats)
        )


@dataclass(frozen=True)
class Gemma4Config:
    """A dense Gemma 4 text model.

    Attributes:
        vocabulary, hidden: rows and columns of the embedding.
        layers: one shape each.
        window: positions that a sliding layer sees, its own among them.
        eps: of all norms, under the root.
        softcap: of the final logits; None where there is none.
        activation: of the MLP, one of :data:`ACTIVATIONS`.
        ropes: of the kinds of layers, in the order of :data:`KINDS`.
        tied: the output head is the embedding.
        ple: width of the per-layer embeddings; 0 where there are none.
        ple_vocabulary: rows of their table.
        initializer_range: deviation of random weights.
        multimodal: the text model is part of a checkpoint that holds a vision or audio tower as well.
        pad: token that pads, None where there is none; looking it up gives its row no gradient (``padding_idx``).
        stacked: equal layers share arrays and are scanned; otherwise each has its own, which compiles slower, and no
            cache goes through a scan.
    """

    vocabulary: int
    hidden: int
    layers: tuple[LayerShape, ...]
    window: int
    eps: float
    softcap: float | None
    activation: str
    ropes: tuple[Rope, Rope]
    tied: bool
    ple: int
    ple_vocabulary: int
    initializer_range: float
    multimodal: bool
    pad: int | None
    stacked: bool = True

    @property
    def prefix(self) -> str:
        """What transformers puts before the names of the text model's weights."""
        return "model.language_model." if self.multimodal else "model."

    @property
    def shares(self) -> bool:
        """Some layers take keys and values of earlier ones."""
        return self.layers[-1].shares

    def rope(self, kind: Kind) -> Rope:
        """Of one kind of layer."""
        return self.ropes[KINDS.index(kind)]

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The layers as repeated groups with as few different runs as possible; no segment mixes layers with their own
        keys and values and layers that share.
        """
        if not self.stacked:
            return tuple(Segment(number, 1, (Run(shape, 1),)) for number, shape in enumerate(self.layers))
        result: list[Segment] = []
        start = 0
        for _, part in groupby(self.layers, key=lambda shape: shape.shares):
            shapes = tuple(part)
            for repeats, runs in _groups(shapes)[1]:
                result.append(Segment(start, repeats, runs))
                start += result[-1].size * repeats
        return tuple(result)


_Groups = tuple[tuple[int, tuple[Run, ...]], ...]


@lru_cache(maxsize=1024)
def _groups(shapes: tuple[LayerShape, ...]) -> tuple[int, _Groups]:
    """The number of runs that are compiled, and the repeated groups: as few as there can be of both."""
    if not shapes:
        return 0, ()
    found: list[tuple[int, _Groups]] = []
    for size in range(1, len(shapes) + 1):
        group, repeats = shapes[:size], 1
        while shapes[repeats * size : (repeats + 1) * size] == group:
            repeats += 1
        runs = tuple(Run(shape, len(list(part))) for shape, part in groupby(group))
        cost, rest = _groups(shapes[repeats * size :])
        found.append((len(runs) + cost, ((repeats, runs), *rest)))
    return min(found, key=lambda result: (result[0], len(result[1])))


# ---- reading --------------------------------------------------------------------------------------------------------

# Fields that the text model must not have, and why; by name, so that nothing is left out in silence.
_REFUSED: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("enable_moe_block", bool, "mixture-of-experts layers are not built here; take a dense model (31B, E4B, E2B)"),
    ("num_experts", bool, "mixture-of-experts layers are not built here; take a dense model (31B, E4B, E2B)"),
    ("use_bidirectional_attention", lambda value: value == "all", "only causal attention of text is built here"),
    ("attention_bias", bool, "projections with a bias are not built here"),
    ("attention_dropout", bool, "dropout of attention weights is not built here; set it to 0"),
    ("attn_logit_softcapping", bool, "a softcap of attention is not built here"),
    ("quantization_config", bool, "quantized weights are not read here; take the checkpoint in bfloat16"),
)
# What only a vision or an audio tower has.
_TOWERS = (
    "vision_config", "audio_config", "patch_size", "pooling_kernel_size", "position_embedding_size", "standardize",
    "subsampling_conv_channels", "conv_kernel_size", "attention_chunk_size", "attention_context_left",
    "attention_context_right", "residual_weight", "use_clipped_linears", "output_proj_dims",
)  # fmt: skip
_PER_LAYER = ("head_dim", "num_key_value_heads")


def load_config(path: Path) -> Gemma4Config:
    """Read the config of a transformers folder, or a JSON file.

    Raises:
        VerievalError: see :func:`read_config`; or the file cannot be read.
    """
    path = path / "config.json" if path.is_dir() else path
    try:
        content = json.loads(read_file(path, "give a folder with a transformers checkpoint"))
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not valid JSON ({error}); get it again") from None
    return read_config(content, str(path))


def set_dtype(content: dict[str, Any], dtype: str) -> None:
    """Have a configuration say the dtype of its weights, wherever it says one; it is changed in place."""
    for part in (content, content.get("text_config")):
        if isinstance(part, dict):
            part.pop("torch_dtype", None)
            part["dtype"] = dtype


def read_config(content: Any, name: str = "config.json") -> Gemma4Config:
    """Read a configuration as transformers writes it, 5.14 (``global_head_dim``) to 5.19 (``per_layer_config``).

    Args:
        content: the parsed JSON, of the text model or of one that holds it (``text_config``).
        name: what errors call it.

    Raises:
        VerievalError: it is no dense Gemma 4 text model, or lacks a field; with the field's name.
    """
    if not isinstance(content, Mapping):
        raise VerievalError(f"{name}: a configuration is a JSON object; give a transformers config.json")
    kind = content.get("model_type")
    text = content.get("text_config") if kind == "gemma4" else content
    if kind not in ("gemma4", "gemma4_text") or not isinstance(text, Mapping):
        raise VerievalError(
            f"{name}: model_type is {kind!r}, and the JAX backend knows Gemma 4's text model alone (gemma4, "
            "gemma4_text); use backend = 'torch' for others"
        )
    fields = _Fields(text, name)
    for field, is_wrong, why in _REFUSED:
        if is_wrong(text.get(field)):
            raise VerievalError(f"{name}: {field}: {why}")
    for field in _TOWERS:
        if text.get(field) is not None:
            raise VerievalError(f"{name}: {field}: a text model has no such field; it is a vision or audio tower's")
    activation = text.get("hidden_activation", "gelu_pytorch_tanh")
    if activation not in ACTIVATIONS:
        raise VerievalError(f"{name}: hidden_activation: {activation!r} is none of {', '.join(ACTIVATIONS)}")
    softcap = text.get("final_logit_softcapping")
    ple = fields.count("hidden_size_per_layer_input", 0, least=0)
    return Gemma4Config(
        vocabulary=fields.count("vocab_size"),
        hidden=fields.count("hidden_size"),
        layers=_layers(fields),
        window=fields.count("sliding_window"),
        eps=fields.number("rms_norm_eps", 1e-6),
        softcap=None if softcap is None else fields.number("final_logit_softcapping"),
        activation=activation,
        ropes=(_rope(fields, "sliding_attention"), _rope(fields, "full_attention")),
        tied=bool(text.get("tie_word_embeddings", True)),
        ple=ple,
        ple_vocabulary=fields.count("vocab_size_per_layer_input") if ple else 0,
        initializer_range=fields.number("initializer_range", 0.02),
        multimodal=kind == "gemma4",
        pad=_pad(fields),
    )


@dataclass(frozen=True)
class _Fields:
    """Numbers of a JSON object, or one sentence on what is wrong with them."""

    content: Mapping[str, Any]
    name: str

    def count(self, field: str, default: int | None = None, *, least: int = 1) -> int:
        value = self.content.get(field)
        if value is None:
            value = default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**31:
            raise VerievalError(f"{self.name}: {field} must be a whole number of at least {least}, and is {value!r}")
        return value

    def number(self, field: str, default: float | None = None) -> float:
        value = self.content.get(field)
        if value is None:
            value = default
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise VerievalError(f"{self.name}: {field} must be a number above 0, and is {value!r}")
        return float(value)

    def inner(self, field: str) -> _Fields:
        value = self.content.get(field)
        if not isinstance(value, Mapping):
            raise VerievalError(f"{self.name}: {field} must be a table, and is {value!r}")
        return _Fields(value, f"{self.name}: {field}")


def _pad(fields: _Fields) -> int | None:
    """As an index from the start; transformers' default is 0, and torch counts a negative one from the end."""
    value, size = fields.content.get("pad_token_id", 0), fields.count("vocab_size")
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not -size <= value < size:
        raise VerievalError(f"{fields.name}: pad_token_id must be a token of the vocabulary, and is {value!r}")
    return value % size


def _kinds(fields: _Fields, number: int) -> Sequence[Kind]:
    kinds = fields.content.get("layer_types")
    if kinds is None:  # transformers' default: every sixth
        kinds = [KINDS[(index + 1) % 6 == 0] for index in range(number)]
    if not isinstance(kinds, list) or len(kinds) != number or any(kind not in KINDS for kind in kinds):
        raise VerievalError(
            f"{fields.name}: layer_types must name {number} layers, each {' or '.join(KINDS)}: this is another model"
        )
    # As transformers does, with a warning there.
    return [*kinds[:-1], "full_attention"]


def _layers(fields: _Fields) -> tuple[LayerShape, ...]:
    text, number = fields.content, fields.count("num_hidden_layers")
    kinds, sizes = _kinds(fields, number), _per_layer(fields)
    own = number - fields.count("num_kv_shared_layers", 0, least=0)
    lacking = sorted(set(kinds[max(own, 0) :]) - set(kinds[: max(own, 0)]))
    if lacking:
        raise VerievalError(
            f"{fields.name}: num_kv_shared_layers leaves no {lacking[0]} layer whose keys and values could be shared"
        )
    heads, wide = fields.count("num_attention_heads"), bool(text.get("use_double_wide_mlp"))
    result = []
    for index, kind in enumerate(kinds):
        kv_heads, head_dim = sizes(index, kind)
        if heads % kv_heads or head_dim % 2:
            raise VerievalError(
                f"{fields.name}: layer {index} has {heads} heads of {head_dim} for {kv_heads} KV heads: heads must be "
                "a multiple of KV heads, and the size even"
            )
        result.append(
            LayerShape(
                kind=kind,
                heads=heads,
                kv_heads=kv_heads,
                head_dim=head_dim,
                intermediate=fields.count("intermediate_size") * (2 if wide and index >= own else 1),
                shares=index >= own,
                key_is_value=bool(text.get("attention_k_eq_v")) and kind == "full_attention" and index < own,
            )
        )
    return tuple(result)


def _per_layer(fields: _Fields) -> Callable[[int, Kind], tuple[int, int]]:
    """KV heads and head size by the layer's number and kind, from whichever of the two ways the file has."""
    kv_heads, head_dim = fields.count("num_key_value_heads"), fields.count("head_dim")
    if fields.content.get("per_layer_config") is not None:
        table = fields.inner("per_layer_config")
        for key, entry in table.content.items():
            unknown = sorted(set(entry) - set(_PER_LAYER)) if isinstance(entry, Mapping) else []
            if unknown or not (str(key).isdecimal() or key in KINDS):
                what = f"{key}.{unknown[0]}" if unknown else key
                raise VerievalError(f"{table.name}.{what} is not known here; only {' and '.join(_PER_LAYER)} are")

        # transformers fills numbers up with zeros ("05") where there are ten layers or more.
        keys = {int(key) if str(key).isdecimal() else key: key for key in table.content}

        def sizes(index: int, kind: Kind) -> tuple[int, int]:
            for key in (index, kind):  # a layer's own entry before that of its kind
                if key in keys:
                    entry = table.inner(keys[key])
                    return entry.count("num_key_value_heads", kv_heads), entry.count("head_dim", head_dim)
            return kv_heads, head_dim

        return sizes
    global_dim = fields.count("global_head_dim", 512)
    global_heads = fields.count("num_global_key_value_heads", kv_heads)
    if not fields.content.get("attention_k_eq_v"):
        global_heads = kv_heads  # as transformers: the number is for models whose values are their keys
    return lambda _, kind: (global_heads, global_dim) if kind == "full_attention" else (kv_heads, head_dim)


def _rope(fields: _Fields, kind: Kind) -> Rope:
    if fields.content.get("rope_parameters") is None:
        return Rope(1e4, 1.0) if kind == "sliding_attention" else Rope(1e6, 0.25)
    entry = fields.inner("rope_parameters").inner(kind)
    way = entry.content.get("rope_type")
    if way not in ("default", "proportional") or entry.content.get("factor", 1.0) != 1.0:
        raise VerievalError(f"{entry.name}: rope_type must be default or proportional, without a factor; it is {way!r}")
    share = entry.number("partial_rotary_factor", 1.0) if way == "proportional" else 1.0
    if not 0 <= share <= 1:
        raise VerievalError(f"{entry.name}: partial_rotary_factor must be between 0 and 1, and is {share}")
    return Rope(entry.number("rope_theta"), share)
