"""Mutators of names: a signal in the place of another of its width, two ports in each other's place.

What can stand for what is read from the elaborated design, where every width is a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from verieval.mutate.mutant import Edit
from verieval.mutate.place import Place, kind_of, nodes, same

_NAMES = ("IdentifierName", "IdentifierSelectName")
_ASSIGNMENTS = ("AssignmentExpression", "NonblockingAssignmentExpression")
# In these a name is none of a value that is read, or its place is a matter of other mutators.
_ELSEWHERE = (
    "EventControl",
    "EventControlWithExpression",
    "SignalEventExpression",
    "HierarchicalInstance",
    "FunctionDeclaration",
    "TaskDeclaration",
    "ForLoopStatement",
    "LoopGenerate",
    "VariableDimension",
    "ScopedName",
)

# Of each module: width and sign of its signals, in order of declaration.
Signals = dict[str, dict[str, tuple[int, bool]]]


def signals_of(tree: Any) -> Signals:
    """Nets and variables of every module of a text, without memories; and its ports."""
    import pyslang

    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    found: Signals = {}
    waiting = [instance.body for instance in compilation.getRoot().topInstances]
    while waiting:
        body = waiting.pop()
        signals = found.setdefault(body.definition.name, {})
        for member in body:
            kind = member.kind.name
            if kind in ("Net", "Variable") and member.type.isIntegral and not _counts_loops(member):
                signals[member.name] = (member.type.bitWidth, member.type.isSigned)
            elif kind == "Instance":
                waiting.append(member.body)
    return found


def _counts_loops(member: Any) -> bool:
    """A variable that only counts loops."""
    return str(member.type) in ("integer", "int")


def module(place: Place, signals: Signals) -> Iterator[Edit]:
    """Edits in one module."""
    node = place.node
    known = signals.get(node.header.name.valueText, {})
    uses = [use for use in nodes(node) if kind_of(use) in _NAMES and use.identifier.valueText in known]
    peers: dict[tuple[int, bool], list[str]] = defaultdict(list)
    for name, shape in known.items():
        peers[shape].append(name)
    for use in filter(_is_read, uses):
        name = use.identifier.valueText
        row = peers[known[name]]
        following = row[row.index(name) + 1 :] + row[: row.index(name)]
        other = next((peer for peer in following if peer not in _fed(use)), None)
        if other is not None:
            yield from place.replace("name", f"`{name}` becomes `{other}`", (use.identifier, other))
    yield from _ports(place, known, uses)


def _ports(place: Place, known: dict[str, tuple[int, bool]], uses: list[Any]) -> Iterator[Edit]:
    """Neighbouring ports of one direction and width, each in the place of the other throughout the module."""
    ports = place.node.header.ports
    if ports is None or kind_of(ports) != "AnsiPortList":
        return
    row: list[tuple[str, str]] = []
    direction = ""
    for port in ports.ports:
        if kind_of(port) == "ImplicitAnsiPort":
            direction = getattr(getattr(port.header, "direction", None), "rawText", "") or direction
            row.append((port.declarator.name.valueText, direction))
    for (left, one), (right, other) in pairwise(row):
        if one != other or left not in known or known[left] != known.get(right):
            continue
        changes = [
            (use.identifier, right if use.identifier.valueText == left else left)
            for use in uses
            if use.identifier.valueText in (left, right)
        ]
        if changes:
            yield from place.replace("swap", f"ports `{left}` and `{right}` change places", *changes)


def _fed(use: Any) -> set[str]:
    """What is assigned from a use at once: in its place it would make a loop, which only costs time."""
    node = use.parent
    while node is not None and kind_of(node) != "AssignmentExpression":
        node = node.parent
    if node is None:
        return set()
    return {name.identifier.valueText for name in nodes(node.left) if kind_of(name) in _NAMES}


def _is_read(use: Any) -> bool:
    """Its value is read, in an expression of the module itself."""
    child, parent = use, use.parent
    while parent is not None:
        kind = kind_of(parent)
        if kind in _ASSIGNMENTS:
            return not same(parent.left, child)
        if kind in _ELSEWHERE or kind == "ModuleHeader":
            return False
        if kind == "ModuleDeclaration":
            return True
        child, parent = parent, parent.parent
    return False
