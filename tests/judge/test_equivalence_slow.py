"""Every reference of VerilogEval v2 is equivalent to itself, but for those that yosys 0.23 does not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from verieval import benchmarks
from verieval.judge import Toolchain
from verieval.judge.equivalence import Prover, proof_limits, prove
from verieval.judge.process import Launcher
from verieval.judge.sandbox import find_sandbox
from verieval.judge.yosys import find_yosys

UNREAD = {"Prob151_review2015_fsm", "Prob156_review2015_fancytimer"}  # yosys 0.23; later ones may read them
SLOW = {"Prob021_mux256to1v", "Prob144_conwaylife", "Prob153_gshare"}  # a minute each on a busy machine


@pytest.fixture(scope="module")
def prover(toolchain: Toolchain, yosys_here: None) -> Iterator[Prover]:
    yosys, limits = find_yosys(), proof_limits(60, 60)
    launcher = Launcher(limits, find_sandbox(toolchain, limits.work_mib, also=yosys.needs()))
    yield Prover(launcher, yosys, toolchain)
    launcher.close()


@pytest.mark.slow
def test_references_are_proven_equivalent_to_themselves(prover: Prover, data_dir: Path) -> None:
    benchmark = benchmarks.load("verilog-eval:spec-to-rtl", data_dir / "verilog-eval")
    tasks = [task for task in benchmark.tasks if task.id not in SLOW]
    proofs = {task.id: prove(prover, task.reference or "", task.reference or "", task.module) for task in tasks}
    assert {name for name, proof in proofs.items() if proof.kind == "refuted"} == set()
    assert {name for name, proof in proofs.items() if proof.kind == "unknown"} <= UNREAD
