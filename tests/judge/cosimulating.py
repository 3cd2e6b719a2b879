"""What tests of cocotb benches share: small suites of their own, and trials together and alone, as findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from verieval import benchmarks
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge.classify import Finding, classify
from verieval.judge.cosim.simulators import find_simulator
from verieval.judge.cosim.trial import Cosimulator, run_alone, run_together
from verieval.judge.evidence import Evidence, trusted
from verieval.judge.icarus import Trial
from verieval.judge.process import Launcher
from verieval.judge.rules import RULES
from verieval.task import Benchmark, Task
from verieval.verdict import Candidate

INVERT = "module invert(input wire [3:0] a, output wire [3:0] y);\n  assign y = ~a;\nendmodule\n"
TOGGLE = (
    "module toggle(input wire clk, input wire rst, output reg q);\n"
    "  always @(posedge clk) if (rst) q <= 0; else q <= ~q;\nendmodule\n"
)
PORTS = {
    "invert": {"a": ("input", 4), "y": ("output", 4)},
    "toggle": {"clk": ("input", 1), "rst": ("input", 1), "q": ("output", 1)},
}
REFERENCES = {"invert": INVERT, "toggle": TOGGLE}
# Reads after it has waited: nothing else is needed for candidates to be compared with the reference.
LOOKS = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def inverts(dut):
    for value in range(16):
        dut.a.value = value
        await Timer(1, unit="ns")
        assert int(dut.y.value) == 15 - value, f"y is {dut.y.value} for {value}"
"""


def write_task(
    top: Path,
    test: str,
    *,
    name: str = "invert",
    reference: str | None = None,
    keys: str = "",
    more: str = "",
    **files: str,
) -> Path:
    """A suite of one task, whose bench is ``test``.

    ``keys`` and ``more`` go before and after the ports in ``task.toml``; ``files`` are modules beside the families.
    """
    folder = top / "family" / name
    folder.mkdir(parents=True)
    ports = "".join(
        f'[[ports]]\nname = "{port}"\ndirection = "{direction}"\nwidth = {width}\n'
        for port, (direction, width) in PORTS[name].items()
    )
    about = f'id = "{name}"\nmodule = "{name}"\nlevel = "unit"\ntags = []\n{keys}{ports}{more}'
    texts = {"task.toml": about, "spec.md": "As it says.\n", "reference.sv": reference or REFERENCES[name]}
    for file, text in {**texts, f"test_{name}.py": test}.items():
        (folder / file).write_text(text)
    for module, text in files.items():
        (top / f"{module}.py").write_text(text)
    return top


def load_task(top: Path, test: str, **options: str) -> Task:
    """The task of such a suite."""
    return benchmarks.load("verieval", write_task(top, test, **options)).tasks[0]


@dataclass
class Trials:
    """Trials on one launcher, without the policy and the second look of a pool."""

    launcher: Launcher
    simulator: Cosimulator

    def together(self, task: Task, sources: Sequence[str]) -> list[Trial | None]:
        """As a batch."""
        return run_together(self.launcher, self.simulator, task, sources)

    def alone(self, task: Task, source: str) -> Trial:
        """By itself."""
        return run_alone(self.launcher, self.simulator, task, source)


def open_trials(benchmark: Benchmark, toolchain: Toolchain, cache: Path, **limits: float) -> tuple[Trials, JudgePool]:
    """Trials with what a pool would use; the caller closes launcher and pool."""
    pool = JudgePool(benchmark, toolchain, Limits.from_options(**limits), cache=cache)
    assert pool._cosimulation is not None
    return Trials(Launcher(pool.limits, pool.sandbox), pool._cosimulation._simulator), pool


def finding(source: str, trial: Trial) -> Finding:
    """What comes of a trial of an admitted candidate."""
    evidence = Evidence(trusted(source), trial, None)
    return classify(Candidate(source, "verbatim"), evidence, RULES["verieval"], None, cut_off=False)


def judge(
    benchmark: Benchmark, toolchain: Toolchain, cache: Path, sources: Mapping[str, str], simulator: str = "icarus"
) -> dict[str, Finding]:
    """Verdicts of a whole pool on candidates of the only task."""
    from verieval.completion import Completion

    task = benchmark.tasks[0].id
    limits = Limits(simulate_cpu=2, compile_cpu=4)
    engine = find_simulator(simulator, toolchain)
    with JudgePool(benchmark, toolchain, limits, cache=cache, extraction="verbatim", simulator=engine) as pool:
        futures = {
            name: pool.submit(Completion(task, number, source)) for number, (name, source) in enumerate(sources.items())
        }
    found = {name: future.result() for name, future in futures.items()}
    return {name: Finding(verdict.outcome, verdict.stage, verdict.detail) for name, verdict in found.items()}
