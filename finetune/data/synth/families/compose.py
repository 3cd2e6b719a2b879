"""Designs put together at random: several outputs, operations by a code, registers with a list of rules.

No two of these are alike, so that what is learnt is to read a description and not to know a design.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from finetune.data.synth.design import Clocked, Family, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.families.atoms import FACTS
from finetune.data.synth.families.common import Expressions
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

_WIDTHS = (3, 4, 4, 5, 6, 7, 8, 8, 8, 10, 12, 12, 16, 16)
_OPERATIONS = (
    "add", "sub", "rsub", "and", "or", "xor", "nand", "nor", "without", "larger", "smaller", "pass", "not", "next",
    "before", "negative", "left", "right",
)  # fmt: skip
_FLAGS = {"zero": "zero", "top": "neg", "odd_ones": "par", "odd": "flag", "all": "full", "some": "any"}


@dataclass(frozen=True)
class Several(Expressions):
    """Two to five outputs, each a fact of its own."""

    name: ClassVar[str] = "several_outputs"
    share: ClassVar[float] = 6.0
    width: int
    facts: tuple[tuple[str, int], ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size = rng.choice(_WIDTHS)
        needs = rng.choice(("", "b", "b", "bs", "s"))
        allowed = [key for key, atom in FACTS.items() if set(atom.needs) <= set(needs)]
        chosen = rng.sample(allowed, rng.choice((2, 2, 3, 3, 4, 5)))
        # What is there to be read must be read by something.
        for need in needs:
            if not any(need in FACTS[key].needs for key in chosen):
                chosen[need == "s"] = rng.choice([key for key in allowed if need in FACTS[key].needs and key not in chosen])
        return cls(size, tuple((key, _constant(key, rng, size)) for key in chosen))

    @property
    def _needs(self) -> str:
        return "".join(need for need in "bs" if any(need in FACTS[key].needs for key, _ in self.facts))

    @property
    def pins(self) -> tuple[Pin, ...]:
        more = tuple(inp(need, self.width if need == "b" else 1, "any_in" if need == "b" else "any_in1") for need in self._needs)
        outs = (out(f"y{k}", self.width if FACTS[key].size == "word" else 1, "any_out") for k, (key, _) in enumerate(self.facts))
        return (inp("a", self.width, "any_in"), *more, *outs)

    def _texts(self, n: Names, place: int) -> dict[str, object]:
        texts: dict[str, object] = {"a": n.a, "y": n[f"y{place}"], "k": self.facts[place][1], "w": self.width, "t": self.width - 1}
        return texts | {need: n[need] for need in self._needs}

    def describe(self, n: Names, w: Words) -> Spec:
        inputs = ["a", *self._needs]
        words = " and ".join(f"`{n[role]}`" for role in inputs if role != "s")
        count = len(self.facts)
        return Spec(
            noun=w.say(
                w.a(f"{self.width}-bit unit with {count} outputs"),
                f"a small unit that looks at {words}",
                f"a block with {count} outputs that depend on {words}",
                held=f"a thing that says {count} things about {words}",
            ),
            verb=w.say(
                f"computes {count} values from {words}",
                f"examines {words}",
                f"derives {count} outputs from {words}",
                held=f"says {count} things about {words}",
            ),
            facts=tuple(FACTS[key].say(w, self._texts(n, place)) for place, (key, _) in enumerate(self.facts)),
        )

    def terms(self, n: Names, s: Style) -> dict[str, str]:
        return {f"y{place}": FACTS[key].code.format(**self._texts(n, place)) for place, (key, _) in enumerate(self.facts)}

    def outs(self, state: State, i: Inputs) -> Outputs:
        return {f"y{place}": FACTS[key].value(i["a"], i.get("b", 0), i.get("s", 0), k, self.width) for place, (key, k) in enumerate(self.facts)}

    def common(self, role: str) -> tuple[int, ...]:
        constants = [k for key, k in self.facts if FACTS[key].constant is not None]
        return tuple({value for k in constants for value in (k - 1, k, k + 1) if value >= 0})


def _constant(key: str, rng: Random, width: int) -> int:
    draw = FACTS[key].constant
    return 0 if draw is None else draw(rng, width)


@dataclass(frozen=True)
class Alu(Family):
    """One of several operations on two words, by a code, with flags of the result."""

    name: ClassVar[str] = "alu"
    share: ClassVar[float] = 4.0
    width: int
    bits: int
    operations: tuple[tuple[str, int], ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        bits, size = rng.choice((1, 2, 2, 2, 3, 3)), rng.choice(_WIDTHS)
        count = (1 << bits) - (rng.choice((0, 0, 1, 2, 3)) if bits == 3 else 0)
        chosen = rng.sample(_OPERATIONS, count)
        if not any("b" in FACTS[key].needs for key in chosen):
            chosen[0] = "add"
        flags = tuple(rng.sample(list(_FLAGS), rng.choice((0, 0, 1, 1, 2))))
        return cls(size, bits, tuple((key, _constant(key, rng, size)) for key in chosen), flags)

    @property
    def pins(self) -> tuple[Pin, ...]:
        flags = (out(flag, 1, _FLAGS[flag]) for flag in self.flags)
        return inp("a", self.width), inp("b", self.width), inp("op", self.bits), out("y", self.width), *flags

    def _texts(self, n: Names, k: int) -> dict[str, object]:
        return {"a": n.a, "b": n.b, "y": n.y, "k": k, "w": self.width, "t": self.width - 1}

    def describe(self, n: Names, w: Words) -> Spec:
        nouns = [FACTS[key].short.format(**self._texts(n, k)) for key, k in self.operations]
        rest = len(nouns) < 1 << self.bits
        tabled = w.rng.random() < 0.55
        rows = [(str(code), noun) for code, noun in enumerate(nouns)]
        facts = []
        if tabled:
            rows += [("other", "0")] if rest else []
            facts.append(w.say(f"`{n.op}` chooses the operation", f"`{n.y}` depends on `{n.op}` as in the table", f"the operations are in the table", held=f"look `{n.op}` up below"))
        else:
            form = w.say("`{op}` = {code}: `{y}` is {noun}", "{code}: {noun}", "for `{op}` = {code}, `{y}` is {noun}", held="code {code} makes `{y}` {noun}")
            if form.startswith("{code}"):
                facts.append(f"`{n.op}` chooses what `{n.y}` is")
            facts += [form.format(op=n.op, y=n.y, code=code, noun=noun) for code, noun in enumerate(nouns)]
            if rest:
                facts.append(w.say(f"for every other value of `{n.op}`, `{n.y}` is 0", f"any other `{n.op}` gives 0", held=f"the other codes of `{n.op}` give 0"))
        for flag in self.flags:
            facts.append(FACTS[flag].say(w, {**self._texts(n, 0), "a": n.y, "y": n[flag]}))
        return Spec(
            noun=w.say(w.a(f"{self.width}-bit arithmetic and logic unit"), w.a(f"{self.width}-bit ALU with {len(nouns)} operations"), f"a unit with {len(nouns)} operations on {self.width}-bit words", held=f"a calculator for {self.width}-bit words"),
            verb=w.say(f"performs one of {len(nouns)} operations on `{n.a}` and `{n.b}`", f"computes with two {self.width}-bit words, as `{n.op}` says", held=f"calculates with `{n.a}` and `{n.b}`"),
            facts=tuple(facts),
            table=((f"`{n.op}`", f"`{n.y}`"), *rows) if tabled else (),
        )

    def code(self, n: Names, s: Style) -> str:
        texts = [FACTS[key].code.format(**self._texts(n, k)) for key, k in self.operations]
        arms: list[Case] = [(f"{self.bits}'d{code}", [f"{n.y} = {text};"]) for code, text in enumerate(texts)]
        if len(texts) == 1 << self.bits:
            arms[-1] = ("", arms[-1][1])
        else:
            arms.append(("", [f"{n.y} = {s.lit(self.width, 0)};"]))
        if self.bits == 1 and s.ternary:
            body = [f"assign {n.y} = {n.op} ? {texts[1]} : {texts[0]};"]
            written: list[str] = []
        else:
            body, written = s.comb(s.case(n.op, arms)), ["y"]
        flags = [f"assign {n[flag]} = {FACTS[flag].code.format(**{**self._texts(n, 0), 'a': n.y})};" for flag in self.flags]
        return s.module(n, self.pins, [*body, *flags], written)

    def outs(self, state: State, i: Inputs) -> Outputs:
        y = 0
        if i["op"] < len(self.operations):
            key, k = self.operations[i["op"]]
            y = FACTS[key].value(i["a"], i["b"], 0, k, self.width) & mask(self.width)
        return {"y": y} | {flag: FACTS[flag].value(y, 0, 0, 0, self.width) for flag in self.flags}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(range(1 << self.bits)) if role == "op" else ()

    @property
    def cycles(self) -> int:
        return 96


# What a register does: wording in a table, Verilog of the next value, and the value. d is data, x a serial bit.
_MOVES: dict[str, tuple[str, str, str]] = {
    "keep": ("unchanged", "", "unchanged"),
    "load": ("`{d}`", "{d}", "`{d}`"),
    "zero": ("0", "{w}'d0", "empty"),
    "ones": ("all ones", "{{{w}{{1'b1}}}}", "full of ones"),
    "up": ("`{q}` + 1", "{q} + {w}'d1", "one more"),
    "down": ("`{q}` - 1", "{q} - {w}'d1", "one less"),
    "add": ("`{q}` + `{d}`", "{q} + {d}", "`{q}` plus `{d}`"),
    "left": ("shifted left by one, `{x}` enters at bit 0", "{{{q}[{u}:0], {x}}}", "one to the left, with `{x}` at bit 0"),
    "right": ("shifted right by one, `{x}` enters at bit {t}", "{{{x}, {q}[{t}:1]}}", "one to the right, with `{x}` at bit {t}"),
    "left0": ("shifted left by one, 0 enters at bit 0", "{{{q}[{u}:0], 1'b0}}", "one to the left, with 0 at bit 0"),
    "right0": ("shifted right by one, 0 enters at bit {t}", "{{1'b0, {q}[{t}:1]}}", "one to the right, with 0 at bit {t}"),
    "rotl": ("rotated left by one", "{{{q}[{u}:0], {q}[{t}]}}", "one round to the left"),
    "rotr": ("rotated right by one", "{{{q}[0], {q}[{t}:1]}}", "one round to the right"),
    "arith": ("shifted right by one, bit {t} keeps its value", "{{{q}[{t}], {q}[{t}:1]}}", "one to the right, with bit {t} kept"),
    "invert": ("inverted bit by bit", "~{q}", "turned over"),
}
_READS = {"load": "d", "add": "d", "left": "x", "right": "x"}


def _moved(move: str, q: int, d: int, x: int, width: int) -> int:
    top = width - 1
    value = {
        "keep": q, "load": d, "zero": 0, "ones": -1, "up": q + 1, "down": q - 1, "add": q + d, "left": q * 2 + x,
        "right": q // 2 + (x << top), "left0": q * 2, "right0": q // 2, "rotl": q * 2 + (q >> top),
        "rotr": q // 2 + ((q & 1) << top), "arith": q // 2 + (q >> top << top), "invert": ~q,
    }[move]  # fmt: skip
    return value & mask(width)


@dataclass(frozen=True)
class ModeRegister(Clocked):
    """A register that does what a mode input says."""

    name: ClassVar[str] = "mode_register"
    share: ClassVar[float] = 4.0
    width: int
    bits: int
    moves: tuple[str, ...]
    flags: tuple[str, ...]

    @classmethod
    def draw(cls, rng: Random) -> Self:
        bits = rng.choice((1, 2, 2, 2, 3, 3))
        moves = rng.sample(list(_MOVES), 1 << bits)
        if not any(move in _READS for move in moves):
            moves[rng.randrange(len(moves))] = rng.choice(list(_READS))
        return cls(Reset.draw(rng), rng.choice((3, 4, 4, 5, 6, 8, 8, 8, 10, 12, 16)), bits, tuple(moves), tuple(rng.sample(list(_FLAGS), rng.choice((0, 0, 1, 1, 2)))))

    @property
    def _reads(self) -> set[str]:
        return {_READS[move] for move in self.moves if move in _READS}

    @property
    def pins(self) -> tuple[Pin, ...]:
        data = (*((inp("d", self.width, "din"),) if "d" in self._reads else ()), *((inp("x", 1, "bit"),) if "x" in self._reads else ()))
        return (*self.head, inp("m", self.bits, "op"), *data, out("q", self.width, "dout"), *(out(flag, 1, _FLAGS[flag]) for flag in self.flags))

    def _texts(self, n: Names) -> dict[str, object]:
        return {"q": n.q, "w": self.width, "t": self.width - 1, "u": self.width - 2} | {role: n[role] for role in self._reads}

    def describe(self, n: Names, w: Words) -> Spec:
        texts = self._texts(n)
        ends = [(_MOVES[move][2 if w.held else 0]).format(**texts) for move in self.moves]
        tabled = w.rng.random() < 0.6
        facts: list[str] = []
        if tabled:
            facts.append(w.say(f"{w.edge(n.clk)}, `{n.q}` becomes what the table says for `{n.m}`", f"`{n.m}` decides what happens to `{n.q}` {w.edge(n.clk)}", held=f"look up below what `{n.m}` does to `{n.q}`"))
        else:
            facts.append(w.say(f"{w.edge(n.clk)}, `{n.q}` changes as `{n.m}` says", f"what `{n.q}` becomes {w.edge(n.clk)} depends on `{n.m}`", held=f"`{n.m}` says what happens to `{n.q}`"))
            form = w.say("`{m}` = {code}: `{q}` is {end}", "{code}: {end}", "with `{m}` = {code}, `{q}` becomes {end}", held="code {code} leaves `{q}` {end}")
            facts += [form.format(m=n.m, q=n.q, code=code, end=end) for code, end in enumerate(ends)]
        for flag in self.flags:
            facts.append(FACTS[flag].say(w, {"a": n.q, "y": n[flag], "k": 0, "w": self.width, "t": self.width - 1}))
        return Spec(
            noun=w.say(w.a(f"{self.width}-bit register with {len(ends)} modes"), w.a(f"{self.width}-bit universal register"), f"a register of {self.width} bits with a mode input", held=f"a {self.width}-bit register of many uses"),
            verb=w.say(f"keeps a {self.width}-bit word and changes it as `{n.m}` says", f"performs one of {len(ends)} actions on a register", held=f"does {len(ends)} things to a word"),
            facts=tuple(facts),
            reset=w.say(f"`{n.q}` is 0", w.becomes(n.q, "0")),
            table=((f"`{n.m}`", f"`{n.q}` becomes"), *((str(code), end) for code, end in enumerate(ends))) if tabled else (),
        )

    def code(self, n: Names, s: Style) -> str:
        texts = self._texts(n)
        arms: list[Case] = []
        for code, move in enumerate(self.moves):
            text = _MOVES[move][1].format(**texts)
            arms.append((f"{self.bits}'d{code}", [f"{n.q} <= {text or n.q};"]))
        arms[-1] = ("", arms[-1][1])
        zero = [f"{n.q} <= {s.lit(self.width, 0)};"]
        if self.bits == 1:
            inner = s.chain([(n.m, arms[1][1]), ("", arms[0][1])])
        else:
            inner = s.case(n.m, arms)
        flags = [f"assign {n[flag]} = {FACTS[flag].code.format(a=n.q, k=0, w=self.width, t=self.width - 1)};" for flag in self.flags]
        return s.module(n, self.pins, [*s.clocked(self, n, zero, [("", inner)]), *flags], ["q"])

    def start(self) -> State:
        return {"q": 0}

    def outs(self, state: State, i: Inputs) -> Outputs:
        q = state["q"]
        return {"q": q} | {flag: FACTS[flag].value(q, 0, 0, 0, self.width) for flag in self.flags}

    def step(self, state: State, i: Inputs) -> State:
        return {"q": _moved(self.moves[i["m"]], state["q"], i.get("d", 0), i.get("x", 0), self.width)}

    def common(self, role: str) -> tuple[int, ...]:
        return tuple(range(1 << self.bits)) if role == "m" else ()

    @property
    def cycles(self) -> int:
        return 240


Condition = tuple[Any, ...]
Action = tuple[str, int]


@dataclass(frozen=True)
class Rules(Clocked):
    """A counter and a flag under a list of rules, of which the first that applies counts.

    Conditions are ``("in", role, value)``, ``("is", constant)``, ``("least", constant)``, ``("flag", value)``, or two of
    them. Actions say what the count (``q``) and the flag (``f``) become; what is not named keeps its value.
    """

    name: ClassVar[str] = "rules"
    share: ClassVar[float] = 8.0
    width: int
    inputs: int
    flag: bool
    rules: tuple[tuple[tuple[Condition, ...], Action | None, Action | None], ...]
    shown: tuple[str, int]
    init: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size, inputs, flag = rng.choice((2, 3, 4, 4, 5, 6, 8, 8)), rng.choice((1, 2, 2, 3, 3)), rng.random() < 0.65
        count = rng.choice((2, 3, 3, 4, 4, 5))
        top = rng.choice((mask(size), min(mask(size), rng.randint(2, 20))))
        roles = [f"i{k}" for k in range(inputs)]
        free = [(role,) for role in roles]
        rules = []
        for place in range(count):
            last = place == count - 1
            role = free[place % len(free)][0] if place < len(free) else rng.choice(roles)
            conditions: list[Condition] = [("in", role, int(rng.random() < 0.85))]
            kind = rng.random()
            if kind < 0.3:
                conditions.append((rng.choice(("is", "is", "least")), rng.choice((top, top, 0 if kind < 0.1 else rng.randint(1, top)))))
                conditions[-1] = ("is", 0) if conditions[-1][1] == 0 else conditions[-1]
            elif kind < 0.42 and len(roles) > 1:
                conditions.append(("in", rng.choice([other for other in roles if other != role]), int(rng.random() < 0.5)))
            elif kind < 0.52 and flag:
                conditions.append(("flag", int(rng.random() < 0.6)))
            elif kind < 0.6:
                conditions = [(rng.choice(("is", "least")), top)]
            if last and rng.random() < 0.6:
                conditions = []
            rules.append((tuple(conditions), *_actions(rng, flag, size, top)))
        shown = rng.choice((("", 0), ("is", 0), ("is", top), ("least", rng.randint(1, top))))
        return cls(Reset.draw(rng), size, inputs, flag, tuple(rules), shown, rng.choice((0, 0, 0, top)))

    @property
    def _data(self) -> bool:
        return any(action is not None and action[0] in ("data", "add") for _, action, _ in self.rules)

    @property
    def pins(self) -> tuple[Pin, ...]:
        bits = (inp(f"i{k}", 1, "any_in1") for k in range(self.inputs))
        data = (inp("d", self.width, "din"),) if self._data else ()
        shown = (out("z", 1, "any_out"),) if self.shown[0] else ()
        return (*self.head, *bits, *data, out("q", self.width, "any_reg"), *((out("f", 1, "any_flag"),) if self.flag else ()), *shown)

    def _condition(self, condition: Condition, n: Names, w: Words) -> str:
        kind = condition[0]
        if kind == "in":
            name, value = n[condition[1]], condition[2]
            return w.one(name) if value else w.nought(name)
        if kind == "flag":
            return f"`{n.f}` is {condition[1]}"
        if kind == "is":
            return w.say(f"`{n.q}` is {condition[1]}", f"`{n.q}` equals {condition[1]}", f"`{n.q}` = {condition[1]}", held=f"`{n.q}` has come to {condition[1]}")
        return w.say(f"`{n.q}` is at least {condition[1]}", f"`{n.q}` is {condition[1]} or more", held=f"`{n.q}` is not below {condition[1]}")

    def _action(self, name: str, action: Action, n: Names, w: Words) -> str:
        kind, value = action
        if kind == "set":
            return w.becomes(name, str(value))
        if kind == "data":
            return w.becomes(name, f"`{n.d}`")
        if kind == "add":
            return w.say(f"`{n.d}` is added to `{name}`", f"`{name}` becomes `{name}` + `{n.d}`", held=f"`{name}` grows by `{n.d}`")
        if kind == "up":
            return w.say(f"`{name}` goes up by 1", f"`{name}` is incremented", f"`{name}` goes up by 1", held=f"`{name}` grows by 1")
        if kind == "down":
            return w.say(f"`{name}` goes down by 1", f"`{name}` is decremented", f"`{name}` goes down by 1", held=f"`{name}` shrinks by 1")
        return w.say(f"`{name}` is inverted", f"`{name}` toggles", held=f"`{name}` turns over")

    def describe(self, n: Names, w: Words) -> Spec:
        rules = []
        joint = w.say(" and ", " and ", ", ")
        for conditions, count, flag in self.rules:
            actions = [self._action(n.q, count, n, w)] if count else []
            actions += [self._action(n.f, flag, n, w)] if flag else []
            when = " and ".join(self._condition(condition, n, w) for condition in conditions)
            rules.append((when, joint.join(actions) if actions else w.say("nothing changes", "everything keeps its value", held="all stays")))
        facts = [w.say("what a line does not name keeps its value", "everything else keeps its value", "registers that are not named are unchanged", held="the rest stays")]
        if self.rules[-1][0]:
            facts.append(w.say("when no line applies, nothing changes", "otherwise everything keeps its value", held="without a true line all stays"))
        if self.shown[0]:
            condition = self._condition(self.shown, n, w)
            facts.append(w.say(f"`{n.z}` is 1 when {condition}, otherwise 0", f"`{n.z}` is 1 exactly when {condition}", f"`{n.z}` is combinational: 1 while {condition}", held=f"`{n.z}` tells that {condition}"))
        names = f"`{n.q}`" + (f" and `{n.f}`" if self.flag else "")
        reset = f"`{n.q}` is {self.init}" + (f" and `{n.f}` is 0" if self.flag else "")
        if self.flag and self.init == 0:
            reset = w.say(reset, f"`{n.q}` and `{n.f}` are 0", f"both `{n.q}` and `{n.f}` become 0")
        return Spec(
            noun=w.say(f"a controller with {self.width}-bit state", w.a(f"{self.width}-bit counter with rules"), f"a small machine that keeps {names}", held=f"a keeper of {names}"),
            verb=w.say(f"keeps {names}", f"controls {names} by a list of rules", f"updates {names} as its inputs say", held=f"looks after {names}"),
            facts=tuple(facts),
            rules=tuple(rules),
            reset=reset,
        )

    def _test(self, condition: Condition, n: Names, s: Style) -> str:
        kind = condition[0]
        if kind in ("in", "flag"):
            name, value = (n[condition[1]], condition[2]) if kind == "in" else (n.f, condition[1])
            return name if value else s.inverted(name)
        return f"{n.q} {'==' if kind == 'is' else '>='} {self.width}'d{condition[1]}"

    def _write(self, name: str, action: Action, n: Names, width: int) -> str:
        kind, value = action
        one = f"{width}'d1"
        text = {"set": f"{width}'{'b' if width == 1 else 'd'}{value}", "up": f"{name} + {one}", "down": f"{name} - {one}", "toggle": f"~{name}"}.get(kind)
        if text is None:
            text = n.d if kind == "data" else f"{name} + {n.d}"
        return f"{name} <= {text};"

    def code(self, n: Names, s: Style) -> str:
        cases: list[Case] = []
        for conditions, count, flag in self.rules:
            lines = [self._write(n.q, count, n, self.width)] if count else []
            lines += [self._write(n.f, flag, n, 1)] if flag else []
            cases.append((" && ".join(self._test(condition, n, s) for condition in conditions), lines or [f"{n.q} <= {n.q};"]))
        reset = [f"{n.q} <= {s.lit(self.width, self.init)};", *([f"{n.f} <= 1'b0;"] if self.flag else [])]
        body = s.clocked(self, n, reset, cases)
        if self.shown[0]:
            body.append(f"assign {n.z} = {self._test(self.shown, n, s)};")
        return s.module(n, self.pins, body, ["q", "f"] if self.flag else ["q"])

    def start(self) -> State:
        return {"q": self.init, "f": 0}

    def _holds(self, condition: Condition, state: State, i: Inputs) -> bool:
        kind = condition[0]
        if kind == "in":
            return i[condition[1]] == int(condition[2])
        if kind == "flag":
            return bool(state["f"] == condition[1])
        return bool(state["q"] == condition[1] if kind == "is" else state["q"] >= condition[1])

    def outs(self, state: State, i: Inputs) -> Outputs:
        shown = int(self._holds(self.shown, state, i)) if self.shown[0] else 0
        return {"q": state["q"], "f": state["f"], "z": shown}

    def step(self, state: State, i: Inputs) -> State:
        for conditions, count, flag in self.rules:
            if all(self._holds(condition, state, i) for condition in conditions):
                q = state["q"] if count is None else _acted(count, state["q"], i.get("d", 0)) & mask(self.width)
                return {"q": q, "f": state["f"] if flag is None else _acted(flag, state["f"], 0) & 1}
        return state

    @property
    def cycles(self) -> int:
        return 320


def _acted(action: Action, value: int, data: int) -> int:
    kind, constant = action
    return {"set": constant, "data": data, "add": value + data, "up": value + 1, "down": value - 1, "toggle": 1 - value}[kind]


def _actions(rng: Random, flag: bool, size: int, top: int) -> tuple[Action | None, Action | None]:
    count: Action | None = rng.choice((("set", 0), ("set", 0), ("set", top), ("data", 0), ("up", 0), ("up", 0), ("up", 0), ("down", 0), ("down", 0), ("add", 0), None))
    mark: Action | None = rng.choice((("set", 1), ("set", 1), ("set", 0), ("set", 0), ("toggle", 0), None, None)) if flag else None
    if count is None and mark is None and rng.random() < 0.7:
        count = ("up", 0)
    return count, mark


FAMILIES = (Several, Alu, ModeRegister, Rules)
