"""A run folder keeps every whole line, whatever happened to its last one, and damage elsewhere stays as it is."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path

import pytest
from damage import Edit, depths, edit, edits, fuzz, sentence
from material import COMPLETIONS, MANIFEST, MATERIAL, VERDICTS

from verieval.run import read_run
from verieval.run.store import RunStore

RUN = MATERIAL["run"]
ROWS = {"completions.jsonl": COMPLETIONS, "verdicts.jsonl": VERDICTS}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


@pytest.mark.parametrize("file", ROWS)
def test_a_run_that_was_cut_anywhere_goes_on_and_ends_as_if_it_had_not_been(file: str, tmp_path: Path) -> None:
    RUN.write(tmp_path)
    whole = RUN.files[file]
    last = whole.rstrip(b"\n").rfind(b"\n") - 2
    for length in (*range(0, last, 3), *range(last, len(whole) + 1)):
        (tmp_path / file).write_bytes(whole[:length])
        # A line that lacks nothing but its end is whole.
        kept = whole[: length + 1].count(b"\n")
        run = read_run(tmp_path)
        read = run.completions if file == "completions.jsonl" else run.verdicts
        assert list(read) == ROWS[file][:kept]
        assert (tmp_path / file).read_bytes() == whole[:length], "reading changed the file"
        with RunStore(tmp_path, MANIFEST) as store:
            held = store.completions if file == "completions.jsonl" else store.verdicts
            assert list(held.values()) == ROWS[file][:kept]
            if file == "completions.jsonl":
                store.append_completions(COMPLETIONS[kept:])
            else:
                for verdict in VERDICTS[kept:]:
                    store.append_verdict(verdict)
        assert contents(tmp_path) == RUN.files


@depths
@pytest.mark.parametrize("file", ROWS)
def test_a_damaged_line_is_named_and_nothing_is_touched(file: str, examples: int, tmp_path: Path) -> None:
    """Whatever stands in a line but the last: what is there is read whole, or no byte of the folder changes."""
    RUN.write(tmp_path)
    lines = RUN.files[file].splitlines(keepends=True)

    def damaged(todo: list[Edit]) -> None:
        at = len(todo) % (len(lines) - 1)
        line = edit(lines[at].rstrip(b"\n"), todo).replace(b"\n", b"")
        (tmp_path / file).write_bytes(b"".join([*lines[:at], line + b"\n", *lines[at + 1 :]]))
        before = contents(tmp_path)
        said = [sentence(lambda: read_run(tmp_path)), sentence(lambda: RunStore(tmp_path, MANIFEST).close())]
        assert contents(tmp_path) == before
        assert (said[0] is None) == (said[1] is None)
        if said[0] is not None:
            assert re.search(rf"{file}(:[1-4]: | holds sample )", said[0])

    fuzz(damaged, edits, examples=examples)


@depths
def test_a_damaged_manifest_is_never_written_over(examples: int, tmp_path: Path) -> None:
    RUN.write(tmp_path)

    def damaged(todo: list[Edit]) -> None:
        (tmp_path / "manifest.json").write_bytes(edit(RUN.files["manifest.json"], todo))
        before = contents(tmp_path)
        said = sentence(lambda: RunStore(tmp_path, MANIFEST).close())
        assert contents(tmp_path) == before
        if said is not None:
            assert str(tmp_path) in said

    fuzz(damaged, edits, examples=examples)


def test_a_file_that_grows_is_read_as_far_as_it_is(tmp_path: Path) -> None:
    """Readers meanwhile see whole rows only, never fewer than before, and no verdict without its completion."""
    RUN.write(tmp_path)
    for file in ROWS:
        (tmp_path / file).write_bytes(b"")
    done = threading.Event()

    def write() -> None:
        fds = {file: os.open(tmp_path / file, os.O_WRONLY | os.O_APPEND) for file in ROWS}
        for number in range(len(COMPLETIONS)):
            for file in ROWS:
                line = RUN.files[file].splitlines(keepends=True)[number]
                for start in range(0, len(line), 5):
                    os.write(fds[file], line[start : start + 5])
        for fd in fds.values():
            os.close(fd)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    counts = [(0, 0)]
    while not done.is_set() or counts[-1] != (len(COMPLETIONS), len(VERDICTS)):
        run = read_run(tmp_path)
        assert list(run.completions) == COMPLETIONS[: len(run.completions)]
        assert list(run.verdicts) == VERDICTS[: len(run.verdicts)]
        assert len(run.verdicts) <= len(run.completions)
        counts.append((len(run.completions), len(run.verdicts)))
    writer.join()
    assert counts == sorted(counts)
