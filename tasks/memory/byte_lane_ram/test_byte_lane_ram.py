"""byte_lane_ram: all words and lanes, reads after writes at once and later, disabled edges, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "enable": 1, "lanes": 4, "address": 5, "write_data": 32, "read_data": 32}


class Model:
    """The bytes that were written, by word and lane; and what was read last, unless some of it is unknown."""

    def __init__(self) -> None:
        self.bytes: dict[tuple[int, int], int] = {}
        self.shown: int | None = None

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["enable"]:
            return
        for lane in range(4):
            if i["lanes"] >> lane & 1:
                self.bytes[i["address"], lane] = i["write_data"] >> 8 * lane & 0xFF
        word = [self.bytes.get((i["address"], lane)) for lane in range(4)]
        self.shown = None if None in word else int.from_bytes(bytes(b or 0 for b in word), "little")

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the output shows, if that is known."""
        return {} if self.shown is None else {"read_data": self.shown}


async def begin(dut: Any) -> Lockstep:
    """A memory of which nothing is known."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(enable=0, lanes=15, address=0, write_data=0)
    return pair


async def fill(pair: Lockstep, seed: int) -> None:
    """Write every word, each with another value, in an order that is not that of the addresses."""
    for number in range(32):
        address = number * 11 % 32
        await pair.tick(enable=1, lanes=15, address=address, write_data=(address + 1) * 0x9E3779B1 + seed & 0xFFFFFFFF)


@cocotb.test()
async def words(dut: Any) -> None:
    """Every word keeps its own value and shows it after the edge of the write and after that of a read."""
    pair = await begin(dut)
    await fill(pair, 0)
    for address in range(32):
        await pair.tick(lanes=0, address=address, write_data=0xFFFF0000)
    for bit in range(32):
        await pair.tick(lanes=15, address=bit, write_data=1 << bit)
    for address in range(31, -1, -1):
        await pair.tick(lanes=0, address=address)


@cocotb.test()
async def lanes(dut: Any) -> None:
    """Every combination of lanes replaces its bytes and no others; a word built byte by byte in any order."""
    pair = await begin(dut)
    for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
        for lane in order:
            await pair.tick(enable=1, lanes=1 << lane, address=9 + order[0], write_data=0x1122_3344 + lane)
    for combination in range(16):
        await pair.tick(enable=1, lanes=15, address=17, write_data=0xA1B2_C3D4)
        await pair.tick(lanes=combination, write_data=0x5E6F_7081)
        await pair.tick(lanes=0, address=9)
        await pair.tick(address=17)


@cocotb.test()
async def disabled(dut: Any) -> None:
    """Without enable nothing is written and what was read stays, whatever the other inputs do between edges too."""
    pair = await begin(dut)
    await fill(pair, 0x55)
    await pair.tick(lanes=0, address=4)
    for lane in range(4):
        await pair.tick(enable=0, lanes=15 if lane == 0 else 1 << lane, address=4 + lane, write_data=0x0BAD_F00D)
    await pair.poke(enable=1, lanes=15)
    await pair.poke(address=21)
    await pair.poke(write_data=0xFFFF_FFFF)
    await pair.poke(enable=0)
    await pair.tick()
    for address in (4, 5, 6, 7, 21):
        await pair.tick(enable=1, lanes=0, address=address)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("byte_lane_ram")
    await fill(pair, 0x1234)
    for _ in range(250):
        await pair.tick(
            enable=int(random.random() < 0.75),
            lanes=random.randrange(16) & random.randrange(16),
            address=random.choice((random.randrange(32), random.randrange(4))),
            write_data=random.randrange(1 << 32),
        )
