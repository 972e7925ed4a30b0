"""Read messages of streams in a worker, by offsets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pyarrow as pa

from kstreams.errors import DataLossError, Where
from kstreams.sources import Piece
from kstreams_rabbitmq.address import NotYetError
from kstreams_rabbitmq.messages import Message, message_of
from kstreams_rabbitmq.places import Places
from kstreams_rabbitmq.session import OffsetType, schema

__all__ = ("StreamReader",)

_CHUNKS_AHEAD = 10
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass
class _Read:
    """The messages read from a piece.

    Attributes:
        offsets: The offsets of the messages.
        times: The times of their chunks, in ms since the epoch.
        messages: The messages.
        size: Their size in bytes.
        gaps: The starts and lengths of offset ranges without messages.
    """

    offsets: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    size: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)


class StreamReader:
    """Implements `kstreams.sources.LogReader`.

    Args:
        places: The sessions; closed with this object.
        key_property: The application property with the key.
    """

    def __init__(self, places: Places, key_property: str | None) -> None:
        self._places = places
        self._key_property = key_property

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece.

        Raises:
            DataLossError: The stream's retention has deleted records, or the stream was recreated.
            SourceUnavailableError: The broker does not answer.
            SourceError: The broker rejects the request.
        """
        return self._table(self._places.retried(lambda: self._read(piece, max_bytes)))

    def close(self) -> None:
        """Close the connections."""
        self._places.close()

    def _read(self, piece: Piece, max_bytes: int) -> _Read:
        mark, _, stream = piece.place.partition("/")
        if mark and (now := self._places.mark(stream)) != mark:
            anew = _lost(
                piece, f"stream {stream!r} was deleted and created again (id {mark}, now {now})"
            )
            raise anew if now else NotYetError(anew)
        found = _Read()
        at = piece.start
        session = self._places.session(stream)
        spec = (OffsetType.OFFSET, piece.start)
        with closing(session.chunks(stream, *spec, ahead=_CHUNKS_AHEAD)) as chunks:
            for chunk in chunks:
                if chunk.chunk_first_offset > at:
                    found.gaps.append((at, min(chunk.chunk_first_offset, piece.stop) - at))
                _take(found, chunk, at, piece.stop)
                at = max(at, chunk.chunk_first_offset + chunk.num_records)
                if at >= piece.stop or found.size > max_bytes:
                    break
        is_short = at < piece.stop and found.size <= max_bytes
        if is_short:
            found.gaps.append((at, piece.stop - at))
        self._check(piece, stream, found)
        if is_short:  # a plan ends with a message, or before one
            raise NotYetError(
                _lost(
                    piece, f"stream {stream!r} ends before offset {piece.stop}, the end of the plan"
                )
            )
        return found

    def _check(self, piece: Piece, stream: str, found: _Read) -> None:
        """Check that no message of a piece was deleted before it was read.

        Other offsets without a message belong to the broker's own data.
        """
        if not found.gaps:
            return
        first = self._places.beginning(stream)
        begins = piece.stop if first is None else first.chunk_first_offset
        gone = sum(max(min(begins, at + size) - at, 0) for at, size in found.gaps)
        if gone:
            said = f"{gone} messages of stream {stream!r} were deleted before they were read"
            raise _lost(piece, said) if first is not None else NotYetError(_lost(piece, said))

    def _table(self, found: _Read) -> pa.Table:
        messages = found.messages
        keys, headers = self._parts(messages)
        columns = {
            "offset": pa.array(found.offsets, pa.int64()),
            "timestamp": pa.array(found.times, pa.int64()),
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([None if m.wrong else m.body for m in messages], pa.binary()),
            "headers": pa.array(headers, _HEADERS),
        }
        if any(message.wrong for message in messages):
            columns["unreadable"] = pa.array([m.wrong or None for m in messages], pa.string())
        return pa.table(columns)

    def _parts(
        self, messages: Sequence[Message]
    ) -> tuple[list[bytes | None], list[list[dict[str, str | bytes | None]] | None]]:
        keys: list[bytes | None] = []
        headers: list[list[dict[str, str | bytes | None]] | None] = []
        for message in messages:
            named = dict(message.headers or {})
            keys.append(named.pop(self._key_property, None) if self._key_property else None)
            headers.append([{"key": n, "value": v} for n, v in named.items()] or None)
        return keys, headers


def _take(found: _Read, chunk: schema.Deliver, start: int, stop: int) -> None:
    """Add the messages of a chunk from `start` to `stop`."""
    try:
        messages = [message_of(data) for data in chunk.get_messages()]
    except Exception as exc:  # noqa: BLE001  # any error of the decompression
        wrong = f"the message cannot be decompressed, only gzip is supported: {type(exc).__name__}"
        messages = [Message(wrong=wrong)] * chunk.num_records
    for offset, message in enumerate(messages, chunk.chunk_first_offset):
        if start <= offset < stop:
            found.offsets.append(offset)
            found.times.append(chunk.timestamp)
            found.messages.append(message)
            found.size += len(message.body)


def _lost(piece: Piece, said: str) -> DataLossError:
    return DataLossError(
        said, hint=DataLossError.WAY_ON, where=Where(partition=piece.partition, offset=piece.start)
    )
