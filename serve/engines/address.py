"""Where a model is served: ``openai:NAME@URL`` taken apart, and the URL without what is secret in it."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from verieval.errors import VerievalError

if TYPE_CHECKING:
    import httpx

_MODEL = re.compile(r"openai:(?P<name>.+)@(?P<url>https?://.+)", re.DOTALL)
_HOST = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?", re.ASCII)


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
    if not _is_host(url) or (url.port is not None and not 0 < url.port < 65536):
        raise VerievalError(
            f"the server's URL {_without_secrets(match['url'])!r} has no valid host or port: "
            "write for example http://localhost:8000/v1"
        )
    path = url.path.rstrip("/") or "/v1"
    return match["name"], str(url.copy_with(path=path))


def _is_host(url: httpx.URL) -> bool:
    """A name that can be looked up, or an address; httpx itself takes ``[bad``."""
    host = url.raw_host.decode("ascii")
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def public(url: str) -> str:
    """The URL without credentials, query and fragment."""
    import httpx

    return str(httpx.URL(url).copy_with(username=None, password=None, query=None, fragment=None)).rstrip("/")


def _without_secrets(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text.split("?", 1)[0])
