"""width_fifo: every count, packets with and without an end, places against bytes, pressure from both sides, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Queue:
    """Drives the design; the model is a list of words, each a list of (byte, last)."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.lanes, self.places = int(dut.LANES.value), int(dut.WORDS.value)
        self.words: list[list[tuple[int, bool]]] = []

    def check(self) -> None:
        dut = self.dut
        expect(dut.in_ready, len(self.words) < self.places)
        expect(dut.out_valid, bool(self.words))
        expect(dut.bytes, sum(len(word) for word in self.words))
        if self.words:
            byte, last = self.words[0][0]
            expect(dut.out_data, byte)
            expect(dut.out_last, last)

    async def do(
        self, take: int, give: int, count: int = 0, last: int = 0, reset: int = 0, blind: bool = False
    ) -> None:
        dut, word = self.dut, self.draw.randrange(1 << 8 * self.lanes)
        dut.rst.value, dut.in_valid.value, dut.out_ready.value = reset, take, give
        dut.in_data.value, dut.in_count.value, dut.in_last.value = word, count, last

        def step() -> None:
            if reset:
                self.words.clear()
                return
            room = len(self.words) < self.places
            if give and self.words:
                self.words[0].pop(0)
                self.words = [rest for rest in self.words if rest]
            if take and room and count:
                part = word.to_bytes(self.lanes, "little")[:count]
                self.words.append([(byte, bool(last) and k == len(part) - 1) for k, byte in enumerate(part)])

        await strobe(dut.clk, (lambda: None) if blind else self.check, step)

    async def start(self) -> None:
        self.dut.clk.value = 0
        expect_widths(self.dut, in_data=8 * self.lanes, in_count=3, out_data=8, bytes=6, out_last=1, out_valid=1)
        await self.do(1, 1, 3, 1, reset=1, blind=True)
        await self.do(1, 1, 2, 1, reset=1)
        await self.do(0, 1)


@cocotb.test()
async def counts(dut: Any) -> None:
    """Each count alone, with and without the end of a packet, the consumer waiting or late."""
    queue = Queue(dut, "counts")
    await queue.start()
    for count in range(8):
        for last in (0, 1):
            await queue.do(1, 1, count, last)
            for give in "0110101" if last else "1111111":
                await queue.do(0, int(give), 2, 1)


@cocotb.test()
async def places(dut: Any) -> None:
    """A word occupies a place until its last byte is gone; a full queue takes nothing; empty words vanish."""
    queue = Queue(dut, "places")
    await queue.start()
    for turn in range(4):
        for k in range(queue.places + 2):
            await queue.do(1, 0, 1 + (turn + k) % queue.lanes, k % 2)
            await queue.do(1, 0, 0, 1)
        for _ in range(2 * queue.places + 3):
            await queue.do(1, 1, 7, 1)
        while queue.words:
            await queue.do(0, 1, 2, 0)
        await queue.do(0, 1, 2, 0)
        for _ in range(queue.places + 2):
            await queue.do(1, 1, 1, turn % 2)
        for _ in range(2):
            await queue.do(0, 1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset with words held and a word half gone; between two edges it does nothing."""
    queue = Queue(dut, "resets")
    await queue.start()
    for count in range(1, queue.places + 2):
        for _ in range(count):
            await queue.do(1, 0, 3, 1)
        await queue.do(0, 1)
        dut.rst.value = 1
        await settle()
        queue.check()
        await queue.do(0, 0)
        await queue.do(1, 1, 2, 1, reset=1)
        await queue.do(0, 1)
        await queue.do(1, 1, 4, 1)
        await queue.do(0, 1)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random words and pauses on both sides."""
    queue = Queue(dut, "traffic")
    await queue.start()
    for phase in range(8):
        bias = (1, 6, 3, 4)[phase % 4]
        for _ in range(50):
            draw = queue.draw
            await queue.do(
                draw.randrange(8) < bias, draw.randrange(8) >= bias - 2, draw.randrange(8), draw.randrange(2),
                reset=draw.randrange(80) == 0,
            )  # fmt: skip
