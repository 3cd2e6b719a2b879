"""The manifest's table of what may differ within a run."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from fake_run import fake_manifest

from serve.engines import open_engine
from verieval import benchmarks
from verieval.completion import Sampling
from verieval.run.manifest import FREE_FIELDS, build_manifest, describe_benchmark, differences, leaves


def fullest_manifest() -> dict[str, Any]:
    """A manifest with every section, by the engine with the most settings that change no text."""
    engine = open_engine("openai:m@http://localhost:9")
    described = engine.describe()
    engine.close()
    return build_manifest(
        command=["verieval", "run"],
        benchmark=describe_benchmark(benchmarks.load("verieval")),
        model=described["model"],
        prompt={"template": "default", "sha256": "p"},
        sampling=Sampling(),
        engine=described["engine"],
        judge={"extraction": {}, "toolchain": {}, "limits": {}, "sandbox": {}, "calibration": {"tasks": 0}},
        criterion={"headline": "strict", "official": "verieval"},
        source={"path": "c.jsonl", "sha256": "s"},
    )


@pytest.mark.parametrize("pattern", FREE_FIELDS)
def test_every_free_field_is_one_that_is_written(pattern: str) -> None:
    assert [path for path, _ in leaves(fullest_manifest()) if fnmatchcase(path, pattern)]


def test_free_fields_are_no_differences_and_others_are() -> None:
    old = fake_manifest(engine__concurrency=1, source={"path": "a", "sha256": "s"})
    new = fake_manifest(
        engine__concurrency=8,
        source={"path": "b", "sha256": "s"},
        command=["other"],
        started="later",
        machine={"cpus": 99},
        criterion__headline="official",
    )
    assert differences(old, new) == []
    new["criterion"]["official"] = "another rule"
    new["toolchain"]["icarus_sha256"] = "another build"
    assert differences(old, new) == [
        ("criterion.official", "fake", "another rule"),
        ("toolchain.icarus_sha256", None, "another build"),
    ]


def test_leaves_name_values_by_their_path() -> None:
    assert dict(leaves({"a": {"b": {"c": 1}, "d": [1, {"e": 2}]}, "f": None, "g": {}})) == {
        "a.b.c": 1,
        "a.d": [1, {"e": 2}],
        "f": None,
    }
