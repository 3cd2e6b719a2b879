"""thermo_decode: majorities counted bit by bit; clean codes, each with one or two bits turned over, random words."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

CLEAN = [(1 << ones) - 1 for ones in range(16)]


async def check(dut: Any, therm: int) -> None:
    """Apply one word and compare all outputs."""
    padded = [1] + [therm >> i & 1 for i in range(15)] + [0]
    votes = [int(sum(padded[i : i + 3]) >= 2) for i in range(15)]
    wanted = {
        "repaired": sum(vote << i for i, vote in enumerate(votes)),
        "level": sum(votes),
        "bubble": int(therm not in CLEAN),
    }
    drive(dut, therm=therm)
    await settle(2)
    expect_all(dut, wanted, f"for {therm:015b}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, therm=15, repaired=15, level=4, bubble=1)


@cocotb.test()
async def clean_codes(dut: Any) -> None:
    """The sixteen clean codes, and the same from the other end."""
    start(dut)
    for code in CLEAN:
        await check(dut, code)
        await check(dut, 0x7FFF ^ code)


@cocotb.test()
async def bubbles(dut: Any) -> None:
    """Every clean code with each single bit turned over, and with each pair of neighbours."""
    start(dut)
    for code in CLEAN:
        for bit in range(15):
            await check(dut, code ^ 1 << bit)
        for bit in range(code % 3, 14, 2):
            await check(dut, code ^ 3 << bit)


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Random words, the repaired ones often unclean."""
    start(dut)
    random = rng("thermo_decode")
    for _ in range(200):
        await check(dut, random.randrange(1 << 15))
    for word in (0x5555, 0x2AAA, 0x3333, 0x4CCC, 0x0001, 0x4000):
        await check(dut, word)
