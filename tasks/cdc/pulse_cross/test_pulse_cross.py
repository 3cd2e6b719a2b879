"""pulse_cross: latency of both ways, requests while busy, any ratio of clocks, resets in flight."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Pulses:
    """Drives both clocks. The model counts pulses: sent, shown and answered, with the totals delayed by deques."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.stages = dut, rng(name), int(dut.STAGES.value)
        self.live = {"src": False, "dst": False}
        self.clear("src")
        self.clear("dst")

    def clear(self, side: str) -> None:
        if side == "src":
            self.sent = self.missed = 0
            self.back = deque([0] * self.stages)
        else:
            self.answered = 0
            self.there = deque([0] * self.stages)

    def check(self) -> None:
        dut = self.dut
        expect(dut.src_busy, self.sent != self.back[0])
        expect(dut.src_missed, min(self.missed, 15))
        expect(dut.dst_pulse, self.there[0] != self.answered)
        expect(dut.dst_count, self.answered % 32)

    async def src(self, pulse: int) -> None:
        """One period of src_clk."""
        self.dut.src_pulse.value = pulse

        def step() -> None:
            if not self.live["src"]:
                return
            busy = self.sent != self.back[0]
            self.back.popleft()
            self.back.append(self.answered)
            self.sent += pulse and not busy
            self.missed += pulse and busy

        await strobe(self.dut.src_clk, self.check, step)

    async def dst(self) -> None:
        """One period of dst_clk."""

        def step() -> None:
            if self.live["dst"]:
                self.answered = self.there.popleft()
                self.there.append(self.sent)

        await strobe(self.dut.dst_clk, self.check, step)

    async def hold(self, first: str = "src", check: bool = True) -> None:
        """Raise both resets without an edge in between."""
        for side in (first, "dst" if first == "src" else "src"):
            getattr(self.dut, side + "_rst_n").value = 0
            self.live[side] = False
            await settle()
        self.clear("src")
        self.clear("dst")
        if check:
            self.check()

    async def release(self, side: str) -> None:
        getattr(self.dut, side + "_rst_n").value = 1
        self.live[side] = True
        await settle()
        self.check()

    async def start(self) -> None:
        dut = self.dut
        dut.src_clk.value = dut.dst_clk.value = 0
        dut.src_pulse.value = dut.src_rst_n.value = dut.dst_rst_n.value = 1
        expect_widths(dut, src_busy=1, src_missed=4, dst_pulse=1, dst_count=5)
        await settle()
        await self.hold()
        await self.src(1)
        await self.dst()
        await self.release("dst")
        await self.release("src")


@cocotb.test()
async def latency(dut: Any) -> None:
    """Single pulses; then requests at every edge of the source."""
    pulses = Pulses(dut, "latency")
    await pulses.start()
    for _ in range(3):
        await pulses.src(1)
        for _ in range(pulses.stages + 3):
            await pulses.dst()
        for _ in range(pulses.stages + 2):
            await pulses.src(0)
    for _ in range(8 * pulses.stages):
        await pulses.src(1)
        await pulses.dst()
    await pulses.src(0)


@cocotb.test()
async def missed(dut: Any) -> None:
    """Requests while the destination stands still: lost and counted up to 15, then the counter stays."""
    pulses = Pulses(dut, "missed")
    await pulses.start()
    for k in range(20):
        await pulses.src(1)
        await pulses.src(k % 3 == 0)
    for _ in range(pulses.stages + 2):
        await pulses.dst()
    for _ in range(pulses.stages + 1):
        await pulses.src(0)
    await pulses.src(1)


@cocotb.test()
async def wrap(dut: Any) -> None:
    """More pulses than the destination's counter can count."""
    pulses = Pulses(dut, "wrap")
    await pulses.start()
    for k in range(34):
        dut.src_pulse.value = 1
        for clock, edges in ((dut.src_clk, 1), (dut.dst_clk, pulses.stages + 1), (dut.src_clk, pulses.stages)):
            for _ in range(edges):
                await settle()
                clock.value = 1
                await settle()
                clock.value = 0
            dut.src_pulse.value = 0
        await settle()
        if k % 8 == 0 or k > 28:
            expect(dut.dst_count, (k + 1) % 32)
            expect(dut.src_busy, 0)
            expect(dut.src_missed, 0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Resets with a pulse at every place of its way, the clocks low or high, released in either order."""
    pulses = Pulses(dut, "resets")
    await pulses.start()
    for turn in range(2 * pulses.stages + 6):
        for _ in range(2):
            await pulses.src(1)
        for _ in range(min(turn, pulses.stages + 1)):
            await pulses.dst()
        for _ in range(turn - pulses.stages - 1):
            await pulses.src(0)
        await pulses.hold("src" if turn % 2 else "dst")
        await pulses.src(1)
        await pulses.dst()
        first, second = ("src", "dst") if turn % 3 else ("dst", "src")
        await pulses.release(first)
        if turn % 4 == 1:
            await pulses.src(1)
            await pulses.dst()
        await pulses.release(second)
        for _ in range(2):
            await pulses.dst()


@cocotb.test()
async def clocks(dut: Any) -> None:
    """Random requests with the source slower, faster and as fast."""
    pulses = Pulses(dut, "clocks")
    await pulses.start()
    for phase in range(6):
        for _ in range(50):
            if pulses.draw.randrange(8) < (1, 4, 7)[phase % 3]:
                await pulses.src(int(pulses.draw.randrange(4) < 1 + phase // 2))
            else:
                await pulses.dst()
        if phase == 2:
            await pulses.hold()
            await pulses.release("src")
            await pulses.release("dst")
