"""The jax engine against transformers, on small random models of each shape, and through the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("torch")
pytest.importorskip("transformers")

import jax
import torch

from finetune.jax_backend.gemma4 import Gemma4
from finetune.jax_backend.weights import load_model
from serve.engines import detect, open_engine
from serve.engines.decode import Row, decode, draw
from serve.engines.jax_sampler import WIDTHS, Knobs, Sampler, Shape, _draw, width
from serve.engines.shipped import shipped_folder
from tests.finetune.jax_backend.cases import Model, make_model, save_model
from verieval.completion import Message, Request, Sampling
from verieval.errors import VerievalError

NO_STOP: frozenset[int] = frozenset()
GREEDY = Sampling(max_tokens=40)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    kept: dict[str, tuple[Model, Sampler]] = {}

    def get(name: str) -> tuple[Model, Sampler]:
        if name not in kept:
            made = make_model(name)
            model = Model.read(made, save_model(made, tmp_path_factory.mktemp("models") / name))
            # Odd ones as the engine has small models, without a scan over the layers.
            config = replace(model.config, stacked=name != "odd" and name != "nano")
            weights = load_model(model.folder, config, "float32")
            kept[name] = model, Sampler(Gemma4(config, weights), config, "float32", 6)
        return kept[name]

    return get


def prompts(count: int = 6, *, longest: int = 60) -> list[list[int]]:
    """Of unequal lengths, some longer than the window of 24."""
    draws = np.random.default_rng(3)
    lengths = [1, 7, 23, 24, 25, longest][:count]
    return [draws.integers(1, 256, length).tolist() for length in lengths]


def rows(texts, *, seed: int = 5, budget: int = 40) -> list[Row]:
    return [Row(text, seed + number, budget) for number, text in enumerate(texts)]


def with_transformers(model: Model, texts, sampling: Sampling, stop=NO_STOP) -> list[Row]:
    found = rows(texts, budget=sampling.max_tokens)
    decode(model.torch, found, sampling, stop, pad=0)
    return found


@pytest.mark.parametrize("name", ["31b", pytest.param("e2b", marks=pytest.mark.slow), "nano",
                                  pytest.param("odd", marks=pytest.mark.slow)])  # fmt: skip
def test_greedy_tokens_are_transformers(models, name):
    """On every row, prompts and answers going round the ring more than once."""
    model, sampler = models(name)
    assert model.config.window < 40
    ours = rows(prompts())
    sampler.decode(ours, GREEDY, NO_STOP)
    theirs = with_transformers(model, prompts(), GREEDY)
    assert [row.tokens for row in ours] == [row.tokens for row in theirs]
    assert all(len(set(row.tokens)) > 3 and row.finish == "length" for row in ours)


def test_sampled_tokens_are_the_hf_engines(models):
    """The same seeds draw the same numbers; the distributions agree but for rounding."""
    model, sampler = models("31b")
    sampling = Sampling(temperature=0.8, top_p=0.9, top_k=50, max_tokens=24)
    ours = rows(prompts(), budget=24)
    sampler.decode(ours, sampling, NO_STOP)
    theirs = with_transformers(model, prompts(), sampling)
    assert [row.tokens for row in ours] == [row.tokens for row in theirs]
    other = rows(prompts(), seed=99, budget=24)
    sampler.decode(other, sampling, NO_STOP)
    assert [row.tokens for row in other] != [row.tokens for row in ours]


def test_a_row_does_not_depend_on_its_batch(models):
    _, sampler = models("31b")
    sampling = Sampling(temperature=1.0, max_tokens=16)
    together = rows(prompts(), budget=16)
    sampler.decode(together, sampling, NO_STOP)
    for number in (0, 5):
        alone = [Row(prompts()[number], 5 + number, 16)]
        sampler.decode(alone, sampling, NO_STOP)
        assert alone[0].tokens == together[number].tokens


@pytest.mark.parametrize("temperature", [1e-30, 1e-40, 1e-60])
def test_the_ends_of_what_may_be_asked(models, temperature):
    """A temperature that float32 does not hold draws the most probable token; top-k may be any number."""
    model, sampler = models("31b")
    sampling = Sampling(temperature=temperature, top_k=1 << 40, max_tokens=12)
    ours, greedy = rows(prompts(), budget=12), rows(prompts(), budget=12)
    sampler.decode(ours, sampling, NO_STOP)
    sampler.decode(greedy, Sampling(max_tokens=12), NO_STOP)
    theirs = with_transformers(model, prompts(), sampling)
    assert [row.tokens for row in ours] == [row.tokens for row in greedy] == [row.tokens for row in theirs]


@pytest.mark.parametrize("name", ["31b", "nano"])
def test_samples_of_a_task_share_a_prefill(models, name):
    """Three prompts for six rows, and one that fills the prompts up; what a row draws stays its own."""
    model, sampler = models(name)
    few = [prompts()[number] for number in (4, 1, 4, 5, 1, 4)]
    sampling = Sampling(temperature=1.0, max_tokens=32)
    ours = rows(few, budget=32)
    sampler.decode(ours, sampling, NO_STOP)
    theirs = with_transformers(model, few, sampling)
    assert [row.tokens for row in ours] == [row.tokens for row in theirs]
    assert len({tuple(row.tokens) for row in ours}) == 6


def test_rows_end_at_stop_tokens_and_budgets(models):
    """Each on its own; a stop token is counted and not kept."""
    model, sampler = models("31b")
    plain = with_transformers(model, prompts(), GREEDY)
    stop = frozenset({plain[1].tokens[4], plain[3].tokens[9]})
    ours, theirs = rows(prompts()), rows(prompts())
    ours[2].budget = theirs[2].budget = 3
    sampler.decode(ours, GREEDY, stop)
    decode(model.torch, theirs, GREEDY, stop, pad=0)
    assert [(row.tokens, row.drawn, row.finish) for row in ours] == [(r.tokens, r.drawn, r.finish) for r in theirs]
    assert {row.finish for row in ours} == {"stop", "length"}


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.7),
        Sampling(temperature=1.3, top_k=5),
        Sampling(temperature=1.0, top_p=0.6),
        Sampling(temperature=0.01, top_p=0.9, top_k=9),
    ],
)
def test_draws_are_the_hf_engines(sampling):
    """One distribution, many points of it, equal logits among them."""
    logits = np.random.default_rng(0).normal(size=(1, 300)).astype(np.float32) * 2
    logits[0, 10:14] = logits[0].max()
    logits = np.repeat(logits, 400, axis=0)
    uniforms = np.random.default_rng(1).random(400)
    shape = Shape(400, 1, 32, 32, greedy=False, filtered=bool(sampling.top_k) or sampling.top_p < 1)
    knobs = Knobs(np.float32(sampling.temperature), np.float32(sampling.top_p), np.int32(sampling.top_k))
    ours = np.asarray(jax.jit(_draw, static_argnums=3)(logits, uniforms.astype(np.float32), knobs, shape))
    theirs = draw(torch.from_numpy(logits), uniforms.tolist(), sampling).numpy()
    assert (ours == theirs).mean() >= 0.995  # a point on the border of two tokens may fall on either side
    assert set(ours) <= set(theirs) | set(ours[ours != theirs])
    assert len(set(theirs)) >= 4


def test_few_shapes_are_compiled():
    assert [width(length) for length in (1, 32, 33, 1024, 1025, 3000)] == [32, 32, 64, 1024, 2048, 3072]
    assert {width(length) for length in range(1, 1025)} == set(WIDTHS)


def test_what_is_no_number_is_said(models):
    model, _ = models("nano")
    weights = dict(model.weights)
    weights["norm.weight"] = weights["norm.weight"] * np.float32(np.nan)
    broken = Sampler(Gemma4(model.config, weights), model.config, "float32", 6)
    with pytest.raises(VerievalError, match="is not a number"):
        broken.decode(rows(prompts()), GREEDY, NO_STOP)


@pytest.fixture(scope="module")
def orbax(tmp_path_factory):
    """nano as ``verieval convert`` writes it."""
    folder = tmp_path_factory.mktemp("orbax") / "nano"
    source = shipped_folder("nano")
    assert source is not None
    words = [sys.executable, "-m", "verieval", "convert", str(source), str(folder), "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    return folder


def test_nano_answers_as_with_transformers_from_either_form(orbax):
    text = "Write the Verilog module `inv` with input `a` and output `y`, the inverse of `a`."
    requests = [Request("t", k, (Message("user", text + " " * k),), seed=k) for k in range(3)]
    sampling = Sampling(max_tokens=48)
    answers = []
    for model, name in (("nano", "hf"), ("nano", "jax"), (str(orbax), "jax")):
        engine = open_engine(model, engine=name, batch_size=4)
        answers.append([(c.text, c.finish_reason, c.completion_tokens) for c in engine.generate(requests, sampling)])
        engine.close()
    assert answers[0] == answers[1] == answers[2]
    assert "module" in answers[0][0][0]
    assert detect(str(orbax)) == "jax"


def test_orbax_arrays_are_the_folders(orbax):
    from finetune.gemma4 import load_config

    folder = shipped_folder("nano")
    config = load_config(folder)
    one, two = load_model(folder, config, "float32"), load_model(orbax, config, "float32")
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[path], two[path]) for path in one)


def test_a_manifest_names_engine_and_weights(orbax, tmp_path):
    engine = open_engine(str(orbax), dtype="bfloat16", batch_size=2)
    about = engine.describe()
    assert about["engine"]["name"] == "jax"
    assert (about["engine"]["dtype"], about["engine"]["batch_size"]) == ("bfloat16", 2)
    changed = tmp_path / "changed"
    shutil.copytree(orbax, changed)
    data = next(
        path for path in sorted((changed / "state").rglob("*")) if path.is_file() and path.stat().st_size > 10_000
    )
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    assert open_engine(str(changed)).describe()["model"]["sha256"] != about["model"]["sha256"]


@pytest.mark.parametrize(
    ("options", "said"),
    [({"dtype": "float16"}, "choose auto, float32 or bfloat16"), ({"batch_size": 0}, "at least 1"),
     ({"device": "cuda"}, "device does not apply to the jax engine"), ({"chat_format": "x"}, "chat format")],
)  # fmt: skip
def test_options_that_it_does_not_have(options, said):
    with pytest.raises(VerievalError, match=said):
        open_engine("nano", engine="jax", **options)


def test_models_that_it_does_not_have(tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(VerievalError, match="merge it with `verieval convert"):
        open_engine(str(adapter), engine="jax")
    with pytest.raises(VerievalError, match="reads a folder on this machine"):
        open_engine("google/gemma-4-E2B-it", engine="jax")
    moe = tmp_path / "moe"
    shutil.copytree(shipped_folder("nano"), moe)
    config = json.loads((moe / "config.json").read_text())
    (moe / "config.json").write_text(json.dumps({**config, "enable_moe_block": True, "num_experts": 8}))
    with pytest.raises(VerievalError, match="mixture-of-experts"):
        open_engine(str(moe), engine="jax")


def test_on_the_command_line(orbax, tmp_path):
    """The engine is found by the form of the model."""
    options = [
        "--tasks",
        "level:unit",
        "--limit",
        "3",
        "--max-tokens",
        "24",
        "--temperature",
        "0.7",
        "--batch-size",
        "2",
    ]
    words = [sys.executable, "-m", "verieval", "run", "--model", str(orbax), *options, "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["engine"]["name"] == "jax"
    lines = Path(tmp_path / "run" / "completions.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert all(json.loads(line)["completion_tokens"] >= 1 for line in lines)
