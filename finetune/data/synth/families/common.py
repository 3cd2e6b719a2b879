"""What families draw alike."""

from __future__ import annotations

from abc import abstractmethod
from random import Random

from finetune.data.synth.design import Family, Names
from finetune.data.synth.style import Style
from finetune.data.synth.words import Words

# What composed designs use.
WIDTHS = (3, 4, 4, 5, 6, 7, 8, 8, 8, 10, 12, 12, 16, 16)
_WIDTHS = (2, 3, 4, 4, 4, 5, 6, 7, 8, 8, 8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 16, 18, 20, 24, 27, 32, 32)


def width(rng: Random, most: int = 32, least: int = 2) -> int:
    """A width; round ones often."""
    return rng.choice([value for value in _WIDTHS if least <= value <= most])


def const_width(value: int) -> int:
    """Bits that a number needs."""
    return max(value.bit_length(), 1)


def enable_fact(enable: str, register: str, w: Words) -> str:
    """A register changes only while an enable is 1."""
    return w.say(
        f"When {w.nought(enable)}, {w.keeps(register)}",
        f"While {w.nought(enable)}, {w.keeps(register)}",
        f"`{register}` changes only at edges where {w.one(enable)}",
        f"This happens only when {w.one(enable)}; otherwise {w.keeps(register)}",
        held=f"Without `{enable}`, {w.keeps(register)}",
    )


class Expressions(Family):
    """Combinational outputs that are one expression each."""

    @abstractmethod
    def terms(self, n: Names, s: Style) -> dict[str, str]:
        """Output role to its expression, in order."""

    def code(self, n: Names, s: Style) -> str:
        terms = self.terms(n, s)
        if s.block:
            return s.module(n, self.pins, s.comb([f"{n[role]} = {text};" for role, text in terms.items()]), terms)
        return s.module(n, self.pins, [f"assign {n[role]} = {text};" for role, text in terms.items()])


def draw_enable(rng: Random) -> bool:
    """Whether there is an enable input."""
    return rng.random() < 0.5
