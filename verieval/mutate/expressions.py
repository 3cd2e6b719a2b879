"""Mutators of expressions: operators, constants, conditions, operands that change places."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from verieval.mutate.literals import others
from verieval.mutate.mutant import Edit
from verieval.mutate.place import Place, children, condition_of, items, kind_of, short

Mutator = Callable[[Place], Iterator[Edit]]

# What each binary operator becomes.
BINARY: dict[str, tuple[str, ...]] = {
    "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "**": ("*",),
    "&": ("|", "^"), "|": ("&", "^"), "^": ("|", "~^"), "~^": ("^",), "^~": ("^",),
    "&&": ("||",), "||": ("&&",),
    "==": ("!=",), "!=": ("==",), "===": ("!==",), "!==": ("===",), "==?": ("!=?",), "!=?": ("==?",),
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="),
    "<<": (">>",), ">>": ("<<",), "<<<": (">>>",), ">>>": (">>", "<<<"),
}  # fmt: skip
_ASSIGNING = {
    "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "&=": "|=", "|=": "&=", "^=": "|=", "<<=": ">>=", ">>=": "<<=",
    "<<<=": ">>>=", ">>>=": "<<<=",
}  # fmt: skip
# In a loop's condition only what moves its end: other relations make it endless.
_STOP: dict[str, tuple[str, ...]] = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",)}
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {"": BINARY, "stop": _STOP, "start": {}, "step": {}}
_UNARY = {"~": "", "!": "", "-": "", "&": "|", "|": "&", "^": "~^", "~&": "~|", "~|": "~&", "~^": "^", "^~": "^"}
_STEPS = {"++": "--", "--": "++"}
_NOT_COMMUTATIVE = {"-", "/", "%", "**", "<<", ">>", "<<<", ">>>"}
_CONNECTIONS = ("NamedPortConnection", "OrderedPortConnection")
_LOGICAL = {"&&", "||"}
_NEGATED_BY_OPERATOR = {
    "UnaryLogicalNotExpression", "EqualityExpression", "InequalityExpression", "CaseEqualityExpression",
    "CaseInequalityExpression", "WildcardEqualityExpression", "WildcardInequalityExpression",
}  # fmt: skip


def binary(place: Place) -> Iterator[Edit]:
    """Another operator; one term of a condition alone; operands in the other order where that matters."""
    node = place.node
    if kind_of(node).endswith("AssignmentExpression"):  # `<=` means something else there
        return
    sign = node.operatorToken.rawText
    for new in _TABLES[place.around.header].get(sign, ()):
        yield from place.replace("operator", f"`{sign}` becomes `{new}`", (node.operatorToken, new))
    if place.around.header:
        return
    if sign in _LOGICAL:
        for kept, lost in ((node.left, node.right), (node.right, node.left)):
            what = f"term {short(place.text(lost))} dropped"
            yield from place.replace("condition", what, (node, f"({place.text(kept)})"))
    if sign in _NOT_COMMUTATIVE:
        left, right = place.text(node.left), place.text(node.right)
        if left and right and left != right:
            what = f"operands of `{sign}` change places"
            changes = ((node.left, _term(node.right, right)), (node.right, _term(node.left, left)))
            yield from place.replace("swap", what, *changes)


def _term(node: Any, text: str) -> str:
    """A text that no operator beside it can take apart."""
    return text if type(node).__name__.endswith(("NameSyntax", "LiteralExpressionSyntax")) else f"({text})"


def assigning(place: Place) -> Iterator[Edit]:
    """``+=`` and its kin."""
    sign = place.node.operatorToken.rawText
    if sign in _ASSIGNING and not place.around.header:
        new = _ASSIGNING[sign]
        yield from place.replace("operator", f"`{sign}` becomes `{new}`", (place.node.operatorToken, new))


def unary(place: Place) -> Iterator[Edit]:
    """A reduction becomes another, a negation is dropped."""
    sign = place.node.operatorToken.rawText
    if sign in _UNARY and not place.around.header:
        new = _UNARY[sign]
        what = f"`{sign}` becomes `{new}`" if new else f"`{sign}` dropped"
        yield from place.replace("operator", what, (place.node.operatorToken, new))


def step(place: Place) -> Iterator[Edit]:
    """``++`` and ``--`` outside of a loop's head."""
    sign = place.node.operatorToken.rawText
    if sign in _STEPS and not place.around.header:
        new = _STEPS[sign]
        yield from place.replace("operator", f"`{sign}` becomes `{new}`", (place.node.operatorToken, new))


def literal(place: Place) -> Iterator[Edit]:
    """Another number; within a reset, another value at reset."""
    node, around = place.node, place.around
    if around.header == "step":
        return
    resets = (around.reset or around.initial) and not around.header and _is_assigned(node)
    text = place.text(node)
    for new in others(text, flip=resets):
        yield from place.replace("reset" if resets else "constant", f"{short(text)} becomes {short(new)}", (node, new))


def _is_assigned(node: Any) -> bool:
    """It is in what a statement assigns, not in an index or a condition."""
    child, parent = node, node.parent
    while parent is not None:
        kind = kind_of(parent)
        if kind in ("NonblockingAssignmentExpression", "AssignmentExpression"):
            return bool(parent.right.sourceRange == child.sourceRange)
        if kind in ("ElementSelect", "BitSelect", "ConditionalPredicate", "ForLoopStatement"):
            return False
        if kind == "EqualsValueClause":
            return True
        child, parent = parent, parent.parent
    return False


def choice(place: Place) -> Iterator[Edit]:
    """The condition of ``?:``."""
    yield from condition(place, condition_of(place.node))


def condition(place: Place, expression: Any) -> Iterator[Edit]:
    """A condition negated, always true, always false."""
    text = place.text(expression)
    if not text:
        return
    for what, new in (("negated", f"!({text})"), ("always true", "1'b1"), ("always false", "1'b0")):
        # Another operator negates these already.
        if what != "negated" or kind_of(expression) not in _NEGATED_BY_OPERATOR:
            yield from place.replace("condition", f"condition {short(text)} {what}", (expression, new))


def concatenation(place: Place) -> Iterator[Edit]:
    """Neighbours change places."""
    if place.around.header:
        return
    yield from _neighbours(place, items(place.node.expressions))


def replication(place: Place) -> Iterator[Edit]:
    """One copy more, one less."""
    count = place.text(place.node.expression)
    for new in (f"({count})+1", f"({count})-1"):
        yield from place.replace("width", f"{short(count)} copies become {short(new)}", (place.node.expression, new))


def call(place: Place) -> Iterator[Edit]:
    """Arguments change places; a change of sign is dropped."""
    node = place.node
    name = place.text(node.left)
    if node.arguments is None:
        return
    given = [item for item in items(node.arguments.parameters) if kind_of(item) == "OrderedArgument"]
    if name == "$signed" and len(given) == 1:
        yield from place.replace("width", "`$signed` dropped", (node, f"$unsigned({place.text(given[0])})"))
    elif not name.startswith("$"):
        yield from _neighbours(place, given)


def instance(place: Place) -> Iterator[Edit]:
    """What is connected to neighbouring ports changes places."""
    yield from _neighbours(
        place,
        [
            item.expr
            for item in items(place.node.connections)
            if kind_of(item) in _CONNECTIONS and item.expr is not None
        ],
    )


def part_select(place: Place) -> Iterator[Edit]:
    """A part of a vector that is a bit narrower."""
    yield from narrower(place, place.node)


def narrower(place: Place, select: Any, *, wider: bool = False) -> Iterator[Edit]:
    """A range ``[left:right]`` without its last bit, and with one more."""
    left, right = place.text(select.left), place.text(select.right)
    if not left or not right:
        return
    ascending = left.isdigit() and right.isdigit() and int(left) < int(right)
    bound, text = (select.right, right) if ascending else (select.left, left)
    one_bit = left == right
    for by, what in ((-1, "narrower"), (1, "wider")):
        if (by < 0 and one_bit) or (by > 0 and not wider):
            continue
        new = str(int(text) + by) if text.isdigit() else f"({text}){by:+d}"
        yield from place.replace("width", f"`[{left}:{right}]` a bit {what}", (bound, new))


def _neighbours(place: Place, row: list[Any]) -> Iterator[Edit]:
    for left, right in itertools.pairwise(row):
        yield from place.swap(left, right)


def below_call(node: Any) -> bool:
    """Arguments of a call that says something of the text, not of the design (``$display``, ``$clog2``)."""
    if kind_of(node) != "InvocationExpression":
        return False
    first = next(children(node), None)
    return first is not None and kind_of(first) == "SystemName" and str(first).strip() not in ("$signed", "$unsigned")
