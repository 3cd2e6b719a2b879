"""The learning rate of every step, the same for both backends."""

from __future__ import annotations

import math

from finetune.recipe import OptimSpec


def learning_rate(step: int, steps: int, spec: OptimSpec) -> float:
    """Learning rate of optimizer step ``step``, counted from 0.

    The warm-up rises linearly and reaches ``spec.learning_rate`` at step ``warmup_steps``; from there the rate falls
    to ``final_fraction`` of it, which it would reach at step ``steps``.

    Args:
        step: from 0 to ``steps`` - 1.
        steps: of the whole run.
        spec: the recipe's ``[optim]``.
    """
    if step < spec.warmup_steps:
        return spec.learning_rate * (step + 1) / (spec.warmup_steps + 1)
    done = (step - spec.warmup_steps) / max(1, steps - spec.warmup_steps)
    fall = {"constant": 1.0, "linear": 1.0 - done, "cosine": 0.5 * (1.0 + math.cos(math.pi * done))}[spec.schedule]
    if spec.schedule == "constant":
        return spec.learning_rate
    return spec.learning_rate * (spec.final_fraction + (1.0 - spec.final_fraction) * fall)
