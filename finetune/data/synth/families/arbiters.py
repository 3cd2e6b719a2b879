"""Arbiters."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import (
    Clocked,
    Inputs,
    Names,
    Outputs,
    Pin,
    Reset,
    Spec,
    State,
    inp,
    mask,
    out,
    own,
)
from finetune.data.synth.families.common import Expressions
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

_SIZES = (4, 8, 8, 12, 16, 16, 32)


@dataclass(frozen=True)
class FixedArbiter(Expressions):
    """One grant to the lowest or highest request."""

    name: ClassVar[str] = "fixed_arbiter"
    width: int
    low: bool
    any: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((2, 3, 4, 4, 5, 6, 8)), rng.random() < 0.6, rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            inp("r", self.width, "req"),
            out("g", self.width, "grant"),
            *((out("v", 1, "any"),) if self.any else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        end = "lowest" if self.low else "highest"
        bit = 0 if self.low else self.width - 1
        facts = [
            w.say(
                f"`{n.g}` has a single 1, at the {end} set bit of `{n.r}`; it is 0 when `{n.r}` is 0",
                f"the {end} request that is 1 gets its bit of `{n.g}`, all other grants are 0",
                f"bit {bit} of `{n.r}` has the highest priority; only the winner's bit of `{n.g}` is 1",
                held=f"of `{n.r}`, nothing but the {end} one survives in `{n.g}`",
            )
        ]
        if self.any:
            facts.append(
                w.say(
                    f"`{n.v}` is 1 when there is any request",
                    f"`{n.v}` is 1 when `{n.r}` is not 0",
                    held=f"`{n.v}` tells that somebody asks",
                )
            )
        return Spec(
            noun=w.say(
                f"a fixed priority arbiter for {self.width} requests",
                w.a(f"{self.width}-way arbiter with fixed priorities"),
                held=f"a judge between {self.width} requests",
            ),
            verb=w.say(
                f"grants one of {self.width} requests by fixed priority",
                f"chooses the {end} of {self.width} requests",
                held=f"decides between {self.width} requests",
            ),
            facts=tuple(facts),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {}

    def code(self, n: Names, s: Style) -> str:
        tail = [f"assign {n.v} = |{n.r};"] if self.any else []
        if self.low and s.alt(2) == 0:
            return s.module(n, self.pins, [f"assign {n.g} = {n.r} & (~{n.r} + {self.width}'d1);", *tail])
        order = range(self.width) if self.low else range(self.width - 1, -1, -1)
        cases: list[Case] = [(f"{n.r}[{k}]", [f"{n.g} = {self.width}'b{1 << k:0{self.width}b};"]) for k in order]
        block = s.comb(s.chain([*cases, ("", [f"{n.g} = {self.width}'b{0:0{self.width}b};"])]))
        return s.module(n, self.pins, [*block, *tail], ["g"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        r = i["r"]
        g = r & -r if self.low else (1 << r.bit_length() >> 1)
        return {"g": g & mask(self.width), "v": int(r != 0)}


@dataclass(frozen=True)
class TurnArbiter(Clocked):
    """Two requests that take turns."""

    name: ClassVar[str] = "turn_arbiter"
    first: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice((0, 1)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, inp("r", 2, "req"), out("g", 2, "grant"), own("last", 1, "ptr"))

    def describe(self, n: Names, w: Words) -> Spec:
        return Spec(
            noun=w.say(
                "a round-robin arbiter for two requests",
                "a fair arbiter of two requests",
                held="a judge that alternates between two",
            ),
            verb=w.say(
                "grants two requests in turn",
                "arbitrates fairly between two requests",
                held="alternates between two that ask",
            ),
            facts=(
                w.say(
                    f"`{n.g}` is combinational: a single request is granted at once, and without a request `{n.g}` is 0",
                    f"when only one bit of `{n.r}` is 1, `{n.g}` equals `{n.r}`; with none it is 0",
                    held=f"who asks alone gets `{n.g}`",
                ),
                w.say(
                    "when both ask, the one that was not granted at the last edge with a grant wins",
                    f"with both bits of `{n.r}` set, the bit of `{n.g}` goes to the one that was not served last",
                    held="if both ask, it is the turn of the other one",
                ),
                w.say(
                    f"{w.edge(n.clk)} with a grant, its index is stored",
                    f"the last winner is remembered {w.edge(n.clk)} at which `{n.g}` is not 0",
                    held=f"edges of `{n.clk}` with a grant note who it was",
                ),
            ),
            reset=w.say(
                f"request {1 - self.first} counts as served last",
                f"the stored index is {1 - self.first}, so request {self.first} wins first",
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        pick = f"({n.last} ? 2'b01 : 2'b10)"
        lines = s.clocked(
            self, n, [f"{n.last} <= 1'b{1 - self.first};"], [(f"{n.g} != 2'b00", [f"{n.last} <= {n.g}[1];"])]
        )
        return s.module(n, self.pins, [f"assign {n.g} = ({n.r} == 2'b11) ? {pick} : {n.r};", *lines], ["last"])

    def start(self) -> State:
        return {"last": 1 - self.first}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"g": (1 << 1 - state["last"]) if i["r"] == 3 else i["r"]}

    def step(self, state: State, i: Inputs) -> State:
        g = self.outs(state, i)["g"]
        return {"last": int(g == 2)} if g else state


FAMILIES = (
    FixedArbiter,
    TurnArbiter,
)
