"""Designs of several outputs, put together at random.

No two of these are alike, so that what is learnt is to read a description and not to know a design.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Inputs, Names, Outputs, Pin, Spec, State, inp, out
from finetune.data.synth.families.atoms import FACTS, constant_of
from finetune.data.synth.families.common import WIDTHS, Expressions
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class Several(Expressions):
    """Two to five outputs, each a fact of its own."""

    name: ClassVar[str] = "several_outputs"
    share: ClassVar[float] = 6.0
    width: int
    facts: tuple[tuple[str, int], ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice(WIDTHS)
        needs = rng.choice(("", "b", "b", "bs", "s"))
        allowed = [key for key, atom in FACTS.items() if set(atom.needs) <= set(needs)]
        chosen = rng.sample(allowed, rng.choice((2, 2, 3, 3, 4, 5)))
        # What is there to be read must be read by something.
        for need in needs:
            if not any(need in FACTS[key].needs for key in chosen):
                chosen[need == "s"] = rng.choice(
                    [key for key in allowed if need in FACTS[key].needs and key not in chosen]
                )
        return cls(size, tuple((key, constant_of(key, rng, size)) for key in chosen))

    @property
    def _needs(self) -> str:
        return "".join(need for need in "bs" if any(need in FACTS[key].needs for key, _ in self.facts))

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = tuple(
            inp(need, self.width if need == "b" else 1, "any_in" if need == "b" else "any_in1") for need in self._needs
        )
        outs = (
            out(f"y{k}", self.width if FACTS[key].size == "word" else 1, "any_out")
            for k, (key, _) in enumerate(self.facts)
        )
        return (inp("a", self.width, "any_in"), *more, *outs)

    def _texts(self, n: Names, place: int) -> dict[str, object]:
        texts: dict[str, object] = {
            "a": n.a,
            "y": n[f"y{place}"],
            "k": self.facts[place][1],
            "w": self.width,
            "t": self.width - 1,
        }
        return texts | {need: n[need] for need in self._needs}

    def describe(self, n: Names, w: Words) -> Spec:
        inputs = ["a", *self._needs]
        words = " and ".join(f"`{n[role]}`" for role in inputs if role != "s")
        count = len(self.facts)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit unit with {count} outputs"),
                f"a small unit that looks at {words}",
                f"a block with {count} outputs that depend on {words}",
                held=f"a thing that says {count} things about {words}",
            ),
            verb=w.say(
                f"computes {count} values from {words}",
                f"examines {words}",
                f"derives {count} outputs from {words}",
                held=f"says {count} things about {words}",
            ),
            facts=tuple(FACTS[key].say(w, self._texts(n, place)) for place, (key, _) in enumerate(self.facts)),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {
            f"y{place}": FACTS[key].code.format(**self._texts(n, place)) for place, (key, _) in enumerate(self.facts)
        }

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {
            f"y{place}": FACTS[key].value(i["a"], i.get("b", 0), i.get("s", 0), k, self.width)
            for place, (key, k) in enumerate(self.facts)
        }

    def common(self, role: str) -> tuple[int, ...]:
        constants = [k for key, k in self.facts if FACTS[key].constant is not None]
        return tuple(sorted({value for k in constants for value in (k - 1, k, k + 1) if value >= 0}))


FAMILIES = (Several,)
