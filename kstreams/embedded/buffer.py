"""A buffer for records of one partition before they become a segment."""

from __future__ import annotations

import pyarrow as pa

from kstreams.connection import Appended, Pending
from kstreams.embedded.segment import Segment
from kstreams.errors import KStreamsError, RowsRefusedError
from kstreams.raw_batch import headers_array
from kstreams.record import Headers

__all__ = ("Buffer",)


class Buffer:
    """Buffered records of a partition, as columns, with their futures. Not thread-safe."""

    __slots__ = ("_any_headers", "_futures", "_headers", "_keys", "_timestamps", "_values")

    def __init__(self) -> None:
        self._timestamps: list[int] = []
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._headers: list[Headers] = []
        self._futures: list[tuple[int, Pending]] = []
        self._any_headers = False

    def add(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        future: Pending | None,
    ) -> None:
        """Add a record and its future, if any; `timestamp` is in ms since the epoch."""
        if future is not None:
            self._futures.append((len(self._timestamps), future))
        self._timestamps.append(timestamp)
        self._keys.append(key)
        self._values.append(value)
        self._headers.append(headers)
        if headers:
            self._any_headers = True

    def table(self) -> pa.Table:
        """Return the records as a table for `EmbeddedLog.append`.

        Raises:
            RowsRefusedError: A record has a key, value, timestamp or header of a wrong type.
        """
        try:
            columns = {
                "timestamp": pa.array(self._timestamps, pa.int64()),
                "key": pa.array(self._keys, pa.binary()),
                "value": pa.array(self._values, pa.binary()),
            }
            if self._any_headers:
                columns["headers"] = headers_array(self._headers, check=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as exc:
            raise RowsRefusedError(
                "a record needs key, value and headers as bytes, and its timestamp in whole "
                f"milliseconds: {exc}"
            ) from exc
        return pa.table(columns)

    def resolve(self, segment: Segment) -> None:
        """Resolve the futures with the records' offsets in the segment."""
        first = segment.first_offset
        for row, future in self._futures:
            future.set_result(Appended(segment.topic, segment.partition, first + row))

    def fail(self, error: KStreamsError) -> None:
        """Set an error on all futures."""
        for _, future in self._futures:
            future.set_exception(error)
