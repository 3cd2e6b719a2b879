"""Engines: what turns requests into completions. :func:`open_engine` picks one by the form of ``--model``.

| form of the model | engine |
|---|---|
| ``openai:NAME@URL`` | ``openai``: any server with OpenAI's chat or completions endpoint |
| ``replay:FILE`` | ``replay``: completions that were generated before |
| a folder with ``config.json``, or a hub id | ``hf``: transformers |
| a folder with ``adapter_config.json`` | ``hf`` with a PEFT adapter |
| an Orbax checkpoint with its ``config.json`` | ``jax``: Gemma 4 in JAX, which reads folders of ``hf`` too |
| ``nano`` | ``hf``: the small model that ships, unless a folder here has this name |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from serve.engines.shipped import shipped_folder
from verieval.completion import Engine
from verieval.errors import VerievalError
from verieval.task import Benchmark

# Engine by name: the module that holds it. A module offers OPTIONS and open_engine.
ENGINES = {
    "hf": "serve.engines.hf",
    "jax": "serve.engines.jax",
    "openai": "serve.engines.openai",
    "replay": "serve.engines.replay",
}

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_ORBAX = (
    "{model} holds the arrays of an Orbax checkpoint alone: give the folder around it, with config.json and tokenizer"
)
_ORBAX_MARKS = ("_CHECKPOINT_METADATA", "_METADATA", "manifest.ocdbt")


class _EngineModule(Protocol):
    OPTIONS: tuple[str, ...]

    def open_engine(self, model: str, **options: Any) -> Engine: ...


def _is_folder_with(*names: str) -> Callable[[str], bool]:
    return lambda model: any((Path(model).expanduser() / name).exists() for name in names)


def _is_hub_id(model: str) -> bool:
    """``OWNER/NAME``, unless OWNER is a folder here: then a local path was meant."""
    return bool(_HUB_ID.fullmatch(model)) and not Path(model).parent.is_dir()


# What a model's form means, in the order in which the forms are tried: an engine, or why there is none.
_FORMS: tuple[tuple[Callable[[str], bool], str, str], ...] = (
    (lambda model: not model.strip(), "", "--model is empty: give a folder, a hub id, openai:NAME@URL or replay:FILE"),
    (lambda model: model.startswith("openai:"), "openai", ""),
    (lambda model: model.startswith("replay:"), "replay", ""),
    (_is_folder_with(*(f"state/{mark}" for mark in _ORBAX_MARKS)), "jax", ""),
    (_is_folder_with("config.json", "adapter_config.json"), "hf", ""),
    (_is_folder_with(*_ORBAX_MARKS), "", _ORBAX),
    (
        lambda model: Path(model).expanduser().is_dir(),
        "",
        "{model} holds neither config.json nor adapter_config.json: give a transformers or a PEFT adapter folder",
    ),
    (lambda model: shipped_folder(model) is not None, "hf", ""),
    (
        lambda model: Path(model).expanduser().exists(),
        "",
        "{model} is a file: a model is a folder, a hub id, openai:NAME@URL or replay:FILE",
    ),
    (_is_hub_id, "hf", ""),
)


def detect(model: str) -> str:
    """Name of the engine that serves ``model``.

    Raises:
        VerievalError: the form is unknown, the folder is missing, or nothing here reads it.
    """
    for matches, engine, reason in _FORMS:
        if matches(model):
            if engine:
                return engine
            raise VerievalError(reason.format(model=model))
    raise VerievalError(
        f"no such folder: {model} (a model is a folder, a hub id OWNER/NAME, nano, openai:NAME@URL or replay:FILE)"
    )


def open_engine(model: str, *, engine: str | None = None, benchmark: Benchmark | None = None, **options: Any) -> Engine:
    """Open the engine for ``model``.

    Args:
        model: see the module's table.
        engine: name of an engine, to overrule what is detected.
        benchmark: what will be asked; ``replay`` needs it to know its file's tasks.
        options: what the command line offers; None stands for not given. ``hf`` knows ``dtype``, ``device``,
            ``batch_size``, ``revision``, ``base_model`` and ``chat_format``; ``jax`` knows ``dtype``, ``batch_size``
            and ``chat_format``; ``openai`` knows ``concurrency``, ``endpoint``, ``timeout``, ``retries`` and
            ``token_field``; ``replay`` knows none.

    Raises:
        VerievalError: nothing serves this model, an extra is missing, or an option does not apply to the engine.
    """
    name = engine if engine and model.strip() else detect(model)
    if name not in ENGINES:
        raise VerievalError(f"there is no engine {name!r}: choose one of {', '.join(ENGINES)}")
    module = cast(_EngineModule, import_module(ENGINES[name]))
    given = {key: value for key, value in options.items() if value is not None}
    # An option that is taken and not used would be a false record of how the run was made.
    for key in given:
        if key not in module.OPTIONS:
            raise VerievalError(f"the option {key.replace('_', '-')} does not apply to the {name} engine: leave it out")
    if "benchmark" in module.OPTIONS:
        given["benchmark"] = benchmark
    return module.open_engine(model, **given)
