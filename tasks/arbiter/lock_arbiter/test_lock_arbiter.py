"""lock_arbiter: every request pattern from every place, locks that end by will, by pause and by the limit, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Arbiter:
    """Drives the design; the model keeps a queue of the requesters and the length of the present lock."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.count, self.limit = int(dut.N.value), int(dut.LIMIT.value)
        self.reset()

    def reset(self) -> None:
        self.line = list(range(self.count))  # who is asked first; the last one had the latest transfer
        self.length = 0  # transfers under the present lock, 0 when there is none

    def choice(self, req: int) -> int | None:
        asked = self.line[-1:] if self.length else self.line
        return next((who for who in asked if req >> who & 1), None)

    def check(self) -> None:
        who = self.choice(self.req)
        expect(self.dut.grant, 0 if who is None else 1 << who)
        expect(self.dut.last, self.line[-1])
        expect(self.dut.held, self.length > 0)

    async def do(self, req: int, lock: int = 0, accept: int = 1, reset: int = 0, blind: bool = False) -> None:
        dut, mask = self.dut, (1 << self.count) - 1
        self.req, lock = req & mask, lock & mask
        dut.req.value, dut.lock.value, dut.accept.value, dut.rst.value = self.req, lock, accept, reset

        def step() -> None:
            who = self.choice(self.req)
            if reset:
                self.reset()
            elif who is not None and accept:
                while self.line[-1] != who:
                    self.line.append(self.line.pop(0))
                self.length = self.length + 1 if lock >> who & 1 else 0
                if self.length == self.limit:
                    self.length = 0
            elif self.length and not lock >> self.line[-1] & 1:
                self.length = 0

        await strobe(dut.clk, (lambda: None) if blind else self.check, step)

    async def start(self) -> None:
        self.dut.clk.value = 0
        expect_widths(self.dut, req=self.count, lock=self.count, grant=self.count, last=3, held=1)
        await self.do(3, 3, reset=1, blind=True)
        await self.do(3, 3, reset=1)


@cocotb.test()
async def turns(dut: Any) -> None:
    """Every pattern of requests from every place; without accept the choice stands still."""
    arbiter = Arbiter(dut, "turns")
    await arbiter.start()
    for place in range(arbiter.count):
        for req in range(1 << arbiter.count) if arbiter.count < 5 else [arbiter.draw.randrange(64) for _ in range(20)]:
            await arbiter.do(1 << place)
            await arbiter.do(req, accept=0)
            await arbiter.do(req)
    for _ in range(2 * arbiter.count + 1):
        await arbiter.do(255)


@cocotb.test()
async def at_once(dut: Any) -> None:
    """The choice follows the requests without an edge."""
    arbiter = Arbiter(dut, "at_once")
    await arbiter.start()
    for lock in (0, 255):
        await arbiter.do(1 << 1, lock)
        for req in (1, 3, 0, 2, 7, 5):
            dut.req.value = arbiter.req = req
            dut.rst.value = req == 7
            dut.lock.value = dut.accept.value = req & 1
            await settle()
            arbiter.check()


@cocotb.test()
async def locks(dut: Any) -> None:
    """A lock lasts to its limit, with or without pauses; it ends early by will, at a transfer or in a pause."""
    arbiter = Arbiter(dut, "locks")
    await arbiter.start()
    everyone = (1 << arbiter.count) - 1
    for who in range(arbiter.count):
        own = 1 << who
        await arbiter.do(1 << (who - 1) % arbiter.count)
        for _ in range(arbiter.limit + 2):
            await arbiter.do(everyone, own)
        await arbiter.do(1 << (who - 1) % arbiter.count)
        for k in range(arbiter.limit + 1):
            await arbiter.do(everyone, own)
            await arbiter.do(everyone & ~own, own)  # the owner pauses
            await arbiter.do(everyone, own, accept=0)
            await arbiter.do(0, own, accept=k % 2)
        await arbiter.do(own)
        await arbiter.do(own, own)  # alone, over the limit
        for _ in range(2 * arbiter.limit):
            await arbiter.do(own, everyone)
        await arbiter.do(0, everyone & ~own)  # lets go in a pause
        await arbiter.do(everyone, everyone & ~own, accept=0)
        await arbiter.do(own, own)
        await arbiter.do(everyone, everyone & ~own)  # lets go at a transfer
        await arbiter.do(everyone, own, accept=0)
        await arbiter.do(own, own)
        await arbiter.do(everyone, everyone & ~own, accept=0)
        await arbiter.do(own, own)
        await arbiter.do(everyone, own, reset=1)
        for _ in range(arbiter.limit):
            await arbiter.do(everyone, own)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random requests, locks and pauses; resets, which do nothing between two edges."""
    arbiter = Arbiter(dut, "traffic")
    await arbiter.start()
    lock = 0
    for _ in range(400):
        draw = arbiter.draw
        if draw.randrange(5) == 0:
            lock = draw.randrange(64) if draw.randrange(3) else 63
        if draw.randrange(40) == 0:
            dut.rst.value = 1
            await settle()
            dut.rst.value = 0
            await settle()
        await arbiter.do(draw.randrange(64), lock, int(draw.randrange(4) > 0), int(draw.randrange(60) == 0))
