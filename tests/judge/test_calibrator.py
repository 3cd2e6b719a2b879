"""Calibration inside the pool: asked for where a verdict needs it, kept, and shown."""

from __future__ import annotations

from pathlib import Path

from tests.judge.conftest import RIGHT, make_benchmark
from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge.check import check
from verieval.task import Benchmark, SourceFile, Task, Testbench
from verieval.verdict import Verdict

# The bench lets the design take its time, so what it feeds depends on the answers.
PATIENT = """
`timescale 1ns/1ps
module tb;
  reg clk = 0, go = 0; reg [3:0] a = 0; wire done; wire [3:0] y; integer i, errors, samples, wait_for;
  always #5 clk = ~clk;
  slow dut(.clk(clk), .go(go), .a(a), .done(done), .y(y));
  initial begin
    errors = 0; samples = 0;
    for (i = 0; i < 8; i = i + 1) begin
      @(negedge clk); a = i; go = 1;
      @(negedge clk); go = 0;
      wait_for = 0;
      while (done !== 1 && wait_for < 20) begin @(negedge clk); wait_for = wait_for + 1; end
      samples = samples + 1;
      if (done !== 1 || y !== ((i + 1) & 15)) errors = errors + 1;
    end
    $display("Mismatches: %0d in %0d samples", errors, samples);
    $finish;
  end
endmodule
"""


def slow(stages: int) -> str:
    """A design that answers after some clock edges."""
    shift = "{" + f"pipe[{stages - 1}:0], go" + "}"
    return f"""module slow(input clk, input go, input [3:0] a, output done, output reg [3:0] y);
  reg [{stages}:0] pipe = 0;
  always @(posedge clk) begin pipe <= {shift}; if (go) y <= a + 1; end
  assign done = pipe[{stages}];
endmodule
"""


def patient() -> Benchmark:
    oracle = Testbench((SourceFile("tb.sv", PATIENT),), top="tb", compile_flags=("-Wall", "-g2012"))
    task = Task(id="slow", prompt="Wait.", module="slow", oracle=oracle, reference=slow(1))
    return Benchmark(name="test", variant="", tasks=(task,), rule="verieval")


def judge(benchmark: Benchmark, toolchain: Toolchain, cache: Path, *texts: str) -> list[Verdict]:
    task = benchmark.tasks[0]
    with JudgePool(benchmark, toolchain, Limits(), extraction="verbatim", cache=cache) as pool:
        futures = [pool.submit(Completion(task.id, i, text)) for i, text in enumerate(texts)]
    return [future.result() for future in futures]


def test_another_latency_is_no_tampering_where_the_bench_waits(toolchain: Toolchain, tmp_path: Path) -> None:
    found = judge(patient(), toolchain, tmp_path, slow(1), slow(3), slow(3).replace("a + 1", "a + 2"))
    assert [verdict.outcome for verdict in found] == ["passed", "passed", "mismatch"]
    with JudgePool(patient(), toolchain, cache=tmp_path) as pool:
        known = pool.known_calibration(pool.benchmark.tasks[0])
    assert known is not None
    assert known.inputs_depend


def test_it_is_not_asked_where_no_trace_differs(toolchain: Toolchain, tmp_path: Path) -> None:
    assert judge(make_benchmark(), toolchain, tmp_path, RIGHT)[0].outcome == "passed"
    with JudgePool(make_benchmark(), toolchain, cache=tmp_path) as pool:
        assert pool.known_calibration(pool.benchmark.tasks[0]) is None
        assert pool.describe()["calibration"] == {"tasks": 0, "flags": {}}


def test_check_finds_what_a_bench_cannot_tell(toolchain: Toolchain, tmp_path: Path) -> None:
    """A bench that looks at nothing passes every stub, and the manifest of later runs says so."""
    blind = make_benchmark(bench=make_benchmark().tasks[0].oracle.sources[0].text.replace("y !== ((i + 1) & 15)", "0"))
    with JudgePool(blind, toolchain, cache=tmp_path) as pool:
        result = check(blind, pool, calibrate=True)
    (task,) = result.tasks
    assert task.calibration is not None
    assert set(task.calibration.stubs_passed) == {"zero", "one", "x", "undriven"}
    assert task.unlisted == ("vacuous",)
    assert list(result.to_json()["calibration"][0]["stubs_passed"]) == list(task.calibration.stubs_passed)
    with JudgePool(blind, toolchain, cache=tmp_path) as pool:
        assert pool.describe()["calibration"] == {"tasks": 1, "flags": {"inc": ["vacuous"]}}
        assert pool._workers._threads == []  # recalled
