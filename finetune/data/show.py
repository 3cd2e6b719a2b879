"""Rows of tokens with the weight of each, for a person to look at before a long run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from finetune.data.batch import ROLES, TokenRow
from finetune.loss import role_weights
from finetune.recipe import LossSpec
from verieval.report.text import printable

if TYPE_CHECKING:
    from rich.style import Style
    from rich.text import Text


@dataclass(frozen=True)
class Run:
    """Tokens that follow one another with one role and weight.

    Attributes:
        role: a name of :data:`finetune.data.batch.ROLES`.
        weight: in the loss of each as a target; the first token of a row is no target, and has weight 0.
        ids: the tokens.
        text: what they spell.
    """

    role: str
    weight: float
    ids: tuple[int, ...]
    text: str


def token_runs(row: TokenRow, tokenizer: Any, spec: LossSpec) -> list[Run]:
    """A row as runs of equal role and weight."""
    table = role_weights(spec)
    runs: list[tuple[str, float, list[int]]] = []
    for position, (token, index) in enumerate(zip(row.ids.tolist(), row.roles.tolist(), strict=True)):
        role = ROLES[index]
        weight = table[role] if position else 0.0
        if not runs or runs[-1][:2] != (role, weight):
            runs.append((role, weight, []))
        runs[-1][2].append(token)
    return [Run(role, weight, tuple(ids), _decode(tokenizer, ids)) for role, weight, ids in runs]


def show_tokens(
    rows: Sequence[TokenRow],
    tokenizer: Any,
    spec: LossSpec,
    count: int,
    *,
    stream: TextIO | None = None,
) -> None:
    """Print the first ``count`` rows with their weights: as colour on a terminal, as ``[0.0]`` … ``[1.0]`` elsewhere.

    Args:
        rows: to choose from.
        tokenizer: which made them.
        spec: the objective.
        count: of rows.
        stream: standard output where it is None.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, soft_wrap=True)
    coloured = console.is_terminal and not console.no_color
    for row in rows[:count]:
        runs = token_runs(row, tokenizer, spec)
        head = f"{row.name}: {len(row)} tokens, {row.supervised} supervised"
        text = Text(f"{printable(head)}\n", style="bold")
        for run in runs:
            text.append_text(_styled(run) if coloured else Text(f"[{run.weight:g}]{_lines(run.text)}"))
        console.print(text)
        console.print()
    if coloured and rows[:count]:
        console.print(_legend(spec))


def tokens_json(rows: Sequence[TokenRow], tokenizer: Any, spec: LossSpec, count: int) -> list[dict[str, Any]]:
    """The same as plain data: of each row its name and runs, with ids."""
    return [
        {
            "name": row.name,
            "tokens": len(row),
            "supervised": row.supervised,
            "runs": [
                {"role": run.role, "weight": run.weight, "ids": list(run.ids), "text": run.text}
                for run in token_runs(row, tokenizer, spec)
            ],
        }
        for row in rows[:count]
    ]


def _decode(tokenizer: Any, ids: list[int]) -> str:
    text: str = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return text


def _lines(text: str) -> str:
    """Line ends stay; all else that a terminal would obey is escaped, for a row's text is anybody's."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _styled(run: Run) -> Text:
    from rich.text import Text

    return Text(_lines(run.text), style=_style(run.weight))


def _style(weight: float) -> Style:
    """From grey (0) over yellow to green (1)."""
    from rich.style import Style

    if weight == 0:
        return Style(color="bright_black")
    return Style(color=f"rgb({round(230 * (1 - weight))},180,0)", bold=weight == 1)


def _legend(spec: LossSpec) -> Text:
    from rich.text import Text

    text = Text("weights: ")
    for role, weight in role_weights(spec).items():
        text.append(f"{role} {weight:g}", style=_style(weight))
        text.append("  ")
    return text
