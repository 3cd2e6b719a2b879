"""What a run leaves: a model folder and an adapter folder that explain themselves, each under its name in one step."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.backend import Backend
from finetune.folder import MANIFEST, curve
from finetune.material import Material
from finetune.recipe import Recipe
from verieval import __version__
from verieval.chat import TURN_ENDS
from verieval.files import read_file
from verieval.run.jsonl import dump_json, load_json, write_atomically
from verieval.run.manifest import describe_machine

SCHEMA = 1
MODEL, ADAPTER = "model", "adapter"
# What a multimodal checkpoint has beside its weights, without which its processor cannot be loaded.
_BESIDE = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
_PACKAGES = {
    "torch": ("torch", "transformers", "peft", "safetensors", "tokenizers", "numpy"),
    "jax": ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "transformers", "tokenizers", "numpy"),
}


def training_manifest(recipe: Recipe, material: Material) -> dict[str, Any]:
    """What ``training.json`` says from the start: all that decides the run."""
    return {
        "schema": SCHEMA,
        "verieval": __version__,
        "recipe_sha256": recipe.sha256,
        "recipe": recipe.as_dict(),
        "config_sha256": _file_sha256(recipe.model.config_path) if recipe.model.config else None,
        "data": dict(material.data),
        "prompt_sha256": material.prompt_sha256,
        "chat_template_sha256": hashlib.sha256(material.template.encode()).hexdigest(),
        "system_sha256": None if material.system_sha256 is None else list(material.system_sha256),
        "seeds": {"data": recipe.data.seed, "train": recipe.train.seed},
        "versions": {name: _version(name) for name in _PACKAGES[recipe.backend]},
        "machine": describe_machine(),
    }


def _file_sha256(path: Path) -> str:
    return hashlib.sha256(read_file(path, name=f"model.config: {path}")).hexdigest()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def is_complete(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether the run of ``manifest`` has been written out in ``folder``, whole."""
    path = folder / MODEL / MANIFEST
    try:
        content = load_json(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("recipe_sha256") == manifest["recipe_sha256"]


def export(
    backend: Backend, folder: Path, manifest: Mapping[str, Any], result: Mapping[str, Any], material: Material
) -> dict[str, str]:
    """Write ``folder/model`` and, with LoRA, ``folder/adapter``, each with its tokenizer and ``training.json``.

    Every process calls it; the first one writes. The model comes last: where it is there, all is.

    Args:
        backend: after its last step.
        folder: of the run.
        manifest: the run's ``training.json``.
        result: what is known now: steps, tokens, seconds.
        material: with the tokenizer and the chat template of the training.

    Returns:
        The folders that were written, by name; empty but in the first process.
    """
    temporary = folder / ".export.tmp"
    if backend.rank == 0:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
    backend.agree(False)
    said = backend.export(temporary)
    if backend.rank:
        backend.agree(False)
        return {}
    points, heldout = curve(folder)
    whole = {**manifest, **result, "export": said, "curve": points, "heldout_curve": heldout}
    written = {}
    for name in (ADAPTER, MODEL):
        part = temporary / name
        if not part.is_dir():
            continue
        _add_tokenizer(part, material.tokenizer, material.template)
        if name == MODEL:
            _add_generation_config(part, material)
            _add_processor(part, manifest["recipe"]["model"])
        (part / "README.md").unlink(missing_ok=True)  # peft's form, not filled in
        write_atomically(part / MANIFEST, dump_json(whole))
        _share(part)
        final = folder / name
        shutil.rmtree(final, ignore_errors=True)
        part.replace(final)
        written[name] = str(final)
    write_atomically(folder / MANIFEST, dump_json(whole))
    shutil.rmtree(temporary, ignore_errors=True)
    backend.agree(False)
    return written


def _share(folder: Path) -> None:
    """Permissions as any new file has them: safetensors leaves weights that their owner alone may read."""
    mask = os.umask(0)
    os.umask(mask)
    for path in folder.iterdir():
        path.chmod(0o666 & ~mask)


def _add_tokenizer(folder: Path, tokenizer: Any, template: str) -> None:
    """The tokenizer, with the training's chat template in the place of its own; ``tokenizer`` is left as it was."""
    own = tokenizer.chat_template
    tokenizer.chat_template = template
    try:
        tokenizer.save_pretrained(str(folder))
    finally:
        tokenizer.chat_template = own


def _add_generation_config(folder: Path, material: Material) -> None:
    """Let whoever samples stop at the end of a turn; what the checkpoint says beyond that stays."""
    path = folder / "generation_config.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    tokenizer = material.tokenizer
    vocabulary = tokenizer.get_vocab()
    before = content.get("eos_token_id")
    ends = [*before] if isinstance(before, list) else [before]
    ends += [
        tokenizer.eos_token_id,
        material.end_of_turn,
        *(vocabulary[token] for token in TURN_ENDS if token in vocabulary),
    ]
    content["eos_token_id"] = sorted({end for end in ends if end is not None})
    for name in ("bos_token_id", "pad_token_id"):
        if content.get(name) is None and getattr(tokenizer, name) is not None:
            content[name] = getattr(tokenizer, name)
    write_atomically(path, dump_json(content))


def _add_processor(folder: Path, model: Mapping[str, Any]) -> None:
    """Files of a multimodal source that its processor needs, where there are any."""
    if not model["source"]:
        return
    from transformers.utils.hub import cached_file

    for name in _BESIDE:
        options = {"revision": model["revision"]} if model["revision"] else {}
        found = cached_file(
            model["source"],
            name,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
            **options,
        )
        if found:
            shutil.copyfile(found, folder / name)
