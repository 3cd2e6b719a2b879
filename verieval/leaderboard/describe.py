"""What a bundle says of a run in words and figures: ``submission.yaml`` and ``README.md``.

Both follow from the run's manifest, what the submitter adds, and the report, so that a verifier can make them again.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from verieval.errors import VerievalError
from verieval.files import read_file
from verieval.leaderboard.reasons import Rejected, short
from verieval.report.summary import Report
from verieval.report.text import printable
from verieval.run.manifest import Manifest

SCHEMA = 1
NOT_STATED = "not stated"
MAX_TEXT = 1000

Submission = dict[str, Any]

# Sections that are taken over as the manifest has them.
_SECTIONS = ("prompt", "sampling", "engine", "extraction", "toolchain", "limits", "criterion")
# How requests are sent is no part of what was measured (see FREE_FIELDS of the manifest).
_UNIMPORTANT = ("concurrency", "retries", "timeout")


@dataclass(frozen=True)
class About:
    """What a run does not know of itself; None is not stated. ``licence`` is the model's.

    ``model``, ``revision``, ``base`` and ``adapter`` overrule what the manifest says.
    """

    licence: str | None = None
    contact: str | None = None
    model: str | None = None
    revision: str | None = None
    base: str | None = None
    adapter: str | None = None
    training_data: str | None = None
    loss: str | None = None
    prompt_sha256: str | None = None
    chat_template_sha256: str | None = None


def read_about(path: Path) -> dict[str, str]:
    """The fields of :class:`About` that a YAML file gives.

    Raises:
        VerievalError: it cannot be read, or has another field or something that is no text.
    """
    from verieval.leaderboard.text import read_yaml

    known = [field.name for field in fields(About)]
    data = read_file(path, "give --about a YAML file")
    try:
        given = read_yaml(data, str(path))
    except Rejected as error:
        raise VerievalError(f"{error}; repair the file") from None
    if not isinstance(given, dict):
        raise VerievalError(f"{path} must be a YAML mapping with some of {', '.join(known)}")
    for name, value in given.items():
        if name not in known:
            raise VerievalError(f"{path}: there is no field `{short(name, 40)}`; known are {', '.join(known)}")
        if value is not None and not isinstance(value, str):
            raise VerievalError(f"{path}: `{name}` must be a text; put it in quotes")
    return {name: value for name, value in given.items() if value is not None}


def describe_submission(manifest: Manifest, about: About, report: Report) -> Submission:
    """The content of ``submission.yaml``.

    Raises:
        VerievalError: licence, contact or the model's name are not known, or another simulator judged.
    """
    if simulator := manifest["toolchain"].get("simulator"):
        raise VerievalError(f"a submission is judged with Icarus, and this run with {simulator}; score it again")
    model, training = manifest["model"], manifest["model"].get("training") or {}
    chat = model.get("chat") or {}
    adapter = model.get("adapter") or {}
    name = about.model or public_name(model.get("source"))
    _require(name, about)
    benchmark = manifest["benchmark"]
    submission: Submission = {
        "schema": SCHEMA,
        "model": {
            "name": name,
            "revision": about.revision or _text(model.get("revision")),
            "base": about.base or _text(training.get("base")),
            "adapter": about.adapter or public_name(adapter.get("source")) or NOT_STATED,
            "sha256": _text(model.get("sha256")),
            "adapter_sha256": _text(adapter.get("sha256")),
            "licence": about.licence,
        },
        "training": {
            "data": about.training_data or _text(training.get("data")),
            "loss": about.loss or _text(training.get("loss")),
            "record": training or None,
        },
        "contact": about.contact,
        "benchmark": {key: benchmark.get(key) for key in ("name", "variant", "commit", "sha256", "tasks", "errata")},
        **{section: dict(manifest[section]) for section in _SECTIONS},
        # Runs from before there were sandboxes had none.
        "sandbox": dict(manifest.get("sandbox") or {"level": "none"}),
        "harness": {"name": "verieval", "version": manifest["verieval"], "numpy": numpy_version()},
        "started": _text(manifest.get("started")),
        "numbers": numbers(report),
    }
    prompt = submission["prompt"]
    prompt["template"] = _text(prompt.get("template"))
    prompt["sha256"] = about.prompt_sha256 or _text(prompt.get("sha256"))
    prompt["chat_template_sha256"] = about.chat_template_sha256 or _text(chat.get("sha256"))
    submission["engine"] = {key: value for key, value in submission["engine"].items() if key not in _UNIMPORTANT}
    if "source" in manifest:
        submission["source"] = {key: _text(manifest["source"].get(key)) for key in ("format", "sha256")}
    return submission


def _require(name: str | None, about: About) -> None:
    needed = {"--model": name, "--licence": about.licence, "--contact": about.contact}
    lacking = [option for option, value in needed.items() if not value or not value.strip()]
    if lacking:
        raise VerievalError(
            f"a submission must say {_words(lacking)}, which the run does not know; "
            f"give {'it' if len(lacking) == 1 else 'them'} as options, or in a YAML file with --about"
        )
    for field in fields(About):
        value = getattr(about, field.name)
        if value is not None and len(value) > MAX_TEXT:
            raise VerievalError(f"--{field.name.replace('_', '-')} has {len(value)} characters; {MAX_TEXT} are enough")


def _words(options: list[str]) -> str:
    meaning = {"--model": "the model's name", "--licence": "the model's licence", "--contact": "a contact"}
    said = [f"{meaning[option]} ({option})" for option in options]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def public_name(source: str | None) -> str | None:
    """A model's name without what is only an address on the submitter's machine: path and server."""
    if not source:
        return None
    if source.startswith("openai:"):
        return source.removeprefix("openai:").partition("@")[0] or None
    if source.startswith(("/", "~", "./", "../")):
        return Path(source).name or None
    return source


def _text(value: object) -> str:
    """A value as text, where there is one; a whole record is in ``training.record`` and needs no second place."""
    return str(value) if isinstance(value, str | int | float) and str(value).strip() else NOT_STATED


def numpy_version() -> str:
    """NumPy draws the bootstrap; other versions may draw other numbers for the same seed."""
    return importlib.metadata.version("numpy")


def manifest_of(submission: Submission) -> Manifest:
    """As much of the run's manifest as the report needs, from a submission that fits its schema."""
    return {
        **{section: submission[section] for section in ("benchmark", *_SECTIONS)},
        "model": {"source": submission["model"]["name"]},
    }


def numbers(report: Report) -> dict[str, Any]:
    """The figures of a report that stand in ``submission.yaml``, by criterion."""
    return {
        name: {
            "tasks": criterion["tasks_total"],
            "samples": criterion["samples"],
            "passed": sum(task["c"] for task in criterion["tasks"]),
            "pass_at_k": {
                k: {key: estimate[key] for key in ("value", "se", "ci95")}
                for k, estimate in criterion["pass_at_k"].items()
            },
        }
        for name, criterion in report["criteria"].items()
    }


def describe_readme(submission: Submission) -> str:
    """The content of ``README.md``."""
    model, benchmark = submission["model"], _full_name(submission["benchmark"])
    facts = {
        "model": model["name"],
        "revision": model["revision"],
        "base": model["base"],
        "adapter": model["adapter"],
        "licence of the model": model["licence"],
        "training data": submission["training"]["data"],
        "loss": submission["training"]["loss"],
        "benchmark": f"{benchmark}, {len(submission['benchmark']['tasks'])} tasks, {submission['sampling']['n']} "
        f"samples a task, content {submission['benchmark']['sha256']}",
        "prompt": f"{submission['prompt']['template']} ({submission['prompt']['sha256']})",
        "judged by": f"verieval {submission['harness']['version']}, Icarus {submission['toolchain']['icarus']}, "
        f"sandbox {submission['sandbox']['level']}",
        "contact": submission["contact"],
    }
    rows = [
        f"| {name} | {k} | {_figure(row['value'])} | {_figure(row['se'])} | {_interval(row['ci95'])} |"
        for name, criterion in submission["numbers"].items()
        for k, row in criterion["pass_at_k"].items()
    ]
    return "\n".join(
        [
            f"# {_cell(model['name'])} on {_cell(benchmark)}",
            "",
            "| | |",
            "|---|---|",
            *(f"| {label} | {_cell(value)} |" for label, value in facts.items()),
            "",
            "| criterion | k | pass@k | s.e. | 95 % interval |",
            "|---|---|---|---|---|",
            *rows,
            "",
            _FILES,
            "",
            "To extract and simulate everything again and compare every verdict and number:",
            "",
            f"    pip install verieval=={_cell(submission['harness']['version'])}",
            f"    verieval verify BUNDLE      # with Icarus Verilog {_cell(submission['toolchain']['icarus'])}",
            "",
        ]
    )


_FILES = (
    "`samples.jsonl.zst` holds every completion as the model gave it, `results.jsonl` the verdict on each, "
    "`report.json` what follows from them, `submission.yaml` how it all was made, and `manifest.sha256` the hashes "
    "(`sha256sum -c manifest.sha256`)."
)


def _full_name(benchmark: Mapping[str, Any]) -> str:
    return ":".join(part for part in (benchmark["name"], benchmark["variant"]) if part)


def _cell(text: str) -> str:
    """Text that can stand in a cell of a table and does nothing there."""
    return "".join("\\" + char if char in "\\|`*_<>[]#&" else char for char in printable(text))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(ci95: list[float] | None) -> str:
    return "" if ci95 is None else f"{ci95[0]:.4f} to {ci95[1]:.4f}"
