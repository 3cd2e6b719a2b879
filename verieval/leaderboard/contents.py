"""From the six files of a bundle to typed data: hashes, formats and schemas are checked here, and nothing after this
looks at the bytes again.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.leaderboard.archive import HASHES, README, REPORT, RESULTS, SAMPLES, SIZES, SUBMISSION
from verieval.leaderboard.describe import SCHEMA, Submission
from verieval.leaderboard.reasons import Reason, Rejected, refuse, short
from verieval.leaderboard.text import read_json, read_lines, read_yaml, unpack
from verieval.report.summary import Report
from verieval.run.store import parse_completion, parse_verdict
from verieval.verdict import Verdict

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

T = TypeVar("T")

SCHEMAS = ("submission", "sample", "result", "report")
_LISTED = 5  # faults of one value that are listed
_HASH_LINE = re.compile(r"([0-9a-f]{64})  ([^\s/\\]+)")


@dataclass(frozen=True)
class Contents:
    """What a bundle holds. Rows are as they stand there: none was left out, and some may be there twice."""

    id: str
    submission: Submission
    completions: tuple[Completion, ...]
    verdicts: tuple[Verdict, ...]
    report: Report
    readme: bytes


def bundle_id(hashes: bytes) -> str:
    """The content address of a bundle: the hash of its ``manifest.sha256``, which has those of all other files."""
    return "sha256:" + hashlib.sha256(hashes).hexdigest()


def hash_list(files: Mapping[str, bytes]) -> bytes:
    """The content of ``manifest.sha256``, as ``sha256sum`` writes and checks it, sorted by name."""
    return b"".join(
        f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n".encode() for name in sorted(files) if name != HASHES
    )


def check_hashes(files: Mapping[str, bytes]) -> None:
    """Compare every file with ``manifest.sha256``.

    Raises:
        Rejected: naming each file that was changed, or what is wrong with the list.
    """
    text = files[HASHES].decode("ascii", "replace")
    lines = [_HASH_LINE.fullmatch(line) for line in text.removesuffix("\n").split("\n")]
    listed = {line[2]: line[1] for line in lines if line}
    if None in lines or list(listed) != sorted(set(SIZES) - {HASHES}):
        raise refuse("format", HASHES, "must have a line `SHA256  NAME` for each other file, sorted by name, once each")
    changed = [name for name, digest in listed.items() if hashlib.sha256(files[name]).hexdigest() != digest]
    if changed:
        raise Rejected(Reason("hash", name, f"is not the file that {HASHES} lists: it was changed") for name in changed)
    if files[HASHES] != hash_list(files):
        raise refuse("format", HASHES, "is not as sha256sum writes it")


def read_contents(files: Mapping[str, bytes]) -> Contents:
    """Check hashes, formats and schemas.

    Raises:
        VerievalError: the bundle is of a newer schema.
        Rejected: something is not as it should be.
    """
    check_hashes(files)
    submission = read_yaml(files[SUBMISSION], SUBMISSION)
    _refuse_newer(submission)
    report = read_json(files[REPORT], REPORT)
    reasons = [*schema_faults("submission", submission, SUBMISSION), *schema_faults("report", report, REPORT)]
    if reasons:
        raise Rejected(reasons)
    return Contents(
        bundle_id(files[HASHES]),
        submission,
        tuple(_rows(unpack(files[SAMPLES], SAMPLES), SAMPLES, "sample", parse_completion)),
        tuple(_rows(io.BytesIO(files[RESULTS]), RESULTS, "result", parse_verdict)),
        report,
        files[README],
    )


def _refuse_newer(submission: object) -> None:
    schema = submission.get("schema") if isinstance(submission, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise VerievalError(f"the bundle has schema {schema}, this version reads {SCHEMA}; update verieval to read it")


def _rows(
    stream: io.BufferedIOBase, name: str, schema: str, parse: Callable[[Mapping[str, Any], str], T]
) -> Iterator[T]:
    for where, row in read_lines(stream, name):
        faults = schema_faults(schema, row, where)
        if faults:
            raise Rejected(faults)
        try:
            yield parse(row, where)
        except VerievalError as error:
            raise refuse("schema", where, str(error).removeprefix(f"{where}: ")) from None


def load_schema(name: str) -> dict[str, Any]:
    """A published JSON Schema, one of :data:`SCHEMAS`."""
    text = package_files("verieval.leaderboard").joinpath("schema", f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def validator(schema: Mapping[str, Any]) -> Validator:
    """A validator to which 3.0 is no integer, as it is to JSON Schema: nobody after it would count with a float."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    strict: Validator = extend(Draft202012Validator, type_checker=types)(schema)  # type: ignore[no-untyped-call]
    return strict


@cache
def _validator(name: str) -> Validator:
    return validator(load_schema(name))


def schema_faults(name: str, value: Any, where: str) -> list[Reason]:
    """Where a value does not fit a schema; the first few places."""
    errors = islice(_validator(name).iter_errors(value), _LISTED)
    return [
        Reason("schema", where, short(f"`{'.'.join(map(str, error.absolute_path)) or name}`: {error.message}"))
        for error in errors
    ]
