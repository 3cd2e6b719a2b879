"""Combinational designs that choose, code and decode."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out
from finetune.data.synth.families.common import const_width, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Mux2(Family):
    """One of two words; ``first`` is the value of the select input that chooses ``a``."""

    name: ClassVar[str] = "mux2"
    width: int
    first: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.choice((0, 0, 1)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width), inp("b", self.width), inp("sel"), out("y", self.width)

    def describe(self, n: Names, w: Words) -> Spec:
        zero, one = (n.a, n.b) if self.first == 0 else (n.b, n.a)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit 2-to-1 multiplexer"),
                f"a 2:1 multiplexer, {self.width} bits wide",
                f"a multiplexer for two {self.width}-bit words",
                held=f"a two-way selector of {self.width}-bit words",
            ),
            verb=w.say(
                f"selects one of two {self.width}-bit words",
                f"chooses between `{n.a}` and `{n.b}`, {self.width} bits each",
                f"passes one of two {self.width}-bit inputs on to `{n.y}`",
                held=f"routes one of two {self.width}-bit words",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is `{zero}` when {w.nought(n.sel)} and `{one}` when {w.one(n.sel)}",
                    f"When {w.one(n.sel)}, `{n.y}` is `{one}`; otherwise it is `{zero}`",
                    f"`{n.sel}` = 0 selects `{zero}`, `{n.sel}` = 1 selects `{one}`",
                    f"If {w.nought(n.sel)} the output is `{zero}`, else `{one}`",
                    held=f"The output comes from `{one}` if {w.one(n.sel)}, and from `{zero}` if not",
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        zero, one = (n.a, n.b) if self.first == 0 else (n.b, n.a)
        if not s.block:
            return s.module(n, self.pins, [f"assign {n.y} = {n.sel} ? {one} : {zero};"])
        lines = s.chain([(n.sel, [f"{n.y} = {one};"]), ("", [f"{n.y} = {zero};"])])
        return s.module(n, self.pins, s.comb(lines), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": i["a"] if i["sel"] == self.first else i["b"]}


@dataclass(frozen=True)
class MuxN(Family):
    """One of three or four words by a two-bit select input; of three, the last one also answers to 3."""

    name: ClassVar[str] = "mux_n"
    width: int
    count: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.choice((3, 4, 4)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        pools = ("a", "b", "c", "din")[: self.count]
        return (*(inp(f"i{k}", self.width, pool) for k, pool in enumerate(pools)), inp("sel", 2), out("y", self.width))

    def _inputs(self, n: Names) -> list[str]:
        return [n[f"i{k}"] for k in range(self.count)]

    def describe(self, n: Names, w: Words) -> Spec:
        names = self._inputs(n)
        listed = [f"`{n.sel}` = {k} selects `{name}`" for k, name in enumerate(names)]
        plain = [f"`{name}` for {k}" for k, name in enumerate(names)]
        extra = [f"`{n.sel}` = 3 selects `{names[2]}` too"] if self.count == 3 else []
        order = ", ".join(f"`{name}`" for name in names)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {self.count}-to-1 multiplexer"),
                f"a {self.count}:1 multiplexer, {self.width} bits wide",
                f"a multiplexer for {self.count} words of {self.width} bits",
                held=f"a {self.count}-way selector of {self.width}-bit words",
            ),
            verb=w.say(
                f"selects one of {self.count} words of {self.width} bits",
                f"drives `{n.y}` with one of {self.count} inputs of {self.width} bits",
                held=f"routes one of {self.count} words of {self.width} bits",
            ),
            facts=(
                w.say(
                    ", ".join(listed),
                    f"`{n.sel}` chooses what `{n.y}` shows: " + ", ".join(plain),
                    f"`{n.sel}` from 0 to {self.count - 1} selects {order}, in this order",
                    held=f"Counting from 0, `{n.sel}` points to one of {order}",
                ),
                *extra,
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        names = self._inputs(n)
        labels = [f"2'd{k}" for k in range(self.count - 1)]
        if s.ternary and not s.block and s.alt(2) == 1:
            arms = "".join(f"{n.sel} == {label} ? {name} : " for label, name in zip(labels, names, strict=False))
            return s.module(n, self.pins, [f"assign {n.y} = {arms}{names[-1]};"])
        cases = [(label, [f"{n.y} = {name};"]) for label, name in zip([*labels, ""], names, strict=True)]
        return s.module(n, self.pins, s.comb(s.case(n.sel, cases)), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": i[f"i{min(i['sel'], self.count - 1)}"]}


@dataclass(frozen=True)
class Decoder(Family):
    """Binary to one of many, with or without enable, outputs active high or low."""

    name: ClassVar[str] = "decoder"
    bits: int
    enable: bool
    low: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((1, 2, 2, 3, 3, 4)), rng.random() < 0.6, rng.random() < 0.3)

    @property
    def pins(self) -> tuple[Pin, ...]:
        head = (inp("a", self.bits, "index"),)
        return (*head, *((inp("en"),) if self.enable else ()), out("y", 1 << self.bits))

    def describe(self, n: Names, w: Words) -> Spec:
        lines = 1 << self.bits
        rest = f"all bits of `{n.y}` are {int(self.low)}"
        level = int(not self.low)
        return Spec(
            noun=w.say(
                w.a(f"{self.bits}-to-{lines} decoder"),
                f"a binary decoder with {lines} outputs",
                w.a(f"{self.bits}:{lines} line decoder"),
                held=f"a one-of-{lines} decoder",
            ),
            verb=w.say(
                f"decodes the {self.bits}-bit `{n.a}` into {lines} lines",
                f"turns `{n.a}` into {lines} select lines",
                held=f"makes one of {lines} lines active",
            ),
            facts=(
                w.say(
                    f"Bit `{n.a}` of `{n.y}` is {level} and all other bits are {1 - level}",
                    f"The bit of `{n.y}` whose index is `{n.a}` is {level}, the others are {1 - level}",
                    f"Exactly the output `{n.y}[{n.a}]` is {level}; the outputs are active {'low' if self.low else 'high'}",
                    held=f"`{n.a}` is the place of the only {level} in `{n.y}`",
                ),
                *(
                    (
                        w.say(
                            f"When {w.nought(n.en)}, {rest}",
                            f"`{n.en}` is an enable: while it is 0, {rest}",
                            f"Without `{n.en}` = 1 {rest}",
                            held=f"With `{n.en}` off, {rest}",
                        ),
                    )
                    if self.enable
                    else ()
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        lines = 1 << self.bits
        invert = "~" if self.low else ""
        if not s.block:
            one = f"{lines}'d1 << {n.a}"
            text = f"{n.en} ? {one} : {lines}'d0" if self.enable else one
            return s.module(
                n, self.pins, [f"assign {n.y} = {invert}({text});" if invert else f"assign {n.y} = {text};"]
            )
        idle = f"{{{lines}{{1'b1}}}}" if self.low else f"{lines}'d0"
        write = f"{n.y}[{n.a}] = 1'b{int(not self.low)};"
        body = [f"{n.y} = {idle};", *([f"if ({n.en})", f"    {write}"] if self.enable else [write])]
        return s.module(n, self.pins, s.comb(body), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        on = 1 << i["a"] if i.get("en", 1) else 0
        return {"y": on ^ mask(1 << self.bits) if self.low else on}


@dataclass(frozen=True)
class PriorityEncoder(Family):
    """Index of the highest or lowest bit that is set, and whether there is one."""

    name: ClassVar[str] = "priority_encoder"
    width: int
    high: bool
    any: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((4, 5, 6, 8, 8, 10, 12, 16)), rng.random() < 0.5, rng.random() < 0.7)

    @property
    def pins(self) -> tuple[Pin, ...]:
        pins = (inp("a", self.width, "req"), out("y", const_width(self.width - 1), "index"))
        return (*pins, out("v", 1, "any")) if self.any else pins

    def describe(self, n: Names, w: Words) -> Spec:
        end, significant = ("highest", "most") if self.high else ("lowest", "least")
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit priority encoder"),
                f"a priority encoder with {self.width} inputs",
                held=f"an encoder of {self.width} requests with priorities",
            ),
            verb=w.say(
                f"finds the {end} bit that is set in a {self.width}-bit word",
                f"gives the index of the {significant} significant 1 of `{n.a}`",
                f"encodes the {end} active bit of `{n.a}`",
                held=f"looks for the {end} one in `{n.a}`",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is the index of the {significant} significant set bit of `{n.a}`",
                    f"`{n.y}` is the index of the {end} bit of `{n.a}` that is 1",
                    f"The {end} set bit of `{n.a}` wins and its index stands at `{n.y}`",
                    held=f"`{n.y}` tells where the {end} one of `{n.a}` is",
                ),
                w.say(
                    f"When no bit of `{n.a}` is set, `{n.y}` is 0",
                    f"`{n.y}` is 0 when `{n.a}` is 0",
                    f"When `{n.a}` is zero, `{n.y}` is 0",
                    held=f"An empty `{n.a}` gives 0 on `{n.y}`",
                ),
                *((any_bit(n.v, n.a, w),) if self.any else ()),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        top = self.width - 1
        bits = const_width(top)
        loop = s.loop(self.width, down=not self.high)
        body = [f"{n.y} = {s.lit(bits, 0)};", loop, f"    if ({n.a}[i])", f"        {n.y} = i;"]
        tail = (
            [f"assign {n.v} = |{n.a};" if s.alt(2) == 0 else f"assign {n.v} = {n.a} != {s.lit(self.width, 0)};"]
            if self.any
            else []
        )
        return s.module(n, self.pins, [*s.index, *s.comb(body), *tail], ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = i["a"]
        index = a.bit_length() - 1 if self.high else (a & -a).bit_length() - 1
        return {"y": max(index, 0), "v": int(a != 0)} if self.any else {"y": max(index, 0)}


def any_bit(flag: str, word: str, w: Words) -> str:
    """A flag says that a word is not zero."""
    return w.say(
        f"`{flag}` is 1 when any bit of `{word}` is set, otherwise 0",
        f"`{flag}` is 1 when `{word}` is not 0",
        f"`{flag}` tells whether any bit of `{word}` is 1",
        f"`{flag}` is 1 exactly when `{word}` is not zero",
        held=f"`{flag}` is up unless `{word}` is empty",
    )


@dataclass(frozen=True)
class OneHotEncoder(Family):
    """One-hot to binary."""

    name: ClassVar[str] = "onehot_encoder"
    bits: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((2, 3, 4)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", 1 << self.bits, "req"), out("y", self.bits, "index")

    def describe(self, n: Names, w: Words) -> Spec:
        lines = 1 << self.bits
        return Spec(
            noun=w.say(
                f"a {lines}-to-{self.bits} encoder",
                f"a one-hot to binary encoder for {lines} lines",
                held=f"an encoder of {lines} lines",
            ),
            verb=w.say(
                f"turns a one-hot word of {lines} bits into an index",
                f"encodes the one-hot `{n.a}` in binary",
                held=f"numbers the line of {lines} that is active",
            ),
            facts=(
                w.say(
                    f"When exactly one bit of `{n.a}` is set, `{n.y}` is its index",
                    f"`{n.a}` is one-hot, and `{n.y}` is the index of its set bit",
                    f"For `{n.a}` = 1 << k, `{n.y}` is k",
                    held=f"`{n.y}` is the number of the only line of `{n.a}` that is 1",
                ),
                w.say(
                    f"For every other `{n.a}`, `{n.y}` is 0",
                    f"In all other cases `{n.y}` is 0",
                    held="Anything else gives 0",
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        lines = 1 << self.bits
        arms = [(f"{lines}'b{1 << k:0{lines}b}", [f"{n.y} = {self.bits}'d{k};"]) for k in range(lines)]
        return s.module(n, self.pins, s.comb(s.case(n.a, [*arms, ("", [f"{n.y} = {self.bits}'d0;"])])), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = i["a"]
        return {"y": a.bit_length() - 1 if a and a & (a - 1) == 0 else 0}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(1 << k for k in range(1 << self.bits))


@dataclass(frozen=True)
class Lookup(Family):
    """A small table of constants."""

    name: ClassVar[str] = "lookup"
    bits: int
    width: int
    values: tuple[int, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        bits, wide = rng.choice((2, 2, 3)), rng.choice((2, 3, 4, 5, 7, 8))
        return cls(bits, wide, tuple(rng.randrange(1 << wide) for _ in range(1 << bits)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.bits, "addr"), out("y", self.width)

    def describe(self, n: Names, w: Words) -> Spec:
        rows = [f"{k} gives {value}" for k, value in enumerate(self.values)]
        tabled = w.rng.random() < 0.6
        order = ", ".join(str(value) for value in self.values)
        return Spec(
            noun=w.say(
                f"a lookup table with {1 << self.bits} entries of {self.width} bits",
                f"a small ROM of {1 << self.bits} words",
                f"a constant table read by `{n.a}`",
                held=f"a list of {1 << self.bits} constants",
            ),
            verb=w.say(
                f"looks `{n.a}` up in a table",
                f"maps the {self.bits}-bit `{n.a}` to {self.width}-bit constants",
                held=f"translates `{n.a}` with a table",
            ),
            facts=(
                w.say(
                    f"`{n.y}` depends on `{n.a}` as the table says",
                    f"The table gives `{n.y}` for each `{n.a}`",
                    held=f"Read `{n.y}` off the table",
                )
                if tabled
                else w.say(
                    f"`{n.y}` as a function of `{n.a}`: {', '.join(rows)}",
                    f"For `{n.a}` from 0 to {len(self.values) - 1}, `{n.y}` is {order}, in this order",
                    held=f"Counting `{n.a}` up from 0, `{n.y}` runs through {order}",
                ),
            ),
            table=((f"`{n.a}`", f"`{n.y}`"), *((str(k), str(value)) for k, value in enumerate(self.values)))
            if tabled
            else (),
        )

    def code(self, n: Names, s: Style) -> str:
        arms = [(f"{self.bits}'d{k}", [f"{n.y} = {self.width}'d{value};"]) for k, value in enumerate(self.values)]
        arms[-1] = ("", arms[-1][1])
        return s.module(n, self.pins, s.comb(s.case(n.a, arms)), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": self.values[i["a"]]}


FAMILIES = (Mux2, MuxN, Decoder, PriorityEncoder, OneHotEncoder, Lookup)
