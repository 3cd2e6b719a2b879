"""Names, counts, targets, hashes: what every adapter must deliver from the real upstream layout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from verieval.benchmarks import describe, load, names, select
from verieval.errors import VerievalError
from verieval.task import Benchmark, Port, Testbench

Get = Callable[[str], Benchmark]

# Numbers of problems, as the benchmarks' papers and repositories state them.
COUNTS = {
    "verilog-eval:spec-to-rtl": 156,
    "verilog-eval:code-complete": 156,
    "verilog-eval-v1:human": 156,
    "verilog-eval-v1:machine": 143,
    "rtllm": 50,
    "verigen": 17,
}
COMMITS = {"verilog-eval": "c498220", "verilog-eval-v1": "release/1.0.0", "rtllm": "41b2689", "verigen": "1bed62c"}


def test_names_are_the_designs() -> None:
    assert names() == ("verieval", *COUNTS, "cvdp:nonagentic", "cvdp:agentic")


def test_importing_loads_no_adapter_and_no_parser() -> None:
    code = "import sys, verieval.benchmarks; print([m for m in sys.modules if m.startswith(('pyslang', 'verieval.b'))])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(eval(loaded)) == {f"verieval.benchmarks{part}" for part in ("", ".errata", ".source")}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_commits(upstream: Get, name: str) -> None:
    benchmark = upstream(name)
    assert benchmark.full_name == name
    assert len(benchmark.tasks) == COUNTS[name] == describe(name)["tasks"]
    assert benchmark.commit == COMMITS[benchmark.name] == describe(name)["commit"]
    assert len({task.id for task in benchmark.tasks}) == COUNTS[name]


@pytest.mark.parametrize("name", ["verieval", *COUNTS])
def test_every_task_is_whole(upstream: Get, name: str) -> None:
    from verieval.verilog import instantiated, mask, modules

    for task in upstream(name).tasks if name != "verieval" else load(name).tasks:
        assert task.prompt.strip()
        assert task.reference is not None
        defined = {span.name for span in modules(task.reference)}
        assert task.module in defined
        if isinstance(task.oracle, Testbench):
            assert task.module in {name for source in task.oracle.sources for name in instantiated(source.text)}
        assert not defined & {"tb", "RefModule", "reference_module", "stimulus_gen"}
        assert task.ports
        assert all(port.width > 0 for port in task.ports)
        assert any(port.direction == "output" for port in task.ports)
        for source in task.oracle.sources:
            # The official rule greps the compiler's log, in which these names stand.
            assert "error" not in source.name.lower()
            assert source.name == Path(source.name).name
            assert " " not in source.name
        tops = {span.name for source in task.oracle.sources for span in modules(source.text)}
        assert not isinstance(task.oracle, Testbench) or task.oracle.top in tops
        assert f"module {task.module}" in " ".join(mask(task.header or f"module {task.module}").split())


def test_targets_come_from_the_bench(upstream: Get) -> None:
    assert {task.module for task in upstream("verilog-eval:spec-to-rtl").tasks} == {"TopModule"}
    assert {task.module for task in upstream("verilog-eval-v1:machine").tasks} == {"top_module"}
    rtllm = {task.id: task.module for task in upstream("rtllm").tasks}
    # In two designs of RTLLM the bench calls the target otherwise than folder or reference do.
    assert {id_: module for id_, module in rtllm.items() if id_ != module} == {
        "fixed_point_substractor": "fixed_point_subtractor"
    }
    verigen = {task.id: task.module for task in upstream("verigen").tasks}
    assert (verigen["intermediate7"], verigen["advanced4"]) == ("P_box", "advshift")


def test_references_are_renamed_with_their_helpers_kept(upstream: Get) -> None:
    from verieval.verilog import modules

    rtllm = upstream("rtllm").by_id
    names_of = {
        id_: [span.name for span in modules(rtllm[id_].reference or "")]
        for id_ in ("asyn_fifo", "adder_pipe_64bit", "barrel_shifter", "multi_pipe_4bit")
    }
    assert names_of == {
        "asyn_fifo": ["dual_port_RAM", "asyn_fifo"],
        "adder_pipe_64bit": ["adder_pipe_64bit"],  # verified_adder_64bit in the file
        "barrel_shifter": ["barrel_shifter", "mux2X1"],  # needed no renaming
        "multi_pipe_4bit": ["multi_pipe_4bit"],  # verified_multi_pipe
    }


def test_ports(upstream: Get) -> None:
    task = upstream("verilog-eval:code-complete").by_id["Prob099_m2014_q6c"]
    assert task.ports == (
        Port("y", "input", 6),
        Port("w", "input", 1),
        Port("Y2", "output", 1),
        Port("Y4", "output", 1),
    )
    ram = upstream("verigen").by_id["intermediate6"]  # widths from parameters ADDR_WIDTH=6, DATA_WIDTH=8
    assert {port.name: port.width for port in ram.ports} == {"data": 8, "addr": 6, "we": 1, "clk": 1, "q": 8}


def test_headers_and_references_agree_on_the_ports(upstream: Get) -> None:
    from verieval.benchmarks.structure import ports

    for name in COUNTS:
        for task in upstream(name).tasks:
            if task.header:
                assert ports(f"{task.header}\nendmodule\n", task.module) == task.ports, task.id


def test_prompts_and_headers(upstream: Get, data_dir: Path) -> None:
    assert all(task.header is None for task in upstream("verilog-eval:spec-to-rtl").tasks)
    folder = data_dir / "verilog-eval" / "dataset_code-complete-iccad2023"
    for task in upstream("verilog-eval:code-complete").tasks:
        assert task.header is not None
        assert task.prompt == (folder / f"{task.id}_prompt.txt").read_text()
        assert task.prompt.rstrip().endswith(task.header.strip())
    rows = (data_dir / "verilog-eval-v1/descriptions/VerilogDescription_Human.jsonl").read_text().splitlines()
    words = {row["task_id"]: row["detail_description"] for row in map(json.loads, rows)}
    for task in upstream("verilog-eval-v1:human").tasks:
        assert task.prompt == words[task.id]
        assert (task.reference or "").startswith(task.header or "-")
    medium = upstream("verigen").by_id["basic2"]
    assert medium.header == medium.prompt
    assert (medium.header or "").splitlines()[-1] == "// ouput the AND of a and b"  # the level in the middle has this


def test_bench_order_and_flags(upstream: Get) -> None:
    v2 = upstream("verilog-eval:spec-to-rtl").by_id["Prob001_zero"].oracle
    assert [source.name for source in v2.sources] == ["Prob001_zero_test.sv", "Prob001_zero_ref.sv"]
    assert v2.candidate_first
    assert v2.compile_flags == ("-Wall", "-Winfloop", "-Wno-timescale", "-g2012")
    v1 = upstream("verilog-eval-v1:human").tasks[0].oracle
    assert (v1.candidate_first, v1.separate_stderr, v1.top) == (False, True, "tb")


def test_rtllm_data_files(upstream: Get, data_dir: Path) -> None:
    by_id = upstream("rtllm").by_id
    found = {task.id: [data.name for data in task.oracle.data_files] for task in upstream("rtllm").tasks}
    assert {id_: files for id_, files in found.items() if files} == {
        "alu": ["reference.dat"],
        "asyn_fifo": ["rempty.txt", "tdata.txt", "wfull.txt"],
        "calendar": ["reference.txt"],
        "multi_booth_8bit": ["test_data.dat"],
        "signal_generator": ["tri_gen.txt"],
    }
    original = data_dir / "rtllm/Miscellaneous/Signal generation/signal_generator/tri_gen.txt"
    assert by_id["signal_generator"].oracle.data_files[0].data == original.read_bytes()


def test_every_design_of_rtllm_1_1_has_a_task(upstream: Get, completions_dir: Path) -> None:
    rows = (completions_dir / "rtllm_chatgpt35.jsonl").read_text().splitlines()
    ids = {json.loads(row)["task_id"] for row in rows}
    assert len(ids) == 29
    by_id = upstream("rtllm").by_id
    assert ids <= set(by_id)
    assert by_id["calender"].id == "calendar"


def test_turtle_names_resolve(upstream: Get) -> None:
    by_id = upstream("verigen").by_id
    assert by_id["advanced5-prompt2_abro"] is by_id["abro"] is by_id["advanced5"]


def test_upstream_order(upstream: Get, data_dir: Path) -> None:
    listed = (data_dir / "verilog-eval/dataset_spec-to-rtl/problems.txt").read_text().split()
    assert [task.id for task in upstream("verilog-eval:spec-to-rtl").tasks] == listed
    ids = [task.id for task in upstream("verigen").tasks]
    assert (ids[0], ids[4], ids[-1]) == ("basic1", "intermediate1", "advanced5")


@pytest.mark.parametrize("name", ["verieval", "rtllm", "verigen", "verilog-eval-v1:human"])
def test_hash_is_stable_and_depends_on_content_alone(name: str, data_dir: Path, tmp_path: Path) -> None:
    first = load(name, None if name == "verieval" else data_dir)
    if name == "verieval":
        assert load(name).sha256 == first.sha256
        return
    folder = tmp_path / "a folder with spaces"
    shutil.copytree(data_dir / first.name, folder, ignore=shutil.ignore_patterns(".git"))
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert load(name, folder).sha256 == first.sha256
    bench = next(
        iter([*folder.rglob("testbench.v"), *folder.rglob("tb_*.v"), *folder.rglob("VerilogEval_Human.jsonl")])
    )
    bench.write_text(bench.read_text().replace("wire", "wire ", 1))
    changed = load(name, folder)
    assert changed.sha256 != first.sha256
    assert changed.commit is None  # no longer the published snapshot
    assert sum(a.sha256 != b.sha256 for a, b in zip(first.tasks, changed.tasks, strict=True)) == 1


def test_loading_is_quick(data_dir: Path) -> None:
    load("verilog-eval:spec-to-rtl", data_dir)  # the first call also imports the parser
    start = time.process_time()
    load("verilog-eval:spec-to-rtl", data_dir)
    assert time.process_time() - start < 1.0


def test_select_by_level_and_tag() -> None:
    whole = load("verieval")
    for level in ("unit", "block", "system"):
        assert select(whole, f"level:{level}").tasks == tuple(task for task in whole.tasks if task.level == level) != ()
    both = select(whole, "level:system, tag:fifo").tasks
    assert both == tuple(task for task in whole.tasks if task.level == "system" or "fifo" in task.tags) != ()
    with pytest.raises(VerievalError, match="No task of verieval has the level 'unti'; it has block, system, unit"):
        select(whole, "level:unti")
    with pytest.raises(VerievalError, match="has the tag 'vroom'; it has "):
        select(whole, "tag:vroom")


def test_select(upstream: Get) -> None:
    whole = upstream("verilog-eval:spec-to-rtl")
    part = select(whole, "Prob09*, Prob001_zero")
    assert [task.id for task in part.tasks][:2] == ["Prob001_zero", "Prob090_circuit1"]
    assert len(part.tasks) == 11
    assert {erratum.task for erratum in part.errata} == {"Prob099_m2014_q6c"}
    assert part.sha256 != whole.sha256
    assert select(whole, "*").sha256 == whole.sha256
    assert [task.id for task in select(upstream("rtllm"), "calender").tasks] == ["calendar"]
    with pytest.raises(VerievalError, match=r"No task of .* matches 'Prob001_zer'; did you mean 'Prob001_zero'"):
        select(whole, "Prob002*,Prob001_zer")
    with pytest.raises(VerievalError, match="empty"):
        select(whole, " , ")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("verilog-eval", "several variants: name one of verilog-eval:spec-to-rtl, verilog-eval:code-complete"),
        ("verilog-eval:spec2rtl", "no variant 'spec2rtl'"),
        ("rtllm:v2", "no variants: write 'rtllm'"),
        ("rtlm", "did you mean 'rtllm'"),
        ("zzz", "known are verieval, "),
        ("cvdp", "several variants: name one of cvdp:nonagentic, cvdp:agentic"),
        ("", "no benchmark ''"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(VerievalError, match=message):
        load(name)
