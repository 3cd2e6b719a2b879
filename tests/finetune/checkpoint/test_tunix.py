"""Tunix's checkpoints: names and shapes of google-tunix 0.1.7 and Qwix 0.1.8, values by Qwix's own products.

``tunix_names.json`` holds the names and shapes of ``nnx.state(model)`` and, after ``qwix.apply_lora_to_model`` with
rank 4, of ``nnx.state(model, nnx.LoRAParam)``, for models of the shapes ``31b`` and ``e2b`` of the tests.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
pytest.importorskip("tensorstore")
ocp = pytest.importorskip("orbax.checkpoint")
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from finetune.checkpoint.convert import convert  # noqa: E402
from finetune.checkpoint.layout import adapters, may_pass, places, tensors  # noqa: E402
from finetune.checkpoint.tensorfile import open_folder  # noqa: E402
from finetune.gemma4 import read_config  # noqa: E402
from finetune.recipe import LoraSpec  # noqa: E402
from tests.finetune.checkpoint.test_convert import TARGETS, load, logits  # noqa: E402
from tests.finetune.jax_backend.cases import SHAPES, make_model  # noqa: E402
from verieval.errors import VerievalError  # noqa: E402

NAMES = json.loads((Path(__file__).parent / "tunix_names.json").read_text())
VOCABULARY = 151  # of the models whose names these are
SPEC = LoraSpec(rank=4, alpha=8.0, dropout=0.0, targets=tuple(TARGETS))


def changed(name: str) -> dict:
    return {**SHAPES[name], "model_type": "gemma4_text", "vocab_size": VOCABULARY,
            "vocab_size_per_layer_input": VOCABULARY}  # fmt: skip


def values(shapes: dict[str, list[int]], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def nest(flat: dict[str, np.ndarray], leaf: str = "") -> dict:
    """The tree that ``nnx.state`` is, with the level that flax has around an array, or without."""
    tree: dict = {}
    for name, array in flat.items():
        *path, last = [*name.split("."), *([leaf] if leaf else [])]
        inner = tree
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = array
    return tree


@pytest.fixture(scope="module", params=["31b", "e2b"])
def base(request, tmp_path_factory):
    """A model of the same shape, with the vocabulary of the other tests' rows."""
    folder = tmp_path_factory.mktemp(request.param) / "base"
    make_model(request.param).save_pretrained(folder)
    return request.param, folder


@pytest.mark.parametrize("name", ["31b", "e2b"])
def test_the_table_has_tunix_names_and_shapes(name):
    config = read_config(changed(name))
    expected = {place.name: list(place.shape) for place in places(tensors(config), "tunix", "")}
    passed = may_pass(config, "", "tunix")
    assert expected == {key: shape for key, shape in NAMES[name].items() if key in expected or not passed(key)}
    low = {place.name: list(place.shape) for place in places(adapters(config, SPEC), "tunix", "")}
    assert low == NAMES[f"{name}_lora"]


@pytest.mark.parametrize("leaf", ["", "value"])
def test_lora_becomes_peft(base, tmp_path, leaf):
    """B A of every module is the product that Qwix's einsum adds, and peft loads it."""
    name, folder = base
    found = values(NAMES[f"{name}_lora"])
    ocp.PyTreeCheckpointer().save(tmp_path / "t" / "model_params", nest(found, leaf))
    said = convert(tmp_path / "t", tmp_path / "p", base=folder, alpha=8.0)
    assert (said["source"]["naming"], said["destination"]["form"]) == ("tunix", "peft")
    low = open_folder(tmp_path / "p" / "adapter_model.safetensors")

    def product(layer: int, module: str) -> np.ndarray:
        prefix = f"base_model.model.model.layers.{layer}.{module}."
        return low.read(f"{prefix}lora_B.weight") @ low.read(f"{prefix}lora_A.weight")

    def qwix(layer: int, weight: str, formula: str) -> np.ndarray:
        return np.einsum(formula, *(found[f"layers.{layer}.{weight}_lora_{part}"] for part in "ab"))

    layers = {int(key.split(".")[1]) for key in found}
    for layer in layers:
        q = qwix(layer, "attn.q_einsum.w", "dr,rnh->nhd")
        np.testing.assert_allclose(product(layer, "self_attn.q_proj"), q.reshape(-1, 64), atol=1e-6)
        o = qwix(layer, "attn.attn_vec_einsum.w", "nhr,rd->dnh")
        np.testing.assert_allclose(product(layer, "self_attn.o_proj"), o.reshape(64, -1), atol=1e-6)
        for module in ("gate_proj", "up_proj", "down_proj"):
            mlp = qwix(layer, f"mlp.{module}.kernel", "ir,ro->oi")
            np.testing.assert_allclose(product(layer, f"mlp.{module}"), mlp, atol=1e-6)
        if f"layers.{layer}.attn.kv_einsum.w_lora_a" in found:
            both = qwix(layer, "attn.kv_einsum.w", "dr,rckh->ckhd")
            for module, part in zip(("k_proj", "v_proj"), both, strict=True):
                np.testing.assert_allclose(product(layer, f"self_attn.{module}"), part.reshape(-1, 64), atol=1e-6)
        if f"layers.{layer}.attn.k_einsum.w_lora_a" in found:
            k = qwix(layer, "attn.k_einsum.w", "dr,rkh->khd")
            np.testing.assert_allclose(product(layer, "self_attn.k_proj"), k.reshape(-1, 64), atol=1e-6)
    adapted = peft.PeftModel.from_pretrained(load(folder), tmp_path / "p").eval()
    convert(folder, tmp_path / "m", adapter=tmp_path / "t", alpha=8.0)
    np.testing.assert_allclose(logits(load(tmp_path / "m").double()), logits(adapted.double()), atol=1e-5, rtol=0)


def test_alpha_must_be_said(base, tmp_path):
    name, folder = base
    ocp.PyTreeCheckpointer().save(tmp_path / "t", nest(values(NAMES[f"{name}_lora"])))
    with pytest.raises(VerievalError, match="does not say its alpha; give --alpha"):
        convert(tmp_path / "t", tmp_path / "p", base=folder)
    with pytest.raises(VerievalError, match="give --base"):
        convert(tmp_path / "t", tmp_path / "p", alpha=8.0)


@pytest.mark.parametrize("name", ["31b", "e2b"])
def test_a_whole_model_becomes_transformers(name, tmp_path):
    found = values(NAMES[name])
    ocp.PyTreeCheckpointer().save(tmp_path / "t" / "model_params", nest(found))
    (tmp_path / "config.json").write_text(json.dumps(changed(name)))
    convert(tmp_path / "t", tmp_path / "a", base=tmp_path / "config.json")
    stored = open_folder(tmp_path / "a")
    kv, embed = found["layers.0.attn.kv_einsum.w"], found["embedder.input_embedding"]
    k, v = (stored.read(f"model.layers.0.self_attn.{part}_proj.weight") for part in "kv")
    np.testing.assert_array_equal(k, kv[0].transpose(0, 2, 1).reshape(-1, 64))
    np.testing.assert_array_equal(v, kv[1].transpose(0, 2, 1).reshape(-1, 64))
    np.testing.assert_array_equal(stored.read("model.embed_tokens.weight"), embed)
    load(tmp_path / "a")


def test_what_is_left_over_or_missing(base, tmp_path):
    name, folder = base
    found = values(NAMES[f"{name}_lora"])
    found["layers.1.attn.other.w_lora_a"] = found.pop("layers.1.attn.kv_einsum.w_lora_b")
    ocp.PyTreeCheckpointer().save(tmp_path / "t", nest(found))
    with pytest.raises(VerievalError, match=r"lacks 1 tensor \(layers\.1\.attn\.kv_einsum\.w_lora_b\); has beyond"):
        convert(tmp_path / "t", tmp_path / "p", base=folder, alpha=8.0)
