"""Suggestions: what is a slip of the keyboard, and what is another name."""

from __future__ import annotations

import pytest

from verieval import benchmarks
from verieval.suggest import _distance, closest

CVDP = ["cvdp_copilot_lfsr_0001", "cvdp_copilot_fifo_0002", "cvdp_agentic_fixed_arbiter_0001"]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("rtlm", benchmarks.names(), "rtllm"),
        ("RTLLM", benchmarks.names(), "rtllm"),
        ("cvdp-nonagentic", benchmarks.names(), "cvdp:nonagentic"),
        ("verieavl", benchmarks.names(), "verieval"),
        ("Prob001", ["Prob001_zero", "Prob002_m2014_q4i"], "Prob001_zero"),
        ("cvdp_copilot_lsfr_0001", CVDP, "cvdp_copilot_lfsr_0001"),
        # Names of one family are alike without being meant.
        ("cvdp_copilot_uart_0007", CVDP, None),
        ("cvdp_copilot", CVDP, None),
        ("Prob099_gray", ["Prob001_zero", "Prob002_m2014_q4i"], None),
        ("verilog", benchmarks.names(), None),
        ("humaneval", benchmarks.names(), None),
        ("fifo", ["gray_code", "fir_filter", "uart"], None),
        ("x", ["a", "y"], None),
        ("", ["a", "abc"], None),
    ],
)
def test_only_what_can_have_been_meant(word: str, known: list[str], meant: str | None) -> None:
    assert closest(word, known) == meant


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    # The usual examples of the distance; CA and ABC are three apart in its restricted form alone.
    [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("ca", "abc", 3), ("ab", "ba", 1), ("", "abc", 3)],
)
def test_distance(a: str, b: str, distance: int) -> None:
    assert _distance(a, b) == _distance(b, a) == distance
