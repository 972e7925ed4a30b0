"""Packs the rows of a source into messages to tasks, with many rows in a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.batch.messages.envelope import Envelope
from kstreams.batch.messages.task_call import TaskCall
from kstreams.errors import KStreamsError
from kstreams.partitioner import targets
from kstreams.processors.on_error import OnError
from kstreams.raw_batch import HEADERS_TYPE, parted
from kstreams.spark.failure import ErrorChannel
from kstreams.spark.frames.layout import Layout
from kstreams.spark.frames.messages import Message, message_table
from kstreams.spark.frames.shipped import Carried
from kstreams.spark.frames.unfit_rows import UNFIT, fit_and_unfit
from kstreams.spark.worker import shorten_collections
from kstreams.task.records.queues import Queue
from kstreams.topic import Topic

__all__ = ("SOURCE_ROWS", "Pack")

SOURCE_ROWS = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS_TYPE),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
    ]
)
"""The columns of a message's records; columns that the source lacks are null."""

_MOST_BYTES = 64 * 1024 * 1024
"""The maximum bytes of records that are collected before they are packed."""


@dataclass(frozen=True)
class Pack:
    """The `mapInArrow` function that creates messages from the rows of a source.

    The function gets the column `wall` with the wall time of the batch, then those columns of
    `SOURCE_ROWS` that the source has. `key` and `value` may have types other than bytes; then the
    topic's serdes encode them.

    Attributes:
        layout: The layout of the tasks.
        stage: The stage of the source.
        entry: The name of the source node.
        topic: The name of its topic.
        carried: The pickled topic, with its serdes and its partitioner.
        errors: The channel of errors to the driver.
        all_tasks: Whether to call all tasks, also those without records: to get the time of their
            next wall-clock work, or to copy their initial state.
        on_error: The source's policy for rows that the serdes of its topic cannot write.
    """

    layout: Layout
    stage: int
    entry: str
    topic: str
    carried: Carried[Topic[Any, Any]]
    errors: ErrorChannel
    all_tasks: bool = False
    on_error: OnError = "fail"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the messages for the rows of one Spark partition."""
        try:
            for table in _gathered(batches):
                wall_ms: int = table.column("wall")[0].as_py()
                yield message_table(self._messages(wall_ms, _completed(table)))
            shorten_collections()
        except GeneratorExit:  # Spark wants no more of it
            raise
        except BaseException as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise self.errors.wrap(exc) from None

    def _messages(self, wall_ms: int, table: pa.Table) -> Iterator[Message]:
        # The first task sees in any case whether the checkpoint is this query's.
        for stage, task in self.layout.tasks() if self.all_tasks else [(self.stage, 0)]:
            if stage >= self.stage:
                call = Envelope(stage, task, TaskCall((), wall_ms, required=False)).pack()
                key = self.layout.key(stage, task, through=self.stage)
                yield Message(key, wall_ms, call)
        rows, unfit = self._divided(table)
        schema = SOURCE_ROWS
        yield from self._records(wall_ms, rows.select(schema.names).cast(schema))
        if unfit is not None:
            schema = schema.append(pa.field(UNFIT, pa.string()))
            yield from self._records(wall_ms, unfit.select(schema.names).cast(schema))

    def _divided(self, table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        """Return the rows with encoded keys and values, and the rows that cannot be encoded."""
        if table.schema.field("key").type == table.schema.field("value").type == pa.binary():
            return table, None
        try:
            return fit_and_unfit(table, self.carried.get(), self.on_error)
        except KStreamsError as exc:
            raise exc.at(node=self.entry, topic=self.topic) from exc.__cause__

    def _records(self, wall_ms: int, table: pa.Table) -> Iterator[Message]:
        tasks = self.layout.counts[self.stage]
        keys = table.column("key").combine_chunks()
        part = _present_partition()
        for task, rows in parted(
            table, targets(self.carried.get().partitioner, keys, tasks, first=part)
        ):
            key = self.layout.key(self.stage, task, through=self.stage)
            for records in EdgeRecords.of(Queue(self.entry, self.topic, part, rows)):
                yield Message(key, wall_ms, Envelope(self.stage, task, records).pack())


def _null_if_empty(headers: pa.Array) -> pa.Array:
    """Return a column of headers in which empty lists are replaced by null."""
    is_given = pc.greater(pc.list_value_length(headers), 0)
    return pc.if_else(is_given, headers, pa.scalar(None, headers.type))


def _completed(table: pa.Table) -> pa.Table:
    """Return rows with all columns of `SOURCE_ROWS`; added columns are null.

    Columns of keys and values keep their types.
    """
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    for field in SOURCE_ROWS:
        columns.setdefault(field.name, pa.nulls(table.num_rows, field.type))
    columns["headers"] = _null_if_empty(columns["headers"])
    return pa.table({name: columns[name] for name in SOURCE_ROWS.names})


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of batches as tables of limited size."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        size += batch.nbytes
        if size >= _MOST_BYTES:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _present_partition() -> int:
    """Return the number of the Spark partition that this worker's task runs."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
