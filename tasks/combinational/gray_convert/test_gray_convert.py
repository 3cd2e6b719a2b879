"""gray_convert: the code by its definition as a reflected list; all small words, single bits, random words."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle


def gray(number: int, width: int) -> int:
    """The Gray code: below the top bit, the second half of the list is the first half backwards."""
    if width == 0:
        return 0
    half = 1 << (width - 1)
    return half + gray(2 * half - 1 - number, width - 1) if number >= half else gray(number, width - 1)


def plain(code: int, width: int) -> int:
    """The place of a code in the reflected list."""
    if width == 0:
        return 0
    half = 1 << (width - 1)
    return 2 * half - 1 - plain(code - half, width - 1) if code >= half else plain(code, width - 1)


class Converter:
    """One instance with its width."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.width = dut, int(dut.WIDTH.value)
        assert self.width in (2, 8, 11, 32), f"WIDTH is {self.width}, which is not what it was given"
        expect_widths(dut, value=self.width, decode=1, result=self.width, odd=1)

    async def check(self, value: int) -> None:
        """Convert one word in both directions."""
        for decode in (0, 1):
            drive(self.dut, value=value, decode=decode)
            await settle(2)
            number = plain(value, self.width) if decode else value
            wanted = {"result": number if decode else gray(value, self.width), "odd": number & 1}
            expect_all(self.dut, wanted, f"for value={value:#x} decode={decode} WIDTH={self.width}")


@cocotb.test()
async def small_words(dut: Any) -> None:
    """The first words of the code and the last ones."""
    converter = Converter(dut)
    for value in range(min(16, 1 << converter.width)):
        await converter.check(value)
        await converter.check((1 << converter.width) - 1 - value)


@cocotb.test()
async def single_bits(dut: Any) -> None:
    """Each bit alone, each bit missing, and each run from the top or from the bottom."""
    converter = Converter(dut)
    everything = (1 << converter.width) - 1
    for bit in range(converter.width):
        for value in (1 << bit, everything ^ 1 << bit, everything >> bit, everything << bit & everything):
            await converter.check(value)


@cocotb.test()
async def random_words(dut: Any) -> None:
    """Random words."""
    converter = Converter(dut)
    random = rng("gray_convert")
    for _ in range(100):
        await converter.check(random.randrange(1 << converter.width))
