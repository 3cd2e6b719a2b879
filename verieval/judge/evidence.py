"""All that is gathered about one candidate: what the policy says of its text, and what simulating it showed.

An admitted candidate meets the sealed bench, and that one simulation answers for both criteria. The upstream flow is
run beside it, for the official answer, where the text for the sealed bench had to be changed so that it can reach
nothing outside (macros expanded, directives gone) and where the candidate prints; and in its place where the policy
refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from verieval.judge.icarus import Setting, Trial, run_trial
from verieval.judge.limits import Limits
from verieval.judge.policy import Ruling
from verieval.judge.rules import OfficialVerdict
from verieval.judge.seal import SealedBench
from verieval.judge.standalone import confirm
from verieval.judge.toolchain import Toolchain
from verieval.judge.workers import Tools
from verieval.task import CocotbBench, Task, Testbench
from verieval.verilog import modules

# CPU time varies with what else the machine does, by less than this factor. What ends this near to a limit is judged
# again with the machine to itself, and what runs past the limit by this factor has exceeded it on any day.
SLACK = 1.5

DANGEROUS = ("forbidden", "resource", "timeout")
NOT_RUN = OfficialVerdict(False, "not run")


@dataclass(frozen=True)
class Evidence:
    """What is known of one candidate.

    Attributes:
        ruling: the policy's.
        sealed: its trial with the sealed bench; None where the policy refused it.
        plain: its trial in the upstream flow; None where ``sealed`` answers for that too, or nothing may be run.
    """

    ruling: Ruling
    sealed: Trial | None
    plain: Trial | None

    @property
    def trial(self) -> Trial | None:
        """The trial that the strict finding is read from."""
        return self.sealed or self.plain

    @property
    def official(self) -> OfficialVerdict:
        """Upstream's answer."""
        answers = self.plain or self.sealed
        return answers.official if answers else NOT_RUN

    @property
    def compiled(self) -> bool:
        """There was something to simulate."""
        return self.trial is not None and self.trial.compiled


def gather(
    tools: Tools,
    setting: Setting,
    task: Task,
    source: str,
    seal: Callable[[Ruling], SealedBench],
    ruling: Ruling | None,
    *,
    bench_times_out: bool = False,
) -> Evidence:
    """Ask the policy, then simulate under seal or not at all.

    Args:
        tools: the worker's.
        setting: what the benchmark's trials have in common.
        task: the task.
        source: the candidate's text.
        seal: the sealed bench that fits a ruling.
        ruling: where it is known beforehand: a reference needs no admission.
        bench_times_out: see :func:`verieval.judge.icarus.run_trial`.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: a tool was killed from outside.
    """
    if ruling is None:
        rooted = isinstance(task.oracle, Testbench) and task.oracle.top is not None
        ruling = ruled(tools, setting.toolchain, task, source, rooted=rooted)
    if ruling.outcome:
        # Without walls around it, what was refused for what it would do is not run.
        may_run = tools.launcher.sandbox.holds or ruling.outcome not in DANGEROUS
        return Evidence(ruling, None, _settled(tools, setting, task, source, None) if may_run else None)
    sealed = _settled(tools, setting, task, ruling.source, seal(ruling), bench_times_out=bench_times_out)
    # What it prints stands beside the bench's own lines, and the seal moves when those come: official reads both.
    alike = ruling.faithful and not ruling.prints
    plain = None if alike else _settled(tools, setting, task, source, None)
    return Evidence(ruling, sealed, plain)


def ruled(tools: Tools, toolchain: Toolchain, task: Task, source: str, *, rooted: bool) -> Ruling:
    """What the policy says of a text, and where that has dotted names, the compiler; the same for every kind of bench.

    Args:
        tools: the worker's.
        toolchain: the compiler.
        task: the task.
        source: the candidate's text, with what it is read together with.
        rooted: see :func:`verieval.judge.policy.rule_on`.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: a tool was killed from outside.
    """
    ruling = tools.admission.ask(source, task.module, reserved_names(task), driven_inputs(task), rooted=rooted)
    flags = task.oracle.compile_flags if isinstance(task.oracle, Testbench | CocotbBench) else ("-g2012",)
    return confirm(ruling, tools.launcher, toolchain, flags, task.module)


def _settled(
    tools: Tools,
    setting: Setting,
    task: Task,
    source: str,
    sealed: SealedBench | None,
    *,
    bench_times_out: bool = False,
) -> Trial:
    """A trial whose verdict does not hang on how busy the machine was."""

    def run(slack: float) -> Trial:
        return run_trial(tools.launcher, setting, task, source, sealed, slack=slack, bench_times_out=bench_times_out)

    return settled(tools, run)


def settled(tools: Tools, run: Callable[[float], Trial]) -> Trial:
    """A trial whose verdict does not hang on how busy the machine was.

    Args:
        tools: the worker's.
        run: makes the trial, with CPU limits multiplied by its argument.
    """
    trial = run(SLACK)
    if not _near_a_limit(trial, tools.launcher.limits):
        return trial
    with tools.alone():
        return run(1.0)


def _near_a_limit(trial: Trial, limits: Limits) -> bool:
    for process, limit in ((trial.compile, limits.compile_cpu), (trial.simulate, limits.simulate_cpu)):
        if process is None:
            continue
        if process.killed == "wall":
            return True
        if process.cpu > limit / SLACK and not process.timed_out:
            return True
    return False


@cache
def reserved_names(task: Task) -> frozenset[str]:
    """Modules of bench and reference, which a candidate may neither use nor redefine."""
    if not isinstance(task.oracle, Testbench):
        return frozenset()  # what surrounds the candidate has secret names
    names = {span.name for item in task.oracle.sources for span in modules(item.text)}
    return frozenset(names - {task.module})


def driven_inputs(task: Task) -> frozenset[str]:
    """Ports that the bench drives, whatever the candidate declares them to be."""
    return frozenset(port.name for port in task.ports if port.direction == "input")


def trusted(source: str) -> Ruling:
    """The ruling on a reference: it is the benchmark's own."""
    return Ruling(outcome="", source=source, faithful=True)
