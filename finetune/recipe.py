"""Recipes: one TOML file says all that can change the result of a training run.

Whatever decides a number has no default here, so that it stands in the file: a reader of two recipes sees every
difference. Figures that only decide how fast or how large something is computed (``micro_batch``, ``loss_chunk``,
``log_every``, …) have one.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from verieval.errors import VerievalError
from verieval.files import read_file

Dtype = Literal["float32", "bfloat16"]
Denominator = Literal["weight_sum", "response_tokens", "per_example"]
Count = Annotated[int, Field(ge=1, lt=2**31)]
CountOrZero = Annotated[int, Field(ge=0, lt=2**31)]
Share = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0, lt=1e6)]
PositiveOrZero = Annotated[float, Field(ge=0, lt=1e6)]
Text = Annotated[str, Field(min_length=1)]

SHIPPED = ("gemma-4-31b-lora", "gemma-4-e2b-lora", "nano")
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """What is trained.

    Attributes:
        source: a transformers folder or hub id with weights; empty where ``config`` starts from random ones.
        revision: of a hub id.
        config: a JSON file with a transformers configuration, to start from random weights; relative to the recipe.
        tokenizer: folder or hub id; empty takes ``source``'s. Relative to the recipe where ``config`` is given.
        dtype: of the base weights that stay as they are, or of all weights where there is no ``[lora]``.
        compute_dtype: of activations and matrix products (autocast).
        chat_format: ``auto`` takes the checkpoint's own chat template; otherwise one of this project's formats.
        qk_norm_init: first value of the query and key norms of random weights; 1.0 is transformers' own. With Gemma 4's
            attention scale of 1.0 and small heads, 1.0 starts with logits that are far too large.
        folder: of the recipe's file, which no key sets. It is no part of the recipe, whose hash is the same anywhere.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    source: str = ""
    revision: str = ""
    config: str = ""
    tokenizer: str = ""
    dtype: Dtype
    compute_dtype: Dtype
    chat_format: Literal["auto", "gemma4", "chatml", "llama3"]
    qk_norm_init: Positive = 1.0
    folder: str = field(default="", init=False, compare=False, repr=False)

    @property
    def config_path(self) -> Path:
        """``config``, seen from the working folder."""
        return Path(self.folder, self.config)

    @property
    def tokenizer_source(self) -> str:
        """Folder, seen from the working folder, or hub id of the tokenizer."""
        if self.config:
            return str(Path(self.folder, self.tokenizer))
        return self.tokenizer or self.source

    def check_dtypes(self) -> None:
        """See that some backend computes in these dtypes.

        Raises:
            VerievalError: none does.
        """
        if self.dtype == "bfloat16" and self.compute_dtype == "float32":
            raise VerievalError(
                "model.compute_dtype: float32 activations need float32 weights; set model.dtype = 'float32', or "
                "compute in bfloat16"
            )


@dataclass(frozen=True, kw_only=True)
class SourceSpec:
    """One data set: where it lies, and in which layout (a name of :data:`finetune.data.sources.LAYOUTS`).

    Attributes:
        path: a file, a folder of files, or a hub id; relative to the working folder.
        layout: the column map.
        split, revision: of a hub id.
        limit: use at most so many rows, chosen by ``data.seed``; 0 is all.
        licence: written into ``training.json``; empty takes what the layout's publisher states.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    path: Text
    layout: Text
    split: str = "train"
    revision: str = ""
    limit: CountOrZero = 0
    licence: str = ""


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Which rows are trained on.

    Attributes:
        sources: read in order.
        reasoning: ``keep`` or ``strip`` what a response says before its answer.
        max_tokens: longer rows are dropped and counted, never cut.
        packing: several rows share a sequence; without it a row has a sequence of its own.
        heldout: rows kept aside for evaluation, chosen by ``seed``.
        seed: of the choice of rows and of their order in each epoch.
        compiles: keep only rows whose code Icarus compiles.
        overlap: benchmarks (``NAME[:VARIANT]``); rows that contain or nearly contain one of their tasks are dropped.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    sources: Annotated[tuple[SourceSpec, ...], Field(min_length=1)]
    reasoning: Literal["keep", "strip"]
    max_tokens: Annotated[int, Field(ge=8, lt=2**31)]
    packing: bool
    heldout: CountOrZero
    seed: CountOrZero
    compiles: bool = False
    overlap: tuple[Text, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LossSpec:
    """``sum(weight * nll) / denominator`` over the whole effective batch; see :mod:`finetune.loss`.

    Attributes:
        prompt_weight: 0 is prompt-masked, 1 unmasked.
        denominator: ``weight_sum``, ``response_tokens`` or ``per_example``.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    prompt_weight: Share
    denominator: Denominator


@dataclass(frozen=True, kw_only=True)
class LoraSpec:
    """Low-rank adapters; without this table every weight is trained.

    Attributes:
        targets: projection names (``q_proj``), matched in the language model alone, on every layer that has them.
        optional: of these, the ones that a layer may lack (Gemma 4's global layers have no ``v_proj``).
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    rank: Count
    alpha: Positive
    dropout: BelowOne
    targets: Annotated[tuple[Text, ...], Field(min_length=1)]
    optional: tuple[Text, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OptimSpec:
    """The optimizer and its schedule.

    Attributes:
        name: ``adamw``; ``muon`` is Muon for matrices within the layers, and AdamW for the rest.
        learning_rate: at the end of the warm-up.
        weight_decay: decoupled; of matrices alone, never of norms, biases and embeddings.
        schedule: after ``warmup_steps`` of linear warm-up, down to ``final_fraction`` of the learning rate.
        clip_norm: the most that the global norm of gradients may be; 0 does not clip.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    name: Literal["adamw", "muon"]
    learning_rate: Positive
    beta1: BelowOne
    beta2: BelowOne
    eps: Positive
    weight_decay: PositiveOrZero
    schedule: Literal["constant", "linear", "cosine"]
    warmup_steps: CountOrZero
    final_fraction: Share
    clip_norm: PositiveOrZero


@dataclass(frozen=True, kw_only=True)
class ParallelSpec:
    """Devices: ``fsdp`` shards weights and batch, ``tp`` splits layers (JAX only)."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    fsdp: Count = 1
    tp: Count = 1


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """Length and shape of the run.

    Attributes:
        steps: optimizer steps; 0 where ``epochs`` says it.
        epochs: passes over the rows; 0 where ``steps`` says it.
        sequence_length: tokens of a sequence, the one shape that is compiled.
        batch: sequences an optimizer step.
        micro_batch: sequences that a device computes at once; the rest is accumulated, which changes no number.
        seed: of new weights, adapters and dropout.
        remat: keep no activations of a layer but compute them again.
        loss_chunk: positions whose logits exist at one time.
        compile: compile the model (torch.compile); JAX always does.
        log_every, eval_every, checkpoint_every: steps; 0 is never, but for the last step.
        keep: checkpoints to keep.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    steps: CountOrZero = 0
    epochs: CountOrZero = 0
    sequence_length: Annotated[int, Field(ge=8, lt=2**31)]
    batch: Count
    seed: CountOrZero
    micro_batch: Count = 1
    remat: bool = False
    loss_chunk: Count = 1024
    compile: bool = False
    log_every: Count = 10
    eval_every: CountOrZero = 0
    checkpoint_every: CountOrZero = 0
    keep: Count = 2


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A training run, whole. ``backend`` only says what executes it."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT
    backend: Literal["torch", "jax"] = "torch"
    model: ModelSpec
    data: DataSpec
    loss: LossSpec
    optim: OptimSpec
    train: TrainSpec
    lora: LoraSpec | None = None
    parallel: ParallelSpec = ParallelSpec()

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON values, defaults written out: what ``training.json`` holds."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del plain["model"]["folder"]
        return plain

    @property
    def sha256(self) -> str:
        """Hash of :meth:`as_dict`."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()


# What fits no single field: whether it is wrong, the place, and what to do.
_COMBINATIONS: tuple[tuple[Callable[[Recipe], bool], str, str], ...] = (
    (
        lambda r: bool(r.model.source) == bool(r.model.config),
        "model",
        "give either source (weights to start from) or config (random weights)",
    ),
    (
        lambda r: bool(r.model.config and not r.model.tokenizer),
        "model.tokenizer",
        "a model from a config brings no tokenizer: name one",
    ),
    (
        lambda r: bool(r.model.config and r.model.chat_format == "auto"),
        "model.chat_format",
        "a model from a config brings no chat template: name a format instead of auto",
    ),
    (
        lambda r: bool(r.model.source and r.model.qk_norm_init != 1.0),
        "model.qk_norm_init",
        "it applies to random weights alone: leave it out, or give config in the place of source",
    ),
    (lambda r: bool(r.model.config and r.lora), "lora", "adapters over random weights learn nothing: leave [lora] out"),
    (
        lambda r: bool(r.lora and set(r.lora.optional) - set(r.lora.targets)),
        "lora.optional",
        "every optional target must be one of the targets",
    ),
    (
        lambda r: bool(r.lora and r.optim.name == "muon"),
        "optim.name",
        "muon orthogonalizes whole matrices and not their low-rank factors: use adamw with [lora]",
    ),
    (
        lambda r: not r.lora and r.model.source != "" and r.model.dtype == "bfloat16",
        "model.dtype",
        "weights that are trained must be float32, or small updates are rounded away: set float32, or add [lora]",
    ),
    (
        lambda r: not r.lora and r.model.config != "" and r.model.dtype == "bfloat16",
        "model.dtype",
        "weights that are trained must be float32, or small updates are rounded away: set float32",
    ),
    (
        lambda r: r.data.max_tokens > r.train.sequence_length,
        "data.max_tokens",
        "a row must fit into a sequence: it may be at most train.sequence_length",
    ),
    (lambda r: bool(r.train.steps) == bool(r.train.epochs), "train", "give either steps or epochs, and not both"),
    (
        lambda r: bool(r.train.steps and r.optim.warmup_steps > r.train.steps),
        "optim.warmup_steps",
        "the warm-up is longer than the run (train.steps)",
    ),
    (
        lambda r: r.train.batch % (r.train.micro_batch * r.parallel.fsdp) != 0,
        "train.batch",
        "it must be a multiple of train.micro_batch * parallel.fsdp",
    ),
    (
        lambda r: r.backend == "torch" and r.parallel.tp != 1,
        "parallel.tp",
        "the torch backend shards by fsdp alone: set 1, or backend = 'jax'",
    ),
    (
        lambda r: r.backend == "jax" and r.optim.name == "muon",
        "optim.name",
        "the JAX backend knows adamw alone",
    ),
)


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe, a TOML file or one that ships.

    Paths of ``[model]`` (``config``, and with it ``tokenizer``) are meant from the file's folder.

    Args:
        name: a path, or one of :data:`SHIPPED`.
        changes: ``key.key=value`` (TOML values; a word that is none counts as a string), laid over the file.

    Raises:
        VerievalError: no such recipe, a syntax error, an unknown or missing key, a value of the wrong kind or outside
            its range, or a combination that cannot work; with the place.
    """
    if name in SHIPPED and not Path(name).is_file():
        folder = Path(str(resources.files("finetune") / "recipes"))
        path = folder / f"{name}.toml"
    else:
        path = Path(name)
        if path.suffix != ".toml":
            raise VerievalError(f"there is no recipe {name!r}: give a .toml file or one of {', '.join(SHIPPED)}")
    content = _parse(read_file(path, name=f"the recipe {path}"), path)
    for change in changes:
        _lay(content, change)
    recipe = read_recipe(content, str(path))
    object.__setattr__(recipe.model, "folder", str(path.parent.resolve()))
    return recipe


def read_recipe(content: Mapping[str, Any], name: str) -> Recipe:
    """The recipe of a parsed TOML document; ``name`` is what errors call it.

    Raises:
        VerievalError: see :func:`load_recipe`.
    """
    try:
        text = json.dumps(content, allow_nan=False, default=_refuse)
    except (TypeError, ValueError) as error:
        raise VerievalError(
            f"{name}: a recipe holds no dates, infinities or NaN ({error}); correct the value"
        ) from None
    try:
        recipe = TypeAdapter(Recipe).validate_json(text)
    except ValidationError as error:
        raise VerievalError(f"{name}: {_explain(error)}") from None
    for is_wrong, place, sentence in _COMBINATIONS:
        if is_wrong(recipe):
            raise VerievalError(f"{name}: {place}: {sentence}")
    return recipe


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise VerievalError(f"{path} is not UTF-8; a recipe is a TOML file") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise VerievalError(f"{path} is not valid TOML: {error}") from None


def _lay(content: dict[str, Any], change: str) -> None:
    """Set one key of a parsed document."""
    key, equals, value = change.partition("=")
    names = [part.strip() for part in key.split(".")]
    if not equals or not all(names):
        raise VerievalError(f"{change!r} is no change of a recipe: write for example loss.prompt_weight=1.0")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"] if "\n" not in value else value
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    place = content
    for part in names[:-1]:
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            raise VerievalError(f"{change!r} cannot be laid over the recipe: {part} is no table")
        place = inner
    place[names[-1]] = parsed


def _refuse(value: object) -> Any:
    raise TypeError(f"{value} is a {type(value).__name__}")


# pydantic's kinds of error in this project's words; the others keep pydantic's own.
_WORDS = {
    "unexpected_keyword_argument": "there is no such key",
    "missing": "it is missing, and has no default because it changes the result",
}


def _explain(error: ValidationError) -> str:
    """The first thing that is wrong, with its place; and how many more there are."""
    found = error.errors(include_url=False, include_input=True)
    first = found[0]
    place = ".".join(str(part) for part in first["loc"]) or "the document"
    said = _WORDS.get(first["type"])
    if said is None:
        said = f"{first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{place}: {said}{more}"
