"""Where an answer goes among a problem's files, and what a candidate is read together with."""

from __future__ import annotations

import re
from collections.abc import Mapping

from verieval.task import HarnessBench, Task
from verieval.verilog import mask

_DECLARED = re.compile(r"\b(?:macromodule|module|interface|package)\s+(?:automatic\s+|static\s+)?(\w+)")
FOLDERS = ("code/docs", "code/rtl", "code/rundir", "code/src", "code/verif", "rundir/harness", "src")


def harness_bench(task: Task) -> HarnessBench:
    """The oracle of a task that has such a one.

    Raises:
        TypeError: it has another.
    """
    if not isinstance(task.oracle, HarnessBench):
        raise TypeError(f"{task.id} has no harness")
    return task.oracle


def lay_out(bench: HarnessBench, source: str) -> dict[str, str]:
    """All files with a candidate in its place, by path.

    The candidate's whole text goes into the main target file. Other target files stay as the problem has them, unless
    the candidate declares one of their modules or packages: then they are empty, since an answer replaces whole files.
    """
    files = {item.name: item.text for item in (*bench.sources, *bench.context)}
    own = _declared(source)
    for name in bench.targets[1:]:
        if name in files or name in bench.rtl:
            before = files.get(name, "")
            files[name] = "" if own & _declared(before) else before
    return files | {bench.targets[0]: source}


def _declared(text: str) -> set[str]:
    return set(_DECLARED.findall(mask(text)))


def beside(files: Mapping[str, str], bench: HarnessBench) -> dict[str, str]:
    """What is compiled beside the main target file."""
    return {name: files[name] for name in bench.rtl if name != bench.targets[0] and name in files}
