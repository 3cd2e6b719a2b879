"""axil_regs: strobes, order of address and data, responses that wait, reads beside writes, the end of the bank."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import expect, expect_widths, rng, settle, strobe


class Bus:
    """Drives all channels at once; the model holds the bank as a bytearray and the places as optional values."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.draw, self.count = dut, rng(name), int(dut.COUNT.value)
        self.clear()
        self.rready = 0

    def clear(self) -> None:
        self.bank = bytearray(4 * self.count)
        self.address: int | None = None
        self.data: tuple[bytes, int] | None = None
        self.written = self.read = False
        self.bresp = self.rresp = self.rdata = 0

    def check(self) -> None:
        dut = self.dut
        expect(dut.awready, self.address is None)
        expect(dut.wready, self.data is None)
        expect(dut.arready, not self.read or self.rready)
        expect(dut.bvalid, self.written)
        expect(dut.bresp, self.bresp)
        expect(dut.rvalid, self.read)
        expect(dut.rdata, self.rdata)
        expect(dut.rresp, self.rresp)

    async def do(
        self, aw: int | None = None, w: int | None = None, ar: int | None = None, *,
        strb: int = 15, b: int = 1, r: int = 1, reset: int = 0, blind: bool = False,
    ) -> None:  # fmt: skip
        """One period. ``aw``, ``ar`` are addresses, ``w`` data, None for no valid; ``b``, ``r`` are the readies."""
        dut, noise = self.dut, self.draw.randrange
        dut.aresetn.value, dut.bready.value, dut.rready.value = not reset, b, r
        dut.awvalid.value, dut.wvalid.value, dut.arvalid.value = aw is not None, w is not None, ar is not None
        dut.awaddr.value = noise(64) if aw is None else aw
        dut.araddr.value = noise(64) if ar is None else ar
        dut.wdata.value = noise(1 << 32) if w is None else w
        dut.wstrb.value = noise(16) if w is None else strb
        self.rready = r

        def step() -> None:
            if reset:
                self.clear()
                return
            if r:
                self.read = False
            if ar is not None and not self.read:
                place = ar // 4 * 4
                known = place < len(self.bank)
                self.rdata = int.from_bytes(self.bank[place : place + 4], "little") if known else 0
                self.read, self.rresp = True, 0 if known else 2
            if b:
                self.written = False
            was_address, was_data = self.address, self.data
            if was_address is not None and was_data is not None and not self.written:
                place = was_address // 4 * 4
                known = place < len(self.bank)
                for k in range(4):
                    if known and was_data[1] >> k & 1:
                        self.bank[place + k] = was_data[0][k]
                self.written, self.bresp = True, 0 if known else 2
                self.address = self.data = None
            if aw is not None and was_address is None:
                self.address = aw
            if w is not None and was_data is None:
                self.data = (w.to_bytes(4, "little"), strb)

        await strobe(dut.aclk, (lambda: None) if blind else self.check, step)

    async def start(self) -> None:
        self.dut.aclk.value = 0
        expect_widths(self.dut, awaddr=6, araddr=6, wdata=32, wstrb=4, rdata=32, bresp=2, rresp=2, bvalid=1, rvalid=1)
        await self.do(4, 99, 4, reset=1, blind=True)
        await self.do(4, 99, 4, b=0, r=0, reset=1)
        await self.do()

    async def fill(self) -> None:
        for k in range(self.count):
            await self.do(4 * k, self.draw.randrange(1 << 32))
            await self.do()


@cocotb.test()
async def whole_bank(dut: Any) -> None:
    """Every address written and read in a row, those that do not exist included; after a reset all is 0."""
    bus = Bus(dut, "whole_bank")
    await bus.start()
    for k in range(16):
        await bus.do(4 * k + k % 4, bus.draw.randrange(1 << 32))
        await bus.do(ar=4 * k)
        await bus.do(ar=4 * k + 3)
    for k in range(16):
        await bus.do(ar=4 * k)
    await bus.do(4, 0x12345678, 0)
    await bus.do(8, 0x9ABCDEF0, 8, b=0, r=0)
    await bus.do(0, 0xFFFFFFFF, 0, reset=1)
    for k in range(bus.count):
        await bus.do(ar=4 * k)
    await bus.do()


@cocotb.test()
async def strobes(dut: Any) -> None:
    """Each pattern of strobes on old values that differ in all bytes."""
    bus = Bus(dut, "strobes")
    await bus.start()
    await bus.fill()
    for strb in range(16):
        place = 4 * (strb % bus.count)
        await bus.do(place, bus.draw.randrange(1 << 32), strb=strb)
        await bus.do(ar=place)  # the old value: the write is carried out at this edge
        await bus.do(ar=place)
    await bus.do()


@cocotb.test()
async def order(dut: Any) -> None:
    """Address first, data first, both at once; a valid that is taken back; each response late."""
    bus = Bus(dut, "order")
    await bus.start()
    for late in range(4):
        await bus.do(aw=4)
        for _ in range(late):
            await bus.do(aw=8)
        await bus.do(w=0x11111111 * (late + 1), b=0)
        for _ in range(late):
            await bus.do(b=0)
        await bus.do(w=0xCAFE0000 + late, strb=5, b=0)
        for _ in range(late):
            await bus.do(w=0, b=0)
        await bus.do(aw=8, b=0)
        await bus.do(ar=4, b=0)
        await bus.do(63, 7, 8, b=late % 2)
        await bus.do(ar=8, b=0, r=0)
        await bus.do(4, 5, 4, b=0, r=0)
        await bus.do(4, 6, 60, b=0, r=0)
        await bus.do(ar=60, b=late // 2, r=1)
        for _ in range(3):
            await bus.do(ar=4 if late % 2 else None)
        await bus.do(r=0)


@cocotb.test()
async def at_once(dut: Any) -> None:
    """arready follows rready without an edge; the other outputs follow nothing."""
    bus = Bus(dut, "at_once")
    await bus.start()
    for filled in (False, True):
        if filled:
            await bus.do(4, 5, 4, b=0, r=0)
            await bus.do(8, 6, b=0, r=0)
            await bus.do(8, 6, b=0, r=0)
        for value in (1, 0, 1, 0):
            bus.rready = value
            for port in (dut.rready, dut.bready, dut.awvalid, dut.wvalid, dut.arvalid, dut.aresetn):
                port.value = value
            await settle()
            bus.check()


@cocotb.test()
async def traffic(dut: Any) -> None:
    """Everything at random, with partners that are willing and such that are not."""
    bus = Bus(dut, "traffic")
    await bus.start()
    draw = bus.draw
    for k in range(270):
        eager = (3, 1)[k // 60 % 2]
        await bus.do(
            draw.randrange(4 * bus.count + 4) % 64 if draw.randrange(2) else None,
            draw.randrange(1 << 32) if draw.randrange(2) else None,
            draw.randrange(4 * bus.count + 4) % 64 if draw.randrange(2) else None,
            strb=draw.randrange(16), b=int(draw.randrange(4) < eager), r=int(draw.randrange(4) < eager),
            reset=int(draw.randrange(90) == 0),
        )  # fmt: skip
