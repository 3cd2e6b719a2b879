"""beat_packer: packets of all lengths, partners that wait on either side, resets in the middle of words."""

from __future__ import annotations

from random import Random
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst_n": 1, "in_valid": 1, "in_ready": 1, "in_data": 8, "in_last": 1,
    "out_valid": 1, "out_ready": 1, "out_data": 32, "out_keep": 4, "out_last": 1,
}  # fmt: skip


class Model:
    """The bytes of the word that is not complete, and the bytes and the last of the one that waits."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.word: tuple[list[int], int] | None = None

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        if not i["rst_n"]:
            self.bytes, self.word = [], None
            return
        ready = self.word is None or i["out_ready"]
        if i["out_ready"]:
            self.word = None
        if i["in_valid"] and ready:
            self.bytes.append(i["in_data"])
            if i["in_last"] or len(self.bytes) == 4:
                self.bytes, self.word = [], (self.bytes, i["in_last"])

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        """What the outputs show; the word only while it is valid."""
        if self.word is None:
            return {"in_ready": 1, "out_valid": 0}
        data, last = self.word
        return {
            "in_ready": i["out_ready"], "out_valid": 1, "out_data": int.from_bytes(data, "little"),
            "out_keep": int("1" * len(data), 2), "out_last": last,
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """Nothing held after the reset, during which no byte is taken."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst_n=0, in_valid=1, in_data=0xEE, in_last=1, out_ready=0)
    await pair.tick(in_last=0)
    await pair.tick(rst_n=1, in_valid=0)
    return pair


async def offer(pair: Lockstep, data: int, last: int, random: Random | None = None) -> None:
    """Offer a byte until it is taken, which is after a few edges; without ``random`` the other side is ready."""
    for attempt in range(20):
        ready = int(random is None or attempt == 19 or random.random() < 0.4)
        taken = pair.model.word is None or ready
        await pair.tick(in_valid=1, in_data=data, in_last=last, out_ready=ready)
        if taken:
            break
    pair.set(in_valid=0)


@cocotb.test()
async def packets(dut: Any) -> None:
    """Packets of one to nine bytes, right after one another to a partner that is always ready."""
    pair = await begin(dut)
    random = rng("beat_packer packets")
    for length in (1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 4, 3):
        for place in range(length):
            await offer(pair, random.randrange(1, 256), int(place == length - 1))
    await pair.ticks(3)


@cocotb.test()
async def positions(dut: Any) -> None:
    """Words of each size after full ones: positions that were not filled are 0; in_last counts when taken only."""
    pair = await begin(dut)
    for size in (1, 2, 3, 4):
        for _ in range(4):
            await offer(pair, 0xFF, 0)
        for place in range(size):
            await pair.tick(in_valid=0, in_data=0xFF, in_last=1, out_ready=0)
            await offer(pair, 0x81 >> place, int(place == size - 1))
        await pair.ticks(2)


@cocotb.test()
async def waiting(dut: Any) -> None:
    """A partner that is not ready holds a word and every byte back; in_ready follows it without an edge."""
    pair = await begin(dut)
    for last in (0, 1):
        for data in (0x11, 0x22, 0x33):
            await pair.tick(in_valid=1, in_data=data, in_last=0, out_ready=0)
        await pair.tick(in_data=0x44, in_last=last)
        for data in (0x55, 0x66):
            await pair.tick(in_data=data, in_last=1)
        await pair.poke(out_ready=1)
        await pair.poke(out_ready=0)
        await pair.poke(in_valid=0, in_last=0)
        await pair.poke(in_valid=1, in_last=1)
        # The word leaves and a packet of one byte, then one of two, come at once.
        await pair.tick(in_data=0x77, out_ready=1)
        await pair.tick(in_data=0x88, in_last=0)
        await pair.tick(in_data=0x99, in_last=1, out_ready=0)
        await pair.ticks(2, in_valid=0)
        await pair.tick(out_ready=1)
        await pair.tick()


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset drops one, two or three bytes and a waiting word, takes nothing, and needs an edge."""
    pair = await begin(dut)
    for held in (1, 2, 3, 4):
        for ready in (0, 1):
            for place in range(held):
                await offer(pair, 0xF0 + place, 0)
            await pair.poke(rst_n=0, out_ready=ready)
            await pair.poke(rst_n=1)
            await pair.tick(rst_n=0, in_valid=1, in_data=0xDD, in_last=ready)
            await pair.tick(rst_n=1, in_data=0x0A, in_last=0)
            await pair.tick(in_data=0x0B, in_last=1, out_ready=1)
            await pair.tick(in_valid=0)


@cocotb.test()
async def random_partners(dut: Any) -> None:
    """Packets of random lengths between two partners that are ready now and then."""
    pair = await begin(dut)
    random = rng("beat_packer")
    for number in range(90):
        if random.random() < 0.3:
            pair.set(in_valid=0, in_last=random.randrange(2), out_ready=random.randrange(2))
            await pair.ticks(random.randrange(1, 3))
        await offer(pair, random.randrange(256), int(random.random() < 0.3), random if number > 30 else None)
    for _ in range(150):
        await pair.tick(
            in_valid=int(random.random() < 0.7),
            in_data=random.randrange(256),
            in_last=int(random.random() < 0.25),
            out_ready=int(random.random() < 0.6),
            rst_n=int(random.random() > 0.02),
        )
