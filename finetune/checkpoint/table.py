"""The rows of the layout table: every tensor of a dense Gemma 4, under each naming, with its axes.

One row says what a weight is called here, by transformers and by Tunix, how its axes lie in each, what it is (a matrix
that decays, a norm, …) and to which linear module it belongs. All else follows from the rows, see
:mod:`finetune.checkpoint.layout`.

Names of axes: ``vocab embed heads kv_heads head_dim mlp`` as usual; ``ple`` and ``ple_vocab`` of the per-layer
embeddings, ``depth`` the layers that these have in one tensor; ``rank`` of adapters; ``scale`` of a norm, which
every device holds whole; ``groups`` and ``repeats`` in front, where layers are stacked.

Tunix's names and axes are those of google-tunix 0.1.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from finetune.gemma4 import Gemma4Config, LayerShape

Role = Literal["matrix", "norm", "embedding", "buffer", "adapter"]
Naming = Literal["ours", "transformers", "tunix"]


@dataclass(frozen=True)
class Form:
    """A weight under another naming.

    Attributes:
        name: within the layer where it belongs to one, without the prefix of the whole model.
        axes: of this weight alone, see :mod:`finetune.checkpoint.axes`.
        part: ``(index, of)`` where several weights are one tensor there, stacked along an axis of their own.
        at: the place of that axis in the whole tensor.
    """

    name: str
    axes: str
    part: tuple[int, int] | None = None
    at: int = 0


@dataclass(frozen=True)
class Row:
    """A weight of the model, or of each layer that has it.

    Attributes:
        path: its name here, within the layer.
        axes: its axes here; a product sums over those before the arrow.
        role: ``matrix`` decays; ``norm`` and ``embedding`` do not; a ``buffer`` is not trained at all.
        forms: under each other naming; one that does not have the weight is not in it.
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
    transformers: Form,
    tunix: Form | None,
    where: Callable[[Gemma4Config, LayerShape], bool] = lambda config, shape: True,
) -> Row:
    linear = path.split(".")[-2] if role == "matrix" and path.endswith(".kernel") else ""
    forms = {"transformers": transformers} | ({} if tunix is None else {"tunix": tunix})
    return Row(path, ours, role, MappingProxyType(forms), linear, where)


def _own(config: Gemma4Config, shape: LayerShape) -> bool:
    return not shape.shares


def _own_value(config: Gemma4Config, shape: LayerShape) -> bool:
    return not shape.shares and not shape.key_is_value


def _key_is_value(config: Gemma4Config, shape: LayerShape) -> bool:
    return not shape.shares and shape.key_is_value


def _ple(config: Gemma4Config, shape: LayerShape) -> bool:
    return config.ple > 0


def _untied(config: Gemma4Config, shape: LayerShape) -> bool:
    return not config.tied


# Of the whole model; transformers' names within the text model, but for the head.
MODEL_ROWS = (
    _row(
        "embed_tokens.embedding", "vocab embed", "embedding",
        Form("embed_tokens.weight", "vocab embed"),
        Form("embedder.input_embedding", "vocab embed"),
    ),
    _row(
        "embed_tokens_per_layer.embedding", "ple_vocab depth ple", "embedding",
        Form("embed_tokens_per_layer.weight", "ple_vocab (depth ple)"),
        Form("embedder.per_layer_input_embedding", "ple_vocab depth ple"),
        _ple,
    ),
    _row(
        "per_layer_model_projection.kernel", "embed -> depth ple", "matrix",
        Form("per_layer_model_projection.weight", "(depth ple) embed"),
        Form("embedder.per_layer_model_projection.w", "embed depth ple"),
        _ple,
    ),
    _row(
        "per_layer_projection_norm.weight", "ple_scale", "norm",
        Form("per_layer_projection_norm.weight", "ple_scale"),
        Form("embedder.per_layer_projection_norm.scale", "ple_scale"),
        _ple,
    ),
    _row("norm.weight", "scale", "norm", Form("norm.weight", "scale"), Form("final_norm.scale", "scale")),
)  # fmt: skip
# Rows of the embedding, so that the loss reads both in one way; it is there only where they are not tied.
HEAD_ROW = _row("lm_head.weight", "vocab embed", "matrix", Form("lm_head.weight", "vocab embed"), None, _untied)


def _norm(path: str, tunix: str, axis: str, where: Callable[[Gemma4Config, LayerShape], bool] | None = None) -> Row:
    more = () if where is None else (where,)
    return _row(f"{path}.weight", axis, "norm", Form(f"{path}.weight", axis), Form(f"{tunix}.scale", axis), *more)


# Of each layer; the names of transformers and Tunix begin with ``layers.N.``. Tunix has K and V in one tensor, but for
# the layers whose value is their key.
LAYER_ROWS = (
    _norm("input_layernorm", "pre_attention_norm", "scale"),
    _row(
        "self_attn.q_proj.kernel", "embed -> heads head_dim", "matrix",
        Form("self_attn.q_proj.weight", "(heads head_dim) embed"),
        Form("attn.q_einsum.w", "heads embed head_dim"),
    ),
    _row(
        "self_attn.k_proj.kernel", "embed -> kv_heads head_dim", "matrix",
        Form("self_attn.k_proj.weight", "(kv_heads head_dim) embed"),
        Form("attn.kv_einsum.w", "kv_heads embed head_dim", (0, 2)),
        _own_value,
    ),
    _row(
        "self_attn.k_proj.kernel", "embed -> kv_heads head_dim", "matrix",
        Form("self_attn.k_proj.weight", "(kv_heads head_dim) embed"),
        Form("attn.k_einsum.w", "kv_heads embed head_dim"),
        _key_is_value,
    ),
    _row(
        "self_attn.v_proj.kernel", "embed -> kv_heads head_dim", "matrix",
        Form("self_attn.v_proj.weight", "(kv_heads head_dim) embed"),
        Form("attn.kv_einsum.w", "kv_heads embed head_dim", (1, 2)),
        _own_value,
    ),
    _row(
        "self_attn.o_proj.kernel", "heads head_dim -> embed", "matrix",
        Form("self_attn.o_proj.weight", "embed (heads head_dim)"),
        Form("attn.attn_vec_einsum.w", "heads head_dim embed"),
    ),
    _norm("self_attn.q_norm", "attn._query_norm", "head_scale"),
    _norm("self_attn.k_norm", "attn._key_norm", "head_scale", _own),
    _norm("post_attention_layernorm", "post_attention_norm", "scale"),
    _norm("pre_feedforward_layernorm", "pre_ffw_norm", "scale"),
    _row(
        "mlp.gate_proj.kernel", "embed -> mlp", "matrix",
        Form("mlp.gate_proj.weight", "mlp embed"),
        Form("mlp.gate_proj.kernel", "embed mlp"),
    ),
    _row(
        "mlp.up_proj.kernel", "embed -> mlp", "matrix",
        Form("mlp.up_proj.weight", "mlp embed"),
        Form("mlp.up_proj.kernel", "embed mlp"),
    ),
    _row(
        "mlp.down_proj.kernel", "mlp -> embed", "matrix",
        Form("mlp.down_proj.weight", "embed mlp"),
        Form("mlp.down_proj.kernel", "mlp embed"),
    ),
    _norm("post_feedforward_layernorm", "post_ffw_norm", "scale"),
    _row(
        "per_layer_input_gate.kernel", "embed -> ple", "matrix",
        Form("per_layer_input_gate.weight", "ple embed"),
        Form("per_layer_input_gate.w", "embed ple"),
        _ple,
    ),
    _row(
        "per_layer_projection.kernel", "ple -> embed", "matrix",
        Form("per_layer_projection.weight", "embed ple"),
        Form("per_layer_projection.w", "ple embed"),
        _ple,
    ),
    _norm("post_per_layer_input_norm", "post_per_layer_input_norm", "scale", _ple),
    # transformers' checkpoints have it, and its training does not change it.
    _row("layer_scalar", "one", "buffer", Form("layer_scalar", "one"), Form("skip_scale", "one")),
)  # fmt: skip

# What a checkpoint of the whole model may hold beside the text model; such weights are passed over, and said.
BESIDE = ("model.vision_tower.", "model.audio_tower.", "model.embed_vision.", "model.embed_audio.")
# Weights that published checkpoints have in layers that share keys and values, and that nothing reads.
UNREAD = ("self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.k_norm.weight")
# The same of Tunix's checkpoints.
TUNIX_BESIDE = ("vision_encoder.", "audio_encoder.", "embedder.mm_", "embedder.audio_")
TUNIX_UNREAD = ("attn.kv_einsum.w", "attn._key_norm.scale")
