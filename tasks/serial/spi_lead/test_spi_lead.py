"""spi_lead: both modes with walking bits, starts at every moment, changes of mode, inputs as noise, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Lead:
    """Drives the design; the model computes the lines from the number of cycles since the start."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.half = dut, rng(name), int(dut.HALF.value)
        self.clear()

    def clear(self) -> None:
        self.age: int | None = None  # edges since the start; None between transfers
        self.mode = self.byte = self.done = self.rx = 0
        self.heard: list[int] = []

    def check(self) -> None:
        dut = self.dut
        changes = 16 if self.age is None else min(16, self.age // self.half)
        shown = min(7, max(0, changes - self.mode) // 2)
        expect(dut.cs_n, self.age is None)
        expect(dut.sck, (changes + self.mode) % 2)
        expect(dut.mosi, self.byte >> 7 - shown & 1)
        expect(dut.done, self.done)
        expect(dut.rx_data, self.rx)

    async def do(self, start: int, byte: int = -1, mode: int = -1, reset: int = 0, blind: bool = False) -> None:
        dut, draw = self.dut, self.draw
        byte = draw.randrange(256) if byte < 0 else byte
        mode = draw.randrange(2) if mode < 0 else mode
        miso = draw.randrange(2)
        dut.start.value, dut.tx_data.value, dut.mode3.value, dut.miso.value = start, byte, mode, miso
        dut.rst.value = reset

        def step() -> None:
            self.done = 0
            if reset:
                self.clear()
            elif self.age is None:
                if start:
                    self.age, self.byte, self.mode, self.heard = 0, byte, mode, []
            else:
                self.age += 1
                change, rest = divmod(self.age, self.half)
                if rest == 0 and change == 17:
                    self.age, self.done = None, 1
                    self.rx = int("".join(map(str, self.heard)), 2)
                elif rest == 0 and change % 2 != self.mode:
                    self.heard.append(miso)

        await strobe(dut.clk, (lambda: None) if blind else self.check, step)

    async def finish(self, start: int = 0) -> None:
        while self.age is not None:
            await self.do(start)

    async def start(self) -> None:
        self.dut.clk.value = 0
        expect_widths(self.dut, tx_data=8, rx_data=8, sck=1, mosi=1, cs_n=1, done=1)
        await self.do(1, reset=1, blind=True)
        await self.do(1, 255, 1, reset=1)
        await self.do(0)


@cocotb.test()
async def both_modes(dut: Any) -> None:
    """Bytes that tell the bits apart, with a pause, the mode changing between transfers."""
    lead = Lead(dut, "both_modes")
    await lead.start()
    for mode, byte in ((0, 0x96), (0, 0x01), (1, 0x2D), (1, 0x80), (0, 0xB1), (1, 0x55)):
        await lead.do(1, byte, mode)
        await lead.finish()
        for _ in range(byte % 3 + 1):
            await lead.do(0)


@cocotb.test()
async def no_pause(dut: Any) -> None:
    """start all the time: ignored during a transfer, heard in the cycle of done."""
    lead = Lead(dut, "no_pause")
    await lead.start()
    for _ in range(3 * 17 * lead.half + 6):
        await lead.do(1)
    await lead.finish()
    await lead.do(0)
    await lead.do(0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset at the start, in the middle, before the end and in the cycle of done; none between two edges."""
    lead = Lead(dut, "resets")
    await lead.start()
    for length in (1, 3 * lead.half, 8 * lead.half + 1, 17 * lead.half - 1, 17 * lead.half, 17 * lead.half + 1):
        await lead.do(1, 0xFF, int(length > 1))
        for _ in range(length):
            await lead.do(0)
        dut.rst.value = 1
        await settle()
        lead.check()
        dut.rst.value = 0
        await settle()
        await lead.do(0)
        await lead.do(1, 0xFF, 1, reset=1)
        await lead.do(0)
        await lead.do(1, 0x80, length % 2)
        await lead.do(0)
        await lead.do(0, reset=1)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Transfers at random."""
    lead = Lead(dut, "traffic")
    await lead.start()
    for k in range(9 if lead.half < 3 else 4):
        for _ in range(lead.draw.randrange(4)):
            await lead.do(0)
        await lead.do(1)
        await lead.finish(start=k % 2)
