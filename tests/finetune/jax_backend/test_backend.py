"""The backend: what a step leaves, what a checkpoint brings back, what is exported, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import jax
import numpy as np
import pytest
import torch

from finetune.backend import Micro
from finetune.gemma4 import load_config
from finetune.jax_backend.backend import build
from finetune.jax_backend.source import find_source
from finetune.jax_backend.weights import load_weights
from finetune.recipe import ParallelSpec, load_recipe
from tests.finetune.jax_backend.parity import (
    BATCH,
    VOCABULARY,
    Case,
    Differences,
    batches,
    begin,
    run_jax,
    run_torch,
    start_jax,
)  # fmt: skip
from tests.finetune.torch_backend.cases import recipe
from verieval.errors import VerievalError

CASE = Case()


@pytest.fixture
def fresh(checkpoint, backend_of):
    """The shared backend before its first step, and the batches of three steps."""
    backend, spec = backend_of(CASE), CASE.recipe(checkpoint, steps=3)
    start_jax(backend, begin(backend.config, spec))
    return backend, batches(spec)


def state(backend):
    return jax.tree.map(np.array, backend.state)


def same(one, two) -> bool:
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(two)))


def test_counts_and_notes(fresh, checkpoint):
    from transformers import AutoModelForCausalLM

    backend, _ = fresh
    base = AutoModelForCausalLM.from_pretrained(checkpoint)
    assert backend.total - backend.trainable == sum(value.numel() for value in base.parameters())
    assert backend.trainable == sum(value.size for value in begin(backend.config, backend.recipe).values())
    assert backend.notes[0].startswith("adapters on 14 modules in 4 layers")
    assert (backend.rank, backend.world, backend.agree(True), backend.agree(False)) == (0, 1, True, False)


def test_what_is_no_number_changes_nothing(fresh):
    backend, steps = fresh
    backend.step(steps[0], learning_rate=1e-3, seed=0)
    before = state(backend)
    broken = [*steps[1][:-1], Micro(steps[1][-1].batch, np.full_like(steps[1][-1].coefficient, np.nan))]
    with pytest.raises(FloatingPointError, match="gradient norm nan"):
        backend.step(broken, learning_rate=1e-3, seed=1)
    assert same(state(backend), before)
    backend.step(steps[1], learning_rate=1e-3, seed=1)
    assert not same(state(backend), before)


def test_restored_goes_on_bit_for_bit(fresh, tmp_path):
    backend, steps = fresh
    backend.step(steps[0], learning_rate=1e-3, seed=0)
    before = state(backend)
    backend.save(tmp_path)
    expected = [backend.step(micros, learning_rate=1e-3, seed=1) for micros in steps[1:]]
    after = state(backend)
    backend.restore(tmp_path)
    assert same(state(backend), before)
    assert [backend.step(micros, learning_rate=1e-3, seed=1) for micros in steps[1:]] == expected
    assert same(state(backend), after)


def test_evaluation_changes_nothing_and_is_the_loss_of_a_step(fresh):
    backend, steps = fresh
    before = state(backend)
    found = backend.evaluate(steps[0])
    assert same(state(backend), before)
    expected = backend.step(steps[0], learning_rate=1e-3, seed=0).totals
    assert found.objective == pytest.approx(expected.objective, abs=1e-6)
    assert found.response_nll == pytest.approx(expected.response_nll, rel=1e-6)
    assert (found.response_tokens, found.prompt_tokens) == (expected.response_tokens, expected.prompt_tokens)


def test_merged_and_adapter_load_in_transformers_and_peft(fresh, checkpoint, tmp_path):
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    backend, steps = fresh
    backend.step(steps[0], learning_rate=1e-3, seed=0)
    assert backend.export(tmp_path) == {"dtype": "float32", "merged": 14}
    ids = torch.arange(8, 72)[None]
    merged, info = AutoModelForCausalLM.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert not any(info.values())
    base = AutoModelForCausalLM.from_pretrained(checkpoint)
    with torch.no_grad():
        plain, one = (model(ids, use_cache=False).logits for model in (base, merged))
        adapted = PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
        two = adapted(ids, use_cache=False).logits
    assert float((one - two).abs().max()) <= 1e-5 * float(two.abs().max())
    assert float((one - plain).abs().max()) > 0.1
    held = {name for name, _ in adapted.named_parameters() if "lora_" in name}
    assert len(held) == 28
    assert json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["base_model_name_or_path"] == str(
        checkpoint
    )


def test_an_adapter_that_the_dtype_swallows_is_an_error(fresh, tmp_path):
    backend, _ = fresh
    start_jax(backend, {path: value * 1e-6 for path, value in begin(backend.config, backend.recipe).items()})
    with pytest.raises(VerievalError, match=r"merging the adapter of .* changes nothing"):
        backend.export(tmp_path)


@pytest.mark.parametrize(
    ("changes", "vocabulary", "said"),
    [
        ({}, 100_000, r"the tokenizer has 100000 tokens and the model \d+"),
        ({"parallel": ParallelSpec(tp=3)}, VOCABULARY, r"parallel\.tp: .* which 3 devices cannot share evenly"),
        ({"parallel": ParallelSpec(fsdp=8)}, VOCABULARY, r"needs 8 devices, and there are 4"),
    ],
)
def test_what_is_refused(checkpoint, changes, vocabulary, said):
    spec = replace(CASE.recipe(checkpoint, steps=3), **changes)
    with pytest.raises(VerievalError, match=said):
        build(spec, vocabulary=vocabulary)


def test_computing_in_more_than_the_weights_have_is_refused(checkpoint):
    spec = CASE.recipe(checkpoint, steps=3)
    with pytest.raises(VerievalError, match=r"model\.compute_dtype"):
        build(replace(spec, model=replace(spec.model, dtype="bfloat16")), vocabulary=VOCABULARY)


@pytest.mark.slow
def test_a_sequences_dropout_is_its_own(even):
    """Whatever micro-batch and mesh it is computed in."""
    found = []
    for case in (CASE, Case(accumulate=1), Case(accumulate=1, mesh=(2, 2))):
        spec = case.recipe(even, steps=2)
        spec = replace(spec, lora=replace(spec.lora, dropout=0.3))
        found.append(run_jax(build(spec, vocabulary=VOCABULARY), spec, begin(load_config(even), spec)))
        plain = replace(spec, lora=replace(spec.lora, dropout=0.0))
    without = run_torch(plain, load_config(even), begin(load_config(even), plain))
    for other in found[1:]:
        assert Differences.between(found[0], other).gradient < 1e-5
        assert Differences.between(found[0], other).curve < 1e-4
    assert Differences.between(found[0], without).loss > 1e-3


@pytest.mark.slow
def test_every_weight_trained_is_torchs(checkpoint):
    """Embeddings and norms among them, which do not decay."""
    from finetune.torch_backend.backend import build as build_torch

    changes = {
        "optim": {"weight_decay": 0.3, "learning_rate": 1e-3},
        "train": {"steps": 5, "batch": BATCH, "micro_batch": 2, "sequence_length": 64},
    }
    spec = recipe(checkpoint, changes)
    ours, theirs = (build_one(spec) for build_one in (build_jax, lambda s: build_torch(s, vocabulary=VOCABULARY)))
    assert (ours.trainable, ours.total) == (theirs.trainable, theirs.total)
    for step, micros in enumerate(batches(spec)):
        one, two = (backend.step(micros, learning_rate=1e-3, seed=step) for backend in (ours, theirs))
        assert one.totals.objective == pytest.approx(two.totals.objective, abs=1e-5 if step == 0 else 1e-3)
        assert one.grad_norm == pytest.approx(two.grad_norm, rel=1e-4 if step == 0 else 1e-2)


def build_jax(spec):
    return build(replace(spec, backend="jax"), vocabulary=VOCABULARY)


def test_a_checkpoint_of_every_weight_is_a_model(checkpoint, tmp_path):
    """What no training changes is in it as well, so that ``convert`` and the jax engine read it."""
    from finetune.checkpoint.convert import convert

    spec = recipe(checkpoint, {"train": {"steps": 5, "batch": BATCH, "micro_batch": 2, "sequence_length": 64}})
    backend = build_jax(spec)
    backend.step(batches(spec)[0], learning_rate=1e-3, seed=0)
    backend.save(tmp_path / "step")
    expected = state(backend)
    convert(tmp_path / "step", tmp_path / "model", base=checkpoint)
    stored = load_weights(tmp_path / "model", backend.config, "float32")
    assert set(stored) == set(backend.state.weights) | set(backend.frozen)
    assert any(path.endswith("layer_scalar") for path in backend.frozen)
    for path, array in {**backend.state.weights, **backend.frozen}.items():
        np.testing.assert_array_equal(stored[path], array)
    backend.step(batches(spec)[0], learning_rate=1e-3, seed=0)
    backend.restore(tmp_path / "step")
    assert same(state(backend), expected)


@pytest.mark.slow
def test_a_checkpoint_goes_to_another_mesh(even, backend_of, tmp_path):
    """Written on one device, read on four, and back."""
    one, four = backend_of(CASE, even), backend_of(replace(CASE, mesh=(2, 2)), even)
    spec = CASE.recipe(even, steps=3)
    start_jax(one, begin(one.config, spec))
    micros = batches(spec)[0]
    one.step(micros, learning_rate=1e-3, seed=0)
    (tmp_path / "one").mkdir()
    one.save(tmp_path / "one")
    four.restore(tmp_path / "one")
    assert same(state(four), state(one))
    (tmp_path / "four").mkdir()
    four.save(tmp_path / "four")
    expected = state(one)
    one.step(micros, learning_rate=1e-3, seed=0)
    one.restore(tmp_path / "four")
    assert same(state(one), expected)


def test_a_config_is_meant_from_the_recipes_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = find_source(load_recipe("nano").model)
    assert source.weights is None
    assert load_config(source.config).vocabulary == 1280
