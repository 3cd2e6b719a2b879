"""Small Gemma 4 models of every shape, as transformers makes them, and the same read into JAX."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from finetune.data.batch import Batch, collate
from finetune.gemma4 import Gemma4Config, load_config
from finetune.jax_backend.gemma4 import Gemma4
from finetune.jax_backend.weights import load_weights
from finetune.recipe import LoraSpec
from tests.finetune.torch_backend.cases import ROWS, VOCABULARY

LENGTH = 96
_BASE: Mapping[str, Any] = {
    "vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY, "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 16, "global_head_dim": 32, "sliding_window": 12,
    "max_position_embeddings": 512, "final_logit_softcapping": 30.0, "initializer_range": 0.1, "pad_token_id": 0,
    "eos_token_id": 1, "bos_token_id": 2, "hidden_size_per_layer_input": 0,
}  # fmt: skip
SLIDING, FULL = "sliding_attention", "full_attention"


def _shape(group: int, groups: int, **changes: Any) -> dict[str, Any]:
    kinds = ([SLIDING] * (group - 1) + [FULL]) * groups
    return {**_BASE, "layer_types": kinds, "num_hidden_layers": len(kinds), **changes}


def _nano() -> dict[str, Any]:
    """The shipped config with its widths and vocabulary made small; heads, kinds and rotations as they are."""
    content = json.loads((resources.files("finetune") / "nano" / "config.json").read_text())
    return {**content, "vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY, "sliding_window": 12,
            "hidden_size": 64, "intermediate_size": 96, "initializer_range": 0.1}  # fmt: skip


SHAPES: Mapping[str, dict[str, Any]] = {
    # 5 + 1, twice; values of the global layers are their keys, with fewer heads.
    "31b": _shape(6, 2, attention_k_eq_v=True, num_global_key_value_heads=2),
    # 4 + 1; the last layers share keys and values and have the double MLP; one KV head.
    "e2b": _shape(5, 4, num_key_value_heads=1, hidden_size_per_layer_input=8, num_kv_shared_layers=10,
                  use_double_wide_mlp=True),
    # 5 + 1, sharing, two KV heads, the same MLP everywhere.
    "e4b": _shape(6, 3, num_key_value_heads=2, hidden_size_per_layer_input=8, num_kv_shared_layers=6),
    "nano": _nano(),
    # What no published model is: layers that share begin within a group, a head of its own, no softcap, another MLP.
    "odd": _shape(3, 4, num_kv_shared_layers=5, hidden_size_per_layer_input=8, tie_word_embeddings=False,
                  final_logit_softcapping=None, hidden_activation="silu", num_key_value_heads=2),
}  # fmt: skip


def even(folder: Path) -> Path:
    """A small model whose every axis four devices can share; transformers' own random weights."""
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig

    content = _shape(2, 2, attention_k_eq_v=True, num_global_key_value_heads=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        Gemma4ForCausalLM(Gemma4TextConfig(**content)).save_pretrained(folder)
    return folder


def make_model(name: str, seed: int = 0) -> Any:
    """transformers' model of a shape; every weight random, norms and layer scalars too."""
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        content = {key: value for key, value in SHAPES[name].items() if key not in ("architectures", "dtype")}
        model = Gemma4ForCausalLM(Gemma4TextConfig(**content, attn_implementation="eager")).float().eval()
        with torch.no_grad():
            for key, value in model.state_dict().items():
                if "norm" in key or "layer_scalar" in key:
                    value.copy_(0.6 + 0.6 * torch.rand(value.shape))
                # Random layers amplify rounding, unlike trained ones; these keep it below what the tests look for.
                if "q_norm" in key or "k_norm" in key or ".post_" in key:
                    value.mul_(0.2 if "per_layer" in key else 0.5)
    return model


def save_model(model: Any, folder: Path) -> Path:
    """Write it as transformers does."""
    model.save_pretrained(folder)
    return folder


@dataclass(frozen=True, eq=False)
class Model:
    """The same weights in both frameworks."""

    torch: Any
    folder: Path
    config: Gemma4Config
    weights: dict[str, Any]

    @staticmethod
    def read(model: Any, folder: Path) -> Model:
        config = load_config(folder)
        return Model(model, folder, config, load_weights(folder, config, "float32"))

    @property
    def jax(self) -> Gemma4:
        return Gemma4(self.config, self.weights)

    def reference(self, batch: Batch) -> np.ndarray[Any, Any]:
        """transformers' logits, rows told apart by their positions."""
        import torch

        ids, positions = (torch.from_numpy(array).long() for array in (batch.ids, batch.positions))
        with torch.no_grad():
            found = self.torch(input_ids=ids, position_ids=positions, attention_mask=None, use_cache=False)
        return found.logits.numpy()


def lora(**changes: Any) -> LoraSpec:
    """Adapters on every projection of the layers."""
    names = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    values = {"rank": 4, "alpha": 8.0, "dropout": 0.0, "targets": names, "optional": ("k_proj", "v_proj"), **changes}
    return LoraSpec(**values)


def packed() -> Batch:
    """Rows of several lengths in four sequences: longer than the window, and shorter; padding at the ends."""
    return collate([[ROWS[0], ROWS[1], ROWS[2]], [ROWS[3], ROWS[5]], [ROWS[8], ROWS[7]], [ROWS[4], ROWS[6]]], LENGTH)


def unpacked() -> Batch:
    """The same rows, each in a sequence of its own, and three empty sequences."""
    return collate([*([ROWS[number]] for number in (0, 1, 2, 3, 5, 8, 7, 4, 6)), [], [], []], LENGTH)


def arrays(batch: Batch) -> tuple[np.ndarray[Any, Any], ...]:
    """What the model takes of a batch."""
    return batch.ids, batch.positions, batch.segments
