"""flag_fifo: filled and drained past both ends from every position, both sides at once, the mark, random traffic."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Queue:
    """Drives the design and a deque side by side."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.depth, self.headroom, self.reserve = (int(p.value) for p in (dut.DEPTH, dut.HEADROOM, dut.RESERVE))
        self.held: deque[int] = deque()
        self.peak = self.data = self.valid = 0

    def check(self) -> None:
        dut, level = self.dut, len(self.held)
        expect(dut.level, level)
        expect(dut.full, level == self.depth)
        expect(dut.empty, level == 0)
        expect(dut.almost_full, self.depth - level <= self.headroom)
        expect(dut.almost_empty, level <= self.reserve)
        expect(dut.rd_valid, self.valid)
        expect(dut.rd_data, self.data)
        expect(dut.peak, self.peak)

    async def do(self, write: int, read: int, clear: int = 0, reset: int = 0) -> None:
        dut, byte = self.dut, self.draw.randrange(256)
        dut.rst.value, dut.wr_en.value, dut.rd_en.value, dut.peak_clear.value = reset, write, read, clear
        dut.wr_data.value = byte

        def step() -> None:
            if reset:
                self.held.clear()
                self.peak = self.data = self.valid = 0
                return
            room, self.valid = len(self.held) < self.depth, int(bool(read and self.held))
            if self.valid:
                self.data = self.held.popleft()
            if write and room:
                self.held.append(byte)
            self.peak = len(self.held) if clear else max(self.peak, len(self.held))

        await strobe(dut.clk, self.check if self.known else lambda: None, step)

    known = False

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = 0
        dut.wr_data.value = 0
        for port in (dut.wr_en, dut.rd_en, dut.peak_clear, dut.rst):
            port.value = 1
        expect_widths(dut, rd_data=8, wr_data=8, level=5, peak=5, full=1, empty=1, rd_valid=1)
        await settle()
        dut.rst.value = 1
        await strobe(dut.clk, lambda: None, lambda: None)
        self.known = True
        await self.do(1, 1, 1, reset=1)


@cocotb.test()
async def ends(dut: Any) -> None:
    """Fill past full, drain past empty, from each place of the ring."""
    queue = Queue(dut, "ends")
    await queue.start()
    for _ in range(3):
        for _ in range(queue.depth + 2):
            await queue.do(1, 0)
        await queue.do(0, 0)
        for _ in range(queue.depth + 2):
            await queue.do(0, 1)
        await queue.do(1, 1)  # empty: only the write counts
        await queue.do(0, 0)
        await queue.do(0, 1)
        await queue.do(0, 0, clear=1)


@cocotb.test()
async def both_sides(dut: Any) -> None:
    """Write and read together at every level; when full only the read counts."""
    queue = Queue(dut, "both_sides")
    await queue.start()
    for level in range(queue.depth + 1):
        for _ in range(level):
            await queue.do(1, 0)
        for _ in range(3):
            await queue.do(1, 1)
        await queue.do(0, 0, clear=level % 2)
        await queue.do(1, 0, clear=level % 3 == 0)
        await queue.do(1, 1, reset=1)
        await queue.do(0, 1)
    await queue.do(0, 0)


@cocotb.test()
async def mark(dut: Any) -> None:
    """The high-water mark keeps the highest level and is cleared to the level that the edge brings."""
    queue = Queue(dut, "mark")
    await queue.start()
    for write, read, clear in [
        (1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0),
        (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 0), (1, 1, 1), (1, 1, 0), (0, 0, 0),
    ]:  # fmt: skip
        await queue.do(write, read, clear)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random traffic in fat and lean phases, with resets; reset between two edges does nothing."""
    queue = Queue(dut, "traffic")
    await queue.start()
    for phase in range(10):
        bias = (1, 5, 3)[phase % 3]
        for _ in range(30):
            draw = queue.draw
            await queue.do(draw.randrange(6) < bias, draw.randrange(6) >= bias, draw.randrange(12) == 0)
        dut.rst.value = 1
        await settle()
        dut.rst.value = 0
        await settle()
        queue.check()
        if phase % 4 == 3:
            await queue.do(1, 1, reset=1)
