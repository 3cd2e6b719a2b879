"""Whole runs through the command line on JAX: from start to end, killed and resumed, and what they leave."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from finetune.checkpoints import complete
from finetune.folder import read_manifest
from tests.finetune.runs import OPTIM, log, wait_for_checkpoint

ROOT = Path(__file__).resolve().parents[3]
RECIPE = """
[model]
source = "{source}"
dtype = "float32"
compute_dtype = "float32"
chat_format = "auto"

[data]
sources = [{{ path = "{rows}", layout = "chat" }}]
reasoning = "keep"
max_tokens = 128
packing = true
heldout = 4
seed = 0

[loss]
prompt_weight = 0.1
denominator = "weight_sum"

[lora]
rank = 4
alpha = 8.0
dropout = 0.1
targets = ["q_proj", "v_proj"]
optional = ["v_proj"]

{optim}
[train]
steps = 8
sequence_length = 128
batch = 4
micro_batch = 2
seed = 0
log_every = 3
eval_every = 4
checkpoint_every = 2
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory, checkpoint):
    """A folder with rows, a recipe of the torch backend, and a cache that all runs share."""
    folder = tmp_path_factory.mktemp("runs")
    draw = random.Random(0)
    lines = []
    for number in range(60):
        width = draw.randrange(1, 9)
        turns = [
            ("user", f"A wire q{number}, {width} wide."),
            ("assistant", f"module m (input [{width}:0] d, output [{width}:0] q{number}); assign q{number} = d;"),
        ]
        lines.append(json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]}))
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "recipe.toml").write_text(RECIPE.format(source=checkpoint, rows=folder / "rows.jsonl", optim=OPTIM))
    return folder


def begin(place: Path, out: Path, *words: str) -> subprocess.Popen[str]:
    own = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "VERIEVAL_CACHE": str(place / "cache")}
    command = [sys.executable, "-m", "verieval", "train", str(place / "recipe.toml"), "--set", "backend=jax"]
    return subprocess.Popen(
        [*command, "--out", str(out), "--json", *words],
        env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(place: Path, out: Path, *words: str) -> tuple[dict, str]:
    process = begin(place, out, *words)
    said, complained = process.communicate(timeout=290)
    assert process.returncode == 0, complained
    return json.loads(said), complained


def weights(folder: Path) -> dict[str, np.ndarray]:
    files = (folder / "model" / "model.safetensors", folder / "adapter" / "adapter_model.safetensors")
    return {f"{file.parent.name} {name}": value for file in files for name, value in load_file(file).items()}


@pytest.fixture(scope="module")
def undisturbed(place):
    """A run from start to end."""
    return place / "undisturbed", *finish(place, place / "undisturbed")


def test_what_a_run_says_and_leaves(undisturbed, place):
    folder, result, said = undisturbed
    assert (result["steps"], result["model"], result["adapter"]) == (8, str(folder / "model"), str(folder / "adapter"))
    assert "adapters on 6 modules in 4 layers: q_proj 4, v_proj 2" in said
    rows = log(folder)
    assert [row["step"] for row in rows] == [0, 3, 4, 6, 8]
    assert rows[-1]["heldout_response_nll"] < rows[0]["heldout_response_nll"] - 0.1
    assert [found.step for found in complete(folder)] == [6, 8]
    for part in (folder, folder / "model", folder / "adapter"):
        manifest = read_manifest(part)
        assert manifest["recipe"]["backend"] == "jax"
        assert manifest["versions"]["jax"]
        assert manifest["export"] == {"dtype": "float32", "merged": 6}
    for name in ("model", "adapter"):
        names = {path.name for path in (folder / name).iterdir()}
        assert {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "training.json"} <= names
    assert any((place / "cache" / "jax").iterdir())


def test_killed_and_resumed_is_undisturbed_bit_for_bit(undisturbed, place):
    folder = place / "killed"
    process = begin(place, folder)
    wait_for_checkpoint(process, folder, 0, seconds=250)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / "model").exists()
    _, said = finish(place, folder)
    assert "going on after step" in said
    assert log(folder) == log(undisturbed[0])
    found, expected = weights(folder), weights(undisturbed[0])
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], value) for name, value in expected.items())


@pytest.mark.slow
def test_torch_takes_the_same_recipe(undisturbed, place):
    """Another framework's dropout and first adapters, so near and not equal; the files have the same tensors."""
    folder = place / "torch"
    finish(place, folder, "--set", "backend=torch")
    found, expected = weights(folder), weights(undisturbed[0])
    assert {name: value.shape for name, value in found.items()} == {n: v.shape for n, v in expected.items()}
    for one, two in zip(log(folder), log(undisturbed[0]), strict=True):
        assert (one["step"], one.get("tokens")) == (two["step"], two.get("tokens"))
    assert log(folder)[0]["heldout_loss"] == pytest.approx(log(undisturbed[0])[0]["heldout_loss"], abs=1e-5)
    assert log(folder)[-1]["heldout_loss"] == pytest.approx(log(undisturbed[0])[-1]["heldout_loss"], rel=0.1)


@pytest.mark.slow
def test_a_mesh_of_four_is_one_device(undisturbed, place):
    folder = place / "mesh"
    changes = ("parallel.fsdp=4", "train.micro_batch=1")
    words = [word for change in changes for word in ("--set", change)]
    finish(place, folder, *words)
    for one, two in zip(log(folder), log(undisturbed[0]), strict=True):
        assert one.keys() == two.keys()
        for name, value in two.items():
            assert one[name] == pytest.approx(value, rel=1e-4, abs=1e-6), (name, two["step"])
