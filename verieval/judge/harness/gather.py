"""Evidence on candidates of tasks that have a harness of the benchmark's own: admission, then one trial each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from verieval.errors import VerievalError
from verieval.judge.evidence import Evidence, ruled, settled
from verieval.judge.harness import trial
from verieval.judge.harness.layout import beside, harness_bench, lay_out
from verieval.judge.harness.packages import find_harness_python
from verieval.judge.icarus import Trial
from verieval.judge.policy import Ruling
from verieval.judge.rules import Rule
from verieval.judge.toolchain import Toolchain
from verieval.judge.workers import Once, Tools, Workers
from verieval.task import Task


@dataclass(frozen=True)
class _Admitted:
    ruling: Ruling
    files: dict[str, str]


class Harnesses:
    """Gathers evidence on tasks with a harness, in a pool's workers.

    Args:
        workers: where it happens.
        toolchain: the simulator.
        rule: the benchmark's.
        prove: called with a worker's tools before they are used.

    Raises:
        VerievalError: cocotb or pytest is not installed.
    """

    def __init__(self, workers: Workers, toolchain: Toolchain, rule: Rule, prove: Callable[[Tools], None]) -> None:
        self._workers = workers
        self._prove_tools = prove
        self._proved = Once()
        self._container = trial.Container(toolchain, find_harness_python(), rule)

    def describe(self) -> dict[str, str]:
        """For the manifest's section ``toolchain``."""
        python = self._container.python
        return {"cocotb": python.cocotb.version, "pytest": python.pytest}

    def gather(self, task: Task, source: str, priority: float, ruling: Ruling | None = None) -> Future[Evidence]:
        """Evidence on a candidate; ``ruling`` where it is known beforehand.

        Raises:
            VerievalError: (from the future) there is no sandbox, or a tool cannot be started.
            Lost: (from the future) the tools were killed from outside, several times.
        """

        def job(tools: Tools) -> Evidence:
            self._prove(tools)
            admitted = (
                _Admitted(ruling, lay_out(harness_bench(task), source)) if ruling else self._admit(tools, task, source)
            )
            if admitted.ruling.outcome:
                # It is not simulated; Icarus decides whether it compiles.
                return Evidence(admitted.ruling, None, self._compiled(tools, task, admitted.files))
            return Evidence(admitted.ruling, self._settled(tools, task, admitted.files), None)

        return self._workers.submit(job, priority)

    def alone(self, tools: Tools, task: Task, source: str, *, cpu: float | None = None) -> Trial:
        """One trial of a trusted text, in the present worker. Raises as :meth:`gather` does."""
        self._prove(tools)
        return trial.run_harness(tools.launcher, self._container, task, lay_out(harness_bench(task), source), cpu=cpu)

    def _prove(self, tools: Tools) -> None:
        if not tools.launcher.sandbox.holds:
            raise VerievalError(
                "the harnesses of this benchmark expect the folders /code, /src and /rundir, which only a sandbox can "
                "give them: install bubblewrap (apt-get install bubblewrap), and leave out --no-sandbox"
            )
        self._prove_tools(tools)
        self._proved(lambda: trial.probe(tools.launcher, self._container))

    def _settled(self, tools: Tools, task: Task, files: dict[str, str]) -> Trial:
        """A trial whose verdict does not hang on how busy the machine was."""
        return settled(
            tools, lambda slack: trial.run_harness(tools.launcher, self._container, task, files, slack=slack)
        )

    def _compiled(self, tools: Tools, task: Task, files: dict[str, str]) -> Trial:
        """What the compiler alone says, however busy the machine was."""
        return settled(
            tools, lambda slack: trial.compile_only(tools.launcher, self._container, task, files, slack=slack)
        )

    def _admit(self, tools: Tools, task: Task, source: str) -> _Admitted:
        """Ask the policy of the candidate, and where it needs them of the problem's own modules with it."""
        bench = harness_bench(task)
        files = lay_out(bench, source)

        def ask(text: str) -> Ruling:
            return ruled(tools, self._container.toolchain, task, text, rooted=False)

        ruling = ask(source)
        others = beside(files, bench)
        together = False
        if ruling.outcome in ("not_self_contained", "elaboration") and others:
            wider = ask("\n".join([source, *others.values()]))
            # A fault of the other files is no fault of the candidate: then what was said of it alone stands.
            if not wider.outcome or wider.line <= source.count("\n") + 1:
                ruling, together = wider, True
        if ruling.outcome or ruling.faithful:
            return _Admitted(ruling, files)
        # What was admitted is what is compiled: the text with its macros expanded, with all that it was read with.
        emptied = dict.fromkeys(others, "") if together else {}
        return _Admitted(ruling, files | emptied | {bench.targets[0]: ruling.source})
