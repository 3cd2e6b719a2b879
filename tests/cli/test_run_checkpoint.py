"""`verieval run` on a checkpoint: killed half way and resumed, the same completions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verieval.run import read_run

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("toolchain")]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.tiny_gemma4 import make_checkpoint

    return make_checkpoint(tmp_path_factory.mktemp("gemma4") / "tiny")


def start(checkpoint: Path, data: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = ["run", "--model", str(checkpoint), "--benchmark", "verilog-eval:spec-to-rtl", "--data", str(data)]
    words += ["-n", "1", "--limit", "20", "--max-tokens", "48", "--batch-size", "3", "--out", str(out), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "verieval", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    _, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    return error


@pytest.mark.parametrize("sampling", [(), ("--temperature", "0.8", "--top-p", "0.95", "--seed", "5")])
def test_killed_half_way_and_resumed(checkpoint: Path, data_dir: Path, tmp_path: Path, sampling: tuple[str]) -> None:
    finish(start(checkpoint, data_dir, tmp_path / "whole", *sampling))
    path = tmp_path / "killed" / "completions.jsonl"
    process = start(checkpoint, data_dir, tmp_path / "killed", *sampling)
    while process.poll() is None and not (path.exists() and path.read_bytes().count(b"\n") >= 8):
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 8 <= path.read_bytes().count(b"\n") < 20
    finish(start(checkpoint, data_dir, tmp_path / "killed", *sampling))
    whole = (tmp_path / "whole" / "completions.jsonl").read_bytes()
    assert whole.count(b"\n") == 20
    assert path.read_bytes() == whole
    run = read_run(tmp_path / "killed")
    assert len(run.verdicts) == 20
    assert run.manifest["engine"]["name"] == "hf"
    assert run.manifest["model"]["sha256"]


def test_another_batch_size_is_another_protocol(checkpoint: Path, data_dir: Path, tmp_path: Path) -> None:
    finish(start(checkpoint, data_dir, tmp_path / "run", "--limit", "2"))
    process = start(checkpoint, data_dir, tmp_path / "run", "--limit", "2", "--batch-size", "2")
    _, error = process.communicate(timeout=240)
    assert process.returncode == 2
    assert "engine.batch_size was 3 and is now 2" in error
