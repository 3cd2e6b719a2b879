"""``verieval bench strength`` and ``verieval bench agreement``: what mutants of the references show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verieval.cli.common import (
    MAX_SECONDS,
    data_option,
    icarus_option,
    jobs_option,
    json_option,
    note,
    sandbox_option,
    tasks_option,
    with_options,
)
from verieval.cli.longrun import progress, quiet_option, stoppable
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from verieval.judge import JudgePool
    from verieval.judge.agreement import Agreement, Opened
    from verieval.judge.limits import Limits
    from verieval.judge.mutants import MutantJudge
    from verieval.judge.strength import MutantResult, Prover, Strength, TaskStrength
    from verieval.task import Benchmark

# A mutant that hangs is found out by this; no reference of a benchmark needs half of it.
CPU_LIMIT = 10

MUTANT_OPTIONS = (
    click.option(
        "--max-mutants",
        type=click.IntRange(min=1),
        metavar="N",
        help="At most N mutants a task, balanced over kinds (default: all of them).",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the sample that --max-mutants takes."),
    click.option(
        "--cpu-limit",
        type=click.IntRange(1, MAX_SECONDS),
        default=CPU_LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="CPU time of each compilation and simulation.",
    ),
    jobs_option,
    sandbox_option,
    click.option("--fresh", is_flag=True, help="Judge every mutant again instead of recalling cached verdicts."),
    json_option,
    quiet_option,
)


@click.command()
@click.argument("name")
@with_options((data_option, tasks_option, icarus_option), MUTANT_OPTIONS)
@click.option("--show-survivors", is_flag=True, help="List the lines of every mutant that a bench overlooks.")
@click.option("--no-proof", is_flag=True, help="Ask no proof of mutants that pass: all of them count as overlooked.")
def strength(name: str, show_survivors: bool, no_proof: bool, as_json: bool, **options: Any) -> None:
    """Make mutants of every reference and count how many of them its bench finds.

    A mutant is the reference with one fault. One that passes is proved to be the same design, and dropped, or counts as
    overlooked. Stubs (constant 0, constant 1, X, nothing driven) are judged too; none may pass. Verdicts are cached, so
    a run that was stopped goes on where it was.

    Exit status 1 says that a reference fails, so that nothing was measured, and the errata do not list it.
    """
    from verieval import benchmarks
    from verieval.judge.strength import measure

    limits = _limits(options)
    benchmark = benchmarks.load(name, options["data"], tasks=options["tasks"])
    opened = _Open(benchmark, options["icarus"], limits, options)
    title = f"mutants of {benchmark.full_name}"
    with (
        stoppable(),
        progress(len(benchmark.tasks), title, quiet=options["quiet"]) as advance,
        opened() as judge,
        opened.prover(no_proof) as prove,
    ):
        result = measure(
            benchmark,
            judge,
            prove,
            limit=options["max_mutants"],
            seed=options["seed"],
            ahead=opened.jobs + 1,
            progress=advance,
        )
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=2))
    else:
        _print_strength(result)
        _print_survivors(result, lines=show_survivors)
    harness = result.count("harness")
    if harness:
        note(f"{harness} mutants met a fault of the harness and are not counted; run the same command again")
    if failing := _failing(result, benchmark, opened.major):
        note(f"not measured, since the reference fails: {', '.join(failing)}; `verieval bench check` says why")
        click.get_current_context().exit(1)


def _failing(result: Strength, benchmark: Benchmark, major: int) -> list[str]:
    """Tasks whose reference fails, though no erratum says so."""
    from verieval.judge.check import errata_of

    def listed(task: TaskStrength) -> bool:
        known = errata_of(benchmark, benchmark.by_id[task.id], major)
        return any(erratum.effect == "reference_fails" for erratum in known)

    return [task.id for task in result.tasks if task.reference not in ("passed", "none") and not listed(task)]


@click.command()
@click.argument("name")
@with_options((data_option, tasks_option))
@click.option(
    "--icarus",
    "icaruses",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="An Icarus installation; may be given several times.",
)
@click.option("--verilator", is_flag=True, help="Verilator too, where all benches are in Python.")
@with_options(MUTANT_OPTIONS)
def agreement(name: str, icaruses: tuple[Path, ...], verilator: bool, as_json: bool, **options: Any) -> None:
    """Judge references and mutants with several simulators and list those whose verdicts differ.

    Exit status 1 says that one simulator passes what another fails.
    """
    from verieval import benchmarks
    from verieval.judge.agreement import compare

    if verilator and not icaruses:
        raise VerievalError("--verilator alone has nothing to be compared with: name an Icarus beside it, --icarus DIR")
    if len(icaruses) + verilator < 2:
        raise VerievalError("there is nothing to compare: give --icarus DIR twice or more, or once with --verilator")
    limits = _limits(options)
    benchmark = benchmarks.load(name, options["data"], tasks=options["tasks"])
    if verilator and not benchmark.only_cocotb:
        raise VerievalError(
            f"Verilator runs benches in Python only, and {benchmark.full_name} has others: leave out --verilator"
        )
    simulators: dict[str, Opened] = {}
    for path in icaruses:
        opened = _Open(benchmark, path, limits, options)
        if opened.name in simulators:
            version = opened.name.removeprefix("icarus ")
            raise VerievalError(f"{path} holds Icarus {version}, as one before it does: give another version")
        simulators[opened.name] = opened
    if verilator:
        opened = _Open(benchmark, icaruses[0], limits, options, simulator="verilator")
        simulators[opened.name] = opened
    total = len(benchmark.tasks) * len(simulators)
    title = f"mutants of {benchmark.full_name}"
    with stoppable(), progress(total, title, quiet=options["quiet"]) as advance:
        result = compare(benchmark, simulators, limit=options["max_mutants"], seed=options["seed"], progress=advance)
    if as_json:
        click.echo(json.dumps(result.to_json(), indent=2))
    else:
        _print_agreement(result)
    if result.disagreements:
        click.get_current_context().exit(1)


class _Open:
    """Opens a judge of one benchmark on one installation."""

    def __init__(
        self,
        benchmark: Benchmark,
        icarus: Path | None,
        limits: Limits,
        options: dict[str, Any],
        simulator: str = "icarus",
    ) -> None:
        from verieval.judge import find_toolchain
        from verieval.judge.cosim.simulators import find_simulator
        from verieval.run.manifest import cores

        self._benchmark, self._limits = benchmark, limits
        self._toolchain = find_toolchain(icarus)
        self._toolchain.refuse(benchmark.refused_icarus, benchmark.full_name)
        self._recall, self._wanted = not options["fresh"], options["sandbox"]
        self.jobs = options["jobs"] or cores()
        self._simulator = find_simulator(simulator, self._toolchain)
        self.name = f"{simulator} {self._simulator.version}"
        self.major = self._toolchain.major

    @contextmanager
    def __call__(self) -> Iterator[MutantJudge]:
        from verieval.judge import JudgePool
        from verieval.judge.mutants import MutantJudge
        from verieval.judge.sandbox import NO_SANDBOX

        pool = JudgePool(
            self._benchmark,
            self._toolchain,
            self._limits,
            jobs=self.jobs,
            extraction="verbatim",
            sandbox=NO_SANDBOX if self._wanted is False else None,
            simulator=self._simulator,
        )
        with pool:
            _check_walls(pool, self._wanted)
            yield MutantJudge(pool, recall=self._recall)

    @contextmanager
    def prover(self, without: bool) -> Iterator[Prover]:
        """Shows which mutants are the same design; or says of all that nobody asked."""
        if without:
            yield lambda task, mutant: "not asked"
            return
        from verieval.judge.mutant_proofs import MutantProver
        from verieval.judge.yosys import find_yosys

        try:
            yosys = find_yosys()
        except VerievalError as error:
            raise VerievalError(f"{error}; or leave proofs out with --no-proof") from error
        with MutantProver(self._benchmark, yosys, self._toolchain, recall=self._recall, wanted=self._wanted) as prove:
            yield prove


def _check_walls(pool: JudgePool, wanted: bool | None) -> None:
    """Mutants are no model's, so that they are judged without a sandbox too, but whoever wants one is told."""
    if not pool.sandbox.holds:
        if wanted:
            raise VerievalError(
                f"no sandbox: {pool.sandbox.reason}; install bubblewrap, or leave --require-sandbox out"
            )
        note(f"no sandbox, since {pool.sandbox.reason}: mutants run under resource limits alone")


def _limits(options: dict[str, Any]) -> Limits:
    from verieval.judge.limits import Limits

    cpu = float(options["cpu_limit"])
    return Limits.from_options(compile_cpu=cpu, simulate_cpu=cpu)


def _percent(score: float | None) -> str:
    return "n/a" if score is None else f"{100 * score:.1f} %"


_COLUMNS = ("mutants", "invalid", "refused", "equivalent", "live", "killed", "score")


def _print_strength(result: Strength) -> None:
    bound = "all mutants" if result.limit is None else f"at most {result.limit} mutants a task, seed {result.seed}"
    click.echo(f"{result.benchmark} on Icarus {result.toolchain['icarus']}, {bound}")
    width = max([len(task.id) for task in result.tasks] + [5])
    click.echo(f"{'task':<{width}}" + "".join(f"{name:>11}" for name in _COLUMNS))
    for task in result.tasks:
        if task.reference != "passed":
            why = "has no reference" if task.reference == "none" else f"its reference does not pass: {task.reference}"
            click.echo(f"{task.id:<{width}}  not measured, {why}")
        else:
            click.echo(f"{task.id:<{width}}" + _row(task) + f"{_percent(task.score):>11}{_stubs(task)}")
    totals = [sum(values) for values in zip(*(_figures(task) for task in result.measured), strict=True)]
    if totals:
        click.echo(f"{'all':<{width}}" + "".join(f"{n:>11}" for n in totals) + f"{_percent(result.score):>11}")
    lowest = result.lowest
    if lowest is not None:
        below = sum((task.score or 0.0) < 0.9 for task in result.measured if task.live)
        click.echo(f"lowest: {lowest.id}, {_percent(lowest.score)}; tasks below 90 %: {below}")
    kinds = [f"{kind} {row['killed']}/{row['live']}" for kind, row in result.by_kind().items()]
    if kinds:
        click.echo(f"killed of live, by kind: {', '.join(kinds)}")
    if not result.measured:
        click.echo("nothing was measured")


def _figures(task: TaskStrength) -> Iterable[int]:
    """In the order of the columns, without the score."""
    yield len(task.results)
    for fate in ("invalid", "refused", "equivalent"):
        yield task.count(fate)
    yield task.live
    yield task.count("killed")


def _row(task: TaskStrength) -> str:
    return "".join(f"{number:>11}" for number in _figures(task))


def _stubs(task: TaskStrength) -> str:
    return f"  passed by stubs: {', '.join(task.stubs_passed)}" if task.stubs_passed else ""


def _print_survivors(result: Strength, *, lines: bool) -> None:
    survivors = [(task.id, one) for task in result.measured for one in task.survivors]
    if not survivors:
        return
    click.echo(f"mutants that pass{'' if lines else ' (--show-survivors shows their lines)'}:")
    for task, one in survivors:
        proof = f" [{one.proof}]" if one.proof else ""
        click.echo(f"  {task} {one.id}: {one.what}{proof}")
        if lines:
            _print_lines(one)


def _print_lines(one: MutantResult) -> None:
    from verieval.report.text import printable

    for sign, text in [*(("-", line) for line in one.before), *(("+", line) for line in one.after)]:
        click.echo(f"    {sign} {printable(text.strip())}")


def _print_agreement(result: Agreement) -> None:
    click.echo(
        f"{result.benchmark}: {result.tasks} references and {result.mutants} mutants on {', '.join(result.simulators)}"
    )
    rest = len(result.differences) - len(result.disagreements) - len(result.refused)
    click.echo(
        f"verdicts differ: {len(result.disagreements)}; passed by one and not compiled by another: "
        f"{len(result.refused)}; failed by all in different ways: {rest}"
    )
    for one in result.differences:
        outcomes = ", ".join(f"{name} {outcome}" for name, outcome in one.outcomes.items())
        click.echo(f"  {one.task} {one.mutant or 'reference'}: {one.what}: {outcomes}{_MARKS[one.kind]}")


_MARKS = {"verdict": "", "refused": " (not compiled)", "outcome": " (fails on all)"}
