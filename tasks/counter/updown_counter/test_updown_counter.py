"""updown_counter: both ends in both manners, priorities, a moving top, asynchronous resets, random inputs."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    def __init__(self) -> None:
        self.count, self.wrapped = 0, 0

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.count, self.wrapped = 0, 0

    def step(self, i: dict[str, int]) -> int:
        return 0 if i["clear"] or i["load"] else i["up"] - i["down"]

    def ends(self, i: dict[str, int]) -> bool:
        """Whether the step asked for leaves the range."""
        step = self.step(i)
        return (step > 0 and self.count + 1 > i["top"]) or (step < 0 and self.count - 1 < 0)

    def edge(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            return self.settle(i)
        ends, step = self.ends(i), self.step(i)
        self.wrapped = int(ends and not i["hold_at_end"])
        if i["clear"]:
            self.count = 0
        elif i["load"]:
            self.count = i["load_value"]
        elif not ends:
            self.count += step
        elif self.wrapped:
            self.count = i["top"] if step < 0 else 0
        return None

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        return {"count": self.count, "tc": int(self.ends(i)), "wrapped": self.wrapped}


async def begin(dut: Any) -> tuple[Lockstep, int]:
    width = int(dut.WIDTH.value)
    assert width in (6, 3), "WIDTH has another value than it was given"
    names = ("rst_n", "clear", "load", "up", "down", "hold_at_end", "tc", "wrapped")
    widths = dict.fromkeys(names, 1) | dict.fromkeys(("load_value", "top", "count"), width)
    sim = Lockstep(dut, Model(), widths)
    await sim.start(rst_n=0, clear=0, load=1, load_value=3, up=0, down=0, top=5, hold_at_end=0)
    await sim.tick()
    await sim.tick(rst_n=1, load=0)
    return sim, (1 << width) - 1


@cocotb.test()
async def both_ends(dut: Any) -> None:
    sim, most = await begin(dut)
    for top in (5, most, 1, 0):
        for hold in (0, 1):
            await sim.tick(clear=1, top=top, hold_at_end=hold, up=1, down=0)
            await sim.ticks(top + 3, clear=0)
            await sim.ticks(2, down=1)
            await sim.ticks(top + 3, up=0)
            await sim.tick(up=1)
            await sim.tick(up=0, down=0)


@cocotb.test()
async def priorities(dut: Any) -> None:
    sim, most = await begin(dut)
    for up, down in ((1, 0), (0, 1), (1, 1), (0, 0)):
        for hold in (0, 1):
            for clear, load in ((0, 1), (1, 1), (0, 1), (0, 0), (1, 0), (0, 0)):
                await sim.tick(clear=clear, load=load, load_value=4, top=3, up=up, down=down, hold_at_end=hold)
    # Above the top: down counts through it, up is at the end.
    await sim.tick(clear=0, load=1, load_value=most, top=2, up=0, down=0, hold_at_end=0)
    await sim.ticks(most + 2, load=0, down=1)
    await sim.tick(load=1)
    await sim.ticks(2, load=0, up=1, down=0, hold_at_end=1)
    await sim.ticks(2, hold_at_end=0)
    # tc follows its inputs without an edge.
    await sim.tick(load=1, load_value=2)
    for changes in (
        {"load": 0},
        {"top": 3},
        {"top": 2},
        {"clear": 1},
        {"clear": 0},
        {"down": 1},
        {"up": 0},
        {"up": 1, "down": 0},
    ):
        await sim.poke(**changes)


@cocotb.test()
async def resets(dut: Any) -> None:
    sim, most = await begin(dut)
    await sim.tick(load=1, load_value=most, top=most, up=1)
    await sim.poke(rst_n=0)
    await sim.poke(rst_n=1)
    await sim.ticks(3, load=0)
    await sim.tick(high={"rst_n": 0})
    await sim.ticks(2, load=1)
    await sim.tick(load=0, rst_n=1, up=0, down=1, top=6)
    await sim.poke(rst_n=0)
    await sim.ticks(3, rst_n=1)


@cocotb.test()
async def random_inputs(dut: Any) -> None:
    sim, most = await begin(dut)
    draw = rng("updown_counter")
    heading = 0
    for _ in range(450):
        if draw.random() < 0.1:
            heading = draw.randrange(4)
            sim.set(top=draw.randrange(8) if draw.random() < 0.8 else draw.randrange(most + 1))
        turn = draw.random() < 0.15
        await sim.tick(
            up=(heading & 1) ^ turn,
            down=heading >> 1,
            hold_at_end=int(draw.random() < 0.3),
            clear=int(draw.random() < 0.03),
            load=int(draw.random() < 0.05),
            load_value=draw.randint(0, most),
            rst_n=int(draw.random() > 0.01),
        )
