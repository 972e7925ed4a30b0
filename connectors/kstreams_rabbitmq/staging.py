"""Messages that are staged until their batch's commit, in a separate stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import sha256
from uuid import uuid4

from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_rabbitmq.address import NotYetError
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.publishing import publish
from kstreams_rabbitmq.session import OffsetType

__all__ = ("Staged", "publisher_of")

_CHUNKS_AHEAD = 10
_LONGEST_NAME = 255


@dataclass(frozen=True)
class Staged:
    """The location of one attempt's staged messages.

    Attributes:
        stream: The stream.
        attempt: The prefix of the attempt's messages, in hexadecimal digits.
        start: The first offset to read.
        stop: The offset after the last message.
        count: The number of messages.
    """

    stream: str
    attempt: str
    start: int
    stop: int
    count: int

    @classmethod
    def put(cls, places: Places, stream: str, messages: Sequence[bytes]) -> Staged:
        """Append messages durably, with a new attempt's prefix; return their location."""
        attempt = uuid4()
        session = places.session(stream)
        start = places.end(stream)
        publish(session, stream, [(n, attempt.bytes + data) for n, data in enumerate(messages)])
        staged = cls(stream, attempt.hex, start, places.end(stream), len(messages))
        if staged.stop < start + staged.count:
            raise NotYetError(staged.lost(max(staged.stop - start, 0)))
        return staged

    @classmethod
    def read(cls, receipt: str) -> Staged:
        """Parse a receipt.

        Raises:
            SinkError: The text is not a receipt.
        """
        try:
            return cls(**json.loads(receipt))
        except (ValueError, TypeError):
            raise SinkError(
                f"the checkpoint has {receipt!r} where staged messages were expected",
                hint="a different sink with this node name wrote the checkpoint: rename this node.",
            ) from None

    def __str__(self) -> str:
        """Return the receipt."""
        return json.dumps(asdict(self))

    def messages(self, places: Places) -> list[bytes]:
        """Return the messages, in their order.

        Raises:
            NotYetError: Some messages are not there yet, or no longer.
        """
        own = bytes.fromhex(self.attempt)
        found: list[bytes] = []
        session = places.session(self.stream)
        spec = (OffsetType.OFFSET, self.start)
        with closing(session.chunks(self.stream, *spec, ahead=_CHUNKS_AHEAD)) as chunks:
            for chunk in chunks:
                if chunk.chunk_first_offset >= self.stop or len(found) == self.count:
                    break
                found += [
                    data[len(own) :] for data in chunk.get_messages() if data[: len(own)] == own
                ]
        if len(found) != self.count:
            raise NotYetError(self.lost(len(found)))
        return found

    def lost(self, there: int) -> SinkError:
        """Return the error for staged messages of which only `there` exist."""
        return SinkError(
            f"stream {self.stream!r} has only {there} of the {self.count} messages that were "
            "staged in it",
            hint="the stream was deleted, or is smaller than the results of a batch: increase "
            "staged_bytes=, and reset the app.",
        )


def publisher_of(commit: CommitId) -> str:
    """Return the publisher name of a task's messages."""
    name = f"{commit.epoch}/{commit.sink}/{commit.task}"
    if name.isascii() and len(name) <= _LONGEST_NAME:
        return name
    return f"{sha256(name.encode()).hexdigest()}/{commit.task}"
