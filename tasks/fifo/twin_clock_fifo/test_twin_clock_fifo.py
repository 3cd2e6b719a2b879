"""twin_clock_fifo: the way of each pointer, both ends, clocks of any ratio, resets released in either order."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Queue:
    """Drives both clocks; the model counts bytes and keeps what each side has been told of the other."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.bits = int(dut.ADDR_BITS.value)
        self.depth = 1 << self.bits
        self.bytes: dict[int, int] = {}
        self.reset_write()
        self.reset_read()
        self.live = {"wr": False, "rd": False}

    def reset_write(self) -> None:
        self.wrote = 0
        self.told_write = [0, 0]

    def reset_read(self) -> None:
        self.gone = 0
        self.told_read = [0, 0]

    def gray(self, count: int) -> int:
        count %= 2 * self.depth
        return sum(((count >> k ^ count >> k + 1) & 1) << k for k in range(self.bits + 1))

    def check(self) -> None:
        dut = self.dut
        room, waiting = self.depth - (self.wrote - self.told_write[0]), self.told_read[0] - self.gone
        expect(dut.wr_full, room == 0)
        expect(dut.wr_level, self.depth - room)
        expect(dut.wr_gray, self.gray(self.wrote))
        expect(dut.rd_empty, waiting == 0)
        expect(dut.rd_level, waiting)
        expect(dut.rd_gray, self.gray(self.gone))
        if waiting:
            expect(dut.rd_data, self.bytes[self.gone])

    async def write(self, enable: int) -> None:
        """One period of wr_clk."""
        dut, byte = self.dut, self.draw.randrange(256)
        dut.wr_en.value, dut.wr_data.value = enable, byte

        def step() -> None:
            if not self.live["wr"]:
                return
            if enable and self.wrote - self.told_write[0] < self.depth:
                self.bytes[self.wrote] = byte
                self.wrote += 1
            self.told_write = [self.told_write[1], self.gone]

        await strobe(dut.wr_clk, self.check, step)

    async def read(self, enable: int) -> None:
        """One period of rd_clk."""
        self.dut.rd_en.value = enable

        def step() -> None:
            if not self.live["rd"]:
                return
            if enable and self.told_read[0] > self.gone:
                self.gone += 1
            self.told_read = [self.told_read[1], self.wrote]

        await strobe(self.dut.rd_clk, self.check, step)

    async def hold(self, both: bool = True) -> None:
        """Raise both resets, one right after the other, without an edge."""
        self.live = {"wr": False, "rd": False}
        self.dut.wr_rst_n.value = 0
        self.reset_write()
        await settle()
        if both:
            self.check()
        self.dut.rd_rst_n.value = 0
        self.reset_read()
        await settle()
        self.check()

    async def release(self, side: str) -> None:
        getattr(self.dut, side + "_rst_n").value = 1
        self.live[side] = True
        await settle()
        self.check()

    async def start(self) -> None:
        dut = self.dut
        for port in (dut.wr_clk, dut.rd_clk, dut.wr_data):
            port.value = 0
        for port in (dut.wr_rst_n, dut.rd_rst_n, dut.wr_en, dut.rd_en):
            port.value = 1
        expect_widths(dut, wr_gray=self.bits + 1, rd_gray=self.bits + 1, wr_level=5, rd_level=5, wr_data=8, rd_data=8)
        await settle()
        await self.hold(both=False)
        await self.write(1)
        await self.read(1)
        await self.release("wr")
        await self.release("rd")


@cocotb.test()
async def way(dut: Any) -> None:
    """One byte at a time: it takes two read edges to be seen, two write edges for its place to be free."""
    queue = Queue(dut, "way")
    await queue.start()
    for k in range(2 * queue.depth + 3):
        await queue.write(1)
        for _ in range(4):
            await queue.read(k % 3 == 0)
        await queue.write(0)
        await queue.read(1)
        for _ in range(k % 4):
            await queue.write(0)


@cocotb.test()
async def ends(dut: Any) -> None:
    """Fill past full, drain past empty, places come free one by one."""
    queue = Queue(dut, "ends")
    await queue.start()
    for turn in range(3):
        for _ in range(queue.depth + 2):
            await queue.write(1)
        for _ in range(3):
            await queue.read(0)
        await queue.read(1)
        for _ in range(4):
            await queue.write(1)
        for _ in range(3):
            await queue.read(0)
        for _ in range(queue.depth + 2):
            await queue.read(1)
        for _ in range(turn + 2):
            await queue.write(0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Both resets with bytes held; either side is released first and goes on alone for a while."""
    queue = Queue(dut, "resets")
    await queue.start()
    for turn in range(6):
        for _ in range(turn + 2):
            await queue.write(1)
        for _ in range(turn % 3 + 2):
            await queue.read(1)
        for _ in range(2):
            await queue.write(1)
        clock = (dut.wr_clk, dut.rd_clk, None)[turn % 3]
        if clock is not None:  # the resets come while one clock is high
            dut.wr_en.value = dut.rd_en.value = 0
            await settle()
            clock.value = 1
            if turn % 3 == 0:
                queue.told_write = [queue.told_write[1], queue.gone]
            else:
                queue.told_read = [queue.told_read[1], queue.wrote]
            await settle()
        await queue.hold()
        if clock is not None:
            clock.value = 0
            await settle()
            queue.check()
        await queue.write(1)
        await queue.read(1)
        first, second = ("wr", "rd") if turn % 2 else ("rd", "wr")
        await queue.release(first)
        for _ in range(3):
            await queue.write(1)
            await queue.read(1)
        await queue.release(second)
        for _ in range(3):
            await queue.read(turn % 4 == 1)
            await queue.write(turn % 4 < 2)


@cocotb.test()
async def clocks(dut: Any) -> None:
    """Random traffic with the write clock slower, faster and as fast, in fat and lean phases."""
    queue = Queue(dut, "clocks")
    await queue.start()
    draw = queue.draw
    for phase in range(9):
        pace, bias = (1, 4, 7)[phase % 3], (2, 6, 7)[phase // 3]
        for _ in range(45):
            if draw.randrange(8) < pace:
                await queue.write(draw.randrange(8) < bias)
            else:
                await queue.read(draw.randrange(8) < 9 - bias)
