"""Parts of judging with cocotb: results files that are not as they should be, what is missing, what a test can see."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.judge.cosimulating import INVERT, LOOKS, Trials, load_task, open_trials, write_task
from verieval import benchmarks
from verieval.errors import VerievalError
from verieval.judge import JudgePool, Limits, Toolchain
from verieval.judge.cosim import python
from verieval.judge.cosim.batch import make_batch
from verieval.judge.cosim.results import SlotResult, read_results
from verieval.judge.cosim.shadow import make_shadows
from verieval.judge.sandbox import NO_SANDBOX
from verieval.verilog import modules

# --- Results files -------------------------------------------------------------------------------------------------

PASS = '<testcase name="{}" classname="x" time="1"/>'
FAIL = (
    '<testcase name="{}"><properties><property name="sim_time_duration" value="12.5"/></properties>'
    '<failure message="q is 3,\n   expected 4" type="AssertionError">Traceback</failure></testcase>'
)
SLOTS = ["s0_0", "s1_0"]
NAMES = [f"{slot}.{test}" for slot in SLOTS for test in ("interface", "counts", "wraps")]


def file(cases: dict[str, str]) -> str:
    return f'<testsuites name="results"><testsuite name="all">{"".join(cases.values())}</testsuite></testsuites>'


def cases(**other: str) -> dict[str, str]:
    return {name: PASS.format(name) for name in NAMES} | {key.replace("__", "."): text for key, text in other.items()}


def test_results_by_slot() -> None:
    name = "s1_0.counts"
    text = file(cases(s1_0__counts=FAIL.format(name)))
    assert read_results(text, SLOTS) == {
        "s0_0": SlotResult(2),
        "s1_0": SlotResult(2, "counts", "q is 3, expected 4 (12.5 ns into the test)"),
    }


def test_the_first_failure_counts() -> None:
    text = file(cases(s0_0__counts=FAIL.format("s0_0.counts"), s0_0__wraps=FAIL.format("s0_0.wraps")))
    found = read_results(text, SLOTS)
    assert found is not None
    assert found["s0_0"].failed == "counts"


@pytest.mark.parametrize("tag", ["failure", "error", "skipped"])
def test_whatever_is_not_a_pass_is_a_failure(tag: str) -> None:
    found = read_results(file(cases(s0_0__wraps=f'<testcase name="s0_0.wraps"><{tag}/></testcase>')), SLOTS)
    assert found == {"s0_0": SlotResult(2, "wraps", tag), "s1_0": SlotResult(2)}


def test_a_failure_without_words_is_told_by_its_line() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/verieval-work/41/run.py", line 173, in run\n    await test()\n'
        '  File "/verieval-work/41/test_x.py", line 13, in t\n    assert int(dut.q.value) == 1\n'
        "           ^^^^^^^^^^^^^^^^^^^^^\nAssertionError\n"
    )
    text = f'<testcase name="s0_0.counts"><failure message="" type="AssertionError">{trace}</failure></testcase>'
    found = read_results(file(cases(s0_0__counts=text)), SLOTS)
    assert found is not None
    assert found["s0_0"].message == "assert int(dut.q.value) == 1 AssertionError"


WHOLE = file(cases())
NO_RESULTS = {
    "missing": "",
    "empty": " \n",
    "no XML": "PASS s0_0.counts",
    "cut": WHOLE[: len(WHOLE) // 2],
    "cut at its end": WHOLE[:-1],
    "nothing in it": "<testsuites/>",
    "a test too few": file({key: text for key, text in cases().items() if key != "s1_0.wraps"}),
    "no look at the ports": file({key: text for key, text in cases().items() if "interface" not in key}),
    "looks at the ports alone": file({key: text for key, text in cases().items() if "interface" in key}),
    "a slot too few": file({key: text for key, text in cases().items() if "s1" not in key}),
    "a slot too many": file(cases(s2_0__counts=PASS.format("s2_0.counts"))),
    "a test twice": WHOLE.replace("</testsuite>", PASS.format("s0_0.counts") + "</testsuite>"),
    "a test that failed and then did not": file(cases(s0_0__counts=FAIL.format("s0_0.counts"))).replace(
        "</testsuite>", PASS.format("s0_0.counts") + "</testsuite>"
    ),
    "a test without a name": WHOLE.replace("</testsuite>", "<testcase/></testsuite>"),
    "a test of no slot": WHOLE.replace("</testsuite>", PASS.format("counts") + "</testsuite>"),
    "other tests in one slot": WHOLE.replace("s1_0.wraps", "s1_0.turns"),
    "a document type": '<!DOCTYPE a [<!ENTITY b "c">]>' + WHOLE,
    "an entity": WHOLE.replace("counts", "&amp;counts;&nothing;"),
    "two documents": WHOLE + WHOLE,
    "a NUL": WHOLE.replace("counts", "co\0unts"),
}


@pytest.mark.parametrize("name", NO_RESULTS)
def test_a_file_that_is_not_as_it_should_be_gives_no_result(name: str) -> None:
    assert read_results(NO_RESULTS[name], SLOTS) is None


def test_no_damage_makes_a_failure_a_pass() -> None:
    """Bytes deleted, doubled and exchanged: a slot that failed never comes out as one that passed."""
    text = file(cases(s1_0__wraps=FAIL.format("s1_0.wraps")))
    draw = random.Random(3)
    for _ in range(3000):
        start = draw.randrange(len(text))
        end = min(len(text), start + draw.randint(0, 60))
        damaged = text[:start] + draw.choice(["", text[start:end] * 2, "<failure/>", "x"]) + text[end:]
        try:
            ElementTree.fromstring(damaged)
        except ElementTree.ParseError:
            assert read_results(damaged, SLOTS) is None
            continue
        found = read_results(damaged, SLOTS)
        assert found is None or found["s1_0"].failed or "<failure" not in damaged, damaged


# --- The Verilog around candidates ---------------------------------------------------------------------------------


def test_names_are_secret_and_no_two_are_equal(tmp_path: Path) -> None:
    task = load_task(tmp_path, LOOKS)
    texts = [
        INVERT.replace("endmodule", f"  wire n{number};\nendmodule\nmodule sub;\nendmodule") for number in range(3)
    ]
    for batch in (make_batch(task, texts, "5ec2e7"), make_shadows(task, texts, "5ec2e7")):
        names = [span.name for text in (*batch.files.values(), batch.wrapper) for span in modules(text)]
        assert len(names) == len(set(names))
        assert all("5ec2e7" in name for name in names)
        assert batch.restore(" ".join(names)).split().count("sub") == 3
        assert batch.restore(" ".join(names)).split().count("invert") == (4 if batch.shadows else 3)


def test_a_reference_that_cannot_be_elaborated(tmp_path: Path) -> None:
    task = replace(load_task(tmp_path, LOOKS), reference="")
    with pytest.raises(VerievalError, match="reference of invert cannot be elaborated"):
        make_batch(task, [INVERT], "5ec2e7")


# --- What is missing on this machine -------------------------------------------------------------------------------


@pytest.fixture
def unknown_python() -> Iterator[None]:
    """What is known of this installation is found out again, now and afterwards."""
    python.find_python.cache_clear()
    yield
    python.find_python.cache_clear()


def _no_cocotb(name: str) -> str:
    raise PackageNotFoundError(name)


@pytest.mark.usefixtures("unknown_python")
def test_without_cocotb(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "version", _no_cocotb)
    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", LOOKS))
    with pytest.raises(VerievalError, match=r"cocotb is not installed: .*pip install"):
        JudgePool(benchmark, toolchain, cache=tmp_path)


@pytest.mark.usefixtures("unknown_python")
def test_a_python_without_a_shared_library(monkeypatch: pytest.MonkeyPatch) -> None:
    import find_libpython

    monkeypatch.setattr(find_libpython, "find_libpython", lambda: None)
    with pytest.raises(VerievalError, match=r"shared library.*apt-get install libpython3"):
        python.find_python()


@pytest.mark.usefixtures("unknown_python")
def test_half_an_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python, "_PACKAGES", ("cocotb", "no_such_package"))
    with pytest.raises(VerievalError, match="its package no_such_package is missing; install it again"):
        python.find_python()


@pytest.mark.usefixtures("unknown_python")
def test_benches_in_verilog_need_no_cocotb(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.conftest import VERILOG_BENCHES

    monkeypatch.setattr(python, "version", _no_cocotb)
    assert python.needs(benchmarks.load("verieval", VERILOG_BENCHES)) == python.Visible()


def test_a_broken_installation_is_not_taken_for_broken_candidates(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verieval.completion import Completion

    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", LOOKS))
    monkeypatch.setattr(python.Python, "environment", lambda self, top: {"LIBPYTHON_LOC": "/nowhere"})
    with (
        pytest.raises(VerievalError, match=r"cocotb .* fails with .* on a one-line module"),
        JudgePool(benchmark, toolchain, Limits(simulate_cpu=2), cache=tmp_path) as pool,
    ):
        pool.submit(Completion("invert", 0, INVERT)).result()


# --- What a test's Python can see ----------------------------------------------------------------------------------

# Each answer is the message of a failing test.
SPY = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def spies(dut):
    import os, socket, sys
    from importlib.metadata import distributions

    def shown(path):
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            return type(error).__name__

    def tried(action):
        try:
            action()
        except OSError as error:
            return type(error).__name__
        return "done"

    home, site = {home!r}, {site!r}
    seen = {{
        "home": shown(home),
        "root": shown("/root"),
        "proc": shown("/proc"),
        "etc": shown("/etc/passwd"),
        "site": shown(site),
        "environment": sorted(name for name in os.environ if "SECRET" in name or "HOME" in name or "TOKEN" in name),
        "network": tried(lambda: socket.create_connection(("127.0.0.1", 9), 1)),
        "outside": tried(lambda: open({outside!r}, "w")),
        "package": tried(lambda: open(os.path.join(site, "cocotb", "new.py"), "w")),
        "user": os.getuid(),
        "flags": sys.flags.no_user_site,
    }}
    raise AssertionError(repr(seen))
"""


def test_what_a_test_can_see(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIEVAL_SECRET_TOKEN", "hunter2")
    site = python.find_python().site
    spy = SPY.format(home=str(Path.home()), site=str(site), outside=str(tmp_path / "outside"))
    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", spy))
    trials, pool = open_trials(benchmark, toolchain, tmp_path)
    try:
        if not trials.launcher.sandbox.holds:
            pytest.skip("no sandbox here")
        seen = _seen(trials, benchmark.tasks[0], INVERT)
    finally:
        trials.launcher.close()
        pool.close()
    assert set(seen["site"]) <= {"cocotb", "cocotb_tools", "pygpi", "find_libpython", f"cocotb-{_version()}.dist-info"}
    assert seen["etc"] in ("FileNotFoundError", "NotADirectoryError")
    assert seen["environment"] == []
    assert seen["network"] != "done"
    assert seen["outside"] != "done"
    assert seen["package"] != "done"
    assert not (tmp_path / "outside").exists()
    assert seen["user"] != 0
    assert seen["flags"] == 1
    # Of the home folder there is what leads to Python itself, where that lies in it.
    for place in ("home", "root"):
        assert seen[place] == "FileNotFoundError" or set(seen[place]) <= {".pyenv", ".local", "work", ".venv"}, seen[
            place
        ]
    assert seen["proc"] in ("FileNotFoundError", [])


def _seen(trials: Trials, task: object, source: str) -> dict[str, object]:
    """The whole message stands in the results file; the finding has its beginning."""
    from verieval.judge.cosim import trial

    batch = make_batch(task, [source], trials.simulator.secret)  # type: ignore[arg-type]
    done = trial._run(trials.launcher, trials.simulator, batch, 10)
    root = ElementTree.fromstring(done.printed["results.xml"])
    (fault,) = [child for case in root.iter("testcase") for child in case if child.tag == "failure"]
    seen = eval(fault.get("message") or "", {"__builtins__": {}})
    assert isinstance(seen, dict)
    return seen


def _version() -> str:
    from importlib.metadata import version

    return version("cocotb")


def test_nothing_of_one_simulation_meets_the_next(toolchain: Toolchain, tmp_path: Path) -> None:
    """What a test writes into its folder is gone when the next one starts."""
    test = LOOKS.replace(
        "    for value",
        "    from pathlib import Path\n    assert not Path('/verieval-work/left').exists()\n"
        "    assert not Path('left').exists()\n    Path('left').write_text('x')\n    for value",
    )
    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", test))
    trials, pool = open_trials(benchmark, toolchain, tmp_path)
    try:
        for _ in range(2):
            trial = trials.alone(benchmark.tasks[0], INVERT)
            assert trial.report is not None
            assert trial.report.clean, trial.tests
    finally:
        trials.launcher.close()
        pool.close()


def test_without_a_sandbox_it_works_too(toolchain: Toolchain, tmp_path: Path) -> None:
    from verieval.completion import Completion

    benchmark = benchmarks.load("verieval", write_task(tmp_path / "suite", LOOKS))
    with JudgePool(benchmark, toolchain, cache=tmp_path, sandbox=NO_SANDBOX) as pool:
        futures = [pool.submit(Completion("invert", 0, INVERT)), pool.submit(Completion("invert", 1, INVERT[:-20]))]
    assert [future.result().outcome for future in futures] == ["passed", "syntax"]
