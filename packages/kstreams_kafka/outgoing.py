"""Rows to write to Kafka, and the contract of their producers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams_kafka.headers import HeaderList, header_lists

__all__ = ("Outgoing", "Row", "TableProducer", "Transactions")

Row = tuple[str, "bytes | None", "bytes | None", int, None, None, int, "HeaderList | None"]
"""The arguments of `Producer.produce` by position, which is the fastest way to call it."""

_CHUNK_ROWS = 8_192


@dataclass(frozen=True)
class Outgoing:
    """A part of the rows that one call writes.

    Attributes:
        table: The rows, with the columns of `kstreams.raw_batch.OUTPUT_SCHEMA`; at most about 64
            MB.
        partitions: The partition of each row.
        id_prefix: The prefix of the rows' ids; None if rows have no ids.
        first: The number of the first row in the call; ids contain the numbers of rows.
    """

    table: pa.Table
    partitions: npt.NDArray[np.int32]
    id_prefix: str | None
    first: int

    def rows(self) -> Iterator[Iterator[Row]]:
        """Yield the arguments of each record's `produce`, in chunks."""
        prefix = None if self.id_prefix is None else self.id_prefix.encode()
        first = self.first
        for batch in self.table.to_batches(max_chunksize=_CHUNK_ROWS):
            after = first + batch.num_rows
            topic, key, value, timestamp = (
                batch.column(name).to_numpy(zero_copy_only=False).tolist()
                for name in ("topic", "key", "value", "timestamp")
            )
            ids = None if prefix is None else [b"%b/%d" % (prefix, n) for n in range(first, after)]
            headers = header_lists(batch.column("headers"), ids)
            partition = self.partitions[first - self.first : after - self.first].tolist()
            yield zip(topic, value, key, partition, repeat(None), repeat(None), timestamp, headers)
            first = after


class Transactions(Protocol):
    """The transactions of a librdkafka producer; used by one thread at a time.

    Each step raises `KafkaException`, whose error states whether to retry the same step
    (`retriable`), to abort the transaction (`txn_requires_abort`), or to close the producer
    (`fatal`).
    """

    def init(self, timeout_s: float) -> None:
        """Fence older producers of the transactional id, and end their open transactions."""

    def begin(self) -> None:
        """Begin a transaction."""

    def add_offset(
        self, group: str, topic: str, partition: int, offset: int, timeout_s: float
    ) -> None:
        """Add an offset of a consumer group to the transaction, which commits it."""

    def commit(self, timeout_s: float) -> None:
        """Commit the transaction."""

    def abort(self, timeout_s: float) -> None:
        """Abort the transaction."""


class TableProducer(Protocol):
    """Writes many records and reports the first failure; one thread at a time."""

    def transactions(self) -> Transactions:
        """Return the producer's transactions; the producer needs a transactional id."""
        ...

    def send(self, piece: Outgoing) -> None:
        """Queue rows; wait for room in the queue if necessary.

        Raises:
            KStreamsError: A record was rejected, or an earlier record was not delivered.
        """

    def flush(self) -> None:
        """Wait until all records are delivered, or until a record fails.

        Raises:
            KStreamsError: A record was not delivered.
        """

    def abandon(self) -> None:
        """Drop queued records; the producer cannot be used again."""
