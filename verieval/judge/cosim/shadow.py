"""Candidates in the shadow of the reference: one run of the test for all of them.

A cocotb test is a program that sees a design through its outputs alone. If it runs on the reference, and a candidate
beside it gets the same inputs at the same times and has, whenever the test reads an output, the very value there that
the reference has, bit for bit with X and Z, then the test would do and see the same with that candidate, and pass. So
the test is run once, on the reference; wires compare every output of every candidate with the reference's; and with
each read of an output the harness reads who agrees on it. Who agrees always has passed. Where somebody does not, the
simulation is forked, and the test goes on in the copy with what that candidate shows, to its verdict: see
:mod:`verieval.judge.cosim.following`. Tested by themselves are those who cannot be compared so:

* candidates with delays of their own, which could still be about to change when a read happens;
* all of them, where the test reads anything at a moment at which it also wrote, or was woken by an edge: then the
  comparison might be a step behind what it compares.
"""

from __future__ import annotations

from collections.abc import Sequence

from verieval.judge.cosim.batch import (
    Batch,
    Slot,
    buffers,
    cocotb_bench,
    connections,
    inner,
    own_modules,
    root_module,
    signatures,
)
from verieval.task import Port, Task
from verieval.verilog import code_tokens

REFERENCE = "reference.sv"


def can_be_shadowed(source: str) -> bool:
    """Whether a candidate, which need not be simulated alone, has no delays: only parameter lists have a ``#``."""
    found = code_tokens(source)
    return not any(token.text == "#" and found[index - 1].text == "=" for index, token in enumerate(found))


def make_shadows(task: Task, sources: Sequence[str], secret: str) -> Batch:
    """Put candidates beside the reference; the batch's slots are the reference's.

    Raises:
        BenchError: as :func:`verieval.judge.cosim.batch.make_batch`.
    """
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    targets: list[str] = []
    for number, source in enumerate([task.reference or "", *sources]):
        name = f"candidate{number}.sv" if number else REFERENCE
        files[name], target = own_modules(source, task.module, f"m{number}", secret, names)
        targets.append(target)
    text: list[str] = []
    slots: list[Slot] = []
    for index, (values, ports) in enumerate(zip(cocotb_bench(task).instances, signatures(task), strict=True)):
        slot = Slot(f"g{index}", 0, values)
        slots.append(slot)
        text.append(_group(slot, targets, ports, secret, overridden=index > 0))
    top = f"top_{secret}"
    wrapper = "".join(text) + root_module(top, slots, secret)
    return Batch(task, tuple(sources), secret, top, files, wrapper, tuple(slots), names, shadows=len(sources))


def _group(slot: Slot, targets: Sequence[str], ports: Sequence[Port], secret: str, *, overridden: bool) -> str:
    """The reference, the candidates as shadows of it, and one variable for each input of all of them."""
    values = slot.parameters.items()
    given = f"#({', '.join(f'.{name}({value})' for name, value in values)}) " if overridden else ""
    lines = [f"parameter {name} = {value};" for name, value in values]
    for port in ports:
        wide = f"[{port.width - 1}:0]"
        if port.direction == "input":
            lines.append(f"reg {wide} {port.name};")
            continue
        lines.append(f"wire {wide} {port.name};")
        copies = [f"{port.name}_{number}_{secret}" for number in range(len(targets) - 1)]
        lines += [f"wire {wide} {copy};" for copy in copies]
        same = ", ".join(f"{copy} === {port.name}" for copy in reversed(copies))
        lines.append(f"wire [{len(copies) - 1}:0] same_{port.name}_{secret} = {{{same}}};")
    for number, target in enumerate(targets):
        ending = f"_{number - 1}_{secret}" if number else ""
        connected = connections(ports, f"_{number}", ending, secret)
        lines += buffers(ports, f"_{number}", secret)
        name = f"shadow{number - 1}_{secret}" if number else inner(secret)
        lines.append(f"{target} {given}{name} ({', '.join(connected)});")
    body = "".join(f"  {line}\n" for line in lines)
    return f"module {slot.name}${secret};\n{body}endmodule\n"
