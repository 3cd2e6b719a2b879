"""torch and JAX train alike: loss and gradients of one batch, and the curve of a run.

The table of ``docs/jax.md`` is written by

    VERIEVAL_WRITE_PARITY=1 python -m pytest -m slow tests/finetune/jax_backend/test_parity.py
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from finetune.gemma4 import load_config
from tests.finetune.jax_backend.parity import MESHES, OBJECTIVES, Case, Differences, begin, run_jax, run_torch

LOSS, GRADIENT, CURVE = 1e-5, 1e-4, 1e-3
BEGIN, END = "<!-- parity -->", "<!-- /parity -->"
DOCS = Path(__file__).resolve().parents[3] / "docs" / "jax.md"


@pytest.fixture(scope="module")
def theirs():
    """The torch backend's run of a case, which knows no mesh."""
    kept = {}

    def get(case: Case, spec, config, weights):
        key = replace(case, mesh=(1, 1)), spec.train.steps, spec.model.source
        if key not in kept:
            kept[key] = run_torch(spec, config, weights)
        return kept[key]

    return get


def compare(checkpoint, backend_of, theirs, case: Case, steps: int) -> Differences:
    spec = case.recipe(checkpoint, steps)
    config = load_config(checkpoint)
    weights = begin(config, spec)
    one, two = run_jax(backend_of(case, checkpoint), spec, weights), theirs(case, spec, config, weights)
    assert all(np.abs(value).max() > 1e-4 for value in two.gradients.values())
    np.testing.assert_allclose(one.norms[0], two.norms[0], rtol=1e-4)
    for ours, other in zip(one.totals, two.totals, strict=True):
        assert (ours.response_tokens, ours.prompt_tokens) == (other.response_tokens, other.prompt_tokens)
    assert abs(one.losses[-1] - one.losses[0]) > 0.01
    return Differences.between(one, two)


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_five_steps_are_torchs(checkpoint, backend_of, theirs, objective, packing):
    found = compare(checkpoint, backend_of, theirs, Case(objective, packing), steps=5)
    assert (found.loss <= LOSS, found.gradient <= GRADIENT, found.curve <= CURVE) == (True, True, True), found


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("accumulate", [1, 4])
@pytest.mark.parametrize("mesh", MESHES)
def test_fifty_steps_are_torchs_on_every_mesh(even, backend_of, theirs, mesh, accumulate):
    rows, wrong = {}, {}
    for packing, objective in product((True, False), OBJECTIVES):
        found = compare(even, backend_of, theirs, Case(objective, packing, accumulate, mesh), steps=50)
        key = f"| {mesh[0]} x {mesh[1]} | {accumulate} | {'packed' if packing else 'one each'} | {objective} |"
        rows[key] = f" {found.loss:.1e} | {found.gradient:.1e} | {found.curve:.1e} |"
        if found.loss > LOSS or found.gradient > GRADIENT or found.curve > CURVE:
            wrong[key] = rows[key]
    assert not wrong
    if os.environ.get("VERIEVAL_WRITE_PARITY"):
        write(rows)


def write(rows: dict[str, str]) -> None:
    """Lay rows over the table of the documentation."""
    text = DOCS.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    kept = dict(re.findall(r"^((?:\| [^|]+ ){4}\|)(.*)$", table, flags=re.MULTILINE)[1:])
    head = "| fsdp x tp | accumulation | rows | prompt | loss | gradient | curve |\n|---|---|---|---|---|---|---|\n"
    lines = "".join(f"{key}{value}\n" for key, value in sorted({**kept, **rows}.items()))
    DOCS.write_text(f"{before}{BEGIN}\n{head}{lines}{END}{after}", encoding="utf-8")
