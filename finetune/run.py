"""A training run from its rows to the folders that it leaves; the backend is opened by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from finetune import checkpoints
from finetune.backend import Backend
from finetune.export import ADAPTER, MODEL, export, is_complete, training_manifest
from finetune.folder import LOG, claim, cut_log, last_row
from finetune.material import Material
from finetune.processes import is_first
from finetune.progress import open_progress
from finetune.recipe import Recipe
from finetune.train import Trainer
from verieval.errors import VerievalError
from verieval.run.signals import stoppable
from verieval.run.store import writing

# Where each backend's ``build(recipe, *, vocabulary)`` is, and the extra that it needs.
BACKENDS = {"torch": ("finetune.torch_backend.backend", "torch"), "jax": ("finetune.jax_backend.backend", "jax")}

Say = Callable[[str], None]


def open_backend(recipe: Recipe, *, vocabulary: int) -> Backend:
    """The recipe's backend, its model loaded.

    Raises:
        VerievalError: its extra is missing, or the recipe cannot be executed with it.
    """
    module, extra = BACKENDS[recipe.backend]
    try:
        build = importlib.import_module(module).build
    except ImportError as error:
        raise VerievalError(
            f"the {recipe.backend} backend needs the {extra} extra: pip install 'verieval[{extra}]' ({error})"
        ) from error
    backend: Backend = build(recipe, vocabulary=vocabulary)
    return backend


def train_run(recipe: Recipe, material: Material, folder: Path, *, say: Say, quiet: bool) -> dict[str, Any]:
    """Train, or go on with, the run of ``folder``, and write out what it made. Every process calls it.

    Args:
        recipe: what to train.
        material: on what.
        folder: of the run; made, or gone on with.
        say: shows a sentence.
        quiet: show no progress.

    Returns:
        ``out``, ``steps``, the log's last line under ``last``, and the written folders ``model`` and ``adapter``.

    Raises:
        VerievalError: the folder is another run's, the recipe cannot be executed, or the loss is no number.
        Stopped: by a signal; a checkpoint was written.
    """
    first = is_first()
    manifest = training_manifest(recipe, material)
    with writing(folder) if first else nullcontext():
        if first:
            manifest = claim(folder, manifest)
        if is_complete(folder, manifest):
            say(f"{folder} holds the whole run already; remove {folder / MODEL} to write it again")
        else:
            _work(recipe, material, folder, manifest, say=say, quiet=quiet)
        return _result(folder)


def _work(
    recipe: Recipe, material: Material, folder: Path, manifest: Mapping[str, Any], *, say: Say, quiet: bool
) -> None:
    backend = open_backend(recipe, vocabulary=len(material.tokenizer))
    share = backend.trainable / backend.total
    for sentence in (*backend.notes, f"{backend.trainable:,} of {backend.total:,} weights are trained ({share:.2%})"):
        say(sentence)
    pad = material.tokenizer.pad_token_id or 0
    trainer = Trainer(recipe, material.rows, material.heldout, backend, folder, pad=pad)
    start = trainer.resume()
    if backend.rank == 0:
        for name in checkpoints.tidy(folder):
            say(f"the checkpoint {name} is damaged and passed over")
        cut_log(folder, start)
    say(
        f"{len(material.rows):,} rows in {trainer.steps.total:,} steps, {trainer.steps.utilisation():.1%} of the "
        f"positions used{f'; going on after step {start:,}' if start else ''}"
    )
    # A step is finished, and a checkpoint written, before a signal ends the run.
    with stoppable(at_once=False) as check, open_progress(trainer.steps.total, start, quiet=quiet) as progress:
        state = trainer.run(progress, check)
    result = {
        "steps": trainer.steps.total,
        "tokens": state.tokens,
        "seconds": round(state.seconds, 3),
        "weights": {"trained": backend.trainable, "total": backend.total},
        "notes": list(backend.notes),
    }
    export(backend, folder, manifest, result, material)


def _result(folder: Path) -> dict[str, Any]:
    last = last_row(folder)
    written = {name: str(folder / name) for name in (MODEL, ADAPTER) if (folder / name).is_dir()}
    return {"out": str(folder), "steps": last.get("step"), "last": last, "log": str(folder / LOG), **written}
