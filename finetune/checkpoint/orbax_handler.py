"""Orbax's side of :mod:`finetune.checkpoint.orbax`: how it writes an array of which one part exists at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orbax.checkpoint as ocp
import tensorstore
from orbax.checkpoint import type_handlers

from finetune.checkpoint.orbax import Lazy
from finetune.checkpoint.tensorfile import numpy_dtype


class LazyHandler(type_handlers.NumpyHandler):  # type: ignore[misc, unused-ignore]
    """Writes :class:`Lazy` arrays as NumPy's are written, so that Orbax alone can read them."""

    async def serialize(
        self, values: Sequence[Lazy], infos: Sequence[Any], args: Sequence[Any] | None = None
    ) -> Sequence[Any]:
        """One array after the other, and of each one part after the other."""
        for value, info in zip(values, infos, strict=True):
            await info.await_path_creation()
            spec = type_handlers.get_json_tspec_write(
                info,
                use_ocdbt=info.is_ocdbt_checkpoint,
                global_shape=value.shape,
                local_shape=value.chunk,
                dtype=numpy_dtype(value.dtype),
                process_index=0,
            )
            store = await tensorstore.open(tensorstore.Spec(spec), create=True, open=True, context=info.ts_context)
            for place in value.parts():
                await (store[place] if place else store).write(value.make(place))
        return []


def save(item: Path, arrays: Mapping[str, Mapping[str, Lazy]]) -> None:
    """See :func:`finetune.checkpoint.orbax.write_orbax`."""
    registry = type_handlers.create_type_handler_registry((Lazy, LazyHandler()))
    handler = ocp.PyTreeCheckpointHandler(type_handler_registry=registry, use_compression=False)
    with ocp.Checkpointer(handler) as checkpointer:
        checkpointer.save(item, args=ocp.args.PyTreeSave({key: dict(inner) for key, inner in arrays.items()}))


__all__ = ["LazyHandler", "save"]
