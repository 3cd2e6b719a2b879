"""The sealed benches of one pool: each task's bench is read once and sealed with the pool's secret."""

from __future__ import annotations

import hmac
import secrets

from verieval.judge.seal import Seal, SealedBench, prepare
from verieval.task import Task


class Seals:
    """Made when they are wanted. Two workers may make the same one at a time: that costs milliseconds, and is equal.

    The secret of names and key is of this object alone; it stands in no file, and no number depends on it.

    Args:
        trace_secret: of the traces, the one under which those were made that they are compared with.
    """

    def __init__(self, trace_secret: str) -> None:
        self._secret = secrets.token_hex(16)
        self._trace_secret = trace_secret
        self._prepared: dict[str, Seal] = {}
        self._sealed: dict[tuple[str, int | None, bool], SealedBench] = {}

    def sealed(self, task: Task, mismatch_samples: int | None, *, steps: bool = False) -> SealedBench:
        """The bench of a task under seal, see :meth:`verieval.judge.seal.Seal.with_secret`.

        Raises:
            SealError: the bench cannot be read.
        """
        key = (task.id, mismatch_samples, steps)
        if key not in self._sealed:
            seal = self._prepared.get(task.id) or prepare(task)
            self._prepared[task.id] = seal
            # Each task has its own, so that what one gives away says nothing of another.
            trace_secret = hmac.new(self._trace_secret.encode(), task.sha256.encode(), "sha256").hexdigest()
            self._sealed[key] = seal.with_secret(
                self._secret, trace_secret=trace_secret, mismatch_samples=mismatch_samples, steps=steps
            )
        return self._sealed[key]
