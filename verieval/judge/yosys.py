"""Yosys: which one there is, and running a script of it on hostile text, in the sandbox and under limits.

The one place that knows how yosys is called. :func:`run_yosys` runs commands on files, :func:`read_netlist` takes a
Verilog text to gates and flip-flops (:mod:`verieval.judge.netlist`), and neither raises for what a text does: a text
that yosys refuses, hangs on or breaks on is an answer too.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from verieval.errors import VerievalError
from verieval.judge.limits import Limits
from verieval.judge.netlist import Netlist, NotANetlist, parse_netlist
from verieval.judge.process import Launcher, ProcessResult, Step
from verieval.judge.sandbox import PYTHON, Visible
from verieval.judge.undefined import WORDS
from verieval.verilog import blank_comments

DESIGN = "design.sv"
_WORDS = "words.v"
_CONFIGURED = "configured"  # a module around the design that gives it parameters, and its file
# Raised whenever a script changes in a way that could change an answer; it stands beside yosys's version.
SCRIPTS = 4

_VERSION = re.compile(r"Yosys (\d+\.\d+\S*)")
_ERROR = re.compile(r"ERROR: (.*)")
_OUT_OF_MEMORY = re.compile(r"bad_alloc|out of memory|Cannot allocate memory", re.IGNORECASE)
_ALWAYS_COMB = re.compile(r"""(?P<other>"(?:[^"\\\n]|\\.)*+"|\\\S++)|(?<![\w$`.])always_comb(?![\w$])""")
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_AS_A_SIMULATOR = "-sv -defer -nosynthesis -D__ICARUS__=1 -noassert -noassume -nodpi"
# Around the text in what `read_verilog -ppdump` says, and what prints that.
_DUMP, _DUMPED = "-- Verilog code after preprocessor --", "-- END OF DUMP --"
_SHOW = "import sys; sys.stdout.write(open('expanded', errors='replace').read(1 << 20))"
_LONGEST = 300  # characters of a reason

Ending = Literal["ok", "refused", "timeout", "resource", "crash"]


@dataclass(frozen=True)
class Yosys:
    """A yosys installation.

    Attributes:
        yosys, abc: absolute executables. ``abc`` is the logic optimiser and prover that comes with yosys.
        version: ``0.23``.
        binaries_sha256: content hash of both.
        share: folder of its libraries.
    """

    yosys: str
    abc: str
    version: str
    binaries_sha256: str
    share: str

    def describe(self) -> dict[str, Any]:
        """What can change an answer, for manifests and rows."""
        return {"yosys": self.version, "yosys_sha256": self.binaries_sha256, "scripts": SCRIPTS}

    def needs(self) -> Visible:
        """What :func:`verieval.judge.sandbox.find_sandbox` has to make visible."""
        # Yosys finds its libraries by where it lies itself, which it reads in /proc; the sandbox has none.
        binaries = tuple(map(Path, dict.fromkeys((self.yosys, self.abc, os.path.realpath(self.abc)))))
        return Visible((*binaries, Path(self.share)), binaries, (("/proc/self/exe", self.yosys),))


def find_yosys(chosen: Path | str | None = None) -> Yosys:
    """The installation to use: ``chosen`` (the executable or its folder), VERIEVAL_YOSYS, or the one on PATH.

    Raises:
        VerievalError: there is none, or it does not run, or its prover is missing.
    """
    named = chosen or os.environ.get("VERIEVAL_YOSYS") or None
    path = Path(named) / "yosys" if named and Path(named).is_dir() else Path(named or shutil.which("yosys") or "")
    if not path.is_file():
        where = f"{named} is no yosys" if named else "yosys is not on PATH"
        raise VerievalError(f"{where}: install it (apt-get install yosys), or name one in VERIEVAL_YOSYS")
    return _inspect(str(path.absolute()))


@cache
def _inspect(path: str) -> Yosys:
    """Cached: hashing the executables takes longer than a small proof."""
    try:
        said = subprocess.run([path, "-V"], check=False, capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VerievalError(f"{path} does not run: {error}") from error
    match = _VERSION.search(said.stdout)
    if match is None:
        raise VerievalError(f"{path} is not yosys: its -V says nothing of a version")
    abc = Path(path).with_name("yosys-abc")
    if not abc.is_file():
        raise VerievalError(f"{abc} is missing: install the whole of yosys, its prover yosys-abc included")
    share = Path(path).resolve().parent.parent / "share" / "yosys"
    digest = hashlib.sha256(Path(path).read_bytes() + abc.read_bytes()).hexdigest()
    return Yosys(path, str(abc), match[1], digest, str(share))


@dataclass(frozen=True)
class Answer:
    """How a run of yosys, or of its prover, ended.

    Attributes:
        kind: ``ok``; ``refused``: yosys gave an error; ``timeout``, ``resource`` (memory, output): a limit; ``crash``.
        reason: one sentence; empty where it is ok.
        output: what it printed to standard output.
        cpu: CPU seconds.
    """

    kind: Ending
    reason: str
    output: str
    cpu: float


def run_yosys(
    launcher: Launcher, yosys: Yosys, files: Mapping[str, str], commands: Sequence[str], *, cpu: float | None = None
) -> Answer:
    """Run ``commands`` on ``files`` in an empty folder. Its log is off, so its output is what commands print.

    Args:
        launcher: where it runs; its sandbox must know :meth:`Yosys.needs`.
        yosys: the installation.
        files: texts by name.
        commands: of the script. Names that come from a text must go through :func:`quote`.
        cpu: CPU seconds; None for the launcher's ``compile_cpu``.

    Raises:
        VerievalError: yosys cannot be started, or the work folder cannot be used.
        Lost: it was killed from outside.
    """
    script = "\n".join(commands) + "\n"
    laid = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    step = Step((yosys.yosys, "-Q", "-T", "-q", "-s", "script.ys"), cpu or launcher.limits.compile_cpu, "out", "err")
    done = launcher.run({**laid, "script.ys": script.encode()}, [step])
    ended, errors = done.steps[0], done.printed["err"]
    kind, reason = _how_it_ended(ended, errors, launcher.limits)
    return Answer(kind, reason, done.printed["out"], ended.cpu)


def _how_it_ended(ended: ProcessResult, errors: str, limits: Limits) -> tuple[Ending, str]:
    if ended.returncode == 0:
        return "ok", ""
    if ended.timed_out:
        return "timeout", "yosys ran into its time limit"
    if ended.too_much_output:
        return "resource", f"yosys wrote more than {limits.output_mib} MiB"
    if _OUT_OF_MEMORY.search(errors) or (ended.signal == signal.SIGABRT and not _ERROR.search(errors)):
        return "resource", f"yosys ran out of its {limits.memory_mib} MiB of memory"
    said = _ERROR.search(errors)
    if said:
        return "refused", " ".join(said[1].split())[:_LONGEST]
    return "crash", f"yosys ended by signal {ended.signal}" if ended.signal else "yosys ended without a word"


def preprocess(launcher: Launcher, yosys: Yosys, source: str) -> str:
    """A text as yosys's preprocessor leaves it, macros expanded; empty where it cannot be had.

    Raises:
        VerievalError: yosys cannot be started, or the work folder cannot be used.
        Lost: it was killed from outside.
    """
    command = f"tee -q -o expanded read_verilog -ppdump {_AS_A_SIMULATOR} {DESIGN}"
    read = Step((yosys.yosys, "-Q", "-T", "-q", "-p", command), launcher.limits.compile_cpu, "out", makes="expanded")
    show = Step((PYTHON, "-I", "-S", "-c", _SHOW), launcher.limits.compile_cpu, "text")
    done = launcher.run({DESIGN: hide(source).encode("utf-8", "replace")}, [read, show])
    return done.printed.get("text", "").partition(_DUMP)[2].rpartition(_DUMPED)[0]


def quote(name: str) -> str:
    """A name of Verilog as a script has it.

    Raises:
        VerievalError: it is none that a script could hold.
    """
    if not _SIMPLE.fullmatch(name):
        raise VerievalError(f"yosys cannot be asked for a module named {name!r}; only simple names are supported")
    return name


def reading(module: str, parameters: Mapping[str, int] | None = None) -> list[str]:
    """Commands that read :func:`design`'s files as a simulator would, elaborate ``module``, and write it.

    The macros are the simulator's, so that the text cannot show yosys another design than that.
    """
    read = f"read_verilog {_AS_A_SIMULATOR}"
    elaborate = [f"{read} {DESIGN}", f"hierarchy -check -top {quote(module)}"]
    if parameters:
        elaborate = [
            f"{read} {DESIGN}",
            f"{read} {_CONFIGURED}.sv",
            f"hierarchy -check -top {_CONFIGURED}",
            f"delete {_CONFIGURED}",
            "hierarchy -check -auto-top",  # what was inside, under a name of yosys's
            f"rename -top {module}",
        ]
    return [*elaborate, "proc -noopt", "flatten", "write_json"]


def design(source: str, module: str, parameters: Mapping[str, int] | None = None) -> dict[str, str]:
    """The files that :func:`reading` reads. Parameters are given by an instance, as a bench does.

    ``hierarchy -chparam`` would give them without a sign, so that a comparison with one could be another.
    """
    files = {DESIGN: hide(source)}
    if parameters:
        given = ", ".join(f".{quote(name)}({value})" for name, value in parameters.items())
        files[f"{_CONFIGURED}.sv"] = f"module {_CONFIGURED};\n  {quote(module)} #({given}) dut ();\nendmodule\n"
    return files


# Down to gates, flip-flops and latches. Nothing here uses an x as a freedom: what is undefined stays undefined. No
# `opt_expr` is among them: with -keepdc, too, it makes 0 of `s & ~s`, which is x where nothing defines s.
_TO_GATES = (
    f"techmap -max_iter 1 -map {_WORDS}",
    "opt_clean",
    "memory_map",
    "opt_clean",
    "techmap",
    "dffunmap",
    "simplemap",
    "opt_clean",
    "setattr -unset src",  # a fifth of the output
    "write_json",
)


@dataclass(frozen=True)
class Read:
    """A text as gates, or why there is no netlist of it: ``answer`` says how yosys ended."""

    netlist: Netlist | None
    answer: Answer


def read_netlist(
    launcher: Launcher,
    yosys: Yosys,
    source: str,
    module: str,
    parameters: Mapping[str, int] | None = None,
    *,
    cpu: float | None = None,
) -> Read:
    """Take a Verilog text to gates and flip-flops.

    Args:
        launcher: where yosys runs.
        yosys: the installation.
        source: the text.
        module: its top module.
        parameters: of the top module; the others have the text's defaults.
        cpu: CPU seconds; None for the launcher's ``compile_cpu``.

    Raises:
        VerievalError: yosys cannot be started, or ``module`` is no simple name.
        Lost: it was killed from outside.
    """
    files, commands = design(source, module, parameters), [*reading(module, parameters), *_TO_GATES]
    answer = run_yosys(launcher, yosys, {**files, _WORDS: WORDS}, commands, cpu=cpu)
    if answer.kind != "ok":
        return Read(None, answer)
    try:
        return Read(parse_netlist(answer.output, module), answer)
    except NotANetlist as error:
        return Read(None, Answer("refused", str(error), "", answer.cpu))


def hide(source: str) -> str:
    """The text without what yosys obeys and a simulator does not: its own macro, and orders in comments.

    ``always_comb`` becomes ``always @*``, as yosys gives up on one that holds a value, and a simulator does not. Lines
    keep their numbers.
    """
    return "`undef YOSYS " + _ALWAYS_COMB.sub(lambda match: match["other"] or "always @*", blank_comments(source))
