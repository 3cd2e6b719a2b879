"""serial_divider: corner operands, starts that are ignored and starts back to back, resets at every stage."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst": 1, "start": 1, "dividend": 12, "divisor": 8,
    "busy": 1, "done": 1, "quotient": 12, "remainder": 8, "by_zero": 1,
}  # fmt: skip


class Model:
    """The number of edges to the end of a division, with the result worked out when the operands are taken."""

    def __init__(self) -> None:
        self.left, self.done = 0, 0
        self.coming = self.result = (0, 0, 0)

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        self.done = 0
        if i["rst"]:
            self.left, self.result = 0, (0, 0, 0)
        elif self.left:
            self.left -= 1
            if not self.left:
                self.done, self.result = 1, self.coming
        elif i["start"] and i["divisor"]:
            self.left, self.coming = 12, (*divmod(i["dividend"], i["divisor"]), 0)
        elif i["start"]:
            self.left, self.coming = 1, (4095, 0, 1)

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        quotient, remainder, by_zero = self.result
        return {
            "busy": int(self.left > 0), "done": self.done,
            "quotient": quotient, "remainder": remainder, "by_zero": by_zero,
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """A divider after its reset, whose start is ignored."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, start=1, dividend=100, divisor=7)
    await pair.tick()
    await pair.tick(rst=0, start=0)
    return pair


async def divide(pair: Lockstep, dividend: int, divisor: int, gap: int = 0) -> None:
    """One division up to its done; the operands change right after they were taken."""
    await pair.tick(start=1, dividend=dividend, divisor=divisor)
    await pair.tick(start=0, dividend=dividend ^ 0xFFF, divisor=divisor ^ 0x5A)
    await pair.ticks((11 if divisor else 0) + gap)


@cocotb.test()
async def corner_operands(dut: Any) -> None:
    """Ends of both ranges, divisor zero, remainders of nothing, one, and the most that there can be."""
    pair = await begin(dut)
    for dividend, divisor, gap in (
        (4095, 1, 0), (4095, 255, 1), (0, 1, 0), (0, 255, 0), (77, 0, 2), (4095, 0, 0), (2048, 0, 1), (254, 255, 0),
        (255, 255, 0), (0, 0, 0), (256, 255, 2), (4095, 128, 0), (2048, 3, 0), (1000, 10, 3), (5, 2, 0), (37, 6, 0),
        (127 * 20 - 1, 127, 0), (200 * 19 + 199, 200, 0), (16 * 9, 16, 0), (16 * 9 - 1, 16, 0), (64 * 33 + 1, 64, 0),
    ):  # fmt: skip
        await divide(pair, dividend, divisor, gap)


@cocotb.test()
async def start_held(dut: Any) -> None:
    """With start held, a division is taken right after each done and no edge earlier."""
    pair = await begin(dut)
    random = rng("serial_divider held")
    for number in range(60):
        divisor = 0 if number % 20 in (13, 14) else random.randrange(1, 256)
        await pair.tick(start=1, dividend=random.randrange(4096), divisor=divisor)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset clears results, stops a division at any stage, wins over a start, and needs an edge."""
    pair = await begin(dut)
    await divide(pair, 1234, 56, 2)
    await pair.ticks(2, rst=1, start=1, dividend=900, divisor=9)
    await pair.tick(rst=0, start=0)
    for stage in (1, 2, 6, 11, 12):
        await divide(pair, 77, 0, 1)
        await pair.tick(start=1, dividend=4000, divisor=13)
        await pair.ticks(stage - 1, start=0)
        await pair.tick(rst=1)
        await pair.ticks(14 if stage == 6 else 3, rst=0)
    await divide(pair, 3999, 31)
    await pair.tick(start=1)
    await pair.poke(rst=1)
    await pair.poke(rst=0, start=0)
    await pair.ticks(13)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("serial_divider")
    for _ in range(350):
        divisor = 0 if random.random() < 0.2 else random.randrange(256) >> random.randrange(8)
        await pair.tick(
            start=int(random.random() < 0.4),
            dividend=random.randrange(4096),
            divisor=divisor,
            rst=int(random.random() < 0.015),
        )
