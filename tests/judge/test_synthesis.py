"""Synthesis against counts worked out by hand, and depth against yosys's own ``ltp``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judge.proving import RIPPLE
from verieval.errors import VerievalError
from verieval.judge import Toolchain
from verieval.judge.equivalence import proof_limits
from verieval.judge.process import Launcher
from verieval.judge.sandbox import find_sandbox
from verieval.judge.synthesis import Figures, synthesise
from verieval.judge.yosys import DESIGN, Yosys, find_yosys, hide, read_netlist, run_yosys


@pytest.fixture(scope="module")
def yosys(yosys_here: None) -> Yosys:
    return find_yosys()


@pytest.fixture(scope="module")
def launcher(toolchain: Toolchain, yosys: Yosys) -> Iterator[Launcher]:
    limits = proof_limits(5, 5, memory_mib=1024)
    launcher = Launcher(limits, find_sandbox(toolchain, limits.work_mib, also=yosys.needs()))
    yield launcher
    launcher.close()


@pytest.mark.parametrize(
    ("body", "figures"),
    [
        ("assign q = {4{a & b}};", Figures(1, 0, 0, 1)),
        ("assign q = {4{^{a, b, c, d}}};", Figures(3, 0, 0, None)),  # three gates of two inputs; depth 2 or 3
        ("reg [3:0] r; always @(posedge c) r <= {r[2:0], a}; assign q = r;", Figures(4, 4, 0, 0)),
        ("reg [3:0] r; always @* if (c) r = {a, b, d, a}; assign q = r;", Figures(3, 0, 3, 0)),  # r[0] is r[3]
        ("assign q = {a, b, c, d};", Figures(0, 0, 0, 0)),
    ],
)
def test_figures(launcher: Launcher, yosys: Yosys, body: str, figures: Figures) -> None:
    text = f"module top(input a, input b, input c, input d, output [3:0] q); {body} endmodule"
    found = synthesise(launcher, yosys, text, "top")
    assert found.status == "ok", found
    assert found.figures is not None
    if figures.depth is None:
        assert found.figures.depth in (2, 3)
        figures = Figures(figures.cells, figures.flip_flops, figures.latches, found.figures.depth)
    assert found.figures == figures


def test_latches_are_named(launcher: Launcher, yosys: Yosys) -> None:
    text = "module top(input e, input [1:0] d, output reg [1:0] q, output y); reg h; assign y = h;\n"
    text += "always_comb begin if (e) q = d; end always @* case (d) 0: h = 1; 1: h = 0; endcase endmodule"
    found = synthesise(launcher, yosys, text, "top")
    assert found.latches == ("h", "q[0]", "q[1]") or found.latches == ("q[0]", "q[1]", "y")


def test_depth_is_that_of_ltp(launcher: Launcher, yosys: Yosys, tmp_path: Path) -> None:
    (tmp_path / "t.v").write_text(RIPPLE)
    script = (
        "read_verilog -sv t.v; hierarchy -top top; proc; flatten; opt_clean; techmap; simplemap; opt_clean; ltp -noff"
    )
    said = subprocess.run([yosys.yosys, "-p", script], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    length = re.search(r"Longest topological path in .* \(length=(\d+)\)", said)
    netlist = read_netlist(launcher, yosys, RIPPLE, "top").netlist
    assert netlist is not None
    assert length is not None
    assert netlist.depth() == int(length[1])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("module top(input a; endmodule", "syntax error"),
        ("module top(input a, output b); other o(a, b); endmodule", "other"),
        ("module other(input a); endmodule", "top"),
        ("module top(input a, output b); assign b = a; assign b = ~a; endmodule", "driven more than once"),
        ("module top(input a, input b, output reg q); always @(posedge a or posedge b) q <= ~q; endmodule", ""),
    ],
)
def test_why_it_is_not_synthesizable(launcher: Launcher, yosys: Yosys, text: str, reason: str) -> None:
    found = synthesise(launcher, yosys, text, "top")
    assert found.status == "refused", found
    assert reason in found.reason
    assert found.figures is None


def test_a_loop_has_no_depth(launcher: Launcher, yosys: Yosys) -> None:
    text = "module top(input a, output y); wire w; assign w = a & ~y; assign y = ~w | (a & w); endmodule"
    found = synthesise(launcher, yosys, text, "top")
    assert found.status in ("ok", "refused")
    assert found.figures is None or found.figures.depth is None or found.figures.cells <= 1


def test_nothing_outside_can_be_read(launcher: Launcher, yosys: Yosys) -> None:
    if not launcher.sandbox.holds:
        pytest.skip("no sandbox here")
    found = synthesise(launcher, yosys, '`include "/etc/passwd"\nmodule top; endmodule', "top")
    assert found.status == "refused"
    assert "root" not in found.reason


def test_time_limit(launcher: Launcher, yosys: Yosys) -> None:
    answer = run_yosys(launcher, yosys, {DESIGN: ""}, [f"read_verilog -sv {DESIGN}"] * 200_000, cpu=1)
    assert answer.kind in ("timeout", "ok", "resource")


def test_lines_keep_their_numbers() -> None:
    text = "module a; // one\n/* two\n three */ always_comb begin end // always_comb\nendmodule"
    hidden = hide(text)
    assert hidden.count("\n") == text.count("\n")
    assert hidden.count("always_comb") == 0
    assert hidden.split("\n")[2].endswith("always @* begin end               ")


def test_names_that_no_script_takes(launcher: Launcher, yosys: Yosys) -> None:
    with pytest.raises(VerievalError, match="simple names"):
        synthesise(launcher, yosys, "module top; endmodule", "top; exec -- ls")


def test_a_missing_yosys_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("VERIEVAL_YOSYS", raising=False)
    with pytest.raises(VerievalError, match="apt-get install yosys"):
        find_yosys()
    with pytest.raises(VerievalError, match="is no yosys"):
        find_yosys(tmp_path / "missing")
