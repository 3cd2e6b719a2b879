"""round_mul: rounding against Python's own of fractions; ties of both signs, their neighbours, corners, random."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

CORNERS = (-128, -127, -65, -64, -1, 0, 1, 2, 63, 64, 127)


async def check(dut: Any, a: int, b: int) -> None:
    """Apply one pair of operands and compare all outputs."""
    exact = Fraction(a * b, 128)
    nearest = round(exact)  # ties to even
    drive(dut, a=a & 0xFF, b=b & 0xFF)
    await settle(2)
    wanted = {
        "product": min(nearest, 127) & 0xFF,
        "inexact": int(exact.denominator > 1),
        "clipped": int(nearest > 127),
    }
    expect_all(dut, wanted, f"for {a} * {b}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, a=8, b=8, product=8, inexact=1, clipped=1)


@cocotb.test()
async def corners(dut: Any) -> None:
    """All pairs of corner values, the clipped one among them."""
    start(dut)
    for a in CORNERS:
        for b in CORNERS:
            await check(dut, a, b)


@cocotb.test()
async def ties(dut: Any) -> None:
    """Products half way between two integers, odd and even ones, both signs, and products next to them."""
    start(dut)
    for odd in range(-25, 26, 2):
        for a, b in ((64, odd), (odd, -64), (32, 2 * odd), (-4 * odd, 16), (odd, 65), (-63, odd)):
            await check(dut, a, b)


@cocotb.test()
async def random_operands(dut: Any) -> None:
    """The ends of the range against all sizes, then random pairs."""
    start(dut)
    random = rng("round_mul")
    for other in range(-128, 128, 15):
        await check(dut, -128, other)
        await check(dut, other, 127)
    for _ in range(250):
        await check(dut, random.randrange(-128, 128), random.randrange(-128, 128))
