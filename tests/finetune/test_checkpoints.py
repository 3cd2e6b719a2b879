"""A checkpoint is there whole or not at all; the log is cut where it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from finetune.checkpoints import complete, save, tidy
from finetune.folder import claim, curve, cut_log, differences, last_row
from verieval.errors import VerievalError


class Backend:
    """Saves one file, or fails on the way."""

    rank = 0

    def __init__(self, fail=False):
        self.fail = fail

    def agree(self, value):
        return value

    def save(self, folder: Path):
        (folder / "weights.bin").write_bytes(b"12345678")
        if self.fail:
            raise OSError(28, "No space left on device")


def test_the_newest_are_kept(tmp_path):
    for step in (2, 4, 10):
        save(tmp_path, Backend(), step, {"tokens": step}, keep=2)
    assert [(found.step, found.state) for found in complete(tmp_path)] == [(4, {"tokens": 4}), (10, {"tokens": 10})]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["step-000004", "step-000010"]


def test_one_that_fails_leaves_the_others(tmp_path):
    save(tmp_path, Backend(), 2, {}, keep=1)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, Backend(fail=True), 4, {}, keep=1)
    assert [found.step for found in complete(tmp_path)] == [2]
    assert tidy(tmp_path) == []
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000002"]
    save(tmp_path, Backend(), 4, {}, keep=1)
    assert [found.step for found in complete(tmp_path)] == [4]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "weights.bin").write_bytes(b"1234"),
        lambda folder: (folder / "weights.bin").unlink(),
        lambda folder: (folder / "state.json").unlink(),
        lambda folder: (folder / "state.json").write_text('{"step": 4'),
        lambda folder: (folder / "state.json").write_text("[]"),
        lambda folder: (folder / "state.json").write_text('{"step": 5, "files": {}, "state": {}}'),
    ],
)
def test_what_is_damaged_is_passed_over_and_named(tmp_path, damage):
    for step in (2, 4):
        save(tmp_path, Backend(), step, {}, keep=2)
    damage(tmp_path / "checkpoints" / "step-000004")
    assert [found.step for found in complete(tmp_path)] == [2]
    assert tidy(tmp_path) == ["step-000004"]


def write_log(folder, steps, tail=""):
    rows = [{"step": step, "loss": 1.0 / (1 + step)} for step in steps]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)


@pytest.mark.parametrize(("step", "left"), [(0, []), (3, [0, 2]), (4, [0, 2, 4]), (9, [0, 2, 4, 6])])
@pytest.mark.parametrize("tail", ["", '{"step": 8, "lo'])
def test_the_log_is_cut(tmp_path, step, left, tail):
    write_log(tmp_path, [0, 2, 4, 6], tail)
    cut_log(tmp_path, step)
    assert [json.loads(line)["step"] for line in (tmp_path / "train.jsonl").read_text().splitlines()] == left
    assert last_row(tmp_path).get("step") == (left[-1] if left else None)


def test_the_curve_is_thinned_and_keeps_its_ends(tmp_path):
    assert curve(tmp_path) == ([], [])
    write_log(tmp_path, range(1, 5001))
    # Lines of training alone lack the NLLs that real ones have.
    rows = [json.loads(line) | {"response_nll": 1.0, "prompt_nll": None} for line in (tmp_path / "train.jsonl").open()]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    points, heldout = curve(tmp_path)
    assert (len(points), heldout) == (200, [])
    assert (points[0]["step"], points[-1]["step"]) == (1, 5000)
    assert len(json.dumps(points)) < 32_768  # a run's manifest takes it in


def test_a_folder_is_claimed_once(tmp_path):
    manifest = {"recipe": {"a": {"b": 1}}, "recipe_sha256": "x", "data": {"sha256": "y"}}
    assert claim(tmp_path, manifest) == manifest
    assert claim(tmp_path, {**manifest, "versions": {}}) == manifest
    other = {**manifest, "recipe": {"a": {"b": 2}}, "recipe_sha256": "z"}
    with pytest.raises(VerievalError, match=r"another recipe \(it differs in a\.b\)"):
        claim(tmp_path, other)
    with pytest.raises(VerievalError, match="another model"):
        claim(tmp_path, {**manifest, "config_sha256": "v"})
    with pytest.raises(VerievalError, match="other data"):
        claim(tmp_path, {**manifest, "data": {"sha256": "w"}})
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(VerievalError, match="not readable JSON"):
        claim(tmp_path, manifest)


def test_places_at_which_recipes_differ():
    assert differences({"a": {"b": 1, "c": [1]}}, {"a": {"b": 1, "c": [2]}, "d": 0}) == ["a.c", "d"]
