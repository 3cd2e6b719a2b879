"""`run`, `score` and `report` on the project's own tasks, with the real judge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verieval import benchmarks
from verieval.cli import main
from verieval.completion import Completion
from verieval.run import RunData, read_run
from verieval.run.store import completion_row

ROOT = Path(__file__).resolve().parents[2]
TASKS = 4
N = 3

pytestmark = pytest.mark.usefixtures("toolchain")


def completions() -> list[Completion]:
    """For each of the first tasks: its reference in a fence, the same with a comment, and one that does not parse."""
    rows = []
    for task in benchmarks.load("verieval").tasks[:TASKS]:
        assert task.reference is not None
        fenced = f"Here it is.\n```verilog\n{task.reference}\n```\n"
        texts = (fenced, fenced.replace("endmodule", "// done\nendmodule"), "```verilog\nmodule x; (\nendmodule\n```")
        rows += [Completion(task.id, sample, text, "stop") for sample, text in enumerate(texts)]
    return rows


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "model-a.jsonl"
    path.write_text("".join(json.dumps(completion_row(row)) + "\n" for row in completions()))
    return path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command in this process, in an empty folder; returns status, standard output and error."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run


def check(run: RunData) -> None:
    """Two of three pass, the third has a syntax error, whatever the criterion."""
    assert len(run.completions) == len(run.verdicts) == TASKS * N
    for verdict in run.verdicts:
        assert verdict.outcome == ("syntax" if verdict.sample == 2 else "passed"), verdict
        assert verdict.passed == {"strict": verdict.sample < 2, "official": verdict.sample < 2}


# A test runner in the background has SIGINT ignored, and a child would inherit that.
PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("verieval", run_name="__main__", alter_sys=True)
"""


def start(*words: str | Path, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_run_resume_and_refusal(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    words = ("run", "--model", f"replay:{replay}", "--limit", TASKS)
    status, said, error = call(*words)
    assert status == 0, error
    out = tmp_path / "runs" / "model-a-verieval"  # the same options lead to the same folder
    run = read_run(out)
    check(run)
    assert list(run.completions) == completions()
    assert "strict     1  0.6667" in said
    assert error == f"judged {TASKS * N}/{TASKS * N}, pass@1 0.667 (strict)\n"  # nothing was generated

    report = json.loads((out / "report.json").read_text())
    strict = report["criteria"]["strict"]
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx(2 / 3)
    assert [(task["n"], task["c"]) for task in strict["tasks"]] == [(3, 2)] * TASKS
    assert strict["outcomes"] == {"syntax": TASKS, "passed": 2 * TASKS}

    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert call(*words)[0] == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before  # nothing to do, nothing done

    status, said, error = call(*words, "-n", N + 1, "--memory-limit", "999")
    assert (status, said) == (2, "")
    assert "sampling.n was 3 and is now 4; limits.memory_mib was 2048 and is now 999" in error
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_headline_may_change_from_session_to_session(call: Callable[..., Any], replay: Path) -> None:
    words = ("run", "--model", f"replay:{replay}", "--limit", "1", "--quiet", "--json", "--out", "r")

    def headline(*words: str) -> str:
        status, said, error = call(*words)
        assert status == 0, error
        return str(json.loads(said)["headline"])

    assert headline(*words, "--criterion", "official") == "official"
    assert headline(*words, "--criterion", "strict") == "strict"
    assert headline(*words) == "official"  # what the run was started with
    assert headline("report", "r", "--json") == "official"
    assert headline("report", "r", "--json", "--criterion", "strict") == "strict"
    assert json.loads(Path("r/report.json").read_text())["headline"] == "strict"


def test_samples_that_are_not_asked_for_are_said(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    status, _, error = call("run", "--model", f"replay:{replay}", "-n", "2", "--limit", TASKS, "--out", "r")
    assert status == 0
    assert f"note: -n 2 leaves {TASKS} of {TASKS * N} completions unused" in error
    assert f"judged {TASKS * 2}/{TASKS * 2}, pass@1 1.000" in error
    assert read_run(tmp_path / "r").n == 2


def test_two_replays_are_compared_without_a_cause(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    """What made completions from elsewhere is not known, so nothing that is known can be the single cause."""
    *rows, last = replay.read_text().splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_text("".join([*rows, json.dumps({**json.loads(last), "text": "no code"}) + "\n"]))
    words = ("run", "--limit", TASKS, "--quiet")
    assert call(*words, "--model", f"replay:{replay}", "--out", "a")[0] == 0
    assert call(*words, "--model", "replay:b.jsonl", "-n", N, "--out", "b")[0] == 0
    status, said, _ = call("compare", "a", "b", "--json", "--ks", "1,3")
    assert status == 0
    comparison = json.loads(said)
    assert [row["k"] for row in comparison["rows"]] == [1, 3]
    assert (comparison["causes"], comparison["unrecorded"]) == (["model"], ["A", "B"])
    assert (
        "no cause can be named, because it is not recorded how the completions of A and B were made "
        "(of what is recorded, only model differs)"
    ) in comparison["conclusion"]


def test_the_manifest_explains_the_run(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    import hashlib

    from verieval.judge import find_toolchain

    assert call("run", "--model", f"replay:{replay}", "--limit", "2", "--out", "r", "--quiet")[0] == 0
    manifest = read_run(tmp_path / "r").manifest
    whole = benchmarks.load("verieval")
    assert manifest["benchmark"]["sha256"] == whole.sha256
    assert manifest["benchmark"]["tasks"] == [task.id for task in whole.tasks[:2]]
    assert manifest["model"]["sha256"] == hashlib.sha256(replay.read_bytes()).hexdigest()
    # Nothing was sampled and nothing was prompted.
    assert manifest["sampling"] == {"n": N}
    assert manifest["prompt"] == {"template": None, "sha256": None}
    assert manifest["source"] == {"path": str(replay), "format": "verieval", "sha256": manifest["model"]["sha256"]}
    assert manifest["toolchain"]["icarus"] == find_toolchain().version
    assert manifest["limits"]["simulate_cpu"] == 10.0
    assert set(manifest) == {
        *("schema", "command", "benchmark", "model", "prompt", "sampling", "extraction", "engine", "toolchain"),
        *("criterion", "limits", "sandbox", "calibration", "verieval", "machine", "started", "source"),
    }


def test_a_replayed_run_keeps_what_made_it(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    assert call("run", "--model", f"replay:{replay}", "--limit", "2", "--out", "r", "--quiet")[0] == 0
    path = tmp_path / "r" / "manifest.json"
    made = {
        "model": {"source": "ckpt", "sha256": "m"},
        "prompt": {"template": "mine.j2", "sha256": "p"},
        "sampling": {"n": N, "temperature": 0.7},
        "engine": {"name": "hf", "version": "5"},
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | made))
    assert call("run", "--model", "replay:r", "--limit", "2", "--out", "again", "--quiet")[0] == 0
    manifest = read_run(tmp_path / "again").manifest
    assert {section: manifest[section] for section in made} == made
    assert manifest["source"]["format"] == "run"


def test_protocol_and_prompt_of_a_model_that_is_asked(call: Callable[..., Any], tmp_path: Path) -> None:
    """The record is made before the first request, so that a server that is not there does for this."""
    from dataclasses import asdict

    from verieval.completion import Sampling
    from verieval.protocol import preset_prompt

    words = ("--limit", "1", "--retries", "0", "--seed", "7", "--out", "r", "--quiet")
    status, _, error = call("run", "--model", "openai:m@http://127.0.0.1:9/v1", *words)
    assert status == 2
    assert "(1 try)" in error
    manifest = read_run(tmp_path / "r").manifest
    assert manifest["sampling"] == asdict(Sampling(max_tokens=2048, seed=7))
    assert manifest["prompt"] == {"template": "default", "sha256": preset_prompt("default").sha256, "raw": False}
    assert "source" not in manifest


def test_missing_completions_count_as_failed(call: Callable[..., Any], replay: Path) -> None:
    words = ("run", "--model", f"replay:{replay}", "-n", N + 2, "--limit", TASKS + 1, "--json", "--quiet")
    status, said, error = call(*words)
    report = json.loads(said)
    assert status == 0
    asked = (N + 2) * (TASKS + 1)
    assert f"{asked - N * TASKS} samples have no completion and count as failed" in error
    strict = report["criteria"]["strict"]
    assert (strict["samples"], strict["missing"]) == (asked, asked - N * TASKS)
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx(2 / 5 * TASKS / (TASKS + 1))
    assert list(report["missing"].values()) == [2] * TASKS + [5]


def test_killed_while_judging_and_resumed_is_undisturbed(
    call: Callable[..., Any], replay: Path, tmp_path: Path
) -> None:
    words = ("run", "--model", f"replay:{replay}", "-n", N, "--limit", TASKS, "--jobs", "1", "--quiet", "--out")
    assert call(*words, "whole")[0] == 0
    verdicts = tmp_path / "killed" / "verdicts.jsonl"
    process = start(*words, "killed", cwd=tmp_path)
    while process.poll() is None and not (verdicts.exists() and verdicts.stat().st_size):
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert call(*words, "killed")[0] == 0
    whole, killed = read_run(tmp_path / "whole"), read_run(tmp_path / "killed")
    assert (tmp_path / "killed/completions.jsonl").read_bytes() == (tmp_path / "whole/completions.jsonl").read_bytes()
    check(killed)
    assert {(v.task_id, v.sample): v.outcome for v in killed.verdicts} == {
        (v.task_id, v.sample): v.outcome for v in whole.verdicts
    }


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A completion that compiles and never ends its simulation, after one that passes."""
    task = benchmarks.load("verieval").tasks[0]
    assert task.reference is not None
    hang = task.reference.replace(
        "endmodule", "integer i; always @* begin i = 0; while (1) i = i + 1; end\nendmodule", 1
    )
    path = tmp_path / "endless.jsonl"
    rows = [Completion(task.id, 0, task.reference), Completion(task.id, 1, hang)]
    path.write_text("".join(json.dumps(completion_row(row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_cleanly(call: Callable[..., Any], endless: Path, tmp_path: Path, signum: int) -> None:
    words = ("run", "--model", f"replay:{endless}", "-n", "2", "--limit", "1", "--quiet", "--out", "out")
    process = start(*words, cwd=tmp_path)
    verdicts = tmp_path / "out" / "verdicts.jsonl"
    while process.poll() is None and not (verdicts.exists() and verdicts.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signum)
    started = time.monotonic()
    said, error = process.communicate(timeout=25)
    assert time.monotonic() - started < 10  # the simulation would have gone on for 10 s of CPU time, and 5 more
    assert process.returncode == 128 + signum
    assert said == ""
    assert error == (
        f"verieval: stopped by {signal.Signals(signum).name}; out holds 2 completions, "
        "and the same command goes on from there\n"
    )
    status, _, error = call("run", *words[1:], "--cpu-limit", "1")
    assert status == 2
    assert "limits.simulate_cpu was 10.0 and is now 1.0" in error


# ---- score --------------------------------------------------------------------------------------------------------


def score(call: Callable[..., Any], path: Path, *words: str) -> dict[str, Any]:
    status, said, error = call("score", path, "--benchmark", "verieval", "--out", "scored", "--json", "--quiet", *words)
    assert status == 0, error
    report: dict[str, Any] = json.loads(said)
    return report


def test_score_of_own_rows(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    report = score(call, replay, "--present-only")
    run = read_run(tmp_path / "scored")
    check(run)
    assert list(run.completions) == completions()  # the run explains itself
    assert run.manifest["source"]["format"] == "verieval"
    assert report["criteria"]["strict"]["tasks_total"] == TASKS
    # Without the flag the tasks that have no completion stay in the denominator.
    status, said, _ = call("score", replay, "--benchmark", "verieval", "--out", "all", "--json", "--quiet")
    assert status == 0
    strict = json.loads(said)["criteria"]["strict"]
    everything = len(benchmarks.load("verieval").tasks)
    assert (strict["tasks_total"], strict["missing"]) == (everything, (everything - TASKS) * N)


def test_score_of_unequal_numbers(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    rows = completions()[: N + 1]  # three samples of the first task, one of the second
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps({"task_id": c.task_id, "completion": c.text}) + "\n" for c in rows))
    strict = score(call, path, "--limit", "2")["criteria"]["strict"]
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx((2 / 3 + 1 / 3) / 2)  # two are missing, so failed
    (tmp_path / "scored").rename(tmp_path / "first")
    strict = score(call, path, "--limit", "2", "--unequal-n")["criteria"]["strict"]
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx((2 / 3 + 1 / 1) / 2)
    assert strict["missing"] == 0


def test_score_of_a_folder_takes_files_as_they_are(call: Callable[..., Any], tmp_path: Path) -> None:
    task = benchmarks.load("verieval").tasks[0]
    assert task.reference is not None
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{task.id}_sample01.sv").write_text(task.reference)
    (tmp_path / "code" / f"{task.id}_sample02.sv").write_text(f"```\n{task.reference}\n```")
    report = score(call, tmp_path / "code", "--present-only")
    assert report["criteria"]["strict"]["outcomes"] == {"syntax": 1, "passed": 1}
    run = read_run(tmp_path / "scored")
    assert run.manifest["extraction"]["mode"] == "verbatim"
    (tmp_path / "scored").rename(tmp_path / "first")
    report = score(call, tmp_path / "code", "--present-only", "--extraction", "auto")
    assert report["criteria"]["strict"]["outcomes"] == {"passed": 2}


def test_a_run_is_extracted_again_without_generating(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    words = ("--model", f"replay:{replay}", "-n", N, "--limit", TASKS, "--quiet", "--out", "r")
    assert call("run", *words, "--extraction", "verbatim")[0] == 0
    old = read_run(tmp_path / "r")
    assert {verdict.outcome for verdict in old.verdicts} == {"syntax"}  # prose and fences are no Verilog

    # Into a folder of its own: benchmark, tasks, model, prompt and sampling are the run's.
    assert call("score", tmp_path / "r", "--extraction", "auto", "--quiet")[0] == 0
    new = read_run(tmp_path / "runs" / "r-rescored")
    check(new)
    assert new.completions == old.completions
    for section in ("benchmark", "model", "prompt", "sampling", "engine"):
        assert new.manifest[section] == old.manifest[section]

    # And in place: the old verdicts stay beside the new ones.
    verdicts = (tmp_path / "r" / "verdicts.jsonl").read_bytes()
    assert call("score", tmp_path / "r", "--reextract", "--extraction", "auto", "--quiet")[0] == 0
    check(read_run(tmp_path / "r"))
    assert (tmp_path / "r" / "verdicts.1.jsonl").read_bytes() == verdicts


# ---- report -------------------------------------------------------------------------------------------------------


def test_a_report_is_made_again_from_the_files(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    assert call("run", "--model", f"replay:{replay}", "-n", N, "--limit", TASKS, "--quiet", "--out", "r")[0] == 0
    first = (tmp_path / "r" / "report.json").read_bytes()
    (tmp_path / "r" / "report.json").unlink()
    status, said, _ = call("report", "r", "--json")
    assert status == 0
    assert (tmp_path / "r" / "report.json").read_bytes() == first
    assert json.loads(said) == json.loads(first)
    said = call("report", "r", "--ks", "1,2,9", "--differences")[1]
    assert "strict     2  1.0000" in said  # of 3 samples with 2 right, any two hold a right one
    assert "strict     9  absent" in said
    assert "Samples on which the criteria differ: 0" in said
