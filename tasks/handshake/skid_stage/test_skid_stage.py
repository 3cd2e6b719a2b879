"""skid_stage: a queue of two beside it; full speed, stops on either side, random partners, asynchronous resets."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst_n": 1, "in_valid": 1, "in_ready": 1, "in_data": 8,
    "out_valid": 1, "out_ready": 1, "out_data": 8, "level": 2,
}  # fmt: skip


class Model:
    """The bytes held, the oldest first."""

    def __init__(self) -> None:
        self.held: deque[int] = deque()

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.held.clear()

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["rst_n"]:
            self.held.clear()
            return
        room = len(self.held) < 2
        if self.held and i["out_ready"]:
            self.held.popleft()
        if room and i["in_valid"]:
            self.held.append(i["in_data"])

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show; the data only while they are valid."""
        level = len(self.held)
        state = {"in_ready": int(level < 2), "out_valid": int(level > 0), "level": level}
        return {**state, "out_data": self.held[0]} if level else state


async def begin(dut: Any) -> Lockstep:
    """An empty stage after the reset, during which no byte is taken."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, in_valid=1, in_data=0xEE, out_ready=1)
    await pair.ticks(2)
    await pair.tick(rst_n=1, in_valid=0)
    return pair


@cocotb.test()
async def full_speed(dut: Any) -> None:
    """A byte in each cycle between willing partners, then none."""
    pair = await begin(dut)
    for data in (0xFF, 0x00, *(1 << bit for bit in range(8)), 0xA5, 0x5A):
        await pair.tick(in_valid=1, in_data=data, out_ready=1)
    await pair.ticks(3, in_valid=0)


@cocotb.test()
async def stops(dut: Any) -> None:
    """Fill up, wait, drain; leave from each level with and without a byte coming."""
    pair = await begin(dut)
    for coming in (0, 1):
        for data in (0x11, 0x22, 0x33, 0x44):
            await pair.tick(in_valid=1, in_data=data, out_ready=0)
        await pair.ticks(2, in_valid=0, in_data=0x55)
        for data in (0x66, 0x77, 0x88, 0x99):
            await pair.tick(in_valid=coming, in_data=data, out_ready=1)
        await pair.ticks(3, in_valid=0, in_data=0x3C)
        await pair.tick(in_valid=1, in_data=0xAA, out_ready=0)
        await pair.tick(in_data=0xBB, out_ready=1)
        await pair.tick(in_data=0xCC, out_ready=0)
        await pair.tick(in_data=0xDD, out_ready=1)
        await pair.ticks(3, in_valid=0)


@cocotb.test()
async def no_paths(dut: Any) -> None:
    """At every level, no input reaches an output without an edge."""
    pair = await begin(dut)
    for data in (0x0F, 0xF0, 0x99):
        for in_valid in (0, 1):
            for out_ready in (0, 1):
                await pair.poke(in_valid=in_valid, out_ready=out_ready, in_data=0x80 + in_valid)
        await pair.tick(in_valid=1, in_data=data, out_ready=0)
    await pair.ticks(3, in_valid=0, out_ready=1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges at each level, with the clock low and high, and no byte is taken while it lasts."""
    pair = await begin(dut)
    for held in (1, 2):
        await pair.ticks(held, in_valid=1, in_data=0x60 + held, out_ready=0)
        await pair.poke(rst_n=0)
        await pair.poke(rst_n=1)
        await pair.tick(in_data=0x71)
        await pair.tick(in_data=0x72, in_valid=int(held == 2), high={"rst_n": 0})
        await pair.ticks(2, in_valid=1, in_data=0x73, out_ready=1)
        await pair.tick(rst_n=1, in_data=0x74)
        await pair.ticks(2, in_valid=0)


@cocotb.test()
async def random_partners(dut: Any) -> None:
    """Partners that are willing often, seldom, and now and then."""
    pair = await begin(dut)
    random = rng("skid_stage")
    for sending, taking in ((0.8, 0.4), (0.4, 0.8), (0.6, 0.6), (0.95, 0.95)):
        for _ in range(80):
            await pair.tick(
                in_valid=int(random.random() < sending),
                in_data=random.randrange(256),
                out_ready=int(random.random() < taking),
                rst_n=int(random.random() > 0.01),
            )
