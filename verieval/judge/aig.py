"""And-inverter graphs, and three-valued logic in them.

A *literal* is a node's number times two, plus one where it is inverted; 0 is false and 1 is true. A :class:`Three` is
a bit that may be undefined, as two literals: that it is 1, and that it is 0; where neither holds it is x. What x does
is what Verilog's gates do with it: 0 AND x is 0, and a choice between two equal values is that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

FALSE, TRUE = 0, 1


class Three(NamedTuple):
    """A bit of three values: ``one`` says that it is 1, ``zero`` that it is 0."""

    one: int
    zero: int

    @property
    def defined(self) -> bool:
        """It can be seen from the literals that it is never x."""
        return self.zero == self.one ^ 1


ZERO, ONE, X = Three(FALSE, TRUE), Three(TRUE, FALSE), Three(FALSE, FALSE)
CONSTANT = {"0": ZERO, "1": ONE, "x": X}


class TooLarge(Exception):
    """The graph outgrew its limit."""


class Aig:
    """A graph under construction: inputs and latches first come first numbered, equal nodes are one.

    Args:
        most: nodes that it may have.
    """

    def __init__(self, most: int = 1_000_000) -> None:
        self._most = most
        self._nodes: list[tuple[int, int] | None] = [None]
        self._known: dict[tuple[int, int], int] = {}
        self.inputs: list[int] = []
        self.latches: list[int] = []
        self.next: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def input(self) -> int:
        """A new input's literal."""
        self.inputs.append(self._new(None))
        return self.inputs[-1]

    def latch(self) -> int:
        """A new latch's literal. It begins at 0; :attr:`next` has to be told its next value."""
        self.latches.append(self._new(None))
        return self.latches[-1]

    def _new(self, node: tuple[int, int] | None) -> int:
        if len(self._nodes) >= self._most:
            raise TooLarge
        self._nodes.append(node)
        return 2 * (len(self._nodes) - 1)

    def all(self, a: int, b: int) -> int:
        """Both."""
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a in (TRUE, b):
            return b
        found = self._known.get((a, b))
        if found is None:
            found = self._known[(a, b)] = self._new((a, b))
        return found

    def any(self, a: int, b: int) -> int:
        """At least one."""
        return self.all(a ^ 1, b ^ 1) ^ 1

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """One of two."""
        return self.any(self.all(condition, then), self.all(condition ^ 1, otherwise))

    def evaluate(self, given: Mapping[int, int], lanes: int = 1) -> list[int]:
        """Values of all nodes, ``lanes`` of them at once as the bits of a number.

        Args:
            given: value of each input's and latch's literal.
            lanes: how many.
        """
        mask = (1 << lanes) - 1
        values = [0] * len(self._nodes)
        for index, node in enumerate(self._nodes):
            if node is not None:
                a, b = node
                left = values[a >> 1] ^ (mask if a & 1 else 0)
                values[index] = left & (values[b >> 1] ^ (mask if b & 1 else 0))
            else:
                values[index] = given.get(2 * index, 0)
        return values

    def aiger(self, output: int) -> bytes:
        """The binary AIGER format (Biere 2007), of what ``output`` depends on, with all inputs and latches."""
        order = {0: 0}
        for literal in (*self.inputs, *self.latches):
            order[literal >> 1] = len(order)
        inner = [index for index, node in enumerate(self._nodes) if node is not None and index not in order]
        used = self._cone([output, *self.next.values()])
        body = []
        for index in inner:
            if index in used:
                order[index] = len(order)

        def plain(literal: int) -> int:
            return 2 * order[literal >> 1] + (literal & 1)

        for index in inner:
            if index in used:
                a, b = map(plain, self._nodes[index])  # type: ignore[arg-type]
                high, low = max(a, b), min(a, b)
                body += [_varint(2 * order[index] - high), _varint(high - low)]
        head = f"aig {len(order) - 1} {len(self.inputs)} {len(self.latches)} 1 {len(body) // 2}\n"
        lines = [str(plain(self.next[latch])) for latch in self.latches] + [str(plain(output))]
        return (head + "\n".join(lines) + "\n").encode() + b"".join(body)

    def _cone(self, roots: Sequence[int]) -> set[int]:
        found: set[int] = set()
        waiting = [root >> 1 for root in roots]
        while waiting:
            index = waiting.pop()
            node = self._nodes[index]
            if index not in found:
                found.add(index)
                waiting += [literal >> 1 for literal in node or ()]
        return found

    # ---- three values --------------------------------------------------------------------------------------------

    def three(self, literal: int) -> Three:
        """A defined bit."""
        return Three(literal, literal ^ 1)

    def and3(self, a: Three, b: Three) -> Three:
        """AND: 0 where one is 0."""
        return Three(self.all(a.one, b.one), self.any(a.zero, b.zero))

    def or3(self, a: Three, b: Three) -> Three:
        """OR: 1 where one is 1."""
        return not3(self.and3(not3(a), not3(b)))

    def xor3(self, a: Three, b: Three) -> Three:
        """XOR: x where one is x."""
        one = self.any(self.all(a.one, b.zero), self.all(a.zero, b.one))
        if a.defined and b.defined:
            return self.three(one)  # two terms for one thing would hide that
        return Three(one, self.any(self.all(a.one, b.one), self.all(a.zero, b.zero)))

    def mux3(self, select: Three, then: Three, otherwise: Three) -> Three:
        """``select ? then : otherwise``: where ``select`` is x, what both agree on."""
        if then == otherwise:
            return then
        one = self._mux(select, then.one, otherwise.one)
        if select.defined and then.defined and otherwise.defined:
            return self.three(one)
        return Three(one, self._mux(select, then.zero, otherwise.zero))

    def _mux(self, select: Three, then: int, otherwise: int) -> int:
        chosen = self.any(self.all(select.one, then), self.all(select.zero, otherwise))
        return chosen if select.defined else self.any(chosen, self.all(then, otherwise))


def not3(a: Three) -> Three:
    """NOT."""
    return Three(a.zero, a.one)


def _varint(number: int) -> bytes:
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)
