"""What a bundle says of a run, and which runs are not submitted."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from tests.leaderboard.conftest import ABOUT, SEED
from verieval.errors import VerievalError
from verieval.leaderboard import archive
from verieval.leaderboard.bundle import Bundle, build_bundle, write_bundle
from verieval.leaderboard.describe import About, public_name, read_about
from verieval.run.store import read_run
from verieval.task import Benchmark


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ---- content ------------------------------------------------------------------------------------------------------


def test_a_bundle_holds_the_run(bundle: Bundle, scored: Path) -> None:
    run = read_run(scored)
    samples = zstandard.ZstdDecompressor().decompress(bundle.files[archive.SAMPLES])
    assert [json.loads(line) for line in samples.splitlines()] == lines(scored / "completions.jsonl")
    order = {task: place for place, task in enumerate(run.task_ids)}
    results = sorted(lines(scored / "verdicts.jsonl"), key=lambda row: (order[row["task_id"]], row["sample"]))
    assert [json.loads(line) for line in bundle.files[archive.RESULTS].splitlines()] == results


def test_what_the_submission_says(bundle: Bundle, suite: Benchmark) -> None:
    said = yaml.safe_load(bundle.files[archive.SUBMISSION])
    assert said["model"] == {
        "name": "toy/model-a",
        "revision": "r1",
        "base": "not stated",
        "adapter": "not stated",
        "sha256": "0" * 64,
        "adapter_sha256": "not stated",
        "licence": "Apache-2.0",
    }
    assert said["training"] == {"data": "not stated", "loss": "prompt tokens masked", "record": None}
    assert said["contact"] == "someone@example.org"
    assert said["prompt"]["sha256"] == "1" * 64
    assert said["sampling"]["seed"] == SEED
    assert said["benchmark"]["sha256"] == suite.sha256
    assert said["engine"] == {"name": "hf", "version": "5.17", "dtype": "bfloat16"}
    passed = sum(json.loads(line)["passed"]["strict"] for line in bundle.files[archive.RESULTS].splitlines())
    figures = said["numbers"]["strict"]
    assert figures["passed"] == passed
    assert figures["pass_at_k"]["1"]["value"] == pytest.approx(passed / (2 * len(suite.tasks)), abs=1e-12)


def test_nothing_of_the_submitters_machine_is_in_it(bundle: Bundle) -> None:
    assert b"/home/someone" not in b"".join(bundle.files.values())


def test_the_same_run_gives_the_same_bytes(scored: Path, suite: Benchmark, bundle: Bundle, run: Path) -> None:
    assert build_bundle(scored, suite, ABOUT).files == bundle.files
    rows = lines(run / "completions.jsonl")
    write_lines(run / "completions.jsonl", rows[::-1])  # an engine may answer in any order
    assert build_bundle(run, suite, ABOUT).files == bundle.files


def test_the_run_is_not_changed(run: Path, suite: Benchmark, tmp_path: Path) -> None:
    before = digest(run)
    write_bundle(build_bundle(run, suite, ABOUT), tmp_path / "b.zip", run)
    assert digest(run) == before


def test_a_bundle_is_not_written_into_its_run(run: Path, bundle: Bundle) -> None:
    before = digest(run)
    for target in (run / "b.zip", run, run / "sub" / "b"):
        with pytest.raises(VerievalError, match="lies in the run folder"):
            write_bundle(bundle, target, run)
    assert digest(run) == before


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("google/gemma-4-31b", "google/gemma-4-31b"),
        ("openai:gpt-x@https://internal.example/v1", "gpt-x"),
        ("/home/me/ckpt/mine", "mine"),
        ("../ckpt", "ckpt"),
        ("~/ckpt/", "ckpt"),
        (None, None),
        ("", None),
    ],
)
def test_names_without_addresses(source: str | None, name: str | None) -> None:
    assert public_name(source) == name


# ---- what must be stated ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (About(), r"licence \(--licence\) and a contact \(--contact\)"),
        (About(licence="MIT"), r"say a contact \(--contact\), which the run does not know; give it"),
        (About(licence=" ", contact="me"), "--licence"),
        (About(licence="x" * 2000, contact="me"), "--licence has 2000 characters"),
    ],
)
def test_what_is_missing_is_said(about: About, words: str, scored: Path, suite: Benchmark) -> None:
    with pytest.raises(VerievalError, match=words):
        build_bundle(scored, suite, about)


def test_about_file(tmp_path: Path) -> None:
    path = tmp_path / "about.yaml"
    path.write_text("licence: MIT\ncontact: 'me'\ntraining_data: some\nloss: null\n")
    assert read_about(path) == {"licence": "MIT", "contact": "me", "training_data": "some"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("licens: MIT\n", "no field `licens`"),
        ("licence: 3\n", "must be a text"),
        ("- licence\n", "must be a YAML mapping"),
        ("licence: *x\n", "aliases"),
        ("licence: [\n", "not plain YAML"),
    ],
)
def test_about_files_that_are_none(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "about.yaml"
    path.write_text(text)
    with pytest.raises(VerievalError, match=words):
        read_about(path)
    with pytest.raises(VerievalError, match="cannot be read"):
        read_about(tmp_path / "other.yaml")


# ---- runs that are refused ----------------------------------------------------------------------------------------


def change(name: str, edit: Callable[[list[dict[str, Any]]], None]) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        rows = lines(run / name)
        edit(rows)
        write_lines(run / name, rows)

    return apply


def change_manifest(path: str, value: Any) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_text())
        *sections, name = path.split(".")
        place = manifest
        for section in sections:
            place = place[section]
        place[name] = value(place.get(name)) if callable(value) else value
        (run / "manifest.json").write_text(json.dumps(manifest))

    return apply


def earlier_manifest(path: str, value: Any) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        present = (run / "manifest.json").read_text()
        change_manifest(path, value)(run)
        (run / "manifest.json").rename(run / "manifest.1.json")
        (run / "manifest.json").write_text(present)

    return apply


def torn(name: str) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        (run / name).write_bytes((run / name).read_bytes()[:-10])

    return apply


COMPLETIONS, VERDICTS = "completions.jsonl", "verdicts.jsonl"
REFUSED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a sample is missing": (change(COMPLETIONS, lambda rows: rows.pop(3)), "has no completion"),
    "a verdict is missing": (change(VERDICTS, lambda rows: rows.pop(3)), "has no verdict"),
    "all verdicts are missing": (lambda run: (run / VERDICTS).unlink(), "was not finished"),
    "a fault of the harness": (
        change(VERDICTS, lambda rows: rows[0].update(outcome="harness", stage="none")),
        "met a fault of the harness",
    ),
    "a hidden retry": (
        change(COMPLETIONS, lambda rows: rows.append(rows[0] | {"text": "another"})),
        "is there more than once: a hidden retry",
    ),
    "the same row twice": (change(COMPLETIONS, lambda rows: rows.append(rows[0])), "hidden retry"),
    "a sample beyond n": (change(COMPLETIONS, lambda rows: rows.append(rows[0] | {"sample": 2})), "was not asked for"),
    "a task that is not asked": (
        change(COMPLETIONS, lambda rows: rows.append(rows[0] | {"task_id": "other"})),
        "was not asked for",
    ),
    "a verdict without a text": (
        change(VERDICTS, lambda rows: rows.append(rows[0] | {"sample": 2})),
        "was not asked for",
    ),
    "an edited text": (
        change(COMPLETIONS, lambda rows: rows[1].update(text=rows[0]["text"].replace("Here", "x"))),
        "has a verdict on other code",
    ),
    "two verdicts that differ": (
        change(VERDICTS, lambda rows: rows.append(rows[0] | {"code": "zz"})),
        "two verdicts on sample",
    ),
    "another seed": (change(COMPLETIONS, lambda rows: rows[4].update(seed=1)), "another seed than the run's seed 7"),
    "a row without a seed": (change(COMPLETIONS, lambda rows: rows[4].update(seed=None)), "of several runs"),
    "too many tokens": (change(COMPLETIONS, lambda rows: rows[4].update(completion_tokens=5000)), "more tokens than"),
    "another prompt": (change(COMPLETIONS, lambda rows: rows[4].update(prompt_tokens=1)), "had different prompts"),
    "a selection of tasks": (change_manifest("benchmark.tasks", lambda tasks: tasks[:-1]), r"is over \d+ of \d+ tasks"),
    "another benchmark": (change_manifest("benchmark.sha256", "0" * 64), "the benchmark hash is 0000"),
    "unequal n": (change_manifest("sampling.n_by_task", {"a": 1}), "unequal numbers"),
    "another version": (change_manifest("verieval", "0.0.1"), "was judged by verieval 0.0.1"),
    "another extraction": (change_manifest("extraction.version", -1), "`extraction` is"),
    "another manifest": (earlier_manifest("sampling.temperature", 0.2), "mixes protocols: `sampling.temperature`"),
    "another manifest of another model": (
        earlier_manifest("model.sha256", "9" * 64),
        "mixes protocols: `model.sha256`",
    ),
    "a manifest that is none": (lambda run: (run / "manifest.3.json").write_text("[") and None, "is not JSON"),
    "another set of completions": (lambda run: (run / "completions.1.jsonl").touch(), "one set of completions"),
    "a cut line": (torn(COMPLETIONS), "ends within a line"),
    "a cut verdict": (torn(VERDICTS), "ends within a line"),
    "a damaged line": (lambda run: (run / COMPLETIONS).write_text("{\n"), "not JSON"),
    "no manifest": (lambda run: (run / "manifest.json").unlink(), "not a run folder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_that_is_refused(name: str, run: Path, suite: Benchmark, tmp_path: Path) -> None:
    edit, words = REFUSED[name]
    edit(run)
    before = digest(run)
    with pytest.raises(VerievalError, match=words) as caught:
        build_bundle(run, suite, ABOUT)
    assert str(run) in str(caught.value)
    assert digest(run) == before


def test_a_run_that_is_written_to(run: Path, suite: Benchmark) -> None:
    with (run / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(VerievalError, match="is writing to"):
            build_bundle(run, suite, ABOUT)


# ---- runs that are not --------------------------------------------------------------------------------------------

TAKEN: dict[str, Callable[[Path], None]] = {
    "judged again after a fault of the harness": change(
        VERDICTS, lambda rows: rows.insert(0, rows[0] | {"outcome": "harness", "stage": "none"})
    ),
    "the same verdict twice": change(VERDICTS, lambda rows: rows.append(rows[0] | {"seconds": {"compile": 1.0}})),
    "judged again by another toolchain": earlier_manifest("toolchain.icarus", "10.0"),
    "without a lock file": lambda run: (run / ".lock").unlink(),
    "with a stale report": lambda run: (run / "report.json").write_text("{}") and None,
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_run_that_is_taken(name: str, run: Path, suite: Benchmark, bundle: Bundle) -> None:
    TAKEN[name](run)
    found = build_bundle(run, suite, ABOUT)
    assert found.contents.report == bundle.contents.report
    assert found.contents.completions == bundle.contents.completions


def test_completions_made_elsewhere(run: Path, suite: Benchmark) -> None:
    """Nothing is known of how they were made, and that is what the submission says."""
    change(COMPLETIONS, lambda rows: [row.update(seed=None, finish_reason="") for row in rows] and None)(run)
    for section, value in {
        "model": {"source": None},
        "prompt": {"template": None, "sha256": None},
        "sampling": {"n": 2},
        "engine": {"name": None},
        "source": {"path": "/home/someone/x.jsonl", "format": "verieval", "sha256": "2" * 64},
    }.items():
        change_manifest(section, value)(run)
    with pytest.raises(VerievalError, match="the model's name"):
        build_bundle(run, suite, dataclasses.replace(ABOUT, model=None))
    found = build_bundle(run, suite, dataclasses.replace(ABOUT, prompt_sha256="3" * 64)).contents.submission
    assert found["source"] == {"format": "verieval", "sha256": "2" * 64}
    assert found["prompt"] == {"template": "not stated", "sha256": "3" * 64, "chat_template_sha256": "not stated"}


def test_any_text_can_be_stated(scored: Path, suite: Benchmark) -> None:
    odd = "a|b `c` \n# d\x1b[2J \ud800 \N{SNOWMAN} ' \" : - &x *y"
    found = build_bundle(scored, suite, dataclasses.replace(ABOUT, model=odd, training_data=odd))
    assert found.contents.submission["model"]["name"] == odd
    assert b"\x1b" not in found.files[archive.README]
    assert all(line.count("|") >= 3 for line in found.files[archive.README].decode().splitlines() if line[:1] == "|")
