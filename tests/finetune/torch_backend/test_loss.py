"""The chunked loss is plain autograd's, value and gradient; totals are NumPy's on transformers' logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from finetune.loss import reference_loss
from finetune.torch_backend.backend import build
from finetune.torch_backend.loss import chunked_nll
from tests.finetune.torch_backend.cases import ROWS, micros, recipe, step_batch

WEIGHTS = [0.0, 0.1, 1.0]
DENOMINATORS = ["weight_sum", "response_tokens", "per_example"]


def problem(positions=23, supervised=14, width=8, vocabulary=31, scale=1.0):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(positions, width, generator=generator)
    weight = torch.randn(vocabulary, width, generator=generator) * scale
    targets = torch.randint(vocabulary, (positions,), generator=generator)
    coefficients = torch.rand(supervised, generator=generator).double()
    return hidden.requires_grad_(), weight.requires_grad_(), targets, coefficients


def plain(hidden, weight, targets, coefficients, softcap):
    """The same in float64, all at once, left to autograd."""
    logits = hidden.double() @ weight.double().T
    if softcap is not None:
        logits = torch.tanh(logits / softcap) * softcap
    nll = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    return (nll[: len(coefficients)] * coefficients).sum(), nll


@pytest.mark.parametrize("softcap", [None, 2.0, 30.0])
@pytest.mark.parametrize("chunk", [1, 5, 14, 1000])
def test_values_and_gradients_are_autograd_s(softcap, chunk):
    hidden, weight, targets, coefficients = problem()
    loss, nll = chunked_nll(hidden, weight, targets, coefficients, softcap=softcap, chunk=chunk, dtype=torch.float32)
    expected, each = plain(hidden, weight, targets, coefficients, softcap)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(nll.double(), each, rtol=1e-5, atol=1e-6)
    assert not nll.requires_grad
    # Twice the loss: the gradient that comes from outside counts.
    found = torch.autograd.grad(2 * loss, (hidden, weight))
    wanted = torch.autograd.grad(2 * expected, (hidden, weight))
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)
    assert not found[0][len(coefficients) :].any()


def test_a_frozen_head_gets_no_gradient_and_no_memory_for_one():
    hidden, weight, targets, coefficients = problem()
    loss, _ = chunked_nll(hidden, weight.detach(), targets, coefficients, softcap=None, chunk=4, dtype=torch.float32)
    loss.backward()
    torch.testing.assert_close(
        hidden.grad, torch.autograd.grad(plain(hidden, weight, targets, coefficients, None)[0], hidden)[0]
    )


def test_logits_beyond_float32_s_exponent():
    hidden, weight, targets, coefficients = problem(scale=1e4)
    loss, _ = chunked_nll(hidden, weight, targets, coefficients, softcap=None, chunk=4, dtype=torch.float32)
    assert loss.item() == pytest.approx(plain(hidden, weight, targets, coefficients, None)[0].item(), rel=1e-5)


@pytest.mark.parametrize("supervised", [0, 23])
def test_no_position_or_every_position_supervised(supervised):
    hidden, weight, targets, coefficients = problem(supervised=supervised)
    loss, nll = chunked_nll(hidden, weight, targets, coefficients, softcap=None, chunk=4, dtype=torch.float32)
    loss.backward()
    assert len(nll) == 23
    assert bool(hidden.grad.any()) is bool(supervised)


def test_the_largest_tensor_has_a_chunk_of_rows():
    """No tensor as large as the logits of all positions is ever made."""
    from torch.utils._python_dispatch import TorchDispatchMode

    sizes = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            sizes.extend(item.numel() for item in [result] if isinstance(item, torch.Tensor))
            return result

    hidden, weight, targets, coefficients = problem(positions=640, supervised=320, width=4, vocabulary=1000)
    with Watch():
        loss, _ = chunked_nll(hidden, weight, targets, coefficients, softcap=30.0, chunk=16, dtype=torch.float32)
        loss.backward()
    assert max(sizes) == 16 * 1000


@pytest.mark.parametrize("name", ["gemma", "llama"])
@pytest.mark.parametrize("prompt_weight", WEIGHTS)
@pytest.mark.parametrize("denominator", DENOMINATORS)
def test_totals_are_numpy_s_on_transformers_logits(models, name, prompt_weight, denominator):
    from transformers import AutoModelForCausalLM

    spec = recipe(models[name], {"loss": {"prompt_weight": prompt_weight, "denominator": denominator}})
    backend = build(spec, vocabulary=256)
    model = AutoModelForCausalLM.from_pretrained(models[name], dtype=torch.float32).eval()
    batch = step_batch()
    # Each row alone, without packing and without padding: what packed training must come to.
    logits = np.zeros((*batch.ids.shape, model.config.vocab_size), dtype=np.float32)
    with torch.no_grad():
        for index in range(len(batch)):
            for segment in range(1, batch.segments[index].max(initial=0) + 1):
                where = batch.segments[index] == segment
                ids = torch.from_numpy(batch.ids[index][where]).long()
                logits[index, where] = model(input_ids=ids[None]).logits[0].numpy()
    expected = reference_loss([logits], [batch], spec.loss)
    found = backend.evaluate(micros(spec, batch))
    assert found.objective == pytest.approx(expected.objective, abs=1e-6, rel=1e-6)
    assert found.response_nll == pytest.approx(expected.response_nll, rel=1e-6)
    assert found.prompt_nll == pytest.approx(expected.prompt_nll, rel=1e-6)
    assert (found.response_tokens, found.prompt_tokens) == (expected.response_tokens, expected.prompt_tokens)


def test_rows_are_what_the_tests_take_them_for():
    assert {len(row) for row in ROWS} == {30, 40, 20, 64, 50, 31, 12, 49, 38}
