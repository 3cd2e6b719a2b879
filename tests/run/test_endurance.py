"""What may happen to a run, and that it loses nothing: killed again and again, a full disk, tools that go."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks

ROOT = Path(__file__).resolve().parents[2]
KILLS = 10

pytestmark = pytest.mark.usefixtures("toolchain")


@pytest.fixture(scope="module")
def completions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three answers to every task with a bench in Verilog: the reference, one that is wrong, one that is no Verilog."""
    path = tmp_path_factory.mktemp("completions") / "completions.jsonl"
    rows = [
        {"task_id": task.id, "sample": sample, "text": text}
        for task in benchmarks.load("verieval", VERILOG_BENCHES).tasks
        for sample, text in enumerate(
            (f"```verilog\n{task.reference}\n```", (task.reference or "").replace("<=", "<= ~", 1), "I cannot do that.")
        )
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def words(completions: Path, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "verieval",
        "score",
        str(completions),
        "--benchmark",
        "verieval",
        "--data",
        str(VERILOG_BENCHES),
        "--out",
        str(out),
        "--quiet",
        *more,
    ]


def start(command: list[str], cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VERIEVAL_CACHE": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verdicts(folder: Path) -> dict[tuple[str, int], dict[str, object]]:
    """The last verdict of each sample, without times."""
    found = {}
    for line in (folder / "verdicts.jsonl").read_text().splitlines():
        row = json.loads(line)
        row.pop("seconds")
        found[(row["task_id"], row["sample"])] = row
    return found


@pytest.fixture(scope="module")
def undisturbed(completions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    process = start(words(completions, folder), folder.parent / "cache")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return folder


@pytest.mark.slow
def test_killed_at_ten_random_moments(completions: Path, undisturbed: Path, tmp_path: Path) -> None:
    """SIGKILL of the whole run, ten times over; each start goes on from what is there."""
    moments = random.Random(20260101)
    out, kills = tmp_path / "run", 0
    while kills < KILLS:
        process = start(words(completions, out), tmp_path / "cache")
        try:
            process.communicate(timeout=moments.uniform(0.3, 2.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        else:
            assert process.returncode == 0
            shutil.rmtree(out)  # it came to its end before it was killed: begin again
    process = start(words(completions, out), tmp_path / "cache")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert verdicts(out) == verdicts(undisturbed)
    assert sorted((out / "completions.jsonl").read_bytes().splitlines()) == sorted(
        (undisturbed / "completions.jsonl").read_bytes().splitlines()
    )
    numbers = [json.loads((folder / "report.json").read_text())["criteria"] for folder in (out, undisturbed)]
    assert numbers[0] == numbers[1]
    deadline = time.monotonic() + 20
    while left := _processes(str(completions)):
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_ends_it_with_a_sentence_and_room_lets_it_go_on(
    completions: Path, undisturbed: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    needed = sum(path.stat().st_size for path in undisturbed.iterdir())
    size = max(needed // 2048, 24)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this machine mounts no tmpfs")
    try:
        process = start(words(completions, disk / "run"), tmp_path / "cache")
        _, err = process.communicate(timeout=300)
        assert process.returncode == 2
        assert err.count("\n") == 1
        assert "no space left on device" in err.lower()
        before = (disk / "run" / "completions.jsonl").read_bytes()
        subprocess.run(["mount", "-o", f"remount,size={needed * 4 // 1024 + 64}k", str(disk)], check=True)
        process = start(words(completions, disk / "run"), tmp_path / "cache")
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        whole = before[: before.rfind(b"\n") + 1]
        assert (disk / "run" / "completions.jsonl").read_bytes().startswith(whole)
        assert verdicts(disk / "run") == verdicts(undisturbed)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_simulator_that_disappears(completions: Path, undisturbed: Path, tmp_path: Path) -> None:
    """Taken away in the middle: one sentence, and everything that was judged stays. Put back: the run goes on."""
    from verieval.judge import find_toolchain

    found = find_toolchain()
    prefix = tmp_path / "icarus"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    assert found.library is not None
    (prefix / "lib" / "ivl").symlink_to(found.library)
    shutil.copy(found.iverilog[0], prefix / "bin" / "iverilog")
    shutil.copy(found.vvp[0], prefix / "bin" / "vvp")
    out = tmp_path / "run"
    command = words(completions, out, "--icarus", str(prefix), "--no-sandbox")
    process = start(command, tmp_path / "cache")
    deadline = time.monotonic() + 120
    while not (out / "verdicts.jsonl").exists() or (out / "verdicts.jsonl").read_bytes().count(b"\n") < 5:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    (prefix / "bin" / "vvp").rename(prefix / "bin" / "gone")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert "cannot run" in err.splitlines()[-1]
    kept = verdicts(out)
    assert 5 <= len(kept) < len(verdicts(undisturbed))
    (prefix / "bin" / "gone").rename(prefix / "bin" / "vvp")
    process = start(command, tmp_path / "cache")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert verdicts(out) == verdicts(undisturbed)


def _processes(marker: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if marker.encode() in line:
            found.append(line.decode(errors="replace"))
    return found
