"""All families, and how often each is drawn."""

from __future__ import annotations

from itertools import accumulate, chain
from random import Random

from finetune.data.synth.design import Family
from finetune.data.synth.families import (
    adders,
    alu,
    arbiters,
    checks,
    classes,
    codes,
    compare,
    counters,
    handshake,
    lanes,
    logic,
    machines,
    marks,
    memory,
    modes,
    phases,
    pulses,
    registers,
    rings,
    rules,
    select,
    several,
    shift,
    stream,
    timing,
)

# Their order is part of what a seed means.
_MODULES = (
    select, logic, codes, adders, compare, registers, shift, counters, rings, several, alu, modes, rules, timing, stream,
    handshake, memory, arbiters, machines, phases, lanes, pulses, checks, classes,
    marks,
)  # fmt: skip
FAMILIES: tuple[type[Family], ...] = tuple(chain.from_iterable(module.FAMILIES for module in _MODULES))
BY_NAME = {kind.name: kind for kind in FAMILIES}
_CUMULATIVE = tuple(accumulate(kind.share for kind in FAMILIES))


def draw_family(rng: Random) -> type[Family]:
    """One family; those with more to learn more often."""
    return rng.choices(FAMILIES, cum_weights=_CUMULATIVE)[0]
