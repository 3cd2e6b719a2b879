"""weighted_vote: all 1,024 cases, split in two, against sums over the members."""

from __future__ import annotations

from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

WEIGHTS = (1, 1, 2, 3, 5)


async def check(dut: Any, present: int, ballot: int) -> None:
    """Apply one vote and compare all outputs."""
    here = [(weight, ballot >> i & 1) for i, weight in enumerate(WEIGHTS) if present >> i & 1]
    yes = sum(weight for weight, vote in here if vote)
    no = sum(weight for weight, vote in here if not vote)
    quorum = yes + no >= 7
    wanted = {
        "yes": yes, "no": no,
        "quorum": int(quorum), "carried": int(quorum and yes > no), "tie": int(quorum and yes == no),
    }  # fmt: skip
    drive(dut, present=present, ballot=ballot)
    await settle(2)
    expect_all(dut, wanted, f"for present={present:05b} ballot={ballot:05b}")


def start(dut: Any) -> None:
    """Look at the ports before anything else."""
    expect_widths(dut, present=5, ballot=5, yes=4, no=4, quorum=1, carried=1, tie=1)


@cocotb.test()
async def members(dut: Any) -> None:
    """Each member alone, present or missing, for and against; votes of those who are not there."""
    start(dut)
    for i in range(5):
        for ballot in (0, 31, 1 << i, 31 ^ 1 << i):
            await check(dut, 1 << i, ballot)
            await check(dut, 31 ^ 1 << i, ballot)


@cocotb.test()
async def full_house(dut: Any) -> None:
    """Every ballot with all members present, and with the least quorums."""
    start(dut)
    for present in (31, 0b10100, 0b01111, 0b11000, 0b10011):
        for ballot in range(32):
            await check(dut, present, ballot)


@cocotb.test()
async def any_votes(dut: Any) -> None:
    """Every second case, in a random order."""
    start(dut)
    cases = list(range(1024))
    rng("weighted_vote").shuffle(cases)
    for case in cases[:512]:
        await check(dut, case >> 5, case & 31)
