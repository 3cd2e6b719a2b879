"""Is the bad bit of a miter ever 1? Random simulation finds most differences, yosys-abc decides the rest."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verieval.judge.aig import FALSE, Aig
from verieval.judge.miter import Miter
from verieval.judge.process import Launcher, Step
from verieval.judge.sandbox import PYTHON
from verieval.judge.yosys import Yosys

_STATUS = re.compile(r"^Status = (-?\d+)", re.MULTILINE)
_BIT = re.compile(r"^pi(\d+)@(\d+)=([01])$", re.MULTILINE)
_LANES = 64
_STEPS = 96
_WORK = 600_000  # node evaluations that random simulation may take, some tenths of a second
_SHOW = "import sys; sys.stdout.write(open('cex').read(1 << 24))"
Trace = Sequence[Mapping[int, int]]  # value of each input's literal, step by step


@dataclass(frozen=True)
class Walk:
    """What random simulation met.

    Attributes:
        trace: inputs that lead to a difference; None where none was met.
        never: output bits of the reference that were x at every step of every walk.
    """

    trace: Trace | None
    never: tuple[str, ...]


def wander(miter: Miter, seed: int = 0) -> Walk:
    """Simulate random inputs from the start, many walks at a time."""
    aig, rng = miter.aig, random.Random(seed)
    full = (1 << _LANES) - 1
    state = dict.fromkeys(aig.latches, 0)
    never = set(miter.outputs)
    habits = _habits(aig, rng)
    inputs: list[dict[int, int]] = []
    for _ in range(_steps(aig)):
        inputs.append({literal: _word(rng, habit) for literal, habit in habits.items()})
        values = aig.evaluate({**inputs[-1], **state}, _LANES)
        value = _reader(values, full)
        never -= {name for name in never if value(miter.outputs[name].one) | value(miter.outputs[name].zero)}
        if wrong := value(miter.bad):
            lane = (wrong & -wrong).bit_length() - 1
            return Walk([{literal: bits >> lane & 1 for literal, bits in row.items()} for row in inputs], ())
        state = {latch: value(aig.next[latch]) for latch in aig.latches}
    return Walk(None, tuple(sorted(never)))


def _steps(aig: Aig) -> int:
    return max(2, min(_STEPS, _WORK // len(aig)))


def _reader(values: Sequence[int], full: int) -> Callable[[int], int]:
    return lambda literal: values[literal >> 1] ^ (full if literal & 1 else 0)


def _habits(aig: Aig, rng: random.Random) -> dict[int, tuple[int, int]]:
    """For each input the walks in which it is seldom 1, and those in which it is seldom 0.

    A reset that comes at every other step would never let a walk get anywhere.
    """
    habits = {}
    for literal in aig.inputs:
        seldom = rng.getrandbits(_LANES)
        habits[literal] = seldom, rng.getrandbits(_LANES) & ~seldom
    return habits


def _word(rng: random.Random, habit: tuple[int, int]) -> int:
    a, b, c, d, word = (rng.getrandbits(_LANES) for _ in range(5))
    seldom, often = habit
    return (a & b & c & d & seldom) | ((a | b | c | d) & often) | (word & ~(seldom | often))


@dataclass(frozen=True)
class Decision:
    """``holds``: the machines never differ; None where the prover gave up. ``trace`` is one that shows that they do."""

    holds: bool | None
    reason: str
    trace: Trace = ()
    cpu: float = 0.0


def decide(launcher: Launcher, yosys: Yosys, miter: Miter, cpu: float) -> Decision:
    """Ask yosys-abc: signal correspondence by induction, then property-directed reachability.

    Args:
        launcher: where it runs.
        yosys: the installation that it belongs to.
        miter: the question.
        cpu: CPU seconds.

    Raises:
        VerievalError: it cannot be started, or the work folder cannot be used.
        Lost: it was killed from outside.
    """
    if miter.bad == FALSE:
        return Decision(True, "")
    how = "scorr; pdr" if miter.aig.latches else "iprove"
    commands = f"read_aiger miter.aig; {how}; print_status; write_cex -n cex"
    prove = Step((yosys.abc, "-q", commands), cpu, "said", makes="cex")
    show = Step((PYTHON, "-I", "-S", "-c", _SHOW), cpu, "cex.txt")
    done = launcher.run({"miter.aig": miter.aig.aiger(miter.bad)}, [prove, show])
    ended, used = done.steps[0], sum(step.cpu for step in done.steps)
    status = _STATUS.findall(done.printed["said"])
    if status and status[-1] == "1":
        return Decision(True, "", cpu=used)
    if status and status[-1] == "0" and len(done.steps) == 2:
        return Decision(False, "", _trace(miter, done.printed["cex.txt"]), used)
    if ended.timed_out:
        return Decision(None, f"no proof and no counterexample within {cpu:g} s of CPU time", cpu=used)
    return Decision(None, "the prover ended without an answer", cpu=used)


def _trace(miter: Miter, text: str) -> Trace:
    literals = miter.aig.inputs
    steps: dict[int, dict[int, int]] = {}
    for index, frame, value in _BIT.findall(text):
        if int(index) < len(literals):
            steps.setdefault(int(frame), {})[literals[int(index)]] = int(value)
    return [steps.get(frame, {}) for frame in range(max(steps, default=0) + 1)]


def follow(miter: Miter, trace: Trace, seed: int = 0) -> list[tuple[dict[str, int], bool]] | None:
    """Values of the input ports, and whether the clock ticks, step by step to the difference, and further random steps.

    The further steps are for a simulator that does not see the difference at once: it may take a branch where the gates
    have x, and so be another step behind.

    None where the trace leads to no difference.
    """
    aig, rng = miter.aig, random.Random(seed)
    further = [{literal: rng.getrandbits(1) for literal in aig.inputs} for _ in range(_steps(aig))]
    differ = False
    state = dict.fromkeys(aig.latches, 0)
    steps: list[tuple[dict[str, int], bool]] = []
    for row in [*trace, *further]:
        values = aig.evaluate({**row, **state})
        value = _reader(values, 1)
        ports = {
            name: sum(value(literal) << index for index, literal in enumerate(literals))
            for name, literals in miter.inputs.items()
        }
        steps.append((ports, bool(value(miter.tick))))
        differ |= len(steps) <= len(trace) and bool(value(miter.bad))
        state = {latch: value(aig.next[latch]) for latch in aig.latches}
    return steps if differ else None
