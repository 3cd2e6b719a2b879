"""Arithmetic that gives x where an operand is not wholly defined, as Verilog has it (IEEE 1364-2005, 5.1).

Gates know less of x: a multiplication by 0 is 0 in them, and the low bits of a sum do not see the high bits of a term.
So a design could be proven whose simulation shows x. :data:`WORDS` maps each operator of yosys onto itself, with every
bit of the result made x by an undefined operand: ``p & ~p`` is 0 where ``p`` is defined, and x where it is not. In the
graph that proofs work on it costs nothing where that is known.
"""

from __future__ import annotations

# The operators, and which operands decide.
_BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "div", "mod", "divfloor", "modfloor", "pow"), "A, B"),
    **dict.fromkeys(("lt", "le", "gt", "ge"), "A, B"),
    **dict.fromkeys(("shl", "shr", "sshl", "sshr", "shift", "shiftx"), "B"),
}
_WIDTHS = ("A_SIGNED", "B_SIGNED", "A_WIDTH", "B_WIDTH", "Y_WIDTH")
_MODULE = """
(* techmap_celltype = "${name}" *)
module word_{name} ({pins}, Y);
  {parameters}
  {inputs}
  output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] y;
  wire p = ^{{{deciding}}};
  assign Y = y ^ {{Y_WIDTH{{p & ~p}}}};
  \\${name} #({given}) word ({connections}, .Y(y));
endmodule
"""


def _module(name: str, pins: tuple[str, ...], deciding: str) -> str:
    used = [width for width in _WIDTHS if width[0] in (*pins, "Y")]
    return _MODULE.format(
        name=name,
        pins=", ".join(pins),
        parameters=" ".join(f"parameter {width} = 1;" for width in used),
        inputs=" ".join(f"input [{pin}_WIDTH-1:0] {pin};" for pin in pins),
        deciding=deciding,
        given=", ".join(f".{width}({width})" for width in used),
        connections=", ".join(f".{pin}({pin})" for pin in pins),
    )


# A library for yosys's `techmap -max_iter 1`.
WORDS = "".join(_module(name, ("A", "B"), deciding) for name, deciding in _BINARY.items()) + _module("neg", ("A",), "A")
