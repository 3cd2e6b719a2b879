"""Runs a task's cocotb tests on every slot of a batch: cocotb imports this inside the simulator.

``batch.json`` in the working folder says what to run: ``{"module": test module, "inner": instance in a slot,
"slots": [[name, [ports]], ...], "timeout_us": simulated time of one test, "shadows": number of candidates beside the
reference, "secret": in the names around them, "patience": CPU seconds after which the simulator hangs, 0 for no
limit}``. Every test of every slot is a cocotb test of its own, named ``SLOT.TEST``, so that what one leaves running is
ended before the next begins. Before its tests a slot is looked at: are its ports as wide as the specification's? After
its first failure it is left alone.

The first line of the progress file is ``ready``, or what is wrong with the test module, ``{"fault": words}``. Its
import has a limit of its own: a module that computes for long there would take as long with every candidate.
"""

import importlib
import json
import os
import random
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import cocotb
import cocotb._shutdown
from cocotb._decorators import Test, TestGenerator
from cocotb.handle import LogicArrayObject, LogicObject, _GPISetAction
from verieval_following import Company, Patience, check_widths, leave, watch  # type: ignore[import-not-found]

_BATCH = json.loads(Path("batch.json").read_text())
_IMPORT_CPU = 5.0  # seconds of the test module's import, but no more than half of what the process has
_WALL_FACTOR = 10  # for one that sleeps
_failed: set[str] = set()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and a flood of output would go on for nothing
_progress = os.open(os.environ["VERIEVAL_PROGRESS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _tests() -> Iterator[Any]:
    made: list[Any] = []
    with _noted(made), _in_time():
        module = importlib.import_module(_BATCH["module"])
    _refuse_lost(made)
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


@contextmanager
def _noted(made: list[Any]) -> Iterator[None]:
    """Every test that is made meanwhile is added to ``made``, whatever becomes of it."""
    before = {kind: kind.__init__ for kind in (Test, TestGenerator)}

    def noting(begin: Callable[..., None]) -> Callable[..., None]:
        def note(self: Any, *args: Any, **kwargs: Any) -> None:
            begin(self, *args, **kwargs)
            made.append(self)

        return note

    for kind, begin in before.items():
        kind.__init__ = noting(begin)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for kind, begin in before.items():
            kind.__init__ = begin  # type: ignore[method-assign]


def _refuse_lost(made: list[Any]) -> None:
    """A test that no module has under any name would never be run, and nobody would know.

    Most often another of its name was defined after it. Who imports only some tests of a shared module loses none: the
    others have their names there.
    """
    own = [module for module in list(sys.modules.values()) if _is_bench(getattr(module, "__file__", None) or "")]
    kept = {id(item) for module in own for item in vars(module).values()}
    for test in made:
        if id(test) not in kept:
            code = getattr(test.func, "__code__", None)
            place = f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""
            _refuse(
                f"has a test called '{test.name}' that would never be run{place}: give each test of a module "
                "a name of its own there"
            )


@contextmanager
def _in_time() -> Iterator[None]:
    """Refuse the test module where this takes too long.

    The handler runs between two steps of Python's. What computes without any is ended by the limit, a moment later.
    """

    def refuse(number: int, frame: FrameType | None) -> None:
        often = number == signal.SIGPROF
        limit = f"{allowed:.3g} s of CPU time" if often else f"{allowed * _WALL_FACTOR:.3g} s"
        _refuse(f"cannot be imported: that takes more than {limit}{_own_line(traceback.extract_stack(frame))}")

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    allowed = _IMPORT_CPU if soft == resource.RLIM_INFINITY else min(_IMPORT_CPU, max(0.1, (soft - used) / 2))
    clocks = (
        (signal.SIGPROF, signal.ITIMER_PROF, allowed),
        (signal.SIGALRM, signal.ITIMER_REAL, allowed * _WALL_FACTOR),
    )
    end = int(used + allowed) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (end if soft == resource.RLIM_INFINITY else min(soft, end), hard))
    for number, clock, seconds in clocks:
        signal.signal(number, refuse)
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for number, clock, _ in clocks:
            signal.setitimer(clock, 0)
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _words(error: BaseException) -> str:
    """The last line of a traceback, and the line of the bench that it is about."""
    said = str(error).strip().splitlines() or [""]
    words = f"{type(error).__name__}: {said[-1]}".removesuffix(": ")[:300]
    if isinstance(error, SyntaxError):
        return words  # it says its place itself
    return words + _own_line(traceback.extract_tb(error.__traceback__))


def _own_line(places: traceback.StackSummary) -> str:
    own = [f"{Path(place.filename).name}, line {place.lineno}" for place in places if _is_bench(place.filename)]
    return f" ({own[-1]})" if own else ""


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
