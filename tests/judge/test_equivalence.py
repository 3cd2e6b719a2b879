"""Proofs against pairs that are known by construction, and against simulation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.judge.proving import ADD, LIES, PAIRS, RIPPLE, SYNC, Pair
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.judge.equivalence import Proof, Prover, proof_limits, prove, same_netlist
from verieval.judge.machine import read_machine
from verieval.judge.miter import set_up
from verieval.judge.process import Launcher
from verieval.judge.replay import replay
from verieval.judge.sandbox import find_sandbox
from verieval.judge.yosys import find_yosys
from verieval.run.jsonl import encode_row, load_json

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
    renamed = SYNC.replace("4'd3", "4'b0011").replace("q <=", "q /* */ <=").replace("if (rst)", "if (rst == 1'b1)")
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
