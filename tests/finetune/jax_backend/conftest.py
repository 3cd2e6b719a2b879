from __future__ import annotations

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("torch")
pytest.importorskip("transformers")

from pathlib import Path

from tests.finetune.jax_backend.cases import SHAPES, Model, make_model, save_model


@pytest.fixture(scope="session")
def model_of(tmp_path_factory):
    """A small model by the name of its shape, made and read once."""
    kept: dict[str, Model] = {}

    def get(name: str) -> Model:
        assert name in SHAPES
        if name not in kept:
            torch_model = make_model(name)
            folder: Path = save_model(torch_model, tmp_path_factory.mktemp("models") / name)
            kept[name] = Model.read(torch_model, folder)
        return kept[name]

    return get


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """A small Gemma 4 that both backends read: K=V on its global layers, a final softcap."""
    from tests.finetune.torch_backend.cases import gemma

    return gemma(tmp_path_factory.mktemp("models") / "gemma")


@pytest.fixture(scope="session")
def even(tmp_path_factory):
    """A small Gemma 4 for every mesh of four devices."""
    from tests.finetune.jax_backend import cases

    return cases.even(tmp_path_factory.mktemp("models") / "even")


@pytest.fixture(scope="session")
def backend_of(checkpoint):
    """A backend for a case's mesh and accumulation; its program is compiled once and serves all objectives."""
    from finetune.jax_backend.backend import build
    from tests.finetune.jax_backend.parity import VOCABULARY, Case

    kept = {}

    def get(case: Case, folder: Path = checkpoint):
        key = (case.accumulate, case.mesh, folder)
        if key not in kept:
            kept[key] = build(case.recipe(folder, steps=50), vocabulary=VOCABULARY)
        return kept[key]

    return get
