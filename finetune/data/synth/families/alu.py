"""Operations by a code, put together at random."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Family, Inputs, Names, Outputs, Pin, Spec, State, inp, mask, out
from finetune.data.synth.families.atoms import FACTS, FLAGS, assign_flags, constant_of, flag_values
from finetune.data.synth.families.common import WIDTHS
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

_OPERATIONS = (
    "add", "sub", "rsub", "and", "or", "xor", "nand", "nor", "without", "larger", "smaller", "pass", "not", "next",
    "before", "negative", "left", "right",
)  # fmt: skip


@dataclass(frozen=True)
class Alu(Family):
    """One of several operations on two words, by a code, with flags of the result."""

    name: ClassVar[str] = "alu"
    share: ClassVar[float] = 4.0
    width: int
    bits: int
    operations: tuple[tuple[str, int], ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        bits, size = rng.choice((1, 2, 2, 2, 3, 3)), rng.choice(WIDTHS)
        count = (1 << bits) - (rng.choice((0, 0, 1, 2, 3)) if bits == 3 else 0)
        chosen = rng.sample(_OPERATIONS, count)
        if not any("b" in FACTS[key].needs for key in chosen):
            chosen[0] = "add"
        flags = tuple(rng.sample(list(FLAGS), rng.choice((0, 0, 1, 1, 2))))
        return cls(size, bits, tuple((key, constant_of(key, rng, size)) for key in chosen), flags)

    @property
    def pins(self) -> tuple[Pin, ...]:
        flags = (out(flag, 1, FLAGS[flag]) for flag in self.flags)
        return inp("a", self.width), inp("b", self.width), inp("op", self.bits), out("y", self.width), *flags

    def _texts(self, n: Names, k: int) -> dict[str, object]:
        return {"a": n.a, "b": n.b, "y": n.y, "k": k, "w": self.width, "t": self.width - 1}

    def describe(self, n: Names, w: Words) -> Spec:
        nouns = [FACTS[key].short.format(**self._texts(n, k)) for key, k in self.operations]
        rest = len(nouns) < 1 << self.bits
        tabled = w.rng.random() < 0.55
        rows = [(str(code), noun) for code, noun in enumerate(nouns)]
        facts = []
        if tabled:
            rows += [("other", "0")] if rest else []
            facts.append(
                w.say(
                    f"`{n.op}` chooses the operation",
                    f"`{n.y}` depends on `{n.op}` as in the table",
                    "the operations are in the table",
                    held=f"look `{n.op}` up below",
                )
            )
        else:
            form = w.say(
                "`{op}` = {code}: `{y}` is {noun}",
                "{code}: {noun}",
                "for `{op}` = {code}, `{y}` is {noun}",
                held="code {code} makes `{y}` {noun}",
            )
            if form.startswith("{code}"):
                facts.append(f"`{n.op}` chooses what `{n.y}` is")
            facts += [form.format(op=n.op, y=n.y, code=code, noun=noun) for code, noun in enumerate(nouns)]
            if rest:
                facts.append(
                    w.say(
                        f"for every other value of `{n.op}`, `{n.y}` is 0",
                        f"any other `{n.op}` gives 0",
                        held=f"the other codes of `{n.op}` give 0",
                    )
                )
        for flag in self.flags:
            facts.append(FACTS[flag].say(w, {**self._texts(n, 0), "a": n.y, "y": n[flag]}))
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit arithmetic and logic unit"),
                w.a(f"{self.width}-bit ALU with {len(nouns)} operations"),
                f"a unit with {len(nouns)} operations on {self.width}-bit words",
                held=f"a calculator for {self.width}-bit words",
            ),
            verb=w.say(
                f"performs one of {len(nouns)} operations on `{n.a}` and `{n.b}`",
                f"computes with two {self.width}-bit words, as `{n.op}` says",
                held=f"calculates with `{n.a}` and `{n.b}`",
            ),
            facts=tuple(facts),
            table=((f"`{n.op}`", f"`{n.y}`"), *rows) if tabled else (),
        )

    def code(self, n: Names, s: Style) -> str:
        texts = [FACTS[key].code.format(**self._texts(n, k)) for key, k in self.operations]
        arms: list[Case] = [(f"{self.bits}'d{code}", [f"{n.y} = {text};"]) for code, text in enumerate(texts)]
        if len(texts) == 1 << self.bits:
            arms[-1] = ("", arms[-1][1])
        else:
            arms.append(("", [f"{n.y} = {s.lit(self.width, 0)};"]))
        if self.bits == 1 and s.ternary:
            body = [f"assign {n.y} = {n.op} ? {texts[1]} : {texts[0]};"]
            written: list[str] = []
        else:
            body, written = s.comb(s.case(n.op, arms)), ["y"]
        flags = assign_flags(self.flags, n, n.y, self.width)
        return s.module(n, self.pins, [*body, *flags], written)

    def outs(self, state: State, i: Inputs) -> Outputs:
        y = 0
        if i["op"] < len(self.operations):
            key, k = self.operations[i["op"]]
            y = FACTS[key].value(i["a"], i["b"], 0, k, self.width) & mask(self.width)
        return {"y": y, **flag_values(self.flags, y, self.width)}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(range(1 << self.bits)) if role == "op" else ()

    @property
    def cycles(self) -> int:
        return 96


FAMILIES = (Alu,)
