"""int_sqrt: squares and their neighbours, restarts at every stage, asynchronous resets, random traffic."""

from __future__ import annotations

from math import isqrt
from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    """A countdown with the value that it is for."""

    def __init__(self, half: int) -> None:
        self.half, self.left, self.value = half, 0, 0
        self.done, self.result = 0, (0, 0)

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.left, self.done, self.result = 0, 0, (0, 0)

    def edge(self, i: dict[str, int]) -> None:
        self.done = 0
        if not i["rst_n"]:
            self.settle(i)
        elif i["start"]:
            self.left, self.value = self.half, i["value"]
        elif self.left:
            self.left -= 1
            if not self.left:
                self.done = 1
                root = isqrt(self.value)
                self.result = (root, self.value - root**2)

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        return {"busy": int(self.left > 0), "done": self.done, "root": self.result[0], "rest": self.result[1]}


async def begin(dut: Any) -> tuple[Lockstep, int]:
    half = int(dut.HALF.value)
    assert half in (6, 3, 11), "HALF has another value than it was given"
    widths = {"rst_n": 1, "start": 1, "value": 2 * half, "busy": 1, "done": 1, "root": half, "rest": half + 1}
    sim = Lockstep(dut, Model(half), widths)
    await sim.start(rst_n=0, start=1, value=9)
    await sim.tick()
    await sim.tick(rst_n=1, start=0)
    return sim, half


async def find(sim: Lockstep, value: int, more: int = 0) -> None:
    await sim.tick(start=1, value=value)
    await sim.ticks(sim.model.half + more, start=0, value=~value)


@cocotb.test()
async def squares(dut: Any) -> None:
    sim, half = await begin(dut)
    top = (1 << half) - 1
    await find(sim, top * top + 2 * top, 2)
    for root in (0, 1, 2, 3, top // 2, top // 2 + 1, top - 1, top):
        for value in (root * root - 1, root * root, root * root + root, root * root + 2 * root):
            await find(sim, max(value, 0), root & 1)


@cocotb.test()
async def restarts(dut: Any) -> None:
    sim, half = await begin(dut)
    await find(sim, 14)
    for after in range(half + 1):
        await sim.tick(start=1, value=(1 << 2 * half) - 1 - after)
        await sim.ticks(after, start=0)
        await find(sim, after + 5, 1)
    await sim.ticks(half + 2, start=1, value=3)
    await sim.ticks(half + 2, start=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    sim, half = await begin(dut)
    for after in (0, 1, half - 1, half):
        await find(sim, 15, 1)
        await sim.tick(start=1, value=(1 << 2 * half) - 1)
        await sim.ticks(after, start=0)
        await sim.poke(rst_n=0)
        await sim.poke(rst_n=1)
        await sim.ticks(half + 1)
    # While the clock is high, right after the edge that sets done; then over several edges with start = 1.
    await sim.tick(start=1, value=14)
    await sim.ticks(half - 1, start=0)
    await sim.tick(high={"rst_n": 0})
    await sim.ticks(2, start=1)
    await sim.ticks(half + 1, rst_n=1, start=0)
    await find(sim, 8)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim, half = await begin(dut)
    draw = rng("int_sqrt")
    for _ in range(500):
        value = draw.getrandbits(2 * half) >> draw.choice((0, 0, half))
        await sim.tick(start=int(draw.random() < 0.11), value=value, rst_n=int(draw.random() > 0.01))
