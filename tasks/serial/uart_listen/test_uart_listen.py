"""uart_listen: bytes, votes, disturbances, broken stop bits, a late reader, a fast and a slow sender, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Receiver:
    """Drives the design; the model keeps the samples of the frame in a list and looks at it at the deciding edges."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.rate = dut, rng(name), int(dut.OVERSAMPLE.value)
        self.clear()

    def clear(self) -> None:
        self.raw = [1, 1]
        self.frame: list[int] | None = None
        self.recovering = False
        self.valid = self.data = self.error = self.lost = 0

    def check(self) -> None:
        dut = self.dut
        expect(dut.busy, self.frame is not None)
        expect(dut.valid, self.valid)
        expect(dut.data, self.data)
        expect(dut.frame_error, self.error)
        expect(dut.overrun, self.lost)

    def bit(self, number: int) -> int:
        assert self.frame is not None
        middle = number * self.rate + self.rate // 2
        return int(sum(self.frame[middle - 1 : middle + 2]) >= 2)

    def step(self, rx: int, take: int) -> None:
        line = self.raw.pop(0)
        self.raw.append(rx)
        unread, self.error, self.lost = self.valid and not take, 0, 0
        self.valid = int(unread)
        if self.frame is not None:
            self.frame.append(line)
            known = len(self.frame) - 2 - self.rate // 2
            if known == 0 and self.bit(0):
                self.frame = None
            elif known == 9 * self.rate:
                if self.bit(9):
                    self.data, self.valid, self.lost = sum(self.bit(k + 1) << k for k in range(8)), 1, int(unread)
                else:
                    self.error, self.recovering = 1, True
                self.frame = None
        elif self.recovering:
            self.recovering = not line
        elif not line:
            self.frame = [0]

    async def do(self, rx: int = 1, take: int = 0, reset: int = 0) -> None:
        self.dut.rx.value, self.dut.take.value, self.dut.rst_n.value = rx, take, not reset
        if reset:
            self.clear()
        await strobe(self.dut.clk, self.check, lambda: None if reset else self.step(rx, take))

    async def send(self, byte: int, stop: int = 1, noise: int = 0, length: int = 0, take: int = 0) -> None:
        """A frame; ``noise`` is the chance in 16 that a sample is wrong, ``take`` that a cycle has take = 1."""
        for bit in [0, *[byte >> k & 1 for k in range(8)], stop]:
            for _ in range(length or self.rate):
                wrong = self.draw.randrange(16) < noise
                await self.do(1 - bit if wrong else bit, int(self.draw.randrange(16) < take))

    async def idle(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.do()

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = dut.rx.value = 0
        dut.rst_n.value = dut.take.value = 1
        expect_widths(dut, data=8, valid=1, frame_error=1, overrun=1, busy=1)
        await settle()
        await self.do(0, 1, reset=1)
        await self.do(0, 0, reset=1)
        await self.idle(2)


@cocotb.test()
async def bytes_in_a_row(dut: Any) -> None:
    """Frames with and without a pause; the byte stays until it is taken; overrun."""
    receiver = Receiver(dut, "bytes_in_a_row")
    await receiver.start()
    for byte, pause in ((0x2D, 3), (0x00, 2), (0xD6, 0), (0x5A, 0)):
        await receiver.send(byte)
        await receiver.idle(pause)
        if pause:
            await receiver.do(1, 1)
    await receiver.idle(3)


@cocotb.test()
async def reading(dut: Any) -> None:
    """take just before, at and just after the edge that finishes a byte."""
    receiver = Receiver(dut, "reading")
    await receiver.start()
    await receiver.send(0xC3)
    await receiver.idle(2)
    total = 9 * receiver.rate + receiver.rate // 2 + 2  # edges from the first one that sees the start bit
    for shift in (-1, 0, 1):
        byte = 0x35 + shift
        levels = [bit for bit in [0, *[byte >> k & 1 for k in range(8)], 1, 1] for _ in range(receiver.rate)]
        for k, level in enumerate(levels):
            await receiver.do(level, int(k == total + 1 + shift))
    await receiver.do(1, 1)


@cocotb.test()
async def disturbances(dut: Any) -> None:
    """Low pulses of every length up to a start bit, then single wrong samples at each place of a bit."""
    receiver = Receiver(dut, "disturbances")
    await receiver.start()
    rate = receiver.rate
    for length in range(1, rate // 2 + 2):
        for _ in range(length):
            await receiver.do(0)
        await receiver.idle(rate // 2 + 3 if length <= rate // 2 else 11 * rate)
    for pattern in (0b001, 0b010, 0b110, 0b011, 0b101, 0b100):  # the three samples of the start bit
        await receiver.do(0)
        for _ in range(rate // 2 - 2):
            await receiver.do(1)
        for k in range(3):
            await receiver.do(pattern >> k & 1)
        await receiver.idle(rate // 2 + 1)
        while receiver.frame is not None:
            await receiver.do(int(receiver.draw.randrange(2)))
        await receiver.idle(3)


@cocotb.test()
async def broken_stop(dut: Any) -> None:
    """A stop bit 0, a long break, and a good frame behind it; the older byte stays."""
    receiver = Receiver(dut, "broken_stop")
    await receiver.start()
    await receiver.send(0x81)
    await receiver.idle(1)
    for extra in (0, 1, 2 * receiver.rate):
        await receiver.send(0x7E, stop=0)
        for _ in range(extra):
            await receiver.do(0, int(extra == 1))
        await receiver.idle(2 if extra else 1)
        await receiver.send(0x19 + extra)
        await receiver.idle(extra)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Asynchronous resets in a frame, with a byte waiting, in a break; with the clock low and high."""
    receiver = Receiver(dut, "resets")
    await receiver.start()
    for turn in range(4):
        await receiver.send(0xE7, stop=int(turn != 2))
        for _ in range((turn + 1) * receiver.rate + turn):
            await receiver.do(0)
        if turn % 2:
            dut.clk.value = 1
            receiver.step(0, 0)
            await settle()
            receiver.check()
        dut.rst_n.value = 0
        receiver.clear()
        await settle()
        receiver.check()
        dut.clk.value = 0
        await settle()
        receiver.check()
        if turn > 1:
            await receiver.do(0, reset=1)
        await receiver.idle(2)
    await receiver.send(0x4B)
    await receiver.idle(3)


@cocotb.test()
async def rough_lines(dut: Any) -> None:
    """Random bytes with wrong samples, a sender too fast or too slow, a reader at random."""
    receiver = Receiver(dut, "rough_lines")
    await receiver.start()
    for k in range(5):
        length = receiver.rate + (1, -1, 0, 0, 0)[k]
        await receiver.send(receiver.draw.randrange(256), int(k != 3), (0, 0, 2, 3, 1)[k], length, take=1)
        await receiver.idle(receiver.draw.randrange(4))
