"""Verification: is a bundle what it says, and does judging all of it again give the same?

Three ends. ``re-simulated``: every completion was extracted and judged again, and every verdict and figure is as
reported. ``spot-checked``: a share of them was. ``rejected``: with the reasons. What keeps this machine from telling
(no data, another toolchain, another version of the harness) is none of the three, but a :class:`VerievalError`.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from verieval import __version__
from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.leaderboard.archive import RESULTS, SAMPLES, SUBMISSION, read_files
from verieval.leaderboard.audit import (
    audit_benchmark,
    audit_extraction,
    audit_matrix,
    audit_numbers,
    audit_order,
    audit_protocol,
    audit_texts,
    require_intervals,
)
from verieval.leaderboard.contents import Contents, read_contents
from verieval.leaderboard.describe import Submission
from verieval.leaderboard.entry import stable
from verieval.leaderboard.reasons import Reason, Rejected, short
from verieval.run.store import Key
from verieval.verdict import Verdict

if TYPE_CHECKING:
    from verieval.judge import JudgePool, Limits, Toolchain
    from verieval.judge.sandbox import Sandbox
    from verieval.run.progress import Progress
    from verieval.task import Benchmark

Tier = Literal["re-simulated", "spot-checked", "rejected"]

# A bundle names the limits that its samples were judged under. It may ask a verifier for this much of the defaults;
# mismatch_samples is no resource.
_FACTOR = 4
_NO_RESOURCE = ("mismatch_samples",)
# Outcomes that a slower or smaller machine may give where another gives none.
_LIMITS = ("timeout", "resource", "crash")


@dataclass(frozen=True)
class Verification:
    """The answer.

    Attributes:
        id: content address; None where the bundle could not be read that far.
        contents: what the bundle holds; None likewise.
        reasons: all that was found; empty unless ``tier`` is ``rejected``.
        simulated: samples that were judged again, of ``samples``.
        share, seed: of a spot check; None otherwise.
        judge: toolchain, limits, sandbox and extraction that were in force; empty where nothing was judged.
        seconds: wall time of judging.
    """

    tier: Tier
    id: str | None = None
    contents: Contents | None = None
    reasons: tuple[Reason, ...] = ()
    samples: int = 0
    simulated: int = 0
    share: float | None = None
    seed: int | None = None
    judge: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def _any_sandbox(benchmark: Benchmark, toolchain: Toolchain, limits: Limits) -> Sandbox:
    from verieval.judge.cosim.python import needs
    from verieval.judge.sandbox import find_sandbox

    return find_sandbox(toolchain, limits.work_mib, also=needs(benchmark))


@dataclass(frozen=True)
class Means:
    """What verification works with: where the data and the tools are, and who watches.

    ``watch`` opens a display for a number of samples and a criterion; ``sandbox`` finds what surrounds the tools;
    ``check`` raises where a signal has come.
    """

    watch: Callable[[int, str], AbstractContextManager[Progress]]
    data: Path | None = None
    icarus: Path | None = None
    jobs: int = 1
    sandbox: Callable[[Benchmark, Toolchain, Limits], Sandbox] = _any_sandbox
    check: Callable[[], None] = lambda: None


def verify(path: Path, means: Means, *, share: float | None = None, seed: int = 0) -> Verification:
    """Verify a bundle.

    Args:
        path: folder or zip.
        means: data, tools, display.
        share: of the samples that are judged again, above 0 and up to 1; None judges all of them.
        seed: which samples those are.

    Raises:
        VerievalError: this machine cannot tell, and what it lacks.
    """
    try:
        contents = read_contents(read_files(path))
    except Rejected as error:
        return Verification("rejected", reasons=error.reasons)
    samples = len(contents.completions)
    _require_harness(contents.submission)
    benchmark = _benchmark(contents.submission, means.data)
    reasons = audit(contents, benchmark)
    if reasons:
        return Verification("rejected", contents.id, contents, tuple(reasons), samples)
    toolchain = _toolchain(contents.submission, means.icarus)
    chosen = contents.completions if share is None else spot(contents.completions, share, seed)
    started = time.monotonic()
    reasons, judge = _judge_again(contents, chosen, benchmark, toolchain, means)
    return Verification(
        "rejected" if reasons else "re-simulated" if share is None else "spot-checked",
        contents.id,
        contents,
        tuple(reasons),
        samples,
        len(chosen),
        share,
        None if share is None else seed,
        judge,
        time.monotonic() - started,
    )


def audit(contents: Contents, benchmark: Benchmark) -> list[Reason]:
    """Everything that shows without a simulation: the benchmark, the matrix, the protocol, the figures, the texts.

    Raises:
        VerievalError: whether the intervals are right cannot be told here.
    """
    submission = contents.submission
    section, sampling = submission["benchmark"], submission["sampling"]
    # Each of these relies on the one before.
    reasons = list(audit_benchmark(section, benchmark, SUBMISSION))
    if reasons:
        return reasons
    rows = contents.completions, contents.verdicts
    reasons += audit_matrix(section["tasks"], sampling["n"], *rows, samples=SAMPLES, results=RESULTS)
    if not reasons:
        reasons += audit_order(section["tasks"], *rows, samples=SAMPLES, results=RESULTS)
    reasons += audit_protocol(sampling, contents.completions, SAMPLES)
    reasons += audit_extraction(submission["extraction"], SUBMISSION)
    if reasons:
        return reasons
    if submission["criterion"]["official"] != benchmark.rule:
        reasons.append(Reason("protocol", SUBMISSION, f"`criterion.official` is not {benchmark.rule}"))
    reasons += audit_numbers(submission, contents.report, contents.readme, *rows)
    reasons += audit_texts(benchmark, submission["extraction"]["mode"], *rows, RESULTS)
    if not reasons:
        require_intervals(submission, contents.report, *rows)
    return reasons


# ---- what this machine must have ----------------------------------------------------------------------------------


def _require_harness(submission: Submission) -> None:
    version = submission["harness"]["version"]
    if version != __version__:
        raise VerievalError(
            f"the bundle was made by verieval {short(version, 40)}, and this is {__version__}, which may judge "
            f"otherwise; install that version (pip install verieval=={short(version, 40)})"
        )


def _benchmark(submission: Submission, data: Path | None) -> Benchmark:
    """The benchmark that a bundle names, from the data at hand.

    Raises:
        VerievalError: there is none, or it is of another commit, so that nothing can be said of the bundle.
    """
    from verieval import benchmarks

    section = submission["benchmark"]
    benchmark = benchmarks.load(":".join(part for part in (section["name"], section["variant"]) if part), data)
    if section["sha256"] != benchmark.sha256 and section["commit"] != benchmark.commit:
        raise VerievalError(
            f"the bundle was made on {benchmark.full_name} at commit {short(str(section['commit']), 60)} (benchmark "
            f"hash {section['sha256'][:16]}…), and the data here is of commit {benchmark.commit} (hash "
            f"{benchmark.sha256[:16]}…); check out that commit, or give its checkout with --data"
        )
    return benchmark


def _toolchain(submission: Submission, icarus: Path | None) -> Toolchain:
    """The simulator of the bundle's version.

    Raises:
        VerievalError: there is none here.
    """
    from verieval.judge import find_toolchain

    found, section = find_toolchain(icarus), submission["toolchain"]
    present = found.describe()
    if any(section[name] != present[name] for name in ("icarus", "icarus_release")):
        wanted = short(f"{section['icarus']} ({section['icarus_release']})", 60)
        raise VerievalError(
            f"the bundle was judged with Icarus Verilog {wanted}, and this is {present['icarus']} "
            f"({present['icarus_release']}), which may judge otherwise; install that version and name it with --icarus"
        )
    return found


def _limits(submission: Submission) -> Limits:
    """The limits that a bundle's samples were judged under.

    Raises:
        VerievalError: they are none of this version's, or too much to ask of a verifier.
    """
    from verieval.judge import Limits

    section, usual = submission["limits"], Limits().describe()
    if sorted(section) != sorted(usual):
        raise VerievalError(
            f"the bundle names other limits than this version has ({', '.join(usual)}); update verieval"
        )
    for name, value in section.items():
        most = usual[name] * _FACTOR
        if (value > most and name not in _NO_RESOURCE) or (isinstance(usual[name], int) and not isinstance(value, int)):
            raise VerievalError(
                f"the bundle was judged under {name} = {value}, and a verifier allows whole numbers or seconds up to "
                f"{most:g}; its samples cannot be judged again as they were"
            )
    return Limits(**section)


def _require_judge(submission: Submission, judge: Mapping[str, Any]) -> None:
    """Beside the simulator's version: what decides on verdicts too.

    Raises:
        VerievalError: something is otherwise here than where the bundle was judged.
    """
    theirs, ours = submission["toolchain"], judge["toolchain"]
    for name in dict.fromkeys([*theirs, *ours]):
        # Another build of one version should judge alike; whether it does is what the comparison shows.
        if theirs.get(name) != ours.get(name) and not name.endswith("_sha256"):
            raise VerievalError(
                f"the bundle was judged with {name} {short(str(theirs.get(name)), 40)}, and this is {ours.get(name)}, "
                "which may judge otherwise; install that version"
            )
    level, here = submission["sandbox"]["level"], judge["sandbox"]["level"]
    if level != here:
        # Without a sandbox, what the policy refuses is not run, so its official verdict is another.
        way = "give --no-sandbox" if level == "none" else "verify where such a sandbox works (verieval doctor)"
        raise VerievalError(f"the bundle was judged with sandbox {short(level, 40)}, and here it is {here}; {way}")


# ---- judging again ------------------------------------------------------------------------------------------------


def spot(completions: Sequence[Completion], share: float, seed: int) -> tuple[Completion, ...]:
    """A share of the samples, at least one, spread evenly over the tasks; the same seed gives the same ones.

    Every task has its share, rounded down or up: samples are shuffled within their task, the tasks laid end to end, and
    one taken at every 1/share-th place from a random start.
    """
    draw = random.Random(seed)
    by_task: dict[str, list[Completion]] = {}
    for completion in completions:
        by_task.setdefault(completion.task_id, []).append(completion)
    line: list[Completion] = []
    for rows in by_task.values():
        line += draw.sample(rows, len(rows))
    count = max(1, round(share * len(line)))
    step = len(line) / count
    start = draw.random() * step
    return tuple(line[min(int(start + step * i), len(line) - 1)] for i in range(count))


def _judge_again(
    contents: Contents, chosen: Sequence[Completion], benchmark: Benchmark, toolchain: Toolchain, means: Means
) -> tuple[list[Reason], dict[str, Any]]:
    """Judge samples and compare.

    Raises:
        VerievalError: a sample could not be judged, for a fault of this machine.
    """
    from verieval.judge import JudgePool

    submission = contents.submission
    reported = {(verdict.task_id, verdict.sample): verdict for verdict in contents.verdicts}
    limits, mode = _limits(submission), submission["extraction"]["mode"]
    sandbox = means.sandbox(benchmark, toolchain, limits)
    reasons: dict[Key, Reason] = {}
    with (
        JudgePool(benchmark, toolchain, limits, jobs=means.jobs, extraction=mode, sandbox=sandbox) as pool,
        means.watch(len(chosen), submission["criterion"]["headline"]) as progress,
    ):
        judge = pool.describe()
        _require_judge(submission, judge)
        if any(judge["limits"].get(name) != value for name, value in submission["limits"].items()):
            said = "are not the ones that judging this benchmark under them gives"
            return [Reason("protocol", SUBMISSION, f"`limits` {said}")], judge
        for verdict in _verdicts(pool, chosen, means.check):
            if verdict.outcome == "harness":
                raise VerievalError(
                    f"sample {verdict.sample} of {verdict.task_id} could not be judged here ({verdict.detail}); "
                    "run the same command again"
                )
            progress.verdict(verdict)
            key = (verdict.task_id, verdict.sample)
            difference = _difference(reported[key], verdict)
            if difference:
                reasons[key] = Reason("verdict", RESULTS, difference)
    return [reasons[key] for key in map(_key, contents.completions) if key in reasons], judge


def _verdicts(pool: JudgePool, completions: Sequence[Completion], check: Callable[[], None]) -> Iterator[Verdict]:
    """Verdicts as they are done."""
    done: queue.SimpleQueue[Future[Verdict]] = queue.SimpleQueue()
    for completion in completions:
        pool.submit(completion).add_done_callback(done.put)
        check()
    for _ in completions:
        yield _next(done, check).result()


def _next(done: queue.SimpleQueue[Future[Verdict]], check: Callable[[], None]) -> Future[Verdict]:
    while True:
        try:
            # With a time-out a signal is handled at once, wherever the platform's lock would wait through it.
            return done.get(timeout=0.5)
        except queue.Empty:
            check()


def _difference(reported: Verdict, found: Verdict) -> str:
    """How two verdicts on one sample differ, in words; empty where they agree in all that is stable."""
    old, new = stable(reported), stable(found)
    wrong = [name for name in old if old[name] != new[name]]
    if not wrong:
        return ""
    said = ", ".join(f"{name} {old[name]!r}" for name in wrong[:3])
    again = ", ".join(f"{name} {new[name]!r}" for name in wrong[:3])
    more = f" and {len(wrong) - 3} more fields" if len(wrong) > 3 else ""
    cause = f" ({short(found.detail)})" if found.detail else ""
    limit = found.outcome in _LIMITS or reported.outcome in _LIMITS
    hint = "; a limit was met, so try once more on an idle machine" if limit else ""
    where = f"sample {found.sample} of {found.task_id}"
    return f"{where} is reported with {said}, and judging it again gives {again}{more}{cause}{hint}"


def _key(completion: Completion) -> Key:
    return completion.task_id, completion.sample
