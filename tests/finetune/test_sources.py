"""Each layout's rows, as their publishers write them, become the turns that they mean."""

from __future__ import annotations

import json

import pytest

from finetune.data.conversation import (
    BAD_TURNS,
    BROKEN_TAGS,
    NO_COLUMN,
    NO_HEADER,
    NO_PROMPT,
    NO_RESPONSE,
    OTHER_TAGS,
    REASONS,
    Conversation,
    Dropped,
)
from finetune.data.reasoning import answer_of
from finetune.data.sources import LAYOUTS, layout_of, to_conversation
from finetune.recipe import SourceSpec
from verieval.completion import Message
from verieval.errors import VerievalError

CODE = "module m (input a, output y);\n  assign y = a;\nendmodule"
ASKS = "Reason within <think> </think> and answer within <answer> </answer> tags."
R1 = f"<think>\nA wire.\n</think>\n\n<answer>\n```verilog\n{CODE}\n```\n</answer>\n"
FENCED = f"```verilog\n{CODE}\n```"
MG = (
    "<s>[INST] <<SYS>>\n    Do not include module, input and output definitions.\n    <</SYS>>\n\n"
    "    Implement a wire.\nUse one module {where}.\n\n\n    module m (\n\tinput a,\n\toutput y\n);\n    [/INST]\n"
)


def read(layout, value, reasoning="keep", licence=""):
    spec = SourceSpec(path="x", layout=layout, licence=licence)
    return to_conversation(value, "x:1", spec, layout_of(spec), reasoning)


def turns(layout, value, reasoning="keep"):
    found = read(layout, value, reasoning)
    assert isinstance(found, Conversation), found
    return [(message.role, message.content) for message in found.messages]


ROWS = {
    "codev-r1": (
        {"system": ASKS, "prompt": "Write a wire.", "response": R1},
        [("system", ASKS), ("user", "Write a wire."), ("assistant", R1.strip())],
    ),
    "rtlcoder": (
        {"Instruction": "Write a wire.", "Input": "module m;", "Response": ["no", CODE]},
        [("user", "Write a wire."), ("assistant", CODE)],
    ),
    "verithoughts": (
        {"instruction": "Write a wire.", "input": "Name it m.", "output": f"<think>x</think>\n{CODE}"},
        [("user", "Write a wire.\nName it m."), ("assistant", f"<think>x</think>\n{CODE}")],
    ),
    "mg-verilog": (
        {
            "code": "assign y = a;\nendmodule\n",
            "description": {"block_summary": "no", "detailed_global_summary": MG, "high_level_global_summary": "no"},
        },
        [
            ("user", MG.partition("<</SYS>>")[2].removesuffix("[/INST]\n").strip()),
            ("assistant", "module m (\n\tinput a,\n\toutput y\n);\nassign y = a;\nendmodule"),
        ],
    ),
    "pyranet": (
        {"code": CODE, "description": str({"description": 'A "wire", isn\'t it?', "rank": 20, "compile_status": None})},
        [("user", 'A "wire", isn\'t it?'), ("assistant", CODE)],
    ),
    "chat": (
        {"messages": [{"role": "user", "content": "Hi\n"}, {"role": "assistant", "content": " there "}]},
        [("user", "Hi\n"), ("assistant", "there")],
    ),
    "prompt-completion": ({"prompt": "Hi", "completion": "there"}, [("user", "Hi"), ("assistant", "there")]),
}


@pytest.mark.parametrize("layout", ROWS)
def test_a_row_of_each_layout(layout):
    value, expected = ROWS[layout]
    assert turns(layout, value) == expected
    assert turns(layout, json.loads(json.dumps(value))) == expected


def test_every_layout_has_a_row_here():
    assert {name.removesuffix("-block").removesuffix("-high-level") for name in LAYOUTS} == set(ROWS)


def test_columns_that_are_blank_say_nothing():
    assert turns("verithoughts", {"instruction": "Do.", "input": "", "output": "x"})[0] == ("user", "Do.")
    assert turns("verithoughts", {"instruction": "Do.", "output": "x"})[0] == ("user", "Do.")
    assert turns("codev-r1", {"system": " ", "prompt": "p", "response": "r"}) == [("user", "p"), ("assistant", "r")]
    head = {"role": "system", "content": "\n"}
    assert turns("chat", {"messages": [head, *ROWS["chat"][0]["messages"]]}) == ROWS["chat"][1]


def test_pyranets_description_may_be_json_too():
    value = {"code": CODE, "description": json.dumps({"description": "A wire", "compile_status": "No error!"})}
    assert turns("pyranet", value)[0] == ("user", "A wire")


def test_mg_verilogs_other_summaries_are_layouts_of_their_own():
    summaries = {"block_summary": "b\nmodule b;", "detailed_global_summary": "d\nmodule d;"}
    value = {"code": "endmodule", "description": {**summaries, "high_level_global_summary": "h\nmodule h;"}}
    found = {layout: turns(layout, value)[1][1] for layout in LAYOUTS if layout.startswith("mg-verilog")}
    assert found == {
        "mg-verilog": "module d;\nendmodule",
        "mg-verilog-high-level": "module h;\nendmodule",
        "mg-verilog-block": "module b;\nendmodule",
    }


DROPPED = [
    ("codev-r1", {"prompt": "p"}, NO_COLUMN),
    ("codev-r1", {"prompt": None, "response": "r"}, NO_COLUMN),
    ("codev-r1", ["p", "r"], NO_COLUMN),
    ("codev-r1", {"prompt": " \n", "response": "r"}, NO_PROMPT),
    ("codev-r1", {"prompt": "p", "response": " "}, NO_RESPONSE),
    ("codev-r1", {"prompt": "p", "response": "<think>x</think> <answer>\n</answer>"}, NO_RESPONSE),
    ("codev-r1", {"prompt": "p", "response": "<think>x<answer>y</answer>"}, BROKEN_TAGS),
    ("rtlcoder", {"Instruction": "i", "Response": []}, NO_COLUMN),
    ("pyranet", {"code": CODE, "description": "no dictionary"}, NO_COLUMN),
    ("pyranet", {"code": CODE, "description": "{'other': 1}"}, NO_COLUMN),
    ("mg-verilog", {"code": "endmodule", "description": {"detailed_global_summary": "No head."}}, NO_HEADER),
    ("mg-verilog", {"code": "endmodule", "description": {"detailed_global_summary": "a\nmodule m ("}}, NO_HEADER),
    ("chat", {"messages": []}, NO_COLUMN),
    ("chat", {"messages": "hi"}, NO_COLUMN),
    ("chat", {"messages": [{"role": "tool", "content": "x"}]}, BAD_TURNS),
    ("chat", {"messages": [{"role": "user", "content": None}]}, BAD_TURNS),
    ("chat", {"messages": ["x"]}, BAD_TURNS),
    ("chat", {"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": "x"}]}, NO_PROMPT),
    ("chat", {"messages": [*ROWS["chat"][0]["messages"], {"role": "user", "content": "?"}]}, BAD_TURNS),
    ("chat", {"messages": [*ROWS["chat"][0]["messages"], {"role": "system", "content": "?"}]}, BAD_TURNS),
    (
        "chat",
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "</think>"}]},
        BROKEN_TAGS,
    ),
]


@pytest.mark.parametrize(("layout", "value", "reason"), DROPPED)
def test_what_is_no_conversation_is_dropped_with_its_reason(layout, value, reason):
    assert read(layout, value) == Dropped("x:1", reason)
    assert reason in REASONS


# A response, and what it is when its reasoning is kept and when it is stripped; reasons stand for what is dropped.
RESPONSES = [
    ("just code\n", "just code", "just code"),
    ("<think>a</think>b", "<think>a</think>b", "b"),
    (" <think>\na\n</think>\n\nb\n", "<think>\na\n</think>\n\nb", "b"),
    ("<think>a</think>\n<answer>\nb\n</answer>\n", "<think>a</think>\n<answer>\nb\n</answer>", "b"),
    ("<answer>b</answer>", "<answer>b</answer>", "b"),
    ("<think></think>b", "<think></think>b", "b"),
    ("<think>a</think>\n  if (x)\n    y;", "<think>a</think>\n  if (x)\n    y;", "if (x)\n    y;"),
    ("<think>a", BROKEN_TAGS, BROKEN_TAGS),
    ("a</think>b", BROKEN_TAGS, BROKEN_TAGS),
    ("</think>a<think>b", BROKEN_TAGS, BROKEN_TAGS),
    ("before <think>a</think>b", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>a</think>between<answer>b</answer>", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>a</think><answer>b</answer>after", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>a</think><answer>b", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>a</think><think>b</think>c", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>a <answer></think><answer>b</answer>", BROKEN_TAGS, BROKEN_TAGS),
    ("<answer><think>a</think>b</answer>", BROKEN_TAGS, BROKEN_TAGS),
    ("<think>only thought</think>", NO_RESPONSE, NO_RESPONSE),
    ("<thinking>a</thinking>b", "<thinking>a</thinking>b", OTHER_TAGS),
    ("<|channel>thought\na<channel|>b", "<|channel>thought\na<channel|>b", OTHER_TAGS),
]


@pytest.mark.parametrize(("response", "kept", "stripped"), RESPONSES)
def test_what_is_left_of_a_response_is_defined(response, kept, stripped):
    for keep, expected in ((True, kept), (False, stripped)):
        assert answer_of(response, keep=keep) == (("", expected) if expected in REASONS else (expected, ""))


def test_a_system_turn_that_asks_for_tags_goes_with_them():
    value = {"system": ASKS, "prompt": "p", "response": R1}
    assert turns("codev-r1", value, "strip") == [("user", "p"), ("assistant", FENCED)]
    value = {"system": "You write Verilog.", "prompt": "p", "response": R1}
    assert turns("codev-r1", value, "strip")[0] == ("system", "You write Verilog.")


def test_every_answer_of_a_chat_is_stripped():
    say = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>a</think>b"}]
    assert [content for _, content in turns("chat", {"messages": say * 2}, "strip")] == ["q", "b", "q", "b"]


def test_a_chat_without_an_answer_is_left_for_the_renderer_to_refuse():
    assert turns("chat", {"messages": [{"role": "user", "content": "q"}]}) == [("user", "q")]


@pytest.mark.parametrize(
    ("layout", "value", "licence", "expected"),
    [
        ("codev-r1", {}, "", "cc-by-sa-4.0"),
        ("codev-r1", {}, "mine", "mine"),
        ("codev-r1", {"license": "of the row"}, "mine", "of the row"),
        ("codev-r1", {"licence": "of the row", "license": " "}, "", "of the row"),
        ("prompt-completion", {}, "", "not stated"),
    ],
)
def test_the_licence_is_kept(layout, value, licence, expected):
    row = {"prompt": "p", "response": "r", "completion": "c", **value}
    assert read(layout, row, licence=licence).licence == expected


def test_every_published_layout_says_where_from_and_under_which_licence():
    for name, layout in LAYOUTS.items():
        assert bool(layout.publisher) == bool(layout.licence) == (name not in ("chat", "prompt-completion"))


def test_an_unknown_layout_is_named_with_its_source():
    with pytest.raises(
        VerievalError, match=r"no layout 'alpaca' \(of the source x\): choose one of codev-r1, rtlcoder"
    ):
        layout_of(SourceSpec(path="x", layout="alpaca"))


def test_messages_are_those_of_evaluation():
    assert read("prompt-completion", ROWS["prompt-completion"][0]).messages[0] == Message("user", "Hi")
