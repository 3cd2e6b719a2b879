"""Memories and queues."""

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
    out,
    own,
)
from finetune.data.synth.style import STEP, Style
from finetune.data.synth.words import Words

_SIZES = (4, 8, 8, 12, 16, 16, 32)


@dataclass(frozen=True)
class Ram(Family):
    """One or two ports, read through a register (old or new data, or held) or at once."""

    name: ClassVar[str] = "ram"
    clocked: ClassVar[bool] = True
    width: int
    bits: int
    two: bool
    read: str

    @classmethod
    def draw(cls, rng: Random) -> Self:
        two = rng.random() < 0.4
        return cls(
            rng.choice(_SIZES),
            rng.choice((2, 3, 4, 4, 5)),
            two,
            rng.choice(("old", "old", "comb") if two else ("old", "old", "new", "comb", "idle")),
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        ports = (
            (inp("wa", self.bits, "waddr"), inp("ra", self.bits, "raddr"))
            if self.two
            else (inp("wa", self.bits, "addr"),)
        )
        # The array is declared by hand, since it has a second dimension.
        return (
            inp("clk"),
            inp("we"),
            *ports,
            inp("d", self.width, "wdata"),
            out("q", self.width, "rdata"),
            own("mem", 1),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        count = 1 << self.bits
        read = n.ra if self.two else n.wa
        ports = "two ports" if self.two else "one port"
        facts = [
            w.say(
                f"{w.edge(n.clk)} with `{n.we}` = 1, `{n.d}` is written to the word at `{n.wa}`",
                f"when {w.one(n.we)} at a rising edge of `{n.clk}`, the word at `{n.wa}` becomes `{n.d}`",
                f"`{n.d}` is stored at `{n.wa}` {w.edge(n.clk)} at which {w.one(n.we)}",
                held=f"`{n.we}` puts `{n.d}` in the place `{n.wa}` at the edge of `{n.clk}`",
            )
        ]
        facts.append(
            {
                "old": lambda: w.say(
                    f"{w.edge(n.clk)}, `{n.q}` becomes the word at `{read}` as it was before a write at the same edge",
                    f"`{n.q}` is a register that takes the word at `{read}` {w.edge(n.clk)}; with a write to the same word it takes the old content",
                    held=f"each edge of `{n.clk}` also moves the old word at `{read}` into `{n.q}`",
                ),
                "new": lambda: w.say(
                    f"{w.edge(n.clk)}, `{n.q}` becomes `{n.d}` when {w.one(n.we)}, and the word at `{read}` otherwise",
                    f"`{n.q}` is a register: at an edge with a write it takes `{n.d}`, at other edges the word at `{read}`",
                    held=f"what is written shows at `{n.q}` at the same edge; without a write the word at `{read}` does",
                ),
                "idle": lambda: w.say(
                    f"{w.edge(n.clk)} with `{n.we}` = 0, `{n.q}` becomes the word at `{read}`; at a write it keeps its value",
                    f"when {w.nought(n.we)} at the edge, `{n.q}` takes the word at `{read}`, otherwise {w.keeps(n.q)}",
                    held=f"edges without a write move the word at `{read}` into `{n.q}`",
                ),
                "comb": lambda: w.say(
                    f"`{n.q}` is the word at `{read}`, without a clock edge",
                    f"reading is combinational: `{n.q}` follows `{read}` and shows the word there",
                    held=f"`{n.q}` shows the place `{read}` without delay",
                ),
            }[self.read]()
        )
        facts.append(w.say("there is no reset", "the content is undefined until it is written", ""))
        return Spec(
            noun=w.say(
                w.a(f"{'dual' if self.two else 'single'}-port RAM of {count} words of {self.width} bits"),
                f"a memory with {ports}, {count} x {self.width} bits",
                f"a RAM of {count} words, {self.width} bits each, with {ports}",
                held=f"a store of {count} words with {ports}",
            ),
            verb=w.say(
                f"stores {count} words of {self.width} bits",
                f"is a RAM of {count} x {self.width} bits with {ports}",
                held=f"remembers {count} words of {self.width} bits",
            ),
            facts=tuple(fact for fact in facts if fact),
        )

    def code(self, n: Names, s: Style) -> str:
        read = n.ra if self.two else n.wa
        word, write = f"{n.mem}[{read}]", f"{n.mem}[{n.wa}] <= {n.d};"
        lines = [f"if ({n.we})", f"{STEP}{write}"]
        if self.read == "old":
            lines.append(f"{n.q} <= {word};")
        elif self.read == "new":
            lines = [
                f"if ({n.we}) begin",
                f"{STEP}{write}",
                f"{STEP}{n.q} <= {n.d};",
                "end else",
                f"{STEP}{n.q} <= {word};",
            ]
        elif self.read == "idle":
            lines += ["else", f"{STEP}{n.q} <= {word};"]
        pins = [pin for pin in self.pins if pin.role != "mem"]
        body = [s.array(n.mem, self.width, 1 << self.bits), *s.clocked(self, n, [], [("", lines)])]
        if self.read == "comb":
            body.append(f"assign {n.q} = {word};")
        return s.module(n, pins, body, [] if self.read == "comb" else ["q"])

    def start(self) -> State:
        return {"mem": {}, "q": None}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"q": state["mem"].get(i["ra" if self.two else "wa"]) if self.read == "comb" else state["q"]}

    def step(self, state: State, i: Inputs) -> State:
        memory, q = state["mem"], state["q"]
        word = memory.get(i["ra" if self.two else "wa"])
        if self.read == "old" or not i["we"]:
            q = word
        elif self.read == "new":
            q = i["d"]
        return {"mem": memory | {i["wa"]: i["d"]} if i["we"] else memory, "q": q}

    @property
    def cycles(self) -> int:
        return 200


@dataclass(frozen=True)
class RegisterFile(Clocked):
    """Registers with one write port and one or two combinational read ports; register 0 may be 0."""

    name: ClassVar[str] = "register_file"
    width: int
    bits: int
    ports: int
    zero: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(
            Reset.draw(rng), rng.choice(_SIZES), rng.choice((2, 3, 3, 4)), rng.choice((1, 2, 2)), rng.random() < 0.4
        )

    @property
    def pins(self) -> tuple[Pin, ...]:
        reads = (inp("ra", self.bits, "raddr"), inp("rb", self.bits, "raddr2"))[: self.ports]
        outs = (out("qa", self.width, "rdata"), out("qb", self.width, "rdata2"))[: self.ports]
        return (
            *self.head,
            inp("we"),
            inp("wa", self.bits, "waddr"),
            inp("d", self.width, "wdata"),
            *reads,
            *outs,
            own("mem", 1),
            own("i", 1, "index"),
        )

    def describe(self, n: Names, w: Words) -> Spec:
        count = 1 << self.bits
        facts = [
            w.say(
                f"{w.edge(n.clk)} with `{n.we}` = 1, the register `{n.wa}` becomes `{n.d}`",
                f"when {w.one(n.we)} at a rising edge of `{n.clk}`, `{n.d}` is written to register `{n.wa}`",
                held=f"`{n.we}` moves `{n.d}` into number `{n.wa}` at the edge of `{n.clk}`",
            )
        ]
        for q, ra in (("qa", "ra"), ("qb", "rb"))[: self.ports]:
            facts.append(
                w.say(
                    f"`{n[q]}` is the register `{n[ra]}`, without a clock edge",
                    f"`{n[q]}` shows register `{n[ra]}` at once",
                    f"`{n[q]}` follows `{n[ra]}` combinationally: it is the register with this index",
                    held=f"number `{n[ra]}` stands at `{n[q]}`",
                )
            )
        if self.zero:
            facts.append(
                w.say(
                    "register 0 is always 0, and writes to it are ignored",
                    "register 0 reads as 0, whatever is written to it",
                    held="number 0 cannot be changed and is 0",
                )
            )
        return Spec(
            noun=w.say(
                w.a(f"register file of {count} registers of {self.width} bits"),
                f"{count} registers of {self.width} bits with {self.ports} read port{'s' if self.ports > 1 else ''}",
                held=f"a set of {count} words of {self.width} bits",
            ),
            verb=w.say(
                f"keeps {count} registers of {self.width} bits",
                f"is a register file with {self.ports} read port{'s' if self.ports > 1 else ''}",
                held=f"holds {count} words of {self.width} bits",
            ),
            facts=tuple(facts),
            reset=w.say("all registers are 0", f"all {count} registers become 0"),
        )

    def code(self, n: Names, s: Style) -> str:
        count = 1 << self.bits
        condition = f"{n.we} && {n.wa} != {s.lit(self.bits, 0)}" if self.zero else n.we
        head = f"for ({'int ' if s.system else ''}{n.i} = 0; {n.i} < {count}; {n.i} = {n.i} + 1)"
        clear = [head, f"{STEP}{n.mem}[{n.i}] <= {s.lit(self.width, 0)};"]
        body = [s.array(n.mem, self.width, count), *([] if s.system else [f"integer {n.i};"])]
        body += s.clocked(self, n, clear, [(condition, [f"{n.mem}[{n.wa}] <= {n.d};"])])
        body += [f"assign {n[q]} = {n.mem}[{n[ra]}];" for q, ra in (("qa", "ra"), ("qb", "rb"))[: self.ports]]
        return s.module(n, [pin for pin in self.pins if pin.direction != "internal"], body)

    def start(self) -> State:
        return {"mem": {}}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {"qa": state["mem"].get(i["ra"], 0), "qb": state["mem"].get(i.get("rb", 0), 0)}

    def step(self, state: State, i: Inputs) -> State:
        if not i["we"] or (self.zero and i["wa"] == 0):
            return state
        return {"mem": state["mem"] | {i["wa"]: i["d"]}}

    @property
    def cycles(self) -> int:
        return 200


@dataclass(frozen=True)
class Fifo(Clocked):
    """A synchronous queue with a count; the oldest word always shows."""

    name: ClassVar[str] = "fifo"
    share: ClassVar[float] = 1.3
    width: int
    bits: int
    level: bool

    @classmethod
    def draw(cls, rng: Random) -> Self:
        return cls(Reset.draw(rng), rng.choice(_SIZES), rng.choice((1, 2, 2, 3, 3, 4)), rng.random() < 0.5)

    @property
    def pins(self) -> tuple[Pin, ...]:
        count = (out if self.level else own)("n", self.bits + 1, "level")
        return (
            *self.head, inp("push"), inp("d", self.width, "wdata"), inp("pop"), out("q", self.width, "rdata"), out("empty"), out("full"),
            count, own("wp", self.bits, "ptr"), own("rp", self.bits, "ptr2"), own("mem", 1),
        )  # fmt: skip

    def describe(self, n: Names, w: Words) -> Spec:
        depth = 1 << self.bits
        facts = [
            w.say(
                f"{w.edge(n.clk)}, `{n.push}` = 1 stores `{n.d}` at the end when the queue is not full",
                f"when {w.one(n.push)} and {w.nought(n.full)} at a rising edge of `{n.clk}`, `{n.d}` is stored; a push into a full queue is ignored",
                held=f"`{n.push}` adds `{n.d}` at the edge of `{n.clk}` as long as there is room",
            ),
            w.say(
                f"`{n.pop}` = 1 removes the oldest word at the edge when the queue is not empty",
                f"when {w.one(n.pop)} and {w.nought(n.empty)} at the edge, the oldest word is removed; a pop from an empty queue is ignored",
                held=f"`{n.pop}` drops the oldest word at the edge as long as there is one",
            ),
            w.say(
                f"`{n.q}` is the oldest word, without a clock edge; it is undefined while the queue is empty",
                f"`{n.q}` always shows the oldest word",
                held=f"the oldest word stands at `{n.q}`",
            ),
            w.say(
                f"`{n.empty}` is 1 when there is no word and `{n.full}` is 1 when there are {depth}",
                f"`{n.full}` is 1 with {depth} words stored, `{n.empty}` with none",
                held=f"{depth} words make it `{n.full}`, none `{n.empty}`",
            ),
        ]
        if self.level:
            facts.append(
                w.say(
                    f"`{n.n}` is the number of words stored",
                    f"`{n.n}` counts the stored words",
                    held=f"`{n.n}` says how many there are",
                )
            )
        return Spec(
            noun=w.say(
                w.a(f"synchronous FIFO of {depth} words of {self.width} bits"),
                f"a queue for {depth} words of {self.width} bits",
                w.a(f"{self.width}-bit FIFO with a depth of {depth}"),
                held=f"a line of {depth} words",
            ),
            verb=w.say(
                f"queues up to {depth} words of {self.width} bits",
                f"is a FIFO with a depth of {depth}",
                held=f"keeps up to {depth} words in order",
            ),
            facts=tuple(facts),
            reset=w.say("the queue is empty", "all words are removed"),
        )

    def code(self, n: Names, s: Style) -> str:
        size = self.bits
        add, take = f"{n.push} && !{n.full}", f"{n.pop} && !{n.empty}"

        def step(name: str, sign: str, wide: int) -> str:
            return f"{name} <= {name} {sign} {wide}'d1;"

        inner = [
            f"if ({add}) begin", f"{STEP}{n.mem}[{n.wp}] <= {n.d};", f"{STEP}{step(n.wp, '+', size)}", "end",
            f"if ({take})", f"{STEP}{step(n.rp, '+', size)}",
            f"if (({add}) && !({take}))", f"{STEP}{step(n.n, '+', size + 1)}",
            f"else if (({take}) && !({add}))", f"{STEP}{step(n.n, '-', size + 1)}",
        ]  # fmt: skip
        reset = [f"{n.wp} <= {s.lit(size, 0)};", f"{n.rp} <= {s.lit(size, 0)};", f"{n.n} <= {s.lit(size + 1, 0)};"]
        tail = [
            f"assign {n.q} = {n.mem}[{n.rp}];", f"assign {n.empty} = {n.n} == {size + 1}'d0;", f"assign {n.full} = {n.n} == {size + 1}'d{1 << size};",
        ]  # fmt: skip
        pins = [pin for pin in self.pins if pin.role != "mem"]
        body = [s.array(n.mem, self.width, 1 << size), *s.clocked(self, n, reset, [("", inner)]), *tail]
        return s.module(n, pins, body, ["n", "wp", "rp"])

    def start(self) -> State:
        return {"words": ()}

    def outs(self, state: State, i: Inputs) -> Outputs:
        words = state["words"]
        return {
            "q": words[0] if words else None,
            "empty": int(not words),
            "full": int(len(words) == 1 << self.bits),
            "n": len(words),
        }

    def step(self, state: State, i: Inputs) -> State:
        words = state["words"]
        full = len(words) == 1 << self.bits
        rest = words[1:] if i["pop"] else words
        return {"words": (*rest, i["d"]) if i["push"] and not full else rest}

    @property
    def cycles(self) -> int:
        return 300


FAMILIES = (
    Ram,
    RegisterFile,
    Fifo,
)
