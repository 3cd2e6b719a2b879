"""peek_fifo: latency, streaming, a blocked output, a starved input, every short pattern, resets in mid-traffic."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Queue:
    """Drives the design; the model is a deque of waiting words and a slot at the output."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.width, self.depth = int(dut.WIDTH.value), int(dut.DEPTH.value)
        self.clear()

    def clear(self) -> None:
        self.store: deque[int] = deque()
        self.slot: int | None = None
        self.seen = 0

    def check(self) -> None:
        dut = self.dut
        expect(dut.in_ready, len(self.store) < self.depth)
        expect(dut.out_valid, self.slot is not None)
        expect(dut.out_data, self.seen)
        expect(dut.stored, len(self.store) + (self.slot is not None))

    def step(self) -> None:
        if not self.active:
            return
        room, word = len(self.store) < self.depth, self.word
        if self.give:
            self.slot = None
        if self.slot is None and self.store:
            self.slot = self.seen = self.store.popleft()
        if self.take and room:
            self.store.append(word)

    async def do(self, take: int, give: int, reset: int = 0) -> None:
        dut = self.dut
        self.take, self.give, self.active = take, give, not reset
        self.word = self.draw.randrange(1 << self.width)
        dut.in_valid.value, dut.out_ready.value, dut.in_data.value, dut.rst_n.value = take, give, self.word, not reset
        if reset:
            self.clear()
        await strobe(dut.clk, self.check, self.step)

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = 0
        dut.rst_n.value = 1
        dut.in_valid.value = dut.out_ready.value = 1
        expect_widths(dut, in_data=self.width, out_data=self.width, stored=6, out_valid=1, in_ready=1)
        dut.in_data.value = 1
        await settle()
        await self.do(1, 1, reset=1)
        await self.do(1, 0, reset=1)

    async def reset_now(self, high: bool) -> None:
        """Reset between two edges, with the clock low or high."""
        dut = self.dut
        if high:
            dut.in_valid.value = dut.out_ready.value = 0
            await settle()
            dut.clk.value = 1
            self.take = self.give = 0
            self.active = True
            self.step()
            await settle()
        dut.rst_n.value = 0
        self.clear()
        await settle()
        self.check()
        dut.rst_n.value = 1
        await settle()
        self.check()
        dut.clk.value = 0
        await settle()
        self.check()


@cocotb.test()
async def latency(dut: Any) -> None:
    """One word at a time, with the consumer waiting, late, and blinking."""
    queue = Queue(dut, "latency")
    await queue.start()
    for takes, gives in [("100000", "111111"), ("100000", "000010"), ("110000", "001100"), ("100100", "110111"),
                         ("101010", "010101"), ("111000", "000111"), ("100000", "101000")]:  # fmt: skip
        for take, give in zip(takes, gives, strict=True):
            await queue.do(int(take), int(give))
        for _ in range(4):
            await queue.do(0, 1)


@cocotb.test()
async def ends(dut: Any) -> None:
    """Fill past full, drain past empty, stream through an empty and through a full queue."""
    queue = Queue(dut, "ends")
    await queue.start()
    for _ in range(3):
        for _ in range(queue.depth + 4):
            await queue.do(1, 0)
        for _ in range(queue.depth + 3):
            await queue.do(1, 1)
        for _ in range(queue.depth + 3):
            await queue.do(0, 1)
        for _ in range(queue.depth + 3):
            await queue.do(1, 1)
        await queue.do(0, 0)
        for _ in range(4):
            await queue.do(0, 1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Asynchronous resets at every filling, with the clock low and high, and held over edges."""
    queue = Queue(dut, "resets")
    await queue.start()
    for count in range(queue.depth + 3):
        for _ in range(count):
            await queue.do(1, 0)
        await queue.reset_now(high=count % 2 == 1)
        await queue.do(count % 2, 1)
        await queue.do(1, 1)
        await queue.do(1, count % 3 == 0)
        if count % 2:
            await queue.do(1, 1, reset=1)
            await queue.do(0, 0)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random traffic in fat and lean phases."""
    queue = Queue(dut, "traffic")
    await queue.start()
    for phase in range(9):
        bias = (2, 6, 4)[phase % 3]
        for _ in range(40):
            await queue.do(queue.draw.randrange(8) < bias, queue.draw.randrange(8) >= bias - 1)
