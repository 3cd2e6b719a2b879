"""Replay a counterexample in simulation: reference and candidate apart, on the same inputs, and their outputs compared.

A netlist is not what a simulator runs, so a difference between netlists counts only if Icarus shows it too.
"""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from verieval.judge.icarus import probe
from verieval.judge.miter import Setup
from verieval.judge.process import Launcher, Step
from verieval.judge.toolchain import Toolchain
from verieval.task import Port

_FLAGS = ("-g2012",)
UNDEFINED = "x"
_TRIES = 4  # random values of the inputs during a reset, beside some that are none
_UNIT = 1000  # ns between events, so that small delays in a text have passed


@dataclass(frozen=True)
class Event:
    """A moment at which inputs are set. ``compared`` is the step of the counterexample that it shows, or None."""

    values: Mapping[str, int]
    compared: int | None = None


def before_the_first_step(ports: Sequence[Port], setup: Setup) -> dict[str, str]:
    """What each input port but the clocks has before the first step: the value that resets, or x."""
    return {
        port.name: f"{setup.resets[port.name]:x}" if port.name in setup.resets else UNDEFINED
        for port in ports
        if port.direction == "input" and port.name not in setup.clocks
    }


@dataclass(frozen=True)
class Counterexample:
    """Inputs on which a candidate and the reference differ, as it was seen in simulation.

    Attributes:
        resets: reset ports with the values that they have at first, for ``rounds`` cycles of ``clocks``.
        rounds: see there.
        before: what each input port but the clocks has meanwhile, in hexadecimal, or ``x``: undefined in all its bits.
        undefined_matters: what is ``x`` there has to be: with no defined values that were tried in its place did the
            same steps show a difference.
        clocks: the clock ports.
        ticks: a clock that is not among the inputs of a step ticks at its end where this says so.
        steps: values of the input ports, step by step; the outputs differ at the last one.
        expected, got: the outputs that differ, by name, in binary.
    """

    resets: Mapping[str, int]
    rounds: int
    clocks: tuple[str, ...]
    ticks: tuple[bool, ...]
    steps: tuple[Mapping[str, int], ...]
    expected: Mapping[str, str] = field(default_factory=dict)
    got: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    undefined_matters: bool = False


def events(
    setup: Setup, steps: Sequence[tuple[Mapping[str, int], bool]], start: Mapping[str, int] | None = None
) -> list[Event]:
    """What a bench has to do: reset, then the steps. ``start`` are values of other inputs during the reset."""
    idle, active = (0, 1) if setup.rising else (1, 0)
    if setup.style == "sampled":
        idle, active = 0, 1
    rest = dict.fromkeys(setup.clocks, idle)
    found = [Event({**(start or {}), **rest, **setup.resets})]
    for _ in range(setup.rounds if setup.resets else 0):
        found += [Event(dict.fromkeys(setup.clocks, level)) for level in (active, idle)]
    for number, (values, tick) in enumerate(steps):
        found.append(Event(values, number))
        if setup.style == "cycle" and setup.clocks and tick:
            found += [Event(dict.fromkeys(setup.clocks, level)) for level in (active, idle)]
    return found


def bench(
    module: str,
    ports: Sequence[Port],
    happenings: Sequence[Event],
    word: str,
    parameters: Mapping[str, int] | None = None,
) -> str:
    """A bench that sets inputs and prints outputs, each line after ``word``, which a candidate cannot guess."""
    lines = ["`timescale 1ns/1ps", "module verieval_replay;"]
    first = happenings[0].values
    for port in ports:
        kind = "wire" if port.direction == "output" else "reg"
        start = f" = {port.width}'d{first[port.name]}" if kind == "reg" and port.name in first else ""
        lines.append(f"  {kind} [{port.width - 1}:0] {_name(port.name)}{start};")
    pins = ", ".join(f".{_name(port.name)}({_name(port.name)})" for port in ports)
    given = ", ".join(f".{_name(name)}({value})" for name, value in (parameters or {}).items())
    target = f"{_name(module)}#({given}) dut" if given else f"{_name(module)} dut"
    lines += [f"  {target}({pins});", "  initial begin", f"    #{_UNIT};"]
    width = {port.name: port.width for port in ports}
    outputs = [port for port in ports if port.direction == "output"]
    shown = "".join(f", {_name(port.name)}" for port in outputs)
    for event in happenings[1:]:
        lines += [
            f"    {_name(name)} = {width[name]}'d{value};" for name, value in event.values.items() if name in width
        ]
        lines.append(f"    #{_UNIT};")
        if event.compared is not None:
            lines.append(f'    $display("{word} {event.compared}{" %b" * len(outputs)}"{shown});')
    return "\n".join([*lines, "    $finish;", "  end", "endmodule", ""])


def _name(name: str) -> str:
    return f"\\{name} "


def replay(
    launcher: Launcher,
    toolchain: Toolchain,
    sources: tuple[str, str],
    module: str,
    ports: Sequence[Port],
    setup: Setup,
    steps: Sequence[tuple[Mapping[str, int], bool]],
    parameters: Mapping[str, int] | None = None,
) -> Counterexample | str:
    """Simulate reference and candidate under the same inputs.

    Args:
        launcher: where Icarus runs.
        toolchain: which Icarus.
        sources: reference, candidate.
        module: the module that both define.
        ports: its ports.
        setup: how they are run.
        steps: inputs, and whether the clock ticks.
        parameters: of both; the others have each text's defaults.

    Returns:
        The counterexample up to the first step at which a defined output of the reference is another one of the
        candidate; where there is none, why.

    Raises:
        VerievalError: Icarus cannot be started or does not work, or the work folder cannot be used.
        Lost: it was killed from outside.
    """
    asked = _Asked(launcher, toolchain, sources, module, ports, setup, parameters or {})
    want, got = _outputs(asked, steps)
    if len(want) < len(steps):
        probe(launcher, toolchain)  # a broken installation says nothing of the texts
        return "the netlists differ, but the reference could not be simulated to the end"
    if not got:
        return "the netlists differ, but it could not be simulated"
    names = [port.name for port in ports if port.direction == "output"]
    for number in range(len(steps)):
        if number not in got:
            return "the netlists differ, but its simulation ended before that"
        pairs = zip(names, want[number], got[number], strict=True)
        wrong = [(name, a, b) for name, a, b in pairs if _differ(a, b)]
        if wrong:
            shown = steps[: number + 1]
            return Counterexample(
                resets=dict(setup.resets),
                rounds=setup.rounds,
                clocks=setup.clocks,
                ticks=tuple(tick for _, tick in shown),
                steps=tuple(dict(values) for values, _ in shown),
                expected={name: a for name, a, _ in wrong},
                got={name: b for name, _, b in wrong},
                before=before_the_first_step(ports, setup),
                undefined_matters=_undefined_matters(asked, shown),
            )
    return "the netlists differ, but simulation does not show it"


@dataclass(frozen=True)
class _Asked:
    """What is simulated, with what; see :func:`replay`."""

    launcher: Launcher
    toolchain: Toolchain
    sources: tuple[str, str]
    module: str
    ports: Sequence[Port]
    setup: Setup
    parameters: Mapping[str, int]


def _outputs(
    asked: _Asked, steps: Sequence[tuple[Mapping[str, int], bool]], start: Mapping[str, int] | None = None
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Outputs of the reference and of the candidate, by step."""
    word = secrets.token_hex(8)
    text = bench(asked.module, asked.ports, events(asked.setup, steps, start), word, asked.parameters)
    want, got = (_simulate(asked.launcher, asked.toolchain, source, text, word) for source in asked.sources)
    return want, got


def _undefined_matters(asked: _Asked, steps: Sequence[tuple[Mapping[str, int], bool]]) -> bool:
    """Whether the steps show no difference once the inputs are defined during the reset, at any values tried."""
    setup = asked.setup
    known = {*setup.resets, *setup.clocks}
    free = [port for port in asked.ports if port.direction == "input" and port.name not in known]
    if not free or not setup.resets:
        return False
    rng = random.Random(0)
    starts = [
        {port.name: steps[0][0].get(port.name, 0) for port in free},
        {port.name: 0 for port in free},
        {port.name: (1 << port.width) - 1 for port in free},
        *({port.name: rng.getrandbits(port.width) for port in free} for _ in range(_TRIES)),
    ]
    return not any(_shown(*_outputs(asked, steps, start)) for start in starts)


def _shown(want: Mapping[int, Sequence[str]], got: Mapping[int, Sequence[str]]) -> bool:
    """Some output differs; a simulation that ends before the other is a difference too."""
    return any(
        number not in got or any(_differ(*pair) for pair in zip(values, got[number], strict=True))
        for number, values in want.items()
    )


def _differ(want: str, got: str) -> bool:
    return any(a in "01" and a != b for a, b in zip(want, got, strict=True))


def _simulate(launcher: Launcher, toolchain: Toolchain, source: str, text: str, word: str) -> dict[int, list[str]]:
    """Outputs by step; empty where it does not compile or run."""
    compiler = (*toolchain.iverilog, *_FLAGS, "-s", "verieval_replay", "-o", "simulation", "bench.sv", "design.sv")
    steps = [
        Step(compiler, launcher.limits.compile_cpu, "log", makes="simulation"),
        Step((*toolchain.vvp, "-n", "simulation", "-none"), launcher.limits.simulate_cpu, "out", "err"),
    ]
    done = launcher.run({"bench.sv": text.encode(), "design.sv": source.encode("utf-8", "replace")}, steps)
    rows = re.findall(rf"^{word} (\d+)((?: [01xz]+)*)$", done.printed.get("out", ""), re.MULTILINE)
    return {int(number): values.split() for number, values in rows}
