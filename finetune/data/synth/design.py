"""What a family of designs is: parameters that say everything, a description, code, and a model in Python.

A family is a frozen dataclass. Its fields are the parameters of one design; ``draw`` chooses them. Ports are known by
their *role*, which never changes; what they are called in one pair is drawn apart (:mod:`finetune.data.synth.names`),
so that description and code follow from parameters, names and a source of randomness, and the model knows no names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from finetune.data.synth.style import Style
    from finetune.data.synth.words import Words

State = dict[str, Any]
Inputs = Mapping[str, int]
Outputs = dict[str, int | None]  # None: undefined, so not compared


@dataclass(frozen=True)
class Pin:
    """A port, or with the direction ``internal`` a signal of the module's own.

    Attributes:
        role: its name in the family's code and model.
        pool: key of the names that suit it (:data:`finetune.data.synth.names.POOLS`).
    """

    role: str
    direction: Literal["input", "output", "internal"]
    width: int
    pool: str
    signed: bool = False


class Names:
    """Role to name; ``names.role`` is short for ``names["role"]``."""

    def __init__(self, roles: Mapping[str, str] | None = None) -> None:
        self._roles = dict(roles or {})

    def __getitem__(self, role: str) -> str:
        return self._roles[role]

    def __setitem__(self, role: str, name: str) -> None:
        self._roles[role] = name

    def __contains__(self, role: object) -> bool:
        return role in self._roles

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self._roles == other._roles

    def __repr__(self) -> str:
        return f"Names({self._roles})"

    def __getattr__(self, role: str) -> str:
        try:
            return self.__dict__["_roles"][role]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(role) from None


@dataclass(frozen=True)
class Reset:
    """How a design is reset; ``kind`` ``none`` has no reset at all."""

    kind: Literal["sync", "async", "none"]
    low: bool = False

    @property
    def pins(self) -> tuple[Pin, ...]:
        """The reset input, where there is one."""
        return () if self.kind == "none" else (Pin("rst", "input", 1, "rst_n" if self.low else "rst"),)

    @staticmethod
    def draw(rng: Random, *, optional: bool = False) -> Reset:
        """Choose one; ``optional`` allows for none."""
        if optional and rng.random() < 0.15:
            return Reset("none")
        return Reset("async" if rng.random() < 0.5 else "sync", rng.random() < 0.5)


@dataclass(frozen=True)
class Spec:
    """What a description says, before it is laid out.

    Attributes:
        noun: what the design is: ``an 8-bit counter with enable``.
        verb: what it does, after ``that``: ``counts rising edges``.
        facts: sentences; together with ``reset`` they say everything.
        notes: role to a remark about a port.
        reset: what holds while the design is reset: ```q` is 0``; empty without a reset.
        rules: what happens at a clock edge, as conditions and actions of which the first that applies counts.
        table: header and rows of a table that belongs to the facts.
    """

    noun: str
    verb: str
    facts: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    reset: str = ""
    rules: tuple[tuple[str, str], ...] = ()
    table: tuple[tuple[str, ...], ...] = ()


class Family(ABC):
    """A kind of design; subclasses are frozen dataclasses of its parameters."""

    name: ClassVar[str]
    share: ClassVar[float] = 1.0
    clocked: ClassVar[bool] = False
    reset: Reset = Reset("none")

    @classmethod
    @abstractmethod
    def draw(cls, rng: Random) -> Self:
        """Choose parameters."""

    @property
    @abstractmethod
    def pins(self) -> tuple[Pin, ...]:
        """Ports in order, then internal signals."""

    @abstractmethod
    def describe(self, n: Names, w: Words) -> Spec:
        """What to build, in words."""

    @abstractmethod
    def code(self, n: Names, s: Style) -> str:
        """The module."""

    @property
    def cycles(self) -> int:
        """Length of a simulation that reaches everything."""
        return 160 if self.clocked else 64

    def start(self) -> State:
        """State in reset, or at power-up where there is no reset (None is undefined)."""
        return {}

    def settle(self, i: Inputs) -> State:
        """State after a rising clock edge in reset; inputs matter where a register has none."""
        return self.start()

    @abstractmethod
    def outs(self, state: State, i: Inputs) -> Outputs:
        """Outputs from state and inputs."""

    def step(self, state: State, i: Inputs) -> State:
        """State after a rising clock edge, not in reset."""
        return state

    def busy(self, role: str) -> float | None:
        """How often a simulation sets a one-bit input, where one half would not reach enough."""
        return None

    def common(self, role: str) -> tuple[int, ...]:
        """Values of an input that a simulation should try more often than chance does."""
        return ()


@dataclass(frozen=True)
class Clocked(Family):
    """A family with a clock and a reset."""

    clocked: ClassVar[bool] = True
    reset: Reset = field()

    @property
    def head(self) -> tuple[Pin, ...]:
        """Clock and reset."""
        return (Pin("clk", "input", 1, "clk"), *self.reset.pins)


def mask(width: int) -> int:
    """All ones."""
    return (1 << width) - 1


def signed(value: int, width: int) -> int:
    """The two's complement number that ``width`` bits stand for."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def pin(role: str, direction: Literal["input", "output", "internal"], width: int = 1, pool: str = "") -> Pin:
    """A port whose names are those of ``pool``, by default the role's own."""
    return Pin(role, direction, width, pool or role)


def inp(role: str, width: int = 1, pool: str = "") -> Pin:
    """An input."""
    return pin(role, "input", width, pool)


def out(role: str, width: int = 1, pool: str = "") -> Pin:
    """An output."""
    return pin(role, "output", width, pool)


def own(role: str, width: int = 1, pool: str = "") -> Pin:
    """A signal of the module's own."""
    return pin(role, "internal", width, pool)
