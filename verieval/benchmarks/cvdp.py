"""CVDP (NVlabs/cvdp_benchmark): JSON lines with a problem, the files around it, and a harness that runs in a container.

Both layouts of a row (:mod:`verieval.benchmarks.cvdp_rows`) become the same kind of task: one question, with the
context files in it, and one answer, which is the text of the main target file. What an agent is told of its tools
(``system_message``) is left out. What cannot be judged here is listed with its reason, see
:mod:`verieval.benchmarks.cvdp_harness`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verieval.benchmarks.cvdp_harness import NotHere, Service, refuse_python, services
from verieval.benchmarks.cvdp_rows import OddRow, Row, read_rows
from verieval.benchmarks.source import Checkout
from verieval.benchmarks.structure import defined, ports
from verieval.errors import VerievalError
from verieval.task import Benchmark, HarnessBench, SourceFile, Task, Unsupported
from verieval.verilog import instantiated

# Categories whose answer is RTL, with what they ask for.
CATEGORIES = {
    "cid002": "completion",
    "cid003": "specification",
    "cid004": "modification",
    "cid005": "reuse",
    "cid007": "improvement",
    "cid016": "debugging",
}
_BENCHES = ("cid012", "cid013", "cid014")
_FILE = re.compile(
    r"cvdp_v(\d+)\.(\d+)\.(\d+)_(example_)?(nonagentic|agentic)_code_generation_(?:no_)?commercial(_with_solutions)?\.jsonl"
)
_FOLDERS = (".", "example_dataset")
_LANGUAGES = {".v": "verilog", ".sv": "verilog", ".vh": "verilog", ".svh": "verilog", ".md": "markdown"}

# Checkout.sha256 of the files read, to the upstream commit that published them.
SNAPSHOTS: dict[str, str] = {}


def load(root: Path, variant: str) -> Benchmark:
    """Read one variant: the newest release there is, the whole set rather than the examples.

    A row that is not as CVDP publishes it is listed with what is wrong, and the others are used.

    Args:
        root: folder of the published files, or a checkout of the repository, which has the examples.
        variant: ``nonagentic`` or ``agentic``.

    Raises:
        VerievalError: files are missing or damaged, a problem stands there twice, or no row can be used.
    """
    checkout = Checkout(root)
    tasks: list[Task] = []
    unsupported: list[Unsupported] = []
    for found in read_rows(checkout, _files(root, variant), variant):
        try:
            if isinstance(found.row, OddRow):
                raise found.row
            tasks.append(_task(found.row))
        except NotHere as reason:
            unsupported.append(Unsupported(found.id, str(reason)))
        except OddRow as odd:
            fault = f"its row is not as CVDP publishes it: {odd} ({found.place})"
            unsupported.append(Unsupported(found.id, fault, malformed=True))
    if not tasks and all(item.malformed for item in unsupported):
        first = unsupported[0]
        raise VerievalError(f"No row of cvdp:{variant} in {root} can be used; of '{first.task}' {first.reason}.")
    return Benchmark(
        name="cvdp",
        variant=variant,
        tasks=tuple(tasks),
        rule="cvdp",
        commit=checkout.commit(SNAPSHOTS),
        unsupported=tuple(unsupported),
    )


def _files(root: Path, variant: str) -> list[Path]:
    found: dict[tuple[Any, ...], dict[str, Path]] = {}
    for folder in _FOLDERS:
        for path in sorted((root / folder).glob("cvdp_*.jsonl")):
            match = _FILE.fullmatch(path.name)
            if match and match[5] == variant:
                whole = match[4] is None
                release = found.setdefault((whole, *map(int, match.group(1, 2, 3))), {})
                release.setdefault(path.name, path)  # the same file may lie in both folders
    if not found:
        raise VerievalError(
            f"{root} holds no cvdp_vX.Y.Z_{variant}_code_generation_*.jsonl: put the published files there, or clone "
            "the upstream repository, which has examples."
        )
    return list(found[max(found)].values())


def _task(row: Row) -> Task:
    """Raises NotHere where it cannot be judged."""
    category = next((name for name in row.categories if name in CATEGORIES), None)
    if category is None:
        benches = any(name in _BENCHES for name in row.categories)
        raise NotHere("its answer is a test bench, which a commercial simulator grades" if benches else "it is no RTL")
    found = services(row.harness)
    refuse_python(row.harness)
    targets, rtl, top = _structure(row, found)
    verilog = _verilog(row, rtl, targets)
    module = _module(row, targets[0], verilog, top)
    bench = HarnessBench(
        sources=tuple(SourceFile(name, text) for name, text in row.harness.items()),
        context=tuple(SourceFile(f"code/{name}", text) for name, text in row.context.items()),
        targets=tuple(f"code/{name}" for name in targets),
        rtl=rtl,
        top=top,
        commands=tuple(service.arguments for service in found),
        environment=found[0].environment,
    )
    reference = _reference(row, targets, rtl)
    return Task(
        id=row.id,
        prompt=_prompt(row, targets, rtl),
        module=module,
        oracle=bench,
        ports=ports("\n".join([reference, *verilog.values()]), module) if reference else (),
        reference=reference,
        level=next((name for name in row.categories if name not in CATEGORIES), ""),
        tags=(category, CATEGORIES[category]),
    )


def _structure(row: Row, found: tuple[Service, ...]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Target files with the main one first, files that are compiled, and the root module."""
    environment = dict(found[0].environment)
    rtl = tuple(name.removeprefix("/") for name in environment.get("VERILOG_SOURCES", "").split())
    top = environment.get("TOPLEVEL", "")
    if not rtl or not top:
        raise NotHere("its environment does not say what is compiled (VERILOG_SOURCES, TOPLEVEL)")
    compiled = [name for name in row.solution if f"code/{name}" in rtl]
    if not compiled:
        raise NotHere("no file of its answer is compiled by its harness")
    if headers := [name for name in row.solution if name.endswith((".vh", ".svh"))]:
        raise NotHere(f"its answer has a file that others include ({headers[0]}), and answers here are one text")
    given = {f"code/{name}" for name in (*row.context, *row.solution)} | set(row.harness)
    if missing := [name for name in rtl if name not in given]:
        raise NotHere(f"its harness compiles /{missing[0]}, which neither the problem nor an answer has")
    main = next((name for name in compiled if Path(name).stem == top), compiled[0])
    return (main, *(name for name in row.solution if name != main)), rtl, top


def _verilog(row: Row, rtl: tuple[str, ...], targets: tuple[str, ...]) -> dict[str, str]:
    """What is compiled beside the answer's files."""
    context = {f"code/{name}": text for name, text in row.context.items() if name not in targets}
    own = {name: text for name, text in row.harness.items() if name in rtl}
    return {name: text for name, text in (context | own).items() if name in rtl}


def _module(row: Row, main: str, verilog: Mapping[str, str], top: str) -> str:
    """Name of the module that the answer must define: the harness's root, or the part of it that is missing."""
    known = {name for text in verilog.values() for name in defined(text)}
    if top not in known:
        return top
    used = {name for text in verilog.values() for name in instantiated(text)}
    missing = sorted(used - known)
    stem = Path(main).stem
    if stem in missing or len(missing) != 1:
        if stem in missing or stem in defined(row.solution[main] or row.context.get(main, "")):
            return stem
        raise NotHere("it cannot be told which module the answer must define")
    return missing[0]


def _reference(row: Row, targets: tuple[str, ...], rtl: tuple[str, ...]) -> str | None:
    """The solution as one answer: its files in the order in which they are compiled."""
    if not row.solution[targets[0]].strip():
        return None
    compiled = [name for name in rtl if name.removeprefix("code/") in targets]
    return "\n".join(row.solution[name.removeprefix("code/")].rstrip("\n") for name in compiled) + "\n"


def _prompt(row: Row, targets: tuple[str, ...], rtl: tuple[str, ...]) -> str:
    """The published problem, then the files that it comes with, and what becomes of the answer."""
    main = targets[0]
    parts = [row.prompt.strip()]
    if row.context:
        parts.append("The project has these files:")
        parts += [f"`{name}`:\n{_fenced(name, text)}" for name, text in row.context.items()]
    where = "replaces the file" if main in row.context else "becomes the file"
    words = f"Your answer is one Verilog text, which {where} `{main}`."
    if others := [name for name in targets[1:] if f"code/{name}" in rtl]:
        listed = ", ".join(f"`{name}`" for name in others)
        words += f" Put the modules of {listed} into it as well."
    if any(f"code/{name}" in rtl and defined(text) for name, text in row.context.items() if name not in targets):
        words += " Modules of the other files are compiled with it: use them, and do not define them again."
    return "\n\n".join([*parts, words]) + "\n"


def _fenced(name: str, text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{_LANGUAGES.get(Path(name).suffix, '')}\n{text.rstrip()}\n{fence}"
