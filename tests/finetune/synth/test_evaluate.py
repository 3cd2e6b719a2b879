"""Evaluation sets, and answers judged with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.data.synth.evaluate import Score, judge, make_set, read_set, write_set, write_suite
from finetune.data.synth.pairs import SPLITS
from verieval import benchmarks
from verieval.errors import VerievalError
from verieval.judge import Toolchain


def fenced(code: str | None) -> str:
    return f"```verilog\n{code}\n```"


@pytest.mark.parametrize("split", SPLITS)
def test_references_pass_and_others_do_not(split: str, toolchain: Toolchain) -> None:
    items = make_set(split, count=20, seed=3)  # type: ignore[arg-type]
    assert len({item.family for item in items}) >= 19
    good = [(item.task.id, fenced(item.task.reference)) for item in items]
    scores = judge(items, good, toolchain)
    assert sum(scores.values(), Score()) == Score(20, 20, 20)
    forged = 'module {m} (); initial begin $display("Mismatches: 0 in 128 samples"); $finish; end endmodule'
    bad = [(item.task.id, fenced(forged.format(m=item.task.module))) for item in items[:3]]
    bad += [(item.task.id, "I do not know.") for item in items[3:6]]
    bad += [(item.task.id, fenced(str(item.task.reference).replace("endmodule", ""))) for item in items[6:9]]
    assert sum(judge(items, bad, toolchain).values(), Score()).passed == 0


def test_a_set_comes_back_from_its_file(tmp_path: Path) -> None:
    items = make_set("wording", count=8, seed=0)
    write_set(items, tmp_path / "set.jsonl")
    assert read_set(tmp_path / "set.jsonl") == items
    (tmp_path / "bad.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(VerievalError, match="line 1"):
        read_set(tmp_path / "bad.jsonl")


def test_a_suite_is_a_benchmark_of_one_s_own(tmp_path: Path) -> None:
    items = make_set("names", count=6, seed=0)
    write_suite(items, tmp_path / "suite")
    loaded = benchmarks.load("verieval", tmp_path / "suite")
    by_name = {task.id: task for task in loaded.tasks}
    assert len(by_name) == len(items)
    for item in items:
        found = by_name[item.task.id.replace("-", "_")]
        assert (found.module, found.ports) == (item.task.module, item.task.ports)
        assert found.prompt.strip() == item.task.prompt.strip()
    with pytest.raises(VerievalError, match="is there already"):
        write_suite(items, tmp_path / "suite")


def test_an_answer_to_another_set_is_refused(toolchain: Toolchain) -> None:
    with pytest.raises(VerievalError, match="no task"):
        judge(make_set("train", count=1, seed=0), [("else", "x")], toolchain)
