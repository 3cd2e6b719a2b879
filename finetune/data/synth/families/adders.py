"""Sums, differences and products."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out, own, signed
from finetune.data.synth.families.common import Expressions, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Adder(Family):
    """Sum of two words, with or without carries."""

    name: ClassVar[str] = "adder"
    width: int
    carry_in: bool
    carry_out: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice((1, width(rng), width(rng), width(rng))), rng.random() < 0.5, rng.random() < 0.6)

    @property
    def pins(self) -> tuple[Pin, ...]:
        head = (inp("a", self.width), inp("b", self.width), *((inp("cin"),) if self.carry_in else ()))
        return (*head, out("y", self.width, "sum"), *((out("cout"),) if self.carry_out else ()))

    def describe(self, n: Names, w: Words) -> Spec:
        terms = f"`{n.a}` + `{n.b}`" + (f" + `{n.cin}`" if self.carry_in else "")
        words = f"`{n.a}` and `{n.b}`" + (f" and the carry `{n.cin}`" if self.carry_in else "")
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit adder"),
                w.a(f"adder for {self.width}-bit words"),
                w.a(f"{self.width}-bit binary adder{' with carry in' if self.carry_in else ''}"),
                held=f"a circuit for sums of {self.width}-bit words",
            ),
            verb=w.say(
                f"adds two {self.width}-bit numbers",
                f"adds `{n.a}` and `{n.b}`",
                f"computes the sum of {words}",
                held=f"sums up {words}",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is the sum {terms}",
                    f"`{n.y}` holds the lowest {self.width} bit{'s' if self.width > 1 else ''} of {terms}",
                    f"`{n.y}` = {terms}, {self.width} bits",
                    f"The sum of {words} appears on `{n.y}`",
                    held=f"Adding {words} gives `{n.y}`",
                ),
                *(
                    (
                        w.say(
                            f"`{n.cout}` is the carry out",
                            f"`{n.cout}` is bit {self.width} of the sum",
                            f"`{n.cout}` is 1 when the sum does not fit into {self.width} bits",
                            f"`{n.cout}` is the carry that leaves the top bit",
                            held=f"what does not fit shows on `{n.cout}`",
                        ),
                    )
                    if self.carry_out
                    else ()
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        text = f"{n.a} + {n.b}" + (f" + {n.cin}" if self.carry_in else "")
        left = f"{{{n.cout}, {n.y}}}" if self.carry_out else n.y
        written = ["y", "cout"] if self.carry_out else ["y"]
        if s.block:
            return s.module(n, self.pins, s.comb([f"{left} = {text};"]), written)
        return s.module(n, self.pins, [f"assign {left} = {text};"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        total = i["a"] + i["b"] + i.get("cin", 0)
        return {"y": total & mask(self.width), "cout": total >> self.width}


@dataclass(frozen=True)
class Subtractor(Expressions):
    """Difference of two words, with or without borrow."""

    name: ClassVar[str] = "subtractor"
    width: int
    borrow: bool
    swapped: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.random() < 0.5, rng.random() < 0.2)

    @property
    def pins(self) -> tuple[Pin, ...]:
        pins = (inp("a", self.width), inp("b", self.width), out("y", self.width, "diff"))
        return (*pins, out("bo", 1, "cout")) if self.borrow else pins

    def _operands(self, n: Names) -> tuple[str, str]:
        return (n.b, n.a) if self.swapped else (n.a, n.b)

    def describe(self, n: Names, w: Words) -> Spec:
        left, right = self._operands(n)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit subtractor"),
                f"a subtractor for {self.width}-bit words",
                held=f"a circuit for differences of {self.width}-bit words",
            ),
            verb=w.say(
                f"subtracts two {self.width}-bit numbers",
                f"subtracts `{right}` from `{left}`",
                held=f"takes `{right}` away from `{left}`",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is `{left}` - `{right}`",
                    f"`{n.y}` is `{left}` minus `{right}`, {self.width} bits",
                    f"`{n.y}` is the difference `{left}` minus `{right}`",
                    f"`{right}` is subtracted from `{left}` and the result is `{n.y}`",
                    held=f"What remains of `{left}` without `{right}` is `{n.y}`",
                ),
                *(
                    (
                        w.say(
                            f"`{n.bo}` is 1 when there is a borrow, so when `{left}` is less than `{right}`",
                            f"`{n.bo}` is the borrow: 1 when `{left}` < `{right}`",
                            f"`{n.bo}` is 1 when `{left}` is less than `{right}` (unsigned)",
                            held=f"`{n.bo}` tells that `{right}` is the larger one",
                        ),
                    )
                    if self.borrow
                    else ()
                ),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        left, right = self._operands(n)
        return {"y": f"{left} - {right}"} | ({"bo": f"{left} < {right}"} if self.borrow else {})

    def outs(self, state: State, i: Inputs) -> Outputs:
        left, right = (i["b"], i["a"]) if self.swapped else (i["a"], i["b"])
        return {"y": (left - right) & mask(self.width), "bo": int(left < right)}


@dataclass(frozen=True)
class AddSub(Family):
    """Adds or subtracts, as a control input says; ``level`` of it subtracts."""

    name: ClassVar[str] = "add_sub"
    width: int
    level: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.choice((1, 1, 0)))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width), inp("b", self.width), inp("m", 1, "op"), out("y", self.width, "y")

    def describe(self, n: Names, w: Words) -> Spec:
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit adder and subtractor"),
                w.a(f"{self.width}-bit add/subtract unit"),
                held=f"a unit for sums and differences of {self.width} bits",
            ),
            verb=w.say(
                f"adds or subtracts two {self.width}-bit numbers",
                f"adds `{n.b}` to `{n.a}` or subtracts it",
                held=f"gives sum or difference of {self.width}-bit words",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is `{n.a}` - `{n.b}` when `{n.m}` is {self.level} and `{n.a}` + `{n.b}` when it is {1 - self.level}",
                    f"`{n.m}` = {1 - self.level}: `{n.y}` is `{n.a}` plus `{n.b}`; `{n.m}` = {self.level}: `{n.y}` is `{n.a}` minus `{n.b}`",
                    f"When `{n.m}` is {self.level}, `{n.b}` is subtracted from `{n.a}`; otherwise it is added",
                    held=f"`{n.m}` = {self.level} asks for the difference `{n.a}` minus `{n.b}`, {1 - self.level} for the sum",
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        one, zero = (f"{n.a} - {n.b}", f"{n.a} + {n.b}") if self.level else (f"{n.a} + {n.b}", f"{n.a} - {n.b}")
        if not s.block:
            return s.module(n, self.pins, [f"assign {n.y} = {n.m} ? {one} : {zero};"])
        lines = s.chain([(n.m, [f"{n.y} = {one};"]), ("", [f"{n.y} = {zero};"])])
        return s.module(n, self.pins, s.comb(lines), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        b = -i["b"] if i["m"] == self.level else i["b"]
        return {"y": (i["a"] + b) & mask(self.width)}


@dataclass(frozen=True)
class Saturating(Family):
    """Unsigned or signed sum, or unsigned difference, that stops at the end of the range."""

    name: ClassVar[str] = "saturating"
    width: int
    kind: str
    flag: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng, most=24), rng.choice(("add", "sub", "signed_add", "signed_sub")), rng.random() < 0.5)

    @property
    def is_signed(self) -> bool:
        """Operands are two's complement."""
        return self.kind.startswith("signed")

    @property
    def pins(self) -> tuple[Pin, ...]:
        size, is_signed = self.width, self.is_signed
        wide = Pin("wide", "internal", size + 1, "wide", False)
        return (
            Pin("a", "input", size, "a", is_signed),
            Pin("b", "input", size, "b", is_signed),
            Pin("y", "output", size, "y", is_signed),
            *((out("f", 1, "ovf"),) if self.flag else ()),
            wide,
        )

    def describe(self, n: Names, w: Words) -> Spec:
        top, low = (mask(self.width - 1), -(1 << self.width - 1)) if self.is_signed else (mask(self.width), 0)
        sign = "signed" if self.is_signed else "unsigned"
        plus = self.kind.endswith("add")
        word = "adder" if plus else "subtractor"
        exact = f"`{n.a}` {'plus' if plus else 'minus'} `{n.b}`"
        ends = f"between {low} and {top}"
        if self.is_signed:
            limit = w.say(
                f"A result above {top} gives {top}, one below {low} gives {low}",
                f"When the exact result is greater than {top}, `{n.y}` is {top}; when it is less than {low}, `{n.y}` is {low}",
                held=f"Beyond {top} it stays at {top}, and beyond {low} at {low}",
            )
        elif plus:
            limit = w.say(
                f"A sum above {top} gives {top}",
                f"When the sum does not fit into {self.width} bits, `{n.y}` is {top}",
                held=f"Beyond {top} it stays at {top}",
            )
        else:
            limit = w.say(
                f"When `{n.a}` is less than `{n.b}`, `{n.y}` is 0",
                "A negative difference gives 0",
                held="Below 0 it stays at 0",
            )
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {sign} saturating {word}"),
                w.a(f"{self.width}-bit {sign} {word} that saturates instead of wrapping"),
                held=w.a(f"{sign} {word} of {self.width} bits without wrap"),
            ),
            verb=w.say(
                f"{'adds' if plus else 'subtracts'} {sign} {self.width}-bit numbers and saturates",
                f"computes {exact} ({sign}) and saturates the result",
                held=f"computes {exact} ({sign}) and clips it",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is {exact} when that lies {ends}",
                    f"`{n.y}` is {exact}, saturated",
                    f"`{n.y}` is the exact value of {exact} as long as it is {ends}",
                    held=f"{exact} stands at `{n.y}` if it can",
                ),
                limit,
                *(
                    (
                        w.say(
                            f"`{n.f}` is 1 when the result was saturated, otherwise 0",
                            f"`{n.f}` is 1 when `{n.y}` differs from the exact value",
                            held=f"`{n.f}` says that the limit was needed",
                        ),
                    )
                    if self.flag
                    else ()
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        size, x = self.width, n.wide
        sign = "+" if self.kind.endswith("add") else "-"
        if self.is_signed:
            exact = f"{{{n.a}[{size - 1}], {n.a}}} {sign} {{{n.b}[{size - 1}], {n.b}}}"
            over = f"{x}[{size}] != {x}[{size - 1}]"
            full = f"{{{x}[{size}], {{{size - 1}{{~{x}[{size}]}}}}}}"
        else:
            exact = f"{{1'b0, {n.a}}} {sign} {{1'b0, {n.b}}}"
            over = f"{x}[{size}]"
            full = f"{{{size}{{1'b1}}}}" if sign == "+" else f"{size}'d0"
        body = [
            f"assign {x} = {exact};",
            f"assign {n.y} = {f'({over})' if ' ' in over else over} ? {full} : {x}[{size - 1}:0];",
        ]
        return s.module(n, self.pins, [*body, *([f"assign {n.f} = {over};"] if self.flag else [])])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, b = (signed(i["a"], self.width), signed(i["b"], self.width)) if self.is_signed else (i["a"], i["b"])
        exact = a + b if self.kind.endswith("add") else a - b
        low, top = (-(1 << self.width - 1), mask(self.width - 1)) if self.is_signed else (0, mask(self.width))
        value = min(max(exact, low), top)
        return {"y": value & mask(self.width), "f": int(value != exact)}


@dataclass(frozen=True)
class Multiplier(Expressions):
    """Product of two words, or of a word and a constant."""

    name: ClassVar[str] = "multiplier"
    width: int
    signed: bool
    constant: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        constant = rng.choice((0, 0, 3, 5, 6, 7, 9, 10, 12, 15))
        return cls(width(rng, most=16), constant == 0 and rng.random() < 0.5, constant)

    @property
    def pins(self) -> tuple[Pin, ...]:
        if self.constant:
            return inp("a", self.width), out("y", self.width + 4, "product")
        words = (Pin(word, "input", self.width, word, self.signed) for word in ("a", "b"))
        return (*words, Pin("y", "output", 2 * self.width, "product", self.signed))

    def describe(self, n: Names, w: Words) -> Spec:
        sign = "signed" if self.signed else "unsigned"
        right = str(self.constant) if self.constant else f"`{n.b}`"
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {sign} multiplier"),
                w.a(f"{sign} multiplier of {self.width}-bit numbers"),
                held=f"a {sign} product of {self.width} bits",
            ),
            verb=w.say(
                f"multiplies {'a' if self.constant else 'two'} {sign} {self.width}-bit number{f' by {right}' if self.constant else 's'}",
                f"multiplies `{n.a}` by {right}",
                held=f"takes `{n.a}` times {right}",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is the product of `{n.a}` and {right}",
                    f"`{n.y}` is `{n.a}` times {right}",
                    f"`{n.y}` = `{n.a}` * {right} ({sign})",
                    held=f"`{n.a}`, taken {right} times, gives `{n.y}`",
                ),
                w.say("the product is exact", f"no bit of the {sign} product is lost", f"all numbers are {sign}"),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {"y": f"{n.a} * {f'4{chr(39)}d{self.constant}' if self.constant else n.b}"}

    def outs(self, state: State, i: Inputs) -> Outputs:
        if self.constant:
            return {"y": i["a"] * self.constant}
        a, b = (signed(i["a"], self.width), signed(i["b"], self.width)) if self.signed else (i["a"], i["b"])
        return {"y": a * b & mask(2 * self.width)}


@dataclass(frozen=True)
class Average(Family):
    """Mean of two unsigned numbers, rounded down or up."""

    name: ClassVar[str] = "average"
    width: int
    up: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.random() < 0.4)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width), inp("b", self.width), out("y", self.width), own("wide", self.width + 1)

    def describe(self, n: Names, w: Words) -> Spec:
        way = "up" if self.up else "down"
        extra = " + 1" if self.up else ""
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit averaging unit"),
                f"a unit for the mean of two {self.width}-bit numbers",
                held="a finder of the middle",
            ),
            verb=w.say(
                f"computes the average of two {self.width}-bit numbers",
                f"averages `{n.a}` and `{n.b}`",
                held=f"finds the middle of `{n.a}` and `{n.b}`",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is (`{n.a}` + `{n.b}`{extra}) / 2, without loss of the carry",
                    f"`{n.y}` is half of `{n.a}` + `{n.b}`, rounded {way}",
                    f"`{n.y}` is the mean of `{n.a}` and `{n.b}`, rounded {way}; the sum does not overflow",
                    held=f"`{n.y}` lies half way between `{n.a}` and `{n.b}`, rounded {way}",
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        total = f"{{1'b0, {n.a}}} + {{1'b0, {n.b}}}" + (f" + {self.width + 1}'d1" if self.up else "")
        return s.module(n, self.pins, [f"assign {n.wide} = {total};", f"assign {n.y} = {n.wide}[{self.width}:1];"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": (i["a"] + i["b"] + self.up) // 2}


FAMILIES = (
    Adder,
    Subtractor,
    AddSub,
    Saturating,
    Average,
    Multiplier,
)
