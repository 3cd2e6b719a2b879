"""The commands as programs, on a sample of damaged input: exit status 2 and one sentence, at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from damage import put
from material import MATERIAL, OWN

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """Words of the command line (``{}`` is the folder), the material there, and its damage."""

    words: str
    material: str
    file: str
    damage: str | bytes | Callable[[bytes], bytes]


def _middle(line: bytes) -> Callable[[bytes], bytes]:
    """Put a line between the first two."""
    return lambda data: b"\n".join([data.split(b"\n", 1)[0], line, data.split(b"\n", 1)[1]])


def _replaced(old: str, new: str) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        assert old.encode() in data
        return data.replace(old.encode(), new.encode())

    return damage


_DEEP = b"[" * 100_000
_V2 = "dataset_code-complete-iccad2023"
_ASK = "run --model openai:m@http://127.0.0.1:9 --prompt {}/p"
_SCORE = "score {}/c.jsonl --benchmark verieval --out {}/out"
_OUT = "--benchmark verieval --out {}/out --limit 1"
CASES = [
    *(
        Case(f"report {{}}{more}", "run", file, damage)
        for more, file, damage in [
            ("", "manifest.json", "pipe"),
            ("", "manifest.json", "itself"),
            ("", "manifest.json", _DEEP),
            (" --json", "manifest.json", _replaced('"n": 2', '"n": -2')),
            ("", "manifest.json", _replaced('"n": 2', '"n": 2, "n": 1')),
            ("", "completions.jsonl", "pipe"),
            ("", "completions.jsonl", "folder"),
            ("", "completions.jsonl", _middle(b'{"task_id": "al')),
            ("", "completions.jsonl", _replaced('"task_id":"beta"', '"task_id":"\\ud800\\u001b[2J\\n"')),
            (" --differences", "verdicts.jsonl", _middle(_DEEP)),
            ("", "verdicts.jsonl", _replaced('"compile":0.01', '"compile":1' + "0" * 400)),
            ("", "verdicts.jsonl", "endless"),
            ("", "verdicts.jsonl", lambda data: data.replace(b"\n", b"\r")),
        ]
    ),
    Case("compare {} {}", "run", "verdicts.jsonl", _middle(b"\xff\xfe")),
    Case("compare {} {} --json", "run", "manifest.json", "socket"),
    Case("score {} --benchmark verieval --out {}/out", "run", "completions.jsonl", _middle(b"\0")),
    Case("score {} --out {}/out", "run", "manifest.json", b""),
    *(
        Case(_SCORE, "own", "c.jsonl", damage)
        for damage in ("pipe", "endless", "itself", "empty", "nul", "dangling", _middle(b'{"sample": 1e999}'), _DEEP)
    ),
    Case(_SCORE, "own", "c.jsonl", b'[[{"test_path": "", "generation": "module a; endmodule"}]]'),
    Case(_SCORE, "own", "c.jsonl", b"\x1f\x8b\x08\x00cut"),
    Case("score {} --benchmark verieval --out {}/out", "folder", "alpha/alpha_sample0.sv", "pipe"),
    Case("run --model replay:{}/c.jsonl " + _OUT, "own", "c.jsonl", _middle(b'"text"')),
    Case("run --model replay:{}/c.jsonl " + _OUT, "own", "c.jsonl", "pipe"),
    Case(f"{_ASK}.toml {_OUT}", "prompt-toml", "p.toml", b"a = " + _DEEP),
    Case(f"{_ASK}.j2 {_OUT}", "prompt-jinja", "p.j2", b"{{ " + b"(" * 5000),
    Case(f"{_ASK}.j2 {_OUT}", "prompt-jinja", "p.j2", b"{{ 1" + b"0" * 5000),
    Case(f"{_ASK}.j2 {_OUT}", "prompt-jinja", "p.j2", "pipe"),
    *(
        Case(f"bench show {name} --data {{}}", material, file, damage)
        for name, material, file, damage in [
            ("verieval", "suite", "family/adder/task.toml", b"id = 1" + b"0" * 5000),
            ("verieval", "suite", "family/adder/tb.sv", "pipe"),
            ("verilog-eval:spec-to-rtl", "spec-to-rtl", "dataset_spec-to-rtl/Prob001_alpha_test.sv", "pipe"),
            ("verilog-eval:code-complete", "code-complete", f"{_V2}/Prob001_alpha_ifc.txt", b"\xff"),
            ("verilog-eval-v1:human", "v1", "data/VerilogEval_Human.jsonl", _DEEP),
            ("rtllm", "rtllm", "Arithmetic/Adder/adder/in.dat", "itself"),
            ("verigen", "verigen", "Benchmark/basic1/answer_adder.v", b""),
        ]
    ),
]  # fmt: skip


def verieval(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "verieval", *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.words.split()[0]}-{case.file}")
def test_damaged_input_ends_in_one_sentence(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    MATERIAL[case.material].write(folder)
    file = folder / case.file
    if isinstance(case.damage, str):
        put(file, case.damage)
    else:
        file.write_bytes(case.damage if isinstance(case.damage, bytes) else case.damage(file.read_bytes()))
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    done = verieval(*case.words.replace("{}", str(folder)).split(), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("verieval: error: "), done.stderr
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 2000
    assert {path: path.read_bytes() for path in kept} == kept, "what was there is not as it was"
    assert not (folder / "out").exists(), "a run was begun"


def test_a_run_whose_last_line_was_cut_is_reported_and_goes_on(tmp_path: Path, toolchain: object) -> None:
    """The project's own task, replayed, its files cut in the middle of their last lines, replayed again."""
    rows = [json.loads(line) for line in OWN.splitlines()]
    for row in rows:
        row["task_id"] = "adder"
        row["text"] = row["text"].replace("alpha", "adder").replace("beta", "adder")
    MATERIAL["suite"].write(tmp_path / "suite")
    rows = [{**row, "sample": number} for number, row in enumerate(rows)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        "run",
        "--model",
        f"replay:{tmp_path}/c.jsonl",
        "--benchmark",
        "verieval",
        "--data",
        str(tmp_path / "suite"),
    ]
    words += ["--out", str(tmp_path / "run"), "--quiet", "--jobs", "1"]
    first = verieval(*words, folder=tmp_path)
    assert first.returncode == 0, first.stderr
    whole = {name: (tmp_path / "run" / name).read_bytes() for name in ("completions.jsonl", "verdicts.jsonl")}
    for name, data in whole.items():
        (tmp_path / "run" / name).write_bytes(data[: -len(data.splitlines()[-1]) // 2])
    report = verieval("report", str(tmp_path / "run"), "--json", folder=tmp_path)
    assert json.loads(report.stdout)["missing"] == {"adder": 1}
    assert (tmp_path / "run" / "completions.jsonl").stat().st_size < len(whole["completions.jsonl"])
    assert verieval(*words, folder=tmp_path).returncode == 0
    assert (tmp_path / "run" / "completions.jsonl").read_bytes() == whole["completions.jsonl"]
    judged = [json.loads(line)["sample"] for line in (tmp_path / "run" / "verdicts.jsonl").read_bytes().splitlines()]
    assert sorted(judged) == [0, 1, 2, 3]
