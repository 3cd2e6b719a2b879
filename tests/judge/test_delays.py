"""Texts that are nothing without their delays, and texts that only carry some.

What is right was decided by hand: a text needs its delays if, with every ``#`` taken out, it does something else than
move its outputs a little. The simulator shows it of each: without delays such a text stands still, or never ends.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from verieval.judge import Toolchain
from verieval.judge.delays import has_delays, needs_delays
from verieval.judge.equivalence import proof_limits
from verieval.judge.process import Launcher
from verieval.judge.sandbox import find_sandbox
from verieval.judge.synthesis import synthesise
from verieval.judge.yosys import Yosys, find_yosys

TOP = "{before}module top(input clk, input d, input e, output {kind}q, output y);\nassign y = clk;\n{body}\nendmodule"

# The output, which is q, and whether it is a variable; text; a word of the reason.
NEEDED = {
    "an oscillator": ("reg ", "initial q = 0; always #5 q = ~q;", "waits for no event"),
    "an oscillator in a block": ("reg ", "initial q = 0; always begin #5 q = 1; #5 q = 0; end", "waits for no event"),
    "a stimulus": ("reg ", "initial begin q = 0; #5 q = 1; end", "initial"),
    "a single late value": ("reg ", "initial #7 q = 1;", "initial"),
    "a pulse": ("reg ", "always @(posedge clk) begin q = 1; #5 q = 0; end", "q is assigned"),
    "a pulse of part": (
        "reg ",
        "reg [1:0] n; always @(posedge clk) begin n[0] <= 1; #5; n[0] <= 0; q <= n[0]; end",
        "n is",
    ),
    "the new value": ("reg ", "reg n; always @(posedge clk) begin #1 n <= d; #1 q <= n; end", "n is"),
    "a pulse by branches": (
        "reg ",
        "always @(posedge clk) begin if (d) q = 1; else q = 1; #5 if (e) q = 0; end",
        "q is assigned",
    ),
    "a loop of a net": ("wire ", "wire #5 c = (c === 1'b0); assign q = c;", "loop"),
    "a loop of an assignment": ("wire ", "assign #5 q = (q === 1'b0);", "loop"),
    "a loop of a gate": ("wire ", "wire c = d & ~q; not #5 n(q, c);", "loop"),
    "a loop of a variable": ("reg ", "initial q = 0; always @(q) q <= #5 ~q;", "loop"),
    "a task": ("reg ", "task wave; begin q = 1; #5 q = 0; end endtask always @(posedge clk) wave;", "task"),
    "a macro": ("reg ", "initial q = 0; `FOREVER q = ~q;", "waits for no event"),
}
LEFT_OUT = {
    "assigned late": ("reg ", "always @(posedge clk) q <= #1 d;"),
    "assigned late in branches": ("reg ", "always @(posedge clk) if (e) q <= #1 0; else begin q <= #1 d; end"),
    "assigned late by brackets": ("reg ", "always @(posedge clk) q <= #(1) d;"),
    "a block that waits": ("reg ", "always @(posedge clk) #1 q <= d;"),
    "branches that wait": ("reg ", "always @(posedge clk) if (e) #1 q <= 0; else if (d) #1 q <= 1; else #1 q <= q;"),
    "one after the other": ("reg ", "reg n; always @(posedge clk) begin #1 n = d; #1 q <= n; end"),
    "a net": ("wire ", "wire #1 n = d & e; assign #2 q = n;"),
    "a gate": ("wire ", "and #1 g(q, d, e);"),
    "parameters": ("wire ", "half #(.N(1)) h(d, q);"),
    "a latch": ("reg ", "always @* if (e) q <= #1 d;"),
    "a start": ("reg ", "initial begin q = 0; end always @(posedge clk) q <= #1 d;"),
    "in a string": ("reg ", 'initial $display("#5"); always @(posedge clk) q <= d;'),
    "a name that begins so": (
        "reg ",
        "reg always_q; always @(posedge clk) begin always_q <= #1 d; q <= #1 always_q; end",
    ),
}
MACRO = "`define FOREVER always #5\nmodule half #(parameter N = 2)(input a, output b); assign b = a; endmodule\n"


@pytest.fixture(scope="module")
def launcher(toolchain: Toolchain, yosys_here: None) -> Iterator[Launcher]:
    limits = proof_limits(5, 5, memory_mib=1024)
    launcher = Launcher(limits, find_sandbox(toolchain, limits.work_mib, also=find_yosys().needs()))
    yield launcher
    launcher.close()


@pytest.fixture(scope="module")
def yosys(yosys_here: None) -> Yosys:
    return find_yosys()


@pytest.mark.parametrize("case", NEEDED, ids=NEEDED)
def test_needed(launcher: Launcher, yosys: Yosys, case: str) -> None:
    kind, body, word = NEEDED[case]
    found = synthesise(launcher, yosys, TOP.format(before=MACRO, kind=kind, body=body), "top")
    assert found.status == "refused", found
    assert "delays" in found.reason
    assert word in found.reason


@pytest.mark.parametrize("case", LEFT_OUT, ids=LEFT_OUT)
def test_left_out(launcher: Launcher, yosys: Yosys, case: str) -> None:
    kind, body = LEFT_OUT[case]
    found = synthesise(launcher, yosys, TOP.format(before=MACRO, kind=kind, body=body), "top")
    assert found.status == "ok", found


BENCH = """`timescale 1ns/1ps
module tb; reg clk = 0, d = 0, e = 0; wire q, y; reg [31:0] r = 1;
  top dut(clk, d, e, q, y);
  initial begin
    #4 $write("%b", q);
    repeat (40) begin
      r = r * 1103515245 + 12345; {d, e} = r[17:16];
      #50 clk = 1; #4 $write("%b", q); #46 $write("%b", q); clk = 0;
    end
    $finish;
  end
endmodule
"""


def trace(toolchain: Toolchain, folder: Path, text: str) -> str:
    """q shortly after each clock edge, and long after; ``hangs`` or ``refused`` where there is no such thing."""
    (folder / "t.sv").write_text("`timescale 1ns/1ps\n" + text + "\n" + BENCH)
    build = [*toolchain.iverilog, "-g2012", "-s", "tb", "-o", "t", "t.sv"]
    if subprocess.run(build, cwd=folder, check=False, capture_output=True).returncode:
        return "refused"
    try:
        run = subprocess.run(
            [*toolchain.vvp, "-n", "t"], cwd=folder, check=False, capture_output=True, text=True, timeout=3
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("case", [*NEEDED, *LEFT_OUT])
def test_what_simulation_shows_without_delays(toolchain: Toolchain, tmp_path: Path, case: str) -> None:
    kind, body = (NEEDED.get(case) or LEFT_OUT[case])[:2]
    text = TOP.format(before=MACRO, kind=kind, body=body)
    bare = re.sub(r"(?<![\w\"])#\s*(\d+|\(1\))", "", text)
    with_delays, without = (trace(toolchain, tmp_path, one) for one in (text, bare))
    assert (with_delays != without) is (case in NEEDED), (with_delays, without)


def test_no_text_takes_long() -> None:
    """Each would take hours if every delay were compared with every statement."""
    for text in (
        "always @(posedge c) begin " + "q = 0; #1 " * 50_000 + "end",
        "always @(posedge c) begin #1 " + ") { " * 50_000,
        "task " * 50_000,
        "initial " * 50_000,
    ):
        needs_delays(text)
        has_delays(text)
