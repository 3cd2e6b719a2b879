"""Honest bundles are judged again and confirmed; each way to tamper with one is found and named.

A forger is taken to mend all hashes and, where that helps, every figure.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verieval.errors import VerievalError
from verieval.judge import JudgePool, Toolchain
from verieval.leaderboard import archive
from verieval.leaderboard.bundle import Bundle
from verieval.leaderboard.verify import Verification, spot
from verieval.task import Benchmark

pytestmark = pytest.mark.usefixtures("toolchain")

Answer = Callable[..., Verification]
Find = Callable[[list[Any], str], int]


def named(answer: Verification, code: str, where: str, *words: str) -> None:
    """The answer is a refusal, and its first reason has this code, place and words."""
    assert answer.tier == "rejected"
    reason = answer.reasons[0]
    assert (reason.code, reason.where) == (code, where), reason
    for word in words:
        assert word in reason.detail, reason


# ---- honest -------------------------------------------------------------------------------------------------------


def test_an_honest_bundle_is_re_simulated(bundle: Bundle, answer: Answer, suite: Benchmark) -> None:
    found = answer(bundle.files)
    assert found.tier == "re-simulated"
    assert found.reasons == ()
    assert found.id == bundle.contents.id
    assert found.samples == found.simulated == 2 * len(suite.tasks)


def test_a_forger_who_changes_nothing_is_honest(forger: Any, bundle: Bundle) -> None:
    """So what the tests below change is all that they change."""
    forger.refigure()
    assert forger.sealed() == bundle.files


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_spot_check_is_never_called_more(share: float, bundle: Bundle, answer: Answer) -> None:
    found = answer(bundle.files, share=share, seed=3)
    assert found.tier == "spot-checked"
    assert (found.share, found.seed) == (share, 3)
    assert found.simulated == round(share * found.samples)


def test_a_spot_check_is_spread_over_the_tasks(bundle: Bundle) -> None:
    rows = [
        dataclasses.replace(row, sample=row.sample + 2 * extra)
        for row in bundle.contents.completions
        for extra in range(10)
    ]
    chosen = spot(rows, 0.23, 5)
    assert len(set(map(id, chosen))) == len(chosen) == round(0.23 * len(rows))
    counts = Counter(row.task_id for row in chosen)
    assert set(counts.values()) <= {4, 5}  # 0.23 of 20 samples
    assert spot(rows, 0.23, 5) == chosen
    assert spot(rows, 0.23, 6) != chosen
    assert len(spot(rows, 1e-9, 0)) == 1


# ---- tampered -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(archive.SIZES) - {archive.HASHES}))
def test_a_changed_byte(name: str, bundle: Bundle, answer: Answer) -> None:
    data = bytearray(bundle.files[name])
    data[len(data) // 2] ^= 1
    named(answer(bundle.files | {name: bytes(data)}), "hash", name, "was changed")


def test_a_swapped_completion(forger: Any, answer: Answer, find: Find) -> None:
    """The right answer in the place of a wrong one, the verdicts left as they were."""
    place = find(forger.verdicts, "syntax")
    forger.replace(place, text=forger.completions[place - 1].text)
    row = forger.completions[place]
    named(
        answer(forger.sealed()),
        "verdict",
        "results.jsonl",
        f"sample {row.sample} of {row.task_id}",
        "has a verdict on other code",
    )


def test_a_swapped_completion_with_a_verdict_of_its_own(
    forger: Any, answer: Answer, find: Find, suite: Benchmark
) -> None:
    """Code that fails, said to pass, all figures mended."""
    place = find(forger.verdicts, "passed")
    task = suite.by_id[forger.verdicts[place].task_id]
    forger.claim(suite, place, f"```verilog\nmodule {task.module};\nendmodule\n```\n")
    forger.refigure()
    found = answer(forger.sealed())
    named(found, "verdict", "results.jsonl", f"sample 0 of {task.id}", "outcome 'passed'")
    assert found.simulated == found.samples


def test_an_edited_number(forger: Any, answer: Answer) -> None:
    forger.report["criteria"]["strict"]["pass_at_k"]["1"]["value"] += 0.001
    named(answer(forger.sealed()), "number", "report.json", "`criteria.strict.pass_at_k.1.value`")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (("criteria", "strict", "pass_at_k", "1", "se"), 1e-6),
        (("criteria", "official", "pass_at_k", "1", "ci95", 1), 1e-6),
        (("criteria", "strict", "tasks", 3, "c"), 1),
        (("criteria", "strict", "outcomes", "passed"), 1),
        (("criteria", "strict", "syntax_rate"), 1e-6),
    ],
)
def test_any_edited_number_of_the_report(path: tuple[Any, ...], change: float, forger: Any, answer: Answer) -> None:
    value = forger.report
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] += change
    found = answer(forger.sealed())
    named(found, "number", "report.json", f"`{'.'.join(map(str, path))}`")
    assert found.simulated == 0  # no simulation is needed to see it


@pytest.mark.parametrize("place", ["report", "submission", "both"])
def test_intervals_of_another_numpy_are_confirmed_or_not_judged(place: str, forger: Any, answer: Answer) -> None:
    forger.submission["harness"]["numpy"] = "1.99.0"
    sections = {"report": forger.report["criteria"], "submission": forger.submission["numbers"]}
    for name, criteria in sections.items():
        if place in (name, "both"):
            for bound in (0, 1):
                criteria["strict"]["pass_at_k"]["1"]["ci95"][bound] += 0.015
    with pytest.raises(VerievalError, match=r"drawn with NumPy 1\.99\.0, and this is .*ci95"):
        answer(forger.sealed())


def test_another_numpy_that_draws_the_same_is_none(forger: Any, answer: Answer) -> None:
    forger.submission["harness"]["numpy"] = "1.99.0"
    assert answer(forger.sealed()).tier == "re-simulated"


def test_an_interval_too_far_off_for_any_numpy(forger: Any, answer: Answer) -> None:
    forger.submission["harness"]["numpy"] = "1.99.0"
    forger.report["criteria"]["strict"]["pass_at_k"]["1"]["ci95"][0] -= 0.05
    named(answer(forger.sealed()), "number", "report.json", "ci95")


@pytest.mark.parametrize("more", [{"extra": {}}, {"extra": []}, {"note": "best"}, {"criteria.strict": {}}])
def test_a_report_with_more_in_it(more: dict[str, Any], forger: Any, answer: Answer) -> None:
    forger.report.update(more)
    named(answer(forger.sealed()), "number", "report.json")


def test_a_whole_number_in_a_place_without_a_type(forger: Any, answer: Answer) -> None:
    forger.report["criteria"]["strict"]["pass_at_k"]["1"]["se"] = 0
    named(answer(forger.sealed()), "number", "report.json", "pass_at_k.1.se")


@pytest.mark.parametrize("name", ["completions", "verdicts"])
def test_rows_in_another_order(name: str, forger: Any, answer: Answer) -> None:
    getattr(forger, name).reverse()
    where = "samples.jsonl.zst" if name == "completions" else "results.jsonl"
    named(answer(forger.sealed()), "matrix", where, "another order than the benchmark's")


def test_an_edited_number_of_the_submission_or_its_readme(
    forger: Any, bundle: Bundle, answer: Answer, seal: Any
) -> None:
    forger.submission["numbers"]["strict"]["passed"] += 1
    named(answer(forger.sealed()), "number", "submission.yaml", "`numbers.strict.passed`")
    text = bundle.files[archive.README].replace(b"0.6", b"0.9", 1)
    assert text != bundle.files[archive.README]
    named(answer(seal(bundle.files | {archive.README: text})), "number", "README.md")


def test_a_dropped_sample(forger: Any, answer: Answer, find: Find) -> None:
    place = find(forger.verdicts, "syntax")
    row = forger.verdicts.pop(place)
    del forger.completions[place]
    forger.refigure()
    found = answer(forger.sealed())
    named(found, "matrix", "samples.jsonl.zst", f"sample {row.sample} of {row.task_id} has no completion")
    assert any(reason.where == "results.jsonl" and "has no verdict" in reason.detail for reason in found.reasons)


def test_a_dropped_sample_of_every_task(forger: Any, answer: Answer) -> None:
    """Only the better half is kept, renumbered, and n lowered: the seeds still tell."""
    forger.completions = [dataclasses.replace(r, sample=0) for r in forger.completions if r.sample == 1]
    forger.verdicts = [dataclasses.replace(v, sample=0) for v in forger.verdicts if v.sample == 1]
    forger.submission["sampling"]["n"] = 1
    forger.refigure()
    named(answer(forger.sealed()), "protocol", "samples.jsonl.zst", "has another seed than the run's seed 7")


def test_a_dropped_task(forger: Any, answer: Answer, suite: Benchmark) -> None:
    gone = forger.submission["benchmark"]["tasks"].pop()
    forger.completions = [row for row in forger.completions if row.task_id != gone]
    forger.verdicts = [row for row in forger.verdicts if row.task_id != gone]
    forger.refigure()
    named(
        answer(forger.sealed()),
        "matrix",
        "submission.yaml",
        f"{len(suite.tasks) - 1} of {len(suite.tasks)} tasks",
        gone,
    )


def test_a_hidden_retry(forger: Any, answer: Answer) -> None:
    forger.completions.insert(1, dataclasses.replace(forger.completions[0], text="another try"))
    row = forger.completions[0]
    named(answer(forger.sealed()), "matrix", "samples.jsonl.zst", f"sample 0 of {row.task_id}", "hidden retry")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"code": "S"}, "code 'S'"),
        ({"samples": 3}, "samples 3"),
        ({"outcome": "mismatch", "stage": "simulated", "passed": {"strict": False, "official": True}}, "mismatch"),
        ({"repaired_passed": True}, "repaired_passed True"),
    ],
)
def test_an_edited_verdict(changes: dict[str, Any], word: str, forger: Any, answer: Answer, find: Find) -> None:
    place = find(forger.verdicts, "passed")
    forger.judge(place, **changes)
    forger.refigure()
    found = answer(forger.sealed())
    named(found, "verdict", "results.jsonl", f"sample 0 of {forger.verdicts[place].task_id}", word)
    assert len(found.reasons) == 1


def test_every_edited_verdict_is_listed_in_order(forger: Any, answer: Answer) -> None:
    failed = [place for place, verdict in enumerate(forger.verdicts) if verdict.outcome == "syntax"]
    for place in failed:
        forger.judge(place, outcome="passed", stage="passed", passed={"strict": True, "official": True})
    forger.refigure()
    found = answer(forger.sealed())
    assert [reason.detail.split(" is ")[0] for reason in found.reasons] == [
        f"sample {forger.verdicts[place].sample} of {forger.verdicts[place].task_id}" for place in failed
    ]


def test_edited_seconds_change_nothing(forger: Any, answer: Answer) -> None:
    """They are what this machine took, and no figure follows from them."""
    forger.judge(0, seconds={"compile": 99.0, "simulate": 99.0})
    forger.refigure()
    assert answer(forger.sealed()).tier == "re-simulated"


def forgery(suite: Benchmark, toolchain: Toolchain, task_id: str) -> str:
    """A module that prints the bench's verdict, with the right count, and ends the simulation."""
    task = suite.by_id[task_id]
    with JudgePool(suite, toolchain) as pool:
        samples = pool.reference(task).result().samples
    assert task.reference is not None
    said = f'initial begin $display("Mismatches: 0 in {samples} samples"); $finish; end'
    head = task.reference[: task.reference.index(";", task.reference.index("module")) + 1]
    return f"```verilog\n{head}\n{said}\nendmodule\n```\n"


def test_a_forged_candidate(forger: Any, answer: Answer, suite: Benchmark, toolchain: Toolchain) -> None:
    place = 1
    row = forger.completions[place]
    forger.claim(suite, place, forgery(suite, toolchain, row.task_id))
    forger.refigure()
    with JudgePool(suite, toolchain) as pool:
        verdict = pool.submit(forger.completions[place]).result()
    assert not verdict.passed["strict"]
    named(answer(forger.sealed()), "verdict", "results.jsonl", f"sample {row.sample} of {row.task_id}", verdict.outcome)


def test_another_benchmark_hash(forger: Any, answer: Answer) -> None:
    forger.submission["benchmark"]["sha256"] = "0" * 64
    named(answer(forger.sealed()), "benchmark", "submission.yaml", "the benchmark hash is 0000")


def test_other_errata(forger: Any, answer: Answer) -> None:
    """A task that is declared faulty would leave the figures without faulty tasks."""
    task = forger.submission["benchmark"]["tasks"][0]
    words = {"reason": "it fails", "found": "2026-01-01", "source": "me", "icarus": []}
    forger.submission["benchmark"]["errata"] = [{"task": task, "effect": "vacuous", **words}]
    forger.refigure()
    named(answer(forger.sealed()), "benchmark", "submission.yaml", "known faults")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 1}, "has another seed"),
        ({"seed": None}, "rows have a seed and 1 none"),
        ({"finish_reason": ""}, "rows have a finish_reason and 1 none"),
        ({"completion_tokens": 1025}, "has more tokens than max_tokens = 1024"),
        ({"prompt_tokens": 5}, "had different prompts (5, 100 tokens)"),
    ],
)
def test_rows_of_another_protocol(changes: dict[str, Any], words: str, forger: Any, answer: Answer) -> None:
    forger.replace(0, **changes)
    named(answer(forger.sealed()), "protocol", "samples.jsonl.zst", words)


# ---- what this machine cannot tell --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "name", "value", "words"),
    [
        ("harness", "version", "9.9.9", r"made by verieval 9\.9\.9.*pip install verieval==9\.9\.9"),
        ("toolchain", "icarus", "3.0", r"judged with Icarus Verilog 3\.0.*--icarus"),
        ("limits", "memory_mib", 1 << 20, "memory_mib = 1048576, and a verifier allows"),
        ("limits", "memory_mib", 100.5, "whole numbers"),
        ("limits", "patience", 3, "other limits"),
        ("toolchain", "pyslang", "0.1", r"judged with pyslang 0\.1"),
        ("sandbox", "level", "vm", "judged with sandbox vm"),
    ],
)
def test_another_setting_is_no_verdict(
    section: str, name: str, value: Any, words: str, forger: Any, answer: Answer
) -> None:
    forger.submission[section][name] = value
    with pytest.raises(VerievalError, match=words):
        answer(forger.sealed())


def test_a_newer_schema_is_no_verdict(forger: Any, answer: Answer) -> None:
    forger.submission["schema"] = 2
    with pytest.raises(VerievalError, match="update verieval"):
        answer(forger.sealed())


def test_data_of_another_commit_is_no_verdict(forger: Any, answer: Answer) -> None:
    forger.submission["benchmark"] |= {"sha256": "0" * 64, "commit": "abc"}
    with pytest.raises(VerievalError, match="check out that commit"):
        answer(forger.sealed())


def test_an_unknown_benchmark_is_no_verdict(forger: Any, answer: Answer) -> None:
    forger.submission["benchmark"]["name"] = "no-such-thing"
    with pytest.raises(VerievalError, match="no benchmark"):
        answer(forger.sealed())


def test_the_tool_is_not_needed_to_refuse(bundle: Bundle, answer: Answer, forger: Any, tmp_path: Path) -> None:
    forger.judge(0, source_sha256="0" * 64)
    assert answer(forger.sealed(), icarus=tmp_path).tier == "rejected"
    with pytest.raises(VerievalError, match="no Icarus Verilog in"):
        answer(bundle.files, icarus=tmp_path)
