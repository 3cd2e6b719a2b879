"""signed_div: signs and extremes, division by zero, back-pressure, operands that change, resets in every phase."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    """A countdown to a result that was worked out when the operands came."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.wait = 0
        self.result: dict[str, int] | None = None
        self.phase = "idle"

    def divide(self, num: int, den: int) -> dict[str, int]:
        low = -(1 << (self.width - 1))
        if den == 0:
            return {"quo": low if num < 0 else -low - 1, "rem": num, "by_zero": 1, "overflow": 0}
        size = abs(num) // abs(den)
        quo = size if (num < 0) == (den < 0) else -size
        return {"quo": quo, "rem": num - quo * den, "by_zero": 0, "overflow": int(quo == -low)}

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.phase = "idle"
        elif self.phase == "idle":
            if i["in_valid"]:
                self.result = self.divide(i["num"], i["den"])
                self.wait = self.width
                self.phase = "busy" if i["den"] else "done"
        elif self.phase == "busy":
            self.wait -= 1
            if not self.wait:
                self.phase = "done"
        elif i["out_ready"]:
            self.phase = "idle"

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        shown = {"in_ready": int(self.phase == "idle"), "out_valid": int(self.phase == "done")}
        nothing = dict.fromkeys(("quo", "rem", "by_zero", "overflow"), 0)
        return shown | (self.result if self.phase == "done" and self.result else nothing)


async def begin(dut: Any) -> tuple[Lockstep, int]:
    width = int(dut.WIDTH.value)
    assert width in (10, 5, 16), "WIDTH has another value than it was given"
    names = ("rst", "in_valid", "in_ready", "out_valid", "out_ready", "by_zero", "overflow")
    sizes = dict.fromkeys(names, 1) | dict.fromkeys(("num", "den", "quo", "rem"), width)
    sim = Lockstep(dut, Model(width), sizes)
    await sim.start(rst=1, in_valid=1, num=1, den=0, out_ready=0)
    await sim.tick(rst=0, in_valid=0)
    return sim, width


async def divide(sim: Lockstep, num: int, den: int, hold: int = 0) -> None:
    """One division; the operands change right after they were taken, the result waits ``hold`` cycles."""
    await sim.tick(in_valid=1, num=num, den=den, out_ready=0)
    sim.set(in_valid=0, num=~num, den=1 if den != 1 else -1, out_ready=int(not hold))
    for _ in range(sim.model.width if den else 0):
        await sim.tick()
    for _ in range(hold):
        await sim.tick()
    await sim.tick(out_ready=1)


@cocotb.test()
async def signs_and_extremes(dut: Any) -> None:
    sim, width = await begin(dut)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for num, den in (
        (low, -1),
        (low, 1),
        (low, low),
        (low, high),
        (high, low),
        (high, -1),
        (-1, low),
        (0, -1),
        (low + 1, -1),
    ):
        await divide(sim, num, den)
    for num, den in (
        (high, high),
        (high - 1, high),
        (-high, 2),
        (high, -2),
        (3, -3),
        (-3, 2),
        (-1, 1),
        (low, 2),
        (low, 3),
    ):
        await divide(sim, num, den)


@cocotb.test()
async def by_zero_and_holding(dut: Any) -> None:
    sim, width = await begin(dut)
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    for num in (0, 1, -1, low, high, 2):
        await divide(sim, num, 0, hold=num & 1)
    await divide(sim, 3, 2, hold=3)
    await divide(sim, -3, 2, hold=2)
    # in_valid stays 1 and out_ready too: one division after the other.
    await sim.ticks(2 * (width + 2) + 1, in_valid=1, out_ready=1, num=-3, den=-2)
    await sim.ticks(7, den=0)
    await sim.ticks(width + 2, in_valid=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    sim, width = await begin(dut)
    await sim.tick(in_valid=1, num=3, den=1)
    for after in (0, 1, width - 2, width - 1, width):
        await sim.tick(in_valid=1, num=3, den=-2, out_ready=0)
        await sim.ticks(after, in_valid=0)
        await sim.poke(rst=1)
        await sim.poke(rst=0)
        await sim.tick(rst=1, in_valid=1, out_ready=1)
        await sim.tick(rst=0, in_valid=0)
        await divide(sim, -2, 3)
    await sim.tick(in_valid=1, num=1, den=0)
    await sim.tick(rst=1, in_valid=1)
    await sim.ticks(2, rst=0, in_valid=0)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim, width = await begin(dut)
    draw = rng("signed_div")
    for _ in range(400):
        num, den = (draw.getrandbits(width) - (1 << (width - 1)) for _ in range(2))
        den >>= draw.choice((0, 1, width // 2, width - 2))
        valid, ready = draw.random() < 0.6, draw.random() < 0.5
        await sim.tick(in_valid=int(valid), num=num, den=den, out_ready=int(ready), rst=int(draw.random() < 0.01))
