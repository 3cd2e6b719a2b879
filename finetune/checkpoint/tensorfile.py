"""Folders of safetensors, one tensor at a time: names and shapes from the headers, bytes when they are asked for.

Nothing is mapped into memory, so what is read and let go of is gone, whatever the size of the checkpoint.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verieval.errors import VerievalError
from verieval.files import read_file

Array = NDArray[Any]
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
# The format's names; bfloat16 is no type of NumPy's own.
DTYPES: Mapping[str, str] = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_MOST_HEADER = 2**27


@dataclass(frozen=True)
class Entry:
    """A tensor in a file.

    Attributes:
        file: that holds it.
        dtype: NumPy's name of it, or ``bfloat16``.
        shape: of it.
        start: of its bytes in the file.
    """

    file: Path
    dtype: str
    shape: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class Stored:
    """The tensors of a checkpoint.

    Attributes:
        folder: or the file.
        entries: by name.
    """

    folder: Path
    entries: Mapping[str, Entry]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every tensor."""
        return {name: entry.shape for name, entry in self.entries.items()}

    def dtype(self, name: str) -> str:
        """NumPy's name of a tensor's, or ``bfloat16``."""
        return self.entries[name].dtype

    def read(self, name: str, index: tuple[Any, ...] = ()) -> Array:
        """One tensor, in memory of its own; bfloat16 has ml_dtypes' type.

        Args:
            name: of the tensor.
            index: the part of it that is wanted, where it is not the whole.

        Raises:
            VerievalError: the file has changed or cannot be read.
        """
        entry = self.entries[name]
        dtype, count = numpy_dtype(entry.dtype), math.prod(entry.shape)
        try:
            array = np.fromfile(entry.file, dtype=dtype, count=count, offset=entry.start)
        except OSError as error:
            raise VerievalError(f"{entry.file} cannot be read ({error.strerror}); check the path") from error
        if array.size != count:
            raise VerievalError(f"{entry.file} ends within the tensor {name}; get it again")
        part: Array = array.reshape(entry.shape)[index]
        return part


def numpy_dtype(name: str) -> np.dtype[Any]:
    """A dtype by its name, bfloat16 among them.

    Raises:
        VerievalError: bfloat16 is asked for and ml_dtypes is not installed.
    """
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise VerievalError("bfloat16 in NumPy needs ml_dtypes: pip install 'verieval[jax]'") from None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def width(dtype: str) -> int:
    """Bytes of a number."""
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize


def open_folder(folder: Path) -> Stored:
    """Read the headers of a checkpoint: one file, or several with an index.

    Args:
        folder: with ``model.safetensors`` or its index; or a safetensors file.

    Raises:
        VerievalError: there is none, a file is damaged, or index and files contradict each other.
    """
    if folder.is_file():
        return Stored(folder, _read_header(folder))
    index = folder / INDEX
    if not index.is_file():
        single = folder / SINGLE
        if not single.is_file():
            raise VerievalError(
                f"{folder} has neither {SINGLE} nor {INDEX}; give a folder with a safetensors checkpoint"
            )
        return Stored(folder, _read_header(single))
    weight_map = _weight_map(index)
    entries: dict[str, Entry] = {}
    for file in sorted(set(weight_map.values())):
        entries.update(
            (name, entry) for name, entry in _read_header(folder / file).items() if weight_map.get(name, file) == file
        )
    wrong = sorted(name for name, file in weight_map.items() if name not in entries or entries[name].file.name != file)
    unlisted = sorted(set(entries) - set(weight_map))
    if wrong or unlisted:
        what = f"{wrong[0]}, which is not in its file" if wrong else f"nothing of {unlisted[0]}, which a file holds"
        raise VerievalError(f"{index} lists {what}; get the checkpoint again")
    return Stored(folder, entries)


def _weight_map(index: Path) -> dict[str, str]:
    try:
        found = json.loads(read_file(index))["weight_map"]
        if isinstance(found, dict) and all(
            isinstance(file, str) and Path(file).name == file for file in found.values()
        ):
            return found
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise VerievalError(f"{index} is no index of a safetensors checkpoint; get it again")


def _read_header(path: Path) -> dict[str, Entry]:
    size = length = 0
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= min(_MOST_HEADER, size) else None
    except OSError as error:
        raise VerievalError(f"{path} cannot be read ({error.strerror}); check the path") from error
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise VerievalError(f"{path} is not a safetensors file; get it again")
    header.pop("__metadata__", None)
    return {name: _entry(path, name, value, 8 + length, size) for name, value in header.items()}


def _entry(path: Path, name: str, value: Any, base: int, size: int) -> Entry:
    try:
        dtype, shape, (start, stop) = DTYPES[value["dtype"]], tuple(value["shape"]), value["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, start, stop))
        if whole and stop - start == width(dtype) * math.prod(shape) and base + stop <= size:
            return Entry(path, dtype, shape, base + start)
    except (KeyError, TypeError, ValueError):
        pass
    raise VerievalError(f"{path}: the tensor {name} is damaged, or of a dtype that is not read here; get it again")
