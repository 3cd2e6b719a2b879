"""What a bench says about the module it tests: the target's name, the bench's root, the target's ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from verieval.errors import VerievalError
from verieval.task import Direction, Port, SourceFile
from verieval.verilog import instantiated, modules, rename_module

_DIRECTIONS: dict[str, Direction] = {"In": "input", "Out": "output", "InOut": "inout"}


def defined(text: str) -> tuple[str, ...]:
    """Names of the modules that a source defines, in its order."""
    return tuple(span.name for span in modules(text))


def target_module(sources: Iterable[SourceFile], place: str) -> str:
    """Name of the module that the bench instantiates and nobody defines: the one a candidate must define.

    Raises:
        VerievalError: there is none, or more than one.
    """
    known, used = _known_and_used(sources)
    missing = sorted(used - known)
    if len(missing) != 1:
        found = ", ".join(missing) or "none"
        raise VerievalError(
            f"The test bench of {place} must leave exactly one module to the candidate, found {found}; "
            "restore the upstream files."
        )
    return missing[0]


def root_module(sources: Iterable[SourceFile], place: str) -> str:
    """Name of the module that is defined and not instantiated: the bench's root.

    Raises:
        VerievalError: there is none, or more than one.
    """
    known, used = _known_and_used(sources)
    roots = sorted(known - used)
    if len(roots) != 1:
        found = ", ".join(roots) or "none"
        raise VerievalError(f"{place} must have exactly one root module, found {found}; restore the upstream files.")
    return roots[0]


def as_candidate(name: str, text: str, target: str) -> str:
    """A published reference as a candidate: its root module renamed to ``target``, helper modules kept.

    Args:
        name: the reference's file, for messages.
        text: its source.
        target: name that the bench instantiates.

    Raises:
        VerievalError: the reference has no single root module, so it is not clear which one to rename.
    """
    names = defined(text)
    if target in names:
        return text
    root = names[0] if len(names) == 1 else root_module([SourceFile(name, text)], name)
    return rename_module(text, root, target)


def ports(source: str, module: str, parameters: Mapping[str, int] | None = None) -> tuple[Port, ...]:
    """Ports of a module in the header's order.

    Args:
        source: Verilog that defines ``module`` and everything it instantiates.
        module: its name.
        parameters: values of parameters; the others have their defaults.

    Returns:
        Empty where the module cannot be elaborated; a port whose type is unknown has width 0.
    """
    body = _elaborated(source, module, parameters)
    return () if body is None else tuple(_port(port) for port in body.portList)


def parameters(source: str, module: str) -> dict[str, int | None]:
    """Parameters of a module that an instance may set, in order, with their defaults; None for what is no integer.

    Args:
        source: Verilog that defines ``module`` and everything it instantiates.
        module: its name.

    Returns:
        Empty where the module cannot be elaborated.
    """
    body = _elaborated(source, module, None)
    own = [] if body is None else [item for item in body.parameters if not item.isLocalParam]
    return {item.name: _integer(getattr(item, "value", None)) for item in own}


def first_error(tree: Any) -> tuple[int, str] | None:
    """Line and words of the first error of pyslang's in a syntax tree, None where there is none."""
    import pyslang

    bad = next((item for item in tree.diagnostics if item.isError()), None)
    if bad is None:
        return None
    words = pyslang.DiagnosticEngine(tree.sourceManager).formatMessage(bad)
    return tree.sourceManager.getLineNumber(bad.location), words


def _elaborated(source: str, module: str, parameters: Mapping[str, int] | None) -> Any:
    """The body of an instance of a module at the top; None where there is none."""
    import pyslang

    options = pyslang.ast.CompilationOptions()
    options.topModules = {module}
    options.paramOverrides = [f"{name}={value}" for name, value in (parameters or {}).items()]
    compilation = pyslang.ast.Compilation(pyslang.Bag([options]))
    try:
        compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromText(source))
        instances = compilation.getRoot().topInstances
    except RuntimeError:  # nested more deeply than pyslang follows
        return None
    return next((instance.body for instance in instances if instance.name == module), None)


def _integer(value: Any) -> int | None:
    try:
        return int(value.value)
    except (AttributeError, TypeError, ValueError):
        return None  # a type, a text, or something unknown


def _port(port: Any) -> Port:
    kind = getattr(port, "type", None)
    if kind is None:  # an interface port has no width
        return Port(port.name, "inout", 0)
    return Port(port.name, _DIRECTIONS.get(port.direction.name, "inout"), int(kind.bitWidth), bool(kind.isSigned))


def _known_and_used(sources: Iterable[SourceFile]) -> tuple[set[str], set[str]]:
    known: set[str] = set()
    used: set[str] = set()
    for source in sources:
        known.update(defined(source.text))
        used.update(instantiated(source.text))
    return known, used
