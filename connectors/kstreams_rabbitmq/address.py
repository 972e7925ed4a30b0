"""Addresses of brokers, and what goes wrong at them as the library's errors."""

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
    """The broker refuses what was asked.

    Attributes:
        code: The protocol's name for the reason.
    """

    def __init__(self, code: str, what: str) -> None:
        super().__init__(f"{code}: {what}")
        self.code = code


class NotYetError(RefusedError):
    """A stream has less than it had, as it has while its leader starts.

    Attributes:
        otherwise: What to raise where it stays so.
    """

    def __init__(self, otherwise: KStreamsError) -> None:
        super().__init__("StreamNotAvailable", otherwise.message)
        self.otherwise = otherwise


FAILURES = (RefusedError, OSError)
"""What a session raises for a broker, its connection and what it refuses."""


@dataclass(frozen=True)
class Address:
    """Where a broker listens for the stream protocol, and as whom to speak to it.

    Attributes:
        host: Its name.
        port: Its port.
        tls: Whether it speaks TLS.
        user: Who asks.
        password: Theirs.
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
        """Read `rabbitmq-stream://user:password@host:port/vhost`, or `rabbitmq-stream+tls://`.

        Raises:
            ValueError: It is none; the text does not show it.
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
        """Return what TLS is spoken by; None without TLS."""
        return ssl.create_default_context() if self.tls else None


def _wrong() -> ValueError:
    return ValueError("the url is none of rabbitmq-stream://user:password@host:port/vhost")


@dataclass(frozen=True)
class StreamFaults:
    """Implements `kstreams_rows.retrying.Failures`.

    Attributes:
        faults: What can go wrong at any place.
        kinds: What a session raises.
    """

    faults: Faults
    kinds: tuple[type[Exception], ...] = FAILURES

    def may_pass(self, exc: Exception) -> bool:
        """Tell whether it may go well another time."""
        return self.faults.may_pass(exc)

    def error(self, exc: Exception) -> KStreamsError:
        """Return what to raise for an exception of a session's."""
        return exc.otherwise if isinstance(exc, NotYetError) else self.faults.error(exc)


def faults_of(address: Address, *, read: bool) -> StreamFaults:
    """Return what can go wrong at a broker.

    Args:
        address: Its own.
        read: Whether it is a source, and no sink.
    """
    faults = Faults(
        "RabbitMQ",
        FAILURES,
        lambda exc: not isinstance(exc, RefusedError) or exc.code in _PASSING,
        lambda exc: exc.code if isinstance(exc, RefusedError) else type(exc).__name__,
        lambda exc: hidden(str(exc) or type(exc).__name__, {address.password}),
        "see that the stream is there, and that user and rights are as they have to be.",
        read,
    )
    return StreamFaults(faults)
