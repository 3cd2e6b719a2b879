"""One pair: a design with names, description and code, all from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal, get_args

from finetune.data.synth import names as naming
from finetune.data.synth.design import Family, Names
from finetune.data.synth.style import Style
from finetune.data.synth.words import describe
from verieval.task import Port, Task, Testbench

Split = Literal["train", "parameters", "wording", "names"]
SPLITS: tuple[Split, ...] = get_args(Split)
HELD_PARAMETERS = 12  # one in so many sets of parameters is held out
_TRIES = 200


@dataclass(frozen=True)
class Pair:
    """A description and the module that answers it.

    Attributes:
        family: the design.
        split: what it may be used for.
        names: of its ports.
        style: of its code.
        spec: the description.
        code: the module.
    """

    family: Family
    split: Split
    names: Names
    style: Style
    spec: str
    code: str

    @property
    def ports(self) -> tuple[Port, ...]:
        """The module's ports under their names."""
        return tuple(
            Port(self.names[pin.role], pin.direction, pin.width, pin.signed)
            for pin in self.family.pins
            if pin.direction != "internal"
        )

    @property
    def canonical_code(self) -> str:
        """The code with roles for names: two pairs that share it need one check."""
        return self.family.code(naming.canonical(self.family.pins), self.style)

    def task(self, name: str, oracle: Testbench | None = None) -> Task:
        """The pair as a task of a benchmark."""
        module = self.names["module"]
        return Task(name, self.spec, module, oracle or Testbench((), None), ports=self.ports, reference=self.code)


def is_held_out(family: Family) -> bool:
    """Whether these parameters are kept for the split ``parameters``."""
    return naming.held_out(repr(family), HELD_PARAMETERS)


def make_pair(kind: type[Family], split: Split, rng: Random, taken: frozenset[str]) -> Pair | None:
    """A pair of one family.

    Args:
        kind: the family.
        split: ``train`` uses nothing that is held out; the others use what their name says, and nothing else that is.
        rng: source of randomness.
        taken: names that no module may have.

    Returns:
        None where the family has no such pair (it has few parameters, say).
    """
    for _ in range(_TRIES):
        family = kind.draw(rng)
        if is_held_out(family) is (split == "parameters"):
            break
    else:
        return None
    words = tuple(kind.name.split("_"))
    for _ in range(_TRIES):
        names = naming.draw(family.pins, words, rng, held=split == "names", taken=taken)
        style = Style.draw(rng)
        spec, held = describe(family, names, rng, held=split == "wording")
        if split != "wording" or held:
            return Pair(family, split, names, style, spec, family.code(names, style))
    return None


@lru_cache(maxsize=1)
def suite_modules() -> frozenset[str]:
    """Names of the modules of the project's own tasks, which no pair uses."""
    from verieval import benchmarks

    return frozenset(task.module for task in benchmarks.load("verieval").tasks)
