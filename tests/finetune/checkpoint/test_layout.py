"""The table's transposes both ways, and every tensor of a checkpoint accounted for."""

from __future__ import annotations

import numpy as np
import pytest

from finetune.checkpoint import axes
from finetune.checkpoint.layout import Form, account, adapters, find_prefix, may_pass, places, tensors
from finetune.gemma4 import read_config
from finetune.recipe import LoraSpec
from tests.finetune.test_gemma4 import E2B, GEMMA_31B, MODELS
from verieval.errors import VerievalError

SPEC = LoraSpec(
    rank=64, alpha=64.0, dropout=0.0, targets=("q_proj", "k_proj", "v_proj", "down_proj"), optional=("v_proj",)
)


def shapes(config, prefix):
    return {place.name: place.shape for place in places(tensors(config), "transformers", prefix)}


def test_axes():
    assert axes.parse("a (b c) -> d") == (("a",), ("b", "c"), ("d",))
    assert axes.inputs("a (b c) -> d") == 2
    assert axes.inputs("a b") == 0
    matrix = np.arange(24).reshape(6, 4)  # two heads of three by four inputs
    sizes = {"heads": 2, "size": 3, "embed": 4}
    ours = axes.convert(matrix, "(heads size) embed", "embed -> heads size", sizes)
    assert ours.shape == (4, 2, 3)
    assert ours[1, 1, 2] == matrix[5, 1]
    np.testing.assert_array_equal(axes.convert(ours, "embed -> heads size", "(heads size) embed", sizes), matrix)


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_goes_and_comes_back(name):
    """Of every different layer: what is read and written again is what it was; a product sums over the right axes."""
    config, seen = read_config(MODELS[name]), set()
    for tensor in (*tensors(config), *adapters(config, SPEC)):
        form, sizes = tensor.row.forms["transformers"], {key: min(size, 5) for key, size in tensor.sizes}
        if (form, tensor.row.axes) in seen:
            continue
        seen.add((form, tensor.row.axes))
        theirs = np.random.default_rng(0).normal(size=axes.shape(form.axes, sizes))
        ours = axes.convert(theirs, form.axes, tensor.row.axes, sizes)
        np.testing.assert_array_equal(axes.convert(ours, tensor.row.axes, form.axes, sizes), theirs)
        if tensor.inputs:
            values = np.random.default_rng(1).normal(size=ours.shape[: tensor.inputs])
            flat = theirs.reshape(theirs.shape[0], -1) @ values.ravel()
            np.testing.assert_allclose(np.tensordot(values, ours, tensor.inputs).ravel(), flat)
    assert len(seen) > 15


def test_places_of_stacked_layers():
    config = read_config(GEMMA_31B)
    by_name = {place.name: place for place in places(tensors(config), "transformers", config.prefix)}
    place = by_name["model.language_model.layers.14.mlp.up_proj.weight"]
    assert place.tensor.path == "layers.0.0.mlp.up_proj.kernel"
    assert place.tensor.shape == (10, 5, 5376, 21504)
    assert place.tensor.index(place.place) == (2, 2)
    assert len(by_name) == len(places(tensors(config), "transformers", config.prefix))


def test_adapters_have_their_own_factors():
    found = {tensor.path: tensor for tensor in adapters(read_config(GEMMA_31B), SPEC)}
    assert found["layers.0.1.self_attn.k_proj.lora_a"].shape == (10, 1, 5376, 64)
    assert found["layers.0.1.self_attn.k_proj.lora_b"].shape == (10, 1, 64, 4, 512)
    assert found["layers.0.0.self_attn.v_proj.lora_a"].shape == (10, 5, 5376, 64)
    assert "layers.0.1.self_attn.v_proj.lora_a" not in found
    names = {place.name: place.shape for place in places(found.values(), "transformers", "p.")}
    assert names["p.layers.5.self_attn.k_proj.lora_B.weight"] == (2048, 64)
    assert names["p.layers.0.mlp.down_proj.lora_A.weight"] == (64, 21504)


def test_a_fused_tensor_holds_several_weights():
    """As another naming may have it; the place says which part is whose."""
    from dataclasses import replace

    config = read_config(E2B)
    found = []
    for part, linear in enumerate(("k_proj", "v_proj")):
        tensor = next(t for t in tensors(config) if t.row.linear == linear)
        form = Form("attn.kv.w", "kv_heads embed head_dim", (part, 2))
        found.append(replace(tensor, row=replace(tensor.row, forms={"other": form})))
    fused = [place for place in places(found, "other", "") if place.name == "layers.0.attn.kv.w"]
    assert [(place.shape, place.part) for place in fused] == [((2, 1, 1536, 256), 0), ((2, 1, 1536, 256), 1)]


class TestAccounting:
    config = read_config(E2B)
    expected = places(tensors(config), "transformers", config.prefix)

    def check(self, found):
        return account(found, self.expected, "x", passed=may_pass(self.config, self.config.prefix))

    def test_what_is_passed_over(self):
        """Towers, a copy of the tied embedding, and projections that layers which share do not read."""
        extra = {
            "model.vision_tower.a": (1,), "model.embed_audio.b": (2,), "lm_head.weight": (3,),
            "model.language_model.layers.20.self_attn.k_proj.weight": (4, 4),
        }  # fmt: skip
        assert self.check({**shapes(self.config, self.config.prefix), **extra}) == tuple(sorted(extra))

    def test_all_that_is_wrong_is_listed(self):
        found = shapes(self.config, self.config.prefix)
        del found["model.language_model.norm.weight"]
        found["model.language_model.layers.3.mlp.up_proj.weight"] = (1536, 6144)
        found["model.language_model.layers.3.self_attn.extra"] = (1,)
        found["model.language_model.layers.2.self_attn.v_proj.bias"] = (1,)
        with pytest.raises(VerievalError) as error:
            self.check(found)
        said = str(error.value)
        assert "lacks 1 tensor (model.language_model.norm.weight)" in said
        assert "2 tensors (model.language_model.layers.2.self_attn.v_proj.bias, " in said
        assert "layers.3.mlp.up_proj.weight [1536, 6144] in the place of [6144, 1536]" in said

    def test_projections_of_layers_with_their_own_are_needed(self):
        found = shapes(self.config, self.config.prefix)
        del found["model.language_model.layers.4.self_attn.k_proj.weight"]
        with pytest.raises(VerievalError, match=r"lacks 1 tensor \(.*layers\.4\.self_attn\.k_proj"):
            self.check(found)

    @pytest.mark.parametrize("prefix", ["model.language_model.", "model.", ""])
    def test_prefixes(self, prefix):
        assert find_prefix(shapes(self.config, prefix), self.config) == prefix
        assert find_prefix([], self.config) == "model.language_model."
