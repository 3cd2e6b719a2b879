"""tank_pump: filling, the time limit to the edge, contradicting sensors in each state, alarms, resets, random water."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst_n": 1, "low_mark": 1, "high_mark": 1, "acknowledge": 1, "pump": 1, "alarm": 1, "cause": 2}


class Model:
    """The cause of the alarm, and for a running pump the number of edges since it was switched on."""

    def __init__(self) -> None:
        self.cause = 0
        self.running: int | None = None

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        contradiction = i["high_mark"] > i["low_mark"]
        if self.running is not None:
            self.running += 1
        if not i["rst_n"]:
            self.cause, self.running = 0, None
        elif self.cause:
            if i["acknowledge"] and not contradiction:
                self.cause = 0
        elif contradiction:
            self.cause, self.running = 1, None
        elif self.running is not None and i["high_mark"]:
            self.running = None
        elif self.running == 20:
            self.cause, self.running = 2, None
        elif self.running is None and not i["low_mark"]:
            self.running = 0

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {"pump": int(self.running is not None), "alarm": int(self.cause > 0), "cause": self.cause}


async def begin(dut: Any) -> Lockstep:
    """A tank after its reset, water between the marks."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, low_mark=0, high_mark=0, acknowledge=0)
    await pair.tick()
    await pair.tick(high_mark=1)
    await pair.tick(rst_n=1, low_mark=1, high_mark=0)
    return pair


@cocotb.test()
async def filling(dut: Any) -> None:
    """The pump starts below the low mark, runs on between the marks, stops at the high mark and stays off."""
    pair = await begin(dut)
    for acknowledge in (0, 1):
        await pair.ticks(3, low_mark=0, acknowledge=acknowledge)
        await pair.ticks(4, low_mark=1)
        await pair.ticks(2, high_mark=1)
        await pair.ticks(3, high_mark=0)
        await pair.tick(low_mark=0)
        await pair.ticks(2, low_mark=1, high_mark=1)
        pair.set(high_mark=0)


@cocotb.test()
async def time_limit(dut: Any) -> None:
    """The high mark from the 18th to the 21st edge, the limit itself, and a limit that counts anew each time."""
    pair = await begin(dut)
    for edges in (1, 17, 18, 19, 20):
        await pair.tick(low_mark=0)
        await pair.ticks(edges)
        await pair.ticks(3, low_mark=1, high_mark=1)
        await pair.tick(high_mark=0, acknowledge=1)
        pair.set(acknowledge=0)
    for low_mark in (0, 1):
        await pair.tick(low_mark=0)
        await pair.ticks(25, low_mark=low_mark)
        await pair.ticks(2, low_mark=1)
        await pair.ticks(2, acknowledge=1)
        pair.set(acknowledge=0)
    await pair.ticks(24, low_mark=0, acknowledge=1)
    await pair.ticks(24)


@cocotb.test()
async def contradictions(dut: Any) -> None:
    """Contradicting sensors with the pump off, on, at the limit, and during an alarm of either cause."""
    pair = await begin(dut)
    for edges in (None, 0, 3, 19):
        if edges is not None:
            await pair.ticks(1 + edges, low_mark=0)
        await pair.ticks(2, low_mark=0, high_mark=1)
        await pair.ticks(2, acknowledge=1)
        await pair.tick(acknowledge=0, low_mark=1)
        await pair.tick(high_mark=0)
        await pair.tick(low_mark=0)
        await pair.tick(acknowledge=1)
        await pair.tick(acknowledge=0, low_mark=1)
        await pair.tick(high_mark=1)
        await pair.tick(high_mark=0)
    await pair.ticks(22, low_mark=0)
    await pair.tick(high_mark=1)
    await pair.tick(acknowledge=1)
    await pair.tick(low_mark=1)
    await pair.tick(high_mark=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset needs an edge, wins over everything, and starts the time limit anew."""
    pair = await begin(dut)
    await pair.ticks(15, low_mark=0)
    await pair.poke(rst_n=0)
    await pair.poke(rst_n=1)
    await pair.ticks(2)
    await pair.ticks(2, rst_n=0)
    await pair.ticks(22, rst_n=1)
    await pair.tick(rst_n=0, high_mark=1)
    await pair.tick(rst_n=1)
    await pair.poke(rst_n=0)
    await pair.poke(rst_n=1)
    await pair.ticks(2, rst_n=0)
    await pair.ticks(3, rst_n=1, low_mark=1)
    await pair.ticks(2, high_mark=0)


@cocotb.test()
async def random_water(dut: Any) -> None:
    """Sensors that move slowly, now and then wrong."""
    pair = await begin(dut)
    random = rng("tank_pump")
    water = 1
    for _ in range(400):
        if random.random() < 0.09:
            water = max(0, min(2, water + random.choice((-1, -1, 1))))
        low_mark, high_mark = int(water > 0), int(water > 1)
        if random.random() < 0.03:
            low_mark, high_mark = 0, 1
        await pair.tick(
            low_mark=low_mark,
            high_mark=high_mark,
            acknowledge=int(random.random() < 0.2),
            rst_n=int(random.random() > 0.008),
        )
