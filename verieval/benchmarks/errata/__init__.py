"""Known faults of benchmarks: dated facts in TOML files, one file a benchmark.

An entry never changes a task or a score. It says which task has a fault, how the fault shows, since when that is known
and how anybody can see it again. Reports show scores with and without the faulty tasks.

File format: ``benchmark`` and any number of ``[[erratum]]`` tables with ``task``, ``effect``, ``reason``, ``found`` (a
date), ``source``, and where they apply ``variants`` (absent: all) and ``icarus`` (major versions; absent: all).
"""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.task import Erratum

EFFECTS = ("reference_fails", "vacuous", "power_up")
_REQUIRED: dict[str, type] = {"task": str, "effect": str, "reason": str, "found": datetime.date, "source": str}
_OPTIONAL: dict[str, type] = {"variants": list, "icarus": list}
_ITEMS: dict[str, type] = {"variants": str, "icarus": int}


def load_errata(name: str, variant: str = "") -> tuple[Erratum, ...]:
    """Known faults of a benchmark's variant, whatever the toolchain; empty where none is recorded.

    Args:
        name: benchmark, ``verilog-eval``.
        variant: ``spec-to-rtl``, or empty.

    Raises:
        VerievalError: the file is malformed.
    """
    path = Path(__file__).parent / f"{name}.toml"
    return read_errata(path, variant) if path.exists() else ()


def read_errata(path: Path, variant: str = "") -> tuple[Erratum, ...]:
    """Read one errata file and keep what applies to ``variant``.

    Raises:
        VerievalError: the file is malformed; the message names the entry.
    """
    try:
        table = tomllib.loads(read_file(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} cannot be read ({error}); correct it.") from error
    entries = table.get("erratum", [])
    if set(table) - {"benchmark", "erratum"} or not _are_tables(entries):
        raise VerievalError(f"{path} may hold 'benchmark' and [[erratum]] tables only; correct it.")
    checked = [_checked(entry, f"{path}, erratum {number}") for number, entry in enumerate(entries, start=1)]
    return tuple(_erratum(entry) for entry in checked if variant in entry.get("variants", [variant]))


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _checked(entry: dict[str, Any], place: str) -> dict[str, Any]:
    kinds = _REQUIRED | _OPTIONAL
    for key, value in entry.items():
        if key not in kinds:
            raise VerievalError(f"{place} has an unknown key '{key}': use {', '.join(kinds)}.")
        if not isinstance(value, kinds[key]):
            raise VerievalError(f"{place}: '{key}' must be a {kinds[key].__name__}.")
    for key, kind in _ITEMS.items():
        if not all(isinstance(item, kind) for item in entry.get(key, [])):
            raise VerievalError(f"{place}: '{key}' must be a list of {kind.__name__}.")
    if missing := [key for key in _REQUIRED if key not in entry]:
        raise VerievalError(f"{place} lacks '{missing[0]}'.")
    if entry["effect"] not in EFFECTS:
        raise VerievalError(f"{place}: effect '{entry['effect']}' is none of {', '.join(EFFECTS)}.")
    return entry


def _erratum(entry: dict[str, Any]) -> Erratum:
    return Erratum(
        task=entry["task"],
        effect=entry["effect"],
        reason=entry["reason"],
        found=entry["found"].isoformat(),
        source=entry["source"],
        icarus=tuple(entry.get("icarus", ())),
    )
