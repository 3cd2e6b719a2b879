"""Shift registers, and what is made of a chain of flip-flops."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.common import draw_enable, enable_fact, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class ShiftRegister(Clocked):
    """Serial in; out as a word or as its last bit; with enable and parallel load where wanted."""

    name: ClassVar[str] = "shift_register"
    width: int
    left: bool
    enable: bool
    load: bool
    serial: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        serial = rng.random() < 0.3
        return cls(
            Reset.draw(rng),
            rng.choice((3, 4, 4, 5, 6, 8, 8, 10, 12, 16)),
            rng.random() < 0.5,
            draw_enable(rng),
            rng.random() < 0.4,
            serial,
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (
            *((inp("en"),) if self.enable else ()),
            *((inp("load"), inp("d", self.width, "din")) if self.load else ()),
        )
        tail = (
            (out("so", 1, "bitout"), own("q", self.width, "state")) if self.serial else (out("q", self.width, "dout"),)
        )
        return (*self.head, *more, inp("x", 1, "bit"), *tail)

    def describe(self, n: Names, w: Words) -> Spec:
        size = self.width
        low, high = ("bit 0", f"bit {size - 1}")
        enters, leaves = (low, high) if self.left else (high, low)
        way = "left" if self.left else "right"
        name = n.q if not self.serial else "the register"
        quoted = f"`{n.q}`" if not self.serial else "the register"
        facts = [
            w.say(
                f"{w.edge(n.clk)}, {quoted} is shifted {way} by one and `{n.x}` enters at {enters}",
                f"{quoted} shifts {way} by one bit {w.edge(n.clk)}; `{n.x}` enters at {enters}",
                f"`{n.x}` enters at {enters} {w.edge(n.clk)} and the other bits move {way} by one",
                held=f"each edge of `{n.clk}` pushes `{n.x}` in at {enters} and everything else {way}",
            )
        ]
        if self.load:
            facts.append(
                w.say(
                    f"When {w.one(n.load)}, {quoted} becomes `{n.d}` instead"
                    + (", whatever `" + n.en + "` is" if self.enable else ""),
                    f"`{n.load}` = 1 loads `{n.d}` into {quoted} at the edge and has priority",
                    held=f"`{n.load}` puts `{n.d}` into {quoted} and comes first",
                )
            )
        if self.enable:
            facts.append(
                w.say(
                    f"it shifts only when {w.one(n.en)}",
                    f"When {w.nought(n.en)}, there is no shift",
                    f"`{n.en}` enables the shift",
                    held=f"without `{n.en}` nothing moves",
                )
            )
        if self.serial:
            facts.append(
                w.say(
                    f"`{n.so}` is {leaves} of the register",
                    f"the output `{n.so}` is {leaves}, the last one",
                    held=f"`{n.so}` shows {leaves}",
                )
            )
        kind = "serial-in serial-out" if self.serial else "serial-in parallel-out"
        return Spec(
            noun=w.say(
                w.a(f"{size}-bit shift register{' with load' if self.load else ''}"),
                w.a(f"{size}-bit {kind} shift register"),
                f"a shift register of {size} bits",
                held=f"a row of {size} flip-flops",
            ),
            verb=w.say(
                f"shifts `{n.x}` into a {size}-bit register",
                f"shifts serial bits {way} through {size} places",
                held=f"passes bits along {size} flip-flops",
            ),
            facts=tuple(facts),
            reset=w.say(f"{quoted} is 0", f"all bits of {quoted} are 0" if self.serial else w.becomes(name, "0")),
        )

    def code(self, n: Names, s: Style) -> str:
        size, q = self.width, n.q
        rest = f"{q}[{size - 2}:0], {n.x}" if self.left else f"{n.x}, {q}[{size - 1}:1]"
        cases = [(n.load, [f"{q} <= {n.d};"])] if self.load else []
        cases.append((n.en if self.enable else "", [f"{q} <= {{{rest}}};"]))
        lines = s.clocked(self, n, [f"{q} <= {s.lit(size, 0)};"], cases)
        tail = [f"assign {n.so} = {q}[{size - 1 if self.left else 0}];"] if self.serial else []
        return s.module(n, self.pins, [*lines, *tail], ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        q = state["q"]
        return {"q": q, "so": q >> (self.width - 1) & 1 if self.left else q & 1}

    def step(self, state: State, i: Inputs) -> State:
        q = state["q"]
        if i.get("load"):
            return {"q": i["d"]}
        if not i.get("en", 1):
            return state
        return {"q": (q << 1 | i["x"]) & mask(self.width) if self.left else q >> 1 | i["x"] << (self.width - 1)}


@dataclass(frozen=True)
class DelayLine(Clocked):
    """A word that comes out some cycles later; of one bit it is a synchroniser."""

    name: ClassVar[str] = "delay_line"
    width: int
    depth: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng, optional=True), rng.choice((1, 1, 1, width(rng, most=16))), rng.choice((2, 2, 3, 3, 4))
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        stages = (own(f"s{k}", self.width, f"reg{k}") for k in range(1, self.depth))
        pool = "bit" if self.width == 1 else "din"
        return (
            *self.head,
            inp("d", self.width, pool),
            out("q", self.width, "clean" if self.width == 1 else "dout"),
            *stages,
        )

    def _chain(self, n: Names) -> list[str]:
        return [*(n[f"s{k}"] for k in range(1, self.depth)), n.q]

    def describe(self, n: Names, w: Words) -> Spec:
        depth = self.depth
        if self.width == 1:
            noun = w.say(
                f"a synchroniser of {depth} flip-flops",
                f"a {depth}-stage synchroniser",
                f"a chain of {depth} flip-flops",
                held=f"{depth} flip-flops in a row",
            )
            verb = w.say(
                f"synchronises `{n.d}` to `{n.clk}` with {depth} flip-flops",
                f"passes `{n.d}` through {depth} flip-flops",
                held=f"lets `{n.d}` wait for {depth} edges",
            )
        else:
            noun = w.say(
                f"a delay line of {depth} stages for {self.width}-bit words",
                w.a(f"{self.width}-bit pipeline of {depth} registers"),
                held=f"{depth} registers of {self.width} bits in a row",
            )
            verb = w.say(
                f"delays a {self.width}-bit word by {depth} clock cycles",
                f"passes `{n.d}` through {depth} registers",
                held=f"lets `{n.d}` wait for {depth} edges",
            )
        return Spec(
            noun=noun,
            verb=verb,
            facts=(
                w.say(
                    f"`{n.q}` is `{n.d}` delayed by {depth} rising edges of `{n.clk}`",
                    f"`{n.q}` shows what `{n.d}` was {depth} rising edges of `{n.clk}` ago: it is the last of {depth} registers in a chain",
                    f"`{n.d}` goes through {depth} registers in a chain; the last one is `{n.q}`",
                    held=f"after {depth} edges of `{n.clk}`, `{n.d}` arrives at `{n.q}`",
                ),
            ),
            reset=w.say(
                f"all {depth} registers are 0",
                f"all stages and `{n.q}` become 0",
                held=f"every one of the {depth} is 0",
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        chain = self._chain(n)
        moves = [f"{right} <= {left};" for left, right in zip([n.d, *chain], chain, strict=False)]
        reset = [f"{name} <= {s.lit(self.width, 0)};" for name in chain]
        return s.module(
            n, self.pins, s.clocked(self, n, reset, [("", moves)]), ["q", *(f"s{k}" for k in range(1, self.depth))]
        )

    def start(self) -> State:
        return {"chain": [None if self.reset.kind == "none" else 0] * self.depth}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["chain"][-1]}

    def step(self, state: State, i: Inputs) -> State:
        return {"chain": [i["d"], *state["chain"][:-1]]}


@dataclass(frozen=True)
class EdgeDetector(Clocked):
    """A pulse for a rise, a fall or any change of an input, at once or from a register."""

    name: ClassVar[str] = "edge_detector"
    kind: str
    registered: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice(("rise", "fall", "any")), rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, inp("x", 1, "bit"), out("y", 1, "pulse"), own("last", 1, "reg1"))

    def describe(self, n: Names, w: Words) -> Spec:
        words = {"rise": "rising edge", "fall": "falling edge", "any": "change"}[self.kind]
        change = {"rise": "is 1 and was 0", "fall": "is 0 and was 1", "any": "differs from what it was"}[self.kind]
        if self.registered:
            fact = w.say(
                f"{w.edge(n.clk)}, `{n.y}` becomes 1 when `{n.x}` {change} at the edge before, otherwise 0",
                f"`{n.y}` is a register: it becomes 1 for one cycle after an edge at which `{n.x}` {change} at the previous edge",
                held=f"after each edge, `{n.y}` tells if `{n.x}` {change} one edge earlier",
            )
        else:
            fact = w.say(
                f"`{n.y}` is 1 while `{n.x}` {change} at the last rising edge of `{n.clk}`; it follows `{n.x}` at once",
                f"`{n.y}` is combinational: 1 when `{n.x}` {change} at the previous rising edge of `{n.clk}`",
                held=f"without delay, `{n.y}` tells if `{n.x}` {change} at the last edge of `{n.clk}`",
            )
        extra = f" and the stored value of `{n.x}` is 0"
        return Spec(
            noun=w.say(
                w.a(f"{words} detector"),
                f"a detector for a {words} of `{n.x}`",
                f"a circuit that finds each {words} of its input",
                held=f"a watcher for each {words}",
            ),
            verb=w.say(
                f"detects a {words} of `{n.x}`",
                f"gives a pulse for each {words} of `{n.x}`",
                held=f"reports each {words} of its input",
            ),
            facts=(fact,),
            reset=(f"`{n.y}` is 0{extra}" if self.registered else extra.removeprefix(" and ")),
        )

    def code(self, n: Names, s: Style) -> str:
        text = {"rise": f"{n.x} & ~{n.last}", "fall": f"~{n.x} & {n.last}", "any": f"{n.x} ^ {n.last}"}[self.kind]
        if not self.registered:
            lines = s.clocked(self, n, [f"{n.last} <= 1'b0;"], [("", [f"{n.last} <= {n.x};"])])
            return s.module(n, self.pins, [*lines, f"assign {n.y} = {text};"], ["last"])
        lines = s.clocked(
            self, n, [f"{n.last} <= 1'b0;", f"{n.y} <= 1'b0;"], [("", [f"{n.last} <= {n.x};", f"{n.y} <= {text};"])]
        )
        return s.module(n, self.pins, lines, ["last", "y"])

    def start(self) -> State:
        return {"last": 0, "y": 0}

    def _found(self, last: int, x: int) -> int:
        return int({"rise": (0, 1), "fall": (1, 0)}.get(self.kind) == (last, x) or (self.kind == "any" and last != x))

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": state["y"] if self.registered else self._found(state["last"], i["x"])}

    def step(self, state: State, i: Inputs) -> State:
        return {"last": i["x"], "y": self._found(state["last"], i["x"])}


@dataclass(frozen=True)
class Lfsr(Clocked):
    """A feedback shift register with literal taps, Fibonacci (shift left) or Galois (shift right)."""

    name: ClassVar[str] = "lfsr"
    width: int
    galois: bool
    taps: tuple[int, ...]
    init: int
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice((3, 4, 5, 6, 7, 8, 8, 10, 12, 16))
        taps = tuple(
            sorted({size - 1, *rng.sample(range(size - 1), rng.choice((1, 1, 2, 3)) if size > 4 else 1)}, reverse=True)
        )
        return cls(
            Reset.draw(rng),
            size,
            rng.random() < 0.5,
            taps,
            rng.choice((1, 1, mask(size), rng.randint(1, mask(size)))),
            draw_enable(rng),
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.head, *((inp("en"),) if self.enable else ()), out("q", self.width, "state"))

    @property
    def _mask(self) -> int:
        return sum(1 << tap for tap in self.taps)

    def describe(self, n: Names, w: Words) -> Spec:
        size = self.width
        if self.galois:
            value = f"0x{self._mask:0{(size + 3) // 4}X}"
            step = w.say(
                f"`{n.q}` is shifted right by one with 0 entering at bit {size - 1}; if the bit that left at bit 0 was 1, the result is XORed with {value}",
                f"one step shifts `{n.q}` right by one, 0 enters at the top, and when the old bit 0 was 1 the shifted value is combined with {value} by exclusive-or",
                held=f"`{n.q}` goes right by one, and a 1 that falls out flips the bits of {value}",
            )
        else:
            taps = ", ".join(str(tap) for tap in self.taps[:-1]) + f" and {self.taps[-1]}"
            step = w.say(
                f"`{n.q}` is shifted left by one and the XOR of its bits {taps} enters at bit 0",
                f"the new bit 0 of `{n.q}` is the XOR of the old bits {taps}, and all other bits move up by one",
                f"one step shifts `{n.q}` left; the feedback into bit 0 is the exclusive-or of bits {taps}",
                held=f"bits {taps} of `{n.q}`, added modulo 2, come in at bit 0 while the rest goes left",
            )
        kind = "Galois" if self.galois else "Fibonacci"
        return Spec(
            noun=w.say(
                w.a(f"{size}-bit linear feedback shift register"),
                w.a(f"{size}-bit {kind} LFSR"),
                w.a(f"{size}-bit LFSR of the {kind} kind"),
                held=f"a pseudo-random register of {size} bits",
            ),
            verb=w.say(
                f"steps a {size}-bit {kind} LFSR", "generates pseudo-random words", held=f"makes noise of {size} bits"
            ),
            facts=(f"{w.edge(n.clk)}: {step}", *((enable_fact(n.en, n.q, w),) if self.enable else ())),
            reset=w.say(f"`{n.q}` is {self.init}", w.becomes(n.q, str(self.init))),
        )

    def code(self, n: Names, s: Style) -> str:
        size, q = self.width, n.q
        if self.galois:
            text = f"{{1'b0, {q}[{size - 1}:1]}} ^ ({q}[0] ? {size}'h{self._mask:0{(size + 3) // 4}X} : {size}'d0)"
        else:
            text = f"{{{q}[{size - 2}:0], " + " ^ ".join(f"{q}[{tap}]" for tap in self.taps) + "}"
        cases = [(n.en if self.enable else "", [f"{q} <= {text};"])]
        return s.module(n, self.pins, s.clocked(self, n, [f"{q} <= {size}'d{self.init};"], cases), ["q"])

    def start(self) -> State:
        return {"q": self.init}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        q = state["q"]
        if not i.get("en", 1):
            return state
        if self.galois:
            return {"q": q >> 1 ^ (self._mask if q & 1 else 0)}
        return {"q": (q << 1 | sum(q >> tap & 1 for tap in self.taps) % 2) & mask(self.width)}


FAMILIES = (
    ShiftRegister,
    DelayLine,
    EdgeDetector,
    Lfsr,
)
