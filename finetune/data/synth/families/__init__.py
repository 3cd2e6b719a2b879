"""All families, and how often each is drawn."""

from __future__ import annotations

from itertools import accumulate
from random import Random

from finetune.data.synth.design import Family
from finetune.data.synth.families import arithmetic, compose, counters, logic, machines, memory, registers, select, stream, timing

FAMILIES: tuple[type[Family], ...] = (
    *select.FAMILIES, *logic.FAMILIES, *arithmetic.FAMILIES, *registers.FAMILIES, *counters.FAMILIES, *compose.FAMILIES, *timing.FAMILIES, *stream.FAMILIES, *memory.FAMILIES, *machines.FAMILIES,
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in FAMILIES}
_CUMULATIVE = tuple(accumulate(kind.share for kind in FAMILIES))


def draw_family(rng: Random) -> type[Family]:
    """One family; those with more to learn more often."""
    return rng.choices(FAMILIES, cum_weights=_CUMULATIVE)[0]
