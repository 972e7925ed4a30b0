"""Pack Kafka's records into messages to tasks, in the Spark task that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import PartitionCountError, Where
from kstreams.spark.envelope import Envelope
from kstreams.spark.failure import as_failure
from kstreams.spark.worker import drop_spark_archives
from kstreams.task.queues import QUEUE_SCHEMA, Queue

__all__ = ("Packer",)

_MAX_BYTES = 16 << 20
_OUT_SCHEMA = pa.schema([("stage", pa.int32()), ("key", pa.int32()), ("payload", pa.binary())])

_Place = tuple[str, int]


class Packer:
    """The function of `mapInArrow`: records in, rows of `ROW_SCHEMA` out.

    Each run of records of one topic and partition becomes one row, cut at 16 MB, with no
    Python object per record.

    Args:
        stage: The stage that the rows are for.
        keys: Spark key of each of its tasks.
        entries: Name of the source node, by topic. The records need a column `topic` only
            where there are several.
    """

    def __init__(self, stage: int, keys: tuple[int, ...], entries: Mapping[str, str]) -> None:
        self._stage = stage
        self._keys = keys
        self._entries = dict(entries)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack what one Spark task reads."""
        try:
            drop_spark_archives()
            yield from self._packed(batches)
        except Exception as exc:  # noqa: BLE001  # all of it must reach the driver, typed
            raise as_failure(exc) from None

    def _packed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place: _Place | None = None
        pieces: list[pa.Table] = []
        size = 0
        for batch in batches:
            for piece_place, piece in self._runs(batch):
                if place is not None and (piece_place != place or size >= _MAX_BYTES):
                    yield self._row(place, pieces)
                    pieces, size = [], 0
                place = piece_place
                pieces.append(piece)
                size += piece.nbytes
        if place is not None:
            yield self._row(place, pieces)

    def _runs(self, batch: pa.RecordBatch) -> Iterator[tuple[_Place, pa.Table]]:
        """Cut a batch where topic or partition change; Spark's tasks read one of each."""
        if not batch.num_rows:
            return
        partitions = batch.column("partition").to_numpy()
        changed = partitions[1:] != partitions[:-1]
        topics = batch.column("topic").dictionary_encode() if len(self._entries) > 1 else None
        if topics is not None:
            numbers = topics.indices.to_numpy()
            changed |= numbers[1:] != numbers[:-1]
        table = _queue_table(batch)
        starts = [0, *(np.flatnonzero(changed) + 1).tolist()]
        for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            topic = next(iter(self._entries)) if topics is None else topics[start].as_py()
            yield (topic, int(partitions[start])), table.slice(start, end - start)

    def _row(self, place: _Place, pieces: list[pa.Table]) -> pa.RecordBatch:
        topic, partition = place
        if partition >= len(self._keys):
            raise PartitionCountError(
                f"topic {topic!r} has got more partitions than the {len(self._keys)} that the "
                "app was started with",
                hint="stop the app and rescale it, or reset it.",
                where=Where(topic=topic, partition=partition),
            )
        queue = Queue(self._entries[topic], topic, partition, pa.concat_tables(pieces))
        envelope = Envelope.of_queue(queue, stage=self._stage, task=partition, wall_ms=None)
        columns = [[self._stage], [self._keys[partition]], [envelope.pack()]]
        return pa.record_batch(columns, schema=_OUT_SCHEMA)


def _queue_table(batch: pa.RecordBatch) -> pa.Table:
    """Return a batch's columns as a queue has them: no headers are null."""
    given = {name: batch.column(name) for name in batch.schema.names}
    headers = given.pop("headers", None)
    if headers is not None and len(headers.flatten()):
        none = pc.equal(pc.list_value_length(headers), 0)
        given["headers"] = pc.if_else(none, pa.scalar(None, headers.type), headers)
    columns = [
        given[field.name].cast(field.type)
        if field.name in given
        else pa.nulls(batch.num_rows, field.type)
        for field in QUEUE_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=QUEUE_SCHEMA)
