"""The ``openai`` engine: any server with OpenAI's chat or completions endpoint (vLLM, llama.cpp, hosted models)."""

from __future__ import annotations

import math
import os
import queue
import random
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from serve.engines.address import parse_model, public
from verieval.completion import Completion, FinishReason, Request, Sampling
from verieval.errors import VerievalError
from verieval.report.text import printable

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

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses that may pass when asked again
_FIRST_PAUSE = 1.0  # seconds before the second try, doubled for each one after it
_LONGEST_PAUSE = 60.0
_FIRST_TRIES = 3  # of a server that nobody has reached yet: the likeliest cause is a wrong URL, not a passing failure
_QUIET = 60.0  # seconds between two lines on retrying, where answers and failures alternate
_MOST_CONCURRENT, _MOST_RETRIES, _LONGEST_TIMEOUT = 1024, 100, 86_400

# What to do about a refusal that asking again cannot change.
_ADVICE = {
    401: "check OPENAI_API_KEY",
    403: "check OPENAI_API_KEY",
    404: "check the model's name, the URL and --endpoint",
    **dict.fromkeys(
        (400, 413, 422),
        "the same command meets this request again, so where it is too long for the model, or holds an option that "
        "the server does not know, start another run (--out) with other options (--max-tokens, --prompt, "
        "--token-field) or without the task (--tasks)",
    ),
}


class _PassingError(Exception):
    """A failure that may pass.

    Attributes:
        pause: the number of seconds that the server asks for, or None.
        unreached: there was no connection.
    """

    def __init__(self, reason: str, pause: float | None = None, *, unreached: bool = False) -> None:
        super().__init__(reason)
        self.pause = pause
        self.unreached = unreached


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
    if not (1 <= concurrency <= _MOST_CONCURRENT and 0 <= retries <= _MOST_RETRIES and 0 < timeout <= _LONGEST_TIMEOUT):
        raise VerievalError(
            f"concurrency must be from 1 to {_MOST_CONCURRENT}, retries from 0 to {_MOST_RETRIES} and the timeout "
            f"above 0 and at most {_LONGEST_TIMEOUT} seconds"
        )
    key = os.environ.get("OPENAI_API_KEY", "")
    if not (key.isascii() and key.isprintable()):
        raise VerievalError("OPENAI_API_KEY holds a character that no key has (a newline?): set it again")
    return OpenAIEngine(Server(name, url, endpoint, concurrency, timeout, retries, token_field))


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
        self._reached = threading.Event()
        self._word = _Word(public(server.url))
        self._client = httpx.Client(headers=headers, timeout=server.timeout, limits=limits)

    @property
    def raw(self) -> bool:
        """The completions endpoint continues raw text."""
        return self._server.endpoint == "completions"

    def describe(self) -> dict[str, Any]:
        """Manifest sections, with the URL but without credentials and query. Nothing is asked of the server."""
        import httpx

        server, url = self._server, public(self._server.url)
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
                completion = _completion(request, self._post(request, body))
                self._word.answered()
                return completion
            except _PassingError as error:
                last = min(tries, _FIRST_TRIES) if error.unreached and not self._reached.is_set() else tries
                if number >= last:
                    raise self._failure(request, f"{error} ({number} {'try' if number == 1 else 'tries'})") from error
                self._word.failed(self._hide(str(error)))
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
        except httpx.DecodingError as error:
            raise _PassingError("the server's answer is cut or damaged") from error
        except httpx.RequestError as error:
            raise _PassingError(
                f"cannot reach the server ({error})", unreached=isinstance(error, httpx.ConnectError)
            ) from error
        self._reached.set()
        if response.status_code in _PASSING:
            raise _PassingError(_server_words(response), _retry_after(response))
        if not response.is_success:
            advice = _ADVICE.get(response.status_code)
            raise self._failure(request, _server_words(response) + (f"; {advice}" if advice else ""))
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise _PassingError("the server's answer is not JSON") from error

    def _pause(self, number: int, asked: float | None) -> float:
        """Seconds before the next try: what the server asks for, else doubling with jitter; bounded either way."""
        if asked is not None:
            return min(asked, _LONGEST_PAUSE)
        longest = min(math.ldexp(self._server.first_pause, number - 1), _LONGEST_PAUSE)
        return random.uniform(longest / 2, longest)

    def _failure(self, request: Request, reason: str) -> VerievalError:
        where = public(self._server.url)
        return VerievalError(
            f"{where} did not answer task {request.task_id}, sample {request.sample}: {self._hide(reason)}"
        )

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


class _Word:
    """Says on standard error that the server is asked again: once from a first failure to the next answer."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._lock = threading.Lock()
        self._failing = False
        self._said = -math.inf

    def failed(self, reason: str) -> None:
        with self._lock:
            first, self._failing = not self._failing, True
            if not first or time.monotonic() - self._said < _QUIET:
                return
            self._said = time.monotonic()
        line = f"{self._where} does not serve at present, asking again: {reason}"
        print(f"verieval: note: {printable(line)}", file=sys.stderr, flush=True)

    def answered(self) -> None:
        with self._lock:
            self._failing = False


def _collect(
    results: queue.SimpleQueue[Completion | BaseException | None], threads: int, enough: threading.Event
) -> Iterator[Completion]:
    """Yield what the threads bring until the last is done, then raise the first failure."""
    failure: Exception | None = None
    while threads:
        result = results.get()
        if result is None:
            threads -= 1
        elif isinstance(result, Exception):
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
        counts = tuple(usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _PassingError("the server's answer holds no completion") from error
    if not isinstance(text, str | None):
        raise _PassingError("the server's answer holds a completion that is not text")
    if not isinstance(finish, str | None):
        raise _PassingError("the server's answer holds a finish_reason that is not text")
    if not all(count is None or (type(count) is int and count >= 0) for count in counts):
        raise _PassingError("the server's answer holds a number of tokens that is none")
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
    except (ValueError, RecursionError):
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
