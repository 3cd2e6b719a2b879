"""The backend itself: one process, or several under torchrun with FSDP2."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from finetune.backend import Micro, StepResult
from finetune.cpu import bfloat16_note
from finetune.data.batch import Kind
from finetune.loss import Totals
from finetune.recipe import Recipe
from finetune.torch_backend.attention import use_row_attention
from finetune.torch_backend.isolation import check_head, check_isolation
from finetune.torch_backend.lora import add_lora
from finetune.torch_backend.model import DTYPES, Learner, load_language
from finetune.torch_backend.optim import clip, gradient_norm, make_optimizers, optimizer_state
from verieval.errors import VerievalError


def build(recipe: Recipe, *, vocabulary: int) -> TorchBackend:
    """Load the recipe's model and make it ready for the first step.

    Args:
        recipe: what to train.
        vocabulary: the tokenizer's size; no id of the data is larger.

    Raises:
        VerievalError: the recipe cannot be executed here, with the reason.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world != recipe.parallel.fsdp:
        raise VerievalError(
            f"parallel.fsdp is {recipe.parallel.fsdp} and there are {world} processes: start it with `torchrun "
            f"--nproc-per-node {recipe.parallel.fsdp} -m verieval train ...`, or set parallel.fsdp={world}"
        )
    device = _device()
    if world > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return TorchBackend(recipe, device, vocabulary)


def _device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return device


class TorchBackend:
    """See :class:`finetune.backend.Backend`; made by :func:`build`."""

    def __init__(self, recipe: Recipe, device: torch.device, vocabulary: int) -> None:
        self.recipe = recipe
        self.device = device
        self.rank = dist.get_rank() if recipe.parallel.fsdp > 1 else 0
        self.world = recipe.parallel.fsdp
        self.language = load_language(recipe)
        self.peft: Any = None
        self.notes: tuple[str, ...] = ()
        embedded = int(self.language.model.get_input_embeddings().weight.shape[0])
        if vocabulary > embedded:
            raise VerievalError(
                f"the tokenizer has {vocabulary} tokens and the model {embedded}: they do not belong together"
            )
        self._adapt()
        if device.type == "cpu" and recipe.model.compute_dtype == "bfloat16":
            self.notes += bfloat16_note()
        self._count()
        self.learner = Learner(self.language, chunk=recipe.train.loss_chunk, dtype=DTYPES[recipe.model.compute_dtype])
        self._place()
        self.optimizers = make_optimizers(self.learner, self.language.layers, recipe.optim)
        self._trained = {name: p for name, p in self.learner.named_parameters() if p.requires_grad}
        check_head(self.language, self.learner, vocabulary=embedded, device=device)
        train = recipe.train
        if recipe.data.packing and device.type == "cpu" and not train.compile:
            use_row_attention(self.learner, length=train.sequence_length, vocabulary=vocabulary)
        if train.compile:
            self.learner.decoder.compile(dynamic=False)
        if recipe.data.packing:
            check_isolation(
                self.learner,
                sequences=train.micro_batch,
                length=train.sequence_length,
                vocabulary=vocabulary,
                device=device,
            )

    def _adapt(self) -> None:
        recipe, model = self.recipe, self.language.model
        torch.manual_seed(recipe.train.seed)
        if recipe.lora:
            self.peft, note = add_lora(
                self.language, recipe.lora, source=_base_name(recipe), revision=recipe.model.revision
            )
            self.notes += (note,)
        else:
            # What is beside the language model is not used, so it must not decay.
            inside = {id(p) for module in (self.language.decoder, self.language.head) for p in module.parameters()}
            for parameter in model.parameters():
                parameter.requires_grad_(id(parameter) in inside)
        if recipe.train.remat:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    def _count(self) -> None:
        parameters = list(self.language.model.parameters())
        self.total = sum(p.numel() for p in parameters)
        self.trainable = sum(p.numel() for p in parameters if p.requires_grad)

    def _place(self) -> None:
        """Onto the device, or a shard of it onto each device. What is beside the language model stays where it is."""
        if self.world == 1:
            self.learner.to(self.device)
            return
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard

        mesh = init_device_mesh(self.device.type, (self.world,))
        for layer in self.language.layers:
            fully_shard(layer, mesh=mesh, reshard_after_forward=True)
        fully_shard(self.learner, mesh=mesh, reshard_after_forward=True)
        for module in self.learner.modules():
            if isinstance(module, FSDPModule):
                # Coefficients are shares of the whole step, so gradients are summed. gloo knows no scaled sum.
                module.set_force_sum_reduction_for_comms(True)
                module.set_gradient_divide_factor(1.0)

    # ---- the work -------------------------------------------------------------------------------------------------

    def step(self, micros: Sequence[Micro], *, learning_rate: float, seed: int) -> StepResult:
        """See :class:`finetune.backend.Backend`."""
        self.learner.train()
        totals = self._run(micros, seed=seed)
        parameters = list(self._trained.values())
        norm = gradient_norm(parameters)
        try:
            if not np.isfinite([totals.objective, norm]).all():
                raise FloatingPointError(f"loss {totals.objective}, gradient norm {norm}")
            clip(parameters, norm, self.recipe.optim.clip_norm)
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = learning_rate
                optimizer.step()
        finally:
            for optimizer in self.optimizers:
                optimizer.zero_grad(set_to_none=True)
        return StepResult(totals, norm)

    def evaluate(self, micros: Sequence[Micro]) -> Totals:
        """See :class:`finetune.backend.Backend`."""
        self.learner.eval()
        with torch.no_grad():
            return self._run(micros, seed=None)

    def _run(self, micros: Sequence[Micro], seed: int | None) -> Totals:
        """Sums over all micro-batches of all processes; with a seed, gradients are added up too."""
        if len(micros) % self.world:
            raise ValueError(f"{len(micros)} micro-batches cannot be shared out to {self.world} processes")
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        for number, micro in enumerate(micros):
            # Every process runs its share; padding alone is passed over only where nobody waits for a collective.
            if number % self.world == self.rank and (self.world > 1 or micro.batch.kinds.any()):
                with self._seeded(seed, number):
                    sums += self._micro(micro, train=seed is not None)
        if self.world > 1:
            dist.all_reduce(sums)
        objective, response, prompt = sums.tolist()
        counts = [
            sum(int((micro.batch.kinds == kind).sum()) for micro in micros) for kind in (Kind.RESPONSE, Kind.PROMPT)
        ]
        return Totals(objective, response, counts[0], prompt, counts[1])

    @contextmanager
    def _seeded(self, seed: int | None, number: int) -> Iterator[None]:
        """Dropout of each micro-batch from its own seed: the same whoever computes it, and after a resume."""
        if seed is not None:
            torch.manual_seed(int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0] >> 1))
        yield

    def _micro(self, micro: Micro, *, train: bool) -> Tensor:
        """Objective, response NLL and prompt NLL of one micro-batch; float64."""
        batch = micro.batch
        kinds, coefficient = batch.kinds.ravel(), micro.coefficient.ravel()
        supervised = (kinds > 0) & (coefficient != 0)
        first = np.flatnonzero(supervised)
        chosen = np.concatenate([first, np.flatnonzero((kinds > 0) & ~supervised)])
        objective, nll = self.learner(
            self._tensor(batch.ids, torch.int64),
            self._tensor(batch.positions, torch.int64),
            self._tensor(chosen, torch.int64),
            self._tensor(batch.targets.ravel()[chosen], torch.int64),
            self._tensor(coefficient[first], torch.float64),
        )
        if train and (self.world > 1 or len(first)):
            objective.backward()
        response = self._tensor(kinds[chosen] == Kind.RESPONSE, torch.bool)
        nll = nll.double()
        return torch.stack([objective.detach(), nll[response].sum(), nll[~response].sum()])

    def _tensor(self, array: np.ndarray[Any, Any], dtype: torch.dtype) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, dtype)

    # ---- among processes ------------------------------------------------------------------------------------------

    def agree(self, value: bool) -> bool:
        """See :class:`finetune.backend.Backend`."""
        if self.world == 1:
            return value
        flag = torch.tensor([float(value)], device=self.device)
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return bool(flag.item())

    # ---- what is written ------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        """Everything that a step changes; the tensors themselves, to be saved or written over."""
        names = {id(p): name for name, p in self._trained.items()}
        weights = {f"weights.{name}": p.detach() for name, p in self._trained.items()}
        return weights | optimizer_state(self.optimizers, names)

    def save(self, folder: Path) -> None:
        """See :class:`finetune.backend.Backend`."""
        from torch.distributed.checkpoint.state_dict_saver import save

        with _quiet_checkpoint():
            save(self._state(), checkpoint_id=folder, no_dist=self.world == 1)

    def restore(self, folder: Path) -> None:
        """See :class:`finetune.backend.Backend`."""
        from torch.distributed.checkpoint.state_dict_loader import load

        with _quiet_checkpoint(), torch.no_grad():
            load(self._state(), checkpoint_id=folder, no_dist=self.world == 1)

    def export(self, folder: Path) -> dict[str, Any]:
        """See :class:`finetune.backend.Backend`."""
        from finetune.torch_backend.export import export

        return export(self, folder)


def _base_name(recipe: Recipe) -> str:
    """A folder by its absolute path, so that the adapter finds it from anywhere; a hub id as it is."""
    path = Path(recipe.model.source).expanduser()
    return str(path.resolve()) if path.is_dir() else recipe.model.source


@contextmanager
def _quiet_checkpoint() -> Iterator[None]:
    """Without the warning that a single process saves without a process group, which is meant so."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="torch.distributed")
        yield
