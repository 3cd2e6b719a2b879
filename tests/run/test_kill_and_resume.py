"""The real thing: a tiny Gemma 4 on VerilogEval, killed with SIGKILL half way, and resumed to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from verieval.cli import main
from verieval.run import read_run

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = 20

pytestmark = pytest.mark.usefixtures("toolchain", "_one_thread")


@pytest.fixture
def _one_thread() -> Iterator[None]:
    """As many as the process that is killed has: the order of additions must not tell the two apart."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.tiny_gemma4 import make_checkpoint

    return make_checkpoint(tmp_path_factory.mktemp("gemma") / "ckpt")


def words(checkpoint: Path, data_dir: Path, out: Path, *more: str) -> list[str]:
    return [
        "run", "--model", str(checkpoint), "--out", str(out),
        "--benchmark", "verilog-eval:spec-to-rtl", "--data", str(data_dir / "verilog-eval"), "-n", "1",
        "--limit", str(SAMPLES), "--temperature", "0.8", "--max-tokens", "24", "--batch-size", "4", "--quiet", *more,
    ]  # fmt: skip


def run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_killed_and_resumed_equals_undisturbed(checkpoint: Path, data_dir: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    victim = subprocess.Popen(
        [sys.executable, "-m", "verieval", *words(checkpoint, data_dir, killed)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while victim.poll() is None and _lines(killed / "completions.jsonl") < 8:
        time.sleep(0.002)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert 8 <= _lines(killed / "completions.jsonl") < SAMPLES, "it was not killed half way"

    assert run(words(checkpoint, data_dir, killed)) == 0
    assert run(words(checkpoint, data_dir, whole)) == 0
    expected = (whole / "completions.jsonl").read_bytes()
    assert expected.count(b"\n") == SAMPLES
    assert (killed / "completions.jsonl").read_bytes() == expected
    resumed = read_run(killed)
    assert {verdict.task_id for verdict in resumed.verdicts} == set(resumed.task_ids)
    assert resumed.manifest["engine"]["name"] == "hf"
    assert resumed.manifest["model"]["sha256"]


@pytest.mark.slow
def test_another_batch_size_is_another_protocol(
    checkpoint: Path, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(checkpoint, data_dir, tmp_path / "run", "--limit", "2")) == 0
    assert run(words(checkpoint, data_dir, tmp_path / "run", "--limit", "2", "--batch-size", "2")) == 2
    assert "engine.batch_size was 4 and is now 2" in capsys.readouterr().err


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
