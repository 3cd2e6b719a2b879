"""Is a design equivalent to its reference? Proven, refuted by a counterexample that simulation shows, or unknown.

Both texts are taken to gates by yosys and put into one graph (:mod:`verieval.judge.miter`), which is searched for a
difference by random simulation and by yosys-abc (:mod:`verieval.judge.prover`). What ``proven`` says, and does not
say, stands in ``docs/synthesis.md``: for every sequence of inputs from reset (or from power-up, where there is no
reset), every output bit that is defined in the reference is the same in the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from verieval.judge.aig import TooLarge, X
from verieval.judge.limits import Limits
from verieval.judge.machine import Machine, Unsupported, read_machine
from verieval.judge.miter import Miter, build, ports_differ, set_up
from verieval.judge.netlist import Loop
from verieval.judge.process import Launcher
from verieval.judge.prover import decide, follow, wander
from verieval.judge.replay import Counterexample, replay
from verieval.judge.toolchain import Toolchain
from verieval.judge.yosys import Read, Yosys, read_netlist
from verieval.task import CocotbBench, Task

Kind = Literal["proven", "refuted", "unknown"]


def proof_limits(
    read_cpu: float = 20.0, prove_cpu: float = 20.0, memory_mib: int = 1536, output_mib: int = 32
) -> Limits:
    """Limits of a launcher for :func:`prove`.

    Args:
        read_cpu: CPU seconds of yosys, and of Icarus's compiler.
        prove_cpu: CPU seconds of the prover, and of a replay.
        memory_mib: address space of each.
        output_mib: of a netlist.
    """
    return Limits(compile_cpu=read_cpu, simulate_cpu=prove_cpu, memory_mib=memory_mib, output_mib=output_mib)


@dataclass(frozen=True)
class Finding:
    """The answer at one set of parameters, empty for the texts' own defaults; see :class:`Proof`."""

    parameters: Mapping[str, int]
    kind: Kind
    reason: str = ""
    how: str = ""


@dataclass(frozen=True)
class Proof:
    """The answer.

    Attributes:
        kind: ``proven``, ``refuted`` or ``unknown``.
        reason: of ``unknown``.
        how: of ``proven``: ``same netlist``; ``logic``, where neither stores anything; else ``induction``.
        undefined: output bits that the reference does not define, so that nothing was compared there.
        style: how time was seen, ``cycle`` or ``sampled``; empty where there is no netlist.
        resets: reset ports, with the value that they had before the first comparison.
        counterexample: of ``refuted``.
        cpu: CPU seconds of the tools.
        parameters: at which this was found, empty for the texts' own defaults.
        findings: of :func:`prove_task`: what was found at each set of parameters. The other fields, but for ``kind``
            and ``cpu``, speak of one.
    """

    kind: Kind
    reason: str = ""
    how: str = ""
    undefined: tuple[str, ...] = ()
    style: str = ""
    resets: Mapping[str, int] | None = None
    counterexample: Counterexample | None = None
    cpu: float = 0.0
    parameters: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def row(self) -> dict[str, Any]:
        """As plain data, the inputs of a counterexample in hexadecimal: they may have hundreds of bits."""
        row = asdict(self)
        if self.counterexample is not None:
            steps = [{name: f"{value:x}" for name, value in step.items()} for step in self.counterexample.steps]
            row["counterexample"]["steps"] = steps
        return row


class References:
    """Netlists of references, which many texts are compared with. Threads may share it."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[object, ...], Read] = OrderedDict()

    def get(
        self,
        source: str,
        module: str,
        parameters: Mapping[str, int],
        read: Callable[[str, str, Mapping[str, int]], Read],
    ) -> Read:
        """The netlist that is known, or that ``read`` makes."""
        key = (source, module, *parameters.items())
        with self._lock:
            found = self._known.get(key)
        if found is None:
            found = read(source, module, parameters)
            with self._lock:
                self._known[key] = found
                if len(self._known) > self._most:
                    self._known.popitem(last=False)
        return found


@dataclass(frozen=True)
class Prover:
    """What proofs need. One thread owns it, as it does the launcher.

    Attributes:
        launcher: its sandbox knows :meth:`Yosys.needs`, its limits are :func:`proof_limits`.
        yosys: the installation.
        toolchain: the Icarus of replays.
        references: netlists of references that were read.
    """

    launcher: Launcher
    yosys: Yosys
    toolchain: Toolchain
    references: References = field(default_factory=References)

    def read(self, source: str, module: str, parameters: Mapping[str, int] | None = None) -> Read:
        """A text as gates; see :func:`verieval.judge.yosys.read_netlist`."""
        return read_netlist(self.launcher, self.yosys, source, module, parameters)

    def read_reference(self, source: str, module: str, parameters: Mapping[str, int] | None = None) -> Read:
        """The same, kept."""
        return self.references.get(source, module, parameters or {}, self.read)


def prove_task(prover: Prover, task: Task, gate: str) -> Proof:
    """Compare a text with a task's reference at every set of parameters that its bench judges.

    Args:
        prover: the tools. The launcher's limits are those of each proof.
        task: it has a reference.
        gate: what is compared with it.

    Returns:
        ``proven`` if it is at each. Otherwise what was found where it is refuted, or, if that is nowhere, unknown; the
        first in the order of the bench. After a refutation the others are left out.

    Raises:
        VerievalError: as :func:`prove`.
        Lost: as :func:`prove`.
    """
    oracle = task.oracle
    proofs: list[Proof] = []
    for parameters in oracle.overrides if isinstance(oracle, CocotbBench) else ({},):
        proofs.append(prove(prover, task.reference or "", gate, task.module, parameters=parameters))
        if proofs[-1].kind == "refuted":
            break
    return _together(proofs)


def _together(proofs: Sequence[Proof]) -> Proof:
    """One answer of those at several sets of parameters."""
    findings = tuple(Finding(proof.parameters, proof.kind, proof.reason, proof.how) for proof in proofs)
    chosen = next(proof for kind in ("refuted", "unknown", "proven") for proof in proofs if proof.kind == kind)
    reason = chosen.reason
    if chosen.kind == "unknown" and chosen.parameters:
        reason = f"with {said(chosen.parameters)}: {reason}"
    return replace(chosen, reason=reason, findings=findings, cpu=sum(proof.cpu for proof in proofs))


def said(parameters: Mapping[str, int]) -> str:
    """``WIDTH = 3, DEPTH = 1``."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


def prove(
    prover: Prover,
    gold: str,
    gate: str,
    module: str,
    *,
    parameters: Mapping[str, int] | None = None,
    resets: Mapping[str, int] | None = None,
) -> Proof:
    """Compare a text with its reference at one set of parameters.

    Args:
        prover: the tools.
        gold: the reference.
        gate: what is compared with it.
        module: the module that both define.
        parameters: of both; the others have each text's defaults.
        resets: reset ports with the value that resets; None looks for them, ``{}`` has none.

    Raises:
        VerievalError: a tool cannot be started, or the work folder cannot be used.
        Lost: one was killed from outside.
    """
    return replace(_prove(prover, gold, gate, module, parameters or {}, resets), parameters=dict(parameters or {}))


def _prove(
    prover: Prover,
    gold: str,
    gate: str,
    module: str,
    parameters: Mapping[str, int],
    resets: Mapping[str, int] | None,
) -> Proof:
    first = prover.read_reference(gold, module, parameters)
    if first.netlist is None:
        return Proof("unknown", f"the reference: {first.answer.reason}")
    second = prover.read(gate, module, parameters)
    cpu = second.answer.cpu
    if second.netlist is None:
        return Proof("unknown", second.answer.reason, cpu=cpu)
    other = ports_differ(first.netlist, second.netlist)
    if other:
        return Proof("unknown", other, cpu=cpu)
    try:
        machines = _machine(first.netlist, "the reference: "), _machine(second.netlist, "")
        setup = set_up(*machines, resets)
        miter = build(*machines, setup)
    except (Unsupported, Loop) as error:
        return Proof("unknown", str(error), cpu=cpu)
    except TooLarge:
        return Proof("unknown", "the design is too large", cpu=cpu)
    question = _Question((gold, gate), module, parameters, machines[0], first.netlist.key == second.netlist.key)
    return _compare(prover, question, miter, cpu)


def same_netlist(prover: Prover, gold: str, gate: str, module: str) -> bool:
    """The two are the same gates but for names and layout, which is cheap to find out and enough to be equivalent.

    False says nothing.

    Raises:
        VerievalError: yosys cannot be started, or the work folder cannot be used.
        Lost: it was killed from outside.
    """
    first, second = prover.read_reference(gold, module).netlist, prover.read(gate, module).netlist
    return first is not None and second is not None and not first.large and first.key == second.key


def _machine(netlist: Any, whose: str) -> Machine:
    try:
        return read_machine(netlist)
    except Unsupported as error:
        raise Unsupported(f"{whose}{error}") from None


@dataclass(frozen=True)
class _Question:
    """What is compared: two texts at a set of parameters. ``same``: their netlists are equal but for names."""

    sources: tuple[str, str]
    module: str
    parameters: Mapping[str, int]
    gold: Machine
    same: bool


def _compare(prover: Prover, asked: _Question, miter: Miter, cpu: float) -> Proof:
    setup = miter.setup
    undefined = tuple(name for name, value in miter.outputs.items() if value == X)
    about: dict[str, Any] = {"undefined": undefined, "style": setup.style, "resets": dict(setup.resets)}
    if len(undefined) == len(miter.outputs):
        return Proof("unknown", "the reference defines no output", **about, cpu=cpu)
    walk = wander(miter)
    never = tuple(name for name in walk.never if name not in undefined)
    if never:
        return Proof("unknown", f"the reference was never seen to define {_some(never)}", **about, cpu=cpu)
    trace = walk.trace
    if trace is None:
        if asked.same:
            return Proof("proven", how="same netlist", **about, cpu=cpu)
        decision = decide(prover.launcher, prover.yosys, miter, prover.launcher.limits.simulate_cpu)
        cpu += decision.cpu
        if decision.holds:
            how = "induction" if miter.aig.latches else "logic"
            return Proof("proven", how=how, **about, cpu=cpu)
        if decision.holds is None:
            return Proof("unknown", decision.reason, **about, cpu=cpu)
        trace = decision.trace
    steps = follow(miter, trace)
    if steps is None:
        return Proof("unknown", "the prover's counterexample is none", **about, cpu=cpu)
    tools, ports = (prover.launcher, prover.toolchain), asked.gold.netlist.ports
    shown = replay(*tools, asked.sources, asked.module, ports, setup, steps, asked.parameters)
    if isinstance(shown, str):
        return Proof("unknown", shown, **about, cpu=cpu)
    return Proof("refuted", **about, counterexample=shown, cpu=cpu)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more bits" if len(names) > 3 else "")
