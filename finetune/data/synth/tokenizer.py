"""``python -m finetune.data.synth.tokenizer``: make nano's tokenizer from texts of the corpus.

Byte-level BPE over pieces: a run of letters, one digit, ``_``, or a run of anything else. A name so gets the same
tokens in a description and in code, whatever stands around it, and a number is its digits. Common words of prose and of
Verilog that are never names take the space before them along. Fixed sentences of the evaluation's prompt are one token
each. Any text comes back as it was, since all bytes are in the vocabulary.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from verieval.errors import VerievalError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY = 1280
WORDS = 260  # words that take their space along
ROWS = 12_000
SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|channel>", "<channel|>")
# What every prompt of the preset "default" says, and how every turn and answer begins.
PHRASES = (
    "Write the Verilog module that the following specification describes.\n\n",
    "\n\nPorts of `",
    (
        "`, make it synthesizable, and define every module that it uses. Answer with the whole\nmodule, from `module` "
        "to `endmodule`, in one block that starts with ```verilog and ends with ```."
    ),
    "Name the module `",
    "```verilog\nmodule ",
    "\nendmodule\n```",
)
_WORD = re.compile(r"(?<= )[A-Za-z]+(?![A-Za-z0-9_])")


def make_tokenizer(texts: Sequence[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """Learn merges from texts; the same texts make the same tokenizer."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    words = "|".join(_common_words(texts))
    whole = rf" (?:{words})(?![A-Za-z0-9_])"
    pieces = rf"{whole}|[A-Za-z]+|[0-9]|_|[^A-Za-z0-9_]+?(?={whole})|[^A-Za-z0-9_]+"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pieces), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(PHRASES),
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        min_frequency=10,
        show_progress=False,
    )
    split = re.compile("|".join(re.escape(phrase) for phrase in PHRASES))
    tokenizer.train_from_iterator((part for text in texts for part in split.split(text) if part), trainer)
    tokenizer.add_tokens([AddedToken(phrase, normalized=False, single_word=False) for phrase in PHRASES])
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder that transformers' AutoTokenizer reads, with the Gemma 4 turn format."""
    from verieval.chat import chat_template

    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "eos_token": "<turn|>",
        "bos_token": "<bos>",
        "unk_token": "<unk>",
        "additional_special_tokens": ["<eos>", *SPECIAL[4:]],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
        "padding_side": "left",
    }
    _write(folder / "tokenizer.json", tokenizer.to_str(pretty=False))
    _write(folder / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n")
    _write(folder / "chat_template.jinja", chat_template("gemma4"))


def texts_of(seed: int, rows: int) -> list[str]:
    """Prompts and answers of so many pairs of the corpus, unchecked: a tokenizer does not care."""
    from finetune.data.synth.corpus import FENCE
    from finetune.data.synth.families import draw_family
    from finetune.data.synth.pairs import make_pair, suite_modules
    from verieval import protocol

    template = protocol.preset_prompt("default")
    texts: list[str] = []
    for number in range(rows):
        rng = Random(f"train {seed} {number}")
        pair = make_pair(draw_family(rng), "train", rng, suite_modules())
        if pair is not None:
            prompt = protocol.render(template, pair.task("pair"), "verieval")[-1].content
            texts += [prompt, FENCE.format(code=pair.code)]
    return texts


def _common_words(texts: Sequence[str]) -> list[str]:
    """The commonest words that follow a space and are no name."""
    from finetune.data.synth import names

    # A word followed by _ or a digit is left alone, so only names that are one word must be.
    never = {word for pool in names.POOLS.values() for word in pool} | set(names.HELD)
    counts = Counter(word for text in texts for word in _WORD.findall(text) if word not in never and len(word) > 1)
    return sorted(word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:WORDS])


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the tokenizer.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Of the corpus.")
@click.option("--rows", type=click.IntRange(100), default=ROWS, show_default=True, help="Pairs to learn from.")
@click.option("--vocabulary", type=click.IntRange(600, 65_536), default=VOCABULARY, show_default=True)
def command(out: Path, seed: int, rows: int, vocabulary: int) -> None:
    """Make nano's tokenizer."""
    texts = texts_of(seed, rows)
    tokenizer = make_tokenizer(texts, vocabulary)
    try:
        save(tokenizer, out)
    except OSError as error:
        raise VerievalError(f"{out} cannot be written ({error.strerror}); choose another --out") from None
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]
    prompts, answers = sum(lengths[::2]) / len(lengths[::2]), sum(lengths[1::2]) / len(lengths[1::2])
    rows_long = sorted(a + b for a, b in zip(lengths[::2], lengths[1::2], strict=True))
    click.echo(
        f"{out}: {tokenizer.get_vocab_size()} tokens; a prompt has {prompts:.0f} on average, an answer {answers:.0f}; "
        f"rows: 99 % at most {rows_long[int(0.99 * len(rows_long))]}, all at most {rows_long[-1]}"
    )


def main() -> None:
    """Errors as one sentence."""
    try:
        command(prog_name="python -m finetune.data.synth.tokenizer")
    except VerievalError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
