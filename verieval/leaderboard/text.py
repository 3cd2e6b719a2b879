"""YAML, JSON and JSON lines as a bundle has them: written plainly, read strictly.

What is read here was written by someone else. Python's own readers take more than the formats allow, or more than is
safe: numbers that are none, a key given twice, an alias that unfolds into gigabytes, a line without an end.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

from verieval.leaderboard.archive import MIB
from verieval.leaderboard.reasons import refuse, short
from verieval.run.jsonl import load_json

MAX_LINE = 4 * MIB  # of JSONL; a completion of 100,000 tokens has about half a megabyte
MAX_UNPACKED = 1024 * MIB  # of the samples
MAX_ROWS = 1_000_000
_DEPTH = 32
_WINDOW = 64 * MIB  # memory that a zstandard stream may ask for
_RATIO = 2000  # equal samples of one task compress without end, so this is wide
_CHUNK = 1 << 18
_BOM = b"\xef\xbb\xbf"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


# ---- JSON ---------------------------------------------------------------------------------------------------------


def read_json(data: bytes, where: str) -> Any:
    """One JSON document in UTF-8, as :func:`verieval.run.jsonl.load_json` has it.

    Raises:
        Rejected: it is none.
    """
    try:
        data.decode("utf-8")
        if b"\0" in data or data.startswith(_BOM):
            raise ValueError("it is in another encoding")  # which Python would take, and others would not
        return load_json(data)
    except UnicodeDecodeError:
        raise refuse("format", where, "is not UTF-8 text") from None
    except RecursionError:
        raise refuse("format", where, "is nested too deeply") from None
    except ValueError as error:
        raise refuse("format", where, f"is not JSON ({short(str(error))})") from None


def read_lines(stream: io.BufferedIOBase, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of JSON lines with their places (``results.jsonl:7``), read one by one.

    Raises:
        Rejected: a line is no JSON object, is too long, or has no end.
    """
    for number in range(1, MAX_ROWS + 2):
        line = stream.readline(MAX_LINE + 1)
        where = f"{name}:{number}"
        if not line:
            return
        if len(line) > MAX_LINE:
            raise refuse("too_large", where, f"is a line of more than {MAX_LINE:,} bytes")
        if not line.endswith(b"\n"):
            raise refuse("format", where, "is a line without an end")
        if number > MAX_ROWS:
            break
        row = read_json(line, where)
        if not isinstance(row, dict):
            raise refuse("format", where, "is no JSON object")
        yield where, row
    raise refuse("too_large", name, f"has more than {MAX_ROWS:,} rows")


# ---- zstandard ----------------------------------------------------------------------------------------------------


def pack(data: bytes) -> bytes:
    """One zstandard frame with its size and a checksum."""
    import zstandard

    return zstandard.ZstdCompressor(level=10, write_checksum=True, write_content_size=True).compress(data)


def unpack(data: bytes, name: str) -> io.BufferedIOBase:
    """Read a zstandard frame as a stream that never gives more than the frame declares, nor less.

    Raises:
        Rejected: here, or while it is read: it is no such frame, or it unpacks to too much.
    """
    import zstandard

    try:
        size = zstandard.frame_content_size(data) if data.startswith(_ZSTD_MAGIC) else -1
    except zstandard.ZstdError:
        size = -1
    if size < 0:
        raise refuse("damaged", name, "is no zstandard frame that says its size")
    if size > MAX_UNPACKED:
        raise refuse("too_large", name, f"unpacks to {size:,} bytes, and may have {MAX_UNPACKED:,}")
    if size > MIB and size > _RATIO * len(data):
        raise refuse("too_large", name, f"unpacks to {size:,} bytes from {len(data):,}: a zip bomb")
    if _frame_end(data) != len(data):
        raise refuse("damaged", name, "is a damaged zstandard file: more than one frame, or a part of one")
    return io.BufferedReader(_Frame(data, size, name), _CHUNK)


def _frame_end(data: bytes) -> int:
    """Where the first frame ends (RFC 8878, 3.1.1), also behind the data's own end; -1 where that cannot be told.

    A reader passes over frames to be skipped, and what they hold would be hidden in the bundle.
    """
    import zstandard

    try:
        place = zstandard.frame_header_size(data)
        has_checksum = zstandard.get_frame_parameters(data).has_checksum
    except zstandard.ZstdError:
        return -1
    while place + 3 <= len(data):
        header = int.from_bytes(data[place : place + 3], "little")
        repeated = header >> 1 & 3 == 1  # one byte stands for the whole block
        place += 3 + (1 if repeated else header >> 3)
        if header & 1:
            return place + 4 * has_checksum
    return -1


class _Frame(io.RawIOBase):
    """The content of a frame, counted."""

    def __init__(self, data: bytes, size: int, name: str) -> None:
        import zstandard

        self._left = size
        self._name = name
        self._fault = zstandard.ZstdError
        # Across frames, so that something behind the first one is noticed and not left out.
        self._source = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(data, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        try:
            chunk = self._source.read(min(len(target), _CHUNK))
        except (self._fault, MemoryError) as error:
            raise refuse("damaged", self._name, f"is a damaged zstandard file ({short(str(error))})") from None
        self._left -= len(chunk)
        if self._left < 0:
            raise refuse("too_large", self._name, "unpacks to more than it says")
        if not chunk and self._left:
            raise refuse("damaged", self._name, f"ends {self._left:,} bytes too early")
        target[: len(chunk)] = chunk
        return len(chunk)


# ---- YAML ---------------------------------------------------------------------------------------------------------


def dump_yaml(value: object) -> bytes:
    """Plain data as ASCII YAML, keys in the given order, no anchors."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return yaml.dump(value, Dumper=Plain, sort_keys=False, allow_unicode=False, width=100).encode("ascii")


def read_yaml(data: bytes, where: str) -> Any:
    """YAML that holds plain data: no aliases, no keys twice, no tags, dates or endless nesting.

    Raises:
        Rejected: it is not.
    """
    import yaml

    class Strict(yaml.SafeLoader):
        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise ValueError("anchors and aliases are not allowed")
            if getattr(event, "tag", None) is not None:
                raise ValueError("tags are not allowed")
            self.depth += 1
            if self.depth > _DEPTH:
                raise ValueError("it is nested too deeply")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(keys)) < len(node.value) or any(tag != "tag:yaml.org,2002:str" for tag, _ in keys):
                raise ValueError("a key is there twice, or is no text")
            return super().construct_mapping(node, deep)

    try:
        value = yaml.load(data.decode("utf-8"), Loader=Strict)
    except UnicodeDecodeError:
        raise refuse("format", where, "is not UTF-8 text") from None
    except RecursionError:
        raise refuse("format", where, "is nested too deeply") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise refuse("format", where, f"is not plain YAML ({short(' '.join(str(error).split()))})") from None
    if not _is_plain(value):
        raise refuse("format", where, "holds values that are neither text, numbers, yes or no, lists nor mappings")
    return value


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
