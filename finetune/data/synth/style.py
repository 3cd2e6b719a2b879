"""Coding style: one small value that decides how a module is written, and what writes its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from finetune.data.synth.design import Family, Names, Pin

Case = tuple[str, Sequence[str]]  # a condition (empty: otherwise) and its statements
STEP = "    "
VARIANTS = 6


@dataclass(frozen=True)
class Style:
    """How a module is written.

    Attributes:
        system: ``logic``, ``always_ff`` and ``always_comb``; otherwise ``reg``, ``wire`` and ``always @*``.
        block: combinational logic in an always block where either would do.
        ternary: ``?:`` where either would do.
        begin: ``begin`` and ``end`` around a single statement too.
        plain: 0 for a zero of several bits, not 8'd0.
        tilde: ``~rst_n`` for ``!rst_n``.
        variant: chooses among a family's own ways, see :meth:`alt`.
    """

    system: bool
    block: bool
    ternary: bool
    begin: bool
    plain: bool
    tilde: bool
    variant: int

    @staticmethod
    def draw(rng: Random) -> Style:
        """Choose a style; the common ones often."""
        chances = (0.7, 0.3, 0.6, 0.25, 0.2, 0.1)
        system, block, ternary, begin, plain, tilde = (rng.random() < chance for chance in chances)
        return Style(system, block, ternary, begin, plain, tilde, rng.randrange(VARIANTS))

    def alt(self, count: int) -> int:
        """One of ``count`` ways; the first one as often as the others together."""
        return 0 if self.variant % 2 == 0 or count == 1 else 1 + self.variant // 2 % (count - 1)

    def lit(self, width: int, value: int, *, hexadecimal: bool = False) -> str:
        """A literal."""
        if width == 1:
            return f"1'b{value}"
        if self.plain and value == 0:
            return "0"
        return f"{width}'h{value:0{(width + 3) // 4}X}" if hexadecimal else f"{width}'d{value}"

    def inverted(self, name: str) -> str:
        """A one-bit signal, inverted."""
        return f"~{name}" if self.tilde else f"!{name}"

    def chain(self, cases: Sequence[Case]) -> list[str]:
        """An if chain."""
        if len(cases) == 1 and not cases[0][0]:
            return list(cases[0][1])
        lines: list[str] = []
        wrapped = False
        for number, (condition, statements) in enumerate(cases):
            head = "if" if number == 0 else "else if"
            text = f"{head} ({condition})" if condition else "else"
            before = "end " if wrapped else ""
            wrapped = self.begin or len(statements) != 1
            lines.append(f"{before}{text}{' begin' if wrapped else ''}")
            lines += indent(statements)
        return [*lines, "end"] if wrapped else lines

    def clocked(self, family: Family, n: Names, reset: Sequence[str], cases: Sequence[Case]) -> list[str]:
        """An always block at the clock, with the family's reset.

        Args:
            family: says how it is reset.
            n: names of ``clk`` and ``rst``.
            reset: statements in reset.
            cases: an if chain for the rest of the time; conditions may be empty.
        """
        kind = family.reset.kind
        edge = f" or {'negedge' if family.reset.low else 'posedge'} {n.rst}" if kind == "async" else ""
        if kind != "none":
            cases = [(self.inverted(n.rst) if family.reset.low else n.rst, reset), *cases]
        head = f"{'always_ff' if self.system else 'always'} @(posedge {n.clk}{edge}) begin"
        return [head, *indent(self.chain(cases)), "end"]

    def comb(self, lines: Sequence[str]) -> list[str]:
        """A combinational always block."""
        return [f"{'always_comb' if self.system else 'always @*'} begin", *indent(lines), "end"]

    def case(self, subject: str, arms: Sequence[Case]) -> list[str]:
        """A case statement; an empty label is the default."""
        lines = [f"case ({subject})"]
        for label, statements in arms:
            if len(statements) == 1:
                lines.append(f"{STEP}{label or 'default'}: {statements[0]}")
            else:
                lines += [f"{STEP}{label or 'default'}: begin", *indent(indent(statements)), f"{STEP}end"]
        return [*lines, "endcase"]

    @property
    def index(self) -> list[str]:
        """The declaration of ``i`` for the loops of a module, where a loop does not declare it."""
        return [] if self.system else ["integer i;"]

    def loop(self, count: int, *, down: bool = False) -> str:
        """The head of a loop of ``i`` over 0 to ``count - 1``, or back."""
        kind = "int " if self.system else ""
        if down:
            return f"for ({kind}i = {count - 1}; i >= 0; i = i - 1)"
        return f"for ({kind}i = 0; i < {count}; i = i + 1)"

    def array(self, name: str, width: int, count: int) -> str:
        """The declaration of a memory."""
        return f"{'logic' if self.system else 'reg'} {span(width)} {name} [0:{count - 1}];".replace("  ", " ")

    def module(self, n: Names, pins: Iterable[Pin], body: Sequence[str], written: Iterable[str] = ()) -> str:
        """A whole module.

        Args:
            n: names; ``n["module"]`` is the module's.
            pins: ports and internal signals.
            body: its lines.
            written: roles that an always block assigns.
        """
        regs = set(written)
        ports: list[str] = []
        inside: list[str] = []
        for pin in pins:
            kind = (
                "logic" if self.system else "reg" if pin.role in regs else "wire" if pin.direction == "internal" else ""
            )
            words = [
                pin.direction if pin.direction != "internal" else "",
                kind,
                "signed" if pin.signed else "",
                span(pin.width),
                n[pin.role],
            ]
            (inside if pin.direction == "internal" else ports).append(" ".join(word for word in words if word))
        head = [f"module {n['module']} (", *(f"{STEP}{port}," for port in ports[:-1]), f"{STEP}{ports[-1]}", ");"]
        return "\n".join([*head, *indent(f"{line};" for line in inside), *indent(body), "endmodule"])


def span(width: int) -> str:
    """``[7:0]``; nothing for one bit."""
    return f"[{width - 1}:0]" if width > 1 else ""


def indent(lines: Iterable[str]) -> list[str]:
    """One step to the right."""
    return [STEP + line for line in lines]
