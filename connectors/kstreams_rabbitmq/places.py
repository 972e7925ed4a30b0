"""Sessions with the leaders of streams, with retries after lost connections."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import TypeVar

from kstreams_rabbitmq.address import Address, faults_of
from kstreams_rabbitmq.session import OffsetType, Session, schema
from kstreams_rows.retrying import retried

__all__ = ("Places",)

T = TypeVar("T")
"""The type of an operation's result."""

_MARK = "kstreams"
_NONE_YET, _OK = 19, 1
_MARK_TRIES = 3


class Places:
    """The open sessions, by stream.

    Args:
        address: The address of a broker.
        give_up_after: The maximum time to retry.
        read: Whether the streams belong to a source rather than a sink.
    """

    def __init__(self, address: Address, give_up_after: timedelta, *, read: bool = True) -> None:
        self._address = address
        self._give_up_after = give_up_after
        self._faults = faults_of(address, read=read)
        self._sessions: dict[str, Session] = {}

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation; retry temporary failures.

        Raises:
            SourceUnavailableError, SinkUnavailableError: The broker did not answer.
            SourceError, SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, self.close)

    def session(self, stream: str) -> Session:
        """Return a session with the broker that leads a stream."""
        if stream not in self._sessions:
            self._sessions[stream] = Session(self._address, stream)
        return self._sessions[stream]

    def streams_of(self, super_stream: str) -> list[str]:
        """Return the streams of a super stream, in the broker's order."""
        with closing(Session(self._address)) as session:
            frame = schema.SuperStreamPartitions(session.number(), super_stream)
            return session.request(schema.SuperStreamPartitionsResponse, frame).streams

    def beginning(self, stream: str) -> schema.Deliver | None:
        """Return the first existing chunk; None for an empty stream."""
        return self.session(stream).chunk(stream, OffsetType.FIRST)

    def end(self, stream: str) -> int:
        """Return the offset after the last message."""
        last = self.session(stream).chunk(stream, OffsetType.LAST)
        return 0 if last is None else last.chunk_first_offset + last.num_records

    def mark(self, stream: str) -> str:
        """Return the mark that distinguishes a stream from others with its name; empty without one.

        The mark is the time of the first chunk at the first read, stored in the broker as the
        offset of a consumer, so concurrent readers agree on it.
        """
        session = self.session(stream)
        for _ in range(_MARK_TRIES):
            frame = schema.QueryOffset(session.number(), _MARK, stream)
            found = session.request(schema.QueryOffsetResponse, frame, codes=(_OK, _NONE_YET))
            if found.response_code == _OK:
                return f"{found.offset:x}"
            first = self.beginning(stream)
            if first is None:
                return ""
            session.send(schema.StoreOffset(_MARK, stream, first.timestamp))
        return ""

    def close(self) -> None:
        """Close the connections; the next operation opens new ones."""
        while self._sessions:
            self._sessions.popitem()[1].close()
