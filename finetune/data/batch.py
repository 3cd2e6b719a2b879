"""Rows of token ids with their roles, and the fixed-shape arrays that both backends receive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verieval.errors import VerievalError

# Who says a token: the turn markers and the generation prompt, or the content of a turn. The marker that ends the
# assistant's turn is the assistant's.
ROLES = ("template", "system", "user", "assistant")
ASSISTANT = ROLES.index("assistant")

IntArray = NDArray[np.int32]


class Kind(IntEnum):
    """What the target of a position is."""

    NONE = 0
    PROMPT = 1
    RESPONSE = 2


@dataclass(frozen=True)
class TokenRow:
    """One conversation as tokens.

    Attributes:
        name: where it comes from, for messages: ``FILE:LINE``.
        ids: shape (length,), int32.
        roles: index into :data:`ROLES` of each token; shape (length,), uint8.
    """

    name: str
    ids: IntArray
    roles: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.ids.shape != self.roles.shape or self.ids.ndim != 1:
            raise ValueError(f"{self.name}: {self.ids.shape} ids and {self.roles.shape} roles")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def supervised(self) -> int:
        """Number of response tokens that are predicted; the first token of a row has nothing before it."""
        return int((self.roles[1:] == ASSISTANT).sum())


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences of one length; a sequence holds one row or several, then padding.

    All arrays have the shape (sequences, length).

    Attributes:
        ids: token ids; padding is the pad token.
        positions: from 0 in every row, and in the padding.
        segments: number of the row within its sequence, from 1; 0 is padding. Attention never crosses a segment.
        targets: the next token of the same row; 0 where there is none.
        target_roles: 1 + role of the target; 0 where there is none (padding, the last token of a row).
    """

    ids: IntArray
    positions: IntArray
    segments: IntArray
    targets: IntArray
    target_roles: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """:class:`Kind` of every target."""
        kinds = np.where(self.target_roles == ASSISTANT + 1, Kind.RESPONSE, Kind.PROMPT)
        return np.where(self.target_roles == 0, Kind.NONE, kinds).astype(np.uint8)

    @property
    def tokens(self) -> int:
        """Positions that are not padding."""
        return int((self.segments > 0).sum())

    def examples(self) -> IntArray:
        """Number of the row over the whole batch, from 1; 0 is padding."""
        most = self.segments.max(axis=1, initial=0)
        before = np.cumsum(most) - most
        return np.where(self.segments > 0, self.segments + before[:, None], 0).astype(np.int32)

    def part(self, start: int, stop: int) -> Batch:
        """Sequences ``start`` to ``stop``."""
        return replace(
            self,
            **{name: getattr(self, name)[start:stop] for name in _ARRAYS},
        )

    def split(self, size: int) -> Iterator[Batch]:
        """Micro-batches of ``size`` sequences, in order; the last may be smaller."""
        for start in range(0, len(self), size):
            yield self.part(start, start + size)

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """The sequences of several batches, in order; shorter ones are padded to the longest."""
        length = max(batch.ids.shape[1] for batch in batches)
        padded = [batch._widened(length) for batch in batches]
        return Batch(**{name: np.concatenate([getattr(batch, name) for batch in padded]) for name in _ARRAYS})

    def _widened(self, length: int) -> Batch:
        extra = length - self.ids.shape[1]
        if not extra:
            return self
        return Batch(**{name: np.pad(getattr(self, name), ((0, 0), (0, extra))) for name in _ARRAYS})


_ARRAYS = ("ids", "positions", "segments", "targets", "target_roles")


def collate(sequences: Sequence[Sequence[TokenRow]], length: int, pad: int = 0) -> Batch:
    """Lay rows into sequences.

    Args:
        sequences: the rows of each sequence, in order; an empty one is all padding.
        length: of every sequence.
        pad: id of the padding.

    Raises:
        VerievalError: the rows of a sequence are longer than it.
    """
    shape = (len(sequences), length)
    ids = np.full(shape, pad, dtype=np.int32)
    positions, segments, targets = (np.zeros(shape, dtype=np.int32) for _ in range(3))
    target_roles = np.zeros(shape, dtype=np.uint8)
    for index, rows in enumerate(sequences):
        end = 0
        for number, row in enumerate(rows, start=1):
            start, end = end, end + len(row)
            if end > length:
                raise VerievalError(
                    f"{row.name} does not fit: {end} tokens in a sequence of {length}; lower data.max_tokens"
                )
            ids[index, start:end] = row.ids
            positions[index, start:end] = np.arange(len(row))
            segments[index, start:end] = number
            targets[index, start : end - 1] = row.ids[1:]
            target_roles[index, start : end - 1] = row.roles[1:] + 1
        positions[index, end:] = np.arange(length - end)
    return Batch(ids, positions, segments, targets, target_roles)
