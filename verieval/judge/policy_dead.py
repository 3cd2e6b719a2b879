"""What is not elaborated with the default parameters, judged by its syntax: names, and what is written to.

Branches of generate constructs, and modules that only such a branch instantiates, come to life when a bench sets a
parameter. pyslang says nothing of them, nor of a statement that it drops because of a fault. So here names must be
declared around the place where they stand, and whatever looks like a target of an assignment, an output of a gate, a
connection to a port that is no input, or an argument that a subroutine writes must not be an input port.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyslang import ast, parsing, syntax

from verieval.judge.policy_drive import Design
from verieval.judge.policy_names import Outline, written
from verieval.judge.policy_scopes import Declarations, direction_of, every, nodes
from verieval.judge.policy_words import Finding

K = syntax.SyntaxKind
T = parsing.TokenKind

_ASSIGNMENTS = tuple(getattr(K, name) for name in dir(K) if name.endswith("AssignmentExpression"))
_CHANGES = (K.PostincrementExpression, K.PostdecrementExpression)
_CHANGES_BEFORE = (K.UnaryPreincrementExpression, K.UnaryPredecrementExpression)
_TRIGGERS = (K.BlockingEventTriggerStatement, K.NonblockingEventTriggerStatement)
_NAMES = (K.IdentifierName, K.IdentifierSelectName)
_ONE_INPUT = frozenset({T.BufKeyword, T.NotKeyword})  # every terminal but the last is an output


def dead_code(outline: Outline, design: Design) -> list[Any]:
    """Branches and modules that elaboration with the default parameters left out, outermost ones only."""
    dead = [node for name, node in outline.modules.items() if name not in design.bodies]
    for construct in outline.generates:
        dead += [block for block in _branches(construct) if block.sourceRange.start.offset not in design.live]
    return dead


def _branches(construct: Any) -> Iterator[Any]:
    if construct.kind == K.LoopGenerate:
        yield construct.block
    elif construct.kind == K.IfGenerate:
        yield construct.block
        if construct.elseClause is not None and construct.elseClause.clause.kind not in (K.IfGenerate, K.CaseGenerate):
            yield construct.elseClause.clause
    else:
        for item in nodes(construct.items):
            yield item.clause


def refuse_by_syntax(nodes: list[Any], outline: Outline, declared: Declarations) -> Finding | None:
    """Judge stretches without elaboration: every name declared around it, no input port or instance written to."""
    for node in nodes:
        for name in every(_NAMES, node):
            if not declared.sees(name.identifier.valueText, name.sourceRange.start.offset) and _stands_alone(name):
                reason = f"{written(name)} is not defined by the candidate"
                return Finding("not_self_contained", outline.line(name), reason)
    return refuse_targets(nodes, outline, declared)


def refuse_targets(stretches: list[Any], outline: Outline, declared: Declarations) -> Finding | None:
    """The first input port or instance that is written to, by syntax alone."""
    for node in stretches:
        for target in written_to(node, outline):
            for name in _target_names(target):
                word, offset = name.identifier.valueText, name.sourceRange.start.offset
                if declared.kind(word, offset) == "input":
                    return Finding("forbidden", outline.line(name), f"drives the input port '{word}'")
                if declared.kind(word, offset) == "instance":
                    return Finding("forbidden", outline.line(name), f"writes inside another instance, {word}")
        for word, connection in _implicit_connections(node, outline):
            if declared.kind(word, connection.sourceRange.start.offset) == "input":
                return Finding("forbidden", outline.line(connection), f"drives the input port '{word}'")
    return None


def _stands_alone(name: Any) -> bool:
    """Not the later part of a dotted name, which is looked up inside the first."""
    parent = name.parent
    if parent is None:
        return True
    if parent.kind == K.ScopedName:
        return bool(parent.left.sourceRange == name.sourceRange)
    if parent.kind == K.AssignmentPatternItem:  # the key may name a member
        return bool(parent.key.sourceRange != name.sourceRange)
    return parent.kind not in (K.FunctionPrototype, K.NamedStructurePatternMember)


def written_to(node: Any, outline: Outline) -> Iterator[Any]:
    """What looks like a target of an assignment, an output of a gate, or a connection to what is no input port."""
    for assignment in every(_ASSIGNMENTS, node):
        yield assignment.left
    for change in every(_CHANGES, node):
        yield change.operand
    for change in every(_CHANGES_BEFORE, node):
        yield change.operand
    for trigger in every(_TRIGGERS, node):
        yield trigger.name
    for deassign in every((K.ProceduralDeassignStatement,), node):
        yield deassign.variable
    yield from every((K.NetAlias,), node)
    for gate in every((K.PrimitiveInstantiation,), node):
        yield from _gate_outputs(gate)
    for instances in every((K.HierarchyInstantiation,), node):
        yield from _port_outputs(instances, outline)
    for call in every((K.InvocationExpression,), node):
        if call.arguments is not None and _has_outputs(call, outline):
            yield call.arguments


def _gate_outputs(gate: Any) -> Iterator[Any]:
    kind = gate.type.kind
    for instance in nodes(gate.instances):
        terminals = nodes(instance.connections)
        word = gate.type.rawText
        if word.startswith(("tran", "rtran")):
            yield from terminals[:2]
        elif kind in _ONE_INPUT:
            yield from terminals[:-1]
        else:
            yield from terminals[:1]


def _port_outputs(instances: Any, outline: Outline) -> Iterator[Any]:
    definition = outline.modules.get(instances.type.valueText)
    if definition is None:
        return
    order, inputs = ports_of(definition)
    for instance in nodes(instances.instances):
        for position, item in enumerate(nodes(instance.connections)):
            named = item.kind == K.NamedPortConnection
            name = item.name.valueText if named else "".join(order[position : position + 1])
            if name not in inputs:
                yield item


def _implicit_connections(node: Any, outline: Outline) -> Iterator[tuple[str, Any]]:
    """Ports that are no inputs, where `.name` or `.*` connects them to what has the same name."""
    for connection in every((K.NamedPortConnection, K.WildcardPortConnection), node):
        instances = connection.parent.parent
        definition = (
            outline.modules.get(instances.type.valueText) if instances.kind == K.HierarchyInstantiation else None
        )
        if definition is None:
            continue
        order, inputs = ports_of(definition)
        if connection.kind == K.WildcardPortConnection:
            given = {item.name.valueText for item in every((K.NamedPortConnection,), connection.parent)}
            yield from ((name, connection) for name in order if name not in inputs and name not in given)
        elif not connection.openParen.rawText and connection.name.valueText not in inputs:
            yield connection.name.valueText, connection


def ports_of(definition: Any) -> tuple[list[str], set[str]]:
    """Port names in order (empty for one that has none), and which of them are certainly inputs."""
    order: list[str] = []
    inputs: set[str] = set()
    inside: dict[str, set[str]] = {}
    for port in nodes(getattr(definition.header.ports, "ports", ())):
        if port.kind == K.ImplicitAnsiPort:
            order.append(port.declarator.name.valueText)
            if direction_of(port) == T.InputKeyword:
                inputs.add(order[-1])
            continue
        names = {name.name.valueText for name in every((K.PortReference,), port)}
        name = getattr(port, "name", None)
        order.append(name.valueText if name is not None else "".join(names) if len(names) == 1 else "")
        inside[order[-1]] = names
    declared: set[str] = set()
    for port in every((K.PortDeclaration,), definition):
        if direction_of(port) == T.InputKeyword:
            declared.update(item.name.valueText for item in nodes(port.declarators))
    inputs.update(name for name, names in inside.items() if name and names and names <= declared)
    return order, inputs


def _has_outputs(call: Any, outline: Outline) -> bool:
    """Whether a subroutine of that name, anywhere in the text, has an argument that is no input."""
    name = str(call.left).strip().rpartition(".")[2].rpartition("::")[2]
    if call.left.kind == K.SystemName:
        return name in ("$sformat", "$swrite", "$swriteb", "$swriteh", "$swriteo", "$cast", "$sscanf")
    found: list[Any] = []
    for subroutine in every((K.FunctionDeclaration, K.TaskDeclaration), outline.tree.root):
        if str(subroutine.prototype.name).strip() == name:
            found += every((K.FunctionPort, K.PortDeclaration), subroutine)
    return any(direction_of_port(port) not in (None, T.InputKeyword) for port in found)


def direction_of_port(port: Any) -> Any:
    """Token kind of the direction of a subroutine's argument, or None."""
    token = port.direction if port.kind == K.FunctionPort else getattr(port.header, "direction", None)
    return token.kind if token is not None and token.rawText else None


def _target_names(target: Any) -> list[Any]:
    """Names in a target that are written to: not those inside its selects, and of a dotted name the first."""
    found: list[Any] = []

    def name(node: Any) -> Any:
        if _stands_alone(node):
            found.append(node)
        return ast.VisitAction.Skip

    table: dict[Any, Any] = dict.fromkeys(_NAMES, name)
    table[K.ElementSelect] = lambda node: ast.VisitAction.Skip
    target.visit(lookup_table=table)
    return found
