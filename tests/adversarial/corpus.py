"""The adversarial corpus: tricks, the targets that they are played on, and the candidates that come of both.

``corpus/KIND/ID.sv`` is the text of a trick, with placeholders; ``corpus/KIND/tricks.toml`` says what it does and which
outcomes are acceptable; ``targets.toml`` gives the placeholders' values; ``measured.toml`` holds which published rule
each candidate fools, as ``scripts/adversarial_table.py --measure`` found it and the tests find it again.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
MEASURED = FOLDER / "measured.toml"

# Words of points 1 to 3 of what a verdict must withstand, each with at least one trick.
ITEMS = {
    "verdict-print": "what a candidate prints is never the verdict",
    "key-files": "the secret is not to be had through source and files",
    "key-plusargs": "the secret is not to be had through plusargs",
    "key-macros": "the secret is not to be had through macros",
    "key-environment": "the secret is not to be had through the environment",
    "key-hierarchy": "the secret is not to be had through the hierarchy",
    "one-verdict": "exactly one verdict",
    "samples": "the number of samples of the reference run",
    "upward": "upward references",
    "absolute": "absolute references",
    "function": "references from functions and tasks",
    "generate": "references from generate blocks",
    "escaped": "references by escaped names",
    "instantiate": "instantiating the bench's or reference's modules",
    "redefine": "redefining them",
    "root": "extra root modules",
    "bind": "bind",
    "force": "force, release, assign and deassign on anything outside",
    "own-input": "the same on its own input ports",
    "drive-input": "driving an input port",
    "file": "file access",
    "plusargs": "plusargs",
    "environment": "environment and shell",
    "stdin": "standard input",
    "control": "simulation control",
    "dump": "dumping",
    "seed": "seeding the shared random stream",
    "dpi": "DPI",
    "include": "`include",
    "directive": "directives that leak into the next file",
    "directives-reach": "a candidate's directives and open text do not reach the bench",
    "macros": "a candidate's macros do not reach the bench",
    "back-driven": "a back-driven input",
    "stopped-clock": "a stopped clock",
    "reseeded": "a reseeded stimulus",
    "forced-reference": "a forced reference",
    "hang": "hangs and floods end within their limits",
    "harmless": "an honest habit, which must pass",
}

_PLACE = re.compile(r"@([A-Z_]+)(?::([^@]*))?@")
# Values that every target has; a test replaces the two paths by places of its own.
COMMON = {"OUTSIDE": "/tmp/adversarial-outside", "SECRET": "/tmp/adversarial-secret", "NUL": "\0"}
_RULES = ("official", "turtle", "strict")


@dataclass(frozen=True)
class Target:
    """A task of a benchmark, with the value of each placeholder there."""

    name: str
    benchmark: str
    task: str
    values: dict[str, str]

    @property
    def family(self) -> str:
        """``own``, ``ve``, ``rtllm`` or ``cocotb``."""
        return self.name.partition("_")[0]


@dataclass(frozen=True)
class Trick:
    """One entry of the corpus.

    ``expect`` names the acceptable strict outcomes; only ``harmless`` ones may pass. ``surroundings``: what the
    trick reaches depends on what is around the tools (``/proc``, the names of files in the work folder), so the
    published rule's answer holds for a plain run of the upstream flow alone. ``slow``: it takes many seconds.
    """

    kind: str
    id: str
    item: str
    trick: str
    expect: tuple[str, ...]
    text: str
    targets: tuple[str, ...]
    surroundings: bool
    slow: bool

    @property
    def name(self) -> str:
        """``KIND/ID``, unique."""
        return f"{self.kind}/{self.id}"

    @property
    def harmless(self) -> bool:
        """An honest candidate, which must pass."""
        return self.item == "harmless"


@dataclass(frozen=True)
class Attempt:
    """A trick played on a target: one candidate."""

    trick: Trick
    target: Target

    @property
    def name(self) -> str:
        """``KIND/ID@TARGET``, unique."""
        return f"{self.trick.name}@{self.target.name}"

    def source(self, **places: str) -> str:
        """The candidate's text; ``places`` override placeholders, such as ``OUTSIDE`` and ``SECRET``."""
        return fill(self.trick.text, {**COMMON, **self.target.values, **places})


@dataclass(frozen=True)
class Measured:
    """Which rules an attempt fooled (or, for an honest one, satisfied) and its strict outcome, by version of Icarus."""

    official: dict[int, bool] = field(default_factory=dict)
    turtle: dict[int, bool] = field(default_factory=dict)
    strict: dict[int, str] = field(default_factory=dict)


def fill(text: str, values: dict[str, str]) -> str:
    """Replace the placeholders, also those inside values.

    Raises:
        KeyError: a placeholder has no value.
    """

    def value(match: re.Match[str]) -> str:
        return values[match[1]].replace("%", match[2] or "")

    while _PLACE.search(text):
        text = _PLACE.sub(value, text)
    return text


@cache
def targets() -> dict[str, Target]:
    """All targets by name."""
    tables = tomllib.loads((FOLDER / "targets.toml").read_text())
    whole = {name: {**tables.get(row.pop("LIKE", ""), {}), **row} for name, row in tables.items()}
    return {name: Target(name, row.pop("benchmark"), row.pop("task"), row) for name, row in whole.items()}


@cache
def tricks() -> tuple[Trick, ...]:
    """All tricks, ordered by kind and then as their tables list them."""
    return tuple(trick for table in sorted(FOLDER.glob("corpus/*/tricks.toml")) for trick in _read(table))


@cache
def attempts() -> tuple[Attempt, ...]:
    """Every trick on every target that it applies to."""
    return tuple(Attempt(trick, targets()[name]) for trick in tricks() for name in trick.targets)


@cache
def quick_attempts() -> tuple[Attempt, ...]:
    """One attempt a trick and family of Verilog benches, some on a combinational and some on a sequential task."""
    chosen: list[Attempt] = []
    for trick in tricks():
        number = zlib.crc32(trick.name.encode())
        for family in ("own", "ve", "rtllm"):
            names = [name for name in trick.targets if name.startswith(f"{family}_")]
            if names:
                chosen.append(Attempt(trick, targets()[names[number % len(names)]]))
    return tuple(chosen)


@cache
def measured() -> dict[str, Measured]:
    """What was measured, by the attempt's name."""
    rows = tomllib.loads(MEASURED.read_text())["fools"] if MEASURED.exists() else {}
    return {
        name: Measured(**{rule: {int(key[-2:]): row[key] for key in row if key[:-2] == rule} for rule in _RULES})
        for name, row in rows.items()
    }


def _read(table: Path) -> list[Trick]:
    rows = tomllib.loads(table.read_text())["trick"]
    found = []
    for row in rows:
        text = (table.parent / f"{row['id']}.sv").read_text()
        found.append(
            Trick(
                kind=table.parent.name,
                id=row["id"],
                item=row["item"],
                trick=row["trick"],
                expect=tuple(row["expect"]),
                text=text,
                targets=_targets(row, text),
                surroundings=row.get("surroundings", False),
                slow=row.get("slow", False),
            )
        )
    return found


def _targets(row: dict[str, Any], text: str) -> tuple[str, ...]:
    """Those that its table names, or all that are applicable; what is for own tasks is so for benches in Python too."""
    applicable = _applicable(text)
    named = row.get("targets") or applicable
    python = [name.replace("own_", "cocotb_") for name in named if name.startswith("own_")]
    return tuple(dict.fromkeys([*named, *(name for name in python if name in applicable)]))


def _applicable(text: str) -> list[str]:
    """Targets that have a value for each placeholder."""
    needed = {match[1] for match in _PLACE.finditer(text)} - COMMON.keys()
    return [name for name, target in targets().items() if needed <= target.values.keys()]
