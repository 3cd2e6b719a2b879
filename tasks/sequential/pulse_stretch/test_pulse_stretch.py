"""pulse_stretch: every length, triggers at each cycle of a pulse in both modes, synchronous resets, random triggers."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst": 1, "trigger": 1, "retrigger": 1, "length": 4, "pulse": 1, "left": 4, "missed": 1}


class Model:
    """The number of the edge that ends the pulse."""

    def __init__(self) -> None:
        self.now = self.end = self.missed = 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        running = self.end > self.now
        self.now += 1
        self.missed = 0
        if i["rst"]:
            self.end = self.now
        elif i["trigger"] and (i["retrigger"] or not running):
            self.end = self.now + i["length"]
        elif i["trigger"]:
            self.missed = 1

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        left = max(self.end - self.now, 0)
        return {"pulse": int(left > 0), "left": left, "missed": self.missed}


async def begin(dut: Any) -> Lockstep:
    """No pulse after the reset, which wins over a trigger."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, trigger=1, retrigger=1, length=9)
    await pair.tick()
    await pair.tick(rst=0, trigger=0, retrigger=0)
    return pair


@cocotb.test()
async def lengths(dut: Any) -> None:
    """A pulse of every length; the length and the mode do not matter without a trigger."""
    pair = await begin(dut)
    for length in range(16):
        await pair.tick(trigger=1, length=length, retrigger=length % 2)
        await pair.ticks(length + 1, trigger=0, length=15 - length, retrigger=1)


@cocotb.test()
async def missed_triggers(dut: Any) -> None:
    """In the plain mode, a trigger at each cycle of a pulse and right behind it."""
    pair = await begin(dut)
    pair.set(retrigger=0)
    for length in (1, 2, 3, 5):
        for cycle in range(length + 1):
            await pair.tick(trigger=1, length=length)
            await pair.ticks(cycle, trigger=0)
            await pair.tick(trigger=1, length=2)
            await pair.ticks(length + 2, trigger=0)
    await pair.ticks(14, trigger=1, length=4)
    await pair.ticks(4, length=0)
    await pair.ticks(4, length=1)


@cocotb.test()
async def retriggers(dut: Any) -> None:
    """In the other mode, a longer, a shorter and no length at each cycle of a pulse; both modes in one pulse."""
    pair = await begin(dut)
    for length in (15, 1, 4, 0):
        for cycle in range(6):
            await pair.tick(trigger=1, retrigger=0, length=5)
            await pair.ticks(cycle, trigger=0)
            await pair.tick(trigger=1, retrigger=1, length=length)
            await pair.ticks(2, retrigger=0, length=11)
            await pair.tick(retrigger=1, length=2)
            await pair.ticks(4, trigger=0)
    await pair.ticks(5, trigger=1, length=8)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset ends a pulse and clears missed, and needs an edge."""
    pair = await begin(dut)
    await pair.tick(trigger=1, length=7)
    await pair.tick()
    await pair.poke(rst=1)
    await pair.poke(rst=0)
    await pair.poke(trigger=0)
    await pair.tick(trigger=1)
    await pair.ticks(2, rst=1, retrigger=1)
    await pair.tick(rst=0, trigger=0)
    await pair.tick(trigger=1, retrigger=0, length=3)
    await pair.tick(rst=1)
    await pair.ticks(2, rst=0, trigger=0)


@cocotb.test()
async def random_triggers(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("pulse_stretch")
    for _ in range(250):
        await pair.tick(
            trigger=int(random.random() < 0.4),
            retrigger=int(random.random() < 0.3),
            length=random.randrange(16) >> random.randrange(3),
            rst=int(random.random() < 0.02),
        )
