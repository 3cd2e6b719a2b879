"""Where two manifests differ, and how many causes that makes.

A cause is something that a person decides on its own: the model, the temperature, the prompt. It may show in several
fields (another model has another path *and* another hash), so fields are grouped by cause, by the table below. A field
that no row of the table names is a cause of its own: forgetting one can only withhold a claim, never make one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from verieval.run.manifest import FREE_FIELDS, leaves

OWN = "*"
TRAINING = "model.training."

# (pattern of dotted paths, cause). The first match counts. OWN: the field is its own cause. None: it cannot change a
# number that `compare` shows, for it is free within a run too, or both runs are read under one criterion, on the tasks
# they share.
CAUSES: tuple[tuple[str, str | None], ...] = (
    *((pattern, None) for pattern in FREE_FIELDS),
    ("schema", None),
    ("benchmark.tasks", None),
    ("benchmark.errata", None),
    ("benchmark.*", "benchmark"),
    (f"{TRAINING}*", OWN),
    ("model.chat.*", "model.chat"),
    ("model.*", "model"),
    ("sampling.n_by_task.*", "sampling.n"),
    ("prompt.template", "prompt"),
    ("prompt.sha256", "prompt"),
    ("engine.name", "engine"),
    ("engine.version", "engine"),
    ("extraction.*", "extraction"),
    ("toolchain.*", "toolchain"),
    ("limits.mismatch_samples", None),
    ("source.*", "source"),
)

# Names and addresses, which say nothing where the sha256 beside them is known on both sides and equal.
ADDRESSES = ("source", "template", "commit", "path")

# How a completion came about. A file of completions from elsewhere differs *because* these do.
GENERATION = ("model", "prompt", "sampling", "engine")

# Of these, what the completions themselves do not fix: how many of them are asked for.
COUNTS = ("sampling.n", "sampling.n_by_task.*")

# Without one of these a manifest does not say how its completions were made.
ORIGIN = ("prompt.sha256", "sampling.temperature")


@dataclass(frozen=True)
class FieldDifference:
    """A field of the manifest with its two values; None is an absent one.

    ``cause`` names the group that it belongs to; it is None where the field cannot change a compared number.
    """

    field: str
    a: Any
    b: Any
    cause: str | None


def manifest_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[FieldDifference, ...]:
    """Every field whose values differ, causes first, fields of one cause together, else in the manifest's order."""
    left, right = dict(leaves(a)), dict(leaves(b))
    fields = [*left, *(field for field in right if field not in left)]
    found = [
        FieldDifference(field, left.get(field), right.get(field), _cause(field, left, right))
        for field in fields
        if left.get(field) != right.get(field)
    ]
    found = _whole_training(_whole_engine(found), left, right)
    groups = list(dict.fromkeys(item.cause for item in found if item.cause is not None))
    order = {cause: place for place, cause in enumerate(groups)}
    return tuple(sorted(found, key=lambda item: len(order) if item.cause is None else order[item.cause]))


def causes(differences: Sequence[FieldDifference]) -> tuple[str, ...]:
    """The independent things that differ, without those that follow from others.

    Weights differ because their training did, where both trainings are on record; completions made elsewhere differ
    because their model, prompt, sampling or engine did.
    """
    names = list(dict.fromkeys(item.cause for item in differences if item.cause is not None))
    if any(name.startswith(TRAINING) for name in names) and "model" in names:
        names.remove("model")
    if any(name.split(".")[0] in GENERATION for name in names) and "source" in names:
        names.remove("source")
    return tuple(names)


def unrecorded(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    """The runs, ``A`` and ``B``, whose manifest does not say how their completions were made.

    None where both took the same completions from a file: then what made them cannot have told the runs apart.
    """
    left, right = dict(leaves(a)), dict(leaves(b))
    if _same("source.sha256", left, right):
        return ()
    return tuple(name for name, side in (("A", left), ("B", right)) if any(side.get(field) is None for field in ORIGIN))


def _same(field: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return left.get(field) is not None and left.get(field) == right.get(field)


def _made_before(field: str) -> bool:
    """The field tells how a completion was made; where the completions are the same, it changed nothing."""
    return field.split(".")[0] in GENERATION and not any(fnmatchcase(field, pattern) for pattern in COUNTS)


def _cause(field: str, left: Mapping[str, Any], right: Mapping[str, Any]) -> str | None:
    section, _, name = field.rpartition(".")
    if name in ADDRESSES and _same(f"{section}.sha256", left, right):
        return None
    if _made_before(field) and _same("source.sha256", left, right):
        return None
    cause = next((cause for pattern, cause in CAUSES if fnmatchcase(field, pattern)), OWN)
    return field if cause == OWN else cause


def _whole_engine(found: Sequence[FieldDifference]) -> list[FieldDifference]:
    """Between two engines, the settings that only one of them has come with the choice of the engine."""
    if not any(item.field == "engine.name" for item in found):
        return list(found)
    return [
        replace(item, cause="engine")
        if item.cause is not None and item.field.startswith("engine.") and None in (item.a, item.b)
        else item
        for item in found
    ]


def _whole_training(
    found: Sequence[FieldDifference], left: Mapping[str, Any], right: Mapping[str, Any]
) -> list[FieldDifference]:
    """Between a trained model and one without a record of training, the whole record is one cause: another model."""
    if all(any(field.startswith(TRAINING) for field in side) for side in (left, right)):
        return list(found)
    return [replace(item, cause="model") if (item.cause or "").startswith(TRAINING) else item for item in found]
