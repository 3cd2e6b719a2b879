"""A tiny Gemma 4 checkpoint with random weights, a real tokenizer and a chat template, for tests of what reads one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

# Written by hand from the format's description, not taken from verieval.chat: tests compare the two.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}<|turn>model\n{% else %}<|turn>{{ m.role }}\n"
    "{% endif %}{{ m.content.strip() }}<turn|>\n{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}"
)
SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|channel>", "<channel|>")
CORPUS = (
    "module TopModule (input clk, input rst_n, input [7:0] d, output reg [7:0] q);",
    "always @(posedge clk or negedge rst_n) begin if (!rst_n) q <= 8'd0; else q <= d; end endmodule",
    "assign out = (a & b) | (~a ^ b); case (state) default: next = 2'b00; endcase",
)


def make_checkpoint(folder: Path, seed: int = 0, *, context: int = 2048) -> Path:
    """Write a Gemma 4 text model of about 0.2 M parameters to ``folder`` and return it.

    The same seed gives the same files. Layers are sliding, full, sliding, full, with a window (32) shorter than a usual
    prompt, so that the two kinds of cache differ.
    """
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig, GenerationConfig

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    config = Gemma4TextConfig(
        vocab_size=len(tokenizer),
        vocab_size_per_layer_input=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_global_key_value_heads=1,
        head_dim=16,
        global_head_dim=16,
        sliding_window=32,
        max_position_embeddings=context,
        attention_k_eq_v=True,
        num_kv_shared_layers=0,
        hidden_size_per_layer_input=0,
        final_logit_softcapping=30.0,
        initializer_range=0.1,
        tie_word_embeddings=True,
        pad_token_id=SPECIAL.index("<pad>"),
        eos_token_id=SPECIAL.index("<eos>"),
        bos_token_id=SPECIAL.index("<bos>"),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Gemma4ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[SPECIAL.index("<eos>"), SPECIAL.index("<turn|>")],
        bos_token_id=SPECIAL.index("<bos>"),
        pad_token_id=SPECIAL.index("<pad>"),
    )
    model.save_pretrained(folder)
    return folder


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with Gemma 4's turn tokens, which puts ``<bos>`` in front as Gemma's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        min_frequency=1,
        show_progress=False,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    bos = ("<bos>", SPECIAL.index("<bos>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[bos])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        bos_token="<bos>",
        unk_token="<unk>",
        extra_special_tokens=list(SPECIAL[4:]),
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
    )
