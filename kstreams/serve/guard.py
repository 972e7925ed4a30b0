"""Who may come in: hosts, origins and tokens, before any action is looked for."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from hmac import compare_digest
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kstreams.serve.problems import Problem, answer_of
from kstreams.serve.settings import Listening, Role

__all__ = ("Guard", "require")

_TOKEN_IN_URL = re.compile(rb"(^|&)(access_token|token|authorization|api_key)=", re.IGNORECASE)
_MINUTE = 60.0
_ADDRESSES = 10_000
_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Lets requests through that are for this server, from no foreign page, with a token.

    A wrong token costs nothing but time: after ten in a minute an address is not heard, with any
    token. Those without one see what is open to all: whether the server lives.

    Args:
        inner: What answers.
        settings: The server's.
        now: Seconds that only rise.
    """

    def __init__(self, inner: ASGIApp, settings: Listening, now: Callable[[], float]) -> None:
        self._inner = inner
        self._tokens = [(token.encode(), role) for token, role in settings.tokens.items()]
        self._limit = settings.limits.failures_a_minute
        self._now = now
        own = {settings.host, "localhost", "127.0.0.1", "::1"} if settings.is_loopback else set()
        self._hosts = {name.lower() for name in (*own, settings.host, *settings.names)}
        self._failures: dict[str, deque[float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":  # the server's own start and end
            await self._inner(scope, receive, send)
            return

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [pair for pair in _HEADERS if pair[0] not in given]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_place(headers)
            scope["role"] = self._role(scope, headers)
        except Problem as problem:
            await answer_of(problem)(scope, receive, safe)
            return
        await self._inner(scope, receive, safe)

    def _check_place(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _host_of(hosts[0]) not in self._hosts:
            raise Problem(
                421,
                "no server of this name is here",
                hint="call it by the address it listens at, or start it with --name.",
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != hosts[0].lower():
            raise Problem(403, "a page of another origin asks")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Problem(403, "a page of another site asks")

    def _role(self, scope: Scope, headers: Headers) -> Role:
        if _TOKEN_IN_URL.search(scope["query_string"]):
            raise Problem(
                400,
                "there is a token in the address: logs and histories keep addresses",
                hint="send it as `Authorization: Bearer ...`, and take another: this one is known.",
            )
        given = headers.getlist("authorization")
        if not given or not self._tokens:
            return Role.OPEN
        address = scope["client"][0] if scope.get("client") else ""
        failures = self._recent(address)
        if len(failures) >= self._limit:
            raise Problem(429, "too many wrong tokens", headers={"Retry-After": str(int(_MINUTE))})
        scheme, _, token = given[0].partition(" ")
        if len(given) == 1 and scheme.lower() == "bearer":
            found = [role for known, role in self._tokens if compare_digest(known, _ascii(token))]
            if found:
                return found[0]
        if len(self._failures) >= _ADDRESSES:
            self._failures.clear()
        self._failures.setdefault(address, failures).append(self._now())
        raise _no_token("the token is none of this server's")

    def _recent(self, address: str) -> deque[float]:
        found = self._failures.get(address, deque())
        while found and found[0] <= self._now() - _MINUTE:
            found.popleft()
        return found


def require(request: Request, role: Role) -> None:
    """Make sure that whoever asks may have what needs a role.

    Raises:
        Problem: They may not.
    """
    has: Role = request.scope["role"]
    if has >= role:
        return
    if has is Role.OPEN:
        raise _no_token("this needs a token")
    raise Problem(403, f"this needs the role {role.name.lower()}, the token has {has.name.lower()}")


def _no_token(detail: str) -> Problem:
    return Problem(
        401,
        detail,
        hint="send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="kstreams"'},
    )


def _ascii(token: str) -> bytes:
    return token.strip().encode("latin-1", "replace")


def _host_of(header: str) -> str:
    """Return the name in a Host header, without the port; empty where it is none."""
    try:
        found = urlsplit(f"//{header}")
        return "" if found.path or found.username else (found.hostname or "")
    except ValueError:
        return ""
