"""Extraction: every way in which models wrap code, and what must not be changed on the way."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from verieval.blocks import has_marks
from verieval.errors import VerievalError
from verieval.extract import EXTRACTION_VERSION, describe, extract
from verieval.verdict import Candidate
from verieval.verilog import modules, normalise

HEADER = "module top(input a, output y);\n"
BODY = "  assign y = a;\nendmodule\n"
TOP = HEADER + BODY
OTHER = "module top(input a, output y);\n  assign y = ~a;\nendmodule\n"
HELPER = "module helper(input a, output y);\n  assign y = a;\nendmodule\n"
USER = "module top(input a, output y);\n  helper h(a, y);\nendmodule\n"
BENCH = "module tb;\n  reg a; wire y;\n  top dut(.a(a), .y(y));\n  initial $finish;\nendmodule\n"


def fence(code: str, tag: str = "verilog", marks: str = "```") -> str:
    return f"{marks}{tag}\n{code}{marks}\n"


def indented(text: str, by: str = "   ") -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


def check(text: str, method: str, source: str, *notes: str, header: str | None = None) -> Candidate:
    """The source equals but for layout; method and notes exactly; extracting again changes nothing."""
    found = extract(text, "top", header)
    assert normalise(found.source) == normalise(source)
    assert (found.method, found.notes) == (method, notes)
    assert extract(found.source, "top", header).source == found.source
    return found


@pytest.mark.parametrize(
    "tag", ["verilog", "systemverilog", "sv", "v", "Verilog", "SystemVerilog", "", "text", "verilog-2001", "{.verilog}"]
)
@pytest.mark.parametrize("marks", ["```", "````", "~~~", "~~~~~"])
def test_fence_with_any_tag(tag: str, marks: str) -> None:
    assert check(f"Here it is:\n\n{fence(TOP, tag, marks)}\nIt copies a.", "fence", TOP).source == TOP


@pytest.mark.parametrize(
    "text",
    [
        "1. Write it:\n\n" + indented(fence(TOP)),
        "- " + fence(TOP),
        "> " + fence(TOP),
        f"Answer:```verilog\n{TOP}```",
        f"```verilog {TOP}```",
        f"```\n{TOP.rstrip()}```\nDone.",
        f"```verilog\n{TOP}```<|im_end|>",
        f"````markdown\nHello.\n{fence(TOP)}````\n",
        f"```verilog\nmodule top(input a\n```verilog\n{TOP}```",
        f"````verilog\n// ```\n{TOP}````\n".replace("// ```\n", "/*\n```\n*/\n"),
        f"Use ```top``` as a name.\n{fence(TOP)}",
        f"```verilog title=top.v\n{TOP}```",
        f"Run `iverilog src/*.v`.\n{fence(TOP)}",
    ],
)
def test_fences_as_models_write_them(text: str) -> None:
    found = extract(text, "top")
    assert (found.method, found.defines_target) == ("fence", True)
    assert normalise(found.source) == normalise(TOP)


def test_code_on_one_line_with_its_fence() -> None:
    check("So ```verilog module top(input a); endmodule``` it is.", "fence", "module top(input a); endmodule")


@pytest.mark.parametrize("after", ["", "\nThis copies a.\n"])
def test_fence_that_is_never_closed(after: str) -> None:
    check("Here:\n```verilog\n" + TOP + after, "open_fence", TOP)


def test_last_block_that_defines_the_target() -> None:
    check(
        fence(TOP) + "Wait, it must invert:\n" + fence(OTHER) + fence(BENCH) + fence("vvp x\n", "bash"), "fence", OTHER
    )


def test_helpers_come_from_other_blocks_transitively_and_the_last_definition_wins() -> None:
    leaf = "module leaf(input a, output y);\n  assign y = a;\nendmodule\n"
    stale = leaf.replace("= a", "= 1")
    middle = "module helper(input a, output y);\n  leaf l(a, y);\nendmodule\n"
    unused = "module unused; endmodule\n"
    text = fence(stale) + fence(middle + unused) + fence(USER) + "And the leaf:\n" + fence(leaf)
    check(text, "fence", middle + USER + leaf, "helpers_added")


def test_helper_brings_its_directives_once() -> None:
    head = "`timescale 1ns/1ps\n"
    source = extract(fence("`define ONE 1\n" + HELPER) + fence(head + USER), "top").source
    assert source.split() == ("`define ONE 1\n" + HELPER + head + USER).split()
    source = extract(fence(head + HELPER) + fence(head + USER), "top").source
    assert source.split() == (HELPER + head + USER).split()


def test_helper_already_there_is_not_added() -> None:
    check(fence(HELPER) + fence(HELPER.replace("= a", "= !a") + USER), "fence", HELPER.replace("= a", "= !a") + USER)


def test_block_in_another_language_counts_only_if_it_defines_the_target() -> None:
    check(fence(TOP) + fence("def module(top): pass\n", "python") + fence("{}\n", "json"), "fence", TOP)
    check(fence(TOP, "python"), "fence", TOP)
    check(fence(HELPER, "c") + fence(USER), "fence", USER)


def test_own_test_bench_in_the_same_block_is_dropped() -> None:
    check(fence(TOP + "\n" + BENCH), "fence", TOP, "testbench_dropped")
    check(BENCH + TOP, "bare", TOP, "testbench_dropped")
    check(fence(HELPER + USER), "fence", HELPER + USER)
    check(fence(TOP + "module spare; endmodule\n"), "fence", TOP + "module spare; endmodule\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[BEGIN]\n{TOP}[DONE]\n\nQuestion:\n[BEGIN]\n{OTHER}[DONE]", TOP),
        (f"{TOP}[DONE]\n\nQuestion:\n{OTHER}", TOP),
        (f"I enclose it in [BEGIN] and [DONE].\n[BEGIN]\n{TOP}[DONE]\n", TOP),
        (f"<answer>\n{TOP}</answer>", TOP),
        (f"<answer>\n{TOP}</answer> no: <answer>\n{OTHER}</answer>", OTHER),
        (f"<answer>\n{TOP}", TOP),
        (f"I use <answer> for it. <answer>\n{TOP}</answer>", TOP),
        (f"<code>\n{TOP}</code>", TOP),
    ],
)
def test_answer_markers(text: str, expected: str) -> None:
    check(text, "marker", expected)


def test_fence_inside_an_answer_marker_beats_one_outside() -> None:
    check(f"<answer>\n{fence(TOP)}</answer>\nAlternatively:\n{fence(OTHER)}", "fence", TOP)
    check(f"The port <code>a</code> is copied.\n{fence(TOP)}", "fence", TOP)


@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<reasoning>", "</reasoning>"),
        ("<THINK>", "</THINK>"),
        ("<|channel>thought\n", "<channel|>"),
    ],
)
@pytest.mark.parametrize(("code", "method"), [(fence(TOP), "fence"), (TOP, "bare")])
def test_reasoning(opener: str, closer: str, code: str, method: str) -> None:
    draft = f"Perhaps\n{fence(OTHER)}or <answer>{OTHER}</answer>"
    check(f"{opener}{draft}{closer}\n{code}", method, TOP, "reasoning_removed")
    check(f"{draft}{closer}\n{code}", method, TOP, "reasoning_removed")
    check(f"{draft}{closer} hm {closer}\n{code}", method, TOP, "reasoning_removed")
    check(f"{code}\n{opener}{draft}{closer}", method, TOP, "reasoning_removed")
    check(f"{code}\n{opener}{draft}", method, TOP, "reasoning_unclosed")
    check(f"{opener}{draft}", "none", "", "reasoning_unclosed")
    check(f"{opener}{draft}{closer}", "none", "", "reasoning_removed")


def test_reasoning_that_mentions_its_own_marker() -> None:
    check(f"<think>I close with </think> when done.\n{OTHER}</think>{TOP}", "bare", TOP, "reasoning_removed")
    check(f"<think>I open with <think> first.\n{OTHER}</think>{TOP}", "bare", TOP, "reasoning_removed")
    check(f"<think>no </reasoning> here\n{OTHER}</think>{TOP}", "bare", TOP, "reasoning_removed")


def test_marks_in_the_comments_of_plain_code_mean_nothing() -> None:
    body = "/*\n```verilog\nmodule no; endmodule\n```\n*/ // <think> [BEGIN]\n// </think>\n"
    assert extract(HEADER + body + BODY, "top") == Candidate(HEADER + body + BODY, "bare")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Here is the code:\n", "\nThis module implements a wire.\n"),
        (
            "This module implements a wire. The module top (see below) is simple:\n\n",
            "The module top (above) is simple.",
        ),
        ("Answer: ", "<|im_end|>"),
        ("# Solution\n\n* clk: none;\n1. a\n| x |\n**Code**\n", "\n---\nNote: `a` is `y`.\n"),
        ("Run iverilog src/*.v first\n", "\nwires and (maybe) gates"),
        ("here is what you asked for\n\n", "\n\nlet me know"),
        ("Sure \u2014 don't worry, it's \"easy\"\n", "\u2022 done"),
    ],
)
def test_prose_around_a_bare_module(before: str, after: str) -> None:
    check(before + TOP + after, "bare", TOP)


def test_last_bare_module_after_a_change_of_mind() -> None:
    check(f"{TOP}\nWait, that is wrong.\n\n{OTHER}\nNow it is right.", "bare", OTHER)
    check(f"module top(input a);\n  assign y\n\n{OTHER}", "bare", OTHER)


UNIT = r"""`timescale 1ns/1ps
`define WIDE(x) \
  (x + 1)
`default_nettype none

// states
typedef enum logic [1:0] {
  A,
  B = 2'd1
} state_t;
package p;
  localparam X = 1;
  function automatic int twice(int a);
    return a * 2;
  endfunction
endpackage
import p::*;
parameter WIDTH = 8;
function [3:0] inc(input [3:0] a);
  inc = a + 1;
endfunction

/* the module */
"""


@pytest.mark.parametrize("wrap", [fence, lambda code: f"Sure, here you are:\n\n{code}\n\nThat is all."])
def test_what_stands_before_the_module_is_kept(wrap: Callable[[str], str]) -> None:
    found = extract(wrap(UNIT + TOP), "top")
    assert found.source.strip() == (UNIT + TOP).strip()


def test_what_must_follow_the_module_is_kept() -> None:
    guarded = f"`ifndef TOP\n`define TOP\n{TOP}`endif // TOP\n`default_nettype wire\n"
    assert extract(f"Sure!\n{guarded}\nThis is it.", "top").source == guarded


@pytest.mark.parametrize(
    "text",
    [
        "`TICK(x)\n" + TOP,
        "synthesis verilog_input_version verilog_2001\n" + TOP,
        TOP + "endmodule\n",
        TOP + "assign z = 1;\n",
        "assign y = 1;\n" + TOP,
        TOP + "\ninitial begin\n  y = 0;\nend\n",
        HEADER + "This is prose in a module.\n" + BODY,
    ],
)
def test_broken_code_is_not_rescued(text: str) -> None:
    assert extract(text, "top").source == text
    assert extract(fence(text), "top").source == text


@pytest.mark.parametrize(
    ("text", "source", "notes"),
    [
        (BODY, TOP, ()),
        ("\n\n" + BODY, HEADER + "\n\n" + BODY, ()),
        ("  assign y = a;\n", HEADER + "  assign y = a;\n", ("missing_endmodule",)),
        ("  helper h(a, y);\nendmodule\n\n" + HELPER, HEADER + "  helper h(a, y);\nendmodule\n\n" + HELPER, ()),
        (BODY + "\nmodule more(input x); endmodule\n" + OTHER, TOP, ("run_on_dropped",)),
        (BODY + "```\nThis copies a.\n", TOP, ()),
        (BODY + "\nThis copies a.\n", TOP, ()),
        ("Sure:\n" + fence(BODY) + "It uses `assign`.", TOP, ()),
        ("[BEGIN]\n" + BODY + "[DONE]\n", HEADER + "\n" + BODY, ()),
        ("<think>" + OTHER + "</think>" + BODY, TOP, ("reasoning_removed",)),
        ("Here is the completed module body:\n\n" + BODY, TOP, ()),
        ("Sure! It's a wire.\nhere is what you asked for\n" + BODY + "\nThis copies a.", TOP, ()),
        ("Do not forget endmodule.\n" + fence(BODY), TOP, ()),
        ("# Body\n\n  assign y = a;\n", HEADER + "  assign y = a;\n", ("missing_endmodule",)),
        (BODY + "\nQuestion: other\n" + fence(OTHER), TOP, ("run_on_dropped",)),
        (BODY + "\nQuestion: other\n" + fence(HELPER), TOP, ("run_on_dropped",)),
        (fence(HELPER) + fence(BODY), TOP, ()),
        (fence(BODY) + "A bench:\n" + fence(BENCH), TOP, ()),
        (fence(HEADER) + "And its body:\n" + fence(BODY), TOP, ()),
        ("[BEGIN]\nassign y = a;\n[DONE]\n", HEADER + "\nassign y = a;\n", ("missing_endmodule",)),
        ("[BEGIN] assign y = a; [DONE]", HEADER + " assign y = a; ", ("missing_endmodule",)),
        ("assign y = a;\n[DONE]\n\nQuestion:\n" + OTHER, HEADER + "assign y = a;\n", ("missing_endmodule",)),
    ],
)
def test_continuation(text: str, source: str, notes: tuple[str, ...]) -> None:
    found = extract(text, "top", HEADER)
    assert (found.source, found.method, found.notes) == (source, "continuation", notes)
    assert found.defines_target
    assert extract(found.source, "top", HEADER).source == source


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (TOP, "bare"),
        (fence(OTHER), "fence"),
        ("module top(input wire a, output reg y);\n  always @* y = a;\nendmodule\n", "bare"),
    ],
)
def test_header_repeated_is_not_doubled(text: str, method: str) -> None:
    found = extract(text, "top", HEADER)
    assert found.method == method
    assert found.source.count("module top") == 1
    assert found.source in text


@pytest.mark.parametrize(
    "body",
    [
        "  FullAdder fa (\n    .a(a)\n  );\nendmodule\n",
        "  FullAdder #(\n    .W(1)) fa (a, y);\nendmodule\n",
        "  wire A,\n    B;\nendmodule\n",
        "  reg [1:0] A,\n  B,\n  C;\nendmodule\n",
        "  parameter A = 0,\n  B = 1;\nendmodule\n",
        "  for (i = 0; i < 2; i = i + 1) begin : g\n  Buf b (\n  a, y); end\nendmodule\n",
        "  DFF u (a, y); endmodule\n",
        "  `DECLARE\n  assign y = a;\nendmodule\n",
        "// Copy\nThis is no code.\n  assign y = a;\nendmodule\n",
        "  assign y = a;\nThis is no code.\nendmodule\n",
    ],
)
def test_body_that_begins_with_code_is_not_touched(body: str) -> None:
    assert extract(body, "top", HEADER) == Candidate(HEADER + body, "continuation")
    assert extract(f"Here is the body:\n\n{body}", "top", HEADER).source.split() == (HEADER + body).split()


@pytest.mark.parametrize("head", ["module top\n#(\n  parameter W = 1\n)\n(input a, output y);\n", HEADER])
def test_head_over_several_lines_is_no_body(head: str) -> None:
    check(f"The module top:\n\n{head}{BODY}", "bare", head + BODY, header="module top\n")


USES = "  helper h(a, y);\nendmodule\n"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (fence(HELPER) + fence(USES), HELPER + HEADER + USES),
        (fence(USES) + "The helper:\n" + fence(HELPER), HEADER + USES + HELPER),
        (USES + "\nThe helper:\n" + fence(HELPER), HEADER + USES + HELPER),
        ("Here is the body:\n" + USES + "\nThe helper:\n" + fence(HELPER), HEADER + USES + HELPER),
        (fence("package p; endpackage\n") + fence("  import p::*;\n" + BODY), "package p; endpackage\n" + HEADER
         + "  import p::*;\n" + BODY),
    ],
)  # fmt: skip
def test_continuation_takes_its_helpers_from_other_blocks(text: str, source: str) -> None:
    check(text, "continuation", source, "helpers_added", header=HEADER)


@pytest.mark.parametrize(
    "code", [HELPER, "`timescale 1ns/1ps\n// Copy\n" + HELPER, "typedef logic t;\n" + HELPER, HELPER + BENCH]
)
def test_module_of_another_name_is_no_continuation(code: str) -> None:
    for text, method in ((code, "bare"), (fence(code), "fence"), (f"Sure:\n\n{fence(code)}", "fence")):
        assert extract(text, "top", HEADER) == Candidate(code, method, (), None, False)


def test_inline_code_is_no_answer() -> None:
    check("Use <code>y = a;</code> in it.\n" + fence(TOP), "fence", TOP, header=HEADER)
    check("[BEGIN]\n  y = a;\n[DONE]\n\nQuestion:\n" + fence(HELPER), "fence", HELPER)
    found = extract("[BEGIN]\nassign y = a;\n[DONE]\n", "top")
    assert (found.source, found.method, found.defines_target) == ("\nassign y = a;\n", "marker", False)


PACKAGE = "package p;\n  typedef logic t;\n  localparam y = 1;\nendpackage\n"
TYPED = "module top import p::*; (input t a, output y);\n" + BODY


@pytest.mark.parametrize(
    ("declarations", "top"),
    [
        (PACKAGE, TYPED),
        ("`timescale 1ns/1ps\n" + PACKAGE, "module top(input p::t a, output y);\n" + BODY),
        ("interface bus;\n  logic a;\nendinterface\n", HEADER + "bus b();\n" + BODY),
        ("typedef enum logic {A, B = 1} t;\n", HEADER + "t s;\n" + BODY),
        ("typedef enum logic {A, B = 1} t;\n", HEADER + "wire s = B;\n" + BODY),
        ("typedef struct packed {\n  logic a;\n} t;\n", HEADER + "t s;\n" + BODY),
        ("`ifndef W\n`define W 8\n`endif\n", HEADER + "wire [`W-1:0] s;\n" + BODY),
        ("localparam int W = 8;\n", HEADER + "wire [W-1:0] s;\n" + BODY),
        ("function automatic logic f(input a);\n  return a;\nendfunction\n", HEADER + "wire s = f(a);\n" + BODY),
    ],
)
def test_declarations_come_from_other_blocks(declarations: str, top: str) -> None:
    for text in (fence(declarations) + fence(top), fence(top) + "It needs:\n" + fence(declarations)):
        found = extract(text, "top")
        assert (found.source, found.notes) == (f"{declarations}\n{top}", ("helpers_added",))
        assert extract(found.source, "top").source == found.source
    assert extract(f"First:\n\n{declarations}\nThen the module.\n\n{top}", "top").source == f"{declarations}\n{top}"
    assert extract(fence(declarations) + fence(TOP), "top") == Candidate(TOP, "fence")
    assert extract(fence(declarations) + fence(declarations + top), "top") == Candidate(declarations + top, "fence")


def test_package_comes_once_also_from_an_older_version_of_the_module() -> None:
    check(fence(PACKAGE + TOP) + "Fixed:\n" + fence(TYPED), "fence", PACKAGE + TYPED, "helpers_added")
    user = HELPER.replace("input a", "input p::t a")
    check(fence(PACKAGE + user) + fence(USER), "fence", PACKAGE + user + USER, "helpers_added")
    text = fence(PACKAGE) + fence(user) + fence(USER)
    check(text, "fence", PACKAGE + user + USER, "helpers_added")
    check(fence(PACKAGE) + fence(user) + fence(PACKAGE + USER), "fence", user + PACKAGE + USER, "helpers_added")


def test_snippets_and_names_of_the_modules_own_are_no_declarations() -> None:
    own = HEADER + "localparam W = 1;\nwire [W:0] s;\n" + BODY
    check(fence("localparam W = 8;\n") + fence(own), "fence", own)
    uses = HEADER + "wire [W:0] s;\n" + BODY
    check(fence("localparam W = 8;\nassign y = a;\n") + fence(uses), "fence", uses)
    check(fence("`ifdef X\nlocalparam W = 8;\n") + fence(uses), "fence", uses)


def test_prose_or_nothing_does_not_continue_a_header() -> None:
    for text in ("", " \n", "I am sorry, I cannot write that."):
        assert extract(text, "top", HEADER) == Candidate("", "none", (), None, False)


def test_missing_endmodule_is_judged_as_it_is_and_repaired_apart() -> None:
    cut = HEADER + "  assign y = a;\n"
    for text, method in ((cut, "bare"), (fence(cut), "fence"), ("```\n" + cut, "open_fence")):
        assert extract(text, "top") == Candidate(cut, method, ("missing_endmodule",), cut + "endmodule\n", True)
    hidden = cut + "/* never closed"
    assert extract(hidden, "top") == Candidate(hidden, "bare", ("missing_endmodule",), None, True)
    assert extract(HEADER + "always @* begin y = a;\nendmodule\n", "top").repaired is None


@pytest.mark.parametrize("body", ["  assign y = a;\n", "  always @*\n    if (a) y = 1;\n    else\n      y = 0;\n"])
@pytest.mark.parametrize(
    "prose",
    [
        "This module copies a.\n",
        "### Explanation\n\n- `a`: the input\n- y: the output\n\nLet me know!\n",
        "Explanation:\n\nThe output follows y = a at once.\n\nDone.",
        "<|im_end|>",
    ],
)
def test_prose_after_a_missing_endmodule(body: str, prose: str) -> None:
    cut = HEADER + body
    for before, method in (("", "bare"), ("```verilog\n", "open_fence"), ("Sure:\n\n", "bare")):
        found = extract(f"{before}{cut}\n{prose}", "top")
        assert found == Candidate(cut, method, ("missing_endmodule",), cut + "endmodule\n", True)
        assert extract(found.source, "top").source == cut
    assert extract(f"{body}\n{prose}", "top", HEADER).repaired == cut + "endmodule\n"
    # Without a blank line between them the text is judged as it is, and only the diagnostic leaves the prose out.
    found = extract(cut + prose, "top")
    assert (found.repaired, found.source.startswith(cut)) == (cut + "endmodule\n", True)
    assert extract(cut + prose, "top", mode="verbatim").source == cut + prose


def test_missing_endmodule_before_another_module() -> None:
    cut = HEADER + "  helper h(a, y);\n"
    for prose in ("", "It uses a helper module.\n\n"):
        found = extract(f"{cut}\n{prose}{HELPER}", "top")
        assert (found.source, found.repaired) == (f"{cut}\n{HELPER}", f"{cut}endmodule\n\n{HELPER}")


@pytest.mark.parametrize(
    "rest",
    [
        "\n  always @(posedge a) beg",
        "\n  case (a)\n    A: begin\n\n    B:",
        "\n  if (a) y <= 1;\n\n  else",
        "\n  wire A,\n\n    B",
        "\n  assign y = a\n\n  + Some",
        "\n  Some_module Instance_name",
        "\n  // This is a comment of code",
        "\n  case (a)\n\n    A: next = in ? B : C",
        "\n  parameter [1:0]\n\n    IDLE = 0, // waiting for the first bit",
    ],
)
def test_code_that_was_cut_off_is_not_cut_further(rest: str) -> None:
    for text in (HEADER + rest, "Sure:\n```verilog\n" + HEADER + rest):
        found = extract(text, "top")
        assert found.source.rstrip() == HEADER + rest
        assert found.repaired is not None
        assert found.repaired.split() == [*(HEADER + rest).split(), "endmodule"]
        assert found.notes == ("missing_endmodule",)


@pytest.mark.parametrize(
    "text",
    [
        f"The header:\n{fence(HEADER)}Complete:\n{fence(TOP)}",
        fence(HEADER + TOP),
        f"{HEADER}\nHere it is:\n\n{TOP}",
        HEADER + TOP,
    ],
)
def test_header_repeated_twice(text: str) -> None:
    for header in (None, HEADER):
        assert extract(text, "top", header).source == TOP


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_are_kept(end: str) -> None:
    code = TOP.replace("\n", end)
    assert extract(fence(TOP).replace("\n", end), "top").source == code
    assert extract(f"Sure:{end}{code}{end}This copies a.{end}", "top").source.rstrip() == code.rstrip()
    tabbed = TOP.replace("  ", "\t")
    assert extract(fence(tabbed), "top").source == tabbed


def test_characters_that_cannot_stay() -> None:
    check("\ufeff" + TOP.replace("assign", "as\0sign"), "bare", TOP, "nul_removed", "bom_removed")
    found = check(TOP + "// \ud800", "bare", TOP, "surrogates_replaced")
    assert found.source.endswith("// \ufffd")
    found.source.encode("utf-8")


def test_non_ascii_is_kept_and_noted_only_in_code() -> None:
    assert check("// Größe \u2265 1\n" + TOP, "bare", TOP).notes == ()
    for character in ("\u00a0", "\u200b", "\u201c", "\u3000"):
        text = TOP.replace(" y", character + "y", 1)
        assert extract(text, "top") == Candidate(text, "bare", ("non_ascii",))
        assert extract(fence(text), "top").source == text


@pytest.mark.parametrize("text", ["", " \t\r\n", "\0", "\ufeff", "I cannot help. The module is hard.", "---" * 50])
def test_no_code(text: str) -> None:
    found = extract(text, "top")
    assert (found.source, found.method, found.defines_target) == ("", "none", False)


def test_wrong_module_and_code_without_a_module_are_handed_on() -> None:
    wrong = check(fence(HELPER), "fence", HELPER)
    loose = check("assign y = a;\n", "whole", "assign y = a;\n")
    inner = check(fence("always @* y = a;\n"), "fence", "always @* y = a;\n")
    assert not any(found.defines_target for found in (wrong, loose, inner))


def test_escaped_target() -> None:
    code = "module \\top (input a);\nendmodule\n"
    assert extract(fence(code), "top") == Candidate(code, "fence")


def test_verbatim() -> None:
    text = "\ufeffHere:\n" + fence(TOP) + "\0"
    assert extract(text, "top", mode="verbatim") == Candidate(text, "verbatim", ("non_ascii",))
    assert extract(" \n", "top", mode="verbatim") == Candidate("", "none", (), None, False)
    assert extract("\udfff", "top", mode="verbatim").source == "\ufffd"
    assert not extract(HELPER, "top", mode="verbatim").defines_target


def test_describe_and_unknown_mode() -> None:
    assert describe("auto") == {"mode": "auto", "version": EXTRACTION_VERSION}
    for call in (lambda: describe("fancy"), lambda: extract("", "top", mode="fancy")):
        with pytest.raises(VerievalError, match="unknown extraction mode 'fancy'; use one of: auto, verbatim"):
            call()


_PIECES = "```verilog\n|```\n|~~~\n|```|````markdown\n|<think>|</think>|<answer>|</answer>|[BEGIN]|[DONE]|<code>"
_MORE = 'Prose.\n|foo_bar is\n|\n\n|\r|\r\n|// |/*|*/|"|`define X |`endif\n|module |endmodule|\0|typedef {|package p;\n'
_PARTS = [
    TOP,
    OTHER,
    HELPER,
    USER,
    BENCH,
    HEADER,
    BODY,
    "<|channel>thought",
    "<channel|>",
    "\ufeff",
    "\ud800",
    "\u00a0",
    "assign y = a;\n",
]
_PARTS += [*_PIECES.split("|"), *_MORE.split("|")]
ANSWERS = st.one_of(st.lists(st.sampled_from(_PARTS), max_size=14).map("".join), st.text(max_size=60))
SIDES = st.lists(st.sampled_from(_PARTS), max_size=6).map("".join)


@given(ANSWERS, st.sampled_from([None, HEADER]), st.sampled_from(["auto", "verbatim"]))
def test_any_text_gives_a_candidate_that_can_be_written(text: str, header: str | None, mode: str) -> None:
    found = extract(text, "top", header, mode=mode)
    found.source.encode("utf-8")
    assert (found.method == "none") is (found.source == "")
    assert found == extract(text, "top", header, mode=mode)
    if found.repaired is not None:
        assert "missing_endmodule" in found.notes
        spans = [modules(code) for code in (found.source, found.repaired)]
        assert [span.name for span in spans[0]] == [span.name for span in spans[1]]
        assert [sum(not span.complete for span in found_in) for found_in in spans] == [1, 0]
        assert len(found.repaired) <= len(found.source) + len("\nendmodule\n\n")


@settings(derandomize=True, max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
@given(SIDES, SIDES)
def test_extracting_again_changes_nothing(before: str, after: str) -> None:
    text = before + TOP + after
    found = extract(text, "top")
    # Unfinished code may hold marks that cannot be told from those of an answer, and so do fences nested wrongly.
    assume(found.defines_target and found.repaired is None and "missing_endmodule" not in found.notes)
    assume("```" not in found.source and "~~~" not in found.source and not has_marks(found.source))
    assert extract(found.source, "top").source == found.source


HOSTILE = {
    "backticks": "`" * 100_000,
    "fences": "```\n" * 25_000,
    "tagged fences": "```verilog\n" * 9_000,
    "openers": "<think>" * 14_000,
    "reasoning": "<think></think>" * 6_000,
    "closers": "</think>" * 12_000,
    "modules": "module " * 14_000,
    "heads": "module a;" * 11_000,
    "targets": "module top;\n" * 8_000,
    "comments": "/*" * 50_000 + TOP,
    "globs": "x/*" * 30_000 + "\n" + TOP,
    "quotes": '"\n' * 30_000 + TOP,
    "answers": "<answer>\nx</answer>" * 5_000,
    "weak lines": "foo_bar is\n" * 9_000 + TOP,
    "brackets": "(" * 100_000 + TOP,
    "helpers": "".join(f"```\nmodule h{i}(); h{i + 1} u(); endmodule\n```\n" for i in range(2_000)) + fence(USER),
    "unfinished": HEADER + "  assign y = a;\n\n" + "This is a sentence.\n" * 4_000 + "a" + ")" * 50_000 + "(\n",
    "packages": "".join(f"```\npackage p{i}; import p{i + 1}::*; endpackage\n```\n" for i in range(2_000))
    + fence("import p0::*;\n" + TOP),
    "bodies": "Prose.\n" * 10_000 + BODY + "endmodule\n" * 3_000,
    "benches": TOP + "".join(f"module t{i}(); top u(); endmodule\n" for i in range(3_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("header", [None, HEADER])
def test_hostile_text_takes_linear_time(name: str, header: str | None) -> None:
    start = time.process_time()
    extract(HOSTILE[name], "top", header)
    assert time.process_time() - start < 10  # seconds; a quadratic walk takes minutes


def test_published_generations_are_judged_as_they_are(completions_dir: Path) -> None:
    """The official harness compiled these texts verbatim, so extraction must not change one that holds Verilog."""
    tasks = json.loads((completions_dir / "turtle_gemini-2.5-flash_verilog_eval_rtl.json").read_text())
    texts = [row["generation"] for task in tasks for row in task]
    changed = [text for text in texts if extract(text, "TopModule").source != text]
    assert len(texts) == 780
    assert Counter("#include <iostream>" in text or set(text) == {"-", "\n"} for text in changed) == {True: 2}


def test_published_rtllm_completions(completions_dir: Path) -> None:
    rows = [json.loads(line) for line in (completions_dir / "rtllm_chatgpt35.jsonl").read_text().splitlines()]
    for row in rows:
        found = extract(row["completion"], row["task_id"])
        assert (found.source, found.method) == (row["completion"], "bare")
        assert found.defines_target == (row["task_id"] != "calender")  # all five spell it `calendar`


@pytest.mark.parametrize("variant", ["Human", "Machine"])
def test_published_v1_solutions_continue_their_headers(variant: str, data_dir: Path) -> None:
    file = data_dir / "verilog-eval-v1" / "data" / f"VerilogEval_{variant}.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) in (156, 143)
    for row in rows:
        whole = row["prompt"] + row["canonical_solution"]
        assert extract(row["canonical_solution"], "top_module", row["prompt"]) == Candidate(whole, "continuation")
        assert extract(f"Sure.\n\n{fence(whole)}", "top_module", row["prompt"]).source.rstrip() == whole.rstrip()
