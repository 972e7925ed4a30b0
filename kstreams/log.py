"""Logs: sources other than topics that can be read again by position.

A `Log` is planned and replayed like the partitions of a topic. Positions count records: they bound
a batch and measure lag.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from kstreams.serde.base import Serde

__all__ = (
    "Bounded",
    "Keeps",
    "Kept",
    "LetsGo",
    "Log",
    "LogContents",
    "LogReader",
    "Piece",
    "ReadOnce",
    "is_bounded",
)

K = TypeVar("K")
"""Type of a log's keys."""
V = TypeVar("V")
"""Type of a log's values."""


@dataclass(frozen=True)
class Piece:
    """Records of one partition for one read: `start <= offset < stop`.

    A smaller plan shortens the piece: `stop` may then be any offset after `start`.

    Attributes:
        partition: The partition of the log.
        start: The first offset.
        stop: The offset after the last one.
        place: The location of the records in the log's own format. It is part of the plan, so a
            repeated batch reads the same location.
    """

    partition: int
    start: int
    stop: int
    place: str = ""


class LogContents(Protocol):
    """The content of a log on the driver. Partitions are numbered from 0.

    Offsets increase within a partition and may have gaps. An offset always means the same record:
    for each driver and app, and after each restart.

    All methods raise `SourceError` for an invalid source and `SourceUnavailableError` for a source
    that does not answer.
    """

    @property
    def log_id(self) -> str:
        """An id that changes if offsets no longer mean the same records; empty if there is none."""
        ...

    @property
    def look_every_s(self) -> float:
        """The time in seconds for which plans may use the last result of `ends`.

        Zero if a call is cheap. A run to the end calls `ends` in any case.
        """
        ...

    def beginnings(self) -> dict[int, int]:
        """Return the first offset that can still be read, by partition."""
        ...

    def ends(self) -> dict[int, int]:
        """Look for new records and return the offset after the last record, by partition.

        Raises:
            DataLossError: Known records were deleted or have changed.
        """
        ...

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time of the first record of a partition at or after a time.

        All records before the returned offset are earlier. None if there is no such record. Times
        are ms since the epoch.
        """
        ...

    def pieces(self, partition: int, start: int, stop: int) -> Iterable[Piece]:
        """Divide the records with `start <= offset < stop` into pieces, in order of offset."""
        ...

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return the approximate mean bytes of records at an offset; None if not known."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@runtime_checkable
class ReadOnce(Protocol):
    """`LogContents` of a log that deletes committed records and so has a single reader.

    A second reader would lose records to the first.
    """

    def claim(self, reader: str) -> None:
        """Register the reader before the first batch of a run; views and tools do not call this.

        Args:
            reader: The id of an app's query, which stays the same until the app is reset or forked.

        Raises:
            SourceError: Another reader is registered.
        """
        ...

    def committed(self, positions: Mapping[int, int]) -> None:
        """Release the records before the given offsets; the reader does not read them again.

        Called after the commit of each batch and at the start of a run, after `claim`. A call may
        be repeated, and may come late with older offsets.

        Args:
            positions: The first offset that may still be read, by partition.
        """
        ...


@dataclass(frozen=True)
class Kept:
    """The size of the uncommitted data that a source retains for a log.

    Attributes:
        size_bytes: The retained bytes.
        room_bytes: The bytes until the source drops unread data; None if there is no such limit.
    """

    size_bytes: int
    room_bytes: int | None = None


@runtime_checkable
class Keeps(Protocol):
    """`LogContents` of a source that retains all uncommitted data."""

    def kept(self) -> Kept | None:
        """Return the size of the retained data at the last call of `ends`; None before any call."""
        ...


class LogReader(Protocol):
    """Reads the records of a log in a worker, one `Piece` of the plan at a time.

    It stays open across batches, and serves one task at a time. A reader that has raised an error
    is closed; the next attempt opens another.
    """

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece: the same records in each call, ordered by offset.

        Args:
            piece: A piece of a plan, perhaps shortened.
            max_bytes: Stop soon after this number of bytes. The result then exceeds the number, has
                at least one record, and is read again in smaller pieces.

        Returns:
            Columns `offset` and `timestamp` (int64, ms since the epoch), `key` and `value`
            (nullable binary), `headers` (null, or a list of structs of `key` and `value`). Two more
            columns are optional. `unreadable` (nullable string) has the reason if a record cannot
            be read; the source's `on_error` then applies. `origin` (dictionary of strings) has
            `NUMBER:NAME`: the name of the record's file and the offset of the file's first record,
            for errors and dead letters.

        Raises:
            DataLossError: The records were deleted or have changed.
            SourceUnavailableError: The source does not answer; the batch fails and is retried.
            SourceError: The source is invalid.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Log(Protocol[K, V]):
    """The settings of a source other than a topic: picklable, and without secrets in its texts.

    `TopologyBuilder.add_source` takes a log instead of a `Topic`. Null values are dropped and
    counted, as those of topics. `kstreams.testing.LogContract` tests your own log.

    Attributes:
        name: The name of the log in plans and commits; unique among the topics and logs of a
            topology.
        key: The serde of the keys; `NONE` if keys do not matter.
        value: The serde of the values.
        label: The text next to the name in diagrams.

    Source: a partitioned Kafka topic, as consumers see it.
    """

    @property
    def name(self) -> str:
        """The name of the log in plans and commits."""
        ...

    @property
    def key(self) -> Serde[K]:
        """Serde of the keys."""
        ...

    @property
    def value(self) -> Serde[V]:
        """Serde of the values."""
        ...

    @property
    def label(self) -> str:
        """The text next to the name in diagrams."""
        ...

    def contents(self) -> LogContents:
        """Open the log on the driver; sends no request to the source yet."""
        ...

    def reader(self) -> LogReader:
        """Open the log for reading in a worker."""
        ...


@runtime_checkable
class LetsGo(Protocol):
    """A `Log` that may delete committed records.

    Attributes:
        lets_go: The effect of a commit, such as `files are deleted`; empty if all records stay. A
            reset of the app reports that deleted records are not read again.
    """

    @property
    def lets_go(self) -> str:
        """The effect of a commit on records; empty if all records stay."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A `Log` that may be bounded: a run reads the records that exist at its start.

    An app with only bounded sources ends when it has read all of them.

    Attributes:
        bounded: Whether the log is bounded. A log without this attribute is unbounded.
    """

    @property
    def bounded(self) -> bool:
        """Whether a run reads only the records that the log has at the start of the run."""
        ...


def is_bounded(log: object) -> bool:
    """Return whether a source is a bounded log; None means a topic, which is not bounded."""
    return isinstance(log, Bounded) and log.bounded
