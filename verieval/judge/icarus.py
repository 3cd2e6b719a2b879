"""Compile and simulate one candidate with Icarus, and keep what there is to know about it.

This module collects evidence. What the evidence means is decided in :mod:`verieval.judge.classify`, from the evidence
alone, so that a verdict can be explained and tested without a simulator.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from verieval.errors import VerievalError
from verieval.judge.limits import MIB
from verieval.judge.process import Launcher, Lost, ProcessResult
from verieval.judge.rules import BenchReport, OfficialVerdict, Rule, Transcript
from verieval.judge.toolchain import Toolchain
from verieval.task import Testbench

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
class Evidence:
    """What compiling and simulating one candidate showed.

    ``alone`` tells of compiling it without the bench, tried only when the compiler refused it with the bench; None
    otherwise. Logs are cut in the middle; the official answer and the report were read before that.
    """

    compile: ProcessResult
    compile_log: str
    compiled: bool
    official: OfficialVerdict
    report: BenchReport | None
    simulate: ProcessResult | None = None
    output: str = ""
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


def gather(
    launcher: Launcher, toolchain: Toolchain, bench: Testbench, rule: Rule, source: str, module: str, name: str
) -> Evidence:
    """Compile ``source`` with ``bench`` and simulate, in a private folder that is gone afterwards.

    Raises:
        VerievalError: a tool cannot be started, or the folder cannot be written.
        Lost: the worker's launcher or a tool was killed from outside.
    """
    try:
        folder = launcher.folder(name)
        try:
            evidence = _gather(launcher, toolchain, bench, rule, source, module, folder)
            if not evidence.compiled or evidence.report is None or not evidence.report.verdicts:
                _check_space(folder)
            return evidence
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except (OSError, VerievalError) as error:
        if not launcher.root.is_dir():
            raise Lost from error  # somebody removed the work folder: begin again in a new one
        if isinstance(error, VerievalError):
            raise
        where = error.filename or launcher.root
        raise VerievalError(f"cannot use the work folder {where}: {error.strerror or error}") from error


_PROBE = 'module probe; initial begin $display("%0d", 6 * 7); $finish; end endmodule\n'


def probe(launcher: Launcher, toolchain: Toolchain) -> None:
    """Compile and run a module that must work, so that a broken installation is not taken for broken candidates.

    Raises:
        VerievalError: it does not work, or not within the limits, or there is no room for what candidates may write.
        Lost: a tool was killed from outside.
    """
    folder = launcher.folder("probe")
    try:
        _probe(launcher, toolchain, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _probe(launcher: Launcher, toolchain: Toolchain, folder: Path) -> None:
    state = os.statvfs(folder)
    free = state.f_bavail * state.f_frsize // MIB
    if free < launcher.limits.output_mib:
        raise VerievalError(
            f"the work folder {launcher.root.parent} has {free} MiB left, and one candidate may write "
            f"{launcher.limits.output_mib} MiB: free some space, or name another folder in TMPDIR"
        )
    (folder / CANDIDATE).write_text(_PROBE)
    compiled, log = _compile(launcher, [*toolchain.iverilog, "-g2012", "-o", _COMPILED, CANDIDATE], folder, "log")
    ran = None
    if compiled.returncode == 0:
        ran = launcher.run([*toolchain.vvp, "-n", _COMPILED], folder, cpu=launcher.limits.simulate_cpu)
        log = _read(folder / "stdout")
    if ran is None or not log.startswith("42\n"):
        said = next(iter(log.strip().splitlines()), "it says nothing")
        raise VerievalError(
            f"Icarus Verilog at {toolchain.iverilog[0]} fails on a one-line module, so the installation is broken or "
            f"the limits are too small: {said}"
        )


def _gather(
    launcher: Launcher, toolchain: Toolchain, bench: Testbench, rule: Rule, source: str, module: str, folder: Path
) -> Evidence:
    files = [item.name for item in bench.sources]
    files.insert(0 if bench.candidate_first else len(files), CANDIDATE)
    (folder / CANDIDATE).write_bytes(source.encode("utf-8", "replace"))
    for item in bench.sources:
        (folder / item.name).write_bytes(item.text.encode())
    root = ["-s", bench.top] if bench.top else []
    argv = [*toolchain.iverilog, *bench.compile_flags, *root, "-o", _COMPILED, *files]
    compiled, compile_log = _compile(launcher, argv, folder, "compile.log")
    # Upstream flows go on whenever the compiler left a file; its exit status agrees with that.
    if compiled.returncode != 0 or not (folder / _COMPILED).exists():
        official = rule.official(Transcript(compile_log, compiled=False, timed_out=compiled.timed_out))
        failed = Evidence(compiled, cut(compile_log), False, official, None)
        if compiled.signal:
            return failed  # the compiler broke or ran into a limit, and would again
        alone, alone_log = _compile_alone(launcher, toolchain, bench, module, folder)
        return replace(failed, alone=alone, alone_log=cut(alone_log))
    return _simulate(launcher, toolchain, bench, rule, folder, compiled, compile_log)


def _simulate(
    launcher: Launcher,
    toolchain: Toolchain,
    bench: Testbench,
    rule: Rule,
    folder: Path,
    compiled: ProcessResult,
    compile_log: str,
) -> Evidence:
    for item in bench.data_files:
        (folder / item.name).write_bytes(item.data)
    # -n: $stop ends the simulation instead of waiting for a person. -none: dumping is off, as nobody reads it.
    argv = [*toolchain.vvp, "-n", _COMPILED, "-none"]
    stderr = "stderr" if bench.separate_stderr else None
    ran = launcher.run(argv, folder, cpu=launcher.limits.simulate_cpu, stdout="stdout", stderr=stderr)
    transcript = Transcript(
        compile_log,
        compiled=True,
        stdout=_read(folder / "stdout"),
        stderr=_read(folder / "stderr") if stderr else "",
        cpu=ran.cpu,
        # Upstream would wait for an endless flood until its own limit.
        timed_out=ran.timed_out or ran.too_much_output or ran.cpu > rule.seconds,
    )
    return Evidence(
        compiled,
        cut(compile_log),
        True,
        rule.official(transcript),
        rule.report(transcript),
        simulate=ran,
        output=cut(transcript.stderr + transcript.stdout),
    )


def _check_space(folder: Path) -> None:
    """A tool that could not write its output fails like a faulty design does, and no tool says so.

    Raises:
        OSError: the disk of the work folder is full.
    """
    state = os.statvfs(folder)
    if state.f_bavail * state.f_frsize < MIB:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder.parent))


def _compile_alone(
    launcher: Launcher, toolchain: Toolchain, bench: Testbench, module: str, folder: Path
) -> tuple[ProcessResult, str]:
    """The candidate without the bench, so that its own faults can be told from those of the meeting."""
    argv = [*toolchain.iverilog, *bench.compile_flags, "-s", module, "-t", "null", CANDIDATE]
    return _compile(launcher, argv, folder, "alone.log")


def _compile(launcher: Launcher, argv: list[str], folder: Path, log: str) -> tuple[ProcessResult, str]:
    """Run the compiler; a part of it that was killed counts as the compiler killed."""
    result = launcher.run(argv, folder, cpu=launcher.limits.compile_cpu, stdout=log)
    text = _read(folder / log)
    last = text.rstrip().rpartition("\n")[2].removesuffix(" (core dumped)")
    death = _DEATHS.get(last)
    if death is not None and result.returncode == 128 + death:
        result = replace(result, returncode=None, signal=int(death))
    elif death is not None and result.returncode and result.returncode > 128:
        # Two parts died one after the other; the status tells of the first.
        result = replace(result, returncode=None, signal=result.returncode - 128)
    if result.killed_from_outside:
        raise Lost
    return result, text


def cut(text: str) -> str:
    """Head and tail of a long text, with the number of characters left out between them."""
    if len(text) <= 2 * KEPT:
        return text
    return f"{text[:KEPT]}\n[... {len(text) - 2 * KEPT} characters ...]\n{text[-KEPT:]}"


def _read(path: Path) -> str:
    """A log, whatever its bytes are: tools repeat what the candidate wrote."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
