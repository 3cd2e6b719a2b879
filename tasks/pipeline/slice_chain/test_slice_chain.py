"""slice_chain: filling, draining, bubbles that close up, combinational ready, flush and reset, random back-pressure."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng


class Model:
    """The slices as a list of words or None, the last one at the output."""

    def __init__(self, depth: int) -> None:
        self.slices: list[int | None] = [None] * depth

    def room(self, i: dict[str, int]) -> bool:
        return bool(i["out_ready"]) or None in self.slices

    def settle(self, i: dict[str, int]) -> None:
        if not i["rst_n"]:
            self.slices = [None] * len(self.slices)

    def edge(self, i: dict[str, int]) -> None:
        if not i["rst_n"] or i["flush"]:
            self.slices = [None] * len(self.slices)
            return
        if not self.room(i):
            return
        # Everything before the last hole moves; with out_ready, the place behind the end is one.
        chain = [i["in_data"] if i["in_valid"] else None, *self.slices]
        if i["out_ready"]:
            self.slices = chain[:-1]
        else:
            hole = max(n for n, word in enumerate(chain) if n and word is None)
            self.slices = chain[:hole] + chain[hole + 1 :]

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        last = self.slices[-1]
        full = sum(1 << n for n, word in enumerate(self.slices) if word is not None)
        shown = {"full": full, "out_valid": int(last is not None), "in_ready": int(self.room(i) and not i["flush"])}
        return shown if last is None else shown | {"out_data": last}


async def begin(dut: Any) -> tuple[Lockstep, int, int]:
    width, depth = int(dut.WIDTH.value), int(dut.DEPTH.value)
    assert (width, depth) in ((8, 3), (5, 1), (4, 4)), "WIDTH and DEPTH have other values than they were given"
    names = ("rst_n", "flush", "in_valid", "in_ready", "out_valid", "out_ready")
    widths = dict.fromkeys(names, 1) | {"in_data": width, "out_data": width, "full": depth}
    sim = Lockstep(dut, Model(depth), widths)
    await sim.start(rst_n=0, flush=0, in_valid=1, in_data=9, out_ready=0)
    await sim.tick()
    await sim.tick(rst_n=1, in_valid=0)
    return sim, width, depth


@cocotb.test()
async def fill_and_drain(dut: Any) -> None:
    sim, width, depth = await begin(dut)
    top = (1 << width) - 1
    for n in range(depth + 2):
        await sim.tick(in_valid=1, in_data=(n * 7 + 1) & top)
    # All move at once; then in_ready follows out_ready, and nothing else does, without an edge.
    for n in range(depth + 2):
        await sim.tick(out_ready=1, in_data=top - n)
    for changes in ({"out_ready": 0}, {"in_valid": 0}, {"out_ready": 1}, {"flush": 1}, {"flush": 0}, {"in_data": 0}):
        await sim.poke(**changes)
    await sim.ticks(depth + 1)
    # One word alone, then words with holes between them, which close up.
    for spread in range(1, depth + 2):
        sim.set(out_ready=0)
        for n in range(2 * depth):
            await sim.tick(in_valid=int(n % spread == 0), in_data=(n * 5 + spread) & top)
        await sim.ticks(depth + 2, in_valid=0, out_ready=1)


@cocotb.test()
async def flush_and_reset(dut: Any) -> None:
    sim, _, depth = await begin(dut)
    for words in range(depth + 1):
        for valid, ready in ((0, 0), (1, 0), (0, 1), (1, 1)):
            for n in range(words):
                await sim.tick(in_valid=1, in_data=n + 3, out_ready=0)
            await sim.poke(flush=1)
            await sim.poke(flush=0)
            await sim.tick(flush=1, in_valid=valid, out_ready=ready, in_data=6)
            await sim.tick(flush=0, in_valid=0, out_ready=0)
    for n in range(depth):
        await sim.tick(in_valid=1, in_data=n + 1)
    await sim.poke(rst_n=0)
    await sim.poke(rst_n=1)
    await sim.ticks(depth + 1)
    await sim.tick(high={"rst_n": 0})
    await sim.ticks(2)
    await sim.ticks(depth + 2, rst_n=1, out_ready=1)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    sim, width, _ = await begin(dut)
    draw = rng("slice_chain")
    for n in range(450):
        willing = (n // 30 % 3 + 1) / 4
        await sim.tick(
            in_valid=int(draw.random() > willing - 0.2),
            in_data=draw.getrandbits(width),
            out_ready=int(draw.random() < willing),
            flush=int(draw.random() < 0.03),
            rst_n=int(draw.random() > 0.01),
        )
