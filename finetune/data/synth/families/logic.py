"""Bitwise combinational designs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out
from finetune.data.synth.families.common import Expressions, width
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words

# Name, operator of Verilog, whether the result is inverted.

_GATES = {
    "and": ("&", False),
    "or": ("|", False),
    "xor": ("^", False),
    "nand": ("&", True),
    "nor": ("|", True),
    "xnor": ("^", True),
}
_REDUCE = {"and": "&", "or": "|", "xor": "^"}


def _combine(kind: str, a: int, b: int) -> int:
    return {"&": a & b, "|": a | b, "^": a ^ b}[_GATES[kind][0]]


@dataclass(frozen=True)
class Gate(Expressions):
    """A bitwise gate with two or three inputs."""

    name: ClassVar[str] = "gate"
    kind: str
    count: int
    width: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(rng.choice(list(_GATES)), rng.choice((2, 2, 3)), rng.choice((1, 1, width(rng))))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*(inp(role, self.width) for role in ("a", "b", "c")[: self.count]), out("y", self.width))

    def describe(self, n: Names, w: Words) -> Spec:
        names = [f"`{n[role]}`" for role in ("a", "b", "c")[: self.count]]
        listed = ", ".join(names[:-1]) + " and " + names[-1]
        wide = f"{self.width}-bit " if self.width > 1 else ""
        upper = self.kind.upper()
        return Spec(
            noun=w.say(
                w.a(f"{wide}{self.count}-input {upper} gate"),
                w.a(f"{wide}{self.kind} gate with {self.count} inputs"),
                held=w.a(f"{self.count}-way {upper}, {self.width} wide"),
            ),
            verb=w.say(
                f"computes the {'bitwise ' if self.width > 1 else ''}{upper} of {listed}",
                f"combines {listed} with {upper}",
                held=f"joins {listed} by {upper}",
            ),
            facts=(
                w.say(
                    f"`{n.y}` is the {'bitwise ' if self.width > 1 else ''}{upper} of {listed}",
                    f"`{n.y}` = {f' {upper} '.join(names)}"
                    if not _GATES[self.kind][1]
                    else f"`{n.y}` is {upper} of {listed}",
                    f"The output `{n.y}` is {listed} combined by {upper}",
                    held=f"{upper} over {listed} gives `{n.y}`",
                ),
            ),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        sign, inverted = _GATES[self.kind]
        text = f" {sign} ".join(n[role] for role in ("a", "b", "c")[: self.count])
        return {"y": f"~({text})" if inverted else text}

    def outs(self, state: State, i: Inputs) -> Outputs:
        value = _combine(self.kind, i["a"], i["b"])
        value = _combine(self.kind, value, i["c"]) if self.count == 3 else value
        return {"y": value ^ mask(self.width) if _GATES[self.kind][1] else value}


@dataclass(frozen=True)
class Reduce(Expressions):
    """AND, OR and XOR over the bits of a word, some of them."""

    name: ClassVar[str] = "reduce"
    width: int
    kinds: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), tuple(rng.sample(list(_REDUCE), rng.choice((1, 2, 3)))))

    @property
    def pins(self) -> tuple[Pin, ...]:
        pools = {"and": "full", "or": "any", "xor": "par"}
        return (inp("a", self.width, "din"), *(out(kind, 1, pools[kind]) for kind in self.kinds))

    def describe(self, n: Names, w: Words) -> Spec:
        said = {
            "and": lambda y: w.say(
                f"`{y}` is 1 when all bits of `{n.a}` are 1",
                f"`{y}` is the AND of all bits of `{n.a}`",
                f"`{y}` is 1 when every bit of `{n.a}` is set, otherwise 0",
                held=f"`{y}` is up when no bit of `{n.a}` is 0",
            ),
            "or": lambda y: w.say(
                f"`{y}` is 1 when at least one bit of `{n.a}` is 1",
                f"`{y}` is the OR of all bits of `{n.a}`",
                f"`{y}` is 1 when any bit of `{n.a}` is set, otherwise 0",
                held=f"`{y}` is down when every bit of `{n.a}` is 0",
            ),
            "xor": lambda y: w.say(
                f"`{y}` is 1 when the number of ones in `{n.a}` is odd",
                f"`{y}` is the XOR of all bits of `{n.a}`",
                f"`{y}` is 1 when `{n.a}` has an odd number of ones, otherwise 0",
                held=f"`{y}` shows the lowest bit of the count of ones of `{n.a}`",
            ),
        }
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit reduction unit"),
                f"a unit that reduces a {self.width}-bit word",
                held=f"a summary of {self.width} bits",
            ),
            verb=w.say(
                f"reduces the {self.width}-bit word `{n.a}`",
                f"looks at all {self.width} bits of `{n.a}`",
                held=f"sums up {self.width} bits",
            ),
            facts=tuple(said[kind](n[kind]) for kind in self.kinds),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {kind: f"{_REDUCE[kind]}{n.a}" for kind in self.kinds}

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = i["a"]
        values = {"and": int(a == mask(self.width)), "or": int(a != 0), "xor": a.bit_count() % 2}
        return {kind: values[kind] for kind in self.kinds}


@dataclass(frozen=True)
class Parity(Expressions):
    """Parity bit of a word, or check of a word with its parity bit."""

    name: ClassVar[str] = "parity"
    width: int
    odd: bool
    check: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(width(rng), rng.random() < 0.5, rng.random() < 0.3)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            inp("a", self.width, "din"),
            *((inp("p", 1, "bit"), out("y", 1, "flag2")) if self.check else (out("y", 1, "par"),)),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        kind = "odd" if self.odd else "even"
        if self.check:
            noun = w.say(
                w.a(f"{kind} parity checker for {self.width} bits"),
                w.a(f"{self.width}-bit {kind} parity checker"),
                held=w.a(f"check of {kind} parity"),
            )
            verb = w.say(
                f"checks the {kind} parity of a {self.width}-bit word",
                held=f"compares a word with its {kind} parity bit",
            )
            fact = w.say(
                f"`{n.y}` is 1 when the number of ones in `{n.a}` and `{n.p}` together is {'even' if self.odd else 'odd'}, which is an error",
                f"Together, `{n.a}` and `{n.p}` should have an {kind} number of ones; `{n.y}` is 1 when they have not",
                f"`{n.p}` is the {kind} parity bit that came with `{n.a}`; `{n.y}` is 1 when it is wrong",
                held=f"`{n.y}` marks a wrong {kind} parity bit `{n.p}` of `{n.a}`",
            )
        else:
            noun = w.say(
                w.a(f"{self.width}-bit {kind} parity generator"),
                w.a(f"generator of {kind} parity for {self.width} bits"),
                held=w.a(f"maker of {kind} parity bits"),
            )
            verb = w.say(
                f"computes the {kind} parity bit of a {self.width}-bit word",
                held=f"adds {kind} parity to a word of {self.width} bits",
            )
            fact = w.say(
                f"`{n.y}` is the {kind} parity bit of `{n.a}`: together they have an {kind} number of ones",
                f"`{n.y}` makes the total number of ones in `{n.a}` and `{n.y}` {kind}",
                f"`{n.y}` is 1 when `{n.a}` has an {'even' if self.odd else 'odd'} number of ones, otherwise 0",
                held=f"With `{n.y}` added, the ones of `{n.a}` are {kind} in number",
            )
        return Spec(noun, verb, (fact,))

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        text = f"^{{{n.a}, {n.p}}}" if self.check else f"^{n.a}"
        return {"y": f"~({text})" if self.odd else text}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": (i["a"].bit_count() + i.get("p", 0) + self.odd) % 2}


@dataclass(frozen=True)
class Rewire(Expressions):
    """A fixed permutation: reversed bits or bytes, exchanged halves, a rotation."""

    name: ClassVar[str] = "rewire"
    kind: str
    width: int
    by: int = 0

    @classmethod
    def draw(cls, rng: Random) -> Self:
        kind = rng.choice(("reverse", "bytes", "halves", "left", "right", "left", "right"))
        wide = {
            "reverse": rng.choice((4, 5, 6, 7, 8)),
            "bytes": rng.choice((16, 24, 32)),
            "halves": rng.choice((4, 6, 8, 10, 12, 16, 20, 32)),
        }
        size = wide.get(kind) or width(rng, least=3)
        return cls(kind, size, rng.randint(1, size - 1) if kind in ("left", "right") else 0)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return inp("a", self.width, "din"), out("y", self.width)

    def describe(self, n: Names, w: Words) -> Spec:
        bits, half = self.width, self.width // 2
        if self.kind == "reverse":
            what = w.say("reverses the order of the bits", "mirrors the bits", held="turns the bits around")
            fact = w.say(
                f"Bit k of `{n.y}` is bit {bits - 1} - k of `{n.a}`",
                f"`{n.y}` is `{n.a}` with its bits in reverse order: `{n.y}[0]` is `{n.a}[{bits - 1}]`, and so on",
                held=f"`{n.y}` is `{n.a}` read backwards",
            )
        elif self.kind == "bytes":
            what = w.say("reverses the order of the bytes", "exchanges bytes", held="turns the bytes around")
            fact = w.say(
                f"`{n.y}` is `{n.a}` with its bytes in reverse order: the lowest byte becomes the highest one",
                f"The {bits // 8} bytes of `{n.a}` appear in reverse order in `{n.y}`; bits within a byte keep their order",
                held=f"`{n.y}` is `{n.a}` with its bytes read backwards",
            )
        elif self.kind == "halves":
            what = w.say("exchanges the two halves", "swaps upper and lower half", held="lets its halves change places")
            fact = w.say(
                f"The upper {half} bits of `{n.y}` are the lower {half} bits of `{n.a}`, and the other way round",
                f"`{n.y}` is `{n.a}` with its two halves of {half} bits exchanged",
                held=f"Both halves of `{n.a}` change places in `{n.y}`",
            )
        else:
            step = f"{self.by} bit{'s' if self.by > 1 else ''}"
            what = w.say(
                f"rotates to the {self.kind} by {step}",
                f"rotates {self.kind} by {step}",
                held=f"turns its word to the {self.kind} by {step}",
            )
            fact = w.say(
                f"`{n.y}` is `{n.a}` rotated {self.kind} by {step}",
                f"`{n.y}` is `{n.a}` rotated to the {self.kind} by {self.by} positions; what leaves at one end enters at the other",
                held=f"`{n.a}` goes round to the {self.kind} by {step} and comes out at `{n.y}`",
            )
        return Spec(
            noun=w.say(
                f"a fixed permutation of {bits} bits that {what}",
                f"a {bits}-wire network that {what}",
                held=f"a rewiring that {what}",
            ),
            verb=w.say(
                f"{what} of a {bits}-bit word" if self.by == 0 else f"{what} in a {bits}-bit word",
                f"{what}, {bits} bits wide",
            ),
            facts=(fact,),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        bits, half, a = self.width, self.width // 2, n.a
        if self.kind == "reverse":
            return {"y": "{" + ", ".join(f"{a}[{k}]" for k in range(bits)) + "}"}
        if self.kind == "bytes":
            return {"y": "{" + ", ".join(f"{a}[{8 * k + 7}:{8 * k}]" for k in range(bits // 8)) + "}"}
        if self.kind == "halves":
            return {"y": f"{{{_slice(a, half - 1, 0)}, {_slice(a, bits - 1, half)}}}"}
        at = bits - self.by if self.kind == "left" else self.by
        return {"y": f"{{{_slice(a, at - 1, 0)}, {_slice(a, bits - 1, at)}}}"}

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, bits = i["a"], self.width
        if self.kind == "reverse":
            return {"y": int(f"{a:0{bits}b}"[::-1], 2)}
        if self.kind == "bytes":
            return {"y": int.from_bytes(a.to_bytes(bits // 8, "big"), "little")}
        by = {"halves": bits // 2, "left": self.by, "right": bits - self.by}[self.kind]
        return {"y": (a << by | a >> (bits - by)) & mask(bits)}


def _slice(name: str, high: int, low: int) -> str:
    return f"{name}[{high}:{low}]" if high > low else f"{name}[{low}]"


FAMILIES = (
    Gate,
    Reduce,
    Parity,
    Rewire,
)
