"""The training loop, the same for both backends: which rows, which coefficients, which rate, what is logged."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from finetune import checkpoints
from finetune.backend import Backend, Micro, StepResult
from finetune.data.batch import Batch, TokenRow
from finetune.folder import LOG
from finetune.loss import Totals
from finetune.progress import Progress
from finetune.recipe import Recipe
from finetune.schedule import learning_rate
from finetune.steps import Steps, heldout_batch, micro_batches, step_seed
from verieval.errors import VerievalError
from verieval.run.jsonl import JsonlWriter
from verieval.run.signals import Stopped


@dataclass
class Interval:
    """What happened since the last line of the log; a checkpoint keeps it, so that a resumed log is the same.

    Attributes:
        steps: in it.
        objective: sum of their losses.
        response_nll, response_tokens, prompt_nll, prompt_tokens: see :class:`finetune.loss.Totals`.
        tokens: of rows.
        seconds: of the steps alone, without evaluations and checkpoints.
    """

    steps: int = 0
    objective: float = 0.0
    response_nll: float = 0.0
    response_tokens: int = 0
    prompt_nll: float = 0.0
    prompt_tokens: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, totals: Totals, tokens: int, seconds: float) -> None:
        """Take in a step."""
        self.steps += 1
        for name, value in asdict(totals).items():
            setattr(self, name, getattr(self, name) + value)
        self.tokens += tokens
        self.seconds += seconds

    def row(self) -> dict[str, Any]:
        """Means over the interval; of NLL over its tokens, whatever the step."""
        totals = Totals(0.0, self.response_nll, self.response_tokens, self.prompt_nll, self.prompt_tokens)
        return {
            "loss": self.objective / self.steps,
            "response_nll": _number(totals.response_mean),
            "prompt_nll": _number(totals.prompt_mean),
        }


@dataclass
class State:
    """What the loop carries from step to step, and a checkpoint from process to process.

    Attributes:
        tokens: of rows that were trained on, repeats counted.
        seconds: of wall time in the loop.
        interval: since the last line of the log.
    """

    tokens: int = 0
    seconds: float = 0.0
    interval: Interval = field(default_factory=Interval)

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> State:
        """From a checkpoint."""
        return cls(content["tokens"], content["seconds"], Interval(**content["interval"]))


class Log:
    """``train.jsonl`` and TensorBoard's scalars; only the first process has one that writes."""

    def __init__(self, folder: Path, start: int, *, writes: bool) -> None:
        """Open the log of a run that goes on after ``start`` steps."""
        self._file: JsonlWriter | None = None
        self._board: Any = None
        if not writes:
            return
        self._file = JsonlWriter(folder / LOG)
        with contextlib.suppress(ImportError):  # it comes with the torch extra alone
            from tensorboardX import SummaryWriter

            self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=start + 1)

    def write(self, row: Mapping[str, Any]) -> None:
        """Write a line, and its figures as scalars."""
        if self._file is None:
            return
        self._file.append([row])
        if self._board is not None:
            for name, value in row.items():
                if name != "step" and value is not None:
                    self._board.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Close both."""
        if self._file is not None:
            self._file.close()
        if self._board is not None:
            self._board.close()


class Trainer:
    """One run: its steps, its backend and its folder."""

    def __init__(
        self,
        recipe: Recipe,
        rows: Sequence[TokenRow],
        heldout: Sequence[TokenRow],
        backend: Backend,
        folder: Path,
        *,
        pad: int,
    ) -> None:
        """Lay out the run.

        Args:
            recipe: what to train.
            rows: to train on.
            heldout: to evaluate on.
            backend: ready for the first step.
            folder: where the log and the checkpoints lie.
            pad: id of the padding.

        Raises:
            VerievalError: there are no rows, or one does not fit.
        """
        self.recipe = recipe
        self.backend = backend
        self.folder = folder
        self.steps = Steps(rows, recipe, pad=pad)
        held = heldout_batch(heldout, recipe, pad=pad)
        self._heldout = None if held is None else self._micros(held)
        self.start = 0
        self.state = State()

    def resume(self) -> int:
        """Go back to the newest checkpoint that is whole; returns its step, 0 where there is none."""
        found = checkpoints.complete(self.folder)
        self.backend.agree(False)  # all have looked before anything is removed
        if found:
            newest = found[-1]
            self.backend.restore(newest.path)
            self.start, self.state = newest.step, State.read(newest.state)
        return self.start

    def run(self, progress: Progress, check: Callable[[], None]) -> State:
        """Train from where the run stands to its end.

        Args:
            progress: shows it.
            check: raises :class:`Stopped` where a signal has come, and only when it is called.

        Raises:
            VerievalError: the loss is not a number; the batch is saved.
            Stopped: after a checkpoint was written.
        """
        spec, total = self.recipe.train, self.steps.total
        with contextlib.closing(Log(self.folder, self.start, writes=self.backend.rank == 0)) as log:
            before, began = self.state.seconds, time.monotonic()
            if self.start == 0 and spec.eval_every and self._heldout:
                log.write({"step": 0, **self._evaluate()})
            for step in range(self.start, total):
                rate = learning_rate(step, total, self.recipe.optim)
                batch, seconds, result = self._step(step, rate)
                self.state.tokens += batch.tokens
                self.state.interval.add(result.totals, batch.tokens, seconds)
                self.state.seconds = before + time.monotonic() - began
                done, last = step + 1, step + 1 == total
                progress.step(done, result.totals.objective, batch.tokens / seconds)
                row = self._row(done, rate, result) if last or done % spec.log_every == 0 else {}
                if self._heldout and (last or _due(done, spec.eval_every)):
                    row = {"step": done, **row, **self._evaluate()}
                if row:
                    log.write(row)
                stopped = _asked(check)
                stopping = self.backend.agree(stopped is not None)
                if last or stopping or _due(done, spec.checkpoint_every):
                    checkpoints.save(self.folder, self.backend, done, asdict(self.state), keep=spec.keep)
                if stopping:
                    raise stopped or Stopped(signal.SIGTERM)
        return self.state

    def _step(self, step: int, rate: float) -> tuple[Batch, float, StepResult]:
        """The batch of a step, the seconds that it took, and what came of it."""
        started = time.monotonic()
        batch = self.steps.batch(step)
        micros = self._micros(batch)
        try:
            result = self.backend.step(micros, learning_rate=rate, seed=step_seed(self.recipe.train.seed, step))
        except FloatingPointError as error:
            raise VerievalError(self._keep_bad(step, micros, error)) from error
        return batch, time.monotonic() - started, result

    def _micros(self, batch: Batch) -> list[Micro]:
        return micro_batches(batch, self.recipe.loss, self.recipe.train.micro_batch)

    def _row(self, done: int, rate: float, result: StepResult) -> dict[str, Any]:
        """A line of the log; the next interval begins."""
        interval, self.state.interval = self.state.interval, Interval()
        return {
            "step": done,
            **interval.row(),
            "learning_rate": rate,
            "grad_norm": result.grad_norm,
            "tokens": self.state.tokens,
            "tokens_per_second": round(interval.tokens / interval.seconds, 1),
            "seconds": round(self.state.seconds, 3),
        }

    def _evaluate(self) -> dict[str, Any]:
        assert self._heldout is not None
        totals = self.backend.evaluate(self._heldout)
        return {
            "heldout_loss": _number(totals.objective),
            "heldout_response_nll": _number(totals.response_mean),
            "heldout_prompt_nll": _number(totals.prompt_mean),
        }

    def _keep_bad(self, step: int, micros: Sequence[Micro], error: FloatingPointError) -> str:
        """Save the batch whose loss is no number, and say so."""
        path = self.folder / f"nan-step-{step + 1:06}.npz"
        if self.backend.rank == 0:
            batch = Batch.join([micro.batch for micro in micros])
            names = np.array(["\n".join(names) for names in self.steps.names(step)])
            arrays = {
                name: getattr(batch, name) for name in ("ids", "positions", "segments", "targets", "target_roles")
            }
            np.savez_compressed(
                path, names=names, coefficient=np.concatenate([micro.coefficient for micro in micros]), **arrays
            )
        return (
            f"step {step + 1} has no finite loss or gradient ({error}); the weights are as before it, and its batch is "
            f"in {path}: look at its rows, or lower optim.learning_rate and start again"
        )


def _number(value: float) -> float | None:
    """JSON knows no NaN."""
    return value if math.isfinite(value) else None


def _due(done: int, every: int) -> bool:
    return every > 0 and done % every == 0


def _asked(check: Callable[[], None]) -> Stopped | None:
    try:
        check()
    except Stopped as stopped:
        return stopped
    return None
