"""What measurements share whose arms are processes of their own, each ending with its result as a line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run_arm(arm: str, command: Sequence[str], threads: int, environment: Mapping[str, str]) -> dict[str, Any]:
    """Run an arm with so many threads; where it fails, the measurement ends with what it said."""
    limits = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, env={**os.environ, **limits, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{arm} ended with {done.returncode}\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def environment(name: str, packages: Sequence[str], *, constraints: bool = False) -> Path:
    """Python of an environment in ``.tools`` with packages that are no dependencies here; made when it is not there.

    Args:
        name: of its folder.
        packages: what pip installs.
        constraints: to the versions of ``constraints.txt``, where that has them.
    """
    folder = ROOT / ".tools" / name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {' and '.join(packages)} into {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        limits = ["-c", str(ROOT / "constraints.txt")] if constraints else []
        subprocess.run([str(python), "-m", "pip", "install", "-q", *limits, *packages], check=True)
        (folder / "ready").touch()
    return python
