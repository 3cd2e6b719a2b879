"""bit_mirror: bit positions moved one by one; every stage alone and with others, single bits, random words."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle


def permuted(data: int, swap: int) -> int:
    """Bit ``i`` comes from bit ``i ^ swap``: a stage exchanges the numbers that differ in its own bit."""
    return sum((data >> (i ^ swap) & 1) << i for i in range(32))


def gathered(data: int, swap: int) -> int:
    """A bit is 1 when any bit whose number differs in enabled stages only is 1."""
    present = {i & ~swap for i in range(32) if data >> i & 1}
    return sum(1 << i for i in range(32) if i & ~swap in present)


async def check(dut: Any, data: int, swap: int, spread: int) -> None:
    """Apply one word and compare the output."""
    drive(dut, data=data, swap=swap, spread=spread)
    await settle(2)
    wanted = gathered(data, swap) if spread else permuted(data, swap)
    expect_all(dut, {"result": wanted}, f"for data={data:#010x} swap={swap} spread={spread}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, data=32, swap=5, spread=1, result=32)


@cocotb.test()
async def single_bits(dut: Any) -> None:
    """Every bit through every stage alone and through all of them, moved and gathered."""
    start(dut)
    for bit in range(32):
        for swap in (1 << bit % 5, 31 ^ 1 << bit % 5, 31):
            for spread in (0, 1):
                await check(dut, 1 << bit, swap, spread)
    for bit in range(0, 32, 3):
        for stage in range(5):
            await check(dut, 1 << bit, 1 << stage, 1)


@cocotb.test()
async def all_stages(dut: Any) -> None:
    """Every combination of stages on words of no symmetry, and on their complements."""
    start(dut)
    for swap in range(32):
        for spread in (0, 1):
            await check(dut, 0x8421_0D39, swap, spread)
            await check(dut, 0x7BDE_F2C6, swap, spread)
            await check(dut, 0x0000_4000 if swap % 2 else 0x0010_0000, swap, spread)


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Random words; sparse ones, since gathering fills dense ones."""
    start(dut)
    random = rng("bit_mirror")
    for _ in range(70):
        word = random.randrange(1 << 32)
        await check(dut, word, random.randrange(32), 0)
        await check(dut, word & random.randrange(1 << 32) & random.randrange(1 << 32), random.randrange(32), 1)
    for swap in range(32):
        for spread in (0, 1):
            await check(dut, 0, swap, spread)
            await check(dut, (1 << 32) - 1, swap, spread)
