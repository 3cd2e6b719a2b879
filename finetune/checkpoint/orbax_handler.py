"""Orbax's side of :mod:`finetune.checkpoint.orbax`: how it writes an array of which one part exists at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orbax.checkpoint as ocp
import tensorstore
from orbax.checkpoint import type_handlers

from finetune.checkpoint.orbax import Lazy
from finetune.checkpoint.tensorfile import numpy_dtype

_PENDING_BYTES = 1 << 26  # of parts that wait for the disk together


class LazyHandler(type_handlers.NumpyHandler):  # type: ignore[misc, unused-ignore]
    """Writes :class:`Lazy` arrays as NumPy's are written, so that Orbax alone can read them."""

    async def serialize(
        self, values: Sequence[Lazy], infos: Sequence[Any], args: Sequence[Any] | None = None
    ) -> Sequence[Any]:
        """One array after the other, and of each one part after the other."""
        pending: list[Any] = []
        size = 0
        for value, info in zip(values, infos, strict=True):
            store = await self._open(value, info)
            for place in value.parts():
                array, part = value.make(place), store[place] if place else store
                for rows in value.pieces():  # TensorStore copies what it is given
                    pending.append(part[rows].write(array[rows]))
                    size += array[rows].nbytes
                    if size >= _PENDING_BYTES:
                        await _done(pending)
                        size = 0
                del array
        await _done(pending)
        return []

    async def _open(self, value: Lazy, info: Any) -> Any:
        await info.await_path_creation()
        spec = type_handlers.get_json_tspec_write(
            info,
            use_ocdbt=info.is_ocdbt_checkpoint,
            global_shape=value.shape,
            local_shape=value.chunk,
            dtype=numpy_dtype(value.dtype),
            process_index=0,
        )
        return await tensorstore.open(tensorstore.Spec(spec), create=True, open=True, context=info.ts_context)


async def _done(pending: list[Any]) -> None:
    while pending:
        await pending.pop(0)


def save(item: Path, arrays: Mapping[str, Mapping[str, Lazy]]) -> None:
    """See :func:`finetune.checkpoint.orbax.write_orbax`."""
    with _quiet():
        registry = type_handlers.create_type_handler_registry((Lazy, LazyHandler()))
        handler = ocp.PyTreeCheckpointHandler(type_handler_registry=registry, use_compression=False)
        with ocp.Checkpointer(handler) as checkpointer:
            checkpointer.save(item, args=ocp.args.PyTreeSave({key: dict(inner) for key, inner in arrays.items()}))


@contextmanager
def _quiet() -> Iterator[None]:
    """Orbax warns that it knows no JAX arrays here; there are none."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
