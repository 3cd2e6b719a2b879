"""One small valid example of everything that VeriEval reads, and how it is read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fake_run import fake_manifest, fake_verdict

from verieval import benchmarks
from verieval.benchmarks.errata import read_errata
from verieval.completion import Completion
from verieval.protocol import load_prompt, raw_prompt, render
from verieval.report.compare import compare_runs
from verieval.report.compare_view import sections as compare_sections
from verieval.report.summary import build_report
from verieval.report.terminal import plain, sections
from verieval.run.jsonl import dump_json, encode_row
from verieval.run.readers import read_any
from verieval.run.store import completion_row, read_run, verdict_row
from verieval.task import Benchmark, Port, SourceFile, Task, Testbench

TASKS = ["alpha", "beta"]
HEADER = "module {}(input clk, input [3:0] a, output reg [3:0] y);\n"
BODY = "  always @(posedge clk) y <= a;\nendmodule\n"
REFERENCE = HEADER + BODY
BENCH = """`timescale 1ns/1ps
module tb;
  reg clk = 0; reg [3:0] a = 0; wire [3:0] y, z; integer errors = 0;
  always #5 clk = ~clk;
  {target} dut (.clk(clk), .a(a), .y(y));
{reference}
  initial begin
    repeat (20) begin @(negedge clk) a = a + 3; if (y !== z) errors = errors + 1; end
    $display("Mismatches: %0d in 20 samples", errors); // "quoted"
    $finish;
  end
endmodule
"""
TESTBENCH = BENCH.format(target="TopModule", reference="  RefModule ref1 (.clk(clk), .a(a), .y(z));")
LONE = BENCH.format(target="adder", reference="  assign z = y;")
TOY = Benchmark(
    "toy",
    "",
    tuple(
        Task(name, "Copy a.", name, Testbench((SourceFile("tb.v", LONE),), "tb"), aliases=(f"{name}_old",))
        for name in TASKS
    ),
    rule="toy",
)
TASK = Task(
    "alpha", "Copy a.", "alpha", TOY.tasks[0].oracle, header="module alpha(input a);", ports=(Port("a", "input", 1),)
)
COMPLETIONS = [
    Completion(task, sample, f"```verilog\n{REFERENCE.format(task)}```\n", "stop", 5, 7, 11 + sample)
    for task in TASKS
    for sample in range(2)
]
VERDICTS = [fake_verdict(row.task_id, row.sample, row.sample == 0) for row in COMPLETIONS]
MANIFEST = fake_manifest(
    TASKS,
    2,
    benchmark__errata=[
        {"task": "beta", "effect": "vacuous", "reason": "r", "found": "2026-01-01", "source": "s", "icarus": [12]}
    ],
    source={"path": "c.jsonl", "format": "verieval", "sha256": "d" * 64},
)


@dataclass(frozen=True)
class Material:
    """Files by their names, and what reads the folder that holds them."""

    files: dict[str, bytes]
    read: Callable[[Path], object]

    def write(self, folder: Path) -> None:
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


def jsonl(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def use_run(folder: Path) -> None:
    """Everything that reads a run."""
    run = read_run(folder)
    report = build_report(run)
    dump_json(report)
    plain(sections(report, run.manifest, differences=True))
    comparison = compare_runs(run, run)
    json.dumps(comparison.to_json(), allow_nan=False)
    plain(compare_sections(comparison))
    use_completions(folder)


def use_completions(path: Path) -> None:
    reading = read_any(path, TOY, skip_unknown=True)
    rows = reading.rows_of(TOY)
    assert reading.default_n(rows) > 0
    dump_json([reading.describe(), reading.origin, *map(completion_row, rows)])


def use_benchmark(name: str) -> Callable[[Path], None]:
    def use(folder: Path) -> None:
        benchmark = benchmarks.load(name, folder)
        assert benchmark.sha256
        for task in benchmark.tasks:
            for source in task.oracle.sources:
                source.text.encode()
            (task.reference or "").encode()

    return use


def use_prompt(name: str) -> Callable[[Path], None]:
    def use(folder: Path) -> None:
        template = load_prompt(folder / name)
        render(template, TASK, "toy")
        raw_prompt(template, TASK, "toy")

    return use


OWN = jsonl(*map(completion_row, COMPLETIONS))
SAMPLES = jsonl(*({"task_id": row.task_id, "sample": row.sample, "completion": row.text} for row in COMPLETIONS))
TURTLE = json.dumps(
    [
        [
            {"prompt": "p", "test_path": f"turtle/{task}/{task}_test.sv", "reasoning": None, "generation": row.text}
            for row in COMPLETIONS
            if row.task_id == task
        ]
        for task in TASKS
    ]
).encode()
TASK_TOML = b"""id = "adder"
module = "adder"
level = "unit"
tags = ["sequential", "register"]
clock = "clk"
ports = [
  { name = "clk", direction = "input", width = 1 },
  { name = "a", direction = "input", width = 4 },
  { name = "y", direction = "output", width = 4, signed = false },
]
parameters = [{ name = "W", default = 4 }]
reset = { name = "a", active = "high", kind = "sync" }
"""
ERRATA = b"""benchmark = "toy"

[[erratum]]
task = "alpha"
effect = "vacuous"
reason = "A wrong answer passes."
found = 2026-01-02
source = "tests"
variants = ["", "other"]
icarus = [11, 12]
"""
PROMPT_TOML = b"""system = "You write Verilog."
user = '''
{% for e in examples %}{{ e.user }}
{% endfor %}{{ task.prompt | trim }} {% for port in task.ports %}{{ port.name }}:{{ port.width }}{% endfor %}
'''
raw = "{{ task.header }}"
examples_as = "turns"

[[examples]]
user = "u"
assistant = "module a; assign x = {{1'b0}}; endmodule"
"""
V1 = {
    "task_id": "alpha",
    "prompt": HEADER.format("TopModule"),
    "canonical_solution": BODY,
    "test": REFERENCE.format("RefModule") + TESTBENCH,
}
_V2 = {
    "Prob001_alpha_prompt.txt": b"Copy a.\n",
    "Prob001_alpha_ref.sv": REFERENCE.format("RefModule").encode(),
    "Prob001_alpha_test.sv": TESTBENCH.encode(),
    "Prob001_alpha_ifc.txt": HEADER.format("TopModule").encode(),
}

MATERIAL: dict[str, Material] = {
    "run": Material(
        {
            "manifest.json": dump_json(MANIFEST).encode(),
            "completions.jsonl": b"".join(encode_row(completion_row(row)) for row in COMPLETIONS),
            "verdicts.jsonl": b"".join(encode_row(verdict_row(row)) for row in VERDICTS),
        },
        use_run,
    ),
    "own": Material({"c.jsonl": OWN}, lambda folder: use_completions(folder / "c.jsonl")),
    "samples": Material({"c.jsonl": SAMPLES}, lambda folder: use_completions(folder / "c.jsonl")),
    "counted": Material(
        {"c.jsonl": jsonl(*({"task_id": row.task_id, "completion": row.text} for row in COMPLETIONS))},
        lambda folder: use_completions(folder / "c.jsonl"),
    ),
    "turtle": Material({"c.json": TURTLE}, lambda folder: use_completions(folder / "c.json")),
    "gzip": Material(
        {"c.jsonl.gz": gzip.compress(OWN, mtime=0)}, lambda folder: use_completions(folder / "c.jsonl.gz")
    ),
    "folder": Material(
        {f"{row.task_id}/{row.task_id}_sample{row.sample}.sv": row.text.encode() for row in COMPLETIONS},
        use_completions,
    ),
    "suite": Material(
        {
            "family/adder/task.toml": TASK_TOML,
            "family/adder/spec.md": b"Copy a.\n",
            "family/adder/reference.sv": REFERENCE.format("adder #(parameter W = 4)").encode(),
            "family/adder/tb.sv": LONE.encode(),
        },
        use_benchmark("verieval"),
    ),
    "spec-to-rtl": Material(
        {f"dataset_spec-to-rtl/{name}": data for name, data in _V2.items() if "ifc" not in name},
        use_benchmark("verilog-eval:spec-to-rtl"),
    ),
    "code-complete": Material(
        {f"dataset_code-complete-iccad2023/{name}": data for name, data in _V2.items()},
        use_benchmark("verilog-eval:code-complete"),
    ),
    "v1": Material(
        {
            "data/VerilogEval_Human.jsonl": jsonl(V1, {**V1, "task_id": "beta"}),
            "descriptions/VerilogDescription_Human.jsonl": jsonl(
                *({"task_id": task, "detail_description": "Copy a."} for task in TASKS)
            ),
        },
        use_benchmark("verilog-eval-v1:human"),
    ),
    "rtllm": Material(
        {
            "Arithmetic/Adder/adder/design_description.txt": b"Copy a.\n",
            "Arithmetic/Adder/adder/testbench.v": LONE.replace("repeat", '$readmemh("in.dat", m); repeat').encode(),
            "Arithmetic/Adder/adder/verified_adder.v": REFERENCE.format("verified_adder").encode(),
            "Arithmetic/Adder/adder/in.dat": b"0 1 2 3\n",
        },
        use_benchmark("rtllm"),
    ),
    "verigen": Material(
        {
            "Benchmark/basic1/tb_adder.v": LONE.encode(),
            "Benchmark/basic1/prompt2_adder.v": HEADER.format("adder").encode(),
            "Benchmark/basic1/answer_adder.v": REFERENCE.format("adder").encode(),
        },
        use_benchmark("verigen"),
    ),
    "errata": Material({"e.toml": ERRATA}, lambda folder: read_errata(folder / "e.toml", "other")),
    "prompt-toml": Material({"p.toml": PROMPT_TOML}, use_prompt("p.toml")),
    "prompt-jinja": Material({"p.j2": b"Task {{ task.id }}:\n{{ task.prompt }}\n"}, use_prompt("p.j2")),
}
FILES = [(name, file) for name, material in MATERIAL.items() for file in material.files]

# Files of JSON, with the document or, for JSONL, the rows that they hold.
JSON_FILES = [(name, file) for name, file in FILES if file.endswith((".json", ".jsonl"))]
