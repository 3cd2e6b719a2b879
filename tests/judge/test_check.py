"""References against their own benches: the ceilings that upstream's data has, found and named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from tests.judge.cosimulating import LOOKS, write_task
from verieval import benchmarks
from verieval.judge import JudgePool, Toolchain
from verieval.judge.check import Check, check, steps

TOGGLES = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def toggles(dut):
    for reset, expected in ((1, 0), (0, 1), (0, 0), (0, 1), (1, 0)):
        dut.clk.value, dut.rst.value = 0, reset
        await Timer(2, unit="ns")
        dut.clk.value = 1
        await Timer(2, unit="ns")
        assert str(dut.q.value) == str(expected)
"""

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


FAULTS = {
    "the bench": ("import numpy\n" + LOOKS, "", "", "cannot be imported: ModuleNotFoundError: No module named 'numpy'"),
    "the width": (LOOKS, "width = 4", "width = 5", "says that port 'a' has width 5; in reference.sv it has width 4"),
    "the direction": (LOOKS, '"output"', '"inout"', "says that port 'y' is an inout; in reference.sv it is an output"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_task_s_own_fault_is_told_and_the_others_are_checked(
    fault: str, toolchain: Toolchain, tmp_path: Path
) -> None:
    test, old, new, words = FAULTS[fault]
    top = write_task(tmp_path / "suite", test)
    write_task(top, TOGGLES, name="toggle")
    about = top / "family" / "invert" / "task.toml"
    about.write_text(about.read_text().replace(old, new, 1))
    suite = benchmarks.load("verieval", top)
    steps_done: list[int] = []
    with JudgePool(suite, toolchain, cache=tmp_path) as pool:
        result = check(suite, pool, lambda: steps_done.append(1), calibrate=True)
    (told,) = result.to_json()["faults"]["invert"]
    assert words in told
    assert "invert" in told
    assert result.to_json()["unexplained"] == ["invert"]
    assert result.to_json()["without_reference"] == []
    assert (result.passed, result.with_reference) == (1, 2)
    assert len(steps_done) == steps(suite, calibrate=True) == 4


def test_a_bench_in_verilog_that_does_not_parse_is_told(toolchain: Toolchain, tmp_path: Path) -> None:
    shutil.copytree(VERILOG_BENCHES / "combinational", tmp_path / "suite" / "combinational")
    bench = tmp_path / "suite" / "combinational" / "gray_convert" / "tb.sv"
    bench.write_text(bench.read_text().replace("endmodule", "assign = ;\nendmodule"))
    suite = benchmarks.load("verieval", tmp_path / "suite", tasks="gray_convert,hex_char")
    with JudgePool(suite, toolchain, cache=tmp_path) as pool:
        faults = check(suite, pool).to_json()["faults"]
    assert list(faults) == ["gray_convert"]
    assert "the bench of gray_convert: tb.sv:" in faults["gray_convert"][0]
    assert "DiagCode" not in faults["gray_convert"][0]


def test_each_result_is_kept_as_soon_as_it_is_there(toolchain: Toolchain, tmp_path: Path) -> None:
    """Whatever ends the process after the first, the next one begins with the second."""
    suite = benchmarks.load("verieval", VERILOG_BENCHES, tasks="hex_char,gray_convert,wrap_counter")
    kept: list[int] = []

    def look() -> None:
        files = list((tmp_path / "references").glob("*.json"))
        kept.append(sum(len(json.loads(path.read_text())) for path in files))

    with JudgePool(suite, toolchain, jobs=2, cache=tmp_path) as pool:
        check(suite, pool, look)
    assert len(kept) == 3
    assert all(count >= number for number, count in enumerate(kept, start=1))


def run(name: str, toolchain: Toolchain, data_dir: Path | None) -> Check:
    folder = data_dir / name.split(":")[0] if data_dir else None
    benchmark = benchmarks.load(name, folder)
    with JudgePool(benchmark, toolchain, jobs=2) as pool:
        return check(benchmark, pool)
