"""Which rows share a sequence, and which sequences an optimizer step has: from lengths and a seed alone.

Nothing here looks at tokens, so that any step of a run can be found again without the steps before it.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verieval.errors import VerievalError

WINDOW = 4096  # rows that are packed together; enough for full sequences, and few enough to keep the order random


def pack(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Put rows into as few sequences as best-fit decreasing finds; no row is split.

    Best-fit decreasing needs at most 11/9 of the optimum's sequences and one more (Johnson, 1973).

    Args:
        lengths: tokens of each row.
        capacity: tokens of a sequence.

    Returns:
        Indices of the rows of each sequence; every row is in exactly one.

    Raises:
        VerievalError: a row is longer than a sequence.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    if order and lengths[order[0]] > capacity:
        raise VerievalError(f"a row of {lengths[order[0]]} tokens does not fit into a sequence of {capacity}")
    sequences: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (tokens left, sequence), increasing
    for index in order:
        place = bisect.bisect_left(room, (lengths[index], -1))
        if place == len(room):
            left, sequence = capacity, len(sequences)
            sequences.append([])
        else:
            left, sequence = room.pop(place)
        sequences[sequence].append(index)
        bisect.insort(room, (left - lengths[index], sequence))
    return sequences


@dataclass(frozen=True)
class Plan:
    """The sequences of every optimizer step of one epoch.

    Attributes:
        steps: for each step its sequences, each a tuple of row numbers. The last step may have fewer sequences.
        capacity: tokens of a sequence.
    """

    steps: tuple[tuple[tuple[int, ...], ...], ...]
    capacity: int

    def utilisation(self, lengths: Sequence[int]) -> float:
        """Share of the positions that hold a token of a row, in [0, 1]."""
        sequences = [sequence for step in self.steps for sequence in step]
        used = sum(lengths[row] for sequence in sequences for row in sequence)
        return used / (len(sequences) * self.capacity) if sequences else 0.0


def plan_epoch(
    lengths: Sequence[int], *, capacity: int, batch: int, seed: int, epoch: int, packing: bool = True
) -> Plan:
    """Shuffle the rows, pack them a window at a time, shuffle the sequences, and cut them into steps.

    Args:
        lengths: tokens of each row.
        capacity: tokens of a sequence.
        batch: sequences of a step.
        seed: of the order; the same seed and epoch give the same plan.
        epoch: counted from 0.
        packing: without it every row has a sequence of its own.

    Raises:
        VerievalError: a row is longer than a sequence.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(lengths)).tolist()
    sequences: list[tuple[int, ...]] = []
    for start in range(0, len(order), WINDOW):
        window = order[start : start + WINDOW]
        packed = pack([lengths[row] for row in window], capacity)
        sequences += [tuple(window[index] for index in sequence) for sequence in packed]
        if not packing:
            del sequences[start:]
            sequences += [(row,) for row in window]
    shuffled = [sequences[index] for index in random.permutation(len(sequences))]
    return Plan(tuple(tuple(shuffled[start : start + batch]) for start in range(0, len(shuffled), batch)), capacity)
