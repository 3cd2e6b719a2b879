"""What is evaluated: tasks, their test benches, and the benchmark that holds them.

Everything here is frozen data. Adapters in :mod:`verieval.benchmarks` parse an upstream layout into these types once;
nothing after them looks at the upstream files again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Literal

Direction = Literal["input", "output", "inout"]


@dataclass(frozen=True)
class Port:
    """One port of the target module. ``width`` is in bits, at the parameters' default values; 0 is unknown."""

    name: str
    direction: Direction
    width: int
    signed: bool = False


@dataclass(frozen=True)
class SourceFile:
    """A Verilog source under the name that it has in the work folder (and in the tool's messages)."""

    name: str
    text: str


@dataclass(frozen=True)
class DataFile:
    """A file that the bench reads while it runs (``$readmemh``), byte for byte."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Testbench:
    """A Verilog test bench that reports through what it prints.

    Attributes:
        sources: bench and, where it needs one, reference, in compile order.
        top: root module given to the compiler (``-s``); None lets the compiler find it.
        candidate_first: the candidate is compiled before the sources (VerilogEval v2) or after them (v1).
        compile_flags: the flags of the benchmark's own flow, without output, root and file names.
        data_files: files that must lie in the work folder.
        separate_stderr: the official rule reads standard error apart from standard output.
    """

    __test__ = False  # not a pytest class

    sources: tuple[SourceFile, ...]
    top: str | None
    candidate_first: bool = True
    compile_flags: tuple[str, ...] = ("-g2012",)
    data_files: tuple[DataFile, ...] = ()
    separate_stderr: bool = False


@dataclass(frozen=True)
class CocotbBench:
    """A cocotb test of the target module, whose expected values come from a model in Python.

    Attributes:
        sources: the test module, first, and the modules that it imports.
        parameters: the target's parameters at their default values.
        configurations: further values of parameters that the tests are run with, each on an instance of its own.
        compile_flags: for Icarus.
        data_files: files that must lie in the work folder.
    """

    sources: tuple[SourceFile, ...]
    parameters: tuple[tuple[str, int], ...] = ()
    configurations: tuple[tuple[tuple[str, int], ...], ...] = ()
    compile_flags: tuple[str, ...] = ("-g2012",)
    data_files: tuple[DataFile, ...] = ()

    @property
    def module(self) -> str:
        """Name of the test module."""
        return self.sources[0].name.removesuffix(".py")

    @property
    def instances(self) -> tuple[dict[str, int], ...]:
        """Values of all parameters for each instance of the target: the defaults, then the configurations."""
        defaults = dict(self.parameters)
        return (defaults, *(defaults | dict(values) for values in self.configurations))

    @property
    def overrides(self) -> tuple[dict[str, int], ...]:
        """What each instance is given: the first nothing, which shows whether the candidate has the right defaults."""
        return ({}, *self.instances[1:])


@dataclass(frozen=True)
class HarnessBench:
    """A harness of the benchmark's own: pytest files that build and simulate in the folders of a container.

    Paths are relative to the container's root, ``code/rtl/alu.sv`` for ``/code/rtl/alu.sv``.

    Attributes:
        sources: the harness's own files (``src/test_runner.py``), and those that describe its container.
        context: files that the problem comes with, as they are before an answer.
        targets: files that an answer makes; the first takes the candidate's text.
        rtl: Verilog files that the harness compiles, in order.
        top: root module that it compiles.
        commands: arguments of pytest, one run after the other; all must succeed.
        environment: variables of these runs.
        data_files: none; as other benches have them.
    """

    sources: tuple[SourceFile, ...]
    context: tuple[SourceFile, ...]
    targets: tuple[str, ...]
    rtl: tuple[str, ...]
    top: str
    commands: tuple[tuple[str, ...], ...]
    environment: tuple[tuple[str, str], ...] = ()
    data_files: tuple[DataFile, ...] = ()


# How a candidate is judged.
Oracle = Testbench | CocotbBench | HarnessBench


@dataclass(frozen=True)
class Task:
    """One problem.

    Attributes:
        id: the name upstream gives the problem; unique within its benchmark.
        prompt: the problem description, as published, without any instruction around it.
        module: name of the module that the bench instantiates, which the candidate must define.
        header: module header that the candidate continues (code completion), or None.
        ports: ports of the target module where they are known.
        reference: the reference solution as a candidate (defines ``module``), or None where there is none.
        oracle: how a candidate is judged.
        aliases: other names under which published completions know the task.
        level, tags: the suite's own classification, empty for upstream benchmarks that have none.
    """

    id: str
    prompt: str
    module: str
    oracle: Oracle
    header: str | None = None
    ports: tuple[Port, ...] = ()
    reference: str | None = None
    aliases: tuple[str, ...] = ()
    level: str = ""
    tags: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Content hash of everything that can change a prompt or a verdict."""
        return hash_json(asdict(self))


@dataclass(frozen=True)
class Erratum:
    """A known fault of a benchmark: a fact with its date and source, never a change of the data.

    ``icarus`` names the major versions on which the fault shows (empty: all). ``effect`` is ``reference_fails`` (the
    benchmark's own reference does not pass), ``vacuous`` (a wrong answer passes) or ``power_up`` (correct RTL without a
    power-up value fails).
    """

    task: str
    effect: Literal["reference_fails", "vacuous", "power_up"]
    reason: str
    found: str
    source: str
    icarus: tuple[int, ...] = ()


@dataclass(frozen=True)
class Unsupported:
    """A problem that upstream has and that cannot be judged here, with the reason; it is no task of the benchmark.

    ``malformed`` says that the reason lies in the data: it is not as upstream publishes it.
    """

    task: str
    reason: str
    malformed: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A benchmark variant: its tasks in upstream order, where they came from, and how they are scored.

    Attributes:
        name: ``verilog-eval``, ``rtllm``, …
        variant: ``spec-to-rtl``, …; empty where there is only one.
        tasks: in upstream order.
        rule: key of the official rule in :mod:`verieval.judge.rules`.
        commit: upstream commit where one is known, else None.
        errata: known faults, whatever the toolchain.
        refused_icarus: major versions that cannot compile this benchmark, with the reason.
        unsupported: problems that upstream has beside the tasks.
    """

    name: str
    variant: str
    tasks: tuple[Task, ...]
    rule: str
    commit: str | None = None
    errata: tuple[Erratum, ...] = ()
    refused_icarus: dict[int, str] = field(default_factory=dict)
    unsupported: tuple[Unsupported, ...] = ()

    @property
    def full_name(self) -> str:
        """``NAME`` or ``NAME:VARIANT``, as the command line takes it."""
        return f"{self.name}:{self.variant}" if self.variant else self.name

    @cached_property
    def uses_cocotb(self) -> bool:
        """Some task has a bench in Python."""
        return any(isinstance(task.oracle, CocotbBench) for task in self.tasks)

    @property
    def only_cocotb(self) -> bool:
        """Every task has a bench in Python."""
        return all(isinstance(task.oracle, CocotbBench) for task in self.tasks)

    @cached_property
    def uses_harness(self) -> bool:
        """Some task has a harness of the benchmark's own."""
        return any(isinstance(task.oracle, HarnessBench) for task in self.tasks)

    @cached_property
    def sha256(self) -> str:
        """Content hash over all tasks, in order."""
        return hash_json([self.full_name, [task.sha256 for task in self.tasks]])

    @cached_property
    def by_id(self) -> dict[str, Task]:
        """Tasks by id and by alias."""
        index = {alias: task for task in self.tasks for alias in task.aliases}
        index.update({task.id: task for task in self.tasks})
        return index


def hash_json(value: object) -> str:
    """SHA-256 of the canonical JSON form of plain data (bytes as Latin-1 text)."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"cannot hash a {type(value).__name__}")
