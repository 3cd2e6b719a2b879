"""Tokens a second of the jax engine against transformers' generate, on the same model, prompts and cores, in one run.

The model is `nano`, greedy and without stop tokens, so that every row draws the same number of tokens and both say the
same. Each arm is a process of its own with the same number of threads; compiling and the first batch are not counted.

    python tests/bench/sampling.py [--rows 16] [--tokens 256] [--threads 1] [--repeats 3] [--json]

Tunix's Sampler, which was to be the second peer, is not measured here yet.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from typing import Any

from _arms import run_arm

ARMS = ("transformers", "jax")


def prompts(rows: int) -> list[list[int]]:
    """The shortest prompts of the project's own tasks, as the evaluation asks them."""
    from transformers import AutoTokenizer

    from serve.engines.shipped import shipped_folder
    from verieval import protocol
    from verieval.benchmarks import load

    tokenizer = AutoTokenizer.from_pretrained(shipped_folder("nano"))
    template = protocol.preset_prompt("default")
    texts = [protocol.render(template, task, "verieval")[-1].content for task in load("verieval").tasks]
    found = sorted((tokenizer(text)["input_ids"] for text in texts), key=len)
    return [list(ids) for ids in found[:rows]]


def transformers(options: argparse.Namespace) -> tuple[list[list[int]], float]:
    """Ids, and seconds of the best repetition."""
    import torch
    from transformers import AutoModelForCausalLM

    from serve.engines.shipped import shipped_folder

    model = AutoModelForCausalLM.from_pretrained(shipped_folder("nano"), dtype=torch.float32).eval()
    asked = prompts(options.rows)
    width = max(map(len, asked))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in asked])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in asked])
    fixed = {
        "max_new_tokens": options.tokens,
        "min_new_tokens": options.tokens,
        "do_sample": False,
        "eos_token_id": None,
    }
    best, found = float("inf"), ids
    for _ in range(options.repeats + 1):
        start = time.perf_counter()
        found = model.generate(input_ids=ids, attention_mask=mask, pad_token_id=0, **fixed)
        best = min(best, time.perf_counter() - start)
    return found[:, width:].tolist(), best


def ours(options: argparse.Namespace) -> tuple[list[list[int]], float]:
    """The same with the jax engine's sampler."""
    from finetune.gemma4 import load_config
    from finetune.jax_backend.gemma4 import Gemma4
    from finetune.jax_backend.weights import load_model
    from serve.engines.decode import Row
    from serve.engines.jax_sampler import Sampler
    from serve.engines.shipped import shipped_folder
    from verieval.completion import Sampling

    folder = shipped_folder("nano")
    assert folder is not None
    config = replace(load_config(folder), stacked=False)
    sampler = Sampler(Gemma4(config, load_model(folder, config, "float32")), config, "float32", options.rows)
    best, rows = float("inf"), []
    for _ in range(options.repeats + 1):
        rows = [Row(ids, 0, options.tokens) for ids in prompts(options.rows)]
        start = time.perf_counter()
        sampler.decode(rows, Sampling(max_tokens=options.tokens), frozenset())
        best = min(best, time.perf_counter() - start)
    return [row.tokens for row in rows], best


def run(arm: str, options: argparse.Namespace) -> dict[str, Any]:
    """One arm in a process of its own."""
    flags = f"--xla_cpu_multi_thread_eigen={'true' if options.threads > 1 else 'false'}"
    flags += f" intra_op_parallelism_threads={options.threads}"
    command = [sys.executable, __file__, *sys.argv[1:], "--arm", arm]
    if options.threads == 1:
        command = ["taskset", "-c", "0", *command]
    return run_arm(arm, command, options.threads, {"XLA_FLAGS": flags})


def main() -> None:
    """Measure, or run one arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        tokens, seconds = (transformers if options.arm == "transformers" else ours)(options)
        print(json.dumps({"tokens": tokens, "seconds": seconds}))
        return
    found = {arm: run(arm, options) for arm in ARMS}
    same = sum(one == two for one, two in zip(*(arm["tokens"] for arm in found.values()), strict=True))
    rates = {arm: options.rows * options.tokens / result["seconds"] for arm, result in found.items()}
    ratio = rates["jax"] / rates["transformers"]
    if options.json:
        print(
            json.dumps({"rows": options.rows, "tokens": options.tokens, "rates": rates, "ratio": ratio, "same": same})
        )
    else:
        for arm, rate in rates.items():
            print(f"{arm:14} {rate:8,.0f} tokens/s")
        print(f"jax against transformers {ratio:.2f}x; {same} of {options.rows} rows are the same, id for id")


if __name__ == "__main__":
    main()
