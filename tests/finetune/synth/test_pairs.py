"""Pairs: what decides them, which split they belong to, and what they may not contain."""

from __future__ import annotations

import re
from random import Random

import pytest

from finetune.data.synth import names as naming
from finetune.data.synth.design import Family
from finetune.data.synth.families import BY_NAME, FAMILIES, draw_family
from finetune.data.synth.pairs import SPLITS, Pair, is_held_out, make_pair, suite_modules
from finetune.data.synth.words import Words, describe
from verieval import benchmarks
from verieval.keywords import KEYWORDS
from verieval.overlap import build_index


def pair_of(kind: type[Family], split: str, seed: int) -> Pair | None:
    return make_pair(kind, split, Random(f"{kind.name} {seed}"), suite_modules())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    made = []
    for number in range(1500):
        rng = Random(f"pairs {number}")
        pair = make_pair(draw_family(rng), "train", rng, suite_modules())
        assert pair is not None
        made.append(pair)
    return made


def test_a_seed_decides_everything() -> None:
    for kind in FAMILIES:
        first, again, other = pair_of(kind, "train", 7), pair_of(kind, "train", 7), pair_of(kind, "train", 8)
        assert first is not None
        assert first == again
        assert first != other


def test_ports_of_the_code_are_the_ports_of_the_task(pairs: list[Pair]) -> None:
    for pair in pairs:
        head = pair.code[: pair.code.index(");")]
        found = re.findall(r"(input|output) (?:reg |logic )?(signed )?(?:\[(\d+):0\] )?(\w+)", head)
        listed = [
            (p.direction, "signed " if p.signed else "", str(p.width - 1) if p.width > 1 else "", p.name)
            for p in pair.ports
        ]
        assert found == listed


def test_names_differ_and_are_no_keywords(pairs: list[Pair]) -> None:
    for pair in pairs:
        used = [pair.names[pin.role] for pin in pair.family.pins] + [pair.names["module"]]
        assert len(set(used)) == len(used)
        assert not KEYWORDS & set(used)


def test_every_port_is_in_the_code(pairs: list[Pair]) -> None:
    for pair in pairs:
        body = pair.code[pair.code.index(");") :]
        for port in pair.ports:
            assert re.search(rf"\b{port.name}\b", body), (port, pair.code)


def test_descriptions_have_twenty_wordings_and_more() -> None:
    """The same design under the same names, described again and again."""
    for kind in FAMILIES:
        family = kind.draw(Random(kind.name))
        names = naming.draw(family.pins, (kind.name,), Random(1), taken=frozenset())
        specs = {describe(family, names, Random(seed))[0] for seed in range(60)}
        assert len(specs) >= 20, kind.name


def test_training_has_no_held_out_parameters_and_its_split_nothing_else() -> None:
    for kind in FAMILIES:
        for seed in range(10):
            train, held = pair_of(kind, "train", seed), pair_of(kind, "parameters", seed)
            assert train is not None
            assert not is_held_out(train.family)
            assert held is None or is_held_out(held.family)


def test_most_families_have_held_out_parameters() -> None:
    without = [kind.name for kind in FAMILIES if pair_of(kind, "parameters", 0) is None]
    assert len(without) <= 0.1 * len(FAMILIES), without


def test_held_out_wordings_are_never_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wording that is held out, as it was said in the held-out split, against what training says."""
    said: dict[bool, set[str]] = {True: set(), False: set()}

    def say(self: Words, *options: str, held: str = "") -> str:
        chosen = held if self.held and held else self.rng.choice(options)
        if held or not self.held:  # what is put together from held-out wordings is neither
            said[self.held].add(chosen)
        self.held_used += bool(self.held and held)
        return chosen

    monkeypatch.setattr(Words, "say", say)
    for kind in FAMILIES:
        for seed in range(12):
            family = kind.draw(Random(f"{kind.name} {seed}"))
            names = naming.canonical(family.pins)
            for held in (True, False):
                _, used = describe(family, names, Random(seed), held=held)
                assert bool(used) is held
    assert not said[True] & said[False]
    assert len(said[True]) >= 5 * len(FAMILIES)


def test_no_paraphrase_says_what_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What training rewrites may not end at a held-out wording; of those of one or two words that says little."""
    said: set[str] = set()

    def say(self: Words, *options: str, held: str = "") -> str:
        if self.held and len(held) >= 6:
            said.add(_plain(held))
        self.held_used += bool(self.held and held)
        return held if self.held and held else self.rng.choice(options)

    monkeypatch.setattr(Words, "say", say)
    for kind in FAMILIES:
        for seed in range(6):
            family = kind.draw(Random(f"{kind.name} {seed}"))
            names = naming.canonical(family.pins)
            said.clear()
            for again in range(3):
                describe(family, names, Random(again), held=True)
            for again in range(8):
                text = _plain(describe(family, names, Random(1000 + again))[0])
                assert not [held for held in said if held in text], text


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").lower().split())


def test_held_out_names_are_never_in_training(pairs: list[Pair]) -> None:
    trained = {name for pair in pairs for name in (*(port.name for port in pair.ports), pair.names["module"])}
    fixed = {word for pool in ("clk", "rst", "rst_n") for word in naming.POOLS[pool]}
    held: set[str] = set()
    for kind in FAMILIES:
        for seed in range(4):
            pair = pair_of(kind, "names", seed)
            assert pair is not None
            held |= {port.name for port in pair.ports} | {pair.names["module"]}
    assert not (held - fixed) & trained
    assert not {word for pool in naming.POOLS.values() for word in pool} & set(naming.HELD)


@pytest.mark.parametrize("split", SPLITS)
def test_no_pair_overlaps_the_project_s_own_tasks(split: str) -> None:
    index = build_index([benchmarks.load("verieval")])
    found = 0
    for kind in FAMILIES:
        pair = pair_of(kind, split, 3)
        if pair is not None:
            found += 1
            assert index.match([pair.spec, pair.code]) == []
    assert found >= 50


def test_no_module_is_called_as_one_of_the_suite_s() -> None:
    taken = frozenset({"counter", "counter_unit", "mod_counter"})
    kind = BY_NAME["counter"]
    for seed in range(200):
        pair = make_pair(kind, "train", Random(seed), taken)
        assert pair is not None
        assert pair.names["module"] not in taken
