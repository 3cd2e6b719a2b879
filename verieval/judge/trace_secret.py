"""The secret of the traces, kept beside the reference runs that were made with it.

A candidate's trace is compared with its reference's, which may come from the cache, so both need the same secret. It
stays on this machine: it is in no manifest, no bundle, no verdict and no log, and nothing that a candidate sees.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from verieval.judge.cache import cache_folder

_NAME = "trace-secret"
_TEXT = re.compile(r"[0-9a-f]{64}\n")


@dataclass(frozen=True)
class TraceSecret:
    """A secret and the fingerprint that names it, from which it cannot be told.

    What was made with a secret is kept under its fingerprint, so that it is never compared with what was made with
    another one.
    """

    value: str = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits."""
        return hashlib.sha256(f"fingerprint {self.value}".encode()).hexdigest()[:16]


def trace_secret(folder: Path | None = None) -> TraceSecret:
    """The secret of a folder of caches, made where there is none; a passing one where it cannot be kept.

    Args:
        folder: the folder of caches; None for the user's.
    """
    path = (folder or cache_folder()) / "references" / _NAME
    kept = _read(path)
    if kept is None:
        with contextlib.suppress(OSError):
            _make(path)
            kept = _read(path)
    return TraceSecret(kept or secrets.token_hex(32))


def _read(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    return text.strip() if _TEXT.fullmatch(text) else None


def _make(path: Path) -> None:
    """Put a new secret there, unless another process was quicker.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{_NAME}.", suffix=".tmp")  # for the owner alone
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(OSError):
            os.link(temporary, path)  # unlike a rename, this never takes another's place
        if _read(path) is None:
            Path(temporary).replace(path)  # what is there is no secret, or the disk has no links
            temporary = ""
    finally:
        if temporary:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()
