"""What can happen to a file: strategies that damage bytes and JSON, and things put in a file's place."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verieval.errors import VerievalError

# Every property is tried on a hundred inputs a file, always the same ones, and under `slow` on thousands.
depths = pytest.mark.parametrize(
    "examples", [pytest.param(100, id="usual"), pytest.param(4000, id="deep", marks=pytest.mark.slow)]
)


def fuzz(body: Callable[..., None], *strategies: st.SearchStrategy[Any], examples: int) -> None:
    """Run ``body`` on that many examples."""
    options = settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
    options(given(*strategies)(body))()


def sentence(call: Callable[[], object]) -> str | None:
    """The one sentence that a call ends in, or None where it succeeds; any other exception fails the test."""
    try:
        call()
    except VerievalError as error:
        said = str(error)
        assert said.strip(), "an error without words"
        return said
    return None


# ---- bytes ----------------------------------------------------------------------------------------------------------

INSERTS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\xed\xa0\x80", b"\xc3", b"\\ud800", b'"', b"\\", b"'",
    b"`", b"{", b"}", b"[", b"]", b",", b":", b"/*", b"*/", b"//", b"#", b"=", b"{% for %}", b"{{", b"}}", b'"""',
    b"\x1b[2J", b"NaN", b"-Infinity", b"1e999", b"-1", b"null", b"true", b"1979-05-27", b"a.b.c = 1\n", b"a = 1\n",
    b"[[erratum]]\n", b"endmodule\n", b"module x;\n", b"[" * 3000, b"{" * 3000, b'{"a":' * 3000, b"(" * 3000,
    b"9" * 5000, b"x" * 100_000, b"\n" * 5000,
)  # fmt: skip

Edit = tuple[str, float, float, bytes]
_POSITIONS = st.floats(0, 1)
_EDITS: st.SearchStrategy[Edit] = st.tuples(
    st.sampled_from(
        ("cut", "drop", "flip", "insert", "repeat", "swap", "crlf", "cr", "bom", "utf16", "utf8", "line", "join")
    ),
    _POSITIONS,
    _POSITIONS,
    st.sampled_from(INSERTS) | st.binary(min_size=1, max_size=3),
)
edits = st.lists(_EDITS, min_size=1, max_size=4)


def edit(data: bytes, changes: list[Edit]) -> bytes:
    """``data`` after the changes, one after the other."""
    for name, first, second, new in changes:
        start, end = sorted((round(first * len(data)), round(second * len(data))))
        lines = data.splitlines(keepends=True)
        at = min(int(first * len(lines)), len(lines) - 1) if lines else 0
        to = min(int(second * len(lines)), len(lines) - 1) if lines else 0
        if name == "cut":
            data = data[:start]
        elif name == "drop":
            data = data[:start] + data[end:]
        elif name == "flip" and start < len(data):
            data = data[:start] + bytes([data[start] ^ new[0] or 0x80]) + data[start + 1 :]
        elif name == "insert":
            data = data[:start] + new + data[start:]
        elif name == "repeat":
            data = data[:end] + data[start:]
        elif name == "swap" and lines:
            lines[at], lines[to] = lines[to], lines[at]
            data = b"".join(lines)
        elif name == "line" and lines:
            data = b"".join([*lines[:at], lines[to], *lines[at:]])
        elif name == "join":
            data = b"".join([*lines[:at], lines[at].rstrip(b"\r\n"), *lines[at + 1 :]]) if lines else data
        elif name == "crlf":
            data = data.replace(b"\n", b"\r\n")
        elif name == "cr":
            data = data.replace(b"\n", b"\r")
        elif name == "bom":
            data = b"\xef\xbb\xbf" + data
        elif name == "utf16":
            data = data.decode("utf-8", "replace").encode("utf-16")
        elif name == "utf8":
            data = data.decode("latin-1").encode()
    return data


# ---- JSON -----------------------------------------------------------------------------------------------------------


class Raw(str):
    """Text that stands in JSON as it is, without quotes."""


def nested(depth: int) -> Raw:
    return Raw("[" * depth + "]" * depth)


# Values for any place in a document: every type, and what one may not expect of it.
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, -0.0, 2**63, 10**39, Raw("1" + "0" * 400), Raw("-1" + "0" * 5000), Raw("1e400"),
    Raw("NaN"), Raw("-Infinity"), Raw("0.1e-999"), "", "x", "\ud800", "\x00", "a\nb", "\x1b[2J", "\u202e", "x" * 20_000,
    "../../etc", [], [[]], {}, {"a": []}, {"": None}, [None], ["x"], [1, "x"], nested(90), nested(101), nested(20_000),
    Raw('{"a":1,"a":2}'), Raw(""), Raw("{"), Raw("'x'"),
)  # fmt: skip

Change = tuple[int, str, int]
changes = st.lists(
    st.tuples(
        st.integers(0, 500),
        st.sampled_from(("value", "value", "value", "drop", "twice", "key")),
        st.integers(0, len(ODD) - 1),
    ),
    min_size=1,
    max_size=3,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, itself included."""
    found = [path]
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        found += places(item, (*path, key))
    return found


def spoil(document: Any, todo: list[Change]) -> bytes:
    """The document as JSON text, with each change made at the place that its number picks."""
    document = json.loads(json.dumps(document))
    for number, kind, odd in todo:
        spots = places(document)
        path = spots[number % len(spots)]
        if not path:
            document = deepcopy(ODD[odd]) if kind == "value" else document
            continue
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        if kind == "drop":
            del parent[path[-1]]
        elif kind == "value" or isinstance(parent, list):
            parent[path[-1]] = deepcopy(ODD[odd])
        elif kind == "twice":
            parent[Again(str(path[-1]))] = deepcopy(ODD[odd])
        else:
            parent[f"{path[-1]}\n\ud800"] = parent.pop(path[-1])
        document = document if isinstance(document, dict | list) else [document]
    return as_json(document).encode("utf-8", "surrogatepass")


class Again:
    """A key that stands in an object a second time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


def as_json(value: Any) -> str:
    """JSON text, also of what no JSON should hold."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        keys = map(str, value)
        return "{" + ",".join(f"{json.dumps(k)}:{as_json(v)}" for k, v in zip(keys, value.values(), strict=True)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    return json.dumps(value)


# ---- things in a file's place ---------------------------------------------------------------------------------------


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


# Name -> how it is made where a file was. None of them may keep a reader waiting.
INSTEAD: dict[str, Callable[[Path], None]] = {
    "nothing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b" \n\n\t\n"),
    "nul": lambda path: path.write_bytes(bytes(4096)),
    "folder": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "socket": _socket,
    "dangling": _link("nowhere"),
    "itself": lambda path: path.symlink_to(path.name),
    "endless": _link("/dev/zero"),
    "terminal": _link("/dev/tty"),
    "null": _link("/dev/null"),
    "loop": _link("."),
    "sparse": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 2**42),
}


def put(path: Path, kind: str) -> None:
    """Replace a file by one of :data:`INSTEAD`."""
    remove(path)
    INSTEAD[kind](path)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
