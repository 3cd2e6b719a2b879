"""crc_stream: CRC by polynomial division of the whole message; residues, saturated length, starts, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst_n": 1, "start": 1, "valid": 1, "data": 8, "crc": 8, "match": 1, "length": 8}
POLYNOMIAL = 0x12F


def residue(number: int) -> int:
    """The remainder of a polynomial over GF(2)."""
    while number > 0xFF:
        number ^= POLYNOMIAL << (number.bit_length() - 9)
    return number


class Model:
    """The message so far: the remainder of it all, the last match and the number of bytes."""

    def __init__(self) -> None:
        self.rest, self.match, self.length = residue(0xFF00), 0, 0
        self.empty()

    def empty(self) -> None:
        """Forget the message."""
        self.rest, self.match, self.length = 0xFF, 0, 0

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if not i["rst_n"]:
            self.empty()

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["rst_n"]:
            return self.empty()
        if i["start"]:
            self.empty()
        if i["valid"]:
            self.match = int(i["data"] == 0xFF - self.rest)
            self.rest = residue((self.rest ^ i["data"]) << 8)
            self.length += 1
        return None

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {"crc": 0xFF - self.rest, "match": self.match, "length": min(self.length, 255)}


async def begin(dut: Any) -> Lockstep:
    """An empty message after the reset, during which a byte is not taken."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, start=0, valid=1, data=0x5A)
    await pair.tick()
    await pair.tick(rst_n=1, valid=0)
    return pair


@cocotb.test()
async def known_message(dut: Any) -> None:
    """The nine digits have CRC 0xDF, which then matches; a wrong byte does not; holding changes nothing."""
    pair = await begin(dut)
    for character in b"123456789":
        await pair.tick(valid=1, data=character)
    assert pair.model.outputs({})["crc"] == 0xDF
    await pair.ticks(2, valid=0, data=0xDF)
    await pair.tick(valid=1)
    await pair.tick(valid=0)
    await pair.tick(valid=1, data=0x11)
    for data in (0x00, 0xFF, 0x00):
        await pair.tick(start=1, valid=1, data=data)
    await pair.tick(valid=0)
    await pair.tick(start=0, valid=1, data=0x00)
    await pair.tick(data=0xFF)


@cocotb.test()
async def single_bits(dut: Any) -> None:
    """Every bit of a first byte, and each of them followed by a zero byte."""
    pair = await begin(dut)
    for bit in range(8):
        await pair.tick(start=1, valid=1, data=1 << bit)
        await pair.tick(start=0, data=0)


@cocotb.test()
async def long_message(dut: Any) -> None:
    """The length stops at 255 while the CRC goes on; a start takes it back to 1 or to 0."""
    pair = await begin(dut)
    random = rng("crc_stream long")
    for number in range(262):
        matching = 0xFF - pair.model.rest
        await pair.tick(valid=1, data=matching if number % 7 == 3 else random.randrange(256))
    await pair.tick(start=1)
    await pair.tick(start=1, valid=0)
    await pair.tick(start=0, valid=1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges, with the clock low and high, and holds through edges."""
    pair = await begin(dut)
    await pair.ticks(3, valid=1, data=0xA7)
    await pair.tick(data=0xFF - pair.model.rest)
    await pair.poke(rst_n=0)
    await pair.poke(rst_n=1)
    await pair.tick(data=0)
    await pair.ticks(2, data=0x31)
    await pair.tick(data=0xFF - pair.model.rest, high={"rst_n": 0})
    await pair.ticks(2, start=1)
    await pair.tick(rst_n=1, start=0)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time, with many bytes that match."""
    pair = await begin(dut)
    random = rng("crc_stream")
    for _ in range(250):
        start = int(random.random() < 0.08)
        matching = 0 if start else 0xFF - pair.model.rest
        data = random.choice((matching, matching ^ 1 << random.randrange(8), random.randrange(256)))
        await pair.tick(
            start=start,
            valid=int(random.random() < 0.7),
            data=data,
            rst_n=int(random.random() > 0.02),
        )
