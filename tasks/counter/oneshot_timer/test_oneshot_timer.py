"""oneshot_timer: times of all sizes, restarts and stops around the firing edge, interrupts missed and acknowledged."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "start": 1, "stop": 1, "periodic": 1, "prescale": 4, "reload": 6, "ack": 1} | {
    "running": 1, "expired": 1, "remaining": 6, "missed": 8, "irq": 1
}  # fmt: skip


class Model:
    """Cycles since the start; everything follows from them."""

    def __init__(self) -> None:
        self.age, self.running, self.kept = 0, False, 0
        self.tick, self.reload, self.periodic = 1, 0, False
        self.expired, self.irq, self.missed = False, False, 0

    @property
    def remaining(self) -> int:
        return self.reload - self.age // self.tick if self.running else self.kept

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.__init__()
            return
        fires = False
        if i["start"]:
            self.tick, self.reload, self.periodic = i["prescale"] + 1, i["reload"], bool(i["periodic"])
            self.age, self.running = 0, True
        elif i["stop"]:
            self.kept, self.running = self.remaining, False
        elif self.running:
            self.age += 1
            if self.age == self.tick * (self.reload + 1):
                fires, self.age = True, 0
                if not self.periodic:
                    self.kept, self.running = 0, False
        pending = self.irq and not i["ack"]
        if i["ack"]:
            self.missed = 0
        elif fires and pending:
            self.missed = min(self.missed + 1, 255)
        self.expired, self.irq = fires, fires or pending

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        return {name: int(getattr(self, name)) for name in ("running", "expired", "remaining", "missed", "irq")}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst=1, start=1, stop=0, periodic=1, prescale=0, reload=9, ack=0)
    await sim.tick()
    await sim.tick(rst=0, start=0)
    return sim


async def launch(sim: Lockstep, prescale: int, reload: int, periodic: int) -> None:
    """One start; the settings change right after it."""
    await sim.tick(start=1, prescale=prescale, reload=reload, periodic=periodic)
    sim.set(start=0, prescale=prescale ^ 3, reload=reload ^ 5, periodic=1 - periodic)


@cocotb.test()
async def times(dut: Any) -> None:
    sim = await begin(dut)
    for prescale, reload in ((0, 0), (0, 3), (1, 0), (2, 2), (15, 1), (8, 0)):
        for periodic in (0, 1):
            await launch(sim, prescale, reload, periodic)
            await sim.ticks((2 + periodic) * min((prescale + 1) * (reload + 1), 20) + 2)
            await sim.tick(stop=1)
            await sim.ticks(2, stop=0)
    for reload in (0x3F, 0x20, 0x10):
        await launch(sim, 0, reload, 1)
        await sim.ticks(reload + 3)


@cocotb.test()
async def interruptions(dut: Any) -> None:
    """Start, stop and reset at each edge of a time of six cycles, with an acknowledgement beside it or without."""
    sim = await begin(dut)
    for at in (0, 1, 2, 4, 5, 6):
        for start, stop, ack in ((1, 0, 0), (0, 1, 0), (1, 1, 1), (0, 1, 1)):
            await launch(sim, 1, 2, at & 1)
            await sim.ticks(at)
            await sim.tick(start=start, stop=stop, ack=ack, prescale=2, reload=1, periodic=0)
            await sim.ticks(7, start=0, stop=0, ack=0)
        await launch(sim, 1, 2, 1)
        await sim.ticks(at)
        await sim.tick(rst=1, start=at & 1)
        await sim.ticks(2, rst=0, start=0)
    await launch(sim, 0, 2, 1)
    await sim.ticks(4)
    await sim.poke(rst=1, stop=1)
    await sim.poke(rst=0, stop=0, start=1)
    await sim.ticks(3, start=0)


@cocotb.test()
async def interrupts(dut: Any) -> None:
    sim = await begin(dut)
    await launch(sim, 0, 0, 1)
    await sim.ticks(261)
    await sim.tick(ack=1)
    await sim.ticks(3, ack=0)
    await sim.tick(stop=1, ack=1)
    await sim.ticks(2, stop=0)
    await launch(sim, 1, 1, 1)
    for gap in (1, 3, 4, 5, 8, 9, 2):
        await sim.ticks(gap, ack=0)
        await sim.tick(ack=1)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("oneshot_timer")
    for _ in range(400):
        await sim.tick(
            start=int(draw.random() < 0.06),
            stop=int(draw.random() < 0.03),
            periodic=draw.randrange(2),
            prescale=draw.choice((0, 0, 1, 2)),
            reload=draw.randrange(5),
            ack=int(draw.random() < 0.08),
            rst=int(draw.random() < 0.01),
        )
