from __future__ import annotations

from pathlib import Path

import pytest

from serve.engines import detect, open_engine
from verieval.errors import VerievalError


@pytest.mark.parametrize(
    ("files", "engine"),
    [(["config.json"], "hf"), (["adapter_config.json"], "hf"), (["config.json", "_METADATA"], "hf")],
)
def test_a_folder_is_known_by_its_files(tmp_path: Path, files: list[str], engine: str) -> None:
    for name in files:
        (tmp_path / name).write_text("{}")
    assert detect(str(tmp_path)) == engine


@pytest.mark.parametrize(
    ("model", "engine"),
    [
        ("openai:gpt@http://localhost:1/v1", "openai"),
        ("replay:nowhere.jsonl", "replay"),
        ("google/gemma-4-31b-it", "hf"),
        ("nano", "hf"),
        ("Qwen/Qwen2.5-Coder-7B", "hf"),
    ],
)
def test_other_forms(model: str, engine: str) -> None:
    assert detect(model) == engine


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gone", "no such folder: gone"),
        ("./gone", r"no such folder: \./gone"),
        ("a/b/c", "no such folder: a/b/c"),
        ("there/gone", "no such folder: there/gone"),  # a hub id by its form, but `there` is a folder here
        ("there", "neither config.json nor adapter_config.json"),
        ("orbax", "arrays of an Orbax checkpoint alone"),
        ("converted", "model_type is None"),
        ("file.gguf", "is a file"),
        ("", "--model is empty"),
        (" ", "--model is empty"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "orbax").mkdir()
    (tmp_path / "orbax" / "_CHECKPOINT_METADATA").write_text("{}")
    (tmp_path / "converted" / "state").mkdir(parents=True)
    (tmp_path / "converted" / "config.json").write_text("{}")
    (tmp_path / "converted" / "state" / "_METADATA").write_text("{}")
    (tmp_path / "file.gguf").write_text("")
    with pytest.raises(VerievalError, match=words):
        open_engine(model)


def test_a_folder_called_nano_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nano").mkdir()
    (tmp_path / "nano" / "config.json").write_text("{}")
    assert detect("nano") == "hf"


def test_an_engine_can_be_named_and_must_exist() -> None:
    with pytest.raises(VerievalError, match=r"'x' is not openai:NAME@URL"):
        open_engine("x", engine="openai")
    with pytest.raises(VerievalError, match="no engine 'vroom': choose one of hf, jax, openai, replay"):
        open_engine("x", engine="vroom")


def test_an_option_that_would_not_be_used_is_refused_and_none_is_not_given() -> None:
    with pytest.raises(VerievalError, match="option dtype does not apply to the openai engine"):
        open_engine("openai:m@http://localhost:1", dtype="bf16")
    open_engine("openai:m@http://localhost:1", dtype=None, concurrency=2).close()
