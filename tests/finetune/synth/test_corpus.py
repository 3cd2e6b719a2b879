"""The corpus as a file, and the command that writes it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from finetune.data.synth import corpus as module
from finetune.data.synth.corpus import write_corpus
from finetune.data.synth.families import BY_NAME
from finetune.data.synth.families.adders import Adder
from finetune.data.synth.pairs import make_pair, suite_modules
from verieval import benchmarks, protocol
from verieval.errors import VerievalError
from verieval.extract import extract
from verieval.judge import Toolchain
from verieval.verilog import modules


def lines(path: Path) -> list[dict[str, object]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def test_the_same_seed_makes_the_same_bytes_in_one_process_or_two(tmp_path: Path, toolchain: Toolchain) -> None:
    one, two, other = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz", tmp_path / "other.jsonl.gz"
    first = write_corpus(one, rows=300, seed=5, toolchain=toolchain, overlap=())
    second = write_corpus(two, rows=300, seed=5, toolchain=toolchain, overlap=(), jobs=2)
    third = write_corpus(other, rows=300, seed=6, toolchain=toolchain, overlap=())
    assert one.read_bytes() == two.read_bytes()
    assert first.sha256 == second.sha256 != third.sha256
    assert first.rows == len(lines(one)) == 300
    assert len({row["prompt"] for row in lines(one)}) == 300


def test_rows_ask_as_the_evaluation_does_and_answer_as_it_asks(tmp_path: Path, toolchain: Toolchain) -> None:
    path = tmp_path / "corpus.jsonl"
    write_corpus(path, rows=60, seed=1, toolchain=toolchain, overlap=())
    task = benchmarks.load("verieval").tasks[0]
    asked = protocol.render(protocol.preset_prompt("default"), task, "verieval")[-1].content
    head, tail = asked[: asked.index(task.prompt[:20])], asked[asked.rindex("Name the module") :]
    for row in lines(path):
        prompt, answer = str(row["prompt"]), str(row["completion"])
        (name,) = [found.name for found in modules(answer)]
        assert prompt.startswith(head)
        assert prompt.endswith(tail.replace(task.module, name))
        candidate = extract(answer, name)
        assert (candidate.method, candidate.defines_target, candidate.notes) == ("fence", True, ())


def test_both_layouts_say_the_same(tmp_path: Path, toolchain: Toolchain) -> None:
    for layout in ("prompt-completion", "chat"):
        write_corpus(tmp_path / f"{layout}.jsonl", rows=20, seed=2, toolchain=toolchain, layout=layout, overlap=())
    plain, chat = lines(tmp_path / "prompt-completion.jsonl"), lines(tmp_path / "chat.jsonl")
    for row, other in zip(plain, chat, strict=True):
        messages = other["messages"]
        assert isinstance(messages, list)
        assert [turn["role"] for turn in messages] == ["user", "assistant"]
        assert [turn["content"] for turn in messages] == [row["prompt"], row["completion"]]


def test_code_that_differs_from_its_model_is_left_out_and_counted(
    tmp_path: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adder, "outs", lambda self, state, i: {"y": i["a"] ^ i["b"] ^ 1, "cout": 0})
    summary = write_corpus(tmp_path / "corpus.jsonl", rows=256, seed=0, toolchain=toolchain, overlap=())
    assert summary.families["adder"] == 0
    assert summary.dropped["adder: differs from its model"] > 0
    assert "subtractor: differs from its model" not in summary.dropped


def test_what_a_benchmark_has_is_left_out(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    from verieval.overlap import build_index
    from verieval.task import Benchmark, Testbench

    pair = make_pair(BY_NAME["fifo"], "train", Random(4), suite_modules())
    assert pair is not None
    twin = make_pair(BY_NAME["fifo"], "train", Random(9), suite_modules())
    assert twin is not None
    maker = module.Maker(toolchain, ())
    try:
        maker.index = build_index([Benchmark("own", "", (pair.task("x", Testbench((), None)),), "verieval")])
        assert maker.overlaps(pair, module.key_of(pair))
        renamed = make_pair(BY_NAME["adder"], "train", Random(4), suite_modules())
        assert renamed is not None
        assert not maker.overlaps(renamed, module.key_of(renamed))
    finally:
        maker.checker.__exit__()


def test_no_file_is_left_when_it_fails(tmp_path: Path, toolchain: Toolchain) -> None:
    def stop(done: int, dropped: object) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        write_corpus(tmp_path / "corpus.jsonl.gz", rows=500, seed=0, toolchain=toolchain, overlap=(), progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_command(tmp_path: Path, toolchain: Toolchain) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    argv = [sys.executable, "-m", "finetune.data.synth", "--rows", "40", "--out", str(path), "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["rows"] == 40 == len(lines(path))
    assert summary["overlap"] == ["verieval"]
    assert "40 of 40 rows" in done.stderr


def test_an_unknown_benchmark_is_one_sentence(tmp_path: Path, toolchain: Toolchain) -> None:
    with pytest.raises(VerievalError):
        write_corpus(tmp_path / "c.jsonl", rows=10, seed=0, toolchain=toolchain, overlap=("no-such-benchmark",))
    assert list(tmp_path.iterdir()) == []
