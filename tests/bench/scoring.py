"""Wall time of `verieval score` against a plain process pool, in one run, on 780 published completions.

The peer is what a careful user would write: a process pool in which each worker writes the candidate, runs iverilog and
vvp through ``subprocess.run`` with the official flags and applies the official rule to the log. Both sides get the same
candidates, the same number of jobs and the same Icarus. VeriEval's time is that of the whole command: interpreter
start, reading the benchmark, extraction, judging under both criteria, writing the run folder. It is measured with an
empty cache (reference runs included) and with a filled one.

    python tests/bench/scoring.py [--jobs 2] [--rounds 3] [--icarus DIR] [--json]

Needs VERIEVAL_DATA (default ../shared/benchmarks) with the published completions beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-Wall", "-Winfloop", "-Wno-timescale", "-g2012", "-s", "tb"]
COMPLETIONS = "turtle_gemini-2.5-flash_verilog_eval_rtl.json"


def plain(job: tuple[list[str], list[str], str, str, str]) -> bool:
    """Judge one candidate as the official flow does, without anything else."""
    iverilog, vvp, source, bench, reference = job
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "candidate.sv").write_text(source)
        compiled = subprocess.run(
            [*iverilog, *FLAGS, "-o", "simulation", "candidate.sv", bench, reference],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
        )  # fmt: skip
        log = compiled.stdout
        if Path(folder, "simulation").exists():
            try:
                ran = subprocess.run(
                    [*vvp, "-n", "simulation"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, errors="replace", timeout=30, check=False,
                )  # fmt: skip
                log += ran.stdout
            except subprocess.TimeoutExpired:
                return False
    fatal = ("syntax error", "no sensitivities", "is declared here as wire", "Unknown module type", "TIMEOUT", "error")
    if any(text in log for text in fatal):
        return False
    return re.search(r"^Mismatches: 0 in \d+ samples$", log, re.MULTILINE) is not None


def peer(rows: list[tuple[str, int, str]], dataset: Path, jobs: int, icarus: str | None) -> tuple[float, dict]:
    """Wall seconds and official verdicts of the plain pool."""
    from verieval.judge import find_toolchain

    tools = find_toolchain(icarus)
    work = [
        (list(tools.iverilog), list(tools.vvp), text, str(dataset / f"{task}_test.sv"), str(dataset / f"{task}_ref.sv"))
        for task, _, text in rows
    ]
    started = time.perf_counter()
    with ProcessPoolExecutor(jobs) as pool:
        passed = list(pool.map(plain, work))
    seconds = time.perf_counter() - started
    return seconds, {(task, sample): ok for (task, sample, _), ok in zip(rows, passed, strict=True)}


def ours(completions: Path, data: Path, jobs: int, icarus: str | None, cache: Path) -> tuple[float, dict]:
    """Wall seconds and official verdicts of the command line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        command = [sys.executable, "-m", "verieval", "score", str(completions), "--benchmark"]
        command += ["verilog-eval:spec-to-rtl", "--data", str(data), "--out", str(out), "--jobs", str(jobs)]
        command += ["--icarus", icarus] if icarus else []
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "VERIEVAL_CACHE": str(cache)})
        seconds = time.perf_counter() - started
        rows = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    return seconds, {(row["task_id"], row["sample"]): row["passed"]["official"] for row in rows}


def main() -> None:
    """Measure in alternation, check that the verdicts are the same, print medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--icarus")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = Path(os.environ.get("VERIEVAL_DATA") or ROOT.parent / "shared" / "benchmarks")
    completions = folder.parent / "completions" / COMPLETIONS
    data = folder / "verilog-eval"
    tasks = json.loads(completions.read_text())
    rows = [
        (Path(sample["test_path"]).name.removesuffix("_test.sv"), index, sample["generation"])
        for task in tasks
        for index, sample in enumerate(task)
    ]
    times: dict[str, list[float]] = {"peer": [], "cold": [], "warm": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            for name in times:
                if name == "peer":
                    seconds, verdicts = peer(rows, data / "dataset_spec-to-rtl", options.jobs, options.icarus)
                    expected = verdicts
                else:
                    seconds, verdicts = ours(completions, data, options.jobs, options.icarus, Path(cache))
                    if verdicts != expected:
                        sys.exit(f"verdicts differ: {sorted(set(verdicts.items()) ^ set(expected.items()))[:10]}")
                times[name].append(seconds)
                print(f"{name}: {seconds:.1f} s", file=sys.stderr)
    medians = {name: statistics.median(values) for name, values in times.items()}
    result = {
        "completions": len(rows),
        "jobs": options.jobs,
        "seconds": {name: round(value, 2) for name, value in medians.items()},
        "ratio": {name: round(medians[name] / medians["peer"], 3) for name in ("cold", "warm")},
    }
    print(json.dumps(result, indent=2) if options.json else result)


if __name__ == "__main__":
    main()
