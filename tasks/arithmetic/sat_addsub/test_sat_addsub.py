"""sat_addsub: integers clamped to a byte; corners under all operations, sums around both limits, random operands."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

CORNERS = (-128, -127, -64, -1, 0, 1, 64, 126, 127)


async def check(dut: Any, a: int, b: int, op: int) -> None:
    """Apply one pair of operands and compare all outputs."""
    exact = (a + b, a - b, b - a, abs(a))[op]
    kept = max(-128, min(127, exact))
    drive(dut, a=a & 0xFF, b=b & 0xFF, op=op)
    await settle(2)
    wanted = {"result": kept & 0xFF, "clipped": int(kept != exact), "negative": int(kept < 0), "zero": int(kept == 0)}
    expect_all(dut, wanted, f"for a={a} b={b} op={op}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, a=8, b=8, op=2, result=8, clipped=1, negative=1, zero=1)


@cocotb.test()
async def corners(dut: Any) -> None:
    """All pairs of corner values under all operations."""
    start(dut)
    for a in CORNERS:
        for b in CORNERS:
            for op in range(4):
                await check(dut, a, b, op)


@cocotb.test()
async def limits(dut: Any) -> None:
    """Exact values from two below to two above each limit."""
    start(dut)
    random = rng("sat_addsub limits")
    for beside in range(-2, 3):
        for _ in range(6):
            k = random.randrange(3, 125)
            await check(dut, k, 127 + beside - k, 0)
            await check(dut, -k, -128 + beside + k, 0)
            await check(dut, k, k - 127 - beside, 1)
            await check(dut, -1 - k, 127 - k - beside, 1)
            await check(dut, k - 127 - beside, k, 2)
            await check(dut, 127 - k - beside, -1 - k, 2)


@cocotb.test()
async def random_operands(dut: Any) -> None:
    """Random operands and operations."""
    start(dut)
    random = rng("sat_addsub")
    for _ in range(200):
        await check(dut, random.randrange(-128, 128), random.randrange(-128, 128), random.randrange(4))
