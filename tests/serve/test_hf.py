from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from serve.engines import open_engine  # noqa: E402
from serve.engines.checkpoint import folder_sha256  # noqa: E402
from verieval.completion import Completion, Message, Request, Sampling  # noqa: E402
from verieval.errors import VerievalError  # noqa: E402
from verieval.protocol import preset_prompt, training_differences  # noqa: E402

GREEDY = Sampling(temperature=0.0, max_tokens=24)
ASK = (Message("system", "You write Verilog."), Message("user", "Write module TopModule (input clk, output q);"))


def requests(count: int = 1, messages: tuple[Message, ...] = ASK) -> list[Request]:
    """Requests of different lengths and seeds."""
    longer = [(*messages[:-1], Message("user", messages[-1].content + " again" * i)) for i in range(count)]
    return [Request(f"t{i}", 0, turns, seed=i) for i, turns in enumerate(longer)]


def answers(
    folder: Path | str, asked: list[Request], sampling: Sampling = GREEDY, **options: object
) -> list[Completion]:
    engine = open_engine(str(folder), **options)
    try:
        return list(engine.generate(asked, sampling))
    finally:
        engine.close()


@pytest.fixture
def own(checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint to change."""
    return Path(shutil.copytree(checkpoint, tmp_path / "own"))


@pytest.fixture(scope="module")
def reference(checkpoint: Path):
    """Tokenizer and model as transformers alone loads them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    return tokenizer, model


def generated(reference, request: Request, count: int) -> list[int]:
    """What ``transformers.generate`` answers greedily, without stop tokens."""
    tokenizer, model = reference
    turns = [{"role": turn.role, "content": turn.content} for turn in request.messages]
    prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    config = transformers.GenerationConfig(do_sample=False, max_new_tokens=count, eos_token_id=None, pad_token_id=0)
    output = model.generate(**prompt, generation_config=config)
    return output[0, prompt["input_ids"].shape[1] :].tolist()


# ---- prompts ------------------------------------------------------------------------------------------------------


def test_greedy_answers_are_transformers_own(checkpoint: Path, reference) -> None:
    tokenizer, _ = reference
    asked = requests(5)
    got = answers(checkpoint, asked, batch_size=3)
    for request, completion in zip(asked, got, strict=True):
        expected = generated(reference, request, 24)
        assert completion.text == tokenizer.decode(expected, clean_up_tokenization_spaces=False)
        turns = [{"role": turn.role, "content": turn.content} for turn in request.messages]
        prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
        assert prompt.count(tokenizer.bos_token_id) == 1
        assert completion == Completion(
            request.task_id, 0, completion.text, "length", len(prompt), 24, seed=request.seed
        )


def test_a_checkpoint_without_template_gets_its_familys_format(own: Path, checkpoint: Path) -> None:
    (own / "chat_template.jinja").unlink()
    engine = open_engine(str(own))
    assert engine.describe()["model"]["chat"]["source"] == "format:gemma4"
    assert not engine.raw
    # The test's template and the project's are written apart and say the same.
    assert answers(own, requests(2)) == answers(checkpoint, requests(2))


def test_a_base_model_continues_raw_text_with_one_bos(checkpoint: Path, reference) -> None:
    tokenizer, model = reference
    engine = open_engine(str(checkpoint), chat_format="raw")
    assert engine.raw
    assert engine.describe()["model"]["chat"] is None
    text = "module TopModule (input clk"
    plain, with_bos = (Request("t", i, (), 0, raw=raw) for i, raw in enumerate([text, "<bos>" + text]))
    first, second = engine.generate([plain, with_bos], GREEDY)
    assert first.text == second.text
    ids = tokenizer(text)["input_ids"]
    assert ids[0] == tokenizer.bos_token_id
    assert first.prompt_tokens == second.prompt_tokens == len(ids)
    config = transformers.GenerationConfig(do_sample=False, max_new_tokens=24, eos_token_id=None, pad_token_id=0)
    output = model.generate(torch.tensor([ids]), generation_config=config)[0, len(ids) :]
    assert first.text == tokenizer.decode(output, clean_up_tokenization_spaces=False)
    with pytest.raises(VerievalError, match="has no chat template"):
        list(engine.generate(requests(1), GREEDY))


def test_a_prompt_beyond_the_context_names_its_task(tmp_path: Path) -> None:
    from tests.tiny_gemma4 import make_checkpoint

    folder = make_checkpoint(tmp_path / "short", context=64)
    long = (Message("user", "0 " * 300),)
    with pytest.raises(VerievalError, match=r"prompt of task t0 has \d+ tokens and the model's context 64"):
        answers(folder, requests(1, long))
    (completion,) = answers(folder, requests(1, (Message("user", "0 1 2"),)), Sampling(max_tokens=500))
    assert completion.finish_reason == "length"
    assert completion.prompt_tokens + completion.completion_tokens == 64


# ---- ends ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["generation_config.json", "config.json", "tokenizer_config.json"])
def test_every_place_that_names_an_end_of_text_ends_a_completion(own: Path, reference, place: str) -> None:
    tokenizer, _ = reference
    (request,) = requests(1)
    tokens = generated(reference, request, 24)
    end = next(i for i in range(4, 24) if tokens[i] not in tokens[:i])
    content = json.loads((own / place).read_text())
    if place == "tokenizer_config.json":
        content["eos_token"] = tokenizer.convert_ids_to_tokens(tokens[end])
    else:
        content["eos_token_id"] = [1, tokens[end]]
    (own / place).write_text(json.dumps(content))
    (completion,) = answers(own, [request])
    assert completion.finish_reason == "stop"
    assert completion.text == tokenizer.decode(tokens[:end], clean_up_tokenization_spaces=False)
    assert completion.completion_tokens == end + 1


def test_turn_ends_of_the_vocabulary_are_stop_tokens(own: Path) -> None:
    (own / "generation_config.json").unlink()
    assert open_engine(str(own)).describe()["model"]["stop"] == ["<eos>", "<turn|>"]


def test_marks_of_reasoning_stay_in_the_text(checkpoint: Path) -> None:
    engine = open_engine(str(checkpoint))
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    from serve.engines.decode import Row

    text = "<channel|>module m; endmodule"
    tokens = tokenizer("<pad>" + text + "<bos>", add_special_tokens=False)["input_ids"]
    row = Row([2], 0, 99, tokens=tokens, drawn=len(tokens), finish="stop")
    assert engine._completion(requests(1)[0], row).text == text


# ---- sampling -----------------------------------------------------------------------------------------------------


def test_a_request_has_one_text_in_whatever_batch(checkpoint: Path) -> None:
    asked, sampling = requests(6), Sampling(temperature=0.9, top_p=0.95, max_tokens=25)
    whole = answers(checkpoint, asked, sampling, batch_size=6)
    assert answers(checkpoint, asked, sampling, batch_size=1) == whole
    assert answers(checkpoint, asked[::-1], sampling, batch_size=4)[::-1] == whole
    assert len({completion.text for completion in whole}) == 6


def test_bfloat16_runs_and_is_recorded(checkpoint: Path) -> None:
    engine = open_engine(str(checkpoint), dtype="bf16")
    assert engine.describe()["engine"]["dtype"] == "bfloat16"
    (completion,) = engine.generate(requests(1), GREEDY)
    assert completion.completion_tokens == 24


# ---- what is recorded ---------------------------------------------------------------------------------------------


def test_the_hash_follows_the_content(own: Path, checkpoint: Path) -> None:
    before = folder_sha256(own)
    assert before == folder_sha256(checkpoint)
    (own / "README.md").write_text("words")
    assert folder_sha256(own) == before
    for name in ("model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"):
        data = (own / name).read_bytes()
        (own / name).write_bytes(data + b" ")
        assert folder_sha256(own) != before, name
        (own / name).write_bytes(data)
    assert folder_sha256(own) == before


def test_training_json_is_carried_and_compared(own: Path) -> None:
    prompt = preset_prompt("default")
    training = {"prompt_sha256": "0" * 64, "steps": 7}
    (own / "training.json").write_text(json.dumps(training))
    model = open_engine(str(own)).describe()["model"]
    assert model["training"]["steps"] == 7
    (sentence,) = training_differences(model, prompt)
    assert prompt.sha256 in sentence
    assert "0" * 64 in sentence
    training |= {"prompt_sha256": prompt.sha256, "chat_template_sha256": model["chat"]["sha256"]}
    (own / "training.json").write_text(json.dumps(training))
    assert training_differences(open_engine(str(own)).describe()["model"], prompt) == ()
    (own / "training.json").write_text("{")
    with pytest.raises(VerievalError, match=r"training\.json is not readable JSON"):
        open_engine(str(own)).describe()


# ---- adapters -----------------------------------------------------------------------------------------------------


@pytest.fixture
def adapter(checkpoint: Path, tmp_path: Path) -> Path:
    """A LoRA adapter that changes what the model says."""
    peft = pytest.importorskip("peft")
    base = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    torch.manual_seed(1)
    config = peft.LoraConfig(
        r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False, task_type="CAUSAL_LM"
    )
    peft.get_peft_model(base, config).save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


def test_an_adapter_answers_as_its_merged_model(adapter: Path, checkpoint: Path, reference) -> None:
    import peft

    (request,) = requests(1)
    tokenizer, _ = reference
    base = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
    merged = peft.PeftModel.from_pretrained(base, adapter).merge_and_unload().eval()
    expected = tokenizer.decode(generated((tokenizer, merged), request, 24), clean_up_tokenization_spaces=False)
    engine = open_engine(str(adapter))
    (completion,) = engine.generate([request], GREEDY)
    assert completion.text == expected
    assert completion.text != answers(checkpoint, [request])[0].text
    model = engine.describe()["model"]
    assert model["adapter"] == {"source": str(adapter), "sha256": folder_sha256(adapter)}
    assert (model["source"], model["sha256"]) == (str(checkpoint), folder_sha256(checkpoint))


def test_an_adapter_without_its_base_says_so(adapter: Path, tmp_path: Path) -> None:
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = str(tmp_path / "gone")
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(VerievalError, match="gone"):
        open_engine(str(adapter))
    del config["base_model_name_or_path"]
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(VerievalError, match="names no base model"):
        open_engine(str(adapter))


# ---- faults -------------------------------------------------------------------------------------------------------


def test_a_missing_weight_is_an_error_and_not_a_random_number(own: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(own / "model.safetensors")
    del weights["model.layers.2.mlp.up_proj.weight"]
    save_file(weights, own / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(VerievalError, match=r"lacks 1 weights .*layers\.2\.mlp\.up_proj"):
        answers(own, requests(1))


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("model.safetensors", b"\0" * 50, "weights"),
        ("config.json", b"{", "config"),
        ("tokenizer.json", b"{}", "tokenizer"),
        ("generation_config.json", b"[", "generation config"),
    ],
)
def test_a_damaged_file_is_one_sentence(own: Path, name: str, data: bytes, what: str) -> None:
    (own / name).write_bytes(data)
    with pytest.raises(VerievalError, match=f"cannot load the {what} of ") as caught:
        answers(own, requests(1))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "int7"}, "no dtype 'int7'"),
        ({"batch_size": 0}, "at least 1"),
        ({"chat_format": "gemma9"}, "no chat format"),
        ({"device": "quantum"}, "no device 'quantum'"),
        ({"device": "cuda:97"}, "has no device cuda:97"),
        ({"base_model": "x"}, "applies to a PEFT adapter"),
        ({"concurrency": 3}, "does not apply to the hf engine"),
    ],
)
def test_a_wrong_option_is_named(checkpoint: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(VerievalError, match=words):
        open_engine(str(checkpoint), **options)


def test_without_the_extra_the_error_says_what_to_install(checkpoint: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from serve.engines import open_engine\n"
        "from verieval.errors import VerievalError\n"
        f"try: open_engine({str(checkpoint)!r})\n"
        "except VerievalError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "the hf engine needs the torch extra: pip install 'verieval[torch]'", done.stderr


def test_importing_engines_imports_nothing_heavy() -> None:
    code = (
        "import sys, serve.engines, serve.engines.hf, serve.engines.openai, serve.engines.replay, verieval.protocol\n"
        "print([name for name in ('torch', 'transformers', 'httpx', 'jinja2', 'peft') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
