"""Reference runs: what each task's own reference does with its bench on this toolchain.

``strict`` holds a candidate to the samples and the trace that the reference run has, and ``bench check`` lists the
references that fail. Both read the same record.
"""

from __future__ import annotations

from dataclasses import dataclass

from verieval.verdict import Outcome

# Outcomes that say something of the reference. The others may be the machine's doing that day, so they are not kept.
LASTING: frozenset[Outcome] = frozenset(
    {"passed", "mismatch", "syntax", "elaboration", "interface", "not_self_contained", "bench_compile", "tampered"}
)


@dataclass(frozen=True)
class ReferenceRun:
    """How a reference fares on its own bench. ``official`` is upstream's rule, ``outcome`` the strict one.

    ``trace`` is the hash of what the bench fed it and expected of it, over time.
    """

    outcome: Outcome
    official: bool
    code: str
    mismatches: int | None
    samples: int | None
    trace: str | None
    detail: str
    cpu: float

    @property
    def lasts(self) -> bool:
        """The record is worth keeping."""
        return self.outcome in LASTING
