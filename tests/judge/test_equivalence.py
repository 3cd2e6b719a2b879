"""Proofs against pairs that are known by construction, and against simulation."""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.judge.proving import ADD, LIES, NIBBLE, NOT_DEFINED, PAIRS, RIPPLE, SYNC, UNDEFINED, Pair
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.judge.equivalence import Proof, Prover, proof_limits, prove, prove_task, same_netlist
from verieval.judge.machine import read_machine
from verieval.judge.miter import set_up
from verieval.judge.process import Launcher
from verieval.judge.replay import replay
from verieval.judge.sandbox import find_sandbox
from verieval.judge.yosys import find_yosys
from verieval.run.jsonl import encode_row, load_json
from verieval.task import CocotbBench, SourceFile, Task

SAMPLES = 60


@pytest.fixture(scope="module")
def prover(toolchain: Toolchain, yosys_here: None) -> Iterator[Prover]:
    yosys, limits = find_yosys(), proof_limits()
    launcher = Launcher(limits, find_sandbox(toolchain, limits.work_mib, also=yosys.needs()))
    yield Prover(launcher, yosys, toolchain)
    launcher.close()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_known_pairs(prover: Prover, pair: Pair) -> None:
    proof = prove(prover, pair.gold, pair.gate, "top")
    assert proof.kind == pair.kind, proof
    if pair.kind == "unknown":
        assert proof.reason
        return
    assert proof.style == pair.style
    if pair.kind == "refuted":
        assert proof.counterexample is not None
        assert len(proof.counterexample.steps) >= pair.steps
        assert proof.counterexample.expected != proof.counterexample.got
    else:
        assert _random_difference(prover, pair) == "the netlists differ, but simulation does not show it"


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.kind == "proven"], ids=lambda pair: pair.name)
def test_what_is_proven_is_proven_the_other_way_where_nothing_is_undefined(prover: Prover, pair: Pair) -> None:
    if "1'bx" not in pair.gold and "initial" not in pair.gate:
        assert prove(prover, pair.gate, pair.gold, "top").kind == "proven"


def _random_difference(prover: Prover, pair: Pair) -> object:
    """Simulation of random inputs, which must not show a difference between what was proven."""
    gold, gate = (prover.read(source, "top").netlist for source in (pair.gold, pair.gate))
    assert gold is not None
    assert gate is not None
    setup = set_up(read_machine(gold), read_machine(gate))
    rng, steps, level = random.Random(1), [], 0
    ports = [port for port in gold.ports if port.direction == "input"]
    data: dict[str, int] = {}
    for number in range(SAMPLES):
        if setup.style == "cycle" or number % 2 == 0:
            data = {port.name: rng.getrandbits(port.width) for port in ports if port.name not in setup.clocks}
        else:
            level ^= 1
        clocks = dict.fromkeys(setup.clocks, level) if setup.style == "sampled" else {}
        steps.append(({**data, **clocks}, rng.random() < 0.8 or not setup.free_tick))
    return replay(prover.launcher, prover.toolchain, (pair.gold, pair.gate), "top", gold.ports, setup, steps)


@pytest.mark.parametrize("source", LIES)
def test_yosys_sees_what_the_simulator_sees(prover: Prover, source: str) -> None:
    assert prove(prover, ADD, source, "top").kind in ("refuted", "unknown")


@pytest.mark.parametrize("source", LIES[:-1])
def test_lies_are_refuted(prover: Prover, source: str) -> None:
    assert prove(prover, ADD, source, "top").kind == "refuted"


def test_a_counterexample_says_what_happens(prover: Prover) -> None:
    """q is 3 after reset, so an increment of one more shows at the first tick without reset."""
    found = prove(prover, SYNC, SYNC.replace("q + d", "q + d + 1"), "top").counterexample
    assert found is not None
    assert (found.resets, found.clocks) == ({"rst": 1}, ("clk",))
    value = 3
    for step, tick in zip(found.steps[:-1], found.ticks[:-1], strict=True):
        assert tick
        value = 3 if step["rst"] else (value + step["d"]) % 16
    assert found.expected == {"q": f"{value:04b}"}


@pytest.mark.parametrize(
    ("name", "asserted"), [("rst", 1), ("areset", 1), ("rst_n", 0), ("resetn", 0), ("sys_rst", 1), ("i_rst_ni", 0)]
)
def test_resets_are_found_by_what_they_do(prover: Prover, name: str, asserted: int) -> None:
    test = name if asserted else f"!{name}"
    body = f"always @(posedge clk) if ({test}) q <= 0; else q <= ~q;"
    text = f"module top(input clk, input {name}, output reg q); {body} endmodule"
    proof = prove(prover, text, text, "top")
    assert (proof.kind, proof.resets) == ("proven", {name: asserted})


def test_a_difference_that_no_simulation_shows_does_not_count(prover: Prover) -> None:
    """The netlists differ; in Icarus a delay hides the output until after the comparison, as x or z."""
    late = "module top(input a, output y); assign #100000 y = ~a; endmodule"
    gold = "module top(input a, output y); assign y = a; endmodule"
    proof = prove(prover, gold, late, "top")
    assert proof.kind != "proven"


def test_a_broken_simulator_is_no_answer(prover: Prover) -> None:
    """Neither unknown nor refuted: the tools are to blame, and the pass ends with a sentence."""
    broken = replace(prover.toolchain, vvp=("/bin/sh",))
    with pytest.raises(VerievalError, match="broken"):
        prove(replace(prover, toolchain=broken), ADD, ADD.replace("+ c", "- c"), "top")


def test_wide_inputs_are_rows_too(prover: Prover) -> None:
    """A number of 300 bits is none that every reader of JSON takes."""
    text = "module top(input [299:0] a, output y); assign y = {}; endmodule"
    row = prove(prover, text.format("^a"), text.format("^a[298:0]"), "top").row()
    steps = load_json(encode_row(row))["counterexample"]["steps"]
    assert int(steps[-1]["a"], 16) >> 299 == 1


def test_same_netlist(prover: Prover) -> None:
    renamed = SYNC.replace("4'd3", "4'b0011").replace("q <=", "q /* */ <=").replace("if (rst)", "if ((rst))")
    assert same_netlist(prover, SYNC, renamed, "top")
    assert same_netlist(prover, RIPPLE, RIPPLE.replace("k", "carry"), "top")
    assert not same_netlist(prover, SYNC, SYNC.replace("4'd3", "4'd2"), "top")
    assert not same_netlist(prover, SYNC, SYNC.replace("posedge", "negedge"), "top")
    assert not same_netlist(prover, ADD, RIPPLE, "top")


def test_same_netlist_knows_initial_values(prover: Prover) -> None:
    text = "module top(input c, input d, output reg q); {} always @(posedge c) q <= d; endmodule"
    first, second = text.format("initial q = 0;"), text.format("initial q = 1;")
    assert same_netlist(prover, first, first.replace("q = 0", "q = 1'b0"), "top")
    assert not same_netlist(prover, first, second, "top")


@pytest.mark.parametrize("value", UNDEFINED)
@pytest.mark.parametrize("body", [NOT_DEFINED["undriven"], NOT_DEFINED["a counter without a start"]])
def test_what_is_undefined_in_simulation_is_not_proven(prover: Prover, body: str, value: str) -> None:
    """Icarus shows the x where the reference has a number."""
    gold = NIBBLE.format(body="", value=UNDEFINED[value])
    proof = prove(prover, gold, NIBBLE.format(body=body, value=value), "top")
    assert proof.kind == "refuted", proof
    assert proof.counterexample is not None
    assert "x" in proof.counterexample.got["q"]


@pytest.mark.parametrize("body", NOT_DEFINED)
def test_whatever_makes_it_undefined(prover: Prover, body: str) -> None:
    text = NIBBLE.format(body=NOT_DEFINED[body], value="s & ~s")
    proof = prove(prover, NIBBLE.format(body="", value="4'd0"), text, "top")
    assert (proof.kind, proof.reason) in [("refuted", ""), ("unknown", "a combinational loop")], proof


@pytest.mark.parametrize("value", ["s & 0", "s[0] ? 4'd0 : 4'd0", "s | 15", "{4{{s, 1'b1} == {s, 1'b0}}}"])
def test_what_is_undefined_and_does_not_matter_is_proven(prover: Prover, value: str) -> None:
    """In Icarus, too, these are numbers: 0, 0, 15, 0."""
    gold = NIBBLE.format(body="", value="4'd15" if "15" in value else "4'd0")
    gate = NIBBLE.format(body=NOT_DEFINED["undriven"], value=value)
    assert prove(prover, gold, gate, "top").kind == "proven"
    assert _random_difference(prover, Pair("", "", gold, gate)) == (
        "the netlists differ, but simulation does not show it"
    )


OPERATORS = (
    "d + 3", "-d", "d * d", "d / 3'd3", "d % 3'd5", "d << d[1:0]", "$signed(d) >>> d[2:0]", "d[d[1:0]]",
    "{d < 3, d > 4, d >= 5, d <= 2}", "$signed(d) < -2", "$signed(d) / 3'sd3", "$signed(d) % 3'sd3",
    "$signed(d) - d[1:0]",
)  # fmt: skip


@pytest.mark.parametrize("value", OPERATORS)
def test_operators_are_those_of_a_table(prover: Prover, value: str) -> None:
    """Of every defined input; the table is what Icarus computes."""
    text = NIBBLE.format(body="", value=value)
    rows = "".join(f"4'd{d}: r = {_computed(prover, value, d)};" for d in range(16))
    table = NIBBLE.format(body=f"reg [3:0] r; always @* case (d) {rows} endcase", value="r")
    assert prove(prover, table, text, "top").kind == "proven"


def _computed(prover: Prover, value: str, d: int) -> str:
    """One value of an expression, as Icarus folds it."""
    with tempfile.TemporaryDirectory() as folder:
        text = f'module t; reg [3:0] d, q; initial begin d = {d}; q = {value}; $display("4\'b%b", q); end endmodule'
        Path(folder, "t.sv").write_text(text)
        subprocess.run([*prover.toolchain.iverilog, "-g2012", "-o", "t", "t.sv"], cwd=folder, check=True)
        run = subprocess.run([*prover.toolchain.vvp, "-n", "t"], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout.strip()


PARITY = "module top #(parameter N = 4)(input [N-1:0] a, output y); assign y = {value}; endmodule"


def parametrised(value: str, *configurations: dict[str, int]) -> Task:
    """A task with the parity of N bits, or another function of them, as its reference."""
    oracle = CocotbBench(
        (SourceFile("test_top.py", ""),), (("N", 4),), tuple(tuple(one.items()) for one in configurations)
    )
    return Task(id="t", prompt="", module="top", oracle=oracle, reference=PARITY.format(value=value))


def test_a_difference_at_other_parameters_counts(prover: Prover) -> None:
    """The parity of all six bits is not that of the lowest four; of four it is."""
    gate = PARITY.format(value="^a[3:0]")
    assert prove_task(prover, parametrised("^a"), gate).kind == "proven"
    proof = prove_task(prover, parametrised("^a", {"N": 6}, {"N": 7}), gate)
    assert (proof.kind, proof.parameters) == ("refuted", {"N": 6})
    assert [(one.kind, one.parameters) for one in proof.findings] == [("proven", {}), ("refuted", {"N": 6})]
    assert proof.counterexample is not None
    a = proof.counterexample.steps[-1]["a"]
    assert (a >> 4).bit_count() % 2 == 1
    assert proof.counterexample.expected == {"y": str(a.bit_count() % 2)}
    assert proof.counterexample.got == {"y": str((a & 15).bit_count() % 2)}


def test_proven_at_every_parameter(prover: Prover) -> None:
    proof = prove_task(prover, parametrised("^a", {"N": 6}, {"N": 1}), PARITY.format(value="~^{a, 1'b1}"))
    assert [(one.kind, one.parameters) for one in proof.findings] == [
        ("proven", {}),
        ("proven", {"N": 6}),
        ("proven", {"N": 1}),
    ]
    row = load_json(encode_row(proof.row()))
    assert [one["parameters"] for one in row["findings"]] == [{}, {"N": 6}, {"N": 1}]
    assert (row["kind"], row["parameters"], row["counterexample"]) == ("proven", {}, None)


def test_unknown_at_one_is_unknown_and_refuted_goes_before_it(prover: Prover) -> None:
    """`$pow` is nothing that yosys knows; it is only there where N is 6."""
    body = "~^{a, 1'b1}; generate if (N == 6) wire [3:0] w = $pow(a, 2); endgenerate assign z = N == 9"
    gate, task = PARITY.format(value=body), PARITY.format(value="^a; assign z = 0")
    gate, task = (text.replace("output y)", "output y, output z)") for text in (gate, task))
    asked = replace(parametrised("", {"N": 6}), reference=task)
    proof = prove_task(prover, asked, gate)
    assert proof.kind == "unknown"
    assert proof.reason.startswith("with N = 6: ")
    assert proof.findings[0].kind == "proven"
    further = replace(parametrised("", {"N": 6}, {"N": 9}), reference=task)
    proof = prove_task(prover, further, gate)
    assert (proof.kind, proof.parameters) == ("refuted", {"N": 9})
    assert [one.kind for one in proof.findings] == ["proven", "unknown", "refuted"]


def test_parameters_have_a_sign(prover: Prover) -> None:
    """As in simulation: a bare number is signed, so that a negative number is less than N."""
    gate = PARITY.format(value="a[N-1] ? 1'b1 : a < N")
    assert prove_task(prover, parametrised("$signed(a) < N", {"N": 3}, {"N": 6}), gate).kind == "proven"


def test_a_parameter_that_is_not_there_is_unknown(prover: Prover) -> None:
    gate = "module top(input [3:0] a, output y); assign y = ^a; endmodule"
    proof = prove_task(prover, parametrised("^a", {"N": 4}), gate)
    assert (proof.kind, proof.findings[0].kind) == ("unknown", "proven")


HOSTILE = {
    "a memory of 2^31 words": "reg [31:0] m [0:2147483647]; always @(posedge c) m[{32{d}}] <= d; assign q = m[0];",
    "a vector of 2^24 bits": "reg [16777215:0] v; always @(posedge c) v <= {v, d}; assign q = v[16777215];",
    "an endless generate": "genvar i; generate for (i = 0; i < 2000000000; i = i + 1) begin : g wire w; end "
    "endgenerate",
    "an endless constant function": "function integer f(input integer x); begin f = 0; while (1) f = f + 1; end "
    "endfunction localparam L = f(1); assign q = L;",
    "a module in itself": "wire w; top t(c, d, w); assign q = w;",
}


@pytest.mark.slow
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_end(toolchain: Toolchain, yosys_here: None, body: str) -> None:
    yosys, limits = find_yosys(), proof_limits(3, 3, memory_mib=512)
    launcher = Launcher(limits, find_sandbox(toolchain, limits.work_mib, also=yosys.needs()))
    gold = "module top(input c, input d, output q); assign q = d; endmodule"
    try:
        proof: Proof = prove(
            Prover(launcher, yosys, toolchain), gold, f"module top(input c, input d, output q); {body} endmodule", "top"
        )
    finally:
        launcher.close()
    assert proof.kind == "unknown"
    assert proof.reason
