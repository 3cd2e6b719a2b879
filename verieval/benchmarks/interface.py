"""What ``task.toml`` says of the target module against what the reference is: ports and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from verieval.benchmarks.structure import parameters, ports
from verieval.task import CocotbBench, Port, Task


def interface_faults(task: Task) -> tuple[str, ...]:
    """Every difference, each as a sentence that names the task; empty where there is none.

    Args:
        task: one that has ports and a reference.
    """
    return tuple(f"task.toml of {task.id} {fault}" for fault in _faults(task))


def _faults(task: Task) -> Iterator[str]:
    found = ports(task.reference or "", task.module)
    if not found:
        yield "cannot be compared with reference.sv: the reference cannot be elaborated"
        return
    yield from _of_ports(task.ports, found)
    if isinstance(task.oracle, CocotbBench):
        yield from _of_parameters(dict(task.oracle.parameters), parameters(task.reference or "", task.module))


def _of_ports(said: tuple[Port, ...], found: tuple[Port, ...]) -> Iterator[str]:
    own, other = ({port.name: port for port in group} for group in (said, found))
    yield from (f"names a port '{name}', which reference.sv does not have" for name in own if name not in other)
    yield from (f"lacks the port '{name}' of reference.sv" for name in other if name not in own)
    for name, port in own.items():
        there = other.get(name)
        if there is None:
            continue
        if there.direction != port.direction:
            yield f"says that port '{name}' is an {port.direction}; in reference.sv it is an {there.direction}"
        if there.width != port.width:
            yield f"says that port '{name}' has width {port.width}; in reference.sv it has width {there.width}"
        if there.signed != port.signed:
            words = ("unsigned", "signed")
            yield f"says that port '{name}' is {words[port.signed]}; in reference.sv it is {words[there.signed]}"
    if own.keys() == other.keys() and list(own) != list(other):
        yield f"names the ports in another order than reference.sv, which has {', '.join(other)}"


def _of_parameters(said: dict[str, int], found: dict[str, int | None]) -> Iterator[str]:
    yield from (f"names a parameter '{name}', which reference.sv does not have" for name in said if name not in found)
    yield from (f"lacks the parameter '{name}' of reference.sv" for name in found if name not in said)
    for name, default in said.items():
        there = found.get(name, default)
        if there != default:
            known = "no whole number" if there is None else str(there)
            yield f"gives parameter '{name}' the default {default}; in reference.sv it is {known}"
