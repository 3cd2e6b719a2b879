"""A scored run over the project's own tasks, its bundle, and what a forger can do with one."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import VERILOG_BENCHES
from verieval import benchmarks
from verieval.completion import Completion, Sampling
from verieval.extract import extract
from verieval.judge import JudgePool, Toolchain
from verieval.leaderboard import archive
from verieval.leaderboard.audit import report_of
from verieval.leaderboard.bundle import Bundle, build_bundle
from verieval.leaderboard.contents import hash_list
from verieval.leaderboard.describe import About, describe_readme, numbers
from verieval.leaderboard.text import dump_yaml, pack
from verieval.leaderboard.verify import Means, Verification, verify
from verieval.protocol import request_seed
from verieval.run.jsonl import dump_json, encode_row
from verieval.run.manifest import build_manifest, describe_benchmark
from verieval.run.pipeline import run_pipeline
from verieval.run.progress import Progress
from verieval.run.store import RunStore, completion_row, verdict_row
from verieval.task import Benchmark, Task
from verieval.verdict import Verdict

N = 2
SEED = 7
ABOUT = About(licence="Apache-2.0", contact="someone@example.org", model="toy/model-a", loss="prompt tokens masked")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("leaderboard-cache")


@pytest.fixture(autouse=True)
def _own_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference runs are made once for all tests here, and do not reach the user's cache."""
    monkeypatch.setenv("VERIEVAL_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def suite() -> Benchmark:
    return benchmarks.load("verieval", VERILOG_BENCHES)


def answers(task: Task, place: int) -> tuple[str, str]:
    """The reference in a fence, and by turns something that does not parse, an empty module, or the reference again."""
    right = f"Here it is.\n```verilog\n{task.reference}\n```\n"
    wrong = (
        f"```verilog\nmodule {task.module} (;\nendmodule\n```\n",
        f"```verilog\nmodule {task.module};\nendmodule\n```\n",
        right.replace("Here", "There"),
    )
    return right, wrong[place % 3]


def completions(suite: Benchmark) -> list[Completion]:
    return [
        Completion(task.id, sample, text, "stop", 100 + place, 200, request_seed(SEED, task.id, sample))
        for place, task in enumerate(suite.tasks)
        for sample, text in enumerate(answers(task, place))
    ]


@pytest.fixture(scope="session")
def scored(
    tmp_path_factory: pytest.TempPathFactory, suite: Benchmark, toolchain: Toolchain, shared_cache: Path
) -> Path:
    """A finished run; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("scored") / "run"
    with JudgePool(suite, toolchain, jobs=2, cache=shared_cache) as pool:
        manifest = build_manifest(
            command=["verieval", "run"],
            benchmark=describe_benchmark(suite),
            model={"source": "/home/someone/ckpt/model-a", "revision": "r1", "sha256": "0" * 64},
            prompt={"template": "default", "sha256": "1" * 64, "raw": False},
            sampling=Sampling(n=N, temperature=0.8, top_p=0.95, max_tokens=1024, seed=SEED),
            engine={"name": "hf", "version": "5.17", "dtype": "bfloat16", "concurrency": 4},
            judge=pool.describe(),
            criterion={"headline": "strict", "official": suite.rule},
        )
        with RunStore(folder, manifest) as store:
            store.append_completions(completions(suite))
            run_pipeline(store, pool, Progress(len(suite.tasks) * N, "strict"))
    return folder


@pytest.fixture
def run(scored: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    return Path(shutil.copytree(scored, tmp_path / "run"))


@pytest.fixture(scope="session")
def bundle(scored: Path, suite: Benchmark) -> Bundle:
    return build_bundle(scored, suite, ABOUT)


class Forger:
    """Changes a bundle, and then mends every hash and, with :meth:`refigure`, every figure that would give it away."""

    def __init__(self, bundle: Bundle) -> None:
        contents = bundle.contents
        self.files = dict(bundle.files)
        self.submission: dict[str, Any] = json.loads(json.dumps(contents.submission))
        self.report = json.loads(json.dumps(contents.report))
        self.completions = list(contents.completions)
        self.verdicts = list(contents.verdicts)

    def replace(self, place: int, **changes: Any) -> None:
        """Change the completion at one place."""
        self.completions[place] = dataclasses.replace(self.completions[place], **changes)

    def judge(self, place: int, **changes: Any) -> None:
        """Change the verdict at one place."""
        self.verdicts[place] = dataclasses.replace(self.verdicts[place], **changes)

    def claim(self, suite: Benchmark, place: int, text: str) -> None:
        """Put in another completion, and a verdict on it that says it passed."""
        self.replace(place, text=text)
        row = self.completions[place]
        task = suite.by_id[row.task_id]
        candidate = extract(text, task.module, task.header)
        like = next(v for v in self.verdicts if v.task_id == row.task_id and v.outcome == "passed")
        self.verdicts[place] = dataclasses.replace(
            like,
            sample=row.sample,
            source_sha256=hashlib.sha256(candidate.source.encode()).hexdigest(),
            extraction={"method": candidate.method, "notes": list(candidate.notes)},
        )

    def refigure(self) -> None:
        """Make every figure follow from the verdicts again."""
        self.report = report_of(self.submission, self.completions, self.verdicts)
        self.submission["numbers"] = numbers(self.report)

    def sealed(self, *, readme: bool = True) -> dict[str, bytes]:
        """The files, hashes mended."""
        self.files[archive.SUBMISSION] = dump_yaml(self.submission)
        self.files[archive.SAMPLES] = pack(b"".join(encode_row(completion_row(row)) for row in self.completions))
        self.files[archive.RESULTS] = b"".join(encode_row(verdict_row(row)) for row in self.verdicts)
        self.files[archive.REPORT] = dump_json(self.report).encode()
        if readme:
            self.files[archive.README] = describe_readme(self.submission).encode()
        return sealed(self.files)


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    return files | {archive.HASHES: hash_list(files)}


@pytest.fixture
def forger(bundle: Bundle) -> Forger:
    return Forger(bundle)


@pytest.fixture
def seal() -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """Mend the hashes of changed files."""
    return sealed


@contextlib.contextmanager
def _unseen(total: int, criterion: str) -> Iterator[Progress]:
    yield Progress(total, criterion, generating=False)


@pytest.fixture
def answer(tmp_path: Path) -> Callable[..., Verification]:
    """Write files as a zip and verify it with the real judge."""

    def check(files: dict[str, bytes], **options: Any) -> Verification:
        path = tmp_path / "bundle.zip"
        path.write_bytes(archive.zip_bytes(files))
        options = {"data": VERILOG_BENCHES} | options
        means = Means(_unseen, jobs=2, **{key: options.pop(key) for key in ("data", "icarus") if key in options})
        return verify(path, means, **options)

    return check


def verdict_at(verdicts: list[Verdict], outcome: str) -> int:
    """Place of the first verdict of an outcome."""
    return next(place for place, verdict in enumerate(verdicts) if verdict.outcome == outcome)


@pytest.fixture
def find() -> Callable[[list[Verdict], str], int]:
    return verdict_at
