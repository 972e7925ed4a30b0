"""Requests to one HTTP server, over a reused connection."""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

__all__ = ("Answer", "BusyError", "HttpServer", "RefusedError", "shown_url")

_MOST_BYTES = 64 * 1024 * 1024
"""The maximum bytes of a response."""
_SHOWN = 300
_HTTP_1_1 = 11
_BUSY = frozenset({408, 409, 425, 429})


class BusyError(Exception):
    """The server is overloaded, or is still processing an earlier attempt of the request."""


class RefusedError(Exception):
    """The server rejected a request; a retry would be rejected too.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """The response of a server."""

    status: int
    body: bytes = field(repr=False)

    @property
    def shown(self) -> str:
        """The first characters of the response, for errors."""
        return self.body[: 4 * _SHOWN].decode(errors="replace")[:_SHOWN]


class HttpServer:
    """A server and the headers of its requests.

    Args:
        url: `http://` or `https://`; a user name and a password in it become a header.
        headers: The headers of each request.
        timeout: The maximum time to wait for a connection, and for each part of a response.

    Raises:
        ValueError: The URL or a header is invalid; the error does not show any of it.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout: timedelta) -> None:
        parts = _checked(url)
        self._parts = parts
        self._headers = {**_login(parts), **_checked_headers(headers)}
        self._timeout_s = timeout.total_seconds()
        self._connection: http.client.HTTPConnection | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that logs and errors must not show."""
        values = [*self._headers.values(), *(v.partition(" ")[2] for v in self._headers.values())]
        password = unquote(self._parts.password or "")
        return tuple(each for each in (*values, self._parts.query, password) if len(each) > 3)

    def ask(
        self,
        method: str,
        path: str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        answers: Container[int] = (),
    ) -> Answer:
        """Send a request and return its response, including error responses.

        Args:
            method: The method, such as `POST`.
            path: The path after the URL, with a leading slash.
            body: The body.
            headers: Additional headers of this request.
            answers: Statuses of temporary failures to return instead of raising `BusyError`.

        Raises:
            BusyError: The status is a temporary failure, and not in `answers`.
            OSError, http.client.HTTPException: The connection is lost.
        """
        try:
            connection = self._opened()
            target = self._parts.path.rstrip("/") + path if path else self._parts.path or "/"
            query = f"?{self._parts.query}" if self._parts.query and not path else ""
            every = {**self._headers, **_checked_headers(headers or {})}
            connection.request(method, target + query, body, every)
            given = connection.getresponse()
            answer = Answer(given.status, _whole(given))
            if not given.isclosed():
                self.close()  # more than anybody reads
        except BaseException:
            self.close()
            raise
        busy = answer.status in _BUSY or answer.status >= 500
        if busy and answer.status not in answers:
            raise BusyError(f"status {answer.status}: {answer.shown}")
        return answer

    def close(self) -> None:
        """Close the connection; the next operation opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError):
                connection.close()

    def _opened(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=self._timeout_s, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        return self._connection


def _whole(given: http.client.HTTPResponse) -> bytes:
    """Return the body of a response, and check that it, and its headers, are complete.

    Raises:
        http.client.IncompleteRead: The response is truncated.
    """
    stays = "close" not in (given.getheader("Connection") or "").lower()
    if given.version == _HTTP_1_1 and given.length is None and not given.chunked and stays:
        raise http.client.IncompleteRead(b"")
    body = given.read(_MOST_BYTES)
    if given.length and len(body) < _MOST_BYTES:
        raise http.client.IncompleteRead(body, given.length)
    return body


def shown_url(url: str) -> str:
    """Return a URL for logs and errors: without login and query."""
    parts = _checked(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        known = None
    if not known or not url.isascii() or any(char <= " " for char in url):
        raise ValueError("the url is invalid: expected https://host/path or http://host/path")
    return urlsplit(url)


def _checked_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not name.isascii() or not name.replace("-", "").isalnum():
            raise ValueError(
                f"invalid header name {name!r}: expected ASCII letters, digits and '-'"
            )
        if not value.isascii() or not value.isprintable():
            raise ValueError(
                f"the value of header {name!r} must have only printable ASCII characters"
            )
    return headers


def _login(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}
