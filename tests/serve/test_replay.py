from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from serve.engines import open_engine
from verieval.completion import Completion, Request, Sampling
from verieval.errors import VerievalError
from verieval.task import Benchmark, Task, Testbench

TASKS = tuple(Task(name, "do it", "m", Testbench((), None), aliases=(f"{name}-old",)) for name in ("a", "b"))
BENCHMARK = Benchmark("tiny", "", TASKS, "verieval")
REQUESTS = [Request(task.id, sample, (), 0) for task in TASKS for sample in range(2)]


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"replay:{path}"


def test_stored_completions_answer_in_the_order_of_the_requests(tmp_path: Path) -> None:
    model = write(
        tmp_path / "c.jsonl",
        [
            {
                "task_id": "b",
                "sample": 0,
                "text": "B0 \u00e9",
                "finish_reason": "length",
                "completion_tokens": 3,
                "seed": 9,
            },
            {"task_id": "a-old", "sample": 1, "text": "A1"},
            {"task_id": "elsewhere", "sample": 0, "text": "?"},
        ],
    )
    engine = open_engine(model, benchmark=BENCHMARK)
    assert list(engine.generate(REQUESTS, Sampling(n=2))) == [
        Completion("a", 1, "A1"),
        Completion("b", 0, "B0 \u00e9", "length", None, 3, 9),
    ]
    described = engine.describe()
    assert described["model"]["sha256"] == hashlib.sha256((tmp_path / "c.jsonl").read_bytes()).hexdigest()
    assert described["model"]["source"] == model
    assert described["engine"]["name"] == "replay"


def test_samples_without_number_and_the_key_completion(tmp_path: Path) -> None:
    model = write(tmp_path / "c.jsonl", [{"task_id": "a", "completion": text} for text in ("one", "two")])
    got = list(open_engine(model, benchmark=BENCHMARK).generate(REQUESTS, Sampling(n=2)))
    assert [(row.task_id, row.sample, row.text) for row in got] == [("a", 0, "one"), ("a", 1, "two")]


def test_faults_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match="does not exist"):
        open_engine(f"replay:{tmp_path / 'gone.jsonl'}", benchmark=BENCHMARK)
    (tmp_path / "bad.jsonl").write_text('{"task_id": "a", "sample": 0, "text": "x"}\n{"task_id": \n')
    with pytest.raises(VerievalError, match=r"bad\.jsonl:2"):
        open_engine(f"replay:{tmp_path / 'bad.jsonl'}", benchmark=BENCHMARK)
    with pytest.raises(VerievalError, match="needs to know the benchmark"):
        open_engine(f"replay:{tmp_path / 'bad.jsonl'}")
