"""VGen's 17 problems (shailja-thakur/VGen): a prompt in three levels of detail, an answer and a bench a folder.

A task is a Verilog text that the candidate continues: comment, module header, some declarations. Of the three levels
the middle one (``prompt2_*.v``) is used, as TuRTLe does, so that there are 17 tasks and not 51. The files measured are
those of TuRTLe's corrected copy (``turtle/tasks/Vgen/Benchmark``); upstream has them under ``prompts-and-testbenches``.
"""

from __future__ import annotations

import re
from pathlib import Path

from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import as_candidate, ports, root_module, target_module
from verieval.errors import VerievalError
from verieval.task import Benchmark, SourceFile, Task, Testbench

FOLDERS = ("Benchmark", "prompts-and-testbenches", "turtle/tasks/Vgen/Benchmark")

# The order of the paper's table of problems.
LEVELS = ("basic", "intermediate", "advanced")

# Checkout.sha256 of the files read, to the commit that published them: TuRTLe's, which carries a corrected copy.
SNAPSHOTS = {
    "1f4802f5dd0a66789f85c907da2537c3bc860d804741fa3222a26fbf9d233808": "1bed62c",
}

_FOLDER = re.compile(r"([a-z]+)([0-9]+)")


def load(root: Path, variant: str = "") -> Benchmark:
    """Read the benchmark.

    Args:
        root: folder that holds one of :data:`FOLDERS`.
        variant: empty, there is only one.

    Raises:
        VerievalError: files are missing or malformed.
    """
    top = next(root / name for name in FOLDERS if (root / name).exists())
    checkout = Checkout(top.parent)
    found = [(match, path) for path in top.iterdir() if (match := _FOLDER.fullmatch(path.name)) and match[1] in LEVELS]
    if not found:
        raise VerievalError(f"{top} holds no problem folder (basic1, …): clone the upstream repository again.")
    found.sort(key=lambda item: (LEVELS.index(item[0][1]), int(item[0][2])))
    return Benchmark(
        name="verigen",
        variant=variant,
        tasks=tuple(_task(checkout, path, match[1]) for match, path in found),
        rule="verigen",
        commit=checkout.commit(SNAPSHOTS),
    )


def _task(checkout: Checkout, folder: Path, level: str) -> Task:
    tb, prompt, answer = (_only(folder, kind) for kind in ("tb", "prompt2", "answer"))
    bench = SourceFile(tb.name, checkout.text(tb))
    module = target_module((bench,), str(tb))
    header = checkout.text(prompt)
    reference = as_candidate(str(answer), checkout.text(answer), module)
    return Task(
        id=folder.name,
        prompt=header,
        module=module,
        header=header,
        ports=ports(reference, module),
        reference=reference,
        # Upstream gives no language flag, which leaves the language to the candidate's file name (.sv for TuRTLe).
        oracle=Testbench(sources=(bench,), top=root_module((bench,), str(tb)), compile_flags=("-g2012",)),
        aliases=(tb.stem.removeprefix("tb_"), f"{folder.name}-{prompt.stem}"),
        level=level,
    )


def _only(folder: Path, kind: str) -> Path:
    found = sorted(folder.glob(f"{kind}_*.v"))
    if len(found) != 1:
        raise VerievalError(f"{folder} must hold one {kind}_*.v, found {len(found)}; clone the repository again.")
    return found[0]
