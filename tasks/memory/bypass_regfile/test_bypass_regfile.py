"""bypass_regfile: every register by both ports, writes seen at once, register 0, resets, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst": 1, "write": 1, "write_index": 3, "write_data": 16, "index_a": 3, "index_b": 3,
    "value_a": 16, "value_b": 16, "touched": 8,
}  # fmt: skip


class Model:
    """The registers that were written, by number; unknown before the first reset."""

    def __init__(self) -> None:
        self.written: dict[int, int] = {}

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["rst"]:
            self.written = {}
        elif i["write"] and i["write_index"]:
            self.written[i["write_index"]] = i["write_data"]

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        """What the outputs show, with a write that is under way."""
        seen = dict(self.written)
        if i["write"] and not i["rst"]:
            seen[i["write_index"]] = i["write_data"]
        seen[0] = 0
        return {
            "value_a": seen.get(i["index_a"], 0), "value_b": seen.get(i["index_b"], 0),
            "touched": sum(1 << index for index in self.written),
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """All registers 0 after the reset, at whose edge a write is ignored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, write=1, write_index=3, write_data=0xDEAD, index_a=3, index_b=0)
    await pair.tick(rst=0, write=0)
    return pair


async def look_around(pair: Lockstep) -> None:
    """All registers by both ports, without an edge."""
    for index in range(8):
        await pair.poke(index_a=index, index_b=7 - index)
        await pair.poke(index_b=(index + 3) % 8)


@cocotb.test()
async def registers(dut: Any) -> None:
    """Each register holds what was written, zero included, and register 0 nothing; touched tells which."""
    pair = await begin(dut)
    await look_around(pair)
    for index in (5, 2, 0, 7, 1, 6, 3, 4):
        await pair.tick(write=1, write_index=index, write_data=0 if index == 6 else 0x1111 * index + 0x8001)
        pair.set(write=0)
        await look_around(pair)
    for bit in range(16):
        await pair.tick(write=1, write_index=1 + bit % 7, write_data=1 << bit)
    pair.set(write=0)
    await look_around(pair)


@cocotb.test()
async def bypass(dut: Any) -> None:
    """A write is seen at once by each port alone and by both, and is gone when it is taken back before the edge."""
    pair = await begin(dut)
    for index in range(1, 8):
        await pair.tick(write=1, write_index=index, write_data=0x0101 * index)
    for index in range(8):
        await pair.poke(write=1, write_index=index, write_data=0xF00F + 0x10 * index, index_a=index, index_b=index)
        await pair.poke(index_b=(index + 1) % 8)
        await pair.poke(index_b=index, index_a=index ^ 4)
        await pair.poke(index_a=index ^ 2)
        await pair.poke(index_a=index ^ 1)
        await pair.poke(write_data=0x0FF0)
        await pair.poke(index_a=index, rst=1)
        await pair.poke(write=0)
        await pair.tick(rst=0)
        await pair.tick(write_index=index ^ 7)
    await look_around(pair)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset clears every register, wins over a write, shows the old values until its edge, and needs that edge."""
    pair = await begin(dut)
    for number in range(2):
        for index in range(8):
            await pair.tick(write=1, write_index=index, write_data=0x8421 + index + number)
        pair.set(write=number, write_index=6, write_data=0xFFFF, rst=1)
        await look_around(pair)
        pair.set(rst=0, write=0)
        await look_around(pair)
        await pair.tick(rst=1, write=1, write_index=5)
        await pair.tick(rst=0, write=0)
        await look_around(pair)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("bypass_regfile")
    for _ in range(250):
        write_index = random.randrange(8)
        near = [write_index, write_index, *range(8)]
        await pair.tick(
            write=int(random.random() < 0.6),
            write_index=write_index,
            write_data=random.randrange(65536),
            index_a=random.choice(near),
            index_b=random.choice(near),
            rst=int(random.random() < 0.02),
        )
