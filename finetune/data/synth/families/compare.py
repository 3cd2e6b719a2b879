"""Comparators, limits, and numbers in another form."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out, signed
from finetune.data.synth.families.common import Expressions, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words

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
        kinds = tuple(
            rng.choice((("lt", "eq", "gt"), ("eq",), ("gt", "eq"), ("lt", "gt"), ("ge",), ("le", "ne"), ("lt",)))
        )
        size = width(rng, most=16)
        if rng.random() < 0.3:
            return cls(size, False, kinds, rng.randint(1, mask(size) - 1))
        return cls(size, rng.random() < 0.4, kinds, None)

    @property
    def pins(self) -> tuple[Pin, ...]:
        pools = {"lt": "lt", "eq": "eq", "gt": "gt", "le": "flag3", "ge": "flag", "ne": "flag2"}
        sign = self.signed and self.constant is None
        words = ("a", "b") if self.constant is None else ("a",)
        return (
            *(Pin(word, "input", self.width, word, sign) for word in words),
            *(out(kind, 1, pools[kind]) for kind in self.kinds),
        )

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
        tail = (
            w.say(f"the comparison is {sign}", f"both are {sign} numbers", f"compare as {sign} numbers")
            if self.constant is None
            else ""
        )
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
            noun=w.say(
                w.a(f"{self.width}-bit {sign} {words} unit"),
                f"a unit for the {words} of two {sign} {self.width}-bit numbers",
                held=f"a sorter of two {sign} numbers",
            ),
            verb=w.say(
                f"finds the {words} of two {sign} {self.width}-bit numbers",
                f"compares two {sign} numbers and gives the {words}",
                held=f"sorts two {sign} numbers",
            ),
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
        low, b = 1 << self.width - 1, n.b if self.kind == "diff" else ""
        noun, verb, fact = {
            "abs": (
                w.say(
                    w.a(f"{self.width}-bit absolute value unit"),
                    f"a unit for the absolute value of {self.width} bits",
                    held="a remover of signs",
                ),
                w.say(
                    f"computes the absolute value of a signed {self.width}-bit number",
                    held=f"drops the sign of a {self.width}-bit number",
                ),
                w.say(
                    f"`{n.y}` is `{n.a}` when `{n.a}` is not negative and -`{n.a}` when it is",
                    f"`{n.y}` is the absolute value of the two's complement number `{n.a}`; that of -{low} is {low}",
                    f"`{n.y}` = |`{n.a}`|, as an unsigned number",
                    held=f"`{n.y}` is how far `{n.a}` is from 0",
                ),
            ),
            "neg": (
                w.say(
                    w.a(f"{self.width}-bit negation unit"),
                    f"a two's complement inverter of {self.width} bits",
                    held="a changer of signs",
                ),
                w.say(
                    f"negates a {self.width}-bit two's complement number",
                    held=f"changes the sign of a {self.width}-bit number",
                ),
                w.say(
                    f"`{n.y}` is -`{n.a}` in two's complement",
                    f"`{n.y}` is 0 minus `{n.a}`",
                    f"`{n.y}` is the two's complement of `{n.a}`",
                    held=f"`{n.y}` is `{n.a}` with the other sign",
                ),
            ),
            "diff": (
                w.say(
                    w.a(f"{self.width}-bit absolute difference unit"),
                    f"a unit for the distance of two {self.width}-bit numbers",
                    held="a meter of distances",
                ),
                w.say(
                    f"computes the absolute difference of two unsigned {self.width}-bit numbers",
                    held=f"tells how far two {self.width}-bit numbers are apart",
                ),
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
            noun=w.say(
                w.a(f"{kind} extender from {self.small} to {self.large} bits"),
                f"a unit for {kind} extension, {self.small} to {self.large} bits",
                held=f"a widener of {self.small} bits by {kind}",
            ),
            verb=w.say(
                f"{kind}-extends a {self.small}-bit number to {self.large} bits",
                f"extends `{n.a}` to {self.large} bits ({kind} extension)",
                held=f"widens `{n.a}` ({kind})",
            ),
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
            noun=w.say(
                w.a(f"{self.width}-bit {word}"),
                f"a barrel {word.split()[-1]}, {' '.join(word.split()[:-1])}, {self.width} bits",
                held=f"a {word} for {self.width} wires",
            ),
            verb=w.say(
                f"{doing} a {self.width}-bit word by a variable amount",
                f"{doing} `{n.a}` by `{n.k}`",
                held=f"{doing} its word as far as `{n.k}` says",
            ),
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
                noun=w.say(
                    f"a range check of {self.width} bits",
                    w.a(f"{self.width}-bit window comparator"),
                    held=f"a test for {low} to {high}",
                ),
                verb=w.say(
                    f"checks whether `{n.a}` lies in a range",
                    f"tells whether a {self.width}-bit number is between {low} and {high}",
                    held=f"looks for `{n.a}` in a window",
                ),
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
            noun=w.say(
                w.a(f"{self.width}-bit clamp"),
                w.a(f"limiter of {self.width}-bit numbers"),
                held=f"a clip from {low} to {high}",
            ),
            verb=w.say(
                f"limits a {self.width}-bit number to a range",
                f"clamps `{n.a}` to the range {low} to {high}",
                held=f"clips `{n.a}` at both ends",
            ),
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
            return s.module(
                n,
                self.pins,
                s.comb([f"{n.y} = {text};"]) if s.block else [f"assign {n.y} = {text};"],
                ["y"] if s.block else [],
            )
        if not s.block:
            return s.module(
                n, self.pins, [f"assign {n.y} = ({n.a} < {low}) ? {low} : ({n.a} > {high}) ? {high} : {n.a};"]
            )
        arms = [
            (f"{n.a} < {low}", [f"{n.y} = {low};"]),
            (f"{n.a} > {high}", [f"{n.y} = {high};"]),
            ("", [f"{n.y} = {n.a};"]),
        ]
        return s.module(n, self.pins, s.comb(s.chain(arms)), ["y"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = i["a"]
        return {"y": int(self.low <= a <= self.high) if self.flag else min(max(a, self.low), self.high)}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(value + delta for value in (self.low, self.high) for delta in (-1, 0, 1))


FAMILIES = (
    Comparator,
    MinMax,
    Absolute,
    Clamp,
    Extend,
    Shifter,
)
