"""Runs one pytest command of a harness, inside the sandbox: a script, in the folder of a job.

``job.json`` says what to run: ``{"files": {path: text}, "folders": [path, ...], "tools": {name: [word, ...]},
"commands": [[argument, ...], ...], "seed": number}``. Paths are relative to the folder, which the sandbox's ``/code``,
``/src`` and ``/rundir`` lead to through the link ``view`` beside it. The command's number is the only argument.

What comes back is written by trusted code alone: pytest's own results, and a list of what each pytest test left: the
results files of its simulations, whether there was anything to simulate, and the ends of log files.
"""

import importlib
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

_LOG = 8192  # bytes of each log
_WHERE = "VERIEVAL_PYTEST", "VERIEVAL_COCOTB"


def _lay_out(folder: Path, job: dict[str, Any]) -> None:
    for name in job["folders"]:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in job["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))
    for name, words in job["tools"].items():
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        path = folder / "tools" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
        path.chmod(0o700)


class Collector:
    """Notes after each pytest test what its simulations left."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[tuple[str, int]] = set()
        self.found: list[dict[str, Any]] = []

    def pytest_runtest_logfinish(self, nodeid: str, location: object) -> None:
        """Called by pytest when a test is over."""
        new = []
        for path in sorted(self._folder.rglob("*result*.xml")):
            mark = (str(path), path.stat().st_mtime_ns)
            if mark not in self._seen and path.is_file() and not path.is_symlink():
                self._seen.add(mark)
                new.append(path.read_text(errors="replace"))
        built = any(True for _ in self._folder.rglob("*.vvp"))
        logs = [path.read_bytes()[:_LOG].decode(errors="replace") for path in sorted(self._folder.rglob("*.log"))]
        self.found.append({"test": nodeid, "results": new, "built": built, "log": "\n".join(logs)})


def main(number: int) -> int:
    """Returns pytest's exit status."""
    folder = Path.cwd()
    job = json.loads((folder / "job.json").read_text())
    report, results = (folder / os.environ.pop(name) for name in _WHERE)
    if number == 0:
        _lay_out(folder, job)
        view = folder.parent / "view"
        view.unlink(missing_ok=True)
        view.symlink_to(folder)
    os.environ["PATH"] = f"{folder / 'tools'}:{os.environ['PATH']}"
    os.environ["HOME"] = str(folder)
    os.chdir("/code/rundir")
    os.environ["PWD"] = "/code/rundir"
    importlib.invalidate_caches()  # Python has looked for /src already
    import pytest

    random.seed(job["seed"])
    collector = Collector(folder)
    status = pytest.main([*job["commands"][number], f"--junitxml={report}"], plugins=[collector])
    results.write_text(json.dumps(collector.found))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
