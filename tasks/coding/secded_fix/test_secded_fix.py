"""secded_fix: code words built by an encoder of our own, with none, one, two, three and more bits turned over."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

PLACES = (3, 5, 6, 7, 9, 10, 11, 12)


def encode(data: int) -> set[int]:
    """The numbers of the bits that are 1 in the code word of a byte."""
    ones = {place for index, place in enumerate(PLACES) if data >> index & 1}
    sum_of_numbers = 0
    for place in ones:
        sum_of_numbers ^= place
    ones |= {check for check in (1, 2, 4, 8) if sum_of_numbers & check}
    return ones | {0} if len(ones) % 2 else ones


def word(ones: set[int]) -> int:
    """A code word from the numbers of its ones."""
    return sum(1 << place for place in ones)


WORDS = [encode(data) for data in range(256)]
CORRECT = {word(ones): data for data, ones in enumerate(WORDS)}


def decode(code: int) -> dict[str, int]:
    """Look for the correct word at distance nought or one."""
    if code in CORRECT:
        return {"data": CORRECT[code], "position": 0, "corrected": 0, "uncorrectable": 0}
    for place in range(13):
        if code ^ 1 << place in CORRECT:
            return {"data": CORRECT[code ^ 1 << place], "position": place, "corrected": 1, "uncorrectable": 0}
    received = sum((code >> place & 1) << index for index, place in enumerate(PLACES))
    return {"data": received, "position": 0, "corrected": 0, "uncorrectable": 1}


async def check(dut: Any, code: int) -> None:
    """Apply one word and compare all outputs."""
    drive(dut, code=code)
    await settle(2)
    expect_all(dut, decode(code), f"for {code:013b}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, code=13, data=8, position=4, corrected=1, uncorrectable=1)


@cocotb.test()
async def correct_words(dut: Any) -> None:
    """Words without an error."""
    start(dut)
    for data in (*range(0, 256, 5), *(1 << bit for bit in range(8)), 254):
        await check(dut, word(WORDS[data]))


@cocotb.test()
async def one_error(dut: Any) -> None:
    """Each bit of some words turned over."""
    start(dut)
    for data in (0x00, 0xFF, 0x5A, 0x36):
        for place in range(13):
            await check(dut, word(WORDS[data]) ^ 1 << place)


@cocotb.test()
async def two_errors(dut: Any) -> None:
    """Each pair of bits, alternately of several words."""
    start(dut)
    for number, (one, other) in enumerate(combinations(range(13), 2)):
        await check(dut, word(WORDS[(0x00, 0xC5, 0xFF, 0x3A)[number % 4]]) ^ 1 << one ^ 1 << other)


@cocotb.test()
async def three_errors(dut: Any) -> None:
    """Three wrong bits, which look like one or, with syndromes 13, 14 and 15, like nothing that can be mended."""
    start(dut)
    for number, places in enumerate(combinations(range(13), 3)):
        syndrome = places[0] ^ places[1] ^ places[2]
        if syndrome > 11 or number % 5 == 0:
            await check(dut, word(WORDS[number * 37 % 256]) ^ word(set(places)))


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Any words at all."""
    start(dut)
    random = rng("secded_fix")
    for _ in range(150):
        await check(dut, random.randrange(8192))
