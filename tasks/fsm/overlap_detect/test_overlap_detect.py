"""overlap_detect: every way out of every state, with and without overlap, wrap of hits, resets, random bits."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

PATTERN = "110101"
WIDTHS = {"rst_n": 1, "valid": 1, "bit_in": 1, "overlap": 1, "found": 1, "matched": 3, "hits": 6}


class Model:
    """The usable bits as a text."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.bits, self.hits = "", 0

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.clear()

    def edge(self, i: dict[str, int]) -> None:
        if i["rst_n"] and i["valid"]:
            self.bits = (self.bits + str(i["bit_in"]))[-6:]
            if self.bits == PATTERN:
                self.hits += 1
                if not i["overlap"]:
                    self.bits = ""

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        longest = max(n for n in range(6) if self.bits.endswith(PATTERN[:n]))
        found = i["valid"] and (self.bits + str(i["bit_in"])).endswith(PATTERN)
        return {"matched": longest, "hits": self.hits, "found": int(found)}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst_n=0, valid=1, bit_in=1, overlap=0)
    await sim.tick()
    await sim.tick(rst_n=1, valid=0)
    return sim


async def send(sim: Lockstep, bits: str, **others: int) -> None:
    for bit in bits:
        await sim.tick(valid=1, bit_in=int(bit), **others)


@cocotb.test()
async def every_branch(dut: Any) -> None:
    sim = await begin(dut)
    for n in range(6):
        for bit in "01":
            for overlap in (0, 1):
                await send(sim, PATTERN[:n] + bit + PATTERN, overlap=overlap)
                await sim.tick(rst_n=0)
                await sim.tick(rst_n=1, valid=0)
    for overlap in (0, 1):
        await send(sim, "11010" * 3 + "1" + "10101" * 2 + "1101101010", overlap=overlap)
    # overlap counts at the last bit only.
    await send(sim, "11010", overlap=1)
    await send(sim, "1", overlap=0)
    await send(sim, "10101", overlap=1)
    await send(sim, "0011010", overlap=0)
    await send(sim, "1", overlap=1)
    await send(sim, "10101", overlap=0)


@cocotb.test()
async def gaps_and_found(dut: Any) -> None:
    """Bits without valid are none; found follows its inputs without an edge."""
    sim = await begin(dut)
    for bit in PATTERN * 2:
        await sim.tick(valid=0, bit_in=1 - int(bit), overlap=1)
        await sim.tick(valid=0, bit_in=int(bit))
        await sim.tick(valid=1)
    await send(sim, PATTERN[:5])
    for changes in ({"bit_in": 1}, {"valid": 0}, {"valid": 1}, {"bit_in": 0}, {"overlap": 0}, {"bit_in": 1}):
        await sim.poke(**changes)
    await sim.tick()
    await sim.tick()


@cocotb.test()
async def resets(dut: Any) -> None:
    sim = await begin(dut)
    await send(sim, PATTERN + PATTERN[1:5], overlap=1)
    await sim.poke(bit_in=1)
    await sim.poke(rst_n=0)
    await sim.poke(rst_n=1)
    await send(sim, "1" + PATTERN + PATTERN[1:4])
    await sim.tick(high={"rst_n": 0}, bit_in=0)
    await sim.ticks(2, bit_in=1)
    await sim.tick(rst_n=1)
    await send(sim, "0101" + PATTERN)


@cocotb.test()
async def many_hits(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("overlap_detect")
    await send(sim, "1" + "10101" * 30, overlap=1)
    for _ in range(350):
        likely = draw.random() < 0.8
        bit = int(PATTERN[sim.model.outputs(sim.inputs)["matched"]]) if likely else draw.randrange(2)
        await sim.tick(valid=int(draw.random() < 0.9), bit_in=bit, overlap=draw.randrange(2))
    await send(sim, "1" + "10101" * 35, overlap=1)
