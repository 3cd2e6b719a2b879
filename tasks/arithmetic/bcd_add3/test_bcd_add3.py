"""bcd_add3: decimal addition against Python's own, and every invalid digit in every place."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle


def packed(number: int) -> int:
    """The last three decimal digits of a number, one in every four bits."""
    return int(f"{number % 1000:03d}", 16)


async def check(dut: Any, a: int, b: int, carry_in: int) -> None:
    """Apply one pair of words and compare all outputs."""
    digits = f"{a:03x}{b:03x}"
    if digits.isdecimal():
        total = int(digits[:3]) + int(digits[3:]) + carry_in
        wanted = {"sum": packed(total), "carry_out": int(total > 999), "invalid": 0}
    else:
        wanted = {"sum": 0, "carry_out": 0, "invalid": 1}
    drive(dut, a=a, b=b, carry_in=carry_in)
    await settle(2)
    expect_all(dut, wanted, f"for {a:03x} + {b:03x} + {carry_in}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, a=12, b=12, carry_in=1, sum=12, carry_out=1, invalid=1)


@cocotb.test()
async def carries(dut: Any) -> None:
    """Carries that start at each digit and run as far as they can, and sums just below."""
    start(dut)
    for left, right in ((0, 0), (999, 999), (999, 0), (0, 999), (99, 1), (900, 99), (9, 0), (99, 0), (500, 499)):
        for carry_in in (0, 1):
            await check(dut, packed(left), packed(right), carry_in)


@cocotb.test()
async def digit_pairs(dut: Any) -> None:
    """Each pair of digits stands once in every place, with and without a carry from below."""
    start(dut)
    for i in range(10):
        for j in range(10):
            left = int(f"{i}{(i + 3) % 10}{(i + 7) % 10}")
            right = int(f"{j}{(j + 6) % 10}{(j + 1) % 10}")
            await check(dut, packed(left), packed(right), (i ^ j) & 1)


@cocotb.test()
async def invalid_digits(dut: Any) -> None:
    """A digit from 10 to 15 at each of the six places, among zeros and among nines."""
    start(dut)
    for place in range(6):
        for digit in range(10, 16):
            for others, carry_in in (("0", 0), ("9", 1)):
                digits = [others] * 6
                digits[place] = f"{digit:x}"
                word = "".join(digits)
                await check(dut, int(word[:3], 16), int(word[3:], 16), carry_in)


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Random numbers, then random words that need not be numbers."""
    start(dut)
    random = rng("bcd_add3")
    for _ in range(250):
        await check(dut, packed(random.randrange(1000)), packed(random.randrange(1000)), random.randrange(2))
    for _ in range(60):
        await check(dut, random.randrange(4096), packed(random.randrange(1000)), random.randrange(2))
        await check(dut, packed(random.randrange(1000)), random.randrange(4096), random.randrange(2))
