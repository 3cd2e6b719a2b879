"""What the benchmark tests share: loaded benchmarks, and a plain compile-and-run that asks the judge for nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from verieval.benchmarks import load
from verieval.judge import Toolchain
from verieval.task import Benchmark, Task


@pytest.fixture(scope="session")
def upstream(data_dir: Path) -> Callable[[str], Benchmark]:
    """Load a benchmark from the real data, once."""

    @cache
    def get(name: str) -> Benchmark:
        return load(name, data_dir)

    return get


# The published rules, as far as a reference or a stub can meet them. The judge's own rules are tested elsewhere.
RULES: dict[str, Callable[[str, str], bool]] = {
    "verilog-eval": lambda out, err: (
        "TIMEOUT" not in out and "error" not in out + err and re.search(r"(?m)^Mismatches: 0 in \d+", out) is not None
    ),
    "verilog-eval-v1": lambda out, err: not err and re.search(r"Mismatches: 0 in \d+ samples", out) is not None,
    "rtllm": lambda out, err: "Passed" in out and "ERROR" not in out,
    "verigen": lambda out, err: "all tests passed" in out,
    "verieval": lambda out, err: re.search(r"(?m)^Mismatches: 0 in [1-9]", out) is not None,
}


@pytest.fixture
def passes(tmp_path: Path) -> Callable[[Benchmark, Task, str, Toolchain], bool]:
    """Whether a source passes a task's bench: ``iverilog`` and ``vvp`` in a folder of their own, nothing else."""

    def run(benchmark: Benchmark, task: Task, source: str, tools: Toolchain) -> bool:
        folder = tmp_path / f"{task.id}_{tools.major}"
        folder.mkdir(exist_ok=True)
        oracle = task.oracle
        (folder / "candidate.sv").write_bytes(source.encode())
        for item in oracle.sources:
            (folder / item.name).write_bytes(item.text.encode())
        for data in oracle.data_files:
            (folder / data.name).write_bytes(data.data)
        sources = [item.name for item in oracle.sources]
        files = ["candidate.sv", *sources] if oracle.candidate_first else [*sources, "candidate.sv"]
        top = ["-s", oracle.top] if oracle.top else []
        compile_ = [*tools.iverilog, *oracle.compile_flags, *top, "-o", "out.vvp", *files]
        compiled = subprocess.run(compile_, cwd=folder, capture_output=True, text=True, timeout=250)
        if compiled.returncode:
            return False
        simulate = [*tools.vvp, "-n", "out.vvp", "-none"]
        ran = subprocess.run(simulate, cwd=folder, capture_output=True, text=True, timeout=250)
        return RULES[benchmark.rule](compiled.stdout + ran.stdout, compiled.stderr + ran.stderr)

    return run
