"""What Python's readers would let pass is refused, and nothing that they stumble over is more than a refusal."""

from __future__ import annotations

import contextlib
import io
import json
import random
import struct

import pytest
import yaml
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from verieval.leaderboard import text
from verieval.leaderboard.reasons import Rejected
from verieval.leaderboard.text import dump_yaml, pack, read_json, read_lines, read_yaml, unpack

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


# ---- JSON ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1e999}', "beyond"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b"{'a': 1}", "not JSON"),
        (b"", "not JSON"),
        (b"[" * 100_000, "nested"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"\xef\xbb\xbf{}", "another encoding"),
        ("{}".encode("utf-16-le"), "another encoding"),
    ],
)
def test_json_that_is_none(data: bytes, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        read_json(data, "x")


@given(plain)
def test_json_is_read_as_python_reads_it(value: object) -> None:
    assert read_json(json.dumps(value).encode(), "x") == value


@given(st.binary(max_size=60))
def test_any_bytes_are_json_or_refused(data: bytes) -> None:
    with contextlib.suppress(Rejected):
        read_json(data, "x")


def rows(data: bytes) -> list[tuple[str, dict[str, object]]]:
    return list(read_lines(io.BufferedReader(io.BytesIO(data)), "r"))  # type: ignore[arg-type]


def test_lines() -> None:
    assert rows(b'{"a":1}\n{"a":2}\n') == [("r:1", {"a": 1}), ("r:2", {"a": 2})]
    assert rows(b"") == []


@pytest.mark.parametrize(
    ("data", "code", "where"),
    [
        (b'{"a":1}\n{"a":2}', "format", "r:2"),
        (b'{"a":1}\n\n', "format", "r:2"),
        (b'{"a":1}\n[]\n', "format", "r:2"),
        (b'{"a":"' + b"x" * text.MAX_LINE + b'"}\n', "too_large", "r:1"),
        (b" " * (3 * text.MAX_LINE), "too_large", "r:1"),
    ],
)
def test_lines_that_are_none(data: bytes, code: str, where: str) -> None:
    with pytest.raises(Rejected) as caught:
        rows(data)
    assert (caught.value.reasons[0].code, caught.value.reasons[0].where) == (code, where)


def test_too_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_ROWS", 3)
    assert len(rows(b"{}\n" * 3)) == 3
    with pytest.raises(Rejected, match="more than 3 rows"):
        rows(b"{}\n" * 4)


# ---- zstandard ----------------------------------------------------------------------------------------------------


@given(st.binary(max_size=5000))
def test_what_is_packed_is_unpacked(data: bytes) -> None:
    assert pack(data) == pack(data)
    assert unpack(pack(data), "x").read() == data


def without_size(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


def declares(size: int, data: bytes) -> bytes:
    """A frame that declares another size than it has: header with an eight-byte size, then the real blocks."""
    frame = zstandard.ZstdCompressor(level=1, write_checksum=False).compress(data)
    header = zstandard.frame_header_size(frame)
    return frame[:4] + bytes([0b1100_0000]) + b"\x60" + struct.pack("<Q", size) + frame[header:]


PAYLOAD = b"abcdefgh" * 4000


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (without_size(PAYLOAD), "damaged", "says its size"),
        (b"", "damaged", "says its size"),
        (b"PK\3\4 not zstd", "damaged", "says its size"),
        (struct.pack("<LL", 0x184D2A50, 4) + b"skip" + pack(PAYLOAD), "damaged", "says its size"),
        (pack(PAYLOAD)[:-6], "damaged", "too early|damaged"),
        (pack(PAYLOAD) + b"more", "damaged", "damaged"),
        (pack(PAYLOAD) + pack(PAYLOAD), "damaged", "more than one frame"),
        (pack(b"\0" * (8 << 20)), "too_large", "a zip bomb"),
        (b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 50) + b"\1\0\0", "too_large", "1,125,899,906,842,624"),
        (declares(len(PAYLOAD) + 1, PAYLOAD), "damaged", "too early|damaged"),
        (declares(len(PAYLOAD) - 1, PAYLOAD), "damaged", "damaged"),
    ],
)
def test_frames_that_lie(data: bytes, code: str, words: str) -> None:
    with pytest.raises(Rejected, match=words) as caught:
        unpack(data, "x").read()
    assert caught.value.reasons[0].code == code


def test_a_frame_that_asks_for_too_much_memory() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=True)
    data = bytes(range(256)) * (300 << 12)  # as large as its window, or the window would be cut to it
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=len(data))
    frame = compressor.compress(data) + compressor.flush()
    assert zstandard.get_frame_parameters(frame).window_size > text._WINDOW
    with pytest.raises(Rejected):
        unpack(frame, "x").read()


@given(st.data())
def test_any_changed_frame_is_itself_or_refused(draw: st.DataObject) -> None:
    frame = bytearray(pack(PAYLOAD))
    place = draw.draw(st.integers(0, len(frame) - 1))
    frame[place] ^= draw.draw(st.integers(1, 255))
    try:
        found = unpack(bytes(frame), "x").read()
    except Rejected:
        return
    assert found == PAYLOAD  # a bit of the header that nothing depends on


# ---- YAML ---------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(), plain, max_size=5))
def test_yaml_is_read_as_it_was_written(value: dict[str, object]) -> None:
    data = dump_yaml(value)
    assert data.isascii()
    assert read_yaml(data, "x") == value
    assert yaml.safe_load(data) == value


def test_equal_parts_get_no_anchor() -> None:
    part = {"a": [1, 2]}
    assert b"&" not in dump_yaml({"x": part, "y": part})


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (BOMB.encode(), "aliases"),
        (b"a: &x 1\n", "aliases"),
        (b"a: *x\n", "aliases"),
        (b"a: 1\na: 2\n", "twice"),
        (b"1: a\n", "no text"),
        (b"<<: {a: 1}\n", "no text"),
        (b"? [a]\n: b\n", "plain YAML|twice"),
        (b"a: .nan\n", "values"),
        (b"a: -.inf\n", "values"),
        (b"a: 2026-01-01\n", "values"),
        (b"a: 2026-13-41\n", "plain YAML"),
        (b"a: !!binary aGk=\n", "tags"),
        (b"a: !!python/object/apply:os.system [id]\n", "tags"),
        (b"a: !!float ''\n", "tags"),
        (b"!!map [a]\n", "tags"),
        (b"a: 1\n--- \nb: 2\n", "plain YAML"),
        (b"a: \xff\n", "UTF-8"),
        (b"a: \0\n", "plain YAML"),
        (b"a: b: c\n", "plain YAML"),
        (b"a: =\n", "plain YAML"),
        (b"[" * 100_000, "nested"),
        (b"- " * 10_000 + b"a", "nested"),
        (b"{a: " * 10_000, "nested"),
        (b"a: " + b"9" * 10_000, "plain YAML"),
    ],
)
def test_yaml_that_is_not_plain(data: bytes, words: str) -> None:
    with pytest.raises(Rejected, match=words):
        read_yaml(data, "x")


@settings(max_examples=300)
@given(st.text(alphabet="abc01:-_.{}[],&*!<>=?|#%@'\"\\ \n\t~+e\x85", max_size=40))
def test_any_text_is_yaml_or_refused(data: str) -> None:
    with contextlib.suppress(Rejected):
        read_yaml(data.encode(), "x")


SKIPPED = struct.pack("<II", 0x184D2A50, 6) + b"hidden"


@pytest.mark.parametrize("level", [1, 10])
def test_one_frame_and_nothing_else(level: int) -> None:
    for data in (b"", b"x\n", b"a" * 1_000_000, random.Random(1).randbytes(300_000)):
        for checksum in (True, False):
            frame = zstandard.ZstdCompressor(level=level, write_checksum=checksum).compress(data)
            if data:
                assert unpack(frame, "x").read() == data
            for more in (SKIPPED, frame, b"\0", b"\n"):
                with pytest.raises(Rejected, match="zstandard f"):
                    unpack(frame + more, "x").read()
            with pytest.raises(Rejected):
                unpack(SKIPPED + frame, "x").read()
