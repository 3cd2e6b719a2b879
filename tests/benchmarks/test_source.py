"""Finding checkouts, telling their commit, and refusing malformed files in one sentence."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from verieval.benchmarks import describe, load
from verieval.errors import VerievalError

BENCH = "module tb; wire q; {} dut(q); initial $display(q); endmodule\n"


def v1_data(folder: Path, rows: list[str], described: list[str]) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "descriptions").mkdir()
    (folder / "data/VerilogEval_Human.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "descriptions/VerilogDescription_Human.jsonl").write_text("\n".join(described) + "\n")
    return folder


def v1_row(name: str, test: str = BENCH.format("top_module")) -> str:
    return json.dumps(
        {
            "task_id": name,
            "prompt": "module top_module(output q);\n",
            "canonical_solution": "assign q = 1;\nendmodule\n",
            "test": test,
        }
    )


def described(name: str) -> str:
    return json.dumps({"task_id": name, "detail_description": f"what {name} does"})


def rtllm_data(root: Path, design: str = "Some Group/and gate/gate") -> Path:
    folder = root / "Control" / design
    folder.mkdir(parents=True)
    (folder / "design_description.txt").write_text("a gate")
    (folder / "testbench.v").write_text(BENCH.format("gate"))
    (folder / "verified_gate.v").write_text("module verified_gate(output q); assign q = 1; endmodule // verified_gate")
    return folder


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_data_argument_takes_a_checkout_or_a_folder_of_checkouts(tmp_path: Path) -> None:
    rtllm_data(tmp_path / "rtllm")
    assert load("rtllm", tmp_path).sha256 == load("rtllm", tmp_path / "rtllm").sha256
    rtllm_data(tmp_path / "clones" / "RTLLM")  # what `git clone` calls it
    assert load("rtllm", tmp_path / "clones").tasks[0].id == "gate"


def test_data_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    v1_data(tmp_path / "verilog-eval-v1", [v1_row("a")], [described("a")])
    monkeypatch.setenv("VERIEVAL_DATA", str(tmp_path))
    benchmark = load("verilog-eval-v1:human")
    assert benchmark.tasks[0].prompt == "what a does"
    assert benchmark.commit is None
    assert describe("verilog-eval-v1:human")["data"] == str(tmp_path / "verilog-eval-v1")
    assert describe("rtllm")["data"] is None


@pytest.mark.parametrize("name", ["verilog-eval:spec-to-rtl", "verilog-eval-v1:machine", "rtllm", "verigen"])
def test_missing_data_says_what_to_clone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = describe(name)["upstream"]
    monkeypatch.delenv("VERIEVAL_DATA", raising=False)
    with pytest.raises(VerievalError, match=f"git clone .*{upstream}.*VERIEVAL_DATA"):
        load(name)
    monkeypatch.setenv("VERIEVAL_DATA", str(tmp_path))
    with pytest.raises(VerievalError, match=f"git clone .*{upstream} {tmp_path}/{describe(name)['folder']}"):
        load(name)
    with pytest.raises(VerievalError, match=f"There is no folder {tmp_path / 'none'}: .*git clone"):
        load(name, tmp_path / "none")


def test_spaces_in_names(tmp_path: Path) -> None:
    rtllm_data(tmp_path)
    benchmark = load("rtllm", tmp_path)
    task = benchmark.tasks[0]
    assert (task.id, task.module, task.tags) == ("gate", "gate", ("Control", "Some Group", "and gate"))
    # Renamed where it is the module, left alone in the comment.
    assert task.reference == "module gate(output q); assign q = 1; endmodule // verified_gate"


def test_a_git_checkout_names_its_commit(tmp_path: Path) -> None:
    folder = rtllm_data(tmp_path)
    git(tmp_path, "init", "-q")
    assert load("rtllm", tmp_path).commit is None  # a repository without a commit
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "data")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert load("rtllm", tmp_path).commit == head
    (folder / "testbench.v").write_text(BENCH.format("gate") + "// changed\n")
    assert load("rtllm", tmp_path).commit == f"{head}-dirty"


def test_a_folder_inside_another_repository_does_not_take_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rtllm_data(tmp_path / "vendor/rtllm")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "mine")
    assert load("rtllm", tmp_path / "vendor/rtllm").commit is None
    rtllm_data(tmp_path / "own")
    git(tmp_path / "own", "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # as inside a hook of the outer repository
    assert load("rtllm", tmp_path / "own").commit is None


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rtllm_data(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "data")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert load("rtllm", tmp_path).commit is None


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        ([v1_row("a"), "{not json"], [described("a")], r"VerilogEval_Human.jsonl:2 is not valid JSON"),
        ([v1_row("a"), "", "[1]"], [described("a")], r"VerilogEval_Human.jsonl:3 is not a JSON object"),
        (['{"task_id": "a"}'], [described("a")], r"VerilogEval_Human.jsonl:1 has no text field 'prompt'"),
        ([v1_row("a"), v1_row("b")], [described("a")], r"Description_Human.jsonl has no description of 'b'"),
        ([v1_row("a", BENCH.format("x") + BENCH.format("y"))], [described("a")], r"'a' in .*found x, y"),
        ([v1_row("a", "module tb; endmodule")], [described("a")], r"exactly one module to the candidate, found none"),
        ([""], [described("a")], r"holds no problem"),
        ([v1_row("a"), v1_row("a")], [described("a")], r"two tasks called 'a'"),
    ],
)
def test_malformed_json_lines(tmp_path: Path, rows: list[str], words: list[str], message: str) -> None:
    with pytest.raises(VerievalError, match=message):
        load("verilog-eval-v1:human", v1_data(tmp_path, rows, words))


def test_bad_utf8_names_file_and_line(tmp_path: Path) -> None:
    folder = rtllm_data(tmp_path)
    (folder / "testbench.v").write_bytes(b"// one\n// two\n// \xff\n")
    with pytest.raises(VerievalError, match=r"testbench.v:3 is not UTF-8"):
        load("rtllm", tmp_path)


@pytest.mark.parametrize("name", ["testbench.v", "verified_gate.v"])
def test_missing_rtllm_file(tmp_path: Path, name: str) -> None:
    (rtllm_data(tmp_path) / name).unlink()
    with pytest.raises(VerievalError, match=name.replace("gate", r"(gate|\*)")):
        load("rtllm", tmp_path)


def test_missing_data_file(tmp_path: Path) -> None:
    folder = rtllm_data(tmp_path)
    (folder / "testbench.v").write_text(
        BENCH.format("gate").replace("initial", 'initial $readmemh("v.dat", m); initial')
    )
    with pytest.raises(VerievalError, match=r"v\.dat cannot be read"):
        load("rtllm", tmp_path)
    (folder / "v.dat").write_bytes(b"0 1\r\n\xff")
    assert load("rtllm", tmp_path).tasks[0].oracle.data_files[0].data == b"0 1\r\n\xff"


@pytest.mark.parametrize("name", ["Prob001_zero_test.sv", "Prob001_zero_ref.sv", "Prob001_zero_ifc.txt"])
def test_missing_verilog_eval_file(data_dir: Path, tmp_path: Path, name: str) -> None:
    source = data_dir / "verilog-eval/dataset_code-complete-iccad2023"
    folder = tmp_path / source.name
    folder.mkdir()
    for path in source.glob("Prob001*"):
        shutil.copyfile(path, folder / path.name)
    assert len(load("verilog-eval:code-complete", tmp_path).tasks) == 1
    (folder / name).unlink()
    with pytest.raises(VerievalError, match=f"{name} cannot be read"):
        load("verilog-eval:code-complete", tmp_path)
    with pytest.raises(VerievalError, match="dataset_spec-to-rtl holds no Prob"):
        load("verilog-eval:spec-to-rtl", tmp_path)


def test_a_bom_and_line_ends(tmp_path: Path) -> None:
    folder = rtllm_data(tmp_path)
    (folder / "design_description.txt").write_bytes(b"\xef\xbb\xbfa gate\r\n")
    assert load("rtllm", tmp_path).tasks[0].prompt == "a gate\r\n"


def test_a_reference_without_a_single_root_is_refused(tmp_path: Path) -> None:
    folder = rtllm_data(tmp_path)
    (folder / "verified_gate.v").write_text("module a(output q); endmodule module b(output q); endmodule")
    with pytest.raises(VerievalError, match=r"verified_gate.v must have exactly one root module, found a, b"):
        load("rtllm", tmp_path)


def test_verigen_upstream_layout(data_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(data_dir / "verigen/Benchmark", tmp_path / "prompts-and-testbenches")
    assert load("verigen", tmp_path).sha256 == load("verigen", data_dir).sha256
