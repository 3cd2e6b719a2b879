"""What a candidate drives: no input port, and nothing inside another instance.

In Icarus an input port is one net with what it is connected to, so a driver inside the module reaches the bench's
stimulus. The elaborated design says what every assignment, port connection, gate and argument writes to. What is not
elaborated is for :mod:`~verieval.judge.policy_dead`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyslang import ast

from verieval.judge.policy_names import Outline, line_of
from verieval.judge.policy_words import Finding

E = ast.ExpressionKind
S = ast.SymbolKind

_STEPS = frozenset(
    {
        ast.UnaryOperator.Preincrement,
        ast.UnaryOperator.Predecrement,
        ast.UnaryOperator.Postincrement,
        ast.UnaryOperator.Postdecrement,
    }
)
_BACK_DRIVEN = frozenset({ast.ArgumentDirection.In, ast.ArgumentDirection.Ref})


@dataclass
class Design:
    """What one walk over the elaborated design found.

    Attributes:
        inputs: symbols inside input ports, of the target and of every instance in it.
        input_names: the same by instance body and name, for ports that are declared twice.
        targets: expressions that are written to.
        live: where the branches of generate constructs start that were elaborated.
        bodies: names of the modules that were elaborated.
        endless: a loop that runs at time 0 and never ends or waits.
    """

    tree: Any
    inputs: set[Any] = field(default_factory=set)
    input_names: set[tuple[Any, str]] = field(default_factory=set)
    targets: list[Any] = field(default_factory=list)
    live: set[int] = field(default_factory=set)
    bodies: set[str] = field(default_factory=set)
    endless: Finding | None = None


def walk(tree: Any, root: Any) -> Design:
    """Visit every instance once.

    No function in here refers to itself: a reference cycle would keep pyslang's objects alive after the memory that
    they stand for is gone, and pyslang ends the process when it finds one at an address that it uses again.
    """
    design = Design(tree)

    def port(symbol: Any) -> None:
        if symbol.direction in _BACK_DRIVEN:
            inner = symbol.internalSymbol
            if inner is not None:
                design.inputs.add(inner)
                design.input_names.add((symbol.parentScope, inner.name))
            if symbol.internalExpr is not None:
                design.inputs.update(leaf.symbol for leaf in leaves(symbol.internalExpr))

    def ports(symbol: Any) -> None:
        for part in symbol.ports:  # a port that is a concatenation
            port(part)

    def body(symbol: Any) -> None:
        design.bodies.add(symbol.definition.name)

    def branch(symbol: Any) -> Any:
        if symbol.isUninstantiated:
            return ast.VisitAction.Skip
        if symbol.syntax is not None:
            design.live.add(symbol.syntax.sourceRange.start.offset)
        return None

    def call(expression: Any) -> None:
        if expression.isSystemCall:
            return
        formals = expression.subroutine.arguments
        for formal, actual in zip(formals, expression.arguments, strict=False):
            if formal.direction == ast.ArgumentDirection.Ref:
                design.targets.append(actual)

    def step(expression: Any) -> None:
        if expression.op in _STEPS:
            design.targets.append(expression.operand)

    def procedure(symbol: Any) -> None:
        if design.endless is None:
            loop = _endless(symbol)
            if loop is not None:
                where = line_of(tree, loop.sourceRange.start)
                design.endless = Finding("timeout", where, "a loop that never ends and never waits")

    root.visit(
        lookup_table={
            S.Port: port,
            S.MultiPort: ports,
            S.InstanceBody: body,
            S.GenerateBlock: branch,
            S.NetAlias: lambda symbol: design.targets.extend(symbol.netReferences),
            S.ProceduralBlock: procedure,
            E.Assignment: lambda expression: design.targets.append(expression.left),
            E.UnaryOp: step,
            E.Call: call,
            ast.StatementKind.ProceduralDeassign: lambda statement: design.targets.append(statement.lvalue),
            ast.StatementKind.EventTrigger: lambda statement: design.targets.append(statement.target),
        }
    )
    return design


def refuse_drivers(design: Design, outline: Outline) -> Finding | None:
    """The first write to an input port or into another instance."""
    spans = [(node.sourceRange.start.offset, node.sourceRange.end.offset) for node in outline.modules.values()]
    for target in design.targets:
        for leaf in leaves(target):
            symbol = leaf.symbol
            if symbol in design.inputs or (symbol.parentScope, symbol.name) in design.input_names:
                return Finding("forbidden", _line(design.tree, leaf, target), f"drives the input port '{symbol.name}'")
            if symbol.kind == S.ClockVar:
                where = _line(design.tree, leaf, target)
                return Finding("forbidden", where, f"drives '{symbol.name}' through a clocking block")
            if leaf.kind == E.HierarchicalValue and _other_module(leaf, symbol, spans):
                where = _line(design.tree, leaf, target)
                return Finding("forbidden", where, f"writes to '{symbol.name}' inside another instance")
    return None


def leaves(expression: Any) -> Iterator[Any]:
    """The named values that a target of an assignment consists of."""
    ahead = [expression]
    while ahead:
        node = ahead.pop()
        kind = node.kind
        if kind in (E.NamedValue, E.HierarchicalValue):
            yield node
        elif kind in (E.ElementSelect, E.RangeSelect, E.MemberAccess):
            ahead.append(node.value)
        elif kind == E.Conversion:
            ahead.append(node.operand)
        elif kind == E.Concatenation:
            ahead.extend(node.operands)
        elif kind == E.Streaming:
            ahead.extend(item.operand for item in node.streams)
        elif kind in (E.SimpleAssignmentPattern, E.StructuredAssignmentPattern, E.ReplicatedAssignmentPattern):
            ahead.extend(node.elements)
        elif kind == E.Assignment:  # a target inside a connection
            ahead.append(node.left)


def _line(tree: Any, leaf: Any, target: Any) -> int:
    for node in (leaf, target):
        if node.sourceRange.start.offset or node.syntax is not None:
            return line_of(tree, node.sourceRange.start)
    return 0


def _other_module(leaf: Any, symbol: Any, spans: list[tuple[int, int]]) -> bool:
    if symbol.kind == S.ModportPort or _is_in_interface(symbol):
        return False  # that is what interfaces are for; their input ports are protected like any other
    used, declared = leaf.sourceRange.start.offset, symbol.location.offset
    return not any(low <= used < high and low <= declared < high for low, high in spans)


def _is_in_interface(symbol: Any) -> bool:
    body = symbol.parentScope.containingInstance if symbol.parentScope is not None else None
    return body is not None and body.definition.definitionKind == ast.DefinitionKind.Interface


def _endless(procedure: Any) -> Any | None:
    """A `forever` loop that the procedure reaches at once, with nothing in it that waits, leaves or calls a task."""
    statement = procedure.body
    while statement is not None:
        if statement.kind == ast.StatementKind.Block:
            statement = statement.body if statement.blockKind == ast.StatementBlockKind.Sequential else None
        elif statement.kind == ast.StatementKind.List:
            statement = next((item for item in statement.list if item.kind not in _INSTANT), None)
        elif statement.kind == ast.StatementKind.ForeverLoop:
            return None if every_statement(_ENDS, statement) else statement
        else:
            return None
    return None


_INSTANT = frozenset({ast.StatementKind.VariableDeclaration, ast.StatementKind.Empty})
_ENDS = (
    ast.StatementKind.Timed,
    ast.StatementKind.Wait,
    ast.StatementKind.WaitFork,
    ast.StatementKind.WaitOrder,
    ast.StatementKind.Break,
    ast.StatementKind.Return,
    ast.StatementKind.Disable,
    ast.StatementKind.DisableFork,
    ast.StatementKind.Invalid,
    E.Call,
    E.Assignment,  # may carry a delay of its own
)


def every_statement(kinds: tuple[Any, ...], statement: Any) -> list[Any]:
    """All statements and expressions of some kinds below ``statement``."""
    found: list[Any] = []
    for kind in kinds:
        if kind == E.Assignment:
            continue
        statement.visit(lookup_table={kind: found.append})
    statement.visit(lookup_table={E.Assignment: lambda node: found.append(node) if node.timingControl else None})
    return found
