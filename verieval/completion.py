"""Completions, and the protocol that every engine that produces them follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

FinishReason = Literal["stop", "length", "error", ""]
Role = Literal["system", "user", "assistant"]

MAX_N = 10_000  # samples of a task, numbered from 0: far beyond any protocol, and a typing error is caught


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. ``temperature`` 0 is greedy; ``top_k`` 0 is off."""

    n: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 1024
    seed: int = 0


@dataclass(frozen=True)
class Request:
    """One completion to generate.

    ``messages`` is the conversation for a chat model. For a base model (``raw`` is set) it is the plain text to
    continue. ``seed`` belongs to this request alone: the same request with the same seed gives the same text.
    """

    task_id: str
    sample: int
    messages: tuple[Message, ...]
    seed: int
    raw: str | None = None


@dataclass(frozen=True)
class Completion:
    """What a model answered; a row of ``completions.jsonl``. ``text`` is raw: extraction comes later."""

    task_id: str
    sample: int
    text: str
    finish_reason: FinishReason = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seed: int | None = None


class Engine(Protocol):
    """Produces completions. Engines live in ``serve.engines`` and are imported only when they are used.

    Attributes:
        name: ``hf``, ``openai``, ``replay``, …
        batch_size: number of consecutive requests that are computed together, so that a resumed run must hand over
            the same batches to get the same text; None where every request stands alone.
        raw: the model continues plain text (a base model), so requests need their ``raw`` text.
    """

    name: str
    batch_size: int | None
    raw: bool

    def describe(self) -> dict[str, Any]:
        """Manifest sections ``{"engine": {name, version, dtype, …}, "model": {source, sha256, adapter, …}}``."""
        ...

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
        """Yield one completion a request, as each is ready (so that judging can overlap).

        With a ``batch_size``, ``requests`` is one whole batch of the run's fixed order.

        Raises:
            VerievalError: the model or the server cannot serve the requests.
        """
        ...

    def close(self) -> None:
        """Release what the engine holds."""
        ...
