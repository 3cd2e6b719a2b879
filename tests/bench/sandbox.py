"""What the sandbox costs a sample: the same candidates judged with and without it, in one run.

Candidates are the references of tests/verilog_benches, each in ``--copies`` different designs, so that no evidence is
shared between them. Reference runs are cached before the first round.

    python tests/bench/sandbox.py [--jobs 2] [--rounds 3] [--copies 20] [--icarus DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from verieval import benchmarks
from verieval.completion import Completion
from verieval.judge import JudgePool, Limits, find_toolchain
from verieval.judge.sandbox import NO_SANDBOX, find_sandbox


def main() -> None:
    """Measure in alternation and print medians, the difference in milliseconds a sample, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--icarus")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    toolchain = find_toolchain(options.icarus)
    benchmark = benchmarks.load("verieval", Path(__file__).resolve().parents[1] / "verilog_benches")
    walls = {"none": NO_SANDBOX, "bubblewrap": find_sandbox(toolchain, Limits().work_mib, wanted=True)}
    completions = [
        Completion(
            task.id, number, (task.reference or "").replace("endmodule", f"  wire spare_{number};\nendmodule", 1)
        )
        for number in range(options.copies)
        for task in benchmark.tasks
    ]
    times: dict[str, list[float]] = {name: [] for name in walls}
    with tempfile.TemporaryDirectory() as cache:
        for number in range(options.rounds + 1):
            for name, sandbox in walls.items():
                started = time.perf_counter()
                with JudgePool(
                    benchmark, toolchain, jobs=options.jobs, extraction="verbatim", cache=Path(cache), sandbox=sandbox
                ) as pool:
                    futures = [pool.submit(completion) for completion in completions]
                    failed = [future.result() for future in futures if future.result().outcome != "passed"]
                if failed:
                    sys.exit(f"{failed[0].task_id} does not pass: {failed[0].detail}")
                if number:  # the first round fills the cache
                    times[name].append(time.perf_counter() - started)
                    print(f"{name}: {times[name][-1]:.2f} s", file=sys.stderr)
    medians = {name: statistics.median(values) for name, values in times.items()}
    result = {
        "samples": len(completions),
        "jobs": options.jobs,
        "seconds": {name: round(value, 2) for name, value in medians.items()},
        "ms_a_sample_more": round((medians["bubblewrap"] - medians["none"]) / len(completions) * 1000, 2),
        "ratio": round(medians["bubblewrap"] / medians["none"], 3),
    }
    print(json.dumps(result, indent=2) if options.json else result)


if __name__ == "__main__":
    main()
