"""spi_register: each register, bursts over the end, broken frames, clock changes with the select high, resets."""

from __future__ import annotations

from functools import partial
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Bank:
    """Drives the interface; the model collects the bits of a frame in lists."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.ident = dut, rng(name), int(dut.IDENT.value)
        self.sck = self.mosi = 0
        self.cs_n = 1
        self.clear()

    def clear(self) -> None:
        self.values = [0] * 6
        self.lines = [(0, 1, 0)] * 3  # (sck, cs_n, mosi), oldest first; the middle one is what is seen
        self.forget()
        self.strobe = self.addr = 0

    def forget(self) -> None:
        self.got: list[int] = []  # bits received
        self.answer: list[int] = []  # bits to send
        self.miso = 0

    def check(self) -> None:
        dut = self.dut
        expect(dut.miso, self.miso)
        expect(dut.regs, sum(value << 8 * k for k, value in enumerate(self.values)))
        expect(dut.wr_strobe, self.strobe)
        expect(dut.wr_addr, self.addr)

    def value(self, addr: int, status: int) -> int:
        return [*self.values, status, self.ident][addr % 8]

    def step(self, status: int) -> None:
        (before, _, _), (now, select, bit) = self.lines[0], self.lines[1]
        self.lines = [*self.lines[1:], (self.sck, self.cs_n, self.mosi)]
        self.strobe = 0
        if select:
            self.forget()
        elif now and not before:
            self.got.append(bit)
            if len(self.got) % 8 == 0:
                whole = [int("".join(map(str, self.got[k : k + 8])), 2) for k in range(0, len(self.got), 8)]
                place = whole[0] + len(whole) - 1
                out = self.value(place, status)
                if len(whole) > 1 and whole[0] & 128 and (place - 1) % 8 < 6:
                    self.addr, self.strobe = (place - 1) % 8, 1
                    self.values[self.addr] = whole[-1]
                self.answer = [out >> k & 1 for k in range(7, -1, -1)]
        elif before and not now:
            self.miso = self.answer.pop(0) if self.answer else 0

    def rest(self) -> None:
        """No edge counts in reset."""

    async def do(self, cycles: int = 1, reset: int = 0) -> None:
        dut = self.dut
        for _ in range(cycles):
            status = self.draw.randrange(256)
            dut.sck.value, dut.cs_n.value, dut.mosi.value = self.sck, self.cs_n, self.mosi
            dut.status.value, dut.rst_n.value = status, not reset
            if reset:
                self.clear()
            await strobe(dut.clk, self.check, self.rest if reset else partial(self.step, status))

    async def bits(self, word: int, count: int = 8, half: int = 1) -> None:
        for k in range(count - 1, -1, -1):
            self.mosi = word >> k & 1
            await self.do(half)
            self.sck = 1
            await self.do(half)
            self.sck = 0

    async def frame(self, *sent: int, half: int = 1, extra: int = 0) -> None:
        """Select, send the bytes and ``extra`` more bits, release."""
        self.cs_n = 0
        await self.do(half)
        for byte in sent:
            await self.bits(byte, half=half)
        if extra:
            await self.bits(self.draw.randrange(1 << extra), extra, half)
        await self.do(half)
        self.cs_n = 1
        await self.do(3)

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = dut.status.value = 0
        dut.sck.value = dut.mosi.value = dut.rst_n.value = 1
        dut.cs_n.value = 0
        expect_widths(dut, status=8, regs=48, wr_strobe=1, wr_addr=3, miso=1)
        await settle()
        await self.do(2, reset=1)


@cocotb.test()
async def each_register(dut: Any) -> None:
    """Write each register and read it again, the two that cannot be written included; bits without meaning as noise."""
    bank = Bank(dut, "each_register")
    await bank.start()
    for addr in range(8):
        await bank.frame(0x80 | addr | bank.draw.randrange(16) << 3, 0x5A ^ 37 * addr)
    for addr in (3, 7):
        await bank.frame(addr | bank.draw.randrange(16) << 3, *[0xFF] * 4)


@cocotb.test()
async def bursts(dut: Any) -> None:
    """Several bytes a frame, over the end of the bank, at several speeds."""
    bank = Bank(dut, "bursts")
    await bank.start()
    await bank.frame(0x84, 0x11, 0xE2, 0x33, 0xC4, 0x95, 0x66, half=1)
    await bank.frame(0x06, 0, 0, half=2)
    await bank.frame(0x00, *[0] * 4)


@cocotb.test()
async def broken_frames(dut: Any) -> None:
    """Frames of too few bits write nothing and leave nothing behind; sck without select does nothing."""
    bank = Bank(dut, "broken_frames")
    await bank.start()
    await bank.frame(0x82, 0xA5)
    await bank.frame(extra=5)
    await bank.frame(0x82, extra=7)
    await bank.bits(0x82, half=1)
    await bank.bits(0xFF, half=1)
    await bank.frame(0x02, 0)
    await bank.frame(0x83, 0x3C, extra=3)
    await bank.frame(0x03, 0x00, extra=4)
    for turn in range(4):  # select and clock change in the same cycle, or the clock rests at 1
        bank.cs_n, bank.sck, bank.mosi = 0, 1, 1
        await bank.do(1 + turn)
        bank.sck = 0
        await bank.do(2)
        await bank.bits(0x41 << 1, 7 + turn % 2)
        await bank.bits(0xF0)
        bank.sck = turn % 2
        await bank.do(1)
        bank.cs_n, bank.sck = 1, 1 - bank.sck
        await bank.do(1 + turn)
        bank.sck = 0
        await bank.do(1)
    await bank.do(3)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Asynchronous resets in a command, in data, and with a strobe; with the clock low and high."""
    bank = Bank(dut, "resets")
    await bank.start()
    for turn in range(4):
        await bank.frame(0x80 | turn, 0xFF)
        bank.cs_n = 0
        await bank.bits(0x85 if turn < 2 else 0x01)
        await bank.bits(0xEE, 8 if turn % 2 else 3)
        await bank.do(turn)
        if turn > 1:
            dut.status.value = 0
            dut.sck.value, dut.cs_n.value, dut.mosi.value = bank.sck, bank.cs_n, bank.mosi
            await settle()
            dut.clk.value = 1
            bank.step(0)
            await settle()
        dut.rst_n.value = 0
        bank.clear()
        await settle()
        bank.check()
        dut.clk.value = 0
        await settle()
        if turn % 2:
            bank.sck = bank.mosi = 1
            await bank.do(2, reset=1)
            if turn > 1:  # sck is still 1 when the reset ends: a rise
                await bank.do(2)
            bank.sck = 0
        await bank.bits(0x81)
        await bank.bits(0x99)
        await bank.do(2)
        bank.cs_n = 1
        await bank.do(3)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random frames."""
    bank = Bank(dut, "traffic")
    await bank.start()
    for _ in range(3):
        sent = [bank.draw.randrange(256) for _ in range(bank.draw.randrange(1, 4))]
        await bank.frame(*sent, half=bank.draw.choice((1, 1, 2)), extra=bank.draw.choice((0, 0, 2)))
