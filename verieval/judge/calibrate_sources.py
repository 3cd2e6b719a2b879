"""Sources that calibration runs beside the reference: stubs, and the reference without values at power-up.

They are derived from the reference, which is trusted, so pyslang reads it in this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from verieval.judge.seal_scan import SealError, tokens
from verieval.task import Task

# What every output of a stub is assigned; the undriven one assigns nothing.
STUBS = {"zero": "'0", "one": "'1", "x": "'x", "undriven": ""}

_VARIABLE_WORDS = {"reg", "logic", "bit"}
_ASSIGNMENTS = {"AssignmentExpression", "NonblockingAssignmentExpression"}


def stubs(task: Task) -> dict[str, str]:
    """One module a kind of stub, with the target's ports and parameters and nothing inside.

    Raises:
        SealError: the reference does not define the target module.
    """
    import pyslang

    tree, module = _module(task)
    compilation = pyslang.ast.Compilation(_options(task.module))
    compilation.addSyntaxTree(tree)
    body = compilation.getRoot().topInstances[0].body
    outputs = [port.name for port in body.portList if port.direction.name in ("Out", "InOut")]
    ansi = type(module.header.ports).__name__ == "AnsiPortListSyntax"
    header = _ansi_header(module.header) if ansi else _made_header(task.module, body)
    return {
        kind: "\n".join([header, *(f"  assign {name} = {value};" for name in outputs if value), "endmodule\n"])
        for kind, value in STUBS.items()
    }


def _options(top: str) -> Any:
    import pyslang

    options = pyslang.ast.CompilationOptions()
    options.topModules = {top}
    return pyslang.Bag([options])


def _module(task: Task) -> tuple[Any, Any]:
    """The reference's syntax tree, and the target module in it."""
    import pyslang

    tree = pyslang.syntax.SyntaxTree.fromText(task.reference or "")
    for member in _nodes(tree.root):
        if type(member).__name__ == "ModuleDeclarationSyntax" and member.header.name.valueText == task.module:
            return tree, member
    raise SealError(f"cannot calibrate {task.id}: its reference does not define {task.module}")


def _ansi_header(header: Any) -> str:
    """The header as it is, on one line, but with nets in place of variables and without their initial values."""
    dropped: set[int] = set()
    for node in _nodes(header.ports):
        if type(node).__name__ == "VariablePortHeaderSyntax":
            dropped |= {token.location.offset for token in tokens(node) if token.rawText in _VARIABLE_WORDS}
        elif type(node).__name__ == "EqualsValueClauseSyntax":
            dropped |= {token.location.offset for token in tokens(node)}
    return " ".join(token.rawText for token in tokens(header) if token.location.offset not in dropped)


def _made_header(name: str, body: Any) -> str:
    """A header for a module that declares its ports inside, with the widths of its default parameters."""
    words = {"In": "input", "Out": "output", "InOut": "inout"}
    given = [f"parameter {item.name} = {item.value}" for item in body.parameters if not item.isLocalParam]
    ports = [
        f"{words[port.direction.name]} {'signed ' * port.type.isSigned}[{port.type.bitWidth - 1}:0] {port.name}"
        for port in body.portList
    ]
    parameters = f" #({', '.join(given)})" if given else ""
    return f"module {name}{parameters}({', '.join(ports)});"


@dataclass
class _Uses:
    """Where the variables of a module get values: at power-up, and while it runs."""

    running: set[str] = field(default_factory=set)
    cuts: list[tuple[int, int, frozenset[str], str]] = field(default_factory=list)  # start, end, names, in its place


def without_power_up(task: Task) -> str | None:
    """The reference without the values that variables have at power-up; None where there are none.

    Dropped are initialisers of declarations and assignments of constants in ``initial`` blocks without delays, for
    variables that are assigned elsewhere too: a table that only an ``initial`` block fills is part of the function.
    """
    import pyslang

    source = task.reference or ""
    tree = pyslang.syntax.SyntaxTree.fromText(source)
    cuts: list[tuple[int, int, str]] = []
    for module in _nodes(tree.root):
        if type(module).__name__ == "ModuleDeclarationSyntax":
            uses = _Uses()
            _note(uses, module)
            cuts += [(start, end, text) for start, end, names, text in uses.cuts if names <= uses.running]
    if not cuts:
        return None
    content = source.encode()
    for start, end, text in sorted(cuts, reverse=True):
        content = content[:start] + text.encode() + content[end:]
    return content.decode()


def _note(uses: _Uses, module: Any) -> None:
    in_port_list = [node for node in _nodes(module.header) if type(node).__name__ == "DeclaratorSyntax"]
    _note_initialisers(uses, [node for node in in_port_list if "Port" in type(node.parent).__name__])
    for node in _nodes(module, into_modules=False):
        kind = node.kind.name
        if kind == "DataDeclaration" and type(node.parent).__name__ in ("ModuleDeclarationSyntax", "SyntaxNode"):
            _note_initialisers(uses, [item for item in node.declarators if type(item).__name__ == "DeclaratorSyntax"])
        elif kind == "InitialBlock":
            _note_initial(uses, node)
        elif kind.endswith(("AssignmentExpression", "crementExpression")) and not _inside(node, "InitialBlock"):
            uses.running |= _assigned(node)


def _note_initialisers(uses: _Uses, declarators: list[Any]) -> None:
    for declarator in declarators:
        clause = declarator.initializer
        if clause is not None:
            span = clause.sourceRange
            uses.cuts.append((span.start.offset, span.end.offset, frozenset({declarator.name.valueText}), ""))


def _note_initial(uses: _Uses, block: Any) -> None:
    inside = list(_nodes(block))
    if any(type(node).__name__ in ("TimingControlStatementSyntax", "WaitStatementSyntax") for node in inside):
        return
    for node in inside:
        if node.kind.name != "ExpressionStatement" or node.expr.kind.name not in _ASSIGNMENTS:
            continue
        if any(child.kind.name == "InvocationExpression" for child in _nodes(node)):
            continue
        span = node.sourceRange
        uses.cuts.append((span.start.offset, span.end.offset, frozenset(_assigned(node.expr)), "begin end"))


def _assigned(expression: Any) -> set[str]:
    """Names of the variables on the left of an assignment, or under an increment."""
    left = getattr(expression, "left", None)
    return set(_targets(getattr(expression, "operand", None) if left is None else left))


def _targets(node: Any) -> Iterator[str]:
    kind = type(node).__name__
    if kind in ("IdentifierNameSyntax", "IdentifierSelectNameSyntax"):
        yield node.identifier.valueText
    elif kind == "ElementSelectExpressionSyntax":
        yield from _targets(node.left)
    elif kind == "ConcatenationExpressionSyntax":
        for part in node.expressions:
            yield from _targets(part)
    elif kind == "ScopedNameSyntax":
        yield from _targets(node.left)


def _inside(node: Any, kind: str) -> bool:
    while node is not None:
        if node.kind.name == kind:
            return True
        node = node.parent
    return False


def _nodes(root: Any, *, into_modules: bool = True) -> Iterator[Any]:
    """The nodes below (and with) ``root``, in order."""
    import pyslang

    if isinstance(root, pyslang.parsing.Token):
        return
    yield root
    for child in root:
        if isinstance(child, pyslang.parsing.Token):
            continue
        if into_modules or type(child).__name__ != "ModuleDeclarationSyntax":
            yield from _nodes(child, into_modules=into_modules)
