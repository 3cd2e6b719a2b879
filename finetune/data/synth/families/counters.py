"""Counters in binary."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.families.common import draw_enable, enable_fact, width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Counter(Clocked):
    """Up, down or both ways, wrapping at a power of two; with enable, clear and load where wanted."""

    name: ClassVar[str] = "counter"
    width: int
    kind: str
    enable: bool
    clear: bool
    load: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        kind = rng.choice(("up", "up", "down", "both"))
        return cls(
            Reset.draw(rng), width(rng, most=16), kind, draw_enable(rng), rng.random() < 0.3, rng.random() < 0.35
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (
            *((inp("clear"),) if self.clear else ()),
            *((inp("load"), inp("d", self.width, "din")) if self.load else ()),
            *((inp("en"),) if self.enable else ()),
            *((inp("dir"),) if self.kind == "both" else ()),
        )
        return (*self.head, *more, out("q", self.width, "count"))

    def _step(self, n: Names, w: Words) -> str:
        if self.kind == "both":
            return w.say(
                f"`{n.q}` goes down by 1 when {w.one(n.dir)} and up by 1 when {w.nought(n.dir)}",
                f"`{n.q}` is decremented with `{n.dir}` = 1 and incremented with `{n.dir}` = 0",
                held=f"`{n.q}` counts, backwards with `{n.dir}` = 1",
            )
        way = {"up": "up", "down": "down"}[self.kind]
        verb = {"up": "incremented", "down": "decremented"}[self.kind]
        return w.say(
            f"`{n.q}` goes {way} by 1",
            f"`{n.q}` is {verb} by 1",
            f"`{n.q}` is {verb}",
            f"`{n.q}` counts {way} by one",
            held=f"`{n.q}` makes one step {way}",
        )

    def describe(self, n: Names, w: Words) -> Spec:
        word = {"up": "up counter", "down": "down counter", "both": "up and down counter"}[self.kind]
        parts = [
            text
            for text, there in (
                (" with enable", self.enable),
                (" and load" if self.enable else " with load", self.load),
            )
            if there
        ]
        extra = "".join(parts)
        top = mask(self.width)
        wrap = w.say(
            {"up": f"after {top} comes 0", "down": f"after 0 comes {top}", "both": "it wraps at both ends"}[self.kind],
            f"it counts modulo {top + 1}",
            "it wraps around",
            "",
        )
        facts: list[str] = []
        rules: list[tuple[str, str]] = []
        if (self.clear or self.load or self.enable) and w.rng.random() < (0.6 if self.clear or self.load else 0.2):
            if self.clear:
                rules.append((w.one(n.clear), w.becomes(n.q, "0")))
            if self.load:
                rules.append((w.one(n.load), w.becomes(n.q, f"`{n.d}`")))
            rules.append((w.one(n.en) if self.enable else "", self._step(n, w)))
            if self.enable:
                rules.append(("", w.keeps(n.q)))
        else:
            facts.append(f"{w.edge(n.clk)}, {self._step(n, w)}")
            facts += [enable_fact(n.en, n.q, w)] if self.enable else []
            if self.load:
                facts.append(
                    w.say(
                        f"When {w.one(n.load)} at the edge, {w.becomes(n.q, f'`{n.d}`')} instead",
                        f"`{n.load}` loads `{n.d}` into `{n.q}` at the edge; it comes before counting"
                        + (f" and does not need `{n.en}`" if self.enable else ""),
                        held=f"`{n.load}` puts `{n.d}` into `{n.q}` and comes first",
                    )
                )
            if self.clear:
                facts.append(
                    w.say(
                        f"When {w.one(n.clear)} at the edge, {w.becomes(n.q, '0')}, whatever the other inputs are",
                        f"`{n.clear}` = 1 sets `{n.q}` to 0 at the edge and has priority over everything else",
                        held=f"`{n.clear}` empties `{n.q}` at the edge and comes before all others",
                    )
                )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {word}{extra}"),
                w.a(f"{self.width}-bit binary {word}{extra}"),
                f"a counter of {self.width} bits that counts {'up and down' if self.kind == 'both' else self.kind}",
                held=w.a(f"{self.width}-bit tally going {self.kind}"),
            ),
            verb=w.say(
                f"counts {'up and down' if self.kind == 'both' else self.kind} with {self.width} bits",
                f"counts clock edges in a {self.width}-bit register",
                held=f"keeps a tally of {self.width} bits",
            ),
            facts=tuple(fact for fact in (*facts, wrap) if fact),
            rules=tuple(rules),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        q, one = n.q, f"{self.width}'d1" if s.alt(3) == 0 else "1'b1"
        step = {
            "up": f"{q} + {one}",
            "down": f"{q} - {one}",
            "both": f"{n.dir if self.kind == 'both' else ''} ? {q} - {one} : {q} + {one}",
        }[self.kind]
        cases: list[Case] = [(n.clear, [f"{q} <= {s.lit(self.width, 0)};"])] if self.clear else []
        cases += [(n.load, [f"{q} <= {n.d};"])] if self.load else []
        if self.kind == "both" and not s.ternary:
            inner = s.chain([(n.dir, [f"{q} <= {q} - {one};"]), ("", [f"{q} <= {q} + {one};"])])
            cases.append((n.en if self.enable else "", inner))
        else:
            cases.append((n.en if self.enable else "", [f"{q} <= {step};"]))
        return s.module(n, self.pins, s.clocked(self, n, [f"{q} <= {s.lit(self.width, 0)};"], cases), ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if i.get("clear"):
            return {"q": 0}
        if i.get("load"):
            return {"q": i["d"]}
        if not i.get("en", 1):
            return state
        down = self.kind == "down" or bool(i.get("dir"))
        return {"q": (state["q"] + (-1 if down else 1)) & mask(self.width)}

    def busy(self, role: str) -> float | None:
        return {"clear": 0.05, "load": 0.1}.get(role)

    def common(self, role: str) -> tuple[int, ...]:
        return (0, 1, mask(self.width), mask(self.width) - 1)


@dataclass(frozen=True)
class ModCounter(Clocked):
    """Counts 0 to a constant and wraps or stops there, up or down, with a flag at the end where wanted."""

    name: ClassVar[str] = "mod_counter"
    last: int
    down: bool
    stops: bool
    enable: bool
    flag: str
    width: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        last = rng.choice(
            (
                2,
                4,
                5,
                6,
                8,
                9,
                9,
                10,
                11,
                12,
                14,
                19,
                20,
                23,
                24,
                29,
                49,
                59,
                59,
                79,
                99,
                119,
                149,
                199,
                249,
                rng.randint(2, 250),
            )
        )
        flag = rng.choice(("", "comb", "comb", "reg"))
        return cls(
            Reset.draw(rng),
            last,
            rng.random() < 0.25,
            rng.random() < 0.25,
            draw_enable(rng),
            flag,
            max(last.bit_length(), rng.choice((1, 1, 8))),
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("en"),) if self.enable else ()
        return (*self.head, *more, out("q", self.width, "count"), *((out("f", 1, "wrap"),) if self.flag else ()))

    @property
    def cycles(self) -> int:
        return min(3000, 4 * self.last + 160)

    @property
    def first(self) -> int:
        """Where it begins."""
        return self.last if self.down else 0

    @property
    def end(self) -> int:
        """Where it wraps or stops."""
        return 0 if self.down else self.last

    def describe(self, n: Names, w: Words) -> Spec:
        way, other = ("down", "decremented") if self.down else ("up", "incremented")
        first, end = self.first, self.end
        then = w.keeps(n.q) if self.stops else w.becomes(n.q, str(first))
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` goes {way} by 1; when `{n.q}` is {end}, {then}",
                f"`{n.q}` is {other} {w.edge(n.clk)}, but when it is {end}, {then}",
                f"`{n.q}` counts {way} from {first} to {end} {w.edge(n.clk)}; at {end}, {then}",
                held=f"with each edge of `{n.clk}`, `{n.q}` moves {way} as far as {end}; there, {then}",
            )
        ]
        facts += [enable_fact(n.en, n.q, w)] if self.enable else []
        if self.flag == "comb":
            facts.append(
                w.say(
                    f"`{n.f}` is 1 when `{n.q}` is {end}, otherwise 0",
                    f"`{n.f}` is combinational and 1 while `{n.q}` is {end}",
                    f"`{n.f}` is 1 exactly when `{n.q}` equals {end}",
                    held=f"`{n.f}` shows that `{n.q}` has come to {end}",
                )
            )
        elif self.flag:
            cond = f" with `{n.en}` = 1" if self.enable else ""
            facts.append(
                w.say(
                    f"`{n.f}` is a register: it becomes 1 at an edge{cond} at which `{n.q}` was {end}, and 0 at every other edge",
                    f"`{n.f}` is 1 for the cycle after an edge{cond} that found `{n.q}` at {end}, otherwise 0",
                    held=f"an edge{cond} that finds `{n.q}` at {end} makes `{n.f}` 1 for a cycle",
                )
            )
        kind = f"stops at {end}" if self.stops else f"wraps after {end}"
        modulo = (
            w.a(f"modulo-{self.last + 1} {'down ' if self.down else ''}counter")
            if not self.stops
            else f"a counter that {kind}"
        )
        return Spec(
            noun=w.say(
                modulo,
                f"a counter from {first} to {end} that {kind}",
                w.a(f"{self.width}-bit counter that {kind}"),
                held=f"a tally from {first} to {end}",
            ),
            verb=w.say(
                f"counts {way} from {first} to {end}",
                f"counts {way} and {kind}",
                held=f"keeps a tally from {first} to {end}",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is {first}", w.becomes(n.q, str(first)))
            + (f" and `{n.f}` is 0" if self.flag == "reg" else ""),
        )

    def code(self, n: Names, s: Style) -> str:
        q, size = n.q, self.width
        sign = "-" if self.down else "+"
        end, first, step = s.lit(size, self.end), s.lit(size, self.first), f"{q} {sign} {size}'d1"
        if self.stops:
            condition = f"{q} != {end}"
            cases = [(f"{n.en} && {condition}" if self.enable else condition, [f"{q} <= {step};"])]
        elif s.ternary:
            cases = [(n.en if self.enable else "", [f"{q} <= ({q} == {end}) ? {first} : {step};"])]
        else:
            inner = s.chain([(f"{q} == {end}", [f"{q} <= {first};"]), ("", [f"{q} <= {step};"])])
            cases = [(n.en if self.enable else "", inner)]
        lines = s.clocked(self, n, [f"{q} <= {first};"], cases)
        at_end = f"{q} == {end}"
        if self.flag == "comb":
            lines.append(f"assign {n.f} = {at_end};")
        elif self.flag:
            text = f"{n.en} && ({at_end})" if self.enable else at_end
            lines += s.clocked(self, n, [f"{n.f} <= 1'b0;"], [("", [f"{n.f} <= {text};"])])
        return s.module(n, self.pins, lines, ["q", "f"] if self.flag == "reg" else ["q"])

    def start(self) -> State:
        return {"q": self.first, "f": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"], "f": state["f"] if self.flag == "reg" else int(state["q"] == self.end)}

    def step(self, state: State, i: Inputs) -> State:
        q, at_end = state["q"], state["q"] == self.end
        if not i.get("en", 1):
            return {"q": q, "f": 0}
        if at_end:
            return {"q": q if self.stops else self.first, "f": 1}
        return {"q": q + (-1 if self.down else 1), "f": 0}

    def busy(self, role: str) -> float | None:
        return 0.85


@dataclass(frozen=True)
class LimitCounter(Clocked):
    """Counts up to a limit that is an input."""

    name: ClassVar[str] = "limit_counter"
    width: int
    enable: bool
    at_least: bool
    flag: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), rng.choice((3, 4, 4, 5, 6, 8, 8)), draw_enable(rng), rng.random() < 0.6, rng.random() < 0.5
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("en"),) if self.enable else ()
        return (
            *self.head,
            *more,
            inp("m", self.width, "limit"),
            out("q", self.width, "count"),
            *((out("f", 1, "wrap"),) if self.flag else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        at = w.say(f"equal to or greater than `{n.m}`", f"at least `{n.m}`") if self.at_least else f"equal to `{n.m}`"
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.q}` becomes 0 when it is {at}, and goes up by 1 otherwise",
                f"`{n.q}` is incremented {w.edge(n.clk)}; but when it is {at}, it becomes 0",
                f"When `{n.q}` is {at} at a rising edge of `{n.clk}`, it becomes 0; in all other cases it is incremented",
                held=f"`{n.q}` grows with each edge of `{n.clk}` and starts again from 0 when it is {at}",
            )
        ]
        facts += [enable_fact(n.en, n.q, w)] if self.enable else []
        if self.flag:
            facts.append(
                w.say(
                    f"`{n.f}` is 1 when `{n.q}` is {at}, otherwise 0",
                    f"`{n.f}` is combinational: 1 while `{n.q}` is {at}",
                    held=f"`{n.f}` shows that `{n.q}` is {at}",
                )
            )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit counter with a variable limit"),
                f"a counter from 0 to `{n.m}`",
                held="a tally with a limit from outside",
            ),
            verb=w.say(
                f"counts from 0 to `{n.m}`",
                f"counts up to a limit given by `{n.m}`",
                held="keeps a tally up to a limit from outside",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        q, size = n.q, self.width
        at, zero, step = f"{q} {'>=' if self.at_least else '=='} {n.m}", s.lit(size, 0), f"{q} + {size}'d1"
        if s.ternary:
            cases: list[Case] = [(n.en if self.enable else "", [f"{q} <= ({at}) ? {zero} : {step};"])]
        else:
            cases = [(n.en if self.enable else "", s.chain([(at, [f"{q} <= {zero};"]), ("", [f"{q} <= {step};"])]))]
        lines = s.clocked(self, n, [f"{q} <= {zero};"], cases)
        return s.module(n, self.pins, [*lines, *([f"assign {n.f} = {at};"] if self.flag else [])], ["q"])

    def start(self) -> State:
        return {"q": 0}

    def _at(self, q: int, m: int) -> bool:
        return q >= m if self.at_least else q == m

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"], "f": int(self._at(state["q"], i["m"]))}

    def step(self, state: State, i: Inputs) -> State:
        if not i.get("en", 1):
            return state
        return {"q": 0 if self._at(state["q"], i["m"]) else (state["q"] + 1) & mask(self.width)}

    def busy(self, role: str) -> float | None:
        return 0.85

    def common(self, role: str) -> tuple[int, ...]:
        return (0, 1, 3, 5)

    @property
    def cycles(self) -> int:
        return 300


FAMILIES = (
    Counter,
    ModCounter,
    LimitCounter,
)
