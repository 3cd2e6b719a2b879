"""VerilogEval v2 (NVlabs/verilog-eval, main): a folder a variant, three or four files a problem.

``ProbNNN_name_prompt.txt``, ``…_ref.sv`` (a ``RefModule``) and ``…_test.sv`` (a ``tb`` that compares ``RefModule`` with
``TopModule``); code-complete adds ``…_ifc.txt``, the header that a completion continues.
"""

from __future__ import annotations

from pathlib import Path

from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import as_candidate, ports, target_module
from verieval.errors import VerievalError
from verieval.task import Benchmark, SourceFile, Task, Testbench

FOLDERS = {"spec-to-rtl": "dataset_spec-to-rtl", "code-complete": "dataset_code-complete-iccad2023"}

# Checkout.sha256 of the files read, to the upstream commit that published them.
SNAPSHOTS = {
    "cab6faac4bb62b427089f96ad149b087c8d5cd851c63a0722054d3b527614888": "c498220",  # spec-to-rtl
    "9886d8244d29d08747fc332d75debccdd5941d6efdce19f0f849eeefea681c15": "c498220",  # code-complete
}

COMPILE_FLAGS = ("-Wall", "-Winfloop", "-Wno-timescale", "-g2012")

REFUSED_ICARUS = {
    13: "Icarus 13 rejects use before declaration, and every test bench dumps tb_mismatch before declaring it"
}


def load(root: Path, variant: str) -> Benchmark:
    """Read one variant.

    Args:
        root: checkout of the repository.
        variant: ``spec-to-rtl`` or ``code-complete``.

    Raises:
        VerievalError: files are missing or malformed.
    """
    checkout = Checkout(root)
    folder = root / FOLDERS[variant]
    tasks = tuple(_task(checkout, folder, name, variant) for name in _names(folder))
    return Benchmark(
        name="verilog-eval",
        variant=variant,
        tasks=tasks,
        rule="verilog-eval",
        commit=checkout.commit(SNAPSHOTS),
        refused_icarus=dict(REFUSED_ICARUS),
    )


def _names(folder: Path) -> list[str]:
    names = sorted(path.name.removesuffix("_prompt.txt") for path in folder.glob("Prob*_prompt.txt"))
    if not names:
        raise VerievalError(f"{folder} holds no Prob*_prompt.txt: clone the upstream repository again.")
    return names


def _task(checkout: Checkout, folder: Path, name: str, variant: str) -> Task:
    test = SourceFile(f"{name}_test.sv", checkout.text(folder / f"{name}_test.sv"))
    ref = SourceFile(f"{name}_ref.sv", checkout.text(folder / f"{name}_ref.sv"))
    module = target_module((test, ref), str(folder / test.name))
    reference = as_candidate(str(folder / ref.name), ref.text, module)
    header = checkout.text(folder / f"{name}_ifc.txt") if variant == "code-complete" else None
    return Task(
        id=name,
        # The published text of code-complete ends with the header, and stays so.
        prompt=checkout.text(folder / f"{name}_prompt.txt"),
        module=module,
        header=header,
        ports=ports(reference, module),
        reference=reference,
        oracle=Testbench(sources=(test, ref), top="tb", candidate_first=True, compile_flags=COMPILE_FLAGS),
    )
