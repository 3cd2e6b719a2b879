"""What a candidate's syntax says of its names: which modules it has, and which names leave the module.

A name with a dot is judged by its first part, which must be declared in a scope around the place where it is used,
inside the same module (or at the level of the file). Everything that follows goes downward from there. That rule needs
no elaboration, so it holds in every branch of a generate construct and in functions that nobody calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pyslang import parsing, syntax

from verieval.judge.policy_scopes import DEFINITIONS, NAMED, Declarations, every, scope_of
from verieval.judge.policy_words import Finding, is_allowed_task, refuse_task

K = syntax.SyntaxKind
T = parsing.TokenKind

# Constructs that are refused by what they are, whatever words they are made of.
_REFUSED = {
    K.BindDirective: "bind puts code into another module",
    K.ProgramDeclaration: "a program block is a root of its own",
    K.AnonymousProgram: "a program block is a root of its own",
    K.ConfigDeclaration: "a configuration chooses what other modules are made of",
    K.CheckerDeclaration: "Icarus has no checkers, so nothing is known of what one would do",
    K.DPIImport: "DPI imports code from outside the simulation",
    K.DPIExport: "DPI exports code out of the simulation",
    K.ProceduralForceStatement: "'force' overrides a signal, whoever drives it",
    K.ProceduralReleaseStatement: "'release' ends an override that may be the bench's",
    K.ExternModuleDecl: "an extern declaration stands for a module that is elsewhere",
    K.ExternUdpDecl: "an extern declaration stands for a primitive that is elsewhere",
    K.RandCaseStatement: "draws from the random stream that the bench shares",
    K.RandSequenceStatement: "draws from the random stream that the bench shares",
}
_GENERATES = (K.IfGenerate, K.CaseGenerate, K.LoopGenerate)
_TRIGGERS = (K.BlockingEventTriggerStatement, K.NonblockingEventTriggerStatement, K.DisableStatement)
_RANDOM_CALLS = frozenset({"randomize", "srandom", "shuffle"})
_KNOWN_PACKAGES = frozenset({"std"})
_GENERATED_NAME = re.compile(r"genblk[0-9]+")


@dataclass
class Outline:
    """Nodes of one tree by what they are good for.

    Attributes:
        modules: definitions of modules and interfaces by name; of two with one name the first.
        uses: names of the modules that each module instantiates.
        dotted: names with a scope or member operator, whole.
        called: names of subroutines, events and blocks without a dot.
        primitives: names of its own primitives.
        generates: if, case and loop generate constructs.
        finding: the first construct that is refused by its kind.
    """

    tree: Any
    modules: dict[str, Any] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=dict)
    instances: list[tuple[str, Any]] = field(default_factory=list)
    dotted: list[Any] = field(default_factory=list)
    called: list[Any] = field(default_factory=list)
    generates: list[Any] = field(default_factory=list)
    primitives: set[str] = field(default_factory=set)
    finding: Finding | None = None

    def line(self, node: Any) -> int:
        """1-based line of a node."""
        return line_of(self.tree, node.sourceRange.start)

    def refuse(self, outcome: str, node: Any, reason: str) -> None:
        """Keep the first finding."""
        if self.finding is None:
            self.finding = Finding(outcome, self.line(node), reason)


def line_of(tree: Any, location: Any) -> int:
    """1-based line of a location."""
    manager = tree.sourceManager
    return int(manager.getLineNumber(manager.getFullyExpandedLoc(location)))


def outline(tree: Any) -> Outline:
    """Walk the syntax once."""
    found = Outline(tree)

    def dotted(node: Any) -> None:
        if node.parent is None or node.parent.kind != K.ScopedName:
            found.dotted.append(node)

    def definition(node: Any) -> None:
        name = node.header.name.valueText
        found.modules.setdefault(name, node)
        if node.kind == K.ProgramDeclaration:
            found.refuse("forbidden", node, _REFUSED[K.ProgramDeclaration])

    def instantiation(node: Any) -> None:
        found.instances.append((node.type.valueText, node))

    def system(node: Any) -> None:
        name = node.systemIdentifier.valueText
        if not is_allowed_task(name):
            finding = refuse_task(name, 0)
            found.refuse(finding.outcome, node, finding.reason)

    def call(node: Any) -> None:
        if node.left.kind == K.IdentifierName:
            found.called.append(node.left)

    def statement(node: Any) -> None:
        if node.expr.kind == K.IdentifierName:
            found.called.append(node.expr)

    def trigger(node: Any) -> None:
        if node.name.kind in (K.IdentifierName, K.IdentifierSelectName):
            found.called.append(node.name)

    def refused(node: Any) -> None:
        found.refuse("forbidden", node, _REFUSED[node.kind])

    table: dict[Any, Any] = dict.fromkeys(_REFUSED, refused)
    table.update(dict.fromkeys(DEFINITIONS, definition))
    table.update(dict.fromkeys(_GENERATES, found.generates.append))
    table.update(dict.fromkeys(_TRIGGERS, trigger))
    table.update(
        {
            K.ScopedName: dotted,
            K.HierarchyInstantiation: instantiation,
            K.CheckerInstantiation: lambda node: found.refuse("forbidden", node, _REFUSED[K.CheckerDeclaration]),
            K.SystemName: system,
            K.UdpDeclaration: lambda node: found.primitives.add(node.name.valueText),
            K.InvocationExpression: call,
            K.ExpressionStatement: statement,
        }
    )
    tree.root.visit(lookup_table=table)
    for name, node in found.instances:
        found.uses.setdefault(_definition_around(node), set()).add(name)
    return found


def refuse_structure(found: Outline, module: str, reserved: frozenset[str], *, rooted: bool = False) -> Finding | None:
    """Judge which modules there are, and what stands beside them.

    Order: constructs refused by kind, names of the bench's, the target itself, what would be another root (unless the
    bench's root is named to the compiler: ``rooted``).
    """
    if found.finding:
        return found.finding
    for name, node in found.modules.items():
        if name in reserved and name != module:
            return Finding("forbidden", found.line(node), f"defines '{name}', which is the bench's")
    for name, node in found.instances:
        if name in reserved and name != module and name not in found.modules:
            return Finding("forbidden", found.line(node), f"instantiates '{name}', which is the bench's")
    finding = _refuse_members(found, module, reserved)
    if finding:
        return finding
    if module not in found.modules:
        return Finding("interface", 0, f"does not define the module {module}")
    for name, node in found.instances:
        if name not in found.modules and name not in found.primitives:
            return Finding("not_self_contained", found.line(node), f"instantiates '{name}', which it does not define")
    if rooted:
        return None
    reached = _reachable(found, module)
    for name, node in found.modules.items():
        if name not in reached and _definition_around(node) == "":
            return Finding("forbidden", found.line(node), f"'{name}' is not used by {module}: it would be another root")
    return None


def _refuse_members(found: Outline, module: str, reserved: frozenset[str]) -> Finding | None:
    for member in members(found.tree):
        if member.kind == K.TimeUnitsDeclaration:
            return Finding("forbidden", found.line(member), "sets the time unit of everything that follows")
        for name in _names(member):
            if name in reserved and name != module:
                return Finding("forbidden", found.line(member), f"defines '{name}', which is the bench's")
    return None


def members(tree: Any) -> list[Any]:
    """What stands at the level of the file."""
    root = tree.root
    return list(root.members) if root.kind == K.CompilationUnit else [root]


def _reachable(found: Outline, module: str) -> set[str]:
    reached: set[str] = set()
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name not in reached and name in found.modules:
            reached.add(name)
            ahead.extend(found.uses.get(name, ()))
            ahead.extend(port for port in _interface_ports(found.modules[name]) if port in found.modules)
    return reached


def _interface_ports(definition: Any) -> list[str]:
    return [port.nameOrKeyword.valueText for port in every((K.InterfacePortHeader,), definition.header)]


def _definition_around(node: Any) -> str:
    node = node.parent
    while node is not None and node.kind not in DEFINITIONS:
        node = node.parent
    return node.header.name.valueText if node is not None else ""


def _names(member: Any) -> list[str]:
    """Names that one item of the file level declares, modules apart."""
    found: list[str] = []

    def add(node: Any) -> None:
        if scope_of(node)[1] == 1 << 62:
            found.append(node.name.valueText)

    if member.kind in DEFINITIONS:
        return found
    if member.kind == K.PackageDeclaration:
        return [member.header.name.valueText]
    if member.kind in (K.FunctionDeclaration, K.TaskDeclaration):
        return [str(member.prototype.name).strip()]
    member.visit(lookup_table=dict.fromkeys(NAMED, add))
    return found


def refuse_names(found: Outline, declared: Declarations) -> Finding | None:
    """The first name, in the order of the text, whose first part is not declared around it."""
    ahead = sorted([*found.dotted, *found.called], key=lambda node: node.sourceRange.start.offset)
    for node in ahead:
        reason = _leaves(node, declared)
        if reason:
            outcome = "forbidden" if "random stream" in reason else "not_self_contained"
            return Finding(outcome, found.line(node), reason)
    return None


def _head(node: Any) -> tuple[Any, bool]:
    """The first part of a name, and whether `::` follows it."""
    scoped = False
    while node.kind == K.ScopedName:
        scoped = node.separator.kind == T.DoubleColon
        node = node.left
    return node, scoped


def _leaves(node: Any, declared: Declarations) -> str:
    shown = written(node)
    if node.kind == K.ScopedName and node.right.kind == K.IdentifierName:
        last = node.right.identifier.valueText
        if last in _RANDOM_CALLS and node.parent.kind in (K.InvocationExpression, K.ExpressionStatement):
            return f"{shown} draws from or seeds the random stream that the bench shares"
    head, scoped = _head(node)
    if head.kind in (K.RootScope, K.UnitScope):
        return f"{shown} lies outside the module"
    identifier = getattr(head, "identifier", None)
    if identifier is None:
        return ""  # this, super: inside a class
    name = identifier.valueText
    if node.kind != K.ScopedName and name in _RANDOM_CALLS and not declared.sees(name, node.sourceRange.start.offset):
        return f"{shown} draws from or seeds the random stream that the bench shares"
    offset = node.sourceRange.start.offset
    if scoped or node.kind != K.ScopedName:
        known = declared.sees(name, offset) or (scoped and name in _KNOWN_PACKAGES)
    else:
        known = bool(declared.heads(name, offset))
    if known:
        return ""
    if _GENERATED_NAME.fullmatch(name):
        return f"{shown} uses a name that the tool makes up, and tools number them differently"
    return (
        f"{shown} lies outside the module" if node.kind == K.ScopedName else f"{shown} is not defined by the candidate"
    )


def refuse_absent(found: Outline, declared: Declarations, live: set[int], dead: list[Any]) -> Finding | None:
    """The first dotted name that begins with a block which is not there, so that tools would look for it outside.

    Args:
        found: the candidate's syntax.
        declared: its names.
        live: where branches begin that were elaborated.
        dead: stretches that were not, in which nobody can tell which branches of theirs would be.
    """
    spans = [(node.sourceRange.start.offset, node.sourceRange.end.offset) for node in dead]
    for node in found.dotted:
        head, _ = _head(node)
        offset = node.sourceRange.start.offset
        identifier = getattr(head, "identifier", None)
        heads = declared.heads(identifier.valueText, offset) if identifier is not None else []
        if not heads or any(entry.branch is None for entry in heads):
            continue
        in_dead = any(low <= offset < high for low, high in spans)
        if not any(entry.repeated if in_dead else entry.branch in live for entry in heads):
            reason = f"{written(node)} lies in a block that is not elaborated"
            return Finding("not_self_contained", found.line(node), reason)
    return None


def refuse_imports(found: Outline, declared: Declarations) -> Finding | None:
    """Packages that the candidate does not bring along."""
    missing: list[Any] = []

    def check(node: Any) -> None:
        name = node.package.valueText
        if name not in _KNOWN_PACKAGES and not declared.sees(name, node.sourceRange.start.offset):
            missing.append(node)

    found.tree.root.visit(lookup_table={K.PackageImportItem: check})
    for node in missing:
        return Finding("not_self_contained", found.line(node), f"imports {written(node)}, which it does not define")
    return None


def written(node: Any) -> str:
    """A node's text for a reader: one line, without comments, cut at 60 characters."""
    tokens: list[str] = []

    def add(item: Any) -> None:
        if isinstance(item, parsing.Token) and len(tokens) < 40:
            tokens.append(item.rawText + (" " if item.rawText.startswith("\\") else ""))

    node.visit(add)
    text = "".join(tokens).strip()
    return text if len(text) <= 60 else f"{text[:57]}..."
