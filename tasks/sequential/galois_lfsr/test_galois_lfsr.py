"""galois_lfsr: places in the list of all 255 states; every stride, home by all ways, seeds, resets, random traffic."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst_n": 1, "load": 1, "seed": 8, "stride": 2, "state": 8, "home": 1}


def orbit() -> list[int]:
    """All states in their order, from 1: multiplication by 1/x modulo x^8 + x^6 + x^5 + x^4 + 1, bits reversed."""
    states, number = [], 0x80
    for _ in range(255):
        states.append(int(f"{number:08b}"[::-1], 2))
        number = number * 2 ^ (0x11D if number & 0x80 else 0)
    return states


STATES = orbit()
PLACES = {state: place for place, state in enumerate(STATES)}


class Model:
    """The number of steps from state 1 to the starting value, and on to the present one."""

    def __init__(self) -> None:
        self.start = self.steps = 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["rst_n"]:
            self.start = self.steps = 0
        elif i["load"]:
            self.start, self.steps = PLACES[i["seed"] or 1], 0
        else:
            self.steps = (self.steps + i["stride"]) % 255

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {"state": STATES[(self.start + self.steps) % 255], "home": int(self.steps == 0)}


async def begin(dut: Any) -> Lockstep:
    """State 1 after the reset, which wins over a load."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, load=1, seed=0x5A, stride=1)
    await pair.tick()
    await pair.tick(rst_n=1, load=0, stride=0)
    return pair


@cocotb.test()
async def whole_rounds(dut: Any) -> None:
    """Once through all states by single steps, and rounds of three steps and two, from other starting values."""
    pair = await begin(dut)
    await pair.ticks(257, stride=1)
    await pair.tick(load=1, seed=0xC7)
    await pair.ticks(87, load=0, stride=3)
    await pair.tick(load=1, seed=0x80)
    await pair.ticks(126, load=0, stride=2)
    await pair.ticks(3, stride=0)
    await pair.tick(stride=3)
    await pair.ticks(2, stride=1)


@cocotb.test()
async def seeds(dut: Any) -> None:
    """Every bit as a seed, zero, and a stride that a load ignores; each stride from there."""
    pair = await begin(dut)
    for seed in (0x00, *(1 << bit for bit in range(8)), 0xFF, 0x00, 0xB8, 0xFE):
        for stride in range(4):
            await pair.tick(load=1, seed=seed, stride=(stride + 1) % 4)
            await pair.ticks(2, load=0, stride=stride, seed=0xFF)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset sets the starting value too, and needs an edge."""
    pair = await begin(dut)
    await pair.tick(load=1, seed=0x3D, stride=2)
    await pair.tick(load=0)
    await pair.poke(rst_n=0)
    await pair.poke(rst_n=1)
    await pair.poke(load=1, seed=0x77)
    await pair.poke(load=0)
    await pair.ticks(2)
    await pair.tick(rst_n=0)
    await pair.tick(rst_n=1, stride=0)
    await pair.tick(stride=1)
    await pair.tick(rst_n=0, load=1)
    await pair.tick(rst_n=1, load=0, stride=3)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time; now and then the state itself is loaded."""
    pair = await begin(dut)
    random = rng("galois_lfsr")
    for _ in range(200):
        state = pair.model.outputs({})["state"]
        await pair.tick(
            load=int(random.random() < 0.1),
            seed=random.choice((0, state, random.randrange(256))),
            stride=random.randrange(4),
            rst_n=int(random.random() > 0.02),
        )
