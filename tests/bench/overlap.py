"""What `verieval bench overlap` finds at which threshold, and how fast: `make bench BENCH=overlap`.

Needs VERIEVAL_DATA. The tables of docs/overlap.md come from here.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.contaminate import CHANGED, DISGUISES
from verieval import benchmarks
from verieval.errors import VerievalError
from verieval.extract import extract
from verieval.overlap import Hit, OverlapIndex, build_index
from verieval.overlap_scan import scan

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OTHERS = ("rtllm", "verigen", "verieval")
LOW = 0.05


def best(hits: Iterable[Hit], kind: str, task: str | None) -> float:
    """Highest score of a kind of hit; an exact one counts above every near one."""
    found = [h.score + ("exact" in h.kind) for h in hits if h.kind.startswith(kind) and task in (None, h.task)]
    return max(found, default=0.0)


def told(name: str, scores: list[float]) -> None:
    exact = sum(score > 1 for score in scores)
    cells = [f"{sum(score >= threshold for score in scores):4d}" for threshold in THRESHOLDS]
    near = [score for score in scores if score <= 1] or [0.0]
    print(f"{name:<44} {len(scores):5d} {exact:5d}  {' '.join(cells)}   {np.median(near):.2f} {max(near):.2f}")


def found(index: OverlapIndex, completions: Path) -> None:
    suite = benchmarks.load("verilog-eval:spec-to-rtl")
    print(f"{'rows':<44} {'n':>5} {'exact':>5}  " + " ".join(f"{t:4}" for t in THRESHOLDS) + "   near: median, max")
    rng = random.Random(1)
    for name, disguise in (DISGUISES | CHANGED).items():
        rows = [(task, disguise(task.reference or "", rng)) for task in suite.tasks]
        told(f"reference, {name}", [best(index.match(row), "reference", t.id) for t, row in rows if row is not None])
    for other in ("verilog-eval-v1:human", "verilog-eval-v1:machine"):
        own = {task.id.split("_", 1)[1]: task.id for task in suite.tasks}
        tasks = benchmarks.load(other).tasks
        told(f"reference of {other}", [best(index.match(t.reference), "reference", own[t.id]) for t in tasks])
        told(f"spec of {other}", [best(index.match(t.prompt), "spec", own[t.id]) for t in tasks])
    told("spec of code-complete", [
        best(index.match(t.prompt), "spec", t.id) for t in benchmarks.load("verilog-eval:code-complete").tasks
    ])  # fmt: skip
    for other in OTHERS:
        tasks = benchmarks.load(other).tasks
        told(f"unrelated: reference of {other}", [best(index.match(t.reference), "reference", None) for t in tasks])
        told(f"unrelated: spec of {other}", [best(index.match(t.prompt), "spec", None) for t in tasks])
    if completions.is_file():
        answers = [
            (task, extract(answer["generation"], task.module).source)
            for rows in json.loads(completions.read_text())
            for answer in rows
            for task in [suite.by_id.get(Path(answer["test_path"]).name.removesuffix("_test.sv"))]
            if task is not None
        ]
        told("answers of a model to the same problems", [best(index.match(c), "reference", t.id) for t, c in answers])
        told("  of more than 100 tokens in the reference", [
            best(index.match(code), "reference", task.id) for task, code in answers
            if len((task.reference or "").split()) > 100
        ])  # fmt: skip


def speed(rows: int) -> None:
    index = build_index([benchmarks.load(name) for name in ("verilog-eval:spec-to-rtl", "rtllm")])
    index.match("module m(input a, output b); assign b = a; endmodule")  # the parser's tables
    rng = random.Random(2)
    sources = [task for other in ("verieval", "verigen") for task in benchmarks.load(other).tasks]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.jsonl"
        with path.open("w") as file:
            for _ in range(rows):
                task = rng.choice(sources)
                text = DISGUISES["all of these"](task.reference or "", rng)
                file.write(json.dumps({"prompt": task.prompt, "completion": text}) + "\n")
        size = path.stat().st_size / rows
        for jobs in (1, 2):
            before, cpu = time.monotonic(), time.process_time()
            count = sum(len(found) for found, _ in scan(path, index, jobs=jobs))
            wall = time.monotonic() - before
            more = f", {1000 * (time.process_time() - cpu) / rows:.2f} ms CPU a row" if jobs == 1 else ""
            print(f"{count} rows of {size:.0f} bytes, {jobs} processes: {count / wall:.0f} rows a second{more}")


def main() -> None:
    try:
        index = build_index([benchmarks.load("verilog-eval:spec-to-rtl")], threshold=LOW, spec_threshold=LOW)
    except VerievalError as error:
        print(f"nothing to measure: {error}")
        return
    data = Path(os.environ.get("VERIEVAL_DATA", "."))
    found(index, data.parent / "completions" / "turtle_gemini-2.5-flash_verilog_eval_rtl.json")
    speed(int(os.environ.get("ROWS", "4000")))


if __name__ == "__main__":
    main()
