"""Kafka topics on Spark: read and written by clients in the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa
from typing_extensions import override

from kstreams.batch.io.sinks import changelog_name, outputs_of
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.errors import KStreamsError, RecordRefusedError, UnknownTopicError
from kstreams.graph.nodes import SinkNode
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.state.log.commits import Output
from kstreams.task.failures.refusals import Refusals
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.columns import rows_of
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import TopicLimits
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from kstreams_kafka.sink import placed_rows, topic_limits, write_apart, write_rows
from kstreams_kafka.staged_rows import to_table

__all__ = ("KafkaIO",)


@dataclass(frozen=True)
class KafkaIO(TopicIO):
    """A `TopicIO` on Kafka; written records are visible immediately, and repeated by a retry.

    With exactly-once delivery it stages all records instead.

    Args:
        connection: The cluster.
    """

    connection: Kafka

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        ranges = [OffsetRange(s.topic, s.partition, s.from_offset, s.to_offset) for s in slices]
        tables = _reader(self.connection).read(ranges, max_bytes=max_bytes)
        return [
            Queue(each.entry, each.topic, each.partition, table)
            for each, table in zip(slices, tables, strict=True)
        ]

    @override
    def read_ahead(self) -> None:
        """Prefetch the records after the last slices, until the next slices are read."""
        _reader(self.connection).read_ahead()

    @override
    def limits(self, topic: str) -> TopicLimits:
        """Return the limits of a topic by its configuration, as far as the cluster returns it.

        Raises:
            UnknownTopicError: The topic does not exist.
        """
        return topic_limits(self.connection, topic)

    @override
    def write(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> tuple[Output, ...]:
        """Write a batch's output; it is durable on return, so there is nothing to publish."""
        if self.connection.delivery == "exactly-once":
            return ()
        prefixes = _id_prefixes(group, batch)
        spared = {node.name: node for node in group.sinks if node.on_refused != "fail"}
        logged = {changelog_name(store): store for store in output.changelogs}
        for sink, partitioner, table in outputs_of(output, group):
            prefix = prefixes(sink)
            store = logged.get(sink)
            try:
                write_rows(
                    self.connection,
                    table,
                    partitioner=partitioner,
                    id_prefix=prefix,
                    node=None if store else sink,
                )
            except KStreamsError as exc:
                if store is not None:
                    raise _of_changelog(_of_result(exc), store) from exc.__cause__
                if not isinstance(exc, RecordRefusedError):
                    raise _of_result(exc) from exc.__cause__
                if sink not in spared:
                    exc.hint = f"{exc.hint} {RecordRefusedError.WAY_ON}".strip()
                    raise _of_result(exc) from exc.__cause__
                refused = write_apart(
                    self.connection, table, partitioner=partitioner, id_prefix=prefix
                )
                self._spare(spared[sink], table, refused, output)
        return ()

    @override
    def staged(
        self, output: TaskOutput, group: PartitionGroup, batch: BatchId
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield the records to publish after the commit, with exactly-once delivery."""
        if self.connection.delivery != "exactly-once":
            return
        prefixes = _id_prefixes(group, batch)
        stores = {changelog_name(store): store for store in output.changelogs}
        for sink, partitioner, table in outputs_of(output, group):
            try:
                for rows in placed_rows(
                    self.connection,
                    table,
                    partitioner=partitioner,
                    id_prefix=prefixes(sink),
                    node=None if sink in stores else sink,
                ):
                    yield sink, to_table(rows)
            except KStreamsError as exc:
                store = stores.get(sink)
                of = _of_result(exc)
                raise (of if store is None else _of_changelog(of, store)) from exc.__cause__

    def _spare(
        self,
        sink: SinkNode,
        table: pa.Table,
        refused: Mapping[int, RecordRefusedError],
        output: TaskOutput,
    ) -> None:
        """Count rejected results; write dead letters if that is the policy of the sink.

        Args:
            sink: The sink.
            table: All results of the sink.
            refused: The error of each rejected result, by row number.
            output: The output of the task, to which counts and dead letters are added.
        """
        rows = table.take(pa.array(list(refused), pa.int64()))
        topics = rows.column("topic").to_pylist()
        refusals = Refusals(sink, output, self.limits)
        for topic, record, error in zip(topics, rows_of(rows), refused.values(), strict=True):
            refusals.take(topic, record, error)
        refusals.settle()


def _id_prefixes(group: PartitionGroup, batch: BatchId) -> Callable[[str], str | None]:
    """Return a function from a sink to its prefix of result ids; None for a sink without ids."""
    bare = {node.name for node in group.sinks if not node.result_ids}
    return lambda sink: None if sink in bare else batch.prefix(sink)


def _of_result(error: KStreamsError) -> KStreamsError:
    """Move the topic of an error from `where.topic` to `where.target`, and return the error.

    The error of a result names its target topic; `where.topic` is for the input record.
    """
    where = error.where
    if where.partition is not None:
        error.message = f"{error.message}; it was for partition {where.partition}"
    error.where = replace(where, target=where.topic, topic=None, partition=None)
    return error


def _of_changelog(error: KStreamsError, store: str) -> KStreamsError:
    """Add to the error of a rejected record that the record belongs to a changelog."""
    if isinstance(error, RecordRefusedError):
        error.message = f"Kafka rejected a row of the store's changelog: {error.message}"
        error.hint = error.hint or (
            "raise the limits of the topic (max.message.bytes, message.timestamp.after.max.ms), "
            "and start the app again: nothing of this batch was kept."
        )
    elif isinstance(error, UnknownTopicError):
        error.message = f"the store's changelog topic does not exist any more: {error.message}"
        error.hint = (
            "start the app again: it creates the topic, and writes all rows of the store to it."
        )
    return error.at(store=store)


@lru_cache(maxsize=4)
def _reader(connection: Kafka) -> RangeReader:
    """Return the reader of this worker process."""
    return RangeReader(connection)
