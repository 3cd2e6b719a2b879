"""The recipe of nano fits the files that it names."""

from __future__ import annotations

from pathlib import Path

from finetune.data.synth.corpus import LAYOUTS
from finetune.recipe import load_recipe


def test_recipe_is_read_and_its_files_are_there() -> None:
    recipe = load_recipe("nano")
    assert recipe.model.config_path.is_file()
    assert (Path(recipe.model.tokenizer_source) / "tokenizer.json").is_file()
    assert recipe.model.chat_format == "gemma4"
    assert [source.layout for source in recipe.data.sources] == [LAYOUTS[0]]
    assert recipe.loss.prompt_weight == 0.0
