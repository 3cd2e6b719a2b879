"""Meshes: the same numbers on each, and those that cannot be, said before anything is made."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from flax import nnx
from jax.sharding import PartitionSpec

from finetune.checkpoint.layout import adapters, tensors
from finetune.gemma4 import read_config
from finetune.jax_backend.gemma4 import Compute, Gemma4, by_path, split
from finetune.jax_backend.lora import new_adapters
from finetune.jax_backend.sharding import batch_sharding, make_mesh, sharding
from finetune.jax_backend.weights import abstract, load_weights, random_weights
from finetune.mesh import check_mesh, partition
from tests.finetune.jax_backend.cases import arrays, lora, packed
from tests.finetune.test_gemma4 import E2B, GEMMA_31B
from verieval.errors import VerievalError


def values_and_gradients(model, batch, spec, mesh):
    """Objective, NLL and gradients of the adapters, everything where it belongs."""
    config = model.config
    weights = load_weights(model.folder, config, "float32", mesh=mesh)
    factors = new_adapters(config, spec, seed=0, mesh=mesh)
    # B is zero at first, and A would have no gradient.
    factors = {path: value + 0.03 if path.endswith("lora_b") else value for path, value in factors.items()}
    graph, trained, rest = split(Gemma4(config, {**weights, **factors}, spec))
    coefficients = (batch.target_roles > 0).astype(np.float32) / 100
    inputs = (*arrays(batch), batch.targets, coefficients)
    if mesh is not None:
        inputs = tuple(jax.device_put(array, batch_sharding(mesh)) for array in inputs)
    compute = Compute(remat=spec.dropout > 0, loss_chunk=128, mesh=mesh)

    @jax.jit
    def run(trained, rest, inputs, keys):
        def loss(trained):
            return nnx.merge(graph, trained, rest).loss(*inputs, compute, keys=keys)

        return jax.value_and_grad(loss, has_aux=True)(trained)

    (objective, nll), grads = run(trained, rest, inputs, jax.random.split(jax.random.key(5), 4))
    return float(objective), np.asarray(nll), {path: np.asarray(value) for path, value in by_path(grads).items()}


@pytest.mark.parametrize(
    ("name", "sides", "dropout"),
    [
        ("nano", (2, 2), 0.0),
        pytest.param("31b", (2, 2), 0.0, marks=pytest.mark.slow),
        pytest.param("e2b", (1, 4), 0.0, marks=pytest.mark.slow),
        # Masks do not depend on the mesh either.
        pytest.param("31b", (4, 1), 0.1, marks=pytest.mark.slow),
        pytest.param("e2b", (2, 2), 0.1, marks=pytest.mark.slow),
    ],
)
def test_meshes_give_the_numbers_of_one_device(model_of, name, sides, dropout):
    assert len(jax.devices()) >= 4
    # Fewer adapters where the test is to be quick.
    fewer = {"targets": ("q_proj", "o_proj", "down_proj"), "optional": ()} if name == "nano" else {}
    spec = lora(dropout=dropout, **fewer)
    model, batch = model_of(name), packed()
    expected = values_and_gradients(model, batch, spec, None)
    check_mesh(model.config, fsdp=sides[0], tp=sides[1], lora=spec)
    found = values_and_gradients(model, batch, spec, make_mesh(*sides))
    assert found[0] == pytest.approx(expected[0], abs=1e-5)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=5e-5)
    for path, value in expected[2].items():
        np.testing.assert_allclose(found[2][path], value, rtol=0, atol=1e-4, err_msg=path)


def test_weights_lie_where_their_axes_say(model_of):
    model, mesh = model_of("e2b"), make_mesh(2, 2)
    loaded = load_weights(model.folder, model.config, "float32", mesh=mesh)
    drawn = random_weights(model.config, "float32", seed=0, mesh=mesh)
    shapes = abstract(model.config, "float32", lora=lora(), mesh=mesh)
    whole = random_weights(model.config, "float32", seed=0)
    for tensor in tensors(model.config):
        where = sharding(mesh, tensor)
        assert loaded[tensor.path].sharding == drawn[tensor.path].sharding == shapes[tensor.path].sharding == where
        np.testing.assert_array_equal(loaded[tensor.path], model.weights[tensor.path])
        np.testing.assert_array_equal(drawn[tensor.path], whole[tensor.path])
    query = "layers.0.0.self_attn.q_proj.kernel"
    assert loaded[query].sharding.spec == PartitionSpec(None, None, "fsdp", "tp", None)
    assert loaded[query].addressable_shards[0].data.size * 4 == loaded[query].size
    # One KV head cannot be split, and is on every device.
    assert loaded["layers.0.0.self_attn.k_proj.kernel"].sharding.spec == PartitionSpec(None, None, "fsdp", None, None)
    assert shapes["layers.0.0.mlp.down_proj.lora_a"].sharding.spec == PartitionSpec(None, None, "tp", None)
    assert shapes["layers.0.0.mlp.down_proj.lora_b"].sharding.spec == PartitionSpec(None, None, None, "fsdp")


@pytest.mark.parametrize(
    ("fsdp", "tp", "said"),
    [
        (1, 8, r"parallel\.tp: layers\.5\.self_attn\.k_proj\.weight has a number of KV heads of 4, .* one of 1, 2, 4$"),
        (1, 3, r"embed_tokens\.weight has a vocabulary of 262144, which 3 devices"),
        (5, 1, r"parallel\.fsdp: embed_tokens\.weight has a hidden size of 5376, which 5 devices"),
    ],
)  # fmt: skip
def test_meshes_that_gemma_4_31b_cannot_have(fsdp, tp, said):
    with pytest.raises(VerievalError, match=said):
        check_mesh(read_config(GEMMA_31B), fsdp=fsdp, tp=tp)


def test_meshes_that_the_models_can_have():
    spec = lora(rank=64)
    for fsdp, tp in ((1, 4), (4, 1), (2, 2), (8, 1), (2, 4)):
        check_mesh(read_config(GEMMA_31B), fsdp=fsdp, tp=tp, lora=spec)
    check_mesh(read_config(E2B), fsdp=1, tp=8, lora=spec)


def test_what_is_split_is_said_by_the_names_of_axes():
    config = read_config(GEMMA_31B)
    by = {tensor.path: partition(tensor.axes, tensor.shape) for tensor in (*tensors(config), *adapters(config, lora()))}
    assert by["embed_tokens.embedding"] == ("tp", "fsdp")
    assert by["layers.0.1.self_attn.k_proj.kernel"] == (None, None, "fsdp", "tp", None)
    assert by["layers.0.0.self_attn.o_proj.kernel"] == (None, None, "tp", None, "fsdp")
    assert by["layers.0.0.input_layernorm.weight"] == (None, None, None)
    assert by["layers.0.0.self_attn.v_proj.lora_b"] == (None, None, None, "tp", None)


def test_too_few_devices():
    with pytest.raises(VerievalError, match=r"parallel\.fsdp 64 x parallel\.tp 2 needs 128 devices"):
        make_mesh(64, 2)
