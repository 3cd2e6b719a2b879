"""word_cross: one word step by step, a slow consumer, any ratio of clocks, resets at each step of the handshake."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Words:
    """Drives both clocks; the model follows the phases of the handshake on each side."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.width = dut, rng(name), int(dut.WIDTH.value)
        self.live = {"src": False, "dst": False}
        self.clear()

    def clear(self) -> None:
        self.req = self.ack = 0
        self.word = 0
        self.acks = [0, 0]  # what the source has been told, older one first
        self.reqs = [0, 0]
        self.shown: int | None = None
        self.data = 0

    def check(self) -> None:
        dut = self.dut
        expect(dut.src_ready, (self.req, self.acks[0]) == (0, 0))
        expect(dut.req, self.req)
        expect(dut.ack, self.ack)
        expect(dut.dst_valid, self.shown is not None)
        expect(dut.dst_data, self.data)

    async def src(self, valid: int) -> None:
        """One period of src_clk."""
        word = self.draw.randrange(1 << self.width)
        self.dut.src_valid.value, self.dut.src_data.value = valid, word

        def step() -> None:
            if not self.live["src"]:
                return
            told = self.acks[0]
            self.acks = [self.acks[1], self.ack]
            if self.req:
                self.req = 1 - told
            elif valid and not told:
                self.req, self.word = 1, word

        await strobe(self.dut.src_clk, self.check, step)

    async def dst(self, ready: int) -> None:
        """One period of dst_clk."""
        self.dut.dst_ready.value = ready

        def step() -> None:
            if not self.live["dst"]:
                return
            told = self.reqs[0]
            self.reqs = [self.reqs[1], self.req]
            if ready:
                self.shown = None
            if not told:
                self.ack = 0
            elif not self.ack and self.shown is None:
                self.ack, self.shown, self.data = 1, self.word, self.word

        await strobe(self.dut.dst_clk, self.check, step)

    async def hold(self, first: str = "src", check: bool = True) -> None:
        for side in (first, "dst" if first == "src" else "src"):
            getattr(self.dut, side + "_rst_n").value = 0
            self.live[side] = False
            await settle()
        self.clear()
        if check:
            self.check()

    async def release(self, side: str) -> None:
        getattr(self.dut, side + "_rst_n").value = 1
        self.live[side] = True
        await settle()
        self.check()

    async def start(self) -> None:
        dut = self.dut
        dut.src_clk.value = dut.dst_clk.value = dut.src_data.value = 0
        dut.src_valid.value = dut.dst_ready.value = dut.src_rst_n.value = dut.dst_rst_n.value = 1
        expect_widths(dut, src_data=self.width, dst_data=self.width, src_ready=1, dst_valid=1, req=1, ack=1)
        await settle()
        await self.hold()
        await self.src(1)
        await self.dst(1)
        await self.release("dst")
        await self.release("src")


@cocotb.test()
async def steps(dut: Any) -> None:
    """Each phase seen alone: edges of one clock while the other one stands still."""
    words = Words(dut, "steps")
    await words.start()
    for turn in range(4):
        for valid in (1, 1, 0, 1) if turn % 2 else (1, 0, 0):
            await words.src(valid)
        for ready in ((0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (0, 0, 0, 1, 0), (0, 1, 0, 0, 1))[turn]:
            await words.dst(ready)
        for valid in (0, 0, 0, 1) if turn < 2 else (1, 1, 1, 1):
            await words.src(valid)
        for ready in (turn % 2, 0, 0, 0):
            await words.dst(ready)
        for valid in (0, 1, 1, 0):
            await words.src(valid)
        for _ in range(6):
            await words.dst(1)
            await words.src(0)


@cocotb.test()
async def slow_consumer(dut: Any) -> None:
    """A word that nobody takes holds up the next one; consuming makes room at the same edge."""
    words = Words(dut, "slow_consumer")
    await words.start()
    for turn in range(5):
        for _ in range(14):
            await words.src(1)
            await words.dst(0)
        for _ in range(turn):
            await words.dst(1)
        for _ in range(6):
            await words.src(1)
            await words.dst(0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Both resets after any number of steps, with the first word pending, shown, and a second one waiting."""
    words = Words(dut, "resets")
    await words.start()
    for turn in range(22):
        for step in range(turn):
            if (step + turn % 2) % 2:
                await words.src(1)
            else:
                await words.dst(turn % 5 == 0)
        await words.hold("dst" if turn % 4 < 2 else "src")
        await words.src(1)
        await words.dst(1)
        first, second = ("src", "dst") if turn % 3 else ("dst", "src")
        await words.release(first)
        if turn % 4 == 1:
            await words.src(1)
            await words.dst(0)
        await words.release(second)


@cocotb.test()
async def clocks(dut: Any) -> None:
    """Random traffic with the source slower, faster and as fast, a willing and an unwilling consumer."""
    words = Words(dut, "clocks")
    await words.start()
    for phase in range(6):
        for _ in range(80):
            if words.draw.randrange(8) < (1, 4, 7)[phase % 3]:
                await words.src(words.draw.randrange(4) > 0)
            else:
                await words.dst(words.draw.randrange(6) < 5 - 4 * (phase // 3))
