"""Controllers and trackers: between two marks, steps of two phases, the last few samples."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out, own
from finetune.data.synth.families.common import const_width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class TwoMarks(Clocked):
    """On below one mark, off above another, with an alarm."""

    name: ClassVar[str] = "two_marks"
    share: ClassVar[float] = 1.5
    contradicts: bool
    limit: int
    cause: bool
    drains: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``limit`` of the cycles that it may be on, 0 for none; ``drains``: on above the high mark instead."""
        while True:
            limit = rng.choice((0, 0, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 32, 50, 60))
            found = cls(Reset.draw(rng), rng.random() < 0.7, limit, rng.random() < 0.5, rng.random() < 0.4)
            suite = found.contradicts and found.cause and found.limit == 20 and not found.drains
            if not suite and (not found.cause or (found.contradicts and found.limit)):
                return found

    @property
    def _alarm(self) -> bool:
        return self.contradicts or bool(self.limit)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            inp("lo", 1, "low_mark"),
            inp("hi", 1, "high_mark"),
            *((inp("ack"),) if self._alarm else ()),
            out("p", 1, "pump"),
            *((out("al", 1, "alarm"),) if self._alarm else ()),
            *((out("c", 2, "cause"),) if self.cause else ()),
            *((own("t", const_width(self.limit), "timer"),) if self.limit else ()),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        lo, hi, p = f"`{n.lo}`", f"`{n.hi}`", f"`{n.p}`"
        facts, rules = [], []
        wrong = w.say(f"{hi} is 1 and {lo} is 0", "the sensors contradict each other", held=f"{hi} without {lo}")
        if self.contradicts:
            facts.append(
                w.say(
                    f"the sensors contradict each other when {hi} is 1 and {lo} is 0",
                    f"{hi} = 1 with {lo} = 0 is a contradiction of the sensors",
                    held=f"{hi} cannot rightly be 1 without {lo}",
                )
            )
        rest = w.say("nothing changes", "everything keeps its value", held="all stays")

        def alarm(cause: int) -> str:
            more = f", {w.becomes(n.c, str(cause))}" if self.cause else ""
            return f"{w.becomes(n.p, '0')}, {w.becomes(n.al, '1')}{more}"

        if self._alarm:
            clear = f", {w.becomes(n.c, '0')}" if self.cause else ""
            fine = " and the sensors do not contradict each other" if self.contradicts else ""
            rules.append(
                (f"`{n.al}` is 1", f"if {w.one(n.ack)}{fine}, {w.becomes(n.al, '0')}{clear}; otherwise {rest}")
            )
        if self.contradicts:
            rules.append((wrong, alarm(1)))
        on, off = (f"{hi} is 1", f"{lo} is 0") if self.drains else (f"{lo} is 0", f"{hi} is 1")
        rules.append((f"{p} is 1 and {off}", w.becomes(n.p, "0")))
        if self.limit:
            rules.append(
                (
                    w.say(
                        f"{p} is 1 and this is edge number {self.limit} after the one that switched it on",
                        f"{p} is 1 and it was switched on {self.limit} edges ago",
                        held=f"{p} has been 1 for {self.limit} edges",
                    ),
                    alarm(2),
                )
            )
        rules.append((f"{p} is 0 and {on}", w.becomes(n.p, "1")))
        rules.append(("", rest))
        if self.cause:
            facts.append(
                w.say(
                    f"`{n.c}` is 0 without an alarm, 1 when the sensors contradict each other, 2 when it takes too long",
                    f"`{n.c}`: 1 contradiction, 2 too long, 0 no alarm",
                    held=f"`{n.c}` tells why: 1 the sensors, 2 the time",
                )
            )
        registers = [p, *([f"`{n.al}`"] if self._alarm else []), *([f"`{n.c}`"] if self.cause else [])]
        facts.append(w.say("all outputs come from registers", "", ""))
        what = w.say(
            "an emptying pump" if self.drains else "a filling pump",
            "a cooler" if self.drains else "a heater",
            "a drain valve" if self.drains else "a fill valve",
        )
        return Spec(
            noun=w.say(f"the controller of {what} that works between two marks", f"a two-point controller with {lo} and {hi}", held=f"a switch for {what} with two marks"),
            verb=w.say(f"controls {what} between two marks", f"switches {p} on and off between two marks", held=f"keeps a level between {lo} and {hi}"),
            facts=tuple(fact for fact in facts if fact),
            reset=(" and ".join(registers) + (" are 0" if len(registers) > 1 else " is 0")),
            rules=tuple(rules),
            notes={"lo": w.say("1 at or above the low mark", ""), "hi": w.say("1 at or above the high mark", ""), "p": w.say("1 switches it on", "")},
        )  # fmt: skip

    def code(self, n: Names, s: Style) -> str:
        wrong = f"{n.hi} && {s.inverted(n.lo)}"

        def alarm(cause: int) -> list[str]:
            more = [f"{n.c} <= 2'd{cause};"] if self.cause else []
            return [f"{n.p} <= 1'b0;", f"{n.al} <= 1'b1;", *more]

        cases: list[Case] = []
        if self._alarm:
            test = f"{n.ack} && !({wrong})" if self.contradicts else n.ack
            clear = [f"{n.al} <= 1'b0;", *([f"{n.c} <= 2'd0;"] if self.cause else [])]
            cases.append((n.al, s.chain([(test, clear)])))
        if self.contradicts:
            cases.append((wrong, alarm(1)))
        on, off = (n.hi, s.inverted(n.lo)) if self.drains else (s.inverted(n.lo), n.hi)
        cases.append((f"{n.p} && {off}", [f"{n.p} <= 1'b0;"]))
        size = const_width(self.limit)
        if self.limit:
            cases.append((f"{n.p} && {n.t} == {size}'d{self.limit - 1}", alarm(2)))
            cases.append((n.p, [f"{n.t} <= {n.t} + {size}'d1;"]))
        start = [f"{n.p} <= 1'b1;", *([f"{n.t} <= {size}'d0;"] if self.limit else [])]
        cases.append((on if self.limit else f"{s.inverted(n.p)} && {on}", start))
        reset = [
            f"{n.p} <= 1'b0;",
            *([f"{n.al} <= 1'b0;"] if self._alarm else []),
            *([f"{n.c} <= 2'd0;"] if self.cause else []),
        ]
        reset += [f"{n.t} <= {s.lit(size, 0)};"] if self.limit else []
        return s.module(n, self.pins, s.clocked(self, n, reset, cases), ["p", "al", "c", "t"])

    def start(self) -> State:
        return {"p": 0, "al": 0, "c": 0, "on": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"p": state["p"], "al": state["al"], "c": state["c"]}

    def step(self, state: State, i: Inputs) -> State:
        wrong = self.contradicts and i["hi"] and not i["lo"]
        on, off = (i["hi"], not i["lo"]) if self.drains else (not i["lo"], i["hi"])
        state = {**state, "on": state["on"] + 1}
        if state["al"]:
            return {**state, "al": 0, "c": 0} if i["ack"] and not wrong else state
        if wrong:
            return {**state, "p": 0, "al": 1, "c": 1}
        if state["p"]:
            if off:
                return {**state, "p": 0}
            return {**state, "p": 0, "al": 1, "c": 2} if self.limit and state["on"] == self.limit else state
        return {**state, "p": 1, "on": 0} if on else state

    def busy(self, role: str) -> float | None:
        return {"hi": 0.06, "lo": 0.75, "ack": 0.5}.get(role) if not self.drains else {"hi": 0.3, "lo": 0.95}.get(role)

    @property
    def cycles(self) -> int:
        return 420


_FORWARD = {0: 2, 2: 3, 3: 1, 1: 0}  # the pair a b after one step


@dataclass(frozen=True)
class Quadrature(Clocked):
    """Counts the steps of two phases."""

    name: ClassVar[str] = "phase_steps"
    share: ClassVar[float] = 1.2
    width: int
    clear: bool
    direction: bool
    fault: bool
    reverse: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            found = cls(
                Reset.draw(rng), rng.choice((4, 5, 6, 8, 8, 10, 12, 16)), rng.random() < 0.5, rng.random() < 0.6,
                rng.random() < 0.6, rng.random() < 0.4,
            )  # fmt: skip
            if not (found.width == 8 and found.clear and found.direction and found.fault):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            *((inp("clear"),) if self.clear else ()),
            inp("a", 1, "phase_a"),
            inp("b", 1, "phase_b"),
            Pin("q", "output", self.width, "count", True),
            *((out("d", 1, "forward"),) if self.direction else ()),
            *((out("f", 1, "fault"),) if self.fault else ()),
            own("o", 2, "reg1"),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        pair, q = f"`{n.a}` `{n.b}`", f"`{n.q}`"
        ways = ["00 to 10, 10 to 11, 11 to 01, 01 to 00", "00 to 01, 01 to 11, 11 to 10, 10 to 00"]
        if self.reverse:
            ways.reverse()
        keep = w.say("everything keeps its value", "nothing else changes", held="all stays")
        rules = []
        ahead = [f", {w.becomes(n.d, str(value))}" if self.direction else "" for value in (1, 0)]
        if self.clear:
            extra = f", {w.becomes(n.f, '0')}" if self.fault else ""
            rules.append((w.one(n.clear), w.becomes(n.q, "0") + extra))
        rules.append(("a step forward", f"{q} goes up by 1{ahead[0]}"))
        rules.append(("a step backward", f"{q} goes down by 1{ahead[1]}"))
        if self.fault:
            rules.append(("both phases changed", w.becomes(n.f, "1")))
        rules.append(("", keep))
        facts = [
            w.say(f"at every rising edge the pair {pair} is stored, and compared with the pair of the edge before", f"the module stores {pair} at each edge, also in reset, and looks how the pair has changed since the last edge", held=f"what counts is how {pair} differs from what it was at the last edge"),
            w.say(f"forward is {ways[0]}; backward is {ways[1]}", f"with the phases written as {pair}: {ways[0]} is a step forward, {ways[1]} a step backward", held=f"ahead: {ways[0]}; back: {ways[1]}"),
            w.say(f"{q} wraps at both ends", f"{q} is a signed number that wraps", ""),
        ]  # fmt: skip
        if self.fault:
            facts.append(w.say(f"`{n.f}` stays 1 until a reset" + (" or clear" if self.clear else ""), ""))
        registers = [q, *([f"`{n.f}`"] if self.fault else [])]
        text = " and ".join(registers) + (" are 0" if len(registers) > 1 else " is 0")
        return Spec(
            noun=w.say("a decoder for the two phases of a rotary encoder", w.a(f"{self.width}-bit quadrature counter"), held="a follower of a turning knob"),
            verb=w.say("follows the two phases of a rotary encoder and counts every step", f"counts the steps of {pair}", held="follows a turning knob"),
            facts=tuple(fact for fact in facts if fact),
            reset=text + (f" and `{n.d}` is 1" if self.direction else ""),
            rules=tuple(rules),
        )  # fmt: skip

    def code(self, n: Names, s: Style) -> str:
        pair = f"{{{n.o}, {n.a}, {n.b}}}"
        steps = ["4'b0010, 4'b1011, 4'b1101, 4'b0100", "4'b0001, 4'b0111, 4'b1110, 4'b1000"]
        if self.reverse:
            steps.reverse()
        lines: list[Case] = []
        for labels, sign, ahead in ((steps[0], "+", 1), (steps[1], "-", 0)):
            more = [f"{n.d} <= 1'b{ahead};"] if self.direction else []
            lines.append((labels, [f"{n.q} <= {n.q} {sign} 1;", *more]))
        if self.fault:
            lines.append(("4'b0011, 4'b1100, 4'b0110, 4'b1001", [f"{n.f} <= 1'b1;"]))
        lines.append(("", [f"{n.q} <= {n.q};"]))
        zero = [f"{n.q} <= 0;", *([f"{n.f} <= 1'b0;"] if self.fault else [])]
        cases: list[Case] = [(n.clear, zero)] if self.clear else []
        cases.append(("", s.case(pair, lines)))
        reset = [*zero, *([f"{n.d} <= 1'b1;"] if self.direction else [])]
        head = f"{'always_ff' if s.system else 'always'} @(posedge {n.clk}) {n.o} <= {{{n.a}, {n.b}}};"
        return s.module(n, self.pins, [head, *s.clocked(self, n, reset, cases)], ["q", "d", "f", "o"])

    def start(self) -> State:
        return {"q": 0, "d": 1, "f": 0, "o": None}

    def settle(self, i: Inputs) -> State:
        return {**self.start(), "o": i["a"] * 2 + i["b"]}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"], "d": state["d"], "f": state["f"]}

    def step(self, state: State, i: Inputs) -> State:
        new, old = i["a"] * 2 + i["b"], state["o"]
        state = {**state, "o": new}
        if self.clear and i["clear"]:
            return {**state, "q": 0, "f": 0}
        if old == new:
            return state
        if old ^ new == 3:
            return {**state, "f": 1}
        ahead = (_FORWARD[old] == new) != self.reverse
        return {**state, "q": (state["q"] + (1 if ahead else -1)) & mask(self.width), "d": int(ahead)}

    @property
    def cycles(self) -> int:
        return 200


@dataclass(frozen=True)
class Window(Clocked):
    """The last few samples of a stream."""

    name: ClassVar[str] = "sample_window"
    share: ClassVar[float] = 1.4
    width: int
    depth: int
    shown: tuple[str, ...]
    flush: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            shown = tuple(rng.sample(("sum", "highest", "lowest", "full", "newest", "oldest"), rng.choice((2, 2, 3))))
            found = cls(
                Reset.draw(rng),
                rng.choice((4, 5, 6, 8, 8, 10, 12)),
                rng.choice((2, 3, 3, 4)),
                shown,
                rng.random() < 0.6,
            )
            if not (found.width == 8 and found.depth == 4 and {"sum", "highest", "full"} == set(shown)):
                return found

    def _size(self, role: str) -> int:
        return {"full": 1, "sum": const_width(mask(self.width) * self.depth)}.get(role, self.width)

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            *((inp("flush", 1, "clear"),) if self.flush else ()),
            inp("valid"),
            inp("d", self.width, "sample"),
            *(out(role, self._size(role)) for role in self.shown),
            *(own(f"s{k}", self.width, f"reg{k + 1}") for k in range(self.depth)),
            own("n", const_width(self.depth), "level"),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        number = {2: "two", 3: "three", 4: "four"}[self.depth]
        d = f"`{n.d}`"
        facts = [
            w.say(
                f"the module remembers up to {number} samples, its window",
                f"the window holds the last {number} samples at most",
                held=f"it has room for {number} samples",
            )
        ]
        take = w.say(
            f"{d} enters the window, and if it held {number} samples the oldest one leaves",
            f"{d} is taken as the newest sample; of more than {number} the oldest is dropped",
            held=f"{d} joins, and a {number}-sample window loses its oldest",
        )
        rules = []
        if self.flush:
            rules.append(
                (
                    f"{w.one(n.flush)} and {w.one(n.valid)}",
                    w.say(
                        f"the window is emptied first and {d} becomes its only sample",
                        f"{d} becomes the only sample in the window",
                        held=f"everything but {d} goes",
                    ),
                )
            )
            rules.append((w.one(n.flush), "the window becomes empty"))
        rules.append((w.one(n.valid), take))
        rules.append(("", w.say("nothing changes", "the window stays as it is", held="all stays")))
        texts = {
            "sum": lambda y: w.say(f"{y} is the sum of the samples in the window, 0 when it is empty", f"{y} is the total of all samples in the window", held=f"{y} adds up the window"),
            "highest": lambda y: w.say(f"{y} is the largest sample in the window, and 0 when it is empty", f"{y} is the maximum of the window, 0 without samples", held=f"{y} tops the window"),
            "lowest": lambda y: w.say(f"{y} is the smallest sample in the window, and {mask(self.width)} when it is empty", f"{y} is the minimum of the window, {mask(self.width)} without samples", held=f"{y} is what no sample is below; {mask(self.width)} for none"),
            "full": lambda y: w.say(f"{y} is 1 when the window holds {number} samples", f"{y} is 1 when there are {number} samples", held=f"{y}: no room without loss"),
            "newest": lambda y: w.say(f"{y} is the newest sample, and 0 when the window is empty", f"{y} is the sample taken last, 0 without samples", held=f"{y} came last"),
            "oldest": lambda y: w.say(f"{y} is the oldest sample in the window, and 0 when it is empty", f"{y} is the sample that would leave next, 0 without samples", held=f"{y} came first"),
        }  # fmt: skip
        facts += [texts[role](f"`{n[role]}`") for role in self.shown]
        return Spec(
            noun=w.say(f"a window over the last {number} samples of a stream", f"a {self.depth}-sample window with {len(self.shown)} outputs", held=f"a memory of the last {number} samples"),
            verb=w.say(f"looks at the last {number} samples of a stream", f"keeps figures about the last {number} samples", held=f"knows the last {number} samples"),
            facts=tuple(facts),
            reset="the window is empty",
            rules=tuple(rules),
        )  # fmt: skip

    def code(self, n: Names, s: Style) -> str:
        size, places = const_width(self.depth), [n[f"s{k}"] for k in range(self.depth)]
        empty = [f"{place} <= {s.lit(self.width, 0)};" for place in places]
        shift = [f"{new} <= {old};" for new, old in zip(places[1:], places, strict=False)]
        take = [
            f"{places[0]} <= {n.d};",
            *shift,
            *s.chain([(f"{n.n} != {size}'d{self.depth}", [f"{n.n} <= {n.n} + {size}'d1;"])]),
        ]
        only = [f"{places[0]} <= {n.d};", *empty[1:], f"{n.n} <= {size}'d1;"]
        none = [*empty, f"{n.n} <= {size}'d0;"]
        cases: list[Case] = [(f"{n.flush} && {n.valid}", only), (n.flush, none)] if self.flush else []
        cases.append((n.valid, take))
        body = s.clocked(self, n, none, cases)
        comb: list[str] = []
        for role in self.shown:
            y = n[role]
            if role == "sum":
                body.append(f"assign {y} = {' + '.join(places)};")
            elif role == "full":
                body.append(f"assign {y} = {n.n} == {size}'d{self.depth};")
            elif role == "newest":
                body.append(f"assign {y} = {places[0]};")
            elif role == "oldest":
                chain = "".join(f"({n.n} == {size}'d{k + 1}) ? {places[k]} : " for k in range(self.depth - 1, 0, -1))
                body.append(f"assign {y} = {chain}{places[0]};")
            elif role == "highest":
                comb.append(f"{y} = {places[0]};")
                comb += [line for place in places[1:] for line in (f"if ({place} > {y})", f"    {y} = {place};")]
            else:
                comb.append(f"{y} = {self.width}'d{mask(self.width)};")
                for k, place in enumerate(places):
                    comb += [f"if ({n.n} > {size}'d{k} && {place} < {y})", f"    {y} = {place};"]
        body += s.comb(comb) if comb else []
        inside = [pin.role for pin in self.pins if pin.direction == "internal"]
        return s.module(n, self.pins, body, [*inside, "highest", "lowest"])

    def start(self) -> State:
        return {"w": ()}

    def outs(self, state: State, i: Inputs) -> Outputs:
        w = state["w"]
        found = {"sum": sum(w), "highest": max(w, default=0), "lowest": min(w, default=mask(self.width)),
                 "full": int(len(w) == self.depth), "newest": w[-1] if w else 0, "oldest": w[0] if w else 0}  # fmt: skip
        return {role: found[role] for role in self.shown}

    def step(self, state: State, i: Inputs) -> State:
        w = () if self.flush and i["flush"] else state["w"]
        return {"w": (*w, i["d"])[-self.depth :] if i["valid"] else w}

    def busy(self, role: str) -> float | None:
        return 0.1 if role == "flush" else None

    @property
    def cycles(self) -> int:
        return 180


FAMILIES = (TwoMarks, Quadrature, Window)
