"""Safetensors files against their own library, and damaged ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

from finetune.checkpoint.tensorfile import INDEX, open_folder
from verieval.errors import VerievalError

safetensors = pytest.importorskip("safetensors.numpy")
TENSORS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(3, dtype=np.int64),
    "c": np.zeros((0, 4), np.float16), "d": np.array([True, False]),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """Two files and their index."""
    files = {"one.safetensors": ("a", "b"), "two.safetensors": ("c", "d")}
    for file, names in files.items():
        safetensors.save_file({name: TENSORS[name] for name in names}, tmp_path / file)
    weight_map = {name: file for file, names in files.items() for name in names}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    return tmp_path


def change(folder, **names):
    index = json.loads((folder / INDEX).read_text())
    index["weight_map"].update(names)
    (folder / INDEX).write_text(json.dumps({"weight_map": {k: v for k, v in index["weight_map"].items() if v}}))


def test_values(folder):
    stored = open_folder(folder)
    assert stored.shapes == {name: value.shape for name, value in TENSORS.items()}
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(stored.read(name), value)
        assert stored.read(name).dtype == value.dtype
    assert open_folder(folder / "one.safetensors").shapes.keys() == {"a", "b"}


def test_bfloat16(tmp_path):
    ml_dtypes, torch = pytest.importorskip("ml_dtypes"), pytest.importorskip("torch")
    from safetensors.torch import save_file

    values = torch.randn(3, 5).bfloat16()
    save_file({"x": values}, tmp_path / "model.safetensors")
    found = open_folder(tmp_path).read("x")
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found.astype(np.float32), values.float().numpy())


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"z": "one.safetensors"}, "lists z, which is not in its file"),
        ({"a": ""}, "lists nothing of a, which a file holds"),
        ({"a": "two.safetensors"}, "lists a, which is not in its file"),
        ({"a": "../one.safetensors"}, "no index"),
        ({"a": "three.safetensors"}, r"three\.safetensors cannot be read"),
    ],
)
def test_an_index_that_is_wrong(folder, names, said):
    change(folder, **names)
    with pytest.raises(VerievalError, match=said):
        open_folder(folder)


def test_no_checkpoint(tmp_path):
    with pytest.raises(VerievalError, match=r"has neither model\.safetensors nor"):
        open_folder(tmp_path)


@pytest.mark.parametrize("cut", [0, 4, 20, -1])
def test_a_file_that_ends_early(folder, cut):
    path = folder / "one.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(VerievalError, match=r"not a safetensors file|is damaged"):
        open_folder(folder)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F4", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]},
        {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]},
        {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]},
        {"dtype": "F32"},
        7,
    ],
)
def test_entries_that_cannot_be(tmp_path, entry):
    header = json.dumps({"x": entry}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(VerievalError, match="the tensor x is damaged"):
        open_folder(tmp_path)
