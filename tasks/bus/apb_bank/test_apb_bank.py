"""apb_bank: wait states, every address, the error counter and its limit, noise in idle cycles, accesses in a row."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle


class Bank:
    """Drives whole accesses; the model is a dictionary of addresses."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw = dut, rng(name)
        self.waits = {True: int(dut.WAIT_WRITE.value), False: int(dut.WAIT_READ.value)}
        self.clear()

    def clear(self) -> None:
        self.memory = {0: 0, 2: 0, 4: 0, 6: 0}
        self.errors = 0
        self.answer = (0, 0, 0)  # pready, pslverr, prdata

    def check(self) -> None:
        dut, (ready, error, data) = self.dut, self.answer
        expect(dut.pready, ready)
        expect(dut.pslverr, error)
        expect(dut.prdata, data)
        self.check_bank()

    def check_bank(self) -> None:
        expect(self.dut.regs, sum(value << 8 * addr for addr, value in self.memory.items()))

    async def cycle(self, sel: int, enable: int, write: int, addr: int, data: int, last: bool = False) -> None:
        dut, good = self.dut, addr in self.memory or (addr == 8 and not write)
        dut.psel.value, dut.penable.value, dut.pwrite.value, dut.paddr.value = sel, enable, write, addr
        dut.pwdata.value = data
        read = self.errors if addr == 8 else self.memory.get(addr, 0)
        self.answer = (int(last), int(last and not good), read if last and good and not write else 0)

        # A request comes right after a rising edge or half a period later, and stands a moment over the next one, when
        # the response may be that of the new state already.
        await settle(2)
        self.check()
        dut.pclk.value = 0
        await settle(3)
        self.check()
        dut.pclk.value = 1
        if last and not good:
            self.errors = min(15, self.errors + 1)
        elif last and write:
            self.memory[addr] = data
        elif last and addr == 8:
            self.errors = 0
        await settle(2)
        self.check_bank()
        if self.draw.randrange(4) == 0:
            dut.pclk.value = 0
            await settle(2)
            self.check_bank()

    async def idle(self, cycles: int = 1) -> None:
        for _ in range(cycles):
            draw = self.draw.randrange
            await self.cycle(0, draw(2), draw(2), draw(2) * draw(256) or 2 * draw(5), draw(65536))

    async def access(self, write: int, addr: int, data: int = -1) -> None:
        data = self.draw.randrange(65536) if data < 0 else data
        await self.cycle(1, 0, write, addr, data)
        for left in range(self.waits[bool(write)], -1, -1):
            await self.cycle(1, 1, write, addr, data, last=left == 0)

    async def start(self) -> None:
        dut = self.dut
        dut.pclk.value = 0
        dut.psel.value, dut.penable.value, dut.pwrite.value, dut.paddr.value, dut.pwdata.value = 0, 1, 1, 2, 0xFFFF
        dut.presetn.value = 1
        expect_widths(dut, paddr=8, pwdata=16, prdata=16, regs=64, pready=1, pslverr=1)
        await settle()
        await self.reset()

    async def reset(self) -> None:
        self.dut.psel.value = self.dut.presetn.value = 0
        self.clear()
        await settle()
        self.check()
        await self.idle(2)
        self.dut.presetn.value = 1
        await settle()
        self.check()


@cocotb.test()
async def write_and_read(dut: Any) -> None:
    """Each register, in a row and with pauses; the combinational answer falls with penable and with psel."""
    bank = Bank(dut, "write_and_read")
    await bank.start()
    for addr in (0, 2, 4, 6):
        await bank.access(1, addr, 0x1111 * (addr + 3) ^ 0x0F00)
    for addr in (6, 4, 2, 0):
        await bank.idle(addr // 2)
        await bank.access(0, addr)
    await bank.access(1, 4, 0xBEAD)
    await bank.access(0, 4)
    await bank.access(0, 4)
    await bank.cycle(1, 0, 0, 4, 0)
    for _ in range(bank.waits[False]):
        await bank.cycle(1, 1, 0, 4, 0)
    for sel, enable in ((1, 1), (1, 0), (1, 1), (0, 1), (1, 1)):  # no edge in between
        dut.psel.value, dut.penable.value = sel, enable
        await settle()
        bank.answer = (1, 0, 0xBEAD) if sel and enable else (0, 0, 0)
        bank.check()
    await bank.cycle(1, 1, 0, 4, 0, last=True)
    await bank.idle(3)


@cocotb.test()
async def addresses(dut: Any) -> None:
    """Every address near the map and one with each higher bit, read and written."""
    bank = Bank(dut, "addresses")
    await bank.start()
    for addr in [*range(18), 0x20, 0x22, 0x40, 0x44, 0x80, 0x86, 0x88, 0xFF]:
        await bank.access(1, addr)
        if addr % 3 == 0:
            await bank.idle()
        await bank.access(0, addr)
        await bank.access(0, 8)


@cocotb.test()
async def errors(dut: Any) -> None:
    """The counter: up to its limit, read and cleared, not touched by good accesses."""
    bank = Bank(dut, "errors")
    await bank.start()
    for count in (1, 2, 14, 15, 17):
        for k in range(count):
            await bank.access(k % 2, 0x0A if k % 3 else 0x31)
        await bank.access(1, 6)
        await bank.access(0, 6)
        await bank.access(0, 8)
        await bank.access(0, 8)
    await bank.access(1, 8, 7)
    await bank.idle(2)
    await bank.access(0, 8)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Asynchronous resets in idle, in setup, in a wait state and in the last cycle, with errors counted."""
    bank = Bank(dut, "resets")
    await bank.start()
    for turn in range(8):
        await bank.access(1, 2 * (turn % 4), 0xFFFF)
        await bank.access(0, 1)
        if turn % 4:
            await bank.cycle(1, 0, turn // 4, 2, 0x1234)
            for _ in range(min(turn % 4 - 1, bank.waits[turn >= 4])):
                await bank.cycle(1, 1, turn // 4, 2, 0x1234)
        if turn % 2:
            dut.psel.value = 0
            await settle()
            dut.pclk.value = 1
            await settle()
        dut.psel.value = dut.presetn.value = 0
        bank.clear()
        await settle()
        bank.check()
        dut.presetn.value = 1
        await settle()
        dut.pclk.value = 0
        await settle()
        bank.check()
        await bank.access(0, 8)
        await bank.access(turn % 2, 2)


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Random accesses, mostly good ones."""
    bank = Bank(dut, "traffic")
    await bank.start()
    for _ in range(60):
        addr = 2 * bank.draw.randrange(5) if bank.draw.randrange(8) else bank.draw.randrange(256)
        await bank.access(bank.draw.randrange(2), addr)
        await bank.idle(bank.draw.randrange(3) // 2)
