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
    """A RabbitMQ stream, or a super stream, as a `Log` with the broker's offsets.

    A message's body is the record's value, and its application properties are the headers. A
    record's time is the time of its chunk in the broker. A body that is an AMQP value other than
    bytes becomes text in UTF-8 or JSON. Messages without a body, with an AMQP sequence as body, or
    with a compression other than gzip, are unreadable: the source's `on_error` handles them.

    If the stream's retention deletes messages before they are read, the app fails with an error
    that states their number. To detect that a stream was deleted and created again, the log stores
    a mark in the broker, as the offset of a consumer named `kstreams`, which needs the right to
    write. Without that right, the log can only compare the ends of streams.

    The broker needs the plugin `rabbitmq_stream`, and workers must reach it at its advertised host
    and port.

    Args:
        url: `rabbitmq-stream://user:password@host:port/vhost`, or `rabbitmq-stream+tls://` for TLS.
            Logs and errors do not show it.
        name: The name of the log's positions in checkpoints.
        stream: The name of the stream.
        key: The serde of the keys; `NONE` without a `key_property`.
        value: The serde of the values.
        super_stream: Whether `stream` names a super stream: each of its streams is a partition, in
            the broker's order, which must never change.
        key_property: The application property with the key; it is not a header then.
        look_every: The interval between polls for new messages; zero polls at each batch.
        give_up_after: The maximum time to retry while the broker does not answer.

    Raises:
        ValueError: The URL or the stream's name is invalid, or a time is negative.

    Source: RabbitMQ's stream protocol; offsets have gaps where the broker stores its own entries.
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
            raise ValueError(f"stream={self.stream!r}: expected 1 to 255 ASCII characters")
        if min(self.look_every, self.give_up_after) < timedelta(0):
            raise ValueError(
                f"look_every={self.look_every} and give_up_after={self.give_up_after} must not be "
                "negative"
            )

    def __repr__(self) -> str:
        """Return the `repr` of the log, without the address of the broker."""
        return f"RabbitStreamLog(name={self.name!r}, stream={self.stream!r})"

    @property
    def label(self) -> str:
        """The label of the source or sink in diagrams of the topology."""
        return f"rabbitmq {'super ' if self.super_stream else ''}stream {self.stream}"

    def contents(self) -> LogContents:
        """Return the driver's reader of the log's offsets, which also plans its batches."""
        every = self.look_every.total_seconds()
        return StreamContents(self._places(), self.stream, every, divided=self.super_stream)

    def reader(self) -> LogReader:
        """Return a reader of the log's records in a worker."""
        return StreamReader(self._places(), self.key_property)

    def _places(self) -> Places:
        return Places(Address.of(self.url), self.give_up_after)
