"""Netlists: what yosys's JSON says of one flat module, as gates over numbered bits.

Three questions are answered here, all without a tool: are two netlists the same but for names (:meth:`Netlist.key`),
how deep is the logic (:meth:`Netlist.depth`), and what cells are there (:meth:`Netlist.count`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from verieval.task import Port

# A bit is a constant or the number of a wire.
Bit = int | str
CONSTANTS = frozenset("01xz")

# Gates by type, with their input pins in order; the output is Y.
GATES: Mapping[str, tuple[str, ...]] = {
    "$_BUF_": ("A",),
    "$_NOT_": ("A",),
    **dict.fromkeys(("$_AND_", "$_NAND_", "$_OR_", "$_NOR_", "$_XOR_", "$_XNOR_", "$_ANDNOT_", "$_ORNOT_"), ("A", "B")),
    "$_MUX_": ("A", "B", "S"),
    "$_NMUX_": ("A", "B", "S"),
}
_COMMUTES = frozenset({"$_AND_", "$_NAND_", "$_OR_", "$_NOR_", "$_XOR_", "$_XNOR_"})
_STORES = ("$_DFF", "$_ALDFF", "$_SDFF", "$_DLATCH", "$_SR_", "$_FF_")


class NotANetlist(Exception):
    """It cannot be read as a netlist of gates; the message is the reason."""


class Loop(Exception):
    """The logic has a loop without a flip-flop or latch in it; ``bits`` lie on it."""

    def __init__(self, bits: list[int]) -> None:
        super().__init__("a combinational loop")
        self.bits = bits


@dataclass(frozen=True)
class Cell:
    """A gate, flip-flop, latch or anything else. ``pins`` are single bits; every output drives its own wire."""

    name: str
    type: str
    pins: Mapping[str, Bit]

    @property
    def output(self) -> Bit:
        """The bit that it drives."""
        return self.pins["Q"] if "Q" in self.pins else self.pins["Y"]

    @property
    def inputs(self) -> tuple[Bit, ...]:
        """What its output depends on at once: of a store that is for its user to say, so all of them."""
        return tuple(bit for pin, bit in self.pins.items() if pin not in ("Q", "Y"))

    @property
    def stores(self) -> bool:
        """It holds a value."""
        return self.type.startswith(_STORES)

    @property
    def is_latch(self) -> bool:
        """It holds a value without a clock."""
        return self.type.startswith(("$_DLATCH", "$_SR_"))


@dataclass(frozen=True)
class Netlist:
    """One flat module.

    Attributes:
        ports: in order of declaration.
        bits: of each port, least significant first.
        cells: in yosys's order.
        initial: values that wires of flip-flops have at the start; those that are not there have x.
        names: a name for wires that have one in the text, for people.
        large: cells with pins of more than one bit, by type: nothing here can look into them.
        conflict: a wire with several drivers; empty where there is none.
    """

    ports: tuple[Port, ...]
    bits: Mapping[str, tuple[Bit, ...]]
    cells: tuple[Cell, ...]
    initial: Mapping[int, str] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    large: Mapping[str, int] = field(default_factory=dict)
    conflict: str = ""

    @cached_property
    def driver(self) -> dict[int, Cell]:
        """The cell that drives a wire."""
        return {cell.output: cell for cell in self.cells if isinstance(cell.output, int)}

    @property
    def stores(self) -> list[Cell]:
        """Flip-flops and latches."""
        return [cell for cell in self.cells if cell.stores]

    def count(self) -> Counter[str]:
        """Cells by type."""
        return Counter(cell.type for cell in self.cells) + Counter(dict(self.large))

    def order(
        self, roots: Iterable[Bit], through: Callable[[Cell], tuple[Bit, ...]], done: set[int] | None = None
    ) -> Iterator[Cell]:
        """Cells that ``roots`` depend on, each after those that it depends on.

        Args:
            roots: bits.
            through: the inputs of a cell that count; none stops there.
            done: wires that were reached before, which are left out; it grows.

        Raises:
            Loop: they depend on each other in a circle.
        """
        done = set() if done is None else done
        for root in roots:
            if not isinstance(root, int) or root in done or root not in self.driver:
                continue
            open_: dict[int, Iterator[Bit]] = {root: iter(through(self.driver[root]))}
            while open_:
                wire = next(reversed(open_))
                for bit in open_[wire]:
                    if isinstance(bit, int) and bit in open_:
                        raise Loop(list(open_)[list(open_).index(bit) :])
                    if isinstance(bit, int) and bit not in done and bit in self.driver:
                        open_[bit] = iter(through(self.driver[bit]))
                        break
                else:
                    del open_[wire]
                    done.add(wire)
                    yield self.driver[wire]

    def depth(self) -> int | None:
        """Gates on the longest path between ports, flip-flops and latches; None where there is a loop.

        As yosys's ``ltp -noff`` has it, but for gates that only copy.
        """
        ends = [bit for port in self.ports if port.direction != "input" for bit in self.bits[port.name]]
        ends += [bit for cell in self.cells if cell.stores or cell.type not in GATES for bit in cell.inputs]
        level: dict[Bit, int] = {}
        try:
            for cell in self.order(ends, lambda cell: cell.inputs if cell.type in GATES else ()):
                if cell.type in GATES:
                    steps = 0 if cell.type == "$_BUF_" else 1
                    level[cell.output] = steps + max((level.get(bit, 0) for bit in cell.inputs), default=0)
        except Loop:
            return None
        return max(level.values(), default=0)

    @cached_property
    def key(self) -> str:
        """A hash that two netlists share only if they are the same gates, however wires and cells are called.

        Equal keys prove equal behaviour; different ones prove nothing.
        """
        return _Numbering(self).key()


class _Numbering:
    """Numbers the nodes of a netlist by what they are, beginning at the outputs."""

    def __init__(self, netlist: Netlist) -> None:
        self._netlist = netlist
        self._known: dict[tuple[Any, ...], int] = {}
        self._of: dict[Bit, int] = {}
        self._waiting: deque[Cell] = deque()
        self._stores = 0
        self._done: set[int] = set()
        for port in netlist.ports:
            if port.direction != "output":
                for index, bit in enumerate(netlist.bits[port.name]):
                    self._of[bit] = self._number(("port", port.name, index))

    def key(self) -> str:
        ports = sorted(self._netlist.ports, key=lambda port: port.name)
        lines: list[Any] = [[port.name, port.direction, port.width] for port in ports]
        lines.append(sorted(self._netlist.large.items()))
        try:
            lines += [self._values(self._netlist.bits[port.name]) for port in ports if port.direction != "input"]
            while self._waiting:  # grows while it is worked through, in an order that no name decides
                cell = self._waiting.popleft()
                start = self._netlist.initial.get(cell.output, "x") if isinstance(cell.output, int) else "x"
                lines.append([cell.type, start, self._values(cell.inputs)])
        except Loop:
            lines.append("loop " + json.dumps([[cell.name, cell.type, cell.pins] for cell in self._netlist.cells]))
        text = json.dumps([lines, list(self._known)], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _values(self, bits: Iterable[Bit]) -> list[int]:
        bits = list(bits)
        through: Callable[[Cell], tuple[Bit, ...]] = lambda cell: cell.inputs if cell.type in GATES else ()  # noqa: E731
        for cell in self._netlist.order(bits, through, self._done):
            if cell.output not in self._of:
                self._of[cell.output] = self._node(cell)
        return [self._of[bit] if bit in self._of else self._number(("constant", str(bit))) for bit in bits]

    def _node(self, cell: Cell) -> int:
        if cell.type not in GATES:
            self._waiting.append(cell)
            self._stores += 1
            return self._number(("store", self._stores))
        inputs = [
            self._of[bit] if bit in self._of else self._number(("constant", str(bit) if bit in CONSTANTS else "open"))
            for bit in (cell.pins[pin] for pin in GATES[cell.type])
        ]
        if cell.type == "$_BUF_":
            return inputs[0]
        return self._number((cell.type, *(sorted(inputs) if cell.type in _COMMUTES else inputs)))

    def _number(self, node: tuple[Any, ...]) -> int:
        return self._known.setdefault(node, len(self._known))


def parse_netlist(text: str, module: str) -> Netlist:
    """Read the output of yosys's ``write_json`` on a flat design, given twice: as elaborated, and at the end.

    Yosys chooses one driver where a wire has several, so those can only be seen in the first.

    Raises:
        NotANetlist: the module is not there, or the text is not what yosys writes.
    """
    try:
        decoder = json.JSONDecoder()
        first, end = decoder.raw_decode(text.lstrip())
        body = decoder.raw_decode(text.lstrip()[end:].lstrip())[0]["modules"][module]
        ports = tuple(
            Port(name, port["direction"], len(port["bits"]), bool(port.get("signed")))
            for name, port in body["ports"].items()
        )
        bits = {name: tuple(port["bits"]) for name, port in body["ports"].items()}
        cells, large = [], Counter[str]()
        for name, cell in body["cells"].items():
            pins = {pin: wires[0] for pin, wires in cell["connections"].items() if len(wires) == 1}
            if len(pins) == len(cell["connections"]) and ("Y" in pins or "Q" in pins):
                cells.append(Cell(name, cell["type"], pins))
            else:
                large[cell["type"]] += 1
        initial, names = _wires(body["netnames"])
        return Netlist(ports, bits, tuple(cells), initial, names, large, _conflict(first["modules"][module]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotANetlist(f"yosys's netlist of {module} cannot be read: {error!r}") from None


def _conflict(body: Mapping[str, Any]) -> str:
    """A wire with several drivers; a constant among them takes the place of the wire, also of an input's."""
    names = _wires(body["netnames"])[1]
    driven = Counter[Bit]()
    for name, port in body["ports"].items():
        if port["direction"] == "input":
            driven.update(port["bits"])
            if not all(isinstance(bit, int) for bit in port["bits"]):
                return str(name)
    for cell in body["cells"].values():
        for pin, wires in cell["connections"].items():
            if cell.get("port_directions", {}).get(pin) == "output":
                driven.update(wires)
    return next((names.get(bit, "a wire") for bit, count in driven.items() if count > 1 and isinstance(bit, int)), "")


def _wires(nets: Mapping[str, Any]) -> tuple[dict[int, str], dict[int, str]]:
    """Initial values, and names, of wires. A name of the text goes before one that yosys made."""
    initial: dict[int, str] = {}
    names: dict[int, str] = {}
    for name, net in nets.items():
        start = net.get("attributes", {}).get("init", "")[::-1]
        for index, bit in enumerate(net["bits"]):
            if not isinstance(bit, int):
                continue
            if index < len(start) and start[index] in "01":
                initial[bit] = start[index]
            if not net.get("hide_name"):
                names.setdefault(bit, f"{name}[{index}]" if len(net["bits"]) > 1 else name)
    return initial, names
