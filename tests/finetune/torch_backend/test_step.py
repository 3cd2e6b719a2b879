"""However a step is cut, packed, padded or recomputed: the same loss, the same gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from finetune.data.batch import collate
from finetune.torch_backend.backend import TorchBackend, build
from tests.finetune.torch_backend.cases import LENGTH, ROWS, micros, recipe, step_batch
from verieval.errors import VerievalError

USED = ROWS[:7]
LAYOUTS = {
    "one row a sequence": [[r] for r in USED] + [[]],
    "packed otherwise": [[ROWS[6], ROWS[3]], [ROWS[5], ROWS[0]], [ROWS[2], ROWS[4]], [ROWS[1]]],
}


def gradients(backend: TorchBackend, parts, seed=0):
    """Gradients of a step that is not taken, and its totals."""
    backend.learner.train()
    totals = backend._run(parts, seed=seed)
    found = {name: p.grad.clone() for name, p in backend._trained.items()}
    for p in backend._trained.values():
        p.grad = None
    return totals, found


def same(one, two, tolerance=2e-5):
    assert one[0].objective == pytest.approx(two[0].objective, rel=1e-6)
    assert one[0].response_nll == pytest.approx(two[0].response_nll, rel=1e-6)
    assert one[1].keys() == two[1].keys()
    for name, gradient in one[1].items():
        largest = float(two[1][name].abs().max())
        assert float((gradient - two[1][name]).abs().max()) <= tolerance * max(largest, 1e-6), name


@pytest.mark.parametrize("name", ["gemma", "llama"])
@pytest.mark.parametrize("denominator", ["weight_sum", "per_example"])
def test_accumulation_packing_and_padding_change_nothing(models, name, denominator):
    loss = {"loss": {"prompt_weight": 0.1, "denominator": denominator}}
    spec = recipe(models[name], loss)
    backend = build(spec, vocabulary=256)
    base = gradients(backend, micros(spec))
    for size in (1, 4):
        other = recipe(models[name], {**loss, "train": {"micro_batch": size, "batch": 4}})
        same(gradients(backend, micros(other)), base)
    same(gradients(backend, micros(spec, step_batch(LENGTH + 33))), base)
    for layout in LAYOUTS.values():
        same(gradients(backend, micros(spec, collate(layout, LENGTH))), base)


@pytest.mark.parametrize("name", ["gemma", "llama"])
def test_gradients_are_autograd_s_on_the_whole_logits(models, name):
    """transformers' own model and head, every row alone, cross-entropy of torch: no line of this backend."""
    from transformers import AutoModelForCausalLM

    spec = recipe(models[name], {"loss": {"prompt_weight": 0.0, "denominator": "response_tokens"}})
    backend = build(spec, vocabulary=256)
    found = gradients(backend, micros(spec))
    model = AutoModelForCausalLM.from_pretrained(models[name], dtype=torch.float32).train()
    total = 0.0
    for row in USED:
        ids = torch.from_numpy(row.ids).long()[None]
        labels = torch.where(torch.from_numpy(row.roles == 3)[None], ids, -100)
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
        total += torch.nn.functional.cross_entropy(logits, labels[0, 1:], reduction="sum")
    (total / sum(row.supervised for row in USED)).backward()
    expected = {f"decoder.{n}": p.grad for n, p in model.model.named_parameters()}
    if name == "llama":
        expected["head.weight"] = model.lm_head.weight.grad
    assert found[0].objective == pytest.approx(float(total.detach()) / sum(row.supervised for row in USED), rel=1e-6)
    same((found[0], found[1]), (found[0], expected))


@pytest.mark.parametrize("lora", [False, True])
def test_recomputed_activations_give_the_same_gradients_dropout_and_all(models, lora):
    specs = [recipe(models["gemma"], {"train": {"remat": remat}}, lora=lora) for remat in (False, True)]
    plain, recomputed = (gradients(build(spec, vocabulary=256), micros(spec)) for spec in specs)
    same(recomputed, plain, tolerance=1e-6)


def test_dropout_hangs_on_the_seed_alone(models):
    spec = recipe(models["gemma"], lora=True)
    backend = build(spec, vocabulary=256)
    for parameter in backend._trained.values():  # B is zero at first, and nothing would be dropped
        torch.nn.init.normal_(parameter, std=0.1)
    one, again, other = (gradients(backend, micros(spec), seed)[0].objective for seed in (3, 3, 4))
    assert one == again
    assert one != other
    assert backend.evaluate(micros(spec)) == backend.evaluate(micros(spec))


def test_a_step_is_adamw_s_with_decay_on_matrices_alone(models):
    """One step by the formula, in NumPy."""
    optim = {"weight_decay": 0.1, "clip_norm": 0.05}
    spec = recipe(models["llama"], {"optim": optim})
    backend = build(spec, vocabulary=256)
    _, grads = gradients(backend, micros(spec), seed=1)
    before = {name: p.detach().clone() for name, p in backend._trained.items()}
    rate = 0.01
    result = backend.step(micros(spec), learning_rate=rate, seed=1)
    norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in grads.values()))
    assert result.grad_norm == pytest.approx(norm, rel=1e-5)
    assert norm > 0.05
    for name, parameter in backend._trained.items():
        gradient = grads[name].double() * (0.05 / norm)
        decay = 0.1 if parameter.ndim == 2 and "embed" not in name else 0.0
        # The first step of Adam divides a gradient by itself, but for eps.
        expected = before[name].double() * (1 - rate * decay) - rate * gradient / (gradient.abs() + 1e-8)
        torch.testing.assert_close(parameter.detach().double(), expected, rtol=1e-4, atol=2e-6, msg=name)


def test_muon_takes_the_matrices_within_the_layers(models):
    spec = recipe(models["gemma"], {"optim": {"name": "muon"}})
    backend = build(spec, vocabulary=256)
    adamw, muon = backend.optimizers
    names = {id(p): name for name, p in backend._trained.items()}
    taken = {names[id(p)] for group in muon.param_groups for p in group["params"]}
    assert taken == {name for name, p in backend._trained.items() if ".layers." in name and p.ndim == 2}
    assert {names[id(p)] for group in adamw.param_groups for p in group["params"]} == set(names.values()) - taken
    assert "decoder.embed_tokens.weight" not in taken
    before = {name: p.detach().clone() for name, p in backend._trained.items()}
    losses = [backend.step(micros(spec), learning_rate=3e-3, seed=step).totals.objective for step in range(8)]
    assert losses[-1] < losses[0] - 0.1
    # An orthogonal update of AdamW's size: every singular value alike, root mean square about 0.2.
    fresh = build(spec, vocabulary=256)
    fresh.step(micros(spec), learning_rate=1e-2, seed=0)
    name = "decoder.layers.0.mlp.up_proj.weight"
    change = (fresh._trained[name].detach() / (1 - 1e-2 * 0.01) - before[name] / 1.0) / 1e-2
    assert 0.1 < float(change.square().mean().sqrt()) < 0.35


def test_bfloat16_runs_over_a_bfloat16_base_with_float32_adapters(models):
    dtypes = {"model": {"dtype": "bfloat16", "compute_dtype": "bfloat16"}}
    spec = recipe(models["gemma"], dtypes, lora=True)
    backend = build(spec, vocabulary=256)
    assert {p.dtype for p in backend._trained.values()} == {torch.float32}
    frozen = {p.dtype for p in backend.learner.parameters() if not p.requires_grad}
    assert frozen == {torch.bfloat16}
    exact = build(recipe(models["gemma"], lora=True), vocabulary=256)
    rough, right = backend.evaluate(micros(spec)), exact.evaluate(micros(spec))
    assert rough.objective == pytest.approx(right.objective, rel=2e-2)
    first = backend.step(micros(spec), learning_rate=1e-2, seed=0)
    for step in range(1, 6):
        last = backend.step(micros(spec), learning_rate=1e-2, seed=step)
    assert last.totals.objective < first.totals.objective


@pytest.mark.parametrize("poison", ["loss", "gradient"])
def test_nan_stops_and_leaves_the_weights(models, poison):
    spec = recipe(models["gemma"])
    backend = build(spec, vocabulary=256)
    before = {name: tensor.clone() for name, tensor in backend._state().items()}
    parts = micros(spec)
    handles = []
    if poison == "loss":
        parts[0].coefficient[0, 40] = np.nan
    else:
        gate = backend._trained["decoder.layers.0.mlp.up_proj.weight"]
        handles.append(gate.register_hook(lambda gradient: gradient * float("inf")))
    with pytest.raises(FloatingPointError, match=r"nan|inf"):
        backend.step(parts, learning_rate=1e-2, seed=0)
    assert all(torch.equal(tensor, before[name]) for name, tensor in backend._state().items())
    for handle in handles:
        handle.remove()
    backend.step(micros(spec), learning_rate=1e-2, seed=0)  # and nothing of it is left
    assert backend._trained["decoder.layers.0.mlp.up_proj.weight"].isfinite().all()


def test_the_loss_of_a_small_batch_goes_to_zero(models):
    spec = recipe(models["gemma"], {"loss": {"prompt_weight": 1.0}, "optim": {"warmup_steps": 0}})
    backend = build(spec, vocabulary=256)
    parts = micros(spec, collate([[ROWS[6]], [ROWS[2]]], LENGTH))
    for step in range(80):
        result = backend.step(parts, learning_rate=1e-2, seed=step)
    assert result.totals.objective < 0.05


def test_more_processes_than_the_recipe_says(models, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(VerievalError, match=r"torchrun --nproc-per-node 1 .*parallel\.fsdp=2"):
        build(recipe(models["gemma"]), vocabulary=256)


def test_ids_beyond_the_embedding(models):
    with pytest.raises(VerievalError, match="5000 tokens and the model"):
        build(recipe(models["gemma"]), vocabulary=5000)


@pytest.mark.slow
def test_a_compiled_model_gives_the_same_gradients(models):
    specs = [recipe(models["gemma"], {"train": {"compile": value}}) for value in (False, True)]
    plain, compiled = (gradients(build(spec, vocabulary=256), micros(spec)) for spec in specs)
    same(compiled, plain, tolerance=1e-4)
