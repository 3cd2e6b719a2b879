"""The run folder: one writer, resume, damage."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_run import TASKS, fake_manifest, fake_verdict

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.run import read_run
from verieval.run.store import RunStore, verdict_row

A = Completion("task0", 0, "module a; endmodule\n", "stop", 5, 7, 11)
B = Completion("task0", 1, "\ud800\x00", "length")


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    verdict = replace(fake_verdict("task0", 0, True), repaired_passed=True, mismatches=0, samples=20)
    with RunStore(tmp_path / "run", fake_manifest()) as store:
        store.append_completions([A, B])
        store.append_verdict(verdict)
    run = read_run(tmp_path / "run")
    assert run.completions == (A, B)
    assert run.verdicts == (verdict,)
    assert run.task_ids == TASKS
    assert run.n == 3
    row = json.loads((tmp_path / "run" / "completions.jsonl").read_text().splitlines()[0])
    assert list(row) == [
        "task_id",
        "sample",
        "text",
        "finish_reason",
        "prompt_tokens",
        "completion_tokens",
        "seed",
    ]


def test_the_manifest_comes_first_and_stays(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest(started="first")) as store:
        assert json.loads((tmp_path / "manifest.json").read_text())["started"] == "first"
        store.append_completions([A])
    with RunStore(tmp_path, fake_manifest(started="second", command=["other"], machine={"cpus": 99})) as store:
        assert store.completions == {("task0", 0): A}
    assert read_run(tmp_path).manifest["started"] == "first"


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest()):
        again = "from fake_run import *; RunStore(Path(__import__('sys').argv[1]), fake_manifest())"
        done = subprocess.run(
            [sys.executable, "-c", again, str(tmp_path)], capture_output=True, text=True, cwd=Path(__file__).parent
        )
        assert "another verieval process is writing to" in done.stderr
    with RunStore(tmp_path, fake_manifest()):
        pass  # the lock is free again


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sampling__temperature": 0.2}, "sampling.temperature was 0.8 and is now 0.2"),
        ({"sampling__n": 5}, "sampling.n was 3 and is now 5"),
        ({"benchmark__tasks": ["task0"]}, 'benchmark.tasks was 5 entries and is now ["task0"]'),
        ({"benchmark__sha256": "c" * 64}, "benchmark.sha256 was"),
        ({"prompt__sha256": "q" * 64}, "prompt.sha256 was"),
        ({"model__source": "other"}, 'model.source was "fake" and is now "other"'),
        ({"toolchain__icarus": "11.0"}, 'toolchain.icarus was "12.0" and is now "11.0"'),
        ({"engine__batch_size": 4}, "engine.batch_size was absent and is now 4"),
        ({"limits__simulate_cpu": 5.0}, "limits.simulate_cpu was 30.0 and is now 5.0"),
        ({"verieval": "9.0"}, 'verieval was "0.1.0" and is now "9.0"'),
        ({"extraction": {}}, 'extraction.mode was "auto" and is now absent'),
    ],
)
def test_another_protocol_is_refused_by_name(tmp_path: Path, change: dict[str, object], words: str) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([A])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(VerievalError, match=re.escape(words)) as caught:
        RunStore(tmp_path, fake_manifest(**change))
    assert "--out" in str(caught.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_moved_checkpoint_with_the_same_hash_is_the_same_model(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest(model={"source": "/a", "sha256": "x"})):
        pass
    with RunStore(tmp_path, fake_manifest(model={"source": "/b", "sha256": "x"})):
        pass
    with pytest.raises(VerievalError, match=r"model\.sha256"):
        RunStore(tmp_path, fake_manifest(model={"source": "/a", "sha256": "y"}))


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(VerievalError, match=r"not empty and not a run folder \(it holds thesis\.tex\)"):
        RunStore(tmp_path, fake_manifest())
    (tmp_path / "file").write_text("")
    with pytest.raises(VerievalError, match="a file is in the way"):
        RunStore(tmp_path / "file", fake_manifest())


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("completions.jsonl", '{"task_id": "task0", "sample": 0}', "needs a string `text`"),
        ("completions.jsonl", '{"task_id": "task0", "sample": true, "text": ""}', "a number from 0"),
        ("completions.jsonl", '{"sample": 0, "text": ""}', "string `task_id`"),
        ("completions.jsonl", "nonsense", "not JSON"),
        ("verdicts.jsonl", '{"task_id": "task0", "sample": 0, "outcome": "great"}', "unknown outcome 'great'"),
        ("verdicts.jsonl", '{"task_id": "task0", "sample": 0, "outcome": "crash", "passed": {}}', "`passed` must say"),
        (
            "verdicts.jsonl",
            '{"task_id": "task0", "sample": 0, "outcome": "crash", "passed": {"strict": false, "official": false}}',
            "no `stage`",
        ),
        *(
            ("completions.jsonl", '{"task_id": "task0", "sample": 0, "text": "", ' + field + "}", words)
            for field, words in (
                ('"finish_reason": [1]', "`finish_reason` must be one of stop, length, error, or empty, not [1]"),
                ('"finish_reason": null', "`finish_reason` must be"),
                ('"prompt_tokens": NaN', "NaN is no number of JSON"),
                ('"prompt_tokens": -1', "`prompt_tokens` must be a whole number from 0, or null, not -1"),
                ('"completion_tokens": true', "`completion_tokens` must be"),
                ('"seed": {}', "`seed` must be a whole number, or null, not {}"),
                ('"seed": 1.5', "`seed` must be"),
            )
        ),
        *(
            (
                "verdicts.jsonl",
                '{"task_id": "task0", "sample": 0, "outcome": "crash", "passed": {"strict": false, "official": false}, '
                + ("" if '"stage"' in field else '"stage": "compiled", ')
                + field
                + "}",
                words,
            )
            for field, words in (
                ('"stage": 9', "`stage` must be one of extracted, "),
                ('"stage": ["none"]', "`stage` must be one of"),
                ('"seconds": {"compile": "long"}', "`seconds` must be an object of numbers"),
                ('"seconds": {"compile": 1e999}', "1e999 is beyond every number"),
                ('"seconds": {"compile": 1' + 400 * "0" + "}", "is beyond every number"),
                ('"stage": "compiled", "stage": "none"', 'the key "stage" stands twice'),
                ('"seconds": {"compile": Infinity}', "Infinity is no number of JSON"),
                ('"seconds": 3', "`seconds` must be"),
                ('"detail": null', "`detail` must be a text, not null"),
                ('"samples": "20"', "`samples` must be a whole number from 0, or null"),
                ('"mismatches": 0.5', "`mismatches` must be"),
                ('"code": 7', "`code` must be a text"),
                ('"source_sha256": 7', "`source_sha256` must be a text"),
                ('"extraction": []', "`extraction` must be an object"),
                ('"repaired_passed": "yes"', "`repaired_passed` must be true, false or null"),
            )
        ),
    ],
)
def test_damage_is_named_by_file_and_line(tmp_path: Path, name: str, line: str, words: str) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([B])
        store.append_verdict(fake_verdict("task0", 1, False))
    with (tmp_path / name).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(VerievalError, match=re.escape(f"{name}:2: ")) as caught:
        read_run(tmp_path)
    assert words in str(caught.value)
    with pytest.raises(VerievalError, match=re.escape(f"{name}:2: ")):
        RunStore(tmp_path, fake_manifest())


def test_the_same_sample_twice_is_damage(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([A, A])
    with pytest.raises(VerievalError, match=r"completions\.jsonl:2: sample 0 of task0 is there twice"):
        read_run(tmp_path)


@pytest.mark.parametrize("row", [Completion("other", 0, ""), Completion("task0", 3, "")])
def test_a_sample_that_was_not_asked_for_is_damage(tmp_path: Path, row: Completion) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([row])
    for opened in (read_run, lambda path: RunStore(path, fake_manifest())):
        with pytest.raises(VerievalError, match=f"holds sample {row.sample} of {row.task_id}, which its manifest"):
            opened(tmp_path)


def test_of_two_verdicts_the_later_counts(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_verdict(fake_verdict("task0", 0, False))
        store.append_verdict(fake_verdict("task0", 0, True))
    assert read_run(tmp_path).verdicts == (fake_verdict("task0", 0, True),)


def test_replacing_verdicts_keeps_the_old_ones(tmp_path: Path) -> None:
    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([A])
        store.append_verdict(fake_verdict("task0", 0, False))
    old = {name: (tmp_path / name).read_bytes() for name in ("manifest.json", "verdicts.jsonl")}
    with RunStore(tmp_path, fake_manifest(toolchain__icarus="11.0"), replace_verdicts=True) as store:
        assert store.completions == {("task0", 0): A}
        assert store.verdicts == {}
    assert read_run(tmp_path).manifest["toolchain"]["icarus"] == "11.0"
    assert json.loads((tmp_path / "manifest.1.json").read_bytes()) == json.loads(old["manifest.json"])
    assert (tmp_path / "verdicts.1.jsonl").read_bytes() == old["verdicts.jsonl"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "not a run folder: it has no manifest.json"),
        ("{", "is not JSON"),
        ("[]", "not a manifest of VeriEval"),
        ('{"schema": 99}', "schema 99, this version reads up to 1"),
        ('{"schema": true}', "not a manifest of VeriEval"),
        ('{"schema": 1}', "`benchmark` must be an object, not absent"),
        ('{"schema": 1, "seed": NaN}', "NaN is no number of JSON"),
    ],
)
def test_no_run_is_said_to_be_none(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(VerievalError, match=re.escape(words)):
        read_run(tmp_path)


@pytest.mark.parametrize("value", [None, 7, "text", [], [[1]], {"x": []}, {}], ids=str)
@pytest.mark.parametrize(
    "field",
    [
        "benchmark", "model", "prompt", "sampling", "extraction", "engine", "toolchain", "criterion", "source",
        "benchmark__name", "benchmark__variant", "benchmark__sha256", "benchmark__commit", "benchmark__tasks",
        "benchmark__errata", "model__source", "sampling__n", "sampling__n_by_task", "extraction__mode",
        "criterion__headline", "toolchain__icarus", "limits", "machine", "command", "started", "verieval",
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_a_sentence_or_a_report(tmp_path: Path, field: str, value: object) -> None:
    """Whatever stands in a field: the run is refused by the file and the field's name, or everything reads it."""
    from verieval.report.compare import compare_runs
    from verieval.report.summary import build_report
    from verieval.report.terminal import plain, sections
    from verieval.run.readers import Reading

    (tmp_path / "manifest.json").write_text(json.dumps(fake_manifest(**{field: value})))
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(verdict_row(fake_verdict("task0", 0, True))) + "\n")
    try:
        run = read_run(tmp_path)
    except VerievalError as error:
        section = field.partition("__")[0]
        assert re.search(rf"manifest\.json: `{section}[.\w]*` must be ", str(error))  # noqa: PT017
        return
    plain(sections(build_report(run), run.manifest))
    compare_runs(run, run)
    reading = Reading(tmp_path, "run", "", "auto", (), manifest=run.manifest)
    assert reading.default_n([A]) >= 1


def test_every_section_that_is_read_is_needed(tmp_path: Path) -> None:
    for section in ("benchmark", "model", "prompt", "sampling", "extraction", "engine", "toolchain", "criterion"):
        manifest = fake_manifest()
        del manifest[section]
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(VerievalError, match=rf"manifest\.json: `{section}` must be an object, not absent; restore"):
            read_run(tmp_path)
