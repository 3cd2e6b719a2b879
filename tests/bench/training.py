"""Useful tokens a second of `verieval train` against TRL's SFTTrainer, on the same model, rows and cores, in one run.

Useful tokens are the tokens of the rows, prompt and response; padding is none. Rows have CodeV-R1's lengths (mean 922,
99th percentile 2,553, at most 3,072 tokens; see tests/finetune/test_packing.py), random ids and a third of prompt. The
model is a Gemma 4 with random weights (sliding and global layers, 4 million parameters at the default size). Every arm
is a process of its own and computes its loss on the same rows first, in float32: they must agree to 1e-4.

* ``trl``: SFTTrainer as it comes: batches of 8 rows padded to the longest, activations recomputed.
* ``trl-packing``: its own packing (best-fit decreasing), 8 sequences a step one after the other, activations kept: at
  its default of 8 sequences at once SDPA would see one sequence of 24,576 tokens.
* ``ours``: packed, 8 sequences a step one after the other, activations kept.

With ``--backend jax`` the same for LoRA of rank 16 on one device, 8 sequences a step one after the other:

* ``tunix``: PeftTrainer with Qwix's adapters, each row padded to 3,072 tokens.
* ``jax-padded``: ours, each row padded to 3,072 tokens.
* ``jax``: ours, packed.

    python tests/bench/training.py [--backend jax] [--rows 64] [--threads 1] [--dtype bfloat16] [--json]
                                   [--arms trl trl-packing ours]

TRL and Tunix are no dependencies: they are installed by pip into .tools/trl and .tools/tunix the first time, TRL with
the torch and transformers of constraints.txt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _arms import ROOT, environment, run_arm

LENGTH = 3072
BATCH = 8
RATE = 1e-4
RANK = 16
TORCH, JAX = ("trl", "trl-packing", "ours"), ("tunix", "jax-padded", "jax")


# ---- what all arms get ----------------------------------------------------------------------------------


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Write the model and the rows."""
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig
    from transformers.utils import logging

    from finetune.plan.lengths import draw_lengths
    from tests.tiny_gemma4 import make_tokenizer

    logging.disable_progress_bar()
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    config = Gemma4TextConfig(
        vocab_size=len(tokenizer),
        vocab_size_per_layer_input=len(tokenizer),
        hidden_size=options.width,
        intermediate_size=3 * options.width,
        num_hidden_layers=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_global_key_value_heads=2,
        head_dim=64,
        global_head_dim=128,
        sliding_window=1024,
        max_position_embeddings=LENGTH,
        attention_k_eq_v=True,
        num_kv_shared_layers=0,
        hidden_size_per_layer_input=0,
        final_logit_softcapping=30.0,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
    )
    torch.manual_seed(0)
    Gemma4ForCausalLM(config).save_pretrained(folder)
    draw = np.random.default_rng(1)
    lengths = draw_lengths(options.rows, seed=1)
    rows = [draw.integers(8, len(tokenizer), length).tolist() for length in lengths]
    content = {"rows": rows, "prompts": [length // 3 for length in lengths]}
    (folder / "rows.json").write_text(json.dumps(content))


def read_rows(folder: Path) -> tuple[list[list[int]], list[int]]:
    """Ids of each row, and how many of them are the prompt's."""
    content = json.loads((folder / "rows.json").read_text())
    return content["rows"], content["prompts"]


# ---- this project ---------------------------------------------------------------------------------------


def ours(folder: Path, options: argparse.Namespace, *, jax: bool = False, packing: bool = True) -> dict[str, Any]:
    """Loss on the first rows, then the rows once through, by the steps of ``verieval train``."""
    from finetune.data.batch import ASSISTANT, ROLES, TokenRow
    from finetune.recipe import read_recipe
    from finetune.steps import Steps, micro_batches

    if jax:
        from finetune.jax_backend.backend import build
    else:
        from finetune.torch_backend.backend import build  # type: ignore[assignment]

    ids, prompts = read_rows(folder)
    rows = []
    for number, (row, prompt) in enumerate(zip(ids, prompts, strict=True)):
        roles = np.full(len(row), ROLES.index("user"), dtype=np.uint8)
        roles[prompt:] = ASSISTANT
        rows.append(TokenRow(f"row {number}", np.array(row, dtype=np.int32), roles))

    def recipe(dtype: str) -> Any:
        tables = {
            "model": {"source": str(folder), "dtype": "float32", "compute_dtype": dtype, "chat_format": "auto"},
            "data": {
                "sources": [{"path": "x", "layout": "chat"}], "reasoning": "keep", "max_tokens": LENGTH,
                "packing": packing, "heldout": 0, "seed": 0,
            },
            "loss": {"prompt_weight": 0.0, "denominator": "response_tokens"},
            "optim": {
                "name": "adamw", "learning_rate": RATE, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0,
                "schedule": "constant", "warmup_steps": 0, "final_fraction": 0.0, "clip_norm": 1.0,
            },
            "train": {"epochs": 1, "sequence_length": LENGTH, "batch": BATCH, "micro_batch": 1, "seed": 0},
        }  # fmt: skip
        if jax:
            targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
            lora = {"rank": RANK, "alpha": float(RANK), "dropout": 0.0, "targets": targets, "optional": ["v_proj"]}
            tables |= {"backend": "jax", "lora": lora}
        return read_recipe(tables, "bench")

    exact = recipe("float32")
    checked = Steps(rows[: options.check], exact, pad=0)
    backend = build(exact, vocabulary=8)
    batches = [checked.batch(step) for step in range(checked.total)]
    parts = [backend.evaluate(micro_batches(batch, exact.loss, 1)) for batch in batches]
    loss = sum(part.response_nll for part in parts) / sum(part.response_tokens for part in parts)
    spec = recipe(options.dtype)
    backend = build(spec, vocabulary=8)  # torch's check of isolation warms it up at the shape of training
    steps = Steps(rows, spec, pad=0)
    if jax:  # compiles
        backend.step(micro_batches(steps.batch(0), spec.loss, 1), learning_rate=RATE, seed=0)
    started = time.perf_counter()
    for step in range(steps.total):
        backend.step(micro_batches(steps.batch(step), spec.loss, 1), learning_rate=RATE, seed=step)
    return {"loss": loss, "seconds": time.perf_counter() - started, "steps": steps.total}


# ---- TRL ------------------------------------------------------------------------------------------------


def trl(folder: Path, options: argparse.Namespace, *, packing: bool) -> dict[str, Any]:
    """The same with SFTTrainer; runs in TRL's own environment."""
    import torch
    import transformers
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    transformers.logging.set_verbosity_error()
    ids, prompts = read_rows(folder)
    masks = [[0] * prompt + [1] * (len(row) - prompt) for row, prompt in zip(ids, prompts, strict=True)]

    def trainer(count: int, bf16: bool, callbacks: list[Any]) -> Any:
        chosen: dict[str, Any] = {"output_dir": str(folder / "trl")}
        if packing:
            chosen |= {"packing": True, "per_device_train_batch_size": 1, "gradient_accumulation_steps": BATCH}
            chosen |= {"gradient_checkpointing": False}
        chosen |= {"max_length": LENGTH, "completion_only_loss": True, "num_train_epochs": 1, "learning_rate": RATE}
        chosen |= {"bf16": bf16, "use_cpu": True, "report_to": "none", "save_strategy": "no", "disable_tqdm": True}
        return SFTTrainer(
            model=AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
            args=SFTConfig(**chosen),
            train_dataset=Dataset.from_dict({"input_ids": ids[:count], "completion_mask": masks[:count]}),
            processing_class=AutoTokenizer.from_pretrained(folder),
            callbacks=callbacks,
        )

    exact = trainer(options.check, False, [])
    total = tokens = 0.0
    with torch.no_grad():
        for batch in exact.get_train_dataloader():
            count = int((batch["labels"][:, 1:] != -100).sum())
            total += float(exact.compute_loss(exact.model.eval(), dict(batch))) * count
            tokens += count
    marks: dict[str, float] = {}

    class Clock(TrainerCallback):
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            marks["start"] = time.perf_counter()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            marks["end"] = time.perf_counter()

    timed = trainer(len(ids), options.dtype == "bfloat16", [Clock()])
    warm = dict(next(iter(timed.get_train_dataloader())))
    timed.compute_loss(timed.model.train(), warm).backward()
    timed.model.zero_grad()
    result = timed.train()
    return {"loss": total / tokens, "seconds": marks["end"] - marks["start"], "steps": result.global_step}


# ---- Tunix ----------------------------------------------------------------------------------------------


def tunix(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The same with PeftTrainer and Qwix; runs in Tunix's own environment."""
    from _tunix import train

    rows, prompts = read_rows(folder)
    given = {"check": options.check, "length": LENGTH, "batch": BATCH, "rate": RATE, "rank": RANK}
    return train(rows, prompts, folder, dtype=options.dtype, **given)


# ---- all together ---------------------------------------------------------------------------------------


def run(arm: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One arm in a process of its own, with the same number of threads."""
    if arm.startswith("trl"):
        packages = ("torch", "transformers", "accelerate", "datasets", "trl")
        python = str(environment("trl", packages, constraints=True))
    elif arm == "tunix":
        import _tunix

        python = str(_tunix.python())
    else:
        python = sys.executable
    command = [python, __file__, *sys.argv[1:], "--folder", str(folder), "--arm", arm]
    return run_arm(arm, command, options.threads, {})


def main() -> None:
    """Measure, or run one arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--check", type=int, default=16, help="rows on which the losses are compared")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16", help="of activations")
    parser.add_argument("--backend", choices=["torch", "jax"], default="torch", help="whose arms")
    parser.add_argument("--arms", nargs="+", choices=[*TORCH, *JAX], help="of them")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--arm", choices=[*TORCH, *JAX], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        arm, folder = options.arm, options.folder
        if arm.startswith("trl"):
            result = trl(folder, options, packing=arm == "trl-packing")
        elif arm == "tunix":
            result = tunix(folder, options)
        else:
            result = ours(folder, options, jax=arm != "ours", packing=arm != "jax-padded")
        print(json.dumps(result))
        return
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), options)
        tokens = sum(map(len, read_rows(Path(name))[0]))
        arms = options.arms or (JAX if options.backend == "jax" else TORCH)
        found = {arm: run(arm, Path(name), options) for arm in arms}
    for row in found.values():
        row["tokens_per_second"] = tokens / row["seconds"]
    losses = [row["loss"] for row in found.values()]
    spread = max(losses) - min(losses)
    if options.json:
        print(json.dumps({"rows": options.rows, "tokens": tokens, "loss_spread": spread, "arms": found}, indent=2))
    else:
        print(f"{options.rows} rows, {tokens:,} tokens, {options.threads} thread(s), {options.dtype}")
        own = [arm for arm in found if arm in ("ours", "jax", "jax-padded")]
        for arm, row in found.items():
            speed = row["tokens_per_second"]
            ratios = [f"{one} {found[one]['tokens_per_second'] / speed:.2f}x" for one in own if arm not in own]
            print(
                f"{arm:12} {speed:8,.0f} useful tokens/s   {row['steps']} steps   loss {row['loss']:.6f}",
                *ratios,
                sep="   ",
            )
        print(f"losses differ by {spread:.1e}")
    if spread > 1e-4:
        raise SystemExit("the losses differ by more than 1e-4: the arms do not train the same thing")


if __name__ == "__main__":
    main()
