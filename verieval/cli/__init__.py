"""The command line: a table of commands, each imported when it is called, and one place that makes errors sentences.

Exit status: 0 done; 2 the user, the data or the machine must change something (one sentence on standard error);
70 a fault of VeriEval itself; 130 and 143 stopped by SIGINT and SIGTERM.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from verieval import __version__
from verieval.errors import VerievalError

EXIT_ERROR = 2
EXIT_BUG = 70
EXIT_INTERRUPT = 130


@dataclass(frozen=True)
class Entry:
    """Where a command lives, and the line that ``--help`` shows without importing it."""

    module: str
    help: str


# Each module holds its click command under the name ``command``.
COMMANDS: dict[str, Entry] = {
    "run": Entry("verieval.cli.run", "Generate completions with a model, judge them and report."),
    "score": Entry("verieval.cli.score", "Judge completions that exist already."),
    "report": Entry("verieval.cli.report", "Recompute and show the report of a run."),
    "examine": Entry("verieval.cli.examine", "Synthesize a run's candidates and prove them equivalent."),
    "compare": Entry("verieval.cli.compare", "Compare two runs: what differs, then which is better."),
    "train": Entry("verieval.cli.train", "Fine-tune a model by a recipe."),
    "plan": Entry("verieval.cli.plan", "Say what a recipe needs of a TPU or GPU, without one."),
    "convert": Entry("verieval.cli.convert", "Convert checkpoints, and merge adapters into their base."),
    "bench": Entry("verieval.cli.bench", "List, show and check benchmarks."),
    "submit": Entry("verieval.cli.submit", "Make a bundle of a run that anyone can judge again."),
    "verify": Entry("verieval.cli.verify", "Check a bundle: hashes, figures, and every sample judged again."),
    "doctor": Entry("verieval.cli.doctor", "Report every tool that is found and what its version means."),
    "completion": Entry("verieval.cli.completion", "Print the completion script of a shell."),
}


class LazyGroup(click.Group):
    """A group that knows its commands from :data:`COMMANDS` and imports one only to call it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = importlib.import_module(entry.module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete command names from the table alone."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=e.help) for name, e in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", prog_name="verieval", message="%(prog)s %(version)s")
def cli() -> None:
    """Measure how well language models write Verilog, and trace every number to its cause."""


def main(args: list[str] | None = None) -> NoReturn:
    """Entry point of the console script: run a command and exit.

    Args:
        args: command-line words without the program's name; None takes them from ``sys.argv``.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows only ASCII must not turn an ellipsis into an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = cli.main(args=args, prog_name="verieval", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  the one place where whatever went wrong becomes a sentence
        if (
            type(error).__name__ == "NoArgsIsHelpError"
        ):  # by name: click before 8.2 has none, and prints the help itself
            click.echo(str(error))
            _exit(0, None)
        _exit(*_explain(error))
    _exit(result if isinstance(result, int) else 0, None)


def _open_closed_streams() -> None:
    """Standard streams that the caller closed (``>&-``) lead nowhere.

    Otherwise Python has None in their place, and the next file that is opened gets their number: what a child process
    prints would end in it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _exit(status: int, sentence: str | None) -> NoReturn:
    """Leave with ``status``; a reader of our output that has gone away is no error of ours."""
    try:
        if sentence is not None:
            from verieval.report.text import printable  # a sentence may name data, which no terminal must obey

            click.echo(f"verieval: {printable(sentence)}", err=True)
        sys.stdout.flush()
    except OSError:
        # What is left in the buffer would be tried, and reported, once more at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _explain(error: Exception) -> tuple[int, str | None]:
    """Exit status and sentence of an exception that reached the top."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code, None
    if isinstance(error, click.Abort):
        return EXIT_INTERRUPT, "interrupted; what had been written stays as it is, and nothing more was done"
    if isinstance(error, click.ClickException):
        return EXIT_ERROR, f"error: {_usage(error)}"
    if isinstance(error, VerievalError):
        return EXIT_ERROR, f"error: {error}"
    if isinstance(error, BrokenPipeError):
        return 1, None
    if isinstance(error, OSError) and error.errno is not None:
        return EXIT_ERROR, f"error: {describe_os_error(error)}"
    return EXIT_BUG, _bug(error)


def _usage(error: click.ClickException) -> str:
    """A usage error in one line, with the help that answers it."""
    message = " ".join(error.format_message().split()).rstrip(".")
    ctx = getattr(error, "ctx", None)
    return f"{message}; see '{ctx.command_path} --help'" if ctx is not None else message


_OS_ADVICE = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EFBIG: "raise the limit of file size (ulimit -f) and run the same command again",
    errno.EDQUOT: "free some of the quota and run the same command again",
    errno.EACCES: "choose another folder or change its permissions",
    errno.EPERM: "choose another folder or change its permissions",
    errno.EROFS: "choose a folder that can be written",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "check the path",
    errno.EMFILE: "raise the limit of open files (ulimit -n) or use fewer --jobs",
    errno.ENOMEM: "use fewer --jobs or a smaller batch",
    errno.ENAMETOOLONG: "use a shorter name",
}


def describe_os_error(error: OSError) -> str:
    """One sentence for a failed system call: what, where, and what to do."""
    what = error.strerror or type(error).__name__
    where = f" ({os.fsdecode(error.filename)})" if isinstance(error.filename, str | bytes) else ""
    advice = _OS_ADVICE.get(error.errno or 0)
    return f"{what[0].lower()}{what[1:]}{where}" + (f"; {advice}" if advice else "")


def _bug(error: Exception) -> str:
    """Keep the traceback in a file (or show it with VERIEVAL_DEBUG=1) and say that this is our fault."""
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    cause = f"{type(error).__name__}: {error}".splitlines()[0]
    if os.environ.get("VERIEVAL_DEBUG") == "1":
        click.echo(text, err=True, nl=False)
        return f"internal error: {cause}; this is a bug of VeriEval, please report it with the lines above"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="verieval-", suffix=".traceback", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(text)
    except OSError:
        return f"internal error: {cause}; this is a bug of VeriEval, please report it (VERIEVAL_DEBUG=1 shows more)"
    return f"internal error: {cause}; this is a bug of VeriEval, please report it with {file.name}"
