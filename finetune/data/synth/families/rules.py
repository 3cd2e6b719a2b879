"""Registers under a list of rules, put together at random."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from finetune.data.synth.design import Clocked, Inputs, Names, Outputs, Pin, Reset, Spec, State, inp, mask, out
from finetune.data.synth.style import Case, Style
from finetune.data.synth.words import Words

_WIDTHS = (3, 4, 4, 5, 6, 7, 8, 8, 8, 10, 12, 12, 16, 16)

Condition = tuple[Any, ...]
Action = tuple[str, int]
_Rule = tuple[tuple[Condition, ...], Action | None, Action | None]


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
    rules: tuple[_Rule, ...]
    shown: tuple[str, int]
    init: int

    @classmethod
    def draw(cls, rng: Random) -> Self:
        size, inputs, flag = rng.choice((2, 3, 4, 4, 5, 6, 8, 8)), rng.choice((1, 2, 2, 3, 3)), rng.random() < 0.65
        count = rng.choice((2, 3, 3, 4, 4, 5))
        top = rng.choice((mask(size), min(mask(size), rng.randint(2, 20))))
        roles = [f"i{k}" for k in range(inputs)]
        free = [(role,) for role in roles]
        rules: list[_Rule] = []
        for place in range(count):
            last = place == count - 1
            role = free[place % len(free)][0] if place < len(free) else rng.choice(roles)
            conditions: list[Condition] = [("in", role, int(rng.random() < 0.85))]
            kind = rng.random()
            if kind < 0.3:
                conditions.append(
                    (
                        rng.choice(("is", "is", "least")),
                        rng.choice((top, top, 0 if kind < 0.1 else rng.randint(1, top))),
                    )
                )
                conditions[-1] = ("is", 0) if conditions[-1][1] == 0 else conditions[-1]
            elif kind < 0.42 and len(roles) > 1:
                conditions.append(
                    ("in", rng.choice([other for other in roles if other != role]), int(rng.random() < 0.5))
                )
            elif kind < 0.52 and flag:
                conditions.append(("flag", int(rng.random() < 0.6)))
            elif kind < 0.6:
                conditions = [(rng.choice(("is", "least")), top)]
            if last and rng.random() < 0.6:
                conditions = []
            rules.append((tuple(conditions), *_actions(rng, flag, size, top)))
        shown = rng.choice((("", 0), ("is", 0), ("is", top), ("least", rng.randint(1, top))))
        inputs, rules = _renumbered(rules)
        return cls(Reset.draw(rng), size, inputs, flag, tuple(rules), shown, rng.choice((0, 0, 0, top)))

    @property
    def _data(self) -> bool:
        return any(action is not None and action[0] in ("data", "add") for _, action, _ in self.rules)

    @property
    def pins(self) -> tuple[Pin, ...]:
        bits = (inp(f"i{k}", 1, "any_in1") for k in range(self.inputs))
        data = (inp("d", self.width, "din"),) if self._data else ()
        shown = (out("z", 1, "any_out"),) if self.shown[0] else ()
        return (
            *self.head,
            *bits,
            *data,
            out("q", self.width, "any_reg"),
            *((out("f", 1, "any_flag"),) if self.flag else ()),
            *shown,
        )

    def _condition(self, condition: Condition, n: Names, w: Words) -> str:
        kind = condition[0]
        if kind == "in":
            name, value = n[condition[1]], condition[2]
            return w.one(name) if value else w.nought(name)
        if kind == "flag":
            return f"`{n.f}` is {condition[1]}"
        if kind == "is":
            return w.say(
                f"`{n.q}` is {condition[1]}",
                f"`{n.q}` equals {condition[1]}",
                f"`{n.q}` = {condition[1]}",
                held=f"`{n.q}` has come to {condition[1]}",
            )
        return w.say(
            f"`{n.q}` is at least {condition[1]}",
            f"`{n.q}` is {condition[1]} or more",
            held=f"`{n.q}` is not below {condition[1]}",
        )

    def _action(self, name: str, action: Action, n: Names, w: Words) -> str:
        kind, value = action
        if kind == "set":
            return w.becomes(name, str(value))
        if kind == "data":
            return w.becomes(name, f"`{n.d}`")
        if kind == "add":
            return w.say(
                f"`{n.d}` is added to `{name}`",
                f"`{name}` becomes `{name}` + `{n.d}`",
                held=f"`{name}` grows by `{n.d}`",
            )
        if kind == "up":
            return w.say(
                f"`{name}` goes up by 1",
                f"`{name}` is incremented",
                f"`{name}` goes up by 1",
                held=f"`{name}` grows by 1",
            )
        if kind == "down":
            return w.say(
                f"`{name}` goes down by 1",
                f"`{name}` is decremented",
                f"`{name}` goes down by 1",
                held=f"`{name}` shrinks by 1",
            )
        return w.say(f"`{name}` is inverted", f"`{name}` toggles", held=f"`{name}` turns over")

    def describe(self, n: Names, w: Words) -> Spec:
        rules = []
        joint = w.say(" and ", " and ", ", ")
        for conditions, count, flag in self.rules:
            actions = [self._action(n.q, count, n, w)] if count else []
            actions += [self._action(n.f, flag, n, w)] if flag else []
            when = " and ".join(self._condition(condition, n, w) for condition in conditions)
            rules.append(
                (
                    when,
                    joint.join(actions)
                    if actions
                    else w.say("nothing changes", "everything keeps its value", held="all stays"),
                )
            )
        facts = [
            w.say(
                "what a line does not name keeps its value",
                "everything else keeps its value",
                "registers that are not named are unchanged",
                held="the rest stays",
            )
        ]
        if self.rules[-1][0]:
            facts.append(
                w.say(
                    "when no line applies, nothing changes",
                    "otherwise everything keeps its value",
                    held="without a true line all stays",
                )
            )
        if self.shown[0]:
            condition = self._condition(self.shown, n, w)
            facts.append(
                w.say(
                    f"`{n.z}` is 1 when {condition}, otherwise 0",
                    f"`{n.z}` is 1 exactly when {condition}",
                    f"`{n.z}` is combinational: 1 while {condition}",
                    held=f"`{n.z}` tells that {condition}",
                )
            )
        names = f"`{n.q}`" + (f" and `{n.f}`" if self.flag else "")
        reset = f"`{n.q}` is {self.init}" + (f" and `{n.f}` is 0" if self.flag else "")
        if self.flag and self.init == 0:
            reset = w.say(reset, f"`{n.q}` and `{n.f}` are 0", f"both `{n.q}` and `{n.f}` become 0")
        return Spec(
            noun=w.say(
                f"a controller with {self.width}-bit state",
                w.a(f"{self.width}-bit counter with rules"),
                f"a small machine that keeps {names}",
                held=f"a keeper of {names}",
            ),
            verb=w.say(
                f"keeps {names}",
                f"controls {names} by a list of rules",
                f"updates {names} as its inputs say",
                held=f"looks after {names}",
            ),
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
        text = {
            "set": f"{width}'{'b' if width == 1 else 'd'}{value}",
            "up": f"{name} + {one}",
            "down": f"{name} - {one}",
            "toggle": f"~{name}",
        }.get(kind)
        if text is None:
            text = n.d if kind == "data" else f"{name} + {n.d}"
        return f"{name} <= {text};"

    def code(self, n: Names, s: Style) -> str:
        cases: list[Case] = []
        for conditions, count, flag in self.rules:
            lines = [self._write(n.q, count, n, self.width)] if count else []
            lines += [self._write(n.f, flag, n, 1)] if flag else []
            cases.append(
                (" && ".join(self._test(condition, n, s) for condition in conditions), lines or [f"{n.q} <= {n.q};"])
            )
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


def _renumbered(rules: list[_Rule]) -> tuple[int, list[_Rule]]:
    """Without inputs that nothing looks at; how many there are then."""
    used = sorted({condition[1] for conditions, _, _ in rules for condition in conditions if condition[0] == "in"})
    new = {role: f"i{place}" for place, role in enumerate(used)}
    changed = [
        (
            tuple(("in", new[part[1]], part[2]) if part[0] == "in" else part for part in conditions),
            count,
            flag,
        )
        for conditions, count, flag in rules
    ]
    return len(used), changed


def _acted(action: Action, value: int, data: int) -> int:
    kind, constant = action
    return {
        "set": constant,
        "data": data,
        "add": value + data,
        "up": value + 1,
        "down": value - 1,
        "toggle": 1 - value,
    }[kind]


def _actions(rng: Random, flag: bool, size: int, top: int) -> tuple[Action | None, Action | None]:
    count: Action | None = rng.choice(
        (
            ("set", 0),
            ("set", 0),
            ("set", top),
            ("data", 0),
            ("up", 0),
            ("up", 0),
            ("up", 0),
            ("down", 0),
            ("down", 0),
            ("add", 0),
            None,
        )
    )
    mark: Action | None = (
        rng.choice((("set", 1), ("set", 1), ("set", 0), ("set", 0), ("toggle", 0), None, None)) if flag else None
    )
    if count is None and mark is None and rng.random() < 0.7:
        count = ("up", 0)
    return count, mark


FAMILIES = (Rules,)
