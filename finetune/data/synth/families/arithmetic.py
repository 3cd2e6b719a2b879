"""Adders, subtractors, comparators and what is near them."""

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
                f"adds two {self.width}-bit numbers", f"adds `{n.a}` and `{n.b}`", f"computes the sum of {words}", held=f"sums up {words}"
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
                w.a(f"{self.width}-bit subtractor"), f"a subtractor for {self.width}-bit words", held=f"a circuit for differences of {self.width}-bit words"
            ),
            verb=w.say(
                f"subtracts two {self.width}-bit numbers", f"subtracts `{right}` from `{left}`", held=f"takes `{right}` away from `{left}`"
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
            noun=w.say(w.a(f"{self.width}-bit adder and subtractor"), w.a(f"{self.width}-bit add/subtract unit"), held=f"a unit for sums and differences of {self.width} bits"),
            verb=w.say(f"adds or subtracts two {self.width}-bit numbers", f"adds `{n.b}` to `{n.a}` or subtracts it", held=f"gives sum or difference of {self.width}-bit words"),
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
                f"When `{n.a}` is less than `{n.b}`, `{n.y}` is 0", "A negative difference gives 0", held="Below 0 it stays at 0"
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
        body = [f"assign {x} = {exact};", f"assign {n.y} = {f'({over})' if ' ' in over else over} ? {full} : {x}[{size - 1}:0];"]
        return s.module(n, self.pins, [*body, *([f"assign {n.f} = {over};"] if self.flag else [])])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, b = (signed(i["a"], self.width), signed(i["b"], self.width)) if self.is_signed else (i["a"], i["b"])
        exact = a + b if self.kind.endswith("add") else a - b
        low, top = (-(1 << self.width - 1), mask(self.width - 1)) if self.is_signed else (0, mask(self.width))
        value = min(max(exact, low), top)
        return {"y": value & mask(self.width), "f": int(value != exact)}


_RELATIONS = {
    "lt": ("<", "less than", "below"),
    "eq": ("==", "equal to", "as large as"),
    "gt": (">", "greater than", "above"),
    "le": ("<=", "at most", "not above"),
    "ge": (">=", "at least", "not below"),
    "ne": ("!=", "different from", "unlike"),
}


def _related(kind: str, a: int, b: int) -> int:
    return int({"lt": a < b, "eq": a == b, "gt": a > b, "le": a <= b, "ge": a >= b, "ne": a != b}[kind])


@dataclass(frozen=True)
class Comparator(Expressions):
    """Relations of two words, or of a word and a constant."""

    name: ClassVar[str] = "comparator"
    width: int
    signed: bool
    kinds: tuple[str, ...]
    constant: int | None

    @classmethod
    def draw(cls, rng: Random) -> Self:
        kinds = tuple(rng.choice((("lt", "eq", "gt"), ("eq",), ("gt", "eq"), ("lt", "gt"), ("ge",), ("le", "ne"), ("lt",))))
        size = width(rng, most=16)
        if rng.random() < 0.3:
            return cls(size, False, kinds, rng.randint(1, mask(size) - 1))
        return cls(size, rng.random() < 0.4, kinds, None)

    @property
    def pins(self) -> tuple[Pin, ...]:
        pools = {"lt": "lt", "eq": "eq", "gt": "gt", "le": "flag3", "ge": "flag", "ne": "flag2"}
        sign = self.signed and self.constant is None
        words = ("a", "b") if self.constant is None else ("a",)
        return (*(Pin(word, "input", self.width, word, sign) for word in words), *(out(kind, 1, pools[kind]) for kind in self.kinds))

    def describe(self, n: Names, w: Words) -> Spec:
        right = f"`{n.b}`" if self.constant is None else str(self.constant)
        sign = "signed" if self.signed else "unsigned"
        facts = []
        for kind in self.kinds:
            symbol, words, held = _RELATIONS[kind]
            facts.append(
                w.say(
                    f"`{n[kind]}` is 1 when `{n.a}` is {words} {right}",
                    f"`{n[kind]}` is 1 when `{n.a}` is {words} {right}, otherwise 0",
                    f"`{n[kind]}` is 1 if `{n.a}` {symbol} {right}",
                    f"`{n[kind]}`: `{n.a}` is {words} {right}",
                    held=f"`{n[kind]}` tells that `{n.a}` is {held} {right}",
                )
            )
        tail = w.say(f"the comparison is {sign}", f"both are {sign} numbers", f"compare as {sign} numbers") if self.constant is None else ""
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit {sign} comparator"),
                w.a(f"comparator of {sign} {self.width}-bit numbers"),
                held=f"a judge of {sign} {self.width}-bit numbers",
            ),
            verb=w.say(
                f"compares {'two' if self.constant is None else 'a'} {sign} {self.width}-bit number{'s' if self.constant is None else ''}{'' if self.constant is None else f' with {right}'}",
                f"compares `{n.a}` with {right}",
                held=f"tells how `{n.a}` stands to {right}",
            ),
            facts=(*facts, *((tail,) if tail else ())),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        right = n.b if self.constant is None else f"{self.width}'d{self.constant}"
        return {kind: f"{n.a} {_RELATIONS[kind][0]} {right}" for kind in self.kinds}

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, b = i["a"], i["b"] if self.constant is None else self.constant
        if self.signed:
            a, b = signed(a, self.width), signed(b, self.width)
        return {kind: _related(kind, a, b) for kind in self.kinds}

    def common(self, role: str) -> tuple[int, ...]:
        return () if self.constant is None else (self.constant - 1, self.constant, self.constant + 1)


@dataclass(frozen=True)
class MinMax(Expressions):
    """The smaller or larger of two or three words, or both."""

    name: ClassVar[str] = "min_max"
    width: int
    signed: bool
    kinds: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.random() < 0.4, rng.choice((("min",), ("max",), ("min", "max"))))

    @property
    def pins(self) -> tuple[Pin, ...]:
        words = (Pin(word, "input", self.width, word, self.signed) for word in ("a", "b"))
        pools = {"min": "low_limit", "max": "limit"}
        return (*words, *(Pin(kind, "output", self.width, pools[kind], self.signed) for kind in self.kinds))

    def describe(self, n: Names, w: Words) -> Spec:
        sign = "signed" if self.signed else "unsigned"
        size = {"min": ("smaller", "minimum", "lesser"), "max": ("larger", "maximum", "bigger")}
        facts = [
            w.say(
                f"`{n[kind]}` is the {size[kind][0]} one of `{n.a}` and `{n.b}`",
                f"`{n[kind]}` is the {size[kind][1]} of `{n.a}` and `{n.b}`",
                f"`{n[kind]}` = {kind}(`{n.a}`, `{n.b}`)",
                held=f"of `{n.a}` and `{n.b}` the {size[kind][2]} one comes out at `{n[kind]}`",
            )
            for kind in self.kinds
        ]
        words = " and ".join(size[kind][1] for kind in self.kinds)
        return Spec(
            noun=w.say(w.a(f"{self.width}-bit {sign} {words} unit"), f"a unit for the {words} of two {sign} {self.width}-bit numbers", held=f"a sorter of two {sign} numbers"),
            verb=w.say(f"finds the {words} of two {sign} {self.width}-bit numbers", f"compares two {sign} numbers and gives the {words}", held=f"sorts two {sign} numbers"),
            facts=(*facts, w.say(f"the numbers are {sign}", f"`{n.a}` and `{n.b}` are {sign}")),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        sign = {"min": "<", "max": ">"}
        return {kind: f"({n.a} {sign[kind]} {n.b}) ? {n.a} : {n.b}" for kind in self.kinds}

    def outs(self, state: State, i: Inputs) -> Outputs:
        def key(value: int) -> int:
            return signed(value, self.width) if self.signed else value

        return {kind: {"min": min, "max": max}[kind](i["a"], i["b"], key=key) for kind in self.kinds}


@dataclass(frozen=True)
class Absolute(Expressions):
    """Absolute value or negation of a two's complement number, absolute difference of two unsigned ones."""

    name: ClassVar[str] = "absolute"
    width: int
    kind: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.choice(("abs", "neg", "diff")))

    @property
    def pins(self) -> tuple[Pin, ...]:
        second = (inp("b", self.width),) if self.kind == "diff" else ()
        return (Pin("a", "input", self.width, "a", self.kind != "diff"), *second, out("y", self.width))

    def describe(self, n: Names, w: Words) -> Spec:
        low, b = 1 << self.width - 1, n["b"] if "b" in n else ""
        noun, verb, fact = {
            "abs": (
                w.say(w.a(f"{self.width}-bit absolute value unit"), f"a unit for the absolute value of {self.width} bits", held="a remover of signs"),
                w.say(f"computes the absolute value of a signed {self.width}-bit number", held=f"drops the sign of a {self.width}-bit number"),
                w.say(
                    f"`{n.y}` is `{n.a}` when `{n.a}` is not negative and -`{n.a}` when it is",
                    f"`{n.y}` is the absolute value of the two's complement number `{n.a}`; that of -{low} is {low}",
                    f"`{n.y}` = |`{n.a}`|, as an unsigned number",
                    held=f"`{n.y}` is how far `{n.a}` is from 0",
                ),
            ),
            "neg": (
                w.say(w.a(f"{self.width}-bit negation unit"), f"a two's complement inverter of {self.width} bits", held="a changer of signs"),
                w.say(f"negates a {self.width}-bit two's complement number", held=f"changes the sign of a {self.width}-bit number"),
                w.say(f"`{n.y}` is -`{n.a}` in two's complement", f"`{n.y}` is 0 minus `{n.a}`", f"`{n.y}` is the two's complement of `{n.a}`", held=f"`{n.y}` is `{n.a}` with the other sign"),
            ),
            "diff": (
                w.say(w.a(f"{self.width}-bit absolute difference unit"), f"a unit for the distance of two {self.width}-bit numbers", held="a meter of distances"),
                w.say(f"computes the absolute difference of two unsigned {self.width}-bit numbers", held=f"tells how far two {self.width}-bit numbers are apart"),
                w.say(
                    f"`{n.y}` is the absolute difference of `{n.a}` and `{b}`",
                    f"`{n.y}` is `{n.a}` - `{b}` when `{n.a}` is greater than `{b}`, otherwise `{b}` - `{n.a}`",
                    f"`{n.y}` is the larger of `{n.a}` and `{b}` minus the smaller one",
                    held=f"`{n.y}` is how far `{n.a}` and `{b}` are apart",
                ),
            ),
        }[self.kind]
        return Spec(noun, verb, (fact,))

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        if self.kind == "neg":
            return {"y": f"-{n.a}" if s.alt(2) == 0 else f"~{n.a} + {s.lit(self.width, 1)}"}
        if self.kind == "abs":
            return {"y": f"{n.a}[{self.width - 1}] ? -{n.a} : {n.a}"}
        return {"y": f"({n.a} > {n.b}) ? {n.a} - {n.b} : {n.b} - {n.a}"}

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = signed(i["a"], self.width)
        value = {"abs": abs(a), "neg": -a, "diff": abs(i["a"] - i.get("b", 0))}[self.kind]
        return {"y": value & mask(self.width)}


@dataclass(frozen=True)
class Extend(Expressions):
    """Sign or zero extension, or truncation to the low bits."""

    name: ClassVar[str] = "extend"
    small: int
    large: int
    sign: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        small = rng.choice((2, 3, 4, 5, 6, 7, 8, 8, 10, 12, 16))
        return cls(small, small + rng.choice((1, 2, 3, 4, 4, 6, 8, 8, 12, 16)), rng.random() < 0.65)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.small, "din"), out("y", self.large, "dout")

    def describe(self, n: Names, w: Words) -> Spec:
        kind = "sign" if self.sign else "zero"
        extra = self.large - self.small
        return Spec(
            noun=w.say(w.a(f"{kind} extender from {self.small} to {self.large} bits"), f"a unit for {kind} extension, {self.small} to {self.large} bits", held=f"a widener of {self.small} bits by {kind}"),
            verb=w.say(f"{kind}-extends a {self.small}-bit number to {self.large} bits", f"extends `{n.a}` to {self.large} bits ({kind} extension)", held=f"widens `{n.a}` ({kind})"),
            facts=(
                w.say(
                    f"The lower {self.small} bits of `{n.y}` are `{n.a}`, the upper {extra} are {'copies of its top bit' if self.sign else '0'}",
                    f"`{n.y}` is `{n.a}` {kind}-extended to {self.large} bits",
                    f"`{n.y}` has the same {'signed' if self.sign else 'unsigned'} value as `{n.a}`",
                    held=f"on top of `{n.a}`, `{n.y}` has {extra} more bits by {kind} extension",
                ),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        extra = self.large - self.small
        if self.sign:
            return {"y": f"{{{{{extra}{{{n.a}[{self.small - 1}]}}}}, {n.a}}}"}
        return {"y": f"{{{extra}'d0, {n.a}}}" if s.alt(2) == 0 else f"{{{{{extra}{{1'b0}}}}, {n.a}}}"}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": (signed(i["a"], self.small) if self.sign else i["a"]) & mask(self.large)}


@dataclass(frozen=True)
class Shifter(Expressions):
    """Shift or rotate by a variable amount."""

    name: ClassVar[str] = "shifter"
    width: int
    kind: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        kind = rng.choice(("left", "right", "arith", "rotl", "rotr"))
        return cls(rng.choice((4, 8, 8, 16, 32)), kind)

    @property
    def pins(self) -> tuple[Pin, ...]:
        bits = self.width.bit_length() - 1
        return Pin("a", "input", self.width, "a", self.kind == "arith"), inp("k", bits, "amount"), out("y", self.width)

    def describe(self, n: Names, w: Words) -> Spec:
        word, action, fill = {
            "left": ("logical left shifter", "shifted left", "zeros enter at the bottom"),
            "right": ("logical right shifter", "shifted right", "zeros enter at the top"),
            "arith": ("arithmetic right shifter", "shifted right", "copies of the top bit enter at the top"),
            "rotl": ("left rotator", "rotated left", "bits that leave at the top enter at the bottom"),
            "rotr": ("right rotator", "rotated right", "bits that leave at the bottom enter at the top"),
        }[self.kind]
        doing = action.replace("shifted", "shifts").replace("rotated", "rotates")
        return Spec(
            noun=w.say(w.a(f"{self.width}-bit {word}"), f"a barrel {word.split()[-1]}, {' '.join(word.split()[:-1])}, {self.width} bits", held=f"a {word} for {self.width} wires"),
            verb=w.say(f"{doing} a {self.width}-bit word by a variable amount", f"{doing} `{n.a}` by `{n.k}`", held=f"{doing} its word as far as `{n.k}` says"),
            facts=(
                w.say(
                    f"`{n.y}` is `{n.a}` {action} by `{n.k}` positions",
                    f"`{n.y}` is `{n.a}` {action} by `{n.k}`",
                    f"`{n.a}` is {action} by `{n.k}` bits, 0 to {self.width - 1}, and the result is `{n.y}`",
                    held=f"`{n.k}` is how far `{n.a}` is {action} to give `{n.y}`",
                ),
                fill,
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        a, k, size = n.a, n.k, self.width
        return {
            "y": {
                "left": f"{a} << {k}",
                "right": f"{a} >> {k}",
                "arith": f"{a} >>> {k}",
                "rotl": f"({a} << {k}) | ({a} >> ({size} - {k}))",
                "rotr": f"({a} >> {k}) | ({a} << ({size} - {k}))",
            }[self.kind]
        }

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, k, size = i["a"], i["k"], self.width
        value = {
            "left": a << k,
            "right": a >> k,
            "arith": signed(a, size) >> k,
            "rotl": a << k | a >> (size - k),
            "rotr": a >> k | a << (size - k),
        }[self.kind]
        return {"y": value & mask(size)}


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
            noun=w.say(w.a(f"{self.width}-bit {sign} multiplier"), w.a(f"{sign} multiplier of {self.width}-bit numbers"), held=f"a {sign} product of {self.width} bits"),
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
class Clamp(Family):
    """A word held between two constants, or a flag whether it lies between them."""

    name: ClassVar[str] = "clamp"
    width: int
    low: int
    high: int
    flag: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice((4, 5, 6, 8, 8, 8, 10))
        low, high = sorted(rng.sample(range(1, mask(size)), 2))
        return cls(size, low, high, rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width, "sample"), out("y", *((1, "flag") if self.flag else (self.width, "dout")))

    def describe(self, n: Names, w: Words) -> Spec:
        low, high = self.low, self.high
        if self.flag:
            return Spec(
                noun=w.say(f"a range check of {self.width} bits", w.a(f"{self.width}-bit window comparator"), held=f"a test for {low} to {high}"),
                verb=w.say(f"checks whether `{n.a}` lies in a range", f"tells whether a {self.width}-bit number is between {low} and {high}", held=f"looks for `{n.a}` in a window"),
                facts=(
                    w.say(
                        f"`{n.y}` is 1 when `{n.a}` is at least {low} and at most {high}, otherwise 0",
                        f"`{n.y}` is 1 for `{n.a}` from {low} to {high}, both included",
                        f"`{n.y}` is 1 when {low} <= `{n.a}` <= {high}",
                        held=f"`{n.y}` is up unless `{n.a}` is below {low} or above {high}",
                    ),
                ),
            )
        return Spec(
            noun=w.say(w.a(f"{self.width}-bit clamp"), w.a(f"limiter of {self.width}-bit numbers"), held=f"a clip from {low} to {high}"),
            verb=w.say(f"limits a {self.width}-bit number to a range", f"clamps `{n.a}` to the range {low} to {high}", held=f"clips `{n.a}` at both ends"),
            facts=(
                w.say(
                    f"`{n.y}` is {low} when `{n.a}` is less than {low}, {high} when it is greater than {high}, and `{n.a}` otherwise",
                    f"Values of `{n.a}` below {low} give {low}, values above {high} give {high}, all others come out unchanged",
                    f"`{n.y}` is `{n.a}`, but at least {low} and at most {high}",
                    held=f"`{n.y}` follows `{n.a}` and stops at {low} and {high}",
                ),
            ),
        )

    def code(self, n: Names, s: Style) -> str:
        low, high = s.lit(self.width, self.low), s.lit(self.width, self.high)
        if self.flag:
            text = f"({n.a} >= {low}) && ({n.a} <= {high})"
            return s.module(n, self.pins, s.comb([f"{n.y} = {text};"]) if s.block else [f"assign {n.y} = {text};"], ["y"] if s.block else [])
        if not s.block:
            return s.module(n, self.pins, [f"assign {n.y} = ({n.a} < {low}) ? {low} : ({n.a} > {high}) ? {high} : {n.a};"])
        arms = [(f"{n.a} < {low}", [f"{n.y} = {low};"]), (f"{n.a} > {high}", [f"{n.y} = {high};"]), ("", [f"{n.y} = {n.a};"])]
        return s.module(n, self.pins, s.comb(s.chain(arms)), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = i["a"]
        return {"y": int(self.low <= a <= self.high) if self.flag else min(max(a, self.low), self.high)}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(value + delta for value in (self.low, self.high) for delta in (-1, 0, 1))


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
            noun=w.say(w.a(f"{self.width}-bit averaging unit"), f"a unit for the mean of two {self.width}-bit numbers", held="a finder of the middle"),
            verb=w.say(f"computes the average of two {self.width}-bit numbers", f"averages `{n.a}` and `{n.b}`", held=f"finds the middle of `{n.a}` and `{n.b}`"),
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
    Adder, Subtractor, AddSub, Saturating, Comparator, MinMax, Absolute, Extend, Shifter, Multiplier, Clamp, Average,
)  # fmt: skip
