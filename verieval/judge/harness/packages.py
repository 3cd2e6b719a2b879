"""What a harness needs inside the sandbox beside the simulator: cocotb, pytest, and the container's folders."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from verieval.errors import VerievalError
from verieval.judge.cosim.python import Python, find_python
from verieval.judge.sandbox import WORK, Visible

_PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
INSIDE = Path(__file__).with_name("inside.py")
# Each job has a folder of its own; inside.py makes "view" lead to the present one.
LINKS = tuple((f"/{name}", f"{WORK}/view/{name}") for name in ("code", "src", "rundir"))


@dataclass(frozen=True)
class HarnessPython:
    """What a harness imports.

    Attributes:
        cocotb: cocotb and what it needs.
        pytest: version of pytest.
        packages: pytest and what it needs, folders and single files.
    """

    cocotb: Python
    pytest: str
    packages: tuple[Path, ...]

    @property
    def path(self) -> tuple[str, ...]:
        """Folders for PYTHONPATH."""
        return tuple(dict.fromkeys(str(folder.parent) for folder in (*self.cocotb.packages, *self.packages)))

    def visible(self) -> Visible:
        """What has to be readable."""
        python = self.cocotb
        return Visible((*python.visible(), *self.packages), tuple(python.binaries()), LINKS)


@cache
def find_harness_python() -> HarnessPython:
    """Cocotb and pytest as they are installed beside this package.

    Raises:
        VerievalError: one is missing or cannot work.
    """
    cocotb = find_python()
    try:
        installed = version("pytest")
    except PackageNotFoundError as error:
        raise VerievalError("CVDP's harnesses need pytest, which is not installed: `pip install pytest`") from error
    folders = []
    for name in _PACKAGES:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:
            raise VerievalError(f"pytest is not complete: its package {name} is missing; install it again")
        folders.append(Path(found.origin).parent if found.submodule_search_locations else Path(found.origin))
    # Both ask for their own versions.
    about = (path for name in ("pytest", "pluggy") for path in sorted(folders[0].parent.glob(f"{name}-*.dist-info")))
    return HarnessPython(cocotb, installed, (*folders, *about))
