"""Completions from elsewhere: every format, by its content, and what is wrong with one by file and line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path, PurePath

import pytest
from fake_run import fake_manifest

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.run.folders import parse_name
from verieval.run.readers import read_any, turtle_names
from verieval.run.store import MAX_TEXT, RunStore
from verieval.task import Benchmark, SourceFile, Task, Testbench

BENCH = Testbench((SourceFile("tb.v", "module tb; endmodule"),), "tb")
NAMES = ("Prob001_zero", "counter_12", "adder_8bit", "basic1")
ALIASES = {"adder_8bit": ("adder8",), "basic1": ("wire_assign",)}
BENCHMARK = Benchmark(
    "toy", "", tuple(Task(n, "", n, BENCH, aliases=ALIASES.get(n, ())) for n in NAMES), rule="toy", commit=None
)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def found(path: Path, **options: bool) -> dict[tuple[str, int], str]:
    return {(c.task_id, c.sample): c.text for c in read_any(path, BENCHMARK, **options).completions}


def test_own_rows_keep_every_field(tmp_path: Path) -> None:
    row = {"task_id": "adder8", "sample": 1, "text": "```\nx\n```", "finish_reason": "length", "prompt_tokens": 3}
    reading = read_any(
        write(tmp_path / "c.jsonl", row, {"task_id": "Prob001_zero", "sample": 0, "text": ""}), BENCHMARK
    )
    assert (reading.format, reading.extraction) == ("verieval", "auto")
    # The benchmark's own name instead of the alias, and its order of tasks.
    assert reading.completions == (
        Completion("Prob001_zero", 0, ""),
        Completion("adder_8bit", 1, "```\nx\n```", "length", 3),
    )


def test_v1_samples_are_counted_in_their_order(tmp_path: Path) -> None:
    path = write(
        tmp_path / "samples.jsonl",
        {"task_id": "counter_12", "completion": "a"},
        {"task_id": "basic1", "completion": "b"},
        {"task_id": "counter_12", "completion": "c"},
    )
    reading = read_any(path, BENCHMARK)
    assert (reading.format, reading.extraction) == ("verilog-eval-v1", "auto")
    assert found(path) == {("counter_12", 0): "a", ("counter_12", 1): "c", ("basic1", 0): "b"}


def test_numbered_samples(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        {"task_id": "counter_12", "sample": 4, "completion": "a"},
        {"task_id": "counter_12", "sample": 2, "completion": "b"},
    )
    assert read_any(path, BENCHMARK).format == "samples"
    assert found(path) == {("counter_12", 4): "a", ("counter_12", 2): "b"}


def test_turtle_results(tmp_path: Path) -> None:
    def row(path: str, code: str | None, **more: str) -> dict[str, object]:
        return {"prompt": "", "test_path": path, "ref_path": "", "reasoning": None, "generation": code, **more}

    path = tmp_path / "t.json"
    v2 = "turtle/tasks/verilog-eval/dataset_spec-to-rtl/Prob001_zero_test.sv"
    rtllm = "turtle/tasks/RTLLM/Arithmetic/Adder/adder_8bit/testbench.v"
    verigen = "turtle/tasks/Vgen/Benchmark/basic1/tb_wire_assign.v"
    path.write_text(
        json.dumps([[row(v2, "a"), row(v2, "b")], [row(rtllm, None)], [row(verigen, "c", task_id="basic1-prompt2_x")]])
    )
    reading = read_any(path, BENCHMARK)
    assert (reading.format, reading.extraction) == ("turtle", "verbatim")
    assert found(path) == {
        ("Prob001_zero", 0): "a",
        ("Prob001_zero", 1): "b",
        ("adder_8bit", 0): "",
        ("basic1", 0): "c",
    }


def test_turtle_names_put_the_likeliest_first() -> None:
    path = "turtle/tasks/Vgen/Benchmark/intermediate3/tb_lfsr.v"
    assert turtle_names({"test_path": path}) == ("tb_lfsr", "intermediate3", "intermediate3_lfsr", "lfsr")


@pytest.mark.parametrize(
    ("name", "task", "number"),
    [
        ("Prob001_zero_sample01.sv", "Prob001_zero", 1),
        ("Prob001_zero/Prob001_zero_sample20.sv", "Prob001_zero", 20),
        ("counter_12.v", "counter_12", None),
        ("counter_12_3.v", "counter_12", 3),
        ("counter_12/3.sv", "counter_12", 3),
        ("counter_12/counter_12.v", "counter_12", None),
        ("counter_12/sample_3.sv", "counter_12", 3),
        ("adder8-2.v", "adder8", 2),
        ("t5/adder_8bit.v", "adder_8bit", 5),
        ("gpt4/t5/adder_8bit.v", "adder_8bit", 5),
        ("gpt4/adder_8bit.v", "adder_8bit", None),
        ("unknown_7.v", "unknown_7", None),
        ("12.v", "12", None),
    ],
)
def test_names_of_files(name: str, task: str, number: int | None) -> None:
    assert parse_name(PurePath(name), BENCHMARK.by_id) == (task, number)


@pytest.mark.parametrize(("first", "samples"), [(0, [0, 1]), (1, [0, 1]), (2, [2, 3])])
def test_numbers_count_from_0_or_from_1(tmp_path: Path, first: int, samples: list[int]) -> None:
    for number in (first, first + 1):
        (tmp_path / f"Prob001_zero_sample{number:02}.sv").write_text(f"// {number}")
    (tmp_path / ".hidden.v").write_text("no")
    (tmp_path / "notes.txt").write_text("no")
    assert [sample for _, sample in found(tmp_path)] == samples
    reading = read_any(tmp_path, BENCHMARK)
    assert (reading.format, reading.extraction) == ("folder", "verbatim")


def test_bytes_that_are_not_utf8_are_noted(tmp_path: Path) -> None:
    (tmp_path / "basic1.v").write_bytes(b"// caf\xe9\r\nmodule m; endmodule\r\n")
    reading = read_any(tmp_path, BENCHMARK)
    assert reading.completions[0].text == "// caf\ufffd\r\nmodule m; endmodule\r\n"
    assert "not UTF-8" in reading.describe()["notes"][0]


def test_a_run_folder(tmp_path: Path) -> None:
    row = Completion("basic1", 0, "x", "stop", 1, 2, 3)
    with RunStore(tmp_path / "run", fake_manifest(["basic1"], 1)) as store:
        store.append_completions([row])
    reading = read_any(tmp_path / "run", BENCHMARK)
    assert (reading.format, reading.extraction, reading.completions) == ("run", "auto", (row,))
    assert reading.manifest == fake_manifest(["basic1"], 1)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bin"])
def test_gzip_bom_and_crlf(tmp_path: Path, suffix: str) -> None:
    text = (
        '\ufeff{"task_id": "basic1", "sample": 0, "text": "x"}\r\n\r\n{"task_id": "basic1", "sample": 1, "text": "y"}'
    )
    data = text.encode()
    path = tmp_path / f"c.jsonl{suffix}"
    path.write_bytes(gzip.compress(data) if suffix else data)
    assert found(path) == {("basic1", 0): "x", ("basic1", 1): "y"}


OWN = '{"task_id": "basic1", "sample": 0, "text": "x"}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("module m; endmodule", "neither JSONL nor JSON"),
        (OWN + '{"task_id": "bas', "f:2: this line is not JSON"),
        (OWN + "[]\n", "f:2: expected a JSON object"),
        (OWN + '{"task_id": "basic1", "sample": 1, "completion": "y"}', "f:2: a completion needs a string `text`"),
        (OWN + '{"task_id": "basic1", "sample": -1, "text": "y"}', "f:2: a row needs `sample`, a number from 0"),
        (OWN + '{"task_id": "basic1", "sample": 99999, "text": "y"}', "f:2: sample 99999 is beyond 9999"),
        (OWN + OWN, "f:2: sample 0 of basic1 is there already"),
        (OWN + OWN.replace("basic1", "wire_assign"), "f:2: sample 0 of basic1 is there already"),
        ('{"id": 1}', "f:1: a row needs `task_id` and `text` or `completion`, this one has `id`"),
        ("{}", "this one has nothing"),
        ('{"task_id": 7, "completion": "y"}', "f:1: a row needs a string `task_id`"),
        ('{"task_id": "basic1", "completion": null}', "f:1: a row needs a string `completion`"),
        (
            '{"task_id": "basic1", "completion": "y"}\n{"task_id": "basic1", "sample": 1, "completion": "y"}',
            "f:2: has a `sample`, though the rows before have none",
        ),
        (
            '{"task_id": "basic1", "sample": 1, "completion": "y"}\n{"task_id": "basic1", "completion": "y"}',
            "f:2: no `sample`, though the rows before have one",
        ),
        ("[[", "is not JSON"),
        ("[1]", "entry 0 is no list"),
        ("[[1]]", "entry 0, sample 0 has no `test_path`"),
        ('[[{"test_path": "a/Prob001_zero_test.sv", "generation": 5}]]', "`generation` is a int"),
        ("[]", "holds no completion for toy"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(VerievalError, match=re.escape(words)) as caught:
        read_any(tmp_path / "f", BENCHMARK)
    assert "\n" not in str(caught.value)


def test_damaged_gzip_and_missing_paths(tmp_path: Path) -> None:
    (tmp_path / "f.gz").write_bytes(gzip.compress(OWN.encode() * 100)[:-30])
    with pytest.raises(VerievalError, match="damaged gzip"):
        read_any(tmp_path / "f.gz", BENCHMARK)
    with pytest.raises(VerievalError, match="does not exist"):
        read_any(tmp_path / "nothing", BENCHMARK)
    (tmp_path / "empty").mkdir()
    with pytest.raises(VerievalError, match=r"neither completions\.jsonl nor a \.v or \.sv file"):
        read_any(tmp_path / "empty", BENCHMARK)


def test_unknown_tasks_are_listed_or_skipped(tmp_path: Path) -> None:
    known, unknown = {"task_id": "basic1", "sample": 0, "text": "x"}, [f"other{i}" for i in range(4)]
    rows = [{"task_id": name, "sample": 0, "text": ""} for name in unknown]
    path = write(tmp_path / "f", known, *rows)
    with pytest.raises(VerievalError, match=r"4 tasks .* not in toy \(other0, other1, other2, …\).*--skip-unknown"):
        read_any(path, BENCHMARK)
    reading = read_any(path, BENCHMARK, skip_unknown=True)
    assert [c.task_id for c in reading.completions] == ["basic1"]
    assert reading.describe()["skipped_tasks"] == unknown
    path = write(tmp_path / "g", *rows)
    with pytest.raises(VerievalError, match=r"no task of .* is in toy .*; check --benchmark"):
        read_any(path, BENCHMARK)
    with pytest.raises(VerievalError, match="holds no completion for toy"):
        read_any(path, BENCHMARK, skip_unknown=True)


def test_published_files_are_read_whole(data_dir: Path, completions_dir: Path) -> None:
    """The counts that the files' own README states."""
    from verieval.benchmarks import load

    turtle = completions_dir / "turtle_gemini-2.5-flash_verilog_eval_rtl.json"
    reading = read_any(turtle, load("verilog-eval:spec-to-rtl", data_dir))
    assert (reading.format, len(reading.completions)) == ("turtle", 780)
    assert {c.sample for c in reading.completions} == set(range(5))
    assert len({c.task_id for c in reading.completions}) == 156
    reading = read_any(completions_dir / "rtllm_chatgpt35.jsonl", load("rtllm", data_dir))
    assert (reading.format, len(reading.completions)) == ("samples", 145)
    assert len({c.task_id for c in reading.completions}) == 29


@pytest.mark.parametrize("own", [True, False])
def test_a_text_that_no_model_writes(own: bool, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    key = {"task_id": "basic1", "sample": 0} if own else {"task_id": "basic1"}
    name = "text" if own else "completion"
    write(path, key | {name: "x" * MAX_TEXT})
    assert len(found(path)["basic1", 0]) == MAX_TEXT
    write(path, key | {name: "x" * (MAX_TEXT + 1)})
    with pytest.raises(VerievalError, match=r"c\.jsonl:1: the completion has 4,194,305 characters, and 4,194,304 are"):
        read_any(path, BENCHMARK)
