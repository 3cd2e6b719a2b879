"""Memory and time of `verieval convert`: a synthetic checkpoint there and back through Orbax, and an adapter merged.

    python tests/bench/convert.py [--layers 36] [--limit 1.5] [--folder DIR]

The model has Gemma 4 31B's kinds of layers (5 sliding, 1 global with K=V), 0.23 GB a layer in bfloat16 and an embedding
of 0.67 GB, its largest tensor; with 36 layers it has 8.6 GB. Every command runs in a process of its own, whose peak
resident memory is what the kernel says. It fails where a byte differs after the way there and back, or where a process
needs more than the limit (GB). The folder is removed at the end; it needs four times the model's size.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from finetune.checkpoint.layout import PEFT_PREFIX, adapters, places, tensors  # noqa: E402
from finetune.checkpoint.tensorfile import numpy_dtype, open_folder  # noqa: E402
from finetune.checkpoint.writer import Planned, Writer  # noqa: E402
from finetune.gemma4 import read_config  # noqa: E402
from finetune.recipe import LoraSpec  # noqa: E402
from verieval.run.jsonl import dump_json  # noqa: E402

RANK = 64
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
GROUP = [*["sliding_attention"] * 5, "full_attention"]


def config(layers: int) -> dict[str, Any]:
    """Of a model with so many layers, a multiple of six."""
    return {
        "model_type": "gemma4_text", "vocab_size": 131_072, "hidden_size": 2_560, "intermediate_size": 10_240,
        "num_hidden_layers": layers, "layer_types": GROUP * (layers // 6), "num_attention_heads": 16,
        "num_key_value_heads": 8, "num_global_key_value_heads": 2, "head_dim": 256, "global_head_dim": 512,
        "attention_k_eq_v": True, "sliding_window": 1024, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
        "tie_word_embeddings": True, "dtype": "bfloat16",
    }  # fmt: skip


def write(folder: Path, planned: list[Planned], file: str) -> None:
    """Random numbers of either sign between 2^-7 and 2^-6, every tensor's its own part of the same stream."""
    folder.mkdir(parents=True)
    block = np.random.default_rng(0).integers(0, 2**16, 1 << 24, dtype=np.uint16)
    bits = (block & 0x807F) | 0x3C00
    with Writer(folder, planned, file=file, shard=2 * 10**9 if file.startswith("model") else 10**12) as writer:
        for number, one in enumerate(planned):
            size = int(np.prod(one.shape))
            start = number * 4_099 % (1 << 23)
            part = bits[start : start + size] if start + size <= len(bits) else np.resize(bits[start:], size)
            flat = part.view(numpy_dtype("bfloat16"))
            writer.write(one.name, flat.astype(numpy_dtype(one.dtype), copy=False).reshape(one.shape))
        writer.finish()


def make(folder: Path, layers: int) -> int:
    """The model and an adapter for all its projections; returns the model's bytes."""
    content = config(layers)
    shape = read_config(content)
    spec = LoraSpec(rank=RANK, alpha=64.0, dropout=0.0, targets=TARGETS)
    named = {place.name: place.shape for place in places(tensors(shape), "transformers", shape.prefix)}
    base = [Planned(name, "bfloat16", size) for name, size in sorted(named.items())]
    write(folder / "base", base, "model.safetensors")
    (folder / "base" / "config.json").write_text(dump_json(content))
    low = places(adapters(shape, spec), "transformers", PEFT_PREFIX + shape.prefix)
    write(folder / "low", [Planned(one.name, "float32", one.shape) for one in low], "adapter_model.safetensors")
    (folder / "low" / "adapter_config.json").write_text(
        dump_json({"peft_type": "LORA", "r": RANK, "lora_alpha": 64, "base_model_name_or_path": str(folder / "base")})
    )
    return sum(one.size for one in base)


def run(*words: str) -> dict[str, float]:
    """Seconds and peak resident bytes of a conversion."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "verieval", "convert", *words, "--quiet"], cwd=ROOT, stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        process.wait()
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"verieval convert {' '.join(words)} ended with {process.returncode}")
    return {"seconds": time.monotonic() - start, "peak": usage.ru_maxrss * 1024, "cpu": usage.ru_utime + usage.ru_stime}


def measure(name: str, *words: str) -> dict[str, float]:
    """Run, and say so."""
    found = run(*words)
    said = f"{found['seconds']:7.1f} s, CPU {found['cpu']:6.1f} s, peak {found['peak'] / 1e9:.2f} GB"
    print(f"{name:30} {said}", flush=True)
    return found


def same(one: Path, two: Path) -> bool:
    """Every tensor has the same bytes."""
    first, second = open_folder(one), open_folder(two)
    return first.shapes == second.shapes and all(
        np.array_equal(first.read(name).view(np.uint8), second.read(name).view(np.uint8)) for name in first.entries
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=36, help="a multiple of six")
    parser.add_argument("--limit", type=float, default=1.5, help="GB of resident memory that no process may exceed")
    parser.add_argument("--quick", action="store_true", help="leave out the merge that reads Orbax")
    parser.add_argument("--folder", type=Path, help="where it is made (default: a temporary folder)")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="convert-", dir=options.folder))
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that the folder goes
    try:
        need = 4 * (0.7 + 0.24 * options.layers) * 1e9
        if shutil.disk_usage(work).free < need:
            raise SystemExit(f"{work} has less than {need / 1e9:.0f} GB free")
        size = make(work, options.layers)
        base, low, orbax, back, merged = (str(work / name) for name in ("base", "low", "orbax", "back", "merged"))
        print(f"model {size / 1e9:.2f} GB", flush=True)
        result = {name: measure(name, *words) for name, words in (
            ("safetensors to orbax", (base, orbax)),
            ("orbax to safetensors", (orbax, back)),
            ("adapter merged, safetensors", (base, merged, "--adapter", low)),
        )}  # fmt: skip
        # In a process of its own: what this one holds counts as a part of the peak of whatever it starts.
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            exact = pool.submit(same, work / "base", work / "back").result()
        shutil.rmtree(back)
        shutil.rmtree(merged)
        if not options.quick:
            result["adapter merged, orbax"] = measure("adapter merged, orbax", orbax, merged, "--adapter", low)
    finally:
        shutil.rmtree(work)
    print(f"there and back {'bit for bit' if exact else 'DIFFERENT'}")
    print(json.dumps({"bytes": size, "exact": exact, **result}))
    return 0 if exact and all(found["peak"] <= options.limit * 1e9 for found in result.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
