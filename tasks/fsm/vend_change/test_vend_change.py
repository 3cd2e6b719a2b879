"""vend_change: every sum of coins, unclear coins and cancel in each state, waiting, resets, random customers."""

from __future__ import annotations

from itertools import product
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "coin": 3, "cancel": 1, "tray_free": 1} | {
    "credit": 4, "accept": 1, "vend": 1, "give_back": 1, "reject": 1
}  # fmt: skip
WORTH = {0: 0, 1: 1, 2: 2, 4: 5}
PRICE = 7


class Model:
    """The money held, and whether it is owed back."""

    def __init__(self) -> None:
        self.credit, self.owed, self.reject = 0, False, 0

    def edge(self, i: dict[str, int]) -> None:
        coin, self.reject = i["coin"], 0
        if i["rst"]:
            self.credit, self.owed = 0, False
        elif self.owed:
            self.credit -= 1
            self.owed = self.credit > 0
            self.reject = int(coin > 0)
        elif self.credit >= PRICE:
            if i["tray_free"]:
                self.credit -= PRICE
                self.owed = self.credit > 0
            self.reject = int(coin > 0)
        elif i["cancel"] or coin not in WORTH:
            self.owed = bool(i["cancel"] and self.credit)
            self.reject = int(coin > 0)
        else:
            self.credit += WORTH[coin]

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        vend = not self.owed and self.credit >= PRICE
        shown = {"vend": vend, "give_back": self.owed, "accept": not self.owed and not vend}
        return shown | {"credit": self.credit, "reject": self.reject}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst=1, coin=4, cancel=0, tray_free=0)
    await sim.tick()
    await sim.tick(rst=0, coin=0)
    return sim


async def pay(sim: Lockstep, *coins: int) -> None:
    for coin in coins:
        await sim.tick(coin=coin)
    sim.set(coin=0)


async def finish(sim: Lockstep) -> None:
    """Take the product and the change."""
    await sim.tick(tray_free=1)
    await sim.ticks(6, tray_free=0)


@cocotb.test()
async def sums(dut: Any) -> None:
    """Every credit below the price, reached by units, and every coin on top of it."""
    sim = await begin(dut)
    for below, coin in product(range(PRICE), (1, 2, 4)):
        await pay(sim, *[2] * (below // 2), *[1] * (below % 2), coin)
        await sim.tick(tray_free=below & 1)
        await finish(sim)
        await sim.tick(cancel=1)
        await sim.ticks(7, cancel=0)


@cocotb.test()
async def odd_moments(dut: Any) -> None:
    """All coins, with cancel and without, in each state."""
    sim = await begin(dut)
    for coin, cancel in product(range(8), (0, 1)):
        await sim.tick(coin=coin, cancel=cancel)
        await sim.tick(coin=0, cancel=0)
        await sim.tick(rst=1)
        sim.set(rst=0)
        await pay(sim, 2, 1)
        await sim.tick(coin=coin, cancel=cancel)
        await sim.ticks(2, coin=0, cancel=0)
        await sim.tick(rst=1)
        sim.set(rst=0)
        await pay(sim, 4, 4)
        await sim.tick(coin=coin, cancel=cancel)
        await sim.tick(coin=coin, cancel=cancel, tray_free=1)
        await sim.tick(coin=coin, cancel=cancel)
        await sim.tick(coin=0, cancel=0, tray_free=0)
        await sim.ticks(3)


@cocotb.test()
async def resets(dut: Any) -> None:
    sim = await begin(dut)
    for coins, cancel in (((1,), 0), ((4, 2), 0), ((4, 4), 0), ((4,), 1)):
        await pay(sim, *coins)
        await sim.tick(cancel=cancel)
        await sim.poke(rst=1)
        await sim.poke(rst=0)
        await sim.tick(coin=3, cancel=0)
        await sim.tick(rst=1, coin=7, tray_free=1, cancel=1)
        await sim.ticks(2, rst=0, coin=0, tray_free=0, cancel=0)


@cocotb.test()
async def customers(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("vend_change")
    for _ in range(500):
        await sim.tick(
            coin=draw.choice((0, 0, 1, 1, 2, 2, 4, 4, draw.randrange(8))),
            cancel=int(draw.random() < 0.08),
            tray_free=int(draw.random() < 0.3),
            rst=int(draw.random() < 0.01),
        )
