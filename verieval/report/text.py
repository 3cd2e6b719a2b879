"""Text that comes from data, made safe to show."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text with everything that a terminal would obey, or could not show, escaped: it may be a model's."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )
