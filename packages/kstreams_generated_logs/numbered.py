"""Logs whose records are computed from their numbers, round-robin in the partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kstreams.clock import Clock
from kstreams.errors import DataLossError
from kstreams.log import Piece
from kstreams.serde.base import Serde

__all__ = ("NumberedContents", "NumberedLog", "NumberedReader")

_AT_ONCE = 10_000


class NumberedLog(Protocol):
    """The interface of a generated log: record number `n` is in partition `n % partitions`."""

    @property
    def name(self) -> str:
        """Name of the log in plans and commits."""
        ...

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        ...

    @property
    def value(self) -> Serde[Any]:
        """Serde of the values."""
        ...

    @property
    def log_id(self) -> str:
        """An id of the log, which changes if the record of any number changes."""
        ...

    def count(self, clock: Clock) -> int:
        """Return the current number of records."""
        ...

    def time_ms(self, number: int) -> int:
        """Return the time of a record, ms since the epoch; it never decreases with the number."""
        ...

    def values(self, numbers: range) -> Sequence[Any]:
        """Return the values of the records with these numbers."""
        ...


class NumberedContents:
    """Implements `kstreams.log.LogContents`.

    Args:
        log: The log.
        clock: The clock that determines the current number of records.
    """

    look_every_s = 0.0

    def __init__(self, log: NumberedLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._count = 0

    @property
    def log_id(self) -> str:
        """The id of the log."""
        return self._log.log_id

    def beginnings(self) -> dict[int, int]:
        """Return zero for each partition, because records are never deleted."""
        return dict.fromkeys(range(self._log.partitions), 0)

    def ends(self) -> dict[int, int]:
        """Return the current number of records of each partition; it never decreases."""
        self._count = max(self._count, self._log.count(self._clock))
        parts = self._log.partitions
        return {part: (self._count - part + parts - 1) // parts for part in range(parts)}

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time (ms) of the first record at or after a time; None without one."""
        parts = self._log.partitions
        low, high = 0, (self._count - partition + parts - 1) // parts
        end = high
        while low < high:
            middle = (low + high) // 2
            if self._log.time_ms(partition + middle * parts) < timestamp_ms:
                low = middle + 1
            else:
                high = middle
        return None if low == end else (low, self._log.time_ms(partition + low * parts))

    def pieces(self, partition: int, start: int, stop: int) -> Iterator[Piece]:
        """Yield one `Piece` with the whole offset range."""
        if start < stop:
            yield Piece(partition, start, stop)

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return None, because the size is not known."""
        return None

    def close(self) -> None:
        """Do nothing, because there are no resources."""


class NumberedReader:
    """Implements `kstreams.log.LogReader`.

    Args:
        log: The log.
    """

    def __init__(self, log: NumberedLog) -> None:
        self._log = log

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a `Piece`.

        Raises:
            DataLossError: The log has fewer records than the plan.
            SerializationError: The serde cannot write a value.
        """
        log, parts = self._log, self._log.partitions
        columns: list[pa.Array] = []
        stop, size = piece.start, 0
        while stop < piece.stop and size <= max_bytes:
            start, stop = stop, min(stop + _AT_ONCE, piece.stop)
            numbers = range(piece.partition + start * parts, piece.partition + stop * parts, parts)
            values = log.values(numbers)
            if len(values) < len(numbers):
                raise DataLossError(
                    f"log {log.name!r} has fewer records than were planned",
                    hint="restore the records of the log, or reset the app.",
                )
            columns.append(log.value.serialize_many(values))
            size += columns[-1].nbytes
        offsets = np.arange(piece.start, stop, dtype=np.int64)
        times = [log.time_ms(piece.partition + offset * parts) for offset in offsets.tolist()]
        return pa.table(
            {
                "offset": pa.array(offsets),
                "timestamp": pa.array(times, pa.int64()),
                "key": pa.nulls(len(offsets), pa.binary()),
                "value": pa.chunked_array(columns, pa.binary()),
                "headers": pa.nulls(len(offsets)),
            }
        )

    def close(self) -> None:
        """Do nothing, because there are no resources."""
