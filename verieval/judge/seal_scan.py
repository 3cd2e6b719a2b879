"""Where a bench's text is to be marked: its names, its printing calls, and the places of inserted code.

Benches and references are trusted, so pyslang reads them in this process. Everything is found by role in the syntax
tree, never by a search through the text, and every change is an insertion: line numbers stay as they are, and what was
inserted can be taken out again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from verieval.benchmarks.structure import first_error
from verieval.errors import BenchError
from verieval.task import SourceFile

# In the templates; no Verilog text holds a NUL.
NAME = "\0n"  # what every renamed name ends with
KEY = "\0k"  # the secret in front of what is printed
EARLY = "\0e"  # the early end of a failing simulation
STEP = "\0s"  # the trace so far, printed
FACTOR = "\0f"  # a secret number of the trace's hash; `name,bits;` follows

_PRINTS = {f"${verb}{base}" for verb in ("display", "write", "strobe", "monitor") for base in ("", "b", "o", "h")}
_PRINTS |= {"$info", "$warning", "$error", "$fatal"}
_COUNTER, _ERRORS = "stats1.clocks", "stats1.errors"


class SealError(BenchError):
    """A bench that cannot be sealed."""


@dataclass(frozen=True)
class Scan:
    """What one reading of a task's sources found.

    Attributes:
        trees: the syntax trees, in the order of the sources.
        insertions: per source, (byte offset, text with placeholders).
        names: names that get the secret ending.
        module_starts: module name to (source, offset after its header).
        module_ends: module name to (source, offset of its ``endmodule``).
        counters: module name to (source, offset) after each ``stats1.clocks++;`` in a ``begin … end``, for modules that
            count ``stats1.errors`` as well.
    """

    trees: tuple[Any, ...]
    insertions: tuple[list[tuple[int, str]], ...]
    names: frozenset[str]
    module_starts: dict[str, tuple[int, int]]
    module_ends: dict[str, tuple[int, int]]
    counters: dict[str, list[tuple[int, int]]]


@dataclass
class _Found:
    """Collected in one walk over all sources."""

    modules: set[str] = field(default_factory=set)
    instances: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # module: name: type
    heads: list[tuple[int, Any]] = field(default_factory=list)  # tokens that name modules or instances by their role
    types: list[tuple[int, Any]] = field(default_factory=list)  # tokens that name an instance's module
    paths: list[tuple[int, str, Any]] = field(default_factory=list)  # source, enclosing module, hierarchical name
    prints: list[tuple[int, Any]] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)  # names of subroutines and blocks
    places: dict[str, list[tuple[int, Any]]] = field(default_factory=lambda: defaultdict(list))
    elsewhere: set[str] = field(default_factory=set)  # names that also stand for something else
    starts: dict[str, tuple[int, int]] = field(default_factory=dict)
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    mentions: Counter[tuple[str, str]] = field(default_factory=Counter)


def scan(task: str, sources: tuple[SourceFile, ...]) -> Scan:
    """Read a task's bench and reference.

    Args:
        task: its id, for messages.
        sources: their texts.

    Raises:
        SealError: a source does not parse, or what must be marked comes out of a macro.
    """
    import pyslang

    trees = tuple(pyslang.syntax.SyntaxTree.fromText(source.text, name=source.name) for source in sources)
    found = _Found()
    for number, (tree, source) in enumerate(zip(trees, sources, strict=True)):
        if bad := first_error(tree):
            line, words = bad
            raise SealError(f"cannot seal the bench of {task}: {source.name}:{line} does not parse: {words}")
        _collect(found, number, tree.root)
    insertions: tuple[list[tuple[int, str]], ...] = tuple([] for _ in sources)
    marks = _Marks(task, trees, sources, insertions)
    names = _rename(found, marks)
    for number, call in found.prints:
        _key(marks, number, call)
    counters = {
        module: places for module, places in found.counters.items() if found.mentions[module, _ERRORS] and places
    }
    return Scan(trees, insertions, frozenset(names), found.starts, found.ends, counters)


@dataclass(frozen=True)
class _Marks:
    """Insertions by token, refused where the token has no place in the file."""

    task: str
    trees: tuple[Any, ...]
    sources: tuple[SourceFile, ...]
    insertions: tuple[list[tuple[int, str]], ...]

    def add(self, number: int, token: Any, text: str, *, before: bool = False) -> None:
        """Insert a text behind (or before) a token."""
        offset = self.place(number, token)
        self.insertions[number].append((offset if before else offset + len(token.rawText.encode()), text))

    def place(self, number: int, token: Any) -> int:
        """Byte offset of a token."""
        if self.trees[number].sourceManager.isMacroLoc(token.location):
            raise SealError(
                f"cannot seal the bench of {self.task}: {self.sources[number].name} writes {token.rawText} in a macro; "
                "write it out in the bench"
            )
        return int(token.location.offset)


def tokens(node: Any) -> Iterator[Any]:
    """All tokens below a syntax node that stand in the text, in order."""
    import pyslang

    for child in node:
        if not isinstance(child, pyslang.parsing.Token):
            yield from tokens(child)
        elif not child.isMissing and child.rawText:
            yield child


def spelled(node: Any) -> str:
    """The node's text on one line, macros expanded and comments dropped."""
    return " ".join(token.rawText for token in tokens(node)).replace(" . ", ".")


def _collect(found: _Found, number: int, root: Any) -> None:
    """Note every node that matters in a tree. The tree has thousands of nodes, so what is asked of each is little."""
    import pyslang

    token, identifier = pyslang.parsing.Token, pyslang.parsing.TokenKind.Identifier

    def walk(node: Any, module: str) -> None:
        kind = type(node).__name__
        if kind == "ModuleDeclarationSyntax":
            module = _module(found, number, node)
        note = _NOTES.get(kind)
        if note is not None:
            note(found, number, node, module)
        for child in node:
            if not isinstance(child, token):
                walk(child, module)
            elif child.kind == identifier and not child.isMissing:
                _identifier(found, number, kind, child)

    walk(root, "")


def _module(found: _Found, number: int, node: Any) -> str:
    name: str = node.header.name.valueText
    found.modules.add(name)
    found.heads.append((number, node.header.name))
    if node.blockName is not None:
        found.heads.append((number, node.blockName.name))
    last = node.header.semi
    found.starts[name] = (number, last.location.offset + 1)
    found.ends[name] = (number, node.endmodule.location.offset)
    return name


def _identifier(found: _Found, number: int, parent: str, token: Any) -> None:
    """A scope's name may be marked only where every use of the name is one that stands for the scope."""
    if parent in ("IdentifierNameSyntax", "NamedBlockClauseSyntax", "NamedLabelSyntax"):
        found.places[token.valueText].append((number, token))
    else:
        found.elsewhere.add(token.valueText)


def _instantiation(found: _Found, number: int, node: Any, module: str) -> None:
    found.types.append((number, node.type))
    for instance in node.instances:
        if type(instance).__name__ == "HierarchicalInstanceSyntax" and instance.decl is not None:
            found.heads.append((number, instance.decl.name))
            found.instances[module][instance.decl.name.valueText] = node.type.valueText


def _path(found: _Found, number: int, node: Any, module: str) -> None:
    if type(node.parent).__name__ != "ScopedNameSyntax":
        found.paths.append((number, module, node))
        found.mentions[module, spelled(node)] += 1


def _subroutine(found: _Found, _number: int, node: Any, _module: str) -> None:
    if type(node.prototype.name).__name__ == "IdentifierNameSyntax":
        found.scopes.add(node.prototype.name.identifier.valueText)


def _label(found: _Found, _number: int, node: Any, _module: str) -> None:
    found.scopes.add(node.name.valueText)


def _call(found: _Found, number: int, node: Any, _module: str) -> None:
    if node.systemIdentifier.valueText in _PRINTS:
        found.prints.append((number, node))


def _statement(found: _Found, number: int, node: Any, module: str) -> None:
    in_block = type(node.parent).__name__ == "BlockStatementSyntax" or "List" in type(node.parent).__name__
    if in_block and node.expr.kind.name == "PostincrementExpression" and spelled(node.expr.operand) == _COUNTER:
        found.counters[module].append((number, node.semi.location.offset + 1))


_NOTES = {
    "HierarchyInstantiationSyntax": _instantiation,
    "ScopedNameSyntax": _path,
    "FunctionDeclarationSyntax": _subroutine,
    "NamedBlockClauseSyntax": _label,
    "SystemNameSyntax": _call,
    "ExpressionStatementSyntax": _statement,
}


def _rename(found: _Found, marks: _Marks) -> set[str]:
    """Mark modules, instances, and the names of scopes, which a design could reach upwards."""
    names = set(found.modules)
    for number, token in found.heads:
        marks.add(number, token, NAME)
        names.add(token.valueText)
    for number, token in found.types:
        if token.valueText in found.modules:
            marks.add(number, token, NAME)
    for number, module, path in found.paths:
        for token in _hierarchy(found, module, path):
            marks.add(number, token, NAME)
    for name in found.scopes - found.elsewhere - names:
        for number, token in found.places[name]:
            marks.add(number, token, NAME)
        names.add(name)
    return names


def _hierarchy(found: _Found, module: str, path: Any) -> Iterator[Any]:
    """Tokens of a hierarchical name that name modules and instances, from its head on."""
    here: str | None = module
    for position, token in enumerate(_components(path)):
        name = token.valueText
        inside = found.instances.get(here, {}) if here is not None else {}
        if name in inside:
            here = inside[name]
        elif position == 0 and name in found.modules:
            here = name
        else:
            return
        yield token


def _components(node: Any) -> Iterator[Any]:
    if type(node).__name__ == "ScopedNameSyntax":
        yield from _components(node.left)
        yield from _components(node.right)
    elif hasattr(node, "identifier"):
        yield node.identifier


def _key(marks: _Marks, number: int, name: Any) -> None:
    """Put the key around what one call prints, as arguments of their own: each string argument is a format."""
    marks.place(number, name.systemIdentifier)
    opened, closed = f'"{KEY}<"', f'"{KEY}>"'
    call = name.parent
    arguments = getattr(call, "arguments", None) if type(call).__name__ == "InvocationExpressionSyntax" else None
    if arguments is None:
        marks.add(number, name.systemIdentifier, f"({opened},{closed})")
        return
    given = [item for item in arguments.parameters if type(item).__name__.endswith("ArgumentSyntax")]
    given = [item for item in given if any(True for _ in tokens(item))]  # `$display()` has one without a token
    if name.systemIdentifier.valueText == "$fatal" and given:  # its first argument is a number
        marks.add(number, list(tokens(given[0]))[-1], f",{opened}")
    elif name.systemIdentifier.valueText == "$fatal":
        marks.add(number, arguments.openParen, f"1,{opened}")
    else:
        marks.add(number, arguments.openParen, f"{opened}," if given else opened)
    marks.add(number, arguments.closeParen, f",{closed}", before=True)
