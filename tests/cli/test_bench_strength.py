"""The commands `bench strength` and `bench agreement`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from verieval.judge import Toolchain

ROOT = Path(__file__).resolve().parents[2]


def verieval(*words: str, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verieval", "bench", *words],
        cwd=ROOT, env={**os.environ, "VERIEVAL_CACHE": str(cache)}, capture_output=True, text=True, timeout=200,
    )  # fmt: skip


@pytest.fixture(scope="module")
def task() -> str:
    """A small task of the suite."""
    from verieval import benchmarks

    tasks = benchmarks.load("verieval").tasks
    return min(tasks, key=lambda task: len(task.reference or "")).id


def test_strength_prints_a_table_and_json(task: str, toolchain: Toolchain, tmp_path: Path) -> None:
    words = ("strength", "verieval", "--tasks", task, "--max-mutants", "4", "--no-proof", "--jobs", "1")
    done = verieval(*words, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == [
        "task", "mutants", "invalid", "refused", "equivalent", "live", "killed", "score",
    ]  # fmt: skip
    (row,) = [line for line in done.stdout.splitlines() if line.startswith(f"{task} ")]
    made = json.loads(verieval(*words, "--json", cache=tmp_path).stdout)
    assert row.split()[1] == str(made["tasks"][0]["mutants"]) == "4"
    assert made["max_mutants"] == 4


def test_survivors_are_shown_with_their_lines(data_dir: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    done = verieval(
        "strength", "rtllm", "--data", str(data_dir / "rtllm"), "--tasks", "edge_detect", "--max-mutants", "6",
        "--no-proof", "--show-survivors", cache=tmp_path,
    )  # fmt: skip
    assert "passed by stubs: zero" in done.stdout
    assert "    - " in done.stdout
    assert "    + " in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("agreement", "verieval", "--icarus", "/usr"), "give --icarus DIR twice or more"),
        (("strength", "nothing"), "There is no benchmark 'nothing'"),
        (("strength", "verieval", "--max-mutants", "0"), "--max-mutants"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = verieval(*words, cache=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_agreement_of_both_icarus(task: str, icarus11: Toolchain, icarus12: Toolchain, tmp_path: Path) -> None:
    done = verieval(
        "agreement", "verieval", "--tasks", task, "--max-mutants", "4", "--json",
        "--icarus", icarus11.iverilog[0], "--icarus", icarus12.iverilog[0], cache=tmp_path,
    )  # fmt: skip
    made = json.loads(done.stdout)
    assert (done.returncode, made["disagreements"], made["mutants"]) == (0, 0, 4)
