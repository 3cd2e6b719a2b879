"""Is a mutant that passes the reference in other words? Asked of yosys, once a text, and kept between runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from verieval.errors import VerievalError
from verieval.judge.cache import TaskCache
from verieval.judge.equivalence import Proof, Prover, proof_limits, prove_task, said
from verieval.judge.mutants import text_sha256
from verieval.judge.process import Launcher, Lost
from verieval.judge.sandbox import find_sandbox
from verieval.judge.toolchain import Toolchain
from verieval.judge.workers import TRIES
from verieval.judge.yosys import Yosys
from verieval.task import Benchmark, Task

EQUIVALENT = "equivalent"
# What a mutant that passes is worth: most proofs take a tenth of a second, and those that find no end find none later.
READ_CPU, PROVE_CPU = 10.0, 5.0


@dataclass(frozen=True)
class Proofs:
    """Of one task, by hash of the mutant's text: what was found."""

    rows: dict[str, str] = field(default_factory=dict)


def proofs_row(row: Mapping[str, Any]) -> Proofs:
    """Proofs as a file of the cache holds them.

    Raises:
        ValueError: it holds something else.
    """
    rows = dict(row["rows"])
    if not all(isinstance(text, str) for text in rows.values()):
        raise ValueError("not a table of proofs")
    return Proofs(rows)


class MutantProver:
    """Proves, see :class:`verieval.judge.strength.Prover`. Use it as a context manager, in one thread.

    Args:
        benchmark: whose mutants are proved.
        yosys: proves.
        toolchain: replays counterexamples.
        folder: of caches, None for the user's.
        recall: False asks anew.
        wanted: sandbox, as for :func:`verieval.judge.sandbox.find_sandbox`.

    Raises:
        VerievalError: a sandbox is required and there is none.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        yosys: Yosys,
        toolchain: Toolchain,
        *,
        folder: Path | None = None,
        recall: bool = True,
        wanted: bool | None = None,
    ) -> None:
        self._yosys, self._toolchain = yosys, toolchain
        self._limits = proof_limits(read_cpu=READ_CPU, prove_cpu=PROVE_CPU)
        self._sandbox = find_sandbox(toolchain, self._limits.work_mib, wanted=wanted, also=yosys.needs())
        described = yosys.describe()
        kind = f"proofs-{described['yosys_sha256'][:12]}-{described['scripts']}"
        self._cache: TaskCache[Proofs] = TaskCache(
            kind, proofs_row, benchmark, toolchain, self._limits, folder=folder, recall=recall
        )
        self._prover: Prover | None = None
        self._hopeless: dict[str, str] = {}  # task to what is wrong with its reference, for yosys

    def __call__(self, task: Task, mutant: str) -> str:
        """``equivalent`` if it is at every set of parameters that the bench judges; else how it is not.

        ``refuted``, with the parameters where it is at others than the defaults, or ``unknown`` with the reason.

        Raises:
            VerievalError: a tool cannot be started, is killed from outside again and again, or has no work folder.
        """
        sha = text_sha256(mutant)
        known = self._cache.get(task) or Proofs()
        if sha not in known.rows:
            known = Proofs({**known.rows, sha: self._prove(task, mutant)})
            self._cache.put(task, known)
            self._cache.save()
        return known.rows[sha]

    def _prove(self, task: Task, mutant: str) -> str:
        if task.id in self._hopeless:
            return self._hopeless[task.id]
        for _ in range(TRIES):
            if self._prover is None:
                self._prover = Prover(Launcher(self._limits, self._sandbox), self._yosys, self._toolchain)
            try:
                found = _word(prove_task(self._prover, task, mutant))
            except Lost:
                self.close()
                continue
            if found.startswith("unknown: the reference: "):
                self._hopeless[task.id] = found
            return found
        raise VerievalError("yosys was killed from outside, several times; run the same command again")

    def close(self) -> None:
        """End the launcher."""
        prover, self._prover = self._prover, None
        if prover is not None:
            prover.launcher.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End the launcher."""
        self.close()


def _word(proof: Proof) -> str:
    if proof.kind == "unknown":
        return f"unknown: {proof.reason}"
    if proof.kind == "refuted":
        return f"refuted with {said(proof.parameters)}" if proof.parameters else "refuted"
    return EQUIVALENT
