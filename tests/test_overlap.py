"""Contamination that is known, in files made from real benchmarks: what must be found, and what must not."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contaminate import CHANGED, DISGUISES
from verieval import benchmarks
from verieval.errors import VerievalError
from verieval.overlap import Hit, OverlapIndex, build_index, units_of
from verieval.overlap_scan import Scanned, scan
from verieval.task import Task
from verieval.training import MAX_TEXT, Bad, Row, parse_line, read_training, strings


@pytest.fixture(scope="module")
def own() -> OverlapIndex:
    """The project's own tasks, which need no data."""
    return build_index([benchmarks.load("verieval")])


@pytest.fixture(scope="module")
def own_tasks() -> tuple[Task, ...]:
    return benchmarks.load("verieval").tasks


@pytest.fixture(scope="module")
def upstream(data_dir: Path) -> OverlapIndex:
    return build_index([benchmarks.load("verilog-eval:spec-to-rtl", data_dir / "verilog-eval")])


def of(hits: Iterable[Hit], what: str) -> dict[str, str]:
    return {hit.task: hit.kind for hit in hits if hit.kind.startswith(what)}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_reference_is_found_under_every_disguise(
    own: OverlapIndex, own_tasks: tuple[Task, ...], disguise: str
) -> None:
    rng = random.Random(5)
    for task in own_tasks:
        hits = own.match({"output": DISGUISES[disguise](task.reference or "", rng)})
        assert of(hits, "reference") == {task.id: "reference exact"}
        assert hits[0].score == 1
        assert "module" in hits[0].found and "module" in hits[0].original  # noqa: PT018


@pytest.mark.parametrize("disguise", CHANGED)
def test_a_changed_operator_leaves_it_near(own: OverlapIndex, own_tasks: tuple[Task, ...], disguise: str) -> None:
    rng = random.Random(6)
    for task in own_tasks:
        changed = CHANGED[disguise](task.reference or "", rng)
        if changed is not None:
            assert of(own.match(changed), "reference") == {task.id: "reference near"}


# Rows as published training sets have them.
LAYOUTS = {
    "chat": lambda ask, code: {"messages": [{"role": "user", "content": ask}, {"role": "assistant", "content": code}]},
    "completion": lambda ask, code: {"prompt": ask, "completion": code},
    "CodeV-R1": lambda ask, code: {
        "system": "You reason first.", "prompt": ask,
        "response": f"<think>\nA module, I'd say: src/*.v\n</think>\n<answer>\n```verilog\n{code}\n```\n</answer>",
    },
    "RTLCoder": lambda ask, code: {"Instruction": ask, "Response": [code]},
    "VeriThoughts": lambda ask, code: {"instruction": ask, "input": "", "output": f"Step 1.\n{code}"},
    "MG-Verilog": lambda ask, code: {"code": code, "description": {"block_summary": "x", "high_level": ask}},
    "PyraNet": lambda ask, code: {"code": code, "description": str({"rank": 2, "description": ask, "error": None})},
    "JSON in JSON": lambda ask, code: {"row": json.dumps({"ask": ask, "code": code})},
    "one line": lambda ask, code: {"prompt": ask, "response": code.replace("\n", "\\n")},
    "a bare string": lambda ask, code: f"{ask}\n\n{code}",
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_rows(own: OverlapIndex, own_tasks: tuple[Task, ...], layout: str) -> None:
    for task in own_tasks[::4]:
        row = LAYOUTS[layout](task.prompt, task.reference or "")
        before = copy.deepcopy(row)
        hits = own.match(row)
        assert row == before
        assert of(hits, "reference") == {task.id: "reference exact"}
        assert of(hits, "spec") == {task.id: "spec exact"}


def test_header_in_the_prompt_and_body_in_the_answer(own: OverlapIndex, own_tasks: tuple[Task, ...]) -> None:
    for task in own_tasks:
        header, end, body = (task.reference or "").partition(");")
        if "module" in header and header.count("module") == 1 and "(" in header:
            hits = own.match({"prompt": f"Complete this:\n{header}{end}\n", "completion": body})
            assert of(hits, "reference") == {task.id: "reference exact"}


def test_a_module_among_others_and_without_its_end(own: OverlapIndex, own_tasks: tuple[Task, ...]) -> None:
    task = next(task for task in own_tasks if (task.reference or "").count("endmodule") == 1)
    code = task.reference or ""
    bench = f"module tb; reg a; {task.module} dut(a); initial $finish; endmodule"
    around = f"{bench}\n{code}\nmodule other(input a); endmodule"
    assert of(own.match(around), "reference") == {task.id: "reference exact"}
    assert of(own.match(code.replace("endmodule", "")), "reference") == {task.id: "reference near"}


def test_helpers_in_another_order_and_place() -> None:
    inverter = "module inv(input x, output y); assign y = !x; endmodule"
    parts = ["module top(input a, output b); inv u(a, b); endmodule", inverter]
    for order in (parts, parts[::-1], [parts[0], "module noise; endmodule", parts[1]]):
        top = next(unit for unit in units_of(["\nand\n".join(order)]) if unit.name == "top")
        assert {token.text for token in top.tokens} >= {"top", "inv", "a", "x"}
        assert "noise" not in {token.text for token in top.tokens}


def test_many_modules_in_a_chain_take_linear_time() -> None:
    text = "".join(f"module m{i}(input a); m{i + 1} u(a); endmodule\n" for i in range(8000))
    assert sum(1 for _ in units_of([text])) == 8000


def test_specs(own: OverlapIndex, own_tasks: tuple[Task, ...]) -> None:
    for task in own_tasks:
        words = task.prompt.split()
        assert of(own.match("  ".join(words).upper()), "spec") == {task.id: "spec exact"}
        assert of(own.match(" ".join(words[: int(0.7 * len(words))])), "spec") == {task.id: "spec near"}
        rng = random.Random(7)
        assert of(own.match(" ".join(rng.sample(words, len(words)))), "spec") == {}


def test_the_same_problems_in_verilogeval_1(upstream: OverlapIndex, data_dir: Path) -> None:
    """v2 was made from v1's human problems: all references but three are there, and those three were changed."""
    for variant, exact, lost in (("human", 148, ["gatesv", "gatesv100", "m2014_q6c"]), ("machine", 136, None)):
        missed, kinds = [], []
        for task in benchmarks.load(f"verilog-eval-v1:{variant}", data_dir / "verilog-eval-v1").tasks:
            found = of(upstream.match({"completion": task.reference}), "reference")
            mine = [kind for name, kind in found.items() if name.split("_", 1)[1] == task.id]
            missed += [] if mine else [task.id]
            kinds += mine
        assert sorted(missed) == (lost or ["gatesv", "gatesv100", "m2014_q6c"])
        assert kinds.count("reference exact") == exact


def test_other_benchmarks_are_not_flagged(upstream: OverlapIndex, data_dir: Path) -> None:
    """But for circuits that are the same: a wire, and the multiplexer from which RTLLM builds its barrel shifter."""
    found = {}
    for name, folder in (("rtllm", "rtllm"), ("verigen", "verigen"), ("verieval", None)):
        for task in benchmarks.load(name, data_dir / folder if folder else None).tasks:
            for hit in upstream.match({"prompt": task.prompt, "completion": task.reference}):
                found[task.id, hit.task] = hit.kind
    assert found == {
        ("barrel_shifter", "Prob022_mux2to1"): "reference exact",
        ("basic1", "Prob007_wire"): "reference exact",
        ("basic1", "Prob008_m2014_q4h"): "reference exact",
        # An and gate of three inputs, and one of two.
        ("basic2", "Prob014_andgate"): "reference near",
        ("basic2", "Prob090_circuit1"): "reference near",
    }


def test_the_other_variant(upstream: OverlapIndex, data_dir: Path) -> None:
    """Its references are the same but for the three that spec-to-rtl changed."""
    tasks = benchmarks.load("verilog-eval:code-complete", data_dir / "verilog-eval").tasks
    missed = [task.id for task in tasks if task.id not in of(upstream.match(task.reference or ""), "reference")]
    assert missed == ["Prob092_gatesv100", "Prob094_gatesv", "Prob099_m2014_q6c"]


def test_threads_and_pickle_agree(own: OverlapIndex, own_tasks: tuple[Task, ...]) -> None:
    rows = [task.reference for task in own_tasks]
    expected = [own.match(row) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(own.match, rows)) == expected
    assert [pickle.loads(pickle.dumps(own)).match(row) for row in rows[:3]] == expected[:3]


# ---- files


def write(path: Path, lines: list[object]) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


def flat(found: Iterable[tuple[list[Scanned], int]]) -> list[Scanned]:
    return [row for rows, _ in found for row in rows]


@pytest.mark.parametrize(("jobs", "packed"), [(1, True), (2, False)])
def test_scan(own: OverlapIndex, own_tasks: tuple[Task, ...], tmp_path: Path, jobs: int, packed: bool) -> None:
    rng = random.Random(8)
    lines: list[object] = []
    expected = {}
    for number in range(1, 450):
        if number % 50 == 1:
            lines.append(b"{broken\n")
        elif number % 9 == 0:
            task = rng.choice(own_tasks)
            expected[number] = task.id
            lines.append({"text": DISGUISES["all of these"](task.reference or "", rng)})
        else:
            lines.append({"text": f"module m{number}(input a, output b); assign b = a ^ {number}; endmodule"})
    path = write(tmp_path / "train.json", lines)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    rows = flat(scan(path, own, jobs=jobs))
    assert [row.number for row in rows] == list(range(1, 450))
    assert {row.number: row.hits[0].task for row in rows if row.hits} == expected
    assert [row.number for row in rows if row.bad] == list(range(1, 450, 50))


def test_reasons_for_bad_rows(tmp_path: Path) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    lines = [b"\xef\xbb\xbf" + b'{"a": "x"}\n', b"\n", b"\xff\xfe\n", b"nope\n", b"17\n", b'{"a": 1}\n']
    lines += [deep + b"\n", b'"x"']
    found = list(read_training(write(tmp_path / "a.jsonl", list(lines))))
    assert [(row.number, row.reason if isinstance(row, Bad) else row.value) for row in found] == [
        (1, {"a": "x"}), (3, "not UTF-8"), (4, "not JSON"), (5, "neither an object nor a list nor a string"),
        (6, "no text in it"), (7, "nested too deeply"), (8, "x"),
    ]  # fmt: skip


def test_long_lines_and_texts_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = parse_line(1, json.dumps({"a": "x" * (MAX_TEXT + 1)}).encode())
    assert isinstance(long, Row)
    assert "looked at up to there" in long.note
    assert [len(text) for text in strings(long.value)] == [MAX_TEXT]
    monkeypatch.setattr("verieval.training.MAX_LINE", 50)
    path = write(tmp_path / "a.jsonl", [{"a": "x"}, {"a": "y" * 200}, {"a": "z"}])
    assert [getattr(row, "reason", "") for row in read_training(path)] == ["", "longer than 0 MiB", ""]


@pytest.mark.parametrize("packed", [False, True])
def test_a_long_first_line_is_a_bad_row_or_a_list_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr("verieval.training.MAX_LINE", 1 << 20)
    path = write(tmp_path / "a.jsonl", [{"a": "y" * (2 << 20)}, {"a": "x"}])
    lists = write(tmp_path / "b.jsonl", [[{"a": "y" * (2 << 20)}, {"a": "x"}]])
    for file in (path, lists):
        if packed:
            file.write_bytes(gzip.compress(file.read_bytes()))
    assert list(read_training(path)) == [Bad(1, "longer than 1 MiB"), Row(2, {"a": "x"})]
    with pytest.raises(VerievalError, match="begins with a JSON list of more than 1 MiB in one line"):
        list(read_training(lists))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[\n{"a": "b"},\n{"a": "c"}\n]\n', "one long JSON text"),
        (b'[{"a": "b"}, {"a": "c"}]', "one long JSON text"),
        (gzip.compress(b'{"a": "b"}\n' * 5000, mtime=0)[:-20], "no whole gzip file"),
        (b"\x1f\x8bnonsense", "no whole gzip file"),
        (None, "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "train.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VerievalError, match=words):
        list(read_training(path))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": ["x", {"b": "y"}], "c": 3, "d": None}, ["x", "y"]),
        ("{'d': 'one\\ntwo', 'n': [1, 'z']}", ["one\ntwo", "z"]),
        ("{not a dict}", ["{not a dict}"]),
        ("[0] and not [1]", ["[0] and not [1]"]),
        ("{'a': '{\"b\": \"c\"}'}", ['{"b": "c"}']),
        ("(" * 5000, ["(" * 5000]),
        ("[" * 5000 + "]" * 5000, ["[" * 5000 + "]" * 5000]),
    ],
)
def test_strings(value: object, expected: list[str]) -> None:
    assert list(strings(value)) == expected
