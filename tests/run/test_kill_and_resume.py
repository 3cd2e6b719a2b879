"""The real thing: a tiny Gemma 4 on VerilogEval, killed with SIGKILL half way, and resumed to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tiny_gemma4 import make_checkpoint

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint(tmp_path_factory.mktemp("gemma") / "ckpt")


def command(checkpoint: Path, data_dir: Path, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "verieval", "run", "--model", str(checkpoint), "--out", str(out),
        "--benchmark", "verilog-eval:spec-to-rtl", "--data", str(data_dir / "verilog-eval"),
        "-n", "1", "--limit", "20", "--temperature", "0.8", "--max-tokens", "48", "--batch-size", "4", "--quiet",
    ]  # fmt: skip


@pytest.mark.timeout(600)
def test_killed_and_resumed_equals_undisturbed(checkpoint: Path, data_dir: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run(command(checkpoint, data_dir, whole), check=True, env=environment, capture_output=True)
    expected = (whole / "completions.jsonl").read_bytes()
    assert expected.count(b"\n") == 20

    victim = subprocess.Popen(
        command(checkpoint, data_dir, killed), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while victim.poll() is None and _lines(killed / "completions.jsonl") < 8:
        time.sleep(0.005)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert 8 <= _lines(killed / "completions.jsonl") < 20, "it was not killed half way"

    subprocess.run(command(checkpoint, data_dir, killed), check=True, env=environment, capture_output=True)
    assert (killed / "completions.jsonl").read_bytes() == expected
    assert _lines(killed / "verdicts.jsonl") >= 20


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
