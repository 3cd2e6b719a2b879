"""stall_mac: latency with and without stalls, both saturations, gaps, pairs that are first and last, resets, random."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    """The last two things taken, in a queue, and the sum as a whole number."""

    def __init__(self, bits: int) -> None:
        self.high = (1 << (bits - 1)) - 1
        self.clear()

    def clear(self) -> None:
        self.coming: deque[dict[str, int] | None] = deque([None, None])
        self.sum, self.saturated, self.valid = 0, 0, 0

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.clear()

    def edge(self, i: dict[str, int]) -> None:
        if not i["rst_n"] or i["stall"]:
            return
        pair = self.coming.popleft()
        self.coming.append(dict(i) if i["in_valid"] else None)
        self.valid = 0
        if pair:
            exact = (0 if pair["in_first"] else self.sum) + pair["a"] * pair["b"]
            self.sum = max(-self.high - 1, min(self.high, exact))
            clipped = self.sum != exact
            self.saturated = int(clipped or (self.saturated and not pair["in_first"]))
            self.valid = pair["in_last"]

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        return {"out_valid": self.valid, "sum": self.sum, "saturated": self.saturated}


async def begin(dut: Any) -> tuple[Lockstep, int]:
    width, guard = int(dut.WIDTH.value), int(dut.GUARD.value)
    assert (width, guard) in ((8, 3), (4, 1)), "WIDTH and GUARD have other values than they were given"
    names = ("rst_n", "stall", "in_valid", "in_first", "in_last", "out_valid", "saturated")
    bits = 2 * width + guard
    sim = Lockstep(dut, Model(bits), dict.fromkeys(names, 1) | {"a": width, "b": width, "sum": bits})
    await sim.start(rst_n=0, stall=0, in_valid=1, in_first=1, in_last=1, a=3, b=5)
    await sim.tick()
    await sim.ticks(3, rst_n=1, in_valid=0)
    return sim, 1 << (width - 1)


async def feed(sim: Lockstep, a: int, b: int, first: int = 0, last: int = 0) -> None:
    await sim.tick(in_valid=1, a=a, b=b, in_first=first, in_last=last)
    sim.set(in_valid=0, a=~a, b=b ^ 5, in_first=1 - first, in_last=1 - last)


@cocotb.test()
async def sums_and_stalls(dut: Any) -> None:
    sim, half = await begin(dut)
    await feed(sim, 3, 5, first=1, last=1)
    await sim.ticks(4)
    await feed(sim, -half, -half, first=1)
    await feed(sim, 7, -3)
    await feed(sim, -half, half - 1, last=1)
    await feed(sim, -1, -1)
    await feed(sim, half - 1, 2, last=1)
    await feed(sim, 0, 6, first=1, last=1)
    await sim.ticks(4)
    # A stall of some edges at each stage of a pair with another behind it, something else offered meanwhile.
    for at in range(5):
        offers = [(6, -7, 1, 0), (-5, -4, 0, 1), (2, 3, 0, 0)]
        for n in range(6):
            if n == at:
                await sim.ticks(3, stall=1, in_valid=1, a=1, b=1, in_first=1, in_last=1)
                sim.set(stall=0, in_valid=0)
            if n < 3:
                await feed(sim, *offers[n])
            else:
                await sim.tick()


@cocotb.test()
async def saturation(dut: Any) -> None:
    sim, half = await begin(dut)
    high = sim.model.high
    for a, b in ((-half, -half), (-half, half - 1)):
        await feed(sim, a, b, first=1)
        for _ in range(high // abs(a * b) + 2):
            await feed(sim, a, b, last=1)
        await feed(sim, 1, -1 if b > 0 else 1)
        await feed(sim, 1, -1)
        await feed(sim, -2, -2)
        await feed(sim, half - 1, half - 1, last=1)
        await feed(sim, 1, 1, first=1)
        await sim.ticks(4)
    # Exactly the highest and the lowest number do not saturate, one more does.
    for limit in (high, -high - 1):
        await reach(sim, half - 1, limit)
        await sim.ticks(3)
        await feed(sim, 1, 1 if limit > 0 else -1)
        await sim.ticks(3)


async def reach(sim: Lockstep, most: int, target: int) -> None:
    """Bring the sum to a target, straight on, with operands of up to ``most``."""
    total = 0
    while total != target:
        rest = target - total
        factor = max(-most, min(most, int(rest / most)))
        pair = (most, factor) if factor else (rest, 1)
        await feed(sim, *pair, first=int(total == 0))
        total += pair[0] * pair[1]


@cocotb.test()
async def resets(dut: Any) -> None:
    sim, half = await begin(dut)
    for wait in range(4):
        for _ in range(12):
            await feed(sim, -half, -half, last=1)
        await sim.ticks(wait)
        await sim.poke(rst_n=0, stall=wait & 1)
        await sim.poke(rst_n=1, stall=0)
        await sim.ticks(3)
        await feed(sim, 2, wait + 1, last=1)
        await sim.ticks(wait)
        await sim.tick(high={"rst_n": 0})
        await sim.tick(in_valid=1, a=1, b=1, in_first=0, in_last=1)
        await sim.ticks(3, rst_n=1, in_valid=0)
        await feed(sim, 1, 1)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim, half = await begin(dut)
    draw = rng("stall_mac")
    for _ in range(350):
        a, b = (draw.choice((-half, half - 1, draw.randrange(-half, half))) for _ in range(2))
        await sim.tick(
            stall=int(draw.random() < 0.25),
            in_valid=int(draw.random() < 0.8),
            a=a,
            b=b,
            in_first=int(draw.random() < 0.08),
            in_last=int(draw.random() < 0.3),
            rst_n=int(draw.random() > 0.005),
        )
