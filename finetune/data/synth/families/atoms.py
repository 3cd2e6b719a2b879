"""Small facts about words, from which designs with several outputs or operations are put together.

Each is a few wordings, the last one held out, an expression of Verilog and a function of Python, written apart from one
another. In the texts ``{y}`` is the output, ``{a}`` and ``{b}`` are words, ``{s}`` is a bit, ``{k}`` a constant, ``{w}`` the
width, ``{t}`` the index of the top bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from finetune.data.synth.design import Names, Outputs, mask, signed
from finetune.data.synth.words import Words

Value = Callable[[int, int, int, int, int], int]  # a, b, s, k, width


@dataclass(frozen=True)
class Atom:
    """One fact.

    Attributes:
        size: width of the result: a bit, the words' own, or one more.
        words: wordings of a whole sentence; the last one is held out.
        code: the expression.
        value: the same as a function.
        short: the result as a noun, for tables; empty where it is none.
        needs: what it reads beside ``a``.
        constant: what ``k`` may be, given the width; None where there is none.
    """

    size: Literal["bit", "word", "wide"]
    words: tuple[str, ...]
    code: str
    value: Value
    short: str = ""
    needs: str = ""
    constant: Callable[[Random, int], int] | None = None

    def say(self, w: Words, texts: Mapping[str, object]) -> str:
        """The sentence."""
        return w.say(*(text.format(**texts) for text in self.words[:-1]), held=self.words[-1].format(**texts))


def _any(rng: Random, width: int) -> int:
    return rng.randint(1, mask(width) - 1)


def _place(rng: Random, width: int) -> int:
    return rng.randrange(width)


def _step(rng: Random, width: int) -> int:
    return rng.randint(1, min(3, width - 1))


FACTS: Mapping[str, Atom] = {
    "zero": Atom("bit", ("`{y}` is 1 when `{a}` is 0", "`{y}` is 1 when `{a}` is zero, otherwise 0", "`{y}` is 1 when no bit of `{a}` is set", "`{y}`: `{a}` is 0", "`{y}` tells that `{a}` is empty"), "{a} == {w}'d0", lambda a, b, s, k, w: int(a == 0)),
    "some": Atom("bit", ("`{y}` is 1 when any bit of `{a}` is set", "`{y}` is 1 when `{a}` is not 0", "`{y}` is 1 when at least one bit of `{a}` is 1, otherwise 0", "`{y}` tells that `{a}` is not empty"), "|{a}", lambda a, b, s, k, w: int(a != 0)),
    "all": Atom("bit", ("`{y}` is 1 when all bits of `{a}` are set", "`{y}` is 1 when every bit of `{a}` is 1, otherwise 0", "`{y}` tells that nothing of `{a}` is 0"), "&{a}", lambda a, b, s, k, w: int(a == mask(w))),
    "odd_ones": Atom("bit", ("`{y}` is 1 when `{a}` has an odd number of ones", "`{y}` is 1 when the number of ones in `{a}` is odd", "`{y}` is the XOR of all bits of `{a}`", "the ones of `{a}` are counted modulo 2 in `{y}`"), "^{a}", lambda a, b, s, k, w: a.bit_count() % 2),
    "odd": Atom("bit", ("`{y}` is 1 when `{a}` is odd", "`{y}` is 1 when the number `{a}` is odd, otherwise 0", "`{y}` is bit 0 of `{a}`", "`{y}` is what remains of `{a}` divided by 2"), "{a}[0]", lambda a, b, s, k, w: a & 1),
    "top": Atom("bit", ("`{y}` is the top bit of `{a}`", "`{y}` is bit {t} of `{a}`", "`{y}` is 1 when `{a}`, as a signed number, is negative", "`{y}` is the sign of `{a}`"), "{a}[{t}]", lambda a, b, s, k, w: a >> (w - 1)),
    "bit": Atom("bit", ("`{y}` is bit {k} of `{a}`", "`{y}` is equal to `{a}[{k}]`", "`{y}` is 1 when bit {k} of `{a}` is set", "`{y}` is taken from `{a}` at place {k}"), "{a}[{k}]", lambda a, b, s, k, w: a >> k & 1, constant=_place),
    "is": Atom("bit", ("`{y}` is 1 when `{a}` is {k}", "`{y}` is 1 when `{a}` equals {k}, otherwise 0", "`{y}` is 1 for `{a}` = {k} only", "`{y}` shows that {k} stands at `{a}`"), "{a} == {w}'d{k}", lambda a, b, s, k, w: int(a == k), constant=_any),
    "above": Atom("bit", ("`{y}` is 1 when `{a}` is greater than {k}", "`{y}` is 1 when `{a}` is more than {k}, otherwise 0", "`{y}` shows that `{a}` is above {k}"), "{a} > {w}'d{k}", lambda a, b, s, k, w: int(a > k), constant=_any),
    "below": Atom("bit", ("`{y}` is 1 when `{a}` is less than {k}", "`{y}` is 1 for values of `{a}` below {k}", "`{y}` shows that {k} is above `{a}`"), "{a} < {w}'d{k}", lambda a, b, s, k, w: int(a < k), constant=_any),
    "least": Atom("bit", ("`{y}` is 1 when `{a}` is at least {k}", "`{y}` is 1 when `{a}` is {k} or more, otherwise 0", "`{y}` shows that `{a}` is not below {k}"), "{a} >= {w}'d{k}", lambda a, b, s, k, w: int(a >= k), constant=_any),
    "power": Atom("bit", ("`{y}` is 1 when exactly one bit of `{a}` is set", "`{y}` is 1 when `{a}` is a power of two", "`{y}` is 1 when `{a}` is one-hot, otherwise 0", "`{y}` tells that a single one is in `{a}`"), "({a} != {w}'d0) && (({a} & ({a} - {w}'d1)) == {w}'d0)", lambda a, b, s, k, w: int(a.bit_count() == 1)),
    "not": Atom("word", ("`{y}` is `{a}` with all bits inverted", "`{y}` is the bitwise inverse of `{a}`", "`{y}` has every bit of `{a}` inverted", "`{y}` is `{a}` turned over bit by bit"), "~{a}", lambda a, b, s, k, w: ~a, "bitwise inverse of `{a}`"),
    "next": Atom("word", ("`{y}` is `{a}` + 1", "`{y}` is `{a}` plus 1, without carry", "`{y}` is the number after `{a}`"), "{a} + {w}'d1", lambda a, b, s, k, w: a + 1, "`{a}` + 1"),
    "before": Atom("word", ("`{y}` is `{a}` - 1", "`{y}` is `{a}` minus 1", "`{y}` is the number before `{a}`"), "{a} - {w}'d1", lambda a, b, s, k, w: a - 1, "`{a}` - 1"),
    "negative": Atom("word", ("`{y}` is 0 minus `{a}`", "`{y}` is the two's complement of `{a}`", "`{y}` is `{a}` with the other sign"), "-{a}", lambda a, b, s, k, w: -a, "0 - `{a}`"),
    "left": Atom("word", ("`{y}` is `{a}` shifted left by {k}", "`{y}` is `{a}` shifted left by {k}, zeros enter at the bottom", "`{y}` is `{a}`, {k} to the left"), "{a} << {k}", lambda a, b, s, k, w: a << k, "`{a}` shifted left by {k}", constant=_step),
    "right": Atom("word", ("`{y}` is `{a}` shifted right by {k}", "`{y}` is `{a}` shifted right by {k}, zeros enter at the top", "`{y}` is `{a}`, {k} to the right"), "{a} >> {k}", lambda a, b, s, k, w: a >> k, "`{a}` shifted right by {k}", constant=_step),
    "lowest": Atom("word", ("`{y}` is `{a}` with only its lowest set bit kept", "`{y}` keeps only the least significant 1 of `{a}`", "`{y}` has the lowest one of `{a}` and nothing else"), "{a} & (~{a} + {w}'d1)", lambda a, b, s, k, w: a & -a),
    "flip": Atom("word", ("`{y}` is `{a}` XOR {k}", "`{y}` is the bitwise exclusive-or of `{a}` and {k}", "`{y}` is `{a}` with the bits of {k} flipped"), "{a} ^ {w}'d{k}", lambda a, b, s, k, w: a ^ k, "`{a}` XOR {k}", constant=_any),
    "plus": Atom("word", ("`{y}` is `{a}` + {k}", "`{y}` is `{a}` plus {k}, {w} bits", "`{y}` is {k} more than `{a}`"), "{a} + {w}'d{k}", lambda a, b, s, k, w: a + k, "`{a}` + {k}", constant=_any),
    "add": Atom("word", ("`{y}` is `{a}` + `{b}`", "`{y}` is the sum of `{a}` and `{b}`, {w} bits", "`{y}` is `{a}` plus `{b}`", "`{a}` and `{b}` together make `{y}`"), "{a} + {b}", lambda a, b, s, k, w: a + b, "`{a}` + `{b}`", "b"),
    "sub": Atom("word", ("`{y}` is `{a}` - `{b}`", "`{y}` is the difference `{a}` minus `{b}`", "`{y}` is `{a}` minus `{b}`", "`{y}` is `{a}` without `{b}`"), "{a} - {b}", lambda a, b, s, k, w: a - b, "`{a}` - `{b}`", "b"),
    "rsub": Atom("word", ("`{y}` is `{b}` - `{a}`", "`{y}` is `{b}` minus `{a}`", "`{y}` is `{b}` without `{a}`"), "{b} - {a}", lambda a, b, s, k, w: b - a, "`{b}` - `{a}`", "b"),
    "and": Atom("word", ("`{y}` is the bitwise AND of `{a}` and `{b}`", "`{y}` is `{a}` AND `{b}`", "`{y}` has the ones that `{a}` and `{b}` share"), "{a} & {b}", lambda a, b, s, k, w: a & b, "bitwise `{a}` and `{b}`", "b"),
    "or": Atom("word", ("`{y}` is the bitwise OR of `{a}` and `{b}`", "`{y}` is `{a}` OR `{b}`", "`{y}` has the ones of both `{a}` and `{b}`"), "{a} | {b}", lambda a, b, s, k, w: a | b, "bitwise `{a}` or `{b}`", "b"),
    "xor": Atom("word", ("`{y}` is the bitwise XOR of `{a}` and `{b}`", "`{y}` is `{a}` XOR `{b}`", "`{y}` has ones where `{a}` and `{b}` differ"), "{a} ^ {b}", lambda a, b, s, k, w: a ^ b, "bitwise `{a}` xor `{b}`", "b"),
    "nand": Atom("word", ("`{y}` is the inverse of `{a}` AND `{b}`", "`{y}` is the bitwise NAND of `{a}` and `{b}`", "`{y}` has zeros only where `{a}` and `{b}` both have ones"), "~({a} & {b})", lambda a, b, s, k, w: ~(a & b), "bitwise `{a}` nand `{b}`", "b"),
    "nor": Atom("word", ("`{y}` is the inverse of `{a}` OR `{b}`", "`{y}` is the bitwise NOR of `{a}` and `{b}`", "`{y}` has ones only where `{a}` and `{b}` both have zeros"), "~({a} | {b})", lambda a, b, s, k, w: ~(a | b), "bitwise `{a}` nor `{b}`", "b"),
    "without": Atom("word", ("`{y}` is `{a}` AND NOT `{b}`", "`{y}` is `{a}` with the bits cleared that are set in `{b}`", "`{y}` is `{a}` less the ones of `{b}`"), "{a} & ~{b}", lambda a, b, s, k, w: a & ~b, "`{a}` and not `{b}`", "b"),
    "larger": Atom("word", ("`{y}` is the larger one of `{a}` and `{b}`", "`{y}` is the maximum of `{a}` and `{b}` (unsigned)", "`{y}` is whichever of `{a}` and `{b}` is more"), "({a} > {b}) ? {a} : {b}", lambda a, b, s, k, w: max(a, b), "larger of `{a}` and `{b}`", "b"),
    "smaller": Atom("word", ("`{y}` is the smaller one of `{a}` and `{b}`", "`{y}` is the minimum of `{a}` and `{b}` (unsigned)", "`{y}` is whichever of `{a}` and `{b}` is less"), "({a} < {b}) ? {a} : {b}", lambda a, b, s, k, w: min(a, b), "smaller of `{a}` and `{b}`", "b"),
    "pass": Atom("word", ("`{y}` is `{b}`", "`{y}` is equal to `{b}`", "`{b}` is passed on to `{y}`"), "{b}", lambda a, b, s, k, w: b, "`{b}`", "b"),
    "same": Atom("bit", ("`{y}` is 1 when `{a}` equals `{b}`", "`{y}` is 1 when `{a}` and `{b}` are equal, otherwise 0", "`{y}`: `{a}` equals `{b}`", "`{y}` tells that `{a}` and `{b}` do not differ"), "{a} == {b}", lambda a, b, s, k, w: int(a == b), needs="b"),
    "less": Atom("bit", ("`{y}` is 1 when `{a}` is less than `{b}`", "`{y}` is 1 when `{a}` is less than `{b}` (unsigned), otherwise 0", "`{y}` is 1 if `{a}` < `{b}`", "`{y}` tells that `{b}` is the larger one"), "{a} < {b}", lambda a, b, s, k, w: int(a < b), needs="b"),
    "more": Atom("bit", ("`{y}` is 1 when `{a}` is greater than `{b}`", "`{y}` is 1 when `{a}` is greater than `{b}` (unsigned), otherwise 0", "`{y}` is 1 if `{a}` > `{b}`", "`{y}` tells that `{a}` is the larger one"), "{a} > {b}", lambda a, b, s, k, w: int(a > b), needs="b"),
    "signed_less": Atom("bit", ("`{y}` is 1 when `{a}` is less than `{b}` as signed numbers", "`{y}` is 1 when the signed number `{a}` is less than the signed number `{b}`", "`{y}` tells, for signed numbers, that `{b}` is the larger one"), "$signed({a}) < $signed({b})", lambda a, b, s, k, w: int(signed(a, w) < signed(b, w)), needs="b"),
    "overlap": Atom("bit", ("`{y}` is 1 when `{a}` and `{b}` have a 1 at the same place", "`{y}` is 1 when `{a}` AND `{b}` is not 0", "`{y}` tells that `{a}` and `{b}` share a one"), "({a} & {b}) != {w}'d0", lambda a, b, s, k, w: int(a & b != 0), needs="b"),
    "carry": Atom("bit", ("`{y}` is the carry of `{a}` + `{b}`", "`{y}` is 1 when `{a}` + `{b}` does not fit into {w} bits", "`{y}` is what `{a}` + `{b}` has beyond {w} bits"), "({{1'b0, {a}}} + {{1'b0, {b}}}) >> {w}", lambda a, b, s, k, w: a + b >> w, needs="b"),
    "gate": Atom("word", ("`{y}` is `{a}` when `{s}` is 1 and 0 when it is 0", "when `{s}` is 1, `{y}` is `{a}`; otherwise it is 0", "`{y}` is `{a}` as long as `{s}` is 1, else 0", "`{s}` lets `{a}` through to `{y}`"), "{s} ? {a} : {w}'d0", lambda a, b, s, k, w: a if s else 0, needs="s"),
    "choose": Atom("word", ("`{y}` is `{b}` when `{s}` is 1 and `{a}` when it is 0", "when `{s}` is 1, `{y}` is `{b}`; otherwise it is `{a}`", "`{s}` chooses for `{y}`: `{a}` with 0, `{b}` with 1", "`{y}` follows `{a}`, or `{b}` if `{s}` is up"), "{s} ? {b} : {a}", lambda a, b, s, k, w: b if s else a, needs="bs"),
    "maybe": Atom("word", ("`{y}` is `{a}`, inverted bit by bit when `{s}` is 1", "when `{s}` is 1, `{y}` is the inverse of `{a}`; otherwise it is `{a}`", "`{s}` turns `{a}` over on its way to `{y}`"), "{s} ? ~{a} : {a}", lambda a, b, s, k, w: ~a if s else a, needs="s"),
    "allowed": Atom("bit", ("`{y}` is 1 when `{s}` is 1 and `{a}` is not 0", "`{y}` is 1 when `{a}` is not 0 and `{s}` is 1, otherwise 0", "`{y}` tells that `{a}` is not empty, if `{s}` lets it"), "{s} && ({a} != {w}'d0)", lambda a, b, s, k, w: int(s and a != 0), needs="s"),
}  # fmt: skip
# Facts that suit a result as flags, and the names that suit them.
FLAGS: Mapping[str, str] = {
    "zero": "zero",
    "top": "neg",
    "odd_ones": "par",
    "odd": "flag",
    "all": "full",
    "some": "any",
}


def flag_texts(word: str, width: int) -> dict[str, object]:
    """What the texts of flags of a word are filled with, but for the flag's own name."""
    return {"a": word, "k": 0, "w": width, "t": width - 1}


def assign_flags(flags: Iterable[str], n: Names, word: str, width: int) -> list[str]:
    """Each flag of a word, assigned."""
    return [f"assign {n[flag]} = {FACTS[flag].code.format(**flag_texts(word, width))};" for flag in flags]


def flag_values(flags: Iterable[str], value: int, width: int) -> Outputs:
    """What the flags of a value are."""
    return {flag: FACTS[flag].value(value, 0, 0, 0, width) for flag in flags}


def constant_of(key: str, rng: Random, width: int) -> int:
    """A constant for a fact; 0 where it has none."""
    draw = FACTS[key].constant
    return 0 if draw is None else draw(rng, width)
