"""A stream of RabbitMQ as a sink: messages appended after the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.errors import SinkError
from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_rabbitmq.address import Address
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.publishing import publish
from kstreams_rabbitmq.session import Session, schema
from kstreams_rabbitmq.staging import Staged, publisher_of
from kstreams_rabbitmq.writer import StreamWriter

__all__ = ("RabbitStream",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_EXISTS, _OK = 5, 1
_FRAME_ROOM = 4096


@dataclass(frozen=True, repr=False)
class RabbitStream(Sink[K, V]):
    """Appends results to a RabbitMQ stream after their commit, exactly once and in order.

    A task's messages are staged in a separate stream until the batch commits. Then they are
    published under the task's name, with publishing ids made of batch and row, so the broker drops
    duplicates from any attempt. The broker remembers the last id of 255 names per stream: a sink
    with more than 200 tasks is rejected. `prepare` creates the staging stream, which keeps at most
    `staged_bytes` and deletes its oldest messages first.

    Args:
        url: The URL of the broker; see `RabbitStreamLog`.
        stream: The name of the stream, which must exist.
        body: Builds the message from key and value; None skips the result.
        staged: The name of the staging stream; by default the stream's name with `-staged`. Several
            sinks may share one.
        staged_bytes: The maximum size of the staging stream; must exceed the results of two
            batches.
        max_bytes: The maximum size of a message; larger messages are rejected. The broker's
            `stream.frame_max` must be larger.
        give_up_after: The maximum time to retry while the broker does not answer.

    Raises:
        ValueError: The URL or a name is invalid, or a limit is not positive.

    Source: deduplication by publisher names and publishing ids in RabbitMQ's stream protocol.
    """

    url: str = field(repr=False)
    _: KW_ONLY
    stream: str
    body: Callable[[K, V], bytes | None]
    staged: str = ""
    staged_bytes: int = 1 << 30
    max_bytes: int = 1_000_000
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        """Check the arguments."""
        Address.of(self.url)
        if not self.staged:
            object.__setattr__(self, "staged", f"{self.stream}-staged")
        if not self.stream or not (self.stream + self.staged).isascii():
            raise ValueError(
                f"stream={self.stream!r} and staged={self.staged!r} must have 1 to 255 ASCII "
                "characters"
            )
        if self.stream == self.staged:
            raise ValueError(
                f"stream= and staged= are both {self.stream!r}: use another stream for staged="
            )
        if min(self.staged_bytes, self.max_bytes) < 1 or self.give_up_after < timedelta(0):
            raise ValueError(
                f"staged_bytes={self.staged_bytes} and max_bytes={self.max_bytes} must be "
                f"positive, and give_up_after={self.give_up_after} must not be negative"
            )

    def __repr__(self) -> str:
        """Return a text without the address and the function."""
        return f"RabbitStream(stream={self.stream!r})"

    @property
    @override
    def label(self) -> str:
        return f"rabbitmq stream {self.stream}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "exactly-once"

    def prepare(self) -> None:
        """Check that the stream exists, and create the staging stream.

        Raises:
            SinkUnavailableError: The broker does not answer.
            SinkError: The stream does not exist, access to it is denied, or `max_bytes` is too
                large.
        """
        with closing(self._places()) as places:
            places.retried(lambda: self._prepare(places))

    def _prepare(self, places: Places) -> None:
        session = places.session(self.stream)
        if session.frame_bytes < self.max_bytes + _FRAME_ROOM:
            raise SinkError(
                f"the broker accepts frames of at most {session.frame_bytes:,} bytes, too few for "
                f"messages of max_bytes={self.max_bytes:,}",
                hint="lower max_bytes=, or raise the broker's stream.frame_max.",
            )
        with closing(Session(Address.of(self.url))) as first:
            bound = schema.Property("max-length-bytes", str(self.staged_bytes))
            create = schema.Create(first.number(), self.staged, [bound])
            first.request(schema.CreateResponse, create, codes=(_OK, _EXISTS))

    @override
    def open(self) -> Writer[K, V]:
        return StreamWriter(self._places(), self.staged, self.body, self.max_bytes)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Append the messages of a batch's tasks to the stream, in task order.

        Raises:
            SinkUnavailableError: The broker does not answer.
            SinkError: The staged messages no longer exist.
        """
        with closing(self._places()) as places:
            for commit in sorted(receipts, key=lambda each: (each.task, each.order)):
                for receipt in receipts[commit]:
                    self._show(places, commit, Staged.read(receipt))

    def _show(self, places: Places, commit: CommitId, staged: Staged) -> None:
        def work() -> None:
            first = (commit.batch + 1) << 32
            found = enumerate(staged.messages(places), first)
            publish(places.session(self.stream), self.stream, [*found], name=publisher_of(commit))

        places.retried(work)

    def _places(self) -> Places:
        return Places(Address.of(self.url), self.give_up_after, read=False)
