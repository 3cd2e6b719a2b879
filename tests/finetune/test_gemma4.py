"""Configurations: what transformers writes is read as transformers means it, and what is not built is refused."""

from __future__ import annotations

import copy
import json
import math
from importlib import resources
from pathlib import Path

import pytest

from finetune.checkpoint.layout import places, tensors
from finetune.gemma4 import KINDS, load_config, read_config
from verieval.errors import VerievalError

NANO = Path(str(resources.files("finetune") / "nano" / "config.json"))


def published(group: int, groups: int, **text):
    """A configuration as the models' checkpoints have it: multimodal, with ``global_head_dim``."""
    kinds = ([KINDS[0]] * (group - 1) + [KINDS[1]]) * groups
    fields = {
        "model_type": "gemma4_text", "vocab_size": 262144, "vocab_size_per_layer_input": 262144, "head_dim": 256,
        "global_head_dim": 512, "layer_types": kinds, "num_hidden_layers": len(kinds), "rms_norm_eps": 1e-6,
        "final_logit_softcapping": 30.0, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
        "rope_parameters": {
            "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1e6, "rope_type": "proportional"},
            "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"},
        },
        **text,
    }  # fmt: skip
    return {"model_type": "gemma4", "text_config": fields, "vision_config": {"model_type": "gemma4_vision"}}


GEMMA_31B = published(
    6, 10, hidden_size=5376, intermediate_size=21504, num_attention_heads=32, num_key_value_heads=16,
    num_global_key_value_heads=4, attention_k_eq_v=True, hidden_size_per_layer_input=0, num_kv_shared_layers=0,
    sliding_window=1024, use_bidirectional_attention="vision",
)  # fmt: skip
E2B = published(
    5, 7, hidden_size=1536, intermediate_size=6144, num_attention_heads=8, num_key_value_heads=1,
    hidden_size_per_layer_input=256, num_kv_shared_layers=20, use_double_wide_mlp=True, sliding_window=512,
)  # fmt: skip
E4B = published(
    6, 7, hidden_size=2560, intermediate_size=10240, num_attention_heads=8, num_key_value_heads=2,
    hidden_size_per_layer_input=256, num_kv_shared_layers=18, sliding_window=512,
)  # fmt: skip
MODELS = {"31b": GEMMA_31B, "e2b": E2B, "e4b": E4B, "nano": json.loads(NANO.read_text())}


def groups(config):
    return [
        (part.start, part.repeats, [(run.shape.kind[:4], run.count) for run in part.runs]) for part in config.segments
    ]


def test_layers_are_grouped_as_they_repeat():
    assert groups(read_config(GEMMA_31B)) == [(0, 10, [("slid", 5), ("full", 1)])]
    assert groups(read_config(E2B)) == [(0, 3, [("slid", 4), ("full", 1)]), (15, 4, [("slid", 4), ("full", 1)])]
    assert groups(read_config(E4B)) == [(0, 4, [("slid", 5), ("full", 1)]), (24, 3, [("slid", 5), ("full", 1)])]
    assert groups(load_config(NANO)) == [(0, 2, [("slid", 2), ("full", 1)])]
    first, tail = read_config(E2B).segments
    assert first.layers(0) == ((0, 1, 2, 3), (5, 6, 7, 8), (10, 11, 12, 13))
    assert tail.layers(1) == ((19,), (24,), (29,), (34,))


def test_what_the_31b_model_is():
    config = read_config(GEMMA_31B)
    sliding, full = config.layers[0], config.layers[5]
    assert (sliding.heads, sliding.kv_heads, sliding.head_dim, sliding.key_is_value) == (32, 16, 256, False)
    assert (full.heads, full.kv_heads, full.head_dim, full.key_is_value) == (32, 4, 512, True)
    assert config.multimodal
    assert config.prefix == "model.language_model."
    assert sum(math.prod(tensor.shape) for tensor in tensors(config)) / 1e9 == pytest.approx(30.7, abs=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_names_and_shapes_are_transformers(name):
    """Every weight of transformers' own model of the configuration, none more."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    content = copy.deepcopy(MODELS[name].get("text_config", MODELS[name]))
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**content))
    expected = {key: tuple(value.shape) for key, value in model.state_dict().items() if key != "lm_head.weight"}
    config = read_config(content)
    assert {place.name: place.shape for place in places(tensors(config), "transformers", config.prefix)} == expected


@pytest.mark.parametrize("name", MODELS)
def test_both_ways_of_writing_the_layers_sizes(name, tmp_path):
    """As transformers writes it now, which has ``per_layer_config`` with numbers filled up with zeros."""
    transformers = pytest.importorskip("transformers")
    content = copy.deepcopy(MODELS[name].get("text_config", MODELS[name]))
    transformers.AutoConfig.for_model(**content).save_pretrained(tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    assert "global_head_dim" not in written
    assert load_config(tmp_path) == read_config(content)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"enable_moe_block": True}, "enable_moe_block: mixture-of-experts"),
        ({"num_experts": 128}, "num_experts: mixture-of-experts"),
        ({"use_bidirectional_attention": "all"}, "use_bidirectional_attention: only causal"),
        ({"attention_bias": True}, "attention_bias: projections"),
        ({"attention_dropout": 0.1}, "attention_dropout"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"patch_size": 16}, "patch_size: a text model has no such field"),
        ({"subsampling_conv_channels": [1]}, "subsampling_conv_channels"),
        ({"hidden_activation": "relu"}, "hidden_activation: 'relu'"),
        ({"hidden_size": None}, "hidden_size must be a whole number of at least 1"),
        ({"hidden_size": True}, "hidden_size must be"),
        ({"rms_norm_eps": -1.0}, "rms_norm_eps must be a number above 0"),
        ({"layer_types": ["full_attention"]}, "layer_types must name 60 layers"),
        ({"layer_types": ["linear_attention"] * 60}, "layer_types must name"),
        ({"num_key_value_heads": 5}, "layer 0 has 32 heads"),
        ({"num_kv_shared_layers": 60}, "num_kv_shared_layers leaves no full_attention layer"),
        ({"num_kv_shared_layers": 55}, "leaves no full_attention layer"),
        ({"per_layer_config": {"5": {"head_dim": 8, "hidden_size": 3}}}, r"per_layer_config\.5\.hidden_size"),
        ({"per_layer_config": {"x": {}}}, r"per_layer_config\.x is not known"),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_parameters: sliding_attention"),
        ({"model_type": "gemma4_vision"}, None),
    ],
)  # fmt: skip
def test_what_is_not_built_is_refused_by_name(changes, said):
    content = copy.deepcopy(GEMMA_31B)
    content["text_config"].update(changes)
    if said is None:
        content, said = content["text_config"], "model_type is 'gemma4_vision'"
    with pytest.raises(VerievalError, match=said):
        read_config(content)


@pytest.mark.parametrize("content", [[], None, {}, {"model_type": "llama"}, {"model_type": "gemma4"}])
def test_other_models_are_refused(content):
    with pytest.raises(VerievalError, match=r"give a transformers config|model_type is"):
        read_config(content)


def test_a_file_that_is_no_json(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(VerievalError, match="not valid JSON"):
        load_config(tmp_path)
