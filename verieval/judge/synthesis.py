"""What yosys makes of a text: synthesizable or why not, latches, cells, flip-flops, depth of the logic.

A text is read as the simulator reads it (see :func:`verieval.judge.yosys.hide`): what is synthesized is what was
simulated. Figures are those of yosys's generic gates after ``synth -flatten``; they compare designs, and are no area.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from verieval.judge.delays import has_delays, needs_delays
from verieval.judge.netlist import Netlist, NotANetlist, parse_netlist
from verieval.judge.process import Launcher
from verieval.judge.yosys import Ending, Yosys, design, preprocess, quote, read_netlist, reading, run_yosys

_NAMED = 20  # latches that are named


@dataclass(frozen=True)
class Figures:
    """Size of a netlist.

    Attributes:
        cells: all of them, flip-flops and latches included.
        flip_flops, latches: bits that are stored.
        depth: gates on the longest path between ports and stores; None where the logic has a loop.
    """

    cells: int
    flip_flops: int
    latches: int
    depth: int | None


@dataclass(frozen=True)
class Synthesis:
    """The answer for one text.

    Attributes:
        status: ``ok``: synthesizable; ``refused``: yosys says why not, or it needs its delays; ``timeout``,
            ``resource``, ``crash``.
        reason: yosys's words, what limit was met, or what the delays are needed for.
        figures: of what is synthesizable.
        latches: names of wires that a latch was inferred for.
        cpu: CPU seconds.
    """

    status: Ending
    reason: str = ""
    figures: Figures | None = None
    latches: tuple[str, ...] = ()
    cpu: float = 0.0

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def synthesise(launcher: Launcher, yosys: Yosys, source: str, module: str) -> Synthesis:
    """Synthesize ``module`` of ``source`` to generic gates.

    Args:
        launcher: where yosys runs, under the launcher's limits; its sandbox knows :meth:`Yosys.needs`.
        yosys: the installation.
        source: the text.
        module: the top module.

    Raises:
        VerievalError: yosys cannot be started, or ``module`` is no simple name.
        Lost: it was killed from outside.
    """
    commands = [*reading(module), f"synth -flatten -top {quote(module)}", "write_json"]
    answer = run_yosys(launcher, yosys, design(source, module), commands)
    if answer.kind != "ok":
        return Synthesis(answer.kind, answer.reason, cpu=answer.cpu)
    try:
        netlist = parse_netlist(answer.output, module)
    except NotANetlist as error:
        return Synthesis("crash", str(error), cpu=answer.cpu)
    if netlist.conflict:
        return Synthesis("refused", f"{netlist.conflict} is driven more than once", cpu=answer.cpu)
    reason = _without_delays(launcher, yosys, source, module) if "#" in source else ""
    if reason:
        return Synthesis("refused", reason, cpu=answer.cpu)
    return Synthesis("ok", "", measure(netlist), latch_names(netlist), answer.cpu)


def _without_delays(launcher: Launcher, yosys: Yosys, source: str, module: str) -> str:
    """Why the text is nothing without its delays, which no synthesis makes; empty where it is the same."""
    text = preprocess(launcher, yosys, source)
    reason = needs_delays(text)
    if not reason and has_delays(text):
        netlist = read_netlist(launcher, yosys, source, module).netlist  # `synth` makes an x of `c = ~c`
        if netlist is not None and netlist.depth() is None:
            reason = "its logic has a loop"
    return f"it needs delays: {reason}" if reason else ""


def measure(netlist: Netlist) -> Figures:
    """Count a netlist."""
    latches = sum(cell.is_latch for cell in netlist.stores)
    return Figures(netlist.count().total(), len(netlist.stores) - latches, latches, netlist.depth())


def latch_names(netlist: Netlist) -> tuple[str, ...]:
    """Wires that latches drive, as the text names them."""
    wires = [cell.output for cell in netlist.stores if cell.is_latch]
    names = sorted({netlist.names.get(wire, "(unnamed)") if isinstance(wire, int) else wire for wire in wires})
    return tuple(names[:_NAMED])
