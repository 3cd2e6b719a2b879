from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from verieval.completion import Message, Sampling
from verieval.errors import VerievalError
from verieval.protocol import (
    PRESETS,
    build_requests,
    load_prompt,
    override,
    preset,
    preset_prompt,
    raw_prompt,
    render,
    request_seed,
)
from verieval.task import Benchmark, Port, Task, Testbench

BENCH = Testbench((), None)
HEADER = "module TopModule (\n  input [7:0] a,\n  output q\n);\n"
PORTS = (Port("a", "input", 8), Port("s", "input", 4, signed=True), Port("q", "output", 1))
SPEC = Task("spec", "\nBuild q.\n", "TopModule", BENCH, ports=PORTS, reference="module TopModule; SECRET endmodule")
PUBLISHED = Task("published", f"\nBuild q.\n\n{HEADER}\n", "TopModule", BENCH, header=f"{HEADER}\n\n", ports=PORTS)
APART = Task("apart", "Build q.", "TopModule", BENCH, header=HEADER)
SUITE = Benchmark("suite", "v", (SPEC, PUBLISHED, APART), "verieval")


def write(folder: Path, text: str, name: str = "prompt.j2") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


# ---- presets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n", "temperature", "top_p"),
    [
        ("default", 1, 0.0, 1.0),
        ("verilog-eval-low", 1, 0.0, 0.01),
        ("verilog-eval-high", 20, 0.85, 0.95),
        ("h2loop", 5, 0.8, 0.95),
        ("turtle", 5, 0.2, 0.95),
    ],
)
def test_presets_carry_the_published_figures(name: str, n: int, temperature: float, top_p: float) -> None:
    sampling = preset(name).sampling
    assert (sampling.n, sampling.temperature, sampling.top_p, sampling.top_k) == (n, temperature, top_p, 0)


def test_the_h2loop_limit_is_published_and_the_other_limits_are_marked_as_assumed() -> None:
    assert preset("h2loop").sampling.max_tokens == 1024
    assert {name for name in PRESETS if "max_tokens" in preset(name).assumed} == {
        "verilog-eval-low",
        "verilog-eval-high",
        "turtle",
    }


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(VerievalError, match="no protocol 'vev2': choose one of default, "):
        preset("vev2")


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", SUITE.tasks, ids=lambda task: task.id)
def test_every_preset_asks_the_whole_question_once_and_gives_nothing_away(name: str, task: Task) -> None:
    messages = render(preset_prompt(name), task, "suite")
    text = "\n".join(message.content for message in messages)
    assert text.count("Build q.") == 1
    assert text.count("input [7:0] a") == (task.header is not None)
    assert "TopModule" in text
    assert "SECRET" not in text
    assert "\n\n\n" not in text
    assert messages[-1].role == "user"
    assert all(message.content == message.content.strip() for message in messages)


def test_the_default_prompt_lists_ports_where_no_header_does() -> None:
    (message,) = render(preset_prompt("default"), SPEC)
    assert "- input a (8 bits)\n- input signed s (4 bits)\n- output q\n" in message.content
    assert "- input" not in render(preset_prompt("default"), APART)[0].content


# ---- figures ------------------------------------------------------------------------------------------------------


def test_options_replace_figures_and_none_does_not() -> None:
    changed = override(preset("turtle").sampling, n=2, temperature=None, top_p=0.5, max_tokens=10, seed=3)
    assert changed == Sampling(n=2, temperature=0.2, top_p=0.5, max_tokens=10, seed=3)


@pytest.mark.parametrize(
    "option",
    [
        {"n": 0},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0.0},
        {"top_p": 1.01},
        {"top_k": -1},
        {"max_tokens": 0},
        {"seed": -1},
        {"seed": 2**63},
    ],
)
def test_a_figure_out_of_range_is_named(option: dict[str, float]) -> None:
    (name,) = option
    with pytest.raises(VerievalError, match=f"^{name.replace('_', '-')} must be "):
        override(Sampling(), **option)


# ---- seeds and requests -------------------------------------------------------------------------------------------


def test_seeds_are_fixed_by_their_definition() -> None:
    digest = hashlib.sha256(b"7\x00spec\x003").digest()
    assert request_seed(7, "spec", 3) == int.from_bytes(digest[:8], "big") // 2
    seeds = {request_seed(s, t, n) for s in range(5) for t in ("a", "b", "a1") for n in range(20)}
    assert len(seeds) == 300
    assert max(seeds) < 2**63


def test_requests_go_task_by_task_and_do_not_move_when_the_run_grows() -> None:
    prompt = preset_prompt("default")
    requests = build_requests(SUITE, prompt, Sampling(n=2, seed=5))
    assert [(r.task_id, r.sample) for r in requests] == [(t.id, n) for t in SUITE.tasks for n in range(2)]
    assert requests[0].messages == render(prompt, SPEC, "suite:v")
    assert requests[0].raw is None
    more = build_requests(SUITE, prompt, Sampling(n=3, seed=5), tasks=[APART, SPEC])
    assert [(r.task_id, r.sample) for r in more[:3]] == [("apart", 0), ("apart", 1), ("apart", 2)]
    assert set(more) & set(requests) == {r for r in requests if r.task_id != "published"}


def test_raw_requests_continue_the_header() -> None:
    requests = build_requests(SUITE, preset_prompt("turtle"), Sampling(), raw=True)
    assert [r.raw for r in requests] == ["Build q.\n", f"Build q.\n\n{HEADER}", f"Build q.\n\n{HEADER}"]


# ---- prompt files -------------------------------------------------------------------------------------------------


def test_a_jinja_file_is_the_users_message_to_the_letter(tmp_path: Path) -> None:
    path = write(tmp_path, "  {{ task.id }}|{{ task.benchmark }}|{{ task.module }}|{{ task.header }}\n\n")
    template = load_prompt(path)
    assert render(template, SPEC, "suite:v") == (Message("user", "  spec|suite:v|TopModule|None\n"),)
    assert template.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert template.name == str(path)


def test_a_toml_file_has_a_system_turn_a_raw_form_and_examples_as_text(tmp_path: Path) -> None:
    text = (
        'system = "S {{ task.module }}"\n'
        'user = "{% for e in examples %}{{ e.question }} -> {{ e.code }};{% endfor %}{{ task.prompt | trim }}"\n'
        'raw = "R{{ examples | length }}"\n'
        '[[examples]]\nquestion = "q1"\ncode = "{{4{x}}}"\n'
        '[[examples]]\nquestion = "q2"\ncode = "c2"\n'
    )
    template = load_prompt(write(tmp_path, text, "p.toml"))
    assert render(template, SPEC) == (
        Message("system", "S TopModule"),
        Message("user", "q1 -> {{4{x}}};q2 -> c2;Build q."),
    )
    assert raw_prompt(template, SPEC) == "R2"


def test_examples_as_turns_stand_before_the_question(tmp_path: Path) -> None:
    text = 'user = "{{ task.id }}"\nexamples_as = "turns"\n[[examples]]\nuser = "{{ left alone }}"\nassistant = "A"\n'
    assert render(load_prompt(write(tmp_path, text, "p.toml")), SPEC) == (
        Message("user", "{{ left alone }}"),
        Message("assistant", "A"),
        Message("user", "spec"),
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("p.j2", "a\n\n{{ task.prompt }", r"p\.j2, line 3: .*raw"),
        ("p.j2", "a\nassign y = {{8{task.id}}};\n", r"p\.j2, line 2: .*\{% raw %\}"),
        ("p.j2", " \n", "needs 'user' as a text"),
        ("p.toml", "user = 'x'\nsistem = 'y'\n", "unknown key 'sistem'"),
        ("p.toml", "system = 'x'\n", "needs 'user' as a text"),
        ("p.toml", "user = 'x'\nsystem = 3\n", "needs 'system' as a text"),
        ("p.toml", "a = 1\nuser = \n", r"not valid TOML: .*line 2"),
        ("p.toml", "user = '''\n\n{% if %}'''\n", r"p\.toml, key 'user', line 2"),
        ("p.toml", "user = 'x'\n[[examples]]\na = 'b'\n", "examples that no template uses"),
        ("p.toml", "user = '{{ examples }}'\n[[examples]]\na = 3\n", r"tables of texts \(number 1 is not\)"),
        ("p.toml", "user = '{{ examples }}'\nexamples = 3\n", "tables of texts"),
        (
            "p.toml",
            "user = 'x'\nexamples_as = 'turns'\n[[examples]]\nuser = 'b'\n",
            "'user' and 'assistant' in example 1",
        ),
        ("p.toml", "user = 'x'\nexamples_as = 'rows'\n", "'text' or 'turns' for examples_as"),
    ],
)
def test_a_faulty_file_is_one_sentence_with_its_place(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(VerievalError, match=words) as caught:
        load_prompt(write(tmp_path, text, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n\n{{ task.reference }}", r"p\.j2, line 3: .*no attribute 'reference'"),
        ("a\n{{ shots }}", r"p\.j2, line 2: 'shots' is undefined"),
        ("{{ 1 // 0 }}", r"p\.j2, line 1: "),
        ("{{ ''.__class__.__mro__ }}", r"p\.j2, line 1: "),
    ],
)
def test_a_template_that_fails_says_where(tmp_path: Path, text: str, words: str) -> None:
    template = load_prompt(write(tmp_path, text, "p.j2"))
    with pytest.raises(VerievalError, match=words):
        render(template, SPEC)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(VerievalError, match=r"the prompt file .* cannot be read \(No such file"):
        load_prompt(tmp_path / "gone.j2")
    with pytest.raises(VerievalError, match=r"the prompt file .* cannot be read \(it is a folder"):
        load_prompt(tmp_path)
    path = tmp_path / "latin.j2"
    path.write_bytes(b"ab\xff")
    with pytest.raises(VerievalError, match=r"not UTF-8 text \(byte 2\)"):
        load_prompt(path)


def test_windows_line_ends_and_a_byte_order_mark_do_not_reach_the_prompt(tmp_path: Path) -> None:
    path = tmp_path / "p.j2"
    path.write_bytes(b"\xef\xbb\xbfone\r\n{{ task.id }}\r\n")
    assert render(load_prompt(path), SPEC) == (Message("user", "one\nspec"),)
