"""Mutants that are their reference in other words are found out, and those that are not are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from verieval.judge import JudgePool, Toolchain
from verieval.judge.mutant_proofs import MutantProver, proofs_row
from verieval.judge.mutants import MutantJudge
from verieval.judge.strength import measure
from verieval.judge.yosys import find_yosys
from verieval.task import Benchmark, CocotbBench, SourceFile, Task, Testbench

ADD = "module m(input [3:0] a, b, output [4:0] y);\n  assign y = a + b;\nendmodule\n"
STEP = """module m(input clk, input rst, input go, output reg [3:0] q);
  always @(posedge clk or posedge rst)
    if (rst) q <= 4'd0;
    else if (go) q <= q + 4'd1;
endmodule
"""


def one_task(reference: str, bench: str = "module tb; m u(); endmodule") -> Benchmark:
    oracle = Testbench((SourceFile("tb.sv", bench),), top="tb")
    task = Task(id="m", prompt="", module="m", oracle=oracle, reference=reference)
    return Benchmark(name="test", variant="", tasks=(task,), rule="verieval")


@pytest.fixture
def proved(toolchain: Toolchain, tmp_path: Path) -> Callable[[str, str, str], str]:
    """Prove one change of a reference."""
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")

    def prove(reference: str, before: str, after: str) -> str:
        assert before in reference
        made = one_task(reference)
        with MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
            return prover(made.tasks[0], reference.replace(before, after))

    return prove


@pytest.mark.parametrize(
    ("reference", "before", "after", "expected"),
    [
        (ADD, "a + b", "b + a", "equivalent"),
        (ADD, "a + b", "a - b", "refuted"),
        (ADD, "a + b", "(a ^ b) + ((a & b) << 1)", "equivalent"),  # all of it in the 5 bits of y
        (ADD, "a + b", "(a | b) + {1'b0, a & b}", "equivalent"),
        (STEP, "q <= q + 4'd1", "q = q + 4'd1", "equivalent"),
        (STEP, "q + 4'd1", "q - 4'd15", "equivalent"),
        (STEP, "4'd0", "4'd1", "refuted"),
        (STEP, "else if (go)", "else if (!go)", "refuted"),
    ],
)
def test_proofs(proved: Callable[[str, str, str], str], reference: str, before: str, after: str, expected: str) -> None:
    assert proved(reference, before, after) == expected


def test_a_reset_that_waits_for_the_clock_is_not_the_same(proved: Callable[[str, str, str], str]) -> None:
    assert proved(STEP, " or posedge rst", "") != "equivalent"


def test_the_other_edge_is_not_the_same(proved: Callable[[str, str, str], str]) -> None:
    assert proved(STEP, "posedge clk", "negedge clk") != "equivalent"


def test_what_is_no_verilog_is_unknown(proved: Callable[[str, str, str], str]) -> None:
    assert proved(ADD, "a + b", "a +").startswith("unknown: ")


def test_a_proof_is_made_once(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")
    made = one_task(ADD)
    other = ADD.replace("a + b", "b + a")
    with MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
        assert prover(made.tasks[0], other) == "equivalent"
    monkeypatch.setattr("verieval.judge.mutant_proofs.prove_task", lambda *_: pytest.fail("it was known"))
    with MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
        assert prover(made.tasks[0], other) == "equivalent"


def test_a_mutant_that_differs_at_other_parameters_is_live(toolchain: Toolchain, tmp_path: Path) -> None:
    """A counter that wraps at 3 for one that wraps at LAST, which is 3 unless something else is said."""
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")
    reference = """module m #(parameter WIDTH = 2, parameter LAST = 3)(input clk, input rst, output reg [WIDTH-1:0] q);
  always @(posedge clk) if (rst) q <= 0; else if (q != LAST) q <= q + 1; else q <= 0;
endmodule
"""
    mutant = reference.replace("q != LAST", "q != 3")

    def proved(*configurations: tuple[tuple[str, int], ...]) -> str:
        oracle = CocotbBench((SourceFile("test_m.py", ""),), (("WIDTH", 2), ("LAST", 3)), configurations)
        task = Task(id="m", prompt="", module="m", oracle=oracle, reference=reference)
        made = Benchmark(name="test", variant="", tasks=(task,), rule="verieval")
        with MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
            return prover(task, mutant)

    assert proved() == "equivalent"
    assert proved((("WIDTH", 3), ("LAST", 3))) == "equivalent"
    assert proved((("WIDTH", 3), ("LAST", 3)), (("WIDTH", 3), ("LAST", 5))) == "refuted with WIDTH = 3, LAST = 5"


def test_a_damaged_cache_is_none() -> None:
    with pytest.raises(ValueError, match="proofs"):
        proofs_row({"rows": {"a": 3}})


AND = "module m(input a, b, output y);\n  assign y = a & b;\nendmodule\n"
AND_BENCH = """module tb;
  reg a, b; wire y; integer i, errors = 0, samples = 0;
  m dut(.a(a), .b(b), .y(y));
  initial begin
    for (i = 0; i < 4; i = i + 1) begin
      {a, b} = i; #5 samples = samples + 1;
      if (y !== (i == 3)) errors = errors + 1;
    end
    $display("Mismatches: %0d in %0d samples", errors, samples);
    $finish;
  end
endmodule
"""


def test_commuted_terms_are_dropped_and_the_rest_is_killed(toolchain: Toolchain, tmp_path: Path) -> None:
    """Of a & b: `|`, `^`, b & b, a & a are killed; the ports in each other's place are the same gate."""
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")
    made = one_task(AND, AND_BENCH)
    pool = JudgePool(made, toolchain, cache=tmp_path, extraction="verbatim")
    with pool, MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
        (task,) = measure(made, MutantJudge(pool, folder=tmp_path), prover).tasks
    assert [(one.kind, one.fate) for one in task.results if one.fate != "killed"] == [("swap", "equivalent")]
    assert (task.live, task.score) == (4, 1.0)


def test_a_reference_that_yosys_cannot_read_is_read_once(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reading may take all the time that there is."""
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")
    made = one_task("module m(input a, output y);\n  assign y = $pow(a, 2) > 0;\nendmodule\n")
    with MutantProver(made, find_yosys(), toolchain, folder=tmp_path) as prover:
        first = prover(made.tasks[0], ADD)
        monkeypatch.setattr("verieval.judge.mutant_proofs.prove_task", lambda *_: pytest.fail("it is hopeless"))
        assert first.startswith("unknown: the reference: ")
        assert prover(made.tasks[0], STEP) == first
