"""Follows candidates that stand beside the reference: imported by the harness, inside the simulator.

The test runs on a leader, at first the reference, and its members are the candidates that have shown the test the same
so far. Where a member shows something else, the process is forked: the child, in which everything is as it would be had
the test run on that member from the start, goes on with it as the leader and ends with its first failure; then the
parent goes on without it. Each process tells what became of its members when it ends, in one line of JSON.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import cocotb
import cocotb._shutdown
import cocotb.regression
import cocotb.simulator
from cocotb.simulator import get_sim_time

REFERENCE = -1
_RESULTS = "COCOTB_RESULTS_FILE"
_LOOKS = 256  # signals read or written between two settings of the timer
# What does not change while the simulation runs.
_CONSTANT = ("get_range", "get_num_elems", "get_const", "get_signed", "get_indexable")
_NAMES = ("get_name_string", "get_type_string", "get_definition_name", "get_definition_file")


class Patience:
    """Ends the process where it computes for long without coming back to the test: it loops."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = 0

    def renew(self) -> None:
        """The time begins anew; 0 seconds is no limit."""
        self._left = _LOOKS
        signal.setitimer(signal.ITIMER_VIRTUAL, self.seconds)

    def look(self) -> None:
        """The test is alive."""
        self._left -= 1
        if self._left < 0:
            self.renew()


class Company:
    """The candidates that this process follows.

    Attributes:
        leader: number of the candidate on which the test runs.
        members: bits of the candidates that have shown the same so far.
        failed: whether the leader has failed a test.
    """

    def __init__(self, count: int, tests: int, progress: int, patience: Patience) -> None:
        self.leader = REFERENCE
        self.members = (1 << count) - 1
        self.failed = False
        self.patience = patience
        self._tests, self._progress = tests, progress
        self._parent = os.environ[_RESULTS]
        # Whoever is woken by the design itself, and not by time, could look before a comparison is up to date.
        for name in ("register_value_change_callback", "register_nextstep_callback", "clock_create"):
            setattr(cocotb.simulator, name, lambda *_: leave())
        cocotb._shutdown.register(self._tell)

    def numbers(self) -> list[int]:
        """The members."""
        return [number for number in range(self.members.bit_length()) if self.members >> number & 1]

    def divide(self, shown: Callable[[int], Any]) -> None:
        """Part from the members that show the test something else than the leader does; returns in each child too."""
        own = shown(self.leader)
        others: dict[Any, int] = {}
        for number in self.numbers():
            value = shown(number)
            if value != own:
                others[value] = others.get(value, 0) | 1 << number
        for members in others.values():
            self.members &= ~members
            if self._fork(members):
                return
        if not self.members:
            leave()

    def end(self) -> None:
        """The leader has failed: no other test says more."""
        self.failed = True
        cocotb.regression._manager_inst._test_queue.clear()

    def _fork(self, members: int) -> bool:
        """Whether this is the child. Where that fails, or is killed, nothing is told of the members."""
        try:
            pid = os.fork()
        except OSError:
            return False
        if pid:
            os.waitpid(pid, 0)
            return False
        self.members = members
        self.leader = self.numbers()[0]
        os.environ[_RESULTS] = f"{self._parent}-{self.leader}"
        self.patience.renew()  # a timer is not inherited
        return True

    def _tell(self) -> NoReturn:
        """Called when cocotb has written its results file, or the simulation ended before."""
        try:
            results = Path(os.environ[_RESULTS]).read_text()
        except OSError:
            leave()
        line = {
            "followed": self.leader != REFERENCE,
            "members": self.numbers(),
            "tests": self._tests,
            "results": results,
        }
        os.write(self._progress, f"{json.dumps(line)}\n".encode())
        leave()


def leave() -> NoReturn:
    """End the process; whoever has not been told of is tested in another way."""
    os._exit(0)


class _Spy:
    """Stands between a port of the reference and the simulator, and notes what the test does and sees."""

    # The simulated time of the last write to any input.
    written: ClassVar[tuple[int, int] | None] = None

    def __init__(self, handle: Any, company: Company) -> None:
        self._handle, self._company = handle, company


class _Input(_Spy):
    def set_signal_val_int(self, action: int, value: int) -> None:
        _Spy.written = get_sim_time()
        self._company.patience.look()
        self._handle.set_signal_val_int(action, value)

    def set_signal_val_binstr(self, action: int, value: str) -> None:
        _Spy.written = get_sim_time()
        self._company.patience.look()
        self._handle.set_signal_val_binstr(action, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)


class _Output(_Spy):
    """An output: ``copies`` are the candidates' own, ``same`` has a bit for each that is like the reference's."""

    def __init__(self, handle: Any, company: Company, same: Any, copies: list[Any]) -> None:
        super().__init__(handle, company)
        self._same, self._copies = same, [*copies, handle]  # the reference's own is number -1

    def _shown(self, number: int) -> str:
        return str(self._copies[number].get_signal_val_binstr())

    def get_signal_val_binstr(self) -> str:
        if _Spy.written == get_sim_time():
            leave()
        company = self._company
        company.patience.look()
        if company.leader == REFERENCE:
            same = self._same.get_signal_val_binstr()
            if not same.isdecimal():  # not compared yet
                leave()
            if company.members & ~int(same, 2):
                company.divide(self._shown)
        elif company.members & company.members - 1:
            company.divide(self._shown)
        return self._shown(company.leader)

    def __getattr__(self, name: str) -> Any:
        if name not in _CONSTANT and name not in _NAMES:
            leave()
        return getattr(self._handle, name)


class _Closed:
    """In place of the instance of the reference: what is inside a design cannot be compared."""

    def __getattr__(self, name: str) -> Any:
        leave()


def watch(slot: Any, ports: list[str], inner: str, secret: str, company: Company) -> None:
    """Look at the members' interfaces, and put spies between the test and the reference.

    Raises:
        AssertionError: the leader, which may be another than before, has a port of another width.
    """
    instances = [getattr(slot, f"shadow{number}_{secret}") for number in range(company.members.bit_length())]
    instances.append(getattr(slot, inner))

    def widths(number: int) -> tuple[int, ...]:
        return tuple(len(getattr(instances[number], port)) for port in ports)

    count = len(instances) - 1
    company.divide(widths)
    for name in ports:
        port = getattr(slot, name)
        same = getattr(slot, f"same_{name}_{secret}", None)
        if same is None:
            spy: _Spy = _Input(port._handle, company)
        else:
            copies = [getattr(slot, f"{name}_{number}_{secret}")._handle for number in range(count)]
            spy = _Output(port._handle, company, same._handle, copies)
        object.__setattr__(port, "_handle", spy)
    check_widths(slot, instances[company.leader], ports)
    object.__setattr__(slot, inner, _Closed())
    slot.__class__ = type("Watched", (type(slot),), {"__iter__": lambda _: leave(), "_discover_all": lambda _: leave()})


def check_widths(outer: Any, inner: Any, ports: list[str]) -> None:
    """Fail unless each port of an instance is as wide as its slot's.

    Raises:
        AssertionError: one is not.
    """
    for port in ports:
        wanted, got = len(getattr(outer, port)), len(getattr(inner, port))
        if got != wanted:
            raise AssertionError(f"port {port} is {got} bit wide, expected {wanted}")
