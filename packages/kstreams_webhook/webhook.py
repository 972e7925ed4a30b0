"""A webhook, as a user says what it is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from kstreams.clock import Clock, SystemClock
from kstreams_intake.contract import Intake, LastMessage, Receiver
from kstreams_serve.roles import Role
from kstreams_serve.settings import Limits, Listening
from kstreams_webhook.signature import Signature

__all__ = ("HEALTH", "Webhook", "listening_of")

HEALTH = "/health/live"
"""Where a load balancer asks."""


@dataclass(frozen=True)
class Webhook(Intake):
    """Takes each body that is POSTed to one address as a message. Needs the extra `serve`.

    The sender is answered when the message is in the topic: 204. It is to send again after 503 and
    where no answer comes, and not after 4xx: 401 is for a wrong signature or token, 408, 413 and
    431 for what is too slow or too large, 422 for what the topic does not take. Under load it gets
    503 with `Retry-After`. Nothing is missed while the process is away, as far as the sender
    tries again.

    Args:
        path: Of the address, such as `/orders`.
        signature: How senders prove who they are.
        tokens: Or, and then also: `Authorization: Bearer` with one of them, 16 characters or more.
        id_header: Header with a message's id, which is the same when it is sent again; it is
            needed then. A signature that covers an id gives that.
        keep_headers: Headers that become those of the record, by names in lower case.
        host: The address to listen at.
        port: The port; 0 takes any that is free.
        names: Names by which senders call it, besides the address itself.
        certificate: File of its TLS certificate; with `key_file`.
        key_file: File of the private key.
        behind_proxy: Whether something in front of it speaks TLS.
        forwarded_allow_ips: Addresses and networks of proxies whose `X-Forwarded-For` names the
            sender; the header is ignored from everyone else.
        max_bytes: Of a body.
        max_waiting_bytes: Of all bodies that are not settled.
        max_connections: Open at once.
        send_within: How long a sender may take for the head of a request, and for its body.
        answer_within: How long it waits for the topic.
        named: Its name as an intake; None for one made of the path.
        clock: Tells the time for signatures that have one.

    Raises:
        ValueError: There is neither signature nor token, the path is none, or a bound is not
            positive.
        ServeError: A token is too short, a proxy's address is none, or it would listen to other
            machines without TLS.
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
                "a webhook needs a signature or tokens: anybody could write to its topic"
            )
        if not self.path.startswith("/") or set(self.path) & set("{}?# ") or self.path == HEALTH:
            raise ValueError(f"path is {self.path!r}; expected such as '/orders'")
        counts, spans = (
            (self.max_bytes, self.max_connections),
            (self.send_within, self.answer_within),
        )
        if min(counts) < 1 or min(spans) <= timedelta(0) or self.max_waiting_bytes < self.max_bytes:
            raise ValueError("a webhook's bounds are positive, and one body fits into those of all")
        listening_of(self)

    @property
    def name(self) -> str:
        """Names it in headers of its records."""
        return self.named or f"webhook {self.path}"

    def open(self, last: LastMessage | None) -> Receiver:
        """Listen. There is nothing to go on from: senders try again.

        Raises:
            ServeError: The address is not to be had.
        """
        try:
            from kstreams_webhook.receiver import WebhookReceiver  # noqa: PLC0415  # needs it
        except ImportError as exc:
            raise ImportError(
                "a webhook needs starlette and uvicorn: pip install 'kstreams-spark[serve]'"
            ) from exc
        return WebhookReceiver(self)


def listening_of(webhook: Webhook) -> Listening:
    """Return where a webhook listens, and who may come in."""
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
