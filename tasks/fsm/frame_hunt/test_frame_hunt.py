"""frame_hunt: all lengths, marks that overlap, touch and hide, restarts and resets at every bit, random streams."""

from __future__ import annotations

from random import Random
from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {
    "clk": 1, "rst": 1, "restart": 1, "bit_valid": 1, "bit_in": 1,
    "in_frame": 1, "byte_valid": 1, "byte_data": 8, "last": 1,
}  # fmt: skip
MARK = "10110010"


class Model:
    """All bits of the hunt, and all bits of the frame, as text."""

    def __init__(self) -> None:
        self.hunted = ""
        self.frame: str | None = None
        self.byte_valid = self.byte_data = self.last = 0

    def edge(self, i: dict[str, int]) -> None:
        """A rising edge."""
        self.byte_valid = self.last = 0
        if i["rst"] or i["restart"]:
            self.hunted, self.frame = "", None
            if i["rst"]:
                self.byte_data = 0
        elif i["bit_valid"]:
            self.take(str(i["bit_in"]))

    def take(self, bit: str) -> None:
        """One bit of the stream."""
        if self.frame is None:
            self.hunted += bit
            if self.hunted.endswith(MARK):
                self.frame = ""
            return
        self.frame += bit
        if len(self.frame) < 4:
            return
        length, body = int(self.frame[:4], 2), self.frame[4:]
        if body and len(body) % 8 == 0:
            self.byte_valid, self.byte_data = 1, int(body[-8:], 2)
            self.last = int(len(body) == 8 * length)
        if len(body) == 8 * length:
            self.hunted, self.frame = "", None

    def outputs(self, _: dict[str, int]) -> dict[str, int]:
        """What the outputs show."""
        return {
            "in_frame": int(self.frame is not None), "byte_valid": self.byte_valid,
            "byte_data": self.byte_data, "last": self.last,
        }  # fmt: skip


async def begin(dut: Any) -> Lockstep:
    """A hunt after the reset."""
    pair = Lockstep(dut, Model(), WIDTHS)
    await pair.start(rst=1, restart=0, bit_valid=1, bit_in=1)
    await pair.tick()
    await pair.tick(rst=0, bit_valid=0)
    return pair


async def send(pair: Lockstep, bits: str, gaps: Random | None = None) -> None:
    """Bits of a stream, with idle edges between them where wanted."""
    for bit in bits:
        if gaps and gaps.random() < 0.3:
            await pair.tick(bit_valid=0, bit_in=gaps.randrange(2))
        await pair.tick(bit_valid=1, bit_in=int(bit))
    pair.set(bit_valid=0)


def frame(*data: int) -> str:
    """A frame of these bytes."""
    return MARK + f"{len(data):04b}" + "".join(f"{byte:08b}" for byte in data)


@cocotb.test()
async def frames(dut: Any) -> None:
    """Empty, short and the longest frames, right after one another and with idle edges between bits."""
    pair = await begin(dut)
    random = rng("frame_hunt frames")
    await send(pair, frame())
    await send(pair, frame(0xA5) + frame(0x00, 0xFF) + frame() + frame(0xB2, 0x01, 0x80))
    await pair.ticks(3)
    for length in (2, 8):
        await send(pair, frame(*(random.randrange(256) for _ in range(length))), random)
    await send(pair, frame(*(random.randrange(256) for _ in range(15))) + "1")
    await pair.ticks(2)


@cocotb.test()
async def marks(dut: Any) -> None:
    """Marks that overlap failed ones, marks with one wrong bit, marks inside frames and across their ends."""
    pair = await begin(dut)
    await send(pair, "101101100100001" + "01011010")
    for place in range(8):
        wrong = MARK[:place] + str(1 - int(MARK[place])) + MARK[place + 1 :]
        await send(pair, wrong + "000")
        await pair.tick(rst=1)
        pair.set(rst=0)
    for start in range(1, 8):
        await send(pair, MARK[:start] + frame())
    await send(pair, frame(0xB2, 0x59))
    for inside in range(1, 8):
        # The end of a frame and the bits after it would be a mark together.
        await send(pair, frame(int(MARK[:inside], 2)) + MARK[inside:])
        await send(pair, "1011")
        await pair.tick(restart=1)
        pair.set(restart=0)
    await send(pair, MARK + "0000" + "10010" + "0000000")
    # The first bits after a frame are the end of a mark whose beginning never came.
    for start in range(1, 8):
        await send(pair, frame() + MARK[start:])
    for start in (1, 2, 4):
        await send(pair, frame(0x00) + MARK[start:] + "00")


@cocotb.test()
async def restarts(dut: Any) -> None:
    """A restart or a reset at each part of a frame and of a mark; the bit at that edge is not taken."""
    pair = await begin(dut)
    whole = frame(0xB2, 0xA7)
    for name, step in (("restart", 4), ("rst", 7)):
        for stop in range(1, len(whole) + 1, step):
            await send(pair, whole[:stop])
            await pair.tick(bit_valid=1, bit_in=int(MARK[0]), **{name: 1})
            await send_after(pair, name)
    await send(pair, whole[:10])
    await pair.tick(rst=1, restart=1, bit_valid=1)
    await pair.tick(rst=0, restart=0, bit_valid=0)
    await send(pair, whole)
    await pair.tick(restart=1)
    await pair.tick(rst=1)
    await pair.tick(restart=0, rst=0)
    await send(pair, whole[:19])
    await pair.poke(rst=1)
    await pair.poke(rst=0)
    await pair.poke(restart=1)
    await pair.poke(restart=0)
    await send(pair, whole[19:])


async def send_after(pair: Lockstep, name: str) -> None:
    """The rest of a mark whose first bit was not taken, then what shows that the hunt goes on as it should."""
    await pair.tick(bit_valid=0, **{name: 0})
    await send(pair, MARK[1:])


@cocotb.test()
async def every_break(dut: Any) -> None:
    """Marks cut by a restart after each of their bits are no marks."""
    pair = await begin(dut)
    for cut in range(1, 8):
        await send(pair, MARK[:cut])
        await pair.tick(restart=1)
        pair.set(restart=0)
        await send(pair, MARK[cut:])
        await pair.tick(rst=1)
        pair.set(rst=0)


@cocotb.test()
async def random_stream(dut: Any) -> None:
    """Marks, lengths and noise at random."""
    pair = await begin(dut)
    random = rng("frame_hunt")
    for _ in range(14):
        await send(pair, f"{random.randrange(256):08b}"[: random.randrange(9)])
        data = [random.randrange(256) for _ in range(random.randrange(4))]
        await send(pair, frame(*data), random)
        if random.random() < 0.2:
            await pair.tick(restart=random.randrange(2), rst=random.randrange(2), bit_valid=1)
            await pair.tick(restart=0, rst=0, bit_valid=0)
