"""Tunix as a peer: its Gemma 4, PeftTrainer with Qwix LoRA, and Sampler, in an environment of their own.

All but :func:`python` runs there; nothing of this project is imported but the layout of the measurements.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arms import environment

PACKAGES = ("google-tunix==0.1.7", "qwix==0.1.8")
TARGETS = r".*(q_einsum|kv_einsum|k_einsum|attn_vec_einsum|gate_proj|up_proj|down_proj)"


def python() -> Path:
    """Of Tunix's own environment, which is made when it is not there."""
    return environment("tunix", PACKAGES)


def load(folder: Path, dtype: str) -> Any:
    """A folder with a dense text model of transformers as Tunix's model; products are computed in ``dtype``."""
    import jax
    import jax.numpy as jnp
    from safetensors.numpy import load_file, save_file
    from tunix.models.gemma4 import model as gemma4
    from tunix.models.gemma4.params_safetensors import create_model_from_safe_tensors

    values = json.loads((folder / "config.json").read_text())
    kinds = {"sliding_attention": gemma4.AttentionType.LOCAL_SLIDING, "full_attention": gemma4.AttentionType.GLOBAL}
    # transformers writes what is different in global layers for each of them; older folders have it once for all.
    first = str(values["layer_types"].index("full_attention"))
    wide = values | values.get("per_layer_config", {}).get(first, {})
    config = gemma4.ModelConfig(
        num_layers=values["num_hidden_layers"],
        num_embed=values["vocab_size"],
        embed_dim=values["hidden_size"],
        hidden_dim=values["intermediate_size"],
        num_heads=values["num_attention_heads"],
        head_dim=values["head_dim"],
        num_kv_heads=values["num_key_value_heads"],
        num_global_kv_heads=wide.get("num_global_key_value_heads", wide["num_key_value_heads"]),
        global_key_size=wide.get("global_head_dim", wide["head_dim"]),
        sliding_window_size=values["sliding_window"],
        final_logit_softcap=values["final_logit_softcapping"],
        k_eq_v_global=True,
        attention_pattern=tuple(kinds[kind] for kind in values["layer_types"]),
        dtype=jnp.dtype(dtype),
    )
    with TemporaryDirectory() as name:
        # Its loader knows the names of the multimodal checkpoints alone.
        tensors = {
            key.replace("model.", "model.language_model.", 1): np.asarray(array, np.float32)
            for key, array in load_file(folder / "model.safetensors").items()
        }
        save_file(tensors, Path(name) / "model.safetensors")
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("fsdp", "tp"))
        return create_model_from_safe_tensors(name, config, mesh, dtype=jnp.float32)


# ---- sampling ---------------------------------------------------------------------------------------------


class _Ids:
    """A tokenizer whose texts are numbers of prompts: what is measured are ids."""

    def __init__(self, prompts: list[list[int]]) -> None:
        self.prompts = prompts

    def encode(self, text: str, **_: Any) -> list[int]:
        """The prompt of this number, without its first id, which the sampler puts there."""
        return self.prompts[int(text)][1:]

    def decode(self, ids: list[int], **_: Any) -> str:
        """Nothing."""
        return ""

    def bos_id(self) -> int:
        """The id that all prompts begin with."""
        return self.prompts[0][0]

    def eos_id(self) -> int:
        """An id that is never drawn."""
        return -2

    def pad_id(self) -> int:
        """No prompt has it."""
        return 0


def sample(folder: Path, prompts: list[list[int]], tokens: int, repeats: int) -> tuple[list[list[int]], float]:
    """Greedy ids by Tunix's Sampler, and the seconds of the best repetition."""
    from tunix.generate.sampler import CacheConfig, Sampler

    model = load(folder, "float32")
    width = -(-max(map(len, prompts)) // 32) * 32
    config = model.config
    room = CacheConfig(width + tokens, config.num_layers, config.num_kv_heads, config.head_dim)
    sampler = Sampler(model, _Ids(prompts), room)
    best, found = float("inf"), []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        result = sampler([str(number) for number in range(len(prompts))], tokens, max_prompt_length=width)
        best = min(best, time.perf_counter() - start)
        found = [np.asarray(row)[:tokens].tolist() for row in result.tokens]
    return found, best


# ---- training ---------------------------------------------------------------------------------------------


def train(
    rows: list[list[int]], prompts: list[int], folder: Path, *, check: int, length: int, batch: int, rate: float,
    rank: int, dtype: str,
) -> dict[str, Any]:  # fmt: skip
    """Loss of the first ``check`` rows, then all rows once, each padded to ``length``, one after the other.

    ``batch`` rows are accumulated to a step, as the arms of this project do.
    """
    import jax
    import optax
    import qwix
    from tunix.sft import peft_trainer

    def batches(count: int) -> Iterator[Any]:
        for row, prompt in zip(rows[:count], prompts[:count], strict=True):
            ids, mask = np.zeros((1, length), np.int32), np.zeros((1, length), np.bool_)
            ids[0, : len(row)], mask[0, prompt : len(row)] = row, True
            yield peft_trainer.TrainingInput(input_tokens=ids, input_mask=mask)

    def inputs(example: Any) -> dict[str, Any]:
        from tunix.sft import utils

        there = example.input_tokens != 0
        return {
            "input_tokens": example.input_tokens,
            "input_mask": example.input_mask,
            "positions": utils.build_positions_from_mask(there),
            "attention_mask": utils.make_causal_attn_mask(there),
        }

    exact = jax.jit(lambda model, given: peft_trainer._default_loss_fn(model, **given))
    model, total, count = load(folder, "float32"), 0.0, 0
    for example in batches(check):
        size = int(example.input_mask[:, 1:].sum())
        total += float(exact(model, inputs(example))) * size
        count += size
    base = load(folder, dtype)
    provider = qwix.LoraProvider(module_path=TARGETS, rank=rank, alpha=float(rank))
    adapted = qwix.apply_lora_to_model(base, provider, **base.get_model_input())
    config = peft_trainer.TrainingConfig(eval_every_n_steps=1 << 30, gradient_accumulation_steps=batch)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.0))
    trainer = peft_trainer.PeftTrainer(adapted, optimizer, config).with_gen_model_input_fn(inputs)
    first = list(batches(batch))
    trainer.train(first)  # compiles
    started = time.perf_counter()
    trainer.train([*first, *batches(len(rows))])  # it passes over as many as it has been trained on
    jax.block_until_ready(jax.tree.leaves(adapted))
    return {"loss": total / count, "seconds": time.perf_counter() - started, "steps": len(rows) // batch}
