"""The simulators that run cocotb benches: how each compiles a batch and runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from verieval.errors import VerievalError
from verieval.judge.cosim.batch import Batch, cocotb_bench
from verieval.judge.cosim.python import Python, find_python
from verieval.judge.process import Step
from verieval.judge.sandbox import Visible
from verieval.judge.toolchain import Toolchain

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
    def four_state(self) -> bool:
        """It knows X and Z, so that an undriven output is seen as such."""

    @property
    def compile_factor(self) -> float:
        """Multiplies the time limit of the compiler."""

    def describe(self) -> dict[str, str]:
        """What it adds to the manifest's section ``toolchain``."""

    def needs(self) -> Visible:
        """What it needs in a sandbox."""

    def files(self) -> dict[str, str]:
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

    def describe(self) -> dict[str, str]:
        """Nothing: the toolchain is in the manifest anyway."""
        return {}

    def needs(self) -> Visible:
        """Nothing: the toolchain is visible anyway."""
        return Visible()

    def files(self) -> dict[str, str]:
        """A command file, since a directive would reach further than it should."""
        return {"flags.f": "+timescale+1ns/1ps\n"}

    def compiler(self, batch: Batch, cpu: float) -> Step:
        """Each file is a compilation unit (-u), so that no candidate's declarations reach another's."""
        flags = cocotb_bench(batch.task).compile_flags
        words = (*self.toolchain.iverilog, *flags, "-u", "-f", "flags.f", "-s", batch.top, "-o", _SIMULATION)
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
    name: str = "verilator"
    four_state: bool = False
    compile_factor: float = 20.0  # it translates to C++, which is then compiled

    def describe(self) -> dict[str, str]:
        """Its version."""
        return {"simulator": self.name, "verilator": self.version}

    def needs(self) -> Visible:
        """The system's folders, for the sake of the C++ compiler."""
        return Visible(tuple(Path(folder) for folder in _FOLDERS if Path(folder).exists()))

    def files(self) -> dict[str, str]:
        """The program around the design."""
        return {"main.cpp": _MAIN.read_text()}

    def compiler(self, batch: Batch, cpu: float) -> Step:
        """Translate and compile, without optimising: a simulation takes less time than that."""
        link = f"-Wl,-rpath,{self.library} -L{self.library} -lcocotbvpi_verilator"
        words = (
            self.executable, "--cc", "--exe", "--build", "-j", "1", "--vpi", "--public-flat-rw", "--prefix", "Vtop",
            "--top-module", batch.top, "-Wno-fatal", "--no-timing", "--timescale-override", "1ns/1ps", "-O0",
            "--x-assign", "unique", "--x-initial", "unique", "-LDFLAGS", link, "-o", _SIMULATION,
            "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0",
        )  # fmt: skip
        return Step((*words, "main.cpp", "slots.sv", *batch.files), cpu, "compile.log", makes=f"obj_dir/{_SIMULATION}")

    def run(self, python: Python) -> tuple[str, ...]:
        """Run it with random values where nothing was ever assigned."""
        return (f"obj_dir/{_SIMULATION}", "+verilator+rand+reset+2", "+verilator+seed+1")


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
    return Verilator(toolchain, executable, match[1], find_python().interface("verilator").parent)
