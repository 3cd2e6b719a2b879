"""The prompt that made the rows is found, and only where it made them all."""

from __future__ import annotations

import pytest

from finetune.data.prompts import PromptFinder, shipped_prompts
from verieval import benchmarks, protocol
from verieval.completion import Message

OWN = benchmarks.load("verieval")


def seen(*conversations):
    finder = PromptFinder()
    for messages in conversations:
        finder.see(messages)
    return finder.sha256


def asked(name, task):
    return protocol.render(protocol.preset_prompt(name), task, OWN.name)


@pytest.mark.parametrize("name", protocol.PRESETS)
def test_every_preset_is_found(name):
    assert seen(*(asked(name, task) for task in OWN.tasks[:9])) == protocol.preset_prompt(name).sha256


def test_one_row_of_another_kind_is_enough():
    first, second = OWN.tasks[:2]
    assert seen(asked("default", first), asked("h2loop", second)) is None
    assert seen(asked("default", first), [Message("user", "Write an adder.")]) is None
    assert seen() is None
    assert seen([Message("assistant", "module m; endmodule")]) is None


def test_presets_differ_in_their_fixed_text():
    fixed = [(prompt.start, prompt.end) for prompt in shipped_prompts()]
    assert len(set(fixed)) == len({protocol.preset_prompt(name).sha256 for name in protocol.PRESETS})
