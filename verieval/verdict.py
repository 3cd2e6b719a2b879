"""Candidates, evidence and verdicts: the vocabulary of judging."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Stage = Literal["extracted", "parsed", "self_contained", "compiled", "simulated", "passed", "none"]

Outcome = Literal[
    "no_code",
    "truncated",
    "syntax",
    "elaboration",
    "interface",
    "not_self_contained",
    "forbidden",
    "bench_compile",
    "mismatch",
    "timeout",
    "crash",
    "resource",
    "tampered",
    "passed",
    "harness",
]

OUTCOMES: tuple[Outcome, ...] = Outcome.__args__  # type: ignore[attr-defined]

CRITERIA = ("strict", "official")


@dataclass(frozen=True)
class Candidate:
    """Verilog taken out of a completion.

    Attributes:
        source: the code that is judged, exactly as it is compiled.
        method: how it was found (``fence``, ``open_fence``, ``bare``, ``continuation``, ``marker``, ``whole``,
            ``verbatim``, ``none``).
        notes: what was removed or noticed on the way (``reasoning_removed``, ``missing_endmodule``, …).
        repaired: source with a missing ``endmodule`` added; a diagnostic, never the headline. None where nothing is
            missing.
        defines_target: the target module is defined in ``source``.
    """

    source: str
    method: str
    notes: tuple[str, ...] = ()
    repaired: str | None = None
    defines_target: bool = True


@dataclass(frozen=True)
class Verdict:
    """The judgement on one sample; a row of ``verdicts.jsonl``.

    Attributes:
        outcome: where and why it fell under ``strict``, or ``passed``.
        stage: the last stage that it reached.
        passed: by criterion (``strict``, ``official``).
        code: the official harness's own letter or word where it has one.
        mismatches, samples: counts that the bench reported; None where it reports none.
        detail: first line of the cause, for a reader.
        source_sha256: hash of the judged source.
        extraction: the candidate's method and notes.
        seconds: CPU seconds of ``compile`` and ``simulate``.
        repaired_passed: the strict verdict of the repaired source where one was judged (diagnostic).
    """

    task_id: str
    sample: int
    outcome: Outcome
    stage: Stage
    passed: dict[str, bool]
    code: str = ""
    mismatches: int | None = None
    samples: int | None = None
    detail: str = ""
    source_sha256: str = ""
    extraction: dict[str, object] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    repaired_passed: bool | None = None
