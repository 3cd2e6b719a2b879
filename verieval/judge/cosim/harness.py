"""Runs a task's cocotb tests on every slot of a batch: cocotb imports this inside the simulator.

``batch.json`` in the working folder says what to run: ``{"module": test module, "inner": instance in a slot,
"slots": [[name, [ports]], ...], "timeout_us": simulated time of one test, "shadows": number of candidates beside the
reference, "secret": in the names around them, "patience": CPU seconds after which the simulator hangs, 0 for no
limit}``. Every test of every slot is a cocotb test of its own, named ``SLOT.TEST``, so that what one leaves running is
ended before the next begins. Before its tests a slot is looked at: are its ports as wide as the specification's? After
its first failure it is left alone.

The first line of the progress file is ``ready``, or what is wrong with the test module, ``{"fault": words}``.
"""

import importlib
import json
import os
import random
import signal
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import cocotb
import cocotb._shutdown
from cocotb._decorators import Test, TestGenerator
from cocotb.handle import LogicArrayObject, LogicObject, _GPISetAction
from verieval_following import Company, Patience, check_widths, leave, watch  # type: ignore[import-not-found]

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


def _checked_tests() -> list[Any]:
    """The tests of the module, which is refused where no candidate could be tested with it."""
    try:
        found = list(_tests())
    except BaseException as error:  # noqa: BLE001  whatever it raises is told, and ends the process
        _refuse(f"cannot be imported: {_words(error)}")
    if not found:
        _refuse("has no tests: mark at least one function with @cocotb.test()")
    for name, count in Counter(test.name for test in found).items():
        if count > 1:
            _refuse(f"has {count} tests called '{name}': give each its own name")
    os.write(_progress, b"ready\n")
    return found


def _words(error: BaseException) -> str:
    """The last line of a traceback, and the line of the bench that it is about."""
    said = str(error).strip().splitlines() or [""]
    words = f"{type(error).__name__}: {said[-1]}".removesuffix(": ")[:300]
    if isinstance(error, SyntaxError):
        return words  # it says its place itself
    places = traceback.extract_tb(error.__traceback__)
    own = [f"{Path(place.filename).name}, line {place.lineno}" for place in places if _is_bench(place.filename)]
    return f"{words} ({own[-1]})" if own else words


def _is_bench(path: str) -> bool:
    return Path(path).parent == Path.cwd() and not Path(path).name.startswith("verieval_")


def _refuse(words: str) -> NoReturn:
    os.write(_progress, f"{json.dumps({'fault': words})}\n".encode())
    os._exit(0)


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


_patience = Patience(_BATCH["patience"])


def _instance(dut: Any, slot: str) -> Any:
    return getattr(dut, f"{slot}_{_BATCH['secret']}")


def _widths(slot: str, ports: list[str]) -> Any:
    async def run(dut: Any) -> None:
        outer = _instance(dut, slot)
        _begin(slot)
        try:
            _quicken(outer, ports)
            if _company:
                watch(outer, ports, _BATCH["inner"], _BATCH["secret"], _company)
            else:
                check_widths(outer, getattr(outer, _BATCH["inner"]), ports)
        except BaseException:
            _fail(slot)
            raise

    return cocotb.test(name=f"{slot}.interface")(run)


def _bound(slot: str, test: Any) -> Any:
    async def run(dut: Any) -> None:
        if slot in _failed:
            return
        _begin("")
        random.seed(1)
        try:
            await test.func(_instance(dut, slot), *test.args, **test.kwargs)
        except BaseException:
            _fail(slot)
            raise

    return cocotb.test(name=f"{slot}.{test.name}", timeout_time=_BATCH["timeout_us"], timeout_unit="us")(run)


def _begin(slot: str) -> None:
    """Say who is at work, should the simulation end here."""
    _patience.renew()
    if slot and not _company:
        os.write(_progress, f"{slot}\n".encode())


def _fail(slot: str) -> None:
    _failed.add(slot)
    if _company:
        _company.end()


def _all() -> Iterator[Any]:
    for slot, ports in _BATCH["slots"]:
        yield _widths(slot, ports)
        for test in _listed:
            yield _bound(slot, test)


_listed = _checked_tests()
_company: Company | None = None
if _BATCH["shadows"]:
    _company = Company(_BATCH["shadows"], len(_listed) * len(_BATCH["slots"]), _progress, _patience)
elif _BATCH["patience"]:
    cocotb._shutdown.register(leave)  # nobody prints in a batch, so that there is nothing to end in order
globals().update({f"test_{number}": test for number, test in enumerate(_all())})
