"""A client for the HTTP routes of one `kstreams serve`."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from kstreams.errors import (
    CheckpointMismatchError,
    KStreamsError,
    NoCheckpointError,
    SavepointError,
    ServerRefusedError,
    ServerUnavailableError,
    StateCorruptError,
    StoreError,
)
from kstreams.quoting import safe_text, text_of
from kstreams.state.log.fields import Fields

__all__ = ("BegunAgainError", "ServerClient")

_MOST_BYTES = 64 * 1024 * 1024
_SHOWN = 500
_TRIES = 2
_BUSY = (408, 429, 503, 504)
_KINDS: dict[str, type[KStreamsError]] = {
    f"urn:kstreams:{kind.__name__}": kind
    for kind in (CheckpointMismatchError, NoCheckpointError, SavepointError, StateCorruptError)
}


class BegunAgainError(StoreError):
    """The app was reset or upgraded: the description of its store must be requested again."""


class ServerClient:
    """Sends requests to one server over one connection, from one thread at a time.

    Args:
        url: The URL of the server: `http://127.0.0.1:8080`, or `https://...`.
        token: A token of the server.
        timeout_s: The maximum time of a reply, including waits for a busy server, seconds.
        ca_file: A PEM file of trusted certificates, used instead of the default certificates.

    Raises:
        ServerRefusedError: The address is invalid, or would send the token unencrypted to another
            machine.
    """

    def __init__(
        self, url: str, token: str, *, timeout_s: float = 30.0, ca_file: str | None = None
    ) -> None:
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:  # a port that is none
            host, port = None, None
        if (
            parts.scheme not in ("http", "https")
            or host is None
            or parts.username is not None
            or parts.path.rstrip("/")
            or parts.query
        ):
            raise ServerRefusedError(
                "the address of the server is invalid, expected http://HOST:PORT or "
                "https://HOST:PORT",
                hint="give the app id as app=... and the token as token=..., not in the address.",
            )
        if parts.scheme == "http" and not _is_loopback(host):
            raise ServerRefusedError(
                f"the token would be sent unencrypted to {host}",
                hint="start the server with --tls-cert and --tls-key, or behind a proxy with TLS, "
                "and use https://.",
            )
        if not token or not token.isascii() or not token.isprintable():
            raise ServerRefusedError(
                "the token is empty or not printable ASCII", hint="use a token of the server."
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._timeout = timeout_s
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self._connection = http.client.HTTPSConnection(
                host, port, timeout=timeout_s, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)

    def __repr__(self) -> str:
        return f"ServerClient({self.url!r})"

    def get(self, *steps: str) -> Fields:
        """Return the JSON reply of a route, given the components of its path, unescaped.

        Raises:
            ServerUnavailableError: The server does not answer, or is busy for too long.
            ServerRefusedError: The server does not know the token or the route.
            KStreamsError: The error in the server's reply.
        """
        data = self._ask("GET", _path(steps), None, {})
        try:
            return Fields(json.loads(data))
        except ValueError as exc:
            raise ServerUnavailableError(
                f"the reply of {self.url} is not JSON: {exc}",
                hint="check that `kstreams serve` runs at this address.",
            ) from exc

    def post(self, steps: tuple[str, ...], body: Mapping[str, object]) -> bytes:
        """Send a JSON body to a route, and return the bytes of the reply; raises as `get` does."""
        return self._ask(
            "POST",
            _path(steps),
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Accept": "application/octet-stream"},
        )

    def close(self) -> None:
        """Close the connection; a later request opens another one."""
        with self._lock:
            self._connection.close()

    def _ask(self, method: str, path: str, body: bytes | None, more: Mapping[str, str]) -> bytes:
        until = time.monotonic() + self._timeout
        while True:
            status, headers, data = self._once(method, path, body, {**self._headers, **more})
            if status == 200:
                return data
            problem = self._problem(status, data)
            left = until - time.monotonic()
            if status != 503 or left <= 0 or "Retry-After" not in headers:
                raise problem
            time.sleep(min(left, _seconds(headers["Retry-After"])))

    def _once(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request; send it again if the connection breaks, because reads change nothing."""
        with self._lock:
            for tried in range(1, _TRIES + 1):
                try:
                    self._connection.request(method, path, body, dict(headers))
                    found = self._connection.getresponse()
                    data = found.read(_MOST_BYTES + 1)
                except (OSError, http.client.HTTPException) as exc:
                    self._connection.close()
                    if tried == _TRIES or isinstance(exc, TimeoutError):
                        raise ServerUnavailableError(
                            f"{self.url} does not answer: {text_of(exc)}",
                            hint="check that `kstreams serve` runs at this address.",
                        ) from exc
                else:
                    if len(data) > _MOST_BYTES:
                        self._connection.close()
                        raise ServerUnavailableError(
                            f"{self.url} sent a response of more than {_MOST_BYTES} bytes"
                        )
                    return found.status, dict(found.getheaders()), data
        raise AssertionError  # the loop returns or raises

    def _problem(self, status: int, data: bytes) -> KStreamsError:
        said: dict[str, Any] = {}
        with suppress(ValueError):
            said = Fields(json.loads(data)).all()
        detail = safe_text(str(said.get("detail", f"status {status}")), _SHOWN)
        hint = safe_text(str(said.get("hint", "")), _SHOWN)
        kind = _KINDS.get(str(said.get("type", "")))
        if kind is not None:
            return kind(f"{self.url}: {detail}", hint=hint)
        if status == 412:  # the epoch that was asked for has ended
            return BegunAgainError(detail)
        if status == 404:  # an app, or a store of it
            return CheckpointMismatchError(f"{self.url}: {detail}", hint=hint)
        if status == 410:  # a version that is not retained
            return StoreError(detail, hint=hint)
        if status in _BUSY or status >= 500:
            return ServerUnavailableError(f"{self.url} answers {status}: {detail}", hint=hint)
        return ServerRefusedError(f"{self.url} answers {status}: {detail}", hint=hint)


def _path(steps: tuple[str, ...]) -> str:
    return "/v1/" + "/".join(quote(step, safe="") for step in steps)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _seconds(text: str) -> float:
    return min(float(text), 5.0) if text.isdigit() else 1.0
