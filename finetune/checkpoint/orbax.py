"""Orbax checkpoints, a part of an array at a time.

Reading goes through TensorStore, which Orbax stores arrays with: Orbax itself restores whole arrays, and an array here
is a stack of layers. Writing goes through Orbax with a handler for arrays that are made part by part. What is written
has a chunk for each layer, so that a layer can be read without its neighbours.
"""

from __future__ import annotations

import json
import math
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finetune.checkpoint.tensorfile import width
from verieval.errors import VerievalError
from verieval.files import read_file

Array = NDArray[Any]
METADATA = "_METADATA"
# Items of a checkpoint in which the weights may be: this project's, Tunix's, and what Orbax's own managers name.
ITEMS = ("", "state", "model_params", "default", "params", "items")
_LEAVES = ("value", "raw_value")  # what flax has put around an array
_CHUNK_BYTES = 1 << 27
_KEPT_BYTES = 1 << 27
NEEDS = "Orbax checkpoints need the jax extra: pip install 'verieval[jax]'"


def find_item(folder: Path) -> Path | None:
    """The Orbax item in a folder that holds the arrays; None where there is none."""
    return next((folder / item for item in ITEMS if (folder / item / METADATA).is_file()), None)


@dataclass(eq=False)
class OrbaxStore:
    """The arrays of an Orbax checkpoint.

    Attributes:
        folder: of the item.
        entries: TensorStore of each array, by the names of its keys, joined by dots.
    """

    folder: Path
    entries: Mapping[str, Any]
    _blocks: dict[tuple[str, tuple[int, ...]], Array] = field(default_factory=dict, repr=False)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every array."""
        return {name: tuple(store.shape) for name, store in self.entries.items()}

    def dtype(self, name: str) -> str:
        """NumPy's name of an array's, or ``bfloat16``."""
        return str(self.entries[name].dtype.name)

    def read(self, name: str, index: tuple[Any, ...] = ()) -> Array:
        """A part of an array, which may share its memory with others that are read.

        Chunks that hold several layers are read once where the layers are asked for in order.

        Raises:
            VerievalError: it cannot be read.
        """
        store = self.entries[name]
        chunk = store.chunk_layout.read_chunk.shape or store.shape
        stacked = 0
        while stacked < len(index) and isinstance(index[stacked], int):
            stacked += 1
        first = tuple(index[axis] // chunk[axis] * chunk[axis] for axis in range(stacked))
        block = self._block(name, first, chunk)
        inside = tuple(index[axis] - first[axis] for axis in range(stacked))
        part: Array = block[(*inside, *index[stacked:])]
        return part

    def _block(self, name: str, first: tuple[int, ...], chunk: tuple[int, ...]) -> Array:
        """The chunks that begin at a place of the stack, whole; the last ones are kept while they are small."""
        if (name, first) in self._blocks:
            return self._blocks[name, first]
        store = self.entries[name]
        where = tuple(slice(start, min(start + chunk[axis], store.shape[axis])) for axis, start in enumerate(first))
        shape = (*(part.stop - part.start for part in where), *store.shape[len(where) :])
        size = math.prod(shape) * width(self.dtype(name))
        while self._blocks and sum(block.nbytes for block in self._blocks.values()) + size > _KEPT_BYTES:
            del self._blocks[next(iter(self._blocks))]
        try:
            found = np.asarray((store[where] if where else store).read().result())
        except ValueError as error:
            raise VerievalError(f"{self.folder} is damaged at {name} ({_short(error)}); get it again") from error
        if where:  # what has no layers is asked for once
            self._blocks[name, first] = found
        return found


def _short(error: Exception) -> str:
    """What the system said, or the beginning of what TensorStore says."""
    found = re.search(r"OS error \d+: \w+ ([^\]]+)", str(error))
    return found[1].lower() if found else str(error).split(" [")[0][:200]


def open_orbax(item: Path) -> OrbaxStore:
    """Open an item with arrays.

    Args:
        item: folder with ``_METADATA``, from :func:`find_item`.

    Raises:
        VerievalError: it is damaged, or TensorStore is not installed.
    """
    try:
        import tensorstore
    except ImportError:
        raise VerievalError(NEEDS) from None
    names, ocdbt, driver = _read_metadata(item)
    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": 0}})
    entries = {}
    for name, stored in names.items():
        base = f"file://{item.resolve()}/"
        kvstore = {"driver": "ocdbt", "base": base, "path": f"{stored}/"} if ocdbt else f"{base}{stored}/"
        try:
            entries[name] = tensorstore.open(
                {"driver": driver, "kvstore": kvstore, "fill_missing_data_reads": False},
                open=True,
                read=True,
                context=context,
            ).result()
        except ValueError as error:
            raise VerievalError(f"{item} is damaged at {name} ({_short(error)}); get it again") from error
    return OrbaxStore(item, entries)


def _read_metadata(item: Path) -> tuple[dict[str, str], bool, str]:
    """Each array's name and the name it is stored under, whether one file holds many, and TensorStore's driver."""
    try:
        content = json.loads(read_file(item / METADATA))
        names = {}
        for text, entry in content["tree_metadata"].items():
            keys = [str(key) for key in literal_eval(text)]
            if not entry["value_metadata"]["skip_deserialize"] and "empty" not in entry["value_metadata"]["value_type"]:
                short = keys[:-1] if len(keys) > 1 and keys[-1] in _LEAVES else keys
                names[".".join(short)] = ".".join(keys)
        return names, bool(content.get("use_ocdbt", True)), "zarr3" if content.get("use_zarr3") else "zarr"
    except (ValueError, TypeError, KeyError, AttributeError, SyntaxError, RecursionError):
        raise VerievalError(f"{item / METADATA} is no metadata of an Orbax checkpoint; get it again") from None


# ---- writing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array that is made part by part while it is written.

    Attributes:
        shape: of the whole; a part has an axis at least.
        dtype: NumPy's name, or ``bfloat16``.
        stacked: axes in front that number the parts; 0 where there is one part, the whole.
        make: a part, by its place in the stack.
    """

    shape: tuple[int, ...]
    dtype: str
    stacked: int
    make: Callable[[tuple[int, ...]], Array]

    @property
    def size(self) -> int:
        """Numbers of the whole."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return self.size * width(self.dtype)

    @property
    def ndim(self) -> int:
        """Axes of the whole."""
        return len(self.shape)

    def parts(self) -> Iterator[tuple[int, ...]]:
        """The places in the stack, in order."""
        yield from np.ndindex(self.shape[: self.stacked])

    def pieces(self) -> Iterator[slice]:
        """The rows of a part that are stored as one chunk."""
        rows, step = self.shape[self.stacked], self.chunk[self.stacked]
        yield from (slice(start, min(start + step, rows)) for start in range(0, rows, step))

    @property
    def chunk(self) -> tuple[int, ...]:
        """What is stored as one piece: a layer's part, or rows of it where that is large."""
        rest = self.shape[self.stacked :]
        row = max(math.prod(rest[1:]) * width(self.dtype), 1)
        return (*(1,) * self.stacked, max(min(rest[0], _CHUNK_BYTES // row), 1), *rest[1:])


def write_orbax(item: Path, arrays: Mapping[str, Mapping[str, Lazy]]) -> None:
    """Write a checkpoint; the folder must not be there, and appears when all is written.

    Args:
        item: its folder.
        arrays: a tree of two levels.

    Raises:
        VerievalError: Orbax is not installed, or it cannot write.
    """
    try:
        from finetune.checkpoint.orbax_handler import save
    except ImportError:
        raise VerievalError(NEEDS) from None
    try:
        save(item.resolve(), arrays)
    except ValueError as error:  # as TensorStore says whatever the disk does
        raise VerievalError(
            f"the Orbax checkpoint cannot be written ({_short(error)}); free some space or raise the limit"
        ) from error
