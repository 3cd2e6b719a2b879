"""i2c_put: good writes, missing acknowledgements, stretching in every slot, another controller, a busy bus, resets."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe

# A quarter of the model: what is pulled low (scl, sda), whether scl is waited for, and what sda tells at its end.
Quarter = tuple[int, int, bool, str]


def program(addr: int, data: int) -> list[list[Quarter]]:
    """The slots of a whole write."""
    slots: list[list[Quarter]] = [[(0, 0, False, ""), (0, 1, False, ""), (0, 1, False, ""), (1, 1, False, "")]]
    for byte in (2 * addr, data):
        for bit in [byte >> k & 1 for k in range(7, -1, -1)]:
            low = 1 - bit
            slots.append(
                [(1, low, False, ""), (0, low, True, ""), (0, low, False, "bus" if bit else ""), (1, low, False, "")]
            )
        slots.append([(1, 0, False, ""), (0, 0, True, ""), (0, 0, False, "ack"), (1, 0, False, "")])
    slots.append([(1, 1, False, ""), (0, 1, True, ""), (0, 1, False, ""), (0, 0, False, "")])
    return slots


class Controller:
    """Drives the design; the model walks along the quarters of the program."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.length = dut, rng(name), int(dut.QUARTER.value)
        self.clear()

    def clear(self) -> None:
        self.todo: list[list[Quarter]] = []
        self.spent = self.done = self.code = self.result = 0

    def lines(self) -> tuple[int, int]:
        """What the design pulls low."""
        return self.todo[0][0][:2] if self.todo else (0, 0)

    def place(self) -> tuple[int, int]:
        """Slots and quarters still to come."""
        return len(self.todo), len(self.todo[0]) if self.todo else 0

    def check(self) -> None:
        dut, (scl, sda) = self.dut, self.lines()
        expect(dut.busy, len(self.todo) > 0)
        expect(dut.scl_low, scl)
        expect(dut.sda_low, sda)
        expect(dut.done, self.done)
        expect(dut.code, self.code)

    def end(self, code: int) -> None:
        self.todo, self.done, self.code = [], 1, code

    def step(self, scl: int, sda: int, start: int, addr: int, data: int) -> None:
        self.done = 0
        if not self.todo:
            if start and scl and sda:
                self.todo, self.spent, self.result = program(addr, data), 0, 0
            return
        _, _, waits, asks = self.todo[0][0]
        if waits and not scl:
            return
        self.spent += 1
        if self.spent < self.length:
            return
        self.spent = 0
        if asks == "bus" and not sda:
            self.end(3)
            return
        first = len(self.todo) > 10
        if asks == "ack" and sda:
            self.result = 1 if first else 2
        self.todo[0].pop(0)
        if not self.todo[0]:
            self.todo.pop(0)
            if self.result == 1:
                self.todo = self.todo[-1:]
            if not self.todo:
                self.end(self.result)

    async def do(
        self, start: int = 0, addr: int = -1, data: int = -1, *,
        hold_scl: int = 0, hold_sda: int = 0, reset: int = 0, blind: bool = False,
    ) -> None:  # fmt: skip
        """One period; ``hold_scl`` and ``hold_sda`` are what the others on the bus pull low."""
        dut = self.dut
        addr = self.draw.randrange(128) if addr < 0 else addr
        data = self.draw.randrange(256) if data < 0 else data
        own_scl, own_sda = self.lines()
        scl, sda = 1 - (own_scl | hold_scl), 1 - (own_sda | hold_sda)
        dut.rst.value, dut.start.value, dut.addr.value, dut.data.value = reset, start, addr, data
        dut.scl_in.value, dut.sda_in.value = scl, sda
        step = self.clear if reset else lambda: self.step(scl, sda, start, addr, data)
        await strobe(dut.clk, (lambda: None) if blind else self.check, step)

    async def write(
        self, addr: int, data: int, acks: tuple[int, int] = (1, 1), stretch: int = 0, start: int = 0
    ) -> None:
        """A whole write with a target that acknowledges or not, and pulls scl for ``stretch`` cycles in each slot."""
        await self.do(1, addr, data)
        held, slot = 0, 0
        while self.todo:
            left, quarters = self.place()
            if left != slot:
                slot, held = left, 0
            pull = held < stretch and quarters in (3, 4)
            held += pull and quarters == 3
            ack = acks[0] if left == 11 else acks[1] if left == 2 else 0
            # Outside the moments that count, the target may pull sda as it likes while scl is low.
            await self.do(start, hold_scl=int(pull), hold_sda=int(ack and quarters < 4))

    async def until(self, left: int, quarters: int) -> None:
        """Go on, with acknowledgements, to a quarter."""
        while self.place() != (left, quarters):
            await self.do(hold_sda=int(len(self.todo) in (11, 2)))

    async def start(self) -> None:
        self.dut.clk.value = 0
        expect_widths(self.dut, addr=7, data=8, code=2, busy=1, done=1, scl_low=1, sda_low=1)
        await self.do(1, reset=1, blind=True)
        await self.do(1, reset=1)
        await self.do()


@cocotb.test()
async def good(dut: Any) -> None:
    """Two writes in a row, start being 1 all the time; the second one is stretched."""
    bus = Controller(dut, "good")
    await bus.start()
    if bus.length < 4:
        await bus.write(0x2D, 0xB4, start=1)
    await bus.write(0x52, 0x4B, stretch=bus.length + 1)
    await bus.do()


@cocotb.test()
async def no_answer(dut: Any) -> None:
    """The address is not acknowledged, the data is not; a good write makes the code 0 again."""
    bus = Controller(dut, "no_answer")
    await bus.start()
    await bus.write(0x11, 0xFF, acks=(0, 1))
    await bus.do()
    if bus.length < 4:  # the long way takes too long otherwise
        await bus.write(0x7F, 0x00, acks=(1, 0), stretch=1)
        await bus.do()
        await bus.do()
        await bus.write(0x00, 0xFE)
        await bus.do(1, reset=1)
    await bus.do()


@cocotb.test()
async def busy_bus(dut: Any) -> None:
    """No start while a line is low; scl low in the quarters where it does not matter."""
    bus = Controller(dut, "busy_bus")
    await bus.start()
    for scl, sda in ((1, 0), (0, 1), (1, 1)):
        await bus.do(1, hold_scl=scl, hold_sda=sda)
    await bus.do(1, 0x40, 0x55)
    while len(bus.todo) > 17:
        await bus.do(hold_scl=int(bus.place()[1] != 3 or len(bus.todo) == 20), hold_sda=int(len(bus.todo) == 20))
    await bus.do(reset=1)


@cocotb.test()
async def another_controller(dut: Any) -> None:
    """sda low at the end of a bit 1 ends the write at once; earlier, later, or in a bit 0 it does nothing."""
    bus = Controller(dut, "another_controller")
    await bus.start()
    cases = [(19, 13, 0x41, 0), (None, 19, 0x40, 0), (None, 10, 0, 0x80), (10, 3, 0x00, 0x81)]
    for harmless, lost, addr, data in cases[: 4 if bus.length < 4 else 2]:
        await bus.do(1, addr, data)
        if harmless is not None:
            await bus.until(harmless, 4)
            while bus.place() != (harmless, 2):
                await bus.do(hold_sda=1)
            for k in range(bus.length):
                await bus.do(hold_sda=int(k < bus.length - 1))
            while bus.place()[0] == harmless:
                await bus.do(hold_sda=1)
        await bus.until(lost, 2)
        for k in range(bus.length):
            await bus.do(hold_sda=int(k == bus.length - 1))
        await bus.do(start=lost % 2)
        await bus.do()
        await bus.do(reset=lost % 2)
        await bus.do(reset=1)


@cocotb.test()
async def resets(dut: Any) -> None:
    """A reset in different slots; between two edges it does nothing."""
    bus = Controller(dut, "resets")
    await bus.start()
    for left, quarters in ((20, 3), (18, 3), (11, 1)):
        await bus.do(1, 0x35, 0xA6)
        await bus.until(left, quarters)
        dut.rst.value = 1
        await settle()
        bus.check()
        dut.rst.value = 0
        await settle()
        await bus.do()
        await bus.do(1, reset=1)
        await bus.do()
