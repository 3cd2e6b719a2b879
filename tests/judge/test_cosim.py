"""Verdicts on the project's own tasks, whose benches are cocotb tests: hand-made candidates of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from verieval import benchmarks
from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.verdict import Verdict

COUNTER, GRAY, HEX, WRAP = "updown_counter", "gray_convert", "hex_char", "wrap_counter"
TASKS = (COUNTER, GRAY, HEX, WRAP)
LIMITS = Limits(simulate_cpu=2, compile_cpu=5, output_mib=2)


@dataclass(frozen=True)
class Case:
    """A change of a task's reference, what comes of it, and a word that has to be in the reason."""

    task: str
    edits: tuple[tuple[str, str], ...]
    outcome: str
    reason: str = ""
    repeats: int = 1

    def text(self, reference: str, number: int = 0) -> str:
        for old, new in self.edits:
            assert reference.count(old) >= 1, old
            reference = reference.replace(old, new.replace("NUMBER", str(number)), 1)
        return reference


def case(task: str, *edits: str, outcome: str, reason: str = "", repeats: int = 1) -> Case:
    return Case(task, tuple(zip(edits[::2], edits[1::2], strict=True)), outcome, reason, repeats)


END = "endmodule"
CASES = {
    "the reference": case(COUNTER, outcome="passed"),
    "twenty of one design": case(GRAY, END, "wire spare_NUMBER;\nendmodule", outcome="passed", repeats=20),
    "comments": case(WRAP, "module", "/* endmodule */ // module x;\nmodule", outcome="passed"),
    # Logic
    "one too far": case(COUNTER, "count >= top", "count > top", outcome="mismatch", reason=" is 0x"),
    "one too few": case(WRAP, "count < limit", "count + 8'd1 < limit", outcome="mismatch", reason="into the test"),
    "a reset to another value": case(WRAP, "count   <= 8'd0", "count <= 8'd1", outcome="mismatch"),
    "a reset that waits for the clock": case(COUNTER, " or negedge rst_n", "", outcome="mismatch"),
    "a reset of the other polarity": case(
        WRAP, "negedge rst_n", "posedge rst_n", "!rst_n", "rst_n", outcome="mismatch"
    ),
    "right for the default alone": case(
        GRAY, "value ^ (value >> 1)", "WIDTH == 11 ? value : value ^ (value >> 1)", outcome="mismatch",
        reason="[WIDTH=11]",
    ),
    "a latch": case(
        HEX, "assign value  = digit ? code[3:0] : hex_letter ? code[3:0] + 4'd9 : 4'd0;",
        "always_latch if (digit) value = code[3:0]; else if (hex_letter) value = code[3:0] + 4'd9;", outcome="mismatch",
    ),
    "an output that is X": case(GRAY, ": value[0]", ": 1'bx", outcome="mismatch", reason="odd is X"),
    "an output that is Z": case(HEX, "digit || hex_letter", "digit || hex_letter ? 1'b1 : 1'bz", outcome="mismatch"),
    "an output that nobody drives": case(WRAP, "wrapped <= 1'b1;", "", "wrapped <= 1'b1;", "", "wrapped <= 1'b0;", "",
                                         "wrapped <= 1'b0;", "", outcome="mismatch", reason="wrapped is X"),
    "a loop that comes to rest at X": case(
        HEX, "assign is_hex = digit || hex_letter;", "assign is_hex = digit || hex_letter ^ (is_hex & ~is_hex);",
        outcome="mismatch",
    ),
    # Interface
    "a port that is missing": case(WRAP, "    output logic [7:0] count,\n    output logic       wrapped\n",
                                   "    output logic [7:0] count\n", "module wrap_counter", "module wrap_counter",
                                   "    always_ff", "logic wrapped;\nalways_ff", outcome="interface", reason="wrapped"),
    "a port of another name": case(GRAY, "decode,", "decoding,", "decode ? number", "decoding ? number",
                                   "decode ? number", "decoding ? number", outcome="interface", reason="decode"),
    "a port that is too narrow": case(HEX, "[3:0] value", "[2:0] value", outcome="interface",
                                      reason="port value is 3 bit wide, expected 4"),
    "a port that is too wide": case(WRAP, "input  logic [7:0] limit", "input  logic [8:0] limit", outcome="interface",
                                    reason="port limit is 9 bit wide, expected 8"),
    "an output that is one bit": case(HEX, "[1:0] kind", "kind", outcome="interface", reason="kind is 1 bit"),
    "a further output": case(GRAY, "output logic             odd", "output logic odd, output logic more = 0",
                             outcome="passed"),
    "a further input that it needs": case(HEX, "[7:0] code,", "[7:0] code, input logic enable,",
                                          "digit || hex_letter", "enable && (digit || hex_letter)", outcome="mismatch"),
    "an input made an output": case(HEX, "input  logic [7:0] code", "output logic [7:0] code", outcome="!passed"),
    "another module name": case(COUNTER, "module updown_counter", "module counter", outcome="interface",
                                reason="does not define the module"),
    "another case": case(HEX, "module hex_char", "module Hex_Char", outcome="interface"),
    "no parameter": case(GRAY, "#(\n    parameter WIDTH = 8\n) (", "(", "endmodule", "endmodule",
                         "    input  logic [WIDTH-1:0] value", "input logic [7:0] value",
                         "output logic [WIDTH-1:0] result", "output logic [7:0] result",
                         "    logic [WIDTH-1:0] number", "localparam WIDTH = 8; logic [7:0] number",
                         outcome="interface", reason="WIDTH"),
    "another default": case(GRAY, "WIDTH = 8", "WIDTH = 9", outcome="interface", reason="value is 9 bit"),
    "a parameter that is ignored": case(GRAY, "^(value >> i)", "^(value >> i) & (i < 8)", outcome="mismatch",
                                        reason="WIDTH="),
    # Text
    "a syntax error": case(COUNTER, "if (!rst_n) begin", "if (!rst_n begin", outcome="syntax"),
    "a name that is not declared": case(WRAP, "count <= limit;", "count <= limits;", outcome="elaboration"),
    "a module that it lacks": case(GRAY, END, "helper h();\nendmodule", outcome="not_self_contained", reason="helper"),
    "a cut": case(HEX, "endmodule", "", outcome="syntax"),
    "its own timescale": case(GRAY, "module", "`timescale 1ps / 1fs\nmodule", outcome="passed"),
    "two timescales": case(WRAP, "module", "`timescale 1s/1s\nmodule", END, "endmodule\n`timescale 1ns/1ns\n",
                           outcome="passed"),
    "delays of one unit": case(COUNTER, "wrapped <= tc", "wrapped <= #1 tc", "count <= '0;", "count <= #1 '0;",
                               outcome="passed"),
    "a delay that is too long": case(COUNTER, "wrapped <= tc", "wrapped <= #7 tc", outcome="mismatch"),
    "a delay in a continuous assignment": case(GRAY, "assign odd ", "assign #1 odd ", outcome="passed"),
    "a package": case(HEX, "module hex_char", "package p; localparam [7:0] TOP = 8'h39; endpackage\nmodule hex_char",
                      "8'h39", "p::TOP", "8'h39", "8'h39", outcome="!passed"),
    "a package that is used": case(HEX, "module hex_char", "package p; localparam [7:0] NINE = 8'd9; endpackage\n"
                                   "module hex_char", "code <= 8'h0d", "code <= p::NINE + 8'd4", outcome="passed"),
    "a type outside its modules": case(WRAP, "module", "typedef logic [7:0] byte_t;\nmodule", "always_ff",
                                       "byte_t unused; always_ff", outcome="passed"),
    "a function and names of states outside its modules": case(
        WRAP, "module", "typedef enum logic {NO, YES} answer_t;\nlocalparam [7:0] ONE = 8'd1;\n"
        "function automatic [7:0] next(input [7:0] n); next = n + ONE; endfunction\nmodule",
        "count + 8'd1", "next(count)", "wrapped <= 1'b1", "wrapped <= YES", outcome="passed",
    ),
    "a function of a package": case(
        HEX, "module hex_char", "package p; localparam [7:0] NINE = 8'd9; typedef logic [7:0] byte_t;\n"
        "function automatic byte_t cr(input byte_t n); cr = NINE + n; endfunction endpackage\n"
        "module hex_char", "code <= 8'h0d", "code <= p::cr(8'd4)", outcome="passed",
    ),
    "a macro": case(COUNTER, "module", "`define STEP 1'b1\nmodule", "count + 1'b1", "count + `STEP", outcome="passed"),
    # Helpers of one name in several candidates, which are simulated together
    "a helper": case(HEX, "assign folded     = lower ? code - 8'h20 : code;",
                     "helper h(code, lower, folded);", END,
                     "endmodule\nmodule helper(input [7:0] c, input l, output [7:0] f);\n"
                     "assign f = l ? c - 8'h20 : c;\nendmodule", outcome="passed"),
    "a helper of the same name": case(HEX, "assign folded     = lower ? code - 8'h20 : code;",
                                      "helper h(code, lower, folded);", END,
                                      "endmodule\nmodule helper(input [7:0] c, input l, output [7:0] f);\n"
                                      "assign f = l ? c : c - 8'h20;\nendmodule", outcome="mismatch"),
    "a helper called like what is around": case(
        HEX, "assign folded     = lower ? code - 8'h20 : code;", "s0_0 dut(code, lower, folded);", END,
        "endmodule\nmodule s0_0(input [7:0] c, input l, output [7:0] f);\nassign f = l ? c - 8'h20 : c;\nendmodule",
        outcome="passed",
    ),
    # What it does beside its logic
    "it prints": case(WRAP, "wrapped <= 1'b0;\n            if", "$display(\"<testcase/> %0t\", $time); wrapped <= 0;\n"
                      "            if", outcome="passed"),
    "it asks for the time": case(GRAY, END, "wire [63:0] t = $time;\nendmodule", outcome="passed"),
    "it answers by the time": case(HEX, "digit || hex_letter", "(digit || hex_letter) ^ ($time > 40)",
                                   outcome="mismatch"),
    "random numbers": case(
        WRAP, END, "integer r; always @(posedge clk) r <= $urandom;\nendmodule", outcome="!mismatch"
    ),
    "it ends the simulation": case(HEX, END, "initial $finish;\nendmodule", outcome="forbidden", reason="$finish"),
    "it stops the simulation": case(WRAP, END, "always @(posedge clk) $stop;\nendmodule", outcome="forbidden"),
    "it never comes to rest": case(
        GRAY, "assign odd ", "reg r = 0; always @(r or value) r <= ~r;\nassign odd ", outcome="timeout"
    ),
    "it never ends a step": case(
        COUNTER, END, "integer i; always @* begin i = {31'd0, up}; while (i < 5) i = i | 0; end\nendmodule",
        outcome="timeout", reason="CPU seconds",
    ),
    "it floods": case(
        WRAP, END, "integer i; always @(posedge clk) for (i = 0; i < 100000000; i = i + 1) $display(\"%0d\", i);\n"
        "endmodule", outcome="resource",
    ),
}  # fmt: skip


def judge_all(toolchain: Toolchain, cache: Path) -> dict[str, list[Verdict]]:
    """Everything at once, as a run does it."""
    suite = benchmarks.load("verieval", tasks=",".join(TASKS))
    with JudgePool(suite, toolchain, LIMITS, jobs=2, cache=cache, extraction="verbatim") as pool:
        futures = {
            name: [
                pool.submit(Completion(one.task, place, one.text(suite.by_id[one.task].reference or "", number)))
                for number in range(one.repeats)
            ]
            for place, (name, one) in enumerate(CASES.items())
        }
    return {name: [future.result() for future in found] for name, found in futures.items()}


@pytest.fixture(scope="module")
def verdicts(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Verdict]]:
    return judge_all(toolchain, tmp_path_factory.mktemp("cache")).__getitem__


@pytest.mark.parametrize("name", CASES)
def test_outcome(name: str, verdicts: Callable[[str], list[Verdict]]) -> None:
    check(CASES[name], verdicts(name))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_outcomes_on_icarus_12(icarus12: Toolchain, tmp_path: Path) -> None:
    for name, found in judge_all(icarus12, tmp_path).items():
        check(CASES[name], found)


def check(one: Case, found: list[Verdict]) -> None:
    assert len(found) == one.repeats
    for verdict in found:
        if one.outcome.startswith("!"):
            assert verdict.outcome != one.outcome[1:], verdict.detail
        else:
            assert verdict.outcome == one.outcome, verdict.detail
        assert one.reason in verdict.detail
        assert verdict.passed == {"strict": verdict.outcome == "passed", "official": verdict.outcome == "passed"}
        # Nothing of the surroundings shows.
        for word in ("$", "m0_", "top_"):
            assert verdict.outcome not in ("interface", "elaboration", "mismatch") or word not in verdict.detail


def test_what_is_only_compiled_near_a_limit_is_compiled_again_alone(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused candidate meets no bench, but whether it compiles may not hang on the load either."""
    from verieval.judge import evidence
    from verieval.judge.cosim import trial

    slacks: list[float] = []
    original = trial.compile_only

    def record(*arguments: Any, slack: float = 1.0) -> Any:
        slacks.append(slack)
        return original(*arguments, slack=slack)

    monkeypatch.setattr(evidence, "SLACK", 50.0)  # a window that no load can leave
    monkeypatch.setattr(trial, "compile_only", record)
    benchmark = benchmarks.select(benchmarks.load("verieval"), HEX)
    text = CASES["it ends the simulation"].text(benchmark.tasks[0].reference or "")
    limits = Limits(compile_cpu=0.05, wall_factor=1_000)
    with JudgePool(benchmark, toolchain, limits, cache=tmp_path) as pool:
        assert pool.submit(Completion(HEX, 0, text, finish_reason="stop")).result().outcome == "forbidden"
    assert slacks == [50.0, 1.0]
