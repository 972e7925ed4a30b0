"""Streams of RabbitMQ as a source."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams import Serde
from kstreams.sources import LogContents, LogReader
from kstreams_rabbitmq.address import Address
from kstreams_rabbitmq.log_contents import StreamContents
from kstreams_rabbitmq.log_reader import StreamReader
from kstreams_rabbitmq.places import Places

__all__ = ("RabbitStreamLog",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@dataclass(frozen=True, repr=False)
class RabbitStreamLog(Generic[K, V]):
    """A stream of RabbitMQ, or a super stream, as a `Log`: offsets are the broker's.

    A message's body is the record's value, its application properties are the headers. A record's
    time is that of the chunk in which the broker wrote it. Messages whose body is no bytes, text
    or value, or which are compressed by more than gzip, are `unreadable`: the source's `on_error`
    says what becomes of them.

    What the stream's retention deleted before it was read is an error that counts it. A stream
    that was deleted and made anew is known as another: by a mark among the offsets that the broker
    keeps for consumers (under the name `kstreams`), for which the user needs the right to write.
    Where it has none, the mark is not there, and streams are told apart by their ends alone.

    The broker must have the plugin `rabbitmq_stream`, and workers must reach it at the host and
    port that it advertises.

    Args:
        url: `rabbitmq-stream://user:password@host:port/vhost`, or `rabbitmq-stream+tls://` for
            TLS. It shows in no text.
        name: Of its positions in checkpoints.
        stream: Its name.
        key: Serde of the keys; `NONE` without a `key_property`.
        value: Serde of the values.
        super_stream: Whether `stream` names a super stream: each stream of it is a partition, in
            the broker's order, which is never to be changed.
        key_property: The application property that has the key; it is no header then.
        look_every: How often to look for new messages; zero is at each batch.
        give_up_after: How long to try again while the broker does not answer.

    Raises:
        ValueError: The url or the stream's name is none, or a time is negative.

    Source: RabbitMQ's stream protocol; a stream's offsets have gaps where the broker notes its own.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    name: str
    stream: str
    key: Serde[K]
    value: Serde[V]
    super_stream: bool = False
    key_property: str | None = None
    look_every: timedelta = timedelta(0)
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        """Check the arguments."""
        Address.of(self.url)
        if not self.stream or not self.stream.isascii():
            raise ValueError(f"{self.stream!r} names no stream: give 1 to 255 ASCII characters")
        if min(self.look_every, self.give_up_after) < timedelta(0):
            raise ValueError("times of a RabbitStreamLog are not negative")

    def __repr__(self) -> str:
        """Show all but the address."""
        return f"RabbitStreamLog(name={self.name!r}, stream={self.stream!r})"

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        return f"rabbitmq {'super ' if self.super_stream else ''}stream {self.stream}"

    def contents(self) -> LogContents:
        """Open the driver's side."""
        every = self.look_every.total_seconds()
        return StreamContents(self._places(), self.stream, every, divided=self.super_stream)

    def reader(self) -> LogReader:
        """Open the worker's side."""
        return StreamReader(self._places(), self.key_property)

    def _places(self) -> Places:
        return Places(Address.of(self.url), self.give_up_after)
