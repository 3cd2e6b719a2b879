"""From a recipe to a transformers model, and the parts of it that training needs: decoder, output head, softcap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from finetune.recipe import ModelSpec, Recipe
from finetune.torch_backend.loss import chunked_nll
from verieval.errors import VerievalError
from verieval.files import read_file

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, eq=False)
class Language:
    """The language model within a checkpoint, which may hold a vision tower and more beside it.

    Attributes:
        model: the whole, as transformers loads it.
        decoder: from token ids to hidden states after the last norm.
        prefix: its name within ``model``, with the dot at the end; empty where it is the model.
        layers: the decoder's layers.
        head: from hidden states to logits, without a bias.
        softcap: of the final logits; None where there is none.
    """

    model: Any
    decoder: nn.Module
    prefix: str
    layers: nn.ModuleList
    head: nn.Linear
    softcap: float | None


class Learner(nn.Module):
    """Decoder, head and loss as one module: what is sharded and called."""

    def __init__(self, language: Language, *, chunk: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.decoder = language.decoder
        self.head = language.head
        self.softcap = language.softcap
        self.chunk = chunk
        self.dtype = dtype

    def forward(
        self,
        ids: Tensor,
        positions: Tensor,
        chosen: Tensor | None = None,
        targets: Tensor | None = None,
        coefficients: Tensor | None = None,
        *,
        whole: nn.Module | None = None,
    ) -> Any:
        """Objective and NLL of the chosen positions, see :func:`finetune.torch_backend.loss.chunked_nll`.

        All that uses weights goes through here, since shards are gathered for the length of this call.

        Args:
            ids: shape (sequences, length).
            positions: the same shape; a restart begins another row, which attention does not cross.
            chosen: numbers of positions over the whole batch that have a target, those with a coefficient first; None
                returns the hidden states.
            targets: of the chosen positions.
            coefficients: of the first of them.
            whole: with ``chosen`` None: the model that this is the language part of; returns its logits and the ones
                made here.
        """
        hidden = self.hidden(ids, positions)
        if chosen is None:
            return hidden if whole is None else (self._logits(ids, positions, whole), self._own_logits(hidden))
        assert targets is not None
        assert coefficients is not None
        hidden = hidden.flatten(0, 1).index_select(0, chosen)
        with torch.autocast(ids.device.type, enabled=False):
            return chunked_nll(
                hidden,
                self.head.weight,
                targets,
                coefficients,
                softcap=self.softcap,
                chunk=self.chunk,
                dtype=self.dtype,
            )

    def hidden(self, ids: Tensor, positions: Tensor) -> Tensor:
        """What the decoder gives, shape (sequences, length, width).

        transformers tells rows apart by their positions only without a mask and without a cache; anything else lets
        rows of a sequence attend to each other in silence.
        """
        with self._autocast(ids):
            found = self.decoder(input_ids=ids, position_ids=positions, attention_mask=None, use_cache=False)
        hidden: Tensor = found.last_hidden_state
        return hidden

    def _autocast(self, ids: Tensor) -> torch.autocast:
        return torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    def _logits(self, ids: Tensor, positions: Tensor, whole: nn.Module) -> Tensor:
        with self._autocast(ids):
            logits: Tensor = whole(input_ids=ids, position_ids=positions, use_cache=False).logits
        return logits.float()

    def _own_logits(self, hidden: Tensor) -> Tensor:
        logits = (hidden.to(self.dtype) @ self.head.weight.to(self.dtype).T).float()
        return logits if self.softcap is None else torch.tanh(logits / self.softcap) * self.softcap


def load_language(recipe: Recipe) -> Language:
    """Load the recipe's model, or make it with random weights from ``train.seed``; on the CPU, nothing frozen.

    Raises:
        VerievalError: it cannot be loaded, lacks weights, or is no model that this backend can train.
    """
    spec = recipe.model
    spec.check_dtypes()
    with quiet():
        torch.manual_seed(recipe.train.seed)
        model = _random(spec) if spec.config else _load(spec)
    language = find_language(model)
    if spec.config and spec.qk_norm_init != 1.0:
        _set_qk_norms(language, spec.qk_norm_init)
    return language


def find_language(model: Any) -> Language:
    """Find the language model's parts.

    Raises:
        VerievalError: the model is built in a way that is not known here.
    """
    name = type(model).__name__
    decoder: nn.Module = model.get_decoder()
    layers: object = getattr(decoder, "layers", None)
    head: Any = model.get_output_embeddings()
    plain = isinstance(head, nn.Linear) and getattr(head, "bias", None) is None
    if not isinstance(layers, nn.ModuleList) or not plain:
        raise VerievalError(
            f"the torch backend cannot train a {name}: it needs a decoder with a list of layers and an output head "
            "without a bias"
        )
    if getattr(model.config.get_text_config(), "attn_logit_softcapping", None):
        raise VerievalError(
            f"the torch backend cannot train a {name}: its attention has a softcap, which SDPA leaves out in silence"
        )
    prefix = next(name for name, module in model.named_modules() if module is decoder)
    softcap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
    return Language(model, decoder, f"{prefix}." if prefix else "", layers, head, softcap)


def _load(spec: ModelSpec) -> Any:
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {"dtype": DTYPES[spec.dtype], "attn_implementation": "sdpa"}
    if spec.revision:
        options["revision"] = spec.revision
    try:
        load: Any = AutoModelForCausalLM.from_pretrained
        model, info = load(spec.source, output_loading_info=True, **options)
    except Exception as error:  # transformers raises whatever its many loaders raise
        raise VerievalError(f"model.source: cannot load {spec.source}: {_said(error)}") from error
    # transformers fills what is missing with random numbers and only logs it.
    missing = sorted(info["missing_keys"])
    if missing:
        raise VerievalError(
            f"model.source: the checkpoint {spec.source} lacks {len(missing)} weights of its architecture (the first "
            f"is {missing[0]}): get it again, or name another"
        )
    return model


def _random(spec: ModelSpec) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        content = json.loads(read_file(spec.config_path, name=f"model.config: {spec.config}"))
        config = AutoConfig.for_model(**content)
        make: Any = AutoModelForCausalLM.from_config
        return make(config, dtype=DTYPES[spec.dtype], attn_implementation="sdpa")
    except VerievalError:
        raise
    except Exception as error:  # transformers raises whatever its many configurations raise
        raise VerievalError(f"model.config: no model can be made from {spec.config}: {_said(error)}") from error


def _set_qk_norms(language: Language, value: float) -> None:
    norms = [
        module
        for name, module in language.decoder.named_modules()
        if name.rpartition(".")[2] in ("q_norm", "k_norm") and isinstance(getattr(module, "weight", None), Tensor)
    ]
    if not norms:
        raise VerievalError("model.qk_norm_init: this model has no norms of queries and keys; leave it out")
    with torch.no_grad():
        for module in norms:
            module.weight.fill_(value)


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' own progress bars, which would tear the command's display."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
