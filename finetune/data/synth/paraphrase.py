"""The same said in other words: sentences of the families rewritten phrase by phrase, so that few are ever said alike.

A rule replaces a phrase wherever it stands outside of names (which stand in backticks) by one that means the same in
any sentence. What is held out for the split ``wording`` is never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from finetune.data.synth.design import Spec

_CHANCE = 0.45  # that a rule rewrites what it matches
_TURNED = 0.3  # that "when a, b" becomes "b when a", and the reverse
_BEGUN = 0.05  # that a sentence begins with an empty phrase
_NAME = r"`[^`]+`"
_VALUE = rf"(?:{_NAME}(?: [-+] (?:\d+|{_NAME}))?|\d+)"

# A pattern, and what may stand in its place; \1 and so on are what its groups matched.
_RULES: Sequence[tuple[str, tuple[str, ...]]] = (
    # Levels and conditions.
    (r"\bis 1 when\b", ("is 1 if", "is high when", "is set when", "goes high when", "equals 1 when", "is 1 whenever",
                        "is true when", "reads 1 when", "is 1 exactly when")),
    (r"\bis 0 when\b", ("is 0 if", "is low when", "is cleared when", "equals 0 when", "is 0 whenever", "reads 0 when")),
    (r"\bis 1 exactly when\b", ("is 1 if and only if", "is 1 when")),
    (r"\bis 1 for\b", ("is high for", "equals 1 for", "is set for")),
    (r", otherwise 0\b", (" and 0 otherwise", ", else 0", "; otherwise it is 0", ", and 0 in all other cases")),
    (r"\b(?<!and )otherwise (?=it |`)", ("else ", "in all other cases ", "in any other case ", "if not, ")),
    (r"(?<!exactly )(?<!only )(?<!and )\bwhen\b", ("if", "whenever", "in case")),
    (r"\bif\b", ("when",)),
    (r"\bas long as\b", ("while", "for as long as")),
    # Comparison.
    (rf"\bequals (?={_VALUE})", ("is equal to ", "is the same as ", "is exactly ")),
    (r"\bis equal to\b", ("equals", "is the same as")),
    (r"\bis greater than\b", ("is larger than", "is more than", "exceeds", "is above", "is bigger than")),
    (r"\bis less than\b", ("is smaller than", "is below", "is under", "is lower than")),
    (rf"\bis at least ({_VALUE})", (r"is \1 or more", r"is not less than \1", r"is greater than or equal to \1")),
    (rf"\bis at most ({_VALUE})", (r"is \1 or less", r"is not more than \1", r"is less than or equal to \1")),
    (rf"\bis ({_VALUE}) or more\b", (r"is at least \1", r"is greater than or equal to \1")),
    # Arithmetic.
    (rf"\bthe sum of ({_NAME}) and ({_NAME})", (r"\1 plus \2", r"\1 + \2", r"the total of \1 and \2")),
    (rf"\bthe difference ({_NAME}) minus ({_NAME})", (r"\1 - \2", r"\1 less \2")),
    (rf"({_NAME}) minus ({_NAME})", (r"\1 - \2", r"\2 subtracted from \1")),
    (rf"({_NAME}) plus ({_NAME})", (r"\1 + \2", r"\1 and \2 added up")),
    (r"\bgoes up by 1\b", ("is incremented", "increases by 1", "increments", "rises by one", "counts one up")),
    (r"\bgoes down by 1\b", ("is decremented", "decreases by 1", "decrements", "falls by one", "counts one down")),
    (r"\bis incremented\b", ("goes up by 1", "increases by 1", "is increased by one")),
    (r"\bis decremented\b", ("goes down by 1", "decreases by 1", "is decreased by one")),
    (rf"\bis added to ({_NAME})", (r"is summed into \1", r"is accumulated in \1")),
    # Bits.
    (r"\b(shifted|rotated) (left|right) by one\b", (r"\1 by one to the \2", r"\1 one bit \2", r"\1 one place to the \2",
                                                   r"\1 by one bit to the \2")),
    (r"\bthe lowest set bit\b", ("the least significant set bit", "the lowest 1", "the lowest bit that is 1")),
    (r"\bthe highest set bit\b", ("the most significant set bit", "the highest 1", "the topmost bit that is 1")),
    (r"\bthe top bit\b", ("the most significant bit", "the highest bit", "the MSB", "the uppermost bit")),
    (rf"\bbit 0 of (?={_NAME})", ("the lowest bit of ", "the least significant bit of ", "the LSB of ")),
    (r"\b(?:enters|comes in) at bit (\d+)", (r"is shifted into bit \1", r"moves into bit \1", r"fills bit \1")),
    (rf"({_NAME}) XOR ({_NAME}|\d+)", (r"\1 exclusive-or \2", r"\1 xor \2", r"\1 ^ \2")),
    (rf"({_NAME}) AND ({_NAME}|\d+)", (r"\1 and-ed with \2", r"\1 & \2")),
    (rf"({_NAME}) OR ({_NAME}|\d+)", (r"\1 or-ed with \2", r"\1 | \2")),
    (rf"\bthe bitwise (AND|OR|XOR) of ({_NAME}) and ({_NAME})", (r"\2 \1 \3, bit by bit", r"\2 \1 \3 (bitwise)")),
    (r"\bXOR of\b", ("exclusive-or of", "xor of")),
    (r"\binverse of\b", ("complement of", "negation of", "opposite of")),
    (r"\binverted\b", ("complemented", "negated", "flipped")),
    (r"\ball others are 0\b", ("every other bit is 0", "the rest are 0", "the others are 0")),
    # Registers and time.
    (r"\b(at|on) (each|every|a|the) rising edge of", (r"\1 \2 positive edge of", r"on \2 rising edge of",
                                                     r"at \2 rising edge of", r"with \2 rising edge of")),
    (r"\brising clock edge\b", ("positive clock edge", "rising edge of the clock", "active clock edge")),
    (rf"\bbecomes (?={_NAME}|\d)", ("takes the value ", "is set to ", "changes to ", "gets ", "is loaded with ")),
    (rf"\btakes (?={_NAME}|\d)", ("becomes ", "receives ", "is loaded with ", "stores ")),
    (r"\bis set to\b", ("becomes", "is put to", "changes to")),
    (r"\b(?:keeps its value|is unchanged|stays as it is)\b", ("does not change", "remains as it was", "is left alone",
                                                             "retains its value", "stays the same", "is held")),
    (r"\bis written to\b", ("is stored in", "is saved to", "goes to")),
    (r"\bis stored at\b", ("is written to", "is saved at")),
    (r"\bclock cycles\b", ("cycles", "clock periods", "clocks")),
    # Verbs of what a design does.
    (r"\bcomputes\b", ("calculates", "works out", "determines", "produces")),
    (r"\bfinds\b", ("determines", "locates", "searches for")),
    (r"\bdetects\b", ("recognises", "spots", "finds")),
    (r"\bchooses\b", ("selects", "picks")),
    (r"\bselects\b", ("chooses", "picks")),
    (r"\bconverts\b", ("translates", "transforms")),
    (r"\bsays whether\b", ("shows whether", "indicates whether", "tells whether", "reports whether")),
    (r"\btells whether\b", ("shows whether", "indicates whether", "says whether", "signals whether")),
    (r"\bis the number of\b", ("counts", "gives the number of", "shows the number of", "tells the number of")),
    (r"\bfollows\b", ("tracks",)),
    (r"\bin the order of arrival\b", ("in this order", "one after the other", "first to last")),
    (r"\bindependently of the clock\b", ("whatever the clock does", "without a clock edge")),
    (r"\bcircuit\b", ("block", "unit", "piece of logic")),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), options) for pattern, options in _RULES)
_BEFORE = re.compile(r"^(?:when|if|whenever|in case) ([^,;:()]+), ([^,;:]+)$", re.IGNORECASE)
_AFTER = re.compile(r"^([^,;:]+?) (?:when|if|whenever|in case) ([^,;:]+)$")
_BOUND = re.compile(r"and only|exactly$|only$|but$")  # what belongs to the condition after it
_EMPTY = ("note that ", "here, ", "in detail: ", "as for the function, ")


def rephrase(text: str, rng: Random) -> str:
    """One sentence, or a part of one, in other words."""
    for pattern, options in _COMPILED:
        text = pattern.sub(lambda found, options=options: _chosen(found, options, rng), text)  # type: ignore[misc]
    if rng.random() < _TURNED:
        text = _turned(text, rng)
    return text


def rephrased(spec: Spec, rng: Random) -> Spec:
    """A description with its sentences in other words; notes and tables stay."""
    facts = tuple(_begun(rephrase(fact, rng), rng) for fact in spec.facts)
    rules = tuple((rephrase(condition, rng), rephrase(action, rng)) for condition, action in spec.rules)
    return replace(
        spec,
        noun=rephrase(spec.noun, rng),
        verb=rephrase(spec.verb, rng),
        facts=facts,
        rules=rules,
        reset=rephrase(spec.reset, rng),
    )


def _chosen(found: re.Match[str], options: Sequence[str], rng: Random) -> str:
    if rng.random() >= _CHANCE or _inside_name(found):
        return found[0]
    return found.expand(rng.choice(options))


def _inside_name(found: re.Match[str]) -> bool:
    return found.string.count("`", 0, found.start()) % 2 == 1


def _turned(text: str, rng: Random) -> str:
    before = _BEFORE.match(text)
    if before:
        return f"{before[2]} {rng.choice(('when', 'if'))} {before[1]}"
    after = _AFTER.match(text)
    if after and "otherwise" not in text and not _BOUND.search(after[1]):
        return f"{rng.choice(('when', 'if', 'whenever'))} {after[2]}, {after[1]}"
    return text


def _begun(text: str, rng: Random) -> str:
    """With a phrase before it that says nothing."""
    if not text or rng.random() >= _BEGUN:
        return text
    head = text[0].lower() + text[1:]
    return rng.choice(_EMPTY) + head
