"""Where a recipe's model lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from finetune.recipe import ModelSpec
from verieval.errors import VerievalError

_FILES = ("*.safetensors", "*.json")


@dataclass(frozen=True)
class Source:
    """A model to start from.

    Attributes:
        config: a ``config.json``.
        weights: the folder of its checkpoint; None starts from random ones.
        name: what an adapter calls its base: a folder by its absolute path, a hub id as it is.
    """

    config: Path
    weights: Path | None
    name: str


def find_source(spec: ModelSpec) -> Source:
    """The files of the recipe's ``[model]``; a hub id is downloaded, or taken from the hub's cache.

    Raises:
        VerievalError: they are not there.
    """
    if spec.config:
        return Source(spec.config_path, None, "")
    folder = Path(spec.source).expanduser()
    if folder.is_dir():
        return Source(folder / "config.json", folder, str(folder.resolve()))
    from huggingface_hub import snapshot_download

    try:
        found = Path(snapshot_download(spec.source, revision=spec.revision or None, allow_patterns=list(_FILES)))
    except Exception as error:  # the hub raises whatever its many transports raise
        said = (str(error).strip().splitlines() or [""])[0]
        raise VerievalError(f"model.source: cannot load {spec.source}: {type(error).__name__}: {said}") from error
    return Source(found / "config.json", found, spec.source)
