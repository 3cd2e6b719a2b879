"""Registers that are told what to do: with a carry beside them, for so many cycles, or several steps at once."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.atoms import FACTS, FLAGS, assign_flags, flag_texts, flag_values
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

# Wording of the next value and of the carry, the assignment, and whether it needs data (d) or a serial bit (x).
_TOP, _LOW = "the old bit {t}", "the old bit 0"
_MOVES: dict[str, tuple[str, str, str, str]] = {
    "keep": ("unchanged", "unchanged", "{q} <= {q};", ""),
    "load": ("`{d}`", "0", "{{{c}, {q}}} <= {{1'b0, {d}}};", "d"),
    "zero": ("0", "0", "{{{c}, {q}}} <= 0;", ""),
    "left": ("shifted left by one, `{x}` enters at bit 0", _TOP, "{{{c}, {q}}} <= {{{q}, {x}}};", "x"),
    "right": ("shifted right by one, `{x}` enters at bit {t}", _LOW, "{{{q}, {c}}} <= {{{x}, {q}}};", "x"),
    "left0": ("shifted left by one, 0 enters at bit 0", _TOP, "{{{c}, {q}}} <= {{{q}, 1'b0}};", ""),
    "right0": ("shifted right by one, 0 enters at bit {t}", _LOW, "{{{q}, {c}}} <= {{1'b0, {q}}};", ""),
    "rotl": ("rotated left by one", _TOP, "{{{c}, {q}}} <= {{{q}, {q}[{t}]}};", ""),
    "rotr": ("rotated right by one", _LOW, "{{{q}, {c}}} <= {{{q}[0], {q}}};", ""),
    "arith": ("shifted right by one, bit {t} keeps its value", _LOW, "{{{q}, {c}}} <= {{{q}[{t}], {q}}};", ""),
    "rcl": ("shifted left by one, the old `{c}` enters at bit 0", _TOP, "{{{c}, {q}}} <= {{{q}, {c}}};", ""),
    "rcr": ("shifted right by one, the old `{c}` enters at bit {t}", _LOW, "{{{q}, {c}}} <= {{{c}, {q}}};", ""),
    "invert": ("inverted bit by bit", "unchanged", "{q} <= ~{q};", ""),
}
_SUITE = ("keep", "load", "left", "right", "rotl", "rotr", "arith", "rcl")


@dataclass(frozen=True)
class CarryRegister(Clocked):
    """A register with modes that keeps the bit which was pushed out."""

    name: ClassVar[str] = "carry_register"
    share: ClassVar[float] = 2.0
    width: int
    moves: tuple[str, ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            width = rng.choice((4, 5, 6, 8, 8, 8, 10, 12, 16))
            moves = tuple(rng.sample(list(_MOVES), rng.choice((4, 8, 8))))
            if rng.random() < 0.4:
                moves = tuple(sorted(moves, key=list(_MOVES).index))
            flags = tuple(rng.sample(list(FLAGS), rng.choice((0, 1, 1, 2))))
            if moves != _SUITE and "load" in moves:
                return cls(Reset.draw(rng), width, moves, flags)

    @property
    def _bits(self) -> int:
        return (len(self.moves) - 1).bit_length()

    @property
    def _needs(self) -> set[str]:
        return {_MOVES[move][3] for move in self.moves} - {""}

    @property
    def pins(self) -> tuple[Pin, ...]:
        needs = self._needs
        return (
            *self.head,
            inp("m", self._bits, "op"),
            *((inp("d", self.width, "din"),) if "d" in needs else ()),
            *((inp("x", 1, "bit"),) if "x" in needs else ()),
            out("q", self.width, "dout"),
            out("c", 1, "cout"),
            *(out(flag, 1, FLAGS[flag]) for flag in self.flags),
        )

    def _texts(self, n: Names) -> dict[str, object]:
        return {"q": n.q, "c": n.c, "t": self.width - 1} | {role: n[role] for role in self._needs}

    def describe(self, n: Names, w: Words) -> Spec:
        texts = self._texts(n)
        rows = [
            (str(code), _MOVES[move][0].format(**texts), _MOVES[move][1].format(**texts))
            for code, move in enumerate(self.moves)
        ]
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` and `{n.c}` become what the table says for `{n.m}`",
                f"`{n.m}` decides what happens to `{n.q}` and `{n.c}` {w.edge(n.clk)}; see the table",
                f"the table says what `{n.q}` and `{n.c}` become {w.edge(n.clk)}",
                held=f"look up below what `{n.m}` does to `{n.q}` and `{n.c}`",
            ),
            w.say(f"left means towards bit {self.width - 1}, right towards bit 0", "", ""),
            w.say(f"`{n.q}` and `{n.c}` are registers", f"`{n.c}` keeps the last bit that was pushed out", ""),
        ]
        facts += [FACTS[flag].say(w, {**flag_texts(n.q, self.width), "y": n[flag]}) for flag in self.flags]
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit register that can be loaded, shifted and rotated, with a carry"),
                w.a(f"{self.width}-bit register with {len(rows)} modes and a carry bit"),
                held=f"a {self.width}-bit register of many uses and its carry",
            ),
            verb=w.say(
                f"keeps a {self.width}-bit word that `{n.m}` loads or moves, and the bit that was pushed out",
                f"performs one of {len(rows)} actions on a register and a carry",
                held=f"does {len(rows)} things to a word and its carry",
            ),
            facts=tuple(fact for fact in facts if fact),
            reset=f"`{n.q}` and `{n.c}` are 0",
            table=((f"`{n.m}`", f"`{n.q}` becomes", f"`{n.c}` becomes"), *rows),
        )

    def code(self, n: Names, s: Style) -> str:
        texts = self._texts(n)
        arms: list[Case] = [
            (f"{self._bits}'d{code}", [_MOVES[move][2].format(**texts)]) for code, move in enumerate(self.moves)
        ]
        arms[-1] = ("", arms[-1][1])
        zero = [f"{n.q} <= {s.lit(self.width, 0)};", f"{n.c} <= 1'b0;"]
        flags = assign_flags(self.flags, n, n.q, self.width)
        return s.module(n, self.pins, [*s.clocked(self, n, zero, [("", s.case(n.m, arms))]), *flags], ["q", "c"])

    def start(self) -> State:
        return {"q": 0, "c": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        q = state["q"]
        return {"q": q, "c": state["c"]} | flag_values(self.flags, q, self.width)

    def step(self, state: State, i: Inputs) -> State:
        q, c, move, top = state["q"], state["c"], self.moves[i["m"]], self.width - 1
        if move == "keep":
            return state
        if move in ("load", "zero"):
            return {"q": i["d"] if move == "load" else 0, "c": 0}
        if move == "invert":
            return {"q": q ^ mask(self.width), "c": c}
        enters = {"left": i.get("x", 0), "right": i.get("x", 0), "left0": 0, "right0": 0, "rotl": q >> top,
                  "rotr": q & 1, "arith": q >> top, "rcl": c, "rcr": c}[move]  # fmt: skip
        if move in ("left", "left0", "rotl", "rcl"):
            return {"q": (q * 2 + enters) & mask(self.width), "c": q >> top}
        return {"q": q // 2 + (enters << top), "c": q & 1}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(range(len(self.moves))) if role == "m" else ()

    @property
    def cycles(self) -> int:
        return 300


@dataclass(frozen=True)
class PulseTimer(Clocked):
    """A pulse of so many cycles after a trigger, with what a trigger does meanwhile."""

    name: ClassVar[str] = "pulse_timer"
    share: ClassVar[float] = 1.5
    bits: int
    fixed: int
    again: str
    left: bool
    missed: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``again``: a trigger during a pulse starts it anew ``always``, ``never``, or if an input is 1 (``input``)."""
        while True:
            bits = rng.choice((2, 3, 4, 4, 5, 6, 8))
            again = rng.choice(("always", "never", "never", "input", "input"))
            fixed = 0 if rng.random() < 0.7 else rng.randrange(2, mask(bits) + 1)
            found = cls(
                Reset.draw(rng), bits, fixed, again, rng.random() < 0.7, again != "always" and rng.random() < 0.6
            )
            if not (found.bits == 4 and not fixed and again == "input" and found.missed):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            inp("t", 1, "trigger"),
            *((inp("r", 1, "again"),) if self.again == "input" else ()),
            *(() if self.fixed else (inp("n", self.bits, "length"),)),
            out("p", 1, "pulse"),
            out("k", self.bits, "timer") if self.left else own("k", self.bits, "timer"),
            *((out("m", 1, "missed"),) if self.missed else ()),
        )

    def _length(self, n: Names) -> str:
        return str(self.fixed) if self.fixed else f"`{n.n}`"

    def describe(self, n: Names, w: Words) -> Spec:
        left = f"`{n.k}`" if self.left else "the remaining time"
        length = self._length(n)
        off = f", `{n.m}` becomes 0" if self.missed else ""
        start = f"{left} becomes {length}{off}"
        down = f"{left} goes down by 1"
        free = {
            "always": w.one(n.t),
            "never": f"{w.one(n.t)} and {left} is 0",
            "input": f"{w.one(n.t)} and ({left} is 0 or {w.one(n.r) if self.again == 'input' else ''})",
        }[self.again]
        rules = [(free, start)]
        if self.missed:
            rules.append((w.one(n.t), f"{down} and `{n.m}` becomes 1"))
        rules.append((f"{left} is not 0", down + off))
        if self.missed:
            rules.append(("", f"`{n.m}` becomes 0"))
        facts = [
            w.say(
                f"`{n.p}` is 1 exactly when {left} is not 0",
                f"`{n.p}` is 1 while {left} is greater than 0",
                f"`{n.p}` is 1 as long as cycles remain, that is, while {left} is not 0",
                held=f"`{n.p}` shows that {left} has not run out",
            ),
            w.say(
                f"a trigger that is accepted makes `{n.p}` 1 for {length} cycles",
                f"{left} counts the cycles for which `{n.p}` will still be 1",
                "",
                held=f"each start gives {length} cycles of `{n.p}`",
            ),
        ]
        if self.missed:
            facts.append(
                w.say(
                    f"`{n.m}` is 1 for a cycle after a trigger that was not accepted",
                    f"`{n.m}` tells of a trigger that was ignored",
                    "",
                )
            )
        return Spec(
            noun=w.say(
                "a pulse generator with a programmable length"
                if not self.fixed
                else f"a pulse generator for {length} cycles",
                f"a timer that turns a trigger into a pulse of {length} clock cycles",
                held="a thing that makes short triggers long",
            ),
            verb=w.say(
                f"turns a trigger into a pulse of {length} clock cycles",
                f"stretches `{n.t}` to {length} clock cycles",
                held=f"answers `{n.t}` with {length} cycles of `{n.p}`",
            ),
            facts=tuple(fact for fact in facts if fact),
            reset=f"{left} is 0" + (f" and `{n.m}` is 0" if self.missed else ""),
            rules=tuple(rules),
        )

    def code(self, n: Names, s: Style) -> str:
        value = f"{self.bits}'d{self.fixed}" if self.fixed else n.n
        zero, down = f"{self.bits}'d0", f"{n.k} <= {n.k} - {self.bits}'d1;"
        off = [f"{n.m} <= 1'b0;"] if self.missed else []
        free = {
            "always": n.t,
            "never": f"{n.t} && {n.k} == {zero}",
            "input": f"{n.t} && ({n.k} == {zero} || {n.r if self.again == 'input' else ''})",
        }[self.again]
        cases: list[Case] = [(free, [f"{n.k} <= {value};", *off])]
        if self.missed:
            cases.append((n.t, [down, f"{n.m} <= 1'b1;"]))
        cases.append((f"{n.k} != {zero}", [down, *off]))
        if self.missed:
            cases.append(("", off))
        reset = [f"{n.k} <= {s.lit(self.bits, 0)};", *off]
        body = s.clocked(self, n, reset, cases)
        return s.module(n, self.pins, [*body, f"assign {n.p} = {n.k} != {zero};"], ["k", "m"])

    def start(self) -> State:
        return {"k": 0, "m": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"p": int(state["k"] > 0), "k": state["k"], "m": state["m"]}

    def step(self, state: State, i: Inputs) -> State:
        k, accepts = state["k"], self.again == "always" or state["k"] == 0 or (self.again == "input" and i["r"])
        if i["t"] and accepts:
            return {"k": self.fixed or i["n"], "m": 0}
        return {"k": max(k - 1, 0), "m": int(bool(i["t"]) and self.missed)}

    def busy(self, role: str) -> float | None:
        return 0.25 if role == "t" else None

    def common(self, role: str) -> tuple[int, ...]:
        return (0, 1, 2, 3, 5) if role == "n" else ()

    @property
    def cycles(self) -> int:
        return 260


@dataclass(frozen=True)
class SteppedLfsr(Clocked):
    """A Galois register that goes several steps in a cycle."""

    name: ClassVar[str] = "stepped_lfsr"
    share: ClassVar[float] = 1.2
    width: int
    taps: int
    bits: int
    left: bool
    home: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``bits`` of the number of steps; 0 is one step, with an enable."""
        while True:
            width, left = rng.choice((4, 5, 6, 7, 8, 8, 8, 10, 12, 16)), rng.random() < 0.4
            taps = rng.getrandbits(width) | (1 if left else 1 << (width - 1))
            found = cls(Reset.draw(rng), width, taps, rng.choice((0, 1, 2, 2, 2)), left, rng.random() < 0.6)
            if (found.width, found.taps) != (8, 0xB8):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            inp("load"),
            inp("seed", self.width),
            inp("n", self.bits, "stride") if self.bits else inp("en"),
            out("q", self.width, "state"),
            *((own("h", self.width, "reg1"), out("y", 1, "home")) if self.home else ()),
            own("s", self.width, "next"),
        )

    def _hex(self, value: int) -> str:
        return f"0x{value:0{(self.width + 3) // 4}X}"

    def describe(self, n: Names, w: Words) -> Spec:
        way, out_bit, in_bit = ("left", self.width - 1, 0) if self.left else ("right", 0, self.width - 1)
        one = self._hex(1)
        both = f"`{n.q}` and the starting value" if self.home else f"`{n.q}`"
        facts = [
            w.say(
                f"in one step the register is shifted {way} by one bit, with 0 entering at bit {in_bit}; if the bit that left at bit {out_bit} was 1, the result is combined by exclusive-or with {self._hex(self.taps)}",
                f"a step shifts `{n.q}` {way} by one bit (0 enters); when the bit shifted out was 1, the shifted value is XORed with {self._hex(self.taps)}",
                f"one step: shift {way} by one, 0 comes in, and if the old bit {out_bit} was 1, XOR with {self._hex(self.taps)}",
                held=f"to step is to move {way} and, if a 1 fell out, to flip the bits of {self._hex(self.taps)}",
            )
        ]
        become = "become" if self.home else "becomes"
        rules = [
            (f"{w.one(n.load)} and `{n.seed}` is 0", f"{both} {become} {one}"),
            (w.one(n.load), f"{both} {become} `{n.seed}`"),
        ]
        if self.bits:
            rules.append(
                (
                    "",
                    w.say(
                        f"`{n.q}` advances by `{n.n}` steps (0 leaves it unchanged)",
                        f"`{n.q}` goes `{n.n}` steps further, 0 to {mask(self.bits)}",
                        held=f"`{n.q}` is stepped `{n.n}` times",
                    ),
                )
            )
        else:
            rules.append(
                (
                    w.one(n.en),
                    w.say(f"`{n.q}` advances by one step", f"`{n.q}` makes one step", held=f"`{n.q}` is stepped"),
                )
            )
        if self.home:
            facts.append(
                w.say(
                    f"`{n.y}` is 1 whenever `{n.q}` equals the starting value, and 0 otherwise",
                    f"`{n.y}` is 1 when `{n.q}` is equal to the starting value",
                    held=f"`{n.y}` says that `{n.q}` is back where it began",
                )
            )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit linear feedback shift register of the Galois kind")
                + (f" that advances by up to {mask(self.bits)} steps in a cycle" if self.bits else " with enable"),
                w.a(f"{self.width}-bit Galois LFSR" + (" with several steps a cycle" if self.bits else " with load")),
                held=f"a maker of pseudo-random words, {self.width} bits wide",
            ),
            verb=w.say(
                f"runs through the states of a {self.width}-bit Galois LFSR",
                held=f"makes pseudo-random words of {self.width} bits",
            ),
            facts=tuple(facts),
            reset=f"{both} {'are' if self.home else 'is'} {one}",
            rules=tuple(rules),
        )

    def code(self, n: Names, s: Style) -> str:
        taps = f"{self.width}'h{self.taps:0{(self.width + 3) // 4}X}"
        bit = self.width - 1 if self.left else 0
        moved = f"({n.s} {'<<' if self.left else '>>'} 1)"
        step = f"{n.s} = {n.s}[{bit}] ? {moved} ^ {taps} : {moved};"
        if self.bits:
            loop = [
                s.loop(mask(self.bits)),
                f"    if (i < {n.n})",
                f"        {step}",
            ]
        else:
            loop = [step]
        one = f"{self.width}'d1"
        more = [f"{n.h} <= {{}};"] if self.home else []

        def both(value: str) -> list[str]:
            return [f"{n.q} <= {value};", *(line.format(value) for line in more)]

        cases: list[Case] = [
            (f"{n.load} && {n.seed} == {self.width}'d0", both(one)),
            (n.load, both(n.seed)),
            ("" if self.bits else n.en, [f"{n.q} <= {n.s};"]),
        ]
        body = [
            *(s.index if self.bits else []),
            *s.comb([f"{n.s} = {n.q};", *loop]),
            *s.clocked(self, n, both(one), cases),
            *([f"assign {n.y} = {n.q} == {n.h};"] if self.home else []),
        ]
        return s.module(n, self.pins, body, ["q", "h", "s"])

    def start(self) -> State:
        return {"q": 1, "h": 1}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"], "y": int(state["q"] == state["h"])}

    def step(self, state: State, i: Inputs) -> State:
        if i["load"]:
            value = i["seed"] or 1
            return {"q": value, "h": value}
        q = state["q"]
        for _ in range(i["n"] if self.bits else i["en"]):
            if self.left:
                q, lost = q << 1 & mask(self.width), q >> (self.width - 1)
            else:
                q, lost = q >> 1, q & 1
            q ^= self.taps if lost else 0
        return {"q": q, "h": state["h"]}

    def busy(self, role: str) -> float | None:
        return 0.06 if role == "load" else None

    def common(self, role: str) -> tuple[int, ...]:
        return (0, 1) if role == "seed" else tuple(range(1 << self.bits)) if role == "n" else ()

    @property
    def cycles(self) -> int:
        return 240


FAMILIES = (CarryRegister, PulseTimer, SteppedLfsr)
