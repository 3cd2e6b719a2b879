"""Small byte-level tokenizers, real in all but size, with the special tokens of each chat format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CORPUS = (
    "module TopModule (input clk, input rst_n, input [7:0] d, output reg [7:0] q);\n\n",
    "always @(posedge clk or negedge rst_n) begin if (!rst_n) q <= 8'd0; else q <= d; end endmodule\n",
    "user\n\nmodel\n assistant\n\n system\n  \n\t\n assign out = (a & b) | (~a ^ b); case (state)",
)
# Special tokens of the families, the beginning of text first where there is one, the end of text last.
SPECIAL = {
    "gemma4": ("<bos>", "<|turn>", "<turn|>", "<|channel>", "<channel|>", "<eos>"),
    "chatml": (None, "<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "llama3": ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"),
}


def gemma_like_tokenizer(*more: tuple[str, str]) -> PreTrainedTokenizerFast:
    """Built as Gemma's is: a space is a letter, what has no letter is bytes; line ends merge, and so do ``more``."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = [token for token in SPECIAL["gemma4"] if token]
    letters = sorted(set("".join(CORPUS).replace(" ", "\u2581")))
    pairs = [("\n", "\n"), ("\n\n", "\n"), ("\u2581", "\u2581"), ("m", "o"), ("mo", "d"), ("u", "l")]
    merges = [*pairs, *more]
    pieces = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *("".join(pair) for pair in merges)]
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(special)
    bos = (special[0], vocabulary[special[0]])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{special[0]} $A", special_tokens=[bos])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=special[0],
        eos_token=special[-1],
        extra_special_tokens=special[1:-1],
    )


def small_tokenizer(name: str, *, template: str | None = None, split: str = "") -> PreTrainedTokenizerFast:
    """A tokenizer for the chat format ``name``; ``split`` is a pattern of words, else Gemma-like: none but bytes."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    bos, *rest = SPECIAL[name]
    special = [token for token in (bos, *rest) if token]
    tokenizer = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(split or r"[\s\S]+"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        min_frequency=1,
        show_progress=False,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, special.index(bos))]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=bos,
        eos_token=special[-1],
        extra_special_tokens=[token for token in special[:-1] if token != bos],
        chat_template=template,
    )
