"""hex_char: all 256 codes against Python's own classes of characters, in order and out of it."""

from __future__ import annotations

import string
from typing import Any

import cocotb
from bench import drive, expect_all, expect_widths, rng, settle

KINDS = {**dict.fromkeys(string.digits, 1), **dict.fromkeys(string.ascii_letters, 2), **dict.fromkeys(" \t\n\v\f\r", 3)}


async def check(dut: Any, code: int) -> None:
    """Apply one character and compare all outputs."""
    character = chr(code)
    upper = character.upper() if character in string.ascii_lowercase else character
    is_hex = character in string.hexdigits
    wanted = {
        "kind": KINDS.get(character, 0),
        "folded": ord(upper),
        "is_hex": int(is_hex),
        "value": int(character, 16) if is_hex else 0,
    }
    drive(dut, code=code)
    await settle(2)
    expect_all(dut, wanted, f"for {code:#04x}")


@cocotb.test()
async def all_codes(dut: Any) -> None:
    """Every code in order."""
    expect_widths(dut, code=8, kind=2, folded=8, is_hex=1, value=4)
    for code in range(256):
        await check(dut, code)


@cocotb.test()
async def shuffled_codes(dut: Any) -> None:
    """Codes of all kinds after one another: nothing is remembered."""
    expect_widths(dut, code=8, kind=2, folded=8, is_hex=1, value=4)
    codes = list(range(256))
    rng("hex_char").shuffle(codes)
    for code in codes:
        await check(dut, code)
