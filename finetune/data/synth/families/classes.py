"""Codes: both ways of Gray, classes of characters, thermometers with faults."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out, own
from finetune.data.synth.families.codes import from_gray
from finetune.data.synth.families.common import const_width
from finetune.data.synth.style import Case, Style, span
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class GrayEither(Family):
    """Binary to Gray code or back, as an input says."""

    name: ClassVar[str] = "gray_either_way"
    share: ClassVar[float] = 1.0
    width: int
    level: int
    odd: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``level`` of the input that decodes."""
        while True:
            found = cls(rng.choice((2, 3, 4, 4, 5, 6, 7, 8, 10, 12, 16)), int(rng.random() < 0.7), rng.random() < 0.4)
            if (found.width, found.level, found.odd) != (8, 1, True):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            inp("a", self.width, "din"),
            inp("m", 1, "decode"),
            out("y", self.width, "dout"),
            *((out("o", 1, "par"),) if self.odd else ()),
            own("g", self.width, "tmp"),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        to_gray = w.say(
            f"`{n.a}` is a binary number and `{n.y}` is its Gray code",
            f"`{n.y}` is the Gray code of the binary number `{n.a}`",
            f"`{n.a}` is converted from binary to Gray code",
            held=f"`{n.y}` is `{n.a}` in Gray",
        )
        back = w.say(
            f"`{n.a}` is a Gray code and `{n.y}` is the binary number that it stands for",
            f"`{n.y}` is the binary number whose Gray code is `{n.a}`",
            f"`{n.a}` is converted from Gray code to binary",
            held=f"`{n.y}` is the number behind the Gray word `{n.a}`",
        )
        facts = [
            f"when `{n.m}` is {1 - self.level}, {to_gray}",
            f"when `{n.m}` is {self.level}, {back}",
        ]
        if self.odd:
            facts.append(
                w.say(
                    f"`{n.o}` is 1 when the binary number is odd, in both directions",
                    f"`{n.o}` is bit 0 of the binary number (`{n.a}` when encoding, `{n.y}` when decoding)",
                    held=f"`{n.o}` tells odd numbers, whichever side they are on",
                )
            )
        if w.rng.random() < 0.3:
            facts.append(
                "in Gray code the top bit equals the top bit of the number, and every other bit is the XOR of the number's bit and the next higher one"
            )
        return Spec(
            noun=w.say(
                f"a {self.width}-bit converter between binary and Gray code in either direction",
                f"a two-way Gray code converter, {self.width} bits wide",
                held=f"a Gray coder and decoder in one, {self.width} bits",
            ),
            verb=w.say(
                "converts between binary and reflected Gray code in either direction",
                f"encodes or decodes {self.width}-bit Gray code",
                held="goes from numbers to Gray words and back",
            ),
            facts=tuple(facts),
            notes={"m": w.say("direction", "chooses the direction", "")},
        )

    def code(self, n: Names, s: Style) -> str:
        decode = n.m if self.level else s.inverted(n.m)
        body = [
            *from_gray(n.g, n.a, self.width, s),
            f"assign {n.y} = {decode} ? {n.g} : {n.a} ^ ({n.a} >> 1);",
            *([f"assign {n.o} = {decode} ? {n.g}[0] : {n.a}[0];"] if self.odd else []),
        ]
        return s.module(n, self.pins, body, ["g"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a = value = i["a"]
        if i["m"] != self.level:
            return {"y": a ^ a >> 1, "o": a & 1}
        while a:
            a >>= 1
            value ^= a
        return {"y": value, "o": value & 1}


# Classes of characters: name, ranges.
_CLASSES: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {
    "digit": ("a decimal digit", ((0x30, 0x39),)),
    "upper": ("an upper-case letter", ((0x41, 0x5A),)),
    "lower": ("a lower-case letter", ((0x61, 0x7A),)),
    "letter": ("a letter", ((0x41, 0x5A), (0x61, 0x7A))),
    "space": ("a space", ((0x20, 0x20),)),
    "blank": ("white space", ((0x20, 0x20), (0x09, 0x0D))),
    "sign": ("a sign", ((0x2B, 0x2B), (0x2D, 0x2D))),
    "control": ("a control code", ((0x00, 0x1F),)),
    "octal": ("an octal digit", ((0x30, 0x37),)),
    "hex": ("a hexadecimal digit", ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))),
    "name": ("a character of a name", ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), (0x5F, 0x5F))),
}
_GROUPS = (("digit", "upper", "lower"), ("digit", "letter"), ("letter", "blank"), ("digit", "letter", "space"),
           ("upper", "lower"), ("digit", "sign"), ("digit", "sign", "space"), ("control", "digit", "letter"),
           ("letter", "digit", "sign"), ("octal", "letter", "blank"))  # fmt: skip


def _in(code: int, name: str) -> bool:
    return any(low <= code <= high for low, high in _CLASSES[name][1])


def _ranges(name: str) -> str:
    return " and ".join(
        f"0x{low:02X}" if low == high else f"0x{low:02X} to 0x{high:02X}" for low, high in _CLASSES[name][1]
    )


@dataclass(frozen=True)
class CharacterClass(Family):
    """What kind of character a code is, with some more about it."""

    name: ClassVar[str] = "character_class"
    share: ClassVar[float] = 1.6
    kinds: tuple[str, ...]
    fold: str
    flags: tuple[str, ...]
    value: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``fold`` is ``up``, ``down`` or nothing; ``value`` of a ``digit`` or ``hex`` digit, or nothing."""
        while True:
            kinds = list(rng.choice(_GROUPS)) if rng.random() < 0.7 else []
            rng.shuffle(kinds)
            flags = rng.sample(
                ("digit", "upper", "lower", "letter", "hex", "name", "blank", "octal"), rng.choice((0, 1, 1, 2))
            )
            found = cls(
                tuple(kinds), rng.choice(("", "up", "down")), tuple(flags), rng.choice(("", "", "digit", "hex"))
            )
            outputs = bool(kinds) + bool(found.fold) + len(flags) + bool(found.value)
            suite = bool(kinds) and bool(found.fold) and "hex" in flags and bool(found.value)
            if outputs > 1 and not suite:
                return found

    @property
    def _bits(self) -> int:
        return const_width(len(self.kinds))

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            inp("c", 8, "char"),
            *((out("k", self._bits, "kind"),) if self.kinds else ()),
            *((out("f", 8, "folded"),) if self.fold else ()),
            *(out(f"is{place}", 1, f"is_{flag}") for place, flag in enumerate(self.flags)),
            *((out("v", 4, "digit_value"),) if self.value else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        c = f"`{n.c}`"
        facts = []
        if self.kinds:
            form = w.say(
                "{k} for {what} ({range})",
                "{k} if it is {what}, codes {range}",
                "{k}: {what}, {range}",
                held="{k} stands for {what} ({range})",
            )
            listed = "; ".join(
                form.format(k=k, what=_CLASSES[kind][0], range=_ranges(kind)) for k, kind in enumerate(self.kinds, 1)
            )
            facts.append(
                w.say(
                    f"`{n.k}` is the class of the character: {listed}; 0 for every other code",
                    f"`{n.k}` is {listed}; and 0 otherwise",
                    held=f"`{n.k}` sorts the codes: {listed}; 0 is the rest",
                )
            )
        if self.fold:
            here, there = ("lower-case", "upper-case") if self.fold == "up" else ("upper-case", "lower-case")
            low = "0x61 to 0x7A" if self.fold == "up" else "0x41 to 0x5A"
            facts.append(
                w.say(
                    f"`{n.f}` is the {there} letter when {c} is {w.a(here)} letter ({low}); every other code comes out unchanged",
                    f"`{n.f}` is {c} with {here} letters ({low}) turned into {there} ones, and all else unchanged",
                    held=f"`{n.f}` makes {here} letters {there}",
                )
            )
        for place, flag in enumerate(self.flags):
            y = f"`{n[f'is{place}']}`"
            facts.append(
                w.say(
                    f"{y} is 1 when {c} is {_CLASSES[flag][0]} ({_ranges(flag)}), otherwise 0",
                    f"{y} is 1 for {_CLASSES[flag][0]}, codes {_ranges(flag)}",
                    held=f"{y} picks out {_CLASSES[flag][0]} ({_ranges(flag)})",
                )
            )
        if self.value:
            what = _CLASSES[self.value][0]
            most = 9 if self.value == "digit" else 15
            facts.append(
                w.say(
                    f"`{n.v}` is the value of the character as {what}, 0 to {most}, and 0 when it is none",
                    f"`{n.v}` is 0 to {most}, the number that {what} stands for; for other codes it is 0",
                    held=f"`{n.v}` reads {what}, or gives 0",
                )
            )
        return Spec(
            noun=w.say("a classifier of 8-bit ASCII codes", "a unit that looks at one ASCII character", held="a sorter of characters"),
            verb=w.say("classifies one 8-bit character code (ASCII)", "examines an ASCII code", held="looks what a character is"),
            facts=tuple(facts),
            notes={"c": w.say("the character", "an ASCII code", "")},
        )  # fmt: skip

    def _test(self, n: Names, name: str) -> str:
        parts = [
            f"{n.c} == 8'h{low:02X}" if low == high else f"({n.c} >= 8'h{low:02X} && {n.c} <= 8'h{high:02X})" if low
            else f"{n.c} <= 8'h{high:02X}"
            for low, high in _CLASSES[name][1]
        ]  # fmt: skip
        return " || ".join(parts) if len(parts) > 1 else parts[0].strip("()")

    def code(self, n: Names, s: Style) -> str:
        lines = []
        if self.kinds:
            cases: list[Case] = [
                (self._test(n, kind), [f"{n.k} = {self._bits}'d{k};"]) for k, kind in enumerate(self.kinds, 1)
            ]
            lines += s.chain([*cases, ("", [f"{n.k} = {self._bits}'d0;"])])
        if self.fold:
            kind, sign = ("lower", "-") if self.fold == "up" else ("upper", "+")
            lines += s.chain([(self._test(n, kind), [f"{n.f} = {n.c} {sign} 8'h20;"]), ("", [f"{n.f} = {n.c};"])])
        for place, flag in enumerate(self.flags):
            lines.append(f"{n[f'is{place}']} = {self._test(n, flag)};")
        if self.value:
            cases = [(self._test(n, "digit"), [f"{n.v} = {n.c}[3:0];"])]
            if self.value == "hex":
                test = f"({n.c} >= 8'h41 && {n.c} <= 8'h46) || ({n.c} >= 8'h61 && {n.c} <= 8'h66)"
                cases.append((test, [f"{n.v} = {n.c}[3:0] + 4'd9;"]))
            lines += s.chain([*cases, ("", [f"{n.v} = 4'd0;"])])
        return s.module(n, self.pins, s.comb(lines), [pin.role for pin in self.pins if pin.direction == "output"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        c = i["c"]
        kind = next((k for k, name in enumerate(self.kinds, 1) if _in(c, name)), 0)
        text = chr(c) if c < 128 else ""
        folded = c if not text else ord(text.upper() if self.fold == "up" else text.lower())
        digits = "0123456789abcdef"[: 10 if self.value == "digit" else 16]
        value = digits.index(text.lower()) if text and text.lower() in digits else 0
        flags = {f"is{place}": int(_in(c, flag)) for place, flag in enumerate(self.flags)}
        return {"k": kind, "f": folded, "v": value, **flags}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(value + d for low, high in ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), (0x41, 0x46), (0x61, 0x66), (0x09, 0x0D), (0x20, 0x20)) for value in (low, high) for d in (-1, 0, 1))  # fmt: skip

    @property
    def cycles(self) -> int:
        return 256


@dataclass(frozen=True)
class Thermometer(Family):
    """A thermometer code with faults: is it clean, what is its level, what is it when smoothed."""

    name: ClassVar[str] = "thermometer_check"
    share: ClassVar[float] = 1.2
    width: int
    smooth: bool
    edges: tuple[int, int]
    shown: bool
    level: bool
    flag: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``flag`` is ``clean``, ``bubble`` or nothing."""
        while True:
            found = cls(
                rng.choice((4, 5, 6, 7, 8, 10, 12, 15, 16)), rng.random() < 0.6,
                rng.choice(((1, 0), (1, 0), (0, 0), (1, 1))), rng.random() < 0.7, rng.random() < 0.7,
                rng.choice(("clean", "bubble", "")),
            )  # fmt: skip
            outputs = (found.smooth and found.shown) + found.level + bool(found.flag)
            if outputs > 1 and not (found.width == 15 and found.smooth and found.edges == (1, 0)):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        word = (out if self.shown else own)("r", self.width, "repaired")
        return (
            inp("t", self.width, "therm"),
            *((word,) if self.smooth and self.shown else ()),
            *((out("l", const_width(self.width), "level"),) if self.level else ()),
            *((out("f", 1, "pure" if self.flag == "clean" else "bubble"),) if self.flag else ()),
            *((word,) if self.smooth and not self.shown else ()),
            *((own("e", self.width + 2, "wide"),) if self.smooth else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        t = f"`{n.t}`"
        facts = []
        if self.smooth:
            r = f"`{n.r}`" if self.shown else "the smoothed code"
            low, high = self.edges
            facts.append(
                w.say(
                    f"each bit of {r} is the majority (at least two of three) of the same bit of {t} and its two neighbours",
                    f"bit i of {r} is 1 when at least two of the bits i-1, i and i+1 of {t} are 1",
                    held=f"{r} is {t} where each bit is outvoted by its neighbours",
                )
            )
            facts.append(
                w.say(
                    f"below bit 0 a neighbour of value {low} is assumed, above bit {self.width - 1} one of value {high}",
                    f"beyond the ends, {low} is taken below bit 0 and {high} above bit {self.width - 1}",
                    held=f"the missing neighbours are {low} at the bottom and {high} at the top",
                )
            )
        if self.level:
            of = (f"`{n.r}`" if self.shown else "the smoothed code") if self.smooth else t
            facts.append(
                w.say(
                    f"`{n.l}` is the number of ones in {of}",
                    f"`{n.l}` is how many bits of {of} are 1, 0 to {self.width}",
                    held=f"`{n.l}` counts up {of}",
                )
            )
        if self.flag:
            clean = w.say(
                f"the ones of {t} are contiguous and start at bit 0, or {t} is 0",
                f"no 1 stands above a 0 in {t}",
                held=f"{t} is nothing but ones below zeros",
            )
            facts.append(
                f"`{n.f}` is {int(self.flag == 'clean')} when {clean}, and {int(self.flag != 'clean')} otherwise"
            )
        return Spec(
            noun=w.say(f"a checker of {self.width}-bit thermometer codes", f"a unit that reads a {self.width}-bit thermometer code", held=f"a reader for {self.width} comparators"),
            verb=w.say(f"evaluates a thermometer code of {self.width} bits", f"turns the code of {self.width} comparators into a level" if self.level else f"checks the code of {self.width} comparators", held=f"looks at {self.width} comparators"),
            facts=tuple(facts),
        )  # fmt: skip

    def code(self, n: Names, s: Style) -> str:
        body = [*s.index] if self.level else []
        if self.smooth:
            low, high = self.edges
            body.append(f"assign {n.e} = {{1'b{high}, {n.t}, 1'b{low}}};")
            part = f"{n.e}{span(self.width)}", f"{n.e}[{self.width}:1]", f"{n.e}[{self.width + 1}:2]"
            body.append(f"assign {n.r} = ({part[0]} & {part[1]}) | ({part[1]} & {part[2]}) | ({part[0]} & {part[2]});")
        if self.level:
            of = n.r if self.smooth else n.t
            body += s.comb([f"{n.l} = 0;", s.loop(self.width), f"    {n.l} = {n.l} + {of}[i];"])
        if self.flag:
            text = f"({n.t} & ({n.t} + {self.width}'d1)) {'==' if self.flag == 'clean' else '!='} {self.width}'d0"
            body.append(f"assign {n.f} = {text};")
        return s.module(n, self.pins, body, ["l"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        bits = [self.edges[0], *(i["t"] >> k & 1 for k in range(self.width)), self.edges[1]]
        smooth = [int(sum(bits[k : k + 3]) >= 2) for k in range(self.width)]
        ones = smooth if self.smooth else bits[1:-1]
        clean = bits[1:-1] == sorted(bits[1:-1], reverse=True)
        return {"r": sum(bit << k for k, bit in enumerate(smooth)), "l": sum(ones),
                "f": int(clean == (self.flag == "clean"))}  # fmt: skip

    def common(self, role: str) -> tuple[int, ...]:
        return (*(mask(k) for k in range(self.width + 1)), 2, 5, 11)

    @property
    def cycles(self) -> int:
        return 140


FAMILIES = (GrayEither, CharacterClass, Thermometer)
