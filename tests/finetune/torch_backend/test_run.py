"""Whole runs through the command line: resumed, killed, stopped, on two processes, and what they leave."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

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
reasoning = "keep"
max_tokens = 192
packing = true
heldout = 6
seed = 0

[[data.sources]]
path = "{rows}"
layout = "chat"

[loss]
prompt_weight = 0.1
denominator = "weight_sum"
{lora}
{optim}
[train]
steps = 10
sequence_length = 192
batch = 4
micro_batch = 2
seed = 0
log_every = 3
eval_every = 4
checkpoint_every = 2
"""
LORA = """
[lora]
rank = 4
alpha = 8.0
dropout = 0.1
targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
optional = ["v_proj"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory, models):
    """A folder with rows and two recipes, with adapters and without."""
    folder = tmp_path_factory.mktemp("runs")
    draw = random.Random(0)
    lines = []
    for number in range(80):
        width = draw.randrange(1, 9)
        code = f"module TopModule (input [{width}:0] d, output [{width}:0] q{number}); assign q{number} = d; endmodule"
        turns = [("system", "You write Verilog."), ("user", f"A wire q{number}, {width} wide."), ("assistant", code)]
        lines.append(json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]}))
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    for name, lora in (("lora", LORA), ("full", "")):
        text = RECIPE.format(source=models["gemma"], rows=folder / "rows.jsonl", lora=lora, optim=OPTIM)
        (folder / f"{name}.toml").write_text(text)
    return folder


def command(*words: object, processes: int = 1) -> list[str]:
    start = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes), "--master-port", str(_port())]
    return [sys.executable, *(start if processes > 1 else []), "-m", "verieval", "train", *map(str, words)]


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def train(*words: object, processes: int = 1) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words, processes=processes), env=ENVIRONMENT, capture_output=True, text=True, timeout=250
    )


def weights(folder: Path) -> dict[str, torch.Tensor]:
    parts = [f"{name}/{file}" for name, file in (("model", "model"), ("adapter", "adapter_model"))]
    files = [folder / f"{part}.safetensors" for part in parts]
    found = {file.parent.name: load_file(file) for file in files if file.exists()}
    return {f"{part} {name}": value for part, tensors in found.items() for name, value in tensors.items()}


def start_and_wait(folder: Path, step: int, *words: object) -> subprocess.Popen[str]:
    """Start a run and come back when it has a checkpoint of at least ``step``."""
    process = subprocess.Popen(
        command(*words, "--out", folder), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_checkpoint(process, folder, step, seconds=120)
    return process


@pytest.fixture(scope="module")
def undisturbed(place):
    """A run with adapters, from start to end."""
    done = train(place / "lora.toml", "--out", place / "undisturbed", "--json")
    assert done.returncode == 0, done.stderr
    return place / "undisturbed", done


def test_what_a_run_says_and_leaves(undisturbed):
    folder, done = undisturbed
    result = json.loads(done.stdout)
    assert result["out"] == str(folder)
    assert (result["steps"], result["model"], result["adapter"]) == (10, str(folder / "model"), str(folder / "adapter"))
    assert "adapters on 14 modules in 4 layers" in done.stderr
    rows = log(folder)
    assert [row["step"] for row in rows] == [0, 3, 4, 6, 8, 9, 10]
    assert {"loss", "response_nll", "prompt_nll", "learning_rate", "grad_norm", "tokens"} <= rows[1].keys()
    assert [row["step"] for row in rows if "heldout_response_nll" in row] == [0, 4, 8, 10]
    assert rows[-1]["heldout_response_nll"] < rows[0]["heldout_response_nll"] - 0.5
    assert result["last"]["heldout_response_nll"] == rows[-1]["heldout_response_nll"]
    assert [found.step for found in complete(folder)] == [8, 10]
    assert any((folder / "tensorboard").iterdir())
    for name in ("model", "adapter"):
        names = {path.name for path in (folder / name).iterdir()}
        assert {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "training.json"} <= names
        assert "README.md" not in names
        # Whoever may read one file of them may read all, as with files that any program makes.
        assert len({path.stat().st_mode for path in (folder / name).iterdir()}) == 1
    assert not list(folder.glob("*.tmp")) + list(folder.glob(".*.tmp"))


def test_training_json_explains_the_weights(undisturbed):
    import hashlib

    folder, _ = undisturbed
    for part in (folder, folder / "model", folder / "adapter"):
        said = read_manifest(part)
        assert said["recipe"]["lora"]["rank"] == 4
        assert len(said["recipe_sha256"]) == len(said["data"]["sha256"]) == 64
        template = (folder / "model" / "chat_template.jinja").read_text()
        assert said["chat_template_sha256"] == hashlib.sha256(template.encode()).hexdigest()
        assert said["versions"]["torch"] == torch.__version__
        assert [point["step"] for point in said["curve"]] == [3, 6, 9, 10]
        assert [point["step"] for point in said["heldout_curve"]] == [0, 4, 8, 10]
        assert said["export"] == {"dtype": "float32", "merged": 14}
        assert (said["steps"], said["seeds"]) == (10, {"data": 0, "train": 0})


def test_generation_stops_at_the_end_of_a_turn(undisturbed):
    folder, _ = undisturbed
    vocabulary = json.loads((folder / "model" / "tokenizer.json").read_text())
    ids = {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    config = json.loads((folder / "model" / "generation_config.json").read_text())
    assert set(config["eos_token_id"]) == {ids["<eos>"], ids["<turn|>"]}


def test_the_same_command_again_finds_it_done(undisturbed, place):
    folder, _ = undisturbed
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    done = train(place / "lora.toml", "--out", folder)
    assert done.returncode == 0
    assert "holds the whole run already" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before


def test_merged_and_adapter_give_the_same_logits(undisturbed, models):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    folder, _ = undisturbed
    ids = torch.arange(8, 72)[None]
    merged, info = AutoModelForCausalLM.from_pretrained(folder / "model", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    base = AutoModelForCausalLM.from_pretrained(models["gemma"])
    with torch.no_grad():
        plain = base(ids, use_cache=False).logits
        one = merged(ids, use_cache=False).logits
        two = PeftModel.from_pretrained(base, folder / "adapter").eval()(ids, use_cache=False).logits
    assert float((one - two).abs().max()) <= 1e-5 * float(two.abs().max())
    assert float((one - plain).abs().max()) > 0.1


@pytest.mark.parametrize("name", ["model", "adapter"])
def test_evaluation_reads_it_and_compares_the_prompts(undisturbed, name):
    from serve.engines import open_engine
    from verieval.completion import Message, Request, Sampling
    from verieval.protocol import preset_prompt, training_differences

    folder, _ = undisturbed
    engine = open_engine(str(folder / name), benchmark=None)
    model = engine.describe()["model"]
    assert model["training"]["recipe_sha256"] == read_manifest(folder)["recipe_sha256"]
    template = preset_prompt("default")
    asked = [Message("system", "You write Verilog."), Message("user", "A wire q1, 4 wide.")]
    assert training_differences(model, template, asked) == ()
    [completion] = engine.generate([Request("t", 0, tuple(asked), 0)], Sampling(n=1, max_tokens=4))
    assert completion.completion_tokens == 4
    (other,) = training_differences(model, template, [Message("user", "A wire q1, 4 wide.")])
    assert other.startswith("the system turn (none) is not among those that the model was trained with")
    engine = open_engine(str(folder / name), benchmark=None, chat_format="chatml")
    (changed,) = training_differences(engine.describe()["model"], template, asked)
    assert changed.startswith("the chat template (sha256 ")


def test_another_recipe_or_other_data_is_refused(undisturbed, place):
    folder, _ = undisturbed
    done = train(place / "lora.toml", "--out", folder, "--set", "loss.prompt_weight=1.0")
    assert done.returncode == 2
    assert "holds the run of another recipe (it differs in loss.prompt_weight)" in done.stderr
    rows = (place / "rows.jsonl").read_text()
    try:
        (place / "rows.jsonl").write_text(rows.replace("assign", "assign "))
        done = train(place / "lora.toml", "--out", folder)
    finally:
        (place / "rows.jsonl").write_text(rows)
    assert done.returncode == 2
    assert "holds a run on other data" in done.stderr
    assert done.stderr.count("\n") <= 2


def test_a_folder_of_something_else_is_refused(place, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    done = train(place / "lora.toml", "--out", tmp_path)
    assert done.returncode == 2
    assert "is not empty and not a training run (it holds notes.txt)" in done.stderr


def test_killed_and_resumed_is_undisturbed_bit_for_bit(undisturbed, place):
    expected, _ = undisturbed
    folder = place / "killed"
    for step in (2, 6):
        process = start_and_wait(folder, step, place / "lora.toml")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # What the kill may have left: half a line, and half a checkpoint, with and without a name.
        with (folder / "train.jsonl").open("a") as file:
            file.write('{"step": 99, "loss"')
        torn = folder / "checkpoints" / "step-000099"
        torn.mkdir(exist_ok=True)
        (torn / "__0_0.distcp").write_bytes(b"half")
        (folder / "checkpoints" / ".step-000007.tmp").mkdir(exist_ok=True)
    done = train(place / "lora.toml", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "going on after step" in done.stderr
    assert "step-000099 is damaged and passed over" in done.stderr
    assert log(folder) == log(expected)
    found, wanted = weights(folder), weights(expected)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    assert not (folder / "checkpoints" / ".step-000007.tmp").exists()


@pytest.mark.parametrize("signum", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_stopped_by_a_signal_keeps_every_step(undisturbed, place, signum):
    expected, _ = undisturbed
    folder = place / signum.name
    process = start_and_wait(folder, 2, place / "lora.toml")
    process.send_signal(signum)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + signum
    assert f"stopped by {signum.name}" in said
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    stopped = complete(folder)[-1].step
    assert f"step {stopped}/10" in said  # a checkpoint of the very step at which it stopped
    assert train(place / "lora.toml", "--out", folder).returncode == 0
    assert log(folder) == log(expected)
    assert all(torch.equal(value, weights(expected)[name]) for name, value in weights(folder).items())


@pytest.mark.parametrize("kind", ["lora", pytest.param("full", marks=pytest.mark.slow)])
def test_two_processes_are_one(undisturbed, place, kind):
    expected = undisturbed[0] if kind == "lora" else place / "full-one"
    if kind == "full":
        assert train(place / "full.toml", "--out", expected).returncode == 0
    folder = place / f"{kind}-two"
    done = train(place / f"{kind}.toml", "--out", folder, "--set", "parallel.fsdp=2", processes=2)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("weights are trained") == 1  # the first process alone speaks
    # Adam divides small gradients by themselves, rounding and all: with every weight trained that adds up sooner.
    tolerance = {"lora": 3e-5, "full": 3e-4}[kind]
    for one, two in zip(log(folder), log(expected), strict=True):
        assert one.keys() == two.keys()
        for name, value in two.items():
            near = 1e-6 if two["step"] == 0 else tolerance
            assert one[name] == pytest.approx(value, rel=near, abs=1e-7), (name, two["step"])
    found, wanted = weights(folder), weights(expected)
    assert found.keys() == wanted.keys()
    assert max(float((found[name] - value).abs().max()) for name, value in wanted.items()) < 2e-4


@pytest.mark.slow
def test_two_processes_resume_too(undisturbed, place):
    folder = place / "two-resumed"
    words = (place / "lora.toml", "--out", folder, "--set", "parallel.fsdp=2")
    process = subprocess.Popen(
        command(*words, processes=2), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 120
    while not complete(folder):
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert not (folder / "model").exists()
    done = train(*words, processes=2)
    assert done.returncode == 0, done.stderr
    assert "going on after step" in done.stderr
    for one, two in zip(log(folder), log(undisturbed[0]), strict=True):
        assert one["step"] == two["step"]
        assert all(one[name] == pytest.approx(value, rel=3e-5, abs=1e-7) for name, value in two.items())


def test_full_training_leaves_a_model_in_its_compute_dtype(place):
    folder = place / "full-bf16"
    done = train(
        place / "full.toml", "--out", folder, "--steps", "2", "--set", "optim.warmup_steps=0", "--set",
        "model.compute_dtype=bfloat16", "--set", "optim.name=muon",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (folder / "adapter").exists()
    tensors = load_file(folder / "model" / "model.safetensors")
    assert {value.dtype for value in tensors.values()} == {torch.bfloat16}
    assert "lm_head.weight" not in tensors  # tied
    assert json.loads((folder / "model" / "config.json").read_text())["dtype"] == "bfloat16"


def test_nan_saves_the_batch_and_says_so(place):
    import numpy as np

    folder = place / "nan"
    done = train(
        place / "full.toml", "--out", folder, "--set", "optim.learning_rate=1e5", "--set", "optim.clip_norm=0.0",
        "--set", "optim.warmup_steps=0",
    )  # fmt: skip
    assert done.returncode == 2
    [path] = folder.glob("nan-step-*.npz")
    assert f"{path}" in done.stderr
    assert "has no finite loss or gradient" in done.stderr
    saved = np.load(path)
    assert saved["ids"].shape == saved["coefficient"].shape == (4, 192)
    assert "rows.jsonl:" in str(saved["names"][0])


def test_show_tokens_trains_nothing(place):
    folder = place / "shown"
    done = train(place / "lora.toml", "--out", folder, "--show-tokens", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 2
    assert not folder.exists()
