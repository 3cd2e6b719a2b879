"""moving_sum: a list of the last samples beside it; the largest at every place, flushes, gaps, asynchronous resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst_n": 1, "flush": 1, "valid": 1, "sample": 8, "sum": 10, "highest": 8, "full": 1}


class Model:
    """All samples since the window was last empty."""

    def __init__(self) -> None:
        self.samples: list[int] = []

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.samples = []

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["flush"] or not i["rst_n"]:
            self.samples = []
        if i["valid"] and i["rst_n"]:
            self.samples.append(i["sample"])

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        window = self.samples[-4:]
        return {"sum": sum(window), "highest": max(window, default=0), "full": int(len(window) == 4)}


async def begin(dut: Any) -> Lockstep:
    """An empty window after the reset, during which no sample is taken."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, flush=0, valid=1, sample=0xEE)
    await pair.ticks(2)
    await pair.tick(rst_n=1, valid=0)
    return pair


async def enter(pair: Lockstep, *samples: int) -> None:
    """Samples, one an edge, then none."""
    for sample in samples:
        await pair.tick(valid=1, sample=sample)
    pair.set(valid=0)


@cocotb.test()
async def windows(dut: Any) -> None:
    """Up to the greatest sum and down again, single samples passing through, gaps in which nothing changes."""
    pair = await begin(dut)
    await enter(pair, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0)
    await enter(pair, 1, 0, 0, 0, 0)
    for bit in range(8):
        await enter(pair, 1 << bit)
        await pair.tick(sample=0xFF)
        await enter(pair, 0)
    await enter(pair, 0, 0, 9, 7, 8, 10, 10, 9, 11, 6, 5, 4, 3, 2, 1, 12, 12, 12, 12, 12)
    await pair.ticks(3, sample=200)


@cocotb.test()
async def flushes(dut: Any) -> None:
    """A flush at each filling, with and without a sample of its own, and the window filling anew after it."""
    pair = await begin(dut)
    for valid in (0, 1):
        for filling in range(6):
            await enter(pair, *(100 + 20 * number for number in range(filling)))
            await pair.tick(flush=1, valid=valid, sample=33)
            pair.set(flush=0, valid=0)
            await enter(pair, *(40 - number for number in range(5 if filling % 2 else 2)))
            await pair.tick(flush=1, valid=0, sample=77)
            pair.set(flush=0)
    await enter(pair, 1, 2, 3)
    await pair.poke(flush=1)
    await pair.poke(flush=0)
    await pair.tick(flush=1, valid=1, sample=5)
    await pair.tick(sample=6)
    await pair.tick(flush=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges, with the clock low and high, and no sample is taken while it lasts."""
    pair = await begin(dut)
    for filling in (1, 2, 4, 5):
        await enter(pair, *range(240, 240 + filling))
        await pair.poke(rst_n=0)
        await pair.poke(rst_n=1)
        await enter(pair, *range(3, 3 + filling))
        await pair.tick(valid=1, sample=99, high={"rst_n": 0})
        await pair.tick(flush=1)
        await pair.tick(flush=0)
        await pair.tick(rst_n=1, valid=int(filling == 2))
        pair.set(valid=0)
        await enter(pair, *range(7, 7 + filling))


@cocotb.test()
async def random_stream(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("moving_sum")
    for _ in range(250):
        await pair.tick(
            valid=int(random.random() < 0.8),
            flush=int(random.random() < 0.06),
            sample=random.randrange(256) >> random.choice((0, 0, 5)),
            rst_n=int(random.random() > 0.015),
        )
