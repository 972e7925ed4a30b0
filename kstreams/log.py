"""What can be read again by position and is no topic: what a batch's plan says of it.

A `Log` is planned and replayed as a topic's partitions are. Positions are numbers of records: a
batch is bounded by them, and lag is counted in them.
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
    """Records of one partition that are read at once: `start <= offset < stop`.

    A plan that becomes smaller cuts it: its `stop` may then be any offset after its start.

    Attributes:
        partition: Of the log.
        start: The first offset.
        stop: The offset after the last one.
        place: Where a reader finds them, in the log's own words; part of the plan, so that a
            batch that comes again reads there again.
    """

    partition: int
    start: int
    stop: int
    place: str = ""


class LogContents(Protocol):
    """What a log holds, as the driver sees it. Partitions are numbered from 0.

    Offsets rise within a partition, and gaps between them are normal. What was once told of an
    offset holds for ever: for each driver, each app, and after each restart.

    All methods raise `SourceError` where the place is not as it has to be, and
    `SourceUnavailableError` where it does not answer.
    """

    @property
    def log_id(self) -> str:
        """Differs where offsets are of other records than before; empty if there is no such id."""
        ...

    @property
    def look_every_s(self) -> float:
        """How long, in seconds, batches may be planned by what `ends` returned last.

        Zero where asking costs little. A run to the end asks in any case.
        """
        ...

    def beginnings(self) -> dict[int, int]:
        """Return the first offset that can still be read, by partition."""
        ...

    def ends(self) -> dict[int, int]:
        """Look for what is new, and return the offset after the last record, by partition.

        Raises:
            DataLossError: What was there is not the same any more.
        """
        ...

    def first_since(self, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and time of the first record of a partition that is not before a time.

        No record before that offset has this time or a later one. None if there is no such
        record. Times are ms since the epoch.
        """
        ...

    def pieces(self, partition: int, start: int, stop: int) -> Iterable[Piece]:
        """Divide the records with `start <= offset < stop` into what is read at once, in order."""
        ...

    def mean_bytes(self, partition: int, offset: int) -> float | None:
        """Return how large records are at an offset, or nearly so; None where it is not known."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


@runtime_checkable
class ReadOnce(Protocol):
    """What `LogContents` is, too, where what was read does not stay: it has one reader.

    Another would lose records to it.
    """

    def claim(self, reader: str) -> None:
        """Begin to read for good: called before the first batch of a run, not by who looks on.

        Args:
            reader: Id of a query of an app, the same until that app is reset or forked.

        Raises:
            SourceError: Another reads it, and it cannot be read by two.
        """
        ...

    def committed(self, positions: Mapping[int, int]) -> None:
        """Let go of what comes before offsets: no batch of the reader's reads it again.

        Called after the commit of each batch and at the start of a run, after `claim`; may be
        repeated, and come late with offsets of before.

        Args:
            positions: The first offset that may still be read, by partition.
        """
        ...


@dataclass(frozen=True)
class Kept:
    """What a place keeps for a log until it is committed.

    Attributes:
        size_bytes: How much that is.
        room_bytes: How much more it keeps before it drops what was not read; None: all there is.
    """

    size_bytes: int
    room_bytes: int | None = None


@runtime_checkable
class Keeps(Protocol):
    """What `LogContents` is, too, where a place fills up with what nobody commits."""

    def kept(self) -> Kept | None:
        """Return how much that was when `ends` was called last; None: it was not, yet."""
        ...


class LogReader(Protocol):
    """Reads pieces, in a worker: open from batch to batch, for one task after the other.

    One that has raised is closed; the next attempt opens another.
    """

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece: the same ones each time, in the order of offsets.

        Args:
            piece: What a plan says, perhaps cut.
            max_bytes: Stop soon after more bytes than these are read: what is returned then has
                more of them, one record at least, and is read again in smaller pieces.

        Returns:
            Columns `offset` and `timestamp` (int64, ms since the epoch), `key` and `value`
            (binary, null where there is none), `headers` (null, or a list of structs of `key` and
            `value`). There may be two more. `unreadable` (string) says of a record that cannot be
            read why; null where it can. It is then dealt with as the source's `on_error` says.
            `origin` (dictionary of strings) has `NUMBER:NAME` of what a record is from, and the
            offset of the first record in it: errors and dead letters name it.

        Raises:
            DataLossError: They are gone, or are others now.
            SourceUnavailableError: The place does not answer: the batch fails, and comes again.
            SourceError: The place is not as it has to be.
        """
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class Log(Protocol[K, V]):
    """A source that is no topic, as data: picklable, and without a secret in its texts.

    `TopologyBuilder.add_source` takes it in place of a `Topic`. Values that are null are dropped
    and counted, as those of topics. `kstreams.testing.LogContract` proves one of your own.

    Attributes:
        name: Of its positions in plans and commits: like no topic or other log of the topology.
        key: Serde of the keys; `NONE` when they are of no interest.
        value: Serde of the values.
        label: What pictures of the topology show beside the name.

    Source: a partitioned Kafka topic, as consumers see it.
    """

    @property
    def name(self) -> str:
        """Name of its positions."""
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
        """What pictures of the topology show beside the name."""
        ...

    def contents(self) -> LogContents:
        """Open the driver's side; nothing is asked of the place yet."""
        ...

    def reader(self) -> LogReader:
        """Open the worker's side."""
        ...


@runtime_checkable
class LetsGo(Protocol):
    """What a `Log` is, too, of which something may be gone when it was committed.

    Attributes:
        lets_go: What becomes of it, such as `files are deleted`; empty where all stays. An app
            that is reset is told that it begins behind that.
    """

    @property
    def lets_go(self) -> str:
        """What becomes of what was committed; empty where all stays."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A `Log` that may be bounded: a run reads what it holds at the start of the run.

    An app with bounded sources alone ends by itself, once all of them are read to their ends.

    Attributes:
        bounded: Whether it is. A log without this attribute is unbounded.
    """

    @property
    def bounded(self) -> bool:
        """Whether a run reads no more than what the log holds at its start."""
        ...


def is_bounded(log: object) -> bool:
    """Return whether a source is a bounded log; a topic, which is None, is not."""
    return isinstance(log, Bounded) and log.bounded
