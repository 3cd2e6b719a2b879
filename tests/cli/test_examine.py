"""``--synth``, ``--equiv`` and ``verieval examine`` on the project's own tasks, with the real tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verieval import benchmarks
from verieval.cli import main
from verieval.completion import Completion
from verieval.run.examine import REFERENCE, SYNTHESIS
from verieval.run.store import completion_row

pytestmark = pytest.mark.usefixtures("toolchain", "yosys_here")

TASKS = 2


def texts(reference: str) -> tuple[str, ...]:
    """The reference, itself with a comment, with one operator changed, and no Verilog."""
    broken = re.sub(r"assign (\w+) = ", r"assign \1 = ~", reference, count=1)
    return reference, reference + "// again\n", broken, "module x; (\nendmodule\n"


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "model.jsonl"
    rows = []
    for task in _tasks():
        assert task.reference is not None
        rows += [
            Completion(task.id, i, f"```verilog\n{text}\n```", "stop") for i, text in enumerate(texts(task.reference))
        ]
    path.write_text("".join(json.dumps(completion_row(row)) + "\n" for row in rows))
    return path


def _tasks() -> list[Any]:
    """Tasks whose reference has an ``assign``, so that it can be broken."""
    found = (task for task in benchmarks.load("verieval").tasks if re.search(r"assign \w+ = ", task.reference or ""))
    return [task for _, task in zip(range(TASKS), found, strict=False)]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run


def _score(call: Callable[..., Any], replay: Path, *more: str) -> dict[str, Any]:
    words = (
        "score",
        replay,
        "--benchmark",
        "verieval",
        "--present-only",
        "--out",
        "run",
        "--jobs",
        "1",
        "--json",
        *more,
    )
    status, out, err = call(*words)
    assert status == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


def test_both_stages_stand_beside_pass_at_k(call: Callable[..., Any], replay: Path) -> None:
    plain = _score(call, replay)
    assert "examined" not in plain
    status, out, err = call("examine", "run", "--json")
    assert status == 0, err
    report = json.loads(out)
    assert report["criteria"] == plain["criteria"]  # nothing of it decides a verdict
    equiv, synth = report["examined"]["equiv"], report["examined"]["synth"]
    assert equiv["samples"] == equiv["of"] == 4 * TASKS
    assert equiv["kinds"]["strict"]["passed"] == {"proven": 2 * TASKS, "refuted": 0, "unknown": 0}
    assert equiv["kinds"]["strict"]["failed"] == {"proven": 0, "refuted": TASKS, "unknown": TASKS}
    assert synth["status"] == {"ok": 3 * TASKS, "refused": TASKS}
    assert synth["passed"]["ratio"]["cells"] == {"samples": 2 * TASKS, "geometric_mean": 1.0, "largest": 1.0}
    status, out, _ = call("report", "run")
    assert status == 0
    assert "Equivalence, beside pass@k" in out
    assert "Synthesis, beside pass@k" in out


def test_rows_say_what_made_them_and_are_not_made_twice(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    _score(call, replay, "--synth", "--equiv")
    path = tmp_path / "run" / SYNTHESIS
    before = path.read_bytes()
    rows = [json.loads(line) for line in before.splitlines()]
    keys = [(row["task_id"], row["source_sha256"], row["stage"]) for row in rows]
    assert len(keys) == len(set(keys)) == TASKS * (1 + 4 + 4)  # the reference is only synthesized
    assert sum(key[1] == REFERENCE for key in keys) == TASKS
    for row in rows:
        assert row["tools"]["yosys"]
        assert len(row["tools"]["yosys_sha256"]) == 64
        assert ("icarus_sha256" in row["tools"]) is (row["stage"] == "equiv")
    asked = {task.id: list(task.oracle.overrides) for task in _tasks()}
    assert any(len(sets) > 1 for sets in asked.values())
    for row in rows:
        if row["answer"].get("kind") == "proven":
            assert [found["parameters"] for found in row["answer"]["findings"]] == asked[row["task_id"]]
    path.write_bytes(before[: len(before) // 2])  # killed in the middle of a row
    assert call("examine", "run", "--json")[0] == 0
    again = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert sorted(keys) == sorted((row["task_id"], row["source_sha256"], row["stage"]) for row in again)
    assert path.read_bytes().startswith(before[: before.rfind(b"\n", 0, len(before) // 2)])


def test_other_limits_are_another_answer(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    _score(call, replay, "--synth")
    assert call("examine", "run", "--synth", "--proof-cpu", "19", "--json")[0] == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / SYNTHESIS).read_bytes().splitlines()]
    assert sorted({row["tools"]["cpu"] for row in rows}) == [19.0, 20.0]
    assert len(rows) == 2 * TASKS * 5


def test_a_missing_yosys_is_said_before_anything_is_judged(
    call: Callable[..., Any], replay: Path, tmp_path: Path
) -> None:
    status, _, err = call(
        "score", replay, "--benchmark", "verieval", "--out", "run", "--equiv", "--yosys", tmp_path / "none"
    )
    assert status == 2
    assert "is no yosys" in err
    assert not (tmp_path / "run").exists()


def test_damaged_rows_are_named(call: Callable[..., Any], replay: Path, tmp_path: Path) -> None:
    _score(call, replay)
    (tmp_path / "run" / SYNTHESIS).write_text('{"task_id": 1}\n')
    status, _, err = call("report", "run")
    assert status == 2
    assert f"{SYNTHESIS}:1" in err
