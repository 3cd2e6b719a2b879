"""Small models, rows and recipes for the tests of the torch backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from finetune.backend import Micro
from finetune.data.batch import ROLES, Batch, TokenRow, collate
from finetune.recipe import Recipe, read_recipe
from finetune.steps import micro_batches
from tests.tiny_gemma4 import make_checkpoint

VOCABULARY = 256
LENGTH = 96
SIZES = ((12, 18), (25, 15), (5, 15), (20, 44), (31, 19), (3, 28), (1, 11), (40, 9), (8, 30))


def row(prompt: int, response: int, seed: int) -> TokenRow:
    """A row of so many user and assistant tokens."""
    ids = np.random.default_rng(seed).integers(0, VOCABULARY, prompt + response).astype(np.int32)
    roles = np.full(prompt + response, ROLES.index("user"), dtype=np.uint8)
    roles[prompt:] = ROLES.index("assistant")
    return TokenRow(f"row {seed}", ids, roles)


ROWS = tuple(row(prompt, response, seed) for seed, (prompt, response) in enumerate(SIZES))


def gemma(folder: Path) -> Path:
    """Gemma 4: sliding and global layers, K=V on the global ones, a final softcap, tied embeddings."""
    return make_checkpoint(folder)


def llama(folder: Path) -> Path:
    """Llama: an output head of its own, no softcap."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=300,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.1,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


MODELS = {"gemma": gemma, "llama": llama}
LORA = {
    "rank": 4, "alpha": 8.0, "dropout": 0.1, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "optional": ["v_proj"],
}  # fmt: skip


def recipe(source: Path, changes: dict[str, dict[str, Any]] | None = None, *, lora: bool = False) -> Recipe:
    """A recipe for ``source`` in float32; ``changes`` are laid over it, table by table."""
    tables: dict[str, dict[str, Any]] = {
        "model": {"source": str(source), "dtype": "float32", "compute_dtype": "float32", "chat_format": "auto"},
        "data": {
            "sources": [{"path": "x", "layout": "chat"}], "reasoning": "keep", "max_tokens": 64, "packing": True,
            "heldout": 0, "seed": 0,
        },
        "loss": {"prompt_weight": 0.1, "denominator": "weight_sum"},
        "optim": {
            "name": "adamw", "learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.01,
            "schedule": "cosine", "warmup_steps": 2, "final_fraction": 0.0, "clip_norm": 1.0,
        },
        "train": {"steps": 6, "sequence_length": LENGTH, "batch": 4, "micro_batch": 2, "seed": 0, "loss_chunk": 16},
    }  # fmt: skip
    if lora:
        tables["lora"] = dict(LORA)
    for name, values in (changes or {}).items():
        tables.setdefault(name, {}).update(values)
    return read_recipe(tables, "test")


def step_batch(length: int = LENGTH) -> Batch:
    """All rows packed into four sequences, the last one empty."""
    return collate([[ROWS[0], ROWS[1], ROWS[2]], [ROWS[3], ROWS[5]], [ROWS[4], ROWS[6]], []], length)


def micros(spec: Recipe, batch: Batch | None = None) -> list[Micro]:
    """A batch in the recipe's micro-batches."""
    return micro_batches(batch or step_batch(), spec.loss, spec.train.micro_batch)
