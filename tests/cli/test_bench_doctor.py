"""``verieval bench`` and ``verieval doctor`` as a user calls them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES


def verieval(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verieval", *words],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def test_bench_list_names_every_benchmark_without_data(tmp_path: Path) -> None:
    done = verieval("bench", "list", "--json", VERIEVAL_DATA=str(tmp_path))
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {
        "verieval", "verilog-eval:spec-to-rtl", "verilog-eval:code-complete", "verilog-eval-v1:human",
        "verilog-eval-v1:machine", "rtllm", "verigen", "cvdp:nonagentic", "cvdp:agentic",
    }  # fmt: skip
    assert rows["verieval"]["available"]
    assert not rows["rtllm"]["available"]
    assert "git clone" in rows["rtllm"]["reason"]


def test_odd_data_is_said_wherever_the_benchmark_is_named(toolchain: object, data_dir: Path, tmp_path: Path) -> None:
    """One row that is as published, one that is not, in a release of another number; and a set that is damaged."""
    text = next((data_dir / "cvdp").glob("*_example_nonagentic_*_with_solutions.jsonl")).read_text().rstrip("\n")
    (tmp_path / "cvdp").mkdir()
    name = "cvdp_v1.10.0_{}_code_generation_no_commercial.jsonl"
    odd = json.dumps(json.loads(text) | {"id": "odd", "categories": "cid003"})
    (tmp_path / "cvdp" / name.format("nonagentic")).write_text(f"{text}\n{odd}\n")
    (tmp_path / "cvdp" / name.format("agentic")).write_text('{"cut')

    def said(*words: str, status: int = 0) -> str:
        done = verieval(*words, VERIEVAL_DATA=str(tmp_path))
        assert done.returncode == status, done.stderr
        return done.stdout

    listed = said("bench", "list")
    assert re.search(r"^cvdp:nonagentic +1 of 2 tasks, ", listed, re.MULTILINE)
    assert re.search(r"^cvdp:agentic +data cannot be used ", listed, re.MULTILINE)
    assert "cvdp:nonagentic: problems that are not as upstream publishes them: 1; 'verieval bench show" in listed
    assert f"{name.format('agentic')}:1 is not valid JSON" in listed
    rows = {row["name"]: row for row in json.loads(said("bench", "list", "--json"))}
    assert (rows["cvdp:nonagentic"]["unsupported"], rows["cvdp:nonagentic"]["malformed"]) == (1, 1)
    reason = (
        "  odd: its row is not as CVDP publishes it: its field 'categories' is a text, where a list of texts belongs"
    )
    place = f"({name.format('nonagentic')}, line 2)"
    shown = said("bench", "show", "cvdp:nonagentic")
    assert f"{reason} {place}\n1 of them because the data is not as upstream publishes it" in shown
    assert json.loads(said("bench", "show", "cvdp:nonagentic", "--json"))["unsupported"][0]["malformed"] is True
    # Every reference may pass: a set with an odd row is still not in order.
    checked = said("bench", "check", "cvdp:nonagentic", "--references-only", status=1)
    assert "1 of 1 references pass; strict: 1 of 1" in checked
    assert f"{reason} {place}" in checked
    doctor = said("doctor")
    assert re.search(r"cvdp:nonagentic +1 of 2 tasks +commit unknown; 1 not as published, see", doctor)
    assert re.search(r"cvdp:agentic +unusable data +.* is not valid JSON", doctor)


def test_bench_show(toolchain: object) -> None:
    listing = json.loads(verieval("bench", "show", "verieval", "--json").stdout)
    task = listing["tasks"][0]["id"]
    shown = json.loads(verieval("bench", "show", "verieval", task, "--json").stdout)
    assert shown["id"] == task
    assert {"direction", "name", "width", "signed"} == set(shown["ports"][0])
    text = verieval("bench", "show", "verieval", task)
    assert text.returncode == 0
    assert shown["module"] in text.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--tasks", "*_counter,hex_char,gray_convert"),
        ("--data", str(VERILOG_BENCHES)),
        pytest.param((), marks=pytest.mark.slow),
    ],
    ids=["python", "verilog", "whole"],
)
def test_bench_check_own_suite(words: tuple[str, ...], toolchain: object) -> None:
    done = verieval("bench", "check", "verieval", "--json", *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["passed"] == {"official": result["tasks"], "strict": result["tasks"]}
    assert result["broken"] == result["unexplained"] == []
    # No stub passes, and nothing hangs on values at power-up.
    assert [row["task"] for row in result["calibration"] if row["flags"]] == []
    assert len(result["calibration"]) == result["tasks"]


def test_bench_check_that_was_stopped_goes_on(toolchain: object, tmp_path: Path) -> None:
    """A line for each ten seconds elsewhere than on a terminal; a signal ends it with a word, and all is kept."""
    words = ["bench", "check", "verieval", "--data", str(VERILOG_BENCHES), "--jobs", "1"]
    environment = {**os.environ, "VERIEVAL_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "verieval", *words]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    kept: list[Path] = []
    end = time.monotonic() + 100
    while not kept and time.monotonic() < end:
        time.sleep(0.02)
        kept = list(tmp_path.glob("references/*.json"))
    started.terminate()
    _, said = started.communicate(timeout=60)
    assert started.returncode == 143
    assert "stopped by SIGTERM; the same command goes on" in said
    assert "checking verieval: " in said
    assert "Traceback" not in said
    before = len(json.loads(kept[0].read_text()))
    assert before >= 1
    done = verieval(*words, VERIEVAL_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "checking verieval: 56/56"


def test_bench_check_names_each_failure(toolchain: object, data_dir: Path) -> None:
    done = verieval("bench", "check", "rtllm", "--data", str(data_dir / "rtllm"))
    assert done.returncode == 0, done.stderr
    assert "46 of 50" in done.stdout
    for task in ("asyn_fifo", "ring_counter", "radix2_div", "clkgenerator"):
        assert f"  {task}: " in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("bench", "check", "nothing"), "nothing"),
        (("bench", "show", "verieval", "no_such_task"), "no task 'no_such_task'; 'verieval bench show verieval' lists"),
        (("bench", "show", "verieval", "hex_hcar"), "no task 'hex_hcar'; did you mean 'hex_char'"),
        (("bench", "check", "verieval", "--icarus", "/nowhere"), "no Icarus Verilog in /nowhere"),
        (("bench", "check", "verieval", "--tasks", "zzz*"), "zzz*"),
        (("bench", "check", "verilog-eval"), "spec-to-rtl"),
        (("bench", "check", "verieval", "--jobs", "0"), "--jobs"),
        (("bench", "check", "verieval", "--data", "/no/such/folder"), "There is no folder /no/such/folder"),
        (("bench", "check", "rtllm", "--data", "/no/such/folder"), "There is no folder /no/such/folder"),
    ],
)
def test_bad_input_is_one_sentence(words: tuple[str, ...], sentence: str) -> None:
    done = verieval(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_doctor(toolchain: object) -> None:
    done = verieval("doctor", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0
    assert rows["icarus"]["ok"] is True
    assert "supported" in rows["icarus"]["note"]


def test_doctor_without_icarus_says_what_to_install(tmp_path: Path) -> None:
    done = verieval("doctor", PATH=str(tmp_path), VERIEVAL_ICARUS="")
    assert done.returncode == 1
    assert "FAIL icarus" in done.stdout
    assert "apt-get install iverilog" in done.stdout


def test_doctor_tries_icarus(toolchain: object, tmp_path: Path) -> None:
    """An installation that only answers -V is not called well."""
    for name in ("iverilog", "vvp"):
        script = tmp_path / name
        script.write_text("#!/bin/sh\n[ \"$1\" = -V ] && echo 'Icarus Verilog version 12.0 (stable)' || exit 1\n")
        script.chmod(0o755)
    done = verieval("doctor", "--icarus", str(tmp_path))
    assert done.returncode == 1
    assert "FAIL icarus" in done.stdout
    assert "fails on a one-line module" in done.stdout
