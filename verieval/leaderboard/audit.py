"""Does a set of completions, verdicts and figures hold together? The same questions for a run and for a bundle.

Each function yields what is wrong; nothing here needs a simulator.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.extract import describe as describe_extraction
from verieval.extract import extract
from verieval.leaderboard.archive import README, REPORT, SUBMISSION
from verieval.leaderboard.describe import Submission, describe_readme, manifest_of, numbers, numpy_version
from verieval.leaderboard.reasons import Reason, short
from verieval.protocol import request_seed
from verieval.report.summary import Report, build_report
from verieval.run.manifest import leaves
from verieval.run.store import Key, RunData
from verieval.task import Benchmark
from verieval.verdict import Verdict

_LISTED = 20  # of one kind
_CLOSE = 1e-9
_MONTE_CARLO = 0.02  # two percentile intervals from 10,000 resamples, drawn by different versions of NumPy


def audit_benchmark(section: Mapping[str, Any], benchmark: Benchmark, where: str) -> Iterator[Reason]:
    """Benchmark, tasks and errata are those of the data at hand, all of them."""
    ids = [task.id for task in benchmark.tasks]
    if section["sha256"] != benchmark.sha256:
        yield Reason(
            "benchmark",
            where,
            f"the benchmark hash is {section['sha256'][:16]}…, and the content of {benchmark.full_name} here "
            f"{benchmark.sha256[:16]}…",
        )
    if section["tasks"] != ids:
        lacking = [task for task in ids if task not in set(section["tasks"])]
        what = f"is over {len(section['tasks'])} of {len(ids)} tasks ({_names(lacking)} not among them)"
        yield Reason("matrix", where, what if lacking else "lists other tasks, or in another order")
    errata = json.loads(json.dumps([asdict(erratum) for erratum in benchmark.errata]))
    if (section.get("errata") or []) != errata:
        yield Reason("benchmark", where, f"lists other known faults of {benchmark.full_name} than this harness knows")


def audit_matrix(
    tasks: Sequence[str],
    n: int,
    completions: Sequence[Completion],
    verdicts: Sequence[Verdict],
    *,
    samples: str,
    results: str,
) -> Iterator[Reason]:
    """Every task has samples 0 to n-1, each once, each with one verdict on the model; nothing else is there.

    ``samples`` and ``results`` are the names of the files.
    """
    asked = {(task, sample) for task in tasks for sample in range(n)}
    for rows, name, what in ((completions, samples, "completion"), (verdicts, results, "verdict")):
        seen = Counter((row.task_id, row.sample) for row in rows)
        twice = [key for key, count in seen.items() if count > 1]
        hidden = "is there more than once: a hidden retry" if what == "completion" else "has more than one verdict"
        yield from _about(twice, name, hidden)
        yield from _about([key for key in seen if key not in asked], name, f"was not asked for (n = {n})")
        yield from _about([key for key in sorted(asked) if key not in seen], name, f"has no {what}")
    faults = [(verdict.task_id, verdict.sample) for verdict in verdicts if verdict.outcome == "harness"]
    yield from _about(faults, results, "met a fault of the harness, and was not judged")


def audit_order(
    tasks: Sequence[str], completions: Sequence[Completion], verdicts: Sequence[Verdict], *, samples: str, results: str
) -> Iterator[Reason]:
    """Rows stand in the benchmark's order, sample by sample: a bundle of the same run has the same bytes."""
    order = {task: place for place, task in enumerate(tasks)}
    for rows, name in ((completions, samples), (verdicts, results)):
        places = [(order[row.task_id], row.sample) for row in rows]
        first = next((at for at, (before, after) in enumerate(pairwise(places), 2) if after < before), None)
        if first is not None:
            yield Reason("matrix", name, f"has its rows in another order than the benchmark's, from row {first} on")


def audit_protocol(sampling: Mapping[str, Any], completions: Sequence[Completion], where: str) -> Iterator[Reason]:
    """Seeds, token counts and finish reasons are those of one protocol, the one that is stated.

    A seed follows from the run's seed, the task and the sample, so a sample that was drawn again, renumbered or taken
    from another run carries another. All samples of a task answer one prompt, so its length is the same.
    """
    for name in ("seed", "finish_reason"):
        given = Counter(getattr(row, name) not in (None, "") for row in completions)
        if len(given) > 1:
            yield Reason(
                "protocol", where, f"{given[True]} rows have a {name} and {given[False]} none: they are of several runs"
            )
    seed, limit = sampling.get("seed"), sampling.get("max_tokens")
    if seed is not None:
        wrong = [r for r in completions if r.seed is not None and r.seed != request_seed(seed, r.task_id, r.sample)]
        yield from _about(_keys(wrong), where, f"has another seed than the run's seed {seed} gives it", code="protocol")
    if limit is not None:
        long = [row for row in completions if (row.completion_tokens or 0) > limit]
        yield from _about(_keys(long), where, f"has more tokens than max_tokens = {limit}", code="protocol")
    lengths: dict[str, set[int]] = {}
    for row in completions:
        if row.prompt_tokens is not None:
            lengths.setdefault(row.task_id, set()).add(row.prompt_tokens)
    for task in [task for task, found in lengths.items() if len(found) > 1][:_LISTED]:
        few = ", ".join(map(str, sorted(lengths[task])[:3]))
        yield Reason("protocol", where, f"the samples of {short(task, 80)} had different prompts ({few} tokens)")


def audit_texts(
    benchmark: Benchmark, mode: str, completions: Iterable[Completion], verdicts: Iterable[Verdict], where: str
) -> Iterator[Reason]:
    """Each verdict is about the code that is extracted from the completion of the same task and sample."""
    texts = {(completion.task_id, completion.sample): completion.text for completion in completions}
    for verdict in verdicts:
        task = benchmark.by_id[verdict.task_id]
        candidate = extract(texts[verdict.task_id, verdict.sample], task.module, task.header, mode=mode)
        source = hashlib.sha256(candidate.source.encode("utf-8", "replace")).hexdigest()
        key = (verdict.task_id, verdict.sample)
        if source != verdict.source_sha256:
            said = f"has a verdict on other code ({verdict.source_sha256[:12]}…) than its completion ({source[:12]}…)"
            yield from _about([key], where, said, code="verdict")
        elif verdict.extraction != {"method": candidate.method, "notes": list(candidate.notes)}:
            yield from _about([key], where, "has another extraction than extracting again gives", code="verdict")


def audit_extraction(section: Mapping[str, Any], where: str) -> Iterator[Reason]:
    """The stated extraction is one that this harness does."""
    present = describe_extraction(str(section["mode"]))
    if json.dumps(section, sort_keys=True) != json.dumps(present, sort_keys=True):  # in Python 1 is 1.0, and True
        yield Reason("protocol", where, f"`extraction` is {dict(section)}, and here {present}")


def audit_numbers(
    submission: Submission,
    report: Report,
    readme: bytes,
    completions: Sequence[Completion],
    verdicts: Sequence[Verdict],
) -> Iterator[Reason]:
    """Every figure in ``report.json``, ``submission.yaml`` and ``README.md`` follows from the verdicts."""
    again = report_of(submission, completions, verdicts)
    # The bootstrap's draws are NumPy's, which may change with its version; nothing else here may differ at all. What
    # differs by no more than that, `require_intervals` looks at.
    tolerance = _CLOSE if _same_numpy(submission) else _MONTE_CARLO
    yield from _compare(report, again, REPORT, tolerance)
    yield from _compare(submission["numbers"], numbers(again), SUBMISSION, tolerance, "numbers.")
    if readme != describe_readme(submission).encode():
        yield Reason("number", README, "is not the text that follows from the submission")


def require_intervals(
    submission: Submission, report: Report, completions: Sequence[Completion], verdicts: Sequence[Verdict]
) -> None:
    """The intervals are those that this version of NumPy draws, so that what is confirmed is what was calculated.

    Raises:
        VerievalError: another version drew others, and this machine cannot tell whether it was an honest one.
    """
    if _same_numpy(submission):
        return
    again = report_of(submission, completions, verdicts)
    said = [
        *_compare(report, again, REPORT, _CLOSE),
        *_compare(submission["numbers"], numbers(again), SUBMISSION, _CLOSE),
    ]
    if said:
        theirs = short(submission["harness"]["numpy"], 40)
        raise VerievalError(
            f"the bundle's intervals were drawn with NumPy {theirs}, and this is {numpy_version()}, which draws others "
            f"({said[0].detail}); install that version (pip install numpy=={theirs})"
        )


def _same_numpy(submission: Submission) -> bool:
    return bool(submission["harness"]["numpy"] == numpy_version())


def report_of(submission: Submission, completions: Sequence[Completion], verdicts: Sequence[Verdict]) -> Report:
    """The report that follows from a bundle's rows."""
    run = RunData(Path("the bundle"), manifest_of(submission), tuple(completions), tuple(verdicts))
    plain: Report = json.loads(json.dumps(build_report(run)))
    return plain


def _compare(
    said: Mapping[str, Any], found: Mapping[str, Any], where: str, tolerance: float, prefix: str = ""
) -> Iterator[Reason]:
    left, right = dict(_leaves(said, prefix)), dict(_leaves(found, prefix))
    wrong = [
        path
        for path in [*left, *(path for path in right if path not in left)]
        if path not in left
        or path not in right
        or not _equal(left[path], right[path], tolerance if ".ci95." in path else _CLOSE)
    ]
    if not wrong and _shape(said) != _shape(found):  # empty parts have no values, and keys may hold dots
        yield Reason("number", where, "has other parts than what follows from the verdicts")
    for path in wrong[:_LISTED]:
        a, b = (_value(side, path) for side in (left, right))
        yield Reason("number", where, f"`{path}` is {a}, and {b} follows from the verdicts")


def _leaves(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Values by dotted path, those in lists by their place."""
    for path, item in leaves(value, prefix):
        if isinstance(item, list) and item:
            yield from _leaves({str(place): entry for place, entry in enumerate(item)}, f"{path}.")
        else:
            yield path, item


def _shape(value: object) -> object:
    """Nested mappings and lists without what stands in them."""
    if isinstance(value, Mapping):
        return {key: _shape(item) for key, item in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else None


def _equal(a: object, b: object, tolerance: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= tolerance
    return a == b and type(a) is type(b)


def _value(side: Mapping[str, Any], path: str) -> str:
    return short(json.dumps(side[path]), 60) if path in side else "absent"


def _keys(rows: Iterable[Completion]) -> list[Key]:
    return [(row.task_id, row.sample) for row in rows]


def _about(keys: Sequence[Key], where: str, what: str, code: str = "matrix") -> Iterator[Reason]:
    for task, sample in keys[:_LISTED]:
        yield Reason(code, where, f"sample {sample} of {short(task, 80)} {what}")
    if len(keys) > _LISTED:
        yield Reason(code, where, f"and so it is with {len(keys) - _LISTED} more samples")


def _names(tasks: Sequence[str]) -> str:
    return ", ".join(tasks[:3]) + (f" and {len(tasks) - 3} more" if len(tasks) > 3 else "")
