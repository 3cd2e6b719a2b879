"""Every way to fall, on real Icarus: outcome, stage and what the detail names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.judge.conftest import make_benchmark
from verieval.judge.icarus import KEPT, cut
from verieval.verdict import Verdict

HEAD = "module inc(input [3:0] a, output [3:0] y);\n"
RIGHT_BODY = "  assign y = a + 4'd1;\n"

CASES = {
    # name: (completion, finish reason, outcome, stage, what the detail must hold)
    "right": (f"{HEAD}{RIGHT_BODY}endmodule\n", "stop", "passed", "passed", ""),
    "empty": ("", "stop", "no_code", "none", "no code"),
    "blank": (" \n\t\n", "stop", "no_code", "none", "no code"),
    "refusal": ("I am sorry, I can not help with that.", "stop", "no_code", "none", "no code"),
    "cut off before any code": ("Let me think about the", "length", "truncated", "none", "no code"),
    "cut off in the code": (f"{HEAD}  assign y = a +", "length", "truncated", "extracted", "syntax error"),
    "syntax": (f"{HEAD}  assign y = a +;\nendmodule\n", "stop", "syntax", "extracted", "candidate.sv:2: syntax error"),
    "missing endmodule": (f"{HEAD}{RIGHT_BODY}", "stop", "syntax", "extracted", "syntax error"),
    "undeclared": (f"{HEAD}  assign y = b + 1;\nendmodule\n", "stop", "elaboration", "parsed", "b"),
    "wire assigned in always": (
        f"{HEAD}  always @* y = a + 1;\nendmodule\n", "stop", "elaboration", "parsed", "candidate.sv:2",
    ),
    "helper that is not there": (
        f"{HEAD}  adder u(.a(a), .y(y));\nendmodule\n", "stop", "not_self_contained", "parsed", "adder",
    ),
    "wrong module name": (
        f"{HEAD}{RIGHT_BODY}endmodule\n".replace("inc(", "incr("), "stop", "interface", "parsed", "does not define",
    ),
    "wrong port name": (
        "module inc(input [3:0] x, output [3:0] y);\n  assign y = x + 4'd1;\nendmodule\n",
        "stop", "interface", "self_contained", "a",
    ),
    "wrong logic": (f"{HEAD}  assign y = a;\nendmodule\n", "stop", "mismatch", "simulated", "16 of 16 samples"),
    "one wrong value": (
        f"{HEAD}  assign y = a == 4'd9 ? 4'd0 : a + 4'd1;\nendmodule\n", "stop", "mismatch", "simulated", "1 of 16",
    ),
    "finishes by itself": (
        f"{HEAD}{RIGHT_BODY}  initial $finish;\nendmodule\n", "stop", "forbidden", "parsed", "line 3: $finish",
    ),
    "prints a verdict, and is right": (
        f'{HEAD}{RIGHT_BODY}  initial $display("Mismatches: 0 in 16 samples");\nendmodule\n',
        "stop", "passed", "passed", "",
    ),
    "a verdict of its own, with another count": (
        f'{HEAD}  initial begin $display("Mismatches: 0 in 15 samples"); $finish; end\nendmodule\n',
        "stop", "forbidden", "parsed", "line 2: $finish",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_outcome(name: str, judge: Callable[..., Verdict]) -> None:
    text, finish, outcome, stage, detail = CASES[name]
    verdict = judge(text, finish)
    assert (verdict.outcome, verdict.stage) == (outcome, stage), verdict.detail
    assert detail in verdict.detail
    assert verdict.passed["strict"] == (outcome == "passed")


def test_missing_endmodule_is_repaired_only_as_a_diagnostic(judge: Callable[..., Verdict]) -> None:
    verdict = judge(f"{HEAD}{RIGHT_BODY}")
    assert verdict.passed == {"strict": False, "official": False}
    assert verdict.repaired_passed is True
    assert judge(f"{HEAD}  assign y = a;\n").repaired_passed is False
    assert judge(f"{HEAD}{RIGHT_BODY}endmodule\n").repaired_passed is None


# Each of these would run or grow for ever.
RUNAWAYS = {
    "zero-delay loop": (f"{HEAD}{RIGHT_BODY}  reg r = 0; initial while (1) r = ~r;\nendmodule\n", {"timeout"}),
    "combinational loop": (
        f"{HEAD}{RIGHT_BODY}  wire p; assign p = (p === 1'b1) ? 1'b0 : 1'b1;\nendmodule\n", {"timeout"},
    ),
    "endless display": (f'{HEAD}{RIGHT_BODY}  initial forever $display("x");\nendmodule\n', {"resource", "timeout"}),
    "giant memory": (
        f"{HEAD}{RIGHT_BODY}  reg [1023:0] m [0:268435455]; initial m[a] = 1;\nendmodule\n",
        {"resource", "crash", "timeout", "elaboration"},
    ),
    "generate bomb": (
        f"{HEAD}{RIGHT_BODY}  genvar i;\n  for (i = 0; i < 100000000; i = i + 1) begin : g wire w; end\nendmodule\n",
        {"resource", "timeout", "crash"},
    ),
    "endless constant function": (
        f"""{HEAD}{RIGHT_BODY}
          function integer f(input integer n); begin f = 0; while (n > 0) f = f + 1; end endfunction
          localparam P = f(1);
        endmodule""",
        {"timeout"},
    ),
    "macro bomb": (
        "`define A0 x x x x x x x x x x\n"
        + "".join(f"`define A{i} {f'`A{i - 1} ' * 10}\n" for i in range(1, 12))
        + f"{HEAD}{RIGHT_BODY}  `A11\nendmodule\n",
        {"resource", "timeout", "crash", "syntax"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNAWAYS)
def test_runaways_end_within_their_limits(name: str, judge: Callable[..., Verdict]) -> None:
    text, outcomes = RUNAWAYS[name]
    verdict = judge(text, compile_cpu=3, simulate_cpu=2, memory_mib=512, output_mib=4)
    assert verdict.outcome in outcomes, verdict.detail
    assert sum(verdict.seconds.values()) < 10  # the compiler is several processes, each with the limit


def test_words_of_a_candidate_decide_nothing(judge: Callable[..., Verdict]) -> None:
    """A design may print what tools print when they die; it did not die."""
    for words in ("out of memory", "std::bad_alloc", "TIMEOUT", "CPU time limit exceeded", "Killed", "syntax error"):
        verdict = judge(f'{HEAD}{RIGHT_BODY}  initial $display("{words}");\nendmodule\n')
        assert verdict.outcome == "passed", (words, verdict.detail)


def test_a_long_log_keeps_its_head_and_tail() -> None:
    text = "a" * KEPT + "b" * 100 + "c" * KEPT
    assert cut(text) == "a" * KEPT + "\n[... 100 characters ...]\n" + "c" * KEPT
    assert cut(text[: 2 * KEPT]) == text[: 2 * KEPT]


def test_a_flood_is_upstreams_timeout(judge: Callable[..., Verdict]) -> None:
    """Upstream waits for it until its limit ends the simulation; here the output limit does, much earlier."""
    flood = f'{HEAD}{RIGHT_BODY}  initial forever $display("x");\nendmodule\n'
    verdict = judge(flood, benchmark=make_benchmark(rule="verilog-eval"), output_mib=1)
    assert (verdict.outcome, verdict.code) == ("resource", "T")
