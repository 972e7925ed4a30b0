"""A stream of RabbitMQ as a sink: messages appended after the commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.errors import SinkError
from kstreams.sinks import CommitId, Guarantee, Writer
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
class RabbitStream(Generic[K, V]):
    """Appends results to a stream of RabbitMQ after their commit, exactly once and in order.

    A task's messages are kept in a stream of their own until the batch is committed; then they are
    published under the task's name, each numbered by batch and row: the broker drops the numbers
    that it has, from whoever they come again. It knows the last number of 255 names a stream: a
    sink of more tasks than 200 is refused. The stream of what waits is made by `prepare`, has
    `staged_bytes` at most, and its oldest messages go first.

    Args:
        url: As for `RabbitStreamLog`.
        stream: Name of the stream, which is there already.
        body: Makes the message of key and value; None leaves the result out.
        staged: Name of the stream of what waits for the commit; by default the stream's, with
            `-staged` behind it. Several sinks may have one.
        staged_bytes: How much it keeps: more than the results of two batches have.
        max_bytes: Of a message; a larger one is refused. The broker's `stream.frame_max` is more.
        give_up_after: How long to try again while the broker does not answer.

    Raises:
        ValueError: The url or a name is none, or a bound is not positive.

    Source: deduplication by publisher names and publishing ids, of RabbitMQ's stream protocol.
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
            raise ValueError("streams have names of 1 to 255 ASCII characters")
        if self.stream == self.staged:
            raise ValueError("staged messages need another stream than the results")
        if min(self.staged_bytes, self.max_bytes) < 1 or self.give_up_after < timedelta(0):
            raise ValueError("bounds of a RabbitStream are positive")

    def __repr__(self) -> str:
        """Show all but the address and the function."""
        return f"RabbitStream(stream={self.stream!r})"

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        return f"rabbitmq stream {self.stream}"

    @property
    def guarantee(self) -> Guarantee:
        """Exactly once."""
        return "exactly-once"

    def prepare(self) -> None:
        """See that the stream is there, and make that of what waits.

        Raises:
            SinkUnavailableError: The broker does not answer.
            SinkError: There is no such stream, it may not be written, or messages may be too large.
        """
        with closing(self._places()) as places:
            places.retried(lambda: self._prepare(places))

    def _prepare(self, places: Places) -> None:
        session = places.session(self.stream)
        if session.frame_bytes < self.max_bytes + _FRAME_ROOM:
            raise SinkError(
                f"the broker takes frames of {session.frame_bytes:,} bytes, and a message may have "
                f"max_bytes={self.max_bytes:,}",
                hint="lower max_bytes, or raise the broker's stream.frame_max.",
            )
        with closing(Session(Address.of(self.url))) as first:
            bound = schema.Property("max-length-bytes", str(self.staged_bytes))
            create = schema.Create(first.number(), self.staged, [bound])
            first.request(schema.CreateResponse, create, codes=(_OK, _EXISTS))

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a connection of its own."""
        return StreamWriter(self._places(), self.staged, self.body, self.max_bytes)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Append the messages of a batch's tasks to the stream, in the order of tasks.

        Raises:
            SinkUnavailableError: The broker does not answer.
            SinkError: It does not have what was staged any more.
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
