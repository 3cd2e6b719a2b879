"""Arithmetic that gives x where an operand is not wholly defined, as Verilog has it (IEEE 1364-2005, 5.1).

Gates know less of x: a multiplication by 0 and a shifted 0 are 0 in them, so that a design could be proven whose
simulation shows x. :data:`WORDS` maps each such operator of yosys onto itself, with every bit of the result made x by
an undefined operand: ``p & ~p`` is 0 where ``p`` is defined, and x where it is not. In the graph that proofs work on it
costs nothing where that is known.

Sums, differences and comparisons are as they are: of an operand of which nothing is known they make x in gates, too. Of
one that is known in part, gates may know more than simulation does; to say that of each of them makes proofs of a
divider take fifty times as long.
"""

from __future__ import annotations

# The operators, and which operands decide.
_BINARY = {
    **dict.fromkeys(("mul", "div", "mod", "divfloor", "modfloor", "pow"), "A, B"),
    **dict.fromkeys(("shl", "shr", "sshl", "sshr", "shift", "shiftx"), "B"),
}
_WIDTHS = ("A_SIGNED", "B_SIGNED", "A_WIDTH", "B_WIDTH", "Y_WIDTH")
_MODULE = """
(* techmap_celltype = "${name}" *)
module word_{name} (A, B, Y);
  {parameters}
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] y;
  wire p = ^{{{deciding}}};
  assign Y = y ^ {{Y_WIDTH{{p & ~p}}}};
  \\${name} #({given}) word (.A(A), .B(B), .Y(y));
endmodule
"""


def _module(name: str, deciding: str) -> str:
    parameters = " ".join(f"parameter {width} = 1;" for width in _WIDTHS)
    given = ", ".join(f".{width}({width})" for width in _WIDTHS)
    return _MODULE.format(name=name, parameters=parameters, deciding=deciding, given=given)


# A library for yosys's `techmap -max_iter 1`.
WORDS = "".join(_module(name, deciding) for name, deciding in _BINARY.items())
