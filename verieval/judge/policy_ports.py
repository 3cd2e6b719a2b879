"""Ports by syntax: nets that two ports share, switches on what an instance reads, declarations that drive an input.

In Icarus a port is one net with what is connected to it. So a module in which one net is two ports joins what is
connected to them, and a driver of the one drives the other; a net type that pulls, or a value in a declaration, is a
driver too. None of that is an assignment, and all of it is seen without elaboration, so it holds in code that is not
elaborated as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pyslang import parsing, syntax

from verieval.judge.policy_dead import ports_of
from verieval.judge.policy_names import Outline
from verieval.judge.policy_scopes import DEFINITIONS, direction_of, every, nodes, scope_of
from verieval.judge.policy_words import Finding

K = syntax.SyntaxKind
T = parsing.TokenKind

_NAMES = (K.IdentifierName, K.IdentifierSelectName)
_SWITCHES = ("tran", "rtran")
_PLAIN_NETS = frozenset({"", "wire", "tri", "uwire"})  # the others pull, keep a charge, or resolve otherwise
_TYPED = (K.ImplicitAnsiPort, K.PortDeclaration)


def refuse_ports(outline: Outline) -> Finding | None:
    """The first module whose ports let it drive what it may only read; in the order of the text."""
    for definition in every(DEFINITIONS, outline.tree.root):
        for found in (_shared(definition), _driven(definition), _switched(definition, outline)):
            if found is not None:
                node, reason = found
                return Finding("forbidden", outline.line(node), reason)
    return None


def _shared(definition: Any) -> tuple[Any, str] | None:
    """One net inside two ports; `.a(n[0]), .b(n[1])` counts too, as `n` may be as wide as the index says."""
    inner = [node.name.valueText for node in every((K.PortReference,), definition.header)]
    inner += [
        name.identifier.valueText
        for port in every((K.ExplicitAnsiPort,), definition.header)
        for name in every(_NAMES, port.expr or port)
    ]
    inner += [port.declarator.name.valueText for port in every((K.ImplicitAnsiPort,), definition.header)]
    name, count = next(iter(Counter(inner).most_common(1)), ("", 0))
    if count < 2:
        return None
    return definition.header, f"'{name}' is inside two ports: it joins what is connected to them"


def _driven(definition: Any) -> tuple[Any, str] | None:
    """An input port whose declaration drives it."""
    inputs = _inputs(definition)
    for port in every(_TYPED, definition):
        if _own(port, definition) and direction_of(port) == T.InputKeyword:
            word = _net_type(port.header)
            if word not in _PLAIN_NETS:
                return port, f"drives an input port: it is declared as '{word}'"
            if port.kind == K.ImplicitAnsiPort and port.declarator.initializer and _is_variable(port.header):
                return port, "drives an input port: it is a variable with a default, which Icarus 12 assigns to it"
    for declaration in every((K.NetDeclaration, K.DataDeclaration), definition):
        if not _own(declaration, definition):
            continue
        word = declaration.netType.rawText if declaration.kind == K.NetDeclaration else ""
        for item in nodes(declaration.declarators):
            name = item.name.valueText
            if name in inputs and word not in _PLAIN_NETS:
                return item, f"drives the input port '{name}': it is declared as '{word}'"
            if name in inputs and item.initializer is not None:
                return item, f"drives the input port '{name}': its declaration gives it a value"
    return None


def _inputs(definition: Any) -> set[str]:
    """Names inside its input ports."""
    found: set[str] = set()
    for port in every(_TYPED, definition):
        if _own(port, definition) and direction_of(port) == T.InputKeyword:
            declared = [port.declarator] if port.kind == K.ImplicitAnsiPort else nodes(port.declarators)
            found.update(item.name.valueText for item in declared)
    return found


def _net_type(header: Any) -> str:
    token = getattr(header, "netType", None)
    return token.rawText if isinstance(token, parsing.Token) else ""


def _is_variable(header: Any) -> bool:
    token = getattr(header, "varKeyword", None)
    return isinstance(token, parsing.Token) and bool(token.rawText)


def _own(node: Any, definition: Any) -> bool:
    """It stands in the module itself, not in a function or block of it."""
    span = definition.sourceRange
    return scope_of(node) == (span.start.offset, span.end.offset)


def _switched(definition: Any, outline: Outline) -> tuple[Any, str] | None:
    """A bidirectional switch on a net that an instance of the module reads, which may be one with an input port."""
    terminals = [
        (gate, terminal)
        for gate in every((K.PrimitiveInstantiation,), definition)
        if gate.type.rawText.startswith(_SWITCHES)
        for instance in nodes(gate.instances)
        for terminal in nodes(instance.connections)[:2]
    ]
    if not terminals:
        return None
    read = set(_read_by_instances(definition, outline))
    for gate, terminal in terminals:
        for name in every(_NAMES, terminal):
            word = name.identifier.valueText
            if word in read:
                return gate, f"drives '{word}', which an instance has at an input port, by a bidirectional switch"
    return None


def _read_by_instances(definition: Any, outline: Outline) -> Iterator[str]:
    """Names in what is connected to input ports of instances; to any port of a module that is not known."""
    for instances in every((K.HierarchyInstantiation,), definition):
        known = outline.modules.get(instances.type.valueText)
        order, inputs = ports_of(known) if known is not None else ([], set())
        outputs = set(order) - inputs
        for instance in nodes(instances.instances):
            for position, item in enumerate(nodes(instance.connections)):
                if item.kind == K.WildcardPortConnection:
                    yield from inputs
                    continue
                named = item.kind == K.NamedPortConnection
                port = item.name.valueText if named else "".join(order[position : position + 1])
                if port not in outputs:
                    yield port
                    yield from (name.identifier.valueText for name in every(_NAMES, item))
