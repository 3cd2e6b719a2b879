"""Proof, on the model that is about to be trained, that rows which share a sequence do not see each other."""

from __future__ import annotations

import math

import torch

from finetune.torch_backend.model import Language, Learner
from verieval.errors import VerievalError

# Largest change of a hidden state that counts as rounding, as a share of the largest value: nothing at all is expected,
# but a kernel may sum in another order.
_ROUNDING = {torch.float32: 1e-5, torch.bfloat16: 2e-2}


def check_isolation(learner: Learner, *, sequences: int, length: int, vocabulary: int, device: torch.device) -> None:
    """Change every token of one row and see that nothing changes in the others of its sequence.

    Runs the model twice at the shape of training (so that a compiled model is checked as it is compiled).

    Raises:
        VerievalError: rows leak into each other.
    """
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (sequences, length), generator=generator)
    first, second = length // 3, length // 3 + length // 3
    positions = torch.cat([torch.arange(first), torch.arange(second - first), torch.arange(length - second)])
    positions = positions.expand(sequences, -1).contiguous()
    changed = ids.clone()
    changed[:, :first] = (ids[:, :first] + 1 + ids[:, :first] % (vocabulary - 1)) % vocabulary
    learner.eval()
    with torch.no_grad():
        before, after = (learner(tokens.to(device), positions.to(device)) for tokens in (ids, changed))
    largest = float(before.abs().max())
    if not math.isfinite(largest) or largest == 0:
        raise VerievalError("the model's hidden states are not finite, or all zero; check its weights")
    leaked = float((after[:, first:] - before[:, first:]).abs().max()) / largest
    own = float((after[:, :first] - before[:, :first]).abs().max()) / largest
    rounding = _ROUNDING[learner.dtype]
    if not leaked <= rounding:
        raise VerievalError(
            f"rows that share a sequence attend to each other in this model (a row's change moves its neighbours by "
            f"{leaked:.1e} of the largest hidden value): set data.packing = false"
        )
    if not own > rounding:
        raise VerievalError("this model does not react to its tokens, so it cannot be trained; check its weights")


def check_head(language: Language, learner: Learner, *, vocabulary: int, device: torch.device) -> None:
    """See that decoder, head and softcap give the logits that the whole model gives.

    Some architectures scale their logits in further ways; the loss here would then be another model's.

    Raises:
        VerievalError: they do not.
    """
    ids = torch.arange(16, device=device)[None] % vocabulary
    positions = torch.arange(16, device=device)[None]
    learner.eval()
    with torch.no_grad():
        whole, parts = learner(ids, positions, whole=language.model)
    if not float((whole - parts).abs().max()) <= _ROUNDING[learner.dtype] * max(1.0, float(whole.abs().max())):
        raise VerievalError(
            f"the torch backend cannot train a {type(language.model).__name__}: its logits are not those of its output "
            "head and softcap alone"
        )
