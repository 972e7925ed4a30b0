"""Addresses of brokers, and conversion of pika's errors to the library's."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pika
from pika import exceptions

from kstreams.errors import IntakeError, IntakeUnavailableError
from kstreams_rows.retrying import Faults, hidden

__all__ = ("FAILURES", "Broker", "may_pass")

FAILURES = (exceptions.AMQPError, exceptions.ChannelError, OSError)
"""The exceptions pika raises for connection failures and for requests the broker rejects."""

_CONNECT_S = 10
_LASTING = (
    exceptions.ProbableAuthenticationError,
    exceptions.ProbableAccessDeniedError,
    exceptions.AuthenticationError,
    exceptions.IncompatibleProtocolError,
)
_LASTING_CODES = (403, 404, 530)
"""AMQP reply codes of permanent errors: no permission, unknown name, unknown virtual host."""
_PASSING_TEXTS = (
    "StreamLostError",  # while opening: pika reports it as a rejection by the broker
    "CONNECTION_FORCED",  # likewise: the node is stopping
    "INTERNAL_ERROR",  # likewise: the virtual host is starting
    "is down or inaccessible",  # a queue, with the code for "not found"
    "due to timeout",
    "stopped by supervisor",
)
"""Texts in broker errors that are temporary: the broker's nodes are stopping or starting."""


class Broker:
    """The address of a broker; its password never appears in logs and errors.

    Args:
        url: `amqp://user:password@host:port/vhost`, or `amqps://`.

    Raises:
        ValueError: The URL is invalid; the error does not show it.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("amqp", "amqps") and bool(parts.hostname)
            self._password = unquote(parts.password or "")
            pika.URLParameters(url)
        except Exception:  # noqa: BLE001  # its texts may have the password
            usable = False
        if not usable:
            raise ValueError(
                "url= is not a valid address: expected amqp://user:password@host:port/vhost"
            )

    def parameters(self, heartbeat_s: int) -> pika.URLParameters:
        """Return pika's connection parameters."""
        found = pika.URLParameters(self._url)
        found.heartbeat = heartbeat_s
        found.socket_timeout = found.stack_timeout = _CONNECT_S
        found.blocked_connection_timeout = None
        return found

    def intake_error(self, exc: Exception) -> IntakeError:
        """Return the intake error for an exception of pika."""
        passes = may_pass(exc)
        kind = IntakeUnavailableError if passes else IntakeError
        what = "does not answer" if passes else "refuses"
        return kind(f"the AMQP broker {what}: {self._error_text(exc)}")

    def faults(self) -> Faults:
        """Return the rules that map exceptions of pika to sink errors."""
        return Faults(
            "the AMQP broker",
            FAILURES,
            may_pass,
            lambda exc: str(getattr(exc, "reply_code", "")),
            self._error_text,
            "check that the exchange exists, and that the user has the permissions to write to it.",
        )

    def _error_text(self, exc: Exception) -> str:
        return hidden(f"{type(exc).__name__}: {exc}", {self._url, self._password})


def may_pass(exc: Exception) -> bool:
    """Return whether an error is temporary, because the connection or broker failed."""
    text_of_error = str(exc)
    if any(text in text_of_error for text in _PASSING_TEXTS):
        return True
    code = getattr(exc, "reply_code", 0)
    return not isinstance(exc, _LASTING) and code not in _LASTING_CODES
