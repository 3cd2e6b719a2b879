"""The model against transformers', and against itself computed in other ways."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from finetune.checkpoint.layout import places, tensors
from finetune.data.batch import collate
from finetune.jax_backend.attention import attend
from finetune.jax_backend.gemma4 import Compute, Gemma4, by_path, split
from finetune.jax_backend.weights import abstract
from tests.finetune.jax_backend.cases import SHAPES, arrays, make_model, packed, unpacked
from tests.finetune.torch_backend.cases import ROWS

logits = jax.jit(lambda model, ids, positions, segments, compute: model.logits(ids, positions, segments, compute),
                 static_argnums=4)  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_logits_are_transformers(model_of, name):
    """On packed rows longer than the window, every weight random."""
    model, batch = model_of(name), packed()
    assert model.config.window < max(map(len, ROWS))
    expected = model.reference(batch)
    found = np.asarray(logits(model.jax, *arrays(batch), Compute()))
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-5)


@pytest.mark.parametrize("name", ["31b", pytest.param("e2b", marks=pytest.mark.slow)])
def test_gradients_of_every_weight_are_transformers(model_of, name):
    """The padding token, which a row may hold too, has none for being looked up, but as an answer."""
    model, batch = model_of(name), packed()
    pad = model.config.pad
    assert pad == model.torch.model.padding_idx == 0
    batch = replace(batch, ids=np.where(np.arange(batch.ids.shape[1]) % 11 == 5, pad, batch.ids))
    coefficients = np.random.default_rng(0).random(batch.ids.shape).astype(np.float32) * (batch.target_roles > 0) / 50
    torch_model, weights = make_model(name), dict(model.weights)
    # Its row begins as zeros, of which a norm has no gradient to speak of: 1,000 times more at every norm.
    for path in {"embed_tokens", "embed_tokens_per_layer"} & {path.split(".")[0] for path in weights}:
        row = torch_model.model.get_submodule(path).weight.data[pad].normal_(std=0.5)
        table = weights[f"{path}.embedding"]
        weights[f"{path}.embedding"] = table.at[pad].set(row.numpy().reshape(table.shape[1:]))
    ids, positions = (torch.from_numpy(array).long() for array in (batch.ids, batch.positions))
    found = torch_model(input_ids=ids, position_ids=positions, attention_mask=None, use_cache=False).logits
    targets = torch.from_numpy(batch.targets).long().ravel()
    nll = torch.nn.functional.cross_entropy(found.flatten(0, 1), targets, reduction="none")
    (nll * torch.from_numpy(coefficients).ravel()).sum().backward()
    theirs = {key: value.grad.numpy() for key, value in torch_model.named_parameters()}

    def loss(weights):
        return Gemma4(model.config, weights).loss(*arrays(batch), batch.targets, coefficients, Compute())[0]

    ours = jax.jit(jax.grad(loss))(weights)
    for place in places(tensors(model.config), "transformers", model.config.prefix):
        if place.name not in theirs:
            assert place.tensor.row.role == "buffer"
            continue
        value = place.tensor.read(theirs.pop(place.name), "transformers")
        grad = np.asarray(ours[place.tensor.path])[place.tensor.index(place.place)]
        assert np.abs(value).max() > 0, place.name
        np.testing.assert_allclose(
            grad, value, rtol=0, atol=1e-4 * max(1.0, float(np.abs(value).max())), err_msg=place.name
        )
    assert set(theirs) <= {"lm_head.weight"}


@pytest.mark.parametrize("name", ["31b", "e2b"])
def test_a_packed_row_gives_what_it_gives_alone(model_of, name):
    model = model_of(name)
    together, alone = packed(), unpacked()
    whole = np.asarray(logits(model.jax, *arrays(together), Compute()))
    # In parts of the shape that is compiled already.
    parts = [alone.part(start, start + 4) for start in range(0, len(alone), 4)]
    single = np.concatenate([logits(model.jax, *arrays(part), Compute()) for part in parts])
    rows = [whole[s][together.segments[s] == n] for s in range(4) for n in range(1, together.segments[s].max() + 1)]
    assert len(rows) == 9
    for row, other, segments in zip(rows, single, alone.segments, strict=False):
        np.testing.assert_allclose(row, other[segments == 1], rtol=0, atol=2e-5)


def test_what_is_changed_in_a_row_stays_in_it(model_of):
    """Bit for bit, and in both kinds of layers."""
    model, batch = model_of("31b"), packed()
    changed = batch.ids.copy()
    changed[batch.segments == 1] = (changed[batch.segments == 1] + 7) % 256
    one, two = (np.asarray(logits(model.jax, ids, *arrays(batch)[1:], Compute())) for ids in (batch.ids, changed))
    same = batch.segments != 1
    np.testing.assert_array_equal(one[same], two[same])
    assert np.abs(one[~same] - two[~same]).max() > 0.1


@pytest.mark.parametrize("block", [pytest.param(5, marks=pytest.mark.slow), 40])
def test_attention_in_blocks_is_attention(model_of, block):
    model, batch = model_of("31b"), packed()
    whole, blocks = (np.asarray(logits(model.jax, *arrays(batch), Compute(attention_block=n))) for n in (0, block))
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["31b", "e2b"])
def test_recomputing_changes_no_gradient(model_of, name):
    """Keys and values that cross layers and scans must survive it."""
    model, batch = model_of(name), packed()
    coefficients = (batch.target_roles > 0).astype(np.float32) / 100

    @jax.jit
    def gradient(trained):
        def loss(trained, compute):
            joined = nnx.merge(graph, trained, rest)
            return joined.loss(*arrays(batch), batch.targets, coefficients, compute)[0]

        plain = jax.grad(loss)(trained, Compute(loss_chunk=64))
        other = jax.grad(loss)(trained, Compute(loss_chunk=64, remat=True, attention_block=64))
        return plain, other

    graph, trained, rest = split(model.jax)
    plain, other = (by_path(state) for state in gradient(trained))
    assert set(plain) == {path for path in model.weights if "layer_scalar" not in path}
    for path, grads in plain.items():
        scale = float(jnp.abs(grads).max())
        assert scale > 0, path
        np.testing.assert_allclose(other[path], grads, rtol=0, atol=1e-4 * scale, err_msg=path)


def test_bfloat16_is_near(model_of):
    """Weights in float32 keep the residual stream there; weights in bfloat16 take it along."""
    model, batch = model_of("nano"), packed()
    expected = model.reference(batch)
    compute = Compute(dtype="bfloat16")
    half = Gemma4(model.config, {path: value.astype("bfloat16") for path, value in model.weights.items()})
    found = np.asarray(logits(half, *arrays(batch), compute))
    assert found.dtype == np.float32
    assert 1e-4 < np.abs(found - expected).mean() < 0.1
    for module, dtype in ((half, "bfloat16"), (model.jax, "float32")):
        assert jax.eval_shape(lambda m: m.hidden(*arrays(batch), compute), module).dtype == dtype


@pytest.mark.parametrize("name", [pytest.param("31b", marks=pytest.mark.slow), "e2b"])
def test_decoding_with_a_cache_gives_the_same(model_of, name):
    """The place where a sampler puts its cache: one token at a time, keys and values written in every layer."""
    model = model_of(name)
    batch = collate([[ROWS[5]], [ROWS[0]]], 31)
    expected = np.asarray(logits(model.jax, *arrays(batch), Compute()))
    config, length = model.config, 31

    def room(shape, stack):
        part = jnp.zeros((*stack, 2, length, shape.kv_heads, shape.head_dim))
        return None if shape.shares else (part, part)

    cache = tuple(
        tuple(room(run.shape, (segment.repeats, run.count)) for run in segment.runs) for segment in config.segments
    )

    @jax.jit
    def step(module, token, at, cache):
        def meet(shape, query, new, stored):
            if not shape.shares:
                new = stored = tuple(
                    jax.lax.dynamic_update_slice_in_dim(old, part, at, axis=1)
                    for old, part in zip(stored, new, strict=True)
                )
            seen = jnp.arange(length) <= at
            if shape.kind == "sliding_attention":
                seen &= jnp.arange(length) > at - config.window
            return attend(query, *new, seen[None, None]), new, stored

        positions = jnp.full((2, 1), at)
        hidden, cache = module.decode(token, positions, Compute(), meet, cache=cache)
        return module.project(hidden, Compute())[:, 0], cache

    for at in range(length):
        found, cache = step(model.jax, batch.ids[:, at : at + 1], at, cache)
        real = batch.segments[:, at] > 0
        np.testing.assert_allclose(found[real], expected[real, at], rtol=0, atol=5e-5)


def test_shapes_alone_make_a_model(model_of):
    """What is compiled ahead of time has no arrays."""
    model, batch = model_of("nano"), packed()
    shapes = abstract(model.config, "bfloat16")
    assert {path: value.shape for path, value in shapes.items()} == {p: v.shape for p, v in model.weights.items()}
    graph, trained, rest = split(Gemma4(model.config, shapes))

    def loss(trained, rest):
        ones = np.ones_like(batch.ids, np.float32)
        return nnx.merge(graph, trained, rest).loss(*arrays(batch), batch.targets, ones, Compute("bfloat16"))[0]

    lowered = jax.jit(jax.grad(loss)).lower(trained, rest)
    assert "while" in lowered.as_text()


def test_other_paths_are_refused(model_of):
    model = model_of("31b")
    weights = dict(model.weights)
    weights["extra"] = weights.pop("norm.weight")
    with pytest.raises(ValueError, match=r"extra.*norm"):
        Gemma4(model.config, weights)
    with pytest.raises(ValueError, match="other paths"):
        Gemma4(replace(model.config, tied=False), model.weights)
