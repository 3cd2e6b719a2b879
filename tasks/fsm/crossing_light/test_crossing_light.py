"""crossing_light: whole rounds with ticks near and far apart, requests at every place, resets in every phase."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst": 1, "tick": 1, "request": 1, "red": 1, "amber": 1, "green": 1, "walk": 1, "pending": 1}
# Lamps (red, amber, green, walk) of every tick of a round, after the six ticks of DRIVE.
GREEN, AMBER, RED, WALK, BOTH = (0, 0, 1, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 0, 0, 1), (1, 1, 0, 0)
ROUND = [GREEN] * 6 + [AMBER] * 2 + [RED] + [WALK] * 4 + [RED, WALK, RED] + [BOTH]
LAST_DRIVE, STOP, WALKS = 5, 8, range(9, 13)


class Model:
    """A place in the list of all ticks of a round, and the request that waits."""

    def __init__(self) -> None:
        self.place = self.pending = 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if i["rst"]:
            self.place = self.pending = 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["rst"]:
            self.place = self.pending = 0
            return
        wanted = i["request"] or self.pending
        before = self.place
        if i["tick"] and (before != LAST_DRIVE or wanted):
            self.place = (before + 1) % len(ROUND)
        if before == STOP and i["tick"]:
            self.pending = 0
        elif i["request"] and before not in WALKS:
            self.pending = 1

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {**dict(zip(("red", "amber", "green", "walk"), ROUND[self.place], strict=True)), "pending": self.pending}


async def begin(dut: Any) -> Lockstep:
    """A light after its reset, during which requests and ticks are ignored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, tick=1, request=1)
    await pair.ticks(2)
    await pair.tick(rst=0, tick=0, request=0)
    return pair


@cocotb.test()
async def no_request(dut: Any) -> None:
    """DRIVE goes on without a request; one at any later tick ends it at once, one without a tick waits for it."""
    pair = await begin(dut)
    for extra in (0, 1, 5, 14):
        await pair.ticks(5 + extra, tick=1, request=0)
        await pair.tick(request=1)
        await pair.ticks(11, request=0)
        pair.set(tick=0)
    await pair.ticks(9, tick=1)
    await pair.ticks(3, tick=0)
    await pair.tick(request=1)
    await pair.ticks(3, request=0)
    await pair.ticks(24, tick=1)


@cocotb.test()
async def rounds(dut: Any) -> None:
    """A request at each place of the round, at a tick and beside it, with pending seen up to the next round."""
    pair = await begin(dut)
    for beside in (0, 1):
        for place in range(len(ROUND)):
            await pair.poke(rst=1)
            await pair.poke(rst=0)
            await pair.ticks(min(place, LAST_DRIVE), tick=1, request=0)
            if place > LAST_DRIVE:
                await pair.tick(request=1)
                await pair.ticks(place - LAST_DRIVE - 1, request=0)
            await pair.tick(tick=1 - beside, request=1)
            await pair.tick(tick=beside, request=0)
            await pair.ticks(26 if place % 3 == beside else 4, tick=1)


@cocotb.test()
async def request_held(dut: Any) -> None:
    """A button that is never let go, with ticks at every edge and at every third."""
    pair = await begin(dut)
    await pair.ticks(40, tick=1, request=1)
    for edge in range(66):
        await pair.tick(tick=int(edge % 3 == 0))


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges in every phase, with the clock low and high."""
    pair = await begin(dut)
    for place in (3, 5, 7, 8, 10, 13, 14, 16):
        for high in (False, True):
            await pair.ticks(6, tick=1, request=1)
            await pair.ticks(max(place - 6, 0))
            if high:
                await pair.tick(request=1, high={"rst": 1})
                await pair.ticks(2)
                await pair.tick(rst=0, request=0)
            else:
                await pair.poke(rst=1)
                await pair.poke(rst=0, request=0)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("crossing_light")
    for _ in range(300):
        await pair.tick(
            tick=int(random.random() < 0.7),
            request=int(random.random() < 0.12),
            rst=int(random.random() < 0.006),
        )
