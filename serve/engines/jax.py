"""The ``jax`` engine: a dense Gemma 4 on this machine, from a transformers folder or an Orbax checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serve.engines.decode import Row
from serve.engines.hf import DTYPES, HfEngine, check_options
from serve.engines.shipped import shipped_folder
from verieval.completion import Sampling
from verieval.errors import VerievalError

if TYPE_CHECKING:
    from finetune.gemma4 import Gemma4Config
    from serve.engines.jax_sampler import Sampler

OPTIONS = ("dtype", "batch_size", "chat_format")
UNROLLED = 16  # models of at most so many layers are decoded without a scan over them


def open_engine(model: str, *, dtype: str = "auto", batch_size: int = 16, chat_format: str = "auto") -> JaxEngine:
    """Open a folder with a dense Gemma 4. Weights are loaded, and programs compiled, by the first request.

    Args:
        model: a transformers folder, an Orbax checkpoint that ``verieval convert`` made, or the name of a model that
            ships.
        dtype: ``float32``, ``bfloat16``, or ``auto``: the checkpoint's own on an accelerator, float32 on the CPU.
        batch_size: requests that are computed together; a program is compiled for it.
        chat_format: see :func:`serve.engines.hf.open_engine`.

    Raises:
        VerievalError: the jax extra is missing, an option is wrong, or the folder holds no model that JAX has here.
    """
    if DTYPES.get(dtype) not in ("auto", "float32", "bfloat16"):
        raise VerievalError(f"the jax engine has no dtype {dtype!r}: choose auto, float32 or bfloat16")
    check_options(batch_size, chat_format)
    try:
        import flax
        import jax
    except ImportError as error:
        raise VerievalError("the jax engine needs the jax extra: pip install 'verieval[jax]'") from error
    del flax, jax
    shipped = shipped_folder(model)
    folder = shipped or Path(model).expanduser()
    if not folder.is_dir():
        raise VerievalError(f"the jax engine reads a folder on this machine, and {model} is none: download it first")
    if (folder / "adapter_config.json").is_file() and not (folder / "model.safetensors").is_file():
        raise VerievalError(
            f"{model} is an adapter: merge it with `verieval convert BASE OUT --adapter {model}`, and give OUT"
        )
    engine = JaxEngine(str(folder), DTYPES[dtype], batch_size, chat_format)
    if shipped:
        engine.known_as = model
    engine.check()
    return engine


class JaxEngine(HfEngine):
    """Batched sampling in JAX. Config, tokenizer, chat template and stop tokens are those of the ``hf`` engine."""

    name = "jax"

    def __init__(self, folder: str, dtype: str, batch_size: int, chat_format: str) -> None:
        super().__init__(folder, None, None, dtype, "auto", batch_size, chat_format)

    def check(self) -> None:
        """Load config and tokenizer: what is wrong with them shows here."""
        _ = self._shape, self._stop, self._chat

    def describe(self) -> dict[str, Any]:
        """Manifest sections; hashes the checkpoint's files."""
        import jax

        device = jax.devices()[0]
        return {
            "engine": {
                "name": self.name,
                "version": jax.__version__,
                "dtype": self._kind,
                "device": device.platform if device.platform == "cpu" else f"{device.platform} ({device.device_kind})",
                "batch_size": self.batch_size,
            },
            "model": self._describe_model(),
        }

    def _decode(self, rows: Sequence[Row], sampling: Sampling) -> None:
        self._model.decode(rows, sampling, self._stop)

    @cached_property
    def _shape(self) -> Gemma4Config:
        from finetune.gemma4 import load_config

        assert self._folder is not None
        config = load_config(self._folder)
        return replace(config, stacked=len(config.layers) > UNROLLED)

    @cached_property
    def _kind(self) -> str:
        """Of weights and products."""
        import jax

        if self._dtype_name != "auto":
            return self._dtype_name
        own = str(getattr(self._config, "dtype", None) or "").removeprefix("torch.")
        return "bfloat16" if jax.devices()[0].platform != "cpu" and own == "bfloat16" else "float32"

    @cached_property
    def _model(self) -> Sampler:
        from finetune.jax_backend.backend import keep_programs
        from finetune.jax_backend.gemma4 import Gemma4
        from finetune.jax_backend.weights import load_model
        from serve.engines.jax_sampler import Sampler

        assert self._folder is not None
        assert self.batch_size is not None
        keep_programs()
        weights = load_model(self._folder, self._shape, self._kind)
        return Sampler(Gemma4(self._shape, weights), self._shape, self._kind, self.batch_size)
