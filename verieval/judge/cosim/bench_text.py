"""What is wrong with a cocotb bench by its text alone, so that nothing has to be simulated to know it.

A second definition of a name silently takes the place of the first, in Python as in any module that cocotb searches for
tests: a test that stands above another of its name is never run, whatever it would have found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from verieval.task import CocotbBench, Task

# What makes a test of a function, in cocotb.
_DECORATORS = frozenset({"test", "parametrize", "skipif", "xfail"})
_FACTORY = "TestFactory"
_Path = tuple[tuple[int, str], ...]  # statements around a definition, each with the branch of it


@dataclass(frozen=True)
class _Definition:
    """A name that a module gets. ``path`` tells which others cannot stand beside it, being in another branch."""

    name: str
    line: int
    is_test: bool
    path: _Path = ()

    def meets(self, other: _Definition) -> bool:
        branches = dict(self.path)
        return all(branches.get(node, branch) == branch for node, branch in other.path)


def bench_faults(task: Task) -> tuple[str, ...]:
    """A sentence that names the task where its bench can test no candidate, or would leave out a test.

    Only what the text shows: judging finds out whether the bench can be imported, and finds tests in it.

    Args:
        task: any; a bench that is not in Python has no such fault.
    """
    fault = _fault(task.oracle) if isinstance(task.oracle, CocotbBench) else ""
    return (f"the bench of {task.id} {fault}",) if fault else ()


@cache
def _fault(bench: CocotbBench) -> str:
    main, *others = bench.sources
    try:
        tree = ast.parse(main.text, main.name)
        compile(tree, main.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        words = str(error).strip().splitlines() or ["it is nested too deeply"]
        return f"cannot be imported: {main.name} is not valid Python: {type(error).__name__}: {words[0][:300]}"
    known = {source.name.removesuffix(".py"): source.text for source in others}
    return _twins(list(_definitions(tree, known)), main.name)


def _twins(found: Sequence[_Definition], file: str) -> str:
    """What is said of names that are defined twice, one of them as a test; empty where there are none."""
    for place, second in enumerate(found):
        for first in found[:place]:
            if first.name == second.name and (first.is_test or second.is_test) and first.meets(second):
                lines = f"{file}, lines {first.line} and {second.line}"
                if first.is_test and second.is_test:
                    return f"has 2 tests called '{first.name}' ({lines}): give each its own name"
                return f"has a test and another definition called '{first.name}' ({lines}): give each its own name"
    return ""


def _definitions(tree: ast.Module, known: Mapping[str, str]) -> Iterator[_Definition]:
    """Functions and classes of a module in order, and tests that it imports from the ``known`` texts."""
    names = _cocotb_names(tree)
    made = {
        ast.unparse(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == _FACTORY
        for argument in (*node.args[:1], *(word.value for word in node.keywords if word.arg == "test_function"))
    }
    for node, path in _statements(tree.body, ()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_test = node.name in made or any(_called(one) in names for one in node.decorator_list)
            yield _Definition(node.name, node.lineno, is_test, path)
        elif isinstance(node, ast.ImportFrom) and not node.level and (text := known.get(node.module or "")):
            tests = _tests_of(text)
            for alias in node.names:
                taken = tests if alias.name == "*" else tests & {alias.name}
                yield from (_Definition(alias.asname or name, node.lineno, True, path) for name in sorted(taken))


def _tests_of(text: str) -> set[str]:
    """Tests of a module beside the bench; none where it cannot be read, which its import will tell."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {one.name for one in _definitions(tree, {}) if one.is_test and not one.name.startswith("_")}


def _cocotb_names(tree: ast.Module) -> set[str]:
    """How a module calls cocotb's decorators: ``cocotb.test``, and whatever it imports them as."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            whole = [alias.asname or alias.name for alias in node.names if alias.name == "cocotb"]
            names |= {f"{module}.{one}" for module in whole for one in _DECORATORS}
            # `import cocotb.triggers` makes the name cocotb, too.
            if any(alias.name.startswith("cocotb.") and alias.asname is None for alias in node.names):
                names |= {f"cocotb.{one}" for one in _DECORATORS}
        elif isinstance(node, ast.ImportFrom) and node.module == "cocotb":
            names |= {alias.asname or alias.name for alias in node.names if alias.name in _DECORATORS}
            names |= _DECORATORS if any(alias.name == "*" for alias in node.names) else set()
    return names


def _called(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _statements(body: Sequence[ast.stmt], path: _Path) -> Iterator[tuple[ast.stmt, _Path]]:
    """Statements that a module runs itself, those inside of others too, but for the bodies of functions and classes."""
    for node in body:
        yield node, path
        if isinstance(node, ast.If):
            for branch, inside in (("then", node.body), ("else", node.orelse)):
                yield from _statements(inside, (*path, (id(node), branch)))
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from _statements([*node.body, *node.orelse], (*path, (id(node), "try")))
            for number, handler in enumerate(node.handlers):
                yield from _statements(handler.body, (*path, (id(node), f"except {number}")))
            yield from _statements(node.finalbody, path)
        elif isinstance(node, ast.Match):
            for number, case in enumerate(node.cases):
                yield from _statements(case.body, (*path, (id(node), f"case {number}")))
        elif isinstance(node, ast.With | ast.For | ast.While):
            yield from _statements([*node.body, *getattr(node, "orelse", [])], path)
