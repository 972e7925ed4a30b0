"""A Redis server, with retries of temporary failures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha1
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from kstreams.errors import SinkError
from kstreams_rows.retrying import Faults, hidden, retried

try:
    from redis import Redis, exceptions
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError as error:
    raise ImportError("Redis needs a client: pip install 'kstreams-spark[redis]'") from error

__all__ = ("Script", "Server", "check_sink", "check_url")

T = TypeVar("T")
"""The type of an operation's result."""

_TIMEOUT_S = 10.0
_PASSING = (
    exceptions.BusyLoadingError,
    exceptions.ClusterDownError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.TimeoutError,
    exceptions.TryAgainError,
    OSError,
)
_WORD = re.compile(r"(?:^| -)([A-Z]{3,}) ")
_PASSING_WORDS = ("BUSY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY")


class Script:
    """A Lua script, which the server runs atomically."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.digest = sha1(source.encode(), usedforsecurity=False).hexdigest()


class Server:
    """A server with one connection, replaced after it fails.

    Args:
        url: The URL of the server.
        give_up_after: The maximum time to retry.
        read: Whether the server is used by a source rather than a sink.
    """

    def __init__(self, url: str, give_up_after: timedelta, *, read: bool = False) -> None:
        self._url = url
        self._give_up_after = give_up_after
        self._client: Redis | None = None
        self._faults = Faults(
            "Redis",
            (exceptions.RedisError, OSError, ValueError),
            _may_pass,
            _code,
            lambda exc: hidden(str(exc) or type(exc).__name__, _secrets(url)),
            "check the password, the permissions of the user, and the kind of server.",
            read,
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation on the server; retry temporary failures.

        Raises:
            SinkUnavailableError, SourceUnavailableError: The server did not answer within
                `give_up_after`.
            SinkError, SourceError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, self.close)

    def command(self, *words: str | bytes | int) -> Any:  # noqa: ANN401  # of any type
        """Send a command, and return the reply."""
        return self._opened().execute_command(*words)  # type: ignore[no-untyped-call]  # it is not

    def run(self, script: Script, keys: Sequence[str | bytes], *given: str | bytes | int) -> int:
        """Run a script with `KEYS` and the arguments `given`; return its integer reply."""
        return int(self.ask(script, keys, *given))

    def ask(self, script: Script, keys: Sequence[str | bytes], *given: str | bytes | int) -> Any:  # noqa: ANN401  # of any type
        """Run a script with `KEYS` and the arguments `given`; return its reply."""
        try:
            return self.command("EVALSHA", script.digest, len(keys), *keys, *given)
        except exceptions.NoScriptError:
            return self.command("EVAL", script.source, len(keys), *keys, *given)

    def check(self) -> None:
        """Check that the server answers, and that scripts may access any keys.

        Raises:
            SinkError: The server belongs to a cluster.
        """
        self.command("PING")
        try:
            found = self.command("INFO", "cluster")
        except exceptions.NoPermissionError:
            return
        if isinstance(found, dict) and found.get("cluster_enabled"):
            raise SinkError(
                "the Redis server belongs to a cluster, which cannot write a batch and its fence "
                "atomically",
                hint="set url= to a single server, or to a proxy in front of one.",
            )

    def close(self) -> None:
        """Close the connection; the next operation opens a new one."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(exceptions.RedisError, OSError):
                client.close()

    def _opened(self) -> Redis:
        if self._client is None:
            self._client = Redis.from_url(
                self._url,
                socket_connect_timeout=_TIMEOUT_S,
                socket_timeout=3 * _TIMEOUT_S,
                single_connection_client=True,
                retry=Retry(NoBackoff(), 0),
            )
            self._client.set_response_callback("XRANGE", list)  # a field may come twice
        return self._client


def check_sink(url: str, give_up_after: timedelta) -> None:
    """Check that a server answers, and that a sink can write to it.

    Raises:
        SinkUnavailableError: The server does not answer.
        SinkError: The server belongs to a cluster, or rejects the login.
    """
    server = Server(url, give_up_after)
    try:
        server.retried(server.check)
    finally:
        server.close()


def check_url(url: str) -> None:
    """Check the URL of a server.

    Raises:
        ValueError: The URL is invalid; the error does not show any of it.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError("url= is not a valid Redis address: its port is not a number") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ValueError("url= is not a valid Redis address: expected redis://host:port/number")


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, (exceptions.AuthenticationError, exceptions.AuthorizationError)):
        return False
    if isinstance(exc, (*_PASSING, exceptions.ConnectionError)):
        return True
    return _code(exc) in _PASSING_WORDS


def _code(exc: Exception) -> str:
    """Return the code word of a Redis error, or the name of the client's exception class.

    The word is at the start of the text, or in the middle for a command of a script.
    """
    found = _WORD.search(str(exc))
    return found[1] if found else type(exc).__name__


def _secrets(url: str) -> tuple[str, ...]:
    parts = urlsplit(url)
    asked = parse_qs(parts.query)
    names = ("password", "ssl_password")
    return (
        url,
        unquote(parts.password or ""),
        *(found for n in names for found in asked.get(n, ())),
    )
