"""nano's tokenizer: the one that ships, and how it is made."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from finetune.data.synth.families import draw_family
from finetune.data.synth.pairs import make_pair, suite_modules
from finetune.data.synth.tokenizer import PHRASES, SPECIAL, make_tokenizer, save, texts_of

FOLDER = Path(str(resources.files("finetune") / "nano" / "tokenizer"))
SHIPPED = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))


def ids(text: str) -> list[int]:
    return list(SHIPPED.encode(text, add_special_tokens=False).ids)


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    assert SHIPPED.decode(ids(text), skip_special_tokens=False) == text


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([*PHRASES, *SPECIAL, " the", "clk", "_", "\n    ", "8'hFF", "```"]), max_size=12))
def test_what_it_was_made_of_comes_back_in_any_order(parts: list[str]) -> None:
    text = "".join(parts)
    assert SHIPPED.decode(ids(text), skip_special_tokens=False) == text


def test_descriptions_and_code_come_back() -> None:
    for text in texts_of(123, 300):
        assert SHIPPED.decode(ids(text), skip_special_tokens=False) == text


def test_a_name_has_the_same_tokens_in_a_description_and_in_code() -> None:
    for name in ("clk", "rst_n", "data_in", "xqzv7", "wr_en", "qk_ab", "payload"):
        own = ids(name)
        for text, start in (
            (f"- `{name}` (input", "- `"),
            (f"    input {name},", "    input "),
            (f"    {name} <= ({name} + 1);", "    "),
        ):
            assert ids(text)[len(ids(start)) :][: len(own)] == own, text


def test_fixed_sentences_of_the_prompt_are_one_token_and_do_occur() -> None:
    for phrase in PHRASES:
        assert len(ids(phrase)) == 1
    texts = texts_of(0, 20)
    for phrase in PHRASES:
        assert any(phrase in text for text in texts), phrase


def test_numbers_are_their_digits() -> None:
    assert len(ids("16777215")) == 8


def test_size_and_special_tokens() -> None:
    import json

    config = json.loads((FOLDER.parent / "config.json").read_text())
    assert SHIPPED.get_vocab_size() == config["vocab_size"] == config["vocab_size_per_layer_input"]
    assert [SHIPPED.token_to_id(token) for token in SPECIAL] == list(range(len(SPECIAL)))
    assert (config["pad_token_id"], config["bos_token_id"]) == (0, 2)
    assert config["eos_token_id"] == [SPECIAL.index("<turn|>"), SPECIAL.index("<eos>")]


def test_the_same_texts_make_the_same_tokenizer() -> None:
    texts = texts_of(1, 300)
    assert make_tokenizer(texts, 700).to_str() == make_tokenizer(texts, 700).to_str()


def test_rows_are_short() -> None:
    lengths = []
    for seed in range(300):
        rng = Random(seed)
        pair = make_pair(draw_family(rng), "train", rng, suite_modules())
        assert pair is not None
        lengths.append(len(ids(pair.spec)) + len(ids(pair.code)))
    assert sum(lengths) / len(lengths) < 330
    assert max(lengths) < 1024


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(FOLDER)


def test_transformers_reads_it(loaded: Any) -> None:
    assert (loaded.pad_token_id, loaded.bos_token_id, loaded.eos_token_id) == (0, 2, 5)
    text = "module x (input clk); // Gr\u00fc\u00dfe"
    assert loaded.encode(text, add_special_tokens=False) == ids(text)
    assert loaded.decode(ids(text)) == text


def test_turns_are_those_of_gemma_4(loaded: Any) -> None:
    from verieval.chat import chat_template

    messages = [{"role": "user", "content": "What?"}]
    text = loaded.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert text == "<bos><|turn>user\nWhat?<turn|>\n<|turn>model\n"
    assert loaded.chat_template == chat_template("gemma4")


def test_transformers_reads_the_configuration() -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    config = transformers.AutoConfig.from_pretrained(FOLDER.parent)
    with torch.device("meta"):
        model = transformers.Gemma4ForCausalLM(config)
    assert 3e6 < sum(weight.numel() for weight in model.parameters()) < 6e6
    layers = model.model.layers
    shapes = [tuple(layer.self_attn.q_norm.weight.shape) for layer in layers]
    assert shapes == [(64,), (64,), (128,)] * 2
    assert [layer.self_attn.v_proj is None for layer in layers] == [False, False, True] * 2


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    save(make_tokenizer(texts_of(1, 100), 640), tmp_path / "t")
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == [
        "chat_template.jinja", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
