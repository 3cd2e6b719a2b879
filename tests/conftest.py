"""Fixtures that several packages' tests share: benchmark data, toolchains, and caches of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from verieval.errors import VerievalError
from verieval.judge import Toolchain, find_toolchain

# Here, before any test or any library can start jax: meshes need devices, and a CPU can be several. What is compiled in
# a test runs once or twice, so it is compiled quickly.
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
    ).strip()
os.environ.setdefault("JAX_PLATFORMS", "cpu")

ROOT = Path(__file__).resolve().parent.parent
# Twenty-eight tasks with benches in Verilog, as the project's own suite once had them.
VERILOG_BENCHES = ROOT / "tests" / "verilog_benches"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: processes that collect must agree, and a packed file may hold the time."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test does reaches the user's cache, and no cached result hides a fault from a test."""
    monkeypatch.setenv("VERIEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of upstream checkouts: VERIEVAL_DATA, else ``../shared/benchmarks``; skips without it."""
    folder = Path(os.environ.get("VERIEVAL_DATA") or ROOT.parent / "shared" / "benchmarks")
    if not (folder / "verilog-eval").is_dir():
        pytest.skip("no benchmark data: set VERIEVAL_DATA to a folder of upstream checkouts")
    return folder


@pytest.fixture(scope="session")
def completions_dir(data_dir: Path) -> Path:
    """Published completions with official verdicts, beside the benchmark data; skips without them."""
    folder = data_dir.parent / "completions"
    if not folder.is_dir():
        pytest.skip("no published completions beside the benchmark data")
    return folder


def icarus(major: int) -> Toolchain:
    """The installation of one major version: PATH's, or the one that ``make icarus12`` leaves; skips without it."""
    places: list[Path | None] = [ROOT / ".tools" / f"icarus-{major}"] if major != 11 else []
    if shutil.which("iverilog"):
        places.append(None)
    for place in places:
        try:
            found = find_toolchain(place)
        except VerievalError:
            continue
        if found.major == major:
            return found
    pytest.skip(f"no Icarus Verilog {major} here")


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """Any supported installation, the system's first."""
    if not shutil.which("iverilog"):
        pytest.skip("no Icarus Verilog on PATH")
    return find_toolchain()


@pytest.fixture(scope="session")
def yosys_here() -> None:
    """Skips without yosys."""
    if not shutil.which("yosys"):
        pytest.skip("no yosys on PATH")


@pytest.fixture(scope="session")
def icarus11() -> Toolchain:
    """Icarus Verilog 11."""
    return icarus(11)


@pytest.fixture(scope="session")
def icarus12() -> Toolchain:
    """Icarus Verilog 12."""
    return icarus(12)


@pytest.fixture(scope="session", params=[11, 12])
def each_icarus(request: pytest.FixtureRequest) -> Toolchain:
    """Icarus Verilog 11, then 12."""
    return icarus(request.param)
