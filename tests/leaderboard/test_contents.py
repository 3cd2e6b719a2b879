"""The published schemas say what the types say, and a bundle that does not fit them is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any, get_args

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from verieval.completion import Completion, FinishReason
from verieval.errors import VerievalError
from verieval.leaderboard import archive
from verieval.leaderboard.bundle import Bundle
from verieval.leaderboard.contents import SCHEMAS, check_hashes, load_schema, read_contents, schema_faults, validator
from verieval.leaderboard.reasons import CODES, Reason, Rejected
from verieval.leaderboard.text import dump_yaml, pack, read_yaml
from verieval.leaderboard.verify import audit
from verieval.run.jsonl import encode_row
from verieval.run.store import completion_row, verdict_row
from verieval.task import Benchmark
from verieval.verdict import CRITERIA, OUTCOMES, Stage, Verdict

Seal = Callable[[dict[str, bytes]], dict[str, bytes]]


def refusal(files: dict[str, bytes]) -> Reason:
    with pytest.raises(Rejected) as caught:
        read_contents(files)
    return caught.value.reasons[0]


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:verieval:schema:{name}:1"


@pytest.mark.parametrize(("name", "kind"), [("sample", Completion), ("result", Verdict)])
def test_rows_have_the_fields_of_their_type(name: str, kind: type) -> None:
    assert set(load_schema(name)["properties"]) == {field.name for field in dataclasses.fields(kind)}


def test_words_are_those_of_the_vocabulary() -> None:
    result = load_schema("result")["properties"]
    assert result["outcome"]["enum"] == [outcome for outcome in OUTCOMES if outcome != "harness"]
    assert sorted(result["stage"]["enum"]) == sorted(get_args(Stage))
    assert set(result["passed"]["properties"]) == set(CRITERIA)
    assert set(load_schema("sample")["properties"]["finish_reason"]["enum"]) == set(get_args(FinishReason))


def test_a_bundle_is_read_as_it_was_made(bundle: Bundle) -> None:
    assert read_contents(bundle.files) == bundle.contents
    assert bundle.contents.id.startswith("sha256:")


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("model", "licence", ""),
        ("model", "licence", None),
        ("model", "extra", "x"),
        ("benchmark", "sha256", "0" * 63 + "G"),
        ("benchmark", "sha256", "0" * 64 + "\n"),
        ("benchmark", "name", "../../etc"),
        ("benchmark", "tasks", []),
        ("benchmark", "tasks", ["a", "a"]),
        ("sampling", "n", 0),
        ("sampling", "n", 10_001),
        ("sampling", "n", True),
        ("sampling", "n_by_task", {"a": 1}),
        ("extraction", "mode", "magic"),
        ("harness", "name", "other"),
        ("criterion", "headline", "lenient"),
        ("limits", "memory_mib", -1),
    ],
)
def test_a_submission_that_does_not_fit(section: str, name: str, value: Any, forger: Any) -> None:
    forger.submission[section][name] = value
    with pytest.raises(Rejected) as caught:
        read_contents(forger.sealed(readme=False))
    assert caught.value.reasons[0].code == "schema"
    assert caught.value.reasons[0].where == archive.SUBMISSION


def integers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to whole numbers in nested data."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from integers(item, (*path, key))
    elif type(value) is int:
        yield path


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy in which one whole number is written as a float."""
    copy = json.loads(json.dumps(value))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = float(place[path[-1]])
    return copy


# Parts whose fields are not typed; what judges by them compares or refuses on its own.
FREE = ("calibration", "limits", "engine", "record", "sandbox", "extraction", "toolchain", "criterion", "prompt")


def test_no_whole_number_may_be_a_float(bundle: Bundle) -> None:
    rows = {
        "submission": bundle.contents.submission,
        "report": bundle.contents.report,
        "sample": json.loads(encode_row(completion_row(bundle.contents.completions[0]))),
        "result": json.loads(encode_row(verdict_row(bundle.contents.verdicts[0]))),
    }
    seen: set[tuple[str, Any]] = set()
    for name, value in rows.items():
        assert schema_faults(name, value, "x") == []
        for path in integers(value):
            if not set(path) & set(FREE):
                assert schema_faults(name, changed(value, path), "x"), (name, path)
                seen.add((name, path[-1]))
    for name, field in (
        ("submission", "schema"), ("submission", "n"), ("submission", "max_tokens"), ("submission", "seed"),
        ("submission", "tasks"), ("submission", "passed"), ("report", "schema"), ("report", "c"),
        ("report", "passed"), ("sample", "sample"), ("sample", "seed"), ("sample", "prompt_tokens"),
        ("result", "sample"), ("result", "samples"), ("result", "mismatches"),
    ):  # fmt: skip
        assert (name, field) in seen


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_integer_of_a_schema_refuses_floats(name: str) -> None:
    """Also those that this bundle does not have."""

    def subschemas(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if "integer" in ([value["type"]] if isinstance(value.get("type"), str) else value.get("type", ())):
                yield value
            for item in value.values():
                yield from subschemas(item)
        elif isinstance(value, list):
            for item in value:
                yield from subschemas(item)

    found = list(subschemas(load_schema(name)))
    assert found
    for schema in found:
        number = schema.get("const", schema.get("minimum", 3))
        assert validator(schema).is_valid(number)
        assert not validator(schema).is_valid(float(number))
        assert not validator(schema).is_valid(True)


@pytest.mark.parametrize("value", ["yesterday", "2026-13", "", "2026-01-01T00:00:00 <b>"])
def test_when_a_run_started(value: str, forger: Any) -> None:
    forger.submission["started"] = value
    assert "started" in refusal(forger.sealed(readme=False)).detail
    forger.submission["started"] = "not stated"
    read_contents(forger.sealed())


@pytest.mark.parametrize("seconds", [{"compile": 1e300}, {"compile": -1}, {"a" * 1000: 1}, {"\x1b[31m": 1}])
def test_seconds_out_of_range(seconds: dict[str, float], forger: Any) -> None:
    forger.judge(0, seconds=seconds)
    found = refusal(forger.sealed())
    assert (found.code, found.where) == ("schema", "results.jsonl:1")


@pytest.mark.parametrize("section", ["model", "contact", "benchmark", "limits", "numbers", "harness"])
def test_a_submission_that_lacks_something(section: str, forger: Any) -> None:
    del forger.submission[section]
    assert section in refusal(forger.sealed(readme=False)).detail


@pytest.mark.parametrize(
    "row",
    [
        b'{"task_id":"a"}',
        b'{"task_id":"a","sample":0.0,"text":"","finish_reason":"","prompt_tokens":null,"completion_tokens":null,"seed":null}',
        b'{"task_id":"a","sample":-1,"text":"","finish_reason":"","prompt_tokens":null,"completion_tokens":null,"seed":null}',
        b'{"task_id":"a","sample":0,"text":"","finish_reason":"odd","prompt_tokens":null,"completion_tokens":null,"seed":null}',
        b'{"task_id":"a","sample":0,"text":"","finish_reason":"","prompt_tokens":null,"completion_tokens":null,"seed":null,"x":1}',
    ],
)
def test_a_sample_that_does_not_fit(row: bytes, bundle: Bundle, seal: Seal) -> None:
    found = refusal(seal(bundle.files | {archive.SAMPLES: pack(row + b"\n")}))
    assert (found.code, found.where) == ("schema", f"{archive.SAMPLES}:1")


def test_a_result_that_does_not_fit(bundle: Bundle, seal: Seal) -> None:
    first, _, rest = bundle.files[archive.RESULTS].partition(b"\n")
    changes = {b'"passed"': b'"harness"', b'"stage":"passed"': b'"stage":7', b'"sample":0': b'"sample":"0"'}
    for old, new in changes.items():
        assert old in first
        found = refusal(seal(bundle.files | {archive.RESULTS: first.replace(old, new, 1) + b"\n" + rest}))
        assert (found.code, found.where) == ("schema", f"{archive.RESULTS}:1")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.upper(), "format"),
        (lambda text: text.replace(b"  ", b" *"), "format"),
        (lambda text: b"\n".join(reversed(text.splitlines())) + b"\n", "format"),
        (lambda text: text + text.splitlines()[0] + b"\n", "format"),
        (lambda text: text[: text.index(b"\n") + 1], "format"),
        (lambda text: text.replace(b"README.md", b"../README.md"), "format"),
        (lambda text: text.rstrip(b"\n"), "format"),
        (lambda text: b"\xff" + text, "format"),
        (lambda text: b"", "format"),
        (lambda text: b"0" * 64 + text[64:], "hash"),
    ],
)
def test_a_changed_list_of_hashes(change: Callable[[bytes], bytes], code: str, bundle: Bundle) -> None:
    with pytest.raises(Rejected) as caught:
        check_hashes(bundle.files | {archive.HASHES: change(bundle.files[archive.HASHES])})
    assert caught.value.reasons[0].code == code


def test_long_words_are_cut(bundle: Bundle) -> None:
    faults = schema_faults("submission", {"schema": "x" * 100_000}, "s")
    assert all(len(fault.detail) < 300 for fault in faults)


def test_a_reason_has_a_known_code() -> None:
    assert all(CODES.values())
    with pytest.raises(ValueError, match="no such code"):
        Reason("odd", "x", "y")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(draw=st.data())
def test_a_hostile_file_under_mended_hashes_is_refused_or_read(
    draw: st.DataObject, bundle: Bundle, suite: Benchmark, seal: Seal
) -> None:
    """Bytes changed, cut or put in, hashes mended: an answer, never another exception."""
    name = draw.draw(st.sampled_from([archive.SUBMISSION, archive.REPORT, archive.RESULTS, archive.SAMPLES]))
    data = bundle.files[name]
    if name == archive.SAMPLES:
        data = zstandard.ZstdDecompressor().decompress(data)
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, min(len(data), start + 40)))
    words = st.sampled_from(
        [b"", b"null", b"-1", b"1e400", b"[]", b"{}", b'"', b"\n", b"true", b"9" * 400, b"*a", b"0.5"]
    )
    data = data[:start] + draw.draw(words | st.binary(max_size=8)) + data[end:]
    if name == archive.SAMPLES:
        data = pack(data)
    with contextlib.suppress(Rejected, VerievalError):
        audit(read_contents(seal(bundle.files | {name: data})), suite)


def test_values_of_the_wrong_kind_anywhere_in_the_submission(bundle: Bundle, suite: Benchmark, seal: Seal) -> None:
    """Each value in turn becomes something else; the schema, or the audit behind it, has an answer."""
    original = dump_yaml(bundle.contents.submission)
    kinds = cycle([None, -1, "x", [], {}, 1e300])
    for path in places(bundle.contents.submission):
        for wrong in islice(kinds, 2):
            submission = place = read_yaml(original, "x")
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            with contextlib.suppress(Rejected, VerievalError):
                audit(read_contents(seal(bundle.files | {archive.SUBMISSION: dump_yaml(submission)})), suite)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values in plain data; of a list, those of its first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))
