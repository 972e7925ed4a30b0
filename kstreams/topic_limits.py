"""Limits of topics, checked while the input record of a result can still be rolled back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import RecordRefusedError, UnknownTopicError
from kstreams.raw_batch import header_pairs
from kstreams.record import Record

__all__ = ("LOCAL_LIMITS", "NO_LIMITS", "Limits", "TopicLimits", "limits_or_none")

_INT64 = np.iinfo(np.int64)
_FRAME_BYTES = 512
"""An upper bound for the bytes of a record besides key, value and the headers it already has."""
_PAIR_BYTES = 8
"""The bytes that encode the lengths of one header."""


@dataclass(frozen=True)
class TopicLimits:
    """The known limits of a topic for new records.

    Attributes:
        least_time: The minimum timestamp in ms; None without a limit.
        before_ms: The maximum age of a timestamp against the clock; None without a limit.
        after_ms: The maximum lead of a timestamp against the clock; None without a limit.
        max_bytes: The maximum size of a written record, uncompressed; None without a limit.
        needs_key: Whether null keys are rejected.
        plain_names: Whether NUL is invalid in header names.
    """

    least_time: int | None = None
    before_ms: int | None = None
    after_ms: int | None = None
    max_bytes: int | None = None
    needs_key: bool = False
    plain_names: bool = False

    def check(self, record: Record[bytes | None, bytes | None], wall_ms: int) -> None:
        """Reject a record that exceeds a limit of the topic.

        Args:
            record: The record with encoded key and value.
            wall_ms: The wall time of the batch.

        Raises:
            RecordRefusedError: The record exceeds a limit. The message has the limit.
        """
        low, high = self.times(wall_ms)
        if not low <= record.timestamp <= high:
            raise self._wrong_time(record.timestamp, wall_ms)
        if self.max_bytes is not None and (size := _written(record)) > self.max_bytes:
            raise RecordRefusedError(
                f"a record of {size} bytes, framing included, is larger than the "
                f"topic's maximum of {self.max_bytes}",
                "MSG_SIZE_TOO_LARGE",
                hint="write smaller records, or raise max.message.bytes of the topic.",
            )
        if self.needs_key and record.key is None:
            raise RecordRefusedError(
                "a compacted topic rejects records without a key",
                "INVALID_RECORD",
                hint="give the record a key, or the topic another cleanup.policy.",
            )
        if self.plain_names and any("\0" in name for name, _ in record.headers):
            raise RecordRefusedError(
                "the name of a header has a null character, and librdkafka truncates names there",
                "INVALID_HEADER",
                hint="remove the null character from the name.",
            )

    def times(self, wall_ms: int) -> tuple[int, int]:
        """Return the least and greatest timestamp, in ms, that the topic accepts at a wall time."""
        low = int(_INT64.min) if self.least_time is None else self.least_time
        if self.before_ms is not None:
            low = max(low, wall_ms - self.before_ms)
        return low, int(_INT64.max) if self.after_ms is None else wall_ms + self.after_ms

    def refused(self, table: pa.Table, wall_ms: int) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the rows of an output table that `check` rejects; None for no row."""
        found = np.zeros(table.num_rows, np.bool_)
        times = table.column("timestamp").to_numpy()
        low, high = self.times(wall_ms)
        if len(times) and not low <= int(times.min()) <= int(times.max()) <= high:
            found |= (times < low) | (times > high)
        if self.max_bytes is not None:
            found |= _sizes(table) > self.max_bytes
        if self.needs_key and table.column("key").null_count:
            found |= table.column("key").is_null().to_numpy()
        headers = table.column("headers")
        if self.plain_names and headers.null_count < len(headers):
            owners, pairs = header_pairs(headers)
            nul = pc.match_substring(pairs.field("key"), "\0").to_numpy(zero_copy_only=False)
            found[owners[nul]] = True
        return found if found.any() else None

    def _wrong_time(self, timestamp: int, wall_ms: int) -> RecordRefusedError:
        if self.least_time is not None and timestamp < self.least_time:
            text = f"is before {self.least_time} ms, the topic's earliest timestamp"
            hint = "give the record a real event time."
        elif timestamp < wall_ms:
            text = (
                f"is more than the topic's maximum of {self.before_ms} ms before the clock "
                f"({wall_ms} ms)"
            )
            hint = "raise message.timestamp.before.max.ms of the topic, or give a later time."
        else:
            text = (
                f"is more than the topic's maximum of {self.after_ms} ms ahead of the clock "
                f"({wall_ms} ms)"
            )
            hint = "raise message.timestamp.after.max.ms of the topic, or give an earlier time."
        message = f"timestamp {timestamp} ms {text}"
        return RecordRefusedError(message, "INVALID_TIMESTAMP", hint=hint)


NO_LIMITS = TopicLimits()
"""The limits of a topic whose limits are not known: none."""

LOCAL_LIMITS = TopicLimits(least_time=0)
"""The limits of embedded topics."""

Limits = Callable[[str], TopicLimits]
"""Returns the limits of a topic by its name.

It raises `UnknownTopicError` if the topic does not exist and writing does not create it. It raises
no other error: an unavailable broker is no reason to reject a record."""


def limits_or_none(limits: Limits, topic: str) -> TopicLimits:
    """Return a topic's limits; `NO_LIMITS` for a missing topic, because a write to it raises."""
    try:
        return limits(topic)
    except UnknownTopicError:
        return NO_LIMITS


def _written(record: Record[Any, Any]) -> int:
    size = _FRAME_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += _PAIR_BYTES + len(name.encode()) + len(value or b"")
    return size


def _sizes(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the uncompressed bytes of each row as a written record; equals `_written` by row."""
    found: npt.NDArray[np.int64] = np.full(table.num_rows, _FRAME_BYTES, np.int64)
    for name in ("key", "value"):
        found += _lengths(table.column(name))
    headers = table.column("headers")
    if headers.null_count < len(headers):
        owners, pairs = header_pairs(headers)
        lengths = _lengths(pairs.field("key")) + _lengths(pairs.field("value")) + _PAIR_BYTES
        found += np.bincount(owners, lengths, table.num_rows).astype(np.int64)
    return found


def _lengths(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int64]:
    lengths = pc.fill_null(pc.binary_length(column), 0)
    found: npt.NDArray[np.int64] = lengths.to_numpy(**_copied(lengths)).astype(np.int64)
    return found


def _copied(column: pa.ChunkedArray | pa.Array) -> dict[str, bool]:
    return {} if isinstance(column, pa.ChunkedArray) else {"zero_copy_only": False}
