"""A netlist as a machine in three-valued logic: outputs and next state from inputs and state, over any graph.

Fed with constants it is a simulator, fed with literals of a graph it is a transition relation; one definition serves
both. There are two ways to see time (:class:`Pace`):

``cycle``
    A step sets the inputs; then the clock ticks, or may tick. For flip-flops on one edge of one clock port that does
    nothing else.
``sampled``
    A step sets the inputs, clocks among them, and a flip-flop takes what its input was one step before the edge. For
    everything else: several clocks, both edges, derived and gated clocks, latches beside flip-flops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from verieval.judge.aig import CONSTANT, ONE, ZERO, Aig, Three, X, not3
from verieval.judge.netlist import GATES, Bit, Cell, Netlist

Style = Literal["cycle", "sampled"]
Key = tuple[str, int]  # what is stored, and the wire that it is stored of
State = dict[Key, Three]

_FLOP = re.compile(r"\$_DFF_([NP])(?:([NP])([01]))?_")
_ALDFF = re.compile(r"\$_ALDFF_([NP])([NP])_")
_DFFSR = re.compile(r"\$_DFFSR_([NP])([NP])([NP])_")
_LATCH = re.compile(r"\$_DLATCH_([NP])(?:([NP])([01]))?_")
_LATCHSR = re.compile(r"\$_DLATCHSR_([NP])([NP])([NP])_")
_SR = re.compile(r"\$_SR_([NP])([NP])_")

_BINARY: Mapping[str, Callable[[Aig, Three, Three], Three]] = {
    "$_AND_": lambda g, a, b: g.and3(a, b),
    "$_NAND_": lambda g, a, b: not3(g.and3(a, b)),
    "$_OR_": lambda g, a, b: g.or3(a, b),
    "$_NOR_": lambda g, a, b: not3(g.or3(a, b)),
    "$_XOR_": lambda g, a, b: g.xor3(a, b),
    "$_XNOR_": lambda g, a, b: not3(g.xor3(a, b)),
    "$_ANDNOT_": lambda g, a, b: g.and3(a, not3(b)),
    "$_ORNOT_": lambda g, a, b: g.or3(a, not3(b)),
}


class Unsupported(Exception):
    """The netlist holds what this cannot model; the message is the reason."""


@dataclass(frozen=True)
class Signal:
    """A control: a wire that acts while it is 1, or while it is 0."""

    bit: Bit
    high: bool


@dataclass(frozen=True)
class Store:
    """A flip-flop or a latch.

    Attributes:
        q: the wire that it drives.
        data: the wire that it takes.
        clock: of a flip-flop: ``high`` is the rising edge.
        enable: of a latch.
        forces: what overrules both at once, strongest first: while the signal acts, the value is that of the bit.
        latch: it is one.
    """

    q: int
    data: Bit
    clock: Signal | None
    enable: Signal | None
    forces: tuple[tuple[Signal, Bit], ...]

    @property
    def latch(self) -> bool:
        """It has no clock."""
        return self.clock is None


def read_store(cell: Cell) -> Store:
    """What a cell that stores does.

    Raises:
        Unsupported: it is of a type that is not known here.
    """
    q, pins = cell.output, cell.pins
    forces: tuple[tuple[Signal, Bit], ...]
    assert isinstance(q, int)

    def signal(pin: str, polarity: str) -> Signal:
        return Signal(pins[pin], polarity == "P")

    if match := _FLOP.fullmatch(cell.type):
        forces = ((signal("R", match[2]), match[3]),) if match[2] else ()
        return Store(q, pins["D"], signal("C", match[1]), None, forces)
    if match := _ALDFF.fullmatch(cell.type):
        return Store(q, pins["D"], signal("C", match[1]), None, ((signal("L", match[2]), pins["AD"]),))
    if match := _DFFSR.fullmatch(cell.type):
        forces = ((signal("R", match[3]), "0"), (signal("S", match[2]), "1"))
        return Store(q, pins["D"], signal("C", match[1]), None, forces)
    if match := _LATCH.fullmatch(cell.type):
        forces = ((signal("R", match[2]), match[3]),) if match[2] else ()
        return Store(q, pins["D"], None, signal("E", match[1]), forces)
    if match := _LATCHSR.fullmatch(cell.type):
        forces = ((signal("R", match[3]), "0"), (signal("S", match[2]), "1"))
        return Store(q, pins["D"], None, signal("E", match[1]), forces)
    if match := _SR.fullmatch(cell.type):
        return Store(q, "0", None, Signal("0", True), ((signal("R", match[2]), "0"), (signal("S", match[1]), "1")))
    raise Unsupported(f"it holds a cell of type {cell.type}")


@dataclass(frozen=True)
class Machine:
    """A netlist with its stores read."""

    netlist: Netlist
    stores: Mapping[int, Store]

    def initial(self, style: Style) -> State:
        """The state before the first step: what the text initialises, and x."""
        state: State = {}
        for q, store in self.stores.items():
            state["q", q] = CONSTANT[self.netlist.initial.get(q, "x")]
            if style == "sampled" and store.clock is not None:
                state["data", q] = X
                state["clock", q] = ONE if store.clock.high else ZERO  # so that the first step is no edge
        return state

    def step(
        self, aig: Aig, style: Style, inputs: Mapping[Bit, Three], state: Mapping[Key, Three], tick: Three = ONE
    ) -> tuple[dict[Bit, Three], State]:
        """One step: values of all wires that matter, and the next state.

        Args:
            aig: the graph that literals belong to.
            style: how time is seen.
            inputs: values of the input ports' wires.
            state: values by what is stored.
            tick: of ``cycle``: the clock ticks at the end of the step.

        Raises:
            Loop: outputs or state depend on themselves at once.
        """
        values: dict[Bit, Three] = {"z": X, **inputs}
        values.update(CONSTANT.items())

        def value(bit: Bit) -> Three:
            return values.get(bit, X)  # a wire that nothing drives

        def acts(signal: Signal) -> Three:
            return value(signal.bit) if signal.high else not3(value(signal.bit))

        def forced(store: Store, otherwise: Three) -> Three:
            for signal, bit in reversed(store.forces):
                otherwise = aig.mux3(acts(signal), value(bit), otherwise)
            return otherwise

        def held(store: Store) -> Three:
            before = state["q", store.q]
            if store.enable is not None:
                return forced(store, aig.mux3(acts(store.enable), value(store.data), before))
            if style == "sampled":
                assert store.clock is not None
                was = state["clock", store.q]
                edge = aig.and3(acts(store.clock), not3(was) if store.clock.high else was)
                before = aig.mux3(edge, state["data", store.q], before)
            return forced(store, before)

        for cell in self.netlist.order(self._roots(), lambda cell: self._through(cell, style)):
            store = self.stores.get(cell.output) if isinstance(cell.output, int) else None
            values[cell.output] = held(store) if store is not None else _gate(aig, cell, value)

        after: State = {}
        for q, store in self.stores.items():
            after["q", q] = values[q]
            if style == "sampled" and store.clock is not None:
                after["data", q], after["clock", q] = value(store.data), value(store.clock.bit)
            elif store.clock is not None:
                after["q", q] = aig.mux3(tick, forced(store, value(store.data)), values[q])
        return values, after

    def _roots(self) -> list[Bit]:
        ports = [
            bit for port in self.netlist.ports if port.direction == "output" for bit in self.netlist.bits[port.name]
        ]
        return [*ports, *(bit for cell in self.netlist.stores for bit in (cell.output, *cell.inputs))]

    def _through(self, cell: Cell, style: Style) -> tuple[Bit, ...]:
        """What a cell's output depends on within a step."""
        store = self.stores.get(cell.output) if isinstance(cell.output, int) else None
        if store is None:
            return cell.inputs
        forces = tuple(bit for signal, value in store.forces for bit in (signal.bit, value))
        if store.enable is not None:
            return (*forces, store.enable.bit, store.data)
        assert store.clock is not None
        return (*forces, store.clock.bit) if style == "sampled" else forces

    def cone(self, bits: list[Bit]) -> set[Bit]:
        """Wires that ``bits`` depend on without a store between them, they themselves and stores among them."""
        found: set[Bit] = set()
        waiting = list(bits)
        while waiting:
            bit = waiting.pop()
            if bit not in found:
                found.add(bit)
                cell = self.netlist.driver.get(bit) if isinstance(bit, int) else None
                if cell is not None and not cell.stores:
                    waiting += cell.inputs
        return found


def read_machine(netlist: Netlist) -> Machine:
    """Make a machine of a netlist.

    Raises:
        Unsupported: it holds something beside gates, flip-flops and latches, or a wire with several drivers.
    """
    if netlist.conflict:
        raise Unsupported(f"{netlist.conflict} is driven more than once")
    if netlist.large:
        raise Unsupported(f"it holds a cell of type {next(iter(netlist.large))}")
    for port in netlist.ports:
        if port.direction == "inout":
            raise Unsupported(f"{port.name} is an inout port")
    stores = {}
    for cell in netlist.cells:
        if cell.stores and isinstance(cell.output, int):
            stores[cell.output] = read_store(cell)
        elif cell.type not in GATES:
            raise Unsupported(f"it holds a cell of type {cell.type}")
        if "z" in cell.pins.values():
            raise Unsupported("it drives z")
    if any("z" in netlist.bits[port.name] for port in netlist.ports):
        raise Unsupported("it drives z")
    return Machine(netlist, stores)


def _gate(aig: Aig, cell: Cell, value: Callable[[Bit], Three]) -> Three:
    pins = [value(cell.pins[pin]) for pin in GATES[cell.type]]
    if cell.type in _BINARY:
        return _BINARY[cell.type](aig, *pins)
    if cell.type in ("$_MUX_", "$_NMUX_"):
        chosen = aig.mux3(pins[2], pins[1], pins[0])
        return chosen if cell.type == "$_MUX_" else not3(chosen)
    return not3(pins[0]) if cell.type == "$_NOT_" else pins[0]
