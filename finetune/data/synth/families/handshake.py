"""Registers with a handshake."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.families.common import width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Stage(Clocked):
    """A pipeline register with valid and ready."""

    name: ClassVar[str] = "handshake_stage"
    width: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), width(rng))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head, inp("iv", 1, "valid"), out("ir", 1, "ready"), inp("d", self.width, "din"),
            out("ov", 1, "flag2"), inp("rdy", 1, "re"), out("q", self.width, "dout"),
        )  # fmt: skip

    def describe(self, n: Names, w: Words) -> Spec:
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit pipeline stage with valid and ready"),
                w.a(f"{self.width}-bit register with a handshake on both sides"),
                held=f"a box for one {self.width}-bit word",
            ),
            verb=w.say(
                f"holds one {self.width}-bit word between two handshakes",
                "passes words on with valid and ready",
                held="stores a word until it is fetched",
            ),
            facts=(
                w.say(
                    f"`{n.ir}` is 1 when `{n.ov}` is 0 or `{n.rdy}` is 1",
                    f"`{n.ir}` is combinational: not `{n.ov}`, or `{n.rdy}`",
                    held=f"`{n.ir}` says that the place is free or becomes free",
                ),
                w.say(
                    f"{w.edge(n.clk)} with `{n.ir}` = 1, `{n.ov}` becomes `{n.iv}`, and if `{n.iv}` is 1, `{n.q}` becomes `{n.d}`",
                    f"when `{n.ir}` is 1 at a rising edge of `{n.clk}`, `{n.ov}` takes `{n.iv}`, and `{n.q}` takes `{n.d}` if `{n.iv}` is 1",
                    held=f"as long as `{n.ir}` allows it, each edge of `{n.clk}` moves `{n.iv}` to `{n.ov}` and, with it, `{n.d}` to `{n.q}`",
                ),
                w.say(
                    f"When `{n.ir}` is 0, both keep their values",
                    f"otherwise `{n.ov}` and `{n.q}` do not change",
                    held="else nothing moves",
                ),
            ),
            reset=w.say(f"`{n.ov}` and `{n.q}` are 0", f"`{n.ov}` and `{n.q}` become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        inner = [f"{n.ov} <= {n.iv};", f"if ({n.iv})", f"    {n.q} <= {n.d};"]
        lines = s.clocked(self, n, [f"{n.ov} <= 1'b0;", f"{n.q} <= {s.lit(self.width, 0)};"], [(n.ir, inner)])
        return s.module(n, self.pins, [f"assign {n.ir} = {s.inverted(n.ov)} || {n.rdy};", *lines], ["ov", "q"])

    def start(self) -> State:
        return {"ov": 0, "q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"ov": state["ov"], "q": state["q"], "ir": int(not state["ov"] or i["rdy"])}

    def step(self, state: State, i: Inputs) -> State:
        if state["ov"] and not i["rdy"]:
            return state
        return {"ov": i["iv"], "q": i["d"] if i["iv"] else state["q"]}


@dataclass(frozen=True)
class ValidPipe(Clocked):
    """A combinational result in a register, with its valid bit beside it."""

    name: ClassVar[str] = "valid_pipe"
    width: int
    kind: str
    keep: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), width(rng, most=16), rng.choice(("add", "sub", "and", "or", "xor")), rng.random() < 0.6
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            inp("v", 1, "valid"),
            inp("a", self.width),
            inp("b", self.width),
            out("ov", 1, "flag"),
            out("y", self.width),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        text = {
            "add": f"`{n.a}` + `{n.b}`",
            "sub": f"`{n.a}` - `{n.b}`",
            "and": f"`{n.a}` AND `{n.b}`",
            "or": f"`{n.a}` OR `{n.b}`",
            "xor": f"`{n.a}` XOR `{n.b}`",
        }[self.kind]
        only = f" when {w.one(n.v)}" if self.keep else ""
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.y}` becomes {text}{only}",
                f"`{n.y}` takes {text} {w.edge(n.clk)}{only}",
                held=f"each edge of `{n.clk}` puts {text} into `{n.y}`{only}",
            ),
            w.say(
                f"`{n.ov}` is `{n.v}` delayed by one clock cycle",
                f"{w.edge(n.clk)}, `{n.ov}` becomes `{n.v}`",
                held=f"`{n.ov}` follows `{n.v}` one edge later",
            ),
        ]
        if self.keep:
            facts.append(w.say(f"When {w.nought(n.v)}, {w.keeps(n.y)}", held=f"without `{n.v}`, {w.keeps(n.y)}"))
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit registered {self.kind} unit with a valid bit"),
                f"a one-stage pipeline for {text}",
                held=f"a clocked unit for {text}",
            ),
            verb=w.say(
                f"computes {text} in one clock cycle",
                f"registers {text} with its valid bit",
                held=f"delivers {text} one edge later",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.ov}` and `{n.y}` are 0", f"`{n.ov}` and `{n.y}` become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        sign = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}[self.kind]
        write = f"{n.y} <= {n.a} {sign} {n.b};"
        inner = [f"{n.ov} <= {n.v};", *([f"if ({n.v})", f"    {write}"] if self.keep else [write])]
        return s.module(
            n,
            self.pins,
            s.clocked(self, n, [f"{n.ov} <= 1'b0;", f"{n.y} <= {s.lit(self.width, 0)};"], [("", inner)]),
            ["ov", "y"],
        )

    def start(self) -> State:
        return {"ov": 0, "y": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return dict(state)

    def step(self, state: State, i: Inputs) -> State:
        a, b = i["a"], i["b"]
        value = {"add": a + b, "sub": a - b, "and": a & b, "or": a | b, "xor": a ^ b}[self.kind] & mask(self.width)
        return {"ov": i["v"], "y": value if i["v"] or not self.keep else state["y"]}


FAMILIES = (
    Stage,
    ValidPipe,
)
