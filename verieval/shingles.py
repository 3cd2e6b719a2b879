"""Short runs of tokens and of words as 64-bit numbers, to find one text in another.

Names in a run of code count by where they occur in it before (Baker's parameterised matching): ``a <= a + b`` and
``q <= q + d`` are the same run, ``q <= d + q`` is another. Only what a vocabulary knows can match, so runs with
anything else in them are left out at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verieval.canonical_tokens import Tok

    Hashes = NDArray[np.uint64]
    Places = NDArray[np.int64]

CODE_RUN = 8  # tokens
WORD_RUN = 6  # words
_WORD = re.compile(r"[^\W_]+|_+")
_NAME = "\0name"


def split_words(text: str) -> list[str]:
    """Words of a text, small letters, without punctuation; underscores part words."""
    return [word for word in _WORD.findall(text.lower()) if word[0] != "_"]


class Vocabulary:
    """The tokens or words that can match, each with a number."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbers = {text: _number(text) for text in {*texts, _NAME}}
        generator = [_number(f"\0factor {place}") | 1 for place in range(2 * max(CODE_RUN, WORD_RUN))]
        self._factors = np.array(generator[::2], dtype=np.uint64)
        self._distances = np.array(generator[1::2], dtype=np.uint64)

    def code(self, tokens: Sequence[Tok]) -> tuple[Hashes, Places]:
        """Runs of :data:`CODE_RUN` tokens: their hashes and where they start, in order, unknown ones left out."""
        count = len(tokens) - CODE_RUN + 1
        if count <= 0:
            return _nothing()
        get, name = self._numbers.get, self._numbers[_NAME]
        last: dict[str, int] = {}
        numbers: list[int] = []
        distances: list[int] = []
        for place, (kind, text) in enumerate(tokens):
            if kind == "name":
                numbers.append(name)
                distances.append(place - last[text] if text in last else 0)
                last[text] = place
            else:
                numbers.append(get(text, 0))
                distances.append(0)
        values = np.array(numbers, dtype=np.uint64)
        backs = np.array(distances, dtype=np.uint64)
        hashes = np.zeros(count, dtype=np.uint64)
        for place in range(CODE_RUN):
            hashes += values[place : place + count] * self._factors[place]
            inside = backs[place : place + count]
            hashes += np.where(inside <= place, inside, np.uint64(0)) * self._distances[place]
        return _known(hashes, values, CODE_RUN)

    def words(self, words: Sequence[str]) -> tuple[Hashes, Places]:
        """Runs of :data:`WORD_RUN` words, as :meth:`code` has them."""
        count = len(words) - WORD_RUN + 1
        if count <= 0:
            return _nothing()
        get = self._numbers.get
        values = np.array([get(word, 0) for word in words], dtype=np.uint64)
        hashes = np.zeros(count, dtype=np.uint64)
        for place in range(WORD_RUN):
            hashes += values[place : place + count] * self._factors[place]
        return _known(hashes, values, WORD_RUN)


class Finder:
    """Which of many sets of runs share runs with a text: an inverted index, as two sorted arrays."""

    def __init__(self, sets: Sequence[Hashes]) -> None:
        self.sizes = np.array([len(each) for each in sets], dtype=np.int64)
        hashes = np.concatenate([*sets, np.zeros(0, np.uint64)])
        owners = np.repeat(np.arange(len(sets), dtype=np.int64), self.sizes)
        order = np.argsort(hashes, kind="stable")
        self._owners = owners[order]
        self._keys, self._starts = np.unique(hashes[order], return_index=True)
        self._ends = np.append(self._starts[1:], len(hashes))

    def find(self, hashes: Hashes, places: Places) -> tuple[NDArray[np.int64], Places, NDArray[np.int64]]:
        """Return what matches: key index and place of each run of the text that is in any set, and counts by set.

        A run that the text has several times counts once.
        """
        at = np.minimum(np.searchsorted(self._keys, hashes), max(len(self._keys) - 1, 0))
        hit = self._keys[at] == hashes if len(self._keys) else np.zeros(len(hashes), dtype=bool)
        keys, places = at[hit], places[hit]
        return keys, places, np.bincount(self._owners_of(np.unique(keys))[0], minlength=len(self.sizes))

    def _owners_of(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every owner of every key, and for each the position of its key in ``keys``."""
        lengths = self._ends[keys] - self._starts[keys]
        which = np.repeat(np.arange(len(keys), dtype=np.int64), lengths)
        offsets = np.arange(len(which), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self._owners[self._starts[keys][which] + offsets], which

    def local(self, owner: int, keys: NDArray[np.int64], places: Places, width: int) -> tuple[int, int]:
        """Most runs of one set that start within ``width`` of the text, and where that stretch starts."""
        owners, which = self._owners_of(keys)
        mine = which[owners == owner]
        best, where, first = 0, 0, 0
        inside: dict[int, int] = {}
        chosen, starts = keys[mine].tolist(), places[mine].tolist()
        for last, key in enumerate(chosen):
            inside[key] = inside.get(key, 0) + 1
            while starts[last] - starts[first] >= width:
                old = chosen[first]
                inside[old] -= 1
                if not inside[old]:
                    del inside[old]
                first += 1
            if len(inside) > best:
                best, where = len(inside), starts[first]
        return best, where


def _number(text: str) -> int:
    """A number other than 0, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1


def _nothing() -> tuple[Hashes, Places]:
    return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)


def _known(hashes: Hashes, values: Hashes, run: int) -> tuple[Hashes, Places]:
    """Runs in which nothing is unknown."""
    unknown = np.concatenate([[0], np.cumsum(values == 0)])
    places = np.flatnonzero(unknown[run:] == unknown[: len(unknown) - run])
    return hashes[places], places
