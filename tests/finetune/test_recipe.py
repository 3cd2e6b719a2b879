"""A recipe says all, and what it must not say is refused with its place."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import pytest

import finetune
from finetune.recipe import Recipe, load_recipe, read_recipe
from verieval.errors import VerievalError

TEXT = """
[model]
source = "some/model"
dtype = "bfloat16"
compute_dtype = "bfloat16"
chat_format = "auto"

[data]
reasoning = "keep"
max_tokens = 3072
packing = true
heldout = 100
seed = 0

[[data.sources]]
path = "rows.jsonl"
layout = "chat"

[loss]
prompt_weight = 0
denominator = "weight_sum"

[lora]
rank = 64
alpha = 64.0
dropout = 0.05
targets = ["q_proj", "v_proj"]
optional = ["v_proj"]

[optim]
name = "adamw"
learning_rate = 1e-4
beta1 = 0.9
beta2 = 0.999
eps = 1e-8
weight_decay = 0.001
schedule = "cosine"
warmup_steps = 100
final_fraction = 0.0
clip_norm = 1.0

[train]
epochs = 1
sequence_length = 3072
batch = 8
seed = 0
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.toml"
    path.write_text(TEXT)
    return path


def test_a_recipe_is_frozen_and_hashed(file):
    recipe = load_recipe(str(file))
    assert isinstance(recipe, Recipe)
    assert recipe.data.sources[0].layout == "chat"
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe.loss.prompt_weight = 1.0
    assert recipe.sha256 == load_recipe(str(file), ["train.batch=8"]).sha256
    assert recipe.sha256 != load_recipe(str(file), ["loss.prompt_weight=0.1"]).sha256
    assert read_recipe(recipe.as_dict(), "again") == recipe


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("loss.prompt_wieght=0.1", "loss.prompt_wieght: there is no such key"),
        ("extra.key=1", "extra: there is no such key"),
        ("loss.prompt_weight=1.5", "loss.prompt_weight: "),
        ("loss.prompt_weight=-0.1", "loss.prompt_weight: "),
        ("loss.prompt_weight='1'", "loss.prompt_weight: "),
        ("loss.prompt_weight=true", "loss.prompt_weight: "),
        ("loss.prompt_weight=nan", "NaN"),
        ("optim.learning_rate=inf", "infinities"),
        ("train.seed=2020-01-01", "dates"),
        ("loss.denominator=mean", "loss.denominator: "),
        ("train.batch=0", "train.batch: "),
        ("train.batch=2.5", "train.batch: "),
        ("lora.rank=0", "lora.rank: "),
        ("lora.targets=[]", "lora.targets: "),
        ("lora.optional=['x']", "lora.optional: "),
        ("data.max_tokens=4096", "data.max_tokens: "),
        ("train.steps=10", "train: give either steps or epochs"),
        ("train.micro_batch=3", "train.batch: "),
        ("parallel.fsdp=3", "train.batch: "),
        ("parallel.tp=2", "parallel.tp: "),
        ("optim.name=muon", "optim.name: "),
        ("model.config='x.json'", "model: give either source"),
        ("model.source=''", "model: give either source"),
        ("model.qk_norm_init=0.35", "model.qk_norm_init: "),
        ("data.sources=[]", "data.sources: "),
        ("data.sources=[{path='a'}]", "data.sources.0.layout: it is missing"),
        ("backend=tensorflow", "backend: "),
    ],
)
def test_what_is_wrong_is_named_with_its_place(file, change, place):
    with pytest.raises(VerievalError) as error:
        load_recipe(str(file), [change])
    assert place in str(error.value)
    assert "some.toml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "key", [f"{table}.{key}" for table, keys in tomllib.loads(TEXT).items() for key in keys if table != "lora"]
)
def test_nothing_that_decides_a_number_has_a_default(file, key):
    content = tomllib.loads(TEXT)
    table, name = key.split(".")
    del content[table][name]
    with pytest.raises(VerievalError, match=r"missing|give either|\[lora\]"):
        read_recipe(content, "x")


@pytest.mark.parametrize("change", ["", "loss", "=1", "loss..x=1", "loss.prompt_weight.x=1"])
def test_a_change_that_is_none(file, change):
    with pytest.raises(VerievalError, match=r"write for example|is no table"):
        load_recipe(str(file), [change])


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[model", b"a = " + b"[" * 5000])
def test_a_file_that_is_no_toml(tmp_path, content):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(VerievalError, match=r"x\.toml"):
        load_recipe(str(path))


def test_no_such_recipe(tmp_path):
    with pytest.raises(VerievalError, match="gemma-4-31b-lora"):
        load_recipe("gemma-4")
    with pytest.raises(VerievalError, match="cannot be read"):
        load_recipe(str(tmp_path / "none.toml"))


def test_a_recipe_is_the_same_wherever_its_file_lies(tmp_path):
    text = (Path(finetune.__file__).parent / "recipes" / "nano.toml").read_text()
    found = []
    for name in ("a", "b"):
        folder = tmp_path / name / "recipes"
        folder.mkdir(parents=True)
        (folder / "nano.toml").write_text(text)
        recipe = load_recipe(str(folder / "nano.toml"))
        assert recipe.model.config_path.resolve() == tmp_path / name / "nano" / "config.json"
        assert str(tmp_path) not in json.dumps(recipe.as_dict())
        found.append(recipe)
    assert found[0] == found[1] == load_recipe("nano")
    assert found[0].sha256 == found[1].sha256 == load_recipe("nano").sha256


def test_no_key_sets_the_folder(file):
    with pytest.raises(VerievalError, match=r"model.folder: there is no such key"):
        load_recipe(str(file), ["model.folder=x"])


GEMMA = ("gemma-4-31b-lora", "gemma-4-e2b-lora")


@pytest.mark.parametrize("name", GEMMA)
def test_shipped_recipes_load_and_say_what_they_are(name):
    recipe = load_recipe(name)
    assert read_recipe(recipe.as_dict(), "again") == recipe
    assert recipe.model.source.startswith("google/gemma-4-")
    assert recipe.model.chat_format == "auto"
    assert [source.layout for source in recipe.data.sources] == ["codev-r1"]
    assert recipe.data.packing
    assert recipe.data.heldout > 0
    assert recipe.loss.prompt_weight == 0.0
    assert set(recipe.lora.targets) == {f"{part}_proj" for part in ("q", "k", "v", "o", "gate", "up", "down")}


def test_the_31b_recipe_has_the_papers_figures():
    """As arXiv 2605.25645 states them."""
    recipe = load_recipe("gemma-4-31b-lora")
    assert recipe.lora is not None
    assert (recipe.lora.rank, recipe.lora.alpha, recipe.lora.dropout) == (64, 64.0, 0.05)
    assert (recipe.optim.name, recipe.optim.learning_rate, recipe.optim.weight_decay) == ("adamw", 1e-4, 0.001)
    assert (recipe.optim.warmup_steps, recipe.optim.schedule, recipe.optim.final_fraction) == (100, "cosine", 0.0)
    assert recipe.data.max_tokens == 3072
    assert recipe.data.sources[0].limit - recipe.data.heldout == 10_000
    assert recipe.train.epochs == 1
    assert recipe.train.remat
    # The global layers of 31B have no V projection, and all others have all seven.
    assert recipe.lora.optional == ("v_proj",)


def test_packed_steps_are_the_papers_in_number_and_in_rows():
    """1,244 steps of 8 rows, at lengths like CodeV-R1's."""
    from finetune.data.packing import plan_epoch
    from finetune.plan.lengths import draw_lengths

    recipe = load_recipe("gemma-4-31b-lora")
    lengths = draw_lengths(10_000)
    plan = plan_epoch(lengths, capacity=recipe.train.sequence_length, batch=recipe.train.batch, seed=0, epoch=0)
    assert len(plan.steps) == pytest.approx(1244, rel=0.01)
    assert 10_000 / len(plan.steps) == pytest.approx(8, rel=0.01)


def test_optional_targets_are_what_layers_of_the_models_lack():
    """Against transformers' own Gemma 4 at the two models' shapes of layers, with widths made small."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    shapes = {
        "gemma-4-31b-lora": {"attention_k_eq_v": True, "num_kv_shared_layers": 0},
        "gemma-4-e2b-lora": {"attention_k_eq_v": False, "num_kv_shared_layers": 2},
    }
    for name, shape in shapes.items():
        config = transformers.Gemma4TextConfig(
            vocab_size=64, vocab_size_per_layer_input=64, hidden_size=32, intermediate_size=32, num_hidden_layers=4,
            layer_types=["sliding_attention", "full_attention"] * 2, num_attention_heads=2, num_key_value_heads=1,
            num_global_key_value_heads=1, head_dim=16, global_head_dim=16, hidden_size_per_layer_input=8, **shape,
        )  # fmt: skip
        with torch.device("meta"):
            model = transformers.Gemma4ForCausalLM(config)
        targets = set(load_recipe(name).lora.targets)
        layers = [
            {part.rpartition(".")[2] for part, _ in layer.named_modules()} & targets for layer in model.model.layers
        ]
        lacking = {target for target in targets if any(target not in layer for layer in layers)}
        assert lacking == set(load_recipe(name).lora.optional)


def test_every_difference_from_the_paper_is_commented():
    from importlib import resources

    text = (resources.files("finetune") / "recipes" / "gemma-4-31b-lora.toml").read_text()
    assert text.count("# paper:") >= 12
