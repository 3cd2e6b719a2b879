"""Samples per second of judging with cocotb benches, against cocotb's own runner, in one run.

The candidates are 20 for each task of the project's suite: its reference in ten texts that differ (an unused wire of
another name in each, so that no text is a copy of another), and ten mutants of it. VeriEval judges all of them, with
admission and sandbox, as ``verieval score`` does, and its time includes the start of its workers. The peer is
``cocotb_tools.runner`` as its documentation shows it: build and test, one design after the other, in one process. It
gets every SHARE-th candidate of each half, since all of them would take it half an hour, and its rate is that of those.
Both run the tests in every configuration of a task until one fails. A mutant that hangs takes VeriEval's whole time
limit, and would take the runner for ever; so the rates are given with all candidates, and again without those that
hang, and the runner gets none of them. Whoever passes with VeriEval must pass with the runner; the other way round it
lets pass a wrong default of a parameter, which its tests read from the design itself.

    python tests/bench/cosimulation.py [--jobs 2] [--share 10] [--tasks GLOB] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from verieval.benchmarks import load, select
from verieval.completion import Completion
from verieval.judge import JudgePool, find_toolchain
from verieval.mutate import mutants
from verieval.task import Benchmark, CocotbBench, Task
from verieval.verdict import Verdict

HALF = 10


def candidates(task: Task) -> list[str]:
    """Ten right ones and ten mutants, in turn; fewer mutants where there are not as many."""
    assert task.reference is not None
    head, _, tail = task.reference.rpartition("endmodule")
    right = [f"{head}wire unused_{number};\nendmodule{tail}" for number in range(HALF)]
    wrong = [mutant.text for mutant in mutants(task.reference, limit=HALF).chosen]
    return [text for pair in zip(right, wrong, strict=False) for text in pair] + right[len(wrong) :]


def ours(
    benchmark: Benchmark, texts: dict[tuple[str, int], str], jobs: int
) -> tuple[float, dict[tuple[str, int], Verdict]]:
    """Wall seconds and verdicts."""
    started = time.perf_counter()
    with JudgePool(benchmark, find_toolchain(), jobs=jobs) as pool:
        waiting = {
            (name, number): pool.submit(Completion(name, number, text, "stop"))
            for (name, number), text in texts.items()
        }
        verdicts = {key: future.result() for key, future in waiting.items()}
    return time.perf_counter() - started, verdicts


def peer(task: Task, text: str) -> bool:
    """cocotb's runner: does the text pass in every configuration?"""
    assert isinstance(task.oracle, CocotbBench)
    return all(peer_once(task, text, values if index else {}) for index, values in enumerate(task.oracle.instances))


def peer_once(task: Task, text: str, parameters: dict[str, int]) -> bool:
    """One build and its tests."""
    from cocotb_tools.runner import get_runner

    with tempfile.TemporaryDirectory() as folder, silence(), inside(Path(folder)):
        Path("candidate.sv").write_text(text)
        for source in task.oracle.sources:
            Path(source.name).write_text(source.text)
        runner = get_runner("icarus")
        module = Path(task.oracle.sources[0].name).stem
        try:
            runner.build(
                sources=["candidate.sv"], hdl_toplevel=task.module, timescale=("1ns", "1ps"), parameters=parameters
            )
            results = runner.test(hdl_toplevel=task.module, test_module=module, test_dir=folder)
        except (RuntimeError, SystemExit):
            return False
        return not any(case.find("failure") is not None for case in ET.parse(results).getroot().iter("testcase"))


@contextmanager
def silence() -> Iterator[None]:
    """The runner prints a log for every design."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with Path(os.devnull).open("w") as null, redirect_stdout(null), redirect_stderr(null):
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder whose modules can be imported."""
    before, path = Path.cwd(), os.environ.get("PYTHONPATH")
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = path


def note(rates: dict[str, float], name: str, count: int, seconds: float) -> None:
    """Keep a rate, and say it."""
    rates[name] = count / seconds
    print(f"{name}: {count} candidates in {seconds:.1f} s", file=sys.stderr)


def main() -> None:
    """Measure both, compare verdicts, print rates and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=int, default=10)
    parser.add_argument("--tasks")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    benchmark = load("verieval")
    if options.tasks:
        benchmark = select(benchmark, options.tasks)
    texts = {(task.id, number): text for task in benchmark.tasks for number, text in enumerate(candidates(task))}
    rates: dict[str, float] = {}
    verdicts: dict[tuple[str, int], Verdict] = {}
    for jobs in sorted({1, options.jobs}):
        seconds, verdicts = ours(benchmark, texts, jobs)
        note(rates, f"verieval, {jobs} jobs", len(texts), seconds)
    ending = {key: text for key, text in texts.items() if verdicts[key].outcome != "timeout"}
    for jobs in sorted({1, options.jobs}) if len(ending) < len(texts) else ():
        seconds, _ = ours(benchmark, ending, jobs)
        note(rates, f"verieval, {jobs} jobs, none hangs", len(ending), seconds)
    chosen = [(name, number) for name, number in ending if number // 2 % options.share == 0]
    let_pass: list[str] = []
    started = time.perf_counter()
    for name, number in chosen:
        passed = peer(benchmark.by_id[name], texts[name, number])
        if passed < verdicts[name, number].passed["strict"]:
            sys.exit(f"{name}, candidate {number}: passes with VeriEval alone")
        if passed > verdicts[name, number].passed["strict"]:
            let_pass.append(f"{name}-{number}")
    note(rates, "cocotb's runner", len(chosen), time.perf_counter() - started)
    ours_rates = {name: rate for name, rate in rates.items() if name.startswith("verieval")}
    result = {
        "candidates": len(texts),
        "hang": len(texts) - len(ending),
        "passes_with_the_runner_alone": let_pass,
        "samples_per_second": {name: round(rate, 2) for name, rate in rates.items()},
        "ratio": {name: round(rate / rates["cocotb's runner"], 1) for name, rate in ours_rates.items()},
    }
    print(json.dumps(result, indent=2) if options.json else result)


if __name__ == "__main__":
    main()
