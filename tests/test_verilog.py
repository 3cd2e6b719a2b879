"""Lexical facts: hand-worked cases, pyslang as a second opinion on real sources, Icarus where layout has a meaning."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verieval.judge import Toolchain
from verieval.verilog import declared, instantiated, mask, mentioned, modules, normalise, rename_module

# Pieces that open, close or hide something; any sequence of them is a text that the functions must take.
_PIECES = (
    "module |a|b|top|;|(|)|#(|[|]|endmodule|:|//|/*|*/|\"|\\|\n|\r|\r\n| |`|`define |`\"|'h|'|8|*|.|,|\f|é|extern "
)
PIECES = st.lists(st.sampled_from([*_PIECES.split("|"), "\\a//b "]), max_size=40).map("".join)


def spans(text: str) -> list[tuple[str, str, bool]]:
    return [(span.name, text[span.start : span.end], span.complete) for span in modules(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a // b\nc", "a     \nc"),
        ("a // b\rc", "a     \rc"),
        ("a /* b\n c */ d", "a     \n      d"),
        ("a /* b\nc", "a     \n "),
        ('x = "m // y"; z', "x =         ; z"),
        (r'x = "a\"b"; y', "x =       ; y"),
        ('x = "open\ny', "x =      \ny"),
        ("(* keep *) a /**/ b", "(* keep *) a      b"),
        (r"\a//b c // d", r"\a//b c     "),
        ('`define S(x) `"x`" // c', '`define S(x) `"x`"     '),
        ("a / b * c", "a / b * c"),
        ("", ""),
    ],
)
def test_mask(text: str, expected: str) -> None:
    assert mask(text) == expected


@given(PIECES)
def test_mask_keeps_every_offset(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, masked, strict=True))
    assert [c for c in text if c in "\r\n"] == [c for c in masked if c in "\r\n"]
    assert mask(masked) == masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module a; endmodule", [("a", "module a; endmodule", True)]),
        ("module a(input x);endmodule : a // e", [("a", "module a(input x);endmodule : a", True)]),
        ("macromodule automatic a #(parameter W=1) (); endmodule", None),
        ("module a import p::*; (); endmodule", None),
        ("module a `PORTS endmodule", None),
        ("module /* c */ a // d\n(); endmodule", None),
        ("module \\a+b (x); endmodule", [("a+b", "module \\a+b (x); endmodule", True)]),
        ("module a; x\nmodule b; endmodule", [("a", "module a; x\n", False), ("b", "module b; endmodule", True)]),
        ("module a; x", [("a", "module a; x", False)]),
        (
            "module a; module b; endmodule endmodule",
            [("a", "module a; module b; endmodule endmodule", True), ("b", "module b; endmodule", True)],
        ),
        ('// module a;\n/* module b; */ "module c;" \\module d;', []),
        ("This module implements a counter. The module (top) is a module.", []),
        ("extern module a(input x);", []),
        ("`define M module a; \\\n endmodule\n", []),
        ("mymodule a; module_b c; $module d; `module e;", []),
        ("module input; endmodule", []),
        ("endmodule", []),
    ],
)
def test_modules(text: str, expected: list[tuple[str, str, bool]] | None) -> None:
    assert spans(text) == ([("a", text, True)] if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("adder u1 (.a(x)), u2 (.a(y));", {"adder"}),
        ("fifo #(.W(8), .D(f(2))) u (a);", {"fifo"}),
        ("buffer #3 u (a); cell_t #W v (b);", {"buffer", "cell_t"}),
        ("dff bits [7:0][3:0] (clk, d, q);", {"dff"}),
        ("\\my+mod u (a);", {"my+mod"}),
        ("(* keep *) leaf u (a); begin : g leaf2 u (a); end", {"leaf", "leaf2"}),
        ("bind target probe p (.*);", {"probe"}),
        ("and g (o, a, b); nand (o, a);", set()),
        ("assign y = f (a); $display (a); task_x (a);", set()),
        ("begin : label call (a); end : done again (b);", set()),
        ("function my_t f (input a); task t (input b); function automatic pkg::t g (input c);", set()),
        ("module top (input a); // leaf u (a);\nendmodule", set()),
        ("if (a) x <= y; else z (b);", set()),
        ("typedef enum {A, B} state_t; state_t s; logic [3:0] v;", set()),
    ],
)
def test_instantiated(text: str, expected: set[str]) -> None:
    assert instantiated(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("package p; typedef int t; endpackage interface i; logic x; endinterface", {"p::", "i"}),
        ("class c extends b; int x; endclass primitive u(o, i); endprimitive", {"c", "u"}),
        ("typedef enum logic [W-1:0] {A, B = 2, C} s_t; typedef logic [7:0] byte_t;", {"A", "B", "C", "s_t", "byte_t"}),
        ("typedef struct packed { logic a; word_t b; } s_t;", {"s_t"}),
        ("localparam int X = 1, Y = X + f(Z); parameter P = 3;", {"X", "Y", "P"}),
        ("function automatic logic [3:0] f(input x); f = x; endfunction task t; endtask", {"f", "t"}),
        ("`define M 1\n`ifdef N\n`endif", {"`M"}),
        ("// package p; endpackage\n import q::*;", set()),
        ("module m #(parameter W = 1) (input a); localparam X = 1; endmodule typedef int t;", {"t"}),
        ("localparam X = 1; assign y = X;", set()),
        ("localparam X = 1; reg y;", set()),
        ("`ifdef N\nlocalparam X = 1;", set()),
        ("`endif\nlocalparam X = 1;", set()),
        ("package", set()),
        ("typedef", set()),
    ],
)
def test_declared(text: str, expected: set[str]) -> None:
    assert declared(text) == expected


def test_declared_in_modules() -> None:
    text = "module m #(parameter W = 1) (input a); localparam X = 1; reg r; enum {A, B} s; endmodule"
    assert declared(text, in_modules=True) == {"W", "X", "A", "B"}


def test_mentioned() -> None:
    found = mentioned("import p::*; module m(input q::t a); // c\nassign y = `M + \\b+c ; endmodule")
    assert found == {"p", "p::", "m", "q", "q::", "t", "a", "y", "`M", "b+c"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module old(input a); endmodule : old", "module fresh(input a); endmodule : fresh"),
        ("module top; old #(1) u (a); endmodule", "module top; fresh #(1) u (a); endmodule"),
        ("module top; old old (a); endmodule", "module top; fresh old (a); endmodule"),
        ("module \\old ; endmodule", "module fresh ; endmodule"),
        ('module old; // old\ninitial $display("old");', 'module fresh; // old\ninitial $display("old");'),
        ("`define old 1\nmodule old; assign y = `old;", "`define old 1\nmodule fresh; assign y = `old;"),
        ("module q(input d, output q); assign q = d;", "module q(input d, output q); assign q = d;"),
        ("module old(input d, output old); assign old = d;", "module fresh(input d, output old); assign old = d;"),
        ("module old; initial old.x = 1;", "module fresh; initial fresh.x = 1;"),
        ("module old_2; olden u (a);", "module old_2; olden u (a);"),
        ("bind old probe p (.*);", "bind fresh probe p (.*);"),
        ("old old (a); assign b = old.x;", "fresh old (a); assign b = old.x;"),
        ("old #(2) old (a); assign b = old.x;", "fresh #(2) old (a); assign b = old.x;"),
    ],
)
def test_rename_module(text: str, expected: str) -> None:
    assert rename_module(text, "old", "fresh") == expected


def test_rename_to_a_name_that_needs_escaping() -> None:
    assert rename_module("module old(a); endmodule", "old", "a-b") == "module \\a-b (a); endmodule"


@given(PIECES)
def test_renaming_there_and_back_changes_nothing(text: str) -> None:
    there = rename_module(text, "top", "fresh_name")
    assert normalise(rename_module(there, "fresh_name", "top").replace("\\top", "top")) == normalise(
        rename_module(text, "top", "top").replace("\\top", "top")
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("module a;\n\n  wire x; // c\nendmodule\n", "module a; wire x;/* d */ endmodule"),
        ("a\t=\r\n  b;", "a = b;"),
        ("// `define in a comment\na", "a"),
        ('x = "a  b";', 'x  =  "a  b";'),
    ],
)
def test_normalise_forgets_layout(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


# Pairs that differ in nothing but what looks like layout, in a module body, and that Icarus reads differently.
NOT_LAYOUT = [
    ("always @(*) q = 1;", "always @(*\n) q = 1;"),
    ("always @(*) q = 1;", "always @(/**/*) q = 1;"),
    ("initial q = 8'h ff;", "initial q = 8'h\nff;"),
    ("initial q = 8'h ff;", "initial q = 8'h/**/ff;"),
    ('initial $display("a b");', 'initial $display("a\n b");'),
    ("wire \\a;b ; assign q = 0;", "wire \\a ;b ; assign q = 0;"),
    ("wire\n x;", "wire\v x;"),
    ("wire x; /* c */", "wire x; /* c "),
    ("wire x; // c\n", "wire x; // c "),
    ("`define X 1\n wire [`X:0] x;", "`define X 1 wire [`X:0] x;"),
]


@pytest.mark.parametrize(("good", "bad"), NOT_LAYOUT)
def test_normalise_keeps_what_icarus_tells_apart(good: str, bad: str, toolchain: Toolchain, tmp_path: Path) -> None:
    texts = [f"module a; reg q;\n{body} endmodule\n" for body in (good, bad)]
    assert normalise(texts[0]) != normalise(texts[1])
    failed = []
    for text in texts:
        (tmp_path / "a.v").write_bytes(text.encode())
        command = [*toolchain.iverilog, "-g2012", "-o", "/dev/null", "a.v"]
        failed.append(subprocess.run(command, cwd=tmp_path, capture_output=True).returncode != 0)
    assert failed[0] != failed[1], "the pair shows nothing any more"


@given(PIECES)
def test_normalise_is_stable_and_keeps_what_counts(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    if once != text:
        assert "".join(mask(text).split()) == "".join(mask(once).split())


@pytest.fixture(scope="module")
def real_sources(data_dir: Path) -> list[str]:
    """References and benches of all benchmarks, and published completions where they are."""
    files = sorted(path for path in data_dir.rglob("*") if path.suffix in (".v", ".sv"))[::4]
    texts = [path.read_bytes().decode("utf-8", "replace") for path in files]
    published = data_dir.parent / "completions" / "turtle_gemini-2.5-flash_verilog_eval_rtl.json"
    if published.is_file():
        texts += [row["generation"] for task in json.loads(published.read_text()) for row in task[:2]]
    return [text for text in texts if len(text) < 40_000]


def test_agrees_with_pyslang_on_real_sources(real_sources: list[str]) -> None:
    pyslang = pytest.importorskip("pyslang")
    trees = getattr(pyslang, "syntax", pyslang)

    def read(text: str) -> tuple[list[str], list[str], set[str]]:
        tokens: list[str] = []
        names: list[str] = []
        used: set[str] = set()

        def visit(node: Any) -> None:
            kind = str(getattr(node, "kind", ""))
            if type(node).__name__ == "Token":
                tokens.append(node.rawText)
            elif kind.endswith(".ModuleDeclaration"):
                names.append(node.header.name.valueText)
            elif kind.endswith(".HierarchyInstantiation"):
                used.add(node.type.valueText)

        trees.SyntaxTree.fromText(text).root.visit(visit)
        return tokens, names, used

    assert len(real_sources) > 100
    for text in real_sources:
        tokens, names, used = read(text)
        assert [span.name for span in modules(text)] == names
        assert instantiated(text) == used
        assert read(normalise(text))[0] == tokens


HOSTILE = [
    "`",
    '"',
    "/*",
    "module ",
    "module a;",
    "a #(",
    "\\",
    "'h ",
    "a b [",
    '"\\',
    "`define x ",
    '("',
    "`define a\n",
    "package p;",
    "typedef enum {",
    "function f ",
    "parameter a = (",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize(
    "function",
    [mask, modules, instantiated, declared, mentioned, normalise, lambda text: rename_module(text, "a", "b")],
)
def test_hostile_text_takes_linear_time(piece: str, function: Callable[[str], object]) -> None:
    text = piece * (60_000 // len(piece))
    start = time.process_time()
    function(text)
    assert time.process_time() - start < 5  # a quadratic walk over 60,000 characters takes many times that
