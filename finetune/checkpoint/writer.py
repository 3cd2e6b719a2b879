"""Writing safetensors as a stream: every header first, from the shapes, then each tensor at its place, in any order.

A process holds the tensor that it writes and nothing more. The room is taken before the first byte, so a disk that is
too small is known at once.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from finetune.checkpoint import axes as named
from finetune.checkpoint.tensorfile import DTYPES, numpy_dtype, width
from verieval.errors import VerievalError
from verieval.run.jsonl import dump_json, write_atomically

# A file of a checkpoint becomes no larger, unless one tensor is.
SHARD_BYTES = 5 * 10**9
_NAMES = {ours: theirs for theirs, ours in DTYPES.items()}


@dataclass(frozen=True)
class Planned:
    """A tensor that will be written.

    Attributes:
        name: in the file.
        dtype: NumPy's name, or ``bfloat16``.
        shape: of it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return width(self.dtype) * math.prod(self.shape)


@dataclass(frozen=True)
class _Spot:
    planned: Planned
    fd: int
    start: int


class Writer:
    """A folder's safetensors while they are being written; a context, which closes the files.

    Args:
        folder: that exists.
        planned: what will be written, in the order in which the files have it.
        file: name where one file is enough; with more they are numbered, and have an index.
        shard: size in bytes at which a new file begins.

    Raises:
        OSError: there is no room, or the folder cannot be written.
    """

    def __init__(
        self, folder: Path, planned: Sequence[Planned], *, file: str = "model.safetensors", shard: int = SHARD_BYTES
    ) -> None:
        self._folder, self._planned, self._file = folder, planned, file
        self._spots: dict[str, _Spot] = {}
        self._fds: list[int] = []
        self._weight_map: dict[str, str] = {}
        groups = _cut(planned, shard)
        stem, suffix = file.rsplit(".", 1)
        try:
            for number, group in enumerate(groups, start=1):
                name = file if len(groups) == 1 else f"{stem}-{number:05}-of-{len(groups):05}.{suffix}"
                self._open(name, group)
        except BaseException:
            self._close()
            raise

    def _open(self, name: str, group: Sequence[Planned]) -> None:
        path, head = self._folder / name, _header(group)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._fds.append(fd)
        start = len(head)
        for one in group:
            if one.name in self._spots:
                raise VerievalError(f"the tensor {one.name} would be written twice")
            self._spots[one.name] = _Spot(one, fd, start)
            self._weight_map[one.name] = name
            start += one.size
        try:
            os.posix_fallocate(fd, 0, start)
            _write_at(fd, head, 0)
        except OSError as error:
            error.filename = str(path)
            raise

    def write(self, name: str, array: NDArray[Any]) -> None:
        """Put a tensor at its place.

        Raises:
            RuntimeError: it is not one that was planned, or not in its dtype and shape, or it was written before.
            OSError: it cannot be written.
        """
        spot = self._spots.pop(name, None)
        if spot is None:
            raise RuntimeError(f"{name} was not planned, or is written twice")
        want = spot.planned
        if tuple(array.shape) != want.shape or array.dtype != numpy_dtype(want.dtype):
            raise RuntimeError(f"{name} is {array.dtype} {array.shape} in the place of {want.dtype} {want.shape}")
        _write_at(spot.fd, named.dense(array).reshape(-1).view(np.uint8).data, spot.start)

    def finish(self) -> None:
        """Have all of it survive a power cut, and write the index where there are several files.

        Raises:
            RuntimeError: a planned tensor was not written.
        """
        if self._spots:
            raise RuntimeError(f"tensors were not written: {sorted(self._spots)[:5]}")
        for fd in self._fds:
            os.fsync(fd)
        if len(self._fds) > 1:
            total = sum(one.size for one in self._planned)
            content = {"metadata": {"total_size": total}, "weight_map": dict(sorted(self._weight_map.items()))}
            write_atomically(self._folder / f"{self._file}.index.json", dump_json(content))

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()


def _cut(planned: Iterable[Planned], shard: int) -> list[list[Planned]]:
    groups: list[list[Planned]] = [[]]
    size = 0
    for one in planned:
        if groups[-1] and size + one.size > shard:
            groups.append([])
            size = 0
        groups[-1].append(one)
        size += one.size
    return groups


def _header(group: Iterable[Planned]) -> bytes:
    """The header of a file; its length is a multiple of eight, so that every tensor can be mapped."""
    content: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for one in group:
        offsets = [start, start + one.size]
        content[one.name] = {"dtype": _NAMES[one.dtype], "shape": list(one.shape), "data_offsets": offsets}
        start += one.size
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _write_at(fd: int, data: bytes | memoryview, start: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view[: 1 << 26], start)
        view, start = view[done:], start + done
