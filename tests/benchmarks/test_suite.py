"""The project's own tasks: where they are found, and what is said of a folder that is not right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import verieval
from verieval.benchmarks import load
from verieval.benchmarks.structure import ports
from verieval.benchmarks.suite import find_tasks
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.task import Benchmark, Task

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


@pytest.fixture
def task_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks" / "family" / "invert"
    folder.mkdir(parents=True)
    for name, text in (("task.toml", TOML), ("spec.md", "Invert."), ("reference.sv", REFERENCE), ("tb.sv", TB)):
        (folder / name).write_text(text)
    return folder


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


def test_the_shipped_suite() -> None:
    benchmark = load("verieval")
    assert len(benchmark.tasks) >= 12
    assert benchmark.commit is None
    for task in benchmark.tasks:
        assert task.ports == ports(task.reference or "", task.module), task.id


def test_references_pass(each_icarus: Toolchain, passes: Callable[[Benchmark, Task, str, Toolchain], bool]) -> None:
    benchmark = load("verieval")
    for task in benchmark.tasks:
        assert passes(benchmark, task, task.reference or "", each_icarus), task.id


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
    with pytest.raises(VerievalError, match="No tasks in"):
        load("verieval", tmp_path)


@pytest.mark.parametrize("name", ["task.toml", "spec.md", "reference.sv", "tb.sv"])
def test_an_incomplete_folder(task_folder: Path, name: str) -> None:
    shutil.copytree(task_folder, task_folder.parent / "other")
    (task_folder / name).unlink()
    with pytest.raises(VerievalError, match=f"family/invert is incomplete: it has no {name}"):
        load("verieval", task_folder.parents[1])


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("task.toml", 'level = "unit"', 'level = "unit"\nlevle = 1', "task.toml: unknown key 'levle'; known are id"),
        ("task.toml", "signed = true", "sined = true", "task.toml, ports 3: unknown key 'sined'"),
        ("task.toml", 'kind = "sync"', 'kind = "sync", edge = 1', "task.toml, reset: unknown key 'edge'"),
        ("task.toml", "default = 4", "value = 4", "task.toml, parameters 1: unknown key 'value'"),
        ("task.toml", "width = 4", "width = 0", "ports 3: 'width' must be a positive integer"),
        ("task.toml", "width = 4", "width = true", "ports 3: 'width' must be a positive integer"),
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
