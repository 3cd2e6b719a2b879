"""Scopes by syntax: which names are declared around a place in the text, and what kind of thing they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyslang import parsing, syntax

K = syntax.SyntaxKind
T = parsing.TokenKind

DEFINITIONS = (K.ModuleDeclaration, K.InterfaceDeclaration, K.ProgramDeclaration)

_SCOPES = frozenset(
    {
        K.ModuleDeclaration, K.InterfaceDeclaration, K.ProgramDeclaration, K.PackageDeclaration, K.ClassDeclaration,
        K.GenerateBlock, K.SequentialBlockStatement, K.ParallelBlockStatement, K.ForLoopStatement,
        K.FunctionDeclaration, K.TaskDeclaration, K.SpecifyBlock, K.PropertyDeclaration, K.SequenceDeclaration,
        K.StructType, K.UnionType, K.UdpDeclaration, K.CompilationUnit,
    }
)  # fmt: skip
_BLOCKS = frozenset({K.GenerateBlock, K.SequentialBlockStatement, K.ParallelBlockStatement})
NAMED = (
    K.Declarator, K.InstanceName, K.TypedefDeclaration, K.ForwardTypedefDeclaration, K.ClassDeclaration,
    K.PropertyDeclaration, K.SequenceDeclaration, K.SpecparamDeclarator, K.TypeAssignment, K.AssertionItemPort,
    K.CovergroupDeclaration, K.NamedLabel, K.UdpDeclaration,
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One declaration of a name.

    Attributes:
        low: where the stretch of text begins in which it is visible.
        high: where that ends.
        kind: ``input`` port, ``instance``, ``scope`` (a named block), ``value`` (variable, net, parameter, argument),
            or ``other`` (genvar, type, subroutine, property, label, …), of which nothing is reached with a dot.
        branch: where the block begins that has this name, if it is a branch of a generate construct, which may not be
            there; None for all others.
        repeated: that construct is a loop.
    """

    low: int
    high: int
    kind: str
    branch: int | None = None
    repeated: bool = False


_REACHED = frozenset({"input", "instance", "scope", "value"})


class Declarations:
    """Names by the stretch of text in which they are visible."""

    def __init__(self, root: Any, modules: dict[str, Any]) -> None:
        self._modules = modules
        self._visible: dict[str, list[Entry]] = {}
        self._whole = (0, 1 << 62)
        table: dict[Any, Any] = dict.fromkeys(NAMED, self._named)
        table[K.NamedBlockClause] = self._block
        table[K.FunctionDeclaration] = table[K.TaskDeclaration] = self._subroutine
        table[K.PackageDeclaration] = lambda node: self._add(node.header.name.valueText, self._whole)
        table[K.GenvarDeclaration] = self._genvars
        table[K.LoopGenerate] = lambda node: self._add(node.identifier.valueText, scope_of(node))
        table[K.ClockingDeclaration] = lambda node: self._add(node.blockName.valueText, scope_of(node), "scope")
        table[K.LetDeclaration] = lambda node: self._add(node.identifier.valueText, scope_of(node))
        table[K.PackageImportItem] = self._imported
        table[K.ForeachLoopList] = self._loop_variables
        root.visit(lookup_table=table)

    def sees(self, name: str, offset: int) -> bool:
        """Whether ``name`` is declared in a scope around ``offset``."""
        return bool(self._around(name, offset))

    def heads(self, name: str, offset: int) -> list[Entry]:
        """Declarations of ``name`` around ``offset`` that a dot can follow."""
        return [entry for entry in self._around(name, offset) if entry.kind in _REACHED]

    def kind(self, name: str, offset: int) -> str:
        """What the innermost declaration of ``name`` around ``offset`` is: ``input``, ``instance``, or something else.

        A name that is declared twice in one scope, in the port list and below it, is an input if one of them says so.
        """
        around = self._around(name, offset)
        innermost = max((entry.low for entry in around), default=0)
        kinds = {entry.kind for entry in around if entry.low == innermost}
        return next((kind for kind in ("input", "instance") if kind in kinds), "")

    def _around(self, name: str, offset: int) -> list[Entry]:
        return [entry for entry in self._visible.get(name, ()) if entry.low <= offset < entry.high]

    def _add(self, name: str, scope: tuple[int, int], kind: str = "other") -> None:
        self._visible.setdefault(name, []).append(Entry(*scope, kind))

    def _named(self, node: Any) -> None:
        scope = self._whole if _in_package(node) else scope_of(node)
        kind = "other"
        if node.kind == K.Declarator:
            kind = "input" if _is_input_port(node) else "value"
        elif node.kind == K.InstanceName and node.parent.parent.kind == K.HierarchyInstantiation:
            definition = self._modules.get(node.parent.parent.type.valueText)
            kind = "instance" if definition is None or definition.kind == K.ModuleDeclaration else "value"
        self._add(node.name.valueText, scope, kind)

    def _block(self, node: Any) -> None:
        block, name = node.parent, node.name.valueText
        if block.kind == K.GenerateBlock:
            construct = _construct_of(block)
            repeated = block.parent.kind == K.LoopGenerate
            branch = None if construct is block else block.sourceRange.start.offset
            self._visible.setdefault(name, []).append(Entry(*scope_of(construct), "scope", branch, repeated))
        else:
            # A label may stand before `begin` or `end` too; only the one after `begin` names the block.
            self._add(name, scope_of(block if block.kind in _BLOCKS else node), "scope")

    def _subroutine(self, node: Any) -> None:
        name = node.prototype.name
        if name.kind in (K.IdentifierName, K.IdentifierSelectName):
            self._add(name.identifier.valueText, self._whole if _in_package(node) else scope_of(node))
            span = node.sourceRange
            # Within itself a function's name is what it returns, which may be a structure.
            self._add(name.identifier.valueText, (span.start.offset, span.end.offset), "value")

    def _genvars(self, node: Any) -> None:
        for item in nodes(node.identifiers):
            self._add(item.identifier.valueText, scope_of(node))

    def _loop_variables(self, node: Any) -> None:
        for item in nodes(node.loopVariables):
            if item.kind == K.IdentifierName:
                self._add(item.identifier.valueText, scope_of(node), "value")

    def _imported(self, node: Any) -> None:
        self._add(node.item.valueText, scope_of(node), "value")


def _construct_of(block: Any) -> Any:
    """The outermost generate construct in whose scope the name of a generate block stands, or the block itself.

    Constructs directly within a branch of a conditional one, without `begin`, belong to it (IEEE 1800-2017, 27.5).
    """
    node = block
    if _is_branch(node) and node.parent.kind == K.LoopGenerate:
        return node.parent
    while _is_branch(node) and node.parent.kind != K.LoopGenerate:
        node = node.parent
        while node.kind not in (K.IfGenerate, K.CaseGenerate):
            node = node.parent
    return node


def _is_branch(node: Any) -> bool:
    """It is what a generate construct has in a branch: a block, or one item without `begin`."""
    parent = node.parent
    if parent is None:
        return False
    if parent.kind == K.ElseClause:
        return parent.parent is not None and parent.parent.kind == K.IfGenerate
    if parent.kind in (K.IfGenerate, K.LoopGenerate):
        return bool(parent.block.sourceRange == node.sourceRange)
    if parent.kind in (K.StandardCaseItem, K.DefaultCaseItem):
        return bool(parent.clause.sourceRange == node.sourceRange) and _in_case_generate(parent)
    return False


def _in_case_generate(item: Any) -> bool:
    around = item.parent
    while around is not None and around.kind not in (K.CaseGenerate, K.CaseStatement):
        around = around.parent
    return around is not None and around.kind == K.CaseGenerate


def scope_of(node: Any) -> tuple[int, int]:
    """Offsets of the scope in which a declaration stands; the whole file where there is none.

    One item in a branch of a generate construct is in a scope of its own, as it would be between `begin` and `end`.
    """
    child, node = node, node.parent
    while node is not None and node.kind not in _SCOPES:
        if _is_branch(child) and child.kind not in (K.IfGenerate, K.CaseGenerate):
            span = child.sourceRange
            return span.start.offset, span.end.offset
        child, node = node, node.parent
    if node is None or node.kind == K.CompilationUnit:
        return 0, 1 << 62
    span = node.sourceRange
    return span.start.offset, span.end.offset


def _in_package(node: Any) -> bool:
    node = node.parent
    while node is not None and node.kind not in _SCOPES:
        node = node.parent
    return node is not None and node.kind == K.PackageDeclaration


_OWN_DIRECTION = frozenset({T.InputKeyword, T.OutputKeyword, T.InOutKeyword, T.RefKeyword})


def direction_of(port: Any) -> Any:
    """Token kind of an ANSI port's or a port declaration's direction; an ANSI port may take its neighbour's."""
    if port.kind == K.ImplicitAnsiPort:
        direction: Any = T.InOutKeyword
        for item in nodes(port.parent.ports):
            token = getattr(getattr(item, "header", None), "direction", None) or getattr(item, "direction", None)
            if token is not None and token.kind in _OWN_DIRECTION:
                direction = token.kind
            if item.sourceRange.start.offset == port.sourceRange.start.offset:
                break
        return direction
    token = getattr(port.header, "direction", None)
    return token.kind if token is not None else None


def _is_input_port(declarator: Any) -> bool:
    port = declarator.parent
    if port is None or port.kind not in (K.ImplicitAnsiPort, K.PortDeclaration):
        return False
    around = port.parent
    while around is not None and around.kind not in _SCOPES:
        around = around.parent
    return around is not None and around.kind in DEFINITIONS and direction_of(port) == T.InputKeyword


def nodes(items: Any) -> list[Any]:
    """The nodes of a list of the syntax tree, without the commas between them."""
    return [item for item in items if isinstance(item, syntax.SyntaxNode)]


def every(kinds: Iterable[Any], node: Any) -> list[Any]:
    """All nodes of some kinds below ``node``, in order."""
    found: list[Any] = []
    node.visit(lookup_table=dict.fromkeys(kinds, found.append))
    return found
