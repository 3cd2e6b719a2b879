"""What the tests of several tasks share: reading outputs, clocks, resets, seeded random numbers.

A test gets a handle to one instance of the design and touches nothing else. Everything here follows one rule: inputs
change while the clock is low, outputs are looked at before they change, so that no order of processes matters.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

PERIOD = 10  # ns


def read(handle: Any) -> int:
    """The unsigned value of an output; an X or Z in it fails the test, with the port's name."""
    bits = handle._handle.get_signal_val_binstr()  # what `handle.value` is made of, in a fifth of the time
    try:
        return int(bits, 2)
    except ValueError:
        raise AssertionError(f"{handle._name} is {bits}") from None


def read_signed(handle: Any) -> int:
    """The two's complement value of an output; an X or Z in it fails the test."""
    value, width = read(handle), len(handle)
    return value - (value >> (width - 1) << width)


def expect(handle: Any, wanted: int, when: str = "") -> None:
    """Fail unless an output has the value, telling both and when it was."""
    got = read(handle)
    assert got == wanted, f"{handle._name} is {got:#x}, expected {wanted:#x}{' ' + when if when else ''}"


def start_clock(clk: Any, period: int = PERIOD) -> Any:
    """Start a clock that begins low, so that the first edge rises half a period from now."""
    return Clock(clk, period, unit="ns").start(start_high=False)


async def settle(time: int = 1) -> None:
    """Let combinational outputs follow; 2 where a delay of one unit in the design shall do no harm."""
    await Timer(time, unit="ns")


async def cycle(clk: Any, count: int = 1) -> None:
    """Let ``count`` rising edges pass; ends after a falling edge, where inputs may change and outputs are stable."""
    for _ in range(count):
        await RisingEdge(clk)
    await FallingEdge(clk)


def rng(name: str) -> random.Random:
    """Random numbers that are the same in every run: one stream a test, named for it."""
    return random.Random(zlib.crc32(name.encode()))


def expect_widths(dut: Any, **widths: int) -> None:
    """Fail unless every named port has its width: ``expect_widths(dut, data=8)``."""
    for name, wanted in widths.items():
        port = getattr(dut, name, None)
        assert port is not None, f"there is no port {name}"
        assert len(port) == wanted, f"{name} is {len(port)} bit wide, expected {wanted}"


async def strobe(clk: Any, check: Callable[[], None], step: Callable[[], None]) -> None:
    """One period of a clock driven by hand, which is low and whose inputs were just set.

    ``check`` compares the outputs before the rising edge and after it, ``step`` advances the model in between. Ends
    with the clock low again, where inputs may change.
    """
    await Timer(4, unit="ns")
    check()
    clk.value = 1
    step()
    await Timer(4, unit="ns")
    check()
    clk.value = 0
    await Timer(2, unit="ns")


def drive(dut: Any, **values: int) -> None:
    """Set inputs, each named with its value."""
    for name, value in values.items():
        getattr(dut, name).value = value


def expect_all(dut: Any, wanted: dict[str, int], when: str = "") -> None:
    """Fail unless every output named has its value."""
    for name, value in wanted.items():
        expect(getattr(dut, name), value, when)


class Lockstep:
    """An instance and a model of it, driven side by side; the test drives the clock itself.

    The model is any object with ``outputs(inputs)``, the expected value of each output that means something now (for
    the inputs given), ``edge(inputs)``, what a rising edge does, and ``settle(inputs)`` where inputs act without one
    (an asynchronous reset). ``widths`` names every port but the clock.
    """

    def __init__(self, dut: Any, model: Any, widths: dict[str, int], clk: str | None = "clk") -> None:
        self.model = model
        self.masks = {name: (1 << width) - 1 for name, width in widths.items()}
        expect_widths(dut, **widths)
        self.ports = {name: getattr(dut, name) for name in widths}
        self.clk = getattr(dut, clk) if clk else None
        self.inputs: dict[str, int] = {}
        self.edges = 0
        self.settle = getattr(model, "settle", None)

    def set(self, **changes: int) -> None:
        """Set inputs, without waiting; negative values are two's complement."""
        for name, value in changes.items():
            if self.inputs.get(name) != value:
                self.inputs[name] = value
                self.ports[name].value = value & self.masks[name]

    def look(self, when: str) -> None:
        """Compare all outputs with the model's."""
        if self.settle:
            self.settle(self.inputs)
        for name, wanted in self.model.outputs(self.inputs).items():
            got, wanted = read(self.ports[name]), int(wanted) & self.masks[name]
            assert got == wanted, f"{name} is {got:#x}, expected {wanted:#x} {when} edge {self.edges}"

    async def start(self, **inputs: int) -> None:
        """The first clock period: sets every input, the clock low; nothing is compared before its rising edge."""
        self.clk.value = 0
        self.set(**inputs)
        await self._period(check=False)

    async def tick(self, high: dict[str, int] | None = None, **changes: int) -> None:
        """A clock period with some inputs changed, outputs compared before and after the rising edge.

        ``high`` changes inputs while the clock is high (asynchronous ones) and compares once more.
        """
        self.set(**changes)
        await self._period(high=high)

    async def ticks(self, count: int, **changes: int) -> None:
        """Some periods with the same inputs."""
        for _ in range(count):
            await self.tick(**changes)

    async def poke(self, **changes: int) -> None:
        """Change inputs while the clock is low, and compare: no edge."""
        self.set(**changes)
        await Timer(2, unit="ns")
        self.look("before")

    async def _period(self, check: bool = True, high: dict[str, int] | None = None) -> None:
        await Timer(2, unit="ns")
        if check:
            self.look("before")
        self.clk.value = 1
        self.edges += 1
        self.model.edge(self.inputs)
        await Timer(3, unit="ns")
        self.look("after")
        if high:
            self.set(**high)
            await Timer(2, unit="ns")
            self.look("after")
        self.clk.value = 0
        await Timer(2, unit="ns")
