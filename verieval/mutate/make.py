"""From a reference to its mutants: one walk over the syntax tree, mutators by kind of node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from verieval.benchmarks.structure import first_error
from verieval.errors import VerievalError
from verieval.mutate import expressions, names, statements
from verieval.mutate.expressions import Mutator
from verieval.mutate.mutant import Edit, Mutant, Mutants, make_mutant, sample
from verieval.mutate.place import Around, Place, children, kind_of, nodes, reset_branch, resets_of, same

# Raised whenever the same reference gives other mutants.
MUTATE_VERSION = 1

# By the class of node; classes that share a mutator share a row.
_MUTATORS: dict[str, tuple[Mutator, ...]] = {
    "BinaryExpressionSyntax": (expressions.binary, expressions.assigning),
    "PrefixUnaryExpressionSyntax": (expressions.unary, expressions.step),
    "PostfixUnaryExpressionSyntax": (expressions.step,),
    "LiteralExpressionSyntax": (expressions.literal,),
    "IntegerVectorExpressionSyntax": (expressions.literal,),
    "ConditionalExpressionSyntax": (expressions.choice,),
    "ConcatenationExpressionSyntax": (expressions.concatenation,),
    "MultipleConcatenationExpressionSyntax": (expressions.replication,),
    "InvocationExpressionSyntax": (expressions.call,),
    "HierarchicalInstanceSyntax": (expressions.instance,),
    "RangeSelectSyntax": (expressions.part_select,),
    "ConditionalStatementSyntax": (statements.conditional,),
    "IfGenerateSyntax": (statements.generate_if,),
    "CaseStatementSyntax": (statements.case,),
    "SignalEventExpressionSyntax": (statements.event,),
    "BinaryEventExpressionSyntax": (statements.events,),
    "ExpressionStatementSyntax": (statements.statement,),
    "VariableDimensionSyntax": (statements.dimension,),
    "ImplicitTypeSyntax": (statements.signing,),
    "IntegerTypeSyntax": (statements.signing,),
}
_LOOPS = ("ForLoopStatement", "LoopGenerate")
# Left alone: times, what a `while` waits for (endless otherwise), the size of what is cast.
_FIXED = ("DelayControl", "Delay3", "OneStepDelay", "TimeUnitsDeclaration", "AttributeInstance")


def mutants(source: str, *, limit: int | None = None, seed: int = 0) -> Mutants:
    """Every mutant of a design, or a sample of them.

    Args:
        source: Verilog or SystemVerilog, one or several modules.
        limit: the most that are chosen, balanced over kinds; None for all.
        seed: of the sample.

    Raises:
        VerievalError: the source does not parse.
    """
    import pyslang

    tree = pyslang.syntax.SyntaxTree.fromText(source)
    if bad := first_error(tree):
        raise VerievalError(f"cannot make mutants: line {bad[0]} of the reference does not parse: {bad[1]}")
    content = source.encode()
    found: dict[str, Mutant] = {}
    for edit in edits(content, tree):
        mutant = make_mutant(content, edit)
        if mutant.text != source:
            found.setdefault(mutant.text, mutant)
    accepted = errors(source)  # simulators take some of what pyslang does not
    valid = [mutant for mutant in found.values() if errors(mutant.text) <= accepted]
    valid.sort(key=lambda mutant: (mutant.line, mutant.id))
    return Mutants(len(valid), len(found) - len(valid), sample(valid, limit, seed, source))


def edits(content: bytes, tree: Any) -> Iterator[Edit]:
    """Every edit of a text, given its syntax tree."""
    signals = names.signals_of(tree)
    for node in nodes(tree.root):
        if kind_of(node) == "ModuleDeclaration":
            yield from names.module(Place(content, tree.sourceManager, node, Around()), signals)
    yield from _walk(content, tree.sourceManager, tree.root, Around())


def errors(source: str) -> Counter[str]:
    """What pyslang finds wrong in a source, alone; what a simulator says further is its own affair."""
    import pyslang

    tree = pyslang.syntax.SyntaxTree.fromText(source)
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    return Counter(str(item.code) for item in compilation.getAllDiagnostics() if item.isError())


def _walk(content: bytes, manager: Any, node: Any, around: Around) -> Iterator[Edit]:
    place = Place(content, manager, node, around)
    for mutator in _MUTATORS.get(type(node).__name__, ()):
        yield from mutator(place)
    for child, surrounding in _below(node, around):
        yield from _walk(content, manager, child, surrounding)


def _below(node: Any, around: Around) -> Iterator[tuple[Any, Around]]:
    """The children that are mutated too, and what surrounds each of them."""
    kind = kind_of(node)
    if kind in _FIXED or expressions.below_call(node):
        return
    if kind in _LOOPS:
        for part, child in statements.loop_parts(node):
            yield child, replace(around, header=part)
        return
    inside = _inside(node, kind, around)
    branch = reset_branch(node, around.resets) if kind == "ConditionalStatement" else None
    for child in children(node):
        if kind == "LoopStatement" and same(child, node.expr):
            continue  # `while` and `repeat`: another end may be none
        if kind == "VariableDimension" or (kind == "MultipleConcatenationExpression" and same(child, node.expression)):
            continue  # done above, as a width
        if type(node).__name__ == "RangeSelectSyntax" and kind == "SimpleRangeSelect":
            continue
        yield child, replace(inside, reset=True) if branch is not None and same(child, branch) else inside


def _inside(node: Any, kind: str, around: Around) -> Around:
    if kind in ("AlwaysBlock", "AlwaysFFBlock", "AlwaysCombBlock", "AlwaysLatchBlock"):
        return replace(around, procedural=True, resets=resets_of(node))
    if kind == "InitialBlock" or (kind == "EqualsValueClause" and _is_variable(node)):
        return replace(around, initial=True)
    if kind == "FunctionDeclaration":
        return replace(around, procedural=False)
    return around


def _is_variable(clause: Any) -> bool:
    declaration = clause.parent.parent
    while declaration is not None and kind_of(declaration) == "SeparatedList":
        declaration = declaration.parent
    return declaration is not None and kind_of(declaration) in ("DataDeclaration", "ImplicitAnsiPort")
