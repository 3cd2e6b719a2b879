"""Calibration: what a bench can tell, found out by running stubs and the reference on this toolchain.

A bench that passes a stub is vacuous; one that fails a correct design without values at power-up is sensitive to them;
one whose inputs answer to the design cannot hold a candidate to the reference's trace. None of this is assumed: every
answer comes from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from verieval.errors import VerievalError
from verieval.judge.calibrate_sources import stubs, without_power_up
from verieval.task import Task, Testbench

PowerUp = Literal["insensitive", "sensitive", "n/a"]

# A stub may take this many times the reference's CPU time, and at least so many seconds, before it counts as hanging.
_PATIENCE, _LEAST = 10.0, 2.0


@dataclass(frozen=True)
class Observation:
    """What one run with the sealed bench, at full length, showed.

    Attributes:
        compiled: it compiled and was simulated.
        finished: the simulation ended by itself, within its limits.
        clean: the bench printed exactly one verdict, and it was good.
        official: it passes by the benchmark's own rule.
        samples: the bench's count of samples, None where it has none.
        trace: see :class:`verieval.judge.seal.Unsealed`.
        steps: the same, where they were asked for.
        cpu: seconds of the simulation.
    """

    compiled: bool
    finished: bool
    clean: bool
    official: bool
    samples: int | None
    trace: str | None
    steps: tuple[str, ...]
    cpu: float


class Runner(Protocol):
    """Runs a source, not admitted and not ended early, with a task's sealed bench."""

    def __call__(self, task: Task, source: str, *, steps: bool, cpu: float | None) -> Observation:
        """One run.

        Args:
            task: whose bench is used.
            source: defines the target module.
            steps: seal with ``steps``, and return them.
            cpu: limit in CPU seconds, None for the usual one.
        """


@dataclass(frozen=True)
class Calibration:
    """What is known of one task on one toolchain.

    Attributes:
        task: its id.
        samples: that the reference run reaches, None where the bench counts none.
        cpu: seconds of the reference's simulation.
        trace: of the reference run; None where the bench has none.
        stubs_passed: kinds of stubs that pass, by the bench's report or by the official rule.
        power_up: how the reference fares without values at power-up; ``n/a`` where it does not pass with them, or does
            not compile without.
        inputs_depend: the bench's inputs answer to the design; None where no run tells.
        flags: ``reference_fails``, ``no_trace``, ``vacuous`` (a stub passes, and the target has inputs), ``power_up``,
            ``inputs_depend``, and what explains them:
            ``stops_at_failure`` (the bench ends when it finds a fault) and ``waits`` (a stub makes it wait or hang).
    """

    task: str
    samples: int | None
    cpu: float
    trace: str | None
    stubs_passed: tuple[str, ...]
    power_up: PowerUp
    inputs_depend: bool | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class _Inputs:
    """How the trace of stubs compares with the reference's."""

    depend: bool | None
    stops: bool = False
    waits: bool = False


def calibrate_task(task: Task, run: Runner) -> Calibration:
    """Run the reference, the stubs and the reference without power-up values, one after the other.

    Raises:
        VerievalError: the task has no reference.
    """
    if task.reference is None:
        raise VerievalError(f"{task.id} has no reference, so its bench cannot be calibrated")
    reference = run(task, task.reference, steps=False, cpu=None)
    limit = max(_LEAST, _PATIENCE * reference.cpu)
    seen = {kind: run(task, source, steps=False, cpu=limit) for kind, source in stubs(task).items()}
    passed = tuple(kind for kind, one in seen.items() if one.official or _good(one, reference))
    inputs = _inputs(task, run, reference, seen, limit)
    power_up = _power_up(task, run, reference, limit)
    found = Calibration(
        task.id, reference.samples, reference.cpu, reference.trace, passed, power_up, inputs.depend, flags=()
    )
    return replace(found, flags=tuple(_flags(task, found, reference, inputs)))


def calibrate(
    tasks: Iterable[Task], run: Runner, progress: Callable[[], None] = lambda: None
) -> tuple[Calibration, ...]:
    """Calibrate the tasks that have a reference, in order; ``progress`` is called after each."""
    found = []
    for task in tasks:
        if task.reference is not None:
            found.append(calibrate_task(task, run))
        progress()
    return tuple(found)


def _good(one: Observation, reference: Observation) -> bool:
    """A good verdict after as many samples as the reference reaches."""
    return one.finished and one.clean and one.samples == reference.samples


def _power_up(task: Task, run: Runner, reference: Observation, limit: float) -> PowerUp:
    if not reference.clean or task.reference is None:
        return "n/a"
    source = without_power_up(task)
    if source is None:
        return "insensitive"  # it has none and passes
    one = run(task, source, steps=False, cpu=limit)
    if not one.compiled:
        return "n/a"
    return "insensitive" if _good(one, reference) else "sensitive"


def _inputs(task: Task, run: Runner, reference: Observation, seen: dict[str, Observation], limit: float) -> _Inputs:
    """Compare traces; where they differ, look whether one only ends sooner.

    A bench that stops at the first fault feeds a stub the beginning of what it feeds the reference. That is no answer
    to the design: whoever passes gets all of it.
    """
    if reference.trace is None or not reference.finished:
        return _Inputs(None)
    ran = {kind: one for kind, one in seen.items() if one.compiled}
    differing = [kind for kind, one in ran.items() if one.trace != reference.trace]
    if not differing:
        return _Inputs(False if ran else None)
    if not all(ran[kind].finished for kind in differing):
        return _Inputs(True, waits=True)
    whole = run(task, task.reference or "", steps=True, cpu=limit).steps
    sources = stubs(task)
    stops = False
    for kind in differing:
        one = run(task, sources[kind], steps=True, cpu=limit)
        # The last step is cut short: `$finish` lets the moment end, but not the process that would change more inputs.
        before = one.steps[:-1]
        if _good(one, reference) or len(before) >= len(whole) or before != whole[: len(before)]:
            return _Inputs(True, stops=stops)
        stops = True
    return _Inputs(False, stops=stops)


def _flags(task: Task, found: Calibration, reference: Observation, inputs: _Inputs) -> Iterable[str]:
    # Without an input the right answer may well be a constant.
    constant = bool(task.ports) and all(port.direction == "output" for port in task.ports)
    flags = {
        "reference_fails": not reference.official or not reference.clean,
        "no_trace": found.trace is None and isinstance(task.oracle, Testbench),
        "vacuous": bool(found.stubs_passed) and not constant,
        "power_up": found.power_up == "sensitive",
        "inputs_depend": found.inputs_depend is True,
        "stops_at_failure": inputs.stops,
        "waits": inputs.waits,
    }
    return (flag for flag, holds in flags.items() if holds)
