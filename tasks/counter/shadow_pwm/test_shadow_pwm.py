"""shadow_pwm: duties at and beyond the period, writes at every point of a period, enabling, resets, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    """What is left of the current period, as a list of levels still to come."""

    def __init__(self, width: int) -> None:
        self.top = (1 << width) - 1
        self.clear()

    def clear(self) -> None:
        self.shadow, self.pending = (self.top, 0), 0
        self.begin()

    def begin(self) -> None:
        period, duty = self.shadow
        self.coming = [int(n < duty) for n in range(period + 1)]
        self.pending = 0

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.clear()

    def edge(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            return
        if i["write"]:
            self.shadow, self.pending = (i["period"], i["duty"]), 1
        if not i["enable"] or len(self.coming) == 1:
            self.begin()
        else:
            self.coming.pop(0)

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        level = self.coming[0] if i["enable"] else 0
        last = int(i["enable"] and len(self.coming) == 1)
        return {"pwm": level ^ i["invert"], "period_end": last, "pending": self.pending}


async def begin(dut: Any) -> tuple[Lockstep, int]:
    width = int(dut.WIDTH.value)
    assert width in (6, 3), "WIDTH has another value than it was given"
    names = ("rst_n", "enable", "write", "invert", "pwm", "period_end", "pending")
    sim = Lockstep(dut, Model(width), dict.fromkeys(names, 1) | {"period": width, "duty": width})
    await sim.start(rst_n=0, enable=0, write=1, period=2, duty=1, invert=0)
    await sim.tick(enable=1)
    await sim.tick(rst_n=1, write=0)
    return sim, (1 << width) - 1


@cocotb.test()
async def duties(dut: Any) -> None:
    sim, top = await begin(dut)
    await sim.ticks(top + 2)
    for period, duty in (
        (3, 2),
        (3, 0),
        (3, 1),
        (3, 3),
        (3, 4),
        (3, top),
        (0, 0),
        (0, 1),
        (1, 1),
        (top, top),
        (top, 1),
    ):
        await sim.tick(enable=0, write=1, period=period, duty=duty)
        await sim.ticks(2 * min(period, 8) + 3, enable=1, write=0)
    await sim.ticks(top)


@cocotb.test()
async def writes(dut: Any) -> None:
    """A write at each point of a period of four, a second one behind it, and one at its end."""
    sim, _ = await begin(dut)
    for point in range(5):
        for again in (0, 1):
            await sim.tick(enable=0, write=1, period=3, duty=2)
            await sim.ticks(point, enable=1, write=0)
            await sim.tick(write=1, period=5, duty=4)
            await sim.tick(write=again, period=2, duty=1)
            await sim.ticks(9, write=0, period=7, duty=7)
    # Pending when it is disabled; writes while it is; enable and invert act at once.
    await sim.tick(write=1, period=4, duty=3, enable=1)
    await sim.tick(write=0)
    for changes in ({"enable": 0}, {"invert": 1}, {"enable": 1}, {"invert": 0}, {"enable": 0, "invert": 1}):
        await sim.poke(**changes)
    await sim.ticks(2)
    await sim.tick(write=1, period=1, duty=2)
    await sim.ticks(7, write=0, enable=1)
    await sim.ticks(4, invert=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    sim, top = await begin(dut)
    await sim.tick(enable=0, write=1, period=3, duty=4)
    await sim.ticks(2, enable=1, write=0)
    await sim.tick(write=1, period=2, duty=1)
    await sim.poke(rst_n=0, write=0)
    await sim.poke(rst_n=1)
    await sim.ticks(top + 4)
    await sim.tick(enable=0, write=1, period=2, duty=3)
    await sim.tick(enable=1, write=1, period=5, duty=5)
    await sim.tick(high={"rst_n": 0})
    await sim.ticks(2, write=1)
    await sim.tick(rst_n=1, write=0, enable=0)
    await sim.ticks(9, enable=1)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim, _ = await begin(dut)
    draw = rng("shadow_pwm")
    for _ in range(450):
        await sim.tick(
            write=int(draw.random() < 0.2),
            period=draw.randrange(6),
            duty=draw.randrange(7),
            enable=int(draw.random() > 0.04),
            invert=int(draw.random() < 0.1),
            rst_n=int(draw.random() > 0.003),
        )
