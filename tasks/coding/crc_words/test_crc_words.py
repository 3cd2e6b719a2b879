"""crc_words: single bits, several settings in both orders, messages that check to zero, priorities, random traffic.

The model divides polynomials: the remainder of (start * x^8 + byte * x^12) modulo the whole polynomial.
"""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "configure": 1, "new_poly": 12, "new_init": 12, "new_mask": 12, "reflect": 1} | {
    "in_valid": 1, "in_first": 1, "in_word": 8, "crc": 12, "match": 1
}  # fmt: skip


def turned(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


class Model:
    def __init__(self) -> None:
        self.setting = (0x80F, 0, 0, 0)
        self.remainder = 0

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.__init__()
        elif i["configure"]:
            self.setting = (i["new_poly"], i["new_init"], i["new_mask"], i["reflect"])
            self.remainder = i["new_init"]
        elif i["in_valid"]:
            poly, init, _, reflect = self.setting
            byte = turned(i["in_word"], 8) if reflect else i["in_word"]
            rest = (init if i["in_first"] else self.remainder) << 8 ^ byte << 12
            while rest.bit_length() > 12:
                rest ^= (poly | 0x1000) << (rest.bit_length() - 13)
            self.remainder = rest

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        _, _, mask, reflect = self.setting
        shown = turned(self.remainder, 12) if reflect else self.remainder
        return {"crc": shown ^ mask, "match": int(self.remainder == 0)}


IDLE = {"rst": 0, "configure": 0, "in_valid": 0, "in_first": 0}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(
        rst=1, configure=1, new_poly=5, new_init=7, new_mask=9, reflect=1, in_valid=1, in_first=1, in_word=255
    )
    await sim.tick()
    await sim.tick(**IDLE)
    return sim


async def configure(sim: Lockstep, poly: int, init: int, mask: int, reflect: int) -> None:
    await sim.tick(configure=1, new_poly=poly, new_init=init, new_mask=mask, reflect=reflect)
    sim.set(configure=0, new_poly=~poly, new_init=~init, new_mask=~mask, reflect=1 - reflect)


async def message(sim: Lockstep, data: bytes, first: int = 1) -> None:
    for n, byte in enumerate(data):
        await sim.tick(in_valid=1, in_first=int(first and n == 0), in_word=byte)
    sim.set(in_valid=0)


@cocotb.test()
async def single_bits(dut: Any) -> None:
    """Each bit of the byte, of the initial value and of the mask by itself; after reset, and with both orders."""
    sim = await begin(dut)
    for n in range(8):
        await message(sim, bytes([1 << n]))
    for reflect in (0, 1):
        for n in range(12):
            await configure(sim, 1 << n | 1, 1 << (n * 5 % 12), 1 << (n * 7 % 12), reflect)
            await message(sim, bytes([1 << (n % 8), 0x80 >> n % 8]), first=n & 1)
        await configure(sim, 0xF13, 0xFFF, 0x000, reflect)
        await message(sim, b"123456789")
        await sim.tick(in_first=1)
        await message(sim, b"\0\0", first=0)


@cocotb.test()
async def checks_to_zero(dut: Any) -> None:
    """A message followed by the 24 bits that bring its remainder to 0: match, with a mask that hides it in crc."""
    sim = await begin(dut)
    draw = rng("crc_words zero")
    for reflect in (0, 1):
        await configure(sim, 0x80F, 0xABC, 0x5A3, reflect)
        await message(sim, draw.randbytes(3))
        # Two bytes: the upper part of the remainder goes first and leaves the lower part, four bits, on top.
        for _ in range(40):
            top = sim.model.remainder >> 4
            await message(sim, bytes([turned(top, 8) if reflect else top]), first=0)
            if sim.model.remainder == 0:
                break
        await sim.tick()
        await configure(sim, 0x001, 0, 0xFFF, reflect)
        await message(sim, b"\0\x80\x01")


@cocotb.test()
async def priorities(dut: Any) -> None:
    sim = await begin(dut)
    await configure(sim, 0x80F, 0x123, 0xF00, 1)
    await message(sim, b"ab")
    await sim.tick(
        configure=1, new_poly=0x0A5, new_init=0x777, new_mask=0x00F, reflect=0, in_valid=1, in_first=1, in_word=0x3C
    )
    await sim.tick(configure=0)
    await sim.tick(in_first=0, reflect=1)
    await sim.poke(rst=1)
    await sim.poke(rst=0, configure=1, new_mask=0xFFF)
    await sim.tick(configure=0, in_valid=0)
    await sim.tick(rst=1, configure=1, in_valid=1)
    await sim.tick(**IDLE)
    await message(sim, b"\x81\x7e", first=0)
    await message(sim, b"\x42")


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("crc_words")
    for _ in range(300):
        await sim.tick(
            rst=int(draw.random() < 0.02),
            configure=int(draw.random() < 0.06),
            new_poly=draw.getrandbits(12),
            new_init=draw.choice((0, 0xFFF, draw.getrandbits(12))),
            new_mask=draw.getrandbits(12),
            reflect=draw.randrange(2),
            in_valid=int(draw.random() < 0.7),
            in_first=int(draw.random() < 0.2),
            in_word=draw.getrandbits(8),
        )
