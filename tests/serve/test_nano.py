"""The model that ships: what it is, and that it writes Verilog that its tests accept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("transformers")

from finetune.data.synth.evaluate import commands as synth
from finetune.recipe import load_recipe
from serve.engines import open_engine
from serve.engines.shipped import shipped_folder
from verieval import protocol
from verieval.chat import chat_template
from verieval.cli import main

LARGEST = 15 * 2**20  # bytes


@pytest.fixture(scope="module")
def folder() -> Path:
    found = shipped_folder("nano")
    assert found is not None
    return found


def test_it_is_small_and_of_gemma_4(folder: Path) -> None:
    from safetensors import safe_open

    assert sum(path.stat().st_size for path in folder.iterdir()) <= LARGEST
    with safe_open(str(folder / "model.safetensors"), framework="pt") as weights:
        slices = [weights.get_slice(name) for name in weights.keys()]  # noqa: SIM118 - no mapping
    assert {part.get_dtype() for part in slices} == {"BF16"}
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "gemma4_text"
    assert set(config["layer_types"]) == {"sliding_attention", "full_attention"}
    assert config["attention_k_eq_v"]


def test_it_says_how_it_was_made(folder: Path) -> None:
    said = json.loads((folder / "training.json").read_text())
    assert said["recipe_sha256"] == load_recipe("nano").sha256
    assert said["recipe"] == load_recipe("nano").as_dict()
    assert said["prompt_sha256"] == protocol.preset_prompt("default").sha256
    assert (folder / "chat_template.jinja").read_text().strip() == chat_template("gemma4").strip()
    for path in folder.glob("*.json"):
        assert f"{os.sep}work{os.sep}" not in path.read_text()
        assert f"{os.sep}home{os.sep}" not in path.read_text()


def test_a_folder_of_its_name_goes_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped_folder("nano") is not None
    (tmp_path / "nano").mkdir()
    assert shipped_folder("nano") is None
    assert shipped_folder("micro") is None


def test_the_manifest_has_its_name_and_its_hash(folder: Path) -> None:
    model = open_engine("nano").describe()["model"]
    assert model["source"] == "nano"
    assert model["sha256"] == open_engine(str(folder)).describe()["model"]["sha256"]


def test_it_writes_designs_with_parameters_that_it_has_never_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At least half of them, where docs/nano.md reports more; a model that had learnt nothing would pass none."""
    make = CliRunner().invoke(synth, ["make", "--out", str(tmp_path / "sets"), "--count", "12", "--seed", "7"])
    assert make.exit_code == 0, make.output
    suite = str(tmp_path / "suite")
    made = CliRunner().invoke(synth, ["suite", str(tmp_path / "sets" / "parameters.jsonl"), "--out", suite])
    assert made.exit_code == 0, made.output
    out = tmp_path / "run"
    with pytest.raises(SystemExit) as end:
        main(["run", "--model", "nano", "--data", suite, "--max-tokens", "512", "--out", str(out)])
    said = capsys.readouterr()
    assert end.value.code == 0, said.err
    assert "was trained with" not in said.err
    found = json.loads((out / "report.json").read_text())["criteria"]["strict"]
    assert found["samples"] == 12
    assert found["outcomes"].get("passed", 0) >= 6
