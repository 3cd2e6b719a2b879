"""VerilogEval v1 (NVlabs/verilog-eval, release/1.0.0): JSON lines with the bench, prompts in a file beside them.

``data/VerilogEval_*.jsonl`` has ``task_id``, ``prompt`` (the module header), ``canonical_solution`` (what continues it)
and ``test`` (reference, stimulus and ``tb`` in one text); ``descriptions/VerilogDescription_*.jsonl`` has the problem's
description in words.
"""

from __future__ import annotations

from pathlib import Path

from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import ports, target_module
from verieval.benchmarks.verilog_eval import COMPILE_FLAGS, REFUSED_ICARUS
from verieval.errors import VerievalError
from verieval.task import Benchmark, SourceFile, Task, Testbench

FILES = {"human": "Human", "machine": "Machine"}

# Checkout.sha256 of the files read, to the upstream commit that published them.
SNAPSHOTS = {
    "1296d0276ef6f111b9b352de51ff8dd805b4ec80ea48fb1953a309e6135cea3b": "release/1.0.0",  # human
    "e635e358bdf4c12b6afa50696c6697141e54f5ce647c72747bbe4d55d8c6b9b7": "release/1.0.0",  # machine
}


def load(root: Path, variant: str) -> Benchmark:
    """Read one variant.

    Args:
        root: checkout of the repository at its release 1.0.0.
        variant: ``human`` or ``machine``.

    Raises:
        VerievalError: files are missing or malformed, or problems and descriptions do not match.
    """
    checkout = Checkout(root)
    problems = root / "data" / f"VerilogEval_{FILES[variant]}.jsonl"
    descriptions = root / "descriptions" / f"VerilogDescription_{FILES[variant]}.jsonl"
    rows = checkout.jsonl(problems, ("task_id", "prompt", "canonical_solution", "test"))
    described = checkout.jsonl(descriptions, ("task_id", "detail_description"))
    words = {row["task_id"]: row["detail_description"] for row in described}
    if not rows:
        raise VerievalError(f"{problems} holds no problem: restore the file.")
    tasks = []
    for row in rows:
        name = row["task_id"]
        if name not in words:
            raise VerievalError(f"{descriptions} has no description of '{name}': restore the file.")
        tasks.append(_task(row, words[name], str(problems)))
    return Benchmark(
        name="verilog-eval-v1",
        variant=variant,
        tasks=tuple(tasks),
        rule="verilog-eval-v1",
        commit=checkout.commit(SNAPSHOTS),
        refused_icarus=dict(REFUSED_ICARUS),
    )


def _task(row: dict[str, str], description: str, place: str) -> Task:
    name, header = row["task_id"], row["prompt"]
    test = SourceFile(f"{name}_test.sv", row["test"])
    module = target_module((test,), f"'{name}' in {place}")
    reference = header + row["canonical_solution"]
    return Task(
        id=name,
        prompt=description,
        module=module,
        header=header,
        ports=ports(reference, module),
        reference=reference,
        oracle=Testbench(
            # Upstream compiles bench, header and completion as one text in this order, and takes any output on
            # standard error for a failure.
            sources=(test,),
            top="tb",
            candidate_first=False,
            compile_flags=COMPILE_FLAGS,
            separate_stderr=True,
        ),
    )
