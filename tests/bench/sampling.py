"""Tokens a second of the jax engine against transformers' generate and Tunix's Sampler: same model, prompts and cores.

The model is `nano`, greedy and without stop tokens, so that every row draws the same number of tokens and all say the
same. Each arm is a process of its own with the same number of threads; compiling and the first batch are not counted.

    python tests/bench/sampling.py [--rows 16] [--samples 1] [--tokens 256] [--threads 1] [--repeats 3] [--json]
                                   [--arms transformers tunix jax]

With ``--samples 4`` four rows at a time have the same prompt, as the samples of a task do.

Tunix is no dependency: it is installed by pip into .tools/tunix the first time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from _arms import run_arm

ARMS = ("transformers", "tunix", "jax")


def prompts(rows: int, samples: int) -> list[list[int]]:
    """The shortest prompts of the project's own tasks, as the evaluation asks them, each so many times."""
    from transformers import AutoTokenizer

    from serve.engines.shipped import shipped_folder
    from verieval import protocol
    from verieval.benchmarks import load

    tokenizer = AutoTokenizer.from_pretrained(shipped_folder("nano"))
    template = protocol.preset_prompt("default")
    texts = [protocol.render(template, task, "verieval")[-1].content for task in load("verieval").tasks]
    found = sorted((tokenizer(text)["input_ids"] for text in texts), key=len)
    return [list(found[row // samples]) for row in range(rows)]


def transformers(options: argparse.Namespace) -> tuple[list[list[int]], float]:
    """Ids, and seconds of the best repetition."""
    import torch
    from transformers import AutoModelForCausalLM

    from serve.engines.shipped import shipped_folder

    model = AutoModelForCausalLM.from_pretrained(shipped_folder("nano"), dtype=torch.float32).eval()
    asked = prompts(options.rows, options.samples)
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
        rows = [Row(ids, 0, options.tokens) for ids in prompts(options.rows, options.samples)]
        start = time.perf_counter()
        sampler.decode(rows, Sampling(max_tokens=options.tokens), frozenset())
        best = min(best, time.perf_counter() - start)
    return [row.tokens for row in rows], best


def tunix(options: argparse.Namespace) -> tuple[list[list[int]], float]:
    """The same with Tunix's Sampler, in its own environment: model and prompts come from the caller."""
    from _tunix import sample

    given = json.loads((options.folder / "prompts.json").read_text())
    return sample(options.folder / "model", given, options.tokens, options.repeats)


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Write what the arm in another environment gets."""
    from serve.engines.shipped import shipped_folder

    shipped = shipped_folder("nano")
    assert shipped is not None
    (folder / "model").symlink_to(shipped)
    (folder / "prompts.json").write_text(json.dumps(prompts(options.rows, options.samples)))


def run(arm: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One arm in a process of its own."""
    flags = f"--xla_cpu_multi_thread_eigen={'true' if options.threads > 1 else 'false'}"
    flags += f" intra_op_parallelism_threads={options.threads}"
    if arm == "tunix":
        import _tunix

        python = str(_tunix.python())
    else:
        python = sys.executable
    command = [python, __file__, *sys.argv[1:], "--arm", arm, "--folder", str(folder)]
    if options.threads == 1:
        command = ["taskset", "-c", "0", *command]
    return run_arm(arm, command, options.threads, {"XLA_FLAGS": flags})


def main() -> None:
    """Measure, or run one arm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--samples", type=int, default=1, help="rows that have the same prompt")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        arms = {"transformers": transformers, "tunix": tunix, "jax": ours}
        tokens, seconds = arms[options.arm](options)
        print(json.dumps({"tokens": tokens, "seconds": seconds}))
        return
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), options)
        found = {arm: run(arm, Path(name), options) for arm in options.arms}
    rates = {arm: options.rows * options.tokens / result["seconds"] for arm, result in found.items()}
    ids = [arm["tokens"] for arm in found.values()]
    same = sum(all(rows[0] == row for row in rows) for rows in zip(*ids, strict=True))
    ratios = {arm: rates["jax"] / rate for arm, rate in rates.items() if "jax" in rates and arm != "jax"}
    if options.json:
        print(
            json.dumps(
                {
                    "rows": options.rows,
                    "samples": options.samples,
                    "tokens": options.tokens,
                    "rates": rates,
                    "jax_to": ratios,
                    "same": same,
                }
            )
        )
        return
    for arm, rate in rates.items():
        print(f"{arm:14} {rate:8,.0f} tokens/s" + (f"   jax {ratios[arm]:.2f}x" if arm in ratios else ""))
    print(f"{same} of {options.rows} rows are the same in all, id for id")


if __name__ == "__main__":
    main()
