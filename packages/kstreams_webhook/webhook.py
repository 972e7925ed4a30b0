"""The settings of a webhook."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from kstreams.clock import Clock, SystemClock
from kstreams_intake.contract import Intake, LastMessage, Receiver
from kstreams_serve.roles import Role
from kstreams_serve.settings import Limits, Listening
from kstreams_webhook.signature import Signature

__all__ = ("HEALTH", "Webhook", "listening_of")

HEALTH = "/health/live"
"""The health route for load balancers."""


@dataclass(frozen=True)
class Webhook(Intake):
    """Receives the body of each POST request to one address as a message. Needs the extra `serve`.

    The sender gets the reply 204 when the message is in the topic. It should retry after 503 and
    without a reply, but not after 4xx: 401 is a wrong signature or token, 408, 413 and 431 are slow
    or large requests, 422 is a message that the topic rejects. Under load the reply is 503 with
    `Retry-After`. No message is missed while the process is down, if the sender retries.

    Args:
        path: The path of the address, such as `/orders`.
        signature: The check of signatures.
        tokens: The accepted tokens of `Authorization: Bearer`, with 16 characters or more; instead
            of a signature, or in addition.
        id_header: The header with the id of a message, which is equal in retries. If set, requests
            must have the header. Not needed with a signature that covers an id.
        keep_headers: The headers to copy to the record, by names in lower case.
        host: The address of the server.
        port: The port; 0 uses a free port.
        names: The host names that senders use, in addition to the address.
        certificate: The file of the TLS certificate; with `key_file`.
        key_file: The file of the private key.
        behind_proxy: Whether a proxy in front of the server terminates TLS.
        forwarded_allow_ips: Addresses and networks of proxies whose `X-Forwarded-For` names the
            sender; the header is ignored in other requests.
        max_bytes: The maximum bytes of a body.
        max_waiting_bytes: The maximum bytes of all unsettled bodies.
        max_connections: The maximum number of open connections.
        send_within: The maximum time for the head of a request, and for its body.
        answer_within: The maximum time until a message is in the topic. After this time the reply
            is 503.
        named: The name of the intake; None for a name from the path.
        clock: The clock for signatures with a time.

    Raises:
        ValueError: There is neither signature nor token, the path is invalid, or a limit is not
            positive.
        ServeError: A token is too short, the address of a proxy is invalid, or the server would be
            open to other machines without TLS.
    """

    tells_sender: ClassVar[bool] = True

    path: str
    signature: Signature | None = None
    _: KW_ONLY
    tokens: tuple[str, ...] = field(default=(), repr=False)
    id_header: str | None = None
    keep_headers: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key_file: Path | None = None
    behind_proxy: bool = False
    forwarded_allow_ips: tuple[str, ...] = ()
    max_bytes: int = 1024 * 1024
    max_waiting_bytes: int = 64 * 1024 * 1024
    max_connections: int = 256
    send_within: timedelta = timedelta(seconds=10)
    answer_within: timedelta = timedelta(seconds=30)
    named: str | None = None
    clock: Clock = field(default_factory=SystemClock, repr=False)

    def __post_init__(self) -> None:
        if self.signature is None and not self.tokens:
            raise ValueError(
                "a webhook needs signature= or tokens=; otherwise anybody could write to its topic"
            )
        if not self.path.startswith("/") or set(self.path) & set("{}?# ") or self.path == HEALTH:
            raise ValueError(
                f"path is {self.path!r}; expected a path such as '/orders', without {{, }}, ?, "
                f"# and spaces, and other than {HEALTH!r}"
            )
        counts, spans = (
            (self.max_bytes, self.max_connections),
            (self.send_within, self.answer_within),
        )
        if min(counts) < 1 or min(spans) <= timedelta(0) or self.max_waiting_bytes < self.max_bytes:
            raise ValueError(
                "max_bytes, max_connections, send_within and answer_within must be positive, and "
                "max_waiting_bytes at least max_bytes"
            )
        listening_of(self)

    @property
    @override
    def name(self) -> str:
        return self.named or f"webhook {self.path}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Start the server. There is no position to resume at, because senders retry.

        Raises:
            ServeError: The address is not available.
        """
        try:
            from kstreams_webhook.receiver import WebhookReceiver  # noqa: PLC0415  # needs it
        except ImportError as exc:
            raise ImportError(
                "a webhook needs starlette and uvicorn: pip install 'kstreams-spark[serve]'"
            ) from exc
        return WebhookReceiver(self)


def listening_of(webhook: Webhook) -> Listening:
    """Return the server settings of a webhook: addresses, access and limits."""
    limits = replace(
        Limits(),
        body_bytes=webhook.max_bytes,
        head_seconds=webhook.send_within.total_seconds(),
        connections=webhook.max_connections,
    )
    return Listening(
        dict.fromkeys(webhook.tokens, Role.DATA),
        webhook.host,
        webhook.port,
        webhook.names,
        webhook.certificate,
        webhook.key_file,
        webhook.behind_proxy,
        limits,
        forwarded_allow_ips=webhook.forwarded_allow_ips,
    )
