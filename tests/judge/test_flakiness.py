"""A verdict does not depend on what else the machine does."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.judge.conftest import RIGHT, make_benchmark
from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge import evidence as evidence_module
from verieval.judge.workers import Tools, Turns
from verieval.verdict import Verdict

COUNT = "  integer i; initial for (i = 0; i < {n}; i = i + 1) ;\nendmodule"


def busy(n: int) -> str:
    """The right design, which computes for a while."""
    return RIGHT.replace("endmodule", COUNT.format(n=n))


def burn() -> None:
    while True:
        pass


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Every core has more to do than it can."""
    burners = [multiprocessing.get_context("spawn").Process(target=burn, daemon=True) for _ in range(processes)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def verdicts(toolchain: Toolchain, cache: Path, texts: list[str], jobs: int, **limits: float) -> list[Verdict]:
    with JudgePool(make_benchmark(), toolchain, Limits.from_options(**limits), jobs=jobs, cache=cache) as pool:
        futures = [pool.submit(Completion("inc", i, text)) for i, text in enumerate(texts)]
        return [future.result() for future in futures]


def seconds(toolchain: Toolchain, cache: Path, n: int) -> float:
    return verdicts(toolchain, cache, [busy(n)], 1)[0].seconds["simulate"]


@pytest.mark.slow
def test_twenty_times_under_full_load_is_one_verdict(toolchain: Toolchain, tmp_path: Path) -> None:
    """Right, wrong, and one that computes for half of its limit."""
    per_million = seconds(toolchain, tmp_path, 2_000_000) / 2
    half = int(0.5 / per_million * 1e6)
    for text, expected in ((RIGHT, "passed"), (RIGHT.replace("+", "-"), "mismatch"), (busy(half), "passed")):
        texts = [text.replace("assign", f"wire w{i}; assign") for i in range(20)]  # twenty designs, not one
        with load(multiprocessing.cpu_count() * 2):
            found = verdicts(toolchain, tmp_path, texts, jobs=4, simulate_cpu=1)
        assert {verdict.outcome for verdict in found} == {expected}


def test_what_ends_near_a_limit_is_judged_again_alone(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials: list[float] = []
    original = evidence_module.run_trial

    def record(*arguments: object, slack: float = 1.0, **more: object) -> object:
        trials.append(slack)
        return original(*arguments, slack=slack, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(evidence_module, "SLACK", 4.0)  # a window that no load can leave
    monkeypatch.setattr(evidence_module, "run_trial", record)
    per_million = seconds(toolchain, tmp_path, 2_000_000) / 2
    trials.clear()
    near = busy(int(1.0 / per_million * 1e6))
    assert verdicts(toolchain, tmp_path, [near], 1, simulate_cpu=2)[0].outcome == "passed"
    # The reference, the candidate, and the candidate again under the limit itself.
    assert trials == [4.0, 4.0, 1.0]


def test_what_runs_far_past_a_limit_is_judged_once(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = RIGHT.replace("endmodule", "  initial while (1) ;\nendmodule")
    started = time.monotonic()
    found = verdicts(toolchain, tmp_path, [endless], 1, simulate_cpu=1)[0]
    assert (found.outcome, found.stage) == ("timeout", "compiled")
    assert 1 <= found.seconds["simulate"] < 3
    assert time.monotonic() - started < 30


def test_alone_means_alone() -> None:
    """Ten threads, each wanting the machine to itself in between: never two at a time, and nobody waits for ever."""
    import threading

    turns = Turns()
    running, highest = set(), []

    def work(name: int) -> None:
        with turns.shared():
            time.sleep(0.002 * (name % 3))
            with turns.alone():
                running.add(name)
                highest.append(len(running))
                time.sleep(0.002)
                running.discard(name)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()
    assert highest == [1] * 10


def test_tools_are_started_when_they_are_wanted() -> None:
    from verieval.judge.sandbox import NO_SANDBOX

    tools = Tools(Limits(), NO_SANDBOX, Turns())
    assert tools._launcher is None
    assert tools._admission is None
    tools.close()
