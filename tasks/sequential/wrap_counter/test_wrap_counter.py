"""wrap_counter: both ways round for several limits, limits that move past the count, loads, asynchronous resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst_n": 1, "load": 1, "load_value": 8, "enable": 1, "down": 1, "limit": 8,
    "count": 8, "wrapped": 1,
}  # fmt: skip


class Model:
    """The count and whether the last edge went round."""

    def __init__(self) -> None:
        self.count = self.wrapped = 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.count = self.wrapped = 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        limit, was = i["limit"], self.count
        self.wrapped = 0
        if not i["rst_n"]:
            self.count = 0
        elif i["load"]:
            self.count = min(i["load_value"], limit)
        elif i["enable"] and i["down"]:
            self.count = min(was - 1, limit) if was else limit
            self.wrapped = int(was == 0)
        elif i["enable"]:
            self.count = was + 1 if was < limit else 0
            self.wrapped = int(was >= limit)

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {"count": self.count, "wrapped": self.wrapped}


async def begin(dut: Any) -> Lockstep:
    """Count 0 after the reset, during which nothing is counted or loaded."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, load=1, load_value=0x5A, enable=1, down=0, limit=0xFF)
    await pair.ticks(2)
    await pair.tick(load=0)
    await pair.tick(rst_n=1, enable=0)
    return pair


async def load(pair: Lockstep, value: int, **changes: int) -> None:
    """Load a value."""
    await pair.tick(load=1, load_value=value, **changes)
    pair.set(load=0)


@cocotb.test()
async def round_and_round(dut: Any) -> None:
    """Short ranges both ways more than once, the limit 0, and the ends of the full range."""
    pair = await begin(dut)
    for limit in (0, 1, 2, 9):
        for down in (0, 1):
            await pair.ticks(2 * limit + 5, enable=1, down=down, limit=limit)
            await pair.tick(enable=0)
    for limit, near in ((255, 253), (254, 252), (128, 126), (127, 125)):
        await load(pair, near, limit=limit)
        await pair.ticks(5, enable=1, down=0)
        await pair.ticks(5, down=1)
    await load(pair, 0, limit=255)
    await pair.ticks(258, enable=1, down=0)


@cocotb.test()
async def loads(dut: Any) -> None:
    """Values below, at and above the limit, with and without enable; every bit; a load ends wrapped."""
    pair = await begin(dut)
    for enable in (0, 1):
        for value, limit in ((5, 9), (9, 9), (10, 9), (255, 9), (8, 9), (0, 9), (200, 201), (128, 127), (1, 0)):
            await load(pair, value, limit=limit, enable=enable, down=value & 1)
        for bit in range(8):
            await load(pair, 1 << bit, limit=255)
            await load(pair, 255, limit=1 << bit)
        await load(pair, 0, limit=3)
        await pair.tick(enable=1, down=1)
        await load(pair, 3, enable=enable)
        await pair.ticks(2, enable=enable, down=0)


@cocotb.test()
async def moving_limits(dut: Any) -> None:
    """Limits below the count: held, counted up to a wrap, corrected on the way down; limits that grow."""
    pair = await begin(dut)
    for down in (0, 1):
        for count, limit in ((50, 20), (50, 49), (50, 50), (50, 51), (50, 0), (255, 254), (1, 0), (129, 1), (2, 1)):
            await load(pair, count, limit=255, enable=0)
            await pair.tick(limit=limit)
            await pair.ticks(3, enable=1, down=down)
            await pair.tick(limit=100)
            await pair.tick(limit=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges, with the clock low and high, also while wrapped is 1."""
    pair = await begin(dut)
    for start in (2, 0, 7):
        await load(pair, start, limit=7, enable=1, down=1)
        await pair.tick()
        await pair.poke(rst_n=0)
        await pair.poke(rst_n=1)
        await load(pair, start, limit=7)
        await pair.tick(high={"rst_n": 0})
        await pair.ticks(2)
        await pair.tick(rst_n=1, enable=0)
    await load(pair, 200, limit=255)
    await pair.poke(load=1)
    await pair.poke(load=0, enable=1)
    await pair.poke(enable=0, limit=3)
    await pair.tick()


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time, with limits near the count."""
    pair = await begin(dut)
    random = rng("wrap_counter")
    limit = 5
    for _ in range(300):
        if random.random() < 0.2:
            limit = random.choice((random.randrange(256), random.randrange(5), pair.model.count))
        await pair.tick(
            load=int(random.random() < 0.1),
            load_value=random.choice((random.randrange(256), limit, limit ^ 1)),
            enable=int(random.random() < 0.8),
            down=int(random.random() < 0.5),
            limit=limit,
            rst_n=int(random.random() > 0.01),
        )
