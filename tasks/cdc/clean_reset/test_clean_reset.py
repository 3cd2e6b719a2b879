"""clean_reset: release after arst_n, software requests at any moment, bounces of every length, all of it at random."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Chip:
    """Drives the design; the model keeps the history of the button and the number of edges since each event."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.stages, self.patience, self.hold = (int(p.value) for p in (dut.STAGES, dut.SETTLE, dut.HOLD))
        self.clear()

    def clear(self) -> None:
        self.edges = 0  # since arst_n was released
        self.raw = [0, 0]
        self.run: list[int] = []  # the button as seen since it last agreed
        self.pressed = self.cause = 0
        self.quiet = 0  # awake edges without a request
        self.out = 0

    def check(self) -> None:
        expect(self.dut.rst_n, self.out)
        expect(self.dut.pressed, self.pressed)
        expect(self.dut.cause, self.cause)

    async def do(self, button: int = 0, kick: int = 0, reset: int = 0) -> None:
        dut = self.dut
        dut.button.value, dut.kick.value, dut.arst_n.value = button, kick, not reset
        if reset:
            self.clear()

        def step() -> None:
            if reset:
                return
            self.edges += 1
            if self.edges > self.stages:
                self.quiet = 0 if self.pressed or kick else self.quiet + 1
                if self.quiet == 0:
                    self.out, self.cause = 0, 1 + self.pressed
                elif self.quiet > self.hold:
                    self.out = 1
            seen = self.raw.pop(0)
            self.raw.append(button)
            self.run = [*self.run, seen] if seen != self.pressed else []
            if len(self.run) == self.patience:
                self.pressed, self.run = seen, []

        await strobe(dut.clk, self.check, step)

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = 0
        dut.arst_n.value = dut.button.value = dut.kick.value = 1
        expect_widths(dut, rst_n=1, pressed=1, cause=2)
        await settle()
        await self.do(1, 1, reset=1)
        await self.do(1, 1, reset=1)

    async def reset_now(self, high: bool) -> None:
        """arst_n blinks between two edges, with the clock low or high."""
        dut = self.dut
        if high:
            dut.clk.value = 1
            await settle()
        dut.arst_n.value = 0
        self.clear()
        await settle()
        self.check()
        dut.arst_n.value = 1
        await settle()
        dut.clk.value = 0
        await settle()
        self.check()


@cocotb.test()
async def release(dut: Any) -> None:
    """The way from arst_n to rst_n, alone and interrupted."""
    chip = Chip(dut, "release")
    await chip.start()
    for turn in range(3):
        for _ in range(chip.stages + chip.hold + 3):
            await chip.do()
        await chip.reset_now(turn == 1)
    for length in range(1, chip.stages + chip.hold + 2, 2):
        for _ in range(length):
            await chip.do()
        await chip.reset_now(length % 4 == 1)
    for length in range(1, chip.stages + 3):  # kick is heard only once awake
        for _ in range(length):
            await chip.do(kick=1)
        for _ in range(chip.hold + 4):
            await chip.do()
        await chip.do(reset=1)


@cocotb.test()
async def software(dut: Any) -> None:
    """Requests of one edge and longer, again before the reset is over."""
    chip = Chip(dut, "software")
    await chip.start()
    for _ in range(chip.stages + chip.hold + 2):
        await chip.do()
    for gap in (chip.hold + 3, chip.hold + 1, chip.hold, chip.hold - 1, 1, chip.hold + 2):
        await chip.do(kick=1)
        for _ in range(gap):
            await chip.do()
    await chip.do(kick=1)
    await chip.do(kick=1)
    for _ in range(chip.hold + 2):
        await chip.do()


@cocotb.test()
async def bounces(dut: Any) -> None:
    """Touches and releases just long enough and just too short, split by one sample; from reset on."""
    chip = Chip(dut, "bounces")
    await chip.start()
    for _ in range(chip.patience + 2):
        await chip.do(button=1)
    await chip.do(reset=1)
    for _ in range(chip.stages + chip.hold + 2):
        await chip.do()
    for length in (1, chip.patience - 1, chip.patience, chip.patience + 1):
        for level in (1, 0):
            for _ in range(length):
                await chip.do(level)
            await chip.do(1 - level)
            for _ in range(length):
                await chip.do(level, kick=length % 2)
            for _ in range(chip.patience + 2):
                await chip.do(level)
    for _ in range(chip.hold + 3):
        await chip.do()


@cocotb.test()
async def anything(dut: Any) -> None:
    """Random touches of random length, requests, and resets."""
    chip = Chip(dut, "anything")
    await chip.start()
    button = 0
    for _ in range(330):
        if chip.draw.randrange(chip.patience) == 0 or chip.draw.randrange(9) == 0:
            button = 1 - button
        if chip.draw.randrange(90) == 0:
            await chip.reset_now(high=False)
        await chip.do(button, kick=int(chip.draw.randrange(40) == 0), reset=int(chip.draw.randrange(150) == 0))
