"""What a mistyped name was perhaps meant to be: one place, so that no message guesses more wildly than another."""

from __future__ import annotations

from collections.abc import Collection

_LETTERS = 5  # of a word for each slip of the keyboard
_MOST = 3


def closest(word: str, known: Collection[str]) -> str | None:
    """The one known name that a user can have meant, or None; a far-fetched guess is worse than none.

    That is a name which differs in a few letters: one in a word of up to nine, three at the most, where two letters
    in the wrong order count as one, and upper case counts for nothing. Names of a benchmark have most of their
    letters in common, so that a share of equal letters would say little. Otherwise it is the only name that begins
    with the word.
    """
    typed = word.lower()
    allowed = max(1, min(_MOST, len(typed) // _LETTERS))
    near = [(_distance(typed, name.lower()), name) for name in known if abs(len(name) - len(typed)) <= allowed]
    if near and (best := min(near))[0] <= allowed < len(typed):
        return best[1]
    begun = [name for name in known if len(typed) > 2 and name.lower().startswith(typed)]
    return begun[0] if len(begun) == 1 else None


def did_you_mean(word: str, known: Collection[str]) -> str:
    """``; did you mean 'x'``, or nothing."""
    found = closest(word, known)
    return "" if found is None else f"; did you mean '{found}'"


def _distance(a: str, b: str) -> int:
    """Letters to insert, drop, replace or swap with the next (the restricted Damerau-Levenshtein distance)."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        before, above, row = row, before, [i]
        for j, right in enumerate(b, start=1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]
