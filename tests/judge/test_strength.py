"""Strength on benches that are built to be strong or weak, and on known ones; agreement on differing simulators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verieval import benchmarks
from verieval.judge import JudgePool, Toolchain
from verieval.judge.agreement import compare
from verieval.judge.mutants import STATES, Answer, Answers, Asked, MutantJudge, answers_row, text_sha256
from verieval.judge.strength import Strength, measure
from verieval.mutate import mutants
from verieval.task import Benchmark, Port, SourceFile, Task, Testbench
from verieval.verdict import OUTCOMES

INC = "module inc(input [3:0] a, output [3:0] y);\n  assign y = a + 4'd1;\nendmodule\n"
BENCH = """module tb;
  reg [3:0] a; wire [3:0] y; integer i, errors = 0, samples = 0;
  inc dut(.a(a), .y(y));
  initial begin
    for (i = 0; i < 16; i = i + 1) begin
      a = i; #5 samples = samples + 1;
      if (%s) errors = errors + 1;
    end
    $display("Mismatches: %%0d in %%0d samples", errors, samples);
    $finish;
  end
endmodule
"""
STRONG, LOWEST_BIT, BLIND = "y !== ((i + 1) & 15)", "y[0] !== !a[0]", "1'b0"


def benchmark(check: str, reference: str = INC) -> Benchmark:
    oracle = Testbench((SourceFile("tb.sv", BENCH % check),), top="tb", compile_flags=("-g2012",))
    ports = (Port("a", "input", 4), Port("y", "output", 4))
    task = Task(id="inc", prompt="Add one.", module="inc", oracle=oracle, reference=reference, ports=ports)
    return Benchmark(name="test", variant="", tasks=(task,), rule="verieval")


def strength(made: Benchmark, toolchain: Toolchain, folder: Path, proof: str = "unknown", **options: Any) -> Strength:
    with JudgePool(made, toolchain, cache=folder, extraction="verbatim") as pool:
        return measure(made, MutantJudge(pool, folder=folder), lambda task, mutant: proof, **options)


def test_a_bench_that_sees_everything_kills_everything(toolchain: Toolchain, tmp_path: Path) -> None:
    """By hand: `-` for `+`, 2 and 0 for 1, either port narrower."""
    result = strength(benchmark(STRONG), toolchain, tmp_path)
    (task,) = result.tasks
    assert (task.made, task.live, task.count("killed"), task.score, result.score) == (5, 5, 5, 1.0, 1.0)
    assert task.stubs_passed == ()
    assert {one.outcome for one in task.results} == {"mismatch"}


def test_a_bench_that_sees_one_bit(toolchain: Toolchain, tmp_path: Path) -> None:
    """By hand: the lowest bit of a - 1 is that of a + 1, and it needs no other bit of either port."""
    result = strength(benchmark(LOWEST_BIT), toolchain, tmp_path)
    (task,) = result.tasks
    assert task.score == pytest.approx(2 / 5)
    assert sorted(one.after[0].strip() for one in task.survivors) == [
        "assign y = a - 4'd1;",
        "module inc(input [2:0] a, output [3:0] y);",
        "module inc(input [3:0] a, output [2:0] y);",
    ]
    assert task.stubs_passed == ()
    assert result.lowest == task
    assert result.by_kind() == {
        "constant": {"live": 2, "killed": 2},
        "operator": {"live": 1, "killed": 0},
        "width": {"live": 2, "killed": 0},
    }


def test_a_bench_that_sees_nothing_passes_stubs(toolchain: Toolchain, tmp_path: Path) -> None:
    (task,) = strength(benchmark(BLIND), toolchain, tmp_path).tasks
    assert task.score == 0.0
    assert set(task.stubs_passed) == {"zero", "one", "x", "undriven"}


def test_what_is_proved_does_not_count(toolchain: Toolchain, tmp_path: Path) -> None:
    (task,) = strength(benchmark(LOWEST_BIT), toolchain, tmp_path, proof="equivalent").tasks
    assert (task.count("equivalent"), task.live, task.score) == (3, 2, 1.0)


def test_only_what_passes_is_asked_for_a_proof(toolchain: Toolchain, tmp_path: Path) -> None:
    asked: list[str] = []

    def prove(task: Task, mutant: str) -> str:
        asked.append(mutant)
        return "unknown: no end"

    made = benchmark(LOWEST_BIT)
    with JudgePool(made, toolchain, cache=tmp_path, extraction="verbatim") as pool:
        (task,) = measure(made, MutantJudge(pool, folder=tmp_path), prove).tasks
    assert len(asked) == 3
    assert {one.proof for one in task.survivors} == {"unknown: no end"}
    assert all(one.proof == "" for one in task.results if one.fate == "killed")


def test_a_reference_that_fails_is_not_measured(toolchain: Toolchain, tmp_path: Path) -> None:
    """Every mutant would count as killed."""
    result = strength(benchmark("1'b1"), toolchain, tmp_path)
    assert result.measured == ()
    assert result.score is None
    assert result.tasks[0].reference == "mismatch"
    assert result.to_json()["not_measured"] == {"inc": "mismatch"}


def test_a_task_without_reference_is_not_measured(toolchain: Toolchain, tmp_path: Path) -> None:
    made = benchmark(STRONG)
    made = replace(made, tasks=(replace(made.tasks[0], reference=None),))
    assert strength(made, toolchain, tmp_path).to_json()["not_measured"] == {"inc": "none"}


def test_what_was_judged_is_not_judged_again(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = benchmark(LOWEST_BIT)
    first = strength(made, toolchain, tmp_path)
    monkeypatch.setattr(JudgePool, "submit", lambda *_: pytest.fail("it was known"))
    assert strength(made, toolchain, tmp_path) == first
    sampled = strength(made, toolchain, tmp_path, limit=2, seed=5)
    assert len(sampled.tasks[0].results) == 2


def test_json_holds_the_table(toolchain: Toolchain, tmp_path: Path) -> None:
    made = json.loads(json.dumps(strength(benchmark(LOWEST_BIT), toolchain, tmp_path).to_json()))
    (task,) = made["tasks"]
    assert (task["mutants"], task["live"], task["killed"], task["survived"]) == (5, 5, 2, 3)
    assert task["not_killed"][0]["before"] == ["module inc(input [3:0] a, output [3:0] y);"]
    assert made["counts"]["killed"] == 2


def test_every_outcome_has_a_place() -> None:
    """What does not compile is no mutant; what the judge or the bench's interface keeps out tests no bench."""
    assert set(STATES) <= set(OUTCOMES)
    killed = {outcome for outcome in OUTCOMES if Answer(outcome).state == "killed"}
    assert killed == {"mismatch", "timeout", "crash", "resource", "tampered"}


@pytest.mark.parametrize("row", [{}, {"rows": {"a": "passed"}}, {"rows": {"a": ["passed"]}}, {"rows": 3}])
def test_a_damaged_cache_is_none(row: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        answers_row(row)


def test_a_known_weak_bench(data_dir: Path, icarus12: Toolchain, tmp_path: Path) -> None:
    """RTLLM's edge_detect counts a fault only where both outputs are wrong at once: constant 0 passes (errata)."""
    made = benchmarks.load("rtllm", data_dir / "rtllm", tasks="edge_detect")
    (task,) = strength(made, icarus12, tmp_path, limit=12).tasks
    assert task.stubs_passed == ("zero",)
    assert task.score is not None
    assert task.score < 0.5


def test_a_known_strong_bench(data_dir: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    """Prob014_andgate tries every input: by hand `|`, `^`, b & b, a & a are all there is (the ports commute)."""
    made = benchmarks.load("verilog-eval:spec-to-rtl", data_dir / "verilog-eval", tasks="Prob014_andgate")
    (task,) = strength(made, toolchain, tmp_path).tasks
    swapped = [one for one in task.results if one.kind == "swap"]
    assert [one.fate for one in swapped] == ["survived"], "a & b in the other order, which a proof would drop"
    assert {one.fate for one in task.results if one.kind != "swap"} == {"killed"}
    assert task.live == 5


# ---- agreement


class Told:
    """A judge that answers from a function of the text."""

    def __init__(self, answer: Any, made: Benchmark) -> None:
        self._answer, self._made = answer, made

    def ask(self, task: Task, texts: Any) -> Asked:
        rows = {text_sha256(text): [self._answer(text), ""] for text in texts}
        return Asked(task, Answers(rows), {})

    def answers(self, asked: Asked) -> dict[str, Answer]:
        return {sha: Answer(*pair) for sha, pair in asked.known.rows.items()}


def told(answer: Any, made: Benchmark) -> Any:
    @contextmanager
    def opened() -> Iterator[Any]:
        yield Told(answer, made)

    return opened


def test_agreement_lists_what_differs() -> None:
    made = benchmark(STRONG)

    def one(text: str) -> str:
        return "passed" if text == INC else "mismatch"

    def other(text: str) -> str:
        return "passed" if text == INC or "a - " in text else "timeout" if "4'd0" in text else "mismatch"

    def third(text: str) -> str:
        return "bench_compile" if "a - " in text else one(text)

    result = compare(made, {"one": told(one, made), "other": told(other, made)})
    assert (result.tasks, result.mutants, len(result.differences)) == (1, 5, 2)
    (difference,) = result.disagreements
    assert difference.outcomes == {"one": "mismatch", "other": "passed"}
    assert difference.what == "`+` becomes `-`"
    assert result.to_json()["disagreements"] == 1
    # A simulator that does not compile a mutant has not failed it, unless a third one has.
    refused = compare(made, {"other": told(other, made), "third": told(third, made)})
    assert ([d.kind for d in refused.differences], refused.to_json()["refused"]) == (["outcome", "refused"], 1)
    three = compare(made, {name: told(f, made) for name, f in (("1", one), ("2", other), ("3", third))})
    assert [d.kind for d in three.differences] == ["outcome", "verdict"]


def test_agreement_on_a_reference_comes_first() -> None:
    """Where one simulator fails the reference its verdicts on mutants say nothing."""
    made = benchmark(STRONG)
    result = compare(
        made, {"one": told(lambda text: "passed", made), "other": told(lambda text: "bench_compile", made)}
    )
    (difference,) = result.differences
    assert (difference.mutant, difference.outcomes) == ("", {"one": "passed", "other": "bench_compile"})
    assert result.mutants == 0


def test_both_icarus_agree(icarus11: Toolchain, icarus12: Toolchain, tmp_path: Path) -> None:
    made = benchmark(LOWEST_BIT)

    def opened(toolchain: Toolchain) -> Any:
        @contextmanager
        def judge() -> Iterator[MutantJudge]:
            with JudgePool(made, toolchain, cache=tmp_path, extraction="verbatim") as pool:
                yield MutantJudge(pool, folder=tmp_path)

        return judge

    result = compare(made, {"11": opened(icarus11), "12": opened(icarus12)})
    assert (result.mutants, result.differences) == (len(mutants(INC).chosen), ())
