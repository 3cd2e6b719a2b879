"""Admission: what a candidate's text may do, decided before it meets a bench.

:func:`rule_on` is a pure function of the text. Its steps, each of which can only refuse:

1. *Text* (:mod:`~verieval.judge.policy_text`): where there are directives other than ``timescale``, or anything that
   two tools could read differently, the directives are looked at first, inactive branches included. Then macros are
   expanded once, and from there on that text is what is judged and compiled.
2. *Words* (:mod:`~verieval.judge.policy_words`): keywords and system tasks.
3. *Names* (:mod:`~verieval.judge.policy_names`): which modules there are; no name leaves the module.
4. *Ports* (:mod:`~verieval.judge.policy_ports`): no module joins two nets, no declaration drives an input port.
5. *Elaboration* with the target as the only root, by pyslang.
6. *Drivers* (:mod:`~verieval.judge.policy_drive`, :mod:`~verieval.judge.policy_dead`): no input port is driven,
   nothing is written in another instance.

Where pyslang and Icarus disagree, Icarus decides what compiles and this policy decides what is allowed. So a fault that
only concerns the first question is no refusal: the ruling is then not ``certain``. ``docs/policy.md`` has every rule in
one table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verieval.judge.policy_text import MAX_TEXT, TooLarge, expand, options, parse
from verieval.judge.policy_words import Finding, is_tame, refuse_directives, scan

if TYPE_CHECKING:
    from verieval.judge.policy_names import Outline

POLICY_VERSION = 3  # raised whenever a ruling may change


@dataclass(frozen=True)
class Ruling:
    """What admission says of a candidate.

    Attributes:
        outcome: "" where it is admitted, else the outcome under ``strict``: ``syntax``, ``elaboration``,
            ``interface``, ``not_self_contained``, ``forbidden``, ``resource`` or ``timeout``.
        line: 1-based line of the candidate; 0 where there is none.
        reason: one short sentence that names the construct; empty where nothing is to be said.
        source: the text for the run with the sealed bench, empty where it is not admitted. The original where that has
            no directive but ``timescale``; otherwise with macros expanded and other directives gone.
        faithful: ``source`` compiles and prints exactly as the original does.
        timescale: it sets a time scale.
        prints: it can print while it is simulated (which includes assertions, and ``unique`` and ``priority``).
        dotted: a dot follows a name in it, which :mod:`verieval.judge.standalone` has a look at.
        certain: False where pyslang could not parse or elaborate it, so that Icarus alone decides whether it compiles.
    """

    outcome: str
    line: int = 0
    reason: str = ""
    source: str = ""
    faithful: bool = False
    timescale: bool = False
    prints: bool = False
    dotted: bool = False
    certain: bool = True


# pyslang's errors that Icarus (11 or 12) does not share and that hide nothing: names are resolved and drivers seen.
HIDES_NOTHING = frozenset(
    {
        "Redefinition",  # `output q; ... reg q;` beside an ANSI header: Icarus 11 accepts it, 12 does not
        "NotAllowedInGenerate",  # a generate region inside another
        "PortDeclInANSIModule",
    }
)
# The same, but pyslang drops the statement around them; the text is then judged by its syntax as well.
HIDES_STATEMENT = frozenset(
    {
        "FormatEmptyArg",
        "FormatMismatchedType",
        "FormatMultibitStrength",
        "FormatNoArgument",  # $display("%d");
        "FormatRealInt",
        "FormatSpecifierInvalidWidth",
        "FormatSpecifierNotFloat",
        "FormatSpecifierWidthNotAllowed",
        "FormatTooManyArgs",
        "FormatUnspecifiedType",
        "MissingFormatSpecifier",
        "UnknownFormatSpecifier",
        "ExprMustBeIntegral",  # a real as an index
        "TaskFromFunction",
        "TooManyParamAssignments",
        "UnusedPortDecl",
    }
)
# pyslang's errors that concern style or limits of its own, which Icarus does not share at all.
IGNORED = frozenset({"AutoFromStaticInit", "StaticInitializerMustBeExplicit", "UsedBeforeDeclared"})
# Errors that say more than "it does not elaborate".
_MEANING = {
    "UnknownModule": "not_self_contained",
    "UnknownInterface": "not_self_contained",
    "UnknownPrimitive": "not_self_contained",
    "UnknownPackage": "not_self_contained",
    "UnknownPackageMember": "not_self_contained",
    "CouldNotResolveHierarchicalPath": "not_self_contained",
    "MaxInstanceDepthExceeded": "resource",
    "MaxInstanceArrayExceeded": "resource",
    "MaxGenerateStepsExceeded": "resource",
    "ConstEvalExceededMaxSteps": "resource",
    "ConstEvalExceededMaxCallDepth": "resource",
    "ParseTreeTooDeep": "resource",
}
# What pyslang's binding raises on input that it cannot digest.
_FAULTS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError, OverflowError)


def rule_on(
    source: str,
    module: str,
    reserved: frozenset[str],
    inputs: frozenset[str] = frozenset(),
    *,
    rooted: bool = False,
) -> Ruling:
    """Judge a candidate by its text alone.

    Args:
        source: the candidate; any string.
        module: the module that the bench instantiates.
        reserved: names of the bench's and the reference's modules, ``module`` apart.
        inputs: ports that the task declares as inputs; a candidate that declares one otherwise does not fit. Empty:
            unknown.
        rooted: the bench names its root to the compiler, so that a module that nobody uses is not another one.

    Returns:
        The ruling. It is the same for the same arguments, and no file is read. Nothing is raised, but hostile texts can
        take pyslang minutes or gigabytes: :class:`~verieval.judge.admission.Admission` puts limits around the call.
    """
    if len(source) > MAX_TEXT:
        return Ruling("resource", reason=f"the text is longer than {MAX_TEXT} characters")
    try:
        # Bytes are what Icarus reads; a lone surrogate has none.
        return _rule(source.encode("utf-8", "replace").decode("utf-8"), module, reserved, inputs, rooted)
    except TooLarge as error:
        return Ruling("resource", reason=str(error), certain=False)
    except _FAULTS as error:
        said = str(error).strip().partition("\n")[0][:80] or type(error).__name__
        return Ruling("elaboration", reason=f"pyslang cannot read it: {said}", certain=False)


def _rule(source: str, module: str, reserved: frozenset[str], inputs: frozenset[str], rooted: bool) -> Ruling:
    bag = options(module)
    tame = is_tame(source)
    text = source
    if not tame:
        finding = refuse_directives(source)
        if finding:
            return _refuse(finding)
        tree = parse(source, bag)
        finding = _first_error(tree, tree.diagnostics)
        if finding:
            return _refuse(finding, certain=False)
        if "`default_nettype" in source:
            # The text that is compiled has lost it, so nets that it forbids must be found here.
            finding, _ = _elaboration(tree, _elaborate(tree, bag).getAllDiagnostics())
        if finding:
            return _refuse(finding, certain=False)
        text, trouble = expand(tree)
        if trouble or not is_tame(_without_escaped(text)):
            return Ruling("forbidden", reason=trouble or "has characters that two tools may read differently")
    words = scan(text)
    if words.finding:
        return _refuse(words.finding)
    tree = parse(text, bag)
    finding = _first_error(tree, tree.diagnostics)
    if finding:
        return _refuse(finding, certain=False)
    finding, certain = _judge(tree, bag, module, reserved, inputs, rooted)
    if finding:
        return _refuse(finding, certain=certain)
    reason = "" if certain else "pyslang finds faults in it that Icarus may accept"
    return Ruling("", 0, reason, text, tame, words.timescale, words.prints, words.dotted, certain)


def _judge(
    tree: Any, bag: Any, module: str, reserved: frozenset[str], inputs: frozenset[str], rooted: bool
) -> tuple[Finding | None, bool]:
    """What is wrong with a text that parses, and whether that (or its absence) is certain."""
    from verieval.judge import policy_dead, policy_drive, policy_joins, policy_names, policy_ports
    from verieval.judge.policy_scopes import Declarations

    outline = policy_names.outline(tree)
    finding = policy_names.refuse_structure(outline, module, reserved, rooted=rooted) or policy_ports.refuse_ports(
        outline
    )
    if finding:
        return finding, True
    declared: Declarations | None = None
    if outline.dotted or outline.called:
        declared = Declarations(tree.root, outline.modules)
        finding = policy_names.refuse_names(outline, declared) or policy_names.refuse_imports(outline, declared)
        if finding:
            return finding, True
    compilation = _elaborate(tree, bag)
    root = compilation.getRoot()
    finding, faults = _elaboration(tree, compilation.getAllDiagnostics())
    everything = policy_names.members(tree)
    if finding or faults - HIDES_NOTHING:
        declared = declared or Declarations(tree.root, outline.modules)
        driven = policy_dead.refuse_targets(everything, outline, declared)
        if driven or finding:
            return driven or finding, driven is not None or _is_certain(finding)
    design = policy_drive.walk(tree, root)
    finding = policy_drive.refuse_drivers(design, outline) or design.endless
    dead = policy_dead.dead_code(outline, design)
    if finding is None and outline.dotted and declared is not None:
        finding = policy_names.refuse_absent(outline, declared, design.live, dead)
    if faults & HIDES_STATEMENT:
        dead = everything
    if finding is None and policy_joins.may_join(str(tree.root)):
        finding = policy_joins.refuse_joins(tree, root) or policy_joins.refuse_dead_joins(dead, outline, module)
    if finding is None and dead:
        finding = policy_dead.refuse_by_syntax(dead, outline, declared or Declarations(tree.root, outline.modules))
    if finding is None and inputs:
        finding = _directions(root, module, inputs, outline)
    return finding, finding is not None or faults <= IGNORED


def _elaborate(tree: Any, bag: Any) -> Any:
    from pyslang import ast

    compilation = ast.Compilation(bag)
    compilation.addSyntaxTree(tree)
    return compilation


def _elaboration(tree: Any, diagnostics: Any) -> tuple[Finding | None, set[str]]:
    """The first error that leaves the rest unknown, and the codes of those that do not."""
    faults: set[str] = set()
    first: Finding | None = None
    for diagnostic in diagnostics:
        name = _code(diagnostic)
        if not (diagnostic.isError() or name == "Redefinition"):
            continue
        if name in HIDES_NOTHING or name in HIDES_STATEMENT or name in IGNORED:
            faults.add(name)
            continue
        outcome = _MEANING.get(name, "elaboration")
        if first is None or (first.outcome == "elaboration" and outcome != "elaboration"):
            first = Finding(outcome, _line(tree, diagnostic), _say(diagnostic, name))
    return first, faults


def _is_certain(finding: Finding | None) -> bool:
    return finding is not None and finding.outcome == "not_self_contained"


def _directions(root: Any, module: str, inputs: frozenset[str], outline: Outline) -> Finding | None:
    from pyslang import ast

    for instance in root.topInstances:
        for port in instance.body.portList:
            if port.name in inputs and getattr(port, "direction", None) != ast.ArgumentDirection.In:
                reason = f"the port '{port.name}' of {module} is no input, as it must be"
                return Finding("interface", outline.line(outline.modules[module].header), reason)
    return None


def _first_error(tree: Any, diagnostics: Any) -> Finding | None:
    for diagnostic in diagnostics:
        name = _code(diagnostic)
        if diagnostic.isError() and name not in HIDES_NOTHING:
            return Finding(_MEANING.get(name, "syntax"), _line(tree, diagnostic), _say(diagnostic, name))
    return None


def _say(diagnostic: Any, name: str) -> str:
    about = ", ".join(str(item)[:40] for item in diagnostic.args if isinstance(item, str) and item)
    return f"pyslang: {name}" + (f" ({about})" if about else "")


def _code(diagnostic: Any) -> str:
    return str(diagnostic.code).removeprefix("DiagCode(").removesuffix(")")


def _line(tree: Any, diagnostic: Any) -> int:
    from verieval.judge.policy_names import line_of

    return line_of(tree, diagnostic.location)


def _without_escaped(text: str) -> str:
    """The text with the backslash of every escaped name taken away, whose other characters were looked at already."""
    return re.sub(r'("(?:[^"\\\n]|\\[^\n])*+")|\\(?=[!-~])', lambda match: match[1] or "", text)


def _refuse(finding: Finding, *, certain: bool = True) -> Ruling:
    return Ruling(finding.outcome, finding.line, finding.reason, certain=certain)
