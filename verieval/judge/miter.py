"""The question of equivalence as one graph: two machines on the same inputs, and a bit that says that they differ.

Where the reference is x, every value is as good; where it is not, an x is wrong. Nothing is assumed of the inputs but
what a fair bench keeps to: clocks and data do not change at the same instant. Before the first step the reset is
asserted, where there is one, until the state no longer changes, with nothing known of the other inputs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from verieval.judge.aig import FALSE, ONE, TRUE, ZERO, Aig, Three, X
from verieval.judge.machine import Key, Machine, State, Style
from verieval.judge.netlist import Bit, Netlist
from verieval.task import Port

_RESET = re.compile(
    r"(?i)(?:.*_)?(?:a|s|n|i|async_?|sync_?|sys_?|core_?|global_?|g|m|p|h|w|wr|r|rd)?(?:rst|reset|clr|clear)"
    r"(?:_?n|_?b|_?i|_?ni|_?p)?(?:_.*)?|ar|r"
)
_ROUNDS = 8
Values = dict[str, int]


@dataclass(frozen=True)
class Setup:
    """How the two machines are run.

    Attributes:
        style: how time is seen.
        clocks: ports that clock something.
        rising: of ``cycle``: the edge that does.
        free_tick: of ``cycle``: a step may pass without a tick, because something acts without the clock.
        resets: value that each reset port has before the first step.
        rounds: clock cycles of that.
    """

    style: Style
    clocks: tuple[str, ...]
    rising: bool = True
    free_tick: bool = False
    resets: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 0


def ports_differ(gold: Netlist, gate: Netlist) -> str:
    """Why two netlists cannot be compared port by port; empty where they can."""
    theirs = {port.name: port for port in gate.ports}
    for port in gold.ports:
        other = theirs.pop(port.name, None)
        if other is None:
            return f"it has no port {port.name}"
        if (other.direction, other.width) != (port.direction, port.width):
            return f"its port {port.name} is an {other.direction} of {other.width} bits, not an {_words(port)}"
    return f"it has a further port {next(iter(theirs))}" if theirs else ""


def _words(port: Port) -> str:
    return f"{port.direction} of {port.width} bits"


def set_up(gold: Machine, gate: Machine, resets: Mapping[str, int] | None = None) -> Setup:
    """Find out how the two are to be run.

    Args:
        gold: the reference.
        gate: what is compared with it.
        resets: reset ports with the value that resets; None looks for them.
    """
    setup = _timing(gold, gate)
    found = dict(resets) if resets is not None else find_resets(gold, setup)
    if not found or not (gold.stores or gate.stores):
        return setup
    rounds = max(settle(machine, setup, found)[1] for machine in (gold, gate))
    return Setup(setup.style, setup.clocks, setup.rising, setup.free_tick, found, rounds)


def _timing(gold: Machine, gate: Machine) -> Setup:
    edges, awake, simple = set[tuple[str, bool]](), False, True
    ports: list[str] = []
    for machine in (gold, gate):
        port_of = {bit: port.name for port in machine.netlist.ports if port.direction == "input"
                   for bit in machine.netlist.bits[port.name]}  # fmt: skip
        for store in machine.stores.values():
            if store.clock is None:
                awake = True
                continue
            name = port_of.get(store.clock.bit)
            simple &= name is not None
            edges.add((name or "", store.clock.high))
            awake |= bool(store.forces)
            acting = machine.cone([signal.bit for signal, _ in store.forces] + [bit for _, bit in store.forces])
            simple &= not any(bit in machine.stores for bit in acting)
            ports += [port_of[bit] for bit in machine.cone([store.clock.bit]) if bit in port_of]
        flops = [store for store in machine.stores.values() if store.clock is not None]
        simple &= not flops or len(flops) == len(machine.stores)
    latches = any(store.latch for machine in (gold, gate) for store in machine.stores.values())
    simple &= not (latches and edges)
    clocks = tuple(dict.fromkeys(ports))
    if simple and len(edges) <= 1 and not any(_reads(machine, clocks) for machine in (gold, gate)):
        return Setup("cycle", clocks, next(iter(edges), ("", True))[1], awake)
    if not clocks:
        return Setup("cycle", (), free_tick=False)
    return Setup("sampled", clocks)


def _reads(machine: Machine, clocks: Sequence[str]) -> bool:
    """A clock is used as data, too."""
    wires = {bit for name in clocks for bit in machine.netlist.bits.get(name, ())}
    roots = [bit for port in machine.netlist.ports if port.direction == "output"
             for bit in machine.netlist.bits[port.name]]  # fmt: skip
    for store in machine.stores.values():
        roots += [store.data, *(bit for signal, value in store.forces for bit in (signal.bit, value))]
        roots += [store.enable.bit] if store.enable else []
    return bool(machine.cone(roots) & wires)


def find_resets(gold: Machine, setup: Setup) -> dict[str, int]:
    """Input ports of one bit, called like a reset, that define some of the state at a value of theirs."""
    found: dict[str, int] = {}
    known = _defined(gold, setup, found)
    for port in gold.netlist.ports:
        if (
            port.direction == "input"
            and port.width == 1
            and _RESET.fullmatch(port.name)
            and port.name not in setup.clocks
        ):
            for value in (1, 0):
                count = _defined(gold, setup, {**found, port.name: value})
                if count > known:
                    found, known = {**found, port.name: value}, count
                    break
    return found


def _defined(machine: Machine, setup: Setup, resets: Mapping[str, int]) -> int:
    """Stores that are defined after a reset, whatever they held before."""
    blank = {key: X if key[0] == "q" else value for key, value in machine.initial(setup.style).items()}
    state = settle(machine, setup, resets, blank)[0]
    return sum(value != X for (kind, _), value in state.items() if kind == "q")


def settle(
    machine: Machine, setup: Setup, resets: Mapping[str, int], state: State | None = None, rounds: int = _ROUNDS
) -> tuple[State, int]:
    """The state after a reset, and after how many cycles it no longer changed."""
    aig = Aig()
    state = state if state is not None else machine.initial(setup.style)
    inputs = _constants(machine, {**dict.fromkeys(setup.clocks, 0), **resets})
    if setup.style == "sampled":
        state = machine.step(aig, "sampled", inputs, state)[1]
    for number in range(rounds):
        before = state
        if setup.style == "cycle":
            state = machine.step(aig, "cycle", inputs, state)[1]
        else:
            for level in (1, 0):
                inputs = _constants(machine, {**dict.fromkeys(setup.clocks, level), **resets})
                state = machine.step(aig, "sampled", inputs, state)[1]
        if state == before:
            return state, number + 1
    return state, rounds


def _constants(machine: Machine, values: Mapping[str, int]) -> dict[Bit, Three]:
    """Wires of the input ports: the given values, and x."""
    netlist = machine.netlist
    return {
        bit: (ONE if values[port.name] >> index & 1 else ZERO) if port.name in values else X
        for port in netlist.ports
        if port.direction == "input"
        for index, bit in enumerate(netlist.bits[port.name])
    }


@dataclass(frozen=True)
class Miter:
    """Two machines in one graph.

    Attributes:
        setup: how they are run.
        aig: the graph.
        bad: the literal that says that they differ.
        inputs: literals of each input port's bits in a step, clocks included where time is sampled.
        tick: the literal that says that the clock ticks at the end of the step.
        outputs: the reference's output bits, by name.
    """

    setup: Setup
    aig: Aig
    bad: int
    inputs: Mapping[str, tuple[int, ...]]
    tick: int
    outputs: Mapping[str, Three]


def build(gold: Machine, gate: Machine, setup: Setup, most: int = 1_000_000) -> Miter:
    """Put the two together.

    Args:
        gold: the reference.
        gate: what is compared with it.
        setup: from :func:`set_up`.
        most: nodes that the graph may have.

    Raises:
        Loop: one of them depends on itself at once.
        TooLarge: the graph outgrew ``most``.
    """
    starts = [_start(machine, setup) for machine in (gold, gate)]
    # A store that begins defined is taken to stay so, until its next value shows otherwise; that is an induction.
    undefined = [{key for key, value in start.items() if value == X} for start in starts]
    while True:
        miter, doubtful = _attempt(gold, gate, setup, starts, undefined, most)
        if not any(doubtful):
            return miter
        undefined = [known | new for known, new in zip(undefined, doubtful, strict=True)]


def _start(machine: Machine, setup: Setup) -> State:
    if setup.resets or setup.style == "sampled":
        return settle(machine, setup, setup.resets, rounds=setup.rounds)[0]
    return machine.initial(setup.style)


def _attempt(
    gold: Machine, gate: Machine, setup: Setup, starts: Sequence[State], undefined: Sequence[set[Key]], most: int
) -> tuple[Miter, list[set[Key]]]:
    aig = Aig(most)
    inputs, tick = _environment(aig, gold, setup)
    doubtful: list[set[Key]] = []
    seen = []
    for machine, start, unsure in zip((gold, gate), starts, undefined, strict=True):
        latches: dict[Key, tuple[int, int]] = {}
        state = {key: _latch(aig, value, key in unsure, latches, key) for key, value in start.items()}
        wires = {bit: aig.three(inputs[port.name][index]) for port in machine.netlist.ports if port.name in inputs
                 for index, bit in enumerate(machine.netlist.bits[port.name])}  # fmt: skip
        values, after = machine.step(aig, setup.style, wires, state, aig.three(tick))
        doubtful.append({key for key in start if key not in unsure and not after[key].defined})
        for key, (one, zero) in latches.items():
            aig.next[one & ~1] = after[key].one ^ (one & 1)
            if zero >= 0:
                aig.next[zero & ~1] = after[key].zero ^ (zero & 1)
        seen.append(
            {f"{port.name}[{index}]": values.get(bit, X) for port in machine.netlist.ports if port.direction == "output"
             for index, bit in enumerate(machine.netlist.bits[port.name])}
        )  # fmt: skip
    bad = FALSE
    for name, want in seen[0].items():
        got = seen[1][name]
        wrong = aig.any(aig.all(want.one, got.one ^ 1), aig.all(want.zero, got.zero ^ 1))
        bad = aig.any(bad, wrong)
    return Miter(setup, aig, bad, inputs, tick, seen[0]), doubtful


def _latch(aig: Aig, start: Three, unsure: bool, latches: dict[Key, tuple[int, int]], key: Key) -> Three:
    """A stored bit: one latch where it is always defined, else two. Latches begin at 0, so one for a 1 is inverted."""
    one = aig.latch() | (start == ONE)
    zero = aig.latch() | (start == ZERO) if unsure else -1
    latches[key] = (one, zero)
    return Three(one, zero) if unsure else aig.three(one)


def _environment(aig: Aig, gold: Machine, setup: Setup) -> tuple[dict[str, tuple[int, ...]], int]:
    """Literals of the input ports in a step, and of the tick."""
    ports = [port for port in gold.netlist.ports if port.direction == "input"]
    data = [port for port in ports if port.name not in setup.clocks]
    if setup.style == "cycle":
        tick = aig.input() if setup.free_tick and setup.clocks else TRUE
        return {port.name: tuple(aig.input() for _ in range(port.width)) for port in data}, tick
    # Either the data changes or one clock does.
    begun = aig.latch()
    aig.next[begun] = TRUE
    tick = aig.all(aig.input(), begun)
    inputs: dict[str, tuple[int, ...]] = {}
    turn = tick
    for port in ports:
        literals = []
        for _ in range(port.width):
            before, free = aig.latch(), aig.input()
            if port.name in setup.clocks:
                chosen = aig.all(turn, free)
                turn = aig.all(turn, free ^ 1)
                now = aig.choose(chosen, before ^ 1, before)
            else:
                now = aig.choose(tick, before, free)
            aig.next[before] = now
            literals.append(now)
        inputs[port.name] = tuple(literals)
    return inputs, tick
