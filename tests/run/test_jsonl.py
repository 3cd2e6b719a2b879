"""Append-only files: torn lines, failing writes, odd text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from verieval.errors import VerievalError
from verieval.run.jsonl import JsonlWriter, encode_row, load_json, read_rows, write_atomically


def rows(path: Path) -> list[dict[str, object]]:
    return [row for _, row in read_rows(path)]


@pytest.mark.parametrize("text", ["\ud800 lone", "\x00", "a\u2028b\u0085c", "\r\n\t", "\N{SNOWMAN}", "", "x" * 200_000])
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    with JsonlWriter(tmp_path / "a") as writer:
        writer.append([{"text": text}, {"text": "next"}])
    assert rows(tmp_path / "a") == [{"text": text}, {"text": "next"}]
    assert (tmp_path / "a").read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("torn", [b"{", b'{"a": 1', b'{"a": 1}}', b"\x00" * 5000, b'{"text": "' + b"x" * 200_000])
def test_an_unfinished_last_line_is_cut(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(encode_row({"n": 1}) + torn)
    with JsonlWriter(path) as writer:
        writer.append([{"n": 2}])
    assert rows(path) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("tail", [b'{"n": 2}', b'{"n": 2} ', b'{"n": 2}\t'])
def test_a_line_that_lacks_only_its_newline_is_kept(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(encode_row({"n": 1}) + tail)
    assert [row for _, row in read_rows(path, torn=True)] == [{"n": 1}, {"n": 2}]
    with JsonlWriter(path) as writer:
        writer.append([{"n": 3}])
    assert rows(path) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_lines_that_end_in_carriage_returns_are_damage_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"n": 1}\r{"n": 2}\r')
    with pytest.raises(VerievalError, match="a:1: this line is not JSON"):
        list(read_rows(path, torn=True))
    assert path.read_bytes() == b'{"n": 1}\r{"n": 2}\r'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 101 + "]" * 101, "nested more than 100 deep"),
        ("[" * 100_000, "recursion"),
        ("1e999", "1e999 is beyond every number"),
        ("-1" + "0" * 40, "is beyond every number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'the key "c" stands twice'),
    ],
)
def test_json_that_nothing_after_it_could_take(text: str, words: str) -> None:
    with pytest.raises((ValueError, RecursionError), match=re.escape(words)):
        load_json(text.encode())


def test_json_as_it_may_be() -> None:
    text = "[" * 100 + str(-(10**38)) + "]" * 100
    assert json.dumps(load_json(text.encode())) == text
    assert load_json(b'{"a": 1.5e3, "A": {"a": 2}}') == {"a": 1500.0, "A": {"a": 2}}


def test_a_file_of_one_torn_line_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'{"half')
    JsonlWriter(tmp_path / "a").close()
    assert (tmp_path / "a").read_bytes() == b""


def test_a_reader_leaves_a_torn_line_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(encode_row({"n": 1}) + b'{"n"')
    assert [row for _, row in read_rows(path, torn=True)] == [{"n": 1}]
    assert path.read_bytes().endswith(b'{"n"')
    with pytest.raises(VerievalError, match=r"a:2: this line is not JSON"):
        rows(path)


def test_damage_elsewhere_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"n": 1}\n{"n": \n{"n": 3}\n')
    with pytest.raises(VerievalError, match=r"a:2: this line is not JSON"):
        list(read_rows(path, torn=True))
    path.write_bytes(b'{"n": 1}\n[2]\n')
    with pytest.raises(VerievalError, match=r"a:2: expected a JSON object, found list"):
        list(read_rows(path, torn=True))


LIMITED = """
import resource, sys
from pathlib import Path
from verieval.run.jsonl import JsonlWriter
if sys.argv[2] == "go on":
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
writer = JsonlWriter(Path(sys.argv[1]))
for i in range(100):
    try:
        writer.append([{"i": i, "pad": "x" * 300}])
    except OSError as error:
        print(i, error.errno, error.filename)
        break
writer.append([{"small": 1}]) if sys.argv[2] == "go on" else writer.close()
"""


def test_a_row_that_does_not_fit_leaves_no_part(tmp_path: Path) -> None:
    """The size limit makes the kernel write a part of the row and then refuse, as a full disk does."""
    path = tmp_path / "a"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), "go on"], capture_output=True, text=True, check=True
    )
    count, _, name = done.stdout.split()
    assert name == str(path)
    assert 0 < path.stat().st_size <= 5000
    assert rows(path) == [*({"i": i, "pad": "x" * 300} for i in range(int(count))), {"small": 1}]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_leaves_no_part(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("this machine does not let a test mount a file system")
    try:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, str(disk / "a"), "close"], capture_output=True, text=True, check=True
        )
        assert len(rows(disk / "a")) == int(done.stdout.split()[0]) > 0
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_an_atomic_write_leaves_the_old_file_where_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]
