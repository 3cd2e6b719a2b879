"""Finding Icarus: by prefix, by bin folder, by executable, by environment; and saying why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from verieval.errors import VerievalError
from verieval.judge import Toolchain, find_toolchain


def fake(folder: Path, says: str) -> Path:
    """A stand-in executable that answers ``-V``; named as such because no such Icarus is installed here."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("iverilog", "vvp"):
        script = folder / name
        script.write_text(f"#!/bin/sh\necho '{says}'\n")
        script.chmod(0o755)
    return folder / "iverilog"


def test_the_systems_own(toolchain: Toolchain) -> None:
    assert toolchain.major in (11, 12)
    assert Path(toolchain.iverilog[0]).is_absolute()
    assert toolchain.describe()["icarus"] == toolchain.version


def test_a_moved_installation_uses_its_own_compiler(icarus12: Toolchain) -> None:
    assert icarus12.major == 12
    if "/usr/bin" not in icarus12.iverilog[0]:
        assert icarus12.iverilog[1] == "-B"
        assert Path(icarus12.iverilog[2], "ivl").is_file()
        assert icarus12.vvp[1] == "-M"


@pytest.mark.parametrize("form", ["prefix", "bin", "executable"])
def test_forms(form: str, tmp_path: Path) -> None:
    executable = fake(tmp_path / "bin", "Icarus Verilog version 12.0 (stable) ()")
    where = {"prefix": tmp_path, "bin": tmp_path / "bin", "executable": executable}[form]
    found = find_toolchain(where)
    assert (found.version, found.release, found.iverilog) == ("12.0", "stable", (str(executable),))


def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bin", "Icarus Verilog version 13.0 (devel) (s20250101)")
    monkeypatch.setenv("VERIEVAL_ICARUS", str(tmp_path))
    assert find_toolchain().major == 13


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerievalError, match="no Icarus Verilog in"):
        find_toolchain(tmp_path / "nowhere")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("VERIEVAL_ICARUS", raising=False)
    with pytest.raises(VerievalError, match="iverilog is not on PATH: install Icarus"):
        find_toolchain()


def test_something_else(tmp_path: Path) -> None:
    fake(tmp_path / "bin", "Icarus Verilog version banana")
    with pytest.raises(VerievalError, match="is not Icarus Verilog"):
        find_toolchain(tmp_path)
    fake(tmp_path / "bin", "a compiler of another kind")
    with pytest.raises(VerievalError, match="is not Icarus Verilog"):
        find_toolchain(tmp_path)


def test_other_binaries_are_another_toolchain(tmp_path: Path) -> None:
    fake(tmp_path / "a" / "bin", "Icarus Verilog version 12.0 (stable) ()")
    fake(tmp_path / "b" / "bin", "Icarus Verilog version 12.0 (stable) (rebuilt)")
    assert find_toolchain(tmp_path / "a").binaries_sha256 != find_toolchain(tmp_path / "b").binaries_sha256
