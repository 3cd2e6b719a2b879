"""verieval compare: the fields that differ, the numbers, and the sentence at the end."""

from __future__ import annotations

import copy
import json
import math
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from verieval.cli.compare import command
from verieval.errors import VerievalError
from verieval.report.compare import Comparison, compare_runs
from verieval.report.compare_view import sections
from verieval.report.manifest_diff import causes, manifest_differences, unrecorded
from verieval.report.terminal import plain
from verieval.run.store import read_run

ROOT = Path(__file__).parents[2]

MANIFEST: dict[str, Any] = {
    "schema": 1,
    "command": ["run", "--model", "a"],
    "benchmark": {"name": "toy", "variant": "hard", "commit": "c0", "sha256": "b0", "rule": "toy", "errata": []},
    "model": {"source": "ckpt/a", "sha256": "m0", "adapter": None},
    "prompt": {"template": "builtin", "sha256": "p0"},
    "sampling": {"n": 5, "temperature": 0.8, "top_p": 0.95, "max_tokens": 1024, "seed": 0},
    "extraction": {"version": 1, "mode": "auto"},
    "engine": {"name": "hf", "version": "5.17", "dtype": "bfloat16"},
    "toolchain": {"icarus": "12.0", "icarus_release": "stable", "icarus_sha256": "i0"},
    "criterion": {"headline": "strict", "toy": 1},
    "limits": {"cpu_seconds": 30},
    "verieval": "0.1.0",
    "machine": {"python": "3.11.7", "cpus": 2},
    "started": "2026-01-01T00:00:00+00:00",
}


def manifest(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The manifest above with dotted fields replaced."""
    result = copy.deepcopy(MANIFEST)
    for field, value in (changes or {}).items():
        *sections, name = field.split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return result


def write_run(
    folder: Path, passes: Mapping[str, Sequence[int]], changes: Mapping[str, Any] | None = None, n: int | None = None
) -> Path:
    """A run folder; ``passes`` holds the delivered samples of each task in order."""
    data = manifest(changes)
    data["benchmark"].setdefault("tasks", list(passes))
    data["sampling"]["n"] = n if n is not None else max(len(row) for row in passes.values())
    rows = [
        {
            "task_id": task,
            "sample": sample,
            "outcome": "passed" if passed else "mismatch",
            "stage": "passed" if passed else "simulated",
            "passed": {"strict": bool(passed), "official": True},
        }
        for task, row in passes.items()
        for sample, passed in enumerate(row)
    ]
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(data))
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def compared(a: Path, b: Path, **options: Any) -> Comparison:
    return compare_runs(read_run(a), read_run(b), **options)


def rates(tasks: int, c: int, n: int = 5) -> dict[str, list[bool]]:
    """``tasks`` tasks with c passes of n each, passes first."""
    return {f"t{i:03}": [True] * c + [False] * (n - c) for i in range(tasks)}


# ---- manifests ----


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ()),
        ({"sampling.temperature": 0.2}, ("sampling.temperature",)),
        ({"model.source": "ckpt/b", "model.sha256": "m1"}, ("model",)),
        ({"model.source": "elsewhere/a"}, ()),  # the same weights under another path
        ({"model.source": "ckpt/b", "model.sha256": None}, ("model",)),  # another path, weights not known
        ({"prompt.template": "mine.j2", "prompt.sha256": "p1"}, ("prompt",)),
        ({"benchmark.sha256": "b1", "benchmark.commit": "c1"}, ("benchmark",)),
        ({"benchmark.commit": "c1"}, ()),
        ({"engine.name": "openai", "engine.version": "1", "engine.url": "u"}, ("engine",)),
        ({"engine.dtype": "float32", "engine.version": "5.18"}, ("engine.dtype", "engine")),
        (
            {"toolchain.icarus": "11.0", "toolchain.icarus_release": "s", "toolchain.icarus_sha256": "i1"},
            ("toolchain",),
        ),
        ({"toolchain.icarus_sha256": "i1", "toolchain.yosys": "0.9"}, ("toolchain",)),  # another build, another tool
        ({"model.sha256": "m1", "model.chat.sha256": "c1"}, ("model", "model.chat")),
        ({"sampling.seed": 1, "sampling.top_p": 1.0}, ("sampling.top_p", "sampling.seed")),
        ({"limits.cpu_seconds": 60, "verieval": "0.2.0"}, ("limits.cpu_seconds", "verieval")),
        ({"a_field_of_the_future": 1}, ("a_field_of_the_future",)),
        ({"started": "later", "command": ["x"], "machine.cpus": 64, "criterion.headline": "official"}, ()),
        ({"source.sha256": "s1", "source.path": "x.jsonl"}, ("source",)),
        ({"source.sha256": "s1", "source.path": "x.jsonl", "model.sha256": "m1"}, ("model",)),
    ],
)
def test_causes_of_differing_fields(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    found = manifest_differences(manifest(), manifest(changes))
    assert sorted(causes(found)) == sorted(expected)
    assert {item.field for item in found} == {
        field for field, value in changes.items() if _get(MANIFEST, field) != value
    }


def _get(data: Any, field: str) -> Any:
    for name in field.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def elsewhere(sha256: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The changes that make the manifest one of completions from a file, of which nothing else is known."""
    unknown = {"prompt": {"template": None, "sha256": None}, "sampling": {}, "engine": {"name": None}}
    return {**unknown, "source": {"path": f"{sha256}.jsonl", "sha256": sha256}, **(changes or {})}


def test_of_the_same_completions_only_what_came_after_can_be_a_cause() -> None:
    a = manifest(elsewhere("s0", {"model.source": None, "model.sha256": None, "sampling.n": 5}))
    b = manifest(elsewhere("s0", {"model.source": "replay:s0.jsonl", "model.sha256": "s0", "engine.name": "replay"}))
    assert causes(manifest_differences(a, b)) == ("sampling.n",)
    assert unrecorded(a, b) == ()
    assert unrecorded(a, manifest(elsewhere("s1"))) == ("A", "B")
    assert unrecorded(a, manifest()) == ("A",)
    assert unrecorded(manifest(), manifest({"source.sha256": "s0"})) == ()  # a run that was scored again


def test_a_differing_training_is_the_cause_of_differing_weights() -> None:
    trained = {"model.training.loss.prompt_weight": 0.0, "model.training.lora.rank": 64}
    a = manifest({**trained, "model.sha256": "m0"})
    b = manifest({**trained, "model.training.loss.prompt_weight": 1.0, "model.sha256": "m1", "model.source": "ckpt/b"})
    found = manifest_differences(a, b)
    assert causes(found) == ("model.training.loss.prompt_weight",)
    assert {item.field for item in found} == {"model.training.loss.prompt_weight", "model.sha256", "model.source"}


def test_a_record_of_training_on_one_side_is_another_model() -> None:
    b = manifest({"model.training.loss.prompt_weight": 0.0, "model.training.lora.rank": 64, "model.sha256": "m1"})
    assert causes(manifest_differences(manifest(), b)) == ("model",)


def test_fields_of_one_cause_stand_together_and_harmless_ones_last() -> None:
    b = manifest({"started": "later", "engine.name": "vllm", "engine.dtype": "float32", "engine.version": "0.32"})
    assert [item.field for item in manifest_differences(manifest(), b)] == [
        "engine.name",
        "engine.version",
        "engine.dtype",
        "started",
    ]


# ---- numbers ----


def test_numbers_by_hand(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [1, 0, 0, 0, 0], "y": [0, 1, 1, 0, 1], "z": [1, 1, 1, 1, 1]})
    b = write_run(tmp_path / "b", {"x": [0, 1, 1, 0, 0], "y": [1, 1, 1, 1, 1], "z": [1, 1, 1, 1, 0]})
    result = compared(a, b)
    one, five = result.rows
    assert (one.k, five.k) == (1, 5)
    assert one.a.value == pytest.approx((0.2 + 0.6 + 1) / 3)
    assert one.b.value == pytest.approx((0.4 + 1 + 0.8) / 3)
    assert one.paired.difference == pytest.approx((0.2 + 0.4 - 0.2) / 3)
    mean = 0.4 / 3
    squares = (0.2 - mean) ** 2 + (0.4 - mean) ** 2 + (-0.2 - mean) ** 2
    assert one.paired.se == pytest.approx(math.sqrt(squares / 2 / 3))
    assert one.paired.ci95 == pytest.approx((-0.2, 0.4))
    assert five.paired.difference == 0
    first = result.first_sample
    assert (first.lost, first.gained, first.both, first.neither, first.p) == (("x",), ("y",), 1, 0, 1.0)
    assert (result.wins, result.losses, result.ties) == (2, 1, 0)
    assert [(change.task_id, change.a, change.b) for change in result.changes] == [
        ("x", (1, 5), (2, 5)),
        ("y", (3, 5), (5, 5)),
        ("z", (5, 5), (4, 5)),
    ]


def test_mcnemar_of_the_first_samples(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {f"t{i}": [i == 0, True] for i in range(12)})
    b = write_run(tmp_path / "b", {f"t{i}": [0 < i < 10, True] for i in range(12)})
    first = compared(a, b).first_sample
    assert (len(first.lost), len(first.gained), first.both, first.neither) == (1, 9, 0, 2)
    assert first.p == 22 / 1024


def test_swapping_the_runs_turns_the_sign(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {f"t{i}": [j < i % 4 for j in range(5)] for i in range(30)})
    b = write_run(tmp_path / "b", {f"t{i}": [j < i % 6 for j in range(5)] for i in range(30)})
    there, back = compared(a, b), compared(b, a)
    assert there.rows[0].paired.difference == pytest.approx(-back.rows[0].paired.difference)  # type: ignore[operator]
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.first_sample.gained == back.first_sample.lost
    assert "B is better than A" in there.conclusion
    assert "A is better than B" in back.conclusion


def test_missing_samples_count_as_failed_and_are_said(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True, True], "y": [True, True]})
    b = write_run(tmp_path / "b", {"x": [True, True], "y": [True]}, n=2)
    result = compared(a, b)
    assert (result.a.missing, result.b.missing, result.b.samples) == (0, 1, 4)
    assert result.rows[0].b.value == pytest.approx(0.75)
    assert any("B has no verdict on 1 of 4 samples" in note for note in result.notes)


def test_an_unfinished_run_neither_wins_nor_loses(tmp_path: Path) -> None:
    """Twenty tasks that A passes and B has not answered would be a shown difference of -100 points."""
    a = write_run(tmp_path / "a", rates(20, 5))
    some = write_run(tmp_path / "b", {task: [True] * 5 if i < 5 else [] for i, task in enumerate(rates(20, 5))})
    none = write_run(tmp_path / "c", {task: [] for task in rates(20, 5)}, n=5)
    faulty = write_run(tmp_path / "d", rates(20, 5))
    rows = (faulty / "verdicts.jsonl").read_text()
    failed = '"outcome": "harness", "stage": "none", "passed": {"strict": false, "official": false}'
    (faulty / "verdicts.jsonl").write_text(
        rows.replace('"outcome": "passed", "stage": "passed", "passed": {"strict": true, "official": true}', failed)
    )
    for other, lacking in (
        (some, "B is unfinished (it has no verdict on 75 of 100 samples)"),
        (none, "B is unfinished (it has no verdict on 100 of 100 samples)"),
        (faulty, "B is unfinished (it has 100 of 100 that met a fault of the harness)"),
    ):
        result = compared(a, other)
        assert result.rows[0].paired.shown
        assert result.unfinished == ("B",)
        assert result.conclusion.startswith(f"Nothing can be concluded yet, for {lacking}; ")
        assert "finish with the command that began the run" in result.conclusion
        assert not any(word in result.conclusion for word in ("better", "chance", "only recorded difference"))
        assert result.to_json()["rows"][0]["paired"]["shown"] is False
    assert compared(some, none).unfinished == ("A", "B")
    assert compared(some, none).conclusion.count("is unfinished") == 2


def test_a_task_without_any_verdict_stays_in_the_denominator(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True], "y": [True]})
    b = write_run(tmp_path / "b", {"x": [True], "y": []}, n=1)
    result = compared(a, b)
    assert result.tasks == 2
    assert result.first_sample.lost == ("y",)


def test_the_last_row_of_a_sample_counts_and_a_torn_line_does_not(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True]})
    b = write_run(tmp_path / "b", {"x": [False]})
    again = (a / "verdicts.jsonl").read_text()
    with (b / "verdicts.jsonl").open("a") as file:
        file.write(again + again[:40])
    assert compared(a, b).first_sample.both == 1


def test_unequal_n_is_compared_at_the_k_that_both_support(tmp_path: Path) -> None:
    a, b = write_run(tmp_path / "a", rates(10, 1)), write_run(tmp_path / "b", rates(10, 10, n=20))
    result = compared(a, b)
    assert [row.k for row in result.rows] == [1, 5]
    assert result.rows[0].paired.difference == pytest.approx(0.3)
    assert "sampling.n" in result.causes
    absent = compared(a, b, ks=[10]).rows[0]
    assert (absent.a.value, absent.paired.difference) == (None, None)
    assert absent.b.value is not None
    assert "Nothing can be concluded: pass@10 is absent" in compared(a, b, ks=[10]).conclusion


def test_numbers_of_samples_by_task(tmp_path: Path) -> None:
    """A scored file with 2 samples of one task and 5 of another: no sample is missing, and pass@5 is absent."""
    a = write_run(tmp_path / "a", {"x": [1, 0], "y": [1, 1, 1, 1, 0]}, {"sampling.n_by_task": {"x": 2, "y": 5}})
    b = write_run(tmp_path / "b", {"x": [1, 1, 0, 0, 0], "y": [1, 1, 1, 0, 0]})
    result = compared(a, b, ks=[1, 5])
    assert (result.a.samples, result.a.missing) == (7, 0)
    assert result.rows[0].a.value == pytest.approx((0.5 + 0.8) / 2)
    assert result.rows[1].a.value is None
    assert result.causes == ("sampling.n",)
    assert [row.k for row in compared(a, b).rows] == [1]


def test_criterion_is_the_common_headline_or_what_is_asked(tmp_path: Path) -> None:
    official = {"criterion.headline": "official"}
    strict, a, b = (
        write_run(tmp_path / "s", rates(3, 1)),
        write_run(tmp_path / "a", rates(3, 1), official),
        write_run(tmp_path / "b", rates(3, 2), official),
    )
    assert compared(a, b).criterion == "official"
    assert compared(a, b).rows[0].a.value == 1.0  # every verdict of these runs passes officially
    assert compared(strict, b).criterion == "strict"
    assert compared(a, b, criterion="strict").rows[0].b.value == pytest.approx(0.4)


# ---- what is compared ----


def test_only_common_tasks_are_compared_and_that_is_said(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True], "y": [True], "z": [False]})
    b = write_run(tmp_path / "b", {"y": [False], "z": [False], "w": [True], "v": [True]})
    result = compared(a, b)
    assert result.tasks == 2
    assert (result.only_a, result.only_b) == (("x",), ("w", "v"))
    assert result.rows[0].a.value == 0.5
    assert result.notes == ("only the tasks of both runs are compared: 1 of A's 3 and 2 of B's 4 are left out",)
    assert result.causes == ()  # the selection cannot change numbers of the common tasks


def test_other_benchmark_data_is_said(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", rates(3, 1))
    b = write_run(tmp_path / "b", rates(3, 1), {"benchmark.sha256": "b1"})
    assert "different benchmark data" in compared(a, b).notes[0]
    assert compared(a, b).causes == ("benchmark",)


def test_other_benchmarks_and_disjoint_tasks_are_refused(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True]})
    with pytest.raises(VerievalError, match=r"is a run of toy and .* of rtllm"):
        compared(a, write_run(tmp_path / "b", {"x": [True]}, {"benchmark.name": "rtllm"}))
    with pytest.raises(VerievalError, match="no task in common"):
        compared(a, write_run(tmp_path / "c", {"y": [True]}))


def test_a_verdict_outside_the_run_is_refused_with_its_run(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"x": [True, True]})
    b = write_run(tmp_path / "b", {"x": [True, True]}, n=1)
    with pytest.raises(VerievalError, match=r"/b: the verdict on x sample 1 is outside the 1 samples"):
        compared(a, b)


# ---- the sentence ----

OTHER = {"sampling.temperature": 0.2}


def conclusion(
    folder: Path, a: Mapping[str, Sequence[int]], b: Mapping[str, Sequence[int]], changes: Mapping[str, Any]
) -> str:
    return compared(write_run(folder / "a", a), write_run(folder / "b", b, changes)).conclusion


def test_a_shown_difference_with_one_cause_names_it(tmp_path: Path) -> None:
    sentence = conclusion(tmp_path, rates(20, 1), rates(20, 3), OTHER)
    assert sentence == (
        "B is better than A: B - A is +40.0 points of pass@1 (95 % interval +40.0 to +40.0); "
        "the only recorded difference is sampling.temperature."
    )


def test_a_shown_difference_with_two_causes_names_none(tmp_path: Path) -> None:
    sentence = conclusion(tmp_path, rates(20, 3), rates(20, 1), {**OTHER, "model.sha256": "m1"})
    assert sentence == (
        "A is better than B: B - A is -40.0 points of pass@1 (95 % interval -40.0 to -40.0); "
        "no single cause can be named, because 2 things differ: model, sampling.temperature."
    )


def test_a_shown_difference_without_a_recorded_cause(tmp_path: Path) -> None:
    sentence = conclusion(tmp_path, rates(20, 1), rates(20, 3), {"started": "later"})
    assert "chance or something that the manifests do not hold" in sentence


@pytest.mark.parametrize(
    ("b", "words"),
    [
        (
            elsewhere("s1"),
            (
                "no cause can be named, because it is not recorded how the completions of A and B were made "
                "(of what is recorded, only source differs)."
            ),
        ),
        (elsewhere("s0", {"limits.cpu_seconds": 60}), "the only recorded difference is limits.cpu_seconds."),
        (elsewhere("s0"), "no recorded field can explain it, so it is chance or something that the manifests do not"),
    ],
)
def test_completions_from_elsewhere_have_no_cause_unless_they_are_the_same(
    tmp_path: Path, b: dict[str, Any], words: str
) -> None:
    result = compared(
        write_run(tmp_path / "a", rates(20, 1), elsewhere("s0")), write_run(tmp_path / "b", rates(20, 3), b)
    )
    assert result.conclusion.startswith("B is better than A")
    assert words in result.conclusion
    noted = [note for note in result.notes if "made elsewhere; its manifest cannot show all of how" in note]
    assert [note[0] for note in noted] == list(result.unrecorded)


def test_no_shown_difference_says_what_could_have_been_seen(tmp_path: Path) -> None:
    """+-1 of 5 on alternating tasks: deviation 0.2 * sqrt(40 / 39), standard error over 40 tasks, times 2.8016."""
    a = rates(40, 2)
    b = {task: [True] * (1 + 2 * (i % 2)) + [False] * (4 - 2 * (i % 2)) for i, task in enumerate(a)}
    sentence = conclusion(tmp_path, a, b, OTHER)
    points = 100 * 2.8016 * 0.2 * math.sqrt(40 / 39) / math.sqrt(40)
    assert sentence.startswith("No difference is shown: B - A is +0.0 points of pass@1 (95 % interval -")
    assert f"with 40 tasks a difference under about {points:.1f} points would probably have gone unseen" in sentence
    assert sentence.endswith("the only recorded difference is sampling.temperature.")


def test_few_differing_tasks_support_no_claim(tmp_path: Path) -> None:
    a = rates(20, 0)
    b = {task: [i < 5] * 5 for i, task in enumerate(a)}
    sentence = conclusion(tmp_path, a, b, {})
    assert sentence.startswith("No difference is shown: B - A is +25.0 points of pass@1, but only 5 of 20 tasks differ")


def test_equal_runs_and_single_tasks(tmp_path: Path) -> None:
    same = conclusion(tmp_path, rates(20, 2), rates(20, 2), {})
    assert same == (
        "No difference: A and B have the same pass@1 on every one of 20 tasks; "
        "no recorded field that can change a number differs."
    )
    (tmp_path / "one").mkdir()
    assert "from a single task" in conclusion(tmp_path / "one", rates(1, 2), rates(1, 4), OTHER)


# ---- output ----


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    a = write_run(tmp_path / "a", rates(20, 1))
    changes = {**OTHER, "model.source": "ckpt/b", "model.sha256": "m1", "started": "later"}
    return a, write_run(tmp_path / "b", {**rates(20, 3), "t003": [False] * 5}, changes)


def test_plain_output_lists_the_fields_first_and_the_conclusion_last(pair: tuple[Path, Path]) -> None:
    lines = plain(sections(compared(*pair))).splitlines()
    assert lines[0] == "Manifest fields that differ"
    fields = [line.split()[0] for line in lines[2 : lines.index("")]]
    assert fields == ["model.source", "model.sha256", "sampling.temperature", "started"]
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == [
        "Manifest fields that differ",
        "Runs",
        "pass@k under the strict criterion, 20 tasks",
        "First sample of each task",
        "Tasks by pass rate",
        "Tasks whose pass rate changed",
        "Conclusion",
    ]
    assert "  lost (only A passes): t003" in lines
    assert any(line.split() == ["t003", "1/5", "0/5", "-"] for line in lines)
    assert "no single cause can be named, because 2 things differ: model, sampling.temperature." in lines[-1]


def test_command_prints_lines_and_json(pair: tuple[Path, Path]) -> None:
    runner = CliRunner()
    words = [str(path) for path in pair]
    text = runner.invoke(command, words)
    assert text.exit_code == 0
    assert text.output == plain(sections(compared(*pair))) + "\n"
    data = json.loads(runner.invoke(command, [*words, "--json", "-k", "5", "--ks", "1"]).output)
    assert [row["k"] for row in data["rows"]] == [1, 5]
    assert data["causes"] == ["model", "sampling.temperature"]
    assert data["rows"][0]["paired"]["difference"] == pytest.approx((19 * 0.4 - 0.2) / 20)
    assert data["first_sample"]["lost"] == ["t003"]
    assert data["conclusion"] == compared(*pair).conclusion


def test_command_draws_tables_on_a_terminal(pair: tuple[Path, Path]) -> None:
    words = [sys.executable, "-m", "verieval", "compare", *(str(path) for path in pair)]
    output = on_terminal(words)
    assert "┃" in output
    assert output.index("sampling.temperature") < output.index("pass@k") < output.index("no single cause can be named")


def on_terminal(words: Sequence[str]) -> str:
    """What a command writes to a terminal 200 columns wide."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(words, stdout=slave, stdin=slave, env=environment)
    os.close(slave)
    parts = []
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(master)
    assert process.wait() == 0
    return b"".join(parts).decode()


def test_command_refuses_what_is_no_run(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(command, [str(tmp_path), str(pair[1])])
    assert isinstance(result.exception, VerievalError)
    (pair[1] / "verdicts.jsonl").write_text('{"task_id": "t000", "sample": 0}\n')
    damaged = CliRunner().invoke(command, [str(path) for path in pair])
    assert isinstance(damaged.exception, VerievalError)
    assert f"{pair[1] / 'verdicts.jsonl'}:1" in str(damaged.exception)
    assert CliRunner().invoke(command, [*(str(path) for path in pair), "-k", "0"]).exit_code == 2
