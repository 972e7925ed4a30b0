"""Read entries of streams in a worker, by their numbers."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pyarrow as pa

from kstreams.errors import DataLossError, Where
from kstreams.sources import Piece
from kstreams_redis.entries import Entry, EntryForm
from kstreams_redis.numbering import EntryId, Numbers, numbers_at
from kstreams_redis.server import Server

__all__ = ("StreamReader",)

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

_FIRST_COUNT, _MOST = 50, 1_000
_ANSWER_BYTES = 4 * 1024 * 1024
"""The approximate size of a response, in bytes."""


class StreamReader:
    """Implements `kstreams.sources.LogReader`.

    Args:
        server: The server of the streams; closed with this object.
        streams: The keys of the streams, one per partition.
        index: The key prefix of the hashes with the numbers of entries.
        form: The conversion of entries to records.
        passes: Whether deleted entries are skipped instead of an error.
    """

    def __init__(
        self, server: Server, streams: Sequence[str], index: str, form: EntryForm, *, passes: bool
    ) -> None:
        self._server = server
        self._streams = streams
        self._index = index
        self._form = form
        self._passes = passes

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece.

        Raises:
            DataLossError: Entries were deleted, or their numbers now belong to other entries.
            SourceUnavailableError: The server does not answer.
            SourceError: The server rejects the request.
        """
        return self._form.table(self._server.retried(lambda: self._entries(piece, max_bytes)))

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _entries(self, piece: Piece, max_bytes: int) -> list[Entry]:
        numbers, ids = self._numbered(piece)
        start = numbers.number(piece.start)
        found: list[Entry] = []
        size, at, count = 0, 0, _FIRST_COUNT
        while at < len(ids) and size <= max_bytes:
            asked = ids[at : at + count]
            there = self._existing_entries(piece, [each for each in asked if each is not None])
            for number, each in enumerate(asked, start + at):
                offset = numbers.offset(number)
                if each is not None and each in there:
                    found.append(Entry(offset, each, there[each]))
                    size += found[-1].size
            at += len(asked)
            count = _next_count(count, size, len(found))
        reached = numbers.offset(start + at) if at < len(ids) else piece.stop
        gone = reached - piece.start - len(found)
        if gone:
            self._report_deleted(piece, gone, unsure=numbers.unsure(start, start + at))
        return found

    def _numbered(self, piece: Piece) -> tuple[Numbers, list[EntryId | None]]:
        """Return the numbering of a piece's stream, and the ids of the piece's entries.

        Raises:
            DataLossError: The stream was recreated, so its numbers belong to other entries.
        """
        key = self._index + self._streams[piece.partition]
        numbers, _ = numbers_at(self._server, key, 0, 0)
        if numbers is None or numbers.log_id != piece.place:
            raise DataLossError(
                f"stream {self._streams[piece.partition]!r} was deleted and created again after "
                "its entries were planned",
                hint="reset the app: its positions belong to deleted entries.",
                where=Where(partition=piece.partition, offset=piece.start),
            )
        start, stop = numbers.number(piece.start), numbers.number(piece.stop)
        return numbers, numbers_at(self._server, key, start, stop)[1]

    def _existing_entries(self, piece: Piece, ids: Sequence[EntryId]) -> dict[EntryId, list[bytes]]:
        if not ids:
            return {}
        entries = self._server.command(
            "XRANGE", self._streams[piece.partition], str(ids[0]), str(ids[-1])
        )
        return {EntryId.of(each): fields for each, fields in entries if fields is not None}

    def _report_deleted(self, piece: Piece, gone: int, *, unsure: bool) -> None:
        stream = self._streams[piece.partition]
        least = "at least " if unsure else ""
        problem = f"{least}{gone} entries of stream {stream!r} were deleted before they were read"
        if self._passes:
            _LOG.warning("%s: from offset %s to %s", problem, piece.start, piece.stop)
            return
        raise DataLossError(
            problem,
            hint="keep more entries in the stream (MAXLEN, XTRIM), and do not delete from it. To "
            "continue without these entries, give the log deleted='pass'.",
            where=Where(partition=piece.partition, offset=piece.start),
        )


def _next_count(count: int, size: int, entries: int) -> int:
    """Return the number of entries for the next request, by the mean size of the entries so far.

    Args:
        count: The number of entries in the last request.
        size: The size of all entries read so far, in bytes.
        entries: The number of these entries.
    """
    if not entries:
        return count
    return max(1, min(_MOST, 2 * count, _ANSWER_BYTES * entries // max(size, 1)))
