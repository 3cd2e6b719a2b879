"""acc_core: programs for each instruction, a loop, code that changes itself, slow memories, resets, random programs.

The model is an interpreter written as a generator: it yields each access and gets the byte that was read.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "mem_req": 1, "mem_write": 1, "mem_addr": 8, "mem_wdata": 8, "mem_ack": 1, "mem_rdata": 8} | {
    "acc": 8, "pc": 8, "carry": 1, "halted": 1
}  # fmt: skip
Access = tuple[int, int | None]


class Model:
    def __init__(self, memory: list[int]) -> None:
        self.memory = memory
        self.reset()

    def reset(self) -> None:
        self.acc, self.pc, self.carry = 0, 0, 0
        self.program = self.run()
        self.access: Access | None = next(self.program)

    def fetch(self) -> Generator[Access, int, int]:
        byte = yield (self.pc, None)
        self.pc = (self.pc + 1) % 256
        return byte

    def run(self) -> Generator[Access, int, None]:
        while (op := (yield from self.fetch()) >> 4) != 15:
            if op in (0, 1):
                self.acc ^= 255 * op
            elif op == 2:
                self.carry, self.acc = divmod(self.acc * 2, 256)
            elif op == 3:
                self.acc, self.carry = divmod(self.acc, 2)
            else:
                n = yield from self.fetch()
                if op == 4:
                    self.acc = n
                elif op == 8 or (op == 9 and not self.acc) or (op == 10 and self.carry):
                    self.pc = n
                elif op == 11:
                    yield (n, self.acc)
                elif op not in (9, 10):
                    self.compute(op, (yield (n, None)))

    def compute(self, op: int, byte: int) -> None:
        if op in (6, 7):
            total = self.acc + (byte if op == 6 else -byte)
            self.carry, self.acc = int(not 0 <= total < 256), total % 256
        else:
            self.acc = {5: byte, 12: self.acc & byte, 13: self.acc | byte, 14: self.acc ^ byte}[op]

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.reset()
        elif i["mem_ack"] and self.access:
            address, value = self.access
            if value is not None:
                self.memory[address] = value
            try:
                self.access = self.program.send(i["mem_rdata"])
            except StopIteration:
                self.access = None

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        shown = {"acc": self.acc, "pc": self.pc, "carry": self.carry}
        if self.access is None:
            return shown | {"mem_req": 0, "halted": 1}
        address, value = self.access
        shown |= {"mem_req": 1, "halted": 0, "mem_addr": address, "mem_write": int(value is not None)}
        return shown if value is None else shown | {"mem_wdata": value}


async def begin(dut: Any, program: list[int], data: dict[int, int] | None = None) -> Lockstep:
    memory = program + [0xF0] * (256 - len(program))
    for address, byte in (data or {}).items():
        memory[address] = byte
    sim = Lockstep(dut, Model(memory), WIDTHS)
    await sim.start(rst=1, mem_ack=1, mem_rdata=0x15)
    await sim.tick(mem_rdata=0xF0)
    sim.set(rst=0)
    return sim


async def access(sim: Lockstep, wait: int = 0, junk: int = 0x1F) -> None:
    """One access after some cycles of waiting, with a byte that means nothing until it is done."""
    for _ in range(wait):
        await sim.tick(mem_ack=0, mem_rdata=junk)
    wanted = sim.model.access
    read = wanted is not None and wanted[1] is None
    await sim.tick(mem_ack=1, mem_rdata=sim.model.memory[wanted[0]] if read else junk)


async def run(sim: Lockstep, limit: int, waits: Any = lambda: 0) -> None:
    for _ in range(limit):
        if sim.model.access is None:
            break
        await access(sim, waits())


@cocotb.test()
async def arithmetic(dut: Any) -> None:
    """Every instruction with an operand in memory, with results around carry and zero."""
    program: list[int] = []
    data = {0xE0 + n: byte for n, byte in enumerate((0x00, 0x01, 0x7F, 0x80, 0xFF, 0x5A, 0x34))}
    for first, op, where in (
        (0xFF, 6, 0xE1), (0xFE, 6, 0xE1), (0x80, 6, 0xE3), (0x34, 7, 0xE6), (0x33, 7, 0xE6), (0x00, 7, 0xE4),
        (0xFF, 7, 0xE2), (0x3C, 0xC, 0xE5), (0x3C, 0xD, 0xE5), (0x3C, 0xE, 0xE5), (0x77, 5, 0xE4), (0xA5, 6, 0xE0),
        (0x01, 7, 0xE1),
    ):  # fmt: skip
        program += [0x40, first, op << 4 | 9, where, 0xBA, 0xF0]
    sim = await begin(dut, [*program, 0x40, 0x81, 0x23, 0x2F, 0x15, 0x34, 0x3B, 0x00, 0x0F, 0x30, 0x20, 0xFF], data)
    await run(sim, 130)
    await sim.ticks(3, mem_rdata=0x44)
    await sim.tick(mem_ack=0)


@cocotb.test()
async def jumps(dut: Any) -> None:
    """Each jump taken and not taken; a loop that counts; a program that changes itself; pc beyond 255."""
    sim = await begin(dut, [
        0x95, 0x04, 0xF0, 0xF0, 0xA0, 0x02, 0x40, 0x80, 0x91, 0x02, 0x20, 0xA7, 0x10, 0xF0, 0xF0, 0xF0,  # to 10 hex
        0x40, 0x03, 0x71, 0xF1, 0x92, 0x18, 0x80, 0x12, 0x40, 0x1C, 0xB0, 0x1D, 0x80, 0xF0, 0xF0, 0x00,
    ], {0xF1: 1, 0xFE: 0x40, 0xFF: 0x55, 0x1C: 0x80})  # fmt: skip
    await run(sim, 60)
    sim = await begin(dut, [0x91, 0xFE, 0xA0, 0x08, 0x20, 0x80, 0x02, 0x00, 0xF0], {0xFE: 0x4C, 0xFF: 0xC0})
    await run(sim, 40)


@cocotb.test()
async def slow_memory_and_resets(dut: Any) -> None:
    program = [0x41, 0x93, 0x62, 0x20, 0xB4, 0x21, 0x23, 0x52, 0x21, 0x71, 0x22, 0x80, 0x02]
    sim = await begin(dut, program, {0x20: 0x71, 0x22: 0x33})
    for n in range(30):
        await access(sim, n % 3, junk=(0xF0, 0x10, 0x4F)[n % 3])
    for after in range(14):
        await sim.poke(rst=1)
        await sim.poke(rst=0)
        for _ in range(after):
            await access(sim)
        await sim.tick(rst=1, mem_ack=after & 1, mem_rdata=0x10 if after & 2 else 0xF0)
        sim.set(rst=0)
        if after == 9:
            sim.model.memory[2] = 0xF5
            await run(sim, 3)
            await sim.ticks(2)
            await sim.tick(rst=1)
            sim.set(rst=0)
            sim.model.memory[2] = 0x62


@cocotb.test()
async def random_programs(dut: Any) -> None:
    draw = rng("acc_core")
    for _ in range(6):
        memory = [draw.randrange(256) if draw.random() < 0.5 else draw.randrange(15) << 4 for _ in range(256)]
        sim = await begin(dut, memory)
        await run(sim, 60, lambda: int(draw.random() < 0.15))
