"""The access check of requests: hosts, origins and tokens, before any action is looked up."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kstreams.quoting import repr_of
from kstreams_serve.authentication import Authenticator
from kstreams_serve.forwarded import TrustedProxies
from kstreams_serve.problem_responses import answer_of
from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role, Visitor
from kstreams_serve.settings import Listening

__all__ = ("Guard",)

_TOKEN_IN_URL = re.compile(rb"(^|&)(access_token|token|authorization|api_key)=", re.IGNORECASE)
_HOSTS = 64
_ORIGINS = "kstreams serve --allow-origin allows pages of another origin."
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NOTHING = b"default-src 'none'; frame-ancestors 'none'"
_OUR_OWN = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Guard:
    """Accepts requests for this server that do not come from a foreign page.

    It sets `scope["role"]` to the role of the visitor, and `scope["visitor"]` to the visitor;
    `scope["client"]` becomes the address of the client if a trusted proxy has connected. Visitors
    without a token have access to open routes. Responses cannot be framed, load nothing from other
    servers, and are not cached unless they allow it.

    Args:
        inner: The application.
        settings: The settings of the server.
        authenticator: Checks tokens and cookies.
    """

    def __init__(self, inner: ASGIApp, settings: Listening, authenticator: Authenticator) -> None:
        self._inner = inner
        self._authenticator = authenticator
        own = {settings.host, "localhost", "127.0.0.1", "::1"} if settings.is_loopback else set()
        self._hosts = {name.lower() for name in (*own, settings.host, *settings.names)}
        self._origins = frozenset(settings.origins)
        self._proxies = TrustedProxies(settings.forwarded_allow_ips)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an accepted request to the application; reply to others with a problem."""
        if scope["type"] != "http":  # the server's own start and end
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        shared = self._shared(headers)

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _safe(message["headers"], shared)
            await send(message)

        scope["visitor"], scope["role"] = Visitor(Role.OPEN), Role.OPEN
        if scope.get("client"):
            peer, port = scope["client"]
            forwarded = headers.getlist("x-forwarded-for")
            scope["client"] = self._proxies.client_of(peer, forwarded), port
        try:
            self._check_host(headers)
            self._check_origin(headers)
            self._check_site(scope["method"], headers)
            if shared and scope["method"] == "OPTIONS":
                await _allow(send, shared)
                return
            scope["visitor"] = self._visitor(scope, headers)
            scope["role"] = scope["visitor"].role
        except Problem as problem:
            await answer_of(problem)(scope, receive, safe)
            return
        await self._inner(scope, receive, safe)

    def _shared(self, headers: Headers) -> bytes:
        """Return the origin of a request if the settings allow this foreign origin; else empty."""
        origin = headers.get("origin", "")
        return origin.encode("latin-1") if origin in self._origins else b""

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _host_of(hosts[0]) not in self._hosts:
            raise Problem(
                421,
                f"Host is {repr_of(', '.join(hosts), 80)}, which is not a name of this server",
                hint="use the address at which the server listens, or add the host name to the "
                "settings of the server (kstreams serve: --name).",
            )

    def _check_origin(self, headers: Headers) -> None:
        origin = headers.get("origin")
        if origin is None or origin in self._origins or _is_own(headers):
            return
        raise Problem(
            403, f"a page of origin {repr_of(origin, 80)} sent the request", hint=_ORIGINS
        )

    def _check_site(self, method: str, headers: Headers) -> None:
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return
        followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
        if followed == ("navigate", "document") and method in ("GET", "HEAD"):
            return  # a link, in a window of its own: the page that has it sees nothing
        if headers.get("origin") not in self._origins:
            raise Problem(403, "a page of another site sent the request", hint=_ORIGINS)

    def _visitor(self, scope: Scope, headers: Headers) -> Visitor:
        if _TOKEN_IN_URL.search(scope["query_string"]):
            raise Problem(
                400,
                "there is a token in the address of the request: logs and histories keep addresses",
                hint="send tokens as `Authorization: Bearer ...`, and replace this token: logs may "
                "have it.",
            )
        address = scope["client"][0] if scope.get("client") else ""
        given = headers.getlist("authorization")
        if given:
            return self._authenticator.visitor_of(given, address)
        cookie = _cookie(headers, self._authenticator.cookie)
        if not cookie:
            return Visitor(Role.OPEN)
        self._check_sender(scope["method"], headers)
        return self._authenticator.visitor_of_cookie(cookie)

    def _check_sender(self, method: str, headers: Headers) -> None:
        if method not in ("GET", "HEAD") and not _is_own(headers):
            raise Problem(
                403,
                "a request with a cookie must come from a page of this server",
                hint="send a token, as `Authorization: Bearer ...`.",
            )


def _safe(given: list[tuple[bytes, bytes]], shared: bytes) -> list[tuple[bytes, bytes]]:
    """Add security headers to response headers; CORS headers if `shared` has an origin."""
    names = dict(given)
    html = names.get(b"content-type", b"").startswith(b"text/html")
    more = [*_ALWAYS, (b"content-security-policy", _OUR_OWN if html else _NOTHING)]
    if b"cache-control" not in names:
        more.append((b"cache-control", b"no-store"))
    if shared:
        more += [
            (b"access-control-allow-origin", shared),
            (b"access-control-expose-headers", b"ETag, Kstreams-Version, Kstreams-Committed-At"),
            (b"vary", b"Origin"),
        ]
    fixed = {name for name, _ in more}
    return [*(pair for pair in given if pair[0] not in fixed), *more]


async def _allow(send: Send, origin: bytes) -> None:
    """Answer the preflight (CORS) request of a browser for a page of an allowed origin."""
    given = b"Authorization, Content-Type, If-None-Match, Last-Event-ID"
    headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-allow-headers", given),
        (b"vary", b"Origin"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _is_own(headers: Headers) -> bool:
    """Return whether a request comes from a page of this server."""
    return headers.get("origin", "").partition("://")[2].lower() == headers.get("host", "").lower()


def _cookie(headers: Headers, name: str) -> str:
    """Return a cookie's value; empty if the cookie is missing or sent twice."""
    given = headers.getlist("cookie")
    found = [
        value
        for text in given
        for part in text.split(";")
        for own, _, value in [part.strip().partition("=")]
        if own == name
    ]
    return found[0] if len(found) == 1 else ""


@lru_cache(_HOSTS)  # each request has one of a few
def _host_of(header: str) -> str:
    """Return the name in a Host header, without the port; empty if the header is invalid."""
    try:
        found = urlsplit(f"//{header}")
        return "" if found.path or found.username else (found.hostname or "")
    except ValueError:
        return ""
