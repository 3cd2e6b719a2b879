"""What is shown are the weights of the loss, run by run, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import json

import pytest

pytest.importorskip("transformers")

from finetune.data.conversation import Conversation
from finetune.data.show import show_tokens, token_runs, tokens_json
from finetune.data.tokens import Renderer
from finetune.recipe import LossSpec
from tests.small_tokenizers import small_tokenizer
from verieval.chat import chat_template
from verieval.completion import Message

MASKED = LossSpec(prompt_weight=0.0, denominator="weight_sum")
PART = LossSpec(prompt_weight=0.1, denominator="weight_sum")
TALK = (Message("system", "s"), Message("user", "caf\u00e9"), Message("assistant", "a\n\x1b[31mb \u4e2d"))


@pytest.fixture(scope="module")
def tokenizer():
    return small_tokenizer("chatml")


@pytest.fixture(scope="module")
def rows(tokenizer):
    over = Renderer(tokenizer, chat_template("chatml"), "format:chatml")
    return over.rows([Conversation(f"r:{n}", TALK, "") for n in range(3)])


def test_runs_are_the_row_with_the_weights_of_the_loss(tokenizer, rows):
    runs = token_runs(rows[0], tokenizer, PART)
    assert [(run.role, run.weight, run.text) for run in runs] == [
        ("template", 0.0, "<|im_start|>"),  # the first token is predicted from nothing
        ("template", 0.1, "system\n"),
        ("system", 0.1, "s"),
        ("template", 0.1, "<|im_end|>\n<|im_start|>user\n"),
        ("user", 0.1, "caf\u00e9"),
        ("template", 0.1, "<|im_end|>\n<|im_start|>assistant\n"),
        ("assistant", 1.0, "a\n\x1b[31mb \u4e2d<|im_end|>"),
    ]
    assert [token for run in runs for token in run.ids] == rows[0].ids.tolist()


def test_the_weights_are_those_that_the_loss_uses(tokenizer, rows):
    from finetune.data.batch import collate
    from finetune.loss import weights

    batch = collate([[rows[0]]], len(rows[0]))
    shown = [run.weight for run in token_runs(rows[0], tokenizer, PART) for _ in run.ids]
    # The weight of a token is its weight as the target of the position before.
    assert weights(batch, PART)[0, :-1].tolist() == shown[1:]


def test_without_a_terminal_weights_are_numbers(tokenizer, rows):
    stream = io.StringIO()
    show_tokens(rows, tokenizer, MASKED, 2, stream=stream)
    shown = stream.getvalue()
    assert shown.count("tokens, ") == 2
    assert shown.startswith(f"r:0: {len(rows[0])} tokens, {rows[0].supervised} supervised\n[0]<|im_start|>system\n[0]s")
    assert "[0]<|im_end|>\n<|im_start|>assistant\n[1]a\n\\x1b[31mb \u4e2d<|im_end|>\n" in shown
    assert "\x1b" not in shown


def test_on_a_terminal_weights_are_colours(tokenizer, rows, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    show_tokens(rows, tokenizer, MASKED, 1, stream=stream)
    shown = stream.getvalue()
    assert "\x1b[1;38;2;0;180;0ma" in shown  # bold green: weight 1
    assert "\x1b[90m" in shown  # grey: weight 0
    assert "\\x1b[31mb" in shown  # the row's own escape is text
    assert "template 0" in shown
    assert "assistant 1" in shown


def test_the_same_as_data(tokenizer, rows):
    told = tokens_json(rows, tokenizer, MASKED, 1)
    assert json.loads(json.dumps(told)) == told
    (row,) = told
    assert (row["name"], row["tokens"], row["supervised"]) == ("r:0", len(rows[0]), rows[0].supervised)
    assert sum(len(run["ids"]) for run in row["runs"] if run["weight"] == 1.0) == row["supervised"]


def test_fewer_rows_than_asked_for(tokenizer, rows):
    stream = io.StringIO()
    show_tokens(rows[:1], tokenizer, MASKED, 5, stream=stream)
    assert stream.getvalue().count("tokens, ") == 1
    show_tokens([], tokenizer, MASKED, 5, stream=stream)
