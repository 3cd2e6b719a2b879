"""flag_alu: corner operands for each operation and carry, then random ones; the model works with whole numbers."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle


def model(op: int, a: int, b: int, c: int, width: int) -> dict[str, int]:
    size = 1 << width
    sa, sb = (v - size if v >= size // 2 else v for v in (a, b))
    carry = overflow = 0
    if op < 4:
        extra = (c if op & 1 else 0) if op < 2 else (c - 1 if op & 1 else 0)
        exact = (sa + sb if op < 2 else sa - sb) + extra
        overflow = int(not -size // 2 <= exact < size // 2)
        y = exact % size
        carry = int(a + b + extra >= size) if op < 2 else int(a - b + extra >= 0)
    elif op < 8:
        y = (a & b, a | b, a ^ b, size - 1 - a)[op - 4]
    elif op in (8, 11):
        y = (2 * a + (c if op == 11 else 0)) % size
        carry = a * 2 // size
        overflow = int(op == 8 and (a >= size // 2) != (y >= size // 2))
    elif op in (9, 10, 12):
        y = a // 2 + size // 2 * {9: 0, 10: a * 2 // size, 12: c}[op]
        carry = a % 2
    else:
        y = int(op == 13 and sa < sb)
    flags = {"zero": int(y == 0), "negative": y * 2 // size, "illegal": int(op > 13)}
    return {"y": y, "carry": carry, "overflow": overflow} | flags


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut, self.width = dut, int(dut.WIDTH.value)
        assert self.width in (8, 5, 17), "WIDTH has another value than it was given"
        flags = dict.fromkeys(("carry_in", "carry", "overflow", "zero", "negative", "illegal"), 1)
        expect_widths(dut, op=4, a=self.width, b=self.width, y=self.width, **flags)

    async def check(self, op: int, a: int, b: int, c: int) -> None:
        dut = self.dut
        dut.op.value, dut.a.value, dut.b.value, dut.carry_in.value = op, a, b, c
        await settle()
        for name, wanted in model(op, a, b, c, self.width).items():
            expect(getattr(dut, name), wanted, f"for op={op} a={a:#x} b={b:#x} carry_in={c}")


@cocotb.test()
async def arithmetic_corners(dut: Any) -> None:
    bench = Bench(dut)
    top = 1 << (bench.width - 1)
    corners = (0, 1, top - 1, top, 2 * top - 1)
    for op in (0, 1, 2, 3):
        for a in corners:
            for b in corners:
                await bench.check(op, a, b, op & 1)
                if op & 1 or a == b:
                    await bench.check(op, a, b, 1 - (op & 1))
    for a in corners:
        for b in corners:
            await bench.check(13, a, b, 1)


@cocotb.test()
async def bits_and_shifts(dut: Any) -> None:
    bench = Bench(dut)
    top = 1 << (bench.width - 1)
    for op in (4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15):
        for a, b in (
            (0, 0),
            (1, top),
            (top, 1),
            (2 * top - 1, 0),
            (top // 2, top // 2),
            (top + top // 2, 3),
            (2 * top - 1, 2 * top - 1),
        ):
            for c in (0, 1):
                await bench.check(op, a, b, c)


@cocotb.test()
async def random_operands(dut: Any) -> None:
    bench = Bench(dut)
    draw = rng("flag_alu")
    for n in range(320):
        a, b = draw.getrandbits(bench.width), draw.getrandbits(bench.width)
        await bench.check(n % 16, a, draw.choice((b, b, a, a ^ 1)), draw.randrange(2))
