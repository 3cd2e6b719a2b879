"""The ``openai`` engine: any server with OpenAI's chat or completions endpoint (vLLM, llama.cpp, hosted models)."""

from __future__ import annotations

import os
import queue
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from verieval.completion import Completion, FinishReason, Request, Sampling
from verieval.errors import VerievalError

if TYPE_CHECKING:
    import httpx

OPTIONS = ("concurrency", "endpoint", "timeout", "retries", "token_field")

ENDPOINTS = {"chat": "/chat/completions", "completions": "/completions"}
TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")

# What the server says of an end, in this project's words; anything else (a content filter, a tool call) is an error.
_FINISH: Mapping[str | None, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    None: "",
}

_MODEL = re.compile(r"openai:(?P<name>.+)@(?P<url>https?://.+)", re.DOTALL)
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses that may pass when asked again
_FIRST_PAUSE = 1.0  # seconds before the second try, doubled for each one after it
_LONGEST_PAUSE = 60.0


class _PassingError(Exception):
    """A failure that may pass. ``pause`` is the number of seconds that the server asks for, or None."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


@dataclass(frozen=True)
class Server:
    """Where and how to ask.

    Attributes:
        model: the model's name on the server.
        url: base URL, up to and without the endpoint; may carry credentials and a query.
        endpoint: ``chat`` or ``completions``.
        concurrency: requests under way at one time.
        timeout: seconds without a byte from the server.
        retries: tries after the first one.
        token_field: what the server calls the limit of new tokens.
        first_pause: seconds before the second try.
    """

    model: str
    url: str
    endpoint: str = "chat"
    concurrency: int = 8
    timeout: float = 600.0
    retries: int = 6
    token_field: str = "max_tokens"
    first_pause: float = _FIRST_PAUSE


def open_engine(
    model: str,
    *,
    concurrency: int = 8,
    endpoint: str = "chat",
    timeout: float = 600.0,
    retries: int = 6,
    token_field: str = "max_tokens",
) -> OpenAIEngine:
    """Open ``openai:NAME@URL``. Nothing is sent before the first request.

    NAME may hold ``/`` and ``@``. A URL without a path gets ``/v1``. The key is read from OPENAI_API_KEY and is never
    written down.

    Raises:
        VerievalError: the form or an option is wrong.
    """
    name, url = parse_model(model)
    if endpoint not in ENDPOINTS:
        raise VerievalError(f"there is no endpoint {endpoint!r}: choose one of {', '.join(ENDPOINTS)}")
    if token_field not in TOKEN_FIELDS:
        raise VerievalError(f"there is no token field {token_field!r}: choose one of {', '.join(TOKEN_FIELDS)}")
    if concurrency < 1 or retries < 0 or timeout <= 0:
        raise VerievalError("concurrency must be at least 1, retries at least 0 and the timeout above 0 seconds")
    return OpenAIEngine(Server(name, url, endpoint, concurrency, timeout, retries, token_field))


def parse_model(model: str) -> tuple[str, str]:
    """Name and base URL of ``openai:NAME@URL``; the name ends at the last ``@`` that a URL follows.

    Raises:
        VerievalError: it has another form.
    """
    import httpx

    match = _MODEL.fullmatch(model)
    if not match:
        example = "openai:my-model@http://localhost:8000/v1"
        raise VerievalError(f"{_without_secrets(model)!r} is not openai:NAME@URL: write for example {example}")
    try:
        url = httpx.URL(match["url"])
    except httpx.InvalidURL as error:
        raise VerievalError(f"the server's URL is not valid: {error}") from error
    if not url.host:
        raise VerievalError("the server's URL names no host: write for example http://localhost:8000/v1")
    path = url.path.rstrip("/") or "/v1"
    return match["name"], str(url.copy_with(path=path))


class OpenAIEngine:
    """Concurrent requests to one server. See :func:`open_engine`."""

    name = "openai"
    batch_size: int | None = None

    def __init__(self, server: Server) -> None:
        import httpx

        key = os.environ.get("OPENAI_API_KEY", "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        limits = httpx.Limits(max_connections=server.concurrency, max_keepalive_connections=server.concurrency)
        self._server = server
        self._key = key
        self._client = httpx.Client(headers=headers, timeout=server.timeout, limits=limits)

    @property
    def raw(self) -> bool:
        """The completions endpoint continues raw text."""
        return self._server.endpoint == "completions"

    def describe(self) -> dict[str, Any]:
        """Manifest sections, with the URL but without credentials and query. Nothing is asked of the server."""
        import httpx

        server, url = self._server, _public(self._server.url)
        return {
            "engine": {
                "name": self.name,
                "version": httpx.__version__,
                "endpoint": server.endpoint,
                "url": url,
                "token_field": server.token_field,
                "concurrency": server.concurrency,
                "retries": server.retries,
                "timeout": server.timeout,
            },
            "model": {"source": f"openai:{server.model}@{url}", "sha256": None, "adapter": None, "training": None},
        }

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[Completion]:
        """Yield completions as they arrive, in any order.

        Raises:
            VerievalError: a request failed for good. No more are sent then, and the completions of those under way are
                yielded first, so that nothing that was paid for is lost.
        """
        todo = iter(requests)
        lock = threading.Lock()
        results: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        enough, left = threading.Event(), threading.Event()

        def work() -> None:
            """Ask until nothing is left to ask; None tells that this thread is done."""
            try:
                while not enough.is_set():
                    with lock:
                        request = next(todo, None)
                    if request is None:
                        break
                    results.put(self._complete(request, sampling, left))
            except BaseException as error:  # noqa: BLE001  carried to the thread that reads, which raises it
                results.put(error)
            results.put(None)

        # Daemons: a program that is interrupted must not wait for a server that is still writing.
        threads = [
            threading.Thread(target=work, daemon=True) for _ in range(min(self._server.concurrency, len(requests)))
        ]
        for thread in threads:
            thread.start()
        try:
            yield from _collect(results, len(threads), enough)
        finally:
            enough.set()
            left.set()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _complete(self, request: Request, sampling: Sampling, left: threading.Event) -> Completion:
        """Ask until there is an answer, the tries are used up, or the consumer has ``left``."""
        body = self._body(request, sampling)
        tries = self._server.retries + 1
        for number in range(1, tries + 1):
            try:
                return _completion(request, self._post(request, body))
            except _PassingError as error:
                if number == tries:
                    raise self._failure(request, f"{error} ({tries} {'try' if tries == 1 else 'tries'})") from error
                if left.wait(self._pause(number, error.pause)):
                    raise self._failure(request, f"{error} (ended early)") from error
        raise AssertionError("the loop returns or raises")

    def _body(self, request: Request, sampling: Sampling) -> dict[str, Any]:
        server = self._server
        body: dict[str, Any] = {
            "model": server.model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            server.token_field: sampling.max_tokens,
            "seed": request.seed,
        }
        if sampling.top_k:
            body["top_k"] = sampling.top_k  # not OpenAI's, but every server that has top-k calls it so
        if not self.raw:
            return {**body, "messages": [{"role": turn.role, "content": turn.content} for turn in request.messages]}
        if request.raw is None:
            raise VerievalError("the completions endpoint continues raw text, and the requests carry conversations")
        return {**body, "prompt": request.raw}

    def _post(self, request: Request, body: Mapping[str, Any]) -> Any:
        import httpx

        base = httpx.URL(self._server.url)
        url = base.copy_with(path=base.path + ENDPOINTS[self._server.endpoint])
        try:
            response = self._client.post(url, json=body)
        except httpx.TimeoutException as error:
            raise _PassingError(f"no answer within {self._server.timeout:g} s") from error
        except httpx.TransportError as error:
            raise _PassingError(f"cannot reach the server ({error})") from error
        if response.status_code in _PASSING:
            raise _PassingError(_server_words(response), _retry_after(response))
        if not response.is_success:
            raise self._failure(request, _server_words(response))
        try:
            return response.json()
        except ValueError as error:
            raise _PassingError("the server's answer is not JSON") from error

    def _pause(self, number: int, asked: float | None) -> float:
        """Seconds before the next try: what the server asks for, else doubling with jitter; bounded either way."""
        if asked is not None:
            return min(asked, _LONGEST_PAUSE)
        longest = min(self._server.first_pause * 2 ** (number - 1), _LONGEST_PAUSE)
        return random.uniform(longest / 2, longest)

    def _failure(self, request: Request, reason: str) -> VerievalError:
        words = reason.replace(self._key, "[key]") if self._key else reason
        where = _public(self._server.url)
        return VerievalError(f"{where} did not answer task {request.task_id}, sample {request.sample}: {words}")


def _collect(
    results: queue.SimpleQueue[Completion | BaseException | None], threads: int, enough: threading.Event
) -> Iterator[Completion]:
    """Yield what the threads bring until the last is done, then raise the first failure."""
    failure: VerievalError | None = None
    while threads:
        result = results.get()
        if result is None:
            threads -= 1
        elif isinstance(result, VerievalError):
            enough.set()
            failure = failure or result
        elif isinstance(result, BaseException):
            raise result
        else:
            yield result
    if failure is not None:
        raise failure


def _completion(request: Request, answer: Any) -> Completion:
    try:
        choice = answer["choices"][0]
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        finish, usage = choice.get("finish_reason"), answer.get("usage") or {}
        counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _PassingError("the server's answer holds no completion") from error
    if not isinstance(text, str | None):
        raise _PassingError("the server's answer holds a completion that is not text")
    return Completion(
        task_id=request.task_id,
        sample=request.sample,
        text=text or "",  # null when the whole answer was reasoning
        finish_reason=_FINISH.get(finish, "error"),
        prompt_tokens=counts[0],
        completion_tokens=counts[1],
        seed=request.seed,
    )


def _server_words(response: httpx.Response) -> str:
    """Status and what the server says to it, on one line."""
    try:
        said = response.json()
        error = said.get("error", said) if isinstance(said, dict) else said
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except ValueError:
        text = response.text
    line = " ".join(text.split())[:300]
    return f"HTTP {response.status_code} {response.reason_phrase}{': ' if line else ''}{line}"


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of a Retry-After header, which is a number or a date (RFC 9110, section 10.2.3)."""
    value = response.headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.fromtimestamp(time.time(), UTC)).total_seconds())


def _public(url: str) -> str:
    """The URL without credentials, query and fragment."""
    import httpx

    return str(httpx.URL(url).copy_with(username=None, password=None, query=None, fragment=None)).rstrip("/")


def _without_secrets(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text.split("?", 1)[0])
