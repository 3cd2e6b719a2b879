"""Other values for a number, written as the number was."""

from __future__ import annotations

import re

_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}
_FORMATS = {"b": "b", "o": "o", "d": "d", "h": "x"}
_VECTOR = re.compile(r"(?P<size>\d[\d_]*)?\s*(?P<base>'[sS]?[bBoOdDhH])\s*(?P<digits>[0-9a-fA-FxXzZ?_]+)")
_FILLS = {"'0": "'1", "'1": "'0"}
_MOST_BITS = 4096


def others(text: str, *, flip: bool = False) -> list[str]:
    """Other numbers, near the one in ``text``; none where it is X or Z through and through, or no number.

    Args:
        text: an integer literal: ``12``, ``4'b1?01``, ``'1``.
        flip: the lowest bit inverted, then all bits, in place of the next number and the one before.
    """
    text = text.strip()
    if text in _FILLS:
        return [_FILLS[text]]
    if re.fullmatch(r"\d[\d_]*", text):
        value = int(text.replace("_", ""))
        return [str(value ^ 1)] if flip else [str(value + 1), *([str(value - 1)] if value else [])]
    match = _VECTOR.fullmatch(text)
    if match is None:
        return []
    base, digits = match["base"][-1].lower(), match["digits"].replace("_", "").lower()
    if set(digits) & set("xz?"):
        return [f"{match['size'] or ''}{match['base']}{new}" for new in _flipped_digit(base, digits)]
    width = int((match["size"] or "32").replace("_", ""))
    if not 0 < width <= _MOST_BITS:
        return []
    value = int(digits, _BASES[base])
    full = (1 << width) - 1
    values = (value ^ 1, value ^ full) if flip else (value + 1 & full, value - 1 & full)
    chosen = dict.fromkeys(new for new in values if new != value)
    return [f"{match['size'] or ''}{match['base']}{_written(new, base, width, digits)}" for new in chosen]


def _written(value: int, base: str, width: int, digits: str) -> str:
    """As many digits as there were, so that a reader sees what changed."""
    text = format(value, _FORMATS[base])
    return text if base == "d" else text.rjust(min(len(digits), width), "0")


def _flipped_digit(base: str, digits: str) -> list[str]:
    """The lowest known binary digit inverted, in a number that has unknown ones."""
    if base != "b":
        return []
    for position in range(len(digits) - 1, -1, -1):
        if digits[position] in "01":
            return [digits[:position] + ("1" if digits[position] == "0" else "0") + digits[position + 1 :]]
    return []


def is_unknown(text: str) -> bool:
    """A literal of nothing but X, Z or ``?``: it says that the value does not matter."""
    text = text.strip().lower()
    if text in ("'x", "'z"):
        return True
    match = _VECTOR.fullmatch(text)
    return match is not None and not set(match["digits"].replace("_", "").lower()) - set("xz?")
