"""Continuous assignments that are connections: what drives one end then drives the other.

Icarus 11 makes one net of both sides where the right one is a name within `$signed`, `$unsigned` or a cast, in brackets
or behind a condition that is constant. So `assign w = $signed(a);` and a driver of `w` drive the input port `a`, and
through it the bench. Nets that are joined so, by ports and by such assignments, are put into groups here; a group that
holds an input port of the target may have no driver and no second input port.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyslang import ast, syntax

from verieval.judge.policy_dead import written_to
from verieval.judge.policy_drive import leaves
from verieval.judge.policy_names import Outline, line_of
from verieval.judge.policy_scopes import DEFINITIONS, every, nodes
from verieval.judge.policy_words import Finding

E = ast.ExpressionKind
S = ast.SymbolKind
K = syntax.SyntaxKind

_TRANSPARENT = frozenset({"$signed", "$unsigned"})
# Nets that have a value of their own.
_PULLING = frozenset({ast.NetType.NetKind.Supply0, ast.NetType.NetKind.Supply1})
_NAMES = (K.IdentifierName, K.IdentifierSelectName)

_Key = tuple[Any, tuple[int, ...]]  # a net or variable, and the constant indices of one element of an array of them


def may_join(text: str) -> bool:
    """Whether any such assignment can be in a text without comments."""
    return "'" in text or "$signed" in text or "$unsigned" in text


@dataclass
class _Nets:
    """Groups of joined nets, and what drives them."""

    parents: dict[_Key, _Key] = field(default_factory=dict)
    driven: list[tuple[_Key, Any]] = field(default_factory=list)
    joints: list[tuple[_Key, Any]] = field(default_factory=list)

    def root(self, key: _Key) -> _Key:
        while (above := self.parents.get(key, key)) != key:
            key = above
        return key

    def join(self, one: _Key, others: list[_Key]) -> None:
        for other in others:
            self.parents[self.root(one)] = self.root(other)


def refuse_joins(tree: Any, root: Any) -> Finding | None:
    """The first assignment that lets a driver reach an input port of the target, in the elaborated design."""
    nets = _collect(root)
    if not nets.joints:
        return None
    inputs: dict[_Key, set[str]] = {}
    for instance in root.topInstances:
        for port in instance.body.portList:
            inner = getattr(port, "internalSymbol", None)
            if inner is not None and port.direction == ast.ArgumentDirection.In:
                inputs.setdefault(nets.root((inner, ())), set()).add(port.name)
    driven = {nets.root(key) for key, _ in nets.driven}
    for key, expression in nets.joints:
        group = nets.root(key)
        names = sorted(inputs.get(group, ()))
        if names and (group in driven or len(names) > 1):
            what = f"the input port '{names[0]}'" if len(names) == 1 else f"the input ports {', '.join(names)}"
            reason = f"joins {what} with what else drives the other side of the assignment"
            return Finding("forbidden", line_of(tree, expression.sourceRange.start), reason)
    return None


def _collect(root: Any) -> _Nets:
    nets = _Nets()

    def assigned(left: Any, right: Any) -> None:
        target, sources = _key(left), _joined(right)
        if target is not None and sources:
            nets.join(target, sources)
            nets.joints.append((target, right))
            return
        nets.driven += [(key, left) for key in _keys(left)]

    def assignment(symbol: Any) -> None:
        expression = symbol.assignment
        if expression.kind == E.Assignment:
            assigned(expression.left, expression.right)

    def net(symbol: Any) -> None:
        if symbol.netType.netKind in _PULLING:
            nets.driven.append(((symbol, ()), symbol))
        if symbol.initializer is None:
            return
        sources = _joined(symbol.initializer)
        if sources:
            nets.join((symbol, ()), sources)
            nets.joints.append(((symbol, ()), symbol.initializer))
        else:
            nets.driven.append(((symbol, ()), symbol))

    def instance(symbol: Any) -> None:
        for connection in symbol.portConnections:
            inner, outer = getattr(connection.port, "internalSymbol", None), connection.expression
            if inner is None or outer is None:
                continue
            if outer.kind == E.Assignment:  # an output: the target of its value
                outer = outer.left
            outside = _joined(outer, wrapped=True)
            if outside:
                nets.join((inner, ()), outside)
            elif connection.port.direction != ast.ArgumentDirection.In:
                nets.driven += [(key, outer) for key in _keys(outer)]

    def gate(symbol: Any) -> None:
        # Which of its terminals are outputs does not matter: one that reads what it drives is no honest one.
        for terminal in symbol.portConnections:
            if terminal.kind == E.Assignment:
                nets.driven += [(key, terminal) for key in _keys(terminal.left)]
        if symbol.primitiveType.name in _SWITCHES:
            for terminal in symbol.portConnections[:2]:
                nets.driven += [(key, terminal) for key in _keys(terminal)]

    def branch(symbol: Any) -> Any:
        return ast.VisitAction.Skip if symbol.isUninstantiated else None

    root.visit(
        lookup_table={
            S.ContinuousAssign: assignment,
            S.Net: net,
            S.Instance: instance,
            S.PrimitiveInstance: gate,
            S.GenerateBlock: branch,
        }
    )
    return nets


_PARTS = frozenset({E.RangeSelect, E.ElementSelect, E.MemberAccess})
_SWITCHES = frozenset(
    f"{kind}{ending}" for kind in ("tran", "rtran") for ending in ("", "if0", "if1")
)  # which have two ends and no direction


def _key(expression: Any) -> _Key | None:
    """A whole net, or one element of an array of them; None for anything else."""
    selectors: list[Any] = []
    while expression.kind == E.ElementSelect and expression.value.type.isUnpackedArray:
        selectors.append(expression.selector)
        expression = expression.value
    if expression.kind not in (E.NamedValue, E.HierarchicalValue):
        return None
    symbol = expression.symbol
    indices = [_constant(selector, symbol.parentScope) for selector in reversed(selectors)]
    return None if None in indices else (symbol, tuple(index for index in indices if index is not None))


def _constant(expression: Any, scope: Any) -> int | None:
    value = expression.constant or expression.eval(ast.EvalContext(ast.ASTContext(scope, ast.LookupLocation.max)))
    try:
        return int(str(value))
    except ValueError:
        return None


def _keys(expression: Any) -> Iterator[_Key]:
    """What a target drives: the element where that is known, else the whole."""
    key = _key(expression)
    if key is not None:
        yield key
        return
    for leaf in leaves(expression):
        yield leaf.symbol, ()


def _joined(expression: Any, *, wrapped: bool = False) -> list[_Key]:
    """What the other side of the assignment becomes one net with; nothing where it only takes its value.

    Icarus leaves out operations that change nothing (a shift by 0), so one with a constant counts as none.

    Args:
        expression: the right side, or what is connected to a port.
        wrapped: a plain name counts as well, as it does at a port.
    """
    found: list[_Key] = []
    ahead = [(expression, wrapped)]
    while ahead:
        node, wrapped = ahead.pop()
        kind = node.kind
        if kind == E.Conversion:
            ahead.append((node.operand, wrapped or not node.isImplicit))
        elif kind == E.Call and node.isSystemCall and node.subroutineName in _TRANSPARENT:
            ahead.append((node.arguments[0], True))
        elif kind == E.ConditionalOp:
            # A condition that no signal is in is constant; either side may be the one that is taken.
            if not any(_reads(condition.expr) for condition in node.conditions):
                ahead += [(node.left, wrapped), (node.right, wrapped)]
        elif kind == E.BinaryOp:
            if _reads(node.left) != _reads(node.right):
                ahead.append((node.left if _reads(node.left) else node.right, wrapped))
        elif kind == E.UnaryOp:
            ahead.append((node.operand, wrapped))
        elif kind == E.Concatenation:
            if len(node.operands) == 1:
                ahead.append((node.operands[0], wrapped))
        elif kind == E.Replication:
            ahead.append((node.concat, wrapped))
        elif (key := _key(node)) is not None:
            found += [key] if wrapped else []
        elif kind in _PARTS:
            ahead.append((node.value, wrapped))  # a part may be all of it, and at a port any part is driven
    return found


def _reads(expression: Any) -> bool:
    found: list[Any] = []

    def value(node: Any) -> None:
        if node.symbol.kind in (S.Net, S.Variable, S.FormalArgument, S.Field):
            found.append(node)

    expression.visit(lookup_table={E.NamedValue: value, E.HierarchicalValue: value})
    return bool(found)


# ---- the same by syntax, where nothing is elaborated


def refuse_dead_joins(stretches: list[Any], outline: Outline, module: str) -> Finding | None:
    """The first joining assignment in code that is not elaborated, to a name that something else may drive as well."""
    for stretch in stretches:
        for left, right in _assignments(stretch):
            names = [name.identifier.valueText for name in every(_NAMES, left)]
            if not names or not _joins_by_syntax(right):
                continue
            definition = _around(left)
            targets = Counter(_targets(definition, outline))
            child = definition.header.name.valueText != module
            for name in names:
                if targets[name] > 1 or (child and name in _ports(definition)):
                    reason = f"joins '{name}', which something else may drive, with what it is assigned"
                    return Finding("forbidden", outline.line(left), reason)
    return None


def _assignments(stretch: Any) -> Iterator[tuple[Any, Any]]:
    for assign in every((K.ContinuousAssign,), stretch):
        for one in nodes(assign.assignments):
            yield one.left, one.right
    for declaration in every((K.NetDeclaration,), stretch):
        for item in nodes(declaration.declarators):
            if item.initializer is not None:
                yield item, item.initializer.expr


def _joins_by_syntax(node: Any) -> bool:
    wrapped = False
    while True:
        if node.kind == K.ParenthesizedExpression:
            node = node.expression
        elif node.kind == K.InvocationExpression and str(node.left).strip() in _TRANSPARENT:
            wrapped = True
            arguments = nodes(node.arguments.parameters) if node.arguments is not None else []
            if len(arguments) != 1 or not hasattr(arguments[0], "expr"):
                return True
            node = arguments[0].expr
            while hasattr(node, "expr") and node.kind not in _NAMES:
                node = node.expr
        elif node.kind in (K.CastExpression, K.SignedCastExpression):
            wrapped = True
            node = node.right if node.kind == K.CastExpression else node.inner
        else:
            # Operations may change nothing and be left out: whatever holds a cast counts.
            inside = every((K.CastExpression, K.SignedCastExpression), node)
            calls = [call for call in every((K.SystemName,), node) if str(call).strip() in _TRANSPARENT]
            return bool(inside or calls) or (wrapped and node.kind in (*_NAMES, K.ScopedName))


def _around(node: Any) -> Any:
    while node.kind not in DEFINITIONS:
        node = node.parent
    return node


def _targets(definition: Any, outline: Outline) -> Iterator[str]:
    """Names that something in a module drives, once for each."""
    for target in written_to(definition, outline):
        for name in every(_NAMES, target):
            yield name.identifier.valueText
    for declaration in every((K.NetDeclaration,), definition):
        pulls = declaration.netType.rawText not in ("wire", "tri", "uwire")
        for item in nodes(declaration.declarators):
            if item.initializer is not None:
                yield item.name.valueText
            if pulls:
                yield item.name.valueText


def _ports(definition: Any) -> set[str]:
    found = {item.declarator.name.valueText for item in every((K.ImplicitAnsiPort,), definition)}
    for port in every((K.PortDeclaration,), definition):
        found.update(item.name.valueText for item in nodes(port.declarators))
    return found
