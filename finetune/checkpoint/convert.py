"""Checkpoints from one form into another, and adapters into their base: one weight in memory at a time."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from finetune.checkpoint import peft
from finetune.checkpoint.axes import dense
from finetune.checkpoint.destination import companions, new_folder
from finetune.checkpoint.layout import PEFT_PREFIX, Place, Tensor, places
from finetune.checkpoint.merge import Merger
from finetune.checkpoint.orbax import Lazy, write_orbax
from finetune.checkpoint.source import BESIDE_FILE, Key, Source, open_source
from finetune.checkpoint.writer import SHARD_BYTES, Planned, Writer
from finetune.gemma4 import set_dtype
from verieval.errors import VerievalError
from verieval.run.jsonl import dump_json, write_atomically

Array = NDArray[Any]
Progress = Callable[[int, int], None]
FORMS = ("safetensors", "orbax", "peft")
SCHEMA = 1
STATE, BRANCH = "state", "weights"  # as a training run's checkpoints have it
# What a source becomes where nobody says it.
_DEFAULTS: Mapping[tuple[str, str], str] = {
    ("model", "safetensors"): "orbax",
    ("model", "orbax"): "safetensors",
    ("adapter", "peft"): "orbax",
    ("adapter", "orbax"): "peft",
}


@dataclass(frozen=True, eq=False)
class Job:
    """What is converted into what.

    Attributes:
        source: a model or an adapter.
        merger: of the adapter that is added to it.
        to: one of :data:`FORMS`.
        shard: bytes of a safetensors file.
        folders: from which tokenizer and other files come, the first one that has them.
        base: what an adapter's configuration says its base is.
        progress: is called with the bytes that are written and all bytes.
    """

    source: Source
    merger: Merger | None
    to: str
    shard: int
    folders: tuple[Path, ...]
    base: str
    progress: Progress

    def read(self, key: Key, naming: str) -> Array:
        """A weight as it will be, with the axes of a naming."""
        if self.merger is None or not self.merger.has(key):
            return self.source.read(key, naming)
        place = self.source.places[key]
        merged = self.merger.add(key, self.source.read(key, "transformers").copy(), place.name)
        array: Array = place.tensor.carry(merged, "transformers", naming)
        return array


def convert(
    src: Path,
    dst: Path,
    *,
    adapter: Path | None = None,
    to: str | None = None,
    base: Path | None = None,
    alpha: float | None = None,
    shard: int = SHARD_BYTES,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Convert a checkpoint.

    Args:
        src: folder of a model or an adapter: transformers, PEFT, or Orbax with this project's names or Tunix's.
        dst: folder that is made; it appears when it is whole.
        adapter: that is merged into the model ``src``.
        to: one of :data:`FORMS`; None is the other form of the same thing, or safetensors for a merged model.
        base: folder of the base model, or its config, where ``src`` does not name it.
        alpha: of an adapter that does not say it.
        shard: bytes at which a new safetensors file begins.
        progress: is called with the bytes that are written and all bytes.

    Returns:
        What was done: forms, number of tensors, bytes, merged modules, tensors that were passed over.

    Raises:
        VerievalError: a checkpoint is not what it should be, or the two do not belong together.
        OSError: it cannot be written; nothing is left under the name ``dst``.
    """
    job = _plan(src, adapter, to, base, alpha, shard, progress)
    plan = _planned(job)
    size = sum(one.size for _, one in plan)
    with new_folder(dst, size) as folder:
        count = _WRITERS[job.to](job, plan, folder)
        if job.merger is not None:
            job.merger.finish(str(adapter))
        for path in companions(job.folders):
            shutil.copyfile(path, folder / path.name)
    return {
        "schema": SCHEMA,
        "source": {"path": str(src), "kind": job.source.kind, "form": job.source.form, "naming": job.source.naming},
        "destination": {"path": str(dst), "form": job.to},
        "tensors": count,
        "bytes": size,
        "merged": None if job.merger is None else {"adapter": str(adapter), "modules": job.merger.changed},
        "passed_over": [name for name in job.source.passed if not _goes_along(job)],
    }


def _plan(
    src: Path, adapter: Path | None, to: str | None, base: Path | None, alpha: float | None, shard: int,
    progress: Progress,
) -> Job:  # fmt: skip
    if alpha is not None and not (math.isfinite(alpha) and alpha > 0):
        raise VerievalError(f"--alpha {alpha}: an adapter's alpha is a number above 0")
    source = open_source(src, base=base, alpha=alpha)
    if adapter is None:
        if alpha is not None and source.kind == "model":
            raise VerievalError(f"--alpha is an adapter's, and {src} is a model; leave it out, or give --adapter")
        form = to or _DEFAULTS[source.kind, source.form]
        if (form == "peft") != (source.kind == "adapter") and form != "orbax":
            raise VerievalError(
                f"{src} is a model, and PEFT's form is for adapters; use --to safetensors or orbax"
                if source.kind == "model"
                else f"{src} is an adapter, no model without its base: verieval convert BASE DST --adapter {src}"
            )
        return Job(source, None, form, shard, (src,), "" if base is None else str(base), progress)
    if source.kind == "adapter":
        raise VerievalError(
            f"{src} is an adapter itself; give the base model: verieval convert BASE DST --adapter {src}"
        )
    if to == "peft":
        raise VerievalError("a merged model is no adapter; leave out --adapter, or use --to safetensors or orbax")
    low = open_source(adapter, base=source.config_file, alpha=alpha)
    if low.kind == "model":
        raise VerievalError(f"--adapter {adapter} is a model; give an adapter's folder")
    return Job(source, Merger(low), to or "safetensors", shard, (adapter, src), "", progress)


def _goes_along(job: Job) -> bool:
    """Whether what is not the text model's is taken over."""
    return job.source.beside is not None and job.to in ("safetensors", "orbax")


def _planned(job: Job) -> list[tuple[Key | None, Planned]]:
    """What will be written: tensors, and the weight that each is; without one it is taken as it is."""
    source = job.source
    naming = "ours" if job.to == "orbax" else "transformers"
    result: list[tuple[Key | None, Planned]] = [
        (place.key, Planned(place.name, source.dtype(place.key), _shape(place)))
        for place in places(source.arrays, naming, _prefix(job) if naming == "transformers" else "")
    ]
    if source.beside is not None and _goes_along(job):
        stored, names = source.beside
        result += [(None, Planned(name, stored.dtype(name), stored.shapes[name])) for name in names]
    return result


def _shape(place: Place) -> tuple[int, ...]:
    """Of the weight alone, where it is a layer of a stack."""
    return place.shape[2:] if len(place.index) == 2 else place.shape


def _prefix(job: Job) -> str:
    """Of transformers' names: the source's own where it has them, or those of what is written."""
    source = job.source
    if source.kind == "adapter":
        return PEFT_PREFIX + source.config.prefix if source.naming != "transformers" else source.prefix
    if source.naming == "transformers":
        return source.prefix
    return source.config.prefix if source.beside is not None else "model."


# ---- writing ---------------------------------------------------------------------------------------------------------

_Plan = Sequence[tuple[Key | None, Planned]]


def _counted(job: Job, plan: _Plan) -> Callable[[int], None]:
    done, total = 0, sum(one.size for _, one in plan)

    def count(size: int) -> None:
        nonlocal done
        done += size
        job.progress(done, total)

    job.progress(0, total)
    return count


def _write_safetensors(job: Job, plan: _Plan, folder: Path) -> int:
    _write_tensors(job, plan, folder, "model.safetensors")
    write_atomically(folder / "config.json", _config(job, plan))
    return len(plan)


def _write_peft(job: Job, plan: _Plan, folder: Path) -> int:
    assert job.source.lora is not None
    _write_tensors(job, plan, folder, peft.WEIGHTS, whole=True)
    content = peft.make_config(job.source.lora, job.source.arrays, job.source.config, job.base)
    write_atomically(folder / peft.CONFIG, dump_json(content))
    return len(plan)


def _write_tensors(job: Job, plan: _Plan, folder: Path, file: str, *, whole: bool = False) -> None:
    """The files, in the order of layers; written in the order of the source's arrays, which may be stacks of layers."""
    count = _counted(job, plan)
    ordered = sorted((one for _, one in plan), key=lambda one: _layer(one.name))
    shard = max(sum(one.size for one in ordered), 1) if whole else job.shard
    with Writer(folder, ordered, file=file, shard=shard) as writer:
        for key, one in plan:
            if key is None:
                assert job.source.beside is not None
                array = job.source.beside[0].read(one.name)
            else:
                array = job.read(key, "transformers")
            writer.write(one.name, array)
            del array  # before the next one is read
            count(one.size)
        writer.finish()


def _layer(name: str) -> tuple[int, str]:
    """Where a tensor stands in the files: the text model's layers after what is before them."""
    number = name.rpartition("layers.")[2].split(".")[0]
    return (int(number) if number.isdecimal() else -1, name)


def _write_orbax(job: Job, plan: _Plan, folder: Path) -> int:
    source = job.source
    count = _counted(job, plan)
    arrays = {tensor.path: _lazy(job, tensor, count) for tensor in source.arrays}
    beside = [one for key, one in plan if key is None]
    if beside and source.beside is not None:
        with Writer(folder, beside, file=BESIDE_FILE, shard=sum(one.size for one in beside) + 1) as writer:
            for one in beside:
                writer.write(one.name, source.beside[0].read(one.name))
                count(one.size)
            writer.finish()
    write_orbax(folder / STATE, {BRANCH: arrays})
    shutil.copyfile(source.config_file, folder / "config.json")
    if source.lora is not None:
        content = peft.make_config(source.lora, source.arrays, source.config, job.base)
        write_atomically(folder / peft.CONFIG, dump_json(content))
    return len(arrays) + len(beside)


def _lazy(job: Job, tensor: Tensor, count: Callable[[int], None]) -> Lazy:
    keys = list(_keys(tensor))
    dtypes = {job.source.dtype(key) for key in keys}
    if len(dtypes) > 1:
        raise VerievalError(
            f"the layers' {tensor.row.path} are {' and '.join(sorted(dtypes))}, and an array has one dtype; make them "
            "equal"
        )
    runs = tensor.shape[1] if tensor.layers else 1

    def make(place: tuple[int, ...]) -> Array:
        number = place[0] * runs + place[1] if place else 0
        array: Array = dense(job.read(keys[number], "ours"))
        count(array.nbytes)
        return array

    return Lazy(tensor.shape, dtypes.pop(), 2 if tensor.layers else 0, make)


def _keys(tensor: Tensor) -> Iterator[Key]:
    for place in range(len(tensor.layers) or 1):
        yield tensor.path, place


def _config(job: Job, plan: _Plan) -> str:
    """The configuration of what is written: the text model's own, where the rest of a multimodal model is not there."""
    source = job.source
    text = source.config_file.read_text(encoding="utf-8")
    content = json.loads(text)
    if source.config.multimodal and source.naming != "transformers" and source.beside is None:
        content = {**content["text_config"], "model_type": "gemma4_text", "architectures": ["Gemma4ForCausalLM"]}
        text = dump_json(content)
    dtype = source.dtype(next(iter(source.places)))
    if content.get("dtype", content.get("torch_dtype")) not in (None, dtype):
        set_dtype(content, dtype)
        text = dump_json(content)
    return text


_WRITERS: Mapping[str, Callable[[Job, _Plan, Path], int]] = {
    "safetensors": _write_safetensors,
    "orbax": _write_orbax,
    "peft": _write_peft,
}
