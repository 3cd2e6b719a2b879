"""Generation and judging at the same time, into one run folder.

The calling thread generates and appends completions; the judge's workers judge them; one more thread appends verdicts
as they are done. So a completion is judged while the next batch is generated, and both files have a single writer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Protocol, Self

from verieval.completion import Completion, Engine, Request, Sampling
from verieval.errors import VerievalError
from verieval.run.progress import Progress
from verieval.run.store import Key, RunStore
from verieval.verdict import Verdict


class Judge(Protocol):
    """What the pipeline needs of :class:`verieval.judge.JudgePool`."""

    def submit(self, completion: Completion) -> Future[Verdict]:
        """Queue a completion; the future gives its verdict, or raises what ends the run."""
        ...


def run_pipeline(
    store: RunStore,
    judge: Judge,
    progress: Progress,
    fresh: Iterable[Completion] = (),
    check: Callable[[], None] = lambda: None,
) -> None:
    """Judge what the folder holds and ``fresh`` adds to it, until every completion has its verdict.

    Stored completions without a verdict are judged first; so are those whose verdict is ``harness``, a fault that was
    not the model's.

    Args:
        store: the run folder. ``fresh`` must have appended a completion before it yields it.
        judge: where verdicts come from.
        progress: told of every completion and verdict.
        fresh: completions as they are generated, e.g. from :func:`generate`.
        check: called again and again; what it raises ends the run (see :func:`verieval.run.signals.stoppable`).

    Raises:
        VerievalError: generating or judging cannot go on. What was done is stored.
    """
    with VerdictWriter(store, judge, progress, check) as writer:
        for key, completion in list(store.completions.items()):
            verdict = store.verdicts.get(key)
            if verdict is None or verdict.outcome == "harness":
                writer.submit(completion)
        for completion in fresh:
            progress.completion(completion)
            writer.submit(completion)
        writer.drain()


class VerdictWriter:
    """Hands completions to the judge and appends the verdicts from a thread of its own.

    Leaving it by an exception appends what is done and leaves the rest for the next session.
    """

    def __init__(
        self, store: RunStore, judge: Judge, progress: Progress, check: Callable[[], None] = lambda: None
    ) -> None:
        self._stopped = check
        self._store = store
        self._judge = judge
        self._progress = progress
        self._done: queue.SimpleQueue[Future[Verdict] | None] = queue.SimpleQueue()
        self._open = 0
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="verdicts", daemon=True)

    def submit(self, completion: Completion) -> None:
        """Queue a completion for judging.

        Raises:
            Exception: what ended the judging of an earlier one.
        """
        self._check()
        future = self._judge.submit(completion)
        with self._changed:
            self._open += 1
        future.add_done_callback(self._done.put)

    def drain(self) -> None:
        """Wait until every verdict is in the file.

        Raises:
            Exception: what ended the judging of one.
        """
        with self._changed:
            while self._open and self._error is None:
                # With a time-out a signal is handled at once, wherever the platform's lock would wait through it.
                self._changed.wait(timeout=0.5)
                self._stopped()
        self._check()

    def _check(self) -> None:
        self._stopped()
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        """Append verdicts until told to stop; after an error only take note that futures are done."""
        while (future := self._done.get()) is not None:
            try:
                if self._error is None:
                    verdict = future.result()
                    self._store.append_verdict(verdict)
                    self._progress.verdict(verdict)
            except CancelledError:
                pass  # the pool was closed before its turn; the next session judges it
            except Exception as error:  # noqa: BLE001  carried to the thread that submits, which raises it
                self._error = error
            with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._done.put(None)
        self._thread.join()


# ---- generation ---------------------------------------------------------------------------------------------------


def generate(store: RunStore, engine: Engine, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
    """Generate what the run lacks, append each completion and yield it.

    An engine with a ``batch_size`` gets whole batches of the run's fixed order, also where a part of one is there
    already, because the text of a request may depend on its neighbours; new rows are appended in the order of the
    requests. So a run that was killed and resumed has the same file as one that was not.

    Raises:
        VerievalError: the engine cannot go on, or it answered something that was not asked.
    """
    for batch in _batches(engine, requests, store.completions):
        wanted = {(request.task_id, request.sample) for request in batch}
        ordered = engine.batch_size is not None
        answers = _asked(engine.generate(batch, sampling), wanted)
        for group in _in_order(answers, batch) if ordered else ([answer] for answer in answers):
            new = [
                completion for completion in group if (completion.task_id, completion.sample) not in store.completions
            ]
            store.append_completions(new)
            yield from new
        store.sync()


def _batches(engine: Engine, requests: Sequence[Request], present: Iterable[Key]) -> Iterator[Sequence[Request]]:
    have = set(present)
    missing = [request for request in requests if (request.task_id, request.sample) not in have]
    if engine.batch_size is None:
        if missing:
            yield missing
        return
    for start in range(0, len(requests), engine.batch_size):
        batch = requests[start : start + engine.batch_size]
        if any((request.task_id, request.sample) not in have for request in batch):
            yield batch


def _asked(answers: Iterable[Completion], wanted: set[Key]) -> Iterator[Completion]:
    """Pass on answers that were asked for, each once."""
    rest = set(wanted)
    for answer in answers:
        key = (answer.task_id, answer.sample)
        if key not in rest:
            raise VerievalError(
                f"the engine answered sample {answer.sample} of {answer.task_id}, which it was not asked for or had "
                "answered already; this is a fault of the engine, please report it"
            )
        rest.remove(key)
        yield answer


def _in_order(answers: Iterable[Completion], batch: Sequence[Request]) -> Iterator[list[Completion]]:
    """Answers in the order of the requests, each group as soon as nothing before it is open."""
    order = [(request.task_id, request.sample) for request in batch]
    waiting: dict[Key, Completion] = {}
    position = 0
    for answer in answers:
        waiting[(answer.task_id, answer.sample)] = answer
        group = []
        while position < len(order) and order[position] in waiting:
            group.append(waiting.pop(order[position]))
            position += 1
        if group:
            yield group
    # An engine that leaves a request out leaves a gap: what came after it is kept all the same.
    late = [waiting[key] for key in order if key in waiting]
    if late:
        yield late
