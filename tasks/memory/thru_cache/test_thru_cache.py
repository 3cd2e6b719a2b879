"""thru_cache: hits, misses, conflicts, writes through, slow memory, invalidation, resets, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "invalidate": 1, "req": 1, "write": 1, "addr": 6, "wdata": 8, "mem_ack": 1, "mem_rdata": 8} | {
    "busy": 1, "done": 1, "hit": 1, "rdata": 8, "mem_req": 1, "mem_write": 1, "mem_addr": 6, "mem_wdata": 8
}  # fmt: skip


class Model:
    """The cached bytes by their whole address; a byte that comes in puts out those of its line."""

    def __init__(self) -> None:
        self.cached: dict[int, int] = {}
        self.access: tuple[int, int | None] | None = None
        self.done, self.hit, self.rdata = 0, 0, 0

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.__init__()
            return
        self.done = 0
        if self.access:
            if i["mem_ack"]:
                address, value = self.access
                self.access, self.done = None, 1
                if value is None:
                    self.rdata = i["mem_rdata"]
                    self.cached = {a: byte for a, byte in self.cached.items() if (a - address) % 4}
                    self.cached[address] = self.rdata
        elif i["req"]:
            address = i["addr"]
            self.hit = int(address in self.cached)
            if i["write"]:
                self.access = (address, i["wdata"])
                if self.hit:
                    self.cached[address] = i["wdata"]
            elif self.hit:
                self.done, self.rdata = 1, self.cached[address]
            else:
                self.access = (address, None)
        if i["invalidate"]:
            self.cached = {}

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        shown = {"busy": int(self.access is not None), "mem_req": int(self.access is not None)}
        shown |= {"done": self.done, "hit": self.hit, "rdata": self.rdata}
        if self.access:
            address, value = self.access
            shown |= {"mem_addr": address, "mem_write": int(value is not None)}
            if value is not None:
                shown["mem_wdata"] = value
        return shown


IDLE = {"rst": 0, "invalidate": 0, "req": 0, "mem_ack": 0}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst=1, invalidate=0, req=1, write=1, addr=5, wdata=9, mem_ack=1, mem_rdata=3)
    await sim.tick()
    await sim.tick(**IDLE)
    return sim


async def access(
    sim: Lockstep,
    addr: int,
    wdata: int | None = None,
    wait: int = 0,
    byte: int = 0,
    ack: int = 0,
) -> None:
    """One access; ``ack`` already answers at the edge that takes it, which must not count."""
    write = int(wdata is not None)
    await sim.tick(req=1, write=write, addr=addr, wdata=wdata or 0, mem_ack=ack, mem_rdata=byte ^ 0xFF)
    sim.set(req=0, mem_ack=0, write=1 - write, addr=addr ^ 0x15, wdata=(wdata or 0) ^ 0xA5)
    if sim.model.access:
        await sim.ticks(wait, mem_rdata=byte ^ 0x0F)
        await sim.tick(mem_ack=1, mem_rdata=byte)
        sim.set(mem_ack=0, mem_rdata=byte ^ 0xF0)


@cocotb.test()
async def hits_and_misses(dut: Any) -> None:
    sim = await begin(dut)
    for addr in (0, 1, 2, 3):
        await access(sim, addr, byte=0x10 + addr, ack=addr & 1)
    for addr in (3, 2, 1, 0, 0):
        await access(sim, addr, ack=1)
    await sim.ticks(2)
    # Addresses that differ from a cached one in one bit each.
    for bit in range(6):
        await access(sim, 0x2A, byte=0x80 + bit, wait=bit & 1)
        await access(sim, 0x2A)
        await access(sim, 0x2A ^ 1 << bit, byte=0x40 + bit)
        await access(sim, 0x2A, byte=0x90 + bit)
    # A line that was never filled is not taken for address 0 of its kind.
    await sim.tick(rst=1)
    sim.set(rst=0)
    for addr in (0, 4, 0, 0x3F, 0x3F):
        await access(sim, addr, byte=addr + 1)


@cocotb.test()
async def writes(dut: Any) -> None:
    sim = await begin(dut)
    for addr in range(4):
        await access(sim, addr, wdata=0x30 + addr, ack=1, wait=addr)
        await access(sim, addr, byte=0x50 + addr)
        await access(sim, addr)
        await access(sim, addr, wdata=0x60 + addr, wait=addr)
        await access(sim, addr)
        await access(sim, addr + 16, wdata=0x77)
        await access(sim, addr)
        await access(sim, addr + 16, byte=0x11)
    for addr in range(4):
        await access(sim, addr + 16)
    # Requests while busy are ignored; a hit under done, two in a row.
    await sim.tick(req=1, write=1, addr=0x10, wdata=0xEE)
    await sim.ticks(2, addr=0x11, wdata=0xDD, write=1)
    await sim.tick(mem_ack=1, write=0)
    await sim.ticks(2, mem_ack=0)
    await sim.tick(req=0)
    await access(sim, 0x11)
    await access(sim, 0x10)
    await sim.ticks(2, mem_ack=1)


@cocotb.test()
async def invalidation_and_resets(dut: Any) -> None:
    sim = await begin(dut)
    for addr in range(4):
        await access(sim, addr, byte=addr + 0x21)
    await sim.tick(invalidate=1, req=1, write=0, addr=2)
    sim.set(invalidate=0, req=0)
    for addr in (0, 1, 2, 3):
        await access(sim, addr, byte=addr + 0x31, wait=1)
    # At the edge that fills a line, before it, at the edge that takes a miss, at a write that hits.
    for fill, before, take in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        await sim.tick(req=1, write=0, addr=9, invalidate=take)
        await sim.tick(req=0, invalidate=before)
        await sim.tick(invalidate=fill, mem_ack=1, mem_rdata=0x66)
        await sim.tick(invalidate=0, mem_ack=0)
        await access(sim, 9, byte=0x67)
        await access(sim, 9, byte=0x68)
        await access(sim, 13, byte=0x69)
    await sim.tick(req=1, write=1, addr=13, wdata=1, invalidate=1)
    await sim.tick(req=0, invalidate=0, mem_ack=1)
    await access(sim, 13, byte=0x6A)
    for wait in (0, 1):
        await access(sim, 6, byte=0x44)
        await access(sim, 6)
        await sim.poke(rst=1, invalidate=1)
        await sim.poke(rst=0, invalidate=0)
        await access(sim, 6)
        await sim.tick(req=1, write=wait, addr=7)
        await sim.ticks(wait, req=0)
        await sim.tick(rst=1, mem_ack=1, req=1, addr=6, write=0)
        await sim.ticks(2, **IDLE)
        await sim.tick(mem_ack=1)
        await access(sim, 6, byte=0x45)
        await access(sim, 7, byte=0x46)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("thru_cache")
    for _ in range(450):
        await sim.tick(
            req=int(draw.random() < 0.7),
            write=int(draw.random() < 0.3),
            addr=draw.choice((1, 2, 3, 6, 7, 17, 34, 35, 0, 32)),
            wdata=draw.getrandbits(8),
            mem_ack=int(draw.random() < 0.6),
            mem_rdata=draw.getrandbits(8),
            invalidate=int(draw.random() < 0.02),
            rst=int(draw.random() < 0.01),
        )
