"""A folder of Verilog files, named by task and sample.

Recognised are, relative to the folder, with ``T`` a task of the benchmark and ``N`` a number::

    T.sv                      sample 0              T_sampleN.sv, T_N.v, T-N.v      anywhere below the folder
    T/N.sv, T/sample_N.v      one folder a task     tN/T.v, sample_N/T.sv           one folder a sample

Numbers count from 0, or from 1 where the smallest in the whole folder is 1 (VerilogEval's ``_sample01``). A task whose
own name ends in a number (RTLLM's ``counter_12``) is recognised first. Case counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path, PurePath

from verieval.errors import VerievalError
from verieval.files import read_file

SUFFIXES = (".v", ".sv")

_AFTER_TASK = re.compile(r"(?P<task>.+?)(?:_sample_?|[_-])(?P<number>\d+)")
_NUMBER = re.compile(r"(?:(?:sample|generation|gen|run|trial|test|t)[_-]?)?(?P<number>\d+)")


@dataclass(frozen=True)
class CodeFile:
    """One Verilog file: ``name`` relative to the folder, ``task`` as it is named there."""

    name: str
    task: str
    sample: int
    data: bytes

    @property
    def text(self) -> str:
        """The code; bytes that are not UTF-8 (in comments, as a rule) become U+FFFD."""
        return self.data.decode("utf-8", "replace")


def read_folder(folder: Path, tasks: Container[str]) -> list[CodeFile]:
    """All Verilog files below ``folder``, in the order of their names; hidden files and folders are left out.

    Args:
        folder: where to look.
        tasks: names that a task may have.

    Raises:
        VerievalError: there is no Verilog file.
    """
    names = sorted(_verilog_files(folder))
    if not names:
        raise VerievalError(f"{folder} has neither completions.jsonl nor a .v or .sv file; give a run or such a folder")
    parsed = [parse_name(name, tasks) for name in names]
    numbers = [number for _, number in parsed if number is not None]
    base = 1 if numbers and min(numbers) == 1 else 0
    return [
        CodeFile(str(name), task, 0 if number is None else number - base, read_file(folder / name))
        for name, (task, number) in zip(names, parsed, strict=True)
    ]


def _verilog_files(folder: Path) -> list[PurePath]:
    found = []
    for parent, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        here = PurePath(parent).relative_to(folder)
        found += [here / name for name in files if name.endswith(SUFFIXES) and not name.startswith(".")]
    return found


def _refuse(error: OSError) -> None:
    """What is in a folder that cannot be listed must not be left out in silence."""
    raise VerievalError(f"{error.filename} cannot be read ({error.strerror}); change its permissions") from error


def parse_name(name: PurePath, tasks: Container[str]) -> tuple[str, int | None]:
    """Task and number of a file; the number is None where the name has none, and the task may be unknown."""
    stem, parent = name.stem, name.parent.name
    if stem in tasks:
        number = _NUMBER.fullmatch(parent)
        return stem, int(number["number"]) if number and parent not in tasks else None
    after = _AFTER_TASK.fullmatch(stem)
    if after and after["task"] in tasks:
        return after["task"], int(after["number"])
    alone = _NUMBER.fullmatch(stem)
    if alone and parent in tasks:
        return parent, int(alone["number"])
    return stem, None
