"""Wording: alternatives for what every description says, and the ways in which a description is laid out.

Every choice is between what training may use and one wording that is held out: it is never used in training, and always
in the split ``wording``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from random import Random

from finetune.data.synth.design import Family, Names, Spec
from finetune.data.synth.paraphrase import rephrased

LAYOUTS = ("suite", "suite", "suite", "suite", "bullets", "bullets", "prose", "prose", "table", "lines")


class Words:
    """A source of wordings.

    Attributes:
        rng: source of randomness.
        held: use held-out wordings wherever there is one.
        held_used: how many were used.
    """

    def __init__(self, rng: Random, *, held: bool = False) -> None:
        self.rng = rng
        self.held = held
        self.held_used = 0

    def say(self, *options: str, held: str = "") -> str:
        """One of several wordings of the same."""
        if self.held and held:
            self.held_used += 1
            return held
        return self.rng.choice(options)

    # ---- phrases that many families share

    def a(self, noun: str) -> str:
        """A noun with its article."""
        return f"{'an' if noun[0] in 'aeiou' or noun.startswith(('8', '11-', '18-')) else 'a'} {noun}"

    def one(self, name: str) -> str:
        """A one-bit signal is 1."""
        return self.say(
            f"`{name}` is 1",
            f"`{name}` is 1",
            f"`{name}` is 1",
            f"`{name}` = 1",
            f"`{name}` = 1",
            f"`{name}` is high",
            f"`{name}` is set",
            f"`{name}` is active",
            f"`{name}` equals 1",
            f"`{name}` is at 1",
            f"`{name}` is true",
            held=f"`{name}` is asserted",
        )

    def nought(self, name: str) -> str:
        """A one-bit signal is 0."""
        return self.say(
            f"`{name}` is 0",
            f"`{name}` is 0",
            f"`{name}` is 0",
            f"`{name}` = 0",
            f"`{name}` = 0",
            f"`{name}` is low",
            f"`{name}` is not set",
            f"`{name}` is not 1",
            f"`{name}` equals 0",
            f"`{name}` is inactive",
            held=f"`{name}` is deasserted",
        )

    def when(self) -> str:
        """A condition follows."""
        return self.say("when", "when", "when", "if", "if", "while", "whenever", "as long as", "in case")

    def bits(self, width: int) -> str:
        """A width, as an attribute."""
        return f"{width}-bit"

    def becomes(self, name: str, value: str) -> str:
        """A register takes a value at the edge."""
        return self.say(
            f"`{name}` becomes {value}",
            f"`{name}` becomes {value}",
            f"`{name}` takes {value}",
            f"`{name}` is set to {value}",
            f"`{name}` gets {value}",
            f"`{name}` is loaded with {value}",
            f"`{name}` changes to {value}",
            f"`{name}` takes the value {value}",
            f"`{name}` receives {value}",
            f"{value} is stored in `{name}`",
            f"the new value of `{name}` is {value}",
            held=f"{value} goes into `{name}`",
        )

    def keeps(self, name: str) -> str:
        """A register stays as it is."""
        return self.say(
            f"`{name}` keeps its value",
            f"`{name}` is unchanged",
            f"`{name}` stays as it is",
            f"`{name}` holds",
            f"`{name}` holds its value",
            f"`{name}` does not change",
            f"`{name}` remains unchanged",
            f"`{name}` retains its value",
            f"`{name}` is left alone",
            f"`{name}` stays the same",
            held=f"nothing happens to `{name}`",
        )

    def edge(self, clk: str) -> str:
        """At the rising edge."""
        return self.say(
            f"at each rising edge of `{clk}`",
            f"at every rising edge of `{clk}`",
            f"on each rising edge of `{clk}`",
            "at each rising clock edge",
            f"on the positive edge of `{clk}`",
            f"at the rising edge of `{clk}`",
            f"at a rising edge of `{clk}`",
            f"on every rising edge of `{clk}`",
            f"on every positive edge of `{clk}`",
            "on each rising clock edge",
            "at every positive clock edge",
            f"with each rising edge of `{clk}`",
            held=f"each time `{clk}` goes up",
        )

    def indexed(self, low: str, high: str) -> str:
        """A range, both ends included."""
        return self.say(f"{low} to {high}", f"from {low} to {high}", f"between {low} and {high}")

    def join(self, sentences: Sequence[str]) -> str:
        """Sentences in a row."""
        return " ".join(sentence(text) for text in sentences)


def sentence(text: str) -> str:
    """With a capital at the start and a full stop at the end."""
    text = text.strip()
    start = text[0].upper() + text[1:] if text[:1].islower() else text
    return start if start.endswith((".", ":")) else start + "."


def describe(family: Family, n: Names, rng: Random, *, held: bool = False) -> tuple[str, int]:
    """A description of a design and how many held-out wordings are in it."""
    words = Words(rng, held=held)
    spec = family.describe(n, words)
    if not held:
        spec = rephrased(spec, rng)
    layout = rng.choice(LAYOUTS)
    text = {"suite": _suite, "bullets": _bullets, "prose": _prose, "table": _table, "lines": _lines}[layout](
        family, n, words, spec
    )
    if layout != "suite" and rng.random() < 0.3:
        text = text.replace("`", "")
    return text, words.held_used


def _opening(family: Family, n: Names, w: Words, spec: Spec) -> str:
    name = n["module"]
    kind = "" if family.clocked else w.say("combinational ", "combinational ", "")
    noun, verb = spec.noun, spec.verb
    if w.rng.random() < 0.5:
        return w.say(
            f"Write a {kind}module named `{name}`: {noun}.",
            f"Write a {kind}module `{name}`, {noun}.",
            f"Design {noun}.",
            f"Implement {noun} as the module `{name}`.",
            f"{sentence(noun)}",
            f"The module `{name}` is {noun}.",
            f"Build {noun}.",
            f"Create a {kind}module `{name}`: {noun}.",
            f"Describe {noun} in Verilog; call the module `{name}`.",
            f"Please write {noun}.",
            f"We need {noun}. The module is called `{name}`.",
            f"Your task: {noun}, as the {kind}module `{name}`.",
            f"The {kind}module `{name}` implements {noun}.",
            f"This is the specification of `{name}`, {noun}.",
            f"`{name}`: {noun}.",
            held=f"What is wanted is {noun}, under the name `{name}`.",
        )
    return w.say(
        f"Write a {kind}module named `{name}` that {verb}.",
        f"Write a {kind}module `{name}` that {verb}.",
        f"`{name}` {verb}.",
        f"Design a {kind}circuit that {verb}.",
        f"Implement a {kind}module that {verb}.",
        f"The module `{name}` {verb}.",
        f"Build a {kind}module `{name}` that {verb}.",
        f"Create a {kind}circuit, `{name}`, that {verb}.",
        f"Write Verilog for a {kind}module that {verb}.",
        f"We need a {kind}module that {verb}. It is called `{name}`.",
        f"A {kind}module `{name}` that {verb} is wanted.",
        f"Describe a {kind}module in Verilog that {verb}.",
        f"The design `{name}` {verb}.",
        held=f"There should be a module `{name}` which {verb}.",
    )


def _reset(family: Family, n: Names, w: Words, what: str) -> str:
    kind, level = family.reset.kind, 0 if family.reset.low else 1
    if kind == "none" or not what:
        return ""
    polarity = "low" if family.reset.low else "high"
    rst = n.rst
    if kind == "async":
        return w.say(
            f"As soon as `{rst}` is {level}, without waiting for a clock edge, {what}.",
            f"As soon as `{rst}` is {level}, without waiting for a clock edge, {what}, as long as `{rst}` is {level}.",
            f"`{rst}` is an asynchronous, active-{polarity} reset: {what}.",
            f"The asynchronous reset `{rst}` (active {polarity}) has this effect: {what}.",
            f"While `{rst}` is {level}, {what}, independently of the clock (asynchronous reset).",
            f"Whenever `{rst}` is {level}, {what} at once, without a clock edge.",
            f"Asynchronous reset, active {polarity} (`{rst}`): {what}.",
            f"`{rst}` = {level} resets the module immediately, whatever the clock does: {what}.",
            f"The reset `{rst}` is asynchronous and active {polarity}. In reset, {what}.",
            f"When `{rst}` goes to {level}, {what} right away (asynchronous), and stays so while `{rst}` is {level}.",
            f"While `{rst}` = {level}, {what}. This reset does not wait for the clock.",
            f"After an asynchronous reset (`{rst}` = {level}), {what}.",
            held=f"Asynchronously, `{rst}` = {level} means that {what}.",
        )
    return w.say(
        f"At a rising edge of `{n.clk}` with `{rst}` = {level}, {what}.",
        f"`{rst}` is a synchronous, active-{polarity} reset: {what}.",
        f"The synchronous reset `{rst}` (active {polarity}) has this effect: {what}.",
        f"When `{rst}` is {level} at a rising edge of `{n.clk}`, {what} (synchronous reset).",
        f"Reset is synchronous: with `{rst}` = {level} at the clock edge, {what}.",
        f"If `{rst}` is {level} at the rising clock edge, {what}, whatever the other inputs are.",
        f"Synchronous reset, active {polarity} (`{rst}`): {what}.",
        f"`{rst}` = {level} at a rising edge of `{n.clk}` resets the module: {what}.",
        f"The reset `{rst}` is synchronous and active {polarity}. After it, {what}.",
        f"At an edge with `{rst}` = {level}, {what}; this comes before everything else.",
        f"`{rst}` takes effect at the rising edge of `{n.clk}` only. With `{rst}` = {level}, {what}.",
        held=f"`{rst}` = {level} is looked at by the clock alone and means that {what}.",
    )


def _rules(spec: Spec, n: Names, w: Words, *, numbered: bool) -> list[str]:
    if not spec.rules:
        return []
    lead = w.say(
        f"At each rising edge of `{n.clk}`, the first line that applies is carried out:",
        f"At a rising edge of `{n.clk}` the first of these that applies counts:",
        f"At each rising edge of `{n.clk}`, in this order of priority:",
        f"On every rising edge of `{n.clk}`, the first case that holds:",
        f"At each rising edge of `{n.clk}`, the first line whose condition is true is carried out:",
        f"Behaviour at a rising edge of `{n.clk}`, first match wins:",
        f"When `{n.clk}` rises, exactly one of these happens, the first that applies:",
        "At every clock edge, go through this list and do the first that applies:",
        f"Priority at each rising edge of `{n.clk}`, highest first:",
        held=f"Whenever `{n.clk}` rises, look for the first true line:",
    )
    lines = [sentence(lead)] if numbered else [lead]
    for number, (condition, action) in enumerate(spec.rules, 1):
        mark = f"{number}. " if numbered else "- "
        if condition:
            lines.append(f"{mark}{condition}: {action}{'.' if numbered else ';'}")
        else:
            lines.append(f"{mark}{w.say('otherwise', 'Otherwise', 'else')}: {action}.")
    return lines


def _markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    head, *rest = ["| " + " | ".join(row) + " |" for row in rows]
    return [head, "|" + "---|" * len(rows[0]), *rest]


def _wrap(text: str, first: str = "", width: int = 100) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _note(family: Family, spec: Spec, n: Names, role: str, w: Words) -> str:
    if role in spec.notes:
        return spec.notes[role]
    if role == "clk":
        return w.say(
            "state changes on its rising edge",
            "all state changes on its rising edge",
            "clock, rising edge",
            "clock",
            "the clock; its rising edge counts",
            "everything happens on its rising edge",
            "positive-edge clock",
        )
    if role == "rst":
        kind = "synchronous" if family.reset.kind == "sync" else "asynchronous"
        return f"{kind} reset, active {'low' if family.reset.low else 'high'}"
    return ""


def _ports(family: Family, spec: Spec, n: Names, w: Words) -> list[str]:
    lines = []
    for port in family.pins:
        if port.direction == "internal":
            continue
        size = f"{port.width} bit{'s' if port.width > 1 else ''}{', signed' if port.signed else ''}"
        note = _note(family, spec, n, port.role, w)
        lines.append(_wrap(f"`{n[port.role]}` ({port.direction}, {size}){': ' + note if note else ''}", "- "))
    return lines


def _suite(family: Family, n: Names, w: Words, spec: Spec) -> str:
    about = [
        w.say(
            "All ports are unsigned.",
            "All ports are unsigned.",
            "All ports are unsigned, in this order.",
            "In this order:",
            "",
        )
        if not any(port.signed for port in family.pins)
        else "",
        w.say("There is no parameter.", "There are no parameters.", "")
        if family.clocked
        else w.say(
            "There is no clock, no reset and no parameter.",
            "There is no clock and no reset.",
            "There is no clock; the outputs follow the inputs at once.",
            "Neither clock nor reset nor parameter.",
            "",
            held="No clock, no parameter.",
        ),
    ]
    parts = [f"# {n['module']}", _wrap(_opening(family, n, w, spec)), "## Ports"]
    parts += [" ".join(text for text in about if text)] if any(about) else []
    parts += ["\n".join(_ports(family, spec, n, w))]
    reset = _reset(family, n, w, spec.reset)
    if reset and w.rng.random() < 0.6:
        parts += ["## Reset", _wrap(reset)]
        reset = ""
    parts.append(
        w.say(
            "## Behaviour", "## Behaviour", "## Function", "## Operation", "## What it does", "## Outputs", "## Details"
        )
    )
    if not family.clocked and w.rng.random() < 0.5:
        parts.append(
            w.say(
                "The outputs follow the inputs without any storage.",
                "The outputs follow the inputs at once.",
                "The logic is combinational; nothing is stored.",
                "All outputs depend on the present inputs alone.",
                "No state is kept.",
                held="No storage.",
            )
        )
    if reset:
        parts.append(_wrap(reset))
    facts = [sentence(fact) for fact in spec.facts]
    if len(facts) > 1 and w.rng.random() < 0.6:
        parts.append("\n".join(_wrap(fact, "- ") for fact in facts))
    elif facts:
        parts += [_wrap(" ".join(facts))] if w.rng.random() < 0.5 else [_wrap(fact) for fact in facts]
    rules = _rules(spec, n, w, numbered=True)
    if rules:
        listed = "\n".join(_wrap(line[3:], line[:3]) for line in rules[1:])
        parts += [rules[0], listed]
    if spec.table:
        parts.append("\n".join(_markdown_table(spec.table)))
    return "\n\n".join(parts)


def _bullets(family: Family, n: Names, w: Words, spec: Spec) -> str:
    facts = [text for text in (*spec.facts, _reset(family, n, w, spec.reset)) if text]
    if spec.reset and w.rng.random() < 0.5:
        facts = [facts[-1], *facts[:-1]]
    mark = w.say("- ", "- ", "* ", "-- ")
    lines = [
        _opening(family, n, w, spec),
        *(mark + sentence(fact) for fact in facts),
        *_rules(spec, n, w, numbered=True),
    ]
    return "\n".join([*lines, *_markdown_table(spec.table)])


def _prose(family: Family, n: Names, w: Words, spec: Spec) -> str:
    facts = [*spec.facts]
    reset = _reset(family, n, w, spec.reset)
    text = " ".join([_opening(family, n, w, spec), *(sentence(fact) for fact in facts)])
    rules = _rules(spec, n, w, numbered=False)
    text = "\n".join([text, *rules]) if rules else text
    text = "\n".join([text, *_markdown_table(spec.table)])
    if not reset:
        return text
    return f"{text}\n{reset}" if rules or spec.table else f"{text} {reset}"


def _lines(family: Family, n: Names, w: Words, spec: Spec) -> str:
    facts = [sentence(text) for text in (_reset(family, n, w, spec.reset), *spec.facts) if text]
    lines = [_opening(family, n, w, spec), "", *facts, *_rules(spec, n, w, numbered=False)]
    return "\n".join([*lines, *_markdown_table(spec.table)])


def _table(family: Family, n: Names, w: Words, spec: Spec) -> str:
    rows = [("port", "direction", "bits", "meaning")]
    rows += [
        (f"`{n[port.role]}`", port.direction, str(port.width), _note(family, spec, n, port.role, w))
        for port in family.pins
        if port.direction != "internal"
    ]
    facts = [sentence(text) for text in (*spec.facts, _reset(family, n, w, spec.reset)) if text]
    parts = [_opening(family, n, w, spec), "\n".join(_markdown_table(rows)), " ".join(facts)]
    rules = _rules(spec, n, w, numbered=True)
    parts += ["\n".join(rules)] if rules else []
    parts += ["\n".join(_markdown_table(spec.table))] if spec.table else []
    return "\n\n".join(part for part in parts if part)
