"""Writes tables of records to Kafka from a task: in bulk, and durable on return."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import KStreamsError, RecordRefusedError
from kstreams.partitioner import ArrowKeys, Partitioner, targets
from kstreams.pieces import pieces
from kstreams.topic_limits import TopicLimits
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.native.bulk_producer import NativeBulkProducer
from kstreams_kafka.native.library import library
from kstreams_kafka.options import Kafka
from kstreams_kafka.outgoing import Outgoing, TableProducer
from kstreams_kafka.partition_counts import PartitionCounts
from kstreams_kafka.producing import BATCH_BYTES, BulkProducer, check_timestamp
from kstreams_kafka.topic_limits import KafkaLimits

__all__ = ("open_producer", "placed_rows", "topic_limits", "write_apart", "write_rows")


def write_rows(
    connection: Kafka,
    table: pa.Table,
    *,
    partitioner: Partitioner,
    id_prefix: str | None,
    node: str | None = None,
) -> int:
    """Write rows in their order, and wait until the cluster has them.

    Runs in a worker's task. The process keeps one open producer for each connection and batch size;
    after a failure the next call opens another. Order is kept within a partition. After a failed
    call some records may be in the topics; repeating the call writes copies of these records, with
    an equal header `kstreams-id`.

    Args:
        connection: The cluster; its `producer` options override the defaults.
        table: Rows of `kstreams.raw_batch.OUTPUT_SCHEMA`: topic, key, value, timestamp (ms),
            headers; key, value and headers may be null.
        partitioner: Chooses the partition of each key; rows without a key are distributed
            round-robin.
        id_prefix: The prefix of the ids, unique to task, sink and batch. A row's id is
            `<id_prefix>/<its number in the table>`. None: rows have no ids.
        node: Name of the sink, for errors.

    Returns:
        The number of records written; 0 for an empty table.

    Raises:
        UnknownTopicError: A topic does not exist; it is never created.
        DeliveryError: The cluster did not accept a record in time; a retry may succeed.
        RecordRefusedError: A record is too large, or its timestamp below 1 ms; a retry
            fails again.
        KafkaOptionsError: librdkafka does not know an option or its value.
        BrokerUnavailableError: No broker answers.
    """
    if not table.num_rows:
        return 0
    try:
        return _sink(os.getpid(), connection).write(table, partitioner, id_prefix)
    except KStreamsError as exc:
        raise exc.at(node=node) from exc.__cause__


def write_apart(
    connection: Kafka, table: pa.Table, *, partitioner: Partitioner, id_prefix: str | None
) -> dict[int, RecordRefusedError]:
    """Write rows as `write_rows` does, each in its own Kafka batch, and return refused rows.

    Use it, at a much lower speed, after `write_rows` failed because a Kafka batch was refused as a
    whole. Rows that `write_rows` has written are written again, in copies with the same ids.

    Returns:
        The error of each refused row, by row number.

    Raises:
        KStreamsError: As for `write_rows`, except `RecordRefusedError`.
    """
    return _sink(os.getpid(), connection).write_apart(table, partitioner, id_prefix)


def placed_rows(
    connection: Kafka,
    table: pa.Table,
    *,
    partitioner: Partitioner,
    id_prefix: str | None,
    node: str | None = None,
) -> Iterator[Outgoing]:
    """Yield the rows that `write_rows` with the same arguments would write, without writing them.

    Raises:
        UnknownTopicError: A topic does not exist.
        RecordRefusedError: A timestamp is below 1 ms.
        BrokerUnavailableError: No broker answers.
    """
    try:
        yield from _sink(os.getpid(), connection).placed(table, partitioner, id_prefix)
    except KStreamsError as exc:
        raise exc.at(node=node) from exc.__cause__


def topic_limits(connection: Kafka, topic: str) -> TopicLimits:
    """Return the limits of a topic, from a cache that is at most 5 minutes old.

    Raises:
        UnknownTopicError: The topic does not exist.
    """
    return _sink(os.getpid(), connection).limits.of(topic)


def open_producer(
    options: ClientOptions, batch_bytes: int | None = None, *, compiled: bool | None = None
) -> TableProducer:
    """Open a producer; it uses the compiled loops if they are available.

    Args:
        options: Options of the producer.
        batch_bytes: The limit of `BulkProducer`.
        compiled: The setting of `Kafka`.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
        ImportError: The compiled loops are required, but not available.
    """
    found = library(compiled)
    if found is None:
        return BulkProducer(options, batch_bytes=batch_bytes)
    return NativeBulkProducer(found, options, batch_bytes=batch_bytes)


class _Sink:
    """The producers of one process for a connection, with cached facts about topics."""

    def __init__(self, connection: Kafka) -> None:
        self._options = connection.client_options("producer")
        self._compiled = connection.compiled
        self._counts = PartitionCounts(connection.client_options("admin"))
        self.limits = KafkaLimits(self._options, self._counts)
        self._producers: dict[int | None, TableProducer] = {}
        self._lock = Lock()

    def write(self, table: pa.Table, partitioner: Partitioner, id_prefix: str | None) -> int:
        _check_timestamps(table)
        with self._lock:
            size = self._batch_bytes(table)
            producer = self._producers.pop(size, None)
            producer = producer or open_producer(self._options, size, compiled=self._compiled)
            try:
                for piece in self._pieces(table, partitioner, id_prefix):
                    producer.send(piece)
                producer.flush()
            except BaseException:
                self._counts.forget()
                self.limits.forget()
                producer.abandon()
                raise
            self._producers[size] = producer
        return int(table.num_rows)

    def placed(
        self, table: pa.Table, partitioner: Partitioner, id_prefix: str | None
    ) -> Iterator[Outgoing]:
        if table.num_rows:
            _check_timestamps(table)
            with self._lock:
                yield from self._pieces(table, partitioner, id_prefix)

    def write_apart(
        self, table: pa.Table, partitioner: Partitioner, id_prefix: str | None
    ) -> dict[int, RecordRefusedError]:
        alone = ClientOptions({**self._options, "batch.num.messages": 1})
        with self._lock:
            producer = BulkProducer(alone)
            try:
                return producer.send_noting(self._pieces(table, partitioner, id_prefix))
            finally:
                producer.abandon()

    def _batch_bytes(self, table: pa.Table) -> int | None:
        """Return the smallest size limit of the topics; None if it is not below the default."""
        names = table.column("topic").unique().to_pylist()
        for name in names:
            self._counts.of(name)  # says which name is near, if it is missing
        sizes = [self.limits.of(name).max_bytes or BATCH_BYTES for name in names]
        least = min(sizes)
        return least if least < BATCH_BYTES else None

    def _pieces(
        self, table: pa.Table, partitioner: Partitioner, id_prefix: str | None
    ) -> Iterator[Outgoing]:
        """Yield the rows in groups of limited size, with the partition of each row."""
        first, written = 0, dict[str, int]()
        for piece in pieces(table):
            yield Outgoing(piece, self._targets(piece, partitioner, written), id_prefix, first)
            first += piece.num_rows

    def _targets(
        self, table: pa.Table, partitioner: Partitioner, written: dict[str, int]
    ) -> npt.NDArray[np.int32]:
        """Return the partition of each row, and add the rows to the counts of their topics."""
        topics = table.column("topic").combine_chunks().dictionary_encode()
        names: list[str] = topics.dictionary.to_pylist()
        counts = [self._counts.of(name) for name in names]
        keys = table.column("key").combine_chunks()
        if len(names) == 1:
            return _targets(keys, partitioner, counts[0], names[0], written)
        found = np.empty(table.num_rows, np.int32)
        which = topics.indices.to_numpy()
        for number, partitions in enumerate(counts):
            rows = np.flatnonzero(which == number)
            own = keys.take(pa.array(rows))
            found[rows] = _targets(own, partitioner, partitions, names[number], written)
        return found


_sinks: dict[tuple[int, Kafka], _Sink] = {}
_sinks_lock = Lock()


def _sink(process: int, connection: Kafka) -> _Sink:
    with _sinks_lock:
        found = _sinks.get((process, connection))
        if found is None:
            found = _sinks[process, connection] = _Sink(connection)
        return found


def _targets(
    keys: ArrowKeys, partitioner: Partitioner, partitions: int, topic: str, written: dict[str, int]
) -> npt.NDArray[np.int32]:
    """Return the partition of each row of a topic, and add the rows to the topic's count."""
    first = written.get(topic, 0)
    written[topic] = first + len(keys)
    return targets(partitioner, keys, partitions, first=first)


def _check_timestamps(table: pa.Table) -> None:
    times = table.column("timestamp")
    if pc.min(times).as_py() >= 1:
        return
    row = table.filter(pc.less(times, 1)).slice(0, 1).to_pylist()[0]
    check_timestamp(row["timestamp"], row["topic"], row["key"])
