"""cmd_parser: good and bad commands, gaps up to and past the limit, skipping, resets in each place, random streams."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import Lockstep, rng

WIDTHS = {"rst": 1, "in_valid": 1, "in_byte": 8} | {
    "write_en": 1, "read_en": 1, "address": 8, "data": 16, "error": 1, "reason": 2, "idle": 1
}  # fmt: skip
LENGTH = {0x57: 5, 0x52: 3}


class Model:
    """The bytes of the command so far, in a list."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.skips, self.quiet = False, 0
        self.address, self.data, self.reason = 0, 0, 0
        self.event = ""

    def fail(self, reason: int) -> None:
        self.event, self.reason, self.bytes = "error", reason, []

    def edge(self, i: dict[str, int]) -> None:
        if i["rst"]:
            self.__init__()
            return
        self.event, byte = "", i["in_byte"]
        if not i["in_valid"]:
            self.quiet += 1
            if self.bytes and self.quiet == 10:
                self.fail(3)
            return
        self.quiet = 0
        if self.skips:
            self.skips = byte != 10
        elif not self.bytes and byte not in LENGTH:
            if byte != 10:
                self.fail(1)
                self.skips = True
        else:
            self.bytes.append(byte)
            if len(self.bytes) == LENGTH[self.bytes[0]]:
                self.finish(*self.bytes)

    def finish(self, kind: int, address: int, *rest: int) -> None:
        *payload, check = rest
        if (kind + address + sum(payload) - check) % 256:
            return self.fail(2)
        self.bytes, self.address = [], address
        self.event = "write_en" if payload else "read_en"
        if payload:
            self.data = payload[0] << 8 | payload[1]
        return None

    def outputs(self, i: dict[str, int]) -> dict[str, int]:
        flags = {name: int(self.event == name) for name in ("write_en", "read_en", "error")}
        kept = {"address": self.address, "data": self.data, "reason": self.reason}
        return flags | kept | {"idle": int(not self.bytes and not self.skips)}


async def begin(dut: Any) -> Lockstep:
    sim = Lockstep(dut, Model(), WIDTHS)
    await sim.start(rst=1, in_valid=1, in_byte=0x57)
    await sim.tick()
    await sim.tick(rst=0, in_valid=0)
    return sim


def command(*body: int, off: int = 0) -> list[int]:
    return [*body, (sum(body) + off) % 256]


async def send(sim: Lockstep, stream: list[int], gap: int = 0) -> None:
    for byte in stream:
        await sim.tick(in_valid=1, in_byte=byte)
        sim.set(in_valid=0, in_byte=byte ^ 0x5D)
        await sim.ticks(gap)


@cocotb.test()
async def commands(dut: Any) -> None:
    sim = await begin(dut)
    for gap in (0, 1, 9):
        await send(sim, command(0x57, 0xA5, 0x12, 0xFE), gap)
        await send(sim, command(0x52, 0x3C), gap)
        await send(sim, command(0x57, 0x0A, 0x57, 0x52), gap)
        await send(sim, [10, 10, *command(0x52, 0xFF)], gap)
    for off in (1, 255, 128, 16):
        await send(sim, command(0x57, 0x44, 0xC3, 0x99, off=off))
        await send(sim, command(0x52, 0x81, off=off))
        await send(sim, command(0x57, off, 0x80, 0x01) + command(0x52, 0xF0))
    await sim.ticks(12)


@cocotb.test()
async def gaps_and_skips(dut: Any) -> None:
    sim = await begin(dut)
    for body in ((0x57, 0x11, 0x22, 0x33), (0x52, 0x77)):
        for length in range(1, len(body) + 1):
            for pause in (9, 10, 11):
                await send(sim, list(body[:length]))
                await sim.ticks(pause)
                await send(sim, command(*body)[length:] if pause == 9 else command(0x52, length))
    for first in (0x56, 0x53, 0x00, 0x77, 0xD7, 0x0B):
        await send(sim, [first, 0x57, 0x0B])
        await sim.ticks(12)
        await send(sim, [0x52, 10, *command(0x52, first)])
    # Ten quiet edges while waiting are none of the next command's.
    await sim.ticks(11)
    await send(sim, [0x52])
    await sim.ticks(9)
    await send(sim, [0x52])
    await sim.ticks(5)
    await send(sim, [0xA4])
    await sim.tick()


@cocotb.test()
async def resets(dut: Any) -> None:
    sim = await begin(dut)
    stream = command(0x57, 0xEE, 0xDD, 0xCC)
    for length in range(6):
        await send(sim, stream)
        await send(sim, [0x99 if length == 5 else 10, *stream[:length]])
        await sim.poke(rst=1)
        await sim.poke(rst=0)
        await sim.tick(rst=1, in_valid=1, in_byte=stream[min(length, 4)])
        await sim.tick(rst=0, in_valid=0)
        await send(sim, command(0x52, length))
    await send(sim, [*stream, 0x57])
    await sim.ticks(4)
    await sim.tick(rst=1)
    sim.set(rst=0)
    await send(sim, command(0x57, 1, 2, 3, off=1)[:4])
    await sim.ticks(8)
    await send(sim, [0x5D, 0x52])
    await sim.ticks(11)


@cocotb.test()
async def random_streams(dut: Any) -> None:
    sim = await begin(dut)
    draw = rng("cmd_parser")
    for _ in range(45):
        body = [0x57, *draw.randbytes(3)] if draw.random() < 0.5 else [0x52, *draw.randbytes(1)]
        stream = command(*body, off=draw.choice((0, 0, 0, draw.randrange(256))))
        if draw.random() < 0.2:
            stream = [draw.randrange(256), *draw.randbytes(2), 10, *stream]
        for byte in stream:
            await send(sim, [byte], draw.choice((0, 0, 0, 2, draw.randrange(12) if draw.random() < 0.2 else 1)))
        if draw.random() < 0.1:
            await sim.tick(rst=1)
            sim.set(rst=0)
