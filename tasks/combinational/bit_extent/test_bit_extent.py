"""bit_extent: every pair of ends with the inside full, empty or full of holes, and random words."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle


async def check(dut: Any, field: int) -> None:
    """Apply one word and compare all outputs."""
    text = f"{field:016b}"[::-1]
    inside = text.strip("0")
    low = text.find("1")
    wanted = {
        "empty": int(not inside),
        "low": max(low, 0),
        "high": max(low + len(inside) - 1, 0),
        "span": len(inside),
        "solid": int("1" in inside and "0" not in inside),
    }
    drive(dut, field=field)
    await settle(2)
    expect_all(dut, wanted, f"for {field:016b}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, field=16, empty=1, low=4, high=4, span=5, solid=1)


@cocotb.test()
async def runs(dut: Any) -> None:
    """Every run without a gap, and nothing at all."""
    start(dut)
    await check(dut, 0)
    for low in range(16):
        for high in range(low, 16):
            await check(dut, (2 << high) - (1 << low))


@cocotb.test()
async def two_bits(dut: Any) -> None:
    """Every pair of bits with nothing between them."""
    start(dut)
    for low in range(16):
        for high in range(low + 1, 16):
            await check(dut, 1 << low | 1 << high)


@cocotb.test()
async def one_hole(dut: Any) -> None:
    """Runs with one bit missing: behind either end and somewhere inside."""
    start(dut)
    for low in range(16):
        for high in range(low + 2, 16):
            run = (2 << high) - (1 << low)
            for hole in {low + 1, high - 1}:
                await check(dut, run ^ 1 << hole)


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Random words with many and with few ones."""
    start(dut)
    random = rng("bit_extent")
    for _ in range(80):
        await check(dut, random.randrange(65536))
        await check(dut, random.randrange(65536) >> random.randrange(16))
        await check(dut, random.randrange(65536) << random.randrange(16) & 0xFFFF)
