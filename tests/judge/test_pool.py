"""The pool: sharing of evidence, loss of a worker, and what a verdict carries."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from tests.judge.conftest import RIGHT, make_benchmark
from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge import workers as workers_module
from verieval.judge.process import Launcher
from verieval.judge.sandbox import NO_SANDBOX, Sandbox

SLOW = RIGHT.replace("endmodule", "  integer i; initial for (i = 0; i < 20000000; i = i + 1) ;\nendmodule")


def pool_of(toolchain: Toolchain, cache: Path, **options: object) -> JudgePool:
    """A pool without sandbox, so that a test sees its folders and processes."""
    options.setdefault("sandbox", NO_SANDBOX)
    return JudgePool(make_benchmark(), toolchain, cache=cache, extraction="verbatim", **options)  # type: ignore[arg-type]


def test_layout_is_simulated_once_and_every_text_keeps_its_hash(toolchain: Toolchain, tmp_path: Path) -> None:
    texts = [RIGHT, f"// a comment\n{RIGHT}", RIGHT.replace("  assign", "\n\n\tassign"), RIGHT.replace("4'd1", "4'd2")]
    with pool_of(toolchain, tmp_path) as pool:
        verdicts = [pool.submit(Completion("inc", i, text)) for i, text in enumerate(texts)]
    assert [v.result().outcome for v in verdicts] == ["passed", "passed", "passed", "mismatch"]
    assert len(pool._evidence) == 2
    assert [v.result().source_sha256 for v in verdicts] == [hashlib.sha256(t.encode()).hexdigest() for t in texts]


@pytest.mark.parametrize("odd", [f"{RIGHT}\b", f"/*{' ' * (1 << 20)}*/{RIGHT}", f"// \0\n{RIGHT}"])
def test_what_is_refused_takes_nobody_along(toolchain: Toolchain, tmp_path: Path, odd: str) -> None:
    """The same tokens with a character, or a length, that admission refuses; in either order."""
    for number, texts in enumerate(([odd, RIGHT], [RIGHT, odd])):
        with pool_of(toolchain, tmp_path / str(number)) as pool:
            verdicts = [pool.submit(Completion("inc", i, text)) for i, text in enumerate(texts)]
        found = {text: verdict.result().outcome for text, verdict in zip(texts, verdicts, strict=True)}
        assert found[RIGHT] == "passed"
        assert found[odd] in ("syntax", "resource", "forbidden")


def test_a_compile_error_names_the_line_of_its_own_text(toolchain: Toolchain, tmp_path: Path) -> None:
    broken = "module inc(input [3:0] a, output [3:0] y);\n  assign y = b;\nendmodule\n"
    with pool_of(toolchain, tmp_path) as pool:
        first = pool.submit(Completion("inc", 0, broken))
        second = pool.submit(Completion("inc", 1, f"\n\n\n{broken}"))
    assert "candidate.sv:2:" in first.result().detail
    assert "candidate.sv:5:" in second.result().detail


def test_same_verdicts_for_any_number_of_jobs(toolchain: Toolchain, tmp_path: Path) -> None:
    texts = [RIGHT, "", "module inc; endmodule", RIGHT.replace("+", "-"), "module inc(;", RIGHT + "// x"] * 3

    def judge(jobs: int) -> list[tuple[str, str, dict[str, bool]]]:
        with pool_of(toolchain, tmp_path / str(jobs), jobs=jobs) as pool:
            futures = [pool.submit(Completion("inc", i, text)) for i, text in enumerate(texts)]
        return [(f.result().outcome, f.result().detail, f.result().passed) for f in futures]

    assert judge(1) == judge(3)


def test_a_killed_launcher_costs_nothing(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = _record_launchers(monkeypatch)
    with pool_of(toolchain, tmp_path) as pool:
        future = pool.submit(Completion("inc", 0, SLOW))
        _until(lambda: bool(started) and any(started[0].root.glob("[0-9]*/*-stdout")))
        os.kill(started[0]._process.pid, signal.SIGKILL)
        assert future.result(timeout=120).outcome == "passed"
    assert len(started) == 2


def test_a_killed_simulator_is_run_again(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process, or the kernel on a full machine, does to the tools is no fault of the candidate."""
    started = _record_launchers(monkeypatch)
    with pool_of(toolchain, tmp_path) as pool:
        pool.reference(pool.benchmark.tasks[0]).result()
        future = pool.submit(Completion("inc", 0, SLOW))
        _until(lambda: bool(started) and any(started[0].root.glob("[0-9]*/*-stdout")))
        _until(lambda: bool(_children(started[0]._process.pid, "vvp")))
        os.kill(_children(started[0]._process.pid, "vvp")[0], signal.SIGKILL)
        assert future.result(timeout=120).outcome == "passed"
    assert len(started) == 2


def test_a_launcher_that_always_dies_is_a_harness_fault(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _record_launchers(monkeypatch)
    stop = threading.Event()

    def killer() -> None:
        while not stop.is_set():
            for launcher in started:
                if launcher._process.poll() is None and any(launcher.root.glob("[0-9]*/*-stdout")):
                    launcher._process.kill()
            time.sleep(0.01)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        with pool_of(toolchain, tmp_path) as pool:
            verdict = pool.submit(Completion("inc", 0, SLOW)).result(timeout=120)
    finally:
        stop.set()
        thread.join()
    assert (verdict.outcome, verdict.stage) == ("harness", "none")
    assert verdict.passed == {"strict": False, "official": False}
    assert len(started) == workers_module.TRIES


def test_a_vanished_work_folder_is_made_again(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _record_launchers(monkeypatch)
    with pool_of(toolchain, tmp_path) as pool:
        assert pool.submit(Completion("inc", 0, RIGHT)).result().outcome == "passed"
        shutil.rmtree(started[0].root)
        assert pool.submit(Completion("inc", 1, RIGHT.replace("+", "-"))).result().outcome == "mismatch"


def test_a_simulator_that_disappears_stops_the_run_with_a_sentence(toolchain: Toolchain, tmp_path: Path) -> None:
    from dataclasses import replace

    gone = replace(toolchain, vvp=("/nowhere/vvp",))
    with pool_of(gone, tmp_path) as pool:
        future = pool.submit(Completion("inc", 0, RIGHT))
        with pytest.raises(VerievalError, match="cannot run /nowhere/vvp"):
            future.result(timeout=60)


def test_a_broken_installation_is_not_taken_for_broken_candidates(toolchain: Toolchain, tmp_path: Path) -> None:
    from dataclasses import replace

    broken = tmp_path / "iverilog"
    broken.write_text("#!/bin/sh\necho no config file >&2\nexit 1\n")
    broken.chmod(0o755)
    with pool_of(replace(toolchain, iverilog=(str(broken),)), tmp_path) as pool:
        future = pool.submit(Completion("inc", 0, RIGHT))
        with pytest.raises(VerievalError, match=r"fails on a one-line module.*no config file"):
            future.result(timeout=60)


@pytest.mark.parametrize("memory_mib", [1, 6, 9])
def test_limits_too_small_for_any_simulation_are_told(memory_mib: int, toolchain: Toolchain, tmp_path: Path) -> None:
    with pool_of(toolchain, tmp_path, limits=Limits(memory_mib=memory_mib)) as pool:
        future = pool.submit(Completion("inc", 0, RIGHT))
        with pytest.raises(VerievalError, match=r"the limits are too small|Cannot allocate memory"):
            future.result(timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("kib", [32, 64, 96, 128, 2048])
def test_a_full_work_folder_fails_no_candidate(
    kib: int, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that cannot write its output looks like one that was given nonsense."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this machine mounts no tmpfs")
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    try:
        with pool_of(toolchain, tmp_path / "cache", limits=Limits(output_mib=1)) as pool:
            future = pool.submit(Completion("inc", 0, RIGHT))
            if kib >= 2048:
                assert future.result(timeout=60).outcome == "passed"
            else:
                with pytest.raises(VerievalError, match="work folder"):
                    future.result(timeout=60)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_fills_later_stops_the_run(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Launcher._ask

    with pool_of(toolchain, tmp_path) as pool:
        assert pool.submit(Completion("inc", 0, RIGHT)).result().outcome == "passed"
        monkeypatch.setattr(
            Launcher, "_ask", lambda *job: (lambda header, printed: ({**header, "free": 0}, printed))(*ask(*job))
        )
        future = pool.submit(Completion("inc", 1, "module inc(;"))
        with pytest.raises(VerievalError, match=r"cannot use the work folder .*No space left on device"):
            future.result(timeout=60)


def test_what_the_machine_did_to_a_reference_is_not_kept(toolchain: Toolchain, tmp_path: Path) -> None:
    benchmark = make_benchmark(reference=RIGHT.replace("endmodule", "  initial while (1) ;\nendmodule"))
    limits = Limits(simulate_cpu=1)
    for _ in range(2):
        with JudgePool(benchmark, toolchain, limits, cache=tmp_path) as pool:
            assert pool.reference(benchmark.tasks[0]).result().outcome == "timeout"
            assert len(pool._workers._threads) == 1  # it ran: nothing was recalled


def test_leaving_by_an_exception_kills_what_runs(toolchain: Toolchain, tmp_path: Path) -> None:
    endless = RIGHT.replace("endmodule", "  initial while (1) ;\nendmodule")

    def interrupted() -> None:
        with pool_of(toolchain, tmp_path, jobs=2) as pool:
            for i in range(6):
                pool.submit(Completion("inc", i, f"{endless}wire w{i};"))
            time.sleep(0.3)
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - started < 15


def test_a_version_that_cannot_compile_the_benchmark_is_refused(toolchain: Toolchain, tmp_path: Path) -> None:
    from dataclasses import replace

    benchmark = replace(make_benchmark(), refused_icarus={13: "it rejects use before declaration"})
    JudgePool(benchmark, toolchain, cache=tmp_path).close()
    newer = replace(toolchain, version="13.0")
    with pytest.raises(VerievalError, match=r"Icarus Verilog 13\.0 cannot judge test: it rejects use before"):
        JudgePool(benchmark, newer, cache=tmp_path)
    with pytest.raises(VerievalError, match="too old"):
        JudgePool(benchmark, replace(toolchain, version="10.3"), cache=tmp_path)


@pytest.mark.parametrize(
    "field", ["compile_cpu", "simulate_cpu", "memory_mib", "output_mib", "wall_factor", "work_mib"]
)
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), 1e300, 10**30])
def test_limits_are_within_reason(field: str, value: float) -> None:
    with pytest.raises(VerievalError, match=field):
        Limits.from_options(**{field: value})


def test_upstreams_shorter_limit_holds(toolchain: Toolchain, tmp_path: Path) -> None:
    with JudgePool(make_benchmark(rule="rtllm"), toolchain, cache=tmp_path) as pool:
        assert pool.limits.simulate_cpu == 8.0


def _record_launchers(monkeypatch: pytest.MonkeyPatch) -> list[Launcher]:
    started: list[Launcher] = []

    def start(limits: Limits, sandbox: Sandbox) -> Launcher:
        started.append(Launcher(limits, sandbox))
        return started[-1]

    monkeypatch.setattr(workers_module, "Launcher", start)
    return started


def _children(parent: int, name: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            command, rest = path.read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(rest.split()[1]) == parent and command.endswith(f"({name}"):
            found.append(int(path.parent.name))
    return found


def _until(condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "waited 30 s in vain"
        time.sleep(0.005)
