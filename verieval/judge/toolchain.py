"""Which Icarus Verilog judges, and what its version means."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from verieval.errors import VerievalError

OLDEST = 11
_VERSION = re.compile(r"Icarus Verilog (?:runtime )?version (\d+(?:\.\d+)*)\S*(?: \(([^)]*)\))?")

# What a reader should know about a major version.
VERSION_NOTES = {
    10: "too old: its SystemVerilog support cannot compile the benches",
    11: "supported; VerilogEval v2 asks for 12, and two of its benches (Prob151, Prob156) do not compile here",
    12: "supported; the version that VerilogEval v2 asks for",
    13: "refuses use before declaration, so it compiles no VerilogEval v2 bench; such benchmarks are refused",
}


@dataclass(frozen=True)
class Toolchain:
    """An Icarus Verilog installation.

    Attributes:
        iverilog, vvp: command prefixes, absolute executable first.
        version: ``12.0``.
        release: the word behind it, ``stable``.
        library: Icarus's own folder, which holds the compiler proper; None where it was not found.
        binaries_sha256: content hash of both executables and the compiler proper; caches of what this
            installation did are keyed by it.
    """

    iverilog: tuple[str, ...]
    vvp: tuple[str, ...]
    version: str
    release: str
    binaries_sha256: str
    library: Path | None = None

    @property
    def major(self) -> int:
        """First number of the version."""
        return int(self.version.split(".")[0])

    def describe(self) -> dict[str, str]:
        """Manifest section ``toolchain``."""
        return {"icarus": self.version, "icarus_release": self.release, "icarus_sha256": self.binaries_sha256}

    def refuse(self, refused: dict[int, str], benchmark: str) -> None:
        """Raise where this version cannot judge ``benchmark``; ``refused`` maps major versions to the reason.

        Raises:
            VerievalError: it is too old, or the benchmark does not compile on it.
        """
        how = "; give another installation with --icarus (scripts/get-icarus12.sh makes one)"
        if self.major < OLDEST:
            raise VerievalError(f"Icarus Verilog {self.version} is {VERSION_NOTES[10]}{how}")
        reason = next((text for major, text in refused.items() if self.major >= major), None)
        if reason:
            raise VerievalError(f"Icarus Verilog {self.version} cannot judge {benchmark}: {reason}{how}")


def find_toolchain(icarus: Path | str | None = None) -> Toolchain:
    """The installation to judge with: ``icarus`` (a prefix, its ``bin`` or the executable), VERIEVAL_ICARUS, or PATH.

    A prefix that carries its compiler proper in ``lib/ivl`` is used with that one, wherever it was moved.

    Raises:
        VerievalError: there is none, or it does not run.
    """
    chosen = icarus or os.environ.get("VERIEVAL_ICARUS") or None
    iverilog = _executable(Path(chosen)) if chosen else _on_path("iverilog")
    vvp = iverilog.with_name("vvp")
    if not vvp.is_file():
        vvp = _on_path("vvp")
    ivl = _library(iverilog)
    moved = iverilog.parent != Path("/usr/bin") and ivl is not None and ivl.parent.name == "lib"
    version, release = _version(iverilog)
    binaries = [iverilog, vvp, *([ivl / "ivl"] if ivl else [])]
    return Toolchain(
        iverilog=(str(iverilog), "-B", str(ivl)) if moved else (str(iverilog),),
        vvp=(str(vvp), "-M", str(ivl)) if moved else (str(vvp),),
        version=version,
        release=release,
        binaries_sha256=_hash_files(binaries),
        library=ivl,
    )


def _library(iverilog: Path) -> Path | None:
    """Distributions keep it in a folder of the machine's architecture."""
    prefix = iverilog.parent.parent
    found = [prefix / "lib" / "ivl", prefix / "lib64" / "ivl", *sorted(prefix.glob("lib/*-linux-gnu*/ivl"))]
    return next((path for path in found if (path / "ivl").is_file()), None)


def _executable(path: Path) -> Path:
    for candidate in (path / "bin" / "iverilog", path / "iverilog", path):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.absolute()
    raise VerievalError(f"no Icarus Verilog in {path}: expected an executable bin/iverilog there")


def _on_path(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise VerievalError(
            f"{name} is not on PATH: install Icarus Verilog (apt-get install iverilog), or name one with --icarus DIR"
        )
    return Path(found).absolute()


def _version(iverilog: Path) -> tuple[str, str]:
    try:
        done = subprocess.run(
            [str(iverilog), "-V"], check=False, capture_output=True, text=True, errors="replace", timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VerievalError(f"{iverilog} does not run: {error}") from error
    match = _VERSION.search(done.stdout)
    if match is None:
        raise VerievalError(f"{iverilog} is not Icarus Verilog: its -V says nothing of a version")
    return match[1], match[2] or ""


def _hash_files(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
