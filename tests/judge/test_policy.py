"""Admission's policy: each refused construct with its outcome and line, each harmless one, and what real text shows."""

from __future__ import annotations

import csv
import gc
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.extract import extract
from verieval.judge import Limits, Toolchain
from verieval.judge.policy import Ruling, rule_on
from verieval.judge.policy_text import expand, options, parse
from verieval.judge.policy_words import HARMLESS_TASKS, PRINTING_TASKS, is_tame, refuse_task
from verieval.judge.process import Launcher
from verieval.judge.sandbox import NO_SANDBOX
from verieval.judge.standalone import confirm
from verieval.task import CocotbBench, Task
from verieval.verilog import modules

RESERVED = frozenset({"tb", "RefModule", "stimulus_gen", "stim"})
HEAD = "module t(input clk, input [3:0] a, output reg q, output [3:0] b);\n"
CHILD = "module child(input x, output y, inout z); assign y = x; endmodule\n"


def body(text: str) -> str:
    """A target module around ``text``, which begins on line 2, with what it uses behind it."""
    return f"{HEAD}{text}\nendmodule\n" + (CHILD if "child " in text else "")


def ask(source: str) -> Ruling:
    return rule_on(source, "t", RESERVED)


# What stands on line 2, inside the module, and the outcome.
INSIDE = [
    # the simulation, files, the environment, the random stream
    *[("forbidden", f"initial {call};") for call in (
        "$finish", "$stop", "$finish(0)", '$fatal(1, "x")', "$exit", "$finish_and_return(0)", "$fclose(1)",
        '$fdisplay(1, "x")', '$fwrite(32\'h80000001, "x")', "$fflush", '$dumpfile("x")', "$dumpvars", "$dumpoff",
        "$timeformat(-9)", "$monitoroff", "$monitoron", '$system("x")', "$deposit(q, 1)", "$assertoff", "$reset",
        "$readmemb(\"/etc/passwd\", q)", "$writememh(\"x\", q)", "$sdf_annotate(\"x\")", "$nobody_knows", "$showvars",
    )],
    *[("forbidden", f"integer f, g; initial f = {call};") for call in (
        '$fopen("x")', "$fgetc(32'h80000000)", "$fgets(g, 1)", '$fscanf(1, "%d", g)', "$ungetc(1, 2)", "$feof(1)",
        '$test$plusargs("x")', '$value$plusargs("x=%d", g)', '$getenv("x")', "$random", "$random(g)", "$urandom",
        "$urandom_range(3)", "$dist_uniform(g, 1, 2)", "std::randomize(g)", "$mti_random", "randomize(g)",
    )],
    ("forbidden", "if (0) initial $finish;"),
    ("forbidden", "task nobody_calls; $finish; endtask"),
    ("forbidden", "initial randcase 1: q = 1; endcase"),
    ("forbidden", "task \\$finish ; endtask\ninitial \\$finish ;"),
    ("forbidden", "wire \\a`include ;"),
    ("forbidden", "wire \\a//b ;"),
    ("forbidden", 'wire \\a"b ;'),
    ("forbidden", 'import "DPI-C" function int system(string s);'),
    ("forbidden", 'export "DPI-C" function f; function int f; return 1; endfunction'),
    # other modules
    ("forbidden", "initial force a = 1;"),
    ("forbidden", "wire w; initial force w = 1;"),
    ("forbidden", "initial release a;"),
    ("forbidden", "initial force tb.x = 1;"),
    ("forbidden", "bind tb child u();"),
    ("forbidden", "RefModule r(.clk(clk));"),
    ("forbidden", "\\RefModule r(.clk(clk));"),
    ("forbidden", "if (0) RefModule r();"),
    ("not_self_contained", "foo u(.clk(clk));"),
    ("not_self_contained", "if (0) foo u(.clk(clk));"),
    ("not_self_contained", "import tb_package::*;"),
    ("not_self_contained", "virtual interface tb_if v;"),
    ("forbidden", "initial forever_child.r = 1; child4 forever_child();\nendmodule module child4; reg r;"),
    # names that leave
    *[("not_self_contained", text) for text in (
        "assign b = tb.good1.q;", "assign b = \\tb .\\good1 .q;", "assign b = $root.tb.good1.q;",
        "assign b = $unit::q;",
        "assign b = {3'b0, tb.x};", "assign b = (tb.x);", "assign b = {<<{tb.x}};", "assign b = tb.g[3].r;",
        "assign b = tb[0].x;", "assign b = 0 ? tb.x : 1;", "assign b = package_of_bench::x;", "assign b = t.a;",
        "assign b = genblk1.w;",
        "function [3:0] f; input x; f = tb.good1.q; endfunction assign b = f(1);",
        "function [3:0] nobody_calls; input x; nobody_calls = tb.good1.q; endfunction",
        "always_comb q = f(); function f(); f = tb.x; endfunction",
        "class c; function int f; return tb.x; endfunction endclass",
        "generate if (0) begin assign b = good1.q; end endgenerate",
        "if (0) assign b = good1.q; else begin : x struct packed {logic q;} good1; end",
        "for (genvar i = 0; i < 0; i = i + 1) begin assign b[i] = good1.q; end",
        "generate if (0) begin initial do_it; end endgenerate",
        "generate if (0) begin assign b = errors; end endgenerate",
        "always @(posedge tb.clk) q <= 1;", "always @(tb.good1.q or clk) q <= 1;", "initial wait (tb.x) q = 1;",
        "initial #(tb.x) q = 1;", "initial q = #(tb.x) 1;", "always @* case (tb.x) 0: q = 1; endcase",
        'initial $display("%b", tb.x);', "always @(posedge clk) assert (tb.x);",
        "assert property (@(posedge clk) tb.x);", "and g(b[0], tb.x, clk);", "specify (tb.x => q) = 1; endspecify",
        "child u(.x(tb.good1.q), .y(b[0]), .z());", "child u(tb.good1.q);", "defparam tb.P = 3;",
        "initial tb.stats1.errors = 0;", "always @(posedge clk) tb.x <= 0;", "initial -> tb.ev;",
        "initial disable tb.blk;", "initial disable stim;", "initial tb.foo();", "initial foo;", "initial foo(1);",
        "wire [$bits(tb.x)-1:0] w;", "parameter P = tb.P;", "(* x = tb.y *) wire w;",
        "initial process::self().srandom(1);",
    )],
    # input ports
    *[("forbidden", text) for text in (
        "assign clk = 1;", "assign a[1] = 1;", "assign {clk, b} = 5;", "always @* a = 1;",
        "always @(posedge clk) a <= 0;",
        "initial assign clk = 1;", "initial deassign a;", "and g(clk, a[0], a[1]);", "buf g(b[0], clk, a[1]);",
        "tran g(b[0], clk);", "tranif1 (b[0], a[0], a[1]);", "pullup (clk);", "nmos (clk, a[0], a[1]);",
        "child u(.x(a[0]), .y(clk), .z());", "child u(.x(a[0]), .y(), .z(clk));", "child u(a[0], , clk);",
        "child u[3:0](.x(a), .y(b), .z(a));", "child u(.x(clk), .y(), .z()); assign u.x = 1;",
        "wire w; alias w = clk;", "task o; output x; x = 1; endtask initial o(clk);",
        "task o(output x); x = 1; endtask initial o(.x(clk));",
        "function o(output x); x = 1; endfunction initial q = o(a[1]);",
        "task automatic o(ref logic x); x = 1; endtask initial o(clk);",
        "clocking cb @(posedge clk); output a; endclocking initial cb.a <= 1;",
        "if (0) assign clk = 1;", "generate case (1) 2: begin assign clk = 1; end endcase endgenerate",
        "if (1) wire w; else always @* a = 1;", "for (genvar i = 0; i < 0; i++) assign a[i] = 1;",
        "if (0) and (clk, a[0], a[1]);", "if (0) tran (b[0], clk);", "if (0) not (b[0], clk, a[0]);",
        "if (0) child u(.x(a[0]), .y(clk), .z());", "if (0) begin child u(a[0], , clk); end",
        "task o; output x; x = 1; endtask if (0) begin initial o(clk); end",
        "wire w; if (0) begin alias w = clk; end", "if (0) child u(.x(clk), .y(b[0]), .z(q), .*); assign clk = 1;",
        "child u(); if (0) initial u.r = 1;",
        'initial begin $display("%d"); a = 1; end',  # pyslang drops the block for its format
    )],
    ("timeout", "initial forever begin end"),
    ("timeout", "initial begin forever q = ~q; end"),
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "text"), INSIDE, ids=[text[:60] for _, text in INSIDE])
def test_inside_the_module(outcome: str, text: str) -> None:
    ruling = ask(body(text))
    assert (ruling.outcome, ruling.certain, ruling.source) == (outcome, True, "")
    assert ruling.line == 2
    assert ruling.reason


WHOLE = [
    # outcome, line, text
    ("forbidden", 1, '`include "/etc/passwd"\n' + body("")),
    ("forbidden", 1, '`define I `include "/etc/passwd"\n' + body("`I")),
    ("forbidden", 1, '`define I `inc``lude "/etc/passwd"\n' + body("`I")),
    ("forbidden", 2, '`define P(a,b) a``b\n`P(`inc,lude) "/etc/passwd"\n' + body("")),
    ("forbidden", 1, '`define P(a,b) `a``b\n`P(inc,lude) "/etc/passwd"\n' + body("")),
    ("forbidden", 2, '`ifndef NEVER\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 3, '`define SOME\n`ifdef SOME\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 2, '`ifdef SOME\n`include "x"\n`endif\n`define SOME\n' + body("")),
    ("forbidden", 2, '`ifdef __ICARUS__\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 2, '`ifdef SV_COV_START\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 3, '`ifdef NEVER\n`else\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 4, '`ifdef NEVER\nwire w;\n`endif\n`include "x"\n' + body("")),
    ("forbidden", 3, '`define B `ifdef NEVER\n`ifdef NEVER\n`include "x"\n`endif\n' + body("")),
    ("forbidden", 2, '`define B `ifdef NEVER\n`include "x"\n' + body("")),
    ("forbidden", 2, '`ifdef NEVER\n`include "x" \\\n`endif\n' + body("")),
    ("forbidden", 2, '`ifdef /* */ NEVER\n`include "x"\n`endif "\n' + body("")),
    *[("forbidden", text.count("\n") + 1, text + "`resetall\n" + body("")) for text in (
        "wire w;\n", "`define A 1\n", "`ifdef A\n`endif\n", "`celldefine\nmodule o; endmodule\n",
    )],
    ("forbidden", 4, body("") + "`resetall\n"),
    ("forbidden", 3, "`define F $finish\n" + body("initial `F;")),
    ("forbidden", 4, "`define F $fin\n`define P(a,b) a``b\n" + body("initial `P($fin,ish);")),
    ("forbidden", 1, "`default_nettype tri0\n" + body("")),
    ("forbidden", 4, body("") + "`default_nettype wand\n"),
    ("forbidden", 5, "`default_nettype wire\n" + body("").rstrip() + "\n`default_nettype tri\n"),
    *[("forbidden", 1, f"`{name}\n" + body("")) for name in (
        "unconnected_drive pull1", "nounconnected_drive", "pragma protect", 'line 3 "x" 0', "undefineall",
        "protect", "uselib dir=/x", "delay_mode_zero", "default_decay_time 1",
    )],
    ("forbidden", 2, '\n  #line 3 "x"\n' + body("")),
    ("forbidden", 1, "` \n" + body("")),
    ("forbidden", 4, body("") + "module RefModule; endmodule"),
    ("forbidden", 4, body("") + "module \\tb ; endmodule"),
    ("forbidden", 4, body("") + "module other; initial $display(1); endmodule"),
    ("forbidden", 4, body("") + "module other; leaf x(); endmodule module leaf; endmodule"),
    ("forbidden", 4, body("") + "interface I; endinterface"),
    ("forbidden", 4, body("") + "checker c; endchecker"),
    ("forbidden", 4, body("") + "bind t child u(.x(clk));\n" + CHILD),
    ("forbidden", 1, "function stim; input a; stim = a; endfunction\n" + body("")),
    ("forbidden", 1, "package stim; endpackage\n" + body("")),
    ("forbidden", 1, "typedef logic stim;\n" + body("")),
    ("forbidden", 1, "program p; endprogram\n" + body("")),
    ("forbidden", 1, "config c; design t; endconfig\n" + body("")),
    ("forbidden", 1, 'import "DPI-C" function int getpid();\n' + body("")),
    ("forbidden", 1, "extern module foo(input a);\n" + body("")),
    ("forbidden", 1, "timeunit 1ns;\n" + body("")),
    ("forbidden", 4, body("child3 u(clk);") + "module child3(input x); assign x = 1; endmodule"),
    ("forbidden", 4, body("if (0) child3 u(clk);") + "module child3(input x); assign x = 1; endmodule"),
    ("not_self_contained", 4, body("child2 u();") + "module child2; wire w = t.a; endmodule"),
    ("not_self_contained", 4, body("wire z; child2 u();") + "module child2; wire w = u.z; endmodule"),
    ("not_self_contained", 4, body("if (0) child2 u();") + "module child2; wire w = good1.q; endmodule"),
    ("not_self_contained", 1, "module t #(parameter P = tb.P)(input a); endmodule"),
    ("not_self_contained", 1, "module t(input [tb.P:0] a); endmodule"),
    *[("forbidden", 1, f"module {text} endmodule") for text in (
        "t(input var logic a); initial a = 1;", "t(input reg a); always @* a = 1;", "t(a); input a; assign a = 1;",
        "t(input a); reg a; initial a = 1;", "t(a); input a; reg a; initial a = 1;",
        "t(.a({x, y})); input x; input y; assign x = 1;", "t(.a(x)); input x; assign x = 1;",
        "t(input var logic [3:0] a); initial {<<{a}} = 3;", "t(input var int a); initial a++;",
        "t(input var int a); initial ++a;", "t(input var int a); initial a += 1;",
        "t(input var int a); initial for (a = 0; a < 3; a = a + 1);", "t(input var string a); initial $sformat(a, 1);",
        't(input var int a); int r; initial r = $sscanf("3", "%d", a);',
        "t(input reg [7:0] a); initial $swrite(a, 1);", "t(input var int a); initial $cast(a, 3);",
        "t(input var logic [1:0] a); logic x; initial '{a[0], x} = 2'b01;", "t(input event e); initial -> e;",
        "t(input var int a[3]); initial foreach (a[i]) a[i] = 0;", "t(input var int a); if (0) initial a++;",
        "t(input var string a); if (0) initial $sformat(a, 1);",
    )],
    *[("forbidden", 1, f"module t(input x, y, z); {text} endmodule " + CHILD) for text in (
        "child u(.*);", "child u(.x, .y, .z());", "if (0) child u(.*);", "if (0) child u(.x, .y(), .z);",
        "if (0) child u(x, y);",
    )],
    *[("forbidden", line, HEAD.replace("\n", "") + text) for line, text in (
        # one net inside two ports joins what is connected to them
        (1, "endmodule module pass(n, n); input n; endmodule"),
        (2, "pass p(a[0], w); endmodule\nmodule pass(n, n); input n; endmodule"),
        (2, "endmodule\nmodule pass(.x(n), .y(n)); input n; endmodule"),
        (2, "endmodule\nmodule pass(.x(n[0]), .y(n[1])); input [1:0] n; endmodule"),
        (2, "endmodule\nmodule pass(.x({n, m}), .y(m)); input n, m; endmodule"),
        (2, "endmodule\nmodule pass(.x({n}), n); input n; endmodule"),
        (2, "endmodule\nmodule pass(.x(n), .y(n)); output n; assign n = 1; endmodule"),
        (2, "endmodule\ninterface pass(n, n); input n; endinterface"),
        (2, "if (0) begin pass p(a[0], w); end endmodule\nmodule pass(.x(n), .y(n)); input n; endmodule"),
        # a switch on what an instance reads
        (2, "wire w;\ntran (w, q); child u(w, , ); endmodule " + CHILD),
        (2, "wire w;\nrtranif1 g(q, w, clk); child u(.x(w)); endmodule " + CHILD),
        (2, "wire [1:0] w;\ntran (w[0], q); if (1) begin child u(.x({w, clk})); end endmodule " + CHILD),
        (2, "wire x;\ntranif0 (x, q, clk); child u(.*); endmodule " + CHILD),
        (2, "wire x;\ntran (q, x); child u(.x); endmodule " + CHILD),
        (2, "if (0) begin wire w;\ntran (w, q); child u(w, , ); end endmodule " + CHILD),
        (2, "tri1 g;\nrtran (a[0], g); endmodule"),
        # a declaration that drives
        (2, "endmodule\nmodule child2(x); input x; supply0 x; endmodule"),
        (2, "if (0) child2 u(a[0]); endmodule\nmodule child2(input supply1 x); endmodule"),
        (2, "endmodule\ninterface child2(x); input x; supply0 x; endinterface"),
    )],
    *[("forbidden", 1, f"module t{text} endmodule") for text in (
        "(a); input a; wire a = 1'b0;", "(a, b); input a, b; wire c, b = 1;", "(a); input a; supply0 a;",
        "(a); input a; wire (supply0, supply1) a = 0;", "(.a({n})); input n; wire n = 0;", "(a); input tri1 a;",
        "(a); input a; generate wire a = 0; endgenerate", "(a); input wand a;", "(a); input a; reg a = 0;",
        *(f"(input {kind} a);" for kind in (
            "supply0", "supply1", "tri0", "tri1", "trireg", "wand", "wor", "triand", "trior", "tri0 [3:0]",
        )),
    )],
    ("forbidden", 2, "module t(input a);\ntypedef enum logic {\\e1\\ , e2} s; endmodule"),
    ("interface", 0, "module foo; endmodule"),
    ("interface", 0, ""),
    ("interface", 0, "// nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "line", "text"), WHOLE, ids=[text[:60] for _, _, text in WHOLE])
def test_whole_files(outcome: str, line: int, text: str) -> None:
    ruling = ask(text)
    assert (ruling.outcome, ruling.line, ruling.certain) == (outcome, line, True)


def test_where_the_bench_names_its_root_an_unused_module_is_none() -> None:
    unused = "module other(input x, output y); assign y = ~x; endmodule\n" + body("assign b = a;")
    assert (ask(unused).outcome, ask(unused).line) == ("forbidden", 1)
    ruling = rule_on(unused, "t", RESERVED, rooted=True)
    assert (ruling.outcome, ruling.source, ruling.faithful) == ("", unused, True)
    for text, outcome in (
        ("module other; initial $finish; endmodule\n", "forbidden"),
        ("module other; wire w = tb.x; endmodule\n", "not_self_contained"),
        ("module other; wire w = good1; endmodule\n", "elaboration"),
        ("module other(input x); assign x = 1; endmodule\n", "forbidden"),
        ("module tb; endmodule\n", "forbidden"),
        ("program other; endprogram\n", "forbidden"),
    ):
        assert rule_on(text + body(""), "t", RESERVED, rooted=True).outcome == outcome, text


def test_a_reset_takes_earlier_time_scales_with_it() -> None:
    ruling = ask("`timescale 1ns/1ns\n`resetall\n" + body(""))
    assert (ruling.outcome, "`timescale" in ruling.source) == ("", False)
    ruling = ask("`timescale 1ns/1ns\n`resetall\n`timescale 1ps/1ps\n" + body("").rstrip())
    assert ruling.source.count("`timescale") == 1
    assert "1ps / 1ps" in ruling.source
    assert ruling.source.index("module") > ruling.source.index("1ps")
    assert ask("`timescale 1ns/1ns\n`resetall\n" + body("")).source.split("\n")[2].strip() == HEAD.strip()


HARMLESS = [
    body(""), body("assign b = a;"), body('initial $display("$finish tb.x `include", a); // $finish tb.x `include'),
    body("/* $finish; `include \"x\" tb.good1.q */ assign b = a;"), "`timescale 1ns/1ps\n" + body(""),
    body("always @(posedge clk) assert (a != 3) else $error(1);"), body("assert property (@(posedge clk) a |-> q);"),
    "module t #(parameter W = 4)(input [W-1:0] a); endmodule", body("initial q = 0;"), body("reg [3:0] c = 0;"),
    body("child u(.x(a[0]), .y(b[0]), .z());"), body("child u(.x(a[0]), .y(), .z()); assign b = u.y;"),
    body("child u[3:0](.x(a), .y(b), .z());"), "module t(input x, output y, inout z); child u(.*); endmodule\n" + CHILD,
    body("for (genvar i = 0; i < 4; i = i + 1) begin : g wire r; assign r = a[i]; end assign b = g[3].r;"),
    body("for (genvar i = 0; i < 4; i = i + 1) begin : g wire r; end assign g[3].r = a[0]; assign b = g[3].r;"),
    body("if (1) begin : g1 wire w; assign w = clk; end assign b = g1.w;"),
    body("parameter P = 0; if (P) begin : g1 wire w; child u(.x(clk), .y(w), .z()); assign b = w; end"),
    body("function int f(int x); return x; endfunction int m[3]; if (0) always @* foreach (m[i]) m[i] = f(i);"),
    body("function [3:0] f; input [3:0] x; f = x + 1; endfunction assign b = f(a);"),
    body("task o; input x; q = x; endtask always @* o(a[0]);"), body("task unused; begin end endtask"),
    "function automatic logic f(logic x); return ~x; endfunction\n" + body("assign b = f(clk);"),
    "localparam W = 4;\n" + body("wire [W-1:0] w;"), "typedef enum logic [1:0] {A, B} st;\n" + body("st s;"),
    (
        "package p; typedef logic [3:0] n; struct packed {logic x;} s; endpackage\n"
        "module t(input p::n a, output b); import p::*; assign b = s.x; n w; endmodule"
    ),
    body("wire error, tb_match, stats1, tb; assign b = error;"), body("wire \\my+sig ; assign b = \\my+sig ;"),
    body("struct packed {logic [1:0] x; logic y;} s; always_comb s.x = a[1:0]; assign b = s.y;"),
    body("always @(posedge clk) begin : blk integer i; for (i = 0; i < 3; i = i + 1) if (a[i]) disable blk; end"),
    body("event e; initial -> e; always @e q = 1;"), body("always @* begin : blk integer i; i = 3; q = blk.i; end"),
    body("initial begin q = 0; forever #5 q = ~q; end"), body("initial forever @(posedge clk) q = 1;"),
    body("initial begin forever begin if (clk) break; q = 1; end end"), body("initial #5 forever q = 1;"),
    body("buff u(b[0], a[0]);") + "primitive buff(output y, input x); table 0:0; 1:1; endtable endprimitive",
    body("specify (a[0] => q) = 1; endspecify"), body("and (b[0], a[0], a[1]);"),
    body("initial assign q = 1; initial deassign q;"), body('initial $display("%t %m", $time);'),
    body("enum {E1, E2} en; initial $display(en.name());"), body('final $display("x");'),
    "interface I; logic x; endinterface\n" + body("I i(); assign i.x = clk; assign b = i.x;"),
    "module t(inout [3:0] d, input en); assign d = en ? 4'd3 : 4'bz; endmodule",
    "module t(input logic a = 1, output b); endmodule", body("assign b = a;").replace("\n", "\r\n"),
    (
        "module t #(int N = 4)(input [N-1:0] a, output y); if (N == 1) assign y = a; else begin wire w; "
        "t #(N-1) u(a[N-2:0], w); assign y = w ^ a[N-1]; end endmodule"
    ),
    *[f"module t{text} endmodule" for text in (
        "(input wire a);", "(input tri a);", "(input logic a);", "(a); input a; wire a;", "(a); input a; tri a;",
        "(a); input wire a;", "(input a); if (1) begin wire a = 0; end", "(output wire b); supply0 c; assign b = c;",
        "(input a); function f(input a); reg b = 0; f = a; endfunction", "(a, b); input a; output b; wire b = a;",
        "(.a(n[1:0]), .b(m)); input [1:0] n; output m; assign m = n[0];",
        "(input a, output b); wire w, v; tran (w, v); assign w = a; assign b = v;",
    )],
    "`default_nettype none\n" + body(""), "`default_nettype none\n" + body("").rstrip(),
    "`resetall\n" + body(""),
    "// x\n`timescale 1ns/1ps // y\n`default_nettype none\n`resetall\n`timescale 1ns/1ps\n" + body(""),
    '`ifdef SYNTHESIS\n`include "x.vh" // "y\n`endif\n' + body("assign b = a;"),
    body('`ifdef LINT\n`ifndef A\n`include "x.vh"\n`else\n`include "y.vh"\n`endif\n`endif'),
    body("// \N{EM DASH} \N{RIGHTWARDS ARROW} `q`\nassign b = a;"), body('initial $display("a\\n\\"b\\"");'),
    "`define W 4\n" + body("wire [`W-1:0] w;"), "`default_nettype none\n" + body("") + "`default_nettype wire\n",
    "`celldefine\n" + body("") + "`endcelldefine\n", body("`ifdef X\nwire w;\n`else\nwire z;\n`endif"),
    body("`ifdef DUMP\ninitial begin $dumpfile(\"x\"); $dumpvars; #1000 $finish; end\n`endif"),
    "`begin_keywords \"1364-2005\"\n" + body("") + "`end_keywords\n", "`define X\n`undef X\n" + body(""),
    "`define MAX(a,b) ((a)>(b)?(a):(b))\n" + body("assign b = `MAX(a, 3);"),
    "`ifndef G\n`define G\n" + body("") + "`endif\n", "`define A \\\n 1\n" + body("assign b = `A;"),
    "`define S(n) sig_``n\n" + body("wire `S(a); assign b = `S(a);"),
    '`define Q(x) `"x`"\n' + body("initial $display(`Q(abc));"), "`ifdef __ICARUS__\n" + body("") + "`endif",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS, ids=[text.replace(HEAD, "")[:60] for text in HARMLESS])
def test_harmless_habits(text: str, toolchain: Toolchain, tmp_path: Path) -> None:
    ruling = ask(text)
    assert (ruling.outcome, ruling.line, ruling.reason, ruling.certain) == ("", 0, "", True)
    assert ruling.faithful == (ruling.source == text)
    assert ruling.timescale == ("`timescale" in text)
    again = ask(ruling.source)
    if "\\" not in text:
        assert (again.source, again.faithful) == (ruling.source, True)  # nothing is left to neutralise
    if compiles(toolchain, text, tmp_path):
        assert compiles(toolchain, ruling.source, tmp_path)


def compiles(toolchain: Toolchain, text: str, folder: Path) -> bool:
    file = folder / "candidate.sv"
    file.write_bytes(text.encode())
    argv = [*toolchain.iverilog, "-g2012", "-s", "t", "-t", "null", str(file)]
    return subprocess.run(argv, capture_output=True).returncode == 0


UNCERTAIN = [
    # Icarus 11 takes the first, both take the second and third; what pyslang says is no refusal.
    ("", body("reg [3:0] b; wire clk;")),
    ("", body('initial $display("%d");')),
    ("", body("generate generate if (1) wire w; endgenerate endgenerate")),
    ("syntax", body("assign b = ;")),
    ("syntax", body("wire w")),
    ("syntax", body("assign b = `NOT_DEFINED;")),
    ("syntax", "module t(input a);"),
    ("elaboration", body("assign b = undeclared + 1;")),
    ("elaboration", body("always @* b = 1;")),
    ("elaboration", "`default_nettype none\n" + body("assign made_up = a[0];") + "`default_nettype wire\n"),
    ("resource", "module t; for (genvar i = 0; i < 100000000; i = i + 1) begin wire w; end endmodule"),
    ("resource", body("function integer f(input integer n); while (1) f = n; endfunction localparam P = f(1);")),
    ("resource", "module t(output b); assign b = " + "(" * 2000 + "1" + ")" * 2000 + "; endmodule"),
]


@pytest.mark.parametrize(("outcome", "text"), UNCERTAIN, ids=[text.replace(HEAD, "")[:60] for _, text in UNCERTAIN])
def test_icarus_decides_what_compiles(outcome: str, text: str) -> None:
    ruling = ask(text)
    assert (ruling.outcome, ruling.certain) == (outcome, False)
    assert ruling.reason


def test_what_icarus_takes_for_a_system_task(each_icarus: Toolchain, tmp_path: Path) -> None:
    # The reason for the rule on escaped names: Icarus ends the simulation here.
    text = (
        body("task \\$finish ; endtask\ninitial #1 \\$finish ;")
        + 'module top; t u(); initial #9 $display("on"); endmodule'
    )
    (tmp_path / "x.sv").write_text(text)
    subprocess.run([*each_icarus.iverilog, "-g2012", "-s", "top", "-o", "x", "x.sv"], cwd=tmp_path, check=True)
    ran = subprocess.run([*each_icarus.vvp, "-n", "x"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "on" not in ran.stdout


PRINTS = [
    ("initial $display(1);", True), ("initial $writeh(1);", True), ("initial $monitor(a);", True),
    ("always @* assert (a);", True), ("always @* unique case (a) 1: q = 1; endcase", True),
    ("if (0) initial $info;", True),
    ("wire display = 1;", False), ("// $display", False), ('localparam P = "$display(1)";', False),
    ("initial $sformat(q, 1);", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "prints"), PRINTS, ids=[text for text, _ in PRINTS])
def test_prints(text: str, prints: bool) -> None:
    ruling = ask(body(text))
    assert (ruling.outcome, ruling.prints) == ("", prints)


@pytest.mark.parametrize(
    ("text", "tame"),
    [
        ("module t; endmodule", True), ("`timescale 1ns / 1ps\nmodule t; endmodule", True), ("`timescale 1 ns", False),
        ("wire w; `timescale 1ns/1ps wire v;", False), ("`timescale\n1ns/1ps", False), ("`timescale 5ns/1ps", False),
        ("`define X", False), ("x = \\a ;", False), ('x = "a\\nb";', True), ('x = "a`b";', False),
        ('x = "a\\\nb";', False),
        ('x = "a', False), ("/* a", False), ("/*/", False), ("/**/", True), ("// \\\nx", True), ("// `x\r\ny", True),
        ("// a\ry", False), ("// a\0", False), ("\0", False), ("\x0b", False), ("\N{EM DASH}", False),
        ("// \N{EM DASH}", True), ("#line 3", False), ("\n # line 3", False), ("x = #line_of 3;", True),
    ],
)  # fmt: skip
def test_tame(text: str, tame: bool) -> None:
    assert is_tame(text) is tame


def test_neutralised_text_keeps_its_lines() -> None:
    text = "`define TWO(x) \\\n  x + \\\n  x\n`timescale 1ns/1ps\n`default_nettype none\n" + body(
        '`ifdef X\nwire x;\n`endif\nassign b = `TWO(a)\n  + `__LINE__; initial $display("a`b");'
    ) + "`default_nettype wire\n"  # fmt: skip
    lines = ask(text).source.split("\n")
    original = text.split("\n")
    for kept in (HEAD.strip(), "endmodule"):
        assert lines.index(kept) == original.index(kept)
    assert lines[3] == "`timescale 1ns / 1ps"
    assert " ".join(lines[original.index("assign b = `TWO(a)")].split()) == "assign b = a + a"
    assert lines[10].split() == ["+", str(11), ";", "initial", '$display("a\\140b");']
    assert "`" not in "".join(lines[4:])


def test_a_port_in_another_direction() -> None:
    text = "module t(inout clk, input a, output q); assign q = a; endmodule"
    assert ask(text).outcome == ""
    ruling = rule_on(text, "t", RESERVED, frozenset({"clk", "a"}))
    assert (ruling.outcome, ruling.line) == ("interface", 1)
    assert rule_on(text, "t", RESERVED, frozenset({"a"})).outcome == ""


def test_every_listed_task_is_on_one_list_only() -> None:
    assert not HARMLESS_TASKS & PRINTING_TASKS
    assert all(refuse_task(f"${name}", 1).outcome == "forbidden" for name in ("finish", "fopen", "anything"))
    assert refuse_task("$root", 1).outcome == "not_self_contained"


def test_no_reference_cycles() -> None:
    # A cycle would keep pyslang's objects beyond their memory, which ends the process sooner or later.
    texts = [*HARMLESS, *(text for _, _, text in WHOLE), *(body(text) for _, text in INSIDE)]
    for text in texts:
        ask(text)
    gc.collect()
    gc.disable()
    try:
        for text in texts:
            ask(text)
        assert gc.collect() == 0
    finally:
        gc.enable()


# ---- any text

_PIECES = st.sampled_from(
    [
        "module t(input a);", "endmodule", "begin", "end", "`define A", "`A", "`ifdef A", "`endif", "``", "`", "\\",
        "\\x ", '"', "/*", "*/", "//", "\n", "\r", "\0", "(", ")", "[", "]", "{", "}", "if (0)", "#(", ";", "=", "<=",
        "for (genvar i = 0; i < 2; i++)", "assign a = ", "a", "b", ".", "::", "tb.x", "function f;", "endfunction",
        "child u(", "@", "always @*", "initial", "$display(", "$x", "'b", "1", "generate", "endgenerate", "package p;",
        "interface I;", "import p::*;", "typedef struct packed {", "class c;", "table", "specify", "property p;",
        "`timescale 1ns/1ps\n", "case (1)", "endcase", "forever", "task o(output x);", "o(a);", "alias a = ",
        "modport m(", "(* ", " *)", "\ud800",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(_PIECES, max_size=25).map(" ".join), st.lists(_PIECES, max_size=25).map("".join)))
def test_any_text_gets_a_ruling(text: str) -> None:
    for source in (text, f"{HEAD}{text}\nendmodule"):
        ruling = ask(source)
        assert ruling.outcome in {
            "", "syntax", "elaboration", "interface", "not_self_contained", "forbidden", "resource", "timeout",
        }  # fmt: skip
        assert 0 <= ruling.line <= source.count("\n") + source.count("\r") + 2
        assert bool(ruling.source) == (ruling.outcome == "")
        assert ruling == ask(source)


_SPACES = st.lists(st.sampled_from([" ", "\n", "\t", "/* x */", "// y\n"]), min_size=1, max_size=3).map("".join)
_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).map(lambda name: f"n{name}")


@settings(max_examples=60, deadline=None)
@given(names=st.lists(_NAMES, min_size=2, max_size=4), gap=_SPACES, escape=st.booleans(), macro=st.booleans())
def test_a_name_leaves_however_it_is_spelled(names: list[str], gap: str, escape: bool, macro: bool) -> None:
    spelled = [f"\\{name} " if escape else name for name in names]
    path = f"{gap}.{gap}".join(spelled)
    if macro:
        path = path.replace("\n", " ").replace("// y", " ")
        text = f"`define PATH {path}\n" + body("assign b = `PATH ;")
    else:
        text = body(f"assign b = {path};")
    ruling = ask(text)
    assert (ruling.outcome, ruling.certain) == ("not_self_contained", True)
    assert ".".join(names) in ruling.reason.replace("\\", "").replace(" ", "")


# ---- real text


def reserved_of(task: Task) -> frozenset[str]:
    if isinstance(task.oracle, CocotbBench):
        return frozenset()
    found = {module.name for source in task.oracle.sources for module in modules(source.text)}
    return frozenset(found - {task.module})


def inputs_of(task: Task) -> frozenset[str]:
    return frozenset(port.name for port in task.ports if port.direction == "input")


BENCHMARKS = [
    ("verieval", None), ("verilog-eval:spec-to-rtl", "verilog-eval"), ("verilog-eval:code-complete", "verilog-eval"),
    ("verilog-eval-v1:human", "verilog-eval-v1"), ("verilog-eval-v1:machine", "verilog-eval-v1"),
    ("rtllm", "rtllm"), ("verigen", "verigen"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "folder"), BENCHMARKS, ids=[name for name, _ in BENCHMARKS])
def test_no_reference_is_refused(name: str, folder: str | None, request: pytest.FixtureRequest) -> None:
    data = None if folder is None else request.getfixturevalue("data_dir") / folder
    tasks = [task for task in benchmarks.load(name, data).tasks if task.reference]
    rulings = {
        task.id: rule_on(task.reference or "", task.module, reserved_of(task), inputs_of(task)) for task in tasks
    }
    refused = {id_: (ruling.line, ruling.reason) for id_, ruling in rulings.items() if ruling.outcome}
    assert refused == {}
    assert rulings
    assert all(ruling.certain and ruling.faithful for ruling in rulings.values())


def test_no_completion_that_passes_is_refused(data_dir: Path, completions_dir: Path) -> None:
    tasks = benchmarks.load("verilog-eval:spec-to-rtl", data_dir / "verilog-eval").by_id
    with (completions_dir / "official_verilog_eval_rtl_icarus12.csv").open(newline="") as file:
        letters = {(row[0], sample): letter for row in csv.reader(file) for sample, letter in enumerate(row[4:])}
    passing = 0
    refused = []
    groups = json.loads((completions_dir / "turtle_gemini-2.5-flash_verilog_eval_rtl.json").read_text())
    for group in groups:
        for sample, row in enumerate(group):
            task = tasks[Path(row["test_path"]).name.removesuffix("_test.sv")]
            ruling = rule_on(row["generation"], task.module, reserved_of(task), inputs_of(task))
            if letters[task.id, sample] == ".":
                passing += 1
                if ruling.outcome or not ruling.certain or not ruling.faithful:
                    refused.append((task.id, sample, ruling.line, ruling.reason))
    assert passing == 545  # counted from the official summary
    assert refused == []


def test_what_icarus_compiles_of_a_model_is_admitted(
    data_dir: Path, completions_dir: Path, icarus12: Toolchain, tmp_path: Path
) -> None:
    tasks = benchmarks.load("rtllm", data_dir / "rtllm").by_id
    rows = [json.loads(line) for line in (completions_dir / "rtllm_chatgpt35.jsonl").read_text().splitlines()]
    refused = []
    for row in rows:
        task = tasks[row["task_id"]]
        source = extract(row["completion"], task.module).source
        ruling = rule_on(source, task.module, reserved_of(task), inputs_of(task))
        if ruling.outcome:
            text = source.replace(f"module {task.module}", "module t")
            if compiles(icarus12, text, tmp_path):
                refused.append((task.id, row["sample"], ruling.outcome, ruling.line, ruling.reason))
    assert len(rows) == 145
    assert refused == []


def test_expanded_text_simulates_alike(each_icarus: Toolchain, tmp_path: Path) -> None:
    for task in benchmarks.load("verieval", VERILOG_BENCHES).tasks:
        assert task.reference is not None
        text, trouble = expand(parse(task.reference, options(task.module)))
        assert (trouble, is_tame(text)) == ("", True)
        printed = []
        for source in (task.reference, text):
            (tmp_path / "candidate.sv").write_text(source)
            for item in task.oracle.sources:
                (tmp_path / item.name).write_text(item.text)
            for data in task.oracle.data_files:
                (tmp_path / data.name).write_bytes(data.data)
            files = ["candidate.sv", *(item.name for item in task.oracle.sources)]
            root = ["-s", task.oracle.top] if task.oracle.top else []
            argv = [*each_icarus.iverilog, *task.oracle.compile_flags, *root, "-o", "x", *files]
            subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True)
            ran = subprocess.run(
                [*each_icarus.vvp, "-n", "x"], cwd=tmp_path, check=True, capture_output=True, text=True
            )
            printed.append(ran.stdout)
        assert printed[0] == printed[1]
        assert printed[0].strip()


def test_light_import() -> None:
    code = "import sys, verieval.judge.policy; print('pyslang' in sys.modules)"
    ran = subprocess.run(
        [os.sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],  # type: ignore[attr-defined]
    )
    assert ran.stdout.strip() == "False"


ABSENT = [
    "if (0) begin : x wire w; end assign b = x.w;",
    "if (0) begin : x wire w; end assign b = x.nothing;",
    "if (0) begin : x reg w; end always @(x.w) x.w = 0;",
    "if (0) begin : x parameter W = 1; end defparam x.W = 3;",
    "if (0) begin : x task t; endtask end initial x.t;",
    "if (0) begin : x event e; end initial -> x.e;",
    "if (0) begin : x wire w; end tran(x.w, b[0]);",
    "if (0) begin child x(a[0], , ); end assign b = x.y;",
    "if (0) child x(a[0], , ); assign b = x.y;",
    "if (0) begin if (1) begin : x wire w; end end assign b = x.w;",
    "if (0) ; else if (0) begin : x wire w; end assign b = x.w;",
    "case (1) 0: begin : x wire w; end default: ; endcase assign b = x.w;",
    "genvar x; if (4294967295 + 1) begin assign b = x.w; end",
    "typedef struct packed {logic w;} x; if (0) assign b = x.w;",
    "function x(input i); x = i; endfunction if (0) assign b = x.w;",
]
PRESENT = [
    "genvar i; for (i = 0; i < 4; i = i + 1) begin : x wire w; assign w = a[i]; end assign b = x[3].w;",
    "if (1) begin : x wire w; assign w = clk; end else begin : x wire w; assign w = 0; end assign b = x.w;",
    "if (0) begin : x wire w; end else if (1) begin : x wire w; assign w = clk; end assign b = x.w;",
    "if (1) if (1) begin : x wire w; assign w = clk; end assign b = x.w;",
    "if (1) begin : p if (1) begin : x wire w; assign w = clk; end end assign b = p.x.w;",
    "case (1) 1: begin : x wire w; assign w = clk; end default: ; endcase assign b = x.w;",
    "if (0) begin : o genvar i; for (i = 0; i < 4; i = i + 1) begin : x wire w; end assign b = x[3].w; end",
    "typedef struct packed {logic w;} s; function automatic s f(input i); f.w = i; endfunction s v; assign v = f(clk);",
    "always @* begin : x reg w; w = clk; q = w; end assign b = x.w;",
]


@pytest.mark.parametrize("text", ABSENT)
def test_a_dotted_name_begins_in_what_is_there(text: str) -> None:
    """Tools look upwards for a beginning that is not there; pyslang says nothing of branches that are not taken."""
    assert ask(body(text)).outcome == "not_self_contained"


@pytest.mark.parametrize("text", PRESENT)
def test_dotted_names_in_what_is_there(text: str, toolchain: Toolchain, tmp_path: Path) -> None:
    ruling = ask(body(text))
    assert (ruling.outcome, ruling.reason, ruling.dotted) == ("", "", True)
    assert compiles(toolchain, body(text), tmp_path)


def test_icarus_alone_confirms_dotted_names(toolchain: Toolchain) -> None:
    """Where pyslang takes a branch that Icarus does not, only the compiler knows that a block is missing."""
    text = body("if (4294967295 + 1) ; else begin : x wire w; assign w = clk; end assign b = x.w;")
    good = body(PRESENT[0])
    launcher = Launcher(Limits(), NO_SANDBOX)
    try:
        found = [confirm(ask(source), launcher, toolchain, ["-g2012"], "t") for source in (text, good)]
    finally:
        launcher.close()
    assert ask(text).outcome == ""
    assert [ruling.outcome for ruling in found] == ["not_self_contained", ""]
    assert "by itself" in found[0].reason
    assert found[1] == ask(good)


JOINS = [
    "assign w = $signed(a); assign (supply0, supply1) w = 0;",
    "assign w = $unsigned(a); assign w = 0;",
    "assign w = 4'(a); assign w = 0;",
    "assign w = ($signed((a))); assign w = 0;",
    "assign w = 1 ? $signed(a) : b; assign w = 0;",
    "assign w = $signed(a); pulldown (supply0) (w[0]);",
    "assign w = $signed(a); cmos (w[0], 1'b0, 1'b1, 1'b0);",
    "wire [3:0] v = $signed(a); assign v = 0;",
    "wire [3:0] v[0:1]; assign v[0] = $signed(a); assign v[0] = 0;",
    "supply0 [3:0] v; assign v = $signed(a);",
    "assign b = $signed(a); assign b = 0;",
    "genvar i; for (i = 0; i < 1; i = i + 1) begin : g wire [3:0] v; assign v = $signed(a); assign v = 0; end",
    "assign w = $signed(a); wire [3:0] v; assign v = $signed(w); assign v = 0;",
    "pass p(a, w); assign w = 0;",
    "assign w = $signed(a) >> 0; assign w = 0;",
    "assign w = 0 + $unsigned(a); assign w = 0;",
    "assign w = +4'(a); assign w = 0;",
    "pass p({a}, w); assign w = 0;",
    "pass p(a[3:0], w); assign w = 0;",
    "pass p(+a, w); assign w = 0;",
    "localparam P = 0; pass p(a[P+:4], w); assign w = 0;",
    "assign w = $signed(a[3:0]); assign w = 0;",
    "localparam P = 0; assign w = $unsigned(a[P+:4]); assign w = 0;",
    "localparam P = 0; assign w = $signed(a) << P; assign w = 0;",
    "assign w = $signed(+a); assign w = 0;",
    "localparam P = 0; assign w = $unsigned(P ? b : a); assign w = 0;",
    "pass p($signed({a}), w); assign w = 0;",
    "assign w = $signed(a); under p(w);",
    "assign one = $signed(clk); assign one = $signed(a[0] ? clk : clk); assign (supply0, supply1) one = 0;",
    "if (4294967295 + 1) begin assign w = $signed(a); assign w = 0; end",
]
KEPT = [
    "assign w = $signed(a);",
    "wire signed [3:0] s = $signed(a); assign b = s + 1;",
    "assign w = a; assign (supply0, supply1) w = 0;",
    "assign w = clk ? $signed(a) : 4'bz; assign w = 4'bz;",
    "wire [3:0] v[0:1]; assign v[0] = $signed(a); assign v[1] = 0;",
    "assign w[0] = $signed(clk); assign w[3:1] = 0;",
    "reg [3:0] m[0:15]; always @(posedge clk) m[a] <= a; assign w = $signed(m[a]); assign b = m[w] + 4'(a);",
    "genvar i; for (i = 0; i < 4; i = i + 1) begin : g wire v; assign v = $signed(a[i]); assign b[i] = v; end",
    "wire [1:0] h; pass p(.x({2'b0, a[1:0]}), .y(w)); assign h = $signed(a[3:2]); assign b = {h, w[1:0]};",
    "assign w = $signed(b); assign w = 0;",
    "pass p(a, w);",
]
_JOINED = (
    "module pass(input [3:0] x, output [3:0] y); assign y = $signed(x); endmodule\n"
    "module under(inout [3:0] z); assign z = 0; endmodule\n"
)


def joined(text: str) -> str:
    used = "".join(line + "\n" for line in _JOINED.splitlines() if line.split("(")[0].split()[1] in text)
    return body(f"wire [3:0] w; wire one; {text}") + used


@pytest.mark.parametrize("text", JOINS)
def test_no_driver_reaches_an_input_through_an_assignment_that_is_a_connection(text: str) -> None:
    ruling = ask(joined(text))
    assert (ruling.outcome, ruling.certain) == ("forbidden", True)
    assert "joins" in ruling.reason


@pytest.mark.parametrize("text", KEPT)
def test_casts_that_join_nothing_with_a_driver(text: str) -> None:
    assert ask(joined(text)).outcome == ""


def test_a_variable_port_with_a_default_is_driven() -> None:
    assert ask("module t(input var logic a = 0, output b); assign b = a; endmodule").outcome == "forbidden"
