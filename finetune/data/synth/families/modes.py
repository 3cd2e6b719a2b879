"""Registers with modes, put together at random."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.families.atoms import FACTS, FLAGS, assign_flags, flag_texts, flag_values
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

# What a register does: wording in a table, Verilog of the next value, and the value. d is data, x a serial bit.
_MOVES: dict[str, tuple[str, str, str]] = {
    "keep": ("unchanged", "", "unchanged"),
    "load": ("`{d}`", "{d}", "`{d}`"),
    "zero": ("0", "{w}'d0", "empty"),
    "ones": ("all ones", "{{{w}{{1'b1}}}}", "full of ones"),
    "up": ("`{q}` + 1", "{q} + {w}'d1", "one more"),
    "down": ("`{q}` - 1", "{q} - {w}'d1", "one less"),
    "add": ("`{q}` + `{d}`", "{q} + {d}", "`{q}` plus `{d}`"),
    "left": (
        "shifted left by one, `{x}` enters at bit 0",
        "{{{q}[{u}:0], {x}}}",
        "one to the left, with `{x}` at bit 0",
    ),
    "right": (
        "shifted right by one, `{x}` enters at bit {t}",
        "{{{x}, {q}[{t}:1]}}",
        "one to the right, with `{x}` at bit {t}",
    ),
    "left0": ("shifted left by one, 0 enters at bit 0", "{{{q}[{u}:0], 1'b0}}", "one to the left, with 0 at bit 0"),
    "right0": (
        "shifted right by one, 0 enters at bit {t}",
        "{{1'b0, {q}[{t}:1]}}",
        "one to the right, with 0 at bit {t}",
    ),
    "rotl": ("rotated left by one", "{{{q}[{u}:0], {q}[{t}]}}", "one round to the left"),
    "rotr": ("rotated right by one", "{{{q}[0], {q}[{t}:1]}}", "one round to the right"),
    "arith": (
        "shifted right by one, bit {t} keeps its value",
        "{{{q}[{t}], {q}[{t}:1]}}",
        "one to the right, with bit {t} kept",
    ),
    "invert": ("inverted bit by bit", "~{q}", "turned over"),
}
_READS = {"load": "d", "add": "d", "left": "x", "right": "x"}


def _moved(move: str, q: int, d: int, x: int, width: int) -> int:
    top = width - 1
    value = {
        "keep": q, "load": d, "zero": 0, "ones": -1, "up": q + 1, "down": q - 1, "add": q + d, "left": q * 2 + x,
        "right": q // 2 + (x << top), "left0": q * 2, "right0": q // 2, "rotl": q * 2 + (q >> top),
        "rotr": q // 2 + ((q & 1) << top), "arith": q // 2 + (q >> top << top), "invert": ~q,
    }[move]  # fmt: skip
    return value & mask(width)


@dataclass(frozen=True)
class ModeRegister(Clocked):
    """A register that does what a mode input says."""

    name: ClassVar[str] = "mode_register"
    share: ClassVar[float] = 4.0
    width: int
    bits: int
    moves: tuple[str, ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        bits = rng.choice((1, 2, 2, 2, 3, 3))
        moves = rng.sample(list(_MOVES), 1 << bits)
        if not any(move in _READS for move in moves):
            moves[rng.randrange(len(moves))] = rng.choice(list(_READS))
        return cls(
            Reset.draw(rng),
            rng.choice((3, 4, 4, 5, 6, 8, 8, 8, 10, 12, 16)),
            bits,
            tuple(moves),
            tuple(rng.sample(list(FLAGS), rng.choice((0, 0, 1, 1, 2)))),
        )

    @property
    def _reads(self) -> set[str]:
        return {_READS[move] for move in self.moves if move in _READS}

    @property
    def pins(self) -> tuple[Pin, ...]:
        data = (
            *((inp("d", self.width, "din"),) if "d" in self._reads else ()),
            *((inp("x", 1, "bit"),) if "x" in self._reads else ()),
        )
        return (
            *self.head,
            inp("m", self.bits, "op"),
            *data,
            out("q", self.width, "dout"),
            *(out(flag, 1, FLAGS[flag]) for flag in self.flags),
        )

    def _texts(self, n: Names) -> dict[str, object]:
        return {"q": n.q, "w": self.width, "t": self.width - 1, "u": self.width - 2} | {
            role: n[role] for role in self._reads
        }

    def describe(self, n: Names, w: Words) -> Spec:
        texts = self._texts(n)
        ends = [(_MOVES[move][2 if w.held else 0]).format(**texts) for move in self.moves]
        tabled = w.rng.random() < 0.6
        facts: list[str] = []
        if tabled:
            facts.append(
                w.say(
                    f"{w.edge(n.clk)}, `{n.q}` becomes what the table says for `{n.m}`",
                    f"`{n.m}` decides what happens to `{n.q}` {w.edge(n.clk)}",
                    held=f"look up below what `{n.m}` does to `{n.q}`",
                )
            )
        else:
            facts.append(
                w.say(
                    f"{w.edge(n.clk)}, `{n.q}` changes as `{n.m}` says",
                    f"what `{n.q}` becomes {w.edge(n.clk)} depends on `{n.m}`",
                    held=f"`{n.m}` says what happens to `{n.q}`",
                )
            )
            form = w.say(
                "`{m}` = {code}: `{q}` is {end}",
                "{code}: {end}",
                "with `{m}` = {code}, `{q}` becomes {end}",
                held="code {code} leaves `{q}` {end}",
            )
            facts += [form.format(m=n.m, q=n.q, code=code, end=end) for code, end in enumerate(ends)]
        for flag in self.flags:
            facts.append(FACTS[flag].say(w, {**flag_texts(n.q, self.width), "y": n[flag]}))
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit register with {len(ends)} modes"),
                w.a(f"{self.width}-bit universal register"),
                f"a register of {self.width} bits with a mode input",
                held=f"a {self.width}-bit register of many uses",
            ),
            verb=w.say(
                f"keeps a {self.width}-bit word and changes it as `{n.m}` says",
                f"performs one of {len(ends)} actions on a register",
                held=f"does {len(ends)} things to a word",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
            table=((f"`{n.m}`", f"`{n.q}` becomes"), *((str(code), end) for code, end in enumerate(ends)))
            if tabled
            else (),
        )

    def code(self, n: Names, s: Style) -> str:
        texts = self._texts(n)
        arms: list[Case] = []
        for code, move in enumerate(self.moves):
            text = _MOVES[move][1].format(**texts)
            arms.append((f"{self.bits}'d{code}", [f"{n.q} <= {text or n.q};"]))
        arms[-1] = ("", arms[-1][1])
        zero = [f"{n.q} <= {s.lit(self.width, 0)};"]
        if self.bits == 1:
            inner = s.chain([(n.m, arms[1][1]), ("", arms[0][1])])
        else:
            inner = s.case(n.m, arms)
        flags = assign_flags(self.flags, n, n.q, self.width)
        return s.module(n, self.pins, [*s.clocked(self, n, zero, [("", inner)]), *flags], ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        q = state["q"]
        return {"q": q} | flag_values(self.flags, q, self.width)

    def step(self, state: State, i: Inputs) -> State:
        return {"q": _moved(self.moves[i["m"]], state["q"], i.get("d", 0), i.get("x", 0), self.width)}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(range(1 << self.bits)) if role == "m" else ()

    @property
    def cycles(self) -> int:
        return 240


FAMILIES = (ModeRegister,)
