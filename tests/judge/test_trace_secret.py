"""The secret of the traces: made once, kept for its owner alone, and told to no one."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, VERILOG_BENCHES
from verieval import benchmarks
from verieval.completion import Completion
from verieval.judge import JudgePool, Toolchain
from verieval.judge.seals import Seals
from verieval.judge.trace_secret import TraceSecret, trace_secret
from verieval.verdict import Verdict


def place(folder: Path) -> Path:
    return folder / "references" / "trace-secret"


def test_it_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    secret = trace_secret(tmp_path)
    assert re.fullmatch("[0-9a-f]{64}", secret.value)
    assert trace_secret(tmp_path) == secret
    assert stat.S_IMODE(place(tmp_path).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "references").iterdir()] == ["trace-secret"]
    other = trace_secret(tmp_path / "other")
    assert other.value != secret.value
    assert other.fingerprint != secret.fingerprint
    assert secret.value not in repr(secret)
    assert secret.fingerprint not in secret.value


def test_several_processes_agree(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from verieval.judge.trace_secret import trace_secret; "
    code += "sys.stdin.readline(); print(trace_secret(Path(sys.argv[1])).value)"
    argv = [sys.executable, "-c", code, str(tmp_path)]
    started = [
        subprocess.Popen(argv, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(6)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert {process.communicate()[0].strip() for process in started} == {trace_secret(tmp_path).value}


@pytest.mark.parametrize("content", ["", "short\n", "g" * 64 + "\n", "\xff" * 65])
def test_a_damaged_one_is_replaced(content: str, tmp_path: Path) -> None:
    place(tmp_path).parent.mkdir()
    place(tmp_path).write_text(content, encoding="latin-1")
    secret = trace_secret(tmp_path)
    assert place(tmp_path).read_text() == secret.value + "\n"
    assert stat.S_IMODE(place(tmp_path).stat().st_mode) == 0o600


def test_without_a_folder_it_is_random(tmp_path: Path) -> None:
    (tmp_path / "references").write_text("in the way")
    assert trace_secret(tmp_path).value != trace_secret(tmp_path).value


def test_each_task_has_numbers_of_its_own() -> None:
    tasks = benchmarks.load("verieval", VERILOG_BENCHES).tasks[:2]
    seals = [Seals(secret) for secret in ("x", "x", "y")]
    keys = [[of.sealed(task, None).trace_key for task in tasks] for of in seals]
    assert keys[0] == keys[1]
    assert len({*keys[0], *keys[2]}) == 4


def test_records_of_another_secret_are_not_used_and_it_is_told_to_no_one(
    each_icarus: Toolchain, tmp_path: Path
) -> None:
    benchmark = benchmarks.load("verieval", VERILOG_BENCHES)
    task = benchmark.by_id["pulse_stretch"]

    def judged() -> tuple[Verdict, str, str]:
        with JudgePool(benchmark, each_icarus, cache=tmp_path) as pool:
            verdict = pool.submit(Completion(task.id, 0, str(task.reference))).result()
            trace = pool.reference(task).result().trace
            return verdict, str(trace), json.dumps(pool.describe())

    first, trace, manifest = judged()
    secret = trace_secret(tmp_path)
    assert first.outcome == "passed"
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != place(tmp_path)]
    assert len(files) == 1
    for text in (manifest, repr(first), files[0].name, files[0].read_text()):
        assert secret.value not in text
    assert judged()[1] == trace
    place(tmp_path).unlink()
    again = judged()
    assert again[0].outcome == "passed"
    assert again[1] != trace
    assert trace_secret(tmp_path) != secret
    assert isinstance(secret, TraceSecret)
