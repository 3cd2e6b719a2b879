"""What a design is fed and what its model expects, as rows for a test bench.

A row is one clock cycle (or one set of inputs, where there is no clock): inputs change, outputs are compared, the clock
rises, outputs are compared again. Undefined outputs are masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from finetune.data.synth.design import Family, Outputs, Pin, mask

_PHASE = 20  # cycles for which an input keeps its habit
_HABITS = (0.1, 0.5, 0.5, 0.9)


@dataclass(frozen=True)
class Vectors:
    """Rows for a bench.

    Attributes:
        inputs, outputs: the ports, without the clock, in the order in which they are packed, first one highest.
        rows: inputs; expected outputs and their mask before the clock edge, and after it.
        clocked: there is a clock.
    """

    inputs: tuple[Pin, ...]
    outputs: tuple[Pin, ...]
    rows: tuple[tuple[int, int, int, int, int], ...]
    clocked: bool

    @property
    def in_bits(self) -> int:
        """Width of all inputs together."""
        return sum(pin.width for pin in self.inputs)

    @property
    def out_bits(self) -> int:
        """Width of all outputs together."""
        return sum(pin.width for pin in self.outputs)

    def packed(self) -> str:
        """Rows as hexadecimal words: inputs, expected, mask, expected, mask."""
        wide = self.out_bits
        digits = (self.in_bits + 4 * wide + 3) // 4
        lines = []
        for given, *expected in self.rows:
            word = given
            for part in expected:
                word = word << wide | part
            lines.append(f"{word:0{digits}x}")
        return "\n".join(lines)


def make_vectors(family: Family, rng: Random) -> Vectors:
    """Feed the model at random and write down what it says.

    A reset comes first and now and then in the first half; none in the second, so that what takes long is reached.
    """
    inputs = tuple(pin for pin in family.pins if pin.direction == "input" and pin.role != "clk")
    outputs = tuple(pin for pin in family.pins if pin.direction == "output")
    rows = tuple(
        _combinational(family, inputs, outputs, rng) if not family.clocked else _clocked(family, inputs, outputs, rng)
    )
    return Vectors(inputs, outputs, rows, family.clocked)


def _combinational(
    family: Family, inputs: Sequence[Pin], outputs: Sequence[Pin], rng: Random
) -> Iterator[tuple[int, int, int, int, int]]:
    feed = _Feed(family, inputs, rng)
    for _ in range(family.cycles):
        given = feed.next()
        value, care = _pack(outputs, family.outs({}, given))
        yield _join(inputs, given), value, care, value, care


def _clocked(
    family: Family, inputs: Sequence[Pin], outputs: Sequence[Pin], rng: Random
) -> Iterator[tuple[int, int, int, int, int]]:
    feed = _Feed(family, inputs, rng)
    reset = family.reset
    unknown = reset.kind == "sync"
    state = family.start()
    total = family.cycles
    for cycle in range(total):
        given = feed.next()
        active = reset.kind != "none" and (cycle < 2 or (cycle < total // 2 and rng.random() < 0.04))
        if reset.kind != "none":
            given["rst"] = int(active != reset.low)
        if active and reset.kind == "async":
            state = family.start()
        before = (0, 0) if unknown else _pack(outputs, family.outs(state, given))
        state = family.settle(given) if active else family.step(state, given)
        unknown = False
        yield (_join(inputs, given), *before, *_pack(outputs, family.outs(state, given)))


class _Feed:
    """Inputs with habits: bits that are mostly set or mostly not for a while, words with telling values."""

    def __init__(self, family: Family, inputs: Sequence[Pin], rng: Random) -> None:
        self.family = family
        self.inputs = [pin for pin in inputs if pin.role != "rst"]
        self.rng = rng
        self.count = 0
        self.last: dict[str, int] = {}
        self.habits: dict[str, float] = {}

    def next(self) -> dict[str, int]:
        rng = self.rng
        if self.count % _PHASE == 0:
            self.habits = {
                pin.role: rng.choice(_HABITS) if (own := self.family.busy(pin.role)) is None else own
                for pin in self.inputs
                if pin.width == 1
            }
        self.count += 1
        given: dict[str, int] = {}
        for pin in self.inputs:
            given[pin.role] = int(rng.random() < self.habits[pin.role]) if pin.width == 1 else self._word(pin, given)
        self.last = given
        return dict(given)

    def _word(self, pin: Pin, given: dict[str, int]) -> int:
        rng, full = self.rng, mask(pin.width)
        kind = rng.random()
        common = self.family.common(pin.role)
        if common and kind < 0.6:
            return rng.choice(common) & full
        if kind < 0.1:
            return 0
        if kind < 0.2:
            return full
        if kind < 0.3:
            return rng.choice(
                (1 << pin.width - 1, full >> 1, rng.getrandbits(pin.width) & 3, 1 << rng.randrange(pin.width))
            )
        if kind < 0.4 and self.last:
            return self.last[pin.role]
        if kind < 0.55:
            near = [given[other.role] for other in self.inputs if other.role in given and other.width == pin.width]
            if near:
                return (rng.choice(near) + rng.choice((0, 0, 1, -1))) & full
        return rng.getrandbits(pin.width)


def _join(pins: Sequence[Pin], values: dict[str, int]) -> int:
    word = 0
    for pin in pins:
        word = word << pin.width | values[pin.role] & mask(pin.width)
    return word


def _pack(pins: Sequence[Pin], values: Outputs) -> tuple[int, int]:
    word = care = 0
    for pin in pins:
        value, full = values[pin.role], mask(pin.width)
        word = word << pin.width | (0 if value is None else value & full)
        care = care << pin.width | (0 if value is None else full)
    return word, care
