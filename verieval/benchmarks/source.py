"""Checkouts of upstream repositories: finding them, reading them, and saying which commit they are.

Every file an adapter reads passes through :class:`Checkout`, so that unreadable input ends in one sentence that names
the file and the line, and so that the files that were read can be compared with a published snapshot.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from verieval.errors import VerievalError
from verieval.files import is_missing, read_file
from verieval.run.jsonl import load_json

DATA_VARIABLE = "VERIEVAL_DATA"

_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half a character, which JSON can spell and no file can hold


@dataclass(frozen=True)
class Upstream:
    """Where a benchmark's data comes from, and how a checkout of it is recognised.

    Attributes:
        url: upstream repository.
        licence: licence of the data, as upstream states it.
        folders: names of the checkout inside ``VERIEVAL_DATA``; the first is the one that is asked for.
        markers: paths, or patterns of files, of which at least one must exist in a checkout.
        clone: arguments of the ``git clone`` that makes such a checkout.
    """

    url: str
    licence: str
    folders: tuple[str, ...]
    markers: tuple[str, ...]
    clone: str


@dataclass
class Checkout:
    """A checkout of an upstream repository that notes what is read from it."""

    root: Path
    _read: dict[str, str] = field(default_factory=dict)

    def bytes(self, path: Path) -> bytes:
        """Read a file of the checkout.

        Raises:
            VerievalError: the file is missing or cannot be read.
        """
        content = read_file(path, "restore the file, or clone the upstream repository again.")
        self._read[path.relative_to(self.root).as_posix()] = hashlib.sha256(content).hexdigest()
        return content

    def text(self, path: Path) -> str:
        """Read a UTF-8 file of the checkout, line ends as they are.

        Raises:
            VerievalError: the file is missing, cannot be read or is not UTF-8.
        """
        return decode(self.bytes(path), path)

    def jsonl(self, path: Path, fields: tuple[str, ...]) -> list[dict[str, str]]:
        """Read a file of one JSON object a line, each with the text ``fields``; blank lines are skipped.

        Raises:
            VerievalError: a line is not JSON, not an object, or lacks a field.
        """
        rows = []
        for number, row in self.lines(path):
            if not isinstance(row, dict):
                raise VerievalError(f"{path}:{number} is not a JSON object; restore the file.")
            for name in fields:
                if not isinstance(row.get(name), str) or _SURROGATE.search(row[name]):
                    raise VerievalError(f"{path}:{number} has no text field '{name}'; restore the file.")
            rows.append(row)
        return rows

    def lines(self, path: Path) -> Iterator[tuple[int, object]]:
        """Read a file of one JSON value a line, each with the number of its line; blank lines are skipped.

        Raises:
            VerievalError: a line is not JSON.
        """
        for number, line in enumerate(self.text(path).split("\n"), start=1):
            if not line.strip():
                continue
            try:
                yield number, load_json(line.encode())
            except (ValueError, RecursionError) as error:
                raise VerievalError(f"{path}:{number} is not valid JSON ({error}); restore the file.") from error

    @property
    def sha256(self) -> str:
        """Hash over names and contents of all files read so far, whatever the order of reading."""
        listing = "".join(f"{digest}  {name}\n" for name, digest in sorted(self._read.items()))
        return hashlib.sha256(listing.encode()).hexdigest()

    def commit(self, snapshots: dict[str, str]) -> str | None:
        """Upstream commit of what was read, or None where nothing tells.

        Files that equal a published snapshot (``Checkout.sha256`` to commit) are named by that, so that the same data
        has the same name however it came here. Otherwise a git checkout says it itself, with ``-dirty`` after it where
        tracked files differ from the commit.
        """
        return snapshots.get(self.sha256) or self._git_commit()

    def _git_commit(self) -> str | None:
        # Only a checkout's own .git counts: a folder of data inside some other repository has that one's HEAD.
        if not (self.root / ".git").exists():
            return None
        head = _git(self.root, "rev-parse", "HEAD")
        if not head:
            return None
        changed = _git(self.root, "status", "--porcelain", "--untracked-files=no", "--", *sorted(self._read))
        return f"{head}-dirty" if changed else head


def decode(content: bytes, path: Path) -> str:
    """Decode UTF-8 text, a byte-order mark at its start dropped.

    Raises:
        VerievalError: it is not UTF-8; the message names file and line.
    """
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VerievalError(f"{path}:{line} is not UTF-8 text; restore the file.") from error


def find_checkout(name: str, upstream: Upstream, data: Path | None) -> Path:
    """Find the checkout of an upstream repository.

    Args:
        name: the benchmark, for messages.
        upstream: what is looked for.
        data: a checkout, or a folder that holds it under one of its usual names; None for ``VERIEVAL_DATA``.

    Raises:
        VerievalError: there is none; the message says what to clone, and where.
    """
    if data is not None:
        places = [data, *(data / folder for folder in upstream.folders)]
        looked, target = str(data), data
    elif variable := os.environ.get(DATA_VARIABLE):
        places = [Path(variable) / folder for folder in upstream.folders]
        looked, target = f"{DATA_VARIABLE}={variable}", Path(variable) / upstream.folders[0]
    else:
        raise VerievalError(
            f"The data of {name} is not shipped: run `git clone {upstream.clone} DIR/{upstream.folders[0]}` and set "
            f"{DATA_VARIABLE}=DIR, or name the checkout with --data."
        )
    for place in places:
        if any(_is_there(place, marker) for marker in upstream.markers):
            return place.absolute()
    if data is not None and is_missing(data):
        raise VerievalError(
            f"There is no folder {data}: name a checkout of {name} with --data, or run "
            f"`git clone {upstream.clone} {target}`."
        )
    wanted = " or ".join(upstream.markers)
    raise VerievalError(
        f"No {name} data in {looked} (looked for {wanted}): run `git clone {upstream.clone} {target}`, or name the "
        f"checkout with --data."
    )


def _is_there(place: Path, marker: str) -> bool:
    if "*" not in marker:
        return not is_missing(place / marker)
    try:
        return any(place.glob(marker))
    except (OSError, ValueError):  # what cannot be looked at is there: reading it says why
        return True


def _git(root: Path, *arguments: str) -> str:
    """Output of a git command in ``root``; empty where git is missing or refuses."""
    # A caller that is itself run by git (a hook) has GIT_DIR set, which would beat -C.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(root), *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""
