"""fixed_scale: every rounding mode at and beside halves and integers, the edge of saturation, random operands."""

from __future__ import annotations

from fractions import Fraction
from math import floor, trunc
from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle


def rounded(value: Fraction, mode: int) -> int:
    if mode == 0:
        return floor(value)
    if mode == 1:
        return floor(value + Fraction(1, 2))
    return round(value) if mode == 2 else trunc(value)


class Bench:
    """One instance with its sizes, and the values it was given."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.width, self.frac = dut, int(dut.WIDTH.value), int(dut.FRAC.value)
        assert (self.width, self.frac) in ((12, 7), (8, 2), (5, 4)), "WIDTH, FRAC are not as given"
        expect_widths(dut, a=self.width, b=self.width, mode=2, y=self.width, sat=1, inexact=1)
        self.low, self.high = -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1

    async def check(self, a: int, b: int, modes: tuple[int, ...] = (0, 1, 2, 3)) -> None:
        for mode in modes:
            self.dut.a.value, self.dut.b.value, self.dut.mode.value = a, b, mode
            await settle()
            exact = Fraction(a * b, 1 << self.frac)
            result = rounded(exact, mode)
            kept = max(self.low, min(self.high, result))
            when = f"for a={a} b={b} mode={mode}"
            expect(self.dut.y, kept % (1 << self.width), when)
            expect(self.dut.sat, int(kept != result), when)
            expect(self.dut.inexact, int(exact.denominator != 1), when)


@cocotb.test()
async def rounding(dut: Any) -> None:
    """The product is a small number of parts: b = 1 or -1 shows each fraction."""
    bench = Bench(dut)
    half = 1 << (bench.frac - 1)
    points = {k * half + d for k in range(-5, 6) for d in (-1, 0, 1)}
    for a in sorted(a for a in points if bench.low <= a <= bench.high):
        await bench.check(a, 1)
    for a in (half, -half, 1, -1, bench.high, bench.low):
        await bench.check(a, -1)
        await bench.check(a, 0)


@cocotb.test()
async def saturation(dut: Any) -> None:
    """Corners, and pairs whose product is next to the limits."""
    bench = Bench(dut)
    for a in (bench.low, bench.low + 1, bench.high - 1, bench.high):
        for b in (bench.low, bench.high, -1 << bench.frac, min(1 << bench.frac, bench.high)):
            await bench.check(max(a, bench.low), max(b, bench.low))
    near = []
    for limit in (bench.high, bench.low):
        for extra in range(-2, 3):
            # All pairs with a product of the limit plus some halves of a unit, where there are any.
            product = (limit << bench.frac) + extra * (1 << (bench.frac - 1))
            near += [(a, product // a) for a in range(2, bench.high + 1) if product % a == 0]
            near += [(a, product // a) for a in range(bench.low, 0) if product % a == 0]
    near = [pair for pair in near if bench.low <= pair[1] <= bench.high]
    for pair in rng("fixed_scale near").sample(near, min(len(near), 40)):
        await bench.check(*pair)


@cocotb.test()
async def random_operands(dut: Any) -> None:
    bench = Bench(dut)
    draw = rng("fixed_scale")
    for _ in range(120):
        a, b = (draw.randint(bench.low, bench.high) >> draw.randrange(bench.width // 2) for _ in range(2))
        await bench.check(a, b, (draw.randrange(4),))
    for _ in range(60):
        a = draw.randint(bench.low, bench.high) >> 1 << 1
        await bench.check(a, draw.choice((1, -1, 3, -3)) << max(bench.frac - 2, 0) & bench.high, (1, 2))
