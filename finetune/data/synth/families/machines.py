"""State machines."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, out, own
from finetune.data.synth.families.common import const_width
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

STATES = (
    ("IDLE", "RUN", "WAIT", "DONE", "STOP"), ("S0", "S1", "S2", "S3", "S4"), ("A", "B", "C", "D", "E"),
    ("OFF", "LOW", "MID", "HIGH", "MAX"), ("ZERO", "ONE", "TWO", "THREE", "FOUR"), ("RED", "GREEN", "BLUE", "WHITE", "BLACK"),
)  # fmt: skip


def parameters(names: tuple[str, ...], size: int, s: Style) -> str:
    """Declaration of the states' codes, counted from 0."""
    kind = "localparam" if not s.system else f"localparam logic [{size - 1}:0]" if size > 1 else "localparam logic"
    return f"{kind} " + ", ".join(f"{name} = {size}'d{code}" for code, name in enumerate(names)) + ";"


@dataclass(frozen=True)
class SequenceDetector(Clocked):
    """Finds a sequence of bits, with or without overlap, at once (Mealy) or from the state (Moore)."""

    name: ClassVar[str] = "sequence_detector"
    share: ClassVar[float] = 2.0
    pattern: tuple[int, ...]
    overlap: bool
    moore: bool
    enable: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        length = rng.choice((2, 3, 3, 4, 4, 5))
        return cls(
            Reset.draw(rng),
            tuple(rng.randrange(2) for _ in range(length)),
            rng.random() < 0.6,
            rng.random() < 0.5,
            rng.random() < 0.3,
        )

    @property
    def states(self) -> int:
        """One for each beginning of the pattern; with a Moore output also the whole."""
        return len(self.pattern) + int(self.moore)

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = (inp("en", 1, "valid"),) if self.enable else ()
        return (
            *self.head,
            *more,
            inp("x", 1, "bit"),
            out("y", 1, "flag"),
            own("s", const_width(self.states - 1), "state"),
        )

    def _next(self, matched: int, bit: int) -> int:
        """How much of the pattern is matched after a bit."""
        whole = len(self.pattern)
        if matched == whole and not self.overlap:
            matched = 0
        seen = (*self.pattern[:matched], bit)
        length = next(k for k in range(len(seen), -1, -1) if k <= whole and seen[len(seen) - k :] == self.pattern[:k])
        if length == whole and not self.moore:
            if not self.overlap:
                return 0
            return next(k for k in range(whole - 1, -1, -1) if self.pattern[whole - k :] == self.pattern[:k])
        return length

    def describe(self, n: Names, w: Words) -> Spec:
        bits, digits = ", ".join(map(str, self.pattern)), "".join(map(str, self.pattern))
        kind = "Moore" if self.moore else "Mealy"
        when = f"with `{n.en}` = 1 " if self.enable else ""
        facts = [
            w.say(
                f"a bit is taken from `{n.x}` {w.edge(n.clk)} {when}".strip(),
                f"`{n.x}` is read {w.edge(n.clk)} {when}".strip(),
                held=f"edges of `{n.clk}` {when}fetch `{n.x}`".replace("  ", " "),
            ),
            w.say(
                f"the pattern is {bits}, in the order of arrival",
                f"the sequence to find is {digits}, first bit first",
                f"the bits {bits} must come one after the other",
                held=f"look for {digits}, read from the left",
            ),
        ]
        extra = f"`{n.en}` is 1 and " if self.enable else ""
        if self.moore:
            facts.append(
                w.say(
                    f"`{n.y}` is 1 after the edge that took the last bit of the pattern, until the next bit is taken",
                    f"Moore output: `{n.y}` is 1 while the last bits taken are the pattern",
                    held=f"`{n.y}` is up once the whole pattern has gone in",
                )
            )
        else:
            facts.append(
                w.say(
                    f"`{n.y}` is combinational (Mealy): 1 while {extra}the bits taken before and `{n.x}` together complete the pattern",
                    f"Mealy output: `{n.y}` is 1 when {extra}`{n.x}` is the last bit of the pattern and the bits before it were taken",
                    held=f"`{n.y}` is up, without delay, when {extra}`{n.x}` would complete the pattern",
                )
            )
        facts.append(
            w.say(
                "Overlapping patterns count",
                "bits of one pattern may be part of the next (overlap)",
                held="a bit can belong to two patterns",
            )
            if self.overlap
            else w.say(
                "Patterns do not overlap: after a pattern the search starts anew",
                "no overlap: bits of a found pattern are not used again",
                held="a bit belongs to one pattern only",
            )
        )
        return Spec(
            noun=w.say(
                f"a {kind} machine that finds the bit sequence {digits}",
                f"a detector for the sequence {digits}",
                f"a sequence detector ({kind}) for the bits {bits}",
                held=f"a {kind} watcher for {digits}",
            ),
            verb=w.say(
                f"detects the bit sequence {digits} in a serial stream",
                f"finds the pattern {digits} in the stream `{n.x}`",
                held=f"watches `{n.x}` for {digits}",
            ),
            facts=tuple(facts),
            reset=w.say("no bit has been taken", "the search begins anew", "nothing of the pattern is matched"),
        )

    def code(self, n: Names, s: Style) -> str:
        size = const_width(self.states - 1)
        arms: list[Case] = []
        for state in range(self.states):
            one, zero = self._next(state, 1), self._next(state, 0)
            text = f"{n.s} <= {n.x} ? {size}'d{one} : {size}'d{zero};" if one != zero else f"{n.s} <= {size}'d{one};"
            arms.append((f"{size}'d{state}", [text]))
        if self.states < 1 << size:
            arms.append(("", [f"{n.s} <= {size}'d0;"]))
        else:
            arms[-1] = ("", arms[-1][1])
        lines = s.clocked(self, n, [f"{n.s} <= {s.lit(size, 0)};"], [(n.en if self.enable else "", s.case(n.s, arms))])
        last = f"{n.x}" if self.pattern[-1] else f"!{n.x}"
        parts = (
            [f"{n.s} == {size}'d{len(self.pattern)}"]
            if self.moore
            else [*([n.en] if self.enable else []), f"{n.s} == {size}'d{len(self.pattern) - 1}", last]
        )
        return s.module(n, self.pins, [*lines, f"assign {n.y} = {' && '.join(parts)};"], ["s"])

    def start(self) -> State:
        return {"bits": ()}

    # The model remembers bits and knows nothing of states.
    def _ends(self, bits: tuple[int, ...]) -> bool:
        return bits[-len(self.pattern) :] == self.pattern

    def outs(self, state: State, i: Inputs) -> Outputs:
        if self.moore:
            return {"y": int(self._ends(state["bits"]))}
        return {"y": int(i.get("en", 1) == 1 and self._ends((*self._usable(state["bits"]), i["x"])))}

    def _usable(self, bits: tuple[int, ...]) -> tuple[int, ...]:
        return () if self._ends(bits) and not self.overlap else bits

    def step(self, state: State, i: Inputs) -> State:
        if not i.get("en", 1):
            return state
        return {"bits": (*self._usable(state["bits"]), i["x"])[-8:]}

    def busy(self, role: str) -> float | None:
        return 0.5 if role == "x" else None

    @property
    def cycles(self) -> int:
        return 400


@dataclass(frozen=True)
class MooreMachine(Clocked):
    """A random machine of named states; each waits for one input, or goes on at once."""

    name: ClassVar[str] = "moore_machine"
    share: ClassVar[float] = 3.0
    labels: int
    inputs: int
    # For each state: input to look at (-1: none), next state when it is 1, next state otherwise.
    moves: tuple[tuple[int, int, int], ...]
    outputs: tuple[int, ...]
    out_width: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        count, inputs = rng.choice((2, 3, 3, 4, 4, 5)), rng.choice((1, 2, 2))
        moves = []
        for state in range(count):
            onward = (state + 1) % count
            look = rng.choice((*range(inputs), *range(inputs), -1)) if count > 2 else rng.randrange(inputs)
            other = rng.choice((state, state, rng.randrange(count)))
            target = onward if rng.random() < 0.8 else rng.randrange(count)
            if look >= 0 and other == target:
                other = state if target != state else onward
            moves.append((look, target, target if look < 0 else other))
        used = {look for look, _, _ in moves if look >= 0}
        if len(used) < inputs:
            inputs = max(len(used), 1)
            moves = [(min(look, inputs - 1), one, zero) for look, one, zero in moves]
        if not used:
            moves[0] = (0, 1, 0)
        size = rng.choice((1, 1, 2, 3))
        values = tuple(rng.randrange(1 << size) for _ in range(count))
        if len(set(values)) == 1:
            values = (values[0] ^ 1, *values[1:])
        return cls(Reset.draw(rng), rng.randrange(len(STATES)), inputs, tuple(moves), values, size)

    @property
    def pins(self) -> tuple[Pin, ...]:
        ins = (inp(f"i{k}", 1, "any_in1") for k in range(self.inputs))
        size = const_width(len(self.moves) - 1)
        return (*self.head, *ins, out("y", self.out_width, "any_out"), own("s", size, "state"))

    @property
    def _names(self) -> tuple[str, ...]:
        return STATES[self.labels][: len(self.moves)]

    def describe(self, n: Names, w: Words) -> Spec:
        names = self._names
        lines, rows = [], []
        form = w.rng.randrange(3)
        for state, (look, one, zero) in enumerate(self.moves):
            here, to, other = names[state], names[one], names[zero]
            if look < 0:
                text = (
                    f"from {here} it goes to {to}",
                    f"{here}: always to {to}",
                    f"in {here}, the next state is {to}",
                )[form]
            else:
                name = n[f"i{look}"]
                stay = (
                    f"stays in {here}" if zero == state else f"goes to {other}",
                    f"else to {other}",
                    f"otherwise {other}",
                )[form]
                text = (
                    f"from {here} it goes to {to} when `{name}` is 1, and {stay} when it is 0",
                    f"{here}: to {to} if `{name}` is 1, {stay}",
                    f"in {here}, the next state is {to} when `{name}` = 1, {stay}",
                )[form]
            lines.append(text)
            rows.append(
                (here, to if look < 0 else f"{to} if `{n[f'i{look}']}`, else {other}", str(self.outputs[state]))
            )
        tabled = w.rng.random() < 0.35
        outputs = ", ".join(f"{value} in {name}" for name, value in zip(names, self.outputs, strict=True))
        facts = [
            w.say(
                f"the states are {', '.join(names)}",
                f"it has the states {', '.join(names)}",
                held=f"its states are called {', '.join(names)}",
            )
        ]
        if tabled:
            facts.append(
                w.say(
                    f"the table gives the next state {w.edge(n.clk)} and the value of `{n.y}` in each state",
                    f"next states (at rising edges of `{n.clk}`) and `{n.y}` are in the table",
                    held=f"look up the next state and `{n.y}` below",
                )
            )
        else:
            facts.append(
                w.say(
                    f"{w.edge(n.clk)} the state changes",
                    f"the state changes {w.edge(n.clk)}",
                    held=f"`{n.clk}` moves the state",
                )
            )
            facts += lines
            facts.append(
                w.say(
                    f"`{n.y}` is {outputs}",
                    f"the output `{n.y}` depends on the state alone: {outputs}",
                    held=f"`{n.y}` shows {outputs}",
                )
            )
        return Spec(
            noun=w.say(
                f"a Moore machine with {len(names)} states",
                f"a state machine with the states {', '.join(names)}",
                f"a controller with {len(names)} states",
                held=f"an automaton of {len(names)} states",
            ),
            verb=w.say(
                f"goes through {len(names)} states",
                f"is a Moore state machine with {len(names)} states",
                held=f"walks through {len(names)} states",
            ),
            facts=tuple(facts),
            reset=w.say(f"the state is {names[0]}", f"the machine is in {names[0]}"),
            table=(("state", "next state", f"`{n.y}`"), *rows) if tabled else (),
        )

    def code(self, n: Names, s: Style) -> str:
        names, size = self._names, const_width(len(self.moves) - 1)
        arms: list[Case] = []
        for state, (look, one, zero) in enumerate(self.moves):
            if look < 0:
                text = [f"{n.s} <= {names[one]};"]
            elif zero == state:
                text = [f"if ({n[f'i{look}']}) {n.s} <= {names[one]};"]
            else:
                text = [f"{n.s} <= {n[f'i{look}']} ? {names[one]} : {names[zero]};"]
            arms.append((names[state], text))
        if len(names) < 1 << size:
            arms.append(("", [f"{n.s} <= {names[0]};"]))
        lines = s.clocked(self, n, [f"{n.s} <= {names[0]};"], [("", s.case(n.s, arms))])
        outs: list[Case] = [
            (name, [f"{n.y} = {s.lit(self.out_width, value)};"])
            for name, value in zip(names, self.outputs, strict=True)
        ]
        outs[-1] = ("", outs[-1][1])
        if self.out_width == 1 and sum(self.outputs) == 1:
            shown, written = [f"assign {n.y} = {n.s} == {names[self.outputs.index(1)]};"], ["s"]
        else:
            shown, written = s.comb(s.case(n.s, outs)), ["s", "y"]
        return s.module(n, self.pins, [parameters(names, size, s), *lines, *shown], written)

    def start(self) -> State:
        return {"s": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"y": self.outputs[state["s"]]}

    def step(self, state: State, i: Inputs) -> State:
        look, one, zero = self.moves[state["s"]]
        return {"s": one if look < 0 or i[f"i{look}"] else zero}


FAMILIES = (
    SequenceDetector,
    MooreMachine,
)
