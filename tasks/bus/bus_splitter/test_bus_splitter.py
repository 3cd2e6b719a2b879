"""bus_splitter: borders of the map, answers at each chance, missing and late ones, requests in a row, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe

REGIONS = [(0x00, 0x80), (0x80, 0xC0), (0xC0, 0xE0)]


class Splitter:
    """Drives both sides; the model keeps the request under way and the chances its target has left."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.limit = dut, rng(name), int(dut.LIMIT.value)
        self.clear()

    def clear(self) -> None:
        self.target: int | None = None
        self.left = 0
        self.sent = (0, 0, 0)  # write, address, data
        self.response = (0, 0, 0)  # valid, code, data
        self.count, self.culprit = 0, 3

    def check(self) -> None:
        dut = self.dut
        expect(dut.m_ready, self.target is None)
        expect(dut.t_valid, 0 if self.target is None else 1 << self.target)
        for port, value in zip((dut.t_write, dut.t_addr, dut.t_wdata), self.sent, strict=True):
            expect(port, value)
        for port, value in zip((dut.r_valid, dut.r_code, dut.r_data), self.response, strict=True):
            expect(port, value)
        expect(dut.timeouts, self.count)
        expect(dut.culprit, self.culprit)

    async def do(self, addr: int | None = None, write: int = 0, ready: int = 0, reset: int = 0) -> None:
        """One period; ``addr`` None is no request."""
        dut, noise = self.dut, self.draw.randrange
        valid, addr = int(addr is not None), noise(256) if addr is None else addr
        data, answers = noise(1 << 16), [noise(1 << 16) for _ in range(3)]
        dut.m_valid.value, dut.m_write.value, dut.m_addr.value, dut.m_wdata.value = valid, write, addr, data
        dut.t_ready.value, dut.rst_n.value = ready, not reset
        dut.t_rdata.value = sum(answer << 16 * k for k, answer in enumerate(answers))
        if reset:
            self.clear()

        def step() -> None:
            if reset:
                return
            self.response = (0, *self.response[1:])
            if self.target is not None:
                self.left -= 1
                if ready >> self.target & 1:
                    self.response = (1, 0, 0 if self.sent[0] else answers[self.target])
                    self.target = None
                elif self.left == 0:
                    self.response = (1, 2, 0)
                    self.culprit, self.count = self.target, min(15, self.count + 1)
                    self.target = None
            elif valid:
                found = [k for k, (first, end) in enumerate(REGIONS) if first <= addr < end]
                if found:
                    self.target, self.left = found[0], self.limit
                    self.sent = (write, addr - REGIONS[found[0]][0], data)
                else:
                    self.response = (1, 1, 0)

        await strobe(dut.clk, self.check, step)

    async def request(self, addr: int, write: int, wait: int) -> None:
        """A request whose target answers after ``wait`` cycles; the other targets always are ready."""
        await self.do(addr, write, ready=7)
        for k in range(self.limit + 1):
            if self.target is None:
                break
            own = 1 << self.target
            await self.do(self.draw.randrange(256), 1 - write, 7 if k == wait else 7 & ~own)

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = dut.m_addr.value = dut.m_wdata.value = dut.t_rdata.value = 0
        dut.rst_n.value = dut.m_valid.value = dut.m_write.value = 1
        dut.t_ready.value = 7
        expect_widths(dut, r_code=2, r_data=16, t_valid=3, t_addr=7, t_wdata=16, timeouts=4, culprit=2, m_ready=1)
        await settle()
        await self.do(0x80, 1, 7, reset=1)
        await self.do(0xF0, 1, 0, reset=1)


@cocotb.test()
async def borders(dut: Any) -> None:
    """Addresses on both sides of each border, reads and writes, in a row and with a pause."""
    splitter = Splitter(dut, "borders")
    await splitter.start()
    for addr in (0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xDF, 0xE0, 0xFF, 0x55, 0xAA, 0xF5, 0xD2, 0x40, 0xA0, 0x20):
        for write in (0, 1):
            await splitter.request(addr, write, wait=0)
            if addr & 1:
                await splitter.do(ready=7)


@cocotb.test()
async def chances(dut: Any) -> None:
    """Each target answers at each chance and one edge too late; the late answer has no effect."""
    splitter = Splitter(dut, "chances")
    await splitter.start()
    for target in range(3):
        for wait in range(splitter.limit + 2):
            await splitter.request(REGIONS[target][0] + 5 + wait, wait % 2 and target != 1, wait)
            await splitter.do(ready=7)
            if wait % 2:
                await splitter.do(ready=7)
    await splitter.do(0xE1)
    await splitter.do(0xE2)
    await splitter.do(0x01)
    await splitter.do(ready=1)
    await splitter.do()


@cocotb.test()
async def many_timeouts(dut: Any) -> None:
    """The counter stops at 15; the culprit changes."""
    splitter = Splitter(dut, "many_timeouts")
    await splitter.start()
    for k in range(18):
        await splitter.request((0x12, 0x93, 0xC4)[k % 3 if k < 16 else 0], k % 2, wait=99)
    await splitter.request(0x85, 0, wait=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Asynchronous resets with a request under way, with a response, after timeouts; the clock low and high."""
    splitter = Splitter(dut, "resets")
    await splitter.start()
    for turn in range(6):
        await splitter.request(0x9C, 1, wait=99)
        await splitter.request((0x47, 0xD8, 0xEE)[turn % 3], 1 - turn // 3, wait=0)
        if turn % 2:
            await splitter.do(0x81 + turn, 1)
        if turn % 3 == 1:
            dut.m_valid.value, dut.t_ready.value = 0, 0
            await settle()
            dut.clk.value = 1
            await settle()
        dut.rst_n.value = 0
        splitter.clear()
        await settle()
        splitter.check()
        dut.clk.value = 0
        await settle()
        await splitter.do(0x80, 1, 7, reset=1)
        for _ in range(splitter.limit + 1 if turn == 5 else 2):
            await splitter.do(ready=0)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random requests and answers, targets that are quick and such that are not."""
    splitter = Splitter(dut, "traffic")
    await splitter.start()
    for k in range(250):
        addr = splitter.draw.randrange(256) if splitter.draw.randrange(3) else None
        patience = (2, splitter.limit + 2)[k // 50 % 2]
        ready = sum((splitter.draw.randrange(patience) == 0) << t for t in range(3))
        await splitter.do(addr, splitter.draw.randrange(2), ready)
