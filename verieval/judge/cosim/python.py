"""The Python inside the simulator: where cocotb and its libraries are, and what a sandbox has to show of them."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from verieval.errors import VerievalError
from verieval.judge.sandbox import PYTHON, Visible
from verieval.task import Benchmark

_PACKAGES = ("cocotb", "cocotb_tools", "pygpi", "find_libpython")
RESULTS = "results.xml"
# Run inside the simulator, as modules `verieval_NAME`.
INSIDE = {name: Path(__file__).with_name(f"{name}.py") for name in ("start", "harness", "following")}

# cocotb imports pytest, for the sake of tests that use its matchers and of its rewriting of assertions. Benches here do
# neither, and pytest is no dependency of this package, so empty modules stand in for it.
STAND_INS = {
    "pytest.py": """\
class raises:
    class Exception(BaseException):
        pass


fail = skip = xfail = raises
""",
    # cocotb wants two exceptions of asyncio, a tenth of its start. The rest is loaded when somebody asks for it.
    "asyncio.py": """\
import importlib
import os

__package__ = __name__
__path__ = [os.path.join(os.path.dirname(os.__file__), __name__)]
from asyncio.exceptions import CancelledError, InvalidStateError


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if os.path.exists(f"{__path__[0]}/{name}.py"):
        return importlib.import_module(f"asyncio.{name}")
    del globals()["__getattr__"]
    exec(compile(open(f"{__path__[0]}/__init__.py").read(), "asyncio", "exec"), globals())
    return globals()[name]
""",
    "_pytest.py": """\
import sys
from types import ModuleType

__path__ = []
for name, content in {"assertion": {"install_importhook": None}, "config": {"Config": None}}.items():
    module = sys.modules[f"_pytest.{name}"] = ModuleType(f"_pytest.{name}")
    vars(module).update(content)
""",
}


@dataclass(frozen=True)
class Python:
    """What the simulator loads.

    Attributes:
        version: cocotb's.
        packages: folders of cocotb and what it imports.
        library: Python's shared library.
        extensions: folder of the standard library's compiled modules.
    """

    version: str
    packages: tuple[Path, ...]
    library: Path
    extensions: Path | None

    @property
    def site(self) -> Path:
        """Folder of cocotb's package."""
        return self.packages[0].parent

    def interface(self, simulator: str) -> Path:
        """The library that a simulator loads (``icarus``, ``verilator``)."""
        return self.packages[0] / "libs" / f"libcocotbvpi_{simulator}.so"

    def binaries(self) -> list[Path]:
        """Everything whose shared libraries have to be found."""
        extensions = sorted(self.extensions.glob("*.so")) if self.extensions else []
        return [self.library, *sorted((self.packages[0] / "libs").glob("*.so")), *extensions]

    def visible(self) -> list[Path]:
        """What has to be readable."""
        about = sorted(self.site.glob("cocotb-*.dist-info"))  # cocotb asks for its own version
        return [*self.packages, *about, self.library]

    def needs(self) -> Visible:
        """Both, for a sandbox."""
        return Visible(tuple(self.visible()), tuple(self.binaries()))

    def environment(self, top: str) -> dict[str, str]:
        """Variables that make a simulator run the harness on the root module ``top``."""
        return {
            "PYTHONPATH": f".:{self.site}",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            # What cocotb calls by default, after a word of ours, and without measuring its own coverage.
            "PYGPI_USERS": "verieval_start:prepare,cocotb.logging:_configure,"
            "cocotb._init:init_package_from_simulation,cocotb.regression:_run_regression",
            "COCOTB_TEST_MODULES": "verieval_harness",
            "COCOTB_TOPLEVEL": top,
            "COCOTB_RESULTS_FILE": "{secret}-" + RESULTS,
            "COCOTB_RANDOM_SEED": "1",
            "COCOTB_LOG_LEVEL": "CRITICAL",
            "COCOTB_REWRITE_ASSERTION_FILES": "",
            # As cocotb's own runner has it for these simulators.
            "COCOTB_TRUST_INERTIAL_WRITES": "1",
            "TOPLEVEL_LANG": "verilog",
            "PYGPI_PYTHON_BIN": PYTHON,
            "LIBPYTHON_LOC": str(self.library),
            "GPI_USERS": f"{self.library};{_entry_point()}",
        }


def needs(benchmark: Benchmark) -> Visible:
    """What the simulator needs in a sandbox beside itself to judge a benchmark.

    Raises:
        VerievalError: cocotb is needed, and is missing or cannot work.
    """
    if benchmark.uses_harness:
        from verieval.judge.harness.packages import find_harness_python

        return find_harness_python().visible()
    if not benchmark.uses_cocotb:
        return Visible()
    python = find_python()
    return python.needs()


@cache
def find_python() -> Python:
    """Cocotb as it is installed beside this package.

    Raises:
        VerievalError: it is missing, or this Python has no shared library.
    """
    try:
        installed = version("cocotb")
    except PackageNotFoundError as error:
        raise VerievalError("cocotb is not installed: install verieval again, or `pip install cocotb`") from error
    packages = [_folder(name) for name in _PACKAGES]
    import find_libpython

    library = find_libpython.find_libpython()
    if library is None:
        name = f"libpython{sysconfig.get_python_version()}"
        raise VerievalError(
            f"cocotb needs Python's shared library, and {PYTHON} has none (apt-get install {name}, or a Python built "
            "with --enable-shared)"
        )
    destination = sysconfig.get_config_var("DESTSHARED")
    extensions = Path(destination) if destination and Path(destination).is_dir() else None
    return Python(installed, tuple(packages), Path(os.path.realpath(library)), extensions)


def _folder(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise VerievalError(f"cocotb is not complete: its package {name} is missing; install it again")
    return Path(found.origin).parent


@cache
def _entry_point() -> str:
    from cocotb_tools.config import pygpi_entry_point

    return str(pygpi_entry_point())
