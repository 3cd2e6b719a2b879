"""A recipe and its files give the same rows every time, and what is left out is counted by its reason."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("transformers")

from finetune.data import dataset as module
from finetune.data.batch import TokenRow
from finetune.data.conversation import (
    ALSO_HELD_OUT,
    BROKEN_TAGS,
    NO_COLUMN,
    NOT_COMPILED,
    OVERLAPS,
    TOO_LONG,
)
from finetune.data.dataset import fingerprint, load_dataset
from finetune.recipe import read_recipe
from tests.small_tokenizers import small_tokenizer
from verieval.errors import VerievalError

GOOD = "module m{0} (input a, output y);\n  assign y = a ^ {0};\nendmodule"


@pytest.fixture(scope="module")
def tokenizer():
    return small_tokenizer("gemma4")


def recipe(*sources, **data):
    optim = {"name": "adamw", "learning_rate": 1e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}
    schedule = {"schedule": "cosine", "warmup_steps": 0, "final_fraction": 0.0, "clip_norm": 1.0}
    lists = {"sources": [{"layout": "prompt-completion", **source} for source in sources]}
    whole = {"reasoning": "strip", "max_tokens": 512, "packing": True, "heldout": 0, "seed": 0, **lists, **data}
    model = {"source": "x", "dtype": "float32", "compute_dtype": "float32", "chat_format": "gemma4"}
    return read_recipe(
        {
            "model": model,
            "data": whole,
            "loss": {"prompt_weight": 0.0, "denominator": "weight_sum"},
            "optim": {**optim, **schedule},
            "train": {"epochs": 1, "sequence_length": 4096, "batch": 1, "seed": 0},
        },
        "a recipe",
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"path": str(path)}


def pairs(count, start=0):
    return [{"prompt": f"Write m{n}.", "completion": GOOD.format(n)} for n in range(start, start + count)]


def names(rows):
    return [row.name for row in rows]


def test_all_rows_in_the_order_of_the_files(tmp_path, tokenizer):
    sources = [write(tmp_path / "a.jsonl", pairs(3)), write(tmp_path / "b.jsonl", pairs(2, 10))]
    seen = []
    found = load_dataset(recipe(*sources), tokenizer, progress=lambda *args: seen.append(args))
    assert names(found.train) == ["a.jsonl:1", "a.jsonl:2", "a.jsonl:3", "b.jsonl:1", "b.jsonl:2"]
    assert found.heldout == ()
    assert found.dropped == {}
    assert seen == [(sources[0]["path"], 3, 3), (sources[1]["path"], 2, 2)]
    assert all(isinstance(row, TokenRow) and row.supervised > 0 for row in found.train)
    text = tokenizer.decode(found.train[3].ids.tolist())
    assert text == f"<bos><|turn>user\nWrite m10.<turn|>\n<|turn>model\n{GOOD.format(10)}<turn|>"


def test_limit_and_held_out_rows_hang_on_the_seed_alone(tmp_path, tokenizer, monkeypatch):
    source = write(tmp_path / "a.jsonl", pairs(60))
    found = [load_dataset(recipe({**source, "limit": 20}, heldout=5, seed=seed), tokenizer) for seed in (0, 0, 1)]
    assert names(found[0].train) == names(found[1].train)
    assert found[0].sha256 == found[1].sha256 != found[2].sha256
    for item in found:
        assert (len(item.train), len(item.heldout)) == (15, 5)
        numbers = [int(name.partition(":")[2]) for name in names(item.train)]
        assert numbers == sorted(numbers)
        assert not set(names(item.train)) & set(names(item.heldout))
    assert set(names(found[0].train)) != set(names(found[2].train))
    # How many rows go through together changes nothing, and no row is looked at without need.
    monkeypatch.setattr(module, "CHUNK", 7)
    again = load_dataset(recipe({**source, "limit": 20}, heldout=5), tokenizer)
    assert again.sha256 == found[0].sha256
    assert again.sources == found[0].sources
    assert again.sources[0]["looked_at"] == 20


def test_a_limit_counts_rows_that_are_kept(tmp_path, tokenizer):
    rows = [{"prompt": "p"} if n % 2 else row for n, row in enumerate(pairs(40))]
    found = load_dataset(recipe({**write(tmp_path / "a.jsonl", rows), "limit": 10}), tokenizer)
    assert len(found.train) == 10
    assert found.dropped == {NO_COLUMN: found.sources[0]["looked_at"] - 10}
    assert 10 < found.sources[0]["looked_at"] < 40


def test_what_is_left_out_is_counted(tmp_path, tokenizer):
    rows = [*pairs(3), {"prompt": "p"}, {"prompt": "p", "completion": "<think>x"}]
    rows += [{"prompt": "long", "completion": "word " * 600}]
    source = write(tmp_path / "a.jsonl", rows)
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("no json\n")
    found = load_dataset(recipe(source), tokenizer)
    assert len(found.train) == 3
    assert found.dropped == {NO_COLUMN: 1, BROKEN_TAGS: 1, TOO_LONG: 1, "not JSON": 1}
    assert found.sources[0]["rows"] == found.sources[0]["looked_at"] == 7
    assert found.sources[0]["kept"] == 3


def test_a_row_is_never_cut(tmp_path, tokenizer):
    source = write(tmp_path / "a.jsonl", pairs(20))
    lengths = sorted({len(row) for row in load_dataset(recipe(source), tokenizer).train})
    limit = lengths[-2]
    found = load_dataset(recipe(source, max_tokens=limit), tokenizer)
    assert max(len(row) for row in found.train) == limit
    assert found.dropped[TOO_LONG] == 20 - len(found.train)


def test_a_row_of_any_length_is_told_at_once(tmp_path, tokenizer, monkeypatch):
    rows = [*pairs(1), {"prompt": "p", "completion": "x y" * 1_000_000}]
    source = write(tmp_path / "a.jsonl", rows)
    lengths = []
    tokenise = type(tokenizer).__call__

    def spy(self, text, *args, **options):
        lengths.extend(map(len, [text] if isinstance(text, str) else text))
        return tokenise(self, text, *args, **options)

    monkeypatch.setattr(type(tokenizer), "__call__", spy)
    found = load_dataset(recipe(source), tokenizer)
    assert found.dropped == {TOO_LONG: 1}
    assert max(lengths) < 1000


def test_copies_of_held_out_rows_are_not_trained_on(tmp_path, tokenizer):
    source = write(tmp_path / "a.jsonl", pairs(10) * 2)
    found = load_dataset(recipe(source, heldout=3), tokenizer)
    kept = {row.ids.tobytes() for row in found.train}
    assert not kept & {row.ids.tobytes() for row in found.heldout}
    held = len({row.ids.tobytes() for row in found.heldout})
    assert len(found.train) == 20 - 2 * held
    assert found.dropped == ({ALSO_HELD_OUT: 2 * held - 3} if 2 * held > 3 else {})


def test_licences_and_files_are_kept(tmp_path, tokenizer):
    rows = [*pairs(2), {**pairs(1, 5)[0], "license": "apache-2.0"}]
    found = load_dataset(recipe({**write(tmp_path / "a.jsonl", rows), "licence": "mine"}), tokenizer)
    told = found.describe()
    assert told["sources"][0]["licences"] == {"apache-2.0": 1, "mine": 2}
    assert told["sources"][0]["files"][0]["name"] == "a.jsonl"
    assert len(told["sources"][0]["files"][0]["sha256"]) == 64
    assert told["renderer"]["format"] == "format:gemma4"
    assert told["train"] == {
        "rows": 3,
        "tokens": sum(map(len, found.train)),
        "supervised": sum(row.supervised for row in found.train),
    }
    assert json.loads(json.dumps(told)) == told


def test_the_fingerprint_sees_ids_roles_and_order():
    def row(ids, roles):
        return TokenRow("r", np.array(ids, np.int32), np.array(roles, np.uint8))

    one, two = row([1, 2], [0, 3]), row([3], [3])
    prints = [
        [one, two],
        [two, one],
        [row([1, 2], [0, 2]), two],
        [row([1, 4], [0, 3]), two],
        [row([1, 2, 3], [0, 3, 3])],
    ]
    assert len({fingerprint(rows) for rows in prints}) == len(prints)
    named = TokenRow("another name", one.ids, one.roles)
    assert fingerprint([named, two]) == fingerprint([one, two])


def test_only_what_compiles_is_kept(tmp_path, tokenizer, toolchain):
    bad = {
        "no code": "I would rather not.",
        "syntax": "module m (input a; endmodule",
        "another module lacks": "module m; other u (); endmodule",
        "a file": 'module m; initial $readmemh("/etc/passwd", x); endmodule',
    }
    fenced = {"prompt": "p", "completion": "Here:\n```verilog\n" + GOOD.format(1) + "\n```\nDone."}
    rows = [*pairs(2), *({"prompt": name, "completion": text} for name, text in bad.items()), fenced]
    found = load_dataset(recipe(write(tmp_path / "a.jsonl", rows), compiles=True), tokenizer)
    assert names(found.train) == ["a.jsonl:1", "a.jsonl:2", "a.jsonl:7"]
    assert found.dropped == {NOT_COMPILED: 4}
    assert found.filters["compiles"]["icarus"] == toolchain.version
    assert found.filters["compiles"]["sandbox"] in ("bubblewrap", "none")


def test_code_that_hangs_the_compiler_is_ended(tmp_path, tokenizer, toolchain, monkeypatch):
    from finetune.data import filters

    monkeypatch.setattr(filters, "COMPILE_CPU", 1.0)
    bomb = (
        "module m; genvar i; generate for (i = 0; i < 100000000; i = i + 1) begin : g wire w; end endgenerate endmodule"
    )
    rows = [*pairs(1), {"prompt": "p", "completion": bomb}]
    found = load_dataset(recipe(write(tmp_path / "a.jsonl", rows), compiles=True), tokenizer)
    assert names(found.train) == ["a.jsonl:1"]
    assert found.dropped == {NOT_COMPILED: 1}


def test_rows_with_a_benchmarks_task_are_dropped(tmp_path, tokenizer):
    from verieval import benchmarks

    task = min((task for task in benchmarks.load("verieval").tasks if task.reference), key=lambda t: len(t.reference))
    answer = task.reference.replace("clk", "clock")  # renaming hides nothing
    rows = [*pairs(2), {"prompt": "p", "completion": answer}]
    found = load_dataset(recipe(write(tmp_path / "a.jsonl", rows), overlap=["verieval"], max_tokens=4096), tokenizer)
    assert names(found.train) == ["a.jsonl:1", "a.jsonl:2"]
    assert found.dropped == {OVERLAPS: 1}
    assert found.filters["overlap"]["benchmarks"][0]["name"] == "verieval"


@pytest.mark.parametrize(
    ("rows", "heldout", "words"),
    [
        ([{"prompt": "p"}], 0, "0 rows are left of the data (dropped: 1 a column is missing): check the layout"),
        ([], 0, "0 rows are left of the data: check"),
        (pairs(3), 3, "3 rows are left of the data, and 3 are to be held out: lower data.heldout"),
        (pairs(1) * 3, 2, "copy of one that is held out"),
    ],
)
def test_nothing_to_train_on_is_said_with_the_reason(tmp_path, tokenizer, rows, heldout, words):
    with pytest.raises(VerievalError) as error:
        load_dataset(recipe(write(tmp_path / "a.jsonl", rows), heldout=heldout), tokenizer)
    assert words in str(error.value)


def test_a_row_with_nothing_supervised_is_an_error_that_names_it(tmp_path, tokenizer):
    turns = [{"role": "user", "content": "q"}]
    source = write(
        tmp_path / "a.jsonl", [{"messages": [*turns, {"role": "assistant", "content": "a"}]}, {"messages": turns}]
    )
    with pytest.raises(VerievalError, match=r"^a\.jsonl:2: there is no turn of the assistant"):
        load_dataset(recipe({**source, "layout": "chat"}), tokenizer)


def test_an_unknown_layout_shows_before_any_file_is_read(tokenizer):
    with pytest.raises(VerievalError, match="no layout 'x'"):
        load_dataset(recipe({"path": "none.jsonl"}, {"path": "none.jsonl", "layout": "x"}), tokenizer)


def test_auto_without_a_template_is_refused(tmp_path, tokenizer):
    from finetune.tokenizer import training_template

    with pytest.raises(VerievalError, match=r"brings no chat template: set model\.chat_format to one of gemma4"):
        training_template(tokenizer, "auto")
    own = small_tokenizer("gemma4", template="x")
    assert training_template(own, "auto") == ("x", "checkpoint")
    own.chat_template = {"default": "y", "tools": "z"}
    assert training_template(own, "auto") == ("y", "checkpoint")


def test_a_tokenizer_that_is_not_there(tmp_path):
    from finetune.recipe import ModelSpec
    from finetune.tokenizer import load_tokenizer

    (tmp_path / "empty").mkdir()
    spec = ModelSpec(source=str(tmp_path / "empty"), dtype="float32", compute_dtype="float32", chat_format="auto")
    with pytest.raises(VerievalError, match="cannot load the tokenizer of") as error:
        load_tokenizer(spec)
    assert "\n" not in str(error.value)


def test_the_tokenizer_comes_from_where_the_recipe_says(tmp_path, tokenizer):
    from finetune.recipe import ModelSpec
    from finetune.tokenizer import load_tokenizer

    tokenizer.save_pretrained(tmp_path / "own")
    spec = ModelSpec(
        config="c.json", tokenizer=str(tmp_path / "own"), dtype="float32", compute_dtype="float32", chat_format="gemma4"
    )
    assert load_tokenizer(spec).get_vocab() == tokenizer.get_vocab()
