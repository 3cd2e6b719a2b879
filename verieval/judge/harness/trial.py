"""Run a candidate in its problem's harness, and read the harness's own results."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace

from verieval.errors import VerievalError
from verieval.judge.harness.layout import FOLDERS, beside, harness_bench, lay_out
from verieval.judge.harness.packages import INSIDE, HarnessPython
from verieval.judge.harness.results import HarnessResult, read_results
from verieval.judge.icarus import CANDIDATE, Trial, compiler_end, cut
from verieval.judge.limits import MIB
from verieval.judge.process import Done, Launcher, ProcessResult, Step
from verieval.judge.rules import BenchReport, OfficialVerdict, Rule, Transcript
from verieval.judge.sandbox import PYTHON
from verieval.judge.toolchain import Toolchain
from verieval.task import HarnessBench, SourceFile, Task

_BUILD_FAILED = "Command failed with return code"  # as cocotb's runner says it
SEED = 1  # of every random number generator that a harness uses without a seed of its own


@dataclass(frozen=True)
class Container:
    """What every trial in a harness has in common."""

    toolchain: Toolchain
    python: HarnessPython
    rule: Rule


def run_harness(
    launcher: Launcher,
    container: Container,
    task: Task,
    files: Mapping[str, str],
    *,
    slack: float = 1.0,
    cpu: float | None = None,
) -> Trial:
    """One trial.

    Args:
        launcher: where it runs, in a sandbox.
        container: with what.
        task: the task.
        files: the harness and the problem's files, with the candidate in its place.
        slack: CPU limits are multiplied by this.
        cpu: CPU seconds of each process; None for the limit of the launcher.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    bench = harness_bench(task)
    seconds = cpu or launcher.limits.simulate_cpu * slack
    done = launcher.run(_files(container, bench, files), _steps(container, bench, seconds))
    results = [
        read_results(done.printed.get(_report(number), ""), done.printed.get(_left(number), ""))
        for number in range(len(done.steps))
    ]
    result = _joined(results)
    trial = _trial(container, bench, done, result, seconds, launcher.limits.output_mib * MIB)
    full = launcher.sandbox.holds and done.free < MIB
    if result.tests is not None or result.built or trial.last.signal or full:
        return replace(trial, full=full)
    compiled = replace(compile_only(launcher, container, task, files, slack=slack), official=trial.official)
    if compiled.alone is not None and compiled.alone.returncode == 0:
        # It does not fit the harness; or that broke off before it came to compile anything.
        log = result.log or done.printed.get(_out(len(done.steps) - 1), "")
        return replace(compiled, compile_log=cut(log)) if _BUILD_FAILED in result.said else trial
    return compiled


def compile_only(
    launcher: Launcher, container: Container, task: Task, files: Mapping[str, str], *, slack: float = 1.0
) -> Trial:
    """What the compiler says of a candidate with the files beside it. Raises as :func:`run_harness` does."""
    bench = harness_bench(task)
    others = {name.replace("/", "_"): text for name, text in beside(files, bench).items()}
    texts = {CANDIDATE: files[bench.targets[0]], **others}
    argv = (*container.toolchain.iverilog, "-g2012", "-s", task.module, "-t", "null", *texts)
    step = Step(argv, launcher.limits.compile_cpu * slack, "alone.log")
    done = launcher.run({name: text.encode("utf-8", "replace") for name, text in texts.items()}, [step])
    log = done.printed["alone.log"]
    alone = compiler_end(done.steps[0], log)
    trial = Trial(alone, cut(log), alone.returncode == 0, OfficialVerdict(False, "failed"), None)
    return replace(trial, compiled=False, alone=alone, alone_log=cut(log))


_PROBE_RUNNER = """\
from cocotb_tools.runner import get_runner


def test_runner():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/probe.sv"], hdl_toplevel="probe", always=True)
    runner.test(hdl_toplevel="probe", test_module="test_probe")
"""
_PROBE_TEST = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def follows(dut):
    for bit in (0, 1):
        dut.a.value = bit
        await Timer(1)
        assert dut.b.value == 1 - bit
"""


def probe(launcher: Launcher, container: Container) -> None:
    """Run a harness that must pass, so that a broken installation is not taken for broken candidates.

    Raises:
        VerievalError: it does not, or not within the limits.
        Lost: a tool was killed from outside.
    """
    bench = HarnessBench(
        sources=(SourceFile("src/test_runner.py", _PROBE_RUNNER), SourceFile("src/test_probe.py", _PROBE_TEST)),
        context=(),
        targets=("code/rtl/probe.sv",),
        rtl=("code/rtl/probe.sv",),
        top="probe",
        commands=(("/src/test_runner.py",),),
        environment=(("PYTHONPATH", "/src"),),
    )
    module = "module probe(input wire a, output wire b);\nassign b = ~a;\nendmodule\n"
    task = Task(id="probe", prompt="", module="probe", reference=module, oracle=bench)
    found = run_harness(launcher, container, task, lay_out(bench, module))
    if found.tests is None or found.tests.failed or not found.official.passed:
        words = [line for line in found.last_log.splitlines() if line.strip()]
        raise VerievalError(
            f"pytest {container.python.pytest} and cocotb {container.python.cocotb.version} fail with "
            f"{container.toolchain.vvp[0]} on a one-line module, so the installation is broken or the limits are too "
            f"small: {words[-1].strip() if words else 'it says nothing'}"
        )


def _report(number: int) -> str:
    return f"pytest{number}.xml"


def _left(number: int) -> str:
    return f"cocotb{number}.json"


def _files(container: Container, bench: HarnessBench, files: Mapping[str, str]) -> dict[str, bytes]:
    job = {
        "files": dict(files),
        "folders": FOLDERS,
        "tools": {"iverilog": container.toolchain.iverilog, "vvp": container.toolchain.vvp},
        "commands": bench.commands,
        "seed": SEED,
    }
    return {"job.json": json.dumps(job).encode(), INSIDE.name: INSIDE.read_bytes()}


def _steps(container: Container, bench: HarnessBench, seconds: float) -> list[Step]:
    own = dict(bench.environment)
    library = str(container.python.cocotb.library)
    path = [*filter(None, own.get("PYTHONPATH", "").split(":")), *container.python.path]
    environment = {
        **own,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COCOTB_RANDOM_SEED": str(SEED),
        "LIBPYTHON_LOC": library,
    }
    steps = []
    for number in range(len(bench.commands)):
        where = {"VERIEVAL_PYTEST": f"{{secret}}-{_report(number)}", "VERIEVAL_COCOTB": f"{{secret}}-{_left(number)}"}
        argv = (PYTHON, "-P", INSIDE.name, str(number))
        variables = tuple((environment | where).items())
        returns = (_report(number), _left(number))
        steps.append(Step(argv, seconds, _out(number), env=variables, returns=returns))
    return steps


def _joined(results: list[HarnessResult]) -> HarnessResult:
    """All commands together; the first that left no results, or failed, speaks."""
    for result in results:
        if result.tests is None:
            return result
    whole = results[0]
    for result in results[1:]:
        assert whole.tests is not None
        assert result.tests is not None
        first = whole if whole.tests.failed else result
        assert first.tests is not None
        whole = replace(first, tests=replace(first.tests, tests=whole.tests.tests + result.tests.tests))
    return whole


def _trial(
    container: Container, bench: HarnessBench, done: Done, result: HarnessResult, seconds: float, room: int
) -> Trial:
    ran = _ended(done, result, seconds, room)
    statuses = [f"exit {step.returncode}" for step in done.steps]
    statuses += ["not run"] * (len(bench.commands) - len(statuses))
    transcript = Transcript("", compiled=True, stdout="\n".join(statuses), cpu=ran.cpu, timed_out=ran.timed_out)
    tests = result.tests
    failed = tests is not None and bool(tests.failed)
    return Trial(
        compile=ProcessResult(0, 0, "", 0.0, 0.0, 0),
        compile_log="",
        compiled=True,
        official=container.rule.official(transcript),
        report=BenchReport(0, False) if tests is None else BenchReport(1, not failed, int(failed), tests.tests),
        simulate=ran,
        output=cut("\n".join(done.printed.get(_out(number), "") for number in range(len(done.steps)))),
        tests=tests,
        said=result.said,
    )


def _out(number: int) -> str:
    return f"stdout{number}"


def _ended(done: Done, result: HarnessResult, seconds: float, room: int) -> ProcessResult:
    """How the commands ended, as one. A simulator that ran into a limit ends inside, and pytest goes on."""
    last = done.steps[-1]
    whole = replace(last, cpu=sum(step.cpu for step in done.steps), wall=sum(step.wall for step in done.steps))
    if result.tests is None and any(len(text) >= room for text in done.printed.values()):
        return replace(whole, returncode=None, signal=int(signal.SIGXFSZ))
    if result.tests is None and last.returncode and last.cpu >= int(seconds + 0.999):
        return replace(whole, returncode=None, signal=int(signal.SIGXCPU))
    return whole
