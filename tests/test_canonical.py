"""Canonical forms: what is one design under another name, what is not, and what hostile text can do."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contaminate import CHANGED, DISGUISES
from verieval import benchmarks
from verieval.canonical import canonical, token_hash
from verieval.canonical_ast import tree
from verieval.canonical_tokens import Tok, number, tokenise
from verieval.task import Task

BASE = """
module top #(parameter W = 4) (input clk, input [W-1:0] a, b, output reg [W-1:0] q);
  wire [W-1:0] s;
  add #(.N(W)) u0 (.x(a), .y(b), .z(s));
  always @(posedge clk or negedge a[0]) begin
    if (!a[0]) q <= 0; else q <= s ^ (a & b);
  end
endmodule
module add #(parameter N = 1) (input [N-1:0] x, y, output [N-1:0] z);
  assign z = x + y;
endmodule
"""
SAME = {
    "names": lambda s: re.sub(r"\b(clk|a|b|q|s|top|add|u0|x|y|z|W|N)\b", r"\1_renamed", s),
    "comments": lambda s: s.replace(";", "; // so ( it /* is\n"),
    "layout": lambda s: " ".join(s.split()),
    "parentheses": lambda s: s.replace("x + y", "((x) + (y))"),
    "blocks": lambda s: s.replace("q <= 0;", "begin q <= 0; end"),
    "sensitivity": lambda s: s.replace(" or negedge", ", negedge"),
    "logic": lambda s: s.replace("output reg", "output logic").replace("input clk", "input logic clk"),
    "every port": lambda s: s.replace("a, b, output", "a, input [W-1:0] b, output"),
    "old ports": lambda s: s.replace(
        "(input [N-1:0] x, y, output [N-1:0] z);", "(x, y, z); output [N-1:0] z; input [N-1:0] y, x;"
    ),
    "escaped": lambda s: s.replace("u0", "\\u0+! "),
    "timescale": lambda s: "`timescale 1ns/1ps\n`default_nettype none\n" + s,
    "macro": lambda s: "`define TOP top\n" + s.replace("module top", "module `TOP"),
    "condition": lambda s: "`ifdef NONE\nnonsense\n`else\n" + s + "`endif\n",
    "numbers": lambda s: s.replace("W = 4", "W = 'sh4").replace("q <= 0", "q <= 0_0"),
}  # fmt: skip
OTHER = {
    "operator": lambda s: s.replace("x + y", "x - y"),
    "edge": lambda s: s.replace("negedge a", "posedge a"),
    "order": lambda s: s.replace(".x(a), .y(b)", ".x(b), .y(a)"),
    "one name": lambda s: s.replace("x + y", "x + x"),
    "blocking": lambda s: s.replace("q <= s", "q = s"),
    "constant": lambda s: s.replace("q <= 0", "q <= 1"),
    "width": lambda s: s.replace("wire [W-1:0]", "wire [W:0]"),
    "signed": lambda s: s.replace("input [N-1:0] x", "input signed [N-1:0] x"),
    "swapped ports": lambda s: s.replace("input clk, input [W-1:0] a, b", "input [W-1:0] a, b, input clk"),
    "operators that parse alike": lambda s: s.replace("a & b", "a && b"),
    "delay": lambda s: s.replace("assign z", "assign #1 z"),
}


@pytest.mark.parametrize("name", SAME)
def test_names_and_layout_do_not_count(name: str) -> None:
    assert SAME[name](BASE) != BASE
    assert canonical(SAME[name](BASE)).key == canonical(BASE).key
    assert canonical(BASE).kind == "tree"


@pytest.mark.parametrize("name", OTHER)
def test_everything_else_counts(name: str) -> None:
    assert OTHER[name](BASE) != BASE
    assert canonical(OTHER[name](BASE)).key != canonical(BASE).key
    assert canonical(OTHER[name](BASE), parse=False).key != canonical(BASE, parse=False).key


@pytest.mark.parametrize(
    ("left", "right"),
    [
        # Each pair is one to pyverilog's own tree.
        ("assign q = a[i +: 2];", "assign q = a[i : i + 2];"),
        ("always @* q = a;", "always q = a;"),
        ("logic [3:0] w; assign q = a;", "assign q = a;"),
        ("initial if (a) q = 1;", "initial #3 if (a) q = 1;"),
        ("parameter integer P = 1;", "parameter P = 1;"),
        ("function integer f; input b; f = b; endfunction", "function [31:0] f; input b; f = b; endfunction"),
        ("real r;", "real s, r;"),
        ("initial ;", "initial @*;"),
        ("assign q = `A + a;", "assign q = `B + a;"),
    ],
)
def test_what_pyverilog_would_take_for_one(left: str, right: str) -> None:
    frame = "module m(input [3:0] a, output reg [3:0] q);\n{}\nendmodule\n"
    assert canonical(frame.format(left)).key != canonical(frame.format(right)).key


def test_signed_is_not_lost_on_the_ports_that_follow() -> None:
    frame = "module m(input signed [3:0] a, {}b, output q); assign q = a < b; endmodule"
    one = canonical(frame.format(""))
    assert one.kind == "tree"
    assert one.key == canonical(frame.format("input signed [3:0] ")).key
    assert one.key != canonical(frame.format("input [3:0] ")).key


def test_modules_from_elsewhere_keep_their_names() -> None:
    text = "module m(input a, output q); {} u(.i(a), .{}(q)); endmodule"
    assert canonical(text.format("inv", "o")).key != canonical(text.format("buff", "o")).key
    assert canonical(text.format("inv", "o")).key != canonical(text.format("inv", "p")).key
    assert canonical(text.format("inv", "o"), parse=False).key != canonical(text.format("inv", "p"), parse=False).key
    gate = "module m(input a, b, output q); {} (q, a, b); endmodule"
    assert len({canonical(gate.format(g)).key for g in ("and", "or", "nand", "xor")}) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8'h0F", "8'b00001111"), ("8'd15", "8'b00001111"), ("8 'd 1_5", "8'b00001111"), ("4'h1F", "4'b1111"),
        ("4'sd3", "4'sb0011"), ("4'bx", "4'bxxxx"), ("8'hzF", "8'bzzzz1111"), ("6'o7?", "6'b111zzz"),
        ("15", "15"), ("1_5", "15"), ("'sd15", "15"), ("'d15", "'d15"), ("'hf", "'d15"), ("8'dx", "8'bxxxxxxxx"),
        ("4'b1", "4'b0001"), ("007", "7"), ("'hx", "'hx"), ("4'b2", "4'b2"), ("1.50", "1.50"), ("'0", "'0"),
        ("9999'h0", "9999'h0"),
    ],
)  # fmt: skip
def test_numbers(text: str, expected: str) -> None:
    """Values by hand from IEEE 1800-2017, 5.7.1."""
    assert number(text) == expected
    assert [token.text for token in tokenise(text).items] == [expected]


def test_macros() -> None:
    body = "module m(output [`W-1:0] q); assign q = `V; endmodule"
    assert canonical("`define W 8\n`define V `W'h0f\n" + body).key == canonical(
        "module m(output [8-1:0] q); assign q = 8'd15; endmodule"
    ).key  # fmt: skip
    assert tokenise(body).opaque
    assert tokenise('`include "w.v"\n' + body).opaque
    with_arguments = "`define F(x) x\nmodule m(output q); assign q = `F(1); endmodule"
    assert tokenise(with_arguments).opaque
    assert canonical(with_arguments).key != canonical(with_arguments.replace("F(x) x", "F(x) !x")).key
    assert canonical("`define W 8\\\n+1\n" + body.replace("`V", "0")).key == canonical(
        "module m(output [8+1-1:0] q); assign q = 0; endmodule"
    ).key  # fmt: skip


def references(names: tuple[str, ...]) -> list[Task]:
    return [task for name in names for task in benchmarks.load(name).tasks if task.reference]


def test_every_reference_of_this_project_under_every_disguise() -> None:
    rng = random.Random(3)
    tasks = references(("verieval",))
    keys = [canonical(task.reference or "").key for task in tasks]
    assert len(set(keys)) == len(tasks)
    for task, key in zip(tasks, keys, strict=True):
        for name in ("verbatim", "renamed", "other layout and comments"):
            changed = DISGUISES[name](task.reference or "", rng)
            assert canonical(changed or "").key == key, (task.id, name)
        flipped = CHANGED["one operator changed"](task.reference or "", rng)
        assert flipped is None or canonical(flipped).key != key, task.id


def test_upstream_references(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIEVAL_DATA", str(data_dir))
    tasks = benchmarks.load("verilog-eval:spec-to-rtl").tasks
    forms = {task.id: canonical(task.reference or "") for task in tasks}
    # pyverilog alone parses 134 of them.
    assert sum(form.kind == "tree" for form in forms.values()) == 147
    shared: dict[str, list[str]] = {}
    for name, form in forms.items():
        shared.setdefault(form.key, []).append(name.split("_", 1)[1])
    # The pairs of problems that ask for one circuit.
    assert sorted(names for names in shared.values() if len(names) > 1) == [
        ["andgate", "circuit1"], ["wire", "m2014_q4h"], ["xnorgate", "mt2015_q4b"], ["zero", "m2014_q4i"],
    ]  # fmt: skip


# A port takes what it lacks of these from the port before, or has it anyway.
_INHERITED = frozenset({"input", "output", "wire", "reg"})


@pytest.mark.parametrize("share", [0.01, pytest.param(1.0, marks=pytest.mark.slow)])
def test_no_token_is_lost(share: float) -> None:
    """Whatever token is dropped, doubled, inserted or replaced: the tree changes, or there is none."""
    rng = random.Random(4)
    parsed = 0
    for task in references(("verieval",)):
        tokens = list(tokenise(task.reference or "").items)
        whole = tree(tokens)
        if whole is None:
            continue
        for place in range(len(tokens)):
            if rng.random() > share:
                continue
            other = rng.choice([*tokens, Tok("op", "+"), Tok("op", "~"), Tok("op", "@"), Tok("word", "signed")])
            head, token, tail = tokens[:place], tokens[place], tokens[place + 1 :]
            doubled, replaced = [*head, token, token, *tail], [*head, other, *tail]
            for changed in (head + tail, doubled, replaced, [*head, other, token, *tail]):
                found = tree(changed)
                parsed += found is not None
                if found == whole and token_hash(changed) != token_hash(tokens):
                    assert _INHERITED & {token.text, other.text}, (task.id, place, token, other)
    assert parsed > 100 * share


HOSTILE = {
    "comment marks": "/*" * 300_000,
    "heads": "module /* " * 60_000,
    "depth": "module a(output b); assign b = " + "(" * 9_000 + "1" + ")" * 9_000 + "; endmodule",
    "unary": "module a(output b); assign b = " + "~" * 19_000 + "1; endmodule",
    "items": "module a; " + "wire b; " * 6_000 + "endmodule",
    "ifs": "module a(input c, output reg b); always @* " + "if (c) " * 3_000 + "b = 1; endmodule",
    "empty macros": "".join(f"`define m{i} `m{i + 1} `m{i + 1} `m{i + 1}\n" for i in range(40)) + "module a; `m0",
    "own macro": "`define a `a `a\nmodule m; `a endmodule",
    "string": 'module a; initial $display("' + "\\x1" * 9_000 + "\\*" + '"); endmodule',
    "number": "module a; assign b = 99'd" + "9" * 100_000 + "; endmodule",
    "surrogate": "module a; wire \ud800; endmodule",
    "null": "module \0 a;" * 1000,
    "keyword ports": "module a(" + "input [3:0] " + ", ".join(f"b{i}" for i in range(30_000)) + "); endmodule",
    "nothing": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str) -> None:
    """Half a megabyte of the worst takes about half a second on a quiet machine."""
    before = time.process_time()
    form = canonical(HOSTILE[name])
    assert time.process_time() - before < 20
    assert form == canonical(HOSTILE[name])


def test_threads_agree() -> None:
    texts = [SAME[name](BASE) for name in SAME] * 4
    with ThreadPoolExecutor(8) as pool:
        assert {form.key for form in pool.map(canonical, texts)} == {canonical(BASE).key}


def _key(text: str) -> str:
    return canonical(text).key


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_agree(method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert set(pool.map(_key, [BASE, SAME["names"](BASE)] * 3)) == {canonical(BASE).key}


def test_nothing_is_written_and_no_table_is_read(tmp_path: Path) -> None:
    """pyverilog and ply leave parser.out and parsetab.py, and read a parsetab.py that lies in the way."""
    (tmp_path / "parsetab.py").write_text("raise SystemExit('read')")
    code = f"from verieval.canonical import canonical; print(canonical({BASE!r}).key)"
    root = Path(__file__).resolve().parents[1]
    bare = {"PYTHONPATH": f".:{root}", "PATH": "/nowhere", "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=os.environ | bare
    )
    assert done.stdout.strip() == canonical(BASE).key, done.stderr
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["parsetab.py"]


def test_imports_are_lazy() -> None:
    code = "import verieval.canonical, sys; assert not {'pyverilog', 'ply', 'pyslang', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
