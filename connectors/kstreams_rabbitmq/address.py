"""Broker addresses, and the conversion of broker errors to library errors."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from kstreams.errors import KStreamsError
from kstreams_rows.retrying import Faults, hidden

__all__ = ("FAILURES", "Address", "NotYetError", "RefusedError", "StreamFaults", "faults_of")

_PORT, _TLS_PORT = 5552, 5551
_PASSING = ("StreamNotAvailable", "InternalError", "LeaderNotAvailable")


class RefusedError(Exception):
    """The broker rejected a request.

    Attributes:
        code: The protocol's name for the reason.
    """

    def __init__(self, code: str, what: str) -> None:
        super().__init__(f"{code}: {what}")
        self.code = code


class NotYetError(RefusedError):
    """A stream is shorter than before, which is temporary while its leader starts.

    Attributes:
        otherwise: The error to raise if the stream stays short.
    """

    def __init__(self, otherwise: KStreamsError) -> None:
        super().__init__("StreamNotAvailable", otherwise.message)
        self.otherwise = otherwise


FAILURES = (RefusedError, OSError)
"""The exceptions a session raises for connection failures and rejected requests."""


@dataclass(frozen=True)
class Address:
    """The address of a broker's stream listener and the credentials for it.

    Attributes:
        host: The host.
        port: The port.
        tls: Whether the broker uses TLS.
        user: The user name.
        password: The password of the user.
        vhost: The virtual host.
    """

    host: str
    port: int
    tls: bool
    user: str
    password: str = field(repr=False)
    vhost: str

    @classmethod
    def of(cls, url: str) -> Address:
        """Parse `rabbitmq-stream://user:password@host:port/vhost`, or `rabbitmq-stream+tls://`.

        Raises:
            ValueError: The URL is invalid; the error does not show it.
        """
        try:
            parts = urlsplit(url)
            tls = parts.scheme == "rabbitmq-stream+tls"
            port = parts.port or (_TLS_PORT if tls else _PORT)
        except ValueError:
            raise _wrong() from None
        vhost = unquote(parts.path[1:]) or "/"
        user = unquote(parts.username or "guest")
        known = tls or parts.scheme == "rabbitmq-stream"
        if not known or not parts.hostname or not vhost.isascii():
            raise _wrong()
        password = unquote(parts.password if parts.password is not None else "guest")
        return cls(parts.hostname, port, tls, user, password, vhost)

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context; None without TLS."""
        return ssl.create_default_context() if self.tls else None


def _wrong() -> ValueError:
    return ValueError(
        "url= is not a valid address: expected rabbitmq-stream://user:password@host:port/vhost"
    )


@dataclass(frozen=True)
class StreamFaults:
    """Decides whether a failed call may be retried, and translates its exception.

    Implements `kstreams_rows.retrying.Failures`.

    Attributes:
        faults: The rules of all connectors for exceptions of clients.
        kinds: The exception types that a session raises.
    """

    faults: Faults
    kinds: tuple[type[Exception], ...] = FAILURES

    def may_pass(self, exc: Exception) -> bool:
        """Return whether a failure is temporary."""
        return self.faults.may_pass(exc)

    def error(self, exc: Exception) -> KStreamsError:
        """Return the library error for an exception of a session."""
        return exc.otherwise if isinstance(exc, NotYetError) else self.faults.error(exc)


def faults_of(address: Address, *, read: bool) -> StreamFaults:
    """Return the rules that map exceptions of a session to library errors.

    Args:
        address: The address of the broker.
        read: Whether the broker is used by a source rather than a sink.
    """
    faults = Faults(
        "RabbitMQ",
        FAILURES,
        lambda exc: not isinstance(exc, RefusedError) or exc.code in _PASSING,
        lambda exc: exc.code if isinstance(exc, RefusedError) else type(exc).__name__,
        lambda exc: hidden(str(exc) or type(exc).__name__, {address.password}),
        "check that the stream exists, and the permissions of the user.",
        read,
    )
    return StreamFaults(faults)
