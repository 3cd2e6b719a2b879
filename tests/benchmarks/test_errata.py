"""Errata are facts: every one names a task that exists, and what it claims is seen again with the real tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from verieval.benchmarks import load_errata, names
from verieval.benchmarks.errata import read_errata
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.task import Benchmark, Erratum, Port, Task

Get = Callable[[str], Benchmark]
Passes = Callable[[Benchmark, Task, str, Toolchain], bool]

# CVDP's harness takes more than a compiler and a simulator; it has tests of its own.
UPSTREAM = [name for name in names() if name != "verieval" and not name.startswith("cvdp")]

# Numbers of references that pass the benchmark's own rule, measured apart from this package (Icarus 11, Icarus 12).
CEILINGS = {
    "verilog-eval:spec-to-rtl": (151, 152),
    "verilog-eval:code-complete": (152, 153),
    "verilog-eval-v1:human": (154, 156),
    "verilog-eval-v1:machine": (143, 143),
    "rtllm": (46, 46),
    "verigen": (16, 16),
}


def holds(erratum: Erratum, tools: Toolchain) -> bool:
    return not erratum.icarus or tools.major in erratum.icarus


def broken(benchmark: Benchmark, tools: Toolchain) -> set[str]:
    """Tasks whose reference does not pass, as the errata have it."""
    return {e.task for e in benchmark.errata if e.effect == "reference_fails" and holds(e, tools)}


def module(task: Task, value: str, parameters: str = "") -> str:
    """A module whose outputs are the constant or expression ``value``; empty leaves them undriven."""

    def declare(port: Port) -> str:
        return f"{port.direction} [{port.width - 1}:0] {port.name}"

    body = [f"assign {p.name} = {value};" for p in task.ports if p.direction == "output" and value]
    return f"module {task.module} {parameters}({', '.join(map(declare, task.ports))}); {' '.join(body)} endmodule"


def without_initial(source: str) -> str:
    """The source without its initial blocks, cut out by the parser's positions."""
    from pyslang import syntax

    spans: list[tuple[int, int]] = []

    def visit(node: object) -> None:
        if isinstance(node, syntax.ProceduralBlockSyntax) and node.kind == syntax.SyntaxKind.InitialBlock:
            spans.append((node.sourceRange.start.offset, node.sourceRange.end.offset))

    syntax.SyntaxTree.fromText(source).root.visit(visit)
    assert spans
    for start, end in sorted(spans, reverse=True):
        source = source[:start] + source[end:]
    return source


@pytest.mark.parametrize("name", UPSTREAM)
def test_every_erratum_names_a_task(upstream: Get, name: str) -> None:
    benchmark = upstream(name)
    ids = {task.id for task in benchmark.tasks}
    recorded = load_errata(benchmark.name, benchmark.variant)
    assert recorded == benchmark.errata
    for erratum in recorded:
        assert erratum.task in ids
        assert len(erratum.found) == len("2026-11-30")
        assert erratum.reason
        assert erratum.source
        assert "\n" not in erratum.reason
    keys = [(e.task, e.effect, major) for e in recorded for major in e.icarus or (11, 12)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", UPSTREAM)
def test_errata_explain_the_measured_ceilings(upstream: Get, name: str) -> None:
    benchmark = upstream(name)
    for major, ceiling in zip((11, 12), CEILINGS[name], strict=True):
        failing = {
            e.task for e in benchmark.errata if e.effect == "reference_fails" and (not e.icarus or major in e.icarus)
        }
        assert len(benchmark.tasks) - len(failing) == ceiling


@pytest.mark.parametrize(
    "name",
    # The benches of v2 that run into their own cap take seconds each.
    [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("verilog-eval:")) for name in UPSTREAM],
)
def test_broken_references_fail(upstream: Get, passes: Passes, each_icarus: Toolchain, name: str) -> None:
    benchmark = upstream(name)
    for id_ in broken(benchmark, each_icarus):
        task = benchmark.by_id[id_]
        assert not passes(benchmark, task, task.reference or "", each_icarus), id_


@pytest.mark.parametrize(
    "name", ["rtllm", "verigen", *(pytest.param(name, marks=pytest.mark.slow) for name in UPSTREAM if ":" in name)]
)
@pytest.mark.timeout(900)
def test_all_other_references_pass(upstream: Get, passes: Passes, each_icarus: Toolchain, name: str) -> None:
    benchmark = upstream(name)
    failing = broken(benchmark, each_icarus)
    for task in benchmark.tasks:
        if task.id not in failing:
            assert passes(benchmark, task, task.reference or "", each_icarus), task.id


# What passes a vacuous bench without the logic: the outputs' value, and parameters that the bench sets.
WRONG = {
    "Prob053_m2014_q4d": "1'b0",
    "m2014_q4d": "1'b0",
    "fsm_ps2": "1'b1",
    "2012_q2fsm": "1'b0",
    "comparator_3bit": "1'b1",
    "comparator_4bit": "1'b1",
    "sequence_detector": "",
    "square_wave": "1'b0",
    "edge_detect": "1'b0",
    "fixed_point_adder": "a * b",
    "fixed_point_substractor": "a * b",
    "intermediate1": "1'b0",
}
PARAMETERS = {"fixed_point_adder": "#(parameter Q=15, N=32)", "fixed_point_substractor": "#(parameter Q=15, N=32)"}


@pytest.mark.parametrize("name", UPSTREAM)
def test_vacuous_benches_pass_a_wrong_answer(upstream: Get, passes: Passes, each_icarus: Toolchain, name: str) -> None:
    benchmark = upstream(name)
    for erratum in benchmark.errata:
        if erratum.effect == "vacuous" and holds(erratum, each_icarus):
            task = benchmark.by_id[erratum.task]
            wrong = module(task, WRONG[task.id], PARAMETERS.get(task.id, ""))
            assert passes(benchmark, task, wrong, each_icarus), task.id


@pytest.mark.parametrize("name", ["verilog-eval:spec-to-rtl", "verilog-eval-v1:human", "rtllm", "verigen"])
def test_sound_benches_fail_a_constant(upstream: Get, passes: Passes, each_icarus: Toolchain, name: str) -> None:
    # The test above would also hold if everything passed.
    benchmark = upstream(name)
    sound = {
        "verilog-eval": "Prob035_count1to10",
        "verilog-eval-v1": "count1to10",
        "rtllm": "counter_12",
        "verigen": "basic2",
    }
    task = benchmark.by_id[sound[benchmark.name]]
    assert passes(benchmark, task, task.reference or "", each_icarus)
    assert not passes(benchmark, task, module(task, "1'b1"), each_icarus)


@pytest.mark.parametrize("name", [name for name in UPSTREAM if ":" in name])
def test_power_up(upstream: Get, passes: Passes, each_icarus: Toolchain, name: str) -> None:
    benchmark = upstream(name)
    listed = {erratum.task for erratum in benchmark.errata if erratum.effect == "power_up"}
    for task in benchmark.tasks:
        if task.reference and "initial" in task.reference and task.id not in broken(benchmark, each_icarus):
            bare = without_initial(task.reference)
            assert passes(benchmark, task, bare, each_icarus) == (task.id not in listed), task.id


def test_variants_differ(upstream: Get) -> None:
    def listed(name: str, effect: str) -> set[str]:
        return {erratum.task for erratum in upstream(name).errata if erratum.effect == effect}

    # code-complete's reference of Prob034 starts at X, and its bench of Prob099 has the right ports.
    for effect, task in (("power_up", "Prob034_dff8"), ("reference_fails", "Prob099_m2014_q6c")):
        spec, code = listed("verilog-eval:spec-to-rtl", effect), listed("verilog-eval:code-complete", effect)
        assert spec - code == {task}
        assert not code - spec


GOOD = """
benchmark = "x"
[[erratum]]
task = "a"
effect = "vacuous"
reason = "r"
found = 2026-11-30
source = "s"
variants = ["one"]
icarus = [11]
"""


def test_file_format(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(GOOD)
    assert read_errata(path, "one") == (Erratum("a", "vacuous", "r", "2026-11-30", "s", (11,)),)
    assert read_errata(path, "two") == ()
    assert load_errata("no-such-benchmark") == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "s"', "", "erratum 1 lacks 'source'"),
        ('source = "s"', 'source = "s"\nwhy = 1', "unknown key 'why'"),
        ('"vacuous"', '"wrong"', "effect 'wrong' is none of"),
        ("2026-11-30", '"2026-11-30"', "'found' must be a date"),
        ("[11]", '["11"]', "'icarus' must be a list of int"),
        ("[[erratum]]", "[erratum]", "tables only"),
        ("[[erratum]]", "[[erratum", "cannot be read"),
    ],
)
def test_malformed_files(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(VerievalError, match=message):
        read_errata(path, "one")


def test_errata_do_not_change_the_hash(upstream: Get) -> None:
    benchmark = upstream("verigen")
    assert dataclasses.replace(benchmark, errata=()).sha256 == benchmark.sha256
