"""Authentication: a token with each request, or a token sent once for a browser cookie."""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Sequence
from hashlib import sha256
from hmac import compare_digest

from kstreams_serve.problems import Problem
from kstreams_serve.roles import Role, Visitor, no_token
from kstreams_serve.settings import Listening

__all__ = ("Authenticator",)

_MINUTE = 60.0
_ADDRESSES = 10_000
_STAY_SECONDS = 12 * 3600
_ATTRIBUTES = "; HttpOnly; SameSite=Strict"
_MAC_BYTES = 32
_SECRET_BYTES = 32
_ANYBODY = Visitor(Role.OPEN)


class Authenticator:
    """Maps tokens to their roles and owners, for HTTP requests, cookies and gRPC calls.

    A valid token is accepted even if its address has sent wrong ones: many clients may share the
    address of a proxy. An address that sends too many wrong tokens in a minute gets 429. A
    browser's cookie does not contain the token, but a role, the owner's name and an expiry time,
    signed with a secret of this process.

    Args:
        settings: The settings of the server.
        now: Returns the time of a monotonic clock, in seconds.
    """

    def __init__(self, settings: Listening, now: Callable[[], float]) -> None:
        self._secret = secrets.token_bytes(_SECRET_BYTES)
        self._tokens = [
            (self._digest(token), Visitor(role, settings.holders.get(token, "")))
            for token, role in settings.tokens.items()
        ]
        self._limit = settings.limits.failures_a_minute
        self._secure = settings.certificate is not None or settings.behind_proxy
        self._now = now
        self._failures: dict[str, deque[float]] = {}
        self.cookie = "__Host-kstreams" if self._secure else "kstreams"

    def visitor_of(self, authorization: Sequence[str], address: str) -> Visitor:
        """Return the visitor of `Authorization` headers; without any, one with the role `OPEN`.

        Raises:
            Problem: The token is unknown: 401, or 429 after too many unknown tokens from this
                address.
        """
        if not authorization or not self._tokens:
            return _ANYBODY
        scheme, _, token = authorization[0].partition(" ")
        if len(authorization) > 1 or scheme.lower() != "bearer":
            token = ""
        return self._holder_of(token.strip(), address)

    def _holder_of(self, token: str, address: str) -> Visitor:
        given = self._digest(token)
        found = [visitor for known, visitor in self._tokens if compare_digest(known, given)]
        if found:
            return found[0]
        failures = self._recent(address)
        if len(failures) >= self._limit:
            raise Problem(
                429,
                "too many wrong tokens came from this address: wait a minute",
                headers={"Retry-After": str(int(_MINUTE))},
            )
        if len(self._failures) >= _ADDRESSES:
            self._failures.clear()
        self._failures.setdefault(address, failures).append(self._now())
        raise no_token("the token is not a token of this server")

    def _digest(self, token: str) -> bytes:
        """Return a token's digest; comparing digests takes equal time for tokens of any length."""
        return hmac.digest(self._secret, b"token:" + token.encode("utf-8", "replace"), sha256)

    def _recent(self, address: str) -> deque[float]:
        found = self._failures.get(address, deque())
        while found and found[0] <= self._now() - _MINUTE:
            found.popleft()
        return found

    # ------------------------------------------------------------ browsers

    def log_in(self, token: str, address: str) -> str:
        """Return the value of a `Set-Cookie` header, for a browser that has sent a token.

        Raises:
            Problem: The token is unknown; see `visitor_of`.
        """
        found = self._holder_of(token, address)
        note = json.dumps([int(found.role), self._now() + _STAY_SECONDS, found.name]).encode()
        value = urlsafe_b64encode(self._mac(note) + note).decode().rstrip("=")
        return self._set_cookie(value, _STAY_SECONDS)

    def log_out(self) -> str:
        """Return the value of a `Set-Cookie` header that deletes a browser's cookie."""
        return self._set_cookie("", 0)

    def visitor_of_cookie(self, value: str) -> Visitor:
        """Return the visitor of a cookie; one with the role `OPEN` for an invalid cookie."""
        try:
            data = urlsafe_b64decode(value.encode("ascii") + b"=" * (-len(value) % 4))
        except ValueError:
            return _ANYBODY
        mac, note = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if not compare_digest(mac, self._mac(note)):
            return _ANYBODY
        role, until, name = json.loads(note)
        return Visitor(Role(role), name) if self._now() < until else _ANYBODY

    def _mac(self, note: bytes) -> bytes:
        return hmac.digest(self._secret, b"cookie:" + note, sha256)

    def _set_cookie(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._secure else ""
        return f"{self.cookie}={value}; Path=/; Max-Age={seconds}{_ATTRIBUTES}{secure}"
