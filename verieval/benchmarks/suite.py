"""The project's own tasks: ``tasks/<family>/<task>/`` with ``task.toml``, ``spec.md``, ``reference.sv`` and a bench.

The bench is ``test_<task>.py``, a cocotb test, which may import the modules beside the families (``tasks/*.py``).
Suites of one's own may have a Verilog bench ``tb.sv`` in its place. An installed wheel carries the tasks as
``verieval/_tasks``; a source checkout has them beside the package.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import defined, root_module, target_module
from verieval.errors import VerievalError
from verieval.files import is_missing
from verieval.task import Benchmark, CocotbBench, Oracle, Port, SourceFile, Task, Testbench
from verieval.verilog import mask

FILES = ("task.toml", "spec.md", "reference.sv")
LEVELS = ("unit", "block", "system")
COMPILE_FLAGS = ("-Wall", "-Winfloop", "-g2012")


def load(root: Path | None, variant: str = "") -> Benchmark:
    """Read the suite.

    Args:
        root: a folder of families; None for the tasks that ship with the project.
        variant: empty, there is only one.

    Raises:
        VerievalError: there are no tasks, or a task folder is incomplete or malformed.
    """
    top = find_tasks(root)
    checkout = Checkout(top)
    helpers = tuple(SourceFile(path.name, checkout.text(path)) for path in sorted(top.glob("*.py")))
    tasks = tuple(_task(checkout, folder, helpers) for folder in _folders(top))
    return Benchmark(name="verieval", variant=variant, tasks=tasks, rule="verieval")


def find_tasks(data: Path | None = None) -> Path:
    """The folder of the suite's families.

    Args:
        data: the folder itself or its parent; None for the tasks that ship with the project.

    Raises:
        VerievalError: no task is there.
    """
    import verieval

    package = Path(verieval.__file__).parent
    places = [data, data / "tasks"] if data else [package / "_tasks", package.parent / "tasks"]
    for place in places:
        if next(place.glob("*/*/task.toml"), None):
            return place.absolute()
    if data is None:
        raise VerievalError(
            f"The tasks that ship with verieval are not in {' or '.join(map(str, places))}: install it again."
        )
    if is_missing(data):
        raise VerievalError(f"There is no folder {data}: name a folder of families with --data, or leave it out.")
    raise VerievalError(f"No tasks in {data}: --data must name a folder that holds FAMILY/TASK/task.toml.")


def _folders(top: Path) -> list[Path]:
    return sorted(path for path in top.glob("*/*") if path.is_dir() and not path.name.startswith((".", "_")))


def _task(checkout: Checkout, folder: Path, helpers: tuple[SourceFile, ...]) -> Task:
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise VerievalError(f"Task folder {folder} is incomplete: it has no {', '.join(missing)}.")
    about = _about(checkout.text(folder / "task.toml"), folder / "task.toml")
    spec, reference = (checkout.text(folder / name) for name in FILES[1:])
    if not spec.strip():
        raise VerievalError(f"{folder / 'spec.md'} is empty: write the specification.")
    module = about["module"]
    if module not in defined(reference):
        raise VerievalError(f"{folder / 'reference.sv'} does not define module '{module}', which task.toml names.")
    _check_names(about, reference, folder)
    return Task(
        id=about["id"],
        prompt=spec,
        module=module,
        ports=tuple(
            Port(port["name"], port["direction"], port["width"], port.get("signed", False)) for port in about["ports"]
        ),
        reference=reference,
        oracle=_oracle(checkout, folder, about, helpers),
        level=about["level"],
        tags=tuple(about["tags"]),
    )


def _check_names(about: dict[str, Any], reference: str, folder: Path) -> None:
    """Every port and parameter stands in the reference. What it is there needs a parser: ``bench check`` looks."""
    words = set(re.findall(r"\w+", mask(reference)))
    for key, kind in (("ports", "port"), ("parameters", "parameter")):
        for item in about.get(key, []):
            if item["name"] not in words:
                raise VerievalError(
                    f"{folder / 'task.toml'} names a {kind} '{item['name']}', which reference.sv does not have: "
                    "correct one of them."
                )


def _oracle(checkout: Checkout, folder: Path, about: dict[str, Any], helpers: tuple[SourceFile, ...]) -> Oracle:
    benches = [path for path in (folder / "tb.sv", folder / f"test_{about['id']}.py") if path.is_file()]
    if len(benches) != 1:
        raise VerievalError(f"Task folder {folder} must have either test_{about['id']}.py or tb.sv, one of them.")
    source = SourceFile(benches[0].name, checkout.text(benches[0]))
    if benches[0].suffix == ".py":
        _check_python(source, folder)
        return CocotbBench(
            sources=(source, *helpers),
            parameters=tuple((item["name"], item["default"]) for item in about.get("parameters", [])),
            configurations=tuple(tuple(values.items()) for values in about.get("configurations", [])),
        )
    instance = target_module((source,), str(folder))
    root = root_module((source,), str(benches[0]))
    if root != "tb" or instance != about["module"]:
        raise VerievalError(
            f"{benches[0]} must be a module 'tb' that instantiates '{about['module']}', found '{root}' with "
            f"'{instance}'."
        )
    return Testbench(sources=(source,), top="tb", candidate_first=True, compile_flags=COMPILE_FLAGS)


def _check_python(source: SourceFile, folder: Path) -> None:
    try:
        compile(source.text, source.name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise VerievalError(f"{folder / source.name} is not valid Python ({error}); correct it.") from error


# A table of task.toml: key -> (must be there, what it must be, test).
_Schema = dict[str, tuple[bool, str, Callable[[Any], bool]]]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _are_values(tables: list[dict[str, Any]]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for table in tables for value in table.values())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _one_of(*words: str) -> tuple[str, Callable[[Any], bool]]:
    return f"one of {', '.join(words)}", lambda value: value in words


_TASK: _Schema = {
    "id": (True, "an identifier", _is_name),
    "module": (True, "an identifier", _is_name),
    "level": (True, *_one_of(*LEVELS)),
    "tags": (True, "a list of texts", _is_texts),
    "clock": (False, "an identifier", _is_name),
    "reset": (False, "a table", lambda value: isinstance(value, dict)),
    "ports": (True, "a list of tables", lambda value: _is_tables(value) and bool(value)),
    "parameters": (False, "a list of tables", _is_tables),
    "configurations": (False, "a list of tables of integers", lambda value: _is_tables(value) and _are_values(value)),
}
_RESET: _Schema = {
    "name": (True, "an identifier", _is_name),
    "active": (True, *_one_of("high", "low")),
    "kind": (True, *_one_of("sync", "async")),
}
_PORT: _Schema = {
    "name": (True, "an identifier", _is_name),
    "direction": (True, *_one_of("input", "output", "inout")),
    "width": (True, "a positive integer, the bits at the parameters' defaults", _is_count),
    "signed": (False, "true or false", lambda value: isinstance(value, bool)),
}
_PARAMETER: _Schema = {
    "name": (True, "an identifier", _is_name),
    "default": (True, "an integer", lambda value: isinstance(value, int) and not isinstance(value, bool)),
}


def _about(text: str, path: Path) -> dict[str, Any]:
    """Read and check ``task.toml``."""
    try:
        about = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise VerievalError(f"{path} is not valid TOML ({error}); correct it.") from error
    _check(about, _TASK, str(path))
    for key, schema in (("ports", _PORT), ("parameters", _PARAMETER)):
        for number, item in enumerate(about.get(key, []), start=1):
            _check(item, schema, f"{path}, {key} {number}")
    if "reset" in about:
        _check(about["reset"], _RESET, f"{path}, reset")
    if about["id"] != path.parent.name:
        raise VerievalError(f"{path} has id '{about['id']}' in a folder called '{path.parent.name}': make them equal.")
    parameters = {item["name"] for item in about.get("parameters", [])}
    for number, values in enumerate(about.get("configurations", []), start=1):
        if not values or not values.keys() <= parameters:
            raise VerievalError(f"{path}, configuration {number}, must give values to parameters that are declared.")
    names = [port["name"] for port in about["ports"]]
    if len(set(names)) != len(names):
        raise VerievalError(f"{path} names a port twice: correct the ports.")
    for signal in filter(None, (about.get("clock"), about.get("reset", {}).get("name"))):
        if signal not in names:
            raise VerievalError(f"{path} names '{signal}' as clock or reset, which is no port: correct it.")
    return about


def _check(table: dict[str, Any], schema: _Schema, place: str) -> None:
    for key, value in table.items():
        if key not in schema:
            raise VerievalError(f"{place}: unknown key '{key}'; known are {', '.join(schema)}.")
        _, what, fits = schema[key]
        if not fits(value):
            raise VerievalError(f"{place}: '{key}' must be {what}.")
    for key, (required, what, _) in schema.items():
        if required and key not in table:
            raise VerievalError(f"{place}: '{key}' is missing; it must be {what}.")
