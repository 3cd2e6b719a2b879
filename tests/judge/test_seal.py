"""Sealed benches: nothing changes but the secrets, and what tampers with a simulation shows in its trace."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.judge import Toolchain
from verieval.judge.rules import RULES, Transcript
from verieval.judge.seal import SealedBench, SealError, Unsealed, prepare, restore, seal, unseal
from verieval.task import SourceFile, Task, Testbench

UPSTREAM = (
    "verilog-eval:spec-to-rtl",
    "verilog-eval:code-complete",
    "verilog-eval-v1:human",
    "verilog-eval-v1:machine",
    "rtllm",
    "verigen",
)
# What the simulator itself says, in the bench's name but not through its printing calls.
SIMULATOR = re.compile(
    r"^\S+:\d+: \$finish called at .*\n|^WARNING: \S+ \$readmemh.*\n|^VCD info: dumping is suppressed\.\n", re.MULTILINE
)


@dataclass(frozen=True)
class Ran:
    """Compiler's log, and what the simulation printed (None: it did not compile)."""

    log: str
    stdout: str | None


def run(toolchain: Toolchain, bench: Testbench, candidate: str, folder: Path) -> Ran:
    """Compile and simulate as the judge does, in a folder of its own."""
    folder.mkdir(exist_ok=True)
    files = [source.name for source in bench.sources]
    files.insert(0 if bench.candidate_first else len(files), "candidate.sv")
    (folder / "candidate.sv").write_bytes(candidate.encode())
    for source in bench.sources:
        (folder / source.name).write_bytes(source.text.encode())
    for data in bench.data_files:
        (folder / data.name).write_bytes(data.data)
    root = ["-s", bench.top] if bench.top else []
    argv = [*toolchain.iverilog, *bench.compile_flags, *root, "-o", "simulation", *files]
    compiled = _tool(argv, folder)
    if not (folder / "simulation").exists():
        return Ran(compiled, None)
    stdout = _tool([*toolchain.vvp, "-n", "simulation", "-none"], folder)
    (folder / "simulation").unlink()
    return Ran(compiled, stdout)


def _tool(argv: list[str], folder: Path) -> str:
    log = folder / "tool.log"
    with log.open("wb") as file:
        subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, timeout=120, check=False)
    return log.read_bytes().decode("utf-8", "replace")


def sealed_run(toolchain: Toolchain, sealed: SealedBench, candidate: str, folder: Path) -> Unsealed:
    """Run with a sealed bench; it must compile."""
    ran = run(toolchain, sealed.bench, candidate, folder)
    assert ran.stdout is not None, ran.log
    return unseal(sealed, ran.stdout)


def faults(toolchain: Toolchain, task: Task, folder: Path) -> list[str]:
    """What differs between the plain and the sealed bench with the task's reference."""
    assert task.reference is not None
    prepared = prepare(task)
    sealed = prepared.with_secret("one", trace_secret="trace")
    plain = run(toolchain, task.oracle, task.reference, folder)
    first = run(toolchain, sealed.bench, task.reference, folder)
    found = [] if restore(sealed, first.log) == plain.log else [f"{task.id}: log {first.log!r}, not {plain.log!r}"]
    if plain.stdout is None or first.stdout is None:
        same = plain.stdout is first.stdout
        return [*found, *([] if same else [f"{task.id}: only one of the benches compiles"])]
    other = prepared.with_secret("two", trace_secret="trace", mismatch_samples=1000)
    one, two = unseal(sealed, first.stdout), sealed_run(toolchain, other, task.reference, folder)
    checks = {
        "output": one.plain == plain.stdout,
        "output with an early end": two.plain == plain.stdout,
        "bench's own lines": one.bench_lines == SIMULATOR.sub("", plain.stdout),
        "number of traces": one.traces == two.traces == int(sealed.has_trace),
        "trace": one.trace == two.trace and (one.trace is not None) == sealed.has_trace,
    }
    if one.mismatches is not None:
        checks["mismatches"] = f"Mismatches: {one.mismatches} in" in plain.stdout
    return found + [f"{task.id}: {name}" for name, holds in checks.items() if not holds]


def test_own_tasks_say_the_same(each_icarus: Toolchain, tmp_path: Path) -> None:
    tasks = benchmarks.load("verieval", VERILOG_BENCHES).tasks
    assert [fault for task in tasks for fault in faults(each_icarus, task, tmp_path)] == []
    assert all(prepare(task).has_trace for task in tasks)


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstream_tasks_say_the_same(name: str, data_dir: Path, each_icarus: Toolchain, tmp_path: Path) -> None:
    # A few light tasks; the others in the slow test. Prob066 depends on the order of processes.
    chosen = [task for task in _load(name, data_dir) if task.id == "Prob066_edgecapture"]
    chosen += _load(name, data_dir)[7::20]
    assert [fault for task in chosen for fault in faults(each_icarus, task, tmp_path)] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", UPSTREAM)
def test_all_upstream_tasks_say_the_same(name: str, data_dir: Path, each_icarus: Toolchain, tmp_path: Path) -> None:
    assert [fault for task in _load(name, data_dir) for fault in faults(each_icarus, task, tmp_path)] == []


def test_which_benches_have_no_trace(data_dir: Path) -> None:
    without = {task.id for name in UPSTREAM for task in _load(name, data_dir) if not prepare(task).has_trace}
    assert without == {"clkgenerator"}  # the design has no input


def test_which_benches_end_early(data_dir: Path) -> None:
    early = {name: {prepare(task).can_end_early for task in _load(name, data_dir)} for name in UPSTREAM}
    assert early == {name: {name.startswith("verilog-eval")} for name in UPSTREAM}


def _load(name: str, data_dir: Path) -> tuple[Task, ...]:
    return benchmarks.load(name, data_dir / name.partition(":")[0]).tasks


# --- A bench of the tests' own, of VerilogEval's shape ------------------------------------------------------------

COUNTING = """`timescale 1 ps/1 ps
module stimulus_gen(input clk, output reg [3:0] a);
  initial begin repeat (200) @(posedge clk) a <= $random; #1 $finish; end
endmodule
module tb;
  typedef struct packed { int errors; int clocks; } stats;
  stats stats1;
  reg clk = 0; wire [3:0] a, y_ref, y_dut;
  always #5 clk = ~clk;
  stimulus_gen stim1 (.clk, .*);
  RefModule good1 (.clk, .a, .y(y_ref));
  TopModule top_module1 (.clk, .a, .y(y_dut));
  wire tb_match = y_ref === (y_ref ^ y_dut ^ y_ref);
  initial $dumpvars(1, stim1.clk, tb_match);
  initial #4000 $finish;
  final $display("Mismatches: %1d in %1d samples", stats1.errors, stats1.clocks);
  always @(posedge clk, negedge clk) begin
    stats1.clocks++;
    if (!tb_match) stats1.errors++;
  end
endmodule
"""
DESIGN = "module {}(input clk, input [3:0] a, output reg [3:0] y);\n  always @(posedge clk) y <= a + 1;\n{}endmodule\n"


def counting_task() -> Task:
    sources = (SourceFile("tb.sv", COUNTING), SourceFile("ref.sv", DESIGN.format("RefModule", "")))
    oracle = Testbench(sources, top="tb", compile_flags=("-Wall", "-g2012"))
    ports = benchmarks.structure.ports(DESIGN.format("TopModule", ""), "TopModule")
    return Task("count", "", "TopModule", oracle, ports=ports, reference=DESIGN.format("TopModule", ""))


def altered(sealed: SealedBench, inserted: str) -> str:
    """The right design, with statements beside its logic. @name is the sealed spelling of a name."""
    spelled = re.sub(r"@(\w+)", lambda match: sealed.names[match[1]], inserted)
    return "`timescale 1ps/1ps\n" + DESIGN.format("TopModule", spelled + "\n")


# What a candidate does to the simulation, knowing even the secret names, and where it shows.
TAMPERING = {
    "forces its own input": ("initial #100 force a = 1;", "trace"),
    "stops the clock": ("initial #100 force clk = 0;", "trace"),
    "ends the simulation": ("initial #100 $finish;", "trace"),
    "draws from the stimulus's random numbers": ("integer drawn; initial #100 drawn = $random;", "trace"),
    "forces the reference": ("initial #100 force @tb.@good1.y = 0;", "trace"),
    "forces what is compared": ("initial #100 force @tb.y_ref = 0;", "trace"),
    "forces the stimulus": ("initial #100 force @tb.@stim1.a = 0;", "trace"),
    "forces X onto the stimulus": ("initial #100 force @tb.a = 4'bx;", "trace"),
    "clears the counter": ("assign y = 0; always @(clk) #0 @tb.stats1.errors = 0;", "mismatches"),
}


@pytest.mark.parametrize("trick", TAMPERING)
def test_tampering_shows(trick: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    task = counting_task()
    sealed = seal(task, "secret", mismatch_samples=None)
    inserted, shown_by = TAMPERING[trick]
    source = altered(sealed, inserted)
    if shown_by == "mismatches":
        source = source.replace("y <= a + 1", "").replace("output reg", "output")
    honest = sealed_run(each_icarus, sealed, str(task.reference), tmp_path)
    forged = sealed_run(each_icarus, sealed, source, tmp_path)
    assert (honest.traces, honest.mismatches) == (1, 0)
    assert getattr(forged, shown_by) != getattr(honest, shown_by)
    if shown_by == "mismatches":
        assert forged.bench_lines.startswith("Mismatches: 0 in ")
        assert (forged.mismatches or 0) > 0


HARMLESS = (
    'initial $display("Mismatches: 0 in 1 samples");',
    "reg [7:0] unused; initial #7 unused = 3; always @(posedge clk) #0 unused <= unused + 1;",
    "wire w = clk; always @(a or w) ;",
)


@pytest.mark.parametrize("inserted", HARMLESS)
def test_an_honest_design_leaves_the_trace(inserted: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    task = counting_task()
    sealed = seal(task, "secret", mismatch_samples=None)
    honest = sealed_run(each_icarus, sealed, str(task.reference), tmp_path)
    same = sealed_run(each_icarus, sealed, altered(sealed, inserted), tmp_path)
    assert same.trace == honest.trace
    assert same.bench_lines == honest.bench_lines == "Mismatches: 0 in 399 samples\n"


# The same for a bench without a reference, which is traced by a process of its own.
OWN_TAMPERING = {
    "forces its own input": "initial #200 force trigger = 1;",
    "stops the clock": "initial #400 force clk = 0;",
    "ends the simulation": "initial #500 $finish;",
    "reseeds the stimulus": "initial #300 @tb.noise = 1;",
    "draws a random number": "reg [31:0] drawn; initial #500 drawn = @tb.@draw();",
    "changes one input once": "initial #301 @tb.retrigger = ~@tb.retrigger;",
    "forces X onto an input": "initial #301 force @tb.length = 4'bx;",
}


@pytest.mark.parametrize("trick", OWN_TAMPERING)
def test_tampering_with_an_own_task_shows(trick: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    task = benchmarks.load("verieval", VERILOG_BENCHES).by_id["pulse_stretch"]
    sealed = seal(task, "secret", mismatch_samples=None)
    inserted = re.sub(r"@(\w+)", lambda match: sealed.names[match[1]], OWN_TAMPERING[trick])
    reference = str(task.reference).rstrip()
    source = reference.removesuffix("endmodule") + inserted + "\nendmodule\n"
    assert source.count(inserted) == 1
    honest = sealed_run(each_icarus, sealed, reference, tmp_path)
    forged = sealed_run(each_icarus, sealed, source, tmp_path)
    assert honest.traces == forged.traces == 1
    assert forged.trace != honest.trace


# --- The hash ------------------------------------------------------------------------------------------------------

FEEDING = """module stimulus_gen(output reg [{last}:0] a);
  reg [{last}:0] rows [0:{count}];
  integer i;
  initial begin
{rows}
    for (i = 0; i < {samples}; i = i + 1) begin a = rows[i]; #2; end
    $finish;
  end
endmodule
module tb;
  typedef struct packed {{ int errors; int clocks; }} stats;
  stats stats1;
  wire [{last}:0] a; wire y_ref, y_dut;
  stimulus_gen stim1 (a);
  RefModule good1 (a, y_ref);
  TopModule top_module1 (a, y_dut);
  initial forever begin #1; stats1.clocks++; if (y_ref !== y_dut) stats1.errors++; #1; end
endmodule
"""
FED = "module {name}(input [{last}:0] a, output y); assign y = 0; endmodule\n"


def hash_of(toolchain: Toolchain, folder: Path, values: list[str], secret: str = "s") -> tuple[int, SealedBench]:
    """The hash that a bench prints which feeds these values (binary) to a design of one input."""
    last = len(values[0]) - 1
    rows = "\n".join(f"    rows[{i}] = {last + 1}'b{value};" for i, value in enumerate(values))
    bench = FEEDING.format(last=last, count=len(values), samples=len(values), rows=rows)
    files = (SourceFile("tb.sv", bench), SourceFile("ref.sv", FED.format(name="RefModule", last=last)))
    design = FED.format(name="TopModule", last=last)
    task = Task(
        "fed", "", "TopModule", Testbench(files, top="tb", compile_flags=("-g2012",)), reference=design,
        ports=benchmarks.structure.ports(design, "TopModule"),
    )  # fmt: skip
    sealed = seal(task, secret, mismatch_samples=None)
    stdout = run(toolchain, sealed.bench, design, folder).stdout
    assert stdout is not None
    (printed,) = re.findall(f"{sealed.key}#([0-9a-f]+)", stdout)
    assert unseal(sealed, stdout).trace is not None
    return int(printed, 16), sealed


def polynomial(sealed: SealedBench, values: list[str]) -> int:
    """The same hash by its definition, in whole numbers, with the secrets read out of the sealed bench."""
    text = "".join(source.text for source in sealed.bench.sources)
    (factor,) = set(re.findall(r"hash\S* \* 64'h([0-9a-f]+)", text))
    (mark,) = re.findall(r"\+ 64'h([0-9a-f]+);", text)
    (multiplier,) = re.findall(r"'h([0-9a-f]+) \| 1", text)
    width = max(64, len(values[0]))

    def taken(bits: str) -> int:
        number = int(bits, 2)
        if len(bits) <= 30:
            return number
        return number * (int(multiplier, 16) | 1) % (1 << width) >> (width - 30)

    total, first = 0, True
    for value in values:
        complement = value.translate(str.maketrans("01xz", "1000"))
        if first or re.search("[xz]", value):
            total = total * int(factor, 16) + taken(re.sub("[xz]", "0", value)) + int(mark, 16)
            total = total * int(factor, 16) + taken(complement)
        else:
            total = total * int(factor, 16) + taken(value)
        first = False
    return total % (2**31 - 1)


@pytest.mark.parametrize("bits", [1, 29, 30, 31, 64, 65, 200])
def test_the_hash_is_the_polynomial(bits: int, each_icarus: Toolchain, tmp_path: Path) -> None:
    draw = random.Random(bits)
    # The output, which is 0, stands among the values too.
    values = ["".join(draw.choices("01xz", (9, 9, unknown, unknown), k=bits)) for unknown in (0, 0, 1, 0, 0.01) * 12]
    values += ["1" * bits, "0" * bits, "1" * bits]
    found, sealed = hash_of(each_icarus, tmp_path, values)
    assert found in {
        polynomial(sealed, [f"0{value}" for value in values]),
        polynomial(sealed, [f"{value}0" for value in values]),
    }
    assert hash_of(each_icarus, tmp_path, values, "another")[0] != found


def test_no_factor_modulo_a_power_of_two_tells_these_apart(each_icarus: Toolchain, tmp_path: Path) -> None:
    # The Thue-Morse polynomial, the product of 1 - x ** (2 ** i), is a multiple of 2 ** 64 for every odd x.
    signs = [i.bit_count() % 2 for i in range(1 << 11)]
    for odd in (0x9E3779B5, 3, 2**40 + 1):
        assert sum((1 - 2 * sign) * pow(odd, i, 1 << 64) for i, sign in enumerate(signs)) % (1 << 64) == 0
    one, other = (["0", *(str(sign ^ turned) for sign in signs)] for turned in (0, 1))
    assert hash_of(each_icarus, tmp_path, one)[0] != hash_of(each_icarus, tmp_path, other)[0]


@pytest.mark.parametrize(
    ("one", "other"), [("0x0", "00x"), ("0x", "000"), ("0x1", "0z1"), ("00", "000"), ("0xx", "0x00"), ("1", "0")]
)
def test_what_is_unknown_counts_where_it_is(one: str, other: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    found = [hash_of(each_icarus, tmp_path, list(values))[0] for values in (one, other)]
    assert (found[0] == found[1]) == (one.replace("z", "x") == other.replace("z", "x"))


def test_traces_are_compared_under_one_secret_alone() -> None:
    prepared = prepare(counting_task())
    here, again, elsewhere = (
        prepared.with_secret(secret, trace_secret=of_trace) for secret, of_trace in (("a", "x"), ("b", "x"), ("a", "y"))
    )
    traces = [unseal(sealed, f"{sealed.key}#00ab;\n").trace for sealed in (here, again, elsewhere)]
    assert traces[0] == traces[1] != traces[2]
    assert here.key == elsewhere.key
    numbers = [
        re.findall(r"64'h([0-9a-f]+)", "".join(s.text for s in sealed.bench.sources)) for sealed in (here, again)
    ]
    assert numbers[0] == numbers[1] != []


# --- Names ---------------------------------------------------------------------------------------------------------


def test_names_are_secret_and_everything_else_stays() -> None:
    task = counting_task()
    one, again, other = (seal(task, secret, mismatch_samples=None) for secret in ("a", "a", "b"))
    assert one == again
    assert one.key != other.key
    assert set(one.names) == {"tb", "stimulus_gen", "stim1", "RefModule", "good1", "top_module1"}
    assert not set(one.names.values()) & set(other.names.values())
    text = "".join(source.text for source in one.bench.sources)
    for old, new in one.names.items():
        assert not re.search(rf"(?<![\w$]){old}(?![\w$])", text)
        assert re.fullmatch(rf"{old}\$[0-9a-f]{{20}}", new)
    assert one.bench.top == one.names["tb"]
    assert f"TopModule {one.names['top_module1']} (.clk, .a, .y(y_dut));" in text
    assert f"$dumpvars(1, {one.names['stim1']}.clk, tb_match);" in text


def test_lines_keep_their_numbers() -> None:
    task = counting_task()
    for source, plain in zip(seal(task, "s", mismatch_samples=9).bench.sources[1:], task.oracle.sources, strict=True):
        for ours, theirs in zip(source.text.split("\n"), plain.text.split("\n"), strict=True):
            letters = iter(ours)
            assert all(letter in letters for letter in theirs)  # only insertions


@pytest.mark.parametrize("line", ["assign y = tb.good1.y;", "RefModule r(clk, a, y);", "initial tb.stats1.errors = 0;"])
def test_upstream_names_reach_nothing(line: str, each_icarus: Toolchain, tmp_path: Path) -> None:
    task = counting_task()
    source = f"module TopModule(input clk, input [3:0] a, output [3:0] y);\n  {line}\nendmodule\n"
    assert run(each_icarus, task.oracle, source, tmp_path).stdout is not None
    assert run(each_icarus, seal(task, "s", mismatch_samples=None).bench, source, tmp_path).stdout is None


# --- What is printed -----------------------------------------------------------------------------------------------

PRINTING = r"""`define SAY "x=%0d "
module tb;
  reg [7:0] x = 65; wire y; target target(.x(x[0]), .y(y));
  function integer loud(input integer n); begin $write("loud "); loud = n; end endfunction
  initial begin : steps
    #1 $display; $display(); $display(""); $display(x); $display(x, "and", x,, x); $displayh(x, " %s|%c%%", x, x);
    $write("no line end %0d ", x); $writeb(x); $write("\n"); $display(`SAY, x, `SAY, x + 1); $strobe("strobe %m %b", y);
    $monitor("monitor %b %t", x, $time); #1 x = 3; #1 $display("%0d %m", loud(7));
    $display("two\nlines"); $error("bad %d", x); $warning("odd"); $info; $display("more", x, y);
    #1 $display("line"); $fatal(0, "fatal %0d", x);
  end
endmodule
"""


def printing_task(bench: str = PRINTING) -> Task:
    reference = "module target(input x, output y); assign y = x; endmodule\n"
    return Task("print", "", "target", Testbench((SourceFile("tb.v", bench),), top="tb"), reference=reference)


def test_all_forms_of_printing(each_icarus: Toolchain, tmp_path: Path) -> None:
    task = printing_task()
    sealed = seal(task, "s", mismatch_samples=None)
    assert sealed.names["target"].startswith("target$")  # the instance; the module of this name keeps its own
    plain = run(each_icarus, task.oracle, str(task.reference), tmp_path)
    ran = run(each_icarus, sealed.bench, str(task.reference), tmp_path)
    assert ran.stdout is not None
    assert "strobe" in ran.stdout
    done = unseal(sealed, ran.stdout)
    assert done.plain == plain.stdout
    # Severity tasks print a head of the simulator's own.
    assert all(line in done.bench_lines for line in ("fatal 3", "x=65 x=66 \n", "strobe tb", "two\nlines\n"))


def test_the_candidate_s_words_are_told_from_the_bench_s(each_icarus: Toolchain, tmp_path: Path) -> None:
    bench = (
        "module tb; reg x = 0; wire y; target dut(.x(x), .y(y));\n"
        '  initial begin #5 $write("tests "); #2 $display("done"); #2 $display("%b", y); end\n'
        "endmodule\n"
    )
    source = (
        "module target(input x, output y); assign y = x;\n"
        '  initial begin $write("all "); #6 $write("that are passed\\n"); #2 $display("%m passed"); end\n'
        "endmodule\n"
    )
    task = printing_task(bench)
    done = sealed_run(each_icarus, seal(task, "s", mismatch_samples=None), source, tmp_path)
    assert done.bench_lines == "tests done\n0\n"
    assert done.plain == "all tests that are passed\ndone\ntb.dut passed\n0\n"
    assert done.traces == 1  # though nothing in this bench ends the simulation


def test_an_output_cut_short() -> None:
    sealed = seal(printing_task(), "s", mismatch_samples=None)
    key = sealed.key
    cut = unseal(sealed, f"theirs\n{key}<one{key}>\n{key}<tw")
    assert (cut.bench_lines, cut.plain, cut.trace, cut.traces) == ("one\ntw", "theirs\none\ntw", None, 0)
    twice = unseal(sealed, f"{key}#ab;\n{key}#ab;\n")
    assert (twice.trace, twice.traces, twice.plain) == (None, 2, "")
    assert unseal(sealed, "0#ab;\n").traces == 0


def test_what_cannot_be_sealed() -> None:
    macro = PRINTING.replace('"x=%0d "', '$display("x")').replace("$display(`SAY, x, `SAY, x + 1)", "`SAY")
    with pytest.raises(SealError, match=r"the bench of \w+: tb\.v writes \$display in a macro"):
        seal(printing_task(macro), "s", mismatch_samples=None)
    with pytest.raises(SealError, match=r"the bench of \w+: tb\.v:3 does not parse: expected '\]'"):
        seal(printing_task(PRINTING.replace("reg [7:0] x", "reg [7:0 x")), "s", mismatch_samples=None)


# --- Early end and isolation ---------------------------------------------------------------------------------------

WRONG = "module TopModule(input clk, input [3:0] a, output reg [3:0] y);\n  always @(posedge clk) y <= {};\nendmodule\n"


def test_a_failed_simulation_ends_early(each_icarus: Toolchain, tmp_path: Path) -> None:
    task = counting_task()
    sealed = seal(task, "s", mismatch_samples=50)
    assert sealed.ends_early
    for wrong, samples in (("a", 51), ("a + (a != 3)", 51), ("a + 1", 399)):
        done = sealed_run(each_icarus, sealed, WRONG.format(wrong), tmp_path)
        (line,) = re.findall(r"Mismatches: (\d+) in (\d+) samples\n", done.plain)
        assert int(line[1]) == samples
        assert SIMULATOR.sub("", done.plain) == done.bench_lines
        assert samples == 399 or "$finish" not in done.plain
        assert done.mismatches == int(line[0])
    assert not seal(printing_task(), "s", mismatch_samples=50).ends_early


def test_directives_do_not_reach_the_bench(each_icarus: Toolchain, tmp_path: Path) -> None:
    bench = "module tb; reg x = 0; target dut(.x(x), .y(undeclared)); initial #1 $display(undeclared); endmodule\n"
    source = "`default_nettype none\nmodule target(input wire x, output wire y); assign y = x; endmodule\n"
    task = printing_task(bench)
    assert run(each_icarus, task.oracle, source, tmp_path).stdout is None
    sealed = seal(task, "s", mismatch_samples=None)
    assert sealed_run(each_icarus, sealed, source, tmp_path).bench_lines == "0\n"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_honest_completions_leave_the_trace(data_dir: Path, each_icarus: Toolchain, tmp_path: Path) -> None:
    """Every tenth published completion: what passes has the reference's trace, and the rule says the same as plain."""
    import json

    rule = RULES["verilog-eval"]
    rows = json.loads((data_dir.parent / "completions" / "turtle_gemini-2.5-flash_verilog_eval_rtl.json").read_text())
    by_id = {task.id: task for task in _load("verilog-eval:spec-to-rtl", data_dir)}
    passed = 0
    for row in [row for task in rows for row in task][::10]:
        task = by_id[Path(row["test_path"]).name.removesuffix("_test.sv")]
        sealed = seal(task, "s", mismatch_samples=None)
        plain = run(each_icarus, task.oracle, row["generation"], tmp_path)
        ran = run(each_icarus, sealed.bench, row["generation"], tmp_path)
        assert restore(sealed, ran.log) == plain.log
        if plain.stdout is None or ran.stdout is None:
            assert plain.stdout is ran.stdout
            continue
        done = unseal(sealed, ran.stdout)
        assert done.plain == plain.stdout
        if rule.report(Transcript("", True, done.bench_lines)).clean:
            passed += 1
            assert done.trace == sealed_run(each_icarus, sealed, str(task.reference), tmp_path).trace, task.id
            assert done.mismatches == 0
    assert passed > 40
