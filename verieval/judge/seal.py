"""Sealed benches: what a bench prints carries a secret, its names are secret, and it traces what it feeds.

A bench prints its verdict into the same stream as the candidate, under names that the candidate can know. Sealing
rewrites the bench for one run:

* Modules, instances, tasks, functions and named blocks of bench and reference get a secret ending. The target module
  keeps its name, and so do all ports and signals. An ending keeps the order of names, by which Icarus orders processes.
* Whatever the bench prints stands between two marks with a secret key, so that a text of the candidate's, wherever it
  ends up, is told from the bench's own.
* A hash of the inputs and of the reference's outputs over time is printed at the end, and where a bench compares with
  a reference also a second count of the mismatches: see :mod:`verieval.judge.seal_trace`.
* On request a simulation that has failed ends early.
* A file with one `` `resetall`` stands between a candidate and the bench that is compiled after it.

Sealing is a pure function of task and secrets. All changes are insertions that add no line, so that messages and
`$finish` keep their line numbers, and :func:`unseal` gives back exactly what the plain bench would have printed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import defaultdict
from dataclasses import dataclass, replace

from verieval.judge.seal_scan import EARLY, FACTOR, KEY, NAME, STEP, SealError, scan
from verieval.judge.seal_trace import STEP_TEXT, TRACE, insertions, traced
from verieval.task import SourceFile, Task, Testbench

__all__ = ["Seal", "SealError", "SealedBench", "Unsealed", "prepare", "restore", "seal", "unseal"]

_RESET = SourceFile("reset_directives.sv", "`resetall\n")


@dataclass(frozen=True)
class SealedBench:
    """A bench for one run.

    Attributes:
        bench: the rewritten bench, to be compiled and run like the plain one.
        key: what the bench's own output carries (hexadecimal).
        names: old name to new name.
        trace_key: what traces are shown under, so that nothing of the hash's secret numbers shows.
        has_trace: the bench prints a trace.
        ends_early: the bench ends a simulation that has failed.
    """

    bench: Testbench
    key: str
    names: dict[str, str]
    trace_key: str
    has_trace: bool
    ends_early: bool


@dataclass(frozen=True)
class Unsealed:
    """What a sealed bench's output says.

    Attributes:
        plain: the text that the plain bench would have printed, candidate's lines included.
        bench_lines: only what the bench printed.
        trace: stands for the hash, 16 hexadecimal digits; None unless there was exactly one. It can be compared with
            traces of the same bench under the same ``trace_secret`` only.
        traces: how many traces were printed under the key.
        mismatches: samples that did not match by the seal's own count, which may differ from the bench's only if
            somebody changed that; None where the bench is not of VerilogEval's shape, or with no single trace.
        steps: the hash after each change, where that was asked for.
    """

    plain: str
    bench_lines: str
    trace: str | None
    traces: int
    mismatches: int | None
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seal:
    """A bench that was read once and can be sealed with any number of secrets.

    The templates hold the placeholders of :mod:`verieval.judge.seal_scan`.
    """

    bench: Testbench
    templates: tuple[str, ...]
    names: frozenset[str]
    has_trace: bool
    can_end_early: bool

    def with_secret(
        self,
        secret: str,
        *,
        trace_secret: str | None = None,
        mismatch_samples: int | None = None,
        steps: bool = False,
    ) -> SealedBench:
        """Seal with a secret.

        Args:
            secret: any text; the same text gives the same bench.
            trace_secret: of the trace, which can be compared under the same one only; None takes ``secret``.
            mismatch_samples: a simulation with a mismatch ends after this many samples, where the bench has such
                counts; None lets it run to its end.
            steps: print the trace whenever it changes, for calibration.
        """
        key, ending = _derive(secret, "key", 32), "$" + _derive(secret, "names", 20)
        ends_early = self.can_end_early and mismatch_samples is not None
        early = f" if (stats1.errors != 0 && stats1.clocks > {mismatch_samples}) $finish(0);" if ends_early else ""
        of_trace = secret if trace_secret is None else trace_secret
        filled = {EARLY: early, STEP: STEP_TEXT * steps, KEY: key, NAME: ending}
        sources = tuple(
            replace(source, text=_number(_fill(template, filled), of_trace))
            for source, template in zip(self.bench.sources, self.templates, strict=True)
        )
        if self.bench.candidate_first:
            sources = (_RESET, *sources)
        names = {name: name + ending for name in sorted(self.names)}
        top = self.bench.top and names[self.bench.top]
        bench, trace_key = replace(self.bench, sources=sources, top=top), _derive(of_trace, "trace", 64)
        return SealedBench(bench, key, names, trace_key, self.has_trace, ends_early)


def prepare(task: Task) -> Seal:
    """Read a task's bench and find everything that sealing needs; the slow part (about 2 ms).

    Raises:
        SealError: the bench cannot be read.
    """
    bench = task.oracle
    if not isinstance(bench, Testbench):
        raise TypeError(f"{task.id} has no bench in Verilog")
    if any("\0" in source.text for source in bench.sources):
        raise SealError(f"cannot seal the bench of {task.id}: it holds a NUL character")
    found = scan(task.id, bench.sources)
    if bench.top is not None and bench.top not in found.module_starts:
        raise SealError(f"cannot seal the bench of {task.id}: it does not define its root module {bench.top}")
    what = traced(task, found)
    # The early end stands beside the trace, in the one place where VerilogEval's benches count a sample.
    early = what is not None and len(found.counters.get(what.module, [])) == 1
    places: dict[int, list[tuple[int, str]]] = defaultdict(list, enumerate(found.insertions))
    for source, offset, text in insertions(found, what, early=early) if what else ():
        places[source].append((offset, text))
    templates = tuple(_insert(source.text, places[number]) for number, source in enumerate(bench.sources))
    return Seal(bench, templates, found.names, what is not None, early)


def seal(task: Task, secret: str, *, mismatch_samples: int | None) -> SealedBench:
    """Seal a task's bench with a secret, see :meth:`Seal.with_secret`.

    Raises:
        SealError: the bench cannot be read.
    """
    return prepare(task).with_secret(secret, mismatch_samples=mismatch_samples)


def unseal(sealed: SealedBench, stdout: str) -> Unsealed:
    """Take the seal off what a simulation printed."""
    key = re.escape(sealed.key)
    trace = re.compile(f"{key}{TRACE}([0-9a-f]+)(?:,([0-9]+))?;\n")
    step = re.compile(f"{key}~([0-9a-f]+);\n")
    traces, steps = trace.findall(stdout), step.findall(stdout)
    printed = step.sub("", trace.sub("", stdout))
    # What a killed simulation leaves open counts to the end.
    pieces = re.findall(f"{key}<(.*?)(?:{key}>(\n?)|\\Z)", printed, re.DOTALL)
    own = "".join(text + end for text, end in pieces)
    plain = re.sub(f"{key}[<>]", "", printed)
    return Unsealed(
        plain=restore(sealed, plain),
        bench_lines=restore(sealed, own),
        trace=_derive(sealed.trace_key, traces[0][0], 16) if len(traces) == 1 else None,
        traces=len(traces),
        mismatches=int(traces[0][1]) if len(traces) == 1 and traces[0][1] else None,
        steps=tuple(steps),
    )


def restore(sealed: SealedBench, text: str) -> str:
    """Give the names of bench and reference back their own spelling, in a tool's message for instance."""
    ending = next((new[len(old) :] for old, new in sealed.names.items()), None)
    return text.replace(ending, "") if ending else text


def _fill(template: str, values: dict[str, str]) -> str:
    for placeholder, value in values.items():
        template = template.replace(placeholder, value)
    return template


def _number(text: str, secret: str) -> str:
    """Put in the secret numbers of the trace: hexadecimal, of as many bits as the placeholder says."""

    def number(match: re.Match[str]) -> str:
        bits = int(match[2])
        drawn = hashlib.shake_256(f"{secret} {match[1]}".encode()).digest(bits // 8 + 1)
        return f"{int.from_bytes(drawn) % (1 << bits):x}"

    return re.sub(f"{FACTOR}([a-z]+),([0-9]+);", number, text)


def _derive(secret: str, purpose: str, digits: int) -> str:
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()[:digits]


def _insert(text: str, places: list[tuple[int, str]]) -> str:
    """Put texts at byte offsets; those at the same offset in the order given."""
    content = text.encode()
    parts: list[bytes] = []
    done = 0
    for offset, inserted in sorted(places, key=lambda place: place[0]):
        parts += [content[done:offset], inserted.encode()]
        done = offset
    return b"".join([*parts, content[done:]]).decode()
