"""Why a bundle is refused: one table of codes, one small type, one exception that carries several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

# code -> what it means; the codes stand in `verify --json`.
CODES = {
    "damaged": "the zip, or a compressed file in it, cannot be read as what it is",
    "unsafe_path": "an entry's name leaves the bundle, or is no plain name",
    "not_a_file": "an entry is a symbolic link, a folder or something else that is no plain file",
    "duplicate_entry": "an entry stands in the zip twice",
    "too_large": "a file is, says it is, or grows beyond what a bundle may hold",
    "extra_file": "a file that is no part of a bundle",
    "missing_file": "a file of a bundle is not there",
    "hash": "a file's SHA-256 is not the one in manifest.sha256",
    "format": "a file is not the text, JSON or YAML that it should be",
    "schema": "a value is not what the published JSON Schema allows",
    "benchmark": "the benchmark's content, tasks or errata are not those of this harness",
    "matrix": "samples are missing, there twice, or were not asked for",
    "protocol": "rows contradict the protocol that the submission states",
    "number": "a reported number does not follow from the verdicts",
    "verdict": "a verdict is not the one that judging the sample again gives",
}


@dataclass(frozen=True)
class Reason:
    """One thing that is wrong: a code of :data:`CODES`, the file (and row) that shows it, and what it is."""

    code: str
    where: str
    detail: str

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"no such code: {self.code}")

    def __str__(self) -> str:
        return f"{self.where}: {self.detail}"

    def to_json(self) -> dict[str, str]:
        """Plain data for ``verify --json``."""
        return asdict(self)


class Rejected(Exception):
    """The bundle is not what it says, or not safe to read; ``reasons`` has at least one entry."""

    def __init__(self, reasons: Iterable[Reason]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(map(str, self.reasons[:3])))


def refuse(code: str, where: str, detail: str) -> Rejected:
    """The exception for a single reason."""
    return Rejected([Reason(code, where, detail)])


def short(text: str, length: int = 160) -> str:
    """A text of someone else's making, cut to what a sentence can hold."""
    return text if len(text) <= length else text[: length - 3] + "..."
