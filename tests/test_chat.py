from __future__ import annotations

import pytest

from verieval.chat import CHAT_FORMATS, chat_template, render_chat
from verieval.completion import Message
from verieval.errors import VerievalError

ASK = Message("user", "Write q <= d;\n  // {{8{a}}}")
TALK = (Message("system", "Be brief."), ASK, Message("assistant", "assign q = d;"), Message("user", "again"))

# Written out by hand from the formats' descriptions.
EXPECTED = {
    "gemma4": (
        (
            "<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\nWrite q <= d;\n  // {{8{a}}}<turn|>\n"
            "<|turn>model\nassign q = d;<turn|>\n<|turn>user\nagain<turn|>\n"
        ),
        "<|turn>model\n",
    ),
    "chatml": (
        (
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWrite q <= d;\n  // {{8{a}}}<|im_end|>\n"
            "<|im_start|>assistant\nassign q = d;<|im_end|>\n<|im_start|>user\nagain<|im_end|>\n"
        ),
        "<|im_start|>assistant\n",
    ),
    "llama3": (
        (
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nWrite q <= d;\n  // {{8{a}}}<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nassign q = d;<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nagain<|eot_id|>"
        ),
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
}


@pytest.mark.parametrize("name", CHAT_FORMATS)
def test_formats_are_what_their_families_read(name: str) -> None:
    turns, opening = EXPECTED[name]
    template = chat_template(name)
    assert render_chat(TALK, template, add_generation_prompt=False) == turns
    assert render_chat(TALK, template, add_generation_prompt=True) == turns + opening


def test_gemma4_agrees_with_a_template_written_apart() -> None:
    from tests.tiny_gemma4 import CHAT_TEMPLATE

    tokens = {"bos_token": "<bos>"}
    for messages in (TALK, TALK[1:2], (Message("user", "  \n spaces \t\n"), Message("assistant", " x ")), ()):
        for opening in (True, False):
            expected = render_chat(messages, CHAT_TEMPLATE, add_generation_prompt=opening, tokens=tokens)
            assert render_chat(messages, chat_template("gemma4"), add_generation_prompt=opening) == expected


def test_a_tokenizers_own_first_token_is_used() -> None:
    text = render_chat([ASK], chat_template("gemma4"), add_generation_prompt=False, tokens={"bos_token": "<s>"})
    assert text.startswith("<s><|turn>user\n")


TEMPLATES = [
    "{% for m in messages %}{{ m['role'] + ': ' + m.content | trim }}{{ eos_token }}\n{% endfor %}",
    """{% for m in messages %}
    {% if m.role == 'assistant' %}
{% generation %}{{ m.content }}!{% endgeneration %}
    {% else %}
[{{ m.content }}]
{% continue %}
    {% endif %}
{% endfor %}""",
    "{{ messages | tojson }}{% if tools is not none %}tools{% endif %}{% if add_generation_prompt %}>{% endif %}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}{{ no_name }}",
]


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("opening", [True, False])
def test_templates_render_as_transformers_renders_them(template: str, opening: bool) -> None:
    pytest.importorskip("transformers")
    from transformers.utils.chat_template_utils import render_jinja_template

    turns = [{"role": turn.role, "content": turn.content + " <&> \u00b5"} for turn in TALK]
    (expected,), _ = render_jinja_template(
        [turns], chat_template=template, add_generation_prompt=opening, eos_token="</s>"
    )
    messages = [Message(turn.role, turn.content + " <&> \u00b5") for turn in TALK]
    assert render_chat(messages, template, add_generation_prompt=opening, tokens={"eos_token": "</s>"}) == expected


def test_a_template_cannot_put_the_day_into_a_prompt() -> None:
    template = "{{ strftime_now('%Y-%m-%d') }}"
    assert render_chat([ASK], template, add_generation_prompt=False) == "2025-01-01"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("a\n{% for %}", "syntax error in line 2"),
        ("{{ raise_exception('no system turn, please') }}", "no system turn, please"),
        ("{{ messages[0].nothing.at_all }}", "cannot render this conversation"),
        ("{{ ''.__class__.__mro__ }}", "cannot render this conversation"),
        ("{{ 1 // 0 }}", "cannot render this conversation"),
    ],
)
def test_a_template_that_fails_is_one_sentence(template: str, words: str) -> None:
    with pytest.raises(VerievalError, match=words):
        render_chat([ASK], template, add_generation_prompt=False)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(VerievalError, match="no chat format 'gemma3': choose one of gemma4, chatml, llama3"):
        chat_template("gemma3")
