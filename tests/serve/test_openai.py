from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from serve.engines import open_engine
from serve.engines.openai import OpenAIEngine, Server, _retry_after, parse_model
from verieval.completion import Completion, Message, Request, Sampling
from verieval.errors import VerievalError

SAMPLING = Sampling(n=1, temperature=0.8, top_p=0.95, max_tokens=77)


@dataclass
class Reply:
    """What the fake server answers: a status, a JSON value or raw bytes, headers, and a pause before it."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0


@dataclass
class Seen:
    """A request that the fake server got."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float


def chat(text: str | None, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


@contextmanager
def fake_server(answer: Callable[[dict[str, Any], int], Reply]) -> Iterator[tuple[str, list[Seen]]]:
    """A fake model behind a real HTTP server: ``answer`` gets a request's body and how often that seed came before."""
    seen: list[Seen] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                before = sum(earlier.body.get("seed") == body.get("seed") for earlier in seen)
                seen.append(Seen(self.path, body, dict(self.headers), time.monotonic()))
            reply = answer(body, before)
            time.sleep(reply.pause)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def requests(count: int) -> list[Request]:
    return [Request(f"t{i}", 0, (Message("system", "s"), Message("user", f"ask {i}")), seed=i) for i in range(count)]


def engine(url: str, **options: Any) -> OpenAIEngine:
    """An engine that waits next to nothing between tries."""
    return OpenAIEngine(Server("org/model", url, **{"retries": 3, "first_pause": 0.01, **options}))


def test_a_chat_request_says_all_that_decides_and_its_answer_is_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    text = "```verilog\nmodule \u00b5; endmodule // \U0001f600 \u4e2d\n```"
    with fake_server(lambda body, before: Reply(body=chat(text))) as (url, seen):
        opened = open_engine(f"openai:org/model@{url}")
        (got,) = opened.generate([Request("t", 3, (Message("user", "\u00dc"),), seed=2**63 - 1)], SAMPLING)
        opened.close()
    assert got == Completion("t", 3, text, "stop", 11, 7, seed=2**63 - 1)
    assert seen[0].path == "/v1/chat/completions"
    assert seen[0].headers["Authorization"] == "Bearer sk-secret"
    assert seen[0].body == {
        "model": "org/model",
        "messages": [{"role": "user", "content": "\u00dc"}],
        "temperature": 0.8,
        "top_p": 0.95,
        "max_tokens": 77,
        "seed": 2**63 - 1,
    }


def test_the_completions_endpoint_continues_raw_text() -> None:
    body = {"choices": [{"text": " q;\nendmodule", "finish_reason": "length"}]}
    with fake_server(lambda *_: Reply(body=body)) as (url, seen):
        opened = open_engine(f"openai:m@{url}", endpoint="completions", token_field="max_completion_tokens")
        assert opened.raw
        (got,) = opened.generate([Request("t", 0, (), seed=1, raw="assign z =")], Sampling(max_tokens=9, top_k=4))
        assert got == Completion("t", 0, " q;\nendmodule", "length", None, None, seed=1)
        assert seen[0].path == "/v1/completions"
        assert seen[0].body["prompt"] == "assign z ="
        assert seen[0].body["max_completion_tokens"] == 9
        assert seen[0].body["top_k"] == 4
        assert "messages" not in seen[0].body
        with pytest.raises(VerievalError, match="continues raw text"):
            list(opened.generate(requests(1), SAMPLING))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (chat("x", "length"), ("x", "length")),
        (chat("x", None), ("x", "")),
        (chat("x", "content_filter"), ("x", "error")),
        (chat(None, "length", reasoning_content="hm"), ("", "length")),
        (chat("x", "stop", reasoning_content="hm"), ("x", "stop")),
    ],
)
def test_ends_and_reasoning(answer: dict[str, Any], expected: tuple[str, str]) -> None:
    with fake_server(lambda *_: Reply(body=answer)) as (url, _):
        (got,) = engine(url).generate(requests(1), SAMPLING)
    assert (got.text, got.finish_reason) == expected


def test_requests_are_under_way_at_the_same_time_and_no_more_than_allowed() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def answer(body: dict[str, Any], before: int) -> Reply:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.05)
        with lock:
            running -= 1
        return Reply(body=chat(body["messages"][-1]["content"]))

    with fake_server(answer) as (url, _):
        got = list(engine(url, concurrency=4).generate(requests(16), SAMPLING))
    assert {(row.task_id, row.text) for row in got} == {(f"t{i}", f"ask {i}") for i in range(16)}
    assert most == 4


def test_completions_arrive_as_they_are_ready() -> None:
    with fake_server(lambda body, _: Reply(body=chat("x"), pause=0.6 if body["seed"] == 0 else 0)) as (url, _):
        got = [row.task_id for row in engine(url, concurrency=2).generate(requests(4), SAMPLING)]
    assert got[-1] == "t0"


@pytest.mark.parametrize(
    "first",
    [
        Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"}),
        Reply(503, b"<html>busy</html>"),
        Reply(200, b'{"choices": [{"mess'),
        Reply(200, {"choices": []}),
        Reply(200, {"error": "overloaded"}),
        Reply(200, {"choices": [{"message": {"content": 7}}]}),
        Reply(200, {**chat("x"), "choices": [{"message": {"content": "x"}, "finish_reason": ["x"]}]}),
        Reply(200, {**chat("x"), "usage": "many"}),
        Reply(200, {**chat("x"), "usage": {"prompt_tokens": "11"}}),
        Reply(200, {**chat("x"), "usage": {"completion_tokens": -1}}),
        Reply(200, b"[" * 100_000),
        Reply(200, b"{}", {"Content-Encoding": "gzip"}),
        Reply(200, chat("late"), pause=0.7),
    ],
    ids=["429", "503", "cut", "empty", "error", "number", "finish", "usage", "tokens", "few", "deep", "zip", "slow"],
)
def test_what_may_pass_is_asked_again(first: Reply) -> None:
    with fake_server(lambda _, before: first if before == 0 else Reply(body=chat("good"))) as (url, seen):
        (got,) = engine(url, timeout=0.3).generate(requests(1), SAMPLING)
    assert got.text == "good"
    assert len(seen) == 2
    assert seen[0].body == seen[1].body


def test_the_server_is_asked_as_late_as_it_wishes() -> None:
    def answer(_: dict[str, Any], before: int) -> Reply:
        return Reply(429, {}, {"Retry-After": "0.4"}) if before == 0 else Reply(body=chat("x"))

    with fake_server(answer) as (url, seen):
        list(engine(url).generate(requests(1), SAMPLING))
    assert seen[1].at - seen[0].at >= 0.4


def test_pauses_double_with_jitter_up_to_a_bound() -> None:
    opened = engine("http://localhost:1/v1", first_pause=1.0)
    for number, longest in enumerate([1, 2, 4, 8, 16, 32, 60, 60], 1):
        pauses = [opened._pause(number, None) for _ in range(50)]
        assert longest / 2 <= min(pauses) < max(pauses) <= longest
    assert opened._pause(1, 7.5) == 7.5
    assert opened._pause(1, 1e9) == 60


def test_retry_after_is_a_number_or_a_date() -> None:
    import httpx

    def seconds(value: str) -> float | None:
        return _retry_after(httpx.Response(429, headers={"Retry-After": value}))

    assert seconds("3") == 3
    assert seconds("") is None
    assert seconds("soon") is None
    assert seconds("-1") is None
    later = seconds(format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True))
    assert later is not None
    assert 18 <= later <= 20
    assert seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_a_request_that_fails_for_good_loses_no_other() -> None:
    def answer(body: dict[str, Any], _: int) -> Reply:
        if body["seed"] == 1:
            return Reply(500, {"error": {"message": "out of\nluck"}})
        return Reply(body=chat("x"), pause=0.4 if body["seed"] in (0, 2) else 0)

    with fake_server(answer) as (url, seen):
        running = engine(url, concurrency=3).generate(requests(60), SAMPLING)
        got: list[str] = []
        with pytest.raises(VerievalError, match=r"task t1, sample 0: HTTP 500 .*out of luck \(4 tries\)"):
            got.extend(row.task_id for row in running)
    asked = {f"t{request.body['seed']}" for request in seen}
    assert set(got) == asked - {"t1"}, "what was asked and answered must be handed over"
    assert {"t0", "t2"} <= set(got)
    assert len(asked) < 60, "no more must be asked after a failure"


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_what_cannot_pass_is_not_asked_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    reply = Reply(status, {"error": {"message": "no such model, key sk-secret"}})
    with fake_server(lambda *_: reply) as (url, seen), pytest.raises(VerievalError, match=f"HTTP {status}") as caught:
        list(engine(url).generate(requests(1), SAMPLING))
    assert len(seen) == 1
    assert "task t0, sample 0" in str(caught.value)
    advice = {400: "start another run", 401: "check OPENAI_API_KEY", 404: "--endpoint", 422: "start another run"}
    assert advice[status] in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    with fake_server(lambda *_: Reply()) as (url, _):
        pass
    for retries, said in ((1, "2 tries"), (0, "1 try")):
        with pytest.raises(VerievalError, match=rf"cannot reach the server .*\({said}\)"):
            list(engine(url, retries=retries).generate(requests(1), SAMPLING))


def test_a_server_that_was_never_reached_is_given_up_soon(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_server(lambda *_: Reply()) as (url, _):
        pass
    with pytest.raises(VerievalError, match=r"cannot reach the server .*\(3 tries\)"):
        list(engine(url, retries=6, concurrency=4).generate(requests(8), SAMPLING))
    said = capsys.readouterr().err
    assert said.count("\n") == 1, "once, whatever the number of requests"
    assert said.startswith(f"verieval: note: {url} does not serve at present, asking again: cannot reach the server")


def test_retrying_is_said_once_and_without_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    busy = Reply(503, {"error": "\x1b[31m sk-secret"})
    with fake_server(lambda _, before: busy if before < 3 else Reply(body=chat("x"))) as (url, _):
        assert len(list(engine(url, concurrency=1).generate(requests(3), SAMPLING))) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "HTTP 503" in line
    assert "\\x1b[31m [key]" in line


def test_a_fault_of_ours_loses_no_other_completion() -> None:
    """Whatever one thread meets, what the others were answered is handed over first."""
    with fake_server(lambda body, _: Reply(body=chat("x"), pause=0.3 if body["seed"] == 0 else 0)) as (url, _):
        odd = Request("odd", 0, (Message("user", object()),), 9)  # type: ignore[arg-type]
        running = engine(url, concurrency=2).generate([*requests(1), odd], SAMPLING)
        assert next(running).task_id == "t0"
        with pytest.raises(TypeError):
            next(running)


def test_an_interrupted_program_ends_though_the_server_is_still_writing() -> None:
    code = (
        "import sys\n"
        "from serve.engines import open_engine\n"
        "from verieval.completion import *\n"
        "engine = open_engine(sys.argv[1])\n"
        "try: list(engine.generate([Request('t', 0, (), 0)], Sampling()))\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    with fake_server(lambda *_: Reply(body=chat("x"), pause=60)) as (url, seen):
        asking = [sys.executable, "-c", code, f"openai:m@{url}"]
        with subprocess.Popen(asking, stdout=subprocess.PIPE, text=True) as program:
            while not seen and program.poll() is None:
                time.sleep(0.02)
            program.send_signal(signal.SIGINT)
            assert program.communicate(timeout=30)[0] == "interrupted\n"


def test_leaving_early_does_not_wait_for_the_next_try() -> None:
    def answer(body: dict[str, Any], _: int) -> Reply:
        return Reply(body=chat("x")) if body["seed"] == 0 else Reply(503, {}, {"Retry-After": "50"})

    with fake_server(answer) as (url, _):
        started = time.monotonic()
        running = engine(url, concurrency=2).generate(requests(4), SAMPLING)
        assert next(running).task_id == "t0"
        running.close()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("model", "name", "url"),
    [
        ("openai:gpt@https://api.openai.com/v1", "gpt", "https://api.openai.com/v1"),
        ("openai:org/name@v2@http://localhost:8000", "org/name@v2", "http://localhost:8000/v1"),
        ("openai:m@http://u:p@host:9/api/v3/", "m", "http://u:p@host:9/api/v3"),
        ("openai:m@http://[::1]:80/v1", "m", "http://[::1]/v1"),
        ("openai:m@http://my_host.example.:8000", "m", "http://my_host.example.:8000/v1"),
        ("openai:m@https://host/v1?api-version=5", "m", "https://host/v1?api-version=5"),
    ],
)
def test_names_and_urls(model: str, name: str, url: str) -> None:
    assert parse_model(model) == (name, url)


@pytest.mark.parametrize(
    "model",
    [
        "openai:",
        "openai:m",
        "openai:@http://h",
        "openai:m@ftp://h",
        "openai:m@http://",
        "openai:x@http://[bad",
        "openai:x@http://..",
        "openai:x@http://a b/v1",
        "openai:x@http://h:99999",
        "openai:x@http://h:0",
        "openai:x@http://[::zz]/v1",
        "openai:x@http://h:port/v1",
        "openai:x@http://%zz/v1",
    ],
)
def test_other_forms_are_refused(model: str) -> None:
    with pytest.raises(VerievalError):
        open_engine(model)


def test_no_secret_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    described = open_engine("openai:m@https://user:pass@host:9/v1?token=hush#x").describe()
    assert described["engine"]["url"] == "https://host:9/v1"
    assert described["model"]["source"] == "openai:m@https://host:9/v1"
    assert not any(secret in json.dumps(described) for secret in ("sk-secret", "user", "pass", "hush"))
    with pytest.raises(VerievalError) as caught:
        open_engine("openai:m@ftp://user:pass@host/?token=hush")
    assert not any(secret in str(caught.value) for secret in ("user", "pass", "hush"))


def test_credentials_and_query_of_the_url_are_sent() -> None:
    with fake_server(lambda *_: Reply(body=chat("x"))) as (url, seen):
        url = url.replace("http://", "http://user:pass@") + "?api-version=5"
        list(engine(url).generate(requests(1), SAMPLING))
    assert seen[0].path == "/v1/chat/completions?api-version=5"
    assert seen[0].headers["Authorization"] == "Basic dXNlcjpwYXNz"


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"retries": -1},
        {"timeout": 0.0},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"retries": 10**9},
        {"concurrency": 10**9},
        {"endpoint": "edits"},
        {"token_field": "n"},
    ],
)
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(VerievalError):
        open_engine("openai:m@http://localhost:1", **options)


@pytest.mark.parametrize("key", ["sk-\n", "sk-\u00e9"])
def test_a_key_that_no_header_can_hold(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(VerievalError, match="OPENAI_API_KEY holds a character") as caught:
        open_engine("openai:m@http://localhost:1")
    assert "sk-" not in str(caught.value)
