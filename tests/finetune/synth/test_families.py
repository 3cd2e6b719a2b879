"""Every family: its code compiles and does what its model says, and the model notices what does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from finetune.data.synth.check import Checker, Trial
from finetune.data.synth.design import Family
from finetune.data.synth.families import BY_NAME, FAMILIES
from finetune.data.synth.pairs import Pair, make_pair, suite_modules
from finetune.data.synth.vectors import make_vectors
from verieval.judge import Toolchain

# What slips look like.
SLIPS = (
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r"= -", "= "), (r"\? -(\w+)", r"? \1"),
    (r" & ", " | "), (r" \| ", " & "), (r" \^ ", " & "), (r"= ~", "= "), (r"= \^", "= ~^"), (r"= &", "= |"),
    (r"= \|", "= &"),
    (r" == ", " != "), (r" < ", " >= "), (r" > ", " <= "), (r" >= ", " < "), (r" <= (?=\d)", " > "),
    (r" << ", " >> "), (r" >> ", " << "), (r" >>> ", " >> "),
    (r" \? (\w+) : (\w+);", r" ? \2 : \1;"), (r"= (\w+) \? ", r"= !\1 ? "), (r"if \((\w+(?:\[\d+\])?)\)", r"if (!\1)"),
    (r"(\d+'[db])(\d+);", lambda found: f"{found[1]}{int(found[2] == '0')};"),
    (r" <= (\w+\[\d+\]) \? ", r" <= !\1 ? "), (r" <= (\w+\[\d+:\d+\]);", r" <= ~\1;"),
    (r"= (\w+);", r"= ~\1;"), (r"\{(.+)\};", r"~{\1};"),
)  # fmt: skip


def trials(kind: type[Family], count: int, start: int = 0) -> list[tuple[Pair, Trial]]:
    made = []
    for seed in range(start, start + count):
        rng = Random(f"test {kind.name} {seed}")
        pair = make_pair(kind, "train", rng, suite_modules())
        assert pair is not None
        made.append((pair, Trial(pair.code, pair.names, make_vectors(pair.family, rng))))
    return made


def slips_in(code: str) -> list[str]:
    """The code with one line changed; heads of loops are left alone, or they would have no end."""
    lines = code.split("\n")
    body = lines.index(");") + 1
    texts = set()
    for pattern, other in SLIPS:
        for place in range(body, len(lines)):
            changed = re.sub(pattern, other, lines[place], count=1)
            if changed != lines[place] and not lines[place].lstrip().startswith("for"):
                texts.add("\n".join([*lines[:place], changed, *lines[place + 1 :]]))
                break
    return sorted(texts)


@pytest.fixture
def checker(toolchain: Toolchain) -> Iterator[Checker]:
    with Checker(toolchain, cpu=10) as found:
        yield found


def test_there_are_fifty_families_and_each_has_its_name() -> None:
    assert len(FAMILIES) >= 50
    assert len(BY_NAME) == len(FAMILIES)


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
def test_code_does_what_the_model_says(kind: type[Family], checker: Checker) -> None:
    made = trials(kind, 12)
    outcomes = checker.simulate([trial for _, trial in made])
    for (pair, trial), outcome in zip(made, outcomes, strict=True):
        assert outcome.good, f"{pair.family}\n{outcome.log}\n{trial.code}"
    assert checker.compiles([pair.code for pair, _ in made]) == [""] * len(made)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
def test_code_does_what_the_model_says_on_both_versions(kind: type[Family], each_icarus: Toolchain) -> None:
    made = trials(kind, 100, start=1000)
    with Checker(each_icarus) as checker:
        outcomes = checker.simulate([trial for _, trial in made])
    assert [pair.family for (pair, _), outcome in zip(made, outcomes, strict=True) if not outcome.good] == []


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
def test_a_slip_is_noticed(kind: type[Family], checker: Checker) -> None:
    """Every design, with one operator changed in several ways, differs from its model; one change may mean nothing."""
    broken: list[tuple[int, Trial]] = []
    for number, (pair, trial) in enumerate(trials(kind, 5)):
        changed = slips_in(trial.code)[:4]
        assert changed, trial.code
        broken += [(number, Trial(text, pair.names, trial.vectors)) for text in changed]
    outcomes = checker.simulate([trial for _, trial in broken])
    noticed = [number for (number, _), outcome in zip(broken, outcomes, strict=True) if not outcome.good]
    assert set(noticed) == {number for number, _ in broken}
    assert len(noticed) >= 0.7 * len(broken)


def test_what_does_not_compile_is_found_among_others(checker: Checker) -> None:
    good = [trial for _, trial in trials(BY_NAME["adder"], 5)]
    bad = Trial(good[2].code.replace("endmodule", "endmodul"), good[2].names, good[2].vectors)
    outcomes = checker.simulate([*good[:2], bad, *good[3:]])
    assert [outcome.compiled for outcome in outcomes] == [True, True, False, True, True]
    assert [outcome.mismatches for outcome in outcomes] == [0, 0, None, 0, 0]
    said = checker.compiles([good[0].code, bad.code, good[0].code])
    assert [bool(text) for text in said] == [False, True, False]


def test_an_output_that_stays_undefined_is_a_mismatch(checker: Checker) -> None:
    (_, trial), *_ = trials(BY_NAME["popcount"], 1)
    empty = re.sub(r"\);\n.*endmodule", ");\nendmodule", trial.code, flags=re.DOTALL)
    (outcome,) = checker.simulate([Trial(empty, trial.names, trial.vectors)])
    assert outcome.mismatches == 2 * len(trial.vectors.rows)


def test_what_has_no_end_is_found_among_others(toolchain: Toolchain) -> None:
    good = [trial for _, trial in trials(BY_NAME["register"], 3)]
    endless = Trial(good[1].code.replace("endmodule", "initial while (1) ;\nendmodule"), good[1].names, good[1].vectors)
    with Checker(toolchain, cpu=1) as checker:
        outcomes = checker.simulate([good[0], endless, good[2]])
    assert [(outcome.compiled, outcome.mismatches) for outcome in outcomes] == [(True, 0), (True, None), (True, 0)]
