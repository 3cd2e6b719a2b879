"""Judges of the corpus that all tests of a process share, and the two files that no candidate may reach."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.adversarial.corpus import Attempt
from tests.adversarial.judging import Judges
from tests.conftest import ROOT, icarus
from verieval.verdict import Verdict

WORDS = "correct horse battery staple 5eed"
_OURS = ("verieval-", "adversarial-")


@dataclass(frozen=True)
class Grounds:
    """A temporary folder for work folders, beside a secret that must not be read and a place that must stay empty."""

    work: Path
    secret: Path
    outside: Path

    def source(self, attempt: Attempt) -> str:
        """The attempt's text, aimed at these places."""
        return attempt.source(SECRET=str(self.secret), OUTSIDE=str(self.outside))

    def check(self, verdict: Verdict) -> None:
        """Nothing was written, and nothing that was read came back. Leaves all as it was, for the next one."""
        kept = self.secret.read_text()
        strangers = [path for path in self.secret.parent.iterdir() if path.name not in ("secret", "work")]
        strangers += [path for path in self.work.iterdir() if not path.name.startswith(_OURS)]
        self.secret.write_text(f"{WORDS}\n")
        for path in strangers:
            path.unlink()
        assert WORDS not in repr(verdict)
        assert kept == f"{WORDS}\n"
        assert [path.name for path in strangers] == []


@pytest.fixture(scope="session")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grounds]:
    """The folders, made the place of temporary files for the session's judges."""
    folder = tmp_path_factory.mktemp("grounds")
    (folder / "work").mkdir()
    (folder / "secret").write_text(f"{WORDS}\n")
    before, tempfile.tempdir = tempfile.tempdir, str(folder / "work")
    try:
        yield Grounds(folder / "work", folder / "secret", folder / "outside")
    finally:
        tempfile.tempdir = before


@pytest.fixture(scope="session")
def optional_data() -> Path | None:
    """The upstream checkouts, or None where there are none."""
    folder = Path(os.environ.get("VERIEVAL_DATA") or ROOT.parent / "shared" / "benchmarks")
    return folder if (folder / "verilog-eval").is_dir() and (folder / "rtllm").is_dir() else None


@pytest.fixture(scope="session")
def judges(
    grounds: Grounds, optional_data: Path | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Judges]]:
    """Judges by major version of Icarus; skips where it is not installed."""
    made: dict[int, Judges] = {}

    def get(major: int) -> Judges:
        if major not in made:
            made[major] = Judges(icarus(major), optional_data, tmp_path_factory.mktemp("references"))
        return made[major]

    yield get
    for each in made.values():
        each.close()


@pytest.fixture
def judge(judges: Callable[[int], Judges], grounds: Grounds, optional_data: Path | None) -> Callable[..., Verdict]:
    """Judge an attempt, or a text in its place, and make sure that it left its folder in no way."""

    def call(attempt: Attempt, source: str | None = None, major: int = 12) -> Verdict:
        if attempt.target.family not in ("own", "cocotb") and optional_data is None:
            pytest.skip("no benchmark data: set VERIEVAL_DATA to a folder of upstream checkouts")
        text = grounds.source(attempt) if source is None else source
        verdict = judges(major).submit(attempt, text).result()
        grounds.check(verdict)
        return verdict

    return call


@pytest.fixture(scope="session")
def sandboxed(judges: Callable[[int], Judges]) -> bool:
    """Whether the tools run in a sandbox here."""
    return judges(12).pool("verilog-benches").sandbox.holds
