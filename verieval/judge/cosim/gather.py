"""Evidence on candidates of cocotb tasks: each is admitted, then waits for others of its task to be simulated with.

Admissions go before simulations, so that whatever has been submitted until a worker is free ends up in one batch.
"""

from __future__ import annotations

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from verieval.judge.cosim import trial as cosim
from verieval.judge.cosim.python import find_python
from verieval.judge.cosim.simulators import Icarus, Simulator
from verieval.judge.evidence import DANGEROUS, Evidence, ruled, settled
from verieval.judge.futures import then
from verieval.judge.icarus import Trial
from verieval.judge.policy import Ruling
from verieval.judge.workers import Once, Tools, Workers
from verieval.task import Task

_LATER = 1.0  # after what is not a batch


@dataclass(frozen=True)
class _Waiting:
    ruling: Ruling
    evidence: Future[Evidence]


class Cosimulation:
    """Gathers evidence on cocotb tasks in a pool's workers.

    Args:
        workers: where it happens.
        engine: what simulates.
        prove: called with a worker's tools before they are used.

    Raises:
        VerievalError: cocotb is not installed, or cannot work with this Python.
    """

    def __init__(self, workers: Workers, engine: Simulator, prove: Callable[[Tools], None]) -> None:
        self._workers = workers
        self._prove_tools = prove
        self._simulator = cosim.Cosimulator(engine, find_python(), secrets.token_hex(10))
        self._compiler = replace(self._simulator, engine=Icarus(engine.toolchain))
        self._lock = threading.Lock()
        self._waiting: dict[str, list[_Waiting]] = defaultdict(list)
        self._proved = Once()

    def gather(self, task: Task, source: str, ruling: Ruling | None = None) -> Future[Evidence]:
        """Evidence on a candidate; ``ruling`` where it is known beforehand.

        Raises:
            VerievalError: (from the future) a tool cannot be started, or the work folder cannot be used.
            Lost: (from the future) the tools were killed from outside, several times.
        """
        evidence: Future[Evidence] = Future()

        def admit(tools: Tools) -> Evidence | Ruling:
            self._prove(tools)
            found = ruling or self._ruled(tools, task, source)
            if not found.outcome:
                return self._refused_by_icarus(tools, task, found) or found
            # It is not simulated: there is no rule beside the strict one. Icarus decides whether it compiles.
            if found.outcome in DANGEROUS and not tools.launcher.sandbox.holds:
                return Evidence(found, None, None)
            return Evidence(found, None, self._compiled(tools, task, source))

        def admitted(found: Evidence | Ruling) -> None:
            if isinstance(found, Evidence):
                evidence.set_result(found)
            else:
                self._wait(task, _Waiting(found, evidence))

        then(self._workers.submit(admit), admitted, evidence)
        return evidence

    def alone(self, tools: Tools, task: Task, source: str, *, cpu: float | None = None) -> Trial:
        """One trial, in the present worker. Raises as :meth:`gather` does."""
        self._prove(tools)
        return cosim.run_alone(tools.launcher, self._simulator, task, source, cpu=cpu)

    def _wait(self, task: Task, waiting: _Waiting) -> None:
        with self._lock:
            self._waiting[task.id].append(waiting)
        taken: list[_Waiting] = []

        def judge(tools: Tools) -> list[Evidence]:
            # One such job stands in the queue for every candidate; the first takes many, and others find nothing.
            if not taken:
                with self._lock:
                    taken.extend(self._waiting[task.id][: cosim.SIZE])
                    del self._waiting[task.id][: len(taken)]
            return self._judge(tools, task, taken) if taken else []

        def judged(found: list[Evidence]) -> None:
            for one, evidence in zip(taken, found, strict=True):
                one.evidence.set_result(evidence)

        def failed(error: Exception) -> None:
            for one in taken:
                one.evidence.set_exception(error)

        then(self._workers.submit(judge, _LATER), judged, waiting.evidence, failed)

    def _judge(self, tools: Tools, task: Task, taken: list[_Waiting]) -> list[Evidence]:
        trials = cosim.run_together(tools.launcher, self._simulator, task, [one.ruling.source for one in taken])
        return [
            Evidence(one.ruling, trial or self._settled(tools, task, one.ruling.source), None)
            for one, trial in zip(taken, trials, strict=True)
        ]

    def _settled(self, tools: Tools, task: Task, source: str) -> Trial:
        """A trial alone, whose verdict does not hang on how busy the machine was."""
        return settled(tools, lambda slack: cosim.run_alone(tools.launcher, self._simulator, task, source, slack=slack))

    def _refused_by_icarus(self, tools: Tools, task: Task, ruling: Ruling) -> Evidence | None:
        """Icarus decides what compiles where another simulates, too; None where it compiles or will be asked anyway."""
        if self._simulator.engine.name == self._compiler.engine.name:
            return None
        trial = self._compiled(tools, task, ruling.source)
        return None if trial.compiled else Evidence(ruling, trial, None)

    def _compiled(self, tools: Tools, task: Task, source: str) -> Trial:
        """What Icarus says, however busy the machine was."""
        return settled(
            tools, lambda slack: cosim.compile_only(tools.launcher, self._compiler, task, source, slack=slack)
        )

    def _ruled(self, tools: Tools, task: Task, source: str) -> Ruling:
        """What the policy says. Simulators are told the root, and every module of a candidate has a name of its own."""
        return ruled(tools, self._simulator.engine.toolchain, task, source, rooted=True)

    def _prove(self, tools: Tools) -> None:
        self._prove_tools(tools)
        self._proved(lambda: cosim.probe(tools.launcher, self._simulator))
