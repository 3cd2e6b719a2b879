"""Mutants of small modules, counted by hand, and of every reference that there is, read by other parsers."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from verieval import benchmarks
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.mutate import KINDS, changed_lines, mutants, sample
from verieval.mutate.literals import is_unknown, others

ADDER = "module m(input [3:0] a, b, output [3:0] y);\n  assign y = a + b; // sum\nendmodule\n"
COUNTER = """module c(input clk, input rst, output reg [1:0] q);
  always @(posedge clk or posedge rst)
    if (rst) q <= 2'd0;
    else q <= q + 2'd1;
endmodule
"""


def lines(source: str, kind: str | None = None) -> list[str]:
    """The changed lines of all mutants, or of those of one kind, without white space around them."""
    found = [mutant for mutant in mutants(source).chosen if kind in (None, mutant.kind)]
    return sorted("; ".join(line.strip() for line in changed_lines(source, mutant.text)[1]) for mutant in found)


def body(source: str, kind: str) -> list[str]:
    """The changed lines of a module ``m`` that holds ``source`` and whose names are inputs and outputs of 4 bits."""
    head = "module m(input clk, input rst_n, input [3:0] a, b, s, output reg [3:0] q, output [3:0] y);\n"
    return lines(f"{head}{source}\nendmodule\n", kind)


def test_an_adder_has_six() -> None:
    """Operator 1, ranges of inputs and output 2, names 2 (not ``y``, which would feed itself), ports 1."""
    assert lines(ADDER) == sorted(
        [
            "assign y = a - b; // sum",
            "assign y = b + b; // sum",
            "assign y = a + a; // sum",
            "assign y = b + a; // sum",
            "module m(input [2:0] a, b, output [3:0] y);",
            "module m(input [3:0] a, b, output [2:0] y);",
        ]
    )


def test_a_counter_has_eighteen() -> None:
    assert Counter(mutant.kind for mutant in mutants(COUNTER).chosen) == {
        "edge": 3,  # either one turned, rst dropped
        "condition": 3,  # negated, true, false
        "reset": 3,  # 1, 3, not assigned
        "blocking": 2,
        "operator": 1,
        "constant": 2,
        "width": 1,
        "name": 1,  # clk for rst
        "swap": 1,  # clk and rst
        "branch": 1,  # the count is not assigned
    }


@pytest.mark.parametrize(
    ("kind", "source", "expected"),
    [
        ("operator", "assign y = a * b;", ["assign y = a + b;"]),
        ("operator", "assign y = a & b;", ["assign y = a ^ b;", "assign y = a | b;"]),
        ("operator", "assign y = ~a;", ["assign y = a;"]),
        ("operator", "assign y = &a;", ["assign y = |a;"]),
        ("operator", "assign y = a < b;", ["assign y = a <= b;", "assign y = a > b;"]),
        ("constant", "assign y = 4'b0100;", ["assign y = 4'b0011;", "assign y = 4'b0101;"]),
        ("constant", "assign y = a[2];", ["assign y = a[1];", "assign y = a[3];"]),
        ("constant", "assign y = 4'bxxxx;", []),
        ("condition", "assign y = a > b ? a : b;",
         ["assign y = !(a > b) ? a : b;", "assign y = 1'b0 ? a : b;", "assign y = 1'b1 ? a : b;"]),
        ("condition", "assign y = (a > 1) && (b > 1);", ["assign y = ((a > 1));", "assign y = ((b > 1));"]),
        ("edge", "always @(posedge clk) q <= a;", ["always @(negedge clk) q <= a;"]),
        ("edge", "always @(posedge clk, negedge rst_n) q <= a;",
         ["always @(negedge clk, negedge rst_n) q <= a;", "always @(posedge clk ) q <= a;",
          "always @(posedge clk, posedge rst_n) q <= a;"]),
        ("reset", "always @(posedge clk) if (!rst_n) q <= 4'h0; else q <= 4'h7;",
         ["always @(posedge clk) if (!rst_n) begin end else q <= 4'h7;",
          "always @(posedge clk) if (!rst_n) q <= 4'h1; else q <= 4'h7;",
          "always @(posedge clk) if (!rst_n) q <= 4'hf; else q <= 4'h7;"]),
        ("reset", "always @(posedge clk) if (rst_n) q <= a; else q <= 4'h0;",
         ["always @(posedge clk) if (rst_n) q <= a; else begin end",
          "always @(posedge clk) if (rst_n) q <= a; else q <= 4'h1;",
          "always @(posedge clk) if (rst_n) q <= a; else q <= 4'hf;"]),
        ("reset", "initial q = 1;", ["initial begin end", "initial q = 0;"]),
        ("width", "wire [3:0] t = a;", ["output [2:0] y);", "output reg [2:0] q"]),
        ("blocking", "always @* q = a;", ["always @* q <= a;"]),
        ("blocking", "initial q = a;", []),
        ("branch", "always @(posedge clk) if (a > b) begin q <= a; q[0] <= 1; end else begin q <= b; q[1] <= 1; end",
         6),  # the branch, the else, four assignments
        ("branch", "always @* case (s) 0: q = a; 1: q = b; default: q = 0; endcase", 6),
        ("branch", "always @* case (s) 0: q = a; 1: q = b; default: q = 4'bx; endcase", 4),
        ("swap", "assign y = a - b;", 2),  # operands, which is ports a and b too; q and y
        ("swap", "assign y = {a[1:0], b[1:0]};", 2),  # parts; q and y
        ("name", "assign y = a;", ["assign y = b;"]),
    ],
)  # fmt: skip
def test_each_kind(kind: str, source: str, expected: list[str] | int) -> None:
    found = body(source, kind)
    if isinstance(expected, int):
        assert len(found) == expected, found
    elif kind == "width":
        assert len(found) == 5  # inputs, both outputs, t narrower and wider
    else:
        assert found == sorted(expected)


def test_connections_of_an_instance_change_places() -> None:
    source = (
        "module m(input a, input b, output y);\n  s u(.p(a), .q(b), .r(y));\nendmodule\n"
        "module s(input p, input q, output r);\n  assign r = p & ~q;\nendmodule\n"
    )
    assert "s u(.p(b), .q(a), .r(y));" in lines(source, "swap")


def test_the_end_of_a_loop_moves_and_nothing_else_of_its_head() -> None:
    """Every mutant of the loop's head still ends."""
    found = body("integer i; always @* for (i = 0; i < 4; i = i + 1) q[i] = a[i];", "operator")
    assert found == ["integer i; always @* for (i = 0; i <= 4; i = i + 1) q[i] = a[i];"]
    for line in body("integer i; always @* for (i = 0; i < 4; i = i + 1) q[i] = a[i];", "constant"):
        assert "i = i + 1)" in line


def test_everything_else_stays_as_it_is() -> None:
    source = "// ünïcode\n/* + */ `define PLUS +\n" + ADDER.replace("a + b", "a + b + (a `PLUS b)")
    for mutant in mutants(source).chosen:
        before, after = changed_lines(source, mutant.text)
        assert (len(list(before)), len(list(after))) == (1, 1)
        assert mutant.text.startswith("// ünïcode\n/* + */ `define PLUS +\n")
        assert "`PLUS" in mutant.text, "what comes out of a macro has no place of its own"


@pytest.mark.parametrize(
    ("text", "flip", "expected"),
    [
        ("5", False, ["6", "4"]),
        ("0", False, ["1"]),
        ("0", True, ["1"]),
        ("4'd15", False, ["4'd0", "4'd14"]),
        ("1'b0", False, ["1'b1"]),
        ("8'h0f", True, ["8'h0e", "8'hf0"]),
        ("'0", False, ["'1"]),
        ("4'b1?0?", False, ["4'b1?1?"]),
        ("4'hx", False, []),
        ("3.5", False, []),
        ("8'sh7f", False, ["8'sh80", "8'sh7e"]),
    ],
)
def test_other_numbers(text: str, flip: bool, expected: list[str]) -> None:
    assert others(text, flip=flip) == expected


def test_what_does_not_matter() -> None:
    assert is_unknown("4'bxx_xx")
    assert is_unknown("'x")
    assert not is_unknown("4'b0x")
    assert not is_unknown("y")


def test_the_same_text_gives_the_same_mutants() -> None:
    assert mutants(COUNTER) == mutants(COUNTER)
    ids = [mutant.id for mutant in mutants(COUNTER).chosen]
    assert len(set(ids)) == len(ids)


def test_a_sample_is_balanced_and_grows() -> None:
    every = mutants(COUNTER).chosen
    ten = mutants(COUNTER, limit=10, seed=3).chosen
    assert {mutant.kind for mutant in ten} == {mutant.kind for mutant in every}, "ten kinds, one of each"
    assert set(ten) < set(mutants(COUNTER, limit=14, seed=3).chosen)
    assert ten == mutants(COUNTER, limit=10, seed=3).chosen
    draws = {mutants(COUNTER, limit=10, seed=seed).chosen for seed in range(8)}
    assert len(draws) > 1
    assert sample(every, None, 0, "") == every
    assert mutants(COUNTER, limit=10, seed=3).made == 18


def test_every_kind_is_described() -> None:
    found = {mutant.kind for mutant in mutants(COUNTER).chosen}
    assert found <= set(KINDS)


def test_what_does_not_parse_is_said() -> None:
    with pytest.raises(VerievalError, match=r"line 2 of the reference does not parse: [^(]*$"):
        mutants("module m;\n  assign = ;\nendmodule\n")


def references(data_dir: Path) -> list[tuple[str, str]]:
    """Those of every benchmark at hand."""
    found = []
    for name in ("verieval", "verilog-eval:spec-to-rtl", "rtllm", "verigen"):
        folder = None if name == "verieval" else data_dir / name.split(":")[0]
        found += [(task.id, task.reference) for task in benchmarks.load(name, folder).tasks if task.reference]
    return found


def test_every_task_of_the_suite_has_mutants() -> None:
    """Of several kinds, and nearly all that are made are Verilog."""
    for task in benchmarks.load("verieval").tasks:
        assert task.reference
        found = mutants(task.reference)
        assert found.made >= 20, task.id
        assert len({mutant.kind for mutant in found.chosen}) >= 5, task.id
        assert found.invalid <= found.made * 0.05, task.id


@pytest.mark.slow
def test_every_reference_has_mutants(data_dir: Path) -> None:
    """A module without logic (a wire) may have none."""
    counts = {name: mutants(text).made for name, text in references(data_dir)}
    assert len(counts) > 240
    assert sum(made == 0 for made in counts.values()) <= 6
    assert sum(counts.values()) > 30 * len(counts)


@pytest.mark.slow
def test_icarus_compiles_them_or_they_are_invalid(data_dir: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    """pyslang says which are Verilog; a simulator agrees on nearly all, with one mutant of each reference."""
    refused = tried = 0
    for name, text in references(data_dir):
        chosen = mutants(text).chosen
        if not chosen:
            continue
        mutant = random.Random(name).choice(chosen)
        (tmp_path / "m.sv").write_text(mutant.text)
        done = subprocess.run(
            [*toolchain.iverilog, "-g2012", "-t", "null", str(tmp_path / "m.sv")], capture_output=True, timeout=60
        )
        tried += 1
        refused += done.returncode != 0
    assert tried > 240
    assert refused <= tried * 0.03


@pytest.mark.slow
def test_pyverilog_sees_another_design(data_dir: Path, tmp_path: Path) -> None:
    """Where pyverilog parses a reference, it parses the mutants too, and finds another tree: no mutant is layout."""
    parser_module = pytest.importorskip("pyverilog.vparser.parser")
    parser = parser_module.VerilogParser(outputdir=str(tmp_path), debug=False)

    def tree(text: str) -> str | None:
        shown: list[str] = []

        def walk(node: object, depth: int) -> None:
            attributes = [str(getattr(node, name)) for name in getattr(node, "attr_names", ())]
            shown.append(f"{depth} {type(node).__name__} {attributes}")
            for child in node.children():  # type: ignore[attr-defined]
                walk(child, depth + 1)

        try:
            walk(parser.parse(text, debug=0), 0)
        except parser_module.ParseError:
            return None
        return "\n".join(shown)

    parsed = 0
    for name, text in references(data_dir):
        known = tree(text)
        if known is None:
            continue
        for mutant in mutants(text, limit=10).chosen:
            other = tree(mutant.text)
            if other is None or mutant.kind == "width":  # its tree drops some ranges
                continue
            parsed += 1
            assert other != known, (name, mutant.id, mutant.what)
    assert parsed > 1000
