"""``verieval completion``: the script that teaches a shell to complete the commands."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    Load it with, for example: eval "$(verieval completion bash)"
    """
    from click.shell_completion import get_completion_class

    from verieval.cli import cli

    completion = get_completion_class(shell)
    assert completion is not None  # the three shells are click's own
    # click's source() would start bash to look at its version; the template alone is what is wanted.
    script = completion(cli, {}, "verieval", "_VERIEVAL_COMPLETE")
    click.echo(script.source_template % script.source_vars())
