"""Optimizers, explicit: which weights decay, which are Muon's, and the state that a checkpoint must hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from finetune.recipe import OptimSpec

# Muon's momentum (Nesterov) is the one of its publication; beta1 and beta2 are AdamW's.
MUON_MOMENTUM = 0.95
_STATE: dict[type[torch.optim.Optimizer], tuple[str, ...]] = {
    torch.optim.AdamW: ("exp_avg", "exp_avg_sq"),
    torch.optim.Muon: ("momentum_buffer",),
}


def make_optimizers(learner: nn.Module, layers: nn.Module, spec: OptimSpec) -> list[torch.optim.Optimizer]:
    """The optimizers of all weights that have a gradient, their state made.

    Weight decay is decoupled and on matrices alone: not on norms, biases and embeddings (nor on an output head that
    shares an embedding's weights). Muon takes the matrices within the layers, its update scaled to AdamW's size
    (``match_rms_adamw``), so that one learning rate serves both.

    Args:
        learner: the module with all the weights.
        layers: the part of it whose matrices are Muon's.
        spec: the recipe's ``[optim]``.
    """
    trained = {id(p): p for p in learner.parameters() if p.requires_grad}
    embeddings = {
        id(p) for module in learner.modules() if isinstance(module, nn.Embedding) for p in module.parameters()
    }
    within = {id(p) for p in layers.parameters() if p.ndim == 2}
    muon = [p for key, p in trained.items() if spec.name == "muon" and key in within and key not in embeddings]
    rest = [p for key, p in trained.items() if key not in {id(p) for p in muon}]
    decayed = [p for p in rest if p.ndim >= 2 and id(p) not in embeddings]
    kept = [p for p in rest if p.ndim < 2 or id(p) in embeddings]
    groups = [
        {"params": params, "weight_decay": decay}
        for params, decay in ((decayed, spec.weight_decay), (kept, 0.0))
        if params
    ]
    optimizers: list[torch.optim.Optimizer] = []
    if groups:
        betas = (spec.beta1, spec.beta2)
        optimizers.append(torch.optim.AdamW(groups, lr=spec.learning_rate, betas=betas, eps=spec.eps, fused=True))
    if muon:
        optimizers.append(
            torch.optim.Muon(
                muon,
                lr=spec.learning_rate,
                weight_decay=spec.weight_decay,
                momentum=MUON_MOMENTUM,
                nesterov=True,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    for optimizer in optimizers:
        _make_state(optimizer)
    return optimizers


def _make_state(optimizer: torch.optim.Optimizer) -> None:
    """What the first step would make, so that a checkpoint can be read into it before any step."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = optimizer.state[parameter]
            if isinstance(optimizer, torch.optim.AdamW):
                state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            for name in _STATE[type(optimizer)]:
                state[name] = torch.zeros_like(parameter)


def optimizer_state(optimizers: Sequence[torch.optim.Optimizer], names: dict[int, str]) -> dict[str, Tensor]:
    """All tensors of the optimizers by name; the tensors themselves, to be saved or written over."""
    return {
        f"{type(optimizer).__name__}.{names[id(parameter)]}.{key}": value
        for optimizer in optimizers
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def gradient_norm(parameters: Iterable[Tensor]) -> float:
    """Euclidean norm over all gradients, of all shards."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    return float(norm.full_tensor() if isinstance(norm, DTensor) else norm)


def clip(parameters: Iterable[Tensor], norm: float, most: float) -> None:
    """Scale gradients so that their global norm is at most ``most``; 0 leaves them."""
    if most and norm > most:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(most / norm)
