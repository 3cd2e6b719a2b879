"""Rows come out of every kind of file the same, by any index, with names that lead back to them."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json

import pytest

from finetune.data.reading import open_rows
from finetune.recipe import SourceSpec
from verieval.errors import VerievalError
from verieval.training import Bad

ROWS = [{"prompt": f"p{n} \u00e9\n,\"'", "completion": "c" * n} for n in range(1, 4)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def spec(path, **options):
    return SourceSpec(path=str(path), layout="prompt-completion", **options)


def table(rows):
    from datasets import Dataset

    return Dataset.from_list(rows)


def write_csv(path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0])
        writer.writeheader()
        writer.writerows(ROWS)


WRITERS = {
    "rows.jsonl": lambda path: path.write_text(LINES),
    "rows.json": lambda path: path.write_text(LINES),  # lines under a .json name, as RTLCoder's are
    "array.json": lambda path: path.write_text(json.dumps(ROWS, indent=1)),
    "rows.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "rows.txt": lambda path: path.write_text("\ufeff" + LINES.replace("\n", "\n\n")),
    "rows.parquet": lambda path: table(ROWS).to_parquet(str(path)),
    "rows.csv": write_csv,
    "saved": lambda path: table(ROWS).save_to_disk(str(path)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file(tmp_path, name):
    if name in ("rows.parquet", "rows.csv", "saved"):
        pytest.importorskip("datasets")
    path = tmp_path / name
    WRITERS[name](path)
    rows = open_rows(spec(path))
    assert len(rows) == 3
    numbers = [1, 3, 5] if name == "rows.txt" else [1, 2, 3]
    assert [rows.row(index) for index in (2, 0, 1)] == [
        (f"{name}:{numbers[index]}", ROWS[index]) for index in (2, 0, 1)
    ]
    with pytest.raises(IndexError):
        rows.row(3)
    if path.is_file():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert rows.about == {"files": [{"name": name, "bytes": path.stat().st_size, "sha256": digest}]}
    else:
        assert {file["name"] for file in rows.about["files"]} >= {"state.json", "dataset_info.json"}


def test_a_folder_is_its_files_by_name(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.jsonl").write_text(LINES)
    (tmp_path / "1.json").write_text(json.dumps(ROWS[:1]))
    (tmp_path / "README.md").write_text("no rows")
    (tmp_path / ".hidden.jsonl").write_text(LINES)
    rows = open_rows(spec(tmp_path))
    assert [rows.row(index)[0] for index in range(len(rows))] == ["1.json:1", *(f"b/2.jsonl:{n}" for n in (1, 2, 3))]
    assert [file["name"] for file in rows.about["files"]] == ["1.json", "b/2.jsonl"]


def test_lines_that_are_no_rows_say_why(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": "b"}\nno json\n\xff\xfe\n' + LINES.encode())
    rows = open_rows(spec(path))
    assert [rows.row(index)[1] for index in (1, 2)] == [Bad(2, "not JSON"), Bad(3, "not UTF-8")]


def test_splits_of_a_saved_dictionary(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.DatasetDict({"train": table(ROWS), "test": table(ROWS[:1])}).save_to_disk(str(tmp_path / "saved"))
    assert len(open_rows(spec(tmp_path / "saved"))) == 3
    assert len(open_rows(spec(tmp_path / "saved", split="test"))) == 1
    with pytest.raises(VerievalError, match=r"cannot read the data set .*KeyError"):
        open_rows(spec(tmp_path / "saved", split="none"))


def test_a_hub_id_is_asked_for_with_its_parts(monkeypatch):
    datasets = pytest.importorskip("datasets")
    asked = []

    def load_dataset(*args, **options):
        asked.append((args, options))
        return table(ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    rows = open_rows(spec("zhuyaoyu/CodeV-R1-dataset:sft", revision="abc", split="test"))
    assert asked == [(("zhuyaoyu/CodeV-R1-dataset", "sft"), {"split": "test", "revision": "abc"})]
    assert rows.row(1) == ("zhuyaoyu/CodeV-R1-dataset:sft:2", ROWS[1])
    assert rows.about["hub"] == "zhuyaoyu/CodeV-R1-dataset:sft"
    assert rows.about["revision"] == "abc"


@pytest.mark.parametrize("path", ["data/rows.jsonl", "nothing", "a/b/c", "rows.parquet", "x/y.csv"])
def test_a_missing_file_is_not_looked_for_on_a_hub(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VerievalError, match="there is no data set"):
        open_rows(spec(path))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", b"[{]", "begins like one JSON array and is none"),
        ("x.json", b'{\n "rows": []}', "one long JSON text"),
        ("x.jsonl.gz", gzip.compress(b"{}", mtime=0)[:-4], "no whole gzip file"),
        ("x.parquet", b"no parquet", "cannot read the data set"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path, name, content, words):
    if name == "x.parquet":
        pytest.importorskip("datasets")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(VerievalError, match=words) as error:
        open_rows(spec(tmp_path / name))
    assert "\n" not in str(error.value)


def test_an_empty_folder(tmp_path):
    with pytest.raises(VerievalError, match=r"holds no \.jsonl"):
        open_rows(spec(tmp_path))
