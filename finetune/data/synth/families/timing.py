"""Pulses, timers and debouncers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.common import const_width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Debouncer(Clocked):
    """An output that follows its input after so many equal samples."""

    name: ClassVar[str] = "debouncer"
    samples: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice((2, 3, 4, 4, 5, 6, 8, 8, 10, 16, 20)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        size = const_width(self.samples - 1)
        return (*self.head, inp("x", 1, "btn"), out("y", 1, "clean"), own("c", size, "timer"))

    def describe(self, n: Names, w: Words) -> Spec:
        k = self.samples
        return Spec(
            noun=w.say(
                f"a debouncer for {k} samples",
                f"a debounce filter of {k} clock cycles",
                f"a filter that takes a change after {k} equal samples",
                held=f"a cleaner for a noisy line, {k} samples long",
            ),
            verb=w.say(
                f"debounces `{n.x}`",
                f"filters short pulses of `{n.x}` out",
                f"follows `{n.x}` after {k} equal samples",
                held=f"waits until `{n.x}` has settled",
            ),
            facts=(
                w.say(
                    f"`{n.y}` takes the value of `{n.x}` at the {k}th rising edge of `{n.clk}` in a row at which they differ",
                    f"a counter counts the edges of `{n.clk}` at which `{n.x}` differs from `{n.y}`; at the {k}th in a row `{n.y}` becomes `{n.x}` and the counter 0",
                    held=f"once `{n.x}` has been unlike `{n.y}` at {k} edges of `{n.clk}` without a break, `{n.y}` follows",
                ),
                w.say(
                    f"an edge at which `{n.x}` equals `{n.y}` sets the count back to 0",
                    "whenever they are equal, counting starts again from 0",
                    held="if they agree, all is forgotten",
                ),
            ),
            reset=w.say(f"`{n.y}` and the counter are 0", f"`{n.y}` and the count become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        size = const_width(self.samples - 1)
        zero = f"{n.c} <= {s.lit(size, 0)};"
        cases: list[Case] = [
            (f"{n.x} == {n.y}", [zero]),
            (f"{n.c} == {s.lit(size, self.samples - 1)}", [f"{n.y} <= {n.x};", zero]),
            ("", [f"{n.c} <= {n.c} + {size}'d1;"]),
        ]
        return s.module(n, self.pins, s.clocked(self, n, [f"{n.y} <= 1'b0;", zero], cases), ["y", "c"])

    def start(self) -> State:
        return {"y": 0, "c": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": state["y"]}

    def step(self, state: State, i: Inputs) -> State:
        if i["x"] == state["y"]:
            return {"y": state["y"], "c": 0}
        if state["c"] + 1 == self.samples:
            return {"y": i["x"], "c": 0}
        return {"y": state["y"], "c": state["c"] + 1}

    def busy(self, role: str) -> float | None:
        return None

    @property
    def cycles(self) -> int:
        return 400


@dataclass(frozen=True)
class OneShot(Clocked):
    """A trigger makes a pulse of a constant or given length; a trigger within it is ignored or begins anew."""

    name: ClassVar[str] = "one_shot"
    length: int
    bits: int
    again: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        if rng.random() < 0.45:
            return cls(Reset.draw(rng), 0, rng.choice((3, 4, 4, 5, 6)), rng.random() < 0.5)
        return cls(Reset.draw(rng), rng.choice((2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 20)), 0, rng.random() < 0.5)

    @property
    def size(self) -> int:
        """Width of the counter."""
        return self.bits or const_width(self.length)

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("m", self.bits, "length"),) if self.bits else ()
        left = own("c", self.size, "timer") if not self.bits else out("c", self.size, "timer")
        return (*self.head, inp("t", 1, "trigger"), *more, out("y", 1, "pulse"), left)

    def describe(self, n: Names, w: Words) -> Spec:
        long = f"`{n.m}`" if self.bits else str(self.length)
        name = f"`{n.c}`" if self.bits else "a counter"
        late = (
            w.say(
                f"A trigger during the pulse begins it anew with {long} cycles",
                f"when {w.one(n.t)} at an edge during the pulse, {name} becomes {long} again",
                held="it can be stretched by another trigger",
            )
            if self.again
            else w.say(
                "A trigger during the pulse is ignored",
                f"while {name} is not 0, `{n.t}` has no effect",
                held="another trigger in between is lost",
            )
        )
        when = f"when {w.one(n.t)}" if self.again else f"when {w.one(n.t)} and {name} is 0"
        return Spec(
            noun=w.say(
                f"a pulse generator with a length of {long} cycles",
                f"a {'retriggerable ' if self.again else ''}one-shot of {long} clock cycles",
                f"a monostable that lasts {long} cycles",
                held=f"a stretcher to {long} cycles",
            ),
            verb=w.say(
                f"turns a trigger into a pulse of {long} clock cycles",
                f"gives a pulse of {long} cycles for a trigger",
                held=f"answers `{n.t}` with {long} cycles of 1",
            ),
            facts=(
                w.say(
                    f"{w.edge(n.clk)}, {name} becomes {long} {when}; otherwise it goes down by 1 as long as it is not 0",
                    f"{when} at a rising edge of `{n.clk}`, {name} is set to {long}; at other edges it is decremented until it is 0",
                    held=f"`{n.t}` fills {name} with {long} {when}, and each other edge of `{n.clk}` takes 1 away until nothing is left",
                ),
                w.say(
                    f"`{n.y}` is 1 while {name} is not 0",
                    f"`{n.y}` is 1 exactly when {name} is not 0",
                    held=f"`{n.y}` shows that something is left",
                ),
                late,
            ),
            reset=w.say(f"{name} is 0", f"{name} becomes 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        size, c = self.size, n.c
        running = f"{c} != {s.lit(size, 0)}"
        value = n.m if self.bits else f"{size}'d{self.length}"
        start = (n.t if self.again else f"{n.t} && {c} == {s.lit(size, 0)}", [f"{c} <= {value};"])
        lines = s.clocked(self, n, [f"{c} <= {s.lit(size, 0)};"], [start, (running, [f"{c} <= {c} - {size}'d1;"])])
        return s.module(n, self.pins, [*lines, f"assign {n.y} = {running};"], ["c"])

    def start(self) -> State:
        return {"c": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": int(state["c"] > 0), "c": state["c"]}

    def step(self, state: State, i: Inputs) -> State:
        c = state["c"]
        if i["t"] and (self.again or c == 0):
            return {"c": i.get("m", self.length)}
        return {"c": max(c - 1, 0)}

    def busy(self, role: str) -> float | None:
        return 0.12

    @property
    def cycles(self) -> int:
        return 400


@dataclass(frozen=True)
class Pwm(Clocked):
    """A free counter compared with a duty input."""

    name: ClassVar[str] = "pwm"
    width: int
    period: int
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice((3, 4, 4, 5, 6, 8, 8))
        period = rng.choice((1 << size, 1 << size, rng.randint(3, mask(size)), 10 if size == 4 else 1 << size))
        return cls(Reset.draw(rng), size, period, rng.random() < 0.35)

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("en"),) if self.enable else ()
        return (*self.head, *more, inp("m", self.width, "duty"), out("y", 1, "pulse"), own("c", self.width, "count"))

    def describe(self, n: Names, w: Words) -> Spec:
        p = self.period
        facts = [
            w.say(
                f"a counter runs from 0 to {p - 1} at the rising edges of `{n.clk}` and starts again",
                f"an internal {self.width}-bit counter counts 0 to {p - 1} over and over, one step a rising edge of `{n.clk}`",
                held=f"inside, something counts 0 to {p - 1} without end",
            ),
            w.say(
                f"`{n.y}` is 1 while the counter is less than `{n.m}`",
                f"`{n.y}` is 1 when the count is below `{n.m}` and 0 otherwise",
                held=f"`{n.m}` is how long `{n.y}` stays up in each round",
            ),
        ]
        if self.enable:
            facts.append(
                w.say(
                    f"the counter stands still when {w.nought(n.en)}",
                    f"`{n.en}` enables the counter",
                    held=f"without `{n.en}` the counter rests",
                )
            )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit PWM generator"),
                f"a pulse width modulator with a period of {p} cycles",
                f"a PWM output with {p} steps",
                held=f"a dimmer with {p} steps",
            ),
            verb=w.say(
                f"generates a PWM signal with a period of {p} cycles",
                f"makes a pulse whose width `{n.m}` sets",
                held=f"dims `{n.y}` in {p} steps",
            ),
            facts=tuple(facts),
            reset=w.say("the counter is 0", "the counter becomes 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        size, c = self.width, n.c
        step = f"{c} + {size}'d1"
        if self.period == 1 << size:
            cases: list[Case] = [(n.en if self.enable else "", [f"{c} <= {step};"])]
        elif s.ternary:
            cases = [
                (
                    n.en if self.enable else "",
                    [f"{c} <= ({c} == {size}'d{self.period - 1}) ? {s.lit(size, 0)} : {step};"],
                )
            ]
        else:
            inner = s.chain(
                [(f"{c} == {size}'d{self.period - 1}", [f"{c} <= {s.lit(size, 0)};"]), ("", [f"{c} <= {step};"])]
            )
            cases = [(n.en if self.enable else "", inner)]
        lines = s.clocked(self, n, [f"{c} <= {s.lit(size, 0)};"], cases)
        return s.module(n, self.pins, [*lines, f"assign {n.y} = {c} < {n.m};"], ["c"])

    def start(self) -> State:
        return {"c": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": int(state["c"] < i["m"])}

    def step(self, state: State, i: Inputs) -> State:
        return {"c": (state["c"] + 1) % self.period} if i.get("en", 1) else state

    def busy(self, role: str) -> float | None:
        return 0.8

    def common(self, role: str) -> tuple[int, ...]:
        return (1, 2, self.period // 2, self.period - 1)

    @property
    def cycles(self) -> int:
        return 2 * self.period + 150


@dataclass(frozen=True)
class Watchdog(Clocked):
    """A counter that must be kicked before it comes to its end."""

    name: ClassVar[str] = "watchdog"
    limit: int
    sticky: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), rng.choice((3, 4, 5, 7, 8, 10, 12, 15, 16, 20, 25, 30, 31, 40, 50, 63)), rng.random() < 0.5
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, inp("k", 1, "clear"), out("y", 1, "flag2"), own("c", const_width(self.limit), "timer"))

    def describe(self, n: Names, w: Words) -> Spec:
        m = self.limit
        end = (
            w.say(
                f"At {m} the counter stays, until `{n.k}` or a reset",
                f"the counter stops at {m}",
                held=f"at {m} it rests",
            )
            if self.sticky
            else w.say(
                f"After {m} the counter starts again from 0",
                f"an edge without `{n.k}` at which the counter is {m} sets it to 0",
                held=f"at {m} it begins anew",
            )
        )
        return Spec(
            noun=w.say(
                f"a watchdog timer of {m} cycles",
                f"a timeout counter with the limit {m}",
                held=f"a guard that waits {m} cycles",
            ),
            verb=w.say(
                f"watches that `{n.k}` comes in time",
                f"counts to {m} unless `{n.k}` clears it",
                held=f"gets angry after {m} cycles without `{n.k}`",
            ),
            facts=(
                w.say(
                    f"{w.edge(n.clk)}, a counter becomes 0 when {w.one(n.k)} and goes up by 1 otherwise",
                    f"`{n.k}` = 1 sets a counter to 0 at the clock edge; without it the counter is incremented at every rising edge of `{n.clk}`",
                    held=f"`{n.k}` empties a counter, and every other edge of `{n.clk}` adds 1",
                ),
                end,
                w.say(
                    f"`{n.y}` is 1 while the counter is {m}",
                    f"`{n.y}` is 1 exactly when the counter equals {m}",
                    held=f"`{n.y}` shows that {m} is there",
                ),
            ),
            reset=w.say("the counter is 0", "the counter becomes 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        size, c = const_width(self.limit), n.c
        at = f"{c} == {size}'d{self.limit}"
        zero, step = f"{c} <= {s.lit(size, 0)};", f"{c} <= {c} + {size}'d1;"
        cases: list[Case] = (
            [(n.k, [zero]), (f"{c} != {size}'d{self.limit}", [step])]
            if self.sticky
            else [(n.k, [zero]), (at, [zero]), ("", [step])]
        )
        return s.module(n, self.pins, [*s.clocked(self, n, [zero], cases), f"assign {n.y} = {at};"], ["c"])

    def start(self) -> State:
        return {"c": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": int(state["c"] == self.limit)}

    def step(self, state: State, i: Inputs) -> State:
        if i["k"]:
            return {"c": 0}
        if state["c"] == self.limit:
            return state if self.sticky else {"c": 0}
        return {"c": state["c"] + 1}

    def busy(self, role: str) -> float | None:
        return 1 / (2 * self.limit)

    @property
    def cycles(self) -> int:
        return 12 * self.limit + 100


FAMILIES = (Debouncer, OneShot, Pwm, Watchdog)
