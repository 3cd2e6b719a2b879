"""What tests of whole runs share, whichever backend executes them."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from finetune.checkpoints import complete

TIMES = ("seconds", "tokens_per_second")
# Of a recipe that learns within a few steps.
OPTIM = """
[optim]
name = "adamw"
learning_rate = 5e-3
beta1 = 0.9
beta2 = 0.99
eps = 1e-8
weight_decay = 0.01
schedule = "cosine"
warmup_steps = 2
final_fraction = 0.1
clip_norm = 1.0
"""


def log(folder: Path) -> list[dict]:
    """The lines of ``train.jsonl`` but for what a clock says."""
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def wait_for_checkpoint(process: subprocess.Popen[str], folder: Path, step: int, *, seconds: float) -> None:
    """Come back when the run has a checkpoint of at least ``step``."""
    end = time.monotonic() + seconds
    while not any(found.step >= step for found in complete(folder)):
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
