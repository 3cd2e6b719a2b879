"""Judging in CVDP's harnesses: its published examples, and harnesses of our own that end in other ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verieval.benchmarks import load
from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge.cosim.python import needs
from verieval.judge.harness.layout import lay_out
from verieval.judge.harness.results import read_results
from verieval.judge.rules import RULES, Transcript
from verieval.judge.sandbox import NO_SANDBOX, find_sandbox
from verieval.task import Benchmark, HarnessBench, SourceFile, Task
from verieval.verdict import Verdict

Judge = Callable[..., Verdict]

RUNNER = """
import os
import pytest
from cocotb_tools.runner import get_runner

@pytest.mark.parametrize("width", [4, 8])
def test_width(width):
    runner = get_runner(os.environ["SIM"])
    runner.build(sources=os.environ["VERILOG_SOURCES"].split(), hdl_toplevel=os.environ["TOPLEVEL"],
                 parameters={"W": width}, always=True, clean=True, timescale=("1ns", "1ns"), log_file="build.log")
    runner.test(hdl_toplevel=os.environ["TOPLEVEL"], test_module=os.environ["MODULE"])
"""
TEST = """
import cocotb
from cocotb.triggers import Timer

@cocotb.test()
async def adds_one(dut):
    for value in range(1 << len(dut.a)):
        dut.a.value = value
        await Timer(1, unit="ns")
        assert dut.y.value == (value + 1) % (1 << len(dut.a)), f"{value} + 1"

@cocotb.test()
async def again(dut):
    await Timer(1, unit="ns")
"""
TOP = """
module top #(parameter W = 4)(input [W-1:0] a, output [W-1:0] y);
  inc #(.W(W)) part(.a(a), .y(y));
endmodule
"""
RIGHT = "module inc #(parameter W = 4)(input [W-1:0] a, output [W-1:0] y);\n  assign y = a + 1'b1;\nendmodule\n"


def make(runner: str = RUNNER, test: str = TEST, reference: str | None = None) -> Benchmark:
    """One task: ``inc``, which the given ``top`` uses, with two widths of two tests each."""
    oracle = HarnessBench(
        sources=(SourceFile("src/test_runner.py", runner), SourceFile("src/test_top.py", test)),
        context=(SourceFile("code/rtl/top.sv", TOP),),
        targets=("code/rtl/inc.sv",),
        rtl=("code/rtl/top.sv", "code/rtl/inc.sv"),
        top="top",
        commands=(("-s", "-o", "cache_dir=/rundir/harness/.cache", "/src/test_runner.py"),),
        environment=(
            ("SIM", "icarus"), ("VERILOG_SOURCES", "/code/rtl/top.sv /code/rtl/inc.sv"), ("TOPLEVEL", "top"),
            ("MODULE", "test_top"), ("PYTHONPATH", "/src"),
        ),
    )  # fmt: skip
    task = Task(id="inc", prompt="Add one.", module="inc", oracle=oracle, reference=reference)
    return Benchmark(name="test", variant="", tasks=(task,), rule="cvdp")


@pytest.fixture(scope="module", autouse=True)
def _walls(toolchain: Toolchain) -> None:
    found = find_sandbox(toolchain, 8)
    if not found.holds:
        pytest.skip(f"no sandbox here: {found.reason}")


@pytest.fixture(scope="module")
def pool(toolchain: Toolchain) -> Iterator[JudgePool]:
    """One pool for all candidates of the usual benchmark, since each has to try its tools first."""
    with JudgePool(make(), toolchain) as pool:
        yield pool


@pytest.fixture
def judge(toolchain: Toolchain, pool: JudgePool) -> Judge:
    """Judge one text on the only task of a benchmark."""

    def run(text: str, benchmark: Benchmark | None = None, **limits: float) -> Verdict:
        if benchmark is None and not limits:
            return pool.submit(Completion("inc", 0, text, finish_reason="stop")).result()
        benchmark = benchmark or make()
        with JudgePool(benchmark, toolchain, Limits.from_options(**limits)) as own:
            return own.submit(Completion(benchmark.tasks[0].id, 0, text, finish_reason="stop")).result()

    return run


BROKEN = {
    "cvdp:nonagentic": ("lfsr_out[2],q3}", "lfsr_out[2],~q3}", "test_non_zero_1: "),
    "cvdp:agentic": ("grant_index <= 3'd3", "grant_index <= 3'd2", "Test Case 1 Failed: Expected grant_index=3"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_solutions_pass_and_with_one_line_broken_fail(name: str, data_dir: Path, toolchain: Toolchain) -> None:
    solved_and_broken(name, data_dir, toolchain)


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_same_on_icarus_12(name: str, data_dir: Path, icarus12: Toolchain) -> None:
    solved_and_broken(name, data_dir, icarus12)


def solved_and_broken(name: str, data_dir: Path, tools: Toolchain) -> None:
    benchmark = load(name, data_dir)
    task = benchmark.tasks[0]
    right, wrong, said = BROKEN[name]
    assert task.reference is not None
    assert task.reference.count(right) == 1
    with JudgePool(benchmark, tools) as pool:
        reference = pool.reference(task)
        good = pool.submit(Completion(task.id, 0, task.reference, finish_reason="stop")).result()
        bad = pool.submit(Completion(task.id, 1, task.reference.replace(right, wrong), finish_reason="stop")).result()
    assert (reference.result().outcome, reference.result().official) == ("passed", True)
    assert (good.outcome, good.passed) == ("passed", {"strict": True, "official": True})
    assert good.samples == reference.result().samples == {"cvdp:nonagentic": 3, "cvdp:agentic": 1}[name]
    assert (bad.outcome, bad.passed) == ("mismatch", {"strict": False, "official": False})
    assert said in bad.detail


def test_a_part_with_the_design_around_it(judge: Judge) -> None:
    right = judge(RIGHT)
    assert (right.outcome, right.samples, right.passed) == ("passed", 4, {"strict": True, "official": True})


def test_only_one_configuration_wrong(judge: Judge) -> None:
    verdict = judge(RIGHT.replace("a + 1'b1", "a + ((W == 8 && a == 200) ? 2'd2 : 2'd1)"))
    assert (verdict.outcome, verdict.mismatches, verdict.samples) == ("mismatch", 1, 4)
    assert verdict.detail.startswith("adds_one: 200 + 1")
    assert verdict.detail.endswith("(201 ns into the test)")


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        (RIGHT.replace("endmodule", ""), "syntax", "syntax error"),
        (RIGHT.replace("inc", "dec"), "interface", "does not define the module"),
        (RIGHT.replace(" y", " z"), "interface", "is not a port of"),
        (RIGHT.replace("endmodule", "foo f();\nendmodule"), "not_self_contained", "foo"),
        (RIGHT.replace("endmodule", 'initial $readmemh("x", m);\nreg m[3:0];\nendmodule'), "forbidden", "$readmemh"),
        (RIGHT.replace("endmodule", "initial #3 $finish;\nendmodule"), "forbidden", "$finish"),
        (RIGHT.replace("endmodule", "initial top.part.y = 1;\nendmodule"), "not_self_contained", "top"),
        ("I cannot help with that.", "no_code", "no code"),
    ],
)
def test_where_candidates_fall(judge: Judge, text: str, outcome: str, words: str) -> None:
    verdict = judge(text)
    assert (verdict.outcome, verdict.passed) == (outcome, {"strict": False, "official": False})
    assert words in verdict.detail
    assert verdict.seconds["simulate"] == 0.0 or outcome == "interface"


def test_refused_candidates_are_not_simulated(judge: Judge) -> None:
    # The harness would pass it.
    verdict = judge(RIGHT.replace("endmodule", "initial if (0) $finish;\nendmodule"))
    assert (verdict.outcome, verdict.passed["official"], verdict.seconds["simulate"]) == ("forbidden", False, 0.0)


def test_macros_are_expanded_once(judge: Judge) -> None:
    assert judge("`default_nettype none\n`define ONE 1'b1\n" + RIGHT.replace("input ", "input wire ").replace(
        "output ", "output wire ").replace("1'b1", "`ONE") + "`default_nettype wire\n").outcome == "passed"  # fmt: skip


def test_icarus_confirms_dotted_names(judge: Judge) -> None:
    """As for every other kind of bench: pyslang takes a branch that Icarus does not, and then looks upwards from it."""
    text = "if (4294967295 + 1) ; else begin : part wire [7:0] y; end\nwire [7:0] w = part.y;\nendmodule"
    verdict = judge(RIGHT.replace("endmodule", text))
    assert (verdict.outcome, verdict.passed["official"], verdict.seconds["simulate"]) == ("elaboration", False, 0.0)
    assert "part.y" in verdict.detail
    kept = RIGHT.replace("endmodule", "if (1) begin : g wire q = a[0]; end\nwire w = g.q;\nendmodule")
    assert judge(kept).outcome == "passed"


def test_what_ends_near_a_limit_is_judged_again_alone(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is simulated, or refused and only compiled."""
    from verieval.judge import evidence
    from verieval.judge.harness import trial

    trials: list[tuple[str, float]] = []

    def record(name: str) -> None:
        original = getattr(trial, name)

        def recorded(*arguments: Any, slack: float = 1.0, **more: Any) -> Any:
            if arguments[2].id != "probe":
                trials.append((name, slack))
            return original(*arguments, slack=slack, **more)

        monkeypatch.setattr(trial, name, recorded)

    monkeypatch.setattr(evidence, "SLACK", 50.0)  # a window that no load can leave
    record("run_harness")
    record("compile_only")
    refused = RIGHT.replace("endmodule", "initial #3 $finish;\nendmodule")
    limits = Limits(simulate_cpu=8.0, compile_cpu=0.05, wall_factor=1_000)
    with JudgePool(make(), toolchain, limits) as own:
        for text, outcome, name in ((RIGHT, "passed", "run_harness"), (refused, "forbidden", "compile_only")):
            trials.clear()
            assert own.submit(Completion("inc", 0, text, finish_reason="stop")).result().outcome == outcome
            assert trials == [(name, 50.0), (name, 1.0)]


@pytest.mark.slow
def test_a_loop_without_time_is_a_timeout(judge: Judge) -> None:
    hangs = RIGHT.replace("endmodule", "reg z = 0;\ninitial begin #2; while (a !== 'x) #0 z = ~z; end\nendmodule")
    assert judge(hangs, simulate_cpu=4.0).outcome == "timeout"


@pytest.mark.slow
def test_a_flood_of_words_is_too_much(judge: Judge) -> None:
    flood = RIGHT.replace(
        "endmodule", 'integer i;\ninitial for (i = 0; i < 400000; i = i + 1) $display("%d", i);\nendmodule'
    )
    assert judge(flood, output_mib=2).outcome == "resource"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runner", "test", "outcome", "official"),
    [
        # The simulation ends before its results are written.
        (RUNNER, TEST.replace('await Timer(1, unit="ns")\n', "import os; os._exit(0)\n", 1), "crash", False),
        # No simulation at all, and pytest is content.
        ("def test_nothing():\n    pass\n", TEST, "crash", True),
        # The harness does not look at what its simulations found.
        (RUNNER.replace("    runner.test(", "    try: runner.test(").replace("])\n", "])\n", 1).rstrip()
         + "\n    except SystemExit: pass\n", TEST.replace("+ 1)", "+ 2)"), "mismatch", True),
        # Everything that was simulated is right, and pytest fails beside it.
        (RUNNER + "    assert width == 4, 'too wide'\n", TEST, "mismatch", False),
        # The harness cannot be imported.
        ("import does_not_exist\n" + RUNNER, TEST, "crash", False),
        # What is printed decides nothing.
        ("def test_nothing():\n    print('4 passed')\n", TEST, "crash", True),
    ],
)  # fmt: skip
def test_the_results_decide(judge: Judge, runner: str, test: str, outcome: str, official: bool) -> None:
    verdict = judge(RIGHT, make(runner, test))
    assert (verdict.outcome, verdict.passed) == (outcome, {"strict": False, "official": official})


@pytest.mark.slow
def test_fewer_tests_than_the_reference_has(judge: Judge) -> None:
    # A harness whose number of tests answers to the design.
    more = "\nif 'lazy' not in open('/code/rtl/inc.sv').read():\n    third = cocotb.test(name='third')(again.func)\n"
    benchmark = make(test=TEST + more, reference=RIGHT)
    assert judge(RIGHT, benchmark).samples == 6
    verdict = judge(RIGHT.replace("y);", "y);\n  wire lazy;"), benchmark)
    assert (verdict.outcome, verdict.samples) == ("tampered", 4)


INSPECT = """
import json, os, socket
from pathlib import Path

def test_look():
    def net():
        try:
            socket.create_connection(("127.0.0.1", 22), 1)
        except OSError as error:
            return "refused"
    def write(path):
        try:
            Path(path).write_text("x")
            return "written"
        except OSError:
            return "refused"
    found = {"cwd": os.environ["PWD"], "code": sorted(os.listdir("/code")), "src": sorted(os.listdir("/src")),
             "net": net(), "etc": os.path.exists("/etc/passwd"), "root": write("/x"),
             "names": sorted(name for name in os.environ if "VERIEVAL" in name or "SECRET" in name)}
    assert False, "LOOK " + json.dumps(found)
"""


def test_the_view_from_inside(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    detail = judge(RIGHT, make(INSPECT)).detail
    for words in (
        '"cwd": "/code/rundir"', '"code": ["docs", "rtl", "rundir", "src", "verif"]', "test_runner.py",
        '"net": "refused"', '"etc": false', '"root": "refused"',
    ):  # fmt: skip
        assert words in detail
    assert '"names": []' in detail or len(detail) > 240


def test_without_a_sandbox_there_is_one_sentence(toolchain: Toolchain) -> None:
    with (
        pytest.raises(VerievalError, match="only a sandbox can give them"),
        JudgePool(make(), toolchain, sandbox=NO_SANDBOX) as pool,
    ):
        pool.submit(Completion("inc", 0, RIGHT, finish_reason="stop")).result()


def test_a_broken_installation_is_no_broken_candidate(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    from verieval.judge.harness import trial

    monkeypatch.setattr(trial, "_PROBE_TEST", "import does_not_exist\n")
    with (
        pytest.raises(VerievalError, match="on a one-line module, so the installation is broken"),
        JudgePool(make(), toolchain) as pool,
    ):
        pool.submit(Completion("inc", 0, RIGHT, finish_reason="stop")).result()


def test_needs_are_those_of_the_harness() -> None:
    links = dict(needs(make()).links)
    assert set(links) == {"/code", "/src", "/rundir"}
    assert needs(Benchmark("none", "", (), "cvdp")).links == ()


def test_where_an_answer_goes() -> None:
    base = make().tasks[0].oracle
    assert isinstance(base, HarnessBench)
    names = ("code/rtl/inc.sv", "code/rtl/b.sv", "code/rtl/c.sv")
    before = (SourceFile(names[0], "module inc; endmodule"), SourceFile(names[1], "package p; endpackage"))
    two = replace(base, context=before, targets=names, rtl=names)
    kept = lay_out(two, RIGHT)
    assert kept["code/rtl/inc.sv"] == RIGHT
    assert kept["code/rtl/b.sv"] == "package p; endpackage"
    assert kept["code/rtl/c.sv"] == ""
    assert lay_out(two, "package p; endpackage\n" + RIGHT)["code/rtl/b.sv"] == ""


PASSED = '<testsuites><testsuite><testcase name="t"/></testsuite></testsuites>'
FAILED = '<testsuites><testsuite><testcase name="t"><failure message="a  b"/></testcase></testsuite></testsuites>'


def left(*results: str, built: bool = True) -> str:
    return json.dumps([{"test": "t", "results": list(results), "built": built, "log": "log"}])


@pytest.mark.parametrize(
    ("report", "found", "tests"),
    [
        (PASSED, left(PASSED), (1, "", "")),
        (PASSED, left(PASSED, PASSED), (2, "", "")),
        (PASSED, left(PASSED, FAILED), (2, "t", "a b")),
        (FAILED, left(PASSED), (1, "t", "a b")),
        (FAILED, left(), None),
        (PASSED, left(), None),
        (PASSED, left(""), None),
        (PASSED, left(PASSED[:-9]), None),
        (PASSED, left("<testsuites/>"), None),
        (PASSED, left("<!DOCTYPE x>" + PASSED), None),
        ("", left(PASSED), None),
        (PASSED[:20], left(PASSED), None),
        (PASSED, "", None),
        (PASSED, "[]", None),
        (PASSED, "[3]", None),
        (PASSED, '[{"test": 1}]', None),
    ],
)
def test_reading_results(report: str, found: str, tests: tuple[int, str, str] | None) -> None:
    result = read_results(report, found).tests
    assert (None if result is None else (result.tests, result.failed, result.message)) == tests


@pytest.mark.parametrize(
    ("printed", "timed_out", "passed"),
    [("exit 0", False, True), ("exit 0\nexit 0", False, True), ("exit 0\nexit 1", False, False), ("", False, False),
     ("exit 0\nnot run", False, False), ("exit 0", True, False)],
)  # fmt: skip
def test_the_official_rule(printed: str, timed_out: bool, passed: bool) -> None:
    assert RULES["cvdp"].official(Transcript("", True, printed, timed_out=timed_out)).passed is passed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_bench_check_and_show(data_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = (data_dir / "cvdp").glob("*_nonagentic_*_with_solutions.jsonl")
    text = next(rows).read_text().rstrip("\n")
    other = json.loads(text) | {"id": "cvdp_other", "categories": ["cid013", "hard"]}
    (folder / "cvdp_v1.1.0_nonagentic_code_generation_no_commercial.jsonl").write_text(f"{text}\n{json.dumps(other)}\n")

    def verieval(*words: str) -> str:
        command = [sys.executable, "-m", "verieval", "bench", *words, "--data", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ))
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = "1 of 2 problems cannot be judged here, so scores are of 1:\n  cvdp_other: its answer is a test bench"
    assert listed in verieval("show", "cvdp:nonagentic")
    text = verieval("check", "cvdp:nonagentic")
    assert listed in text
    assert "1 of 1 references pass; strict: 1 of 1" in text
    assert "cvdp_copilot_lfsr_0001 (zero)\n" in text  # a stub passes; the errata know it
    result = json.loads(verieval("check", "cvdp:nonagentic", "--json"))
    assert result["unsupported"][0]["task"] == "cvdp_other"
