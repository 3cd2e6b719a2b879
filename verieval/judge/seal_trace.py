"""The trace: a hash over time of what the bench feeds the candidate and the reference, computed inside the simulation.

Two ways of sampling. A bench of VerilogEval's shape has one place where it counts a sample; the trace takes the values
there, in the bench's own process, so that it sees what the comparison sees and changes no order of events. Any other
bench gets a process that wakes when an input changes and looks after a ``#0``, when every process that runs at this
moment has run; it counts only what differs from the values before. So the order in which processes run at one moment,
which a candidate can change, does not matter.

The hash is a polynomial in a secret factor modulo the prime 2**31 - 1: ``h = h * factor + value``. Who does not know
the factor cannot look for other values with the same hash: two traces of n samples have it for at most 2n of the 2**30
factors. Values of more than 30 bits are first multiplied by a secret odd number modulo 2**w, of which the uppermost 30
bits are taken; for any two values these are equal with a probability of at most 2**-29 (Dietzfelbinger and others
1997). All sums stay below 2**64, up to which vvp calculates in one word, and are brought down by adding what is above
31 bits to what is below; a division would cost three times as much, and is made once, at the end.

One X or Z among the values makes the whole sum X (IEEE 1800-2017, 11.4.3), and then it is made anew in two steps: from
the values with both taken as 0 and a secret number added, and from their complement. The number tells such a sample
from two others; the first sample is always such a one, as the hash is X before it.

A bench of VerilogEval's shape is also counted after: how many samples did not match, in a variable of secret name, so
that clearing the bench's own counters is of no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verieval.judge.seal_scan import EARLY, FACTOR, KEY, NAME, STEP, Scan, SealError, spelled, tokens
from verieval.task import Task, Testbench

TRACE = "#"  # after the key, in front of the hash
STEP_TEXT = f' $display("{KEY}~%h;", hash{NAME});'
_MATCH = "tb_match"
_PRIME_BITS = 31  # 2**31 - 1 is prime
_PRIME = f"64'd{(1 << _PRIME_BITS) - 1}"
_TAKEN = 30  # bits of a value, which is then below the prime


@dataclass(frozen=True)
class Traced:
    """What is traced.

    Attributes:
        module: the bench module in which it stands, the root.
        expressions: what is connected to the target's inputs and to the reference's outputs.
        bits: their bits together.
        compares: the bench says of each sample in ``tb_match`` whether it matches.
    """

    module: str
    expressions: tuple[str, ...]
    bits: int
    compares: bool


def traced(task: Task, scan: Scan) -> Traced | None:
    """Inputs of every instance of the target and, where the bench has one, outputs of its reference.

    Returns:
        None where the target is not instantiated in the bench's root module, or has no input with a name.

    Raises:
        SealError: the reference, which stands for the candidate here, has no such module.
    """
    compilation = _elaborate(task, scan)  # must outlive its symbols: they do not hold it
    instances = list(_instances(compilation))
    parents = {parent for parent, instance in instances if instance.definition.name == task.module}
    module = parents.pop() if len(parents) == 1 else None
    if module is None or sum(instance.definition.name == module for _, instance in instances):
        return None  # in a generate block, in several modules, or in one that is itself an instance
    outputs = {port.name for port in task.ports if port.direction == "output"}
    found: dict[str, int] = {}
    for parent, instance in instances:
        if parent != module:
            continue
        if instance.definition.name == task.module:
            found.update(_connected(instance, "In"))
        elif outputs and outputs <= {port.name for port in instance.body.portList if port.direction.name == "Out"}:
            found.update(_connected(instance, "Out"))
    compares = any(root.body.find(_MATCH) is not None for root in compilation.getRoot().topInstances)
    return Traced(module, tuple(found), sum(found.values()), compares) if found else None


def insertions(scan: Scan, what: Traced, *, early: bool) -> Iterator[tuple[int, int, str]]:
    """Text that computes and prints the trace, as (source, byte offset, text with placeholders).

    Args:
        scan: of the task's sources.
        what: is to be traced.
        early: also a placeholder for the early end, where samples are counted.
    """
    values = "{" + ", ".join(what.expressions) + "}"
    last, wide = what.bits - 1, max(64, what.bits)
    now, bits, total, sum_, before, multiplier, mixed = (
        f"{name}{NAME}" for name in ("values", "bits", "hash", "sum", "before", "multiplier", "mixed")
    )
    # Only the rare step has 2-state variables: taking a value into one costs as much as the multiplication. They start
    # at 0 without an initial process, and the hash starts through them, since it is X before the first step.
    declared = (
        f" reg [{last}:0] {now}; bit [{last}:0] {bits}; reg [63:0] {total}, {sum_}; bit [63:0] {before};"
        f" reg [{wide - 1}:0] {multiplier}, {mixed};"
    )

    def step(start: str, value: str, more: str = "") -> str:
        first = ""
        if what.bits > _TAKEN and wide == 64:
            value = f"({value} * {multiplier} >> {64 - _TAKEN})"
        elif what.bits > _TAKEN:  # of its own, or everything would be calculated in so many bits
            first = f"{mixed} = {value} * {multiplier}; "
            value = f"{mixed}[{wide - 1}:{wide - _TAKEN}]"
        return f"{first}{sum_} = {start} * 64'h{FACTOR}factor,30; + {value}{more};"

    # The factor has a bit less than the prime, so that the hash stays below 2**33 without being divided.
    fold = f"{total} = ({sum_} & {_PRIME}) + ({sum_} >> {_PRIME_BITS});"

    def count(value: str) -> str:
        # A constant of many bits is put together on every use, so it is kept in a variable: the first step sets it.
        mark = f" + 64'h{FACTOR}mark,31;"
        again = f"{now} = {value}; {multiplier} = {wide}'h{FACTOR}multiplier,{wide}; | 1; {bits} = {now};"
        unknown = f"{before} = {total}; {step(before, bits, mark)} {fold}"
        complement = f"{bits} = ~{now}; {before} = {total}; {step(before, bits)}"
        return f"{step(total, value)} if ({sum_}[0] === 1'bx) begin {again} {unknown} {complement} end {fold}"

    counted, process = "", ""
    source, start = scan.module_starts[what.module]
    places = scan.counters.get(what.module, [])
    if len(places) == 1:
        missed = f"missed{NAME}"
        compared = ""
        if what.compares:
            declared += f" int {missed};"
            compared = f"if ({_MATCH} !== 1'b1) {missed} = {missed} + 1; "
            counted = f',",%0d",{missed}'
        yield *places[0], (EARLY if early else "") + f" {compared}{count(values)}{STEP}"
    else:
        process = (
            f"always begin if ({values} !== {now}) begin {now} = {values}; {count(now)}{STEP} end"
            f" @({' or '.join(what.expressions)}) #0; end "
        )
    yield source, start, declared
    yield (
        *scan.module_ends[what.module],
        f'{process}final begin {before} = {total}; $display("{KEY}{TRACE}%h",{before} % {_PRIME}{counted},";"); end ',
    )


def _elaborate(task: Task, scan: Scan) -> Any:
    """The bench with the reference in the candidate's place."""
    import pyslang

    if task.reference is None:
        raise SealError(f"cannot seal the bench of {task.id}: it has no reference to read the target's ports from")
    options = pyslang.ast.CompilationOptions()
    if isinstance(task.oracle, Testbench) and task.oracle.top is not None:
        options.topModules = {task.oracle.top}
    compilation = pyslang.ast.Compilation(pyslang.Bag([options]))
    for tree in scan.trees:
        compilation.addSyntaxTree(tree)
    compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromText(task.reference))
    return compilation


def _instances(compilation: Any) -> Iterator[tuple[str | None, Any]]:
    """Every instance below the bench's root, and the module in which it stands (None in a generate block)."""
    import pyslang

    waiting = [(instance.definition.name, instance.body) for instance in compilation.getRoot().topInstances]
    while waiting:
        module, scope = waiting.pop()
        for member in scope:
            if isinstance(member, pyslang.ast.InstanceSymbol):
                yield module, member
                waiting.append((member.definition.name, member.body))
            elif isinstance(member, pyslang.ast.GenerateBlockSymbol | pyslang.ast.GenerateBlockArraySymbol):
                waiting.append((None, member))


def _connected(instance: Any, direction: str) -> dict[str, int]:
    """What is connected to the ports of one direction: text to bits. Constants are left out."""
    found: dict[str, int] = {}
    for connection in instance.portConnections:
        expression = connection.expression
        if expression is None or connection.port.direction.name != direction:
            continue
        if direction == "Out":
            expression = expression.left
        while expression.kind.name == "Conversion":
            expression = expression.operand
        # `.name` and `.*` have no expression of their own in the text.
        text = connection.port.name if expression.syntax is None else spelled(expression.syntax)
        if expression.syntax is None or _named(expression.syntax):
            found[text] = int(expression.type.bitWidth)
    return found


def _named(node: Any) -> bool:
    """A signal stands in the expression."""
    return any(token.kind.name == "Identifier" for token in tokens(node))
