"""Adapters against peft's: which modules, what they compute, where they start."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
import torch
from flax import nnx

from finetune.adapters import match
from finetune.checkpoint.layout import adapters, places
from finetune.jax_backend.gemma4 import Compute, Gemma4, by_path, split
from finetune.jax_backend.lora import new_adapters
from finetune.torch_backend.lora import add_lora, match_targets
from finetune.torch_backend.model import find_language
from tests.finetune.jax_backend.cases import Model, arrays, lora, make_model, packed
from verieval.errors import VerievalError

ALL = {"targets": (*lora().targets, "per_layer_input_gate", "per_layer_projection")}


def with_peft(model: Model, name: str, spec):
    """transformers' model with peft's adapters, both factors random; and the same values by this project's paths."""
    language = find_language(make_model(name))
    torch.manual_seed(3)
    peft, note = add_lora(language, spec, source="base")
    state = {key: value for key, value in peft.named_parameters() if "lora_" in key}
    with torch.no_grad():
        for value in state.values():
            value.normal_(std=0.1)
    return peft, note, state, to_jax(model, spec, {key: value.detach().numpy() for key, value in state.items()})


def to_jax(model: Model, spec, values):
    found = {tensor.path: np.zeros(tensor.shape, np.float32) for tensor in adapters(model.config, spec)}
    for place in places(adapters(model.config, spec), "transformers", "base_model.model.model."):
        value = values.pop(place.name.replace(".weight", ".default.weight"))
        assert value.shape == place.shape
        found[place.tensor.path][place.tensor.index(place.place)] = place.tensor.read(value, "transformers")
    assert not values
    return found


@pytest.mark.parametrize("name", ["31b", pytest.param("e2b", marks=pytest.mark.slow)])
def test_logits_and_gradients_are_pefts(model_of, name):
    model, batch = model_of(name), packed()
    spec = lora(**(ALL if name == "e2b" else {}))
    peft, note, state, values = with_peft(model, name, spec)
    assert match(model.config, spec) == (match_targets(find_language(model.torch), spec), note)
    coefficients = np.random.default_rng(0).random(batch.ids.shape).astype(np.float32) * (batch.target_roles > 0) / 50

    ids, positions = (torch.from_numpy(array).long() for array in (batch.ids, batch.positions))
    logits = peft(input_ids=ids, position_ids=positions, attention_mask=None, use_cache=False).logits
    nll = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), torch.from_numpy(batch.targets).long().ravel(), reduction="none"
    )
    (nll * torch.from_numpy(coefficients).ravel()).sum().backward()
    expected = to_jax(model, spec, {key: value.grad.numpy() for key, value in state.items()})

    adapted = Gemma4(model.config, {**model.weights, **values}, spec)
    graph, trained, rest = split(adapted)
    assert set(by_path(trained)) == set(values)

    @jax.jit
    def gradient(trained, rest):
        def loss(trained):
            joined = nnx.merge(graph, trained, rest)
            return joined.loss(*arrays(batch), batch.targets, coefficients, Compute(loss_chunk=100, remat=True))[0]

        return jax.grad(loss)(trained), nnx.merge(graph, trained, rest).logits(*arrays(batch), Compute())

    grads, found = gradient(trained, rest)
    plain = model.reference(batch)
    assert np.abs(plain - logits.detach().numpy()).max() > 0.1
    np.testing.assert_allclose(found, logits.detach().numpy(), rtol=0, atol=1e-4)
    grads = by_path(grads)
    for path, value in expected.items():
        assert np.abs(value).max() > 0, path
        np.testing.assert_allclose(grads[path], value, rtol=0, atol=1e-4 * max(1.0, np.abs(value).max()), err_msg=path)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("31b", {"targets": ("qkv_proj",), "optional": ()}),
        ("31b", {"targets": ("q_proj", "x"), "optional": ("x",)}),
        ("31b", {"optional": ()}),
        ("e2b", {"optional": ()}),
        ("e2b", {"optional": ("v_proj",)}),
        ("31b", {"targets": ("per_layer_projection",), "optional": ()}),
    ],
)
def test_errors_are_the_torch_backends(model_of, name, changes):
    model = model_of(name)
    with pytest.raises(VerievalError) as theirs:
        match_targets(find_language(model.torch), lora(**changes))
    with pytest.raises(VerievalError) as ours:
        match(model.config, lora(**changes))
    assert str(ours.value) == str(theirs.value)


def test_first_values(model_of):
    """A as nn.Linear begins, which peft keeps; B zero; all float32, and another seed other values."""
    model, spec = model_of("31b"), lora(rank=64)
    values, other = (new_adapters(model.config, spec, seed=seed) for seed in (0, 1))
    again = new_adapters(model.config, spec, seed=0)
    seen = []
    for tensor in adapters(model.config, spec):
        value = np.asarray(values[tensor.path])
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, again[tensor.path])
        if tensor.path.endswith("lora_b"):
            assert not value.any()
            continue
        inputs = math.prod(tensor.part_shape[:-1])
        linear = torch.nn.Linear(inputs, 64, bias=False)
        torch.nn.init.kaiming_uniform_(linear.weight, a=math.sqrt(5))
        reference = linear.weight.detach().numpy()
        assert np.abs(value).max() <= 1 / math.sqrt(inputs)
        np.testing.assert_allclose(np.abs(value).max(), np.abs(reference).max(), rtol=0.02)
        np.testing.assert_allclose(value.std(), reference.std(), rtol=0.05)
        assert np.abs(value - np.asarray(other[tensor.path])).max() > 0.1 / math.sqrt(inputs)
        seen += [part.ravel() for part in value.reshape(-1, inputs * 64)]
    assert len({part.tobytes() for part in seen}) == len(seen) == 12 * 7 - 2


def test_dropout(model_of):
    """Off without a key; with one, the same key gives the same, and its mean over keys is near no dropout at all."""
    model, batch, spec = model_of("nano"), packed(), lora(dropout=0.5)
    values = {
        path: np.random.default_rng(1).normal(size=value.shape).astype(np.float32) * 0.02
        for path, value in new_adapters(model.config, spec, seed=0).items()
    }
    plain = Gemma4(model.config, {**model.weights, **values}, lora())
    dropped = Gemma4(model.config, {**model.weights, **values}, spec)
    hidden = jax.jit(lambda m, keys: m.hidden(*arrays(batch), Compute(), keys=keys))
    keys = [jax.random.split(jax.random.key(number), 4) for number in range(24)]
    expected = np.asarray(hidden(plain, keys[0]))
    np.testing.assert_array_equal(hidden(dropped, None), expected)
    found = [np.asarray(hidden(dropped, key)) for key in keys]
    np.testing.assert_array_equal(hidden(dropped, keys[3]), found[3])
    single = np.abs(found[0] - expected).mean()
    assert single > 1e-3
    assert np.abs(np.mean(found, axis=0) - expected).mean() < single / 3
