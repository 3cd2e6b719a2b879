"""The report of a run whose figures can be worked out by hand."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from verieval.completion import Completion
from verieval.report.summary import Report, build_report, write_report
from verieval.report.terminal import plain, sections, show
from verieval.run.progress import PlainProgress, Progress, open_progress
from verieval.run.store import RunData
from verieval.verdict import Outcome, Stage, Verdict

ERRATA = [
    {"task": "b", "effect": "vacuous", "reason": "anything passes", "found": "2026-01-01", "source": "", "icarus": []},
    {"task": "c", "effect": "reference_fails", "reason": "casts", "found": "2026-01-01", "source": "", "icarus": [11]},
    {"task": "z", "effect": "vacuous", "reason": "not in this run", "found": "", "source": "", "icarus": []},
]


def manifest(icarus: str = "12.0") -> dict[str, Any]:
    return {
        "schema": 1,
        "benchmark": {
            "name": "toy",
            "variant": "hard",
            "commit": "c498220" + "a" * 33,
            "sha256": "ab" * 32,
            "tasks": ["a", "b", "c"],
            "errata": ERRATA,
        },
        "model": {"source": "models/x"},
        "sampling": {"n": 2, "temperature": 0.8, "top_p": 0.95, "max_tokens": 64, "seed": 3},
        "extraction": {"mode": "auto"},
        "toolchain": {"icarus": icarus},
        "criterion": {"headline": "strict"},
    }


def verdict(
    task: str, sample: int, outcome: Outcome, stage: Stage = "simulated", *, official: bool, **more: Any
) -> Verdict:
    return Verdict(task, sample, outcome, stage, {"strict": outcome == "passed", "official": official}, **more)


# Strict: a 2/2, b 1/2, c 0/2 (one sample missing). Official: a 1/2, b 2/2, c 0/2.
VERDICTS = (
    verdict("a", 0, "passed", "passed", official=True),
    verdict("a", 1, "passed", "passed", official=False, code="T"),
    verdict("b", 0, "passed", "passed", official=True),
    verdict("b", 1, "tampered", official=True, code=".", detail="the trace is not the reference's"),
    verdict("c", 0, "syntax", "extracted", official=False, repaired_passed=True),
)
RUN = RunData(Path("runs/x"), manifest(), tuple(Completion(v.task_id, v.sample, "") for v in VERDICTS), VERDICTS)


@pytest.fixture
def report() -> Report:
    return build_report(RUN)


def test_both_criteria_with_and_without_faulty_tasks(report: Report) -> None:
    strict, official = report["criteria"]["strict"], report["criteria"]["official"]
    assert strict["pass_at_k"]["1"]["value"] == pytest.approx((2 / 2 + 1 / 2 + 0 / 2) / 3)
    assert official["pass_at_k"]["1"]["value"] == pytest.approx((1 / 2 + 2 / 2 + 0 / 2) / 3)
    # On Icarus 12 only b is faulty: c's fault shows on 11, z is not in the run.
    assert strict["without_faulty"]["excluded"] == ["b"]
    assert strict["without_faulty"]["pass_at_k"]["1"]["value"] == pytest.approx((1 + 0) / 2)
    assert [erratum["task"] for erratum in report["errata"]] == ["b"]
    eleven = build_report(RunData(RUN.path, manifest("11.0"), RUN.completions, RUN.verdicts))
    assert eleven["criteria"]["strict"]["without_faulty"]["excluded"] == ["b", "c"]


def test_counts_are_integers_and_missing_is_shown(report: Report) -> None:
    strict = report["criteria"]["strict"]
    assert (strict["tasks_total"], strict["samples"], strict["missing"]) == (3, 6, 1)
    assert [(row["id"], row["n"], row["c"]) for row in strict["tasks"]] == [("a", 2, 2), ("b", 2, 1), ("c", 2, 0)]
    assert report["missing"] == {"c": 1}
    assert report["unjudged"] == 0
    assert report["repaired"] == 1
    waiting = build_report(RunData(RUN.path, RUN.manifest, RUN.completions, RUN.verdicts[:3]))
    assert waiting["unjudged"] == 2


def test_every_difference_has_its_reason(report: Report) -> None:
    assert [(d["task_id"], d["sample"], d["strict"], d["official"]) for d in report["differences"]] == [
        ("a", 1, True, False),
        ("b", 1, False, True),
    ]
    assert "TIMEOUT" in report["differences"][0]["reason"]
    assert report["differences"][1]["reason"] == "strict: the trace is not the reference's"


def test_k_beyond_n_is_absent(report: Report) -> None:
    assert list(report["criteria"]["strict"]["pass_at_k"]) == ["1"]
    asked = build_report(RUN, ks=(2, 3))["criteria"]["strict"]["pass_at_k"]
    assert asked["2"]["value"] == pytest.approx((1 + 1 + 0) / 3)
    assert asked["3"]["value"] is None


def test_unequal_numbers_of_samples() -> None:
    own = manifest()
    own["sampling"]["n_by_task"] = {"a": 2, "b": 2, "c": 1}
    report = build_report(RunData(RUN.path, own, RUN.completions, RUN.verdicts))
    assert (report["criteria"]["strict"]["samples"], report["missing"]) == (5, {})


def test_the_file_is_plain_json(report: Report, tmp_path: Path) -> None:
    write_report(tmp_path, report)
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads(json.dumps(report))
    assert report["schema"] == 1


def test_what_is_shown(report: Report) -> None:
    text = plain(sections(report, RUN.manifest, differences=True))
    for line in (
        "models/x on toy:hard",
        "  3 tasks, 6 samples, 1 missing (counted as failed)",
        "  sampling n=2, T=0.8, top_p=0.95, max_tokens=64, seed=3",
        "  Icarus 12.0, benchmark abababababab (commit c498220aaaaa), extraction auto",
        "Outcomes (syntax right: 80.0% of 5 samples with a verdict)",
        "  samples without a completion: c (1)",
        "  the criteria differ on 2 samples; `verieval report RUN --differences` lists them",
        "  1 failed samples would pass with their missing endmodule added (a diagnostic)",
        "Lowest pass rates (strict; 1 of 3 tasks never pass)",
        "Samples on which the criteria differ: 2",
    ):
        assert line in text.splitlines()
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert any(row.startswith("strict 1 0.5000 ") and row.endswith(" 3") for row in rows)
    assert any(row.startswith("official, without faulty tasks 1 0.2500 ") and row.endswith(" 2") for row in rows)
    assert "passed 3 50.0%" in rows
    assert "(no verdict) 1 16.7%" in rows
    assert "c 0/2 syntax 1, no verdict 1" in rows
    assert "b vacuous anything passes" in rows
    assert "a 1 pass fail T passed official: the log says TIMEOUT, whatever the counts say" in rows


@pytest.mark.parametrize("commit", ["release/1.0.0", "c498220-dirty-and-long", "c498220"])
def test_a_commit_that_is_no_whole_hash_is_shown_whole(report: Report, commit: str) -> None:
    own = manifest()
    own["benchmark"]["commit"] = commit
    assert f"(commit {commit})," in plain(sections(report, own))


def test_the_headline_is_the_manifest_s_or_what_is_asked() -> None:
    assert build_report(RUN)["headline"] == "strict"
    assert build_report(RUN, criterion="official") == {**build_report(RUN), "headline": "official"}


def test_the_headline_comes_first(report: Report) -> None:
    text = plain(sections({**report, "headline": "official"}, RUN.manifest))
    assert text.index("official   ") < text.index("strict   ")


def test_tables_show_text_as_it_is(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    """What a model or a user wrote is neither markup nor obeyed by the terminal."""
    show(sections({**report, "model": "[red]x[/red] \x1b]0;title\x07 \n\ud800 \u00e9"}, RUN.manifest))
    assert capsys.readouterr().out.startswith("[red]x[/red] \\x1b]0;title\\x07 \\n\\ud800 \u00e9 on toy:hard\n")


def test_plain_progress_says_where_it_stands() -> None:
    stream = io.StringIO()
    with PlainProgress(6, "official", stream, every=60) as progress:
        for done in VERDICTS[:2]:
            progress.completion(Completion(done.task_id, done.sample, ""))
            progress.verdict(done)
        progress.completion(Completion("b", 0, ""))
    assert stream.getvalue() == "generated 3/6, judged 2/6, pass@1 0.500 (official)\n"


def test_progress_of_judging_alone_shows_no_generating() -> None:
    stream = io.StringIO()
    with PlainProgress(6, "strict", stream, every=60, generating=False) as progress:
        progress.verdict(VERDICTS[0])
    assert stream.getvalue() == "judged 1/6, pass@1 1.000 (strict)\n"


def test_time_left_is_shown_once_it_can_be_trusted() -> None:
    progress = Progress(30, "strict")

    def left(judged: int, seconds: float) -> float | None:
        progress.judged, progress.session_judged = judged, judged - resumed
        progress.started = time.monotonic() - seconds
        return progress.seconds_left

    resumed = 0
    assert left(29, 19.5) is None  # too early
    assert left(2, 300) is None  # too few: the slow ones are judged first
    assert left(3, 30) == pytest.approx(27 * 10, rel=1e-3)
    assert left(30, 300) is None  # nothing is left
    resumed = 10  # of the 20 that were left then, a tenth is 2
    assert left(11, 300) is None
    assert left(12, 60) == pytest.approx(18 * 30, rel=1e-3)
    assert "9:00 left" in progress.figures()


def test_progress_fits_where_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(open_progress(1, "strict", quiet=True)) is Progress
    with open_progress(1, "strict", quiet=False) as progress:
        assert type(progress) is PlainProgress
