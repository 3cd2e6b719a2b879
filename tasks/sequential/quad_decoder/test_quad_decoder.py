"""quad_decoder: turning both ways past the ends of the range, glitches, movements under reset and clear, random."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst": 1, "clear": 1, "a": 1, "b": 1, "position": 8, "forward": 1, "fault": 1}
RING = [(0, 0), (1, 0), (1, 1), (0, 1)]  # the pairs a, b in the order of forward steps


class Model:
    """The place of the stored phases on the ring, and the three outputs."""

    def __init__(self) -> None:
        self.place = self.position = self.fault = 0
        self.forward = 1

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        place = RING.index((i["a"], i["b"]))
        quarter_turns, self.place = (place - self.place) % 4, place
        if i["rst"]:
            self.position, self.forward, self.fault = 0, 1, 0
        elif i["clear"]:
            self.position = self.fault = 0
        elif quarter_turns == 2:
            self.fault = 1
        elif quarter_turns:
            self.forward = int(quarter_turns == 1)
            self.position += 2 - quarter_turns

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show; the position is cut to its bits."""
        return {"position": self.position, "forward": self.forward, "fault": self.fault}


async def begin(dut: Any) -> Lockstep:
    """Position 0 after the reset, during which the phases are stored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, clear=0, a=1, b=1)
    await turn(pair, 3)
    await pair.tick(rst=0)
    return pair


async def turn(pair: Lockstep, quarter_turns: int, **changes: int) -> None:
    """Move by 0 to 3 places on the ring at one edge."""
    a, b = RING[(pair.model.place + quarter_turns) % 4]
    await pair.tick(a=a, b=b, **changes)


@cocotb.test()
async def every_movement(dut: Any) -> None:
    """From each pair to each other one, and standing still there."""
    pair = await begin(dut)
    for quarter_turns in (1, 3, 2, 1, 3, 3, 2, 1):
        for _ in range(5):
            await turn(pair, quarter_turns)
            await turn(pair, 0)
            if quarter_turns == 2:
                await turn(pair, 1)
        await turn(pair, 1, clear=1)
        pair.set(clear=0)


@cocotb.test()
async def both_ends(dut: Any) -> None:
    """Past 127 and past -128, each way."""
    pair = await begin(dut)
    for _ in range(130):
        await turn(pair, 1)
    for _ in range(5):
        await turn(pair, 3)
    await turn(pair, 0, clear=1)
    pair.set(clear=0)
    for _ in range(130):
        await turn(pair, 3)
    for _ in range(5):
        await turn(pair, 1)


@cocotb.test()
async def resets_and_clears(dut: Any) -> None:
    """Movements at such edges are ignored but stored, a clear keeps the direction, reset wins, both need an edge."""
    pair = await begin(dut)
    for name in ("rst", "clear"):
        for before in (1, 3):
            for quarter_turns in (0, 1, 2, 3):
                await turn(pair, 2)
                for _ in range(2):
                    await turn(pair, before)
                await pair.poke(**{name: 1})
                await pair.poke(**{name: 0})
                await turn(pair, quarter_turns, **{name: 1})
                await turn(pair, 1, **{name: 1})
                await turn(pair, 0, **{name: 0})
                await turn(pair, before)
    await turn(pair, 3)
    await turn(pair, 3, rst=1, clear=1)
    await turn(pair, 0, rst=0, clear=0)
    await turn(pair, 1)


@cocotb.test()
async def random_movements(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("quad_decoder")
    for _ in range(250):
        await turn(
            pair,
            random.choice((0, 1, 1, 1, 3, 3, 2)),
            rst=int(random.random() < 0.03),
            clear=int(random.random() < 0.05),
        )
