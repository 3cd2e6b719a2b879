"""Chunked cross-entropy against the plain one in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finetune.jax_backend.loss import Head, chunked_nll
from finetune.loss import reference_nll

SEQUENCES, LENGTH, WIDTH, VOCABULARY = 3, 29, 16, 50


@pytest.fixture(scope="module")
def case():
    random = np.random.default_rng(0)
    hidden = random.normal(size=(SEQUENCES, LENGTH, WIDTH)).astype(np.float32)
    weight = random.normal(size=(VOCABULARY, WIDTH)).astype(np.float32)
    targets = random.integers(0, VOCABULARY, (SEQUENCES, LENGTH))
    coefficients = (random.random((SEQUENCES, LENGTH)) * (random.random((SEQUENCES, LENGTH)) > 0.4)).astype(np.float32)
    return hidden, weight, targets, coefficients


def plain(hidden, weight, targets, coefficients, softcap):
    logits = hidden @ weight.T
    logits = logits if softcap is None else jnp.tanh(logits / softcap) * softcap
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], axis=-1)[..., 0]
    return -(picked * coefficients).sum()


@pytest.mark.parametrize(("softcap", "chunk"), [(None, 1), (3.0, 6), (3.0, 30), (None, 10_000)])
def test_values_and_gradients(case, softcap, chunk):
    hidden, weight, targets, coefficients = case
    head = Head(softcap, chunk, "float32", train=True)

    def objective(hidden, weight):
        total, nll = chunked_nll(head, hidden, weight, targets, coefficients)
        return 2.0 * total, nll

    (total, nll), grads = jax.jit(jax.value_and_grad(objective, argnums=(0, 1), has_aux=True))(hidden, weight)
    logits = hidden.astype(np.float64) @ weight.T.astype(np.float64)
    logits = logits if softcap is None else np.tanh(logits / softcap) * softcap
    expected = reference_nll(logits, targets)
    np.testing.assert_allclose(nll, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(total, 2 * (expected * coefficients).sum(), rtol=1e-6)
    for found, other in zip(grads, jax.grad(plain, (0, 1))(*case, softcap), strict=True):
        np.testing.assert_allclose(found, 2 * other, rtol=0, atol=1e-4)
    evaluated = chunked_nll(head, hidden, weight, targets, coefficients)
    np.testing.assert_allclose(evaluated[1], expected, rtol=1e-5, atol=1e-5)


def test_a_frozen_head_costs_no_gradient(case):
    hidden, weight, targets, coefficients = case

    def objective(hidden, weight):
        return chunked_nll(Head(3.0, 12, "float32", train=False), hidden, weight, targets, coefficients)[0]

    towards_hidden, towards_weight = jax.grad(objective, (0, 1))(hidden, weight)
    np.testing.assert_allclose(towards_hidden, jax.grad(plain)(*case, 3.0), rtol=0, atol=1e-4)
    assert not np.any(towards_weight)


@pytest.mark.parametrize("train", [True, False])
def test_no_logits_of_a_whole_sequence_exist(train):
    """The largest array in the program, forward and backward, is a chunk's logits or the weights."""
    shapes = jnp.zeros((2, 512, 8)), jnp.zeros((1000, 8)), jnp.zeros((2, 512), jnp.int32), jnp.zeros((2, 512))
    head = Head(30.0, 64, "bfloat16", train)
    grad = jax.value_and_grad(lambda h, w, t, c: chunked_nll(head, h, w, t, c)[0], argnums=(0, 1) if train else 0)
    sizes = list(_sizes(jax.make_jaxpr(grad)(*shapes).jaxpr))
    assert max(sizes) == 64 * 1000


def _sizes(jaxpr):
    for equation in jaxpr.eqns:
        yield from (np.prod(v.aval.shape, dtype=int) for v in equation.outvars)
        for value in equation.params.values():
            for part in value if isinstance(value, (list, tuple)) else [value]:
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _sizes(inner)
