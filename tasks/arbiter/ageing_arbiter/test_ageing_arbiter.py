"""ageing_arbiter: every pattern, ties, waiting past the cap, withdrawn requests, slots that are not given, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Arbiter:
    """Drives the design; the model counts for each requester the slots it has waited."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.count, self.cap = int(dut.N.value), int(dut.CAP.value)
        self.clear()

    def clear(self) -> None:
        self.waited = dict.fromkeys(range(self.count), 0)
        self.winner: int | None = None
        self.won = 0

    def check(self) -> None:
        expect(self.dut.grant, 0 if self.winner is None else 1 << self.winner)
        expect(self.dut.score, self.won)
        expect(self.dut.idle, self.winner is None)

    async def do(self, req: int, base: list[int], slot: int = 1, reset: int = 0) -> None:
        """One period; ``base`` holds a priority for each requester, the first ones are used."""
        dut = self.dut
        req &= (1 << self.count) - 1
        dut.req.value, dut.slot.value, dut.rst_n.value = req, slot, not reset
        dut.base.value = sum(base[who] << 3 * who for who in range(self.count))
        if reset:
            self.clear()

        def step() -> None:
            if reset or not slot:
                return
            asking = [who for who in range(self.count) if req >> who & 1]
            scores = {who: min(self.cap, base[who] + self.waited[who]) for who in asking}
            self.winner = min(asking, key=lambda who: (-scores[who], who), default=None)
            self.won = 0 if self.winner is None else scores[self.winner]
            for who in self.waited:
                self.waited[who] = min(15, self.waited[who] + 1) if who in scores and who != self.winner else 0

        await strobe(dut.clk, self.check, step)

    async def start(self) -> None:
        dut = self.dut
        dut.clk.value = dut.base.value = 0
        dut.rst_n.value = dut.slot.value = dut.req.value = 1
        expect_widths(dut, req=self.count, base=3 * self.count, grant=self.count, score=4, idle=1)
        await settle()
        await self.do(255, [7] * 8, reset=1)
        await self.do(255, [7] * 8, reset=1)

    def bases(self) -> list[int]:
        return [self.draw.randrange(8) for _ in range(8)]

    async def reset_now(self, high: bool) -> None:
        """Reset between two edges, with the clock low or high, slot being 0."""
        dut = self.dut
        dut.slot.value = 0
        await settle()
        dut.clk.value = int(high)
        await settle()
        dut.rst_n.value = 0
        self.clear()
        await settle()
        self.check()
        dut.rst_n.value = 1
        await settle()
        dut.clk.value = 0
        await settle()
        self.check()


@cocotb.test()
async def fresh(dut: Any) -> None:
    """Patterns with equal, rising, falling and random priorities, all ages 0."""
    arbiter = Arbiter(dut, "fresh")
    await arbiter.start()
    patterns = range(1 << arbiter.count) if arbiter.count < 5 else [arbiter.draw.randrange(256) for _ in range(16)]
    for req in patterns:
        for base in ([3] * 8, list(range(8)), list(range(7, -1, -1)), arbiter.bases()):
            await arbiter.do(req, base)
            await arbiter.do(0, base)


@cocotb.test()
async def waiting(dut: Any) -> None:
    """All ask with constant priorities; one that never wins reaches the cap and its age the end of its range."""
    arbiter = Arbiter(dut, "waiting")
    await arbiter.start()
    for base in ([0] * 8, [7] * 8, [7, 6, 5, 4, 3, 2, 1, 0], [0, 0, 7, 0, 7, 7, 0, 0], arbiter.bases()):
        for _ in range(24):
            await arbiter.do(255, base)
        await arbiter.do(0, base)
    # Everyone else is more important than the last one; what it has gathered shows when it is alone.
    last = 1 << arbiter.count - 1
    important = [7] * (arbiter.count - 1) + [0] * 7
    for waits in (3, 7, 8, 13, 14, 15, 16, 17, 19):
        for k in range(waits):
            if k % 8 == 5:
                await arbiter.do(last, [0] * 8, slot=0)
            await arbiter.do(255, important)
        await arbiter.do(last, [0] * 8)
        await arbiter.do(0, [0] * 8)


@cocotb.test()
async def pauses(dut: Any) -> None:
    """No slot: nothing moves, not even the age of a request that goes away; a slot without it forgets the age."""
    arbiter = Arbiter(dut, "pauses")
    await arbiter.start()
    base = [4, 2, 2, 1, 1, 0, 0, 0]
    for turn in range(4):
        await arbiter.do(7, base)
        await arbiter.do(7, base)
        for req in (0, 2, 7, 1):
            await arbiter.do(req, arbiter.bases(), slot=0)
        await arbiter.do(6, [0] * 8)
        await arbiter.do(7, base)
        await arbiter.do((5, 1, 0, 3)[turn], base)
        await arbiter.do(6, [3] * 8)
        await arbiter.do(4, base)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Ages and outputs are cleared without an edge, with the clock low and high."""
    arbiter = Arbiter(dut, "resets")
    await arbiter.start()
    for turn in range(6):
        for _ in range(turn + 1):
            await arbiter.do(255, [7, 1, 2, 1, 3, 1, 0, 0])
        if turn % 3 == 2:
            await arbiter.do(255, arbiter.bases(), reset=1)
        else:
            await arbiter.reset_now(high=turn % 3 == 1)
        for _ in range(3):
            await arbiter.do(255, [1, 2, 2, 2, 0, 1, 0, 0])


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random requests in phases of fixed and changing priorities."""
    arbiter = Arbiter(dut, "traffic")
    await arbiter.start()
    base, req = arbiter.bases(), 0
    for k in range(260):
        if arbiter.draw.randrange(6) == 0:
            base = arbiter.bases()
        if k % 3 == 0:
            req = arbiter.draw.randrange(256) | arbiter.draw.randrange(256)
        await arbiter.do(req, base, int(arbiter.draw.randrange(5) > 0), int(arbiter.draw.randrange(60) == 0))
