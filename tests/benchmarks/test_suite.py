"""The project's own tasks: where they are found, and what is said of a folder that is not right."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import verieval
from tests.conftest import VERILOG_BENCHES
from verieval.benchmarks import load
from verieval.benchmarks.structure import ports
from verieval.benchmarks.suite import find_tasks
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.task import Benchmark, CocotbBench, SourceFile, Task

TOML = """\
id = "invert"
module = "invert"
level = "unit"
tags = ["combinational"]
clock = "clk"
reset = {name = "rst", active = "high", kind = "sync"}
[[ports]]
name = "clk"
direction = "input"
width = 1
[[ports]]
name = "rst"
direction = "input"
width = 1
[[ports]]
name = "q"
direction = "output"
width = 4
signed = true
[[parameters]]
name = "N"
default = 4
"""
REFERENCE = "module invert #(parameter N=4)(input clk, rst, output signed [N-1:0] q); assign q = 1; endmodule\n"
TB = "module tb; reg clk, rst; wire [3:0] q; invert dut(clk, rst, q); endmodule\n"
TEST = "import cocotb\nfrom helper import look\n\n\n@cocotb.test()\nasync def one(dut):\n    await look(dut)\n"
HELPER = "async def look(dut):\n    assert int(dut.q.value) == 1\n"
FILES = {"task.toml": TOML, "spec.md": "Invert.", "reference.sv": REFERENCE}


@pytest.fixture
def task_folder(tmp_path: Path) -> Path:
    """A task with a bench in Verilog."""
    folder = tmp_path / "tasks" / "family" / "invert"
    folder.mkdir(parents=True)
    for name, text in {**FILES, "tb.sv": TB}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def python_folder(task_folder: Path) -> Path:
    """The same with a bench in Python, which uses a module that all tasks share."""
    (task_folder / "tb.sv").unlink()
    (task_folder / "test_invert.py").write_text(TEST)
    (task_folder.parents[1] / "helper.py").write_text(HELPER)
    return task_folder


def test_a_task_is_read(task_folder: Path) -> None:
    benchmark = load("verieval", task_folder.parents[1])
    (task,) = benchmark.tasks
    assert (task.id, task.module, task.prompt, task.level, task.tags) == (
        "invert",
        "invert",
        "Invert.",
        "unit",
        ("combinational",),
    )
    assert task.ports == ports(task.reference or "", "invert")
    assert [port.signed for port in task.ports] == [False, False, True]
    assert (task.oracle.top, task.oracle.compile_flags) == ("tb", ("-Wall", "-Winfloop", "-g2012"))
    assert load("verieval", task_folder.parents[2]).sha256 == benchmark.sha256  # the parent of tasks/ will do


def test_a_task_with_a_bench_in_python_is_read(python_folder: Path) -> None:
    first = load("verieval", python_folder.parents[1])
    (python_folder / "task.toml").write_text("configurations = [{N = 2}, {N = 9}]\n" + TOML)
    (task,) = load("verieval", python_folder.parents[1]).tasks
    assert isinstance(task.oracle, CocotbBench)
    assert task.oracle.module == "test_invert"
    assert task.oracle.sources == (SourceFile("test_invert.py", TEST), SourceFile("helper.py", HELPER))
    assert task.oracle.instances == ({"N": 4}, {"N": 2}, {"N": 9})
    assert task.ports == ports(REFERENCE, "invert")
    # All that can change a verdict is in the hash.
    hashes = {first.sha256, load("verieval", python_folder.parents[1]).sha256}
    for path in (python_folder / "test_invert.py", python_folder.parents[1] / "helper.py"):
        path.write_text(path.read_text() + "\n")
        hashes.add(load("verieval", python_folder.parents[1]).sha256)
    assert len(hashes) == 4


SUITE = load("verieval")
TASKS = Path(find_tasks())


def test_the_shipped_suite() -> None:
    assert len(SUITE.tasks) == 62
    assert SUITE.commit is None
    assert SUITE.only_cocotb
    levels = Counter(task.level for task in SUITE.tasks)
    assert set(levels) == {"unit", "block", "system"}
    assert min(levels.values()) >= 5
    assert len({task.module for task in SUITE.tasks}) == 62
    # Nothing lies there that no task reads.
    names = {"README.md", "bench.py"} | {path.parent.parent.name for path in TASKS.glob("*/*/task.toml")}
    assert {path.name for path in TASKS.iterdir() if path.name != "__pycache__"} == names


@pytest.mark.parametrize("task", SUITE.tasks, ids=lambda task: task.id)
def test_each_shipped_task(task: Task) -> None:
    (folder,) = TASKS.glob(f"*/{task.id}")
    files = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    assert files == {"task.toml", "spec.md", "reference.sv", f"test_{task.id}.py"}
    assert isinstance(task.oracle, CocotbBench)
    assert [source.name for source in task.oracle.sources] == [f"test_{task.id}.py", "bench.py"]
    # Ports are the reference's; for the defaults that task.toml names as for the reference's own.
    assert task.ports == ports(task.reference or "", task.module)
    assert task.ports == ports(task.reference or "", task.module, dict(task.oracle.parameters))
    assert [name for name, _ in task.oracle.parameters] == parameters(task.reference or "", task.module)
    for values in task.oracle.instances:
        found = ports(task.reference or "", task.module, values)
        assert [port.name for port in found] == [port.name for port in task.ports]
    assert bool(task.oracle.configurations) == bool(task.oracle.parameters), "a parameter that no test changes"
    assert len({tuple(sorted(values.items())) for values in task.oracle.instances}) == len(task.oracle.instances)
    # The specification tells all that a solution's interface needs.
    for name in [task.module, *(port.name for port in task.ports), *(name for name, _ in task.oracle.parameters)]:
        assert re.search(rf"(?<!\w){name}(?!\w)", task.prompt), f"the specification does not name {name}"
    assert "```" not in task.prompt or "always" not in task.prompt


@pytest.mark.parametrize("task", SUITE.tasks, ids=lambda task: task.id)
def test_each_shipped_test_keeps_to_its_task(task: Task) -> None:
    """It imports cocotb, the shared module and what computes; no file, no clock of the machine, no unseeded number."""
    assert isinstance(task.oracle, CocotbBench)
    tree = ast.parse(task.oracle.sources[0].text)
    imported = {
        name.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {str(node.module).partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "__future__", "bench", "cocotb", "collections", "dataclasses", "fractions", "functools", "itertools", "math",
        "random", "string", "typing",
    }  # fmt: skip
    assert {"cocotb", "bench"} <= imported
    # It waits for no edge, so that one run tells of all candidates that agree with the reference.
    waits = [name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names]
    assert not {name for name in waits if name.endswith("Edge") or name in ("Clock", "start_clock", "cycle")}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"open", "eval", "exec", "print", "__import__"}
    tests = [
        node
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef) and "cocotb.test" in map(ast.unparse, _functions(node.decorator_list))
    ]
    assert tests
    # Options would have no effect.
    assert not [word for node in tests for one in node.decorator_list for word in getattr(one, "keywords", [])
                if "cocotb.test" in ast.unparse(one)]  # fmt: skip


def _functions(decorators: list[ast.expr]) -> list[ast.expr]:
    return [one.func if isinstance(one, ast.Call) else one for one in decorators]


def parameters(source: str, module: str) -> list[str]:
    """Names of a module's parameters, in order, as pyslang has them."""
    import pyslang

    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromText(source))
    (instance,) = [one for one in compilation.getRoot().topInstances if one.name == module]
    return [one.name for one in instance.body.parameters if not one.isLocalParam]


def test_references_pass_in_verilog(
    each_icarus: Toolchain, passes: Callable[[Benchmark, Task, str, Toolchain], bool]
) -> None:
    benchmark = load("verieval", VERILOG_BENCHES)
    assert len(benchmark.tasks) == 28
    for task in benchmark.tasks:
        assert task.ports == ports(task.reference or "", task.module), task.id
        assert passes(benchmark, task, task.reference or "", each_icarus), task.id


@pytest.mark.parametrize(
    "task", [*SUITE.tasks[::12], *(pytest.param(task, marks=pytest.mark.slow) for task in SUITE.tasks)],
    ids=lambda task: task.id,
)  # fmt: skip
def test_references_pass_in_cocotb_s_own_runner(task: Task, toolchain: Toolchain, tmp_path: Path) -> None:
    """Without anything of the judge: cocotb's runner, the module itself as the root, default parameters."""
    assert isinstance(task.oracle, CocotbBench)
    for source in task.oracle.sources:
        (tmp_path / source.name).write_text(source.text)
    (tmp_path / "reference.sv").write_text(task.reference or "")
    words = f"hdl_toplevel={task.module!r}, build_dir='.'"
    code = (
        "from cocotb_tools.runner import get_runner\nrunner = get_runner('icarus')\n"
        f"runner.build(sources=['reference.sv'], timescale=('1ns', '1ps'), {words})\n"
        f"runner.test(test_module={task.oracle.module!r}, test_dir='.', {words})\n"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250, env=plain)
    root = ElementTree.parse(tmp_path / "results.xml").getroot()
    found = list(root.iter("testcase"))
    assert found, done.stderr
    assert [case.get("name") for case in found if len(case.findall("failure")) + len(case.findall("error"))] == []


def test_source_checkout_and_installed_wheel_find_the_tasks(task_folder: Path, tmp_path: Path) -> None:
    package = Path(verieval.__file__).parent
    assert find_tasks() == package.parent / "tasks" or find_tasks() == package / "_tasks"
    # A wheel's layout: the package with _tasks inside and, beside it, some other package's folder called tasks.
    site = tmp_path / "site"
    shutil.copytree(package, site / "verieval", ignore=shutil.ignore_patterns("__pycache__", "_tasks"))
    shutil.copytree(task_folder.parents[1], site / "verieval" / "_tasks")
    (site / "tasks").mkdir()
    code = (
        "from verieval.benchmarks import load, load_errata; b = load('verieval'); "
        "print([t.id for t in b.tasks], len(load_errata('verigen')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout == "['invert'] 2\n", done.stderr


def test_no_tasks(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match=f"No tasks in {tmp_path}: --data must name a folder that holds FAMILY/"):
        load("verieval", tmp_path)
    with pytest.raises(VerievalError, match=f"There is no folder {tmp_path / 'none'}: name a folder of families with"):
        load("verieval", tmp_path / "none")


def test_a_name_in_a_comment_is_no_port(task_folder: Path) -> None:
    path = task_folder / "task.toml"
    path.write_text(path.read_text().replace('name = "q"', 'name = "y"'))
    (task_folder / "reference.sv").write_text(f"// y is q\n{REFERENCE}")
    with pytest.raises(VerievalError, match="names a port 'y'"):
        load("verieval", task_folder.parents[1])


@pytest.mark.parametrize("name", ["task.toml", "spec.md", "reference.sv"])
def test_an_incomplete_folder(task_folder: Path, name: str) -> None:
    shutil.copytree(task_folder, task_folder.parent / "other")
    (task_folder / name).unlink()
    with pytest.raises(VerievalError, match=f"family/invert is incomplete: it has no {name}"):
        load("verieval", task_folder.parents[1])


def test_a_folder_without_a_bench_or_with_two(task_folder: Path) -> None:
    (task_folder / "test_invert.py").write_text(TEST)
    with pytest.raises(VerievalError, match=r"must have either test_invert\.py or tb\.sv, one of them"):
        load("verieval", task_folder.parents[1])
    for name in ("test_invert.py", "tb.sv"):
        (task_folder / name).unlink()
    (task_folder / "test_other.py").write_text(TEST)
    with pytest.raises(VerievalError, match=r"must have either test_invert\.py or tb\.sv, one of them"):
        load("verieval", task_folder.parents[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("async def one(dut:\n", "is not valid Python"),
        ("import cocotb\n  x = 1\n", "is not valid Python"),
        ("x = 1\0\n", "is not valid Python"),
        ("return 1\n", "is not valid Python"),
    ],
)
def test_a_bench_that_is_no_python(python_folder: Path, text: str, message: str) -> None:
    (python_folder / "test_invert.py").write_text(text)
    with pytest.raises(VerievalError, match=message) as caught:
        load("verieval", python_folder.parents[1])
    assert "test_invert.py" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("configurations = [{M = 2}]", "configuration 1, must give values to parameters that are declared"),
        ("configurations = [{N = 2}, {}]", "configuration 2, must give values to parameters that are declared"),
        ("configurations = [{N = 2, K = 1}]", "configuration 1, must give values"),
        ("configurations = {N = 2}", "'configurations' must be a list of tables of integers"),
        ("configurations = [2]", "'configurations' must be a list of tables of integers"),
        ('configurations = [{N = "2"}]', "'configurations' must be a list of tables of integers"),
        ("configurations = [{N = 2.0}]", "'configurations' must be a list of tables of integers"),
        ("configurations = [{N = true}]", "'configurations' must be a list of tables of integers"),
    ],
)
def test_configurations_that_are_none(python_folder: Path, line: str, message: str) -> None:
    (python_folder / "task.toml").write_text(f"{line}\n{TOML}")
    with pytest.raises(VerievalError, match=message):
        load("verieval", python_folder.parents[1])


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("task.toml", 'level = "unit"', 'level = "unit"\nlevle = 1', "task.toml: unknown key 'levle'; known are id"),
        ("task.toml", "signed = true", "sined = true", "task.toml, ports 3: unknown key 'sined'"),
        ("task.toml", 'kind = "sync"', 'kind = "sync", edge = 1', "task.toml, reset: unknown key 'edge'"),
        ("task.toml", "default = 4", "value = 4", "task.toml, parameters 1: unknown key 'value'"),
        ("task.toml", "width = 4", "width = 0", "ports 3: 'width' must be a positive integer"),
        ("task.toml", "width = 4", "width = true", "ports 3: 'width' must be a positive integer"),
        ("task.toml", "width = 4", 'width = "N"', "ports 3: 'width' must be a positive integer, the bits at"),
        ("task.toml", '"unit"', '"easy"', "'level' must be one of unit, block, system"),
        ("task.toml", '"unit"', '""', "'level' must be one of unit, block, system"),
        ("task.toml", 'name = "q"', 'name = "y"', "names a port 'y', which reference.sv does not have"),
        ("task.toml", 'name = "N"', 'name = "M"', "names a parameter 'M', which reference.sv does not have"),
        ("task.toml", '"output"', '"out"', "'direction' must be one of input, output, inout"),
        ("task.toml", 'module = "invert"', "", "'module' is missing"),
        ("task.toml", 'id = "invert"', 'id = "other"', "id 'other' in a folder called 'invert'"),
        ("task.toml", 'name = "q"', 'name = "clk"', "names a port twice"),
        ("task.toml", 'clock = "clk"', 'clock = "ck"', "'ck' as clock or reset, which is no port"),
        ("task.toml", 'id = "invert"', "id =", "not valid TOML"),
        ("task.toml", 'module = "invert"', 'module = "other"', "reference.sv does not define module 'other'"),
        ("tb.sv", "invert dut", "other dut", "instantiates 'invert', found 'tb' with 'other'"),
        ("tb.sv", "module tb", "module bench", "found 'bench'"),
        ("spec.md", "Invert.", " \n", "spec.md is empty"),
    ],
)
def test_malformed_tasks(task_folder: Path, file: str, old: str, new: str, message: str) -> None:
    path = task_folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(VerievalError, match=message):
        load("verieval", task_folder.parents[1])


def test_two_tasks_of_one_name(task_folder: Path) -> None:
    shutil.copytree(task_folder, task_folder.parents[1] / "second" / "invert")
    with pytest.raises(VerievalError, match="two tasks called 'invert'"):
        load("verieval", task_folder.parents[1])
