"""Every reader, on files that were cut, edited, or replaced: it reads them, or says in one sentence why not."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from damage import INSTEAD, changes, depths, edit, edits, fuzz, put, sentence, spoil
from material import FILES, JSON_FILES, MATERIAL

from verieval.benchmarks.structure import ports
from verieval.run import read_run


@pytest.mark.parametrize("name", MATERIAL)
def test_the_material_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    MATERIAL[name].write(tmp_path)
    MATERIAL[name].read(tmp_path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", INSTEAD)
@pytest.mark.parametrize(("name", "file"), FILES)
def test_something_else_in_the_place_of_a_file(name: str, file: str, kind: str, tmp_path: Path) -> None:
    """A pipe or a device keeps nobody waiting, and what is no file is named."""
    material = MATERIAL[name]
    material.write(tmp_path)
    put(tmp_path / file, kind)
    said = sentence(lambda: material.read(tmp_path))
    if kind in ("folder", "loop") and name == "folder":
        return  # folders may be called anything
    if kind in ("folder", "pipe", "socket", "endless", "loop", "sparse", "itself"):
        assert said is not None
        assert Path(file).name in said or Path(file).parent.name in said


@contextmanager
def somebody_else() -> Iterator[None]:
    """As root nothing is unreadable, so be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize(("name", "file"), FILES)
def test_what_may_not_be_read(name: str, file: str, what: str, open_folder: Path) -> None:
    material, top = MATERIAL[name], open_folder / "top"
    material.write(top)
    material.read(top)  # and imports what it needs while it may
    closed = top / file if what == "file" else (top / file).parent
    closed.chmod(0)
    with somebody_else():
        said = sentence(lambda: material.read(top))
    closed.chmod(0o755)
    assert said is not None


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_cut_anywhere(name: str, file: str, tmp_path: Path) -> None:
    material, path = MATERIAL[name], tmp_path / file
    material.write(tmp_path)
    data = material.files[file]
    read = read_run if name == "run" else material.read  # a report of every length would take its time
    step = 1 if file.endswith((".json", ".jsonl", ".gz", ".toml", ".j2")) else 7
    for length in range(0, len(data), step):
        path.write_bytes(data[:length])
        sentence(lambda: read(tmp_path))


@depths
@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_file_edited_anywhere(name: str, file: str, examples: int, tmp_path: Path) -> None:
    material, path = MATERIAL[name], tmp_path / file
    material.write(tmp_path)

    def damaged(todo: list[tuple[str, float, float, bytes]]) -> None:
        path.write_bytes(edit(material.files[file], todo))
        sentence(lambda: material.read(tmp_path))

    fuzz(damaged, edits, examples=examples)


def test_a_reference_nested_beyond_measure_has_no_known_ports() -> None:
    nested = "module t(input a, output y); assign y = " + "(" * 50_000 + "a" + ")" * 50_000 + "; endmodule"
    assert ports(nested, "t") == ()
    assert [port.name for port in ports(nested.replace("(" * 49_990, "").replace(")" * 49_990, ""), "t")] == ["a", "y"]


@depths
@pytest.mark.parametrize(("name", "file"), JSON_FILES)
def test_json_with_odd_values_anywhere(name: str, file: str, examples: int, tmp_path: Path) -> None:
    """Also of each row of JSONL: wrong types, huge numbers, keys twice or missing, nesting."""
    material, path = MATERIAL[name], tmp_path / file
    material.write(tmp_path)
    data = material.files[file]
    lines = [data] if file.endswith(".json") else data.splitlines()

    def damaged(todo: list[tuple[int, str, int]]) -> None:
        at = todo[0][0] % len(lines)
        spoiled = spoil(json.loads(lines[at]), todo)
        path.write_bytes(b"\n".join([*lines[:at], spoiled, *lines[at + 1 :]]) + b"\n")
        said = sentence(lambda: material.read(tmp_path))
        assert said is None or len(said) < 2000, "a sentence that nobody reads"

    fuzz(damaged, changes, examples=examples)
