"""Write docs/adversarial.md from the adversarial corpus; with --measure, find out first whom each trick fools.

    python scripts/adversarial_table.py [--measure] [--check] [--jobs N]

Measuring needs Icarus 11 on PATH, Icarus 12 in .tools/icarus-12, and the upstream checkouts in VERIEVAL_DATA. --check
writes nothing and fails where the document does not agree with the corpus.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.adversarial import corpus  # noqa: E402
from tests.adversarial.judging import Judges, run_plainly  # noqa: E402
from verieval.judge import Toolchain, find_toolchain  # noqa: E402

DOCUMENT = ROOT / "docs" / "adversarial.md"
HEADER = """\
# Tricks, and whom they fool

Each row is a candidate with wrong logic, or none, that tries to pass all the same; the last rows are honest ones, which
must pass. The texts stand in `tests/adversarial/corpus`, and the table is made from them and from
`tests/adversarial/measured.toml`, which the tests hold to what Icarus 11 and 12 do:

    python scripts/adversarial_table.py --measure

- **VerilogEval**: v2's published rule, on `Prob014_andgate` or `Prob040_count10`.
- **RTLLM**: v2.0's published rule with Icarus in VCS's place, on `adder_8bit` or `counter_12`.
- **TuRTLe**: its rules for the same tasks, retold from its source in `tests/adversarial/judging.py`. A trick that
  fools one of the two counts.
- **VeriEval**: `strict` on the same tasks and on `hex_char` or `wrap_counter` of `tests/verilog_benches`, with the
  outcomes that were seen there. `tests/adversarial/test_python_benches.py` plays the tricks on the project's own tasks,
  whose benches are in Python: none passes there either.

The first three are asked about a plain run of the upstream flow, which knows no sandbox. **Fooled** means passed; an
empty field means that the trick has no hold on such a bench, which has no reference to read or counts no samples. A
number in brackets says on which version of Icarus alone. In the rows of honest candidates a rule that refuses one is
told as **refused**.

"""


def measure(jobs: int) -> None:
    """Run every attempt as upstream would and write ``measured.toml``. Hostile texts run without a sandbox."""
    data = Path(os.environ.get("VERIEVAL_DATA") or ROOT.parent / "shared" / "benchmarks")
    if not (data / "rtllm").is_dir():
        sys.exit("no benchmark data: set VERIEVAL_DATA to a folder of upstream checkouts")
    tools = [find_toolchain(None), find_toolchain(ROOT / ".tools" / "icarus-12")]
    assert [tool.major for tool in tools] == [11, 12], "needs Icarus 11 on PATH and 12 in .tools"
    rows: dict[str, list[str]] = {attempt.name: [] for attempt in corpus.quick_attempts()}
    for tool in tools:
        _measure_one(tool, data, jobs, rows)
    lines = [
        "# Written by scripts/adversarial_table.py --measure: which rule each attempt passes, by version of Icarus.",
        "[fools]",
    ]
    lines += [f'"{name}" = {{ {", ".join(values)} }}' for name, values in rows.items()]
    temporary = corpus.MEASURED.with_suffix(".tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(corpus.MEASURED)
    corpus.measured.cache_clear()


def _measure_one(tool: Toolchain, data: Path, jobs: int, rows: dict[str, list[str]]) -> None:
    attempts = corpus.quick_attempts()
    with tempfile.TemporaryDirectory() as folder, Judges(tool, data, Path(folder), jobs=jobs) as judges:
        verdicts = [judges.submit(attempt) for attempt in attempts]
        for attempt, verdict in zip(attempts, verdicts, strict=True):
            rows[attempt.name].append(f'strict{tool.major} = "{verdict.result().outcome}"')
    with ThreadPoolExecutor(jobs) as threads:
        found = threads.map(lambda attempt: run_plainly(attempt, tool, data), attempts)
        for attempt, plain in zip(attempts, found, strict=True):
            rows[attempt.name].append(f"official{tool.major} = {str(plain.official).lower()}")
            if plain.turtle is not None:
                rows[attempt.name].append(f"turtle{tool.major} = {str(plain.turtle).lower()}")


def document() -> str:
    """The text of the document."""
    return HEADER + "\n".join(_table()) + "\n"


def _table() -> Iterator[str]:
    kinds = Counter(trick.kind for trick in corpus.tricks())
    fooled: Counter[str] = Counter()
    for kind in sorted(kinds, key=lambda kind: (kind == "harmless", list(kinds).index(kind))):
        yield f"## {kind.capitalize()}\n"
        yield "| trick | VerilogEval | RTLLM | TuRTLe | VeriEval |"
        yield "|---|---|---|---|---|"
        for trick in corpus.tricks():
            if trick.kind == kind:
                cells = _cells(trick)
                fooled.update(
                    rule for rule, cell in cells.items() if not trick.harmless and cell.startswith("**fooled")
                )
                yield f"| {_name(trick)} | " + " | ".join(cells.values()) + " |"
        yield ""
    total = sum(not trick.harmless for trick in corpus.tricks())
    yield (
        f"Of {total} tricks, {fooled['VerilogEval']} fool VerilogEval's rule, {fooled['RTLLM']} RTLLM's, "
        f"{fooled['TuRTLe']} TuRTLe's and {fooled['VeriEval']} this project's."
    )


def _name(trick: corpus.Trick) -> str:
    return f"[{trick.id}](../tests/adversarial/corpus/{trick.kind}/{trick.id}.sv): {trick.trick}".replace("|", "\\|")


def _cells(trick: corpus.Trick) -> dict[str, str]:
    found = {
        attempt.target.family: corpus.measured()[attempt.name]
        for attempt in corpus.quick_attempts()
        if attempt.trick is trick and attempt.name in corpus.measured()
    }
    turtle: dict[int, bool] = {}
    for family in ("ve", "rtllm"):
        if family in found:
            for major, passed in found[family].turtle.items():
                turtle[major] = turtle.get(major, False) or passed
    return {
        "VerilogEval": _cell(trick, found["ve"].official if "ve" in found else {}),
        "RTLLM": _cell(trick, found["rtllm"].official if "rtllm" in found else {}),
        "TuRTLe": _cell(trick, turtle),
        "VeriEval": _own_cell(trick, {outcome: None for row in found.values() for outcome in row.strict.values()}),
    }


def _own_cell(trick: corpus.Trick, outcomes: dict[str, None]) -> str:
    refusals = ", ".join(outcome for outcome in outcomes if outcome != "passed")
    if trick.harmless:
        return f"**refused** ({refusals})" if refusals else "passes"
    return "**fooled**" if "passed" in outcomes else f"not fooled ({refusals})"


def _cell(trick: corpus.Trick, passed: dict[int, bool]) -> str:
    if not passed:
        return ""
    word, other = ("passes", "**refused**") if trick.harmless else ("**fooled**", "not fooled")
    versions = [str(major) for major, yes in sorted(passed.items()) if yes]
    if not versions:
        return other
    return word if len(versions) == len(passed) else f"{word} ({', '.join(versions)})"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="judge every attempt first")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    options = parser.parse_args()
    if options.measure:
        measure(options.jobs)
    text = document()
    if options.check:
        return 0 if DOCUMENT.exists() and DOCUMENT.read_text() == text else 1
    DOCUMENT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
