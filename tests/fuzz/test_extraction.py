"""Extraction of anything: it takes time in proportion, raises nothing, and gives what the text holds."""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import depths, fuzz
from hypothesis import strategies as st

from verieval.blocks import has_marks
from verieval.extract import extract
from verieval.verilog import _normalise_by_tokens, modules, normalise

HEADER = "module top(input a, output y);\n"
LINES = [
    "```\n", "```verilog\n", "````\n", "~~~\n", "```python\n", "<think>\n", "</think>\n", "<answer>\n", "</answer>\n",
    "[BEGIN]\n", "[DONE]\n", "<code>\n", "</code>\n", HEADER, "module top;\n", "module helper(input a);\n",
    "  helper h(a);\n", "endmodule\n", "  assign y = a;\n", "module tb; top u(a, b); endmodule\n",
    "package p; typedef int t; endpackage\n", "import p::*;\n", "  t x;\n", "typedef enum {A, B} s_t;\n",
    "s_t state;\n", "function f(input x); f = x; endfunction\n", "`define W 4\n", "`ifdef W\n", "`endif\n", "/*\n",
    "*/\n", "// module top;\n", '"module top;"\n', "The module is here.\n", "- assign it;\n", "# Title\n", "\n",
    "always @(*)\n", "begin\n", "end\n", "1. One.\n", "x_y\n",
]  # fmt: skip
# What opens, closes, hides or glues, without line ends of its own.
SCRAPS = [
    "`", "```", "~~~", "module ", "module top", "top(", "endmodule", "begin ", "end ", "<think>", "</think>",
    "<answer>", "</answer>", "[BEGIN]", "[DONE]", "<code>", "</code>", "<|channel>thought", "<channel|>", "[THINK]",
    "/*", "*/", "//", '"', "\\", "\\x ", "(", ")", "[", "]", "{", "}", "#(", ";", ":", "::", "'h ", "8'hff",
    "`define a ", "`ifdef ", "package ", "endpackage ", "function ", "endfunction ", "typedef enum {", "parameter a = ",
    "class c extends ", "import p::*;", "extern ", "bind a b c (", "a", "_", "1", ".", "=", " ", "\t", "\n", "\r",
    "\r\n", "\0", "\ufeff", "\ud800", "é", "\u2028", "\x1b[2J", "(*", "*)", "( *", "$x", "src/*.v", "\f", "\v",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from([*LINES, *SCRAPS]) | st.text(max_size=4), max_size=25).map("".join)
HEADERS = st.sampled_from([None, HEADER, "", "// x\nmodule top(\n", "module top(input a,\r\n  output y);"])
MODES = st.sampled_from(["auto", "auto", "verbatim"])


@depths
def test_any_text_gives_a_candidate(examples: int) -> None:
    def check(text: str, header: str | None, mode: str) -> None:
        found = extract(text, "top", header, mode=mode)
        found.source.encode()
        assert (found.method == "none") == (found.source == "")
        assert found.defines_target == any(span.name == "top" for span in modules(found.source))
        if found.repaired is not None:
            assert all(span.complete for span in modules(found.repaired))
        marked = has_marks(found.source) or re.search("`{3}|~{3}", found.source)  # they would be read once more
        if found.defines_target and "missing_endmodule" not in found.notes and not marked:
            assert extract(found.source, "top", header, mode=mode).source == found.source

    fuzz(check, TEXTS, HEADERS, MODES, examples=examples * 3)


@depths
def test_nothing_is_made_up(examples: int) -> None:
    """Of a text of whole lines, every line of the candidate is a line of the text or of the header."""

    def check(lines: list[str], header: str | None) -> None:
        text = "".join(lines)
        given = {line.strip() for line in (text + (header or "")).split("\n")} | {""}
        found = extract(text, "top", header)
        assert {line.strip() for line in found.source.split("\n")} <= given

    fuzz(check, st.lists(st.sampled_from(LINES), max_size=25), st.sampled_from([None, HEADER]), examples=examples * 3)


@depths
def test_code_alone_comes_back_byte_for_byte(examples: int) -> None:
    """Around it blank lines and comments, in it what may stand in a body: nothing of it is touched."""
    body = [line for line in LINES if not re.search(r"module|[`~<\[]|\*|[A-Z]\w+ |^[-#\"]|package|import", line)]

    def check(inside: list[str], before: str, after: str) -> None:
        text = f"{before}{HEADER}{''.join(inside)}endmodule\n{after}"
        assert extract(text, "top").source == text

    blank = st.sampled_from(["", "\n", "// c\n", "\n\n/* c */\n"])
    fuzz(check, st.lists(st.sampled_from(body), max_size=12), blank, blank, examples=examples)


# ---- time -----------------------------------------------------------------------------------------------------------


def _chain(n: int) -> str:
    """Helpers, each in a block of its own, that need one another."""
    blocks = "".join(f"```\nmodule h{i}(input a);\nh{i + 1} u(a);\nendmodule\n```\n" for i in range(n))
    return blocks + "```\nmodule top(input a);\nh0 u(a);\nendmodule\n```\n"


def _preambles(n: int) -> str:
    """Helpers with a directive each, all used by one module."""
    blocks = "".join(f"```\n`define M{i} 1\nmodule h{i}(input a);\nendmodule\n```\n" for i in range(n))
    return blocks + "```\nmodule top(input a);\n" + "".join(f"h{i} u{i}(a);\n" for i in range(n)) + "endmodule\n```\n"


def _types(n: int) -> str:
    blocks = "".join(f"```\nlocalparam T{i} = 1;\n```\n" for i in range(n))
    return blocks + "```\nmodule top;\nassign y = " + " + ".join(f"T{i}" for i in range(n)) + ";\nendmodule\n```\n"


def _answers(n: int) -> str:
    """Answers that all lack the target, a long one last, so that it is met first."""
    long = "<answer>\nmodule b;\n" + "assign y = a;\n" * n * 2 + "endmodule\n</answer>\n"
    return "<answer>\nmodule b;\nendmodule\n</answer>\n" * n + long


def _benches(n: int) -> str:
    return "module top; endmodule\n" + "".join(f"module m{i}; top u(a);\nendmodule\n" for i in range(n))


def _in_a_fence(piece: str) -> Callable[[int], str]:
    return lambda n: f"```\nmodule top;\n{piece * n}\nendmodule\n```\n```\nlocalparam T = 1;\n```\n"


# Texts that grow with n, by about 50 characters each step.
GROWING: dict[str, Callable[[int], str]] = {
    "chain": _chain,
    "preambles": _preambles,
    "types": _types,
    "answers": _answers,
    "benches": _benches,
    "scopes": _in_a_fence("package endpackage function endfunction " * 2),
    "echoes": lambda n: "```\nmodule top(input a);\n```\n" * n,
    "nested modules": lambda n: "module a;\n" * n + "endmodule\n" * n + HEADER + "endmodule\n",
    "fences in fences": lambda n: "".join("`" * (3 + i % 50) + "\n" for i in range(n)),
    "nested blocks": lambda n: HEADER + "begin : b\n" * n + "end\n" * n + "endmodule\n",
    "one long line": lambda n: "x ```y``` [a](b) <code>z</code> " * n,
    "reasoning": lambda n: "<think>\n" * n + "</think>\n" * n + HEADER + "endmodule\n",
    "comments": lambda n: "/* ```verilog\n" * n + HEADER + "endmodule\n",
    "quotes": lambda n: HEADER + '$display("a \\" ' * n + "endmodule\n",
}
PIECES = [(piece,) for piece in (*SCRAPS, *LINES)]
PAIRS = list(itertools.permutations([*SCRAPS, *LINES], 2))
MEGABYTE = 1_000_000


def seconds(text: str, header: str | None) -> float:
    start = time.process_time()
    extract(text, "top", header)
    return time.process_time() - start


@pytest.mark.slow  # it takes times, which a busy machine spoils
@pytest.mark.parametrize("header", [None, HEADER + "  wire [7:0] w;\n" * 50], ids=["", "header"])
@pytest.mark.parametrize("name", GROWING)
def test_time_grows_with_the_text_and_not_with_its_square(name: str, header: str | None) -> None:
    """Four times the text: about four times as long, where a square would be sixteen times."""
    small, large = (GROWING[name](n) for n in (300, 1_200))
    least, most = (min(seconds(text, header) for _ in range(3)) for text in (small, large))
    assert most < 9 * max(least, 0.05)


@pytest.mark.slow  # likewise
@pytest.mark.parametrize(
    ("pieces", "size"),
    [
        pytest.param([*random.Random(0).sample(PIECES, 30), *random.Random(0).sample(PAIRS, 10)], 60_000, id="usual"),
        pytest.param(PAIRS, 60_000, id="pairs", marks=[pytest.mark.slow, pytest.mark.timeout(7200)]),
        pytest.param(PIECES, MEGABYTE, id="long", marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_repeated_pieces_take_seconds_at_most(pieces: list[tuple[str, ...]], size: int) -> None:
    """A second of CPU time for 60,000 characters, where linear work takes under a quarter; a square takes minutes."""
    for number, piece in enumerate(pieces):
        text = "".join(piece)
        before, header = (("", "```verilog\n" + HEADER)[number % 2], (None, HEADER)[number // 2 % 2])
        took = seconds(before + text * (size // len(text)), header)
        assert took < 10 * size / MEGABYTE + 0.4, (piece, before, took)


# ---- layout ---------------------------------------------------------------------------------------------------------

LAYOUT = st.lists(
    st.sampled_from([*SCRAPS, "*", "/", "?", "h", "'sd", "'h f", "  ", "// c", "/**/", "#line", "\b", "x"]), max_size=14
).map("".join)


@depths
def test_the_quick_form_is_the_exact_one(examples: int) -> None:
    """``normalise`` passes over most texts in one step; where it does, the walk over all tokens says the same."""

    def check(text: str) -> None:
        assert normalise(text) == (
            text if "#line" in text or re.search(r"\r(?!\n)", text) else _normalise_by_tokens(text)
        )

    fuzz(check, LAYOUT, examples=examples * 5)


def test_the_quick_form_is_the_exact_one_on_real_sources(completions_dir: Path, data_dir: Path) -> None:
    published = completions_dir / "turtle_gemini-2.5-flash_verilog_eval_rtl.json"
    texts = [row["generation"] for task in json.loads(published.read_text()) for row in task]
    files = [path for path in data_dir.rglob("*") if path.suffix in (".v", ".sv")]
    texts += [path.read_bytes().decode("utf-8", "replace") for path in files]
    texts += [text.replace("\n", "\r\n") for text in texts]
    assert len(texts) > 2_000
    plain = [text for text in texts if not re.search(r"#line|\r(?!\n)", text)]
    assert [normalise(text) for text in plain] == [_normalise_by_tokens(text) for text in plain]
