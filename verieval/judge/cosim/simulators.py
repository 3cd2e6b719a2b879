"""The simulators that run cocotb benches: how each compiles a batch and runs it."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from verieval.errors import VerievalError
from verieval.judge.cache import cache_folder
from verieval.judge.cosim.batch import Batch, cocotb_bench
from verieval.judge.cosim.python import Python, find_python
from verieval.judge.process import Step
from verieval.judge.sandbox import Visible
from verieval.judge.toolchain import Toolchain
from verieval.task import hash_json

_MAIN = Path(__file__).with_name("verilator_main.cpp")
_SIMULATION = "simulation"
_FOLDERS = ("/usr", "/bin", "/lib", "/lib64")  # a C++ compiler and what it needs lie all over these


class Simulator(Protocol):
    """Compiles and runs batches."""

    @property
    def toolchain(self) -> Toolchain:
        """Icarus, which decides what compiles."""

    @property
    def name(self) -> str:
        """``icarus`` or ``verilator``, by which cocotb's library for it is called too."""

    @property
    def version(self) -> str:
        """Its version."""

    @property
    def four_state(self) -> bool:
        """It knows X and Z, so that an undriven output is seen as such."""

    @property
    def compile_factor(self) -> float:
        """Multiplies the time limit of the compiler."""

    def describe(self) -> dict[str, str]:
        """What it adds to the manifest's section ``toolchain``."""

    def needs(self) -> Visible:
        """What it needs in a sandbox."""

    def files(self) -> dict[str, bytes]:
        """Files of its own in the work folder."""

    def compiler(self, batch: Batch, cpu: float) -> Step:
        """Compile a batch within so many CPU seconds."""

    def run(self, python: Python) -> tuple[str, ...]:
        """The command that runs what was compiled."""


@dataclass(frozen=True)
class Icarus:
    """Icarus Verilog."""

    toolchain: Toolchain
    name: str = "icarus"
    four_state: bool = True
    compile_factor: float = 1.0

    @property
    def version(self) -> str:
        """The toolchain's."""
        return self.toolchain.version

    def describe(self) -> dict[str, str]:
        """Nothing: the toolchain is in the manifest anyway."""
        return {}

    def needs(self) -> Visible:
        """Nothing: the toolchain is visible anyway."""
        return Visible()

    def files(self) -> dict[str, bytes]:
        """A command file, since a directive would reach further than it should."""
        return {"flags.f": b"+timescale+1ns/1ps\n"}

    def compiler(self, batch: Batch, cpu: float) -> Step:
        """The slots come first, so that no directive of a candidate and nothing that it declares reaches them.

        All files are one compilation unit: Icarus 12 finds no type that stands outside the modules of one of several
        (-u). Candidates that are compiled together have nothing outside their modules and no directives.
        """
        flags = cocotb_bench(batch.task).compile_flags
        words = (*self.toolchain.iverilog, *flags, "-f", "flags.f", "-s", batch.top, "-o", _SIMULATION)
        return Step((*words, "slots.sv", *batch.files), cpu, "compile.log", makes=_SIMULATION)

    def run(self, python: Python) -> tuple[str, ...]:
        """Run it, with dumping off and without waiting for a person at `$stop`."""
        return (*self.toolchain.vvp, "-n", "-m", str(python.interface(self.name)), _SIMULATION, "-none")


@dataclass(frozen=True)
class Verilator:
    """Verilator: two states, so that what would be X is a random value, from the same seed in every run."""

    toolchain: Toolchain
    executable: str
    version: str
    library: Path
    objects: tuple[tuple[str, bytes], ...]
    name: str = "verilator"
    four_state: bool = False
    compile_factor: float = 20.0  # it translates to C++, which is then compiled

    def describe(self) -> dict[str, str]:
        """Its version."""
        return {"simulator": self.name, "verilator": self.version}

    def needs(self) -> Visible:
        """The system's folders, for the sake of the C++ compiler."""
        return Visible(tuple(Path(folder) for folder in _FOLDERS if Path(folder).exists()))

    def files(self) -> dict[str, bytes]:
        """The program around the design, and Verilator's own part of it, compiled already."""
        return {"main.cpp": _MAIN.read_bytes(), **dict(self.objects)}

    def compiler(self, batch: Batch, cpu: float) -> Step:
        """Translate and compile, without optimising: a simulation takes less time than that."""
        files = ("main.cpp", "slots.sv", *batch.files)
        words = _verilate(self.executable, self.library, batch.top, files, [name for name, _ in self.objects])
        return Step(words, cpu, "compile.log", makes=_SIMULATION)

    def run(self, python: Python) -> tuple[str, ...]:
        """Run it with random values where nothing was ever assigned."""
        return (f"./{_SIMULATION}", "+verilator+rand+reset+2", "+verilator+seed+1")


def find_simulator(name: str, toolchain: Toolchain) -> Simulator:
    """``icarus``, which is the toolchain itself, or ``verilator`` on PATH.

    Raises:
        VerievalError: there is none, or it does not run, or no C++ compiler is there.
    """
    if name == "icarus":
        return Icarus(toolchain)
    executable = shutil.which("verilator")
    if executable is None:
        raise VerievalError("verilator is not on PATH: install it (apt-get install verilator g++ make)")
    missing = [tool for tool in ("g++", "make") if shutil.which(tool) is None]
    if missing:
        raise VerievalError(f"Verilator needs {' and '.join(missing)}: apt-get install {' '.join(missing)}")
    done = subprocess.run([executable, "--version"], check=False, capture_output=True, text=True, errors="replace")
    match = re.match(r"Verilator (\S+)", done.stdout)
    if match is None:
        raise VerievalError(f"{executable} does not say its version, so it is not Verilator")
    library = find_python().interface("verilator").parent
    return Verilator(toolchain, executable, match[1], library, _objects(executable, done.stdout, library))


def _verilate(
    executable: str, library: Path, top: str, files: tuple[str, ...], objects: Iterable[str] = ()
) -> tuple[str, ...]:
    """The command that makes a simulation in the present folder, where ``objects`` lie compiled."""
    link = f"-Wl,-rpath,{library} -L{library} -lcocotbvpi_verilator"
    make = [f"-o {name}" for name in objects] + ["OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"]
    return (
        executable, "--cc", "--exe", "--build", "-j", "1", "-Mdir", ".", "--vpi", "--public-flat-rw", "-Wno-fatal",
        "--prefix", "Vtop", "--top-module", top, "--no-timing", "--timescale-override", "1ns/1ps",
        "--x-assign", "unique", "--x-initial", "unique", "-LDFLAGS", link, "-o", _SIMULATION,
        "-MAKEFLAGS", " ".join(make), *files,
    )  # fmt: skip


def _objects(executable: str, version: str, library: Path) -> tuple[tuple[str, bytes], ...]:
    """Verilator's runtime, compiled once for this installation: that takes four times as long as a design does.

    Raises:
        VerievalError: a trivial design cannot be compiled.
    """
    folder = cache_folder() / "verilator" / hash_json([executable, version, _MAIN.read_text()])[:16]
    kept = _read_objects(folder)
    if kept:
        return kept
    with tempfile.TemporaryDirectory() as work:
        Path(work, "main.cpp").write_bytes(_MAIN.read_bytes())
        Path(work, "trivial.sv").write_text("module trivial(input a, output b); assign b = a; endmodule\n")
        command = _verilate(executable, library, "trivial", ("main.cpp", "trivial.sv"))
        done = subprocess.run(command, check=False, cwd=work, capture_output=True, text=True, errors="replace")
        made = _read_objects(Path(work))
        if done.returncode != 0 or not made:
            words = next(
                (line for line in (done.stderr + done.stdout).splitlines() if "rror" in line), "it says nothing"
            )
            raise VerievalError(f"{executable} cannot make a simulation of a one-line module: {words}")
    _keep_objects(folder, made)
    return made


def _keep_objects(folder: Path, made: tuple[tuple[str, bytes], ...]) -> None:
    """All of them or none; a cache that cannot be written is only slow."""
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as work:
            whole = Path(work, folder.name)
            whole.mkdir()
            for name, content in made:
                (whole / name).write_bytes(content)
            whole.rename(folder)


def _read_objects(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """All parts of the runtime, or nothing."""
    found = sorted(folder.glob("verilated*.o"))
    names = {path.name for path in found}
    if not {"verilated.o", "verilated_vpi.o"} <= names:
        return ()
    return tuple((path.name, path.read_bytes()) for path in found)
