"""Registers and memories with more than one thing to decide: lanes, limits, a carry, pulses, several steps at once."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import (
    Clocked,
    Family,
    Inputs,
    Names,
    Outputs,
    Pin,
    Reset,
    Spec,
    State,
    inp,
    mask,
    out,
    own,
)
from finetune.data.synth.style import STEP, Case, Style, indent
from finetune.data.synth.words import Words


@dataclass(frozen=True)
class LaneRam(Family):
    """A memory that is written lane by lane and read through a register."""

    name: ClassVar[str] = "lane_memory"
    share: ClassVar[float] = 2.0
    clocked: ClassVar[bool] = True
    lane: int
    lanes: int
    bits: int
    enable: bool
    read: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        while True:
            lane, lanes = rng.choice(((4, 2), (8, 2), (8, 2), (8, 3), (8, 4), (8, 4), (4, 4), (16, 2), (16, 4), (8, 8)))
            found = cls(
                lane, lanes, rng.choice((2, 3, 4, 5, 6)), rng.random() < 0.7, rng.choice(("new", "new", "old", "idle"))
            )
            # The suite has this one.
            if (found.lane, found.lanes, found.bits, found.read) != (8, 4, 5, "new"):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        word = self.lane * self.lanes
        return (
            inp("clk"),
            *((inp("en"),) if self.enable else ()),
            inp("be", self.lanes, "lanes"),
            inp("addr", self.bits),
            inp("d", word, "wdata"),
            out("q", word, "rdata"),
            own("mem"),
        )

    def _place(self, lane: int) -> str:
        return f"[{self.lane * (lane + 1) - 1}:{self.lane * lane}]"

    def describe(self, n: Names, w: Words) -> Spec:
        piece = {4: "nibble", 8: "byte", 16: "half-word"}[self.lane]
        word, count, top = self.lane * self.lanes, 1 << self.bits, self.lanes - 1
        edge = f"with {w.one(n.en)}" if self.enable else ""
        facts = [
            w.say(
                f"{w.edge(n.clk)} {edge}, each {piece} of the word at `{n.addr}` whose bit of `{n.be}` is 1 is replaced by the same {piece} of `{n.d}`; the others stay",
                f"{w.edge(n.clk)} {edge}, for every bit of `{n.be}` that is 1 the {piece} of that number in the word at `{n.addr}` takes the {piece} of `{n.d}`",
                f"`{n.be}` enables writing {piece} by {piece}: {w.edge(n.clk)} {edge}, the {piece}s of `{n.d}` whose bit is 1 are stored in the word at `{n.addr}`, and the other {piece}s of the word keep their values",
                f"a write {w.edge(n.clk)} {edge} changes only those {piece}s of the word at `{n.addr}` whose lane in `{n.be}` is 1",
                held=f"lanes of `{n.be}` that are up let their {piece} of `{n.d}` into the word at `{n.addr}`",
            ).replace(" ,", ","),
            w.say(
                f"bit 0 of `{n.be}` belongs to bits {self.lane - 1}..0, bit {top} to bits {word - 1}..{word - self.lane}",
                f"`{n.be}[0]` is for the lowest {piece} (bits {self.lane - 1} to 0), `{n.be}[{top}]` for the highest",
                f"`{n.be}[i]` belongs to bits {self.lane}*i+{self.lane - 1} to {self.lane}*i",
                "",
            ),
            {
                "new": lambda: w.say(
                    f"at the same edge `{n.q}` becomes the whole word at `{n.addr}` as it is after this write",
                    f"`{n.q}` is a register that takes the word at `{n.addr}` with the {piece}s that are just being written already in it",
                    f"the read is write-first: `{n.q}` takes new {piece}s where the lane is 1 and stored ones where it is 0",
                    f"at this edge `{n.q}` is loaded with the updated word: `{n.d}` where the lane is 1, the stored {piece} where it is 0",
                    held=f"what is written shows in `{n.q}` at the very same edge, beside the old {piece}s",
                ),
                "old": lambda: w.say(
                    f"at the same edge `{n.q}` becomes the whole word at `{n.addr}` as it was before this write",
                    f"`{n.q}` is a register that takes the old content of the word at `{n.addr}`",
                    f"the read is read-first: `{n.q}` takes the word at `{n.addr}` before it is changed",
                    held=f"a write shows in `{n.q}` only when it is read again",
                ),
                "idle": lambda: w.say(
                    f"when `{n.be}` is 0, `{n.q}` becomes the word at `{n.addr}` at this edge; at an edge with a write {w.keeps(n.q)}",
                    f"`{n.q}` takes the word at `{n.addr}` at edges where no lane is written, and holds at the others",
                    held=f"only an edge that writes nothing moves a word into `{n.q}`",
                ),
            }[self.read](),
        ]
        if self.enable:
            facts.append(
                w.say(
                    f"at a rising edge with `{n.en}` = 0 nothing is written and {w.keeps(n.q)}",
                    f"when {w.nought(n.en)}, nothing happens, whatever `{n.be}` is",
                    f"without `{n.en}` neither the memory nor `{n.q}` changes",
                    held=f"`{n.en}` = 0 freezes memory and `{n.q}`",
                )
            )
        facts.append(w.say("there is no reset", "a word is undefined until it is written", ""))
        return Spec(
            noun=w.say(
                f"a synchronous memory of {count} words of {word} bits with {piece} enables",
                f"a single-port RAM, {count} x {word} bits, written {piece} by {piece}",
                f"a {count}-word memory with {self.lanes} write lanes of {self.lane} bits",
                held=f"a store of {count} words whose {piece}s are written apart",
            ),
            verb=w.say(
                f"stores {count} words of {word} bits and writes them {piece} by {piece}",
                f"is a single-port memory of {count} x {word} bits with {self.lanes} {piece} enables",
                held=f"remembers {count} words, each in {self.lanes} {piece}s",
            ),
            facts=tuple(fact for fact in facts if fact),
        )

    def code(self, n: Names, s: Style) -> str:
        array = s.array(n.mem, self.lane * self.lanes, 1 << self.bits)
        at, where = f"{n.mem}[{n.addr}]", [self._place(lane) for lane in range(self.lanes)]
        lines: list[str] = []
        for k, bits in enumerate(where):
            lines += [f"if ({n.be}[{k}])", f"{STEP}{at}{bits} <= {n.d}{bits};"]
        if self.read == "new":
            lines += [f"{n.q}{bits} <= {n.be}[{k}] ? {n.d}{bits} : {at}{bits};" for k, bits in enumerate(where)]
        elif self.read == "old":
            lines.append(f"{n.q} <= {at};")
        else:
            lines += [f"if ({n.be} == {self.lanes}'d0)", f"{STEP}{n.q} <= {at};"]
        body = [f"if ({n.en}) begin", *indent(lines), "end"] if self.enable else lines
        head = f"{'always_ff' if s.system else 'always'} @(posedge {n.clk}) begin"
        pins = [pin for pin in self.pins if pin.role != "mem"]
        return s.module(n, pins, [array, head, *indent(body), "end"], ["q"])

    def start(self) -> State:
        return {"mem": {}, "q": None}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": None if state["q"] is None or None in state["q"] else self._joined(state["q"])}

    def _joined(self, parts: tuple[int, ...]) -> int:
        return sum(part << self.lane * place for place, part in enumerate(parts))

    def step(self, state: State, i: Inputs) -> State:
        if self.enable and not i["en"]:
            return state
        old = state["mem"].get(i["addr"], (None,) * self.lanes)
        new = tuple(
            i["d"] >> self.lane * lane & mask(self.lane) if i["be"] >> lane & 1 else old[lane]
            for lane in range(self.lanes)
        )
        shown = {"new": new, "old": old, "idle": state["q"] if i["be"] else old}[self.read]
        return {"mem": {**state["mem"], i["addr"]: new}, "q": shown}

    def common(self, role: str) -> tuple[int, ...]:
        return {"addr": (0, 1, (1 << self.bits) - 1), "be": (0, 1, mask(self.lanes), 2)}.get(role, ())

    @property
    def cycles(self) -> int:
        return 240


@dataclass(frozen=True)
class BoundedCounter(Clocked):
    """Up and down within limits, with a load, and what happens at the ends."""

    name: ClassVar[str] = "bounded_counter"
    share: ClassVar[float] = 2.5
    width: int
    top: int
    load: str
    clear: bool
    enable: bool
    both: bool
    stops: bool
    flag: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        """``top`` 0 is an input; ``load`` is ``plain``, ``most`` (at most the top) or nothing."""
        while True:
            width = rng.choice((3, 4, 4, 5, 6, 8, 8, 8, 10, 12))
            top = 0 if rng.random() < 0.6 else rng.randrange(2, mask(width) + 1)
            found = cls(
                Reset.draw(rng), width, top, rng.choice(("", "plain", "plain", "most")), rng.random() < 0.4,
                rng.random() < 0.6, rng.random() < 0.7, rng.random() < 0.35, rng.random() < 0.75,
            )  # fmt: skip
            if not (found.width == 8 and not found.top and found.load == "most" and found.both and found.flag):
                return found

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (
            *self.head,
            *((inp("clear"),) if self.clear else ()),
            *((inp("load"), inp("d", self.width, "din")) if self.load else ()),
            *((inp("en"),) if self.enable else ()),
            *((inp("down", 1, "dir"),) if self.both else ()),
            *(() if self.top else (inp("limit", self.width),)),
            out("q", self.width, "count"),
            *((out("f", 1, "wrap"),) if self.flag else ()),
        )

    def _end(self, n: Names) -> str:
        return str(self.top) if self.top else f"`{n.limit}`"

    def describe(self, n: Names, w: Words) -> Spec:
        end, q = self._end(n), f"`{n.q}`"
        off = f" and {w.becomes(n.f, '0')}" if self.flag else ""
        on = f" and {w.becomes(n.f, '1')}" if self.flag else ""
        rules: list[tuple[str, str]] = []
        if self.clear:
            rules.append((w.one(n.clear), w.becomes(n.q, "0") + off))
        if self.load == "plain":
            rules.append((w.one(n.load), w.becomes(n.q, f"`{n.d}`") + off))
        elif self.load:
            text = w.say(
                f"{q} becomes `{n.d}`, but at most {end}",
                f"{q} becomes the smaller one of `{n.d}` and {end}",
                f"{q} becomes `{n.d}`, or {end} if `{n.d}` is greater than {end}",
                held=f"{q} takes `{n.d}` cut off at {end}",
            )
            rules.append((w.one(n.load), text + off))
        if self.enable:
            rules.append((w.nought(n.en), w.keeps(n.q) + off))
        reaches = w.say(f"{q} is {end} or more", f"{q} is at least {end}", f"{q} is equal to {end} or greater")
        at_top = w.keeps(n.q) if self.stops else w.becomes(n.q, "0")
        at_zero = w.keeps(n.q) if self.stops else w.becomes(n.q, end)
        up = f"{w.nought(n.down)} and " if self.both else ""
        rules.append((f"{up}{reaches}", at_top + on))
        rules.append((w.nought(n.down) if self.both else "", f"{q} goes up by 1{off}"))
        if self.both:
            rules.append((f"{q} is 0", at_zero + on))
            rules.append(("", f"{q} goes down by 1{off}"))
        facts = []
        if self.flag:
            what = "was held at an end" if self.stops else "went round"
            facts.append(
                w.say(
                    f"`{n.f}` is a register: it is 1 for the cycle after an edge at which the counter {what}",
                    f"`{n.f}` shows that the counter {what} at the last edge",
                    "",
                    held=f"`{n.f}` remembers for a cycle that the counter {what}",
                )
            )
        return Spec(
            noun=w.say(
                w.a(
                    f"{self.width}-bit counter between 0 and {end} that {'stops' if self.stops else 'wraps'} at its ends"
                ),
                w.a(f"{self.width}-bit {'up and down ' if self.both else ''}counter over the range from 0 to {end}"),
                held=f"a counter that lives between 0 and {end}",
            ),
            verb=w.say(
                f"counts {'up and down ' if self.both else ''}between 0 and {end} and {'stops' if self.stops else 'wraps'} at the ends",
                f"keeps a count from 0 to {end}",
                held=f"goes {'up and down' if self.both else 'up'} no further than {end}",
            ),
            facts=tuple(fact for fact in facts if fact),
            reset=w.say(f"{q} and `{n.f}` are 0", f"{q} is 0 and `{n.f}` is 0") if self.flag else f"{q} is 0",
            rules=tuple(rules),
            notes={"down": w.say("direction: 1 counts down, 0 counts up", "1 is down, 0 is up", "")}
            if self.both
            else {},
        )

    def code(self, n: Names, s: Style) -> str:
        top = f"{self.width}'d{self.top}" if self.top else n.limit
        zero, one = f"{self.width}'d0", f"{self.width}'d1"
        cases: list[Case] = []

        def add(condition: str, value: str, flag: int) -> None:
            lines = [f"{n.q} <= {value};"] if value else []
            lines += [f"{n.f} <= 1'b1;"] if self.flag and flag else []
            cases.append((condition, lines or [f"{n.q} <= {n.q};"]))

        if self.clear:
            add(n.clear, zero, 0)
        if self.load:
            add(n.load, f"({n.d} > {top}) ? {top} : {n.d}" if self.load == "most" else n.d, 0)
        if self.enable:
            add(s.inverted(n.en), "", 0)
        up = f"{s.inverted(n.down)} && " if self.both else ""
        add(f"{up}{n.q} >= {top}", "" if self.stops else zero, 1)
        add(s.inverted(n.down) if self.both else "", f"{n.q} + {one}", 0)
        if self.both:
            add(f"{n.q} == {zero}", "" if self.stops else top, 1)
            add("", f"{n.q} - {one}", 0)
        reset = [f"{n.q} <= {s.lit(self.width, 0)};", *([f"{n.f} <= 1'b0;"] if self.flag else [])]
        if self.flag:  # 0 but where something says 1
            cases = [("", [f"{n.f} <= 1'b0;", *s.chain(cases)])]
        return s.module(n, self.pins, s.clocked(self, n, reset, cases), ["q", "f"])

    def start(self) -> State:
        return {"q": 0, "f": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["q"], "f": state["f"]}

    def step(self, state: State, i: Inputs) -> State:
        q, top = state["q"], self.top or i["limit"]
        if self.clear and i["clear"]:
            return {"q": 0, "f": 0}
        if self.load and i["load"]:
            return {"q": min(i["d"], top) if self.load == "most" else i["d"], "f": 0}
        if self.enable and not i["en"]:
            return {"q": q, "f": 0}
        if self.both and i["down"]:
            if q:
                return {"q": q - 1, "f": 0}
            return {"q": q if self.stops else top, "f": 1}
        if q < top:
            return {"q": q + 1, "f": 0}
        return {"q": q if self.stops else 0, "f": 1}

    def busy(self, role: str) -> float | None:
        return {"clear": 0.04, "load": 0.1, "en": 0.8}.get(role)

    def common(self, role: str) -> tuple[int, ...]:
        return (0, 1, 2, 3, 4) if role == "limit" else (0, 3, 5, self.top, mask(self.width)) if role == "d" else ()

    @property
    def cycles(self) -> int:
        return 360


FAMILIES = (LaneRam, BoundedCounter)
