"""Machines that go by time alone."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, out, own
from finetune.data.synth.families.common import const_width
from finetune.data.synth.families.machines import STATES, parameters
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class TimedStates(Clocked):
    """States that follow one another, each for so many cycles, as lights do."""

    name: ClassVar[str] = "timed_states"
    labels: int
    times: tuple[int, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng),
            rng.randrange(len(STATES)),
            tuple(rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 12)) for _ in range(rng.choice((2, 3, 3, 4)))),
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        count = len(self.times)
        return (
            *self.head,
            out("y", count, "any_out"),
            own("s", const_width(count - 1), "state"),
            own("c", const_width(max(max(self.times) - 1, 1)), "timer"),
        )

    @property
    def _names(self) -> tuple[str, ...]:
        return STATES[self.labels][: len(self.times)]

    def describe(self, n: Names, w: Words) -> Spec:
        names = self._names
        order = ", ".join(names)
        spans = ", ".join(
            f"{name} for {time} cycle{'s' if time > 1 else ''}" for name, time in zip(names, self.times, strict=True)
        )
        return Spec(
            noun=w.say(
                f"a sequencer with the states {order}",
                f"a timed machine of {len(names)} states",
                f"a light controller with {len(names)} phases",
                held=f"a round of {len(names)} phases",
            ),
            verb=w.say(
                f"goes through the states {order} by time",
                f"cycles through {len(names)} timed states",
                held=f"takes {len(names)} phases in turn",
            ),
            facts=(
                w.say(
                    f"the states follow in the order {order}, and then {names[0]} again",
                    f"it goes round through {order}",
                    held=f"the round is {order}",
                ),
                w.say(
                    f"it is in {spans} of `{n.clk}`",
                    f"the states last: {spans}",
                    held=f"so long are the phases: {spans}",
                ),
                w.say(
                    f"bit k of `{n.y}` is 1 in the k-th state, counted from 0, so in {names[0]} `{n.y}` is 1",
                    f"`{n.y}` is one-hot: bit 0 for {names[0]}, bit 1 for {names[1]}, and so on",
                    held=f"each phase has its bit of `{n.y}`, bit 0 for {names[0]}",
                ),
            ),
            reset=w.say(
                f"it is in {names[0]} and its time begins", f"the state is {names[0]} and the time counter is 0"
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        names, count = self._names, len(self.times)
        size, wide = const_width(count - 1), const_width(max(max(self.times) - 1, 1))
        arms: list[Case] = []
        for state, time in enumerate(self.times):
            after = names[(state + 1) % count]
            go = [f"{n.s} <= {after};", f"{n.c} <= {s.lit(wide, 0)};"]
            arms.append(
                (names[state], s.chain([(f"{n.c} == {wide}'d{time - 1}", go), ("", [f"{n.c} <= {n.c} + {wide}'d1;"])]))
            )
        if count < 1 << size:
            arms.append(("", [f"{n.s} <= {names[0]};"]))
        zero = [f"{n.s} <= {names[0]};", f"{n.c} <= {s.lit(wide, 0)};"]
        lines = s.clocked(self, n, zero, [("", s.case(n.s, arms))])
        return s.module(
            n, self.pins, [parameters(names, size, s), *lines, f"assign {n.y} = {count}'d1 << {n.s};"], ["s", "c"]
        )

    def start(self) -> State:
        return {"t": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        left, t = 0, state["t"] % sum(self.times)
        while t >= self.times[left]:
            t -= self.times[left]
            left += 1
        return {"y": 1 << left}

    def step(self, state: State, i: Inputs) -> State:
        return {"t": state["t"] + 1}


@dataclass(frozen=True)
class DigitCounter(Clocked):
    """Two decimal digits that count, 00 up to a limit below 100."""

    name: ClassVar[str] = "digit_counter"
    last: int
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), rng.choice((99, 99, 59, 59, 23, 11, 30, 49, rng.randint(12, 98))), rng.random() < 0.5
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, *((inp("en"),) if self.enable else ()), out("t", 4, "reg2"), out("o", 4, "reg1"))

    def describe(self, n: Names, w: Words) -> Spec:
        return Spec(
            noun=w.say(
                f"a two-digit BCD counter from 00 to {self.last}",
                f"a decimal counter with two digits that ends at {self.last}",
                held=f"a tally of two decimal digits up to {self.last}",
            ),
            verb=w.say(
                f"counts from 00 to {self.last} in two decimal digits",
                f"counts in BCD up to {self.last}",
                held=f"keeps a decimal tally up to {self.last}",
            ),
            facts=(
                w.say(
                    f"`{n.t}` is the tens digit and `{n.o}` the units digit",
                    f"the digits are `{n.t}` (tens) and `{n.o}` (units)",
                    held=f"tens stand at `{n.t}`, units at `{n.o}`",
                ),
                w.say(
                    f"{w.edge(n.clk)} the number goes up by 1; after {self.last} comes 00",
                    f"the number is incremented {w.edge(n.clk)} and goes from {self.last} to 00",
                    held=f"each edge of `{n.clk}` adds 1, and {self.last} is followed by 00",
                ),
                w.say(
                    f"when `{n.o}` is 9, it becomes 0 and `{n.t}` goes up by 1",
                    f"`{n.o}` goes from 9 to 0 with a carry into `{n.t}`",
                    held=f"ten units make one of `{n.t}`",
                ),
                *(
                    (
                        w.say(
                            f"it counts only when {w.one(n.en)}",
                            f"When {w.nought(n.en)}, both digits keep their values",
                            held=f"without `{n.en}` it rests",
                        ),
                    )
                    if self.enable
                    else ()
                ),
            ),
            reset=w.say("both digits are 0", f"`{n.t}` and `{n.o}` become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        tens, ones = divmod(self.last, 10)
        zero = [f"{n.t} <= {s.lit(4, 0)};", f"{n.o} <= {s.lit(4, 0)};"]
        inner = s.chain([
            (f"{n.t} == 4'd{tens} && {n.o} == 4'd{ones}", zero),
            (f"{n.o} == 4'd9", [f"{n.o} <= {s.lit(4, 0)};", f"{n.t} <= {n.t} + 4'd1;"]),
            ("", [f"{n.o} <= {n.o} + 4'd1;"]),
        ])  # fmt: skip
        return s.module(n, self.pins, s.clocked(self, n, zero, [(n.en if self.enable else "", inner)]), ["t", "o"])

    def start(self) -> State:
        return {"v": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"t": state["v"] // 10, "o": state["v"] % 10}

    def step(self, state: State, i: Inputs) -> State:
        return {"v": (state["v"] + 1) % (self.last + 1)} if i.get("en", 1) else state

    def busy(self, role: str) -> float | None:
        return 0.85

    @property
    def cycles(self) -> int:
        return 500


FAMILIES = (
    TimedStates,
    DigitCounter,
)
