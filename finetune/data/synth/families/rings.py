"""Other counters, and clock dividers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.families.common import const_width, draw_enable, enable_fact
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class SaturatingCounter(Clocked):
    """Up and down inputs, held at both ends."""

    name: ClassVar[str] = "saturating_counter"
    width: int
    top: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice((2, 2, 3, 4, 5))
        return cls(Reset.draw(rng), size, rng.choice((mask(size), mask(size), rng.randint(2, mask(size)))))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, inp("up"), inp("dn"), out("q", self.width, "level"))

    def describe(self, n: Names, w: Words) -> Spec:
        top = self.top
        rules = (
            (
                w.say(f"`{n.up}` = 1 and `{n.dn}` = 0", f"only `{n.up}` is 1"),
                f"`{n.q}` goes up by 1, but not above {top}",
            ),
            (
                w.say(f"`{n.dn}` = 1 and `{n.up}` = 0", f"only `{n.dn}` is 1"),
                f"`{n.q}` goes down by 1, but not below 0",
            ),
            ("", w.keeps(n.q)),
        )
        as_rules = w.rng.random() < 0.5
        facts = (
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` goes up by 1 when only `{n.up}` is 1 and down by 1 when only `{n.dn}` is 1; otherwise {w.keeps(n.q)}",
                f"`{n.up}` alone increments `{n.q}` at the clock edge, `{n.dn}` alone decrements it; with both or none, {w.keeps(n.q)}",
                held=f"`{n.q}` follows `{n.up}` upwards and `{n.dn}` downwards, when they differ, at the edges of `{n.clk}`",
            ),
            w.say(
                f"it stops at 0 and at {top}",
                f"`{n.q}` never goes above {top} or below 0: there it stays",
                held=f"it is stuck at {top} and at 0",
            ),
        )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit saturating up and down counter"),
                f"a saturating counter from 0 to {top}",
                held=f"a meter from 0 to {top}",
            ),
            verb=w.say(
                f"counts up and down between 0 and {top} without wrapping",
                f"keeps a level from 0 to {top}",
                held=f"moves a meter between 0 and {top}",
            ),
            facts=() if as_rules else facts,
            rules=rules if as_rules else (),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        q, size = n.q, self.width
        cases = [
            (f"{n.up} && !{n.dn} && {q} != {size}'d{self.top}", [f"{q} <= {q} + {size}'d1;"]),
            (f"{n.dn} && !{n.up} && {q} != {size}'d0", [f"{q} <= {q} - {size}'d1;"]),
        ]
        return s.module(n, self.pins, s.clocked(self, n, [f"{q} <= {s.lit(size, 0)};"], cases), ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        return {"q": min(max(state["q"] + i["up"] - i["dn"], 0), self.top)}


@dataclass(frozen=True)
class RingCounter(Clocked):
    """One-hot ring or Johnson counter."""

    name: ClassVar[str] = "ring_counter"
    width: int
    johnson: bool
    left: bool
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng),
            rng.choice((3, 4, 4, 5, 6, 8, 8, 10, 12)),
            rng.random() < 0.5,
            rng.random() < 0.6,
            draw_enable(rng),
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, *((inp("en"),) if self.enable else ()), out("q", self.width, "state"))

    def describe(self, n: Names, w: Words) -> Spec:
        size = self.width
        way = "left" if self.left else "right"
        leaving, entering = (f"bit {size - 1}", "bit 0") if self.left else ("bit 0", f"bit {size - 1}")
        word = "Johnson counter" if self.johnson else "one-hot ring counter"
        how = "the inverse of the old " if self.johnson else "the old "
        return Spec(
            noun=w.say(
                w.a(f"{size}-bit {word}"),
                f"a {word} of {size} bits",
                held=f"a {'twisted ' if self.johnson else ''}ring of {size} flip-flops",
            ),
            verb=w.say(
                f"steps a {size}-bit {word}",
                f"shifts a {size}-bit word round",
                held=f"runs around a ring of {size} flip-flops",
            ),
            facts=(
                w.say(
                    f"{w.edge(n.clk)}, `{n.q}` is shifted {way} by one and {how}{leaving} enters at {entering}",
                    f"`{n.q}` shifts {way} {w.edge(n.clk)}; {entering} takes {how}{leaving}",
                    held=f"each edge of `{n.clk}` moves `{n.q}` {way}, with {how}{leaving} coming in at {entering}",
                ),
                *((enable_fact(n.en, n.q, w),) if self.enable else ()),
            ),
            reset=w.say(f"`{n.q}` is {int(not self.johnson)}", w.becomes(n.q, str(int(not self.johnson)))),
        )

    def code(self, n: Names, s: Style) -> str:
        q, size = n.q, self.width
        mark = "~" if self.johnson else ""
        text = f"{{{q}[{size - 2}:0], {mark}{q}[{size - 1}]}}" if self.left else f"{{{mark}{q}[0], {q}[{size - 1}:1]}}"
        cases = [(n.en if self.enable else "", [f"{q} <= {text};"])]
        return s.module(
            n, self.pins, s.clocked(self, n, [f"{q} <= {s.lit(size, int(not self.johnson))};"], cases), ["q"]
        )

    def start(self) -> State:
        return {"q": int(not self.johnson)}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if not i.get("en", 1):
            return state
        q, size = state["q"], self.width
        bit = (q >> (size - 1) if self.left else q) & 1 ^ int(self.johnson)
        return {"q": (q << 1 | bit) & mask(size) if self.left else q >> 1 | bit << (size - 1)}


@dataclass(frozen=True)
class GrayCounter(Clocked):
    """A binary counter shown in Gray code."""

    name: ClassVar[str] = "gray_counter"
    width: int
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice((2, 3, 4, 4, 5, 6, 8)), draw_enable(rng))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            *((inp("en"),) if self.enable else ()),
            out("g", self.width, "dout"),
            Pin("q", "internal", self.width, "count"),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit Gray code counter"),
                f"a counter of {self.width} bits in Gray code",
                held=f"a {self.width}-bit tally in Gray code",
            ),
            verb=w.say(
                f"counts in Gray code with {self.width} bits",
                "counts clock edges in Gray code",
                held="keeps a tally in Gray code",
            ),
            facts=(
                w.say(
                    f"{w.edge(n.clk)}, a binary counter of {self.width} bits goes up by 1, and `{n.g}` is its Gray code (the count XOR the count shifted right by one)",
                    f"`{n.g}` goes to the next Gray code {w.edge(n.clk)}; it is the Gray code, c XOR (c >> 1), of a {self.width}-bit count c",
                    held=f"inside, a count goes up with `{n.clk}`; outside, `{n.g}` is that count in Gray code",
                ),
                *((enable_fact(n.en, n.g, w),) if self.enable else ()),
            ),
            reset=w.say(f"the count and `{n.g}` are 0", f"`{n.g}` is 0", w.becomes(n.g, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        cases = [(n.en if self.enable else "", [f"{n.q} <= {n.q} + {self.width}'d1;"])]
        lines = s.clocked(self, n, [f"{n.q} <= {s.lit(self.width, 0)};"], cases)
        return s.module(n, self.pins, [*lines, f"assign {n.g} = {n.q} ^ ({n.q} >> 1);"], ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"g": state["q"] ^ state["q"] >> 1}

    def step(self, state: State, i: Inputs) -> State:
        return {"q": (state["q"] + 1) & mask(self.width)} if i.get("en", 1) else state


@dataclass(frozen=True)
class ClockDivider(Clocked):
    """A square wave or a pulse every so many cycles."""

    name: ClassVar[str] = "clock_divider"
    period: int
    square: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), rng.choice((2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 32, 50, 64, 100)), rng.random() < 0.5
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            out("y", 1, "bitout" if self.square else "pulse"),
            Pin("c", "internal", const_width(self.period - 1), "timer"),
        )

    @property
    def cycles(self) -> int:
        return 8 * self.period + 100

    def describe(self, n: Names, w: Words) -> Spec:
        p = self.period
        if self.square:
            noun = w.say(
                f"a clock divider by {2 * p}",
                f"a square wave generator with a period of {2 * p} cycles",
                held=f"a slow square wave, {p} cycles for each half",
            )
            verb = w.say(
                f"divides the clock by {2 * p}",
                f"inverts its output every {p} clock cycles",
                held=f"makes a slow square wave, {p} cycles for each half",
            )
            fact = w.say(
                f"`{n.y}` is a register that is inverted at every {p}th rising edge of `{n.clk}`",
                f"`{n.y}` keeps each value for {p} cycles of `{n.clk}`: a counter runs from 0 to {p - 1}, and at {p - 1} it goes back to 0 and `{n.y}` is inverted",
                held=f"after each {p} edges of `{n.clk}`, `{n.y}` turns over",
            )
            reset = f"`{n.y}` and the counter are 0"
        else:
            noun = w.say(
                f"a tick generator with a period of {p} cycles",
                f"a divider that gives a pulse every {p} clock cycles",
                held=f"a metronome of {p} cycles",
            )
            verb = w.say(
                f"gives a pulse every {p} clock cycles",
                f"sets `{n.y}` for one cycle in {p}",
                held=f"beats once in {p} cycles",
            )
            fact = w.say(
                f"a counter runs from 0 to {p - 1} and starts again; `{n.y}` is 1 while it is {p - 1}",
                f"`{n.y}` is 1 in one cycle out of {p}: while an internal counter, which counts 0 to {p - 1} at the rising edges of `{n.clk}`, is {p - 1}",
                held=f"something counts 0 to {p - 1} over and over, and `{n.y}` marks {p - 1}",
            )
            reset = w.say("the counter is 0", "the internal counter becomes 0")
        return Spec(noun, verb, (fact,), reset=reset)

    def code(self, n: Names, s: Style) -> str:
        c, size = n.c, const_width(self.period - 1)
        last, zero, step = f"{c} == {s.lit(size, self.period - 1)}", s.lit(size, 0), f"{c} <= {c} + {size}'d1;"
        if self.square:
            cases: list[Case] = [(last, [f"{c} <= {zero};", f"{n.y} <= {s.inverted(n.y)};"]), ("", [step])]
            return s.module(n, self.pins, s.clocked(self, n, [f"{c} <= {zero};", f"{n.y} <= 1'b0;"], cases), ["c", "y"])
        lines = s.clocked(self, n, [f"{c} <= {zero};"], [(last, [f"{c} <= {zero};"]), ("", [step])])
        return s.module(n, self.pins, [*lines, f"assign {n.y} = {last};"], ["c"])

    def start(self) -> State:
        return {"c": 0, "y": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": state["y"] if self.square else int(state["c"] == self.period - 1)}

    def step(self, state: State, i: Inputs) -> State:
        last = state["c"] == self.period - 1
        return {"c": 0 if last else state["c"] + 1, "y": state["y"] ^ int(last)}


FAMILIES = (
    SaturatingCounter,
    RingCounter,
    GrayCounter,
    ClockDivider,
)
