"""Registers and flags."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.common import draw_enable, enable_fact, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Register(Clocked):
    """A word taken over at the clock edge, with enable and synchronous clear where wanted."""

    name: ClassVar[str] = "register"
    width: int
    enable: bool
    clear: bool
    init: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice((1, width(rng), width(rng), width(rng)))
        init = rng.choice((0, 0, 0, 1, mask(size), rng.getrandbits(size)))
        reset = Reset.draw(rng, optional=True)
        return cls(reset, size, draw_enable(rng), rng.random() < 0.25, 0 if reset.kind == "none" else init & mask(size))

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (*((inp("en"),) if self.enable else ()), *((inp("clear"),) if self.clear else ()))
        return (*self.head, *more, inp("d", self.width, "din"), out("q", self.width, "dout"))

    def describe(self, n: Names, w: Words) -> Spec:
        facts = [
            w.say(
                f"{w.edge(n.clk)}, {w.becomes(n.q, f'`{n.d}`')}",
                f"`{n.q}` takes the value of `{n.d}` {w.edge(n.clk)}",
                f"`{n.d}` is stored in `{n.q}` {w.edge(n.clk)}",
                held=f"`{n.clk}` moves `{n.d}` into `{n.q}` when it rises",
            )
        ]
        facts += [enable_fact(n.en, n.q, w)] if self.enable else []
        if self.clear:
            facts.append(
                w.say(
                    f"When {w.one(n.clear)} at the edge, {w.becomes(n.q, '0')}"
                    + (f", whatever `{n.en}` is" if self.enable else ""),
                    f"`{n.clear}` is a synchronous clear to 0"
                    + (" that does not need the enable" if self.enable else ""),
                    held=f"`{n.clear}` empties `{n.q}` at the edge"
                    + (f" and wins over `{n.en}`" if self.enable else ""),
                )
            )
        extra = " with enable" if self.enable else ""
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit register{extra}"),
                w.a(f"{self.width}-bit D flip-flop register{extra}"),
                f"a register of {self.width} bit{'s' if self.width > 1 else ''}{extra}",
                held=w.a(f"{self.width}-bit storage cell{extra}"),
            ),
            verb=w.say(
                f"stores a {self.width}-bit word",
                f"stores `{n.d}` in a register{extra}",
                held=f"remembers a {self.width}-bit word",
            ),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is {self.init}", w.becomes(n.q, str(self.init))),
        )

    def code(self, n: Names, s: Style) -> str:
        cases = [(n.clear, [f"{n.q} <= {s.lit(self.width, 0)};"])] if self.clear else []
        cases.append((n.en if self.enable else "", [f"{n.q} <= {n.d};"]))
        return s.module(n, self.pins, s.clocked(self, n, [f"{n.q} <= {s.lit(self.width, self.init)};"], cases), ["q"])

    def start(self) -> State:
        return {"q": None if self.reset.kind == "none" else self.init}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if i.get("clear"):
            return {"q": 0}
        return {"q": i["d"]} if i.get("en", 1) else state


@dataclass(frozen=True)
class Toggle(Clocked):
    """A bit that turns over."""

    name: ClassVar[str] = "toggle"
    init: int
    edge: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice((0, 0, 1)), rng.random() < 0.3)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            inp("t", 1, "trigger"),
            out("q", 1, "bitout"),
            *((own("last", 1, "reg1"),) if self.edge else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        if self.edge:
            fact = w.say(
                f"{w.edge(n.clk)}, `{n.q}` is inverted when `{n.t}` is 1 and was 0 at the edge before",
                f"`{n.q}` changes once for every rise of `{n.t}` from 0 to 1, seen at clock edges",
                held=f"each new 1 of `{n.t}` turns `{n.q}` over",
            )
        else:
            fact = w.say(
                f"{w.edge(n.clk)}, `{n.q}` is inverted when {w.one(n.t)} and keeps its value when {w.nought(n.t)}",
                f"`{n.q}` changes to the other value {w.edge(n.clk)} with `{n.t}` = 1",
                f"When {w.one(n.t)} at the clock edge, `{n.q}` toggles; otherwise {w.keeps(n.q)}",
                held=f"`{n.t}` turns `{n.q}` over at the edge",
            )
        extra = f"; the earlier value of `{n.t}` counts as 0" if self.edge else ""
        return Spec(
            noun=w.say("a toggle flip-flop", "a T flip-flop", "a flip-flop that toggles", held="a bit that turns over"),
            verb=w.say(f"toggles `{n.q}`", "toggles its output", held="turns a bit over"),
            facts=(fact,),
            reset=w.say(f"`{n.q}` is {self.init}", w.becomes(n.q, str(self.init))) + extra,
        )

    def code(self, n: Names, s: Style) -> str:
        reset = [f"{n.q} <= 1'b{self.init};"]
        if not self.edge:
            lines = s.clocked(self, n, reset, [(n.t, [f"{n.q} <= {s.inverted(n.q)};"])])
            return s.module(n, self.pins, lines, ["q"])
        cases = [("", [f"{n.last} <= {n.t};", f"if ({n.t} && !{n.last})", f"    {n.q} <= {s.inverted(n.q)};"])]
        return s.module(n, self.pins, s.clocked(self, n, [*reset, f"{n.last} <= 1'b0;"], cases), ["q", "last"])

    def start(self) -> State:
        return {"q": self.init, "last": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        turn = i["t"] and not (self.edge and state["last"])
        return {"q": state["q"] ^ int(bool(turn)), "last": i["t"]}


@dataclass(frozen=True)
class SetReset(Clocked):
    """A flag that one input sets and another clears."""

    name: ClassVar[str] = "set_clear"
    set_wins: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, inp("on", 1, "trigger"), inp("off", 1, "clear"), out("q", 1, "flag"))

    def describe(self, n: Names, w: Words) -> Spec:
        first, second = (n.on, n.off) if self.set_wins else (n.off, n.on)
        values = {n.on: 1, n.off: 0}
        rules = (
            (w.one(first), w.becomes(n.q, str(values[first]))),
            (w.one(second), w.becomes(n.q, str(values[second]))),
            ("", w.keeps(n.q)),
        )
        as_rules = w.rng.random() < 0.5
        facts = (
            w.say(
                f"{w.edge(n.clk)}, `{n.on}` sets `{n.q}` to 1 and `{n.off}` clears it to 0; when both are 1, `{first}` wins",
                f"`{n.q}` becomes 1 when {w.one(n.on)} at a clock edge and 0 when {w.one(n.off)}; `{first}` has priority",
                f"`{n.on}` = 1 sets `{n.q}`, `{n.off}` = 1 clears it, both at the clock edge; with both at once `{n.q}` becomes {values[first]}",
                held=f"`{n.on}` raises `{n.q}`, `{n.off}` lowers it, and `{first}` is the stronger one",
            ),
        )
        return Spec(
            noun=w.say(
                "a set and clear flip-flop",
                "a flag with set and clear",
                "a synchronous SR flip-flop",
                held="a latch-like flag with a clock",
            ),
            verb=w.say(
                "keeps a flag that is set and cleared",
                f"sets and clears `{n.q}`",
                held="remembers that something happened",
            ),
            facts=() if as_rules else facts,
            rules=rules if as_rules else (),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        cases = [(n.on, [f"{n.q} <= 1'b1;"]), (n.off, [f"{n.q} <= 1'b0;"])]
        lines = s.clocked(self, n, [f"{n.q} <= 1'b0;"], cases if self.set_wins else cases[::-1])
        return s.module(n, self.pins, lines, ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        if i["on"] and i["off"]:
            return {"q": int(self.set_wins)}
        return {"q": 1} if i["on"] else {"q": 0} if i["off"] else state


FAMILIES = (
    Register,
    Toggle,
    SetReset,
)
