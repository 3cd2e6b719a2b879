"""ring_fifo: a deque beside it; round the ring at every level, both ends at once, errors, flushes and resets."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst_n": 1, "flush": 1, "push": 1, "push_data": 8, "pop": 1,
    "front": 8, "count": 3, "empty": 1, "full": 1, "overflow": 1, "underflow": 1,
}  # fmt: skip


class Model:
    """The bytes, the oldest first, and the two error flags."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.overflow = self.underflow = 0

    def clear(self) -> None:
        """A flush or a reset."""
        self.queue.clear()
        self.overflow = self.underflow = 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.clear()

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["flush"] or not i["rst_n"]:
            self.clear()
            return
        if i["pop"]:
            if self.queue:
                self.queue.popleft()
            else:
                self.underflow = 1
        if i["push"]:
            if len(self.queue) < 6:
                self.queue.append(i["push_data"])
            else:
                self.overflow = 1

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        count = len(self.queue)
        return {
            "front": self.queue[0] if count else 0, "count": count, "empty": int(count == 0), "full": int(count == 6),
            "overflow": self.overflow, "underflow": self.underflow,
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """An empty queue after the reset, during which nothing happens."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, flush=0, push=1, push_data=0xEE, pop=1)
    await pair.ticks(2)
    await pair.tick(rst_n=1, push=0, pop=0)
    return pair


async def push(pair: Lockstep, *data: int) -> None:
    """Push bytes, one an edge, then none."""
    for byte in data:
        await pair.tick(push=1, push_data=byte, pop=0)
    pair.set(push=0)


async def pop(pair: Lockstep, count: int) -> None:
    """Pop bytes, one an edge, then none."""
    await pair.ticks(count, pop=1, push=0)
    pair.set(pop=0)


@cocotb.test()
async def fill_and_drain(dut: Any) -> None:
    """From empty to full and back, three times from other places of the ring; what is pushed shows after the edge."""
    pair = await begin(dut)
    for first in (0x10, 0xA0, 0xF0):
        await push(pair, *range(first, first + 6))
        await pair.ticks(2)
        await pop(pair, 6)
        await pair.poke(push=1, push_data=0x99)
        await pair.poke(push=0, pop=1)
        await pair.poke(pop=0)
        await pair.tick()
        await push(pair, 0xFF, 0x01)
        await pop(pair, 2)


@cocotb.test()
async def both_ends(dut: Any) -> None:
    """A push and a pop at the same edge at every level but empty, more often than there are places."""
    pair = await begin(dut)
    for level in range(1, 7):
        await push(pair, 0x40 + level)
        for number in range(8):
            await pair.tick(push=1, pop=1, push_data=level * 16 + number)
        await pair.tick(push=0, pop=0)
    await pop(pair, 6)


@cocotb.test()
async def errors(dut: Any) -> None:
    """Overflow and underflow, each alone; they stay, the queue goes on, and a flush clears them."""
    pair = await begin(dut)
    await push(pair, 1, 2, 3, 4, 5, 6, 7, 8)
    await pop(pair, 3)
    await push(pair, 9)
    await pair.tick(flush=1, push=1, pop=1)
    await pair.tick(flush=0, push=0, pop=0)
    await pop(pair, 1)
    await push(pair, 0x21, 0x22)
    await pop(pair, 2)
    await pair.tick(flush=1, pop=1)
    await pair.tick(flush=0, pop=1, push=1, push_data=0x31)
    await pair.tick(push=0, pop=0)
    await push(pair, *range(0x32, 0x39))
    await pair.tick(flush=1, push=1)
    await pair.tick(flush=0, push=0)
    await push(pair, *range(0x51, 0x57))
    await pair.tick(flush=1, push=0)
    await pair.tick(push=1)
    await pair.tick(pop=1, push=0)
    await pair.tick(flush=0, pop=0)
    await push(pair, 0x61)
    await pop(pair, 1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges, with the clock low and high, and clears the flags."""
    pair = await begin(dut)
    for level in (2, 7):
        await pop(pair, 1)
        await push(pair, *range(level))
        await pair.poke(rst_n=0)
        await pair.poke(rst_n=1)
        await pop(pair, 1)
        await push(pair, *range(0x80, 0x80 + level))
        await pair.tick(push=1, high={"rst_n": 0})
        await pair.ticks(2)
        await pair.tick(rst_n=1, push=0)
        await push(pair, 0x70, 0x71)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Times of more pushes and times of more pops."""
    pair = await begin(dut)
    random = rng("ring_fifo")
    for pushing, popping in ((0.8, 0.4), (0.4, 0.8), (0.9, 0.9), (0.6, 0.5)):
        for _ in range(70):
            await pair.tick(
                push=int(random.random() < pushing),
                pop=int(random.random() < popping),
                push_data=random.randrange(256),
                flush=int(random.random() < 0.02),
                rst_n=int(random.random() > 0.008),
            )
