"""window_watchdog: kicks around both ends of the window, alarms and their clearing, moving limits, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "enable": 1, "kick": 1, "open_at": 8, "limit": 8, "ack": 1} | {
    "elapsed": 8, "in_window": 1, "early": 1, "late": 1, "bite": 1
}  # fmt: skip


class Model:
    """The age of the current period, or None while stopped, and the set of alarms."""

    def __init__(self) -> None:
        self.age: int | None = None
        self.alarms: set[str] = set()

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.age, self.alarms = None, set()
            return
        fresh, bitten = set(), bool(self.alarms)
        if bitten or not i["enable"]:
            self.age = None
        elif self.age is None:
            self.age = 0
        elif i["kick"]:
            if self.age < i["open_at"]:
                fresh.add("early")
            self.age = None if fresh else 0
        elif self.age >= i["limit"]:
            fresh.add("late")
            self.age = None
        else:
            self.age += 1
        self.alarms = fresh if i["ack"] else self.alarms | fresh

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        return {
            "elapsed": self.age or 0,
            "in_window": int(self.age is not None and self.age >= i["open_at"]),
            "early": int("early" in self.alarms),
            "late": int("late" in self.alarms),
            "bite": int(bool(self.alarms)),
        }


async def begin(dut: Any, **inputs: int) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(**{"rst": 1, "enable": 1, "kick": 0, "open_at": 3, "limit": 6, "ack": 0} | inputs)
    await sim.tick()
    await sim.tick(rst=0)
    return sim


@cocotb.test()
async def around_the_window(dut: Any) -> None:
    sim = await begin(dut)
    for wait in (3, 4, 5, 6, 2, 0, 1, 7, 9):
        await sim.ticks(wait, kick=0)
        await sim.tick(kick=1)
        await sim.ticks(2, kick=0)
        await sim.tick(ack=1)
        await sim.tick(rst=1)
        await sim.tick(rst=0, ack=0, kick=wait & 1)
    for open_at, limit in ((0, 0), (5, 2), (0, 3), (3, 3), (255, 255)):
        await sim.tick(rst=1, open_at=open_at, limit=limit)
        await sim.ticks(limit + 3, rst=0, kick=0)
        await sim.tick(ack=1)
        await sim.tick(ack=0)
        await sim.ticks(min(limit, 20) + 1)
        await sim.ticks(4, kick=1)


@cocotb.test()
async def alarms(dut: Any) -> None:
    sim = await begin(dut)
    await sim.ticks(2)
    await sim.tick(kick=1)
    await sim.poke(open_at=0)
    # Neither time, kicks nor enable clear an alarm, and no other alarm joins it.
    await sim.ticks(9, open_at=9, limit=0)
    await sim.ticks(3, enable=0)
    await sim.ticks(2, enable=1, kick=0)
    await sim.tick(enable=0, ack=1)
    await sim.ticks(2, ack=0)
    # ack at the edge that raises one, for both; then while nothing is raised.
    await sim.tick(enable=1, open_at=2, limit=3)
    await sim.tick(kick=1, ack=1)
    await sim.tick(kick=0, ack=1)
    await sim.ticks(5, ack=0)
    await sim.ticks(2, ack=1)
    await sim.ticks(9)
    # The window follows open_at without an edge, not limit.
    await sim.tick(rst=1, limit=200, open_at=4, ack=0)
    await sim.ticks(4, rst=0)
    for changes in (
        {"open_at": 2},
        {"open_at": 3},
        {"open_at": 4},
        {"limit": 0},
        {"limit": 9},
        {"kick": 1},
        {"enable": 0},
    ):
        await sim.poke(**changes)
    await sim.ticks(2)
    await sim.ticks(4, enable=1, kick=0, open_at=0)
    # Sync reset: nothing without an edge, then on a running watchdog and on an alarm.
    await sim.poke(rst=1)
    await sim.poke(rst=0)
    await sim.tick()
    await sim.tick(rst=1)
    await sim.ticks(4, rst=0, limit=1)
    await sim.tick(rst=1)
    await sim.ticks(2, rst=0, open_at=1)
    await sim.tick(kick=1)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("window_watchdog")
    for _ in range(650):
        if draw.random() < 0.06:
            sim.set(open_at=draw.randrange(6), limit=draw.randrange(3, 9))
        await sim.tick(
            kick=int(draw.random() < 0.2),
            enable=int(draw.random() > 0.03),
            ack=int(draw.random() < 0.3),
            rst=int(draw.random() < 0.01),
        )
