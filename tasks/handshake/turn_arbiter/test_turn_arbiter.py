"""turn_arbiter: who comes next from every owner, turns cut and turns used up, asynchronous resets, random requests."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst": 1, "req": 4, "grant": 4, "owner": 2, "fresh": 1}


class Model:
    """The requesters in the order in which they are asked, the owner last; the cycles of the turn, 0 without one."""

    def __init__(self) -> None:
        self.order = [0, 1, 2, 3]
        self.cycles = 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if i["rst"]:
            self.order, self.cycles = [0, 1, 2, 3], 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["rst"]:
            self.settle(i)
            return
        asking = [requester for requester in self.order if i["req"] >> requester & 1]
        if self.order[-1] in asking and 0 < self.cycles < 4:
            self.cycles += 1
        elif asking:
            while self.order[-1] != asking[0]:
                self.order.append(self.order.pop(0))
            self.cycles = 1
        else:
            self.cycles = 0

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        owner = self.order[-1]
        return {"grant": 1 << owner if self.cycles else 0, "owner": owner, "fresh": int(self.cycles == 1)}


async def begin(dut: Any) -> Lockstep:
    """Nobody has the resource after the reset, during which requests are ignored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, req=15)
    await pair.ticks(2)
    await pair.tick(rst=0, req=0)
    return pair


@cocotb.test()
async def next_owner(dut: Any) -> None:
    """Each set of requests after each owner, with and without a gap between."""
    pair = await begin(dut)
    for owner in range(4):
        for req in range(16):
            await pair.tick(req=0)
            await pair.tick(req=1 << owner)
            if req % 2 == owner % 2:
                await pair.tick(req=0)
            await pair.tick(req=req & ~(1 << owner) if req % 4 == 1 else req)
        await pair.ticks(2, req=0)
        for req in range(16):
            await pair.tick(req=1 << owner)
            await pair.tick(req=req & ~(1 << owner))
            await pair.tick(req=0)


@cocotb.test()
async def turns(dut: Any) -> None:
    """Four cycles each while all ask; a lone requester begins anew; a turn left early counts from one again."""
    pair = await begin(dut)
    await pair.ticks(18, req=0b1111)
    for requester in range(4):
        await pair.ticks(10, req=1 << requester)
        await pair.tick(req=0)
    await pair.ticks(9, req=0b1010)
    for cycles in (1, 2, 3, 4, 5):
        for owner in range(4):
            await pair.ticks(cycles, req=1 << owner)
            await pair.ticks(5, req=1 << (owner + cycles) % 4 | 1 << owner)
    await pair.ticks(3, req=0b0100)
    await pair.tick(req=0)
    await pair.ticks(6, req=0b0110)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges for each owner, with the clock low and high."""
    pair = await begin(dut)
    for owner in range(4):
        for cycles in (1, 2, 4):
            await pair.ticks(cycles, req=1 << owner)
            await pair.poke(rst=1)
            await pair.poke(rst=0, req=1 << owner)
            await pair.ticks(cycles)
            await pair.tick(high={"rst": 1})
            await pair.tick(req=15)
            await pair.tick(rst=0, req=0 if cycles == 2 else 15)


@cocotb.test()
async def random_requests(dut: Any) -> None:
    """Requests that stay a while."""
    pair = await begin(dut)
    random = rng("turn_arbiter")
    req = 0
    for _ in range(350):
        req ^= random.choice((0, 0, 0, 1, 2, 4, 8, 15 if random.random() < 0.2 else 3))
        await pair.tick(req=req, rst=int(random.random() < 0.008))
