"""uart_send: every kind of frame, frames without a gap, the moment of ready, inputs that change in between, resets."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Line:
    """Drives the design; the model is the row of levels still to come, one a cycle."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.divisor = dut, rng(name), int(dut.DIVISOR.value)
        self.levels: deque[int] = deque()

    def check(self) -> None:
        expect(self.dut.tx, self.levels[0] if self.levels else 1)
        expect(self.dut.busy, len(self.levels) > 0)
        expect(self.dut.ready, len(self.levels) < 2)

    async def do(self, valid: int, data: int = -1, kind: int = -1, reset: int = 0, blind: bool = False) -> None:
        """One period. ``kind`` is parity and two_stop as a number; what is not given is noise."""
        dut = self.dut
        data = self.draw.randrange(256) if data < 0 else data
        kind = self.draw.randrange(8) if kind < 0 else kind
        dut.rst.value, dut.valid.value, dut.data.value = reset, valid, data
        dut.parity.value, dut.two_stop.value = kind >> 1, kind & 1

        def step() -> None:
            free = len(self.levels) < 2
            if self.levels:
                self.levels.popleft()
            if reset:
                self.levels.clear()
            elif valid and free:
                bits = [0] + [data >> k & 1 for k in range(8)]
                if kind >= 4:
                    bits.append((sum(bits) + (kind >> 1)) % 2)
                bits += [1] * (1 + kind % 2)
                self.levels.extend(bit for bit in bits for _ in range(self.divisor))

        await strobe(dut.clk, (lambda: None) if blind else self.check, step)

    async def start(self) -> None:
        self.dut.clk.value = 0
        expect_widths(self.dut, data=8, parity=2, tx=1, busy=1, ready=1)
        await self.do(1, reset=1, blind=True)
        await self.do(1, reset=1)


@cocotb.test()
async def kinds(dut: Any) -> None:
    """One frame of each kind, with a pause, data and kind changing behind it."""
    line = Line(dut, "kinds")
    await line.start()
    for kind in range(8):
        await line.do(1, (0x00, 0xFF, 0x2D, 0x80, 0xA7, 0x01, 0x54, 0x3E)[kind], kind)
        while line.levels:
            await line.do(0)
        for _ in range(kind % 3):
            await line.do(0)


@cocotb.test()
async def no_gap(dut: Any) -> None:
    """valid all the time: each frame follows at once, and is the one shown in the last cycle."""
    line = Line(dut, "no_gap")
    await line.start()
    for _ in range(7 * 11 * line.divisor):
        await line.do(1)
    while line.levels:
        await line.do(0)


@cocotb.test()
async def moments(dut: Any) -> None:
    """valid blinks one cycle before ready, in its last cycle, and one after."""
    line = Line(dut, "moments")
    await line.start()
    for left in (2, 1, 0, 3):
        await line.do(1, 0x53, 4 + left % 4)
        while len(line.levels) > left:
            await line.do(0)
        await line.do(1, 0xC1, 2)
        for _ in range(line.divisor + 3):
            await line.do(0)
        while line.levels:
            await line.do(0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset in any part of a frame; between two edges it does nothing."""
    line = Line(dut, "resets")
    await line.start()
    for length in (1, 2, line.divisor, 3 * line.divisor + 1, 9 * line.divisor, 12 * line.divisor - 1):
        await line.do(1, 0x00, 7)
        for _ in range(length - 1):
            await line.do(0)
        dut.rst.value = 1
        await settle()
        line.check()
        dut.rst.value = 0
        await settle()
        await line.do(0)
        await line.do(1, reset=1)
        await line.do(length % 2, 0xFF)
        for _ in range(3):
            await line.do(0)
        await line.do(0, reset=1)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Frames at random, often and seldom."""
    line = Line(dut, "traffic")
    await line.start()
    for k in range(300):
        await line.do(int(line.draw.randrange(30 if k % 150 < 90 else 2) == 0))
