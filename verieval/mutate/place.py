"""Where a mutator stands in a syntax tree: the node, what surrounds it, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from verieval.mutate.mutant import Edit

_RESET_NAME = re.compile(r"(?:^|_)(?:[aps]?n?_?)(?:rst|reset|clr|clear|init)", re.IGNORECASE)
_ACTIVE_LOW = re.compile(r"(?:_n|_b|_ni|rstn|resetn|_l)$|^n_?(?:rst|reset)|rst_n|reset_n", re.IGNORECASE)


@dataclass(frozen=True)
class Around:
    """What surrounds a node.

    Attributes:
        procedural: it is in an ``always`` block, where both kinds of assignment are possible.
        initial: it is in an ``initial`` block or the initial value of a variable.
        reset: it is in the branch that a reset takes.
        resets: names that act as resets here, and whether each is active low.
        header: the part of a loop's head that it is in: ``start``, ``stop``, ``step`` or none.
        fixed: it belongs to something that is left alone (a delay, a dimension, a loop's condition).
    """

    procedural: bool = False
    initial: bool = False
    reset: bool = False
    resets: dict[str, bool] = field(default_factory=dict)
    header: str = ""
    fixed: bool = False


@dataclass(frozen=True)
class Place:
    """A node with its surroundings, in the text ``content``."""

    content: bytes
    manager: Any
    node: Any
    around: Around

    def span(self, node: Any) -> tuple[int, int] | None:
        """Byte offsets of a node or token; None where it comes out of a macro."""
        import pyslang

        if isinstance(node, pyslang.parsing.Token):
            if self.manager.isMacroLoc(node.location):
                return None
            start = int(node.location.offset)
            return start, start + len(node.rawText.encode())
        first, last = node.sourceRange.start, node.sourceRange.end
        if self.manager.isMacroLoc(first) or self.manager.isMacroLoc(last) or first.offset > last.offset:
            return None
        return int(first.offset), int(last.offset)

    def text(self, node: Any) -> str:
        """The text of a node as it stands in the source; empty where it comes out of a macro."""
        span = self.span(node)
        return self.content[slice(*span)].decode("utf-8", "replace") if span else ""

    def replace(self, kind: str, what: str, *changes: tuple[Any, str]) -> Iterator[Edit]:
        """An edit that puts texts in the place of nodes or tokens, none where one of them has no place of its own."""
        cuts = []
        for node, new in changes:
            span = self.span(node)
            if span is None:
                return
            cuts.append((*span, new.encode()))
        yield Edit(kind, tuple(sorted(cuts)), what)

    def swap(self, left: Any, right: Any) -> Iterator[Edit]:
        """An edit that exchanges two nodes with different texts."""
        first, second = self.text(left), self.text(right)
        if first and second and first != second:
            what = f"{short(first)} and {short(second)} change places"
            yield from self.replace("swap", what, (left, second), (right, first))


def short(text: str) -> str:
    """A text on one line, cut where it is long, between backquotes."""
    line = " ".join(text.split())
    return f"`{line if len(line) <= 40 else line[:37] + '...'}`"


def kind_of(node: Any) -> str:
    """The syntax kind's name."""
    return str(node.kind.name)


def children(node: Any) -> Iterator[Any]:
    """Child nodes, without tokens."""
    import pyslang

    for child in node:
        if not isinstance(child, pyslang.parsing.Token):
            yield child


def nodes(node: Any) -> Iterator[Any]:
    """The nodes below (and with) a node, in order."""
    yield node
    for child in children(node):
        yield from nodes(child)


def same(left: Any, right: Any) -> bool:
    """Both are one node."""
    return bool(left.kind == right.kind and left.sourceRange == right.sourceRange)


def items(separated: Any) -> list[Any]:
    """The nodes of a list with commas."""
    import pyslang

    return [item for item in separated if not isinstance(item, pyslang.parsing.Token)]


def is_edge_event(node: Any) -> bool:
    """An event with ``posedge`` or ``negedge``."""
    return kind_of(node) == "SignalEventExpression" and node.edge.rawText in ("posedge", "negedge")


def resets_of(block: Any) -> dict[str, bool]:
    """Names that look like resets in an ``always`` block, and whether each is active low.

    They are the edges beside the first one, and names that say so.
    """
    found: dict[str, bool] = {}
    events = [node for node in nodes(block) if is_edge_event(node)]
    for event in events[1:]:
        name = getattr(getattr(event.expr, "identifier", None), "valueText", "")
        found[name] = event.edge.rawText == "negedge"
    for node in nodes(block):
        if kind_of(node) == "IdentifierName":
            name = node.identifier.valueText
            if name not in found and _RESET_NAME.search(name):
                found[name] = bool(_ACTIVE_LOW.search(name))
    return found


def reset_branch(node: Any, resets: dict[str, bool]) -> Any:
    """The statement of an ``if`` that a reset takes, or None where the condition is no reset."""
    condition = condition_of(node)
    names = [child.identifier.valueText for child in nodes(condition) if kind_of(child) == "IdentifierName"]
    if len(names) != 1 or names[0] not in resets:
        return None
    negated = kind_of(condition) in ("UnaryLogicalNotExpression", "UnaryBitwiseNotExpression")
    if kind_of(condition) == "EqualityExpression":
        negated = str(condition.right).strip().endswith("0")
    if negated == resets[names[0]]:
        return node.statement
    return node.elseClause


def condition_of(node: Any) -> Any:
    """The expression of an ``if`` or of ``?:``, past the nodes that patterns need."""
    return node.predicate.conditions[0].expr
