"""Who may talk to the page: nothing but the page itself, opened by its own address.

Any web page that a person visits can send requests to this machine. So the Host header must name us (else a name of
somebody else's could be made to point here), requests from other sites are refused, and where others on the network
can reach the page, it takes a token.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_MOST_BYTES = 256 * 1024
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True)
class Rules:
    """Who may come in.

    Attributes:
        hosts: the names in the Host header; where there are none, any address in numbers will do.
        token: what a browser has to bring; None where only this machine reaches the page.
        cookie: what the token's cookie is called.
    """

    hosts: Sequence[str] = LOOPBACK_NAMES
    token: str | None = None
    cookie: str = "diffgan-label"


@dataclass(frozen=True)
class Refusal:
    """Why a request is turned away."""

    status: int
    reason: str


class Gate:
    """Lets through to the page what may come in, and gives every answer its safety headers."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        cookie = self._new_cookie(scope) if refusal is None else []

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS, *cookie]
            await send(message)

        if refusal is None:
            await self._app(scope, receive, send_safely)
        else:
            await _refuse(refusal, send_safely)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers = _Headers(scope)
        if not self._is_our_name(headers.one("host")):
            return Refusal(400, "The address in the request is not this page's: open the address that diffgan printed.")
        if _is_foreign(headers, scope):
            return Refusal(403, "This request comes from another site.")
        if not self._has_token(headers, scope):
            return Refusal(401, "This page needs its token: open the whole address that diffgan printed.")
        return _post_refusal(headers) if scope["method"] not in ("GET", "HEAD") else None

    def _is_our_name(self, host: str | None) -> bool:
        name = _host_name(host or "")
        if name in self._rules.hosts:
            return True
        return self._rules.token is not None and _is_numeric(name)

    def _has_token(self, headers: _Headers, scope: Scope) -> bool:
        if self._rules.token is None:
            return True
        return self._is_token(_cookie(headers, self._rules.cookie)) or self._is_token(_token_in_address(scope))

    def _is_token(self, given: str | None) -> bool:
        expected = self._rules.token
        return expected is not None and given is not None and secrets.compare_digest(given.encode(), expected.encode())

    def _new_cookie(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """The page's own address brings the token once; from then on, the cookie does."""
        if self._rules.token is None or not self._is_token(_token_in_address(scope)):
            return []
        text = f"{self._rules.cookie}={self._rules.token}; Path=/; HttpOnly; SameSite=Strict"
        return [(b"set-cookie", text.encode())]


class _Headers:
    """The headers of a request, by name; one that is there twice is as good as wrong."""

    def __init__(self, scope: Scope) -> None:
        self._found: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self._found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def one(self, name: str) -> str | None:
        values = self._found.get(name, [])
        return None if not values else values[0] if len(values) == 1 else ""


def _is_foreign(headers: _Headers, scope: Scope) -> bool:
    """Whether another site has sent it. To open the page by a link from anywhere is no harm."""
    site, origin = headers.one("sec-fetch-site"), headers.one("origin")
    if origin is not None and origin not in (f"http://{headers.one('host')}", f"https://{headers.one('host')}"):
        return True
    if site in (None, "same-origin", "none"):
        return False
    opens_the_page = headers.one("sec-fetch-mode") == "navigate" and scope["path"] == "/" and scope["method"] == "GET"
    return not opens_the_page


def _post_refusal(headers: _Headers) -> Refusal | None:
    """JSON only: a form of another site cannot send it."""
    kind = (headers.one("content-type") or "").split(";")[0].strip().lower()
    if kind != "application/json":
        return Refusal(415, "This page takes JSON only.")
    length = headers.one("content-length") or ""
    if not length.isascii() or not length.isdigit():
        return Refusal(411, "This request does not say how long it is.")
    if int(length[:12]) > _MOST_BYTES:
        return Refusal(413, f"This request is longer than {_MOST_BYTES} bytes.")
    return None


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


def _is_numeric(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(headers: _Headers, name: str) -> str | None:
    """Read by hand: what other applications of this host have set need not be well formed."""
    for part in (headers.one("cookie") or "").split(";"):
        key, _, value = part.partition("=")
        if key.strip() == name:
            return value.strip()
    return None


def _token_in_address(scope: Scope) -> str | None:
    if scope["path"] != "/":
        return None
    given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
    return given[0] if len(given) == 1 else None


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = refusal.reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
