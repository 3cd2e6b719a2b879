"""Generation and judging into one folder: overlap, resume, kill, failure."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest
from fake_run import TASKS, FakeEngine, FakeJudge, N, fake_manifest, fake_requests, fake_verdict, run

from verieval.completion import Completion, Request, Sampling
from verieval.errors import VerievalError
from verieval.run import read_run
from verieval.run.pipeline import generate, run_pipeline
from verieval.run.progress import Progress
from verieval.run.signals import Stopped, stoppable
from verieval.run.store import RunStore
from verieval.verdict import Verdict

ALL = [(request.task_id, request.sample) for request in fake_requests()]
SCRIPT = str(Path(__file__).with_name("fake_run.py"))


@pytest.fixture(scope="module", params=["batch", "single"])
def engine_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def undisturbed(engine_kind: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    run(out, make_engine(engine_kind), FakeJudge())
    return (out / "completions.jsonl").read_bytes()


def size(out: Path) -> int:
    path = out / "completions.jsonl"
    return path.stat().st_size if path.exists() else 0


def make_engine(kind: str) -> FakeEngine:
    return FakeEngine(4 if kind == "batch" else None)


def test_every_request_gets_its_verdict(tmp_path: Path, engine_kind: str) -> None:
    run(tmp_path, make_engine(engine_kind), FakeJudge())
    data = read_run(tmp_path)
    assert [(c.task_id, c.sample) for c in data.completions] == ALL
    assert {(v.task_id, v.sample): v.passed["strict"] for v in data.verdicts} == {k: k[1] % 2 == 0 for k in ALL}


def test_a_finished_run_asks_for_nothing(tmp_path: Path, engine_kind: str) -> None:
    run(tmp_path, make_engine(engine_kind), FakeJudge())
    before = (tmp_path / "completions.jsonl").read_bytes(), (tmp_path / "verdicts.jsonl").read_bytes()
    engine, judge = make_engine(engine_kind), FakeJudge()
    run(tmp_path, engine, judge)
    assert (engine.asked, judge.judged) == ([], [])
    assert ((tmp_path / "completions.jsonl").read_bytes(), (tmp_path / "verdicts.jsonl").read_bytes()) == before


def test_killed_within_a_write_and_resumed_is_undisturbed(tmp_path: Path, engine_kind: str, undisturbed: bytes) -> None:
    """Killed again and again, in the middle of a row, some sessions before they finish a single one."""
    out = tmp_path / "run"
    for limit in (100, 1_500, 9, 2_000, 1_000):
        done = subprocess.run([sys.executable, SCRIPT, str(out), engine_kind, str(limit)], timeout=60)
        assert done.returncode == -signal.SIGKILL
        torn = (out / "completions.jsonl").read_bytes()
        assert torn != undisturbed
        assert not torn.endswith(b"\n")
        assert undisturbed.startswith(torn)
    run(out, make_engine(engine_kind), FakeJudge())
    assert (out / "completions.jsonl").read_bytes() == undisturbed
    assert len(read_run(out).verdicts) == len(ALL)


def test_killed_at_any_moment_and_resumed_is_undisturbed(tmp_path: Path, engine_kind: str, undisturbed: bytes) -> None:
    out = tmp_path / "run"
    chance = random.Random(engine_kind)
    for _ in range(4):
        before = size(out)
        process = subprocess.Popen([sys.executable, SCRIPT, str(out), engine_kind])
        while size(out) == before and process.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.wait()
    run(out, make_engine(engine_kind), FakeJudge())
    assert (out / "completions.jsonl").read_bytes() == undisturbed
    assert len(read_run(out).verdicts) == len(ALL)


def test_a_partly_present_batch_is_asked_whole(tmp_path: Path) -> None:
    run(tmp_path, FakeEngine(4), FakeJudge())
    path = tmp_path / "completions.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:6]))  # the second batch of four is there by half
    engine = FakeEngine(4)
    run(tmp_path, engine, FakeJudge())
    assert engine.asked[0] == ALL[4:8]
    assert path.read_bytes() == whole


def test_stored_completions_without_a_verdict_are_judged(tmp_path: Path) -> None:
    run(tmp_path, FakeEngine(None), FakeJudge())
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]) + b'{"task')
    kept = {(v.task_id, v.sample) for v in read_run(tmp_path).verdicts}
    engine, judge = FakeEngine(None), FakeJudge()
    run(tmp_path, engine, judge)
    assert engine.asked == []
    assert sorted(judge.judged) == sorted(set(ALL) - kept)


def test_a_harness_fault_is_judged_again(tmp_path: Path) -> None:
    class Faulty(FakeJudge):
        def _verdict(self, completion: Completion) -> Verdict:
            super()._verdict(completion)
            passed = {"strict": False, "official": False}
            return Verdict(completion.task_id, completion.sample, "harness", "none", passed)

    run(tmp_path, FakeEngine(None), Faulty())
    judge = FakeJudge()
    run(tmp_path, FakeEngine(None), judge)
    assert sorted(judge.judged) == sorted(ALL)
    assert {v.outcome for v in read_run(tmp_path).verdicts} == {"passed", "mismatch"}


def test_judging_overlaps_generation(tmp_path: Path) -> None:
    """The engine gives its second batch only when a verdict on the first stands in the file."""
    seen: list[bool] = []

    class Waiting(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            if self.asked:
                deadline = time.monotonic() + 20
                while not (done := (tmp_path / "verdicts.jsonl").stat().st_size > 0) and time.monotonic() < deadline:
                    time.sleep(0.01)
                seen.append(done)
            yield from super().generate(requests, sampling)

    run(tmp_path, Waiting(4), FakeJudge())
    assert seen == [True, True, True]


class Broken(FakeJudge):
    """The simulator vanishes with the seventh completion."""

    def _verdict(self, completion: Completion) -> Verdict:
        if (completion.task_id, completion.sample) == ALL[6]:
            raise VerievalError("iverilog is gone; install it")
        return super()._verdict(completion)


def test_a_judge_that_gives_up_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match="iverilog is gone"):
        run(tmp_path, FakeEngine(None, 0.01), Broken())
    assert len(read_run(tmp_path).completions) >= 7
    run(tmp_path, FakeEngine(None), FakeJudge())
    assert len(read_run(tmp_path).verdicts) == len(ALL)


def test_an_engine_that_gives_up_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    class Dying(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            for i, completion in enumerate(super().generate(requests, sampling)):
                if i == 7:
                    raise VerievalError("the server is gone; start it")
                yield completion

    with pytest.raises(VerievalError, match="the server is gone"):
        run(tmp_path, Dying(None), FakeJudge())
    assert len(read_run(tmp_path).completions) == 7
    run(tmp_path, FakeEngine(None), FakeJudge())
    assert [(c.task_id, c.sample) for c in read_run(tmp_path).completions] == ALL


def test_an_answer_that_nobody_asked_for_is_refused(tmp_path: Path) -> None:
    class Confused(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            yield Completion("task0", 0, "")
            yield Completion("task0", 0, "again")

    with pytest.raises(VerievalError, match="sample 0 of task0, which it was not asked for or had answered"):
        run(tmp_path, Confused(None), FakeJudge())
    assert len(read_run(tmp_path).completions) == 1


def test_a_request_left_out_stays_missing_and_is_asked_again(tmp_path: Path) -> None:
    class Forgetful(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            yield from (c for c in super().generate(requests, sampling) if (c.task_id, c.sample) != ALL[1])

    run(tmp_path, Forgetful(4), FakeJudge())
    assert {(c.task_id, c.sample) for c in read_run(tmp_path).completions} == set(ALL) - {ALL[1]}
    run(tmp_path, FakeEngine(4), FakeJudge())
    assert {(c.task_id, c.sample) for c in read_run(tmp_path).completions} == set(ALL)


def test_an_interrupt_keeps_the_verdicts_that_are_done(tmp_path: Path) -> None:
    class Interrupted(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            yield from list(super().generate(requests, sampling))[:6]
            time.sleep(0.2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Interrupted(None), FakeJudge())
    data = read_run(tmp_path)
    assert len(data.completions) == len(data.verdicts) == 6


def test_an_interrupt_does_not_wait_for_slow_verdicts(tmp_path: Path) -> None:
    never = threading.Event()

    class Stuck:
        def submit(self, completion: Completion) -> Future[Verdict]:
            future: Future[Verdict] = Future()
            threading.Thread(target=lambda: never.wait() and future.set_result(None), daemon=True).start()  # type: ignore[arg-type,func-returns-value]
            return future

    def interrupted() -> Iterator[Completion]:
        yield from generate(store, FakeEngine(None), fake_requests()[:3], Sampling(n=N))
        raise KeyboardInterrupt

    with RunStore(tmp_path, fake_manifest()) as store:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run_pipeline(store, Stuck(), Progress(15, "strict"), interrupted())
        assert time.monotonic() - started < 5
    never.set()


def test_running_pass_at_1_is_a_mean_over_problems() -> None:
    progress = Progress(15, "strict")
    assert progress.running_pass_at_1 is None
    for sample in range(3):
        progress.verdict(fake_verdict(TASKS[0], sample, True))
    progress.verdict(fake_verdict(TASKS[1], 0, False, official=True))
    assert progress.running_pass_at_1 == pytest.approx(0.5)  # (3/3 + 0/1) / 2, not 3/4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_whose_exception_python_drops_ends_the_run_all_the_same(tmp_path: Path, signum: int) -> None:
    """A handler that runs within a weak reference's callback raises in vain."""

    class Thing:
        pass

    class Interrupted(FakeEngine):
        def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
            for i, completion in enumerate(super().generate(requests, sampling)):
                if i == 3:
                    thing = Thing()
                    _ = weakref.ref(thing, lambda _: signal.raise_signal(signum))
                    del thing  # the exception is printed and dropped here
                yield completion

    with RunStore(tmp_path, fake_manifest()) as store:
        fresh = generate(store, Interrupted(None), fake_requests(), Sampling(n=N))
        with pytest.raises(Stopped) as caught, stoppable() as check:
            run_pipeline(store, FakeJudge(), Progress(len(ALL), "strict"), fresh, check)
    assert caught.value.signum == signum
    assert len(read_run(tmp_path).completions) == 4


def test_a_dropped_signal_is_noticed_while_verdicts_are_awaited(tmp_path: Path) -> None:
    waiting = threading.Event()

    class Never:
        def submit(self, completion: Completion) -> Future[Verdict]:
            return Future()

    def check() -> None:
        if waiting.is_set():
            raise Stopped(signal.SIGTERM)

    with RunStore(tmp_path, fake_manifest()) as store:
        store.append_completions([Completion(TASKS[0], 0, "")])
        threading.Timer(0.2, waiting.set).start()
        with pytest.raises(Stopped):
            run_pipeline(store, Never(), Progress(1, "strict"), (), check)


def test_a_dropped_signal_is_raised_at_the_end_at_the_latest() -> None:
    with pytest.raises(Stopped), stoppable(), contextlib.suppress(Stopped):
        signal.raise_signal(signal.SIGTERM)
