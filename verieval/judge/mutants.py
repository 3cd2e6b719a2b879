"""Mutants in front of a bench: what the judge says of each, kept between runs.

A text's verdict depends on the task, the toolchain and the limits, so it is kept by those and by the text's hash. A run
that was stopped goes on where it was, and another seed or number of mutants judges only what is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from verieval.completion import Completion
from verieval.judge.cache import TaskCache
from verieval.judge.pool import JudgePool
from verieval.task import Task, hash_json
from verieval.verdict import Verdict

State = Literal["killed", "passed", "invalid", "refused", "harness"]

# What no simulator elaborates is no mutant; what the judge will not run, or the bench cannot instantiate, is no test of
# the bench's strength. Every other failure is a fault that the bench found.
STATES: dict[str, State] = {
    "passed": "passed",
    "syntax": "invalid",
    "elaboration": "invalid",
    "not_self_contained": "invalid",
    "no_code": "refused",
    "truncated": "refused",
    "interface": "refused",
    "forbidden": "refused",
    "bench_compile": "refused",
    "harness": "harness",
}


@dataclass(frozen=True)
class Answer:
    """What the judge said of a text: the strict outcome and its cause."""

    outcome: str
    detail: str = ""

    @property
    def state(self) -> State:
        """What that means for a mutant."""
        return STATES.get(self.outcome, "killed")


@dataclass(frozen=True)
class Answers:
    """Of one task, by hash of the text: outcome and detail."""

    rows: dict[str, list[str]] = field(default_factory=dict)


def answers_row(row: Mapping[str, Any]) -> Answers:
    """Answers as a file of the cache holds them.

    Raises:
        ValueError: it holds something else.
    """
    rows = dict(row["rows"])
    if not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(t, str) for t in pair) for pair in rows.values()
    ):
        raise ValueError("not a table of outcomes")
    return Answers(rows)


class MutantJudge:
    """Asks a pool about texts that are not completions, and remembers what it said.

    Args:
        pool: judges them; made with extraction ``verbatim``.
        folder: of caches, None for the user's.
        recall: False asks anew.
    """

    def __init__(self, pool: JudgePool, *, folder: Path | None = None, recall: bool = True) -> None:
        self.pool = pool
        tools = hash_json(pool.describe()["toolchain"])[:12]  # with all that judges, beside Icarus
        self._cache: TaskCache[Answers] = TaskCache(
            f"mutants-{tools}", answers_row, pool.benchmark, pool.toolchain, pool.limits, folder=folder, recall=recall
        )

    def ask(self, task: Task, texts: Iterable[str]) -> Asked:
        """Queue the texts that are not known."""
        known = self._cache.get(task) or Answers()
        future: dict[str, Future[Verdict]] = {}
        for text in dict.fromkeys(texts):
            if text_sha256(text) not in known.rows:
                future[text] = self.pool.submit(Completion(task.id, 0, text))
        return Asked(task, known, future)

    def answers(self, asked: Asked) -> dict[str, Answer]:
        """Wait for the answers to what was asked, and keep them on disk.

        Returns:
            Answers by hash of the text, with those that were known.

        Raises:
            VerievalError: a tool or the work folder cannot be used.
        """
        verdicts = {text_sha256(text): future.result() for text, future in asked.futures.items()}
        fresh = {sha: Answer(verdict.outcome, verdict.detail) for sha, verdict in verdicts.items()}
        lasting = {sha: [one.outcome, one.detail] for sha, one in fresh.items() if one.outcome != "harness"}
        if lasting:
            now = self._cache.get(asked.task) or Answers()
            self._cache.put(asked.task, Answers({**now.rows, **lasting}))
            self._cache.save()
        return {**{sha: Answer(*pair) for sha, pair in asked.known.rows.items()}, **fresh}


@dataclass(frozen=True)
class Asked:
    """Texts of one task on their way: what was known before, and what is waited for."""

    task: Task
    known: Answers
    futures: dict[str, Future[Verdict]]


def text_sha256(text: str) -> str:
    """The name of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
