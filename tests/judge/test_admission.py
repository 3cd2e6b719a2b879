"""The admission helper: the same rulings as in-process, limits, bombs, and being killed from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from verieval.judge import admission
from verieval.judge.admission import Admission
from verieval.judge.policy import rule_on
from verieval.judge.process import Lost

FINE = "module t(input a, output b); assign b = a; endmodule\n"
NONE: frozenset[str] = frozenset()


@pytest.fixture(scope="module")
def helper() -> Iterator[Admission]:
    with Admission(cpu=2, memory_mib=640) as client:
        yield client


@pytest.mark.parametrize(
    "text",
    [FINE, "", "module", "module t; initial $finish; endmodule", "module t; assign a = tb.x; endmodule", "\0\ud800\n",
     "`define W 3\n" + FINE, "// \N{EM DASH}\n" + FINE],
)  # fmt: skip
def test_the_same_as_in_process(helper: Admission, text: str) -> None:
    assert helper.ask(text, "t", frozenset({"tb"})) == rule_on(text, "t", frozenset({"tb"}))


def test_every_argument_counts(helper: Admission) -> None:
    text = "module u; endmodule module t(inout a); u x(); endmodule"
    assert helper.ask(text, "t", NONE).outcome == ""
    assert helper.ask(text, "u", NONE).outcome == "forbidden"
    assert helper.ask(text, "t", frozenset({"u"})).outcome == "forbidden"
    assert helper.ask(text, "t", NONE, frozenset({"a"})).outcome == "interface"


def nest(opening: str, middle: str, closing: str, times: int) -> str:
    return opening * times + middle + closing * times


TREE = "".join(f"module m{i}(input a); m{i + 1} u(a); m{i + 1} v(a); endmodule\n" for i in range(40))
MACROS = "`define A0 x x\n" + "".join(f"`define A{i} `A{i - 1} `A{i - 1}\n" for i in range(1, 40))
BOMBS = {
    "macros": MACROS + "module t; `A39 endmodule",
    "macro that is itself": "`define A `A\nmodule t; `A endmodule",
    "generate": "module t; for (genvar i = 0; i < 100000000; i++) wire w; endmodule",
    "nested generate": "module t; for (genvar i = 0; i < 9999; i++) for (genvar j = 0; j < i; j++) wire w; endmodule",
    "constant function": "module t; function int f(int n); while (1) f = n; endfunction localparam P = f(1); endmodule",
    "constant recursion": "module t; function int f(int n); f = f(n + 1); endfunction localparam P = f(1); endmodule",
    "parentheses": "module t(output b); assign b = " + nest("(", "1", ")", 100_000) + "; endmodule",
    "begin": "module t; initial " + nest("begin ", "", "end ", 100_000) + "endmodule",
    "sum": "module t(output b); assign b = " + "1 + " * 200_000 + "1; endmodule",
    "dots": "module t(output b); assign b = a" + ".a" * 200_000 + "; endmodule",
    "module in itself": "module t(input a); t u(a); endmodule",
    "module in itself, otherwise": "module t #(int P = 0)(); t #(P + 1) u(); t #(P + 2) v(); endmodule",
    "tree of modules": f"module t(input a); m0 u(a); endmodule\n{TREE}module m40(input a); endmodule",
    "array of modules": "module t(); m u[4000:0](); endmodule module m(); n u[4000:0](); endmodule "
    "module n(); endmodule",
    "5 MB": "// x\n" * 1_000_000 + FINE,
    "width": "module t(input [2147483648:0] a); endmodule",
    "repeated": "module t(input a, output b); assign b = {1000000000{a}}; endmodule",
    "string open": 'module t; initial $display("abc',
    "comment open": "module t; /* abc",
    "macro open": "`define X(a",
    "branch open": "`ifdef X\nmodule t",
    "module open": "module t(input a",
    "NUL": "module t;\0 endmodule",
    "backslashes": "\\" * 300_000,
    "backticks": "`" * 300_000,
    "quotes": '"' * 300_000,
    "joins": "`define P(a,b) a``b\n" + "`P(" * 100_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(helper: Admission, name: str) -> None:
    began = time.process_time()
    ruling = helper.ask(BOMBS[name], "t", NONE)
    assert ruling.outcome in {"syntax", "elaboration", "forbidden", "resource", "timeout"}
    assert ruling.reason
    assert helper.ask(FINE, "t", NONE).outcome == ""
    assert time.process_time() - began < 2  # whatever it costs, it costs the helper


def test_time_is_limited() -> None:
    with Admission(cpu=0.2, wall_factor=300) as client:
        ruling = client.ask(MACROS + "module t; `A39 endmodule", "t", NONE)
        assert (ruling.outcome, ruling.certain) == ("timeout", False)
        assert "CPU" in ruling.reason
        assert client.pid is None


def test_memory_is_limited() -> None:
    with Admission(memory_mib=400) as client:
        ruling = client.ask(BOMBS["array of modules"], "t", NONE)
        assert ruling.outcome == "resource"
        assert "400 MiB" in ruling.reason or "breaks" in ruling.reason


def test_it_starts_with_the_first_question_and_ends_with_close() -> None:
    client = Admission()
    assert client.pid is None
    client.ask(FINE, "t", NONE)
    pid = client.pid
    assert pid is not None
    client.ask(FINE, "t", NONE)
    assert client.pid == pid
    client.close()
    client.close()
    assert client.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_is_replaced_after_a_while() -> None:
    with Admission(recycle=2) as client:
        pids = []
        for _ in range(4):
            assert client.ask(FINE, "t", NONE).outcome == ""
            pids.append(client.pid)
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_killed_between_questions(helper: Admission) -> None:
    helper.ask(FINE, "t", NONE)
    assert helper.pid is not None
    os.kill(helper.pid, signal.SIGKILL)
    assert helper.ask(FINE, "t", NONE).outcome == ""


def test_killed_while_it_works() -> None:
    slow = "module t; function int f(int n); for (int i = 0; i < 400000; i++) f = i; endfunction\n" + "".join(
        f"localparam P{i} = f({i});\n" for i in range(3)
    ) + "endmodule"  # fmt: skip
    with Admission(cpu=60) as client:
        client.ask(FINE, "t", NONE)
        expected = client.ask(slow, "t", NONE)
        killer = threading.Timer(0.05, os.kill, (client.pid, signal.SIGKILL))
        killer.start()
        first = client.pid
        assert client.ask(slow, "t", NONE) == expected
        assert client.pid != first
        killer.join()


def test_killed_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def spawn_and_kill(memory_mib: int) -> subprocess.Popen[bytes]:
        process = spawn(memory_mib)
        starts.append(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        return process

    spawn = admission._spawn
    monkeypatch.setattr(admission, "_spawn", spawn_and_kill)
    with Admission() as client, pytest.raises(Lost):
        client.ask(FINE, "t", NONE)
    assert len(starts) == 3


def test_the_helper_ends_with_its_owner() -> None:
    code = (
        "import os; from verieval.judge.admission import Admission; a = Admission();"
        "a.ask('module t; endmodule', 't', frozenset()); print(a.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    pid = int(ran.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    pytest.fail("the helper outlives its owner")


def test_no_file_can_be_opened_or_written() -> None:
    code = (
        "import resource, sys; sys.path.insert(0, '.'); from verieval.judge.admission import _close_doors\n"
        "_close_doors(resource, 4096)\n"
        "for name in ('/etc/passwd', '/dev/null'):\n"
        "    try: open(name); print('opened')\n"
        "    except OSError as error: print(error.errno)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert ran.stdout.split() == ["24", "24"], ran.stderr  # EMFILE


def test_nothing_but_the_policy_is_needed_to_start() -> None:
    began = time.perf_counter()
    with Admission() as client:
        client.ask(FINE, "t", NONE)
    assert time.perf_counter() - began < 20  # a quarter of a second on a quiet machine
