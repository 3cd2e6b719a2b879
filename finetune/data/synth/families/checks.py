"""Combinational units with several outputs that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out, own, signed
from finetune.data.synth.families.common import const_width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class WordExtent(Family):
    """Where the set bits of a word lie."""

    name: ClassVar[str] = "word_extent"
    share: ClassVar[float] = 1.5
    width: int
    facts: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            facts = rng.sample(("empty", "any", "low", "high", "span", "solid", "ones"), rng.choice((2, 3, 3, 4, 5)))
            found = cls(rng.choice((4, 6, 7, 8, 8, 10, 12, 15, 16, 20, 24, 32)), tuple(facts))
            if {"low", "high"} & set(facts) and not (found.width == 16 and {"span", "solid"} <= set(facts)):
                return found

    @property
    def _bits(self) -> int:
        return const_width(self.width - 1)

    def _size(self, fact: str) -> int:
        return {
            "low": self._bits,
            "high": self._bits,
            "span": const_width(self.width),
            "ones": const_width(self.width),
        }.get(fact, 1)

    @property
    def pins(self) -> tuple[Pin, ...]:
        pools = {"empty": "empty", "any": "any", "low": "low_at", "high": "high_at", "span": "extent", "solid": "solid",
                 "ones": "count"}  # fmt: skip
        needed = {"low", "high"} if {"span", "solid"} & set(self.facts) else set()
        return (
            inp("a", self.width, "din"),
            *(out(fact, self._size(fact), pools[fact]) for fact in self.facts),
            *(own(fact, self._bits, pools[fact]) for fact in ("low", "high") if fact in needed - set(self.facts)),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        a = f"`{n.a}`"
        texts = {
            "empty": lambda y: w.say(f"{y} is 1 when no bit of {a} is set, otherwise 0", f"{y} is 1 when {a} is zero", held=f"{y}: nothing in {a}"),
            "any": lambda y: w.say(f"{y} is 1 when at least one bit of {a} is set", f"{y} tells whether {a} is not zero", held=f"{y}: something in {a}"),
            "low": lambda y: w.say(f"{y} is the index of the lowest set bit", f"{y} is the number of the lowest bit of {a} that is 1", held=f"{y} says how many zeros are below the first one"),
            "high": lambda y: w.say(f"{y} is the index of the highest set bit", f"{y} is the number of the highest bit of {a} that is 1", held=f"{y} is where the last one of {a} stands"),
            "span": lambda y: w.say(f"{y} is the number of bit positions from the lowest set bit to the highest set bit, both included", f"{y} is the distance from the lowest to the highest set bit, plus 1", held=f"{y} is how many places the ones of {a} take up"),
            "solid": lambda y: w.say(f"{y} is 1 when all bits between the lowest and the highest set bit are set too", f"{y} is 1 when the set bits form one run without a gap", held=f"{y} says that the ones of {a} stand side by side"),
            "ones": lambda y: w.say(f"{y} is the number of set bits", f"{y} is the number of ones in {a}", held=f"{y} counts what is set in {a}"),
        }  # fmt: skip
        facts = [texts[fact](f"`{n[fact]}`") for fact in self.facts]
        zero = [f"`{n[fact]}`" for fact in self.facts if fact in ("low", "high", "span", "solid", "ones")]
        facts.append(
            w.say(
                f"when {a} is zero, {_listed(zero)} {'is' if len(zero) == 1 else 'are all'} 0",
                f"for {a} = 0, {_listed(zero)} {'is' if len(zero) == 1 else 'are'} 0",
                held=f"nothing set gives 0 for {_listed(zero)}",
            )
        )
        return Spec(
            noun=w.say(
                f"a unit that measures where the set bits of a {self.width}-bit word lie",
                w.a(f"{self.width}-bit bit scanner with {len(self.facts)} outputs"),
                held=f"a ruler for the ones of a {self.width}-bit word",
            ),
            verb=w.say(
                f"measures how far the set bits of a {self.width}-bit word reach",
                f"looks for the set bits of a {self.width}-bit word",
                held=f"says where the ones of {a} are",
            ),
            facts=tuple(facts),
        )

    def code(self, n: Names, s: Style) -> str:
        has = {pin.role for pin in self.pins}
        lines = [f"{n[fact]} = {s.lit(self._size(fact), 0)};" for fact in ("low", "high", "ones") if fact in has]
        if "high" in has or "ones" in has:
            inner = [f"{n.high} = i;"] if "high" in has else []
            lines.append(s.loop(self.width))
            if "ones" in has and "high" in has:
                lines[-1] += " begin"
                lines += [f"    if ({n.a}[i])", f"        {inner[0]}", f"    {n.ones} = {n.ones} + {n.a}[i];", "end"]
            elif "ones" in has:
                lines.append(f"    {n.ones} = {n.ones} + {n.a}[i];")
            else:
                lines += [f"    if ({n.a}[i])", f"        {inner[0]}"]
        if "low" in has:
            lines += [
                s.loop(self.width, down=True),
                f"    if ({n.a}[i])",
                f"        {n.low} = i;",
            ]
        zero = f"{self.width}'d0"
        body = [*s.index, *s.comb(lines)]
        for fact in self.facts:
            text = {
                "empty": f"{n.a} == {zero}",
                "any": f"{n.a} != {zero}",
                "span": f"({n.a} == {zero}) ? {self._size('span')}'d0 : {n.high} - {n.low} + 1"
                if "span" in self.facts
                else "",
                "solid": f"{n.a} != {zero} && (({n.a} >> {n.low}) & (({n.a} >> {n.low}) + {self.width}'d1)) == {zero}"
                if "solid" in self.facts
                else "",
            }.get(fact)
            if text:
                body.append(f"assign {n[fact]} = {text};")
        return s.module(n, self.pins, body, ["low", "high", "ones"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        places = [k for k in range(self.width) if i["a"] >> k & 1]
        low, high = (places[0], places[-1]) if places else (0, 0)
        span = high - low + 1 if places else 0
        found = {"empty": int(not places), "any": int(bool(places)), "low": low, "high": high, "span": span,
                 "solid": int(bool(places) and len(places) == span), "ones": len(places)}  # fmt: skip
        return {fact: found[fact] for fact in self.facts}

    def common(self, role: str) -> tuple[int, ...]:
        top = mask(self.width)
        return (0, 1, top, 6, 12, 14, top >> 1, top >> 2, 1 << (self.width - 1), top ^ 1)

    @property
    def cycles(self) -> int:
        return 120


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


_OPS: dict[str, tuple[tuple[str, ...], str]] = {
    "add": (("`{a}` plus `{b}`", "`{a}` + `{b}`", "the sum of `{a}` and `{b}`"), "{a} + {b}"),
    "sub": (("`{a}` minus `{b}`", "`{a}` - `{b}`"), "{a} - {b}"),
    "rsub": (("`{b}` minus `{a}`", "`{b}` - `{a}`"), "{b} - {a}"),
    "neg": (("minus `{a}`", "`{a}` negated"), "-{a}"),
    "abs": (("the absolute value of `{a}`", "`{a}` without its sign"), "({a} < 0) ? -{a} : {a}"),
    "absb": (("the absolute value of `{b}`",), "({b} < 0) ? -{b} : {b}"),
    "double": (("`{a}` times 2", "2 times `{a}`"), "{a} + {a}"),
    "inc": (("`{a}` plus 1", "`{a}` + 1"), "{a} + 1"),
    "dec": (("`{a}` minus 1", "`{a}` - 1"), "{a} - 1"),
}


@dataclass(frozen=True)
class SaturatingUnit(Family):
    """Signed operations that saturate, with flags."""

    name: ClassVar[str] = "saturating_unit"
    share: ClassVar[float] = 2.0
    width: int
    ops: tuple[str, ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            ops = tuple(rng.sample(list(_OPS), rng.choice((1, 2, 4, 4))))
            flags = tuple(rng.sample(("clipped", "negative", "zero"), rng.choice((1, 2, 3))))
            # Both operands are read by something; the suite has the last one.
            if {"add", "sub", "rsub"} & set(ops) and ops != ("add", "sub", "rsub", "abs"):
                return cls(rng.choice((4, 5, 6, 8, 8, 8, 10, 12, 16)), ops, flags)

    @property
    def pins(self) -> tuple[Pin, ...]:
        bits = const_width(len(self.ops) - 1)
        pools = {"clipped": "ovf", "negative": "neg", "zero": "zero"}
        return (
            Pin("a", "input", self.width, "a", True),
            Pin("b", "input", self.width, "b", True),
            *((inp("op", bits),) if len(self.ops) > 1 else ()),
            Pin("y", "output", self.width, "y", True),
            *(out(flag, 1, pools[flag]) for flag in self.flags),
            Pin("x", "internal", self.width + 2, "wide", True),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        low, high = -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        y = f"`{n.y}`"
        said = [w.say(*_OPS[op][0]).format(a=n.a, b=n.b) for op in self.ops]
        form = w.say(
            "`{op}` = {k}: {text}",
            "with `{op}` = {k} it is {text}",
            "for `{op}` = {k}, {text}",
            "{text} when `{op}` is {k}",
            held="code {k} asks for {text}",
        )
        if len(self.ops) == 1:
            facts = [
                w.say(
                    f"the exact value is {said[0]}",
                    f"the exact result is {said[0]}",
                    held=f"exactly, one would get {said[0]}",
                )
            ]
        else:
            listed = "; ".join(form.format(op=n.op, k=k, text=text) for k, text in enumerate(said))
            facts = [
                w.say(
                    f"the exact value is: {listed}",
                    f"the exact result depends on `{n.op}`: {listed}",
                    held=f"exactly, one would get: {listed}",
                )
            ]
        facts.append(
            w.say(
                f"{y} is the exact value when it lies between {low} and {high}; a larger one gives {high}, a smaller one gives {low}",
                f"{y} is the exact value limited to {low} to {high}",
                f"{y} saturates: above {high} it is {high}, below {low} it is {low}, otherwise the exact value",
                held=f"{y} stops at {low} and {high}",
            )
        )
        texts = {
            "clipped": lambda f: w.say(f"{f} is 1 when {y} differs from the exact value, otherwise 0", f"{f} is 1 when the result was saturated", held=f"{f} says that something was cut off"),
            "negative": lambda f: w.say(f"{f} is 1 when {y} (after saturation) is below zero", f"{f} is 1 when {y} is negative", held=f"{f} is the sign of {y}"),
            "zero": lambda f: w.say(f"{f} is 1 when {y} (after saturation) is zero", f"{f} is 1 when {y} is 0, otherwise 0", held=f"{f} says that nothing is left in {y}"),
        }  # fmt: skip
        facts += [texts[flag](f"`{n[flag]}`") for flag in self.flags]
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit signed arithmetic unit that saturates instead of wrapping"),
                w.a(
                    f"{self.width}-bit signed unit with {len(self.ops)} saturating operation{'s' if len(self.ops) > 1 else ''}"
                ),
                held=f"signed arithmetic on {self.width} bits that never wraps",
            ),
            verb=w.say(
                f"computes with signed {self.width}-bit numbers and saturates the result",
                held=f"reckons with {self.width} signed bits without wrapping",
            ),
            facts=tuple(facts),
            notes={"y": "two's complement", "a": w.say("two's complement", "")},
        )

    def code(self, n: Names, s: Style) -> str:
        high = (1 << (self.width - 1)) - 1
        arms: list[Case] = [
            (f"{const_width(len(self.ops) - 1)}'d{k}", [f"{n.x} = {_OPS[op][1].format(a=n.a, b=n.b)};"])
            for k, op in enumerate(self.ops)
        ]
        arms[-1] = ("", arms[-1][1])
        lines = list(arms[0][1]) if len(self.ops) == 1 else s.case(n.op, arms)
        lines += s.chain(
            [
                (f"{n.x} > {high}", [f"{n.y} = {self.width}'sd{high};"]),
                (f"{n.x} < -{high + 1}", [f"{n.y} = -{self.width}'sd{high + 1};"]),
                ("", [f"{n.y} = {n.x}[{self.width - 1}:0];"]),
            ]
        )
        texts = {"clipped": f"{n.x} != {n.y}", "negative": f"{n.y} < 0", "zero": f"{n.y} == 0"}
        body = [*s.comb(lines), *(f"assign {n[flag]} = {texts[flag]};" for flag in self.flags)]
        return s.module(n, self.pins, body, ["y", "x"])

    def outs(self, state: State, i: Inputs) -> Outputs:
        a, b = signed(i["a"], self.width), signed(i["b"], self.width)
        exact = {"add": a + b, "sub": a - b, "rsub": b - a, "neg": -a, "abs": abs(a), "absb": abs(b), "double": 2 * a,
                 "inc": a + 1, "dec": a - 1}[self.ops[i.get("op", 0)]]  # fmt: skip
        low, high = -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1
        y = min(max(exact, low), high)
        return {"y": y, "clipped": int(y != exact), "negative": int(y < 0), "zero": int(y == 0)}

    def common(self, role: str) -> tuple[int, ...]:
        half = 1 << (self.width - 1)
        return tuple(range(len(self.ops))) if role == "op" else (half, half - 1, 0, mask(self.width), half + 1)

    @property
    def cycles(self) -> int:
        return 160


@dataclass(frozen=True)
class WeightedVote(Family):
    """Members with weights vote."""

    name: ClassVar[str] = "weighted_vote_count"
    share: ClassVar[float] = 1.2
    weights: tuple[int, ...]
    present: bool
    quorum: int
    no: bool
    tie: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            weights = tuple(rng.choice((1, 1, 2, 2, 3, 4, 5)) for _ in range(rng.choice((3, 4, 4, 5, 6))))
            found = cls(
                weights, rng.random() < 0.7, rng.randrange(2, sum(weights)), rng.random() < 0.6, rng.random() < 0.6
            )
            if weights != (1, 1, 2, 3, 5):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        count, size = len(self.weights), const_width(sum(self.weights))
        return (
            *((inp("p", count, "member"),) if self.present else ()),
            inp("v", count, "vote"),
            out("yes", size, "yes_sum"),
            *((out("no", size, "no_sum"),) if self.no else ()),
            out("q", 1, "quorum"),
            *((out("won", 1, "won"),) if self.no else ()),
            *((out("tie", 1, "tie"),) if self.no and self.tie else ()),
            *((own("f", count, "reg1"),) if self.present else ()),
            *((own("g", count, "reg2"),) if self.no else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        listed = ", ".join(f"{weight} for member {k}" for k, weight in enumerate(self.weights))
        who = "present members" if self.present else "members"
        facts = [
            w.say(f"the weights are {listed}", f"the votes have different weights: {listed}", f"a vote weighs {listed}", held=f"votes weigh {listed}"),
            w.say(f"`{n.yes}` is the sum of the weights of the {who} who vote yes", f"`{n.yes}` adds up the weights of all {who} whose bit of `{n.v}` is 1", held=f"`{n.yes}` weighs the ayes"),
        ]  # fmt: skip
        if self.present:
            facts.insert(
                0,
                w.say(
                    f"bit i of `{n.p}` is 1 when member i takes part, bit i of `{n.v}` is its vote, 1 for yes",
                    f"member i is present when bit i of `{n.p}` is 1; its vote is bit i of `{n.v}`, 1 for yes and 0 for no",
                    held=f"`{n.p}` says who is here, `{n.v}` what each wants",
                ),
            )
        if self.no:
            facts.append(
                w.say(
                    f"`{n.no}` is the sum of the weights of the {who} who vote no",
                    f"`{n.no}` is the same for the votes that are 0",
                    held=f"`{n.no}` weighs the noes",
                )
            )
        what = f"all {who} together" if self.present else "those who vote yes"
        facts.append(
            w.say(
                f"`{n.q}` is 1 when the weights of {what} are at least {self.quorum}",
                f"`{n.q}` is 1 when the weights of {what} add up to {self.quorum} or more",
                held=f"`{n.q}` needs a weight of {self.quorum} from {what}",
            )
        )
        if self.no:
            facts.append(
                w.say(
                    f"`{n.won}` is 1 when `{n.q}` is 1 and `{n.yes}` is greater than `{n.no}`",
                    f"`{n.won}` is 1 when there is a quorum and `{n.yes}` is greater than `{n.no}`",
                    held=f"with `{n.q}`, `{n.won}` shows that the ayes have it",
                )
            )
            if self.tie:
                facts.append(
                    w.say(
                        f"`{n.tie}` is 1 when `{n.q}` is 1 and `{n.yes}` equals `{n.no}`",
                        f"`{n.tie}` is 1 when there is a quorum and both sums are equal",
                        held=f"with `{n.q}`, `{n.tie}` shows that nobody won",
                    )
                )
        return Spec(
            noun=w.say(f"a vote counter for {len(self.weights)} members with weights", f"a unit that counts a weighted vote among {len(self.weights)} members", held="a ballot box with weights"),
            verb=w.say(f"counts a vote among {len(self.weights)} members whose votes have different weights", held=f"weighs {len(self.weights)} votes"),
            facts=tuple(facts),
        )  # fmt: skip

    def code(self, n: Names, s: Style) -> str:
        def added(word: str) -> str:
            parts = (
                f"{word}[{k}]" if weight == 1 else f"{weight}*{word}[{k}]" for k, weight in enumerate(self.weights)
            )
            return " + ".join(parts)

        body = [f"assign {n.f} = {n.p} & {n.v};"] if self.present else []
        body.append(f"assign {n.yes} = {added(n.f if self.present else n.v)};")
        if self.no:
            body.append(f"assign {n.g} = {f'{n.p} & ' if self.present else ''}~{n.v};")
            body.append(f"assign {n.no} = {added(n.g)};")
        total = n.yes if not self.present else f"{n.yes} + {n.no}" if self.no else added(n.p)
        body.append(f"assign {n.q} = {total} >= {self.quorum};")
        if self.no:
            body.append(f"assign {n.won} = {n.q} && {n.yes} > {n.no};")
            if self.tie:
                body.append(f"assign {n.tie} = {n.q} && {n.yes} == {n.no};")
        return s.module(n, self.pins, body)

    def outs(self, state: State, i: Inputs) -> Outputs:
        here = i["p"] if self.present else mask(len(self.weights))
        yes = sum(weight for k, weight in enumerate(self.weights) if here & i["v"] & 1 << k)
        no = sum(weight for k, weight in enumerate(self.weights) if here & ~i["v"] & 1 << k)
        quorum = (yes + no if self.present else yes) >= self.quorum
        return {
            "yes": yes,
            "no": no,
            "q": int(quorum),
            "won": int(quorum and yes > no),
            "tie": int(quorum and yes == no),
        }

    @property
    def cycles(self) -> int:
        return 140


FAMILIES = (WordExtent, SaturatingUnit, WeightedVote)
