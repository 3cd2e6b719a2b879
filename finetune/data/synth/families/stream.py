"""Accumulators and filters."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.common import draw_enable, width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Accumulator(Clocked):
    """A running sum, or a sum of products."""

    name: ClassVar[str] = "accumulator"
    width: int
    out_width: int
    product: bool
    enable: bool
    clear: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        product = rng.random() < 0.4
        size = rng.choice((3, 4, 4, 6, 8)) if product else width(rng, most=16)
        extra = (2 * size + rng.choice((0, 2, 4, 8))) if product else size + rng.choice((0, 0, 1, 2, 4, 8))
        return cls(Reset.draw(rng), size, extra, product, draw_enable(rng), rng.random() < 0.4)

    @property
    def pins(self) -> tuple[Pin, ...]:
        data = (inp("a", self.width), inp("b", self.width)) if self.product else (inp("a", self.width, "sample"),)
        more = (*((inp("clear"),) if self.clear else ()), *((inp("en", 1, "valid"),) if self.enable else ()))
        return (*self.head, *more, *data, out("q", self.out_width, "acc"))

    def describe(self, n: Names, w: Words) -> Spec:
        what = f"`{n.a}` * `{n.b}`" if self.product else f"`{n.a}`"
        words = f"the product of `{n.a}` and `{n.b}`" if self.product else f"`{n.a}`"
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` becomes `{n.q}` + {what}",
                f"{words} is added to `{n.q}` {w.edge(n.clk)}",
                f"`{n.q}` grows by {words} {w.edge(n.clk)}",
                held=f"with each edge of `{n.clk}`, {words} comes on top of `{n.q}`",
            ),
        ]
        if self.enable:
            facts.append(
                w.say(
                    f"When {w.nought(n.en)}, {w.keeps(n.q)}",
                    f"nothing is added when {w.nought(n.en)}",
                    f"this is done only when {w.one(n.en)}",
                    held=f"without `{n.en}` there is nothing to add",
                )
            )
        if self.clear:
            facts.append(
                w.say(
                    f"When {w.one(n.clear)} at the edge, {w.becomes(n.q, '0')} instead",
                    f"`{n.clear}` sets `{n.q}` to 0 at the edge and has priority",
                    held=f"`{n.clear}` empties `{n.q}` and comes first",
                )
            )
        word = "multiply-accumulate unit" if self.product else "accumulator"
        return Spec(
            noun=w.say(
                w.a(f"{self.out_width}-bit {word}"),
                w.a(f"{word} of {self.width}-bit words"),
                held=f"a sum of {self.width}-bit words",
            ),
            verb=w.say(
                f"adds up {'products of ' if self.product else ''}{self.width}-bit numbers",
                f"accumulates {words}",
                held=f"sums {self.width}-bit numbers in {self.out_width} bits",
            ),
            facts=(*facts, *((w.say(f"`{n.q}` wraps", f"all numbers are unsigned, and `{n.q}` wraps around", ""),))),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        zero = f"{n.q} <= {s.lit(self.out_width, 0)};"
        cases: list[Case] = [(n.clear, [zero])] if self.clear else []
        cases.append((n.en if self.enable else "", [f"{n.q} <= {n.q} + {f'{n.a} * {n.b}' if self.product else n.a};"]))
        return s.module(n, self.pins, s.clocked(self, n, [zero], cases), ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if i.get("clear"):
            return {"q": 0}
        if not i.get("en", 1):
            return state
        return {"q": (state["q"] + (i["a"] * i["b"] if self.product else i["a"])) & mask(self.out_width)}


@dataclass(frozen=True)
class Extreme(Clocked):
    """The largest or smallest sample so far."""

    name: ClassVar[str] = "peak_keeper"
    width: int
    largest: bool
    clear: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), width(rng, most=16), rng.random() < 0.6, rng.random() < 0.4)

    @property
    def first(self) -> int:
        """Value before any sample."""
        return 0 if self.largest else mask(self.width)

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("clear"),) if self.clear else ()
        return (*self.head, *more, inp("v", 1, "valid"), inp("a", self.width, "sample"), out("q", self.width, "limit"))

    def describe(self, n: Names, w: Words) -> Spec:
        word, compare = ("largest", "greater") if self.largest else ("smallest", "less")
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` becomes `{n.a}` when {w.one(n.v)} and `{n.a}` is {compare} than `{n.q}`; otherwise {w.keeps(n.q)}",
                f"when {w.one(n.v)} at a rising edge of `{n.clk}` and `{n.a}` is {compare} than `{n.q}`, `{n.q}` takes `{n.a}`",
                f"`{n.q}` is the {word} `{n.a}` so far, of those present at an edge of `{n.clk}` with `{n.v}` = 1",
                held=f"of all `{n.a}` that come with `{n.v}`, `{n.q}` remembers the {word} one",
            )
        ]
        if self.clear:
            facts.append(
                w.say(
                    f"When {w.one(n.clear)} at the edge, `{n.q}` becomes {self.first} instead",
                    f"`{n.clear}` sets `{n.q}` to {self.first} at the edge and has priority",
                    held=f"`{n.clear}` brings `{n.q}` back to {self.first} and comes first",
                )
            )
        return Spec(
            noun=w.say(
                f"a keeper of the {word} sample",
                w.a(f"{self.width}-bit {'maximum' if self.largest else 'minimum'} tracker"),
                f"a register for the {word} of {self.width}-bit samples",
                held=f"a memory of the {word} sample",
            ),
            verb=w.say(
                f"keeps the {word} {self.width}-bit sample",
                f"tracks the {'maximum' if self.largest else 'minimum'} of `{n.a}`",
                held=f"remembers the {word} sample",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is {self.first}", w.becomes(n.q, str(self.first))),
        )

    def code(self, n: Names, s: Style) -> str:
        first = f"{n.q} <= {s.lit(self.width, self.first)};"
        cases: list[Case] = [(n.clear, [first])] if self.clear else []
        cases.append((f"{n.v} && {n.a} {'>' if self.largest else '<'} {n.q}", [f"{n.q} <= {n.a};"]))
        return s.module(n, self.pins, s.clocked(self, n, [first], cases), ["q"])

    def start(self) -> State:
        return {"q": self.first}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if i.get("clear"):
            return {"q": self.first}
        return {"q": (max if self.largest else min)(state["q"], i["a"])} if i["v"] else state

    def busy(self, role: str) -> float | None:
        return 0.06 if role == "clear" else None


@dataclass(frozen=True)
class WindowSum(Clocked):
    """Weighted sum of the last samples: a moving sum or a small FIR filter."""

    name: ClassVar[str] = "window_sum"
    width: int
    weights: tuple[int, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        count = rng.choice((2, 2, 3, 3, 4))
        plain = rng.random() < 0.5
        return cls(
            Reset.draw(rng),
            rng.choice((4, 6, 8, 8, 10, 12)),
            tuple(1 if plain else rng.choice((1, 2, 3, 4, 5)) for _ in range(count)),
        )

    @property
    def out_width(self) -> int:
        """Enough for the largest sum."""
        return (mask(self.width) * sum(self.weights)).bit_length()

    @property
    def pins(self) -> tuple[Pin, ...]:
        taps = (own(f"s{k}", self.width, f"reg{k}") for k in range(1, len(self.weights) + 1))
        return (
            *self.head,
            inp("v", 1, "valid"),
            inp("a", self.width, "sample"),
            out("y", self.out_width, "sum"),
            *taps,
        )

    def describe(self, n: Names, w: Words) -> Spec:
        count = len(self.weights)
        plain = set(self.weights) == {1}
        if plain:
            result = w.say(
                f"`{n.y}` is the sum of the last {count} samples",
                f"`{n.y}` is always the sum of the {count} newest samples",
                held=f"`{n.y}` adds up what is in the window",
            )
        else:
            listed = ", ".join(str(value) for value in self.weights)
            result = w.say(
                f"`{n.y}` is the sum of the last {count} samples times the weights {listed}, the newest sample first",
                f"`{n.y}` is a weighted sum: the newest sample has the first of the weights {listed}",
                held=f"the weights are {listed}, from the newest sample to the oldest",
            )
        return Spec(
            noun=w.say(
                f"a {'moving sum' if plain else 'FIR filter'} of {count} samples",
                w.a(f"{count}-tap {'moving sum' if plain else 'filter'}"),
                held=f"a sliding total over {count} samples",
            ),
            verb=w.say(
                f"adds the last {count} samples{'' if plain else ' with weights'}",
                f"sums a window of {count} samples",
                held=f"looks back over {count} samples",
            ),
            facts=(
                w.say(
                    f"{w.edge(n.clk)} with `{n.v}` = 1, `{n.a}` enters a window of the last {count} samples and the oldest one leaves",
                    f"when {w.one(n.v)} at a rising edge of `{n.clk}`, `{n.a}` is the newest of {count} stored samples and the oldest is dropped",
                    held=f"`{n.v}` pushes `{n.a}` into a row of {count} samples at the edge of `{n.clk}`",
                ),
                result,
            ),
            reset=w.say(f"all {count} stored samples are 0", "all samples in the window become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        taps = [n[f"s{k}"] for k in range(1, len(self.weights) + 1)]
        moves = [f"{right} <= {left};" for left, right in zip([n.a, *taps], taps, strict=False)]
        reset = [f"{tap} <= {s.lit(self.width, 0)};" for tap in taps]
        total = " + ".join(
            tap if weight == 1 else f"{tap} * {self.out_width}'d{weight}"
            for tap, weight in zip(taps, self.weights, strict=True)
        )
        lines = s.clocked(self, n, reset, [(n.v, moves)])
        return s.module(n, self.pins, [*lines, f"assign {n.y} = {total};"], [f"s{k}" for k in range(1, len(taps) + 1)])

    def start(self) -> State:
        return {"taps": [0] * len(self.weights)}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": sum(tap * weight for tap, weight in zip(state["taps"], self.weights, strict=True))}

    def step(self, state: State, i: Inputs) -> State:
        return {"taps": [i["a"], *state["taps"][:-1]]} if i["v"] else state


FAMILIES = (
    Accumulator,
    Extreme,
    WindowSum,
)
