"""Reading files that somebody else made, or damaged: bytes, or one sentence on why not."""

from __future__ import annotations

import stat
from pathlib import Path

from verieval.errors import VerievalError

MAX_BYTES = 2**31  # far beyond any file that is read whole; more would only exhaust the memory


def read_file(path: Path, advice: str = "check the path", *, name: str = "") -> bytes:
    """Content of a regular file, or of a link to one.

    A pipe could keep its reader waiting for ever, and a device need not end; neither could be read a second time when
    a run is resumed or verified.

    Args:
        path: the file.
        advice: what the user can do, for the error.
        name: what the error calls it; its path where that is empty.

    Raises:
        VerievalError: there is none, it is no regular file, it cannot be read, or it is too large.
    """
    what = name or str(path)
    try:
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            return path.read_bytes()
    except OSError as error:
        raise VerievalError(f"{what} cannot be read ({error.strerror}); {advice}") from error
    except ValueError as error:  # a name that no file can have
        raise VerievalError(f"{what} cannot be read ({error}); {advice}") from error
    reason = _KINDS.get(stat.S_IFMT(status.st_mode), f"it has more than {MAX_BYTES} bytes")
    raise VerievalError(f"{what} cannot be read ({reason}); {advice}")


def is_missing(path: Path) -> bool:
    """Nothing is there, not even a broken link; what cannot be looked at counts as there, and reading it says why."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def is_folder(path: Path) -> bool:
    """A folder, or a link to one, is there and can be looked at."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


_KINDS = {
    stat.S_IFDIR: "it is a folder, not a file",
    stat.S_IFIFO: "it is a pipe, and what it gives must be saved to a file first",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}
