"""Attention row by row is SDPA's with a mask, gradients too, whatever the rows."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from finetune.torch_backend.attention import NAME, NotApplicable, row_attention
from finetune.torch_backend.backend import build
from tests.finetune.torch_backend.cases import micros, recipe

LAYOUTS = {
    "one row": [[24], [24]],
    "several": [[7, 12, 5], [1, 20, 3]],
    "rows of one token": [[1] * 24, [23, 1]],
}


def positions(layout):
    return torch.stack([torch.cat([torch.arange(size) for size in sizes]) for sizes in layout])


def masked(query, key, value, layout, window, scaling):
    """The definition: one mask over all pairs."""
    segments = torch.stack([torch.repeat_interleave(torch.arange(len(s)), torch.tensor(s)) for s in layout])
    place = torch.arange(24)
    distance = place[:, None] - place[None]
    mask = (distance >= 0) & (segments[:, :, None] == segments[:, None]) & (distance < (window or 10**6))
    heads = query.shape[1] // key.shape[1]
    key, value = (part.repeat_interleave(heads, 1) for part in (key, value))
    return scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None], scale=scaling).transpose(1, 2)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("window", [None, 1, 5, 12, 24])
@pytest.mark.parametrize("heads", [4, 2])
def test_it_is_masked_attention(layout, window, heads):
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, count, 24, 8) for count in (4, heads, heads)]
    parts = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]
    found, _ = row_attention(
        torch.nn.Identity(), *parts, None, scaling=1.0, sliding_window=window, position_ids=positions(layout)
    )
    expected = masked(*parts, layout, window, 1.0)
    torch.testing.assert_close(found, expected)
    weight = torch.randn(found.shape, generator=generator, dtype=torch.float64)
    one = torch.autograd.grad((found * weight).sum(), parts)
    two = torch.autograd.grad((expected * weight).sum(), parts)
    for left, right in zip(one, two, strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("wrong", [{"position_ids": None}, {"attention_mask": torch.ones(1)}])
def test_what_it_does_not_understand(wrong):
    part = torch.zeros(1, 1, 4, 2)
    options = {"attention_mask": None, "position_ids": torch.arange(4)[None], **wrong}
    with pytest.raises(NotApplicable):
        row_attention(torch.nn.Identity(), part, part, part, **options)


@pytest.mark.parametrize("name", ["gemma", "llama"])
@pytest.mark.parametrize("remat", [False, True])
def test_a_backend_uses_it_and_gives_the_same_gradients(models, name, remat):
    spec = recipe(models[name], {"train": {"remat": remat}})
    backend = build(spec, vocabulary=256)
    config = backend.learner.decoder.config
    assert config._attn_implementation == NAME
    found = {}
    for implementation in (NAME, "sdpa"):
        config._attn_implementation = implementation
        backend.learner.train()
        backend._run(micros(spec), seed=0)
        found[implementation] = {key: p.grad.clone() for key, p in backend._trained.items()}
        for parameter in backend._trained.values():
            parameter.grad = None
    for key, gradient in found["sdpa"].items():
        torch.testing.assert_close(found[NAME][key], gradient, rtol=1e-4, atol=1e-6, msg=key)


def test_a_model_that_attends_otherwise_keeps_sdpa(models, monkeypatch):
    from finetune.torch_backend import attention

    monkeypatch.setattr(attention, "_window", lambda size, window, device: torch.ones(size, size).bool().tril())
    backend = build(recipe(models["gemma"], {"train": {"sequence_length": 128}}), vocabulary=256)
    assert backend.learner.decoder.config._attn_implementation == "sdpa"


def test_a_softcap_in_the_attention_is_refused(tmp_path):
    from transformers import Gemma2Config, Gemma2ForCausalLM

    from verieval.errors import VerievalError

    config = Gemma2Config(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16,
    )  # fmt: skip
    Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(VerievalError, match="its attention has a softcap"):
        build(recipe(tmp_path), vocabulary=256)
