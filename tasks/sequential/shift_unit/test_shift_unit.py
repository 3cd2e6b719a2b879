"""shift_unit: every mode on single bits and on random bytes, long runs of each, asynchronous resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"clk": 1, "rst": 1, "mode": 3, "data": 8, "serial": 1, "q": 8, "carry": 1, "parity": 1}


class Model:
    """The register as text, bit 7 first, and the carry."""

    def __init__(self) -> None:
        self.q, self.carry = "0" * 8, "0"

    def settle(self, i: dict[str, int]) -> None:
        """The reset needs no edge."""
        if i["rst"]:
            self.q, self.carry = "0" * 8, "0"

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if i["rst"]:
            self.settle(i)
            return
        q, mode, serial = self.q, i["mode"], str(i["serial"])
        if mode == 1:
            self.q, self.carry = f"{i['data']:08b}", "0"
        elif mode in (2, 4, 7):
            self.q, self.carry = q[1:] + {2: serial, 4: q[0], 7: self.carry}[mode], q[0]
        elif mode in (3, 5, 6):
            self.q, self.carry = {3: serial, 5: q[-1], 6: q[0]}[mode] + q[:-1], q[-1]

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {"q": int(self.q, 2), "carry": int(self.carry), "parity": self.q.count("1") % 2}


async def begin(dut: Any) -> Lockstep:
    """All zeros after the reset, during which a load does nothing."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, mode=1, data=0xFF, serial=1)
    await pair.ticks(2)
    await pair.tick(rst=0, mode=0)
    return pair


@cocotb.test()
async def modes(dut: Any) -> None:
    """Each mode once on bytes with other ends, with either carry and either serial bit."""
    pair = await begin(dut)
    for mode in range(8):
        for data in (0x01, 0x80, 0x81, 0x7E, 0xB4, 0x4B):
            for bits in (0, 3) if data in (0x01, 0x80) else (1, 2):
                # Rotating by one makes the carry known, and the next rotation puts the byte back.
                await pair.tick(mode=1, data=data, serial=bits & 1)
                await pair.tick(mode=3 if bits & 2 else 0, serial=bits & 1)
                await pair.tick(mode=mode, data=0x3C)


@cocotb.test()
async def long_runs(dut: Any) -> None:
    """Each mode for more edges than there are bits, on one byte."""
    pair = await begin(dut)
    for mode in (2, 3, 4, 5, 6, 7, 0):
        for data in (0x96, 0x35):
            await pair.tick(mode=1, data=data)
            for edge in range(10):
                await pair.tick(mode=mode, serial=0x2D >> edge & 1, data=0xFF)


@cocotb.test()
async def no_paths(dut: Any) -> None:
    """No input but the reset reaches an output without an edge."""
    pair = await begin(dut)
    await pair.tick(mode=1, data=0x57)
    for mode in range(8):
        await pair.poke(mode=mode, data=0xA8, serial=1)
        await pair.poke(serial=0)
    await pair.tick(mode=0)


@cocotb.test()
async def resets(dut: Any) -> None:
    """The reset works between edges, with the clock low and high, and holds through edges."""
    pair = await begin(dut)
    for mode in (1, 2, 3):
        await pair.tick(mode=1, data=0xFE)
        await pair.tick(mode=4, serial=1)
        await pair.poke(rst=1)
        await pair.poke(rst=0)
        await pair.tick(mode=1, data=0xCB)
        await pair.tick(mode=4, high={"rst": 1})
        await pair.ticks(2, mode=mode)
        await pair.tick(rst=0, mode=0)


@cocotb.test()
async def random_modes(dut: Any) -> None:
    """Anything at any time."""
    pair = await begin(dut)
    random = rng("shift_unit")
    for _ in range(250):
        await pair.tick(
            mode=random.randrange(8),
            data=random.randrange(256),
            serial=random.randrange(2),
            rst=int(random.random() < 0.015),
        )
