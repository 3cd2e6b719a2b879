"""RTLLM v2.0 (hkust-zhiyao/RTLLM): a folder a design, grouped in folders whose names have spaces.

A design has ``design_description.txt``, ``testbench.v``, ``verified_*.v`` (the reference, in most designs under a
module name that the bench does not know) and, beside some benches, the data files that these read.

Upstream simulates with VCS and ``-timescale=1ns/1ns``. Here Icarus takes its place, with ``-g2012`` for ``-sverilog``
and without a default time scale, which Icarus takes from a command file only. It would count where a bench with a time
scale meets a candidate that has none and uses delays; the 50 references and 145 published completions for v1.1's 29
designs get the same verdicts with and without it.
"""

from __future__ import annotations

import re
from pathlib import Path

from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import as_candidate, ports, root_module, target_module
from verieval.errors import VerievalError
from verieval.task import Benchmark, DataFile, SourceFile, Task, Testbench

# Checkout.sha256 of the files read, to the upstream commit that published them.
SNAPSHOTS = {
    "fe0b73d188aef7116f46354af8c3574e6e26ae99beec0e25449e1e8355c51a0b": "41b2689",
}

# Names that a design had in v1.1.
ALIASES = {"calendar": ("calender",)}

_NAMED_FILE = re.compile(r'"([^"\s/\\]+\.(?:txt|dat|hex|mem))"')


def load(root: Path, variant: str = "") -> Benchmark:
    """Read the benchmark.

    Args:
        root: checkout of the repository.
        variant: empty, there is only one.

    Raises:
        VerievalError: files are missing or malformed.
    """
    checkout = Checkout(root)
    folders = sorted(path.parent for path in root.rglob("design_description.txt"))
    if not folders:
        raise VerievalError(f"{root} holds no design_description.txt: clone the upstream repository again.")
    return Benchmark(
        name="rtllm",
        variant=variant,
        tasks=tuple(_task(checkout, folder) for folder in folders),
        rule="rtllm",
        commit=checkout.commit(SNAPSHOTS),
    )


def _task(checkout: Checkout, folder: Path) -> Task:
    bench = SourceFile("testbench.v", checkout.text(folder / "testbench.v"))
    place = str(folder / bench.name)
    module = target_module((bench,), place)
    verified = sorted(folder.glob("verified_*.v"))
    if len(verified) != 1:
        raise VerievalError(f"{folder} must hold one verified_*.v, found {len(verified)}; clone upstream again.")
    reference = as_candidate(str(verified[0]), checkout.text(verified[0]), module)
    return Task(
        id=folder.name,
        prompt=checkout.text(folder / "design_description.txt"),
        module=module,
        ports=ports(reference, module),
        reference=reference,
        oracle=Testbench(
            sources=(bench,),
            top=root_module((bench,), place),
            candidate_first=True,
            compile_flags=("-g2012",),
            data_files=_data_files(checkout, folder, bench.text),
        ),
        aliases=ALIASES.get(folder.name, ()),
        tags=folder.relative_to(checkout.root).parts[:-1],
    )


def _data_files(checkout: Checkout, folder: Path, bench: str) -> tuple[DataFile, ...]:
    # Every file name that a bench mentions is one that it reads, or wrote once and now reads.
    names = sorted(set(_NAMED_FILE.findall(bench)))
    return tuple(DataFile(name, checkout.bytes(folder / name)) for name in names)
