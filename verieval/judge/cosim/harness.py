"""Runs a task's cocotb tests on every slot of a batch: cocotb imports this inside the simulator.

``batch.json`` in the working folder says what to run: ``{"module": test module, "inner": instance in a slot,
"slots": [[name, [ports]], ...], "timeout_us": simulated time of one test, "shadows": number of candidates beside the
reference}``. Every test of every slot is a cocotb test
of its own, named ``SLOT.TEST``, so that what one leaves running is ended before the next begins. Before its tests a
slot is looked at: are its ports as wide as the specification's? After its first failure it is left alone.
"""

import importlib
import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import cocotb
from cocotb._decorators import Test, TestGenerator
from cocotb.handle import LogicArrayObject, LogicObject, _GPISetAction
from cocotb.simulator import get_sim_time

_BATCH = json.loads(Path("batch.json").read_text())
_failed: set[str] = set()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and a flood of output would go on for nothing
_progress = os.open(os.environ["VERIEVAL_PROGRESS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _tests() -> Iterator[Any]:
    module = importlib.import_module(_BATCH["module"])
    for item in vars(module).values():
        if isinstance(item, Test):
            yield item
        elif isinstance(item, TestGenerator):
            yield from item.generate_tests()


class _Bit(LogicObject):
    """A signal of one bit. Writing an integer takes a fifth of the time, and does what it always does."""

    @property
    def value(self) -> Any:
        return self.get()

    @value.setter
    def value(self, value: Any) -> None:
        if type(value) in _INTEGERS and 0 <= value <= 1:
            self._handle.set_signal_val_int(_DEPOSIT, int(value))
        else:
            self.set(value)


class _Bits(LogicArrayObject):
    """A signal of at most 31 bits, likewise."""

    _limit: int

    @property
    def value(self) -> Any:
        return self.get()

    @value.setter
    def value(self, value: Any) -> None:
        if type(value) in _INTEGERS and 0 <= value < self._limit:
            self._handle.set_signal_val_int(_DEPOSIT, value)
        else:
            self.set(value)


_DEPOSIT = _GPISetAction.DEPOSIT.value
_INTEGERS = (int, bool)


def _quicken(slot: Any, ports: list[str]) -> None:
    """Ports become plain attributes of the slot, so that looking one up costs nothing, and writing one little."""
    for name in ports:
        port = getattr(slot, name)
        if type(port) is LogicObject:
            port.__class__ = _Bit
        elif type(port) is LogicArrayObject and len(port) < 32:
            limit = 1 << len(port)
            port.__class__ = _Bits
            object.__setattr__(port, "_limit", limit)
        object.__setattr__(slot, name, port)


class _Spy:
    """Stands between a port of the reference and the simulator, and notes what the test does and sees."""

    # The simulated time of the last write to any input.
    written: ClassVar[tuple[int, int] | None] = None

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


class _Input(_Spy):
    def set_signal_val_int(self, action: int, value: int) -> None:
        _Spy.written = get_sim_time()
        self._handle.set_signal_val_int(action, value)

    def set_signal_val_binstr(self, action: int, value: str) -> None:
        _Spy.written = get_sim_time()
        self._handle.set_signal_val_binstr(action, value)


class _Output(_Spy):
    def __init__(self, handle: Any, same: Any, agreed: "_Agreed") -> None:
        super().__init__(handle)
        self._same, self._agreed = same, agreed

    def get_signal_val_binstr(self) -> str:
        if _Spy.written == get_sim_time():
            self._agreed.sound = False
        same = self._same.get_signal_val_binstr()
        if same != self._agreed.all:
            self._agreed.among &= int(same, 2)
        return str(self._handle.get_signal_val_binstr())


class _Agreed:
    """Which candidates had the reference's values so far (bit by number), and whether that is sound to say."""

    def __init__(self, count: int) -> None:
        self.all = "1" * count
        self.among = (1 << count) - 1
        self.sound = True


_agreed = _Agreed(_BATCH["shadows"])


def _watch(slot: Any, ports: list[str]) -> None:
    """Put spies between the test and the reference; a candidate with another interface agrees on nothing."""
    for number in range(_BATCH["shadows"]):
        shadow = getattr(slot, f"shadow{number}")
        if any(len(getattr(shadow, port)) != len(getattr(slot, port)) for port in ports):
            _agreed.among &= ~(1 << number)
    for name in ports:
        port = getattr(slot, name)
        same = getattr(slot, f"same_{name}", None)
        spy = _Input(port._handle) if same is None else _Output(port._handle, same._handle, _agreed)
        object.__setattr__(port, "_handle", spy)


def _widths(slot: str, ports: list[str]) -> Any:
    async def run(dut: Any) -> None:
        os.write(_progress, f"{slot}\n".encode())  # who is at work, should the simulation end here
        outer = getattr(dut, slot)
        inner = getattr(outer, _BATCH["inner"])
        for port in ports:
            wanted, got = len(getattr(outer, port)), len(getattr(inner, port))
            if got != wanted:
                _failed.add(slot)
                raise AssertionError(f"port {port} is {got} bit wide, expected {wanted}")
        _quicken(outer, ports)
        if _BATCH["shadows"]:
            _watch(outer, ports)

    return cocotb.test(name=f"{slot}.interface")(run)


def _bound(slot: str, test: Any) -> Any:
    async def run(dut: Any) -> None:
        if slot in _failed:
            return
        random.seed(1)
        try:
            await test.func(getattr(dut, slot), *test.args, **test.kwargs)
        except BaseException:
            _failed.add(slot)
            raise
        finally:
            if _BATCH["shadows"]:
                os.write(_progress, f"{_agreed.among} {int(_agreed.sound)}\n".encode())

    return cocotb.test(name=f"{slot}.{test.name}", timeout_time=_BATCH["timeout_us"], timeout_unit="us")(run)


def _all() -> Iterator[Any]:
    tests = list(_tests())
    for slot, ports in _BATCH["slots"]:
        yield _widths(slot, ports)
        for test in tests:
            yield _bound(slot, test)


globals().update({f"test_{number}": test for number, test in enumerate(_all())})
