"""A small task of the tests' own, with a bench that reports as VerilogEval's do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.task import Benchmark, SourceFile, Task, Testbench
from verieval.verdict import Verdict

BENCH = """
`timescale 1ns/1ps
module tb;
  reg [3:0] a; wire [3:0] y; integer i, errors, samples;
  inc dut(.a(a), .y(y));
  initial begin
    errors = 0; samples = 0;
    for (i = 0; i < 16; i = i + 1) begin
      a = i; #5 samples = samples + 1;
      if (y !== ((i + 1) & 15)) errors = errors + 1;
    end
    $display("Mismatches: %0d in %0d samples", errors, samples);
    $finish;
  end
endmodule
"""
RIGHT = "module inc(input [3:0] a, output [3:0] y);\n  assign y = a + 4'd1;\nendmodule\n"


def make_benchmark(bench: str = BENCH, reference: str = RIGHT, rule: str = "verieval") -> Benchmark:
    """One task ``inc``: y = a + 1 on 4 bits."""
    oracle = Testbench((SourceFile("tb.sv", bench),), top="tb", compile_flags=("-Wall", "-g2012"))
    task = Task(id="inc", prompt="Add one.", module="inc", oracle=oracle, reference=reference)
    return Benchmark(name="test", variant="", tasks=(task,), rule=rule)


@pytest.fixture
def judge(toolchain: Toolchain, tmp_path: Path) -> Callable[..., Verdict]:
    """Judge one text on the ``inc`` task."""

    def run(text: str, finish: str = "stop", *, benchmark: Benchmark | None = None, **limits: float) -> Verdict:
        pool = JudgePool(
            benchmark or make_benchmark(), toolchain, Limits.from_options(**limits), extraction="auto", cache=tmp_path
        )
        with pool:
            return pool.submit(Completion("inc", 0, text, finish_reason=finish)).result()  # type: ignore[arg-type]

    return run
