"""hazard_pipe: results needed at once or later, loads and false hazards, gaps, resets, random programs.

The model gives each instruction its operands as references to the instructions that made them; a load has its value
when it leaves.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "in_valid": 1, "in_ready": 1, "in_op": 2, "in_dst": 2, "in_src": 2, "in_alt": 2, "in_imm": 8} | {
    "mem_read": 1, "mem_addr": 8, "mem_data": 8, "wb_valid": 1, "wb_dst": 2, "wb_value": 8
}  # fmt: skip
ADD, SUB, SET, LOAD = range(4)


class Instruction:
    def __init__(self, op: int = SET, dst: int = 0, src: int = 0, alt: int = 0, imm: int = 0) -> None:
        self.op, self.dst, self.src, self.alt, self.imm = op, dst, src, alt, imm
        self.value = 0
        self.address = 0

    def reads(self) -> set[int]:
        return {ADD: {self.src, self.alt}, SUB: {self.src, self.alt}, SET: set(), LOAD: {self.src}}[self.op]


class Model:
    def __init__(self) -> None:
        self.decode: Instruction | None = None
        self.execute: Instruction | None = None
        self.leaving: Instruction | None = None
        self.makers = [Instruction() for _ in range(4)]

    def waits(self) -> bool:
        ahead = self.execute
        return bool(ahead and ahead.op == LOAD and self.decode and ahead.dst in self.decode.reads())

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.__init__()
            return
        if self.leaving and self.leaving.op == LOAD:
            self.leaving.value = i["mem_data"]
        self.leaving, waits = self.execute, self.waits()
        self.execute = None if waits else self.decode
        if waits:
            return
        if now := self.execute:
            first, second = self.makers[now.src].value, self.makers[now.alt].value
            now.address = (first + now.imm) % 256
            now.value = {ADD: first + second, SUB: first - second, SET: now.imm, LOAD: 0}[now.op] % 256
            self.makers[now.dst] = now
        fields = (i[f"in_{name}"] for name in ("op", "dst", "src", "alt", "imm"))
        self.decode = Instruction(*fields) if i["in_valid"] else None

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        reads = bool(self.execute and self.execute.op == LOAD)
        shown = {"in_ready": int(not self.waits()), "mem_read": int(reads), "wb_valid": int(self.leaving is not None)}
        if reads and self.execute:
            shown["mem_addr"] = self.execute.address
        if now := self.leaving:
            shown |= {"wb_dst": now.dst, "wb_value": i["mem_data"] if now.op == LOAD else now.value}
        return shown


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst=1, in_valid=1, in_op=SET, in_dst=1, in_src=0, in_alt=0, in_imm=0x77, mem_data=0x99)
    await sim.tick()
    await sim.tick(rst=0, in_valid=0)
    return sim


async def issue(sim: Lockstep, op: int, dst: int, src: int = 0, alt: int = 0, imm: int = 0, gap: int = 0) -> None:
    """Offer an instruction until it is taken (two cycles at the most), memory bytes changing all the time."""
    offered = {"in_op": op, "in_dst": dst, "in_src": src, "in_alt": alt, "in_imm": imm}
    for _ in range(2):
        taken = not sim.model.waits()
        await sim.tick(in_valid=1, **offered, mem_data=(sim.edges * 37 + 11) % 256)
        if taken:
            break
    sim.set(in_valid=0, in_op=op ^ 1, in_dst=dst ^ 1, in_imm=imm ^ 0xFF)
    for _ in range(gap):
        await sim.tick(mem_data=(sim.edges * 37 + 11) % 256)


async def fill(sim: Lockstep) -> None:
    for number, value in enumerate((0x21, 0x43, 0x9C, 0xF7)):
        await issue(sim, SET, number, src=3, alt=1, imm=value)


async def show(sim: Lockstep) -> None:
    """All registers, by adding each to one that is 0."""
    for number in (3, 2, 1, 0):
        await issue(sim, LOAD, 3, number, imm=number)
    await issue(sim, SET, 3, imm=0, gap=3)
    for number in (0, 1, 2):
        await issue(sim, ADD, 3, number, 3, gap=0)
        await issue(sim, SUB, 3, 3, number)
    await sim.ticks(3)


@cocotb.test()
async def distances(dut: Any) -> None:
    """A maker of each kind, a user of each kind, with none to three cycles or instructions between them."""
    sim = await begin(dut)
    await fill(sim)
    for maker, user, distance in product((ADD, SUB, SET, LOAD), (ADD, SUB, LOAD), range(4)):
        await issue(sim, maker, 1, 2, 3, imm=0x35, gap=0)
        for n in range(distance):
            await issue(sim, SET, 3, 1, 1, imm=0x10 * distance + n)
        await issue(sim, user, 0, 1, 2, imm=0x51, gap=distance & 1)
        if user != LOAD:
            await issue(sim, maker, 2, 0, 3, imm=0x9)
            await sim.ticks(distance)
            await issue(sim, user, 3, 1, 2)
    await show(sim)


@cocotb.test()
async def writers_and_false_hazards(dut: Any) -> None:
    """Two writers of one register, the younger wins; fields that an op does not read make nobody wait."""
    sim = await begin(dut)
    await fill(sim)
    for older, younger in product((ADD, SET, LOAD), (SUB, SET, LOAD)):
        await issue(sim, older, 2, 0, 1, imm=0x62)
        await issue(sim, younger, 2, 1, 0, imm=0x17)
        await issue(sim, ADD, 3, 2, 2)
        await issue(sim, SUB, 0, 2, 3)
    for dst in range(4):
        await issue(sim, LOAD, dst, 1, 2, imm=5)
        await issue(sim, SET, 1, dst, dst, imm=0x80 + dst)
        await issue(sim, LOAD, dst, 1, imm=6)
        await issue(sim, LOAD, 1, (dst + 1) % 4, dst, imm=7)
        await issue(sim, LOAD, dst, dst, imm=8)
        await issue(sim, ADD, dst, (dst + 1) % 4, dst)
        await issue(sim, LOAD, dst, 0)
        await issue(sim, SUB, 0, (dst + 1) % 4, (dst + 2) % 4, gap=dst)
    await show(sim)


@cocotb.test()
async def waiting_and_resets(dut: Any) -> None:
    sim = await begin(dut)
    await fill(sim)
    await issue(sim, LOAD, 1, 2, imm=1)
    await issue(sim, ADD, 3, 1, 1)
    # It waits; an instruction offered meanwhile is not taken, and withdrawn.
    for changes in ({"in_valid": 1}, {"in_op": ADD}, {"mem_data": 0x5A}, {"mem_data": 0xA5}, {"in_valid": 0}):
        await sim.poke(**changes)
    await sim.tick()
    await sim.poke(mem_data=0x3C)
    await sim.poke(mem_data=0xC3)
    await sim.ticks(3)
    for after in range(5):
        await fill(sim)
        await issue(sim, LOAD, 1, 2, imm=1)
        await issue(sim, ADD, 3, 1, 0)
        await sim.ticks(after)
        await sim.poke(rst=1)
        await sim.poke(rst=0)
        await sim.tick(rst=1, in_valid=1)
        await sim.tick(rst=0, in_valid=0)
        for number in range(4):
            await issue(sim, LOAD, number, number)
        await sim.ticks(3)


@cocotb.test()
async def random_programs(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("hazard_pipe")
    for _ in range(450):
        await sim.tick(
            in_valid=int(draw.random() < 0.85),
            in_op=draw.randrange(4),
            in_dst=draw.randrange(4),
            in_src=draw.randrange(4),
            in_alt=draw.randrange(4),
            in_imm=draw.getrandbits(8),
            mem_data=draw.getrandbits(8),
            rst=int(draw.random() < 0.01),
        )
