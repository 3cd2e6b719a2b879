"""Which model is loaded, which part of it is trained, and what is refused."""

from __future__ import annotations

import json

import pytest
import torch

from finetune.recipe import LoraSpec
from finetune.torch_backend.backend import build
from finetune.torch_backend.isolation import check_isolation
from finetune.torch_backend.lora import match_targets
from finetune.torch_backend.model import find_language, load_language
from tests.finetune.torch_backend.cases import LORA, micros, recipe
from verieval.errors import VerievalError

TEXT = {
    "vocab_size": 300, "vocab_size_per_layer_input": 300, "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_global_key_value_heads": 1, "head_dim": 16, "global_head_dim": 32,
    "sliding_window": 32, "max_position_embeddings": 512, "attention_k_eq_v": True, "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 0, "final_logit_softcapping": 30.0, "tie_word_embeddings": True, "pad_token_id": 0,
    "eos_token_id": 1, "bos_token_id": 2,
}  # fmt: skip
# E2B's kind: an embedding for every layer, and late layers that take the keys and values of earlier ones.
SHARED = {**TEXT, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 2, "attention_k_eq_v": False}


@pytest.fixture(scope="module")
def multimodal(tmp_path_factory):
    """A Gemma 4 with a vision tower, which has projections of the same names."""
    from transformers import AutoModelForCausalLM, Gemma4Config

    vision = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 16,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("multimodal")
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(Gemma4Config(text_config=TEXT, vision_config=vision)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from transformers import AutoModelForCausalLM, Gemma4TextConfig

    folder = tmp_path_factory.mktemp("shared")
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(Gemma4TextConfig(**SHARED)).save_pretrained(folder)
    return folder


def adapted(backend):
    return {name for name, module in backend.language.model.named_modules() if hasattr(module, "lora_A")}


@pytest.mark.parametrize("lora", [True, False])
def test_the_language_model_within_a_multimodal_one(multimodal, lora):
    spec = recipe(multimodal, lora=lora)
    backend = build(spec, vocabulary=256)
    assert backend.language.prefix == "model.language_model."
    assert all(name.startswith("model.language_model.layers.") for name in adapted(backend))
    assert len(adapted(backend)) == (14 if lora else 0)
    trained = {name for name, p in backend.language.model.named_parameters() if p.requires_grad}
    assert trained
    assert not {name for name in trained if "vision" in name}
    backend.step(micros(spec), learning_rate=1e-3, seed=0)


def test_what_was_matched_is_said(models):
    backend = build(recipe(models["gemma"], lora=True), vocabulary=256)
    assert backend.notes == ("adapters on 14 modules in 4 layers: q_proj 4, k_proj 4, v_proj 2, o_proj 4",)
    assert backend.trainable == sum(p.numel() for p in backend._trained.values()) < backend.total / 10


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"targets": ["qkv_proj"], "optional": []}, "'qkv_proj' matches no linear module in the 4 layers"),
        ({"targets": ["q_proj", "x"], "optional": ["x"]}, "'x' matches no linear module"),
        ({"optional": []}, r"layer model\.layers\.1 has no v_proj \(2 layers are so\)"),
        ({"targets": ["q_proj", "input_layernorm"], "optional": []}, "'input_layernorm' matches no linear"),
    ],
)
def test_targets_that_match_nothing_or_only_part_of_a_layer(models, changes, said):
    with pytest.raises(VerievalError, match=said):
        build(recipe(models["gemma"], {"lora": changes}, lora=True), vocabulary=256)


def test_layers_that_share_keys_and_values(shared):
    """They have no k_proj and no v_proj, and say so unless the recipe does."""
    with pytest.raises(VerievalError, match=r"layers\.2 has no k_proj and no v_proj \(2 layers"):
        build(recipe(shared, {"lora": {"optional": []}}, lora=True), vocabulary=256)
    spec = recipe(shared, {"lora": {"optional": ["k_proj", "v_proj"], "dropout": 0.0}}, lora=True)
    plain = build(spec, vocabulary=256)
    remat = build(recipe(shared, {"lora": spec.as_dict()["lora"], "train": {"remat": True}}, lora=True), vocabulary=256)
    for parameter, other in zip(plain._trained.values(), remat._trained.values(), strict=True):
        torch.nn.init.normal_(parameter, std=0.1)
        other.data.copy_(parameter)
    for backend in (plain, remat):
        backend.learner.train()
        backend._run(micros(spec), seed=0)
    # Keys and values that cross layers must survive recomputation, gradients too.
    for name, parameter in plain._trained.items():
        torch.testing.assert_close(remat._trained[name].grad, parameter.grad, rtol=1e-4, atol=1e-6, msg=name)


def test_matching_counts_every_target(models):
    language = load_language(recipe(models["llama"]))
    spec = LoraSpec(rank=1, alpha=1.0, dropout=0.0, targets=("q_proj", "down_proj"))
    assert match_targets(language, spec) == {"q_proj": 2, "down_proj": 2}


def test_random_weights_from_a_config(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"model_type": "gemma4_text", **TEXT}))
    model = {"source": "", "config": str(path), "tokenizer": "x", "chat_format": "gemma4", "qk_norm_init": 0.35}
    spec = recipe(tmp_path, {"model": model})
    one, two = (load_language(spec).model.state_dict() for _ in range(2))
    other = load_language(recipe(tmp_path, {"model": model, "train": {"seed": 1}})).model.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
    norms = [value for name, value in one.items() if name.endswith(("q_norm.weight", "k_norm.weight"))]
    assert len(norms) == 8
    assert all(torch.equal(value, torch.full_like(value, 0.35)) for value in norms)
    assert torch.equal(one["model.norm.weight"], torch.ones(64))
    build(spec, vocabulary=256).step(micros(spec), learning_rate=1e-3, seed=0)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "no model can be made"),
        ('{"model_type": "no_such"}', "no model can be made"),
        ('{"model_type": "bert"}', "no model can be made|cannot train"),
        ('{"hidden_size": 8}', "no model can be made"),
    ],
)
def test_configs_that_make_no_model(tmp_path, content, said):
    path = tmp_path / "model.json"
    path.write_text(content)
    model = {"source": "", "config": str(path), "tokenizer": "x", "chat_format": "gemma4"}
    with pytest.raises(VerievalError, match=said):
        build(recipe(tmp_path, {"model": model}), vocabulary=256)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(VerievalError, match=r"model\.source: cannot load"):
        build(recipe(tmp_path), vocabulary=256)


def test_weights_that_are_missing(models, tmp_path):
    from safetensors.torch import load_file, save_file

    for file in models["gemma"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(VerievalError, match=r"lacks 1 weights .*layers\.1\.mlp\.up_proj"):
        build(recipe(tmp_path), vocabulary=256)


def test_float32_activations_over_bfloat16_weights(models):
    with pytest.raises(VerievalError, match=r"model\.compute_dtype"):
        build(recipe(models["gemma"], {"model": {"dtype": "bfloat16"}}, lora=True), vocabulary=256)


def test_logits_that_are_scaled_otherwise_are_refused(tmp_path):
    """Granite divides its logits: head and softcap alone would train another model."""
    from transformers import GraniteConfig, GraniteForCausalLM

    config = GraniteConfig(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, logits_scaling=4.0, initializer_range=0.5,
    )  # fmt: skip
    GraniteForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(VerievalError, match="GraniteForCausalLM: its logits"):
        build(recipe(tmp_path), vocabulary=256)


class TestIsolation:
    def check(self, backend, sequences=2):
        check_isolation(backend.learner, sequences=sequences, length=96, vocabulary=256, device=torch.device("cpu"))

    @pytest.mark.parametrize("name", ["gemma", "llama"])
    @pytest.mark.parametrize("attention", ["sdpa", "verieval_rows"])
    def test_rows_of_these_models_are_isolated(self, models, name, attention):
        backend = build(recipe(models[name]), vocabulary=256)
        backend.learner.decoder.config._attn_implementation = attention
        self.check(backend)

    @pytest.mark.parametrize("how", ["a mask", "a cache", "no positions"])
    def test_the_ways_that_leak_are_found(self, models, how):
        backend = build(recipe(models["gemma"]), vocabulary=256)
        backend.learner.decoder.config._attn_implementation = "sdpa"  # row by row nothing could leak
        forward = backend.learner.decoder.forward

        def leaking(input_ids, position_ids, attention_mask, use_cache):
            if how == "a mask":
                attention_mask = torch.ones_like(input_ids)
            if how == "no positions":
                position_ids = None
            return forward(
                input_ids=input_ids, position_ids=position_ids, attention_mask=attention_mask,
                use_cache=how == "a cache",
            )  # fmt: skip

        backend.learner.decoder.forward = leaking
        with pytest.raises(VerievalError, match=r"attend to each other .*data\.packing = false"):
            self.check(backend)

    def test_a_model_with_a_state_leaks_and_may_train_unpacked(self, tmp_path):
        """A recurrent model carries its state over the rows' border whatever the positions say."""
        from transformers import MambaConfig, MambaForCausalLM

        config = MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=1, state_size=4, initializer_range=0.5)
        MambaForCausalLM(config).save_pretrained(tmp_path)
        with pytest.raises(VerievalError):
            build(recipe(tmp_path), vocabulary=256)

    def test_weights_that_are_not_finite(self, models):
        backend = build(recipe(models["gemma"]), vocabulary=256)
        with torch.no_grad():
            backend._trained["decoder.norm.weight"].fill_(float("nan"))
        with pytest.raises(VerievalError, match="not finite"):
            self.check(backend)


def test_a_decoder_is_found_in_every_kind(models, multimodal):
    from transformers import AutoModelForCausalLM

    for folder, prefix in ((models["llama"], "model."), (multimodal, "model.language_model.")):
        language = find_language(AutoModelForCausalLM.from_pretrained(folder))
        assert language.prefix == prefix
        assert len(language.layers) == language.model.config.get_text_config().num_hidden_layers
    assert LORA["optional"] == ["v_proj"]
