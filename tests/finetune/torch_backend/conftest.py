from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")
pytest.importorskip("pydantic")

from tests.finetune.torch_backend.cases import MODELS


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of small models with random weights; shared, so nobody writes to them."""
    folder = tmp_path_factory.mktemp("models")
    return {name: make(folder / name) for name, make in MODELS.items()}
