"""A folder that is there whole or not at all, and the files that travel along with weights."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from verieval.errors import VerievalError
from verieval.files import is_missing

# The first folder that has any file of a group gives all of that group: half a tokenizer is none.
_GROUPS: tuple[tuple[str, ...], ...] = (
    (
        "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model",
        "chat_template*",
    ),
    ("generation_config.json",),
    ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json"),
    ("training.json",),
)  # fmt: skip


def companions(folders: Sequence[Path]) -> list[Path]:
    """Tokenizer, template, generation config, processor and ``training.json``, each from the first folder with it."""
    result: list[Path] = []
    for patterns in _GROUPS:
        for folder in folders:
            found = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
            if found:
                result += found
                break
    return result


@contextmanager
def new_folder(path: Path, size: int) -> Iterator[Path]:
    """A hidden folder beside ``path`` that gets its name when the block ends well, and goes when it does not.

    What a killed process left behind is removed by the next one.

    Args:
        path: which must not be there, or be an empty folder.
        size: bytes that will be written.

    Raises:
        VerievalError: there is something, another process writes it, or there is no room.
        OSError: it cannot be made.
    """
    if not is_missing(path) and not (path.is_dir() and not path.is_symlink() and not any(path.iterdir())):
        raise VerievalError(f"{path} is there already; name a new folder, or remove it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise VerievalError(f"{path} needs {_gigabytes(size)}, and {_gigabytes(free)} are free; name a larger disk")
    hidden = path.absolute().parent / f".{path.absolute().name}.tmp"
    lock = _claim(hidden, path)
    try:
        inner = hidden / "new"
        shutil.rmtree(inner, ignore_errors=True)
        inner.mkdir()
        yield inner
        _sync(*inner.rglob("*"), inner)
        inner.replace(path)
        _sync(path.absolute().parent)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(lock)


def _claim(hidden: Path, path: Path) -> int:
    """Make the hidden folder this process's own, until the descriptor is closed."""
    hidden.mkdir(exist_ok=True)
    lock = os.open(hidden, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise VerievalError(f"another process is writing {path}; wait for it, or name another folder") from None
    return lock


def _sync(*paths: Path) -> None:
    """Have files and folders survive a power cut, where the file system can."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
