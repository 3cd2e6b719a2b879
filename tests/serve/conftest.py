from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Gemma 4; shared, so a test that changes a file copies the folder first."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.tiny_gemma4 import make_checkpoint

    return make_checkpoint(tmp_path_factory.mktemp("gemma4") / "tiny")
