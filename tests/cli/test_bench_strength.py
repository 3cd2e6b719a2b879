"""The commands `bench strength` and `bench agreement`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from tests.judge.cosimulating import INVERT, LOOKS, write_task
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
        (("agreement", "verieval", "--verilator"), "--verilator alone has nothing to be compared with"),
        (("strength", "verieval", "--data", "/no/such/folder"), "There is no folder /no/such/folder"),
        (("strength", "nothing"), "There is no benchmark 'nothing'"),
        (("strength", "verieval", "--max-mutants", "0"), "--max-mutants"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = verieval(*words, cache=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_one_icarus_twice(toolchain: Toolchain, tmp_path: Path) -> None:
    done = verieval("agreement", "verieval", *("--icarus", toolchain.iverilog[0]) * 2, cache=tmp_path)
    assert done.returncode == 2
    assert f"holds Icarus {toolchain.version}, as one before it does" in done.stderr


def test_verilator_and_benches_in_verilog(toolchain: Toolchain, tmp_path: Path) -> None:
    words = ("agreement", "verieval", "--data", str(VERILOG_BENCHES), "--icarus", toolchain.iverilog[0], "--verilator")
    done = verieval(*words, cache=tmp_path)
    assert done.returncode == 2
    assert "leave out --verilator" in done.stderr


def test_a_reference_that_fails_is_said_not_to_be_measured(toolchain: Toolchain, tmp_path: Path) -> None:
    top = write_task(tmp_path / "suite", LOOKS, reference=INVERT.replace("~a", "a"))
    words = ("strength", "verieval", "--data", str(top))
    done = verieval(*words, cache=tmp_path)
    assert done.returncode == 1
    assert "nothing was measured" in done.stdout
    assert "note: not measured, since the reference fails: invert" in done.stderr
    assert "mutants of verieval: 1/1" in done.stderr  # a plain line where there is no terminal
    quiet = verieval(*words, "--json", "--quiet", cache=tmp_path)
    assert quiet.returncode == 1
    assert json.loads(quiet.stdout)["not_measured"] == {"invert": "mismatch"}
    assert "1/1" not in quiet.stderr


def test_what_the_errata_list_is_no_finding(data_dir: Path, toolchain: Toolchain, tmp_path: Path) -> None:
    done = verieval(
        "strength", "rtllm", "--data", str(data_dir / "rtllm"), "--tasks", "ring_counter", "--no-proof", cache=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "not measured, its reference does not pass" in done.stdout


def test_agreement_of_both_icarus(task: str, icarus11: Toolchain, icarus12: Toolchain, tmp_path: Path) -> None:
    done = verieval(
        "agreement", "verieval", "--tasks", task, "--max-mutants", "4", "--json",
        "--icarus", icarus11.iverilog[0], "--icarus", icarus12.iverilog[0], cache=tmp_path,
    )  # fmt: skip
    made = json.loads(done.stdout)
    assert (done.returncode, made["disagreements"], made["mutants"]) == (0, 0, 4)
