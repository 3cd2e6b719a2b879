"""References against their own benches: the ceilings that upstream's data has, found and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.judge import JudgePool, Toolchain
from verieval.judge.check import Check, check

# Benchmark, Icarus, references that pass the official rule, of how many. Measured with upstream's own flows.
CEILINGS = [
    ("verilog-eval:spec-to-rtl", 11, 151, 156),
    ("verilog-eval:spec-to-rtl", 12, 152, 156),
    ("verilog-eval:code-complete", 11, 152, 156),
    ("verilog-eval:code-complete", 12, 153, 156),
    ("verilog-eval-v1:human", 11, 154, 156),
    ("verilog-eval-v1:human", 12, 156, 156),
    ("verilog-eval-v1:machine", 11, 143, 143),
    ("verilog-eval-v1:machine", 12, 143, 143),
    ("rtllm", 11, 46, 50),
    ("rtllm", 12, 46, 50),
    ("verigen", 11, 16, 17),
    ("verigen", 12, 16, 17),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "major", "passed", "total"), CEILINGS)
def test_ceiling(
    name: str, major: int, passed: int, total: int, data_dir: Path, request: pytest.FixtureRequest
) -> None:
    toolchain: Toolchain = request.getfixturevalue(f"icarus{major}")
    result = run(name, toolchain, data_dir)
    assert (result.passed, len(result.tasks)) == (passed, total)
    assert [task.id for task in result.tasks if not task.explained] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_own_suite_is_whole(each_icarus: Toolchain) -> None:
    result = run("verieval", each_icarus, None)
    assert len(result.tasks) == 62
    assert result.passed == result.passed_strict == len(result.tasks)
    assert all(task.run is not None and task.run.lasts and task.run.trace is None for task in result.tasks)


def test_verilog_benches_are_whole(each_icarus: Toolchain) -> None:
    benchmark = benchmarks.load("verieval", VERILOG_BENCHES)
    with JudgePool(benchmark, each_icarus, jobs=2) as pool:
        result = check(benchmark, pool)
    assert result.passed == result.passed_strict == len(result.tasks) == 28


def test_results_are_cached_by_content_and_toolchain(data_dir: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    benchmark = benchmarks.load("verigen", data_dir / "verigen")
    with JudgePool(benchmark, toolchain, jobs=2, cache=tmp_path) as pool:
        first = check(benchmark, pool)
    with JudgePool(benchmark, toolchain, jobs=2, cache=tmp_path) as pool:
        second = check(benchmark, pool)
        assert pool._workers._threads == []  # nothing ran
    assert first == second


@pytest.mark.parametrize("data", [None, VERILOG_BENCHES], ids=["python", "verilog"])
def test_an_unlisted_failure_is_unexplained(data: Path | None, toolchain: Toolchain, tmp_path: Path) -> None:
    from dataclasses import replace

    suite = benchmarks.load("verieval", data)
    right = str(suite.by_id["wrap_counter"].reference)
    task = replace(suite.by_id["wrap_counter"], reference=right.replace("count + 8'd1", "count + 8'd2"))
    assert task.reference != right
    broken = replace(suite, tasks=(task,))
    with JudgePool(broken, toolchain, cache=tmp_path) as pool:
        result = check(broken, pool)
    assert [row["id"] for row in result.to_json()["broken"]] == [task.id]
    assert result.to_json()["unexplained"] == [task.id]


def run(name: str, toolchain: Toolchain, data_dir: Path | None) -> Check:
    folder = data_dir / name.split(":")[0] if data_dir else None
    benchmark = benchmarks.load(name, folder)
    with JudgePool(benchmark, toolchain, jobs=2) as pool:
        return check(benchmark, pool)
