"""``python -m finetune.data.synth.evaluate``: sets of unseen pairs, and what a model's answers to them are worth.

There is a set for each split: ``train`` (other pairs of the kinds that training sees), ``parameters``, ``wording`` and
``names`` (see :mod:`finetune.data.synth.pairs`). A set is a file of JSON lines, each a whole task: description, ports,
reference, and a bench in Verilog with inputs and the model's answers. Answers are judged as any benchmark's are, under
seal and in the sandbox. ``suite`` writes a set as folders of tasks, which ``verieval run --data`` takes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from finetune.data.synth.check import connect
from finetune.data.synth.pairs import SPLITS, Pair, Split, make_pair, suite_modules
from finetune.data.synth.vectors import Vectors, make_vectors
from verieval.errors import VerievalError
from verieval.run.jsonl import read_rows, write_atomically
from verieval.task import Benchmark, Port, SourceFile, Task, Testbench

if TYPE_CHECKING:
    from verieval.judge import Toolchain

RULE = "verieval"
_FLAGS = ("-Wall", "-Winfloop", "-g2012")  # of the project's own tasks


@dataclass(frozen=True)
class Item:
    """A task of a set, and the family that it is from."""

    split: str
    family: str
    task: Task

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        task = self.task
        assert isinstance(task.oracle, Testbench)
        return {
            "id": task.id,
            "split": self.split,
            "family": self.family,
            "module": task.module,
            "ports": [asdict(port) for port in task.ports],
            "prompt": task.prompt,
            "reference": task.reference,
            "bench": task.oracle.sources[0].text,
        }


@dataclass(frozen=True)
class Score:
    """Answers of one family, or of all: how many, how many compile, how many pass."""

    answers: int = 0
    compile: int = 0
    passed: int = 0

    def __add__(self, other: Score) -> Score:
        """Both together."""
        return Score(self.answers + other.answers, self.compile + other.compile, self.passed + other.passed)

    def __str__(self) -> str:
        return (
            f"{self.passed} of {self.answers} pass ({self.passed / max(self.answers, 1):.3f}), {self.compile} compile"
        )


def make_set(split: Split, *, count: int, seed: int) -> list[Item]:
    """So many tasks of a split, the families in turn.

    The seed's meaning differs from the corpus', so that the split ``train`` holds no row of a corpus but by chance.
    """
    from finetune.data.synth.families import FAMILIES

    items: list[Item] = []
    number = 0
    while len(items) < count:
        kind = FAMILIES[number % len(FAMILIES)]
        rng = Random(f"evaluation {split} {seed} {number}")
        number += 1
        pair = make_pair(kind, split, rng, suite_modules())
        if pair is not None:
            items.append(_item(pair, f"{split}-{len(items):04d}-{kind.name}", rng))
    return items


def _item(pair: Pair, name: str, rng: Random) -> Item:
    bench = bench_text(pair, make_vectors(pair.family, rng))
    oracle = Testbench((SourceFile("tb.sv", bench),), "tb", candidate_first=True, compile_flags=_FLAGS)
    return Item(pair.split, type(pair.family).name, pair.task(name, oracle))


def bench_text(pair: Pair, vectors: Vectors) -> str:
    """A bench that needs no file; it counts a sample for each comparison."""
    ins, outs, count = vectors.in_bits, vectors.out_bits, len(vectors.rows)
    size = ins + 4 * outs
    rows = "\n".join(
        f"        rows[{number}] = {size}'h{word};" for number, word in enumerate(vectors.packed().split("\n"))
    )
    compare = "samples = samples + 1; if (((got ^ want{k}) & mask{k}) !== 0) mismatches = mismatches + 1;"
    edge = "ck = 1;" if vectors.clocked else ""
    return f"""// Inputs, and what a model in Python expects of them before and after each clock edge.
module tb;
    reg [{size - 1}:0] rows [0:{count - 1}];
    reg [{ins - 1}:0] given;
    wire [{outs - 1}:0] got;
    reg [{outs - 1}:0] want0, mask0, want1, mask1;
    reg ck;
    integer row;
    integer samples = 0;
    integer mismatches = 0;

    {pair.names["module"]} dut ({connect(pair.names, vectors)});

    initial begin
{rows}
        ck = 0;
        for (row = 0; row < {count}; row = row + 1) begin
            {{given, want0, mask0, want1, mask1}} = rows[row];
            #5 {compare.format(k=0)}
            {edge}
            #5 {compare.format(k=1)}
            ck = 0;
            #5;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
"""


def write_set(items: Iterable[Item], path: Path) -> None:
    """Write a set as JSON lines; it appears when it is whole."""
    write_atomically(path, "".join(json.dumps(item.to_json()) + "\n" for item in items))


def read_set(path: Path) -> list[Item]:
    """Read what :func:`write_set` wrote.

    Raises:
        VerievalError: it cannot be read, or a row is no task.
    """
    items = []
    for number, row in read_rows(path):
        try:
            ports = tuple(Port(**port) for port in row["ports"])
            oracle = Testbench((SourceFile("tb.sv", row["bench"]),), "tb", candidate_first=True, compile_flags=_FLAGS)
            task = Task(row["id"], row["prompt"], row["module"], oracle, ports=ports, reference=row["reference"])
            items.append(Item(row["split"], row["family"], task))
        except (KeyError, TypeError) as error:
            raise VerievalError(
                f"{path}, line {number}: no task of an evaluation set ({error}); make the set again"
            ) from None
    return items


def benchmark_of(items: Sequence[Item], name: str) -> Benchmark:
    """A set as a benchmark."""
    return Benchmark(name=name, variant="", tasks=tuple(item.task for item in items), rule=RULE)


def write_suite(items: Iterable[Item], folder: Path) -> None:
    """Write a set as a suite of tasks, for ``verieval run --benchmark verieval --data FOLDER``.

    Raises:
        VerievalError: the folder is there already, or cannot be written.
    """
    if folder.exists():
        raise VerievalError(f"{folder} is there already; name another folder")
    temporary = folder.with_name(f".{folder.name}.tmp")
    for item in items:
        task, place = item.task, temporary / item.family / item.task.id.replace("-", "_")
        place.mkdir(parents=True)
        assert isinstance(task.oracle, Testbench)
        ports = "".join(
            f'\n[[ports]]\nname = "{port.name}"\ndirection = "{port.direction}"\nwidth = {port.width}\n'
            + ("signed = true\n" if port.signed else "")
            for port in task.ports
        )
        about = f'id = "{place.name}"\nmodule = "{task.module}"\nlevel = "unit"\ntags = ["{item.split}"]\n{ports}'
        texts = (about, task.prompt, task.reference, task.oracle.sources[0].text)
        for name, text in zip(("task.toml", "spec.md", "reference.sv", "tb.sv"), texts, strict=True):
            (place / name).write_text(f"{text}\n")
    temporary.rename(folder)


def judge(
    items: Sequence[Item], answers: Iterable[tuple[str, str]], toolchain: Toolchain, *, jobs: int = 1
) -> dict[str, Score]:
    """Judge a model's answers.

    Args:
        items: the set.
        answers: task id and text; a task may have several.
        toolchain: compiles and simulates.
        jobs: at a time.

    Returns:
        Scores by family.

    Raises:
        VerievalError: an answer is to a task that the set lacks.
    """
    from verieval.completion import Completion
    from verieval.judge import JudgePool

    family = {item.task.id: item.family for item in items}
    scores: dict[str, Score] = defaultdict(Score)
    samples: dict[str, int] = defaultdict(int)
    with JudgePool(benchmark_of(items, "nano-set"), toolchain, jobs=jobs) as pool:
        waiting = []
        for name, text in answers:
            if name not in family:
                raise VerievalError(f"there is no task {name!r} in this set; judge it with the set that it answers")
            waiting.append(pool.submit(Completion(name, samples[name], text, "stop")))
            samples[name] += 1
        for future in waiting:
            verdict = future.result()
            compiles = verdict.stage in ("compiled", "simulated", "passed")
            scores[family[verdict.task_id]] += Score(1, int(compiles), int(verdict.passed["strict"]))
    return dict(scores)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Evaluation sets of the synthetic corpus."""


@commands.command("make")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the sets.")
@click.option("--count", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Tasks of each split.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True)
def make_command(out: Path, count: int, seed: int) -> None:
    """Write a set for each split."""
    out.mkdir(parents=True, exist_ok=True)
    for split in SPLITS:
        write_set(make_set(split, count=count, seed=seed), out / f"{split}.jsonl")
        click.echo(f"{out / split}.jsonl: {count} tasks")


@commands.command("suite")
@click.argument("path", metavar="SET", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to make.")
def suite_command(path: Path, out: Path) -> None:
    """Write SET as a suite for `verieval run --benchmark verieval --data OUT`."""
    items = read_set(path)
    write_suite(items, out)
    click.echo(f"{out}: {len(items)} tasks")


@commands.command("judge")
@click.argument("path", metavar="SET", type=click.Path(path_type=Path))
@click.argument("completions", type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option(
    "--icarus", type=click.Path(path_type=Path), help="Icarus Verilog installation (default: the one on PATH)."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def judge_command(path: Path, completions: Path, jobs: int, icarus: Path | None, as_json: bool) -> None:
    """Judge COMPLETIONS, JSON lines with task_id and text, of the tasks of SET."""
    from verieval.judge import find_toolchain

    answers = [_answer(completions, number, row) for number, row in read_rows(completions)]
    scores = judge(read_set(path), answers, find_toolchain(icarus), jobs=jobs)
    total = sum(scores.values(), Score())
    if as_json:
        click.echo(
            json.dumps(
                {"all": asdict(total), "families": {name: asdict(score) for name, score in sorted(scores.items())}},
                indent=2,
            )
        )
        return
    for name, score in sorted(scores.items(), key=lambda item: (item[1].passed / item[1].answers, item[0])):
        click.echo(f"{name:20} {score}")
    click.echo(f"{'all':20} {total}")


def _answer(path: Path, number: int, row: Mapping[str, Any]) -> tuple[str, str]:
    name, text = row.get("task_id"), row.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        raise VerievalError(f"{path}, line {number}: a completion needs task_id and text; see docs/formats.md")
    return name, text


def main() -> None:
    """Errors as one sentence."""
    try:
        commands(prog_name="python -m finetune.data.synth.evaluate")
    except VerievalError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
