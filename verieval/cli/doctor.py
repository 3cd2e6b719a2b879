"""``verieval doctor``: every tool that is found, and what its version means."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verieval.cli.common import icarus_option, json_option
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from verieval.judge import Toolchain
    from verieval.judge.sandbox import Sandbox


@dataclass(frozen=True)
class Finding:
    """One tool: where it is, its version, what needs it, and what that version means. ``ok`` None is optional."""

    name: str
    ok: bool | None
    version: str
    where: str
    note: str


# Tools beside Icarus: executable, how to ask, what a missing one costs.
_TOOLS = (
    ("verilator", "--version", "runs benches in Python too, with --simulator verilator"),
    ("yosys", "-V", "synthesis and equivalence (--synth, --equiv), proofs of bench strength"),
)
# Python packages by the part that needs them; none is imported here.
_PACKAGES = (
    ("pyslang", True, "admits candidates, seals benches; required"),
    ("torch", False, "the hf engine (extra torch)"),
    ("transformers", False, "the hf engine (extra torch)"),
    ("peft", False, "LoRA adapters in the hf engine (extra torch)"),
)


@click.command(name="doctor")
@icarus_option
@json_option
def command(icarus: Path | None, as_json: bool) -> None:
    """Report every tool that is found and what its version means.

    Exit status 1 says that something that judging needs is missing or too old.
    """
    findings = [*_judging(icarus), *map(_tool, _TOOLS), *map(_package, _PACKAGES), *_benchmarks()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        from verieval.report.text import printable

        for finding in findings:
            mark = {True: "ok", False: "FAIL", None: "-"}[finding.ok]
            click.echo(printable(f"{mark:<5}{finding.name:<31}{finding.version:<18}{finding.note}".rstrip()))
    if any(finding.ok is False for finding in findings):
        click.get_current_context().exit(1)


def _judging(chosen: Path | None) -> list[Finding]:
    """Icarus and the sandbox, both tried: what an installation says of itself is not what it does."""
    from verieval.judge.limits import Limits
    from verieval.judge.sandbox import find_sandbox
    from verieval.judge.toolchain import find_toolchain

    try:
        found = find_toolchain(chosen)
        sandbox = find_sandbox(found, Limits().work_mib)
        icarus = _icarus(found, sandbox)
    except VerievalError as error:
        return [Finding("icarus", False, "", "", str(error))]
    if not sandbox.holds:
        lack = f"{sandbox.reason}; candidates run under resource limits alone: judge untrusted models in a container"
        return [icarus, Finding("sandbox", None, "none", "", lack), _cocotb(found)]
    use = "tools see themselves and a private work folder: no network, no environment, no /proc"
    return [icarus, Finding("sandbox", True, f"bubblewrap {sandbox.version}", sandbox.prefix[0], use), _cocotb(found)]


def _cocotb(found: Toolchain) -> Finding:
    from verieval.judge.cosim.python import find_python
    from verieval.judge.cosim.simulators import Icarus
    from verieval.judge.cosim.trial import Cosimulator, probe
    from verieval.judge.limits import Limits
    from verieval.judge.process import Launcher
    from verieval.judge.sandbox import find_sandbox

    use = "runs the project's own tasks"
    try:
        python = find_python()
        launcher = Launcher(Limits(), find_sandbox(found, Limits().work_mib, also=python.needs()))
        try:
            probe(launcher, Cosimulator(Icarus(found), python, "0"))
        finally:
            launcher.close()
    except VerievalError as error:
        return Finding("cocotb", False, "", "", str(error))
    return Finding("cocotb", True, python.version, str(python.packages[0]), use)


def _icarus(found: Toolchain, sandbox: Sandbox) -> Finding:
    from verieval.judge.icarus import probe
    from verieval.judge.limits import Limits
    from verieval.judge.process import Launcher
    from verieval.judge.toolchain import OLDEST, VERSION_NOTES

    launcher = Launcher(Limits(), sandbox)
    try:
        probe(launcher, found)
    finally:
        launcher.close()
    known = VERSION_NOTES.get(min(max(found.major, min(VERSION_NOTES)), max(VERSION_NOTES)), "")
    return Finding("icarus", found.major >= OLDEST, found.version, found.iverilog[0], known)


def _tool(entry: tuple[str, str, str]) -> Finding:
    name, ask, use = entry
    where = shutil.which(name)
    if where is None:
        return Finding(name, None, "not found", "", use)
    try:
        said = subprocess.run([where, ask], check=False, capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, None, "does not run", where, f"{use}; {error}")
    match = re.search(r"\d+(?:\.\d+)+", said.stdout + said.stderr)
    return Finding(name, None, match[0] if match else "unknown", where, use)


def _package(entry: tuple[str, bool, str]) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    name, required, use = entry
    try:
        return Finding(name, True if required else None, version(name), "", use)
    except PackageNotFoundError:
        return Finding(name, False if required else None, "not installed", "", use)


def _benchmarks() -> list[Finding]:
    from verieval import benchmarks

    findings = []
    for name in benchmarks.names():
        try:
            loaded = benchmarks.load(name)
        except VerievalError as error:
            if benchmarks.describe(name)["data"]:
                findings.append(Finding(name, None, "unusable data", "", str(error)))
            else:
                findings.append(Finding(name, None, "no data", "", f"'verieval bench show {name}' says what to clone"))
            continue
        unsupported = loaded.unsupported
        of = f" of {len(loaded.tasks) + len(unsupported)}" if unsupported else ""
        malformed = sum(item.malformed for item in unsupported)
        fault = f"; {malformed} not as published, see 'verieval bench show {name}'" if malformed else ""
        note = f"commit {loaded.commit or 'unknown'}{fault}"
        findings.append(Finding(name, None, f"{len(loaded.tasks)}{of} tasks", "", note))
    return findings
