"""The CVDP adapter: its published examples, and rows of our own for what they do not have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verieval.benchmarks import describe, load, select
from verieval.benchmarks.cvdp_harness import NotHere, refuse_python, services
from verieval.benchmarks.cvdp_rows import apply_patch
from verieval.errors import VerievalError
from verieval.task import Benchmark, HarnessBench

Get = Callable[[str], Benchmark]

COMPOSE = """
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro # Infrastructure location
    env_file    : ./src/.env
    command     : pytest -s -o cache_dir=/rundir/harness/.cache /src/test_runner.py -v
"""
ENV = """
SIM             = icarus
TOPLEVEL_LANG   = verilog
VERILOG_SOURCES = /code/rtl/top.sv /code/rtl/part.sv
TOPLEVEL        = top
# MODULE = test_other
MODULE          = test_top  # the test
PYTHONPATH      = /src
"""
TOP = "module top(input a, output y);\n  part p(.a(a), .y(y));\nendmodule\n"
PART = "module part(input a, output y);\n  assign y = ~a;\nendmodule\n"
RUNNER = "import os\nfrom cocotb_tools.runner import get_runner\nimport pytest\n"


def row(**changes: Any) -> dict[str, Any]:
    """A problem whose answer is part.sv, which the given top.sv uses; ``files`` change the harness."""
    files = {"docker-compose.yml": COMPOSE, "src/.env": ENV, "src/test_runner.py": RUNNER, **changes.pop("files", {})}
    base = {
        "id": "cvdp_test_0001",
        "categories": ["cid003", "easy"],
        "input": {"prompt": "Invert.", "context": {"rtl/top.sv": TOP, "docs/spec.md": "# Spec\n"}},
        "output": {"response": "", "context": {"rtl/part.sv": PART}},
        "harness": {"files": {name: text for name, text in files.items() if text is not None}},
    }
    return base | changes


def written(
    folder: Path, *rows: dict[str, Any], name: str = "cvdp_v1.1.0_nonagentic_code_generation_no_commercial"
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(item) + "\n" for item in rows))
    return folder


def test_published_examples(upstream: Get) -> None:
    nonagentic, agentic = upstream("cvdp:nonagentic"), upstream("cvdp:agentic")
    lfsr, arbiter = nonagentic.tasks[0], agentic.tasks[0]
    assert (lfsr.id, lfsr.module, lfsr.level) == ("cvdp_copilot_lfsr_0001", "lfsr_8bit", "easy")
    assert (arbiter.id, arbiter.module) == ("cvdp_agentic_fixed_arbiter_0001", "fixed_priority_arbiter")
    assert nonagentic.unsupported == agentic.unsupported == ()
    assert isinstance(arbiter.oracle, HarnessBench)
    assert arbiter.oracle.targets == arbiter.oracle.rtl == ("code/rtl/fixed_priority_arbiter.sv",)
    assert dict(arbiter.oracle.environment)["MODULE"] == "test_fixed_priority_arbiter"
    assert arbiter.oracle.commands[0][-2:] == ("/src/test_runner.py", "-v")
    # The patch makes a file of 79 lines.
    assert arbiter.reference is not None
    assert arbiter.reference.count("\n") == 79
    assert arbiter.reference.startswith("`timescale 1ns / 1ps\nmodule fixed_priority_arbiter(\n")
    assert {port.name: port.width for port in lfsr.ports} == {"clock": 1, "reset": 1, "lfsr_seed": 8, "lfsr_out": 8}


def test_the_context_is_in_the_prompt_and_the_solution_is_not(upstream: Get) -> None:
    prompt = upstream("cvdp:agentic").tasks[0].prompt
    assert "# Fixed Priority Arbiter Specification Document" in prompt
    assert "module fixed_priority_arbiter_tb;" in prompt
    assert "`rtl/fixed_priority_arbiter.sv`" in prompt
    assert "if (priority_override != 8'b00000000)" not in prompt
    assert "sed -i" not in prompt  # what an agent is told of its tools


def test_a_part_of_a_given_design(tmp_path: Path) -> None:
    task = load("cvdp:nonagentic", written(tmp_path, row())).tasks[0]
    assert task.module == "part"
    assert [port.name for port in task.ports] == ["a", "y"]
    assert task.tags == ("cid003", "specification")
    assert "do not define them again" in task.prompt
    assert isinstance(task.oracle, HarnessBench)
    assert dict(task.oracle.environment)["MODULE"] == "test_top"


def test_several_files_are_one_answer(tmp_path: Path) -> None:
    answer = {"rtl/part.sv": PART, "rtl/top.sv": TOP, "docs/notes.md": "done"}
    both = row(input={"prompt": "Invert.", "context": {}}, output={"context": answer})
    task = load("cvdp:nonagentic", written(tmp_path, both)).tasks[0]
    assert task.module == "top"
    assert task.reference == TOP + PART  # as they are compiled
    assert isinstance(task.oracle, HarnessBench)
    assert task.oracle.targets[0] == "code/rtl/top.sv"
    assert "Put the modules of `rtl/part.sv` into it" in task.prompt


def test_without_solutions_there_is_no_reference(tmp_path: Path) -> None:
    bare = row(output={"context": {"rtl/part.sv": ""}})
    folder = written(tmp_path, bare)
    assert load("cvdp:nonagentic", folder).tasks[0].reference is None
    # Where a file with solutions lies beside it, that one counts, whatever the order.
    written(folder, row(), name="cvdp_v1.1.0_nonagentic_code_generation_no_commercial_with_solutions")
    benchmark = load("cvdp:nonagentic", folder)
    assert [task.reference for task in benchmark.tasks] == [PART]


def test_the_newest_release_and_the_whole_set_count(tmp_path: Path) -> None:
    folder = written(tmp_path, row(id="new"), name="cvdp_v1.1.0_nonagentic_code_generation_no_commercial")
    written(folder, row(id="old"), name="cvdp_v1.0.2_nonagentic_code_generation_no_commercial")
    written(folder, row(id="example"), name="cvdp_v1.1.0_example_nonagentic_code_generation_no_commercial")
    written(folder, row(id="more"), name="cvdp_v1.1.0_nonagentic_code_generation_commercial")
    assert {task.id for task in load("cvdp:nonagentic", folder).tasks} == {"new", "more"}
    with pytest.raises(VerievalError, match="_agentic_code_generation"):
        load("cvdp:agentic", folder)


def compose(**changes: Any) -> dict[str, Any]:
    import yaml

    table = yaml.safe_load(COMPOSE)
    table["services"]["direct"] |= changes
    return {"files": {"docker-compose.yml": yaml.safe_dump(table)}}


def environment(line: str) -> dict[str, Any]:
    return {"files": {"src/.env": ENV + line + "\n"}}


def runner(text: str) -> dict[str, Any]:
    return {"files": {"src/test_runner.py": RUNNER + text}}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"categories": ["cid012", "easy"]}, "its answer is a test bench, which a commercial simulator grades"),
        ({"categories": ["cid009", "easy"]}, "it is no RTL"),
        (compose(image="__VERIF_EDA_IMAGE__"), "it needs a commercial simulator"),
        (compose(image="__OSS_PNR_IMAGE__"), "it needs the container image __OSS_PNR_IMAGE__"),
        (compose(networks=["licnetwork"]), "its container uses a network"),
        (compose(privileged=True), "its container uses privileged"),
        (compose(volumes=["/etc:/etc"]), "its container mounts /etc:/etc"),
        (compose(command="python3 /src/test_runner.py"), "its command is no run of pytest"),
        (compose(command="pytest /src/a.py && rm -rf x"), "its command is no run of pytest"),
        (environment("SIM = xcelium"), "it is simulated with xcelium"),
        (environment("TOPLEVEL_LANG = vhdl"), "it is written in vhdl"),
        (environment("VERILOG_SOURCES = /code/rtl/part.sv /code/rtl/no.sv"), "its harness compiles /code/rtl/no.sv"),
        (environment("VERILOG_SOURCES = /code/rtl/top.sv"), "no file of its answer is compiled"),
        (environment("TOPLEVEL ="), "its environment does not say what is compiled"),
        ({"files": {"docker-compose.yml": None}}, "it has no harness"),
        ({"files": {"docker-compose.yml": "a: ["}}, "its docker-compose.yml cannot be read"),
        ({"files": {"docker-compose.yml": "a: 2020-99-99"}}, "its docker-compose.yml cannot be read"),
        ({"files": {"docker-compose.yml": "[" * 20_000}}, "its docker-compose.yml cannot be read"),
        (compose(environment={"A=B": "c"}), "its environment has a variable"),
        (compose(environment={"A": "\0"}), "its environment has a variable"),
        (compose(**{"7": 1}), "its container uses 7"),
        ({"files": {"docker-compose.yml": COMPOSE + "    7: x\n    a: y\n"}}, "its container uses 7"),
        (runner("import numpy as np\n"), "it needs the Python package numpy"),
        (runner("from cocotb.runner import get_runner\n"), "it is written for cocotb 1"),
        (runner("import subprocess\nsubprocess.run('yosys -s x.ys', shell=True)\n"), "it calls yosys"),
        (runner("def f(:\n"), "is not valid Python"),
        ({"output": {"context": {"rtl/part.sv": PART, "rtl/a.svh": ""}}}, "its answer has a file that others include"),
    ],
)  # fmt: skip
def test_what_is_not_here_is_listed(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    benchmark = load("cvdp:nonagentic", written(tmp_path, row(**changes), row(id="good")))
    assert [task.id for task in benchmark.tasks] == ["good"]
    assert [item.task for item in benchmark.unsupported] == ["cvdp_test_0001"]
    assert benchmark.unsupported[0].reason.startswith(reason) or reason in benchmark.unsupported[0].reason
    with pytest.raises(VerievalError, match="cvdp_test_0001 of cvdp:nonagentic cannot be judged here"):
        select(benchmark, "cvdp_test*")
    assert select(benchmark, "good").unsupported == ()
    assert select(benchmark, "*").unsupported == benchmark.unsupported


def test_an_image_built_without_additions_is_the_image() -> None:
    built = COMPOSE.replace("image: __OSS_SIM_IMAGE__", "build: .")
    harness = {"docker-compose.yml": built, "src/.env": ENV, "Dockerfile": "# ours\nFROM __OSS_SIM_IMAGE__\n"}
    assert services(harness)[0].arguments[-1] == "-v"
    with pytest.raises(NotHere, match=r"additions \(RUN pip install aes\)"):
        services(harness | {"Dockerfile": "FROM __OSS_SIM_IMAGE__\nRUN pip install aes\n"})


def test_a_simulator_that_is_only_the_default_is_not_called() -> None:
    text = 'import os, subprocess\nsim = os.getenv("SIM", "verilator")\n# yosys\nprint("see yosys")\n'
    refuse_python({"src/test_runner.py": text, "src/helper.py": "import test_runner\n"})


@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"),
        ("a\nb\nc\nd\n", "@@ -2,2 +2,2 @@\n b\n-c\n+x", "a\nb\nx\nd\n"),
        ("a\nb\nc\nd\n", "@@ -1,1 +0,0 @@\n-a\n@@ -4,1 +3,2 @@\n-d\n+e\n+f", "b\nc\ne\nf\n"),
        ("a\n", "", ""),
    ],
)
def test_patches(old: str, patch: str, new: str) -> None:
    assert apply_patch(old, patch) == new


@pytest.mark.parametrize("patch", ["@@ -1,1 +1,1 @@\n-x\n+y", "@@ -9,1 +9,1 @@\n-a\n+b", "@@ -1,1 +1,1 @@\nwhat"])
def test_patches_that_do_not_fit(patch: str) -> None:
    with pytest.raises(ValueError, match=r"hunk|line"):
        apply_patch("a\nb\n", patch)


def agentic(**changes: Any) -> dict[str, Any]:
    """The same problem in the other layout."""
    plain = row()
    base = {
        "id": "cvdp_test_0001",
        "categories": plain["categories"],
        "system_message": "You have tools.",
        "prompt": plain["input"]["prompt"],
        "context": plain["input"]["context"],
        "patch": {"rtl/part.sv": "@@ -0,0 +1,3 @@\n" + "".join(f"+{line}\n" for line in PART.splitlines())},
        "harness": plain["harness"]["files"],
    }
    return base | changes


NAME = "cvdp_v1.1.0_{}_code_generation_no_commercial"
GIVEN = {"prompt": "x", "context": {}}


@pytest.mark.parametrize(
    ("variant", "broken", "fault"),
    [
        ("nonagentic", row(categories=None), "its field 'categories' is missing, where a list of texts belongs"),
        ("nonagentic", row(categories="cid003"), "its field 'categories' is a text, where a list of texts belongs"),
        ("nonagentic", row(categories=[3]), "its field 'categories[0]' is a number, where a text belongs"),
        ("nonagentic", row(input="x"), "its field 'input' is a text, where a table belongs"),
        ("nonagentic", row(input={"prompt": 3}), "its field 'input.prompt' is a number, where a text belongs"),
        ("nonagentic", row(input={"prompt": "x", "context": []}), "its field 'input.context' is a list, where a table"),
        ("nonagentic", row(input={"prompt": "\ud800"}), "its field 'input.prompt' has half a character in it"),
        ("nonagentic", row(input={"prompt": "x", "context": {"../a": ""}}), "the path '../a', which leaves its folder"),
        ("nonagentic", row(input={"prompt": "x", "context": {"a//b": ""}}), "'a//b', which is no path of a file"),
        ("nonagentic", row(input={"prompt": "x", "context": {"a" * 300: ""}}), "which is too long"),
        ("nonagentic", row(input={"prompt": "x", "context": {"a": "", "a/b": ""}}), "both as a file and as a folder"),
        ("nonagentic", row(input={"prompt": "x", "context": {"a": True}}), "field 'input.context['a']' is true or f"),
        ("nonagentic", row(output=None), "its field 'output' is missing, where a table belongs"),
        ("nonagentic", row(output={"context": "x"}), "its field 'output.context' is a text, where a table belongs"),
        ("nonagentic", row(harness=None), "its field 'harness' is missing, where a table belongs"),
        ("nonagentic", row(harness={"files": [1]}), "its field 'harness.files' is a list, where a table belongs"),
        ("agentic", agentic(prompt=None), "its field 'prompt' is missing, where a text belongs"),
        ("agentic", agentic(context="x"), "its field 'context' is a text, where a table belongs"),
        ("agentic", agentic(patch=None), "its field 'patch' is missing, where a table belongs"),
        ("agentic", agentic(patch={"rtl/top.sv": "@@ -1 +1 @@\n-x\n+y"}), "'patch' does not fit 'rtl/top.sv'"),
        ("agentic", agentic(patch={"rtl/top.sv": "no patch"}), "'rtl/top.sv' (unexpected line 'no patch' in a patch)"),
        ("agentic", agentic(harness=[1]), "its field 'harness' is a list, where a table belongs"),
    ],
)  # fmt: skip
def test_an_odd_row_is_listed_and_the_others_are_used(
    tmp_path: Path, variant: str, broken: dict[str, Any], fault: str
) -> None:
    good = row(id="good") if variant == "nonagentic" else agentic(id="good")
    benchmark = load(f"cvdp:{variant}", written(tmp_path, good, broken, name=NAME.format(variant)))
    assert [task.id for task in benchmark.tasks] == ["good"]
    (listed,) = benchmark.unsupported
    assert (listed.task, listed.malformed) == ("cvdp_test_0001", True)
    assert listed.reason.startswith("its row is not as CVDP publishes it: ")
    assert fault in listed.reason
    assert listed.reason.endswith(f"({NAME.format(variant)}.jsonl, line 2)")
    # Alone, it leaves nothing that could be called a benchmark.
    with pytest.raises(VerievalError, match=r"No row of cvdp:.* can be used; of 'cvdp_test_0001' its row is not as"):
        load(f"cvdp:{variant}", written(tmp_path, broken, name=NAME.format(variant)))


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({}, "its field 'id' is missing, where a text belongs"),
        ({"id": 7}, "its field 'id' is a number, where a text belongs"),
        ({"id": " "}, "its field 'id' is no name"),
        ({"id": "a\x1b[2J"}, "its field 'id' is no name"),
        ([], "it is a list, where a table belongs"),
        (None, "it is nothing, where a table belongs"),
    ],
)
def test_a_row_without_a_name_is_called_by_its_line(tmp_path: Path, value: Any, fault: str) -> None:
    (listed,) = load("cvdp:nonagentic", written(tmp_path, row(), value)).unsupported
    assert listed.task == NAME.format("nonagentic") + ".jsonl:2"
    assert fault in listed.reason


def test_an_odd_row_in_either_file_makes_the_problem_unusable(tmp_path: Path) -> None:
    """Whichever of the two is odd: a problem is never taken from half of what there is of it, and never in silence."""
    for first, second in ((row(categories=3), row()), (row(), row(categories=3))):
        folder = written(tmp_path, row(id="good"), first)
        written(folder, second, name=NAME.format("nonagentic") + "_with_solutions")
        benchmark = load("cvdp:nonagentic", folder)
        assert [task.id for task in benchmark.tasks] == ["good"]
        assert [(item.task, item.malformed) for item in benchmark.unsupported] == [("cvdp_test_0001", True)]


def test_a_problem_that_stands_twice_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, row(), row(id="b"), row(categories=3))
    with pytest.raises(VerievalError, match=r"has the problem 'cvdp_test_0001' twice, in lines 1 and 3: remove one"):
        load("cvdp:nonagentic", folder)
    written(folder, row())
    written(folder, row(id="b"), row(), name="cvdp_v1.1.0_nonagentic_code_generation_commercial")
    with pytest.raises(
        VerievalError, match=r"'cvdp_test_0001' stands both in .*commercial.jsonl \(line 2\) and in .*1\)"
    ):
        load("cvdp:nonagentic", folder)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    (written(tmp_path, row()) / f"{NAME.format('nonagentic')}_with_solutions.jsonl").write_text(content)
    with pytest.raises(VerievalError, match=r"_with_solutions.jsonl has no row; restore the file"):
        load("cvdp:nonagentic", tmp_path)


@pytest.mark.parametrize("variant", ["nonagentic", "agentic"])
@pytest.mark.parametrize("kind", ["", "example_"])
@pytest.mark.parametrize("ending", ["no_commercial", "commercial", "no_commercial_with_solutions"])
@pytest.mark.parametrize("folder", ["", "example_dataset"])
def test_every_release_is_found_and_the_newest_is_taken(
    tmp_path: Path, variant: str, kind: str, ending: str, folder: str
) -> None:
    """Versions are numbers: 10 is more than 9. The data is found as it is by name, in a folder of VERIEVAL_DATA."""
    make = row if variant == "nonagentic" else agentic
    place = tmp_path / "cvdp" / folder
    place.mkdir(parents=True)
    versions = ("1.9.0", "1.10.0", "1.9.12", "0.99.99")
    for version in versions:
        written(place, make(id=version), name=f"cvdp_v{version}_{kind}{variant}_code_generation_{ending}")
    assert [task.id for task in load(f"cvdp:{variant}", tmp_path).tasks] == ["1.10.0"]
    assert describe(f"cvdp:{variant}", tmp_path)["data"] == str(tmp_path / "cvdp")


def test_the_same_file_in_both_folders_is_read_once(tmp_path: Path) -> None:
    name = "cvdp_v1.1.0_example_nonagentic_code_generation_no_commercial"
    written(tmp_path, row(), name=name)
    written(tmp_path / "example_dataset", row(), name=name)
    assert len(load("cvdp:nonagentic", tmp_path).tasks) == 1


def test_missing_data_says_what_to_clone(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match=r"git clone https://github\.com/NVlabs/cvdp_benchmark"):
        load("cvdp:nonagentic", tmp_path)
    assert describe("cvdp:agentic")["tasks"] is None
