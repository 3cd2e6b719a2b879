"""What a checkpoint folder is: its content hash, and what its trainer left written in it."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.run.jsonl import load_json
from verieval.task import hash_json

# Files that decide what a checkpoint says. Anything else (a README, an optimizer's state) may change without a trace.
_CONTENT = (
    "config.json",
    "generation_config.json",
    "adapter_config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "pytorch_model*.bin",
    "pytorch_model*.bin.index.json",
    "adapter_model.bin",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "chat_template*",
    "state/**/*",  # of an Orbax checkpoint
)
_CHUNK = 1 << 22
_TRAINING_LIMIT = 1 << 16


def folder_sha256(folder: Path) -> str:
    """Content hash of a checkpoint: the hash over names and hashes of its config, weight and tokenizer files.

    Files are read in parallel; hashing releases the interpreter's lock.

    Raises:
        VerievalError: a file cannot be read.
    """
    paths = sorted({path for pattern in _CONTENT for path in folder.glob(pattern) if path.is_file()})
    with ThreadPoolExecutor(max_workers=4) as pool:
        return hash_json(
            [
                [path.relative_to(folder).as_posix(), digest]
                for path, digest in zip(paths, pool.map(file_sha256, paths), strict=True)
            ]
        )


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces.

    Raises:
        VerievalError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise VerievalError(f"cannot read {path}: {error.strerror}") from error
    return digest.hexdigest()


def read_training(folder: Path) -> dict[str, Any] | None:
    """What ``training.json`` beside the weights says (with its own hash as ``sha256``), or None where there is none.

    A file above 64 KiB is given by its hash and the hashes that comparisons need, so that a manifest stays readable.

    Raises:
        VerievalError: the file is there and is not a JSON object.
    """
    path = folder / "training.json"
    if not path.is_file():
        return None
    try:
        content = load_json(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not readable JSON: repair or remove it ({error})") from error
    if not isinstance(content, dict):
        raise VerievalError(f"{path} must hold a JSON object: repair or remove it")
    if path.stat().st_size > _TRAINING_LIMIT:
        content = {
            key: content[key] for key in ("prompt_sha256", "chat_template_sha256", "system_sha256") if key in content
        }
    return {**content, "sha256": file_sha256(path)}
