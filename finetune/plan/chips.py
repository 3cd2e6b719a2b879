"""Accelerators: what their makers say of them, and what the paper paid."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from verieval.errors import VerievalError

GIB = 1 << 30


@dataclass(frozen=True)
class Chip:
    """One accelerator.

    Attributes:
        name: as the report calls it.
        memory: bytes of its high-bandwidth memory.
        flops: peak operations a second on bfloat16, dense.
        dollars: an hour; None where no source is at hand.
        source: of the figures.
    """

    name: str
    memory: int
    flops: float
    dollars: float | None
    source: str


# arXiv 2605.25645 paid 16.80 dollars an hour for a v5p-8 (4 chips).
TPUS: Mapping[str, Chip] = {
    "v5p": Chip("TPU v5p", 95 * GIB, 459e12, 16.80 / 4, "Google Cloud, TPU v5p; price: arXiv 2605.25645"),
    "v5e": Chip("TPU v5e", 16 * GIB, 197e12, None, "Google Cloud, TPU v5e"),
    "v6e": Chip("TPU v6e", 32 * GIB, 918e12, None, "Google Cloud, TPU v6e"),
}
GPUS: Mapping[str, Chip] = {
    "a100-80gb": Chip("A100 80GB", 80 * 10**9, 312e12, None, "NVIDIA, A100 data sheet"),
    "h100-80gb": Chip("H100 80GB SXM", 80 * 10**9, 989e12, None, "NVIDIA, H100 data sheet"),
    "h200": Chip("H200 SXM", 141 * 10**9, 989e12, None, "NVIDIA, H200 data sheet"),
    "b200": Chip("B200", 180 * 10**9, 2250e12, None, "NVIDIA, DGX B200 data sheet"),
}


@dataclass(frozen=True)
class Topology:
    """Chips that work together.

    Attributes:
        name: as it was asked for; for a TPU it is the compiler's own name.
        chip: each of them.
        count: how many.
        compiles: the TPU compiler knows it.
    """

    name: str
    chip: Chip
    count: int
    compiles: bool


def read_topology(text: str) -> Topology:
    """Read ``v5p:2x2x1`` or ``gpu:h100-80gb:8``.

    Raises:
        VerievalError: it is neither; with what there is.
    """
    words = text.strip().lower().split(":")
    if words[0] == "gpu" and len(words) in (2, 3) and words[1] in GPUS:
        number = words[2] if len(words) == 3 else "1"
        if number.isdecimal() and 0 < int(number) <= 4096:
            return Topology(":".join(words), GPUS[words[1]], int(number), compiles=False)
    if words[0] in TPUS and len(words) == 2 and re.fullmatch(r"[1-9]\d{0,2}(x[1-9]\d{0,2}){1,2}", words[1]):
        sides = [int(side) for side in words[1].split("x")]
        if len(sides) == (3 if words[0] == "v5p" else 2):
            return Topology(":".join(words), TPUS[words[0]], math.prod(sides), compiles=True)
    raise VerievalError(
        f"--topology {text!r} is not known: give v5p:AxBxC, v5e:AxB or v6e:AxB (v5p:2x2x1 is a v5p-8), or "
        f"gpu:NAME:COUNT with {', '.join(GPUS)}"
    )
