"""Calibration finds what the errata say, and what small benches are built to do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.judge import Toolchain
from verieval.judge.calibrate import Calibration, Observation, Runner, calibrate, calibrate_task
from verieval.judge.calibrate_sources import stubs, without_power_up
from verieval.judge.rules import RULES, Transcript
from verieval.judge.seal import prepare, restore, unseal
from verieval.task import Port, SourceFile, Task, Testbench


def runner(toolchain: Toolchain, rule: str, folder: Path, most: float = 30) -> Runner:
    """Compile and simulate in one folder, each under a CPU limit of at most ``most`` seconds."""
    log = folder / "log"

    def tool(argv: list[str], cpu: float) -> tuple[str, bool, float]:
        limited = ["prlimit", f"--cpu={int(cpu + 0.999)}", "--fsize=100000000", *argv]
        with log.open("wb") as file:
            process = subprocess.Popen(limited, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        ended = os.WIFEXITED(status)
        return log.read_bytes().decode("utf-8", "replace"), ended, usage.ru_utime + usage.ru_stime

    def run(task: Task, source: str, *, steps: bool, cpu: float | None) -> Observation:
        sealed = prepare(task).with_secret("secret", steps=steps)
        bench = sealed.bench
        files = [item.name for item in bench.sources]
        files.insert(0 if bench.candidate_first else len(files), "candidate.sv")
        (folder / "candidate.sv").write_text(source)
        for item in bench.sources:
            (folder / item.name).write_bytes(item.text.encode())
        for data in bench.data_files:
            (folder / data.name).write_bytes(data.data)
        (folder / "simulation").unlink(missing_ok=True)
        argv = [*toolchain.iverilog, *bench.compile_flags, "-s", str(bench.top), "-o", "simulation", *files]
        said, _, _ = tool(argv, 30)
        if not (folder / "simulation").exists():
            return Observation(False, True, False, False, None, None, (), 0.0)
        stdout, finished, used = tool([*toolchain.vvp, "-n", "simulation", "-none"], min(cpu or 30, most))
        done = unseal(sealed, stdout)
        report = RULES[rule].report(Transcript("", True, done.bench_lines))
        official = RULES[rule].official(Transcript(restore(sealed, said), True, done.plain, timed_out=not finished))
        return Observation(True, finished, report.clean, official.passed, report.samples, done.trace, done.steps, used)

    return run


# --- Small benches -------------------------------------------------------------------------------------------------

BENCH = """module tb;
  reg clk = 0, go = 0; reg [3:0] a = 0; wire [3:0] y; integer errors = 0, samples = 0;
  unit dut(.clk(clk), .go(go), .a(a), .y(y));
  initial begin
    repeat (20) begin
      {}
    end
    $display("Mismatches: %0d in %0d samples", errors, samples);
    $finish;
  end
endmodule
"""
UNIT = """module unit(input clk, input go, input [3:0] a, output reg [3:0] y);
  initial y = 0;
  always @(posedge clk) y <= go ? a : y;
endmodule
"""
CYCLE = "#5 clk = 1; #5 clk = 0; samples = samples + 1;"
LOAD = f"go = 1; a = a + 3; {CYCLE}"
CHECK = "if (y !== a) errors = errors + 1;"
# What a bench does 20 times, and: stubs that pass, power-up, inputs depend, flags.
BENCHES = {
    "sound": (f"{LOAD} {CHECK}", (), "insensitive", False, ()),
    "looks before the first load": (
        f"if (samples == 0 && y !== 0) errors = 1; {LOAD} {CHECK}", (), "sensitive", False, ("power_up",),
    ),
    "never loads": (
        f"{CYCLE} if (y !== 0) errors = errors + 1;", ("zero",), "sensitive", False, ("vacuous", "power_up"),
    ),
    "takes X for right": (
        f"{LOAD} if (y != a) errors = errors + 1;", ("x", "undriven"), "insensitive", False, ("vacuous",),
    ),
    "looks at nothing": (LOAD, ("zero", "one", "x", "undriven"), "insensitive", False, ("vacuous",)),
    "feeds an output back": (f"{LOAD} {CHECK} a = y;", (), "insensitive", True, ("inputs_depend",)),
    "waits for an output": (
        f"{LOAD} while (y !== a) begin #5 clk = ~clk; end", (), "insensitive", True, ("inputs_depend", "waits"),
    ),
    "stops at a fault": (
        f'{LOAD} if (y !== a) begin $display("fault"); $finish; #1; end',
        (), "insensitive", False, ("stops_at_failure",),
    ),
    "cannot be passed": (f"{LOAD} if (y === a) errors = errors + 1;", None, "n/a", False, None),
}  # fmt: skip


def small_task(body: str, reference: str = UNIT) -> Task:
    oracle = Testbench((SourceFile("tb.sv", BENCH.format(body)),), top="tb", compile_flags=("-g2012",))
    return Task("small", "", "unit", oracle, reference=reference)


@pytest.mark.parametrize("name", BENCHES)
def test_small_benches(name: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    body, passed, power_up, depend, flags = BENCHES[name]
    found = calibrate_task(small_task(body), runner(each_icarus, "verieval", tmp_path, most=1))
    assert (found.power_up, found.inputs_depend) == (power_up, depend)
    if passed is None:
        assert "reference_fails" in found.flags
        return
    assert found.stubs_passed == passed
    assert found.flags == flags
    assert found.samples == 20
    assert found.trace


# --- Sources -------------------------------------------------------------------------------------------------------

HEADERS = {
    "module m #(parameter W = 4)(input logic clk, output reg signed [W-1:0] q = 3, output z); endmodule":
        "module m # ( parameter W = 4 ) ( input clk , output signed [ W - 1 : 0 ] q , output z ) ;",
    "module m(a, b); parameter N = 3; localparam K = 2; input [N:0] a; output b; reg b; endmodule":
        "module m #(parameter N = 3)(input [3:0] a, output [0:0] b);",
    "`define R [7:0]\nmodule other; endmodule module m(input `R a, inout b); other o(); endmodule":
        "module m ( input [ 7 : 0 ] a , inout b ) ;",
}  # fmt: skip


@pytest.mark.parametrize("reference", HEADERS)
def test_stubs_have_the_reference_s_ports(reference: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    task = Task("t", "", "m", Testbench((), top=None), reference=reference)
    made = stubs(task)
    assert set(made) == {"zero", "one", "x", "undriven"}
    assert made["undriven"] == f"{HEADERS[reference]}\nendmodule\n"
    for kind, text in made.items():
        (tmp_path / f"{kind}.sv").write_text(text)
        argv = [*each_icarus.iverilog, "-g2012", "-s", "m", "-t", "null", f"{kind}.sv"]
        subprocess.run(argv, cwd=tmp_path, check=True)


POWER_UP = {
    "reg q = 1; always @(posedge c) q <= ~q;": "reg q ; always @(posedge c) q <= ~q;",
    "reg q, r = 0; initial q = 0; always @(posedge c) begin q <= r; r++; end":
        "reg q, r ; initial begin end always @(posedge c) begin q <= r; r++; end",
    "reg [3:0] m [0:3]; initial for (int i = 0; i < 4; i++) m[i] = 1; always @(posedge c) m[2][1:0] <= 0;":
        "reg [3:0] m [0:3]; initial for (int i = 0; i < 4; i++) begin end always @(posedge c) m[2][1:0] <= 0;",
    "reg [3:0] q, r; initial {q, r} = 8'h21; always @* {q, r} = c;":
        "reg [3:0] q, r; initial begin end always @* {q, r} = c;",
    # A table that nothing else fills is the function itself; a file or a delay is no power-up value.
    "reg [3:0] rom [0:1]; initial begin rom[0] = 3; rom[1] = 4; end wire [3:0] w = rom[c];": None,
    "reg [3:0] m [0:3]; initial $readmemh(\"f\", m); always @(posedge c) m[0] <= 1;": None,
    "reg k; initial begin k = 0; #5 k = 1; end always @(posedge c) k <= 0;": None,
    "wire w = c; reg q; always @(posedge c) q <= w;": None,
}  # fmt: skip


@pytest.mark.parametrize("body", POWER_UP)
def test_power_up_values_are_dropped(body: str) -> None:
    wrapped = "module m(input c);  // é\n{}\nendmodule\n"
    task = Task("t", "", "m", Testbench((), top=None), reference=wrapped.format(body))
    expected = POWER_UP[body]
    assert without_power_up(task) == (None if expected is None else wrapped.format(expected))


# --- Benchmarks ----------------------------------------------------------------------------------------------------


def test_own_tasks_are_sound(each_icarus: Toolchain, tmp_path: Path) -> None:
    tasks = benchmarks.load("verieval", VERILOG_BENCHES).tasks[::5]
    found = calibrate(tasks, runner(each_icarus, "verieval", tmp_path))
    assert {one.flags for one in found} == {()}
    assert {(one.power_up, one.inputs_depend) for one in found} == {("insensitive", False)}


CONSTANT = 'module tb; wire z; unit dut(.z(z)); initial #1 $display("Mismatches: %0d in 1 samples", z); endmodule\n'


def test_a_constant_task_is_not_vacuous(each_icarus: Toolchain, tmp_path: Path) -> None:
    reference = "module unit(output z); assign z = 0; endmodule\n"
    oracle = Testbench((SourceFile("tb.sv", CONSTANT),), top="tb")
    task = Task("constant", "", "unit", oracle, ports=(Port("z", "output", 1),), reference=reference)
    found = calibrate_task(task, runner(each_icarus, "verieval", tmp_path))
    assert found.stubs_passed == ("zero",)
    assert found.flags == ("no_trace",)  # there is no input to trace


def _calibrated(name: str, data_dir: Path, toolchain: Toolchain, folder: Path) -> tuple[Calibration, ...]:
    benchmark = benchmarks.load(name, data_dir / name.partition(":")[0])
    return calibrate(benchmark.tasks, runner(toolchain, benchmark.rule, folder))


def _errata(name: str, data_dir: Path, effect: str) -> set[str]:
    found = benchmarks.load(name, data_dir / name.partition(":")[0]).errata
    return {erratum.task for erratum in found if erratum.effect == effect}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rtllm_and_its_errata(data_dir: Path, each_icarus: Toolchain, tmp_path: Path) -> None:
    found = _calibrated("rtllm", data_dir, each_icarus, tmp_path)
    assert {one.task for one in found if one.stubs_passed} == _errata("rtllm", data_dir, "vacuous")
    assert {one.task for one in found if one.inputs_depend} == {
        "adder_pipe_64bit", "multi_16bit", "multi_booth_8bit", "multi_pipe_8bit", "parallel2serial", "radix2_div",
        "serial2parallel",
    }  # fmt: skip
    assert {one.task for one in found if one.power_up == "sensitive"} == _errata("rtllm", data_dir, "power_up")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_verigen_and_its_errata(data_dir: Path, each_icarus: Toolchain, tmp_path: Path) -> None:
    found = _calibrated("verigen", data_dir, each_icarus, tmp_path)
    assert {one.task for one in found if one.stubs_passed} == _errata("verigen", data_dir, "vacuous")
    assert not any(one.inputs_depend for one in found)
    assert all("stops_at_failure" in one.flags for one in found)
