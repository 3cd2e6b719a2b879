"""The official rules, case by case, against what upstream's scripts say of the same log."""

from __future__ import annotations

import pytest

from verieval.judge.rules import RULES, OfficialVerdict, Transcript

GOOD = "Mismatches: 0 in 100 samples\n"
BAD = "Mismatches: 3 in 100 samples\n"

# compile log, simulation output, candidate's text, letter. Worked out by reading upstream's script by hand.
V2 = [
    ("", GOOD, "", "."),
    ("", BAD, "", "R"),
    ("", BAD, "always @(posedge clk or posedge reset)", "r"),
    ("", BAD, "always @(posedge clk, negedge reset)", "r"),
    ("", BAD, "always @(posedge clk or posedge r)", "r"),
    ("", BAD, "always @(posedge clk or posedge areset)", "R"),
    ("", BAD, "// not on posedge reset", "r"),  # upstream reads comments too
    ("", "", "", "R"),
    ("a.sv:1: syntax error\n", "", "", "S"),
    ("a.sv:1: error: something\n", GOOD, "", "C"),
    ("a.sv:1: warning: always_comb process has no sensitivities.\n", GOOD, "", "n"),
    ("a.sv:1: warning: @* found no sensitivities so it will never trigger.\n", GOOD, "", "n"),
    ("a.sv:1: error: q is not a valid l-value\na.sv:1:      : 'q' is declared here as wire.\n", "", "", "w"),
    ("a.sv:1: error: Unknown module type: foo\n", "", "", "m"),
    ("a.sv:1: error: Unable to bind wire/reg/memory `clk' in `tb'\n", "", "", "c"),
    ("a.sv:1: error: Unable to bind wire/reg/memory `d' in `tb'\n", "", "", "p"),
    ("a.sv:1: error: This assignment requires an explicit cast.\n", "", "", "e"),
    ("a.sv:1: error: Sized numeric constant must have a size greater than zero.\n", "", "", "0"),
    ("", "TIMEOUT\n" + GOOD, "", "T"),
    # Log order decides between two, and a flagged `error` never beats a later final text.
    ("a.sv:1: error: Unknown module type: foo\na.sv:2: syntax error\n", "", "", "m"),
    ("a.sv:2: syntax error\na.sv:1: error: Unknown module type: foo\n", "", "", "S"),
    ("a.sv:1: error: x\n", "TIMEOUT\n", "", "T"),
    # What upstream lets through.
    ("", "Mismatches: 0 in 0 samples\n", "", "."),
    ("", GOOD + BAD, "", "."),
    ("", "x Mismatches: 0 in 100 samples\n", "", "R"),
]


@pytest.mark.parametrize(("compile_log", "output", "source", "letter"), V2)
def test_verilog_eval_letters(compile_log: str, output: str, source: str, letter: str) -> None:
    rule = RULES["verilog-eval"]
    verdict = rule.refine(rule.official(Transcript(compile_log, compiled=True, stdout=output)), source)
    assert verdict == OfficialVerdict(letter == ".", letter)


def test_verilog_eval_wall_limit_is_a_timeout() -> None:
    rule = RULES["verilog-eval"]
    assert rule.official(Transcript("", compiled=True, stdout=GOOD, timed_out=True)).code == "T"


V1 = [
    ("", GOOD, "", True),
    ("", BAD, "", False),
    ("a.sv:1: warning: anything\n", GOOD, "", False),  # a warning fails upstream
    ("", GOOD, "x", False),
    ("", "Mismatches:  in  samples", "", False),
    ("", "", "", False),
    ("", BAD + GOOD, "", False),  # the first line decides
    ("", "x " + GOOD, "", True),
]


@pytest.mark.parametrize(("compile_log", "stdout", "stderr", "passed"), V1)
def test_verilog_eval_v1(compile_log: str, stdout: str, stderr: str, passed: bool) -> None:
    rule = RULES["verilog-eval-v1"]
    assert rule.official(Transcript(compile_log, compiled=True, stdout=stdout, stderr=stderr)).passed is passed


RTLLM = [
    ("===========Your Design Passed===========\n", True, True),
    ("=========== Your Design Passed ===========\n", True, True),
    ("all pass here\n", True, False),  # upstream takes the word anywhere, strict wants the bench's line
    ("Test failed\n===========Your Design Passed===========\n", True, False),
    ("===========Your Design Passed===========\n" * 2, True, False),
    ("===========Error===========\n", False, False),
    ("", False, False),
]


@pytest.mark.parametrize(("stdout", "official", "clean"), RTLLM)
def test_rtllm(stdout: str, official: bool, clean: bool) -> None:
    rule, transcript = RULES["rtllm"], Transcript("", compiled=True, stdout=stdout)
    assert rule.official(transcript).passed is official
    assert rule.report(transcript).clean is clean


def test_rtllm_timeout_fails_whatever_was_printed() -> None:
    transcript = Transcript("", compiled=True, stdout="===========Your Design Passed===========\n", timed_out=True)
    assert not RULES["rtllm"].official(transcript).passed


@pytest.mark.parametrize(
    ("stdout", "official", "clean"),
    [
        ("all tests passed\n", True, True),
        ("test 1 failed\n", False, False),
        ("test 2 failed\nall tests passed\n", True, False),
    ],
)
def test_verigen(stdout: str, official: bool, clean: bool) -> None:
    rule, transcript = RULES["verigen"], Transcript("", compiled=True, stdout=stdout)
    assert rule.official(transcript).passed is official
    assert rule.report(transcript).clean is clean
