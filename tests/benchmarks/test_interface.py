"""What ``task.toml`` says of a module against the module itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verieval import benchmarks
from verieval.benchmarks.interface import interface_faults
from verieval.task import CocotbBench, Port, SourceFile, Task

REFERENCE = """\
module pick #(parameter WIDTH = 4, parameter [3:0] START = 4'd9, localparam LAST = WIDTH - 1) (
    input  wire clk, input wire signed [LAST:0] a, output reg [LAST:0] q
);
endmodule
"""
PORTS = (Port("clk", "input", 1), Port("a", "input", 4, signed=True), Port("q", "output", 4))
BENCH = CocotbBench((SourceFile("test_pick.py", ""),), parameters=(("WIDTH", 4), ("START", 9)))
TASK = Task(id="choose", prompt="", module="pick", oracle=BENCH, ports=PORTS, reference=REFERENCE)
CLK, A, Q = PORTS


def test_what_agrees_has_no_fault() -> None:
    assert interface_faults(TASK) == ()


@pytest.mark.parametrize(
    ("ports", "fault"),
    [
        ((CLK, A, replace(Q, width=5)), "says that port 'q' has width 5; in reference.sv it has width 4"),
        ((CLK, A, replace(Q, direction="input")), "says that port 'q' is an input; in reference.sv it is an output"),
        ((CLK, replace(A, signed=False), Q), "says that port 'a' is unsigned; in reference.sv it is signed"),
        ((CLK, A), "lacks the port 'q' of reference.sv"),
        ((*PORTS, Port("rst", "input", 1)), "names a port 'rst', which reference.sv does not have"),
        ((A, CLK, Q), "names the ports in another order than reference.sv, which has clk, a, q"),
    ],
)
def test_ports(ports: tuple[Port, ...], fault: str) -> None:
    assert interface_faults(replace(TASK, ports=ports)) == (f"task.toml of choose {fault}",)


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ((("WIDTH", 4),), "lacks the parameter 'START' of reference.sv"),
        ((("WIDTH", 4), ("START", 9), ("LAST", 3)), "names a parameter 'LAST', which reference.sv does not have"),
        ((("WIDTH", 8), ("START", 9)), "gives parameter 'WIDTH' the default 8; in reference.sv it is 4"),
    ],
)
def test_parameters(parameters: tuple[tuple[str, int], ...], fault: str) -> None:
    task = replace(TASK, oracle=replace(BENCH, parameters=parameters))
    assert interface_faults(task) == (f"task.toml of choose {fault}",)


def test_every_fault_is_told() -> None:
    found = interface_faults(replace(TASK, ports=(replace(CLK, width=2), replace(Q, name="p"))))
    assert len(found) == 4


def test_a_reference_that_cannot_be_read() -> None:
    (fault,) = interface_faults(replace(TASK, reference="module other; endmodule\n"))
    assert fault == "task.toml of choose cannot be compared with reference.sv: the reference cannot be elaborated"


def test_the_shipped_suite_has_none() -> None:
    assert [fault for task in benchmarks.load("verieval").tasks for fault in interface_faults(task)] == []
