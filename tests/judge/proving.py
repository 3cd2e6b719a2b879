"""Pairs of designs whose equivalence is known by construction; each says why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Two texts that define ``top``. ``kind`` is what must come out, ``steps`` the least length of a counterexample."""

    name: str
    kind: str
    gold: str
    gate: str
    style: str = "cycle"
    steps: int = 1


ADD = "module top(input [7:0] a, input [7:0] b, input c, output [8:0] s); assign s = a + b + c; endmodule"
RIPPLE = """
module full(input a, input b, input c, output s, output k);
  assign s = a ^ b ^ c; assign k = (a & b) | (c & (a ^ b));
endmodule
module top(input [7:0] a, input [7:0] b, input c, output [8:0] s);
  wire [8:0] k; assign k[0] = c; assign s[8] = k[8];
  genvar i; generate for (i = 0; i < 8; i = i + 1) begin : g
    full f(a[i], b[i], k[i], s[i], k[i+1]);
  end endgenerate
endmodule
"""
CLOCKED = "module top(input clk, input rst, input [3:0] d, output {kind}[3:0] q);\n{body}\nendmodule"


def clocked(body: str, kind: str = "reg ") -> str:
    """A design with clock, reset and four bits of data."""
    return CLOCKED.format(body=body, kind=kind)


# Sees 1, 0, 1 in a row, overlapping; y is Moore.
FSM = """
module top(input clk, input rst, input x, output y);
  {decls}
  always @(posedge clk) if (rst) s <= {a}; else case (s)
    {a}: s <= x ? {b} : {a};
    {b}: s <= x ? {b} : {c};
    {c}: s <= x ? {d} : {a};
    {d}: s <= x ? {b} : {last};
    default: s <= {a};
  endcase
  assign y = s == {d};
endmodule
"""
BINARY = FSM.format(decls="reg [1:0] s;", a="2'd0", b="2'd1", c="2'd2", d="2'd3", last="2'd2")
ONE_HOT = FSM.format(decls="reg [3:0] s;", a="4'b0001", b="4'b0010", c="4'b0100", d="4'b1000", last="4'b0100")
WRONG_LAST = FSM.format(decls="reg [3:0] s;", a="4'b0001", b="4'b0010", c="4'b0100", d="4'b1000", last="4'b0001")

MEMORY = """
module top(input clk, input we, input [1:0] wa, input [1:0] ra, input [3:0] d, output [3:0] q);
  reg [3:0] m [0:3];
  always @(posedge clk) if (we) m[wa] <= d;
  assign q = m[ra];
endmodule
"""
REGISTERS = """
module top(input clk, input we, input [1:0] wa, input [1:0] ra, input [3:0] d, output reg [3:0] q);
  reg [3:0] a, b, c, e;
  always @(posedge clk) if ({we}) case (wa) 0: a <= d; 1: b <= d; 2: c <= d; 3: e <= d; endcase
  always @* case (ra) 0: q = a; 1: q = b; 2: q = c; default: q = e; endcase
endmodule
"""
CARE = """
module top(input [1:0] s, input a, output reg y);
  always @* case (s) 2'd0: y = a; 2'd1: y = ~a; {rest} endcase
endmodule
"""
LATCH = "module top(input en, input d, output reg q); always @* if (en) q = d; endmodule"
SIGNED = "module top(input signed [3:0] a, input signed [3:0] b, output y); assign y = a < b; endmodule"
UNSIGNED = "module top(input [3:0] a, input [3:0] b, output y); assign y = {expr}; endmodule"
DUAL = "module top(input clk, input d, output q); reg p, n;\n{body}\nendmodule"
BOTH_EDGES = DUAL.format(body="always @(posedge clk) p <= d; always @(negedge clk) n <= d; assign q = clk ? p : n;")
XOR_EDGES = DUAL.format(
    body="initial begin p = 0; n = 0; end\n"
    "always @(posedge clk) p <= d ^ n; always @(negedge clk) n <= d ^ p; assign q = p ^ n;"
)
COUNT = "module top(input clk, input reset, output [2:0] q); {body} endmodule"
SYNCHRONOUS = COUNT.format(
    body="reg [2:0] n; assign q = n; always @(posedge clk or posedge reset) if (reset) n <= 0; else n <= n + 3'd1;"
)
RIPPLED = COUNT.format(
    body="reg a, b, c; assign q = {c, b, a};"
    "always @(posedge clk or posedge reset) if (reset) a <= 0; else a <= ~a;"
    "always @(negedge a or posedge reset) if (reset) b <= 0; else b <= ~b;"
    "always @(negedge b or posedge reset) if (reset) c <= 0; else c <= ~c;"
)
SYNC = clocked("always @(posedge clk) if (rst) q <= 4'd3; else q <= q + d;")

PAIRS = (
    Pair("adder built of full adders", "proven", ADD, RIPPLE),
    Pair("adder that forgets one carry", "refuted", ADD, RIPPLE.replace("| (c & (a ^ b))", "")),
    Pair("off by one", "refuted", ADD, ADD.replace("a + b + c", "a + b + c + 1")),
    Pair("wrong for one input in 2^17", "refuted", ADD, ADD.replace("+ c;", "+ c + ({a,b,c} == 17'h1b3a5);")),
    Pair("states in another code", "proven", BINARY, ONE_HOT),
    Pair("one wrong transition, three steps in", "refuted", BINARY, WRONG_LAST, steps=5),
    Pair("reset by an expression", "proven", SYNC, clocked("always @(posedge clk) q <= rst ? 4'd3 : q + d;")),
    Pair("another reset value", "refuted", SYNC, SYNC.replace("4'd3", "4'd2")),
    Pair("the other polarity of reset", "refuted", SYNC, SYNC.replace("if (rst)", "if (!rst)")),
    Pair(
        "asynchronous where it is synchronous", "refuted", SYNC, SYNC.replace("posedge clk", "posedge clk, posedge rst")
    ),
    Pair(
        "synchronous where it is asynchronous",
        "refuted",
        SYNC.replace("posedge clk", "posedge clk, posedge rst"),
        SYNC,
    ),
    Pair(
        "asynchronous, masked at the output",
        "refuted",  # a pulse of reset between two clock edges is forgotten
        SYNC.replace("posedge clk", "posedge clk, posedge rst"),
        clocked(
            "reg [3:0] r; always @(posedge clk) if (rst) r <= 4'd3; else r <= r + d; assign q = rst ? 4'd3 : r;",
            "wire ",
        ),
        steps=2,
    ),
    Pair("the other clock edge", "refuted", SYNC, SYNC.replace("posedge", "negedge"), "sampled"),
    Pair(
        "any value for a don't-care",
        "proven",
        CARE.format(rest="default: y = 1'bx;"),
        CARE.format(rest="2: y=1; 3: y=0;"),
    ),
    Pair(
        "a don't-care where there is none",
        "refuted",
        CARE.format(rest="default: y = 0;"),
        CARE.format(rest="2: y=0; 3: y=1'bx;"),
    ),
    Pair("the same latch", "proven", LATCH, LATCH.replace("always @*", "always_latch")),
    Pair("no latch", "refuted", LATCH, LATCH.replace("if (en) q = d;", "q = en & d;")),
    Pair("a latch for a gate", "refuted", LATCH.replace("if (en) q = d;", "q = en & d;"), LATCH, steps=1),
    Pair("memory as registers", "proven", MEMORY, REGISTERS.format(we="we")),
    Pair("memory without write enable", "refuted", MEMORY, REGISTERS.format(we="1"), steps=2),
    Pair("signed comparison by hand", "proven", SIGNED, UNSIGNED.format(expr="{~a[3], a[2:0]} < {~b[3], b[2:0]}")),
    Pair("unsigned for signed", "refuted", SIGNED, UNSIGNED.format(expr="a < b")),
    Pair("both edges by exclusive or", "proven", BOTH_EDGES, XOR_EDGES, "sampled"),
    Pair("both edges, one forgotten", "refuted", BOTH_EDGES, BOTH_EDGES.replace("clk ? p : n", "p"), "sampled"),
    Pair("ripple counter", "proven", SYNCHRONOUS, RIPPLED, "sampled"),
    Pair("ripple counter, wrong edge", "refuted", SYNCHRONOUS, RIPPLED.replace("negedge b", "posedge b"), "sampled"),
    Pair(
        "without reset, after the pipe has filled",
        "proven",
        clocked("reg [3:0] a; always @(posedge clk) begin a <= d; q <= a; end"),
        clocked("reg [7:0] p; always @(posedge clk) p <= {p[3:0], d}; assign q = p[7:4];", "wire "),
    ),
    Pair(
        "undefined after reset",
        "refuted",
        clocked("always @(posedge clk) if (rst) q <= 0; else if (d == 5) q <= 1;"),
        clocked("always @(posedge clk) if (d == 5) q <= 1;"),
    ),
    Pair(
        "shown by simulation later than by the netlists",
        "refuted",  # the gates have x for `p` at first, where Icarus takes the other branch
        clocked("always @(posedge clk) q <= ~d;"),
        clocked("reg p; always @(posedge clk) begin p <= d[0]; if (d[0] && p == 1'b0) q <= 4'b0110; else q <= ~d; end"),
        steps=3,
    ),
    Pair(
        "never defined", "unknown", clocked("always @(posedge clk) q <= ~q;"), clocked("always @(posedge clk) q <= 0;")
    ),
    Pair("no port", "unknown", LATCH, "module top(input en, output q); assign q = en; endmodule"),
    Pair("another width", "unknown", ADD, ADD.replace("[8:0] s", "[7:0] s")),
    Pair("no Verilog", "unknown", ADD, "module top(input [7:0] a; endmodule"),
    Pair("two drivers", "unknown", LATCH, LATCH.replace("endmodule", "always @* q = d; endmodule")),
    Pair(
        "two continuous drivers",
        "unknown",
        "module top(input a, output y); assign y = a; endmodule",
        "module top(input a, output y); assign y = a; assign y = ~a; endmodule",
    ),
    Pair("a loop", "unknown", LATCH, "module top(input en, input d, output q); assign q = en ? d : q; endmodule"),
)

# Expressions of a nibble s of which nothing is known, with the value that they would have if s were any number. By IEEE
# 1364 each is x, in at least one bit: x in an operand of arithmetic, of a comparison or of a shift's amount makes the
# whole result x, and `x & ~x` is x.
UNDEFINED = {
    "s & ~s": "4'd0",
    "s | ~s": "4'd15",
    "s ^ s": "4'd0",
    "s - s": "4'd0",
    "s * 0": "4'd0",
    "0 << s": "4'd0",
    "{4{s >= 0}}": "4'd15",
    "{4{s == s}}": "4'd15",
    "d + ((s ^ ~s) + 1) * 0": "d",
}
# What makes nothing known of s.
NOT_DEFINED = {
    "undriven": "wire [3:0] s;",
    "never assigned": "reg [3:0] s;",
    "a register that keeps what it never got": "reg [3:0] s; always @(posedge clk) s <= s;",
    "a counter without a start": "reg [3:0] s; always @(posedge clk) s <= s + 4'd1;",
    "a loop": "wire [3:0] s; assign s = s & 4'd7;",
    "itself": "wire [3:0] s; assign s = s;",
    "a memory that nothing writes": "reg [3:0] m [0:3]; wire [3:0] s; assign s = m[d[1:0]];",
    "a port that is open": "wire [3:0] s; open o(.b(s));",
}
NIBBLE = """
module open(input [3:0] a, output [3:0] b); assign b = a; endmodule
module top(input clk, input [3:0] d, output [3:0] q); {body} assign q = {value}; endmodule
"""

# What shows yosys another design than the simulator: the simulator sees ADD + 1.
LIES = tuple(
    f"module top(input [7:0] a, input [7:0] b, input c, output [8:0] s);\n{body}\nendmodule"
    for body in (
        "`ifdef YOSYS\nassign s = a + b + c;\n`else\nassign s = a + b + c + 1;\n`endif",
        "`ifdef SYNTHESIS\nassign s = a + b + c;\n`else\nassign s = a + b + c + 1;\n`endif",
        "`ifdef FORMAL\nassign s = a + b + c;\n`else\nassign s = a + b + c + 1;\n`endif",
        "`ifdef __ICARUS__\nassign s = a + b + c + 1;\n`else\nassign s = a + b + c;\n`endif",
        "assign s = a + b + c\n// synopsys translate_off\n + 1\n// synopsys translate_on\n;",
        "assign s = a + b + c\n/* synthesis translate_off */ + 1 /* synthesis translate_on */;",
        "always @* assume (0); assign s = a + b + c + 1;",
    )
)
