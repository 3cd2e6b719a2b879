"""Numbers in other codes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out
from finetune.data.synth.families.common import Expressions, const_width, width
from finetune.data.synth.style import Style, indent
from finetune.data.synth.words import Words

# Name, operator of Verilog, whether the result is inverted.


@dataclass(frozen=True)
class PopCount(Expressions):
    """Number of ones, or of zeros."""

    name: ClassVar[str] = "popcount"
    width: int
    zeros: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng, least=3), rng.random() < 0.25)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width, "din"), out("y", const_width(self.width), "count")

    def describe(self, n: Names, w: Words) -> Spec:
        what, bit = ("zeros", 0) if self.zeros else ("ones", 1)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {'zero' if self.zeros else 'population'} counter"),
                f"a counter of the {what} in a {self.width}-bit word",
                held=f"a tally of {what} among {self.width} bits",
            ),
            verb=w.say(
                f"counts the {what} in a {self.width}-bit word",
                f"counts the bits of `{n.a}` that are {bit}",
                held=f"adds up the {what} of `{n.a}`",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is the number of {what} in `{n.a}`",
                    f"`{n.y}` is the number of bits of `{n.a}` that are {bit}",
                    f"`{n.y}` says how many bits of `{n.a}` are {bit}, 0 to {self.width}",
                    held=f"`{n.y}` tallies the bits of `{n.a}` which are {bit}",
                ),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {}

    def code(self, n: Names, s: Style) -> str:
        add = f"{'~' if self.zeros else ''}{n.a}[i]"
        bits = const_width(self.width)
        text = f"{{{f'{bits - 1}' + chr(39)}d0, {add}}}" if self.zeros else add
        loop = [
            f"{n.y} = {s.lit(bits, 0)};",
            s.loop(self.width),
            f"    {n.y} = {n.y} + {text};",
        ]
        return s.module(n, self.pins, [*s.index, *s.comb(loop)], ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        ones = i["a"].bit_count()
        return {"y": self.width - ones if self.zeros else ones}


def from_gray(number: str, code: str, width: int, s: Style) -> list[str]:
    """A block that makes a number of its Gray code, and what it declares."""
    loop = [
        f"{number}[{width - 1}] = {code}[{width - 1}];",
        s.loop(width - 1, down=True),
        f"    {number}[i] = {number}[i + 1] ^ {code}[i];",
    ]
    # Icarus does not read a constant select in always_comb bit by bit, and says so.
    return [*s.index, "always @* begin", *indent(loop), "end"]


@dataclass(frozen=True)
class Gray(Expressions):
    """Binary to Gray code, or back."""

    name: ClassVar[str] = "gray"
    width: int
    back: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng, most=16), rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width, "din"), out("y", self.width, "dout")

    def describe(self, n: Names, w: Words) -> Spec:
        here, there = ("Gray code", "binary") if self.back else ("binary", "Gray code")
        how = (
            w.say(
                f"Bit k of `{n.y}` is the XOR of the bits of `{n.a}` from k upwards",
                f"The top bits are equal; every other bit of `{n.y}` is the XOR of the same bit of `{n.a}` and the next higher bit of `{n.y}`",
                held=f"Each bit of `{n.y}` sums the higher bits of `{n.a}` modulo 2",
            )
            if self.back
            else w.say(
                f"`{n.y}` is `{n.a}` XOR `{n.a}` shifted right by one",
                f"The top bits are equal; every other bit of `{n.y}` is the XOR of the same and the next higher bit of `{n.a}`",
                held=f"Each bit of `{n.y}` says whether neighbours in `{n.a}` differ",
            )
        )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit converter from {here} to {there}"),
                f"a converter of {here} to {there}, {self.width} bits wide",
                held=f"a {there} maker for {self.width}-bit {here}",
            ),
            verb=w.say(
                f"converts a {self.width}-bit word from {here} to {there}",
                f"turns the {here} `{n.a}` into {there}",
                held=f"makes {there} of {here}",
            ),
            facts=(
                w.say(
                    f"`{n.a}` is in {here}, `{n.y}` is the same number in {there}",
                    f"`{n.y}` is the {there} of the {here} `{n.a}`",
                ),
                how,
            )[w.rng.choice((0, 0, 1)) :],
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {"y": f"{n.a} ^ ({n.a} >> 1)"}

    def code(self, n: Names, s: Style) -> str:
        if not self.back:
            return super().code(n, s)
        return s.module(n, self.pins, from_gray(n.y, n.a, self.width, s), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, value = i["a"], i["a"]
        if not self.back:
            return {"y": a ^ a >> 1}
        while a:
            a >>= 1
            value ^= a
        return {"y": value}


@dataclass(frozen=True)
class Thermometer(Expressions):
    """A number as so many ones from the bottom."""

    name: ClassVar[str] = "thermometer"
    bits: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((2, 3, 4)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.bits, "count"), out("y", mask(self.bits), "dout")

    def describe(self, n: Names, w: Words) -> Spec:
        lines = mask(self.bits)
        return Spec(
            noun=w.say(
                f"a {self.bits}-bit binary to thermometer converter",
                f"a thermometer coder with {lines} outputs",
                held=f"a bar of {lines} lamps",
            ),
            verb=w.say(
                f"turns a {self.bits}-bit number into a thermometer code",
                f"shows `{n.a}` as a bar of ones",
                held=f"lights as many lines as `{n.a}` says",
            ),
            facts=(
                w.say(
                    f"The lowest `{n.a}` bits of `{n.y}` are 1, all others are 0",
                    f"Bit k of `{n.y}` is 1 when k is less than `{n.a}`",
                    f"`{n.y}` has ones in bits 0 up to `{n.a}` - 1 and zeros above; it is 0 when `{n.a}` is 0",
                    held=f"From the bottom, `{n.a}` bits of `{n.y}` are set",
                ),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        wide = mask(self.bits) + 1
        return {"y": f"({wide}'d1 << {n.a}) - {wide}'d1"}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": mask(i["a"])}


FAMILIES = (
    PopCount,
    Gray,
    Thermometer,
)
