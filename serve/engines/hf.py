"""The ``hf`` engine: a transformers checkpoint or PEFT adapter on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serve.engines.checkpoint import folder_sha256, read_training
from serve.engines.decode import Row, decode
from serve.engines.shipped import shipped_folder
from verieval.chat import CHAT_FORMATS, TURN_ENDS, chat_template
from verieval.chat_tokens import encode_chat
from verieval.completion import Completion, Request, Sampling
from verieval.errors import VerievalError

if TYPE_CHECKING:
    import torch

OPTIONS = ("dtype", "device", "batch_size", "revision", "base_model", "chat_format")

DTYPES = {
    "auto": "auto",
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
}

# Turn format of chat models whose checkpoint carries no template of its own, by the config's model_type.
MODEL_FORMATS = {"gemma4": "gemma4", "gemma4_text": "gemma4", "qwen2": "chatml", "qwen3": "chatml"}

_ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Chat:
    """The chat template in use: Jinja text, and where it comes from (``checkpoint`` or ``format:NAME``)."""

    template: str
    source: str

    @property
    def sha256(self) -> str:
        """Hash of the template's text."""
        return hashlib.sha256(self.template.encode()).hexdigest()


def open_engine(
    model: str,
    *,
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 8,
    revision: str | None = None,
    base_model: str | None = None,
    chat_format: str = "auto",
) -> HfEngine:
    """Open a transformers folder, a hub id or a PEFT adapter folder. Weights are loaded by the first request.

    Args:
        model: folder, hub id, or the name of a model that ships.
        dtype: ``float32`` (``fp32``), ``bfloat16`` (``bf16``), ``float16`` (``fp16``), or ``auto``: the checkpoint's
            own on an accelerator, float32 on the CPU.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or ``auto``: the first of cuda, mps, cpu that is there.
        batch_size: requests that are computed together.
        revision: branch, tag or commit of a hub id.
        base_model: base of an adapter, in the place of the one that the adapter names.
        chat_format: one of :data:`verieval.chat.CHAT_FORMATS`, ``raw`` (a base model), or ``auto``: the checkpoint's
            template, else the format of its model type, else raw.

    Raises:
        VerievalError: the torch extra is missing, an option is wrong, or config or tokenizer cannot be loaded.
    """
    if dtype not in DTYPES:
        raise VerievalError(f"there is no dtype {dtype!r}: choose one of {', '.join(DTYPES)}")
    check_options(batch_size, chat_format)
    try:
        import torch
        import transformers
    except ImportError as error:
        raise VerievalError("the hf engine needs the torch extra: pip install 'verieval[torch]'") from error
    del torch, transformers
    shipped = shipped_folder(model)
    folder = shipped or Path(model).expanduser()
    adapter, source = _adapter(folder, base_model) or (None, str(shipped) if shipped else model)
    engine = HfEngine(source, adapter, revision, DTYPES[dtype], device, batch_size, chat_format)
    if shipped:
        engine.known_as = model
    engine.check()
    return engine


def check_options(batch_size: int, chat_format: str) -> None:
    """See that options which engines on this machine share can be.

    Raises:
        VerievalError: one cannot.
    """
    if batch_size < 1:
        raise VerievalError(f"the batch size must be at least 1, not {batch_size}")
    if chat_format not in ("auto", "raw", *CHAT_FORMATS):
        raise VerievalError(f"there is no chat format {chat_format!r}: choose auto, raw or {', '.join(CHAT_FORMATS)}")


class HfEngine:
    """Batched sampling with transformers. See :func:`open_engine` for the arguments."""

    name = "hf"

    def __init__(
        self,
        source: str,
        adapter: Path | None,
        revision: str | None,
        dtype: str,
        device: str,
        batch_size: int,
        chat_format: str,
    ) -> None:
        folder = Path(source).expanduser()
        self.batch_size: int | None = batch_size
        self._source = str(folder) if folder.is_dir() else source
        # What a manifest calls the model: a path into an installed package says less than the name.
        self.known_as = self._source
        self._folder = folder if folder.is_dir() else None
        self._adapter = adapter
        self._revision = revision
        self._dtype_name = dtype
        self._device_name = device
        self._chat_format = chat_format

    @property
    def raw(self) -> bool:
        """The model is a base model: requests must carry raw text."""
        return self._chat is None

    def check(self) -> None:
        """Load config and tokenizer and resolve dtype, device and stop tokens: what is wrong with them shows here."""
        _ = self._dtype, self._device, self._stop, self._chat

    def describe(self) -> dict[str, Any]:
        """Manifest sections; hashes the checkpoint's files, which takes a second per GB or two."""
        import torch
        import transformers

        return {
            "engine": {
                "name": self.name,
                "version": transformers.__version__,
                "torch": torch.__version__,
                "dtype": str(self._dtype).removeprefix("torch."),
                "device": _device_words(self._device),
                "batch_size": self.batch_size,
                # The number of threads changes the order of sums, and with it the last bits of a logit.
                "threads": torch.get_num_threads() if self._device.type == "cpu" else None,
            },
            "model": self._describe_model(),
        }

    def _describe_model(self) -> dict[str, Any]:
        adapter = self._adapter
        names = self._tokenizer.convert_ids_to_tokens(sorted(self._stop))
        return {
            "source": self.known_as,
            "type": self._config.model_type,
            "revision": None if self._folder else getattr(self._config, "_commit_hash", None),
            "sha256": folder_sha256(self._folder) if self._folder else None,
            "adapter": {"source": str(adapter), "sha256": folder_sha256(adapter)} if adapter else None,
            "training": self._training,
            "chat": {"source": self._chat.source, "sha256": self._chat.sha256} if self._chat else None,
            "stop": sorted(names),
        }

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
        """Yield completions in the order of the requests, batch by batch.

        Raises:
            VerievalError: a prompt does not fit into the model's context, or the weights cannot be loaded.
        """
        size = self.batch_size or len(requests)
        for start in range(0, len(requests), size):
            batch = requests[start : start + size]
            rows = [self._row(request, sampling) for request in batch]
            self._decode(rows, sampling)
            for request, row in zip(batch, rows, strict=True):
                yield self._completion(request, row)

    def close(self) -> None:
        """Drop the weights."""
        self.__dict__.pop("_model", None)

    def _decode(self, rows: Sequence[Row], sampling: Sampling) -> None:
        """Draw tokens for the rows of a batch."""
        decode(self._model, rows, sampling, self._stop, pad=0)

    def _row(self, request: Request, sampling: Sampling) -> Row:
        ids = self._encode(request)
        room = sampling.max_tokens if self._context is None else self._context - len(ids)
        if not ids:
            raise VerievalError(f"the prompt of task {request.task_id} is empty: give it a text to continue")
        if room < 1:
            raise VerievalError(
                f"the prompt of task {request.task_id} has {len(ids)} tokens and the model's context {self._context}: "
                "shorten the prompt, or leave the task out with --tasks"
            )
        return Row(ids, request.seed, min(sampling.max_tokens, room))

    def _encode(self, request: Request) -> list[int]:
        tokenizer = self._tokenizer
        if request.raw is not None:
            bos = tokenizer.bos_token
            add = not (bos and request.raw.startswith(bos))
            return list(tokenizer(request.raw, add_special_tokens=add)["input_ids"])
        if self._chat is None:
            raise VerievalError(
                f"{self._source} has no chat template, so it cannot hold a conversation: give it raw prompts or a chat "
                f"format ({', '.join(CHAT_FORMATS)})"
            )
        return encode_chat(tokenizer, request.messages, self._chat.template)

    def _completion(self, request: Request, row: Row) -> Completion:
        # Tokens that mark reasoning are special too: extraction needs them, so only these three are dropped.
        tokenizer = self._tokenizer
        dropped = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
        kept = [token for token in row.tokens if token not in dropped]
        text = tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return Completion(
            task_id=request.task_id,
            sample=request.sample,
            text=text,
            finish_reason=row.finish,
            prompt_tokens=len(row.prompt),
            completion_tokens=row.drawn,
            seed=request.seed,
        )

    @cached_property
    def _config(self) -> Any:
        from transformers import AutoConfig

        return self._load("config", AutoConfig.from_pretrained, self._source)

    @cached_property
    def _tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        adapter = self._adapter
        own = adapter is not None and (adapter / "tokenizer_config.json").is_file()
        return self._load("tokenizer", AutoTokenizer.from_pretrained, str(adapter) if own else self._source)

    @cached_property
    def _model(self) -> Any:
        from transformers import AutoModelForCausalLM

        with _quiet():
            load = AutoModelForCausalLM.from_pretrained
            model, info = self._load("weights", load, self._source, dtype=self._dtype, output_loading_info=True)
        # transformers fills what is missing with random numbers and only logs it.
        missing = sorted(info["missing_keys"])
        if missing:
            raise VerievalError(
                f"the checkpoint {self._source} lacks {len(missing)} weights of its architecture (the first is "
                f"{missing[0]}): export it again"
            )
        if self._adapter is not None:
            model = _with_adapter(model, self._adapter)
        return model.to(self._device).eval()

    @cached_property
    def _training(self) -> dict[str, Any] | None:
        own = read_training(self._adapter) if self._adapter else None
        return own or (read_training(self._folder) if self._folder else None)

    @cached_property
    def _chat(self) -> Chat | None:
        wanted = self._chat_format
        own = self._tokenizer.chat_template
        if isinstance(own, dict):
            own = own.get("default")
        if wanted == "auto" and own:
            return Chat(own, "checkpoint")
        name = MODEL_FORMATS.get(self._config.model_type, "raw") if wanted == "auto" else wanted
        return None if name == "raw" else Chat(chat_template(name), f"format:{name}")

    @cached_property
    def _stop(self) -> frozenset[int]:
        """End of text as config, generation config and tokenizer name it, and every turn end of the vocabulary."""
        from transformers import GenerationConfig

        ids = [self._tokenizer.eos_token_id, self._config.get_text_config().eos_token_id]
        folder = self._folder
        if folder is None or (folder / "generation_config.json").is_file():
            # Whether a hub id has one is known only by asking.
            load, missing_ok = GenerationConfig.from_pretrained, folder is None
            generation = self._load("generation config", load, self._source, optional=missing_ok)
            ids.append(generation and generation.eos_token_id)
        vocabulary = self._tokenizer.get_vocab()
        ids.extend(vocabulary[token] for token in TURN_ENDS if token in vocabulary)
        flat = [item for entry in ids for item in (entry if isinstance(entry, list) else [entry])]
        return frozenset(item for item in flat if item is not None)

    @cached_property
    def _context(self) -> int | None:
        return getattr(self._config.get_text_config(), "max_position_embeddings", None)

    @cached_property
    def _device(self) -> torch.device:
        import torch

        there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
        if self._device_name == "auto":
            return torch.device(next(name for name, available in there.items() if available))
        try:
            device = torch.device(self._device_name)
        except RuntimeError as error:
            raise VerievalError(f"there is no device {self._device_name!r}: choose auto, cpu, cuda or mps") from error
        count = torch.cuda.device_count()
        if not there.get(device.type, True) or (device.type == "cuda" and (device.index or 0) >= count):
            raise VerievalError(f"this machine has no device {device}: choose another, or auto")
        return device

    @cached_property
    def _dtype(self) -> torch.dtype:
        import torch

        if self._dtype_name != "auto":
            return getattr(torch, self._dtype_name)  # type: ignore[no-any-return]
        own = getattr(self._config, "dtype", None) or getattr(self._config.get_text_config(), "dtype", None)
        return torch.float32 if self._device.type == "cpu" or own is None else own

    def _load(self, what: str, load: Any, source: str, *, optional: bool = False, **options: Any) -> Any:
        if self._folder is None and self._revision:
            options["revision"] = self._revision
        try:
            return load(source, **options)
        except Exception as error:  # transformers raises whatever its many loaders raise
            if optional and isinstance(error, OSError):
                return None
            lines = str(error).strip().splitlines() or [""]
            raise VerievalError(f"cannot load the {what} of {source}: {type(error).__name__}: {lines[0]}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bar, which would tear the run's display."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _adapter(folder: Path, base_model: str | None) -> tuple[Path, str] | None:
    """Adapter folder and base, where ``folder`` holds a PEFT adapter."""
    path = folder / _ADAPTER
    if not path.is_file():
        if base_model is not None:
            raise VerievalError(f"base-model applies to a PEFT adapter, and {folder} holds no {_ADAPTER}: leave it out")
        return None
    import json

    try:
        base = base_model or json.loads(path.read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VerievalError(f"{path} names no base model: give one with base-model") from error
    beside = folder / str(base)
    # A relative path in an adapter's config is meant from where it was trained, or from the adapter.
    if not Path(base).is_dir() and beside.is_dir():
        base = str(beside)
    return folder, str(base)


def _with_adapter(model: Any, adapter: Path) -> Any:
    try:
        from peft import PeftModel
    except ImportError as error:
        raise VerievalError("a PEFT adapter needs the torch extra: pip install 'verieval[torch]'") from error
    try:
        # Left unmerged: merging rounds in the base's dtype.
        return PeftModel.from_pretrained(model, str(adapter))
    except Exception as error:  # peft raises whatever its many loaders raise
        lines = str(error).strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0]}"
        raise VerievalError(f"cannot load the adapter {adapter} on {model.name_or_path}: {reason}") from error


def _device_words(device: torch.device) -> str:
    import torch

    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)
