"""Replay a counterexample in simulation: reference and candidate apart, on the same inputs, and their outputs compared.

A netlist is not what a simulator runs, so a difference between netlists counts only if Icarus shows it too.
"""

from __future__ import annotations

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
_UNIT = 1000  # ns between events, so that small delays in a text have passed


@dataclass(frozen=True)
class Event:
    """A moment at which inputs are set. ``compared`` is the step of the counterexample that it shows, or None."""

    values: Mapping[str, int]
    compared: int | None = None


@dataclass(frozen=True)
class Counterexample:
    """Inputs on which a candidate and the reference differ, as it was seen in simulation.

    Attributes:
        resets: reset ports with the values that they have at first, for ``rounds`` cycles of ``clocks``.
        rounds: see there.
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


def events(setup: Setup, steps: Sequence[tuple[Mapping[str, int], bool]]) -> list[Event]:
    """What a bench has to do: reset, then the steps."""
    idle, active = (0, 1) if setup.rising else (1, 0)
    if setup.style == "sampled":
        idle, active = 0, 1
    rest = dict.fromkeys(setup.clocks, idle)
    found = [Event({**rest, **setup.resets})]
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
    word = secrets.token_hex(8)
    text = bench(module, ports, events(setup, steps), word, parameters)
    want, got = (_simulate(launcher, toolchain, source, text, word) for source in sources)
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
            return Counterexample(
                resets=dict(setup.resets),
                rounds=setup.rounds,
                clocks=setup.clocks,
                ticks=tuple(tick for _, tick in steps[: number + 1]),
                steps=tuple(dict(values) for values, _ in steps[: number + 1]),
                expected={name: a for name, a, _ in wrong},
                got={name: b for name, _, b in wrong},
            )
    return "the netlists differ, but simulation does not show it"


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
