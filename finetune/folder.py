"""A training run's folder: whose it is, its log, and what a resumed run finds there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.run.jsonl import dump_json, encode_row, load_json, read_rows, write_atomically
from verieval.run.store import LOCK

MANIFEST = "training.json"
LOG = "train.jsonl"
CURVE_POINTS = 200  # of training.json, which a run's manifest takes in whole


def claim(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Take a folder for the run of ``manifest``, or find that it is its folder already.

    Args:
        folder: exists, and is locked by this process.
        manifest: with ``recipe``, ``recipe_sha256`` and ``data.sha256``, which must be the stored ones.

    Returns:
        The manifest that stands there.

    Raises:
        VerievalError: the folder holds something else, or another recipe's or other data's run.
    """
    path = folder / MANIFEST
    if not path.exists():
        others = [p.name for p in folder.iterdir() if p.name != LOCK and not p.name.endswith(".tmp")]
        if others:
            raise VerievalError(
                f"{folder} is not empty and not a training run (it holds {min(others)}); give --out another folder"
            )
        write_atomically(path, dump_json(manifest))
        return dict(manifest)
    stored = read_manifest(folder)
    if stored.get("recipe_sha256") != manifest["recipe_sha256"]:
        places = differences(stored.get("recipe"), manifest["recipe"])
        raise VerievalError(
            f"{folder} holds the run of another recipe (it differs in {', '.join(places[:3]) or 'its hash'}"
            f"{' and more' if len(places) > 3 else ''}); give --out another folder, or the recipe as it was"
        )
    if stored.get("config_sha256") != manifest.get("config_sha256"):
        raise VerievalError(
            f"{folder} holds the run of another model (the file that model.config names has changed since); give --out "
            "another folder, or restore the file"
        )
    if (stored.get("data") or {}).get("sha256") != manifest["data"]["sha256"]:
        raise VerievalError(
            f"{folder} holds a run on other data (the rows that the same recipe gives have changed since); give --out "
            "another folder, or restore the data"
        )
    return stored


def read_manifest(folder: Path) -> dict[str, Any]:
    """A run's ``training.json``.

    Raises:
        VerievalError: it is not readable.
    """
    path = folder / MANIFEST
    try:
        content = load_json(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise VerievalError(
            f"{path} is not readable JSON ({error}); restore it, or give --out another folder"
        ) from None
    if not isinstance(content, dict):
        raise VerievalError(f"{path} must hold a JSON object; restore it, or give --out another folder")
    return content


def differences(one: Any, two: Any, place: str = "") -> list[str]:
    """Places at which two JSON values differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        keys = sorted({*one, *two})
        inner = [differences(one.get(key), two.get(key), f"{place}.{key}" if place else key) for key in keys]
        return [found for part in inner for found in part]
    return [] if one == two else [place]


def cut_log(folder: Path, step: int) -> None:
    """Drop the lines of steps after ``step``: the run goes on from there and will write them again.

    At step 0 all go: the evaluation before the first step is made again too.

    Raises:
        VerievalError: a line is damaged.
    """
    path = folder / LOG
    if not path.exists():
        return
    rows = [row for _, row in read_rows(path, torn=True)]
    kept = [row for row in rows if row["step"] <= step and step]
    if len(kept) < len(rows) or path.read_bytes()[-1:] not in (b"", b"\n"):
        write_atomically(path, b"".join(encode_row(row) for row in kept).decode("ascii"))


def last_row(folder: Path) -> dict[str, Any]:
    """The last line of the log; empty where there is none."""
    path = folder / LOG
    rows = [row for _, row in read_rows(path, torn=True)] if path.exists() else []
    return rows[-1] if rows else {}


def curve(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The log in short, for ``training.json``: points of training and of held-out rows, evenly thinned."""
    path = folder / LOG
    rows = [row for _, row in read_rows(path)] if path.exists() else []
    trained = [_pick(row, ("step", "loss", "response_nll", "prompt_nll")) for row in rows if "loss" in row]
    heldout = [
        _pick(row, ("step", "heldout_loss", "heldout_response_nll", "heldout_prompt_nll"))
        for row in rows
        if "heldout_loss" in row
    ]
    return _thin(trained, CURVE_POINTS), _thin(heldout, CURVE_POINTS // 2)


def _pick(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: round(row[key], 6) if isinstance(row[key], float) else row[key] for key in keys}


def _thin(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most ``most`` rows, the first and the last among them."""
    if len(rows) <= most:
        return rows
    return [rows[round(index * (len(rows) - 1) / (most - 1))] for index in range(most)]
