"""The ``replay`` engine: completions that were generated before, for demonstrations and for running again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import verieval
from verieval.completion import Completion, Request, Sampling
from verieval.errors import VerievalError
from verieval.run.readers import Reading, read_any
from verieval.task import Benchmark

OPTIONS = ("benchmark",)


def open_engine(model: str, *, benchmark: Benchmark | None = None) -> ReplayEngine:
    """Open ``replay:FILE``, a file or folder in any format of :mod:`verieval.run.readers`.

    Tasks that ``benchmark`` does not have are left out, and named in the reading's ``skipped``.

    Raises:
        VerievalError: the file cannot be read as completions of the benchmark.
    """
    if benchmark is None:
        raise VerievalError("the replay engine needs to know the benchmark that its completions belong to")
    path = Path(model.removeprefix("replay:")).expanduser()
    return ReplayEngine(model, read_any(path, benchmark, skip_unknown=True))


class ReplayEngine:
    """Answers each request with the stored completion of that task and sample.

    Attributes:
        reading: what the file holds, and what is known of how it was made.
    """

    name = "replay"
    batch_size: int | None = None
    raw = False

    def __init__(self, model: str, reading: Reading) -> None:
        self.reading = reading
        self._model = model
        self._completions = {(row.task_id, row.sample): row for row in reading.completions}

    def describe(self) -> dict[str, Any]:
        """Manifest sections: those of a run that is replayed, else the file as its own model, by its content's hash."""
        reading = self.reading
        if reading.manifest is not None:
            return {section: reading.origin[section] for section in ("engine", "model")}
        model = {"source": self._model, "sha256": reading.sha256, "adapter": None, "training": None}
        return {"engine": {"name": self.name, "version": verieval.__version__}, "model": model}

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
        """Yield the stored completions in the order of the requests; one that is not stored is left out.

        ``sampling`` is not used: the file's completions are what they are.
        """
        for request in requests:
            stored = self._completions.get((request.task_id, request.sample))
            if stored is not None:
                yield stored

    def close(self) -> None:
        """Nothing is held."""
