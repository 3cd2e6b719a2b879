"""``verieval bench overlap`` and ``verieval report --distinct`` as a user calls them."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from verieval import benchmarks


def verieval(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verieval", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture
def train(tmp_path: Path) -> Path:
    task = benchmarks.load("verieval").tasks[3]
    renamed = (task.reference or "").replace(task.module, "something_else")
    rows = [
        {"prompt": "An and gate.", "completion": "module g(input a, b, output y); assign y = a & b; endmodule"},
        {"prompt": task.prompt, "completion": f"Sure:\n```verilog\n{renamed}\n```"},
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\nbroken\n{\x1b[2J\n")
    return path


def test_json(train: Path) -> None:
    task = benchmarks.load("verieval").tasks[3]
    done = verieval("bench", "overlap", train, "verieval", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(hit["row"], hit["task"], hit["kind"], hit["score"]) for hit in found["hits"]] == [
        (2, task.id, "reference exact", 1.0),
        (2, task.id, "spec exact", 1.0),
    ]
    assert set(found["hits"][0]) == {"row", "benchmark", "task", "kind", "score", "size", "found", "original"}
    assert found["hits"][0]["found"].startswith("module something_else")
    assert found["bad"] == {"not JSON": {"count": 2, "first": [3, 4]}}
    assert (found["rows"], found["flagged_rows"], found["flagged_tasks"]) == (2, 1, 1)
    assert found["thresholds"] == {"reference": 0.7, "spec": 0.4}


def test_text(train: Path) -> None:
    done = verieval("bench", "overlap", train, "verieval", "--threshold", "0.9", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "row 2: reference exact 1.00, verieval " in done.stdout
    total = "2 rows: 1 clean, 1 with something of the benchmark (1 task; reference exact 1, spec exact 1)"
    assert done.stdout.splitlines()[-2:] == [total, "2 lines that are no rows: not JSON (lines 3, 4)"]
    assert done.stderr == ""


AND = json.dumps({"text": "An and gate."})


@pytest.mark.parametrize(
    ("clean", "dirty", "text"),
    [
        (1, 0, "1 row: 1 clean, 0 with something of the benchmark"),
        (3, 0, "3 rows: 3 clean, 0 with something of the benchmark"),
        (0, 1, "1 row: 0 clean, 1 with something of the benchmark (1 task; spec exact 1)"),
        (1, 2, "3 rows: 1 clean, 2 with something of the benchmark (1 task; spec exact 2)"),
    ],
)
def test_the_total_says_how_many_rows_are_clean(tmp_path: Path, clean: int, dirty: int, text: str) -> None:
    task = benchmarks.load("verieval").tasks[3]
    path = tmp_path / "train.jsonl"
    path.write_text(f"{AND}\n" * clean + (json.dumps({"text": task.prompt}) + "\n") * dirty)
    words = ("bench", "overlap", path, "verieval", "--tasks", task.id)
    done = verieval(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == text
    found = json.loads(verieval(*words, "--json").stdout)
    assert (found["rows"], found["clean_rows"], found["flagged_rows"]) == (clean + dirty, clean, dirty)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no row: it is empty, or holds blank lines only"),
        (b"\n \n\r\n", "has no row: it is empty, or holds blank lines only"),
        (gzip.compress(b""), "has no row: it is empty, or holds blank lines only"),
        (b"prompt,completion\n", "has no row: its only line is none (not JSON: line 1)"),
        (b"prompt,completion\nx,y\n{}\n", "none of its 3 lines is one (not JSON: lines 1, 2; no text in it: line 3)"),
        ("parquet", "has no row: "),
        (None, "has no row: it is empty, or holds blank lines only"),
    ],
    ids=["empty", "blank", "gzip", "head", "lines", "parquet", "null"],
)
@pytest.mark.parametrize("more", [(), ("--json", "--jobs", "2")])
def test_a_file_without_rows_is_no_clean_file(
    tmp_path: Path, content: bytes | str | None, words: str, more: tuple[str, ...]
) -> None:
    path = Path(os.devnull) if content is None else tmp_path / "train.jsonl"
    if content == "parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": pa.array([], pa.string())}), path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    done = verieval("bench", "overlap", path, "verieval", "--tasks", "hex_char", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("packed", [False, True])
def test_rows_may_come_through_a_pipe(train: Path, packed: bool) -> None:
    """As in ``verieval bench overlap <(zcat train.jsonl.gz) NAME``."""
    words = [sys.executable, "-m", "verieval", "bench", "overlap", "/dev/stdin", "verieval", "--tasks", "hex_char"]
    data = train.read_bytes()
    done = subprocess.run(words, input=gzip.compress(data) if packed else data, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == subprocess.run([*words[:5], train, *words[6:]], capture_output=True).stdout


def test_an_interrupt_promises_nothing(tmp_path: Path) -> None:
    """What was found is not kept, so the sentence must not say that the command goes on."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    command = [sys.executable, "-m", "verieval", "bench", "overlap", str(path), "verieval", "--tasks", "hex_char"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        path.open("w") as pipe,  # opens once the command reads, and gives it no end
    ):
        pipe.write(f"{AND}\n" * 300)
        pipe.flush()
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert said.startswith("verieval: stopped by SIGINT: ")
    assert said.endswith("nothing is kept of it, and the same command begins again at the first row\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nowhere.jsonl", "verieval"), "cannot be read"),
        (("{train}", "nonsense"), "nonsense"),
        (("{train}",), "NAME"),
        (("{train}", "verieval", "--threshold", "0"), "threshold"),
        (("{train}", "verieval", "rtllm", "--data", "."), "--data"),
    ],
)
def test_errors_are_sentences(train: Path, words: tuple[str, ...], sentence: str) -> None:
    done = verieval("bench", "overlap", *(word.format(train=train) for word in words))
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_distinct(toolchain: object, tmp_path: Path) -> None:
    """Four samples of one task: a design, the same under other names inside, another, and no code."""
    task = next(t for t in benchmarks.load("verieval").tasks if (t.reference or "").count("endmodule") == 1)
    code = task.reference or ""
    first, _, rest = code.partition(");")
    texts = [
        code,
        f"{first}); // the same\n{rest}",
        code.replace("endmodule", "wire more_of_it; endmodule"),
        "I cannot.",
    ]
    texts.append(code.replace("endmodule", "wire   another_name; endmodule"))
    path = tmp_path / "completions.jsonl"
    rows = [{"task_id": task.id, "sample": sample, "text": text} for sample, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = tmp_path / "run"
    scored = verieval("score", path, "--benchmark", "verieval", "--tasks", task.id, "--out", run, "--quiet")
    assert scored.returncode == 0, scored.stderr
    done = verieval("report", run, "--distinct", "--json")
    counts = {"completions": 5, "with_code": 4, "texts": 3, "designs": 2, "passed": 4, "passed_designs": 2}
    report = json.loads(done.stdout)
    assert report["distinct"]["total"] == counts
    assert report["distinct"]["tasks"] == [{"id": task.id, **counts}]
    assert json.loads((run / "report.json").read_text()) == report
    shown = verieval("report", run, "--distinct").stdout
    assert "Distinct designs" in shown
    assert "passed designs" in shown
    assert "distinct" not in json.loads(verieval("report", run, "--json").stdout)
