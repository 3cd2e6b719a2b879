"""Mutators of statements and declarations: branches, edges, assignments, widths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from verieval.mutate.expressions import condition, narrower
from verieval.mutate.literals import is_unknown
from verieval.mutate.mutant import Edit
from verieval.mutate.place import Place, condition_of, is_edge_event, items, kind_of, nodes, short

ASSIGNMENTS = ("AssignmentExpression", "NonblockingAssignmentExpression")
_NOTHING = "begin end"


def conditional(place: Place) -> Iterator[Edit]:
    """The condition of an ``if``, its branch, and its ``else``."""
    node = place.node
    yield from condition(place, condition_of(node))
    if not _is_one(node.statement) and not _does_not_matter(place, node.statement):
        yield from place.replace("branch", "branch emptied", (node.statement, _NOTHING))
    other = node.elseClause
    if other is not None and not _is_one(other.clause) and not _does_not_matter(place, other):
        yield from place.replace("branch", "else dropped", (other, ""))


def generate_if(place: Place) -> Iterator[Edit]:
    """The condition of a generate block."""
    yield from condition(place, place.node.condition)


def case(place: Place) -> Iterator[Edit]:
    """An arm dropped; neighbouring arms change places."""
    arms = [item for item in place.node.items if kind_of(item) in ("StandardCaseItem", "DefaultCaseItem")]
    for arm in arms:
        if len(arms) > 1 and not _does_not_matter(place, arm.clause):
            name = "default" if kind_of(arm) == "DefaultCaseItem" else short(place.text(arm).split(":")[0])
            yield from place.replace("branch", f"arm {name} dropped", (arm, ""))
    for left, right in itertools.pairwise(arms):
        if not _does_not_matter(place, left.clause) and not _does_not_matter(place, right.clause):
            yield from place.swap(left.clause, right.clause)


def event(place: Place) -> Iterator[Edit]:
    """The other edge."""
    if is_edge_event(place.node):
        edge = place.node.edge
        new = "negedge" if edge.rawText == "posedge" else "posedge"
        yield from place.replace("edge", f"{short(place.text(place.node))} becomes {new}", (edge, new))


def events(place: Place) -> Iterator[Edit]:
    """A second edge (an asynchronous reset) dropped."""
    node = place.node
    if is_edge_event(node.right) and place.text(node.left):
        what = f"{short(place.text(node.right))} dropped"
        yield from place.replace("edge", what, (node.operatorToken, ""), (node.right, ""))


def statement(place: Place) -> Iterator[Edit]:
    """An assignment dropped, or of the other kind."""
    expression, around = place.node.expr, place.around
    if kind_of(expression) not in ASSIGNMENTS:
        return
    if around.procedural:
        sign = expression.operatorToken
        new = "=" if sign.rawText == "<=" else "<="
        yield from place.replace("blocking", f"`{sign.rawText}` becomes `{new}`", (sign, new))
    if not _does_not_matter(place, place.node):
        kind = "reset" if around.reset or around.initial else "branch"
        yield from place.replace(kind, f"{short(place.text(place.node))} dropped", (place.node, _NOTHING))


def dimension(place: Place) -> Iterator[Edit]:
    """A declared range that is a bit narrower or wider; a port's only narrower."""
    node = place.node
    specifier = node.specifier
    if specifier is None or kind_of(specifier) != "RangeDimensionSpecifier" or not hasattr(specifier.selector, "right"):
        return
    around, is_port = node.parent, False
    while around is not None and not is_port:
        if kind_of(around) == "Declarator":
            return  # the depth of a memory
        is_port = "Port" in kind_of(around) and "Function" not in kind_of(around)
        around = around.parent
    yield from narrower(place, specifier.selector, wider=not is_port)


def signing(place: Place) -> Iterator[Edit]:
    """A type that is signed becomes unsigned."""
    word = place.node.signing
    if word.rawText == "signed":
        yield from place.replace("width", "`signed` dropped", (word, ""))


def _is_one(branch: Any) -> bool:
    """A single assignment, which is dropped for itself, with or without ``begin`` and ``end``."""
    while kind_of(branch) == "SequentialBlockStatement" and len(items(branch.items)) == 1:
        (branch,) = items(branch.items)
    return kind_of(branch) == "ExpressionStatement" and kind_of(branch.expr) in ASSIGNMENTS


def _does_not_matter(place: Place, branch: Any) -> bool:
    """It assigns nothing but X: to drop it is no fault."""
    values = [node.right for node in nodes(branch) if kind_of(node) in ASSIGNMENTS]
    return bool(values) and all(is_unknown(place.text(value)) for value in values)


def loop_parts(node: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a loop's head by name, and its body under an empty name."""
    if kind_of(node) == "LoopGenerate":
        yield from (("start", node.initialExpr), ("stop", node.stopExpr), ("step", node.iterationExpr))
        yield "", node.block
        return
    yield from (("start", item) for item in items(node.initializers))
    if node.stopExpr is not None:
        yield "stop", node.stopExpr
    yield from (("step", item) for item in items(node.steps))
    yield "", node.statement
