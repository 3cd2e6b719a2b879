"""From a run folder to a bundle: everything that a stranger needs to judge the run again, and nothing that hides.

The same run, described the same way, gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from verieval import __version__
from verieval.completion import Completion
from verieval.errors import VerievalError
from verieval.leaderboard import archive
from verieval.leaderboard.audit import (
    audit_benchmark,
    audit_extraction,
    audit_matrix,
    audit_protocol,
    audit_texts,
    report_of,
)
from verieval.leaderboard.contents import Contents, hash_list, read_contents
from verieval.leaderboard.describe import About, describe_readme, describe_submission, numbers, public_name
from verieval.leaderboard.entry import Entry, read_entry
from verieval.leaderboard.reasons import Reason, Rejected
from verieval.leaderboard.text import dump_yaml, pack
from verieval.report.summary import build_report
from verieval.run.jsonl import dump_json, encode_row
from verieval.run.store import COMPLETIONS, VERDICTS, RunData, completion_row, verdict_row
from verieval.task import Benchmark
from verieval.verdict import Verdict

_AGAIN = "judge it again with `verieval score RUN --reextract`"
# What to do about each kind of fault of a run.
_ADVICE = {
    "benchmark": f"use the data that the run was judged on, or {_AGAIN}",
    "matrix": "submit a whole run: every task of the benchmark, n samples each, every one judged; "
    "the command that made the run goes on with what is missing",
    "protocol": "submit completions that were made by one protocol, unedited",
    "verdict": f"the run folder was edited; {_AGAIN}",
}


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory, as it will be read: its files by name, and what they hold."""

    files: dict[str, bytes]
    contents: Contents


def check_run(entry: Entry, benchmark: Benchmark) -> None:
    """Whether a run can be submitted.

    Raises:
        VerievalError: with the first reason against it, and their number.
    """
    manifest, run = entry.manifest, "the run"
    if manifest.get("verieval") != __version__:
        raise VerievalError(
            f"{entry.path} was judged by verieval {manifest.get('verieval')}, and this is {__version__}; {_AGAIN}"
        )
    sampling = manifest["sampling"]
    if sampling.get("n_by_task"):
        raise VerievalError(
            f"{entry.path} has unequal numbers of samples (--unequal-n); a submission has n samples of every task"
        )
    _refuse(entry, audit_benchmark(manifest["benchmark"], benchmark, run))
    _refuse(entry, audit_extraction(manifest["extraction"], run))
    _refuse(
        entry,
        audit_matrix(
            manifest["benchmark"]["tasks"],
            sampling["n"],
            entry.completions,
            entry.verdicts,
            samples=COMPLETIONS,
            results=VERDICTS,
        ),
    )
    _refuse(entry, audit_protocol(sampling, entry.completions, COMPLETIONS))
    mode = manifest["extraction"]["mode"]
    _refuse(entry, audit_texts(benchmark, mode, entry.completions, entry.verdicts, VERDICTS))


def _refuse(entry: Entry, reasons: Iterable[Reason]) -> None:
    found = list(reasons)
    if found:
        more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
        raise VerievalError(f"{entry.path} cannot be submitted: {found[0]}{more}; {_ADVICE[found[0].code]}")


def build_bundle(folder: Path, benchmark: Benchmark, about: About) -> Bundle:
    """Make the bundle of a run; nothing is written.

    Args:
        folder: the run folder.
        benchmark: the whole benchmark that the run is on, from the data at hand.
        about: what the run does not know of itself.

    Raises:
        VerievalError: the run cannot be submitted, with the reason, or something required is not stated.
    """
    entry = read_entry(folder)
    check_run(entry, benchmark)
    order = {task: place for place, task in enumerate(entry.manifest["benchmark"]["tasks"])}

    def place(row: Completion | Verdict) -> tuple[int, int]:
        return order[row.task_id], row.sample

    completions = tuple(sorted(entry.completions, key=place))
    verdicts = tuple(sorted(entry.verdicts, key=place))
    named = _with_public_name(entry, about)
    first = build_report(RunData(folder, named, completions, verdicts))
    submission = describe_submission(entry.manifest, about, first)
    # The figures are those that a verifier will find, made in the same way.
    report = report_of(submission, completions, verdicts)
    submission["numbers"] = numbers(report)
    files = {
        archive.SUBMISSION: dump_yaml(submission),
        archive.SAMPLES: pack(b"".join(encode_row(completion_row(row)) for row in completions)),
        archive.RESULTS: b"".join(encode_row(verdict_row(row)) for row in verdicts),
        archive.REPORT: dump_json(report).encode("ascii"),
        archive.README: describe_readme(submission).encode(),
    }
    files[archive.HASHES] = hash_list(files)
    return Bundle(files, _read_again(folder, files))


def _with_public_name(entry: Entry, about: About) -> dict[str, object]:
    return entry.manifest | {"model": {"source": about.model or public_name(entry.manifest["model"].get("source"))}}


def _read_again(folder: Path, files: dict[str, bytes]) -> Contents:
    """Read the bundle as a verifier will: what would be refused there is refused here.

    Raises:
        VerievalError: the run holds something that a bundle cannot.
    """
    for name, data in files.items():
        if len(data) > archive.SIZES[name]:
            raise VerievalError(f"{folder} is too large to be submitted: {name} would have {len(data):,} bytes")
    try:
        return read_contents(files)
    except Rejected as error:
        raise VerievalError(f"{folder} cannot be submitted: {error.reasons[0]}; mend the run or the option") from None


def write_bundle(bundle: Bundle, target: Path, run: Path) -> None:
    """Write a bundle as a folder, or as a zip where ``target`` ends in ``.zip``.

    Raises:
        VerievalError: ``target`` lies in the run folder, or holds something else.
        OSError: it cannot be written; nothing is left behind.
    """
    if target.resolve().is_relative_to(run.resolve()):
        raise VerievalError(f"{target} lies in the run folder, which stays as it is; give -o a path outside it")
    archive.write_files(bundle.files, target)
