"""Compile and simulate one candidate with Icarus, and keep what there is to know about it.

This module collects evidence. What the evidence means is decided in :mod:`verieval.judge.classify`, from the evidence
alone, so that a verdict can be explained and tested without a simulator.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verieval.errors import VerievalError
from verieval.judge.cosim.results import SlotResult
from verieval.judge.limits import MIB
from verieval.judge.process import Done, Launcher, Lost, ProcessResult, Step
from verieval.judge.rules import BenchReport, OfficialVerdict, Rule, Transcript
from verieval.judge.seal import SealedBench, restore, unseal
from verieval.judge.toolchain import Toolchain
from verieval.task import Task, Testbench

CANDIDATE = "candidate.sv"
KEPT = 4096  # characters kept of each end of a log, for a reader
_COMPILED = "simulation"
# The compiler is a driver that starts its parts through a shell, which reports how a part died by status and word. The
# status alone is not enough: the driver also returns the number of errors.
_DEATHS = {
    "CPU time limit exceeded": signal.SIGXCPU,
    "File size limit exceeded": signal.SIGXFSZ,
    "Aborted": signal.SIGABRT,
    "Segmentation fault": signal.SIGSEGV,
    "Bus error": signal.SIGBUS,
    "Floating point exception": signal.SIGFPE,
    "Illegal instruction": signal.SIGILL,
    "Killed": signal.SIGKILL,
}
_OUT_OF_MEMORY = re.compile(r"bad_alloc|out of memory|Cannot allocate memory|virtual memory exhausted", re.IGNORECASE)


@dataclass(frozen=True)
class Trial:
    """What compiling and simulating one text with one bench showed.

    Attributes:
        compile, compile_log, compiled: the compiler's end, its words, and whether there is something to simulate.
        official, report: the upstream rule's answer and what the bench counted. In a sealed trial the report is read
            from the bench's own lines alone.
        simulate, output: the same of the simulator.
        trace, traces: hash of what the bench fed and expected, and how often it was printed; None without a seal.
        counted: mismatches by the seal's own count; None where there is none.
        steps: the trace after each change, where the seal asks for that.
        tests: what a cocotb bench found; None without results, and for a bench in Verilog.
        full: the work folder was full at the end.
        alone, alone_log: the candidate without the bench, tried only when the compiler refused it with the bench.

    Logs are cut in the middle; official answer and report were read before that.
    """

    compile: ProcessResult
    compile_log: str
    compiled: bool
    official: OfficialVerdict
    report: BenchReport | None
    simulate: ProcessResult | None = None
    output: str = ""
    trace: str | None = None
    traces: int = 0
    counted: int | None = None
    steps: tuple[str, ...] = ()
    tests: SlotResult | None = None
    full: bool = False
    alone: ProcessResult | None = None
    alone_log: str = ""

    @property
    def last(self) -> ProcessResult:
        """How the last tool of the flow ended."""
        return self.simulate or self.compile

    @property
    def last_log(self) -> str:
        """What the last tool of the flow said."""
        return self.output if self.simulate else self.compile_log

    @property
    def out_of_memory(self) -> bool:
        """The last tool said so, and died of it: the words alone could be the candidate's."""
        return self.last.returncode != 0 and bool(_OUT_OF_MEMORY.search(self.last_log))


@dataclass(frozen=True)
class Setting:
    """What every trial of one benchmark has in common."""

    toolchain: Toolchain
    rule: Rule


def run_trial(
    launcher: Launcher,
    setting: Setting,
    task: Task,
    source: str,
    sealed: SealedBench | None,
    *,
    slack: float = 1.0,
    cpu: float | None = None,
    bench_times_out: bool = False,
) -> Trial:
    """Compile ``source`` with the task's bench, or with the sealed form of it, and simulate.

    Args:
        launcher: where it runs.
        setting: how.
        task: the task.
        source: the candidate's text.
        sealed: the task's bench under seal.
        slack: CPU limits are multiplied by this.
        cpu: CPU seconds of the simulation; None for the limit of the launcher.
        bench_times_out: the bench reaches a time limit of its own, whatever the design does. A simulation that was
            ended at its mismatches would have met it.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    bench = sealed.bench if sealed else verilog_bench(task)
    done = launcher.run(_files(bench, source), _steps(launcher, setting.toolchain, bench, slack, cpu))
    log = done.printed.get("compile.log", "")
    if sealed:
        log = restore(sealed, log)  # what is reported is the same on every day
    compiled = compiler_end(done.steps[0], log)
    full = launcher.sandbox.holds and done.free < MIB
    if len(done.steps) == 2:
        trial = _simulated(setting.rule, bench, sealed, done, replace(_TRIAL, compile=compiled, full=full), log)
        if bench_times_out and trial.report is not None and trial.report.mismatches:
            return replace(trial, official=setting.rule.official(Transcript(log, compiled=True, timed_out=True)))
        return trial
    # Upstream flows go on whenever the compiler left a file; its exit status agrees with that.
    official = setting.rule.official(Transcript(log, compiled=False, timed_out=compiled.timed_out))
    trial = replace(_TRIAL, compile=compiled, compile_log=cut(log), official=official, full=full)
    if compiled.signal:
        return trial  # the compiler broke or ran into a limit, and would again
    alone, alone_log = compile_alone(launcher, setting.toolchain, bench.compile_flags, task.module, source)
    return replace(trial, alone=alone, alone_log=cut(alone_log))


def verilog_bench(task: Task) -> Testbench:
    """The oracle of a task that has a bench in Verilog.

    Raises:
        TypeError: it has another.
    """
    if not isinstance(task.oracle, Testbench):
        raise TypeError(f"{task.id} has no bench in Verilog")
    return task.oracle


_NOTHING = ProcessResult(None, 0, "", 0.0, 0.0, 0)
_TRIAL = Trial(_NOTHING, "", False, OfficialVerdict(False, ""), None)


def _files(bench: Testbench, source: str) -> dict[str, bytes]:
    return {
        **{item.name: item.data for item in bench.data_files},
        **{item.name: item.text.encode() for item in bench.sources},
        CANDIDATE: source.encode("utf-8", "replace"),
    }


def _steps(
    launcher: Launcher, toolchain: Toolchain, bench: Testbench, slack: float, cpu: float | None
) -> tuple[Step, Step]:
    files = [item.name for item in bench.sources]
    files.insert(0 if bench.candidate_first else len(files), CANDIDATE)
    root = ["-s", bench.top] if bench.top else []
    compiler = (*toolchain.iverilog, *bench.compile_flags, *root, "-o", _COMPILED, *files)
    # -n: $stop ends the simulation instead of waiting for a person. -none: dumping is off, as nobody reads it.
    simulator = (*toolchain.vvp, "-n", _COMPILED, "-none")
    limits = launcher.limits
    seconds = cpu or limits.simulate_cpu * slack
    return (
        Step(compiler, limits.compile_cpu * slack, "compile.log", makes=_COMPILED),
        Step(simulator, seconds, "stdout", "stderr" if bench.separate_stderr else None),
    )


def _simulated(
    rule: Rule, bench: Testbench, sealed: SealedBench | None, done: Done, trial: Trial, compile_log: str
) -> Trial:
    ran = done.steps[1]
    printed = done.printed["stdout"]
    opened = unseal(sealed, printed) if sealed else None
    transcript = Transcript(
        compile_log,
        compiled=True,
        stdout=opened.plain if opened else printed,
        stderr=done.printed["stderr"] if bench.separate_stderr else "",
        cpu=ran.cpu,
        # Upstream would wait for an endless flood until its own limit.
        timed_out=ran.timed_out or ran.too_much_output or ran.cpu > rule.seconds,
    )
    words = replace(transcript, stdout=opened.bench_lines) if opened else transcript
    return replace(
        trial,
        compile_log=cut(compile_log),
        compiled=True,
        official=rule.official(transcript),
        report=rule.report(words),
        simulate=ran,
        output=cut(transcript.stderr + transcript.stdout),
        trace=opened.trace if opened else None,
        traces=opened.traces if opened else 0,
        counted=opened.mismatches if opened else None,
        steps=opened.steps if opened else (),
    )


def compile_alone(
    launcher: Launcher, toolchain: Toolchain, flags: Sequence[str], module: str, source: str
) -> tuple[ProcessResult, str]:
    """The candidate without the bench, so that its own faults can be told from those of the meeting.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: the launcher or a tool was killed from outside.
    """
    argv = (*toolchain.iverilog, *flags, "-s", module, "-t", "null", CANDIDATE)
    files = {CANDIDATE: source.encode("utf-8", "replace")}
    done = launcher.run(files, [Step(argv, launcher.limits.compile_cpu, "alone.log")])
    log = done.printed["alone.log"]
    return compiler_end(done.steps[0], log), log


def compiler_end(result: ProcessResult, log: str) -> ProcessResult:
    """A part of the compiler that was killed counts as the compiler killed.

    Raises:
        Lost: it was killed from outside.
    """
    last = log.rstrip().rpartition("\n")[2].removesuffix(" (core dumped)")
    death = _DEATHS.get(last)
    if death is not None and result.returncode == 128 + death:
        result = replace(result, returncode=None, signal=int(death))
    elif death is not None and result.returncode and result.returncode > 128:
        # Two parts died one after the other; the status tells of the first.
        result = replace(result, returncode=None, signal=result.returncode - 128)
    if result.killed_from_outside:
        raise Lost
    return result


_PROBE = b'module probe; initial begin $display("%0d", 6 * 7); $finish; end endmodule\n'


def probe(launcher: Launcher, toolchain: Toolchain) -> None:
    """Compile and run a module that must work, so that a broken installation is not taken for broken candidates.

    Raises:
        VerievalError: it does not work, or not within the limits, or there is no room for what candidates may write.
        Lost: a tool was killed from outside.
    """
    limits = launcher.limits
    compiler = Step((*toolchain.iverilog, "-g2012", "-o", _COMPILED, CANDIDATE), limits.compile_cpu, makes=_COMPILED)
    simulator = Step((*toolchain.vvp, "-n", _COMPILED), limits.simulate_cpu)
    if not launcher.sandbox.holds:
        _check_room(launcher)
    done = launcher.run({CANDIDATE: _PROBE}, [compiler, simulator])
    log = done.printed["stdout"]
    compiler_end(done.steps[0], log)
    if len(done.steps) < 2 or not log.startswith("42\n"):
        said = next(iter(log.strip().splitlines()), "it says nothing")
        raise VerievalError(
            f"Icarus Verilog at {toolchain.iverilog[0]} fails on a one-line module, so the installation is broken or "
            f"the limits are too small: {said}"
        )


def _check_room(launcher: Launcher) -> None:
    try:
        state = os.statvfs(launcher.root)
    except FileNotFoundError as error:
        raise Lost from error
    free = state.f_bavail * state.f_frsize // MIB
    if free < launcher.limits.output_mib:
        raise VerievalError(
            f"the work folder {launcher.root.parent} has {free} MiB left, and one candidate may write "
            f"{launcher.limits.output_mib} MiB: free some space, or name another folder in TMPDIR"
        )


def cut(text: str) -> str:
    """Head and tail of a long text, with the number of characters left out between them."""
    if len(text) <= 2 * KEPT:
        return text
    return f"{text[:KEPT]}\n[... {len(text) - 2 * KEPT} characters ...]\n{text[-KEPT:]}"
