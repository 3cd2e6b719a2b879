"""Candidates simulated together get the verdicts that they get alone, whatever the others among them do."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.judge.cosimulating import INVERT, LOOKS, Trials, finding, judge, load_task, open_trials, write_task
from verieval import benchmarks
from verieval.errors import BenchError
from verieval.judge import Toolchain
from verieval.judge.cosim import trial
from verieval.judge.cosim.batch import Batch, make_batch, stands_alone, untimed
from verieval.judge.cosim.results import SlotResult
from verieval.judge.cosim.shadow import can_be_shadowed, make_shadows
from verieval.judge.cosim.simulators import find_simulator
from verieval.judge.cosim.trial import Cosimulator
from verieval.judge.process import Done, Launcher, ProcessResult
from verieval.keywords import KEYWORDS
from verieval.task import Task

HEADER = "module invert(input wire [3:0] a, output wire [3:0] y);\n"


def module(body: str, header: str = HEADER) -> str:
    return f"{header}{body}\nendmodule\n"


GOOD = [module(f"wire [3:0] n{number} = a; assign y = ~n{number};") for number in range(20)]
WRONG = module("assign y = ~a + (a == 9);")
HANG = module("integer i; assign y = ~a; always @* begin i = a; while (i < 20) i = i & 15; end")
RESTLESS = module("reg r = 0; assign y = ~a; always @(a or r) r <= ~r;")
DEEP = module("function automatic integer f(input integer n); f = f(n + 1) + 1; endfunction\n"
              "integer i; assign y = ~a; always @(a) i = f(a);")  # fmt: skip
UNKNOWN = module("assign y = 4'bx;")
NARROW = module("assign y = ~a;", "module invert(input wire [3:0] a, output wire [2:0] y);\n")
BROKEN = module("assign y = ~b;")


@pytest.fixture(scope="module")
def trials(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    opened, pool = open_trials(
        benchmarks.load("verieval"), toolchain, tmp_path_factory.mktemp("cache"), simulate_cpu=2, compile_cpu=4
    )
    yield opened
    opened.launcher.close()
    pool.close()


@pytest.fixture
def invert(tmp_path: Path) -> Task:
    return load_task(tmp_path / "suite", LOOKS)


class Counted:
    """Steps that the launcher was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[tuple[int, int]] = []
        run = trial._run

        def counting(launcher, simulator, batch, *words, **options):  # type: ignore[no-untyped-def]
            self.batches.append((len(batch.slots), batch.shadows))
            return run(launcher, simulator, batch, *words, **options)

        monkeypatch.setattr(trial, "_run", counting)


def outcomes(trials: Trials, task: Task, sources: list[str]) -> list[str]:
    """Outcomes together; of whom it was not said there, alone."""
    found = trials.together(task, sources)
    return [
        finding(source, one or trials.alone(task, source)).outcome for source, one in zip(sources, found, strict=True)
    ]


# --- How many simulations it takes ---------------------------------------------------------------------------------


def test_all_that_agree_with_the_reference_take_one_simulation(
    trials: Trials, invert: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    found = trials.together(invert, GOOD)
    assert [one is not None and one.report is not None and one.report.clean for one in found] == [True] * 20
    assert counted.batches == [(1, 20)]


def test_the_others_take_none_more(trials: Trials, invert: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    sources = [*GOOD[:5], WRONG, *GOOD[5:9], UNKNOWN, NARROW]
    found = [
        one and finding(source, one) for source, one in zip(sources, trials.together(invert, sources), strict=True)
    ]
    assert [one and one.outcome for one in found] == [
        *["passed"] * 5, "mismatch", *["passed"] * 4, "mismatch", "interface",
    ]  # fmt: skip
    assert counted.batches == [(1, 12)]
    assert found[5] is not None
    assert found[5].detail == "inverts: y is 0111 for 9 (10 ns into the test)"


# Three tests, which see more and more; what is wrong shows early or late, in one candidate or in several.
THREE = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def glances(dut):
    dut.a.value = 3
    await Timer(1, unit="ns")
    seen = str(dut.y.value)  # whatever it is


@cocotb.test()
async def waits(dut):
    dut.a.value = 4
    await Timer(1, unit="ns")
    while int(dut.y.value) != 11:
        await Timer(5, unit="us")


async def looks(dut):
    for value in range(16):
        dut.a.value = value
        await Timer(1, unit="ns")
        assert int(dut.y.value) == 15 - value or value == 3, f"y is {dut.y.value} for {value}"


@cocotb.test()
async def beside(dut):
    task = cocotb.start_soon(looks(dut))
    await Timer(30, unit="ns")
    assert task.done()
"""
WRONGS = [
    "~a ^ (a == 3)",  # passes, and is followed to the end
    "~a ^ (a == 3) ^ (a == 12)",
    "~a ^ (a == 3 | a == 12)",
    "a == 3 ? 4'bx : ~a",
    "a == 4 ? 1 : ~a",  # waits for ever
    "a == 4 ? 4'bz : ~a",
    "~a ^ (a == 5)",
    "~a ^ {a == 5, 1'b0, a == 7, a == 5}",
    "~a ^ {a == 5, 1'b0, a == 5, a == 5}",
    "~a ^ {a == 5, 1'b0, a == 6, a == 5}",
    "~a ^ (a == 15)",
]


def test_everybody_is_told_what_it_would_be_told_alone(
    trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task(tmp_path / "suite", THREE)
    sources = [GOOD[0], *(module(f"assign y = {wrong};") for wrong in WRONGS), NARROW, GOOD[1]]
    alone = [trials.alone(task, source) for source in sources]
    counted = Counted(monkeypatch)
    together = trials.together(task, sources)
    assert counted.batches == [(1, len(sources))]
    assert [one and (one.tests, one.report) for one in together] == [(one.tests, one.report) for one in alone]
    outcomes = [finding(source, one).outcome for source, one in zip(sources, alone, strict=True)]
    assert outcomes == ["passed"] * 2 + ["mismatch"] * 10 + ["interface", "passed"]
    assert len({one.tests for one in alone}) == 10


def test_one_that_hangs_after_it_has_failed(trials: Trials, invert: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own verdict is there before it hangs; the others are compared again without it."""
    late = HANG.replace("assign y = ~a;", "assign y = ~a ^ (a == 3);").replace("i < 20", "i < 20 && a == 9")
    counted = Counted(monkeypatch)
    assert outcomes(trials, invert, [*GOOD[:3], late, WRONG]) == [*["passed"] * 3, "mismatch", "mismatch"]
    assert counted.batches == [(1, 5), (1, 4)]


BOMBS = [
    "initial begin : late #(1500) done = 1; end",
    "initial done = #1500 1;",
    "event go; initial @go #(1500) tick(1); task tick(input x); done = x; endtask initial -> go;",
    "always begin done = #1500 1; end",
    "wire one = 1; always @(one) done = #1500 one;",
    "wire one; assign one = 1; always @* done <= #1500 one;",
    "always @(posedge a[0]) done <= #1 1;",
    "initial begin : late #(1500) tick(1); end task tick(input x); done = x; endtask",
]
HARMLESS = [
    "sub #(.W(2)) s(done);",
    "if (1) begin : g sub #(2) s(done); end",
    "(* keep *) sub #(.W(2)) s [1:0] (done);",
]


@pytest.mark.parametrize("text", BOMBS)
def test_who_waits_for_a_time_of_its_own_is_alone(text: str) -> None:
    """What is wrong at first and right when its turn comes would pass in a batch."""
    assert stands_alone(module(f"reg done = 0; {text} assign y = done ? ~a : 0;"))


@pytest.mark.parametrize("text", HARMLESS)
def test_parameter_lists_are_harmless(text: str) -> None:
    assert not stands_alone(module(f"wire done; {text} assign y = ~a;"))


def test_time_scales_are_taken_out_and_comments_are_not() -> None:
    text = '/* `timescale */ x\n`timescale 1ns / 1ps // y\n`timescale 10us/1ns /* z\n*/ w "`timescale 1s/1s"'
    assert untimed(text) == '/* `timescale */ x\n // y\n /* z\n*/ w "`timescale 1s/1s"'


def test_no_name_around_a_candidate_can_be_guessed(invert: Task) -> None:
    """Only ports and parameters have names that are not the run's own."""
    secret = "0123456789abcdef0123"
    for batch in (make_batch(invert, GOOD[:2], secret), make_shadows(invert, GOOD[:2], secret)):
        words = set(re.findall(r"[A-Za-z_][\w$]*", batch.wrapper)) - KEYWORDS
        assert {word for word in words if secret not in word} == {"a", "y"}


# An honest design that is sensitive to its inputs at any time, since it makes a clock of them.
GATED = """
  wire ticks = clk & (load | enable | wrapped);
  always @(posedge ticks or negedge rst_n)
    if (!rst_n) {count, wrapped} <= 9'd0;
    else begin
      wrapped <= 1'b0;
      if (load) count <= load_value > limit ? limit : load_value;
      else if (!enable) count <= count;
      else if (!down && count < limit) count <= count + 8'd1;
      else if (!down) {count, wrapped} <= {8'd0, 1'b1};
      else if (count == 8'd0) {count, wrapped} <= {limit, 1'b1};
      else count <= count > limit ? limit : count - 8'd1;
    end
"""
SABOTAGE = """
  wire w;
  assign w = $signed(enable) >> 0;
  reg high = 0;
  always @(posedge clk) high <= 1;
  always @(negedge clk) high <= 0;
  supply1 s;
  tranif1 (w, s, high);
"""


def test_what_drives_its_inputs_drives_nobody_else_s(trials: Trials) -> None:
    """Admission refuses such a candidate; were it to miss one, its neighbours' inputs would still be theirs."""
    (task,) = (task for task in benchmarks.load("verieval").tasks if task.id == "wrap_counter")
    head = (
        "module wrap_counter(input clk, input rst_n, input load, input [7:0] load_value, input enable, input down,\n"
        "  input [7:0] limit, output reg [7:0] count, output reg wrapped);"
    )
    honest = f"{head}{GATED}endmodule\n"
    sabotage = (task.reference or "").replace("endmodule", f"{SABOTAGE}endmodule")
    assert outcomes(trials, task, [sabotage, honest])[1] == "passed"


READS = {
    "a bit": ("int(dut.y[0].value) == 1 - value % 2", "~a ^ (a == 4)"),
    "what is inside": ("int(next(part for part in dut if hasattr(part, 'y')).y.value) == 15 - value", "~a ^ (a == 4)"),
    "a part": ("int(dut.y.value[2:1]) == 3 - value // 2 % 4", "~a ^ (a == 4)"),
}


@pytest.mark.parametrize("name", READS)
def test_other_ways_to_read(name: str, trials: Trials, tmp_path: Path) -> None:
    read, wrong = READS[name]
    test = LOOKS[: LOOKS.index("        assert")] + f"        assert {read}, value\n"
    task = load_task(tmp_path / "suite", test)
    sources = [*GOOD[:3], module(f"assign y = {wrong};"), module("wire [3:0] z = a; assign y = z;")]
    found = trials.together(task, sources)
    assert [one and one.tests for one in found] == [trials.alone(task, source).tests for source in sources]


def test_asyncio_is_there_for_tests_that_want_it(trials: Trials, tmp_path: Path) -> None:
    test = LOOKS.replace(
        "    for value",
        "    import asyncio, asyncio.locks\n    from asyncio import CancelledError, Future, exceptions\n"
        "    assert CancelledError is exceptions.CancelledError is asyncio.CancelledError\n"
        "    assert asyncio.run(asyncio.sleep(0, 7)) == 7 and asyncio.locks.Lock and Future\n"
        "    from cocotb.queue import Queue\n    Queue().put_nowait(1)\n    for value",
    )
    task = load_task(tmp_path / "suite", test)
    found = trials.alone(task, INVERT).tests
    assert found == SlotResult(1), found


@pytest.mark.parametrize(
    "bad", [HANG, pytest.param(RESTLESS, marks=pytest.mark.slow), DEEP], ids=["hang", "restless", "deep"]
)
def test_one_that_hangs_or_crashes_changes_no_other(trials: Trials, invert: Task, bad: str) -> None:
    sources = [*GOOD[:4], WRONG, bad, *GOOD[4:17], UNKNOWN]
    found = outcomes(trials, invert, sources)
    assert found[5] in ("timeout", "crash", "resource")
    assert found[:5] + found[6:] == [*["passed"] * 4, "mismatch", *["passed"] * 13, "mismatch"]


def test_one_that_does_not_compile_changes_no_other(trials: Trials, invert: Task) -> None:
    found = outcomes(trials, invert, [WRONG, GOOD[0], BROKEN, "module invert(;\nendmodule\n", GOOD[1], NARROW])
    assert found == ["mismatch", "passed", "elaboration", "syntax", "passed", "interface"]


def test_none_of_them(trials: Trials, invert: Task) -> None:
    assert trials.together(invert, []) == []
    assert trials.together(invert, [GOOD[0]]) == [None]  # whoever is alone is judged alone
    assert outcomes(trials, invert, [BROKEN, BROKEN.replace("~b", "~c")]) == ["elaboration"] * 2


# --- Who is simulated alone ----------------------------------------------------------------------------------------

ALONE = {
    "import pkg::*; module m; endmodule": True,
    "module m; endmodule typedef int t;": True,
    "parameter N = 1; module m; endmodule": True,
    "`timescale 1ns/1ps\nmodule m; endmodule": False,
    "module m; initial #1 x = 1; endmodule": True,
    "module m; always @* begin x = 1; #2; end endmodule": True,
    "module m; always #(N) x = 1; endmodule": True,
    "module m; always @(c) x <= #1 1; endmodule": True,
    "module m; assign #1 x = 1; endmodule": True,  # 'assign' is no '='
    "module m; sub #(3) s(); sub #(.N(3)) t(); endmodule": False,
    "module m #(parameter N = 1)(input a); endmodule": False,
    "module m; initial wait(x) y = 1; endmodule": True,
    "module m; wire [63:0] t = $time; endmodule": True,
    "module m; integer r; initial r = $random; endmodule": True,
    'module m; initial $display("x"); endmodule': True,
    "module m; wire [$clog2(9)-1:0] a = $signed(b) + $unsigned(c) + $bits(d); endmodule": False,
    "module m; wire a = `MACRO; endmodule": True,
    "module m; endmodule // typedef\n/* import */ module n; endmodule": False,
    "module m; endmodule /* no end": True,
    "module m; endmodule // no end": False,
    'module m; localparam S = "#1 $time wait"; endmodule': False,
}


@pytest.mark.parametrize("text", ALONE)
def test_who_stands_alone(text: str) -> None:
    assert stands_alone(text) == ALONE[text]


def test_who_can_be_compared_with_the_reference() -> None:
    assert can_be_shadowed("module m; sub #(3) s(); assign x = a; endmodule")
    assert not can_be_shadowed("module m; always @(c) x <= #1 a; endmodule")
    assert not can_be_shadowed("module m; always @(c) x = #(D) a; endmodule")


# --- Tests that look at moments at which nothing can be said of the others -----------------------------------------

TOGGLES = """\
import cocotb
from cocotb.triggers import {imports}


@cocotb.test()
async def toggles(dut):
    {start}
    dut.rst.value = 1
{body}
"""
# A clock driven by the test itself, outputs read while nothing moves: sound.
QUIET = TOGGLES.format(
    imports="Timer", start="dut.clk.value = 0",
    body="""\
    for step in range(8):
        await Timer(2, unit="ns")
        dut.clk.value = 1
        await Timer(2, unit="ns")
        assert int(dut.q.value) == step % 2
        dut.clk.value = 0
        dut.rst.value = 0
""",
)  # fmt: skip
# Woken by an edge, outputs read there, at the moment of the edge.
AT_THE_EDGE = TOGGLES.format(
    imports="FallingEdge, RisingEdge", start="Clock(dut.clk, 4, unit='ns').start(start_high=False)",
    body="""\
    await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for step in range(8):
        await RisingEdge(dut.clk)
        assert int(dut.q.value) == step % 2
""",
).replace("import cocotb\n", "import cocotb\nfrom cocotb.clock import Clock\n")  # fmt: skip
AFTER_THE_EDGE = AT_THE_EDGE.replace(
    "        await RisingEdge(dut.clk)\n        assert int(dut.q.value) == step % 2",
    "        await FallingEdge(dut.clk)\n        assert int(dut.q.value) == (step + 1) % 2",
)
assert AFTER_THE_EDGE != AT_THE_EDGE
CLOCKED = "module toggle(input wire clk, input wire rst, output reg q);\n  {}\nendmodule\n"
TOGGLERS = {
    "right": CLOCKED.format("always @(posedge clk) q <= rst ? 1'b0 : ~q;"),
    "right too": CLOCKED.format("wire n = ~(rst | q); always @(posedge clk) q <= n;"),
    "at the other edge": CLOCKED.format("always @(negedge clk) q <= rst ? 1'b0 : ~q;"),
    "blocking": CLOCKED.format("always @(posedge clk) q = rst ? 1'b0 : ~q;"),
    "one delta later": CLOCKED.format("reg p; always @(posedge clk) p <= rst ? 1'b0 : ~p; always @(p) q <= p;"),
    "stuck": CLOCKED.format("always @(posedge clk) q <= 0;"),
    "without reset": CLOCKED.format("always @(posedge clk) q <= ~q;"),
}


@pytest.mark.parametrize(
    ("test", "sound"), [(QUIET, True), (AT_THE_EDGE, False), (AFTER_THE_EDGE, False)], ids=["quiet", "at", "after"]
)
def test_tests_that_wait_for_edges(
    test: str, sound: bool, trials: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_task(tmp_path / "suite", test, name="toggle")
    counted = Counted(monkeypatch)
    sources = list(TOGGLERS.values())
    found = trials.together(task, sources)
    alone = {name: finding(source, trials.alone(task, source)) for name, source in TOGGLERS.items()}
    together = {name: one and finding(source, one) for (name, source), one in zip(TOGGLERS.items(), found, strict=True)}
    assert together == alone
    assert alone["right"].outcome == alone["right too"].outcome == "passed"
    assert alone["stuck"].outcome == alone["without reset"].outcome == "mismatch"
    shadowed, tested = counted.batches[:2]
    assert shadowed == (1, len(TOGGLERS))
    # Slot by slot: all of them where nothing could be said, else those that differ.
    assert tested[0] == len(TOGGLERS) if not sound else tested[0] < len(TOGGLERS)


READS_AND_WRITES = """\
import cocotb
from cocotb.triggers import {trigger}


@cocotb.test()
async def at_once(dut):
    dut.a.value = 3
    await {wait}
    assert int(dut.y.value) == 12
    dut.a.value = 5
    {read}
    await {wait}
    assert int(dut.y.value) == 10
"""


@pytest.mark.parametrize(
    ("trigger", "wait", "read"),
    [
        ("ReadOnly, Timer", "Timer(1, unit='ns')", "await ReadOnly(); assert int(dut.y.value) == 10"),
        ("Timer", "Timer(1, unit='ns')", "assert int(dut.y.value) == 12"),  # the write has not been made yet
        pytest.param(
            "ReadWrite, Timer", "Timer(1, unit='ns')", "await ReadWrite(); int(dut.y.value)", marks=pytest.mark.slow
        ),
        pytest.param(
            "Timer, ValueChange",
            "Timer(1, unit='ns')",
            "await ValueChange(dut.y); assert int(dut.y.value) == 10",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["read-only", "before the write", "read-write", "value change"],
)
def test_tests_that_read_while_they_write(trigger: str, wait: str, read: str, trials: Trials, tmp_path: Path) -> None:
    task = load_task(tmp_path / "suite", READS_AND_WRITES.format(trigger=trigger, wait=wait, read=read))
    sources = [
        *GOOD[:3],
        module("assign y = a == 5 ? 4'd9 : ~a;"),
        module("reg [3:0] r; always @* r <= ~a; assign y = r;"),
    ]
    found = trials.together(task, sources)
    alone = [finding(source, trials.alone(task, source)) for source in sources]
    assert [one and finding(source, one) for source, one in zip(sources, found, strict=True)] == alone
    assert [one.outcome for one in alone[:4]] == [*["passed"] * 3, "mismatch"]


# --- Tests that are at fault themselves ----------------------------------------------------------------------------

BODY = LOOKS.index("@cocotb.test()")
FAULTY = {
    "raises": LOOKS.replace("    for value", "    raise RuntimeError('oh')\n    for value"),
    "loops for ever": LOOKS.replace("    for value", "    while True:\n        pass\n    for value"),
    "waits for ever": LOOKS.replace(
        "    for value", "    while True:\n        await Timer(1, unit='us')\n    for value"
    ),
    "exits": LOOKS.replace("    for value", "    import os\n    os._exit(0)\n    for value"),
    "ends Python": LOOKS.replace("    for value", "    raise SystemExit(0)\n    for value"),
    "reads what is not there": LOOKS.replace("dut.y.value)", "dut.nothing.value)"),
}


# Benches that come to no test, and what is said of them. No candidate is judged by such a one.
UNUSABLE = {
    "raises at its import": ("raise RuntimeError('oh')\n" + LOOKS, "RuntimeError: oh (test_invert.py, line 1)"),
    "raises without words": ("\nassert False\n" + LOOKS, "AssertionError (test_invert.py, line 2)"),
    "has no test": (LOOKS.replace("@cocotb.test()\n", ""), "the bench of invert has no tests"),
    "imports what is not there": (
        "import numpy\n" + LOOKS,
        "the bench of invert cannot be imported: ModuleNotFoundError: No module named 'numpy' (test_invert.py, line 1)",
    ),
    "imports what cannot be read": ("import helper\n" + LOOKS, "SyntaxError: invalid syntax (helper.py, line 2)"),
    "has a test twice": (LOOKS + "\n\nagain = inverts\n", "has 2 tests called 'inverts'"),
    "ends Python at its import": ("raise SystemExit(3)\n" + LOOKS, "cannot be imported: SystemExit: 3"),
    "exits at its import": ("import os\nos._exit(0)\n" + LOOKS, "cannot be imported: the simulation ends before"),
    "loops at its import": ("while True:\n    pass\n" + LOOKS, "cannot be imported: the simulation ends before"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_a_bench_that_can_test_nobody_is_refused(fault: str, trials: Trials, tmp_path: Path) -> None:
    test, words = UNUSABLE[fault]
    task = load_task(tmp_path / "suite", test, helper="\nx = = 1\n")
    with pytest.raises(BenchError) as caught:
        trials.alone(task, INVERT)
    assert str(caught.value).startswith("the bench of invert ")
    assert words in str(caught.value)


def test_a_candidate_that_ends_the_simulation_before_it_begins_is_to_blame_itself(
    trials: Trials, invert: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing tells its end from that of a bench that exits, but the bench alone."""
    run = trial._run

    def spoil(launcher: Launcher, simulator: Cosimulator, batch: Batch, *rest: Any, **more: Any) -> Done:
        done = run(launcher, simulator, batch, *rest, **more)
        return replace(done, printed={}) if batch.files else done

    monkeypatch.setattr(trial, "_run", spoil)
    assert finding(INVERT, trials.alone(invert, INVERT)).outcome == "crash"


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_bench_is_tried_without_a_candidate(simulator: str, trials: Trials, tmp_path: Path) -> None:
    """What is said of it then is right on each simulator, and nothing is where it can be imported."""
    if simulator == "verilator" and not shutil.which("verilator"):
        pytest.skip("no Verilator on PATH")
    engine = find_simulator(simulator, trials.simulator.engine.toolchain)
    cosimulator = replace(trials.simulator, engine=engine)
    process = ProcessResult(0, 0, "", 0.0, 0.0, 0)
    silent = Done((process, process))
    broken, words = UNUSABLE["raises at its import"]
    tasks = [load_task(tmp_path / name, text) for name, text in (("whole", LOOKS), ("broken", broken))]
    with closing(Launcher(trials.launcher.limits)) as launcher:
        batches = [make_batch(task, [INVERT], cosimulator.secret) for task in tasks]
        trial._refuse_bench(launcher, cosimulator, batches[0], silent)
        with pytest.raises(BenchError, match=re.escape(words)):
            trial._refuse_bench(launcher, cosimulator, batches[1], silent)


# Verilator takes all of these, and Icarus none.
NOT_FOR_ICARUS = {
    "twice": INVERT + INVERT,
    "streaming": "module invert(input [3:0] a, output [3:0] y);\n  wire [3:0] b = {<<{a}};\n"
    "  assign y = ~{b[0], b[1], b[2], b[3]};\nendmodule\n",
    "inside": "module invert(input [3:0] a, output [3:0] y);\n  assign y = a inside {0} ? 4'hf : ~a;\nendmodule\n",
    "bind": INVERT + "module other; endmodule\nbind invert other o();\n",
    "a byte that is no text": INVERT.replace("\n", "\n\0", 1),
}


def test_icarus_decides_what_compiles_wherever_it_is_simulated(
    trials: Trials, toolchain: Toolchain, tmp_path: Path
) -> None:
    if not shutil.which("verilator"):
        pytest.skip("no Verilator on PATH")
    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", LOOKS))
    sources = {"right": INVERT, "wrong": WRONG, **NOT_FOR_ICARUS}
    told = judge(benchmark, toolchain, tmp_path / "a", sources)
    assert judge(benchmark, toolchain, tmp_path / "b", sources, "verilator") == told
    assert {name for name, finding in told.items() if finding.outcome == "passed"} == {"right"}


@pytest.mark.parametrize("fault", FAULTY)
def test_no_candidate_passes_a_test_that_is_at_fault(fault: str, trials: Trials, tmp_path: Path) -> None:
    task = load_task(tmp_path / "suite", FAULTY[fault])
    found = finding(INVERT, trials.alone(task, INVERT))
    assert found.outcome in ("crash", "mismatch", "timeout"), found
    assert found.stage in ("compiled", "simulated")


def test_a_pool_says_so_too(toolchain: Toolchain, tmp_path: Path) -> None:
    test, _ = UNUSABLE["raises at its import"]
    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", test))
    with pytest.raises(BenchError, match="the bench of invert cannot be imported: RuntimeError: oh"):
        judge(benchmark, toolchain, tmp_path, {"right": INVERT, "as right": GOOD[0], "wrong": WRONG})


def test_a_wait_without_an_end_is_told_in_words(trials: Trials, tmp_path: Path) -> None:
    task = load_task(tmp_path / "suite", FAULTY["waits for ever"])
    told = finding(INVERT, trials.alone(task, INVERT))
    assert told.detail == "inverts: the test did not end within 10 ms of simulated time"
    text = LOOKS.replace("import Timer", "import Timer, with_timeout")
    text = text.replace("    for value", "    await with_timeout(Timer(1, 'us'), 60, 'ns')\n    for value")
    told = finding(INVERT, trials.alone(load_task(tmp_path / "other", text), INVERT))
    assert told.detail == "inverts: what the test waited for did not happen in time (60 ns into the test)"


def test_a_test_may_have_several_files_tests_and_configurations(trials: Trials, tmp_path: Path) -> None:
    reference = (
        "module invert #(parameter N = 4, M = 0)(input [N-1:0] a, output [N-1:0] y);\n  assign y = ~a ^ M;\nendmodule\n"
    )
    keys = "configurations = [{N = 2}, {N = 7, M = 5}]\n"
    more = '[[parameters]]\nname = "N"\ndefault = 4\n[[parameters]]\nname = "M"\ndefault = 0\n'
    test = (
        "import cocotb\nfrom cocotb.triggers import Timer\nfrom model import expected\n\n\n"
        "async def look(dut, values):\n    n, m = int(dut.N.value), int(dut.M.value)\n"
        "    assert (n, m) in ((4, 0), (2, 0), (7, 5))\n    for value in values:\n"
        "        dut.a.value = value % 2**n\n        await Timer(1, unit='ns')\n"
        "        assert int(dut.y.value) == expected(value % 2**n, n, m), f'for {value}'\n\n\n"
        "@cocotb.test()\nasync def small(dut):\n    await look(dut, range(4))\n\n\n"
        "@cocotb.test()\n@cocotb.parametrize(step=[3, 5])\nasync def large(dut, step):\n"
        "    await look(dut, range(0, 128, step))\n"
    )
    task = load_task(
        tmp_path / "suite", test, reference=reference, keys=keys, more=more, model="def expected(value, n, m):\n"
        "    return (2**n - 1 - value) ^ m\n",
    )  # fmt: skip
    bad = reference.replace("~a ^ M", "~a ^ (N == 7 ? 4 : M)")
    spare = reference.replace("assign", "wire spare; assign")
    sources = [spare, bad, reference, bad.replace("4 : M", "0 : M")]
    result = trials.together(task, sources)
    findings = [one and finding(source, one) for source, one in zip(sources, result, strict=True)]
    assert [one and one.outcome for one in findings] == ["passed", "mismatch", "passed", "mismatch"]
    assert findings[1] is not None
    assert findings[1].detail.endswith("[N=7, M=5]")
    assert findings[1] == finding(bad, trials.alone(task, bad))
    assert trials.alone(task, reference).report == result[2].report  # type: ignore[union-attr]
    assert result[0] is not None
    assert result[0].report is not None
    assert result[0].report.samples == 9  # three instances, three tests


# --- Mutants of the project's own tasks ----------------------------------------------------------------------------

CHANGES = [
    (r"(?<![<>=!&|^])<(?![<=])", "<="), (r"==", "!="), (r"\+", "-"), (r"&&", "||"), (r"\^", "&"),
    (r"posedge", "negedge"),
    (r"(?<=')d0\b", "d1"), (r"(?<=')b1\b", "b0"), (r"if \(!", "if ("), (r" \? ", " ? 1'b0 & "), (r"<= ", "<= ~"),
    (r"<= ", "<= #1 "), (r"= ", "= 1'bx ^ "), (r";\n", "; ;\n"), (r"endmodule", "wire spare;\nendmodule"),
    (r"endmodule", "wire [63:0] t = $time;\nendmodule"), (r"output", "input"), (r"\bbegin\b", "begin :"),
    (r"\[7:0\]", "[6:0]"), (r"else", ""),
]  # fmt: skip


def mutants(reference: str, count: int, draw: random.Random) -> list[str]:
    """Texts with one change each; many are wrong, some as good as the reference, some no Verilog."""
    found: list[str] = []
    while len(found) < count:
        pattern, new = draw.choice(CHANGES)
        places = list(re.finditer(pattern, reference))
        if places:
            place = draw.choice(places)
            found.append(reference[: place.start()] + new + reference[place.end() :])
    return found


FEW = ("gray_convert", "wrap_counter")


def compare(trials: Trials, task: Task, sources: list[str]) -> set[str]:
    """Findings together and alone are equal; returns the outcomes."""
    seen = set()
    for source, one in zip(sources, trials.together(task, sources), strict=True):
        alone = finding(source, trials.alone(task, source))
        seen.add(alone.outcome)
        if one is None:
            continue
        together = finding(source, one)
        assert (together.outcome, together.detail) == (alone.outcome, alone.detail), source
    return seen


def test_mutants_together_and_alone(trials: Trials) -> None:
    draw = random.Random(6)
    seen = set()
    for task in benchmarks.load("verieval", tasks=",".join(FEW)).tasks:
        seen |= compare(trials, task, mutants(str(task.reference), 4, draw))
    assert seen >= {"passed", "mismatch"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2))
def test_many_mutants_together_and_alone(seed: int, trials: Trials) -> None:
    draw = random.Random(seed + 100)
    seen = set()
    for task in benchmarks.load("verieval").tasks[seed::6]:
        seen |= compare(trials, task, mutants(str(task.reference), 20, draw))
    assert seen >= {"passed", "mismatch", "syntax", "interface", "elaboration"}
