"""A webhook, as a user says what it is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kstreams.clock import Clock, SystemClock
from kstreams.intake.contract import Intake, LastMessage
from kstreams.serve.settings import Limits, Listening, Role
from kstreams.webhook.signature import Signature

if TYPE_CHECKING:
    from kstreams.webhook.receiver import WebhookReceiver

__all__ = ("HEALTH", "Webhook")

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
        max_bytes: Of a body.
        max_waiting_bytes: Of all bodies that are not settled.
        max_connections: Open at once.
        send_within: How long a sender may take for the head of a request, and for its body.
        answer_within: How long it waits for the topic.
        name: As for any intake; by the path if it is empty.
        clock: Tells the time for signatures that have one.

    Raises:
        ValueError: There is neither signature nor token, the path is none, or a bound is not
            positive.
        ServeError: A token is too short, or it would listen to other machines without TLS.
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
    max_bytes: int = 1024 * 1024
    max_waiting_bytes: int = 64 * 1024 * 1024
    max_connections: int = 256
    send_within: timedelta = timedelta(seconds=10)
    answer_within: timedelta = timedelta(seconds=30)
    name: str = ""
    clock: Clock = field(default_factory=SystemClock, repr=False)

    def __post_init__(self) -> None:
        if self.signature is None and not self.tokens:
            raise ValueError(
                "a webhook needs a signature or tokens: anybody could write to its topic"
            )
        if not self.path.startswith("/") or set(self.path) & set("{}?# ") or self.path == HEALTH:
            raise ValueError(f"path is {self.path!r}; expected such as '/orders'")
        bounds = (self.max_bytes, self.max_connections, self.send_within, self.answer_within)
        if any(not each for each in bounds) or self.max_waiting_bytes < self.max_bytes:
            raise ValueError("a webhook's bounds are positive, and one body fits into those of all")
        if not self.name:
            object.__setattr__(self, "name", f"webhook {self.path}")
        self.listening()

    def listening(self) -> Listening:
        """Return where it listens, and who may come in."""
        limits = replace(
            Limits(),
            body_bytes=self.max_bytes,
            head_seconds=self.send_within.total_seconds(),
            connections=self.max_connections,
        )
        return Listening(
            dict.fromkeys(self.tokens, Role.DATA),
            self.host,
            self.port,
            self.names,
            self.certificate,
            self.key_file,
            self.behind_proxy,
            limits,
        )

    def open(self, last: LastMessage | None) -> WebhookReceiver:
        """Listen. There is nothing to go on from: senders try again.

        Raises:
            ServeError: The address is not to be had.
        """
        try:
            from kstreams.webhook.receiver import WebhookReceiver  # noqa: PLC0415  # needs it
        except ImportError as exc:
            raise ImportError(
                "a webhook needs starlette and uvicorn: pip install 'kstreams-spark[serve]'"
            ) from exc
        return WebhookReceiver(self)
