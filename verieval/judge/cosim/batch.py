"""The Verilog around candidates that are simulated together: one slot an instance, and nothing shared.

A slot is a module with a variable for every input and a net for every output of the target, under their own names, and
one instance of a candidate connected to them, to the inputs through a buffer: what a candidate does to its input ports,
and the order in which its processes start, is then its own affair. The cocotb test gets the slot as its ``dut``.

Every candidate's modules carry a number and the run's secret in their names, so that they cannot meet; so do the
instances around them, or a dotted name in a candidate that is looked for upwards could find a neighbour or the
reference. A candidate whose behaviour could depend on what else is simulated, or on when its turn comes, is simulated
alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from verieval.benchmarks.interface import interface_faults
from verieval.benchmarks.structure import ports
from verieval.errors import BenchError
from verieval.keywords import KEYWORDS
from verieval.task import CocotbBench, Port, Task
from verieval.verilog import Token, code_tokens, mask, modules, rename_module

_TIME = r"10{0,2}[ \t]*[munpf]?s"
_TIMESCALE = re.compile(rf"`timescale\s+{_TIME}[ \t]*/[ \t]*{_TIME}")
# System functions of the arguments alone. Any other may tell candidates apart by their place in a batch.
_PURE = frozenset(
    {
        "$bits", "$clog2", "$countbits", "$countones", "$dimensions", "$high", "$increment", "$isunknown", "$left",
        "$low", "$onehot", "$onehot0", "$right", "$signed", "$size", "$unpacked_dimensions", "$unsigned",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """One instance of one candidate.

    Attributes:
        name: what results call it; the instance in the top module has the secret in its name besides.
        candidate: number of the candidate in the batch.
        parameters: values of the target's parameters.
    """

    name: str
    candidate: int
    parameters: dict[str, int]


@dataclass(frozen=True)
class Batch:
    """Candidates of one task, ready to be compiled together.

    Attributes:
        task: theirs.
        sources: their texts as they came.
        secret: stands in every name.
        top: name of the root module.
        files: text of each candidate, by file name, in order.
        wrapper: text of the slots and the root module.
        slots: in order of the candidates.
        names: secret name to the candidate's own.
        shadows: how many candidates stand beside the reference, see :mod:`verieval.judge.cosim.shadow`; 0 where each
            has slots of its own.
    """

    task: Task
    sources: tuple[str, ...]
    secret: str
    top: str
    files: dict[str, str]
    wrapper: str
    slots: tuple[Slot, ...]
    names: dict[str, str]
    shadows: int = 0

    def restore(self, text: str) -> str:
        """Give a tool's message the names that the candidate has."""
        for secret, name in self.names.items():
            text = text.replace(secret, name)
        return text.replace(f"_{self.secret}", "")


def make_batch(task: Task, sources: Sequence[str], secret: str) -> Batch:
    """Put candidates side by side.

    Args:
        task: whose oracle is a :class:`CocotbBench`.
        sources: admitted texts, each of which defines the target.
        secret: hexadecimal digits that stand in every name.

    Raises:
        BenchError: the task's reference does not show the widths of the ports, or has others than the task.
    """
    bench = cocotb_bench(task)
    files: dict[str, str] = {}
    names: dict[str, str] = {}
    slots: list[Slot] = []
    text: list[str] = []
    for number, source in enumerate(sources):
        renamed, target = own_modules(source, task.module, f"m{number}", secret, names)
        files[f"candidate{number}.sv" if len(sources) > 1 else "candidate.sv"] = renamed
        for index, (values, signature) in enumerate(zip(bench.instances, signatures(task), strict=True)):
            slot = Slot(f"s{number}_{index}", number, values)
            slots.append(slot)
            # The first instance shows whether the candidate has the right defaults.
            text.append(_slot(slot, target, signature, secret, overridden=index > 0))
    top = f"top_{secret}"
    wrapper = "".join(text) + root_module(top, slots, secret)
    return Batch(task, tuple(sources), secret, top, files, wrapper, tuple(slots), names)


def own_modules(source: str, module: str, prefix: str, secret: str, names: dict[str, str]) -> tuple[str, str]:
    """A text with modules of its own names, and the name of its target; the names are added to ``names``."""
    text = untimed(source)
    target = module
    for index, name in enumerate(dict.fromkeys(span.name for span in modules(text))):
        own = f"{prefix}_{index}${secret}"
        text = rename_module(text, name, own)
        names[own] = name
        if name == module:
            target = own
    return text, target


def untimed(source: str) -> str:
    """The text without its time scales: every simulation here has the same. What stands in a comment is none."""
    parts, end = [], 0
    for match in _TIMESCALE.finditer(mask(source)):
        parts.append(source[end : match.start()])
        end = match.end()
    return "".join(parts) + source[end:]


def stands_alone(source: str) -> bool:
    """Whether a candidate must be simulated alone.

    It must where it declares something outside its modules, does not end its last comment, calls a system task or
    function that has more to say than its arguments do (time, random numbers, output), or waits for a time of its own.
    A ``#`` is harmless as a parameter list alone: any delay may begin at time 0, since a constant is an event too.
    """
    text = untimed(source)
    if not mask(f"{text}\nx").endswith("x"):
        return True  # a comment without an end
    masked = mask(text)
    end = 0
    for span in modules(text):
        if masked[end : span.start].strip():
            return True
        end = span.end
    if masked[end:].strip():
        return True
    found = code_tokens(text)
    return any(_depends(found, index) for index in range(len(found)))


# What stands before the name of a module that is instantiated or defined.
_BEFORE_MODULE = frozenset(
    {
        ";", ")", "begin", "end", "else", "generate", "endgenerate", "endfunction", "endtask", "endcase",
        "module", "macromodule", "interface",
    }
)  # fmt: skip


def _depends(found: list[Token], index: int) -> bool:
    token = found[index]
    if token.kind == "system":
        return token.text not in _PURE
    if token.kind == "macro":
        return True
    if token.text == "#":
        return not _is_parameter_list(found, index)
    # A delay of a primitive looks like a parameter list.
    return token.text in ("wait", "wait_order", "primitive")


def _is_parameter_list(found: list[Token], index: int) -> bool:
    """``#`` follows the name of a module, and the list the name of an instance (or, in a definition, the ports).

    `begin : name #(5) task_of_mine(1);` and `@name #(5) ...` are delays: what stands before the name tells.
    """
    named = index > 0 and found[index - 1].kind in ("ident", "escaped") and found[index - 1].text not in KEYWORDS
    if not named or _text(found, index + 1) != "(":
        return False
    before = _text(found, index - 2)
    labelled = _text(found, index - 3) == ":" and index > 2 and found[index - 2].kind in ("ident", "escaped")
    if index > 1 and before not in _BEFORE_MODULE and not labelled:
        return False
    if before in ("module", "macromodule", "interface"):
        return True
    depth, place = 0, index + 1
    while place < len(found):
        depth += {"(": 1, ")": -1}.get(found[place].text, 0)
        place += 1
        if depth == 0:
            break
    return (
        place < len(found)
        and found[place].kind in ("ident", "escaped")
        and found[place].text not in KEYWORDS
        and _text(found, place + 1) in ("(", "[")
    )


def _text(found: list[Token], index: int) -> str:
    return found[index].text if 0 <= index < len(found) else ""


def cocotb_bench(task: Task) -> CocotbBench:
    """The oracle of a task that has such a one.

    Raises:
        TypeError: it has another.
    """
    if not isinstance(task.oracle, CocotbBench):
        raise TypeError(f"{task.id} has no cocotb bench")
    return task.oracle


@cache
def signatures(task: Task) -> tuple[tuple[Port, ...], ...]:
    """Ports of the reference for each set of parameters.

    Raises:
        BenchError: the reference cannot be elaborated, or is not what ``task.toml`` says.
    """
    found = tuple(ports(task.reference or "", task.module, values) for values in cocotb_bench(task).instances)
    if not all(found):
        raise BenchError(f"the reference of {task.id} cannot be elaborated, so the widths of its ports are unknown")
    if faults := interface_faults(task):
        raise BenchError(f"{faults[0]}: correct one of them")
    return found


def root_module(top: str, slots: Sequence[Slot], secret: str) -> str:
    """One instance of every slot."""
    inside = "".join(f"  {slot.name}${secret} {slot.name}_{secret} ();\n" for slot in slots)
    return f"module {top};\n{inside}endmodule\n"


def inner(secret: str) -> str:
    """Name of the instance of the candidate, or of the reference, in a slot."""
    return f"dut_{secret}"


def buffers(signature: Sequence[Port], number: str, secret: str) -> list[str]:
    """Nets of an instance's own that follow the inputs."""
    return [
        f"wire [{port.width - 1}:0] {port.name}{number}_in_{secret} = {port.name};"
        for port in signature
        if port.direction == "input"
    ]


def connections(signature: Sequence[Port], number: str, ending: str, secret: str) -> list[str]:
    """Connections of an instance: its buffers at the inputs, and nets with an ending at the outputs."""
    return [
        f".{port.name}({port.name}{f'{number}_in_{secret}' if port.direction == 'input' else ending})"
        for port in signature
    ]


def _slot(slot: Slot, target: str, signature: tuple[Port, ...], secret: str, *, overridden: bool) -> str:
    values = slot.parameters.items()
    declared = "".join(f"  parameter {name} = {value};\n" for name, value in values)
    given = ", ".join(f".{name}({value})" for name, value in values)
    for port in signature:
        kind = {"input": "reg", "output": "wire", "inout": "wire"}[port.direction]
        declared += f"  {kind} [{port.width - 1}:0] {port.name};\n"
    declared += "".join(f"  {line}\n" for line in buffers(signature, "", secret))
    connected = ", ".join(connections(signature, "", "", secret))
    instance = f"  {target} {f'#({given}) ' if overridden else ''}{inner(secret)} ({connected});\n"
    return f"module {slot.name}${secret};\n{declared}{instance}endmodule\n"
